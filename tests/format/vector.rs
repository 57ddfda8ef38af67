//! A vector: what is expected of a chain, and the chain as an export.
//!
//! The form is that of the Community Cryptography Test Vectors: lines `name: value`, an empty line,
//! and then the data.

use crate::builder::History;
use handoff_ledger::chain::{self, FaultKind, Walk};
use handoff_ledger::export::{self, Line, Reader};
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::observation::axis_in;
use handoff_ledger::state::State;
use handoff_ledger::types::{Leaf, Seq};
use std::fmt::Write as _;

/// A vector by its name, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What a history comes to, as far as a vector says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcomes {
    /// The void events, where they are the point.
    pub(crate) voided: Option<Vec<u64>>,
    /// Session, axis, verdict and reason.
    pub(crate) axes: Vec<(u64, u64, &'static str)>,
    /// Session, claim and its state there.
    pub(crate) claims: Vec<(u64, &'static str, &'static str)>,
    /// Session, and all claims that are admissible to it.
    pub(crate) admissible: Vec<(u64, Vec<&'static str>)>,
}

impl Vector {
    /// A chain that holds. What it refuses, and so its result, is read off the fold; every refused
    /// event was expected where the history was built.
    pub(crate) fn judged(
        name: &str,
        comment: &str,
        history: &History,
        outcomes: Outcomes,
    ) -> Vector {
        let state = &history.state;
        let mut text = format!("expect: {}\n", result(state));
        for (seq, refusal) in state.refused() {
            let _ = writeln!(text, "refused: {seq} {}", refusal.rule);
        }
        let voided: Vec<u64> = state.voided().iter().map(|seq| seq.0).collect();
        assert!(outcomes.voided.is_none_or(|it| it == voided), "{name}");
        for seq in voided {
            let _ = writeln!(text, "void: {seq}");
        }
        for (session, axis, verdict) in outcomes.axes {
            let _ = writeln!(text, "axis: {session} {axis} {verdict}");
        }
        for (session, claim, claim_state) in outcomes.claims {
            let _ = writeln!(text, "claim: {session} {claim} {claim_state}");
        }
        for (session, claims) in outcomes.admissible {
            let _ = writeln!(text, "admissible: {session} {}", listed(claims));
        }
        let _ = writeln!(text, "head: {}", history.head());
        Vector::whole(name, comment, history, text)
    }

    /// A chain whose record at `seq` has a fault.
    pub(crate) fn tampered(
        name: &str,
        comment: &str,
        history: &History,
        fault: &str,
        seq: u64,
    ) -> Vector {
        let mut text = format!("expect: tampered\nfault: {seq} {fault}\n");
        let head = match history.state.head() {
            Some(head) => head.to_string(),
            None => "none".to_owned(),
        };
        let _ = writeln!(text, "head: {head}");
        Vector::whole(name, comment, history, text)
    }

    /// A chain that holds, against what somebody remembers of it.
    pub(crate) fn remembered(
        name: &str,
        comment: &str,
        history: &History,
        fault: &str,
        (seq, leaf): (u64, Leaf),
    ) -> Vector {
        let head = history.head();
        let text =
            format!("expect: tampered\nknown: {seq} {leaf}\nfault: {seq} {fault}\nhead: {head}\n");
        Vector::whole(name, comment, history, text)
    }

    fn whole(name: &str, comment: &str, history: &History, expected: String) -> Vector {
        let root = crate::builder::Who::Root.key().public();
        let mut text = format!("{expected}root: {root}\ncomment: {comment}\n\n");
        text += &export::header(&history.head());
        for record in &history.records {
            text += &export::event_line(record).unwrap();
        }
        Vector {
            name: name.to_owned(),
            text,
        }
    }

    /// Its row in the index of `ledger-format.md`.
    pub(crate) fn row(&self) -> String {
        let first = |header| self.values(header).first().copied();
        let broken = first("fault").or(first("refused"));
        let mut expected = first("expect").unwrap().to_owned();
        if let Some(broken) = broken {
            let _ = write!(expected, " {broken}");
        }
        let comment = first("comment").unwrap();
        format!("| `{}` | {expected} | {comment} |\n", self.name)
    }

    /// The values of a header, in order.
    fn values(&self, name: &str) -> Vec<&str> {
        let (headers, _) = self.text.split_once("\n\n").unwrap();
        let pairs = headers.lines().map(|line| line.split_once(": ").unwrap());
        pairs
            .filter(|(found, _)| *found == name)
            .map(|(_, value)| value)
            .collect()
    }

    fn records(&self) -> Vec<Vec<u8>> {
        let (_, lines) = self.text.split_once("\n\n").unwrap();
        let mut reader = Reader::new();
        let mut records = Vec::new();
        for line in lines.split_inclusive('\n') {
            if let Line::Record(record) = reader.line(line.as_bytes()).unwrap() {
                records.push(record);
            }
        }
        reader.finish().unwrap();
        records
    }

    /// Verifies the chain, and compares all that comes of it with what the headers say.
    pub(crate) fn run(&self) {
        let records = self.records();
        let mut walk = Walk::from_genesis();
        let mut state = State::new();
        let mut fault = None;
        for (seq, record) in (0..).map(Seq).zip(&records) {
            match walk.step(seq, record) {
                Ok(event) => {
                    state.apply(&event);
                }
                Err(faults) => {
                    let [only] = faults.as_slice() else {
                        panic!("{}: more than one fault: {faults:?}", self.name);
                    };
                    fault = Some(format!("{seq} {}", only.kind.name()));
                    break;
                }
            }
        }
        for known in self.values("known") {
            let (seq, leaf) = known.split_once(' ').unwrap();
            let (at, leaf) = (seq.parse::<usize>().unwrap(), leaf.parse::<Leaf>().unwrap());
            let accepted = match records.get(at) {
                Some(record) => {
                    chain::accept(seq.parse().unwrap(), record, leaf).map_err(|fault| fault.kind)
                }
                None => Err(FaultKind::Missing),
            };
            fault = accepted.err().map(|kind| format!("{seq} {}", kind.name()));
        }
        let found = if fault.is_some() {
            "tampered"
        } else {
            result(&state)
        };
        self.same("expect", &[found.to_owned()]);
        self.same("fault", fault.as_slice());
        let head = state.head().map_or("none".to_owned(), |it| it.to_string());
        self.same("head", &[head]);
        if let Some(ledger) = state.ledger() {
            self.same("root", &[ledger.root.to_string()]);
        }
        self.judge(&state);
    }

    fn judge(&self, state: &State) {
        let refused = state.refused().iter();
        let refused: Vec<String> = refused
            .map(|(seq, refusal)| format!("{seq} {}", refusal.rule))
            .collect();
        self.same("refused", &refused);
        let voided: Vec<String> = state.voided().iter().map(Seq::to_string).collect();
        self.same("void", &voided);
        for asked in self.values("axis") {
            let mut words = asked.splitn(3, ' ');
            let session: Seq = words.next().unwrap().parse().unwrap();
            let axis: Seq = words.next().unwrap().parse().unwrap();
            let told = axis_in(state, axis, session, None, state.head_time().unwrap());
            let mut found = told.verdict.to_string();
            if let Some(reason) = told.reason {
                let _ = write!(found, " {reason}");
            }
            assert_eq!(words.next(), Some(found.as_str()), "{}: {asked}", self.name);
        }
        for asked in self.values("claim") {
            let [session, claim, expected] = words(asked);
            let judge = judge(state, session);
            let claim = claim.parse().unwrap();
            let found = judge.claim(&claim, &judge.admissible()).state;
            assert_eq!(expected, found.as_str(), "{}: {asked}", self.name);
        }
        for asked in self.values("admissible") {
            let [session, expected] = words(asked);
            let admissible = judge(state, session).admissible();
            let found = admissible.keys().map(|claim| claim.as_str());
            assert_eq!(expected, listed(found), "{}: {asked}", self.name);
        }
    }

    fn same(&self, header: &str, found: &[String]) {
        assert_eq!(self.values(header), found, "{}: {header}", self.name);
    }
}

fn judge<'a>(state: &'a State, session: &str) -> Judge<'a> {
    let time = state.head_time().unwrap();
    Judge::new(
        state,
        Some(session.parse().unwrap()),
        Asked::AtHead { time },
    )
}

fn words<const N: usize>(text: &str) -> [&str; N] {
    let words: Vec<&str> = text.split(' ').collect();
    words.try_into().unwrap()
}

/// Claims by comma, or a hyphen for none.
fn listed<'a>(claims: impl IntoIterator<Item = &'a str>) -> String {
    let claims: Vec<&str> = claims.into_iter().collect();
    if claims.is_empty() {
        "-".to_owned()
    } else {
        claims.join(",")
    }
}

/// What `verify` would call a chain that holds and whose root is pinned.
fn result(state: &State) -> &'static str {
    let known = |seq: &&Seq| state.acknowledged().is_some_and(|up_to| up_to >= **seq);
    if state.refused().keys().any(|seq| !known(&seq)) {
        "unlawful"
    } else if state.undetermined().is_some() {
        "undetermined"
    } else {
        "verified"
    }
}
