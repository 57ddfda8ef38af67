//! One ledger with everything in it, as long as it is wanted: as an export, and as a file. Its one
//! refused event, an upgrade to nothing higher, is acknowledged.

use super::{History, Who, make};
use handoff_ledger::event::{
    AxisClass, DiscardWhy, GateDecision, NotProbedWhy, Policy, PromotionRefusedWhy, Role,
};
use handoff_ledger::export::{self, ExportedCapture};
use handoff_ledger::hash;
use handoff_ledger::probe_spec::{Committed, Outcome, Probe};
use handoff_ledger::state::State;
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Capture, Record, Store as _, StoreError};
use handoff_ledger::types::{Ascending, Head, Leaf, LedgerId, Seq};
use handoff_ledger::{chain, format};
use std::collections::BTreeSet;
use std::path::Path;

/// As many events as any test wants.
pub const LONGEST: usize = 200;

/// Records that are one chain, and what is kept beside it.
#[derive(Debug, Clone)]
pub struct Made {
    /// Signature and event bytes, in order.
    pub records: Vec<Vec<u8>>,
    /// By commitment, ascending.
    pub captures: Vec<ExportedCapture>,
}

impl Made {
    /// The first events of the story: three keys, two sessions of which one is sealed within the
    /// first 20, every kind within the first 60, and captures.
    pub fn of(events: usize) -> Made {
        Made::told(events, false)
    }

    /// The same story in another ledger, whose policy differs.
    pub fn by_strangers(events: usize) -> Made {
        Made::told(events, true)
    }

    fn told(events: usize, asserted_values: bool) -> Made {
        let mut story = Story {
            h: History::bare(Policy {
                asserted_values,
                four_eyes: false,
            }),
            captures: Vec::new(),
        };
        story.first_twenty();
        story.other_kinds();
        while story.h.records.len() < events {
            story.round();
        }
        let Story { h, mut captures } = story;
        assert_eq!(
            h.refusals.len(),
            1,
            "all but the upgrade to nothing is lawful"
        );
        captures.sort_by_key(|capture| capture.commitment);
        captures.dedup_by_key(|capture| capture.commitment);
        let mut records = h.records;
        records.truncate(events);
        Made { records, captures }
    }

    /// The head of a chain of records.
    pub fn head(&self) -> Head {
        let leaf = |record: Option<&Vec<u8>>| hash::leaf(record.expect("there is an event"));
        let last = u64::try_from(self.records.len()).unwrap() - 1;
        Head {
            ledger: LedgerId(leaf(self.records.first()).0),
            seq: Seq(last),
            leaf: leaf(self.records.last()),
        }
    }

    /// The leaf of each record.
    pub fn leaves(&self) -> Vec<Leaf> {
        self.records
            .iter()
            .map(|record| hash::leaf(record))
            .collect()
    }

    /// Its fold.
    pub fn state(&self) -> State {
        let mut state = State::new();
        let mut walk = chain::Walk::from_genesis();
        for (seq, record) in (0..).map(Seq).zip(&self.records) {
            state.apply(&walk.step(seq, record).expect("the record links"));
        }
        state
    }

    /// As an export, with its captures.
    pub fn export(&self) -> String {
        let mut text = export::header(&self.head());
        for record in &self.records {
            text += &export::event_line(record).expect("a record fits a line");
        }
        text.extend(self.captures.iter().map(export::capture_line));
        text
    }

    /// The bytes of a ledger file.
    pub fn file(&self) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("ledger.db");
        self.write(&path);
        std::fs::read(path).expect("it was written")
    }

    /// As a new ledger file.
    pub fn write(&self, path: &Path) {
        let records: Vec<Record> = self.records.iter().cloned().map(Record).collect();
        let captures: Vec<Capture> = (self.captures.iter().cloned())
            .map(|kept| Capture {
                commitment: kept.commitment,
                salt: kept.salt,
                bytes: kept.bytes,
            })
            .collect();
        SqliteLedger::create(path, WAIT, |ledger| {
            ledger.transact(|it| -> Result<(), StoreError> { it.append(&records, &captures) })
        })
        .expect("the ledger is made");
    }
}

/// The kinds of the events of a chain.
pub fn kinds(made: &Made) -> BTreeSet<String> {
    let kind = |record: &Vec<u8>| {
        let (_, bytes) = chain::split(record).unwrap();
        format::decode(bytes).unwrap().body.kind().to_owned()
    };
    made.records.iter().map(kind).collect()
}

struct Story {
    h: History,
    captures: Vec<ExportedCapture>,
}

impl Story {
    /// A run whose output is kept.
    fn run(&mut self, session: Seq, probe: &Probe, outcome: Outcome, value: &str) -> Seq {
        self.run_begun(session, probe, outcome, value, None)
    }

    fn run_begun(
        &mut self,
        session: Seq,
        probe: &Probe,
        outcome: Outcome,
        value: &str,
        begun: Option<Seq>,
    ) -> Seq {
        let mut receipt = make::receipt(probe, outcome, Some(value));
        receipt.begun = begun;
        if let Some(outputs) = &mut receipt.outputs {
            let printed = format!("{value}\n").into_bytes();
            let number = u8::try_from(self.h.records.len() % 256).unwrap();
            let salt = [number; hash::SALT_BYTES];
            let committed = Committed {
                commitment: hash::commitment(&salt, &printed),
                length: 2 + u64::try_from(value.len()).unwrap() - 1,
            };
            outputs.stdout.kept = committed;
            outputs.stdout.whole = committed;
            let nothing = Committed {
                commitment: hash::commitment(&salt, b""),
                length: 0,
            };
            outputs.stderr.kept = nothing;
            outputs.stderr.whole = nothing;
            // Every other one was erased by somebody who did not say so.
            if number.is_multiple_of(2) {
                self.captures.push(ExportedCapture {
                    commitment: committed.commitment,
                    bytes: Some(printed),
                    salt,
                });
            }
        }
        self.h.say(session, receipt)
    }

    fn success(&mut self, session: Seq, probe: &Probe, value: &str) -> Seq {
        self.run(session, probe, make::success(probe), value)
    }

    fn axis(&mut self, session: Seq, name: &str) -> Seq {
        let receipt = self.success(session, &make::axis_probe(name), "1");
        self.h.say(session, make::axis(name, receipt))
    }

    fn claim(&mut self, session: Seq, claim: &str, name: &str, axis: Seq, from: &[&str]) {
        let proof = self.success(session, &make::proof_probe(claim), "ok");
        self.success(session, &make::axis_probe(name), "1");
        let body = make::verified(claim, &[proof], &[axis], from);
        self.h.say(session, body);
    }

    fn first_twenty(&mut self) {
        for (who, label, roles) in [
            (Who::Alice, "alice", [Role::Recorder].as_slice()),
            (Who::Bob, "bob", &[Role::Admin, Role::Recorder]),
        ] {
            let body = make::authorized(who.key(), label, roles);
            self.h.ok(Who::Root, Seq::ZERO, body);
        }
        let first = self.h.open(Who::Alice);
        let axis = self.axis(first, "os");
        self.claim(first, "good", "os", axis, &[]);
        self.h.say(first, make::flagged("likely"));
        self.h
            .say(first, make::discarded("idle", DiscardWhy::NoStep));
        self.h.seal(first);
        let second = self.h.open_on(Who::Bob, &[first]);
        let seen = self.success(second, &make::axis_probe("os"), "1");
        self.h
            .say(second, make::reverified(vec![make::by_receipt(axis, seen)]));
        let gated = make::gated(&["good"], GateDecision::Allowed);
        let gate = self.h.say(second, gated);
        self.h.say(second, make::finished(gate));
        let erased = self.captures.pop().expect("there is a capture");
        let mut erasure = make::erased();
        erasure.commitments = Ascending::from_unordered([erased.commitment]);
        self.h.ok(Who::Bob, Seq::ZERO, erasure);
        self.h.say(second, make::retracted(&["good"]));
        assert_eq!(self.h.records.len(), 20, "the first twenty");
    }

    fn other_kinds(&mut self) {
        let (first, second) = (Seq(3), Seq(13));
        let flag = self.h.state.open_flag(&"likely".parse().unwrap()).unwrap();
        let (flag, step) = (flag.seq, flag.body.step.clone());
        let begun = make::begun("likely", flag, step.digest());
        let at = self.h.say(second, begun.clone());
        let failed = self.run_begun(second, &step, Outcome::Exited(1), "no", Some(at));
        let why = PromotionRefusedWhy::ProbeFailed;
        let body = make::promotion_refused("likely", flag, failed, why);
        self.h.say(second, body);
        let axis = self.axis(second, "os");
        let at = self.h.say(second, begun);
        let shown = self.run_begun(second, &step, Outcome::Exited(0), "ok", Some(at));
        self.success(second, &make::axis_probe("os"), "1");
        let body = make::promoted("likely", flag, shown, &[axis]);
        self.h.say(second, body);
        let flag = self.h.say(second, make::flagged("doubtful"));
        self.h.say(second, make::withdrawn("doubtful", flag));
        let token = make::redacted_probe(&["cat", "token"]);
        let receipt = self.success(second, &token, "secret");
        let mut body = make::axis("token", receipt);
        body.class = AxisClass::Reachability;
        self.h.say(second, body);
        self.h.say(second, make::ambient(&["token"]));
        let seal = self.h.sealed(second);
        self.h.say(second, seal);
        let third = self.h.open_on(Who::Alice, &[first]);
        self.h.ok(Who::Bob, Seq::ZERO, make::abandoned(third));
        let refused = self.h.next();
        self.h.refused(Who::Root, Seq::ZERO, make::upgraded(1, 1));
        let acknowledged = make::acknowledged(refused);
        self.h.ok(Who::Root, Seq::ZERO, acknowledged);
        let body = make::authorized(Who::Carol.key(), "carol", &[Role::Recorder]);
        self.h.ok(Who::Bob, Seq::ZERO, body);
        self.h.revoke(Who::Carol, Some(Seq(30)));
        assert!(self.h.records.len() <= 60, "every kind within sixty");
    }

    /// A session that inherits the one sealed before, looks, adds a claim and seals.
    fn round(&mut self) {
        let number = self.h.records.len();
        let frontier: Vec<Seq> = self.h.state.frontier().into_iter().collect();
        let session = self.h.open_on(Who::Alice, &frontier);
        let lineage = self.h.state.lineage(session);
        let inherited = (self.h.state.axes().values())
            .filter(|axis| axis.body.axis.as_str() == "os" && lineage.contains(&axis.session))
            .map(|axis| axis.seq);
        let entries = inherited
            .map(|axis| make::not_probed(axis, NotProbedWhy::NotRun))
            .collect();
        self.h.say(session, make::reverified(entries));
        let axis = self.axis(session, "os");
        let claim = format!("claim-{number}");
        self.claim(session, &claim, "os", axis, &[]);
        self.claim(session, "derived", "os", axis, &[claim.as_str()]);
        self.h.seal(session);
    }
}
