//! Real signed chains in memory, for tests of the pure core: fixed keys, a fixed clock, every body
//! appended whether it is lawful or not, and the fold of it all.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests, and each test uses a part of them"
)]

pub mod index;
pub mod ledger;
pub mod make;

use handoff_ledger::boundary::Boundary;
use handoff_ledger::chain::{VerifiedEvent, Walk};
use handoff_ledger::event::{
    Body, Event, LedgerOpened, Policy, ReverifiedEntry, Role, SessionOpened, SessionSealed,
};
use handoff_ledger::format;
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::key::SigningKey;
use handoff_ledger::probe_spec::{Outcome, Probe};
use handoff_ledger::refusal::{Refusal, Rule};
use handoff_ledger::state::State;
use handoff_ledger::types::{Ascending, ClaimId, Digest, Leaf, PublicKey, Seq, Time};
use handoff_ledger::verdict::{AxisVerdict, Because, ClaimVerdict};
use std::collections::BTreeMap;

/// 2026-01-01T00:00:00.000Z.
pub const START_MS: i64 = 1_767_225_600_000;
/// Where every session runs, unless a test says otherwise.
pub const SCOPE: Digest = Digest([7; 32]);

/// The signers of the tests, by their fixed seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Opened the ledger.
    Root,
    /// An admin that is no recorder.
    Admin,
    /// A second admin.
    OtherAdmin,
    /// A recorder.
    Alice,
    /// Another recorder.
    Bob,
    /// A third recorder.
    Carol,
    /// Never authorised, unless a test does so.
    Stranger,
    /// One more of them, by number, up to 99.
    Extra(u8),
}

impl Who {
    /// Everyone with a name.
    pub const ALL: [Who; 7] = [
        Who::Root,
        Who::Admin,
        Who::OtherAdmin,
        Who::Alice,
        Who::Bob,
        Who::Carol,
        Who::Stranger,
    ];

    fn seed(self) -> u8 {
        match self {
            Who::Root => 1,
            Who::Admin => 2,
            Who::OtherAdmin => 3,
            Who::Alice => 4,
            Who::Bob => 5,
            Who::Carol => 6,
            Who::Stranger => 7,
            Who::Extra(number) => 100 + number,
        }
    }

    /// The secret key.
    pub fn signing_key(self) -> SigningKey {
        SigningKey::from_seed([self.seed(); 32])
    }

    /// The public key.
    pub fn key(self) -> PublicKey {
        self.signing_key().public()
    }
}

/// A chain under construction, with the fold of what it holds.
pub struct History {
    walk: Walk,
    prev: Leaf,
    /// The signed records.
    pub records: Vec<Vec<u8>>,
    /// The events of the records.
    pub events: Vec<VerifiedEvent>,
    /// The fold.
    pub state: State,
    /// What the fold refused.
    pub refusals: BTreeMap<Seq, Refusal>,
    /// The clock: a second passes before each event.
    pub now: Time,
    openers: BTreeMap<Seq, Who>,
}

impl History {
    /// A ledger with its people: the root, two admins, and three recorders.
    pub fn new() -> History {
        History::with_policy(Policy {
            asserted_values: false,
            four_eyes: false,
        })
    }

    /// The same under a policy.
    pub fn with_policy(policy: Policy) -> History {
        let mut history = History::bare(policy);
        for (who, label, roles) in [
            (Who::Admin, "admin", vec![Role::Admin]),
            (Who::OtherAdmin, "other-admin", vec![Role::Admin]),
            (Who::Alice, "alice", vec![Role::Recorder]),
            (Who::Bob, "bob", vec![Role::Recorder]),
            (Who::Carol, "carol", vec![Role::Recorder]),
        ] {
            history.ok(
                Who::Root,
                Seq::ZERO,
                make::authorized(who.key(), label, &roles),
            );
        }
        history
    }

    /// A ledger that only its root may write.
    pub fn bare(policy: Policy) -> History {
        let mut history = History::nothing();
        let opened = LedgerOpened {
            name: "tests".parse().unwrap(),
            nonce: Digest([9; 32]),
            policy,
            rules: 1,
        };
        history.ok(Who::Root, Seq::ZERO, opened);
        history
    }

    /// A chain without events.
    pub fn nothing() -> History {
        History {
            walk: Walk::from_genesis(),
            prev: Leaf::ZERO,
            records: Vec::new(),
            events: Vec::new(),
            state: State::new(),
            refusals: BTreeMap::new(),
            now: Time::from_ms(START_MS),
            openers: BTreeMap::new(),
        }
    }

    /// The position of the next event.
    pub fn next(&self) -> Seq {
        Seq(u64::try_from(self.records.len()).unwrap())
    }

    /// The event that `who` would sign next.
    pub fn draft(&self, who: Who, session: Seq, body: impl Into<Body>) -> Event {
        Event {
            seq: self.next(),
            prev: self.prev,
            key: who.key(),
            session,
            time: Time::from_ms(self.now.ms() + 1000),
            body: body.into(),
        }
    }

    /// Signs and appends, lawful or not, and takes it in.
    pub fn push(&mut self, who: Who, session: Seq, body: impl Into<Body>) -> Result<Seq, Refusal> {
        let event = self.draft(who, session, body);
        self.append(who, event)
    }

    /// Signs and appends an event as it stands, and takes it in.
    pub fn append(&mut self, who: Who, event: Event) -> Result<Seq, Refusal> {
        let bytes = format::encode(&event).expect("the event is well-formed");
        assert_eq!(format::decode(&bytes).as_ref(), Ok(&event), "one spelling");
        let mut record = who.signing_key().sign(&bytes).to_vec();
        record.extend_from_slice(&bytes);
        let seq = event.seq;
        let verified = self.walk.step(seq, &record).expect("the record links");
        self.prev = verified.leaf();
        self.now = event.time;
        let refusal = self.state.apply(&verified);
        if refusal.is_none() && matches!(event.body, Body::SessionOpened(_)) {
            self.openers.insert(seq, who);
        }
        self.records.push(record);
        self.events.push(verified);
        match refusal {
            None => Ok(seq),
            Some(refusal) => {
                self.refusals.insert(seq, refusal.clone());
                Err(refusal)
            }
        }
    }

    /// Appends what must be permitted.
    pub fn ok(&mut self, who: Who, session: Seq, body: impl Into<Body>) -> Seq {
        let body = body.into();
        let kind = body.kind().to_owned();
        match self.push(who, session, body) {
            Ok(seq) => seq,
            Err(refusal) => panic!("{kind} by {who:?} in session {session} is refused: {refusal}"),
        }
    }

    /// Appends what must be refused, and says by which rule.
    pub fn refused(&mut self, who: Who, session: Seq, body: impl Into<Body>) -> Rule {
        let body = body.into();
        let kind = body.kind().to_owned();
        match self.push(who, session, body) {
            Ok(seq) => panic!("{kind} by {who:?} in session {session} is permitted at {seq}"),
            Err(refusal) => refusal.rule,
        }
    }

    /// Who opened a session.
    pub fn opener(&self, session: Seq) -> Who {
        self.openers[&session]
    }

    /// Appends in a session, by whoever opened it, what must be permitted.
    pub fn say(&mut self, session: Seq, body: impl Into<Body>) -> Seq {
        self.ok(self.opener(session), session, body)
    }

    /// Appends in a session, by whoever opened it, what must be refused.
    pub fn say_refused(&mut self, session: Seq, body: impl Into<Body>) -> Rule {
        self.refused(self.opener(session), session, body)
    }

    /// Opens a session that inherits nothing.
    pub fn open(&mut self, who: Who) -> Seq {
        self.open_on(who, &[])
    }

    /// Opens a session that inherits.
    pub fn open_on(&mut self, who: Who, inherits: &[Seq]) -> Seq {
        self.ok(who, Seq::ZERO, make::opened(inherits))
    }

    /// Opens a session that inherits in another place.
    pub fn open_in(&mut self, who: Who, inherits: &[Seq], scope: Digest) -> Seq {
        let opened = SessionOpened {
            scope,
            ..make::opened(inherits)
        };
        self.ok(who, Seq::ZERO, opened)
    }

    /// Records a successful run of a probe.
    pub fn run(&mut self, session: Seq, probe: &Probe, value: &str) -> Seq {
        let receipt = make::receipt(probe, make::success(probe), Some(value));
        self.say_receipt(session, receipt)
    }

    /// Records a run of a probe that ended as given.
    pub fn run_ended(
        &mut self,
        session: Seq,
        probe: &Probe,
        outcome: Outcome,
        value: Option<&str>,
    ) -> Seq {
        self.say_receipt(session, make::receipt(probe, outcome, value))
    }

    fn say_receipt(
        &mut self,
        session: Seq,
        mut receipt: handoff_ledger::event::ProbeReceipt,
    ) -> Seq {
        receipt.scope = self.state.sessions()[&session].opened.body.scope;
        self.say(session, receipt)
    }

    /// Runs the probe of a name and records the axis.
    pub fn axis(&mut self, session: Seq, name: &str, value: &str) -> Seq {
        let receipt = self.run(session, &make::axis_probe(name), value);
        self.say(session, make::axis(name, receipt))
    }

    /// Observes an axis's probe in a session.
    pub fn observe(&mut self, session: Seq, name: &str, value: &str) -> Seq {
        self.run(session, &make::axis_probe(name), value)
    }

    /// Runs the proof of a claim between two observations of what it needs, each at the value that
    /// was recorded; gives the proof's receipt.
    pub fn prove(&mut self, session: Seq, proof: &Probe, needs: &[Seq]) -> Seq {
        self.observe_all(session, needs);
        let receipt = self.run(session, proof, "ok");
        self.observe_all(session, needs);
        receipt
    }

    fn observe_all(&mut self, session: Seq, needs: &[Seq]) {
        for axis in needs {
            let recorded = &self.state.axes()[axis].body.receipt;
            let recorded = self.state.receipts()[recorded].body.clone();
            let value = recorded.value.expect("the axis has a value");
            self.run(session, &recorded.probe, value.as_str());
        }
    }

    /// Proves and records a claim.
    pub fn verify(&mut self, session: Seq, claim: &str, needs: &[Seq]) -> Seq {
        self.verify_from(session, claim, needs, &[])
    }

    /// Proves and records a claim that derives from others.
    pub fn verify_from(&mut self, session: Seq, claim: &str, needs: &[Seq], from: &[&str]) -> Seq {
        let receipt = self.prove(session, &make::proof_probe(claim), needs);
        self.say(session, make::verified(claim, &[receipt], needs, from))
    }

    /// Flags a claim.
    pub fn flag(&mut self, session: Seq, claim: &str) -> Seq {
        self.say(session, make::flagged(claim))
    }

    /// Runs a flag's step, between observations, and promotes.
    pub fn promote(&mut self, session: Seq, claim: &str, flag: Seq, needs: &[Seq]) -> Seq {
        let step = self.state.flags()[&flag].body.step.clone();
        let receipt = self.prove(session, &step, needs);
        self.say(session, make::promoted(claim, flag, receipt, needs))
    }

    /// Declares nothing ambient.
    pub fn ambient_none(&mut self, session: Seq) -> Seq {
        self.say(session, make::ambient(&[]))
    }

    /// What a seal of a session must say here and now.
    pub fn sealed(&self, session: Seq) -> SessionSealed {
        let boundary = Boundary::of(&self.state, session).expect("there is such a session");
        SessionSealed {
            boundary_digest: boundary.digest().expect("it can be spelled"),
            counts: boundary.counts(),
        }
    }

    /// Declares nothing ambient, and seals.
    pub fn seal(&mut self, session: Seq) -> Seq {
        self.ambient_none(session);
        let sealed = self.sealed(session);
        self.say(session, sealed)
    }

    /// Observes axes at a value each, and says that the boundary was reverified.
    pub fn reverify(&mut self, session: Seq, observed: &[(Seq, &str)]) -> Seq {
        let mut entries = Vec::new();
        for (axis, value) in observed {
            let receipt = self.state.axes()[axis].body.receipt;
            let probe = self.state.receipts()[&receipt].body.probe.clone();
            let receipt = self.run(session, &probe, value);
            entries.push(ReverifiedEntry {
                asserted: None,
                axis: *axis,
                receipt: Some(receipt),
                unverifiable: None,
            });
        }
        self.say(session, make::reverified(entries))
    }

    /// Revokes a key as the root.
    pub fn revoke(&mut self, who: Who, compromised_since: Option<Seq>) -> Seq {
        self.ok(
            Who::Root,
            Seq::ZERO,
            make::revoked(who.key(), compromised_since),
        )
    }

    /// A view from a session at the last event.
    pub fn judge(&self, session: Seq) -> Judge<'_> {
        Judge::new(&self.state, Some(session), Asked::AtHead { time: self.now })
    }

    /// A view from a session now.
    pub fn judge_now(&self, session: Seq) -> Judge<'_> {
        let asked = Asked::Now {
            time: self.now,
            scope: SCOPE,
        };
        Judge::new(&self.state, Some(session), asked)
    }

    /// Whether a claim is admissible to a session at the last event.
    pub fn admits(&self, session: Seq, claim: &str) -> bool {
        let claim: ClaimId = claim.parse().unwrap();
        self.judge(session).admissible().contains_key(&claim)
    }

    /// What a session may think of a claim at the last event.
    pub fn claim(&self, session: Seq, claim: &str) -> ClaimVerdict {
        let judge = self.judge(session);
        judge.claim(&claim.parse().unwrap(), &judge.admissible())
    }

    /// Why a claim is not admissible to a session.
    pub fn because(&self, session: Seq, claim: &str) -> Vec<Because> {
        self.claim(session, claim).because
    }

    /// The verdict on an axis in a session at the last event.
    pub fn verdict(&self, session: Seq, axis: Seq) -> AxisVerdict {
        self.judge(session).axis(axis)
    }

    /// The fold of the first events.
    pub fn state_after(&self, count: usize) -> State {
        let mut state = State::new();
        for event in &self.events[..count] {
            state.apply(event);
        }
        state
    }
}

/// A set of seqs.
pub fn seqs(list: &[Seq]) -> Ascending<Seq> {
    Ascending::from_unordered(list.iter().copied())
}
