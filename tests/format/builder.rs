//! Builds histories event by event, with fixed keys, times and salts, so that they never change.

pub(crate) use crate::bodies::*;
use handoff_ledger::boundary::Boundary;
use handoff_ledger::chain::Walk;
use handoff_ledger::event::*;
use handoff_ledger::format;
use handoff_ledger::hash;
use handoff_ledger::key::SigningKey;
use handoff_ledger::probe_spec::{Outcome, Probe};
use handoff_ledger::refusal::Rule;
use handoff_ledger::state::State;
use handoff_ledger::types::{Ascending, Digest, Head, Leaf, LedgerId, Seq, Time, parse_hex};
use std::fmt::Debug;
use std::str::FromStr;

/// The seeds of RFC 8032 section 7.1, tests 1 to 3, and one more.
const SEEDS: [&str; 4] = [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "0404040404040404040404040404040404040404040404040404040404040404",
];
/// 2026-01-05T09:00:00.000Z
const START_MS: i64 = 1_767_603_600_000;

/// The statement of most claims here.
pub(crate) const STATEMENT: &str = "The migration ran on the staging database.";

/// Who signs. The root opens every ledger.
#[derive(Clone, Copy)]
pub(crate) enum Who {
    Root,
    Alice,
    Bob,
    Carol,
}

impl Who {
    pub(crate) fn key(self) -> SigningKey {
        let [root, alice, bob, carol] = SEEDS;
        let seed = match self {
            Who::Root => root,
            Who::Alice => alice,
            Who::Bob => bob,
            Who::Carol => carol,
        };
        SigningKey::from_seed(parse_hex(seed).unwrap())
    }
}

/// The value that `text` spells.
pub(crate) fn of<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// A set of the wire format.
pub(crate) fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> Ascending<T> {
    Ascending::from_unordered(items)
}

/// A chain that grows, and its fold.
pub(crate) struct History {
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) state: State,
    walk: Walk,
    time_ms: i64,
    scope: Digest,
}

impl History {
    /// A history without events.
    pub(crate) fn empty() -> History {
        History {
            records: Vec::new(),
            state: State::new(),
            walk: Walk::from_genesis(),
            time_ms: START_MS,
            scope: hash::scope(b"{}"),
        }
    }

    /// A ledger whose root has authorised Alice.
    pub(crate) fn opened() -> History {
        History::with_policy(false, false)
    }

    pub(crate) fn with_policy(asserted_values: bool, four_eyes: bool) -> History {
        let mut history = History::empty();
        history.add(Who::Root, 0, opening(asserted_values, four_eyes, 1));
        history.authorize(Who::Alice, "alice", &[Role::Recorder]);
        history
    }

    /// The position of the next event.
    pub(crate) fn next(&self) -> u64 {
        u64::try_from(self.records.len()).unwrap()
    }

    /// The leaf of the last record.
    pub(crate) fn tip(&self) -> Leaf {
        self.records.last().map_or(Leaf::ZERO, |it| hash::leaf(it))
    }

    /// The head of the whole chain, whatever it is worth.
    pub(crate) fn head(&self) -> Head {
        Head {
            ledger: LedgerId(hash::leaf(&self.records[0]).0),
            seq: Seq(self.next() - 1),
            leaf: self.tip(),
        }
    }

    /// Lets time pass before the next event.
    pub(crate) fn wait(&mut self, ms: i64) {
        self.time_ms += ms;
    }

    /// The next event, not appended.
    pub(crate) fn event(&self, who: Who, session: u64, body: impl Into<Body>) -> Event {
        Event {
            seq: Seq(self.next()),
            prev: self.tip(),
            key: who.key().public(),
            session: Seq(session),
            time: Time::from_ms(self.time_ms),
            body: body.into(),
        }
    }

    /// Appends the record of some bytes, whatever they are.
    pub(crate) fn add_bytes(&mut self, who: Who, bytes: &[u8]) {
        let signature = who.key().sign(bytes);
        self.records.push([&signature[..], bytes].concat());
        self.time_ms += 1_000;
    }

    fn append(&mut self, event: &Event, who: Who) -> Option<Rule> {
        self.add_bytes(who, &format::encode(event).unwrap());
        let verified = self.walk.step(event.seq, self.records.last().unwrap());
        let refusal = self.state.apply(&verified.unwrap());
        refusal.map(|refusal| refusal.rule)
    }

    /// Appends a lawful event.
    pub(crate) fn add(&mut self, who: Who, session: u64, body: impl Into<Body>) -> u64 {
        let event = self.event(who, session, body);
        let refused = self.append(&event, who);
        assert_eq!(refused, None, "event {}", event.seq);
        event.seq.0
    }

    /// Appends an event that breaks a rule.
    pub(crate) fn refuse(
        &mut self,
        who: Who,
        session: u64,
        body: impl Into<Body>,
        rule: Rule,
    ) -> u64 {
        let event = self.event(who, session, body);
        let refused = self.append(&event, who);
        assert_eq!(refused, Some(rule), "event {}", event.seq);
        event.seq.0
    }

    pub(crate) fn authorize(&mut self, who: Who, label: &str, roles: &[Role]) -> u64 {
        self.add(Who::Root, 0, authorization(who, label, roles))
    }

    pub(crate) fn open(&mut self, who: Who, inherits: &[u64]) -> u64 {
        self.add(who, 0, self.opening_of(inherits))
    }

    pub(crate) fn opening_of(&self, inherits: &[u64]) -> SessionOpened {
        SessionOpened {
            agent: of("vector"),
            inherits: set(inherits.iter().copied().map(Seq)),
            purpose: None,
            scope: self.scope,
        }
    }

    /// A run of a probe that exits with 0 and prints `value`.
    pub(crate) fn ran(&self, probe: &Probe, value: &str) -> ProbeReceipt {
        receipt(probe, Some(value), Outcome::Exited(0), self.scope)
    }

    /// A run of a probe that gave no value.
    pub(crate) fn ended(&self, probe: &Probe, outcome: Outcome) -> ProbeReceipt {
        receipt(probe, None, outcome, self.scope)
    }

    pub(crate) fn probe(&mut self, who: Who, session: u64, probe: &Probe, value: &str) -> u64 {
        let body = self.ran(probe, value);
        self.add(who, session, body)
    }

    /// Records the axis of [`host`] with the value `stage-1`, answering its receipt and it.
    pub(crate) fn host_axis(&mut self, who: Who, session: u64) -> (u64, u64) {
        let receipt = self.probe(who, session, &host(), "stage-1");
        (receipt, self.add(who, session, axis("db.host", receipt)))
    }

    /// Records the axis of [`host`] and a claim that its own probe shows.
    pub(crate) fn proven(&mut self, who: Who, session: u64, claim: &str) -> (u64, u64, u64) {
        let (receipt, axis) = self.host_axis(who, session);
        let body = verified(claim, &[receipt], &[axis]);
        (receipt, axis, self.add(who, session, body))
    }

    pub(crate) fn declare(&mut self, who: Who, session: u64, names: &[&str]) -> u64 {
        self.add(who, session, declaration(names))
    }

    /// The seal that a session would get now.
    pub(crate) fn sealing(&self, session: u64) -> SessionSealed {
        let boundary = Boundary::of(&self.state, Seq(session)).unwrap();
        SessionSealed {
            boundary_digest: boundary.digest().unwrap(),
            counts: boundary.counts(),
        }
    }

    /// Declares nothing ambient, and seals.
    pub(crate) fn seal(&mut self, who: Who, session: u64) -> u64 {
        self.declare(who, session, &[]);
        self.add(who, session, self.sealing(session))
    }
}
