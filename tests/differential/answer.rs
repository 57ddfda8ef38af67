//! What the library says of a ledger, in the shape in which the second verifier answers.

use crate::alter::TEXT_CHANGED;
use crate::judge::{Judged, Way, judge, records};
use handoff_ledger::chain;
use handoff_ledger::hash;
use handoff_ledger::judge::{Asked, Judge, axis_name};
use handoff_ledger::state::State;
use handoff_ledger::types::{PublicKey, Seq};
use handoff_ledger::verify::Report;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The members of an answer that are compared.
const COMPARED: [&str; 7] = [
    "result", "events", "head", "faults", "refused", "voided", "sessions",
];

/// How much is shown of a value that differs.
const SHOWN_CHARACTERS: usize = 300;

/// The library's answer.
pub fn of_the_library(path: &Path, root: Option<PublicKey>) -> Value {
    let way = Way {
        root,
        ..Way::strict()
    };
    match judge(path, &way) {
        Judged::NotLookedAt(_) => json!({
            "result": "error", "events": 0, "head": null,
            "faults": [], "refused": [], "voided": [], "sessions": [],
        }),
        Judged::Rejected(report) => answer(path, &report, None),
        Judged::Accepted(report, state) => answer(path, &report, Some(&state)),
    }
}

fn answer(path: &Path, report: &Report, expected: Option<&State>) -> Value {
    let mut state = State::new();
    let mut sessions: BTreeMap<Seq, Value> = BTreeMap::new();
    let intact = usize::try_from(report.events).unwrap();
    for (seq, record) in (0..).map(Seq).zip(records(path)).take(intact) {
        let event = chain::accept(seq, &record, hash::leaf(&record)).expect("it is intact");
        state.apply(&event);
        for (session, it) in state.sessions() {
            if !it.is_open() && !sessions.contains_key(session) {
                sessions.insert(*session, look(&state, *session, seq));
            }
        }
    }
    if let Some(expected) = expected {
        assert!(state == *expected, "the fold that the verifier made");
    }
    if let Some(head) = report.head {
        for session in state.sessions().keys() {
            let shown = sessions.entry(*session);
            shown.or_insert_with(|| look(&state, *session, head.seq));
        }
    }
    let faults = report.faults.items().iter();
    let refused = report.refused.items().iter();
    json!({
        "result": report.result,
        "events": report.events,
        "head": report.head.map(|head| json!({"seq": head.seq, "hash": head.leaf})),
        "faults": faults
            .map(|fault| json!({"seq": fault.seq, "kind": fault.kind}))
            .collect::<Vec<_>>(),
        "refused": refused
            .map(|event| json!({"seq": event.seq, "rule": event.rule}))
            .collect::<Vec<_>>(),
        "voided": report.voided.items(),
        "sessions": sessions.into_values().collect::<Vec<_>>(),
    })
}

/// How things look from a session at its end.
fn look(state: &State, session: Seq, at: Seq) -> Value {
    let time = state.head_time().expect("it has an event");
    let judge = Judge::new(state, Some(session), Asked::AtHead { time });
    let admissible = judge.admissible();
    let axes = state.axes().values();
    let axes = axes.filter(|axis| judge.lineage().contains(&axis.session));
    let axes: Vec<Value> = axes
        .map(|axis| {
            let found = judge.axis(axis.seq);
            json!({
                "axis": axis_name(state, axis.seq),
                "seq": axis.seq,
                "verdict": found.verdict,
                "reason": found.reason,
            })
        })
        .collect();
    let claims: Vec<Value> = (state.claims().keys())
        .map(|claim| {
            let found = judge.claim(claim, &admissible);
            json!({"claim": claim, "state": found.state})
        })
        .collect();
    json!({
        "session": session,
        "at": at,
        "axes": axes,
        "admissible": admissible.keys().collect::<Vec<_>>(),
        "claims": claims,
    })
}

/// In what two answers differ.
///
/// Where a text is not even an export's, both say so, but not in the same number of faults: how much
/// is read behind a line that is none is no part of the format.
pub fn difference(way: &str, here: &Value, there: &Value) -> Option<String> {
    let differing = COMPARED.iter().filter(|name| here[**name] != there[**name]);
    let differing = differing.filter(|name| **name != "faults" || way != TEXT_CHANGED);
    let told: Vec<String> = differing
        .map(|name| {
            let (path, here, there) = first(name, &here[*name], &there[*name]);
            let (here, there) = (shortened(&here), shortened(&there));
            format!("{path}: the library says {here}, the second verifier {there}")
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(SHOWN_CHARACTERS).collect()
}

/// Where two values first differ, and how.
fn first(path: &str, here: &Value, there: &Value) -> (String, Value, Value) {
    match (here, there) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            let mut pairs = pairs.filter(|(_, (a, b))| a != b);
            if let Some((at, (a, b))) = pairs.next() {
                return first(&format!("{path}[{at}]"), a, b);
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut names = a.keys().filter(|name| b.get(*name) != a.get(*name));
            if let Some(name) = names.next() {
                let there = b.get(name).cloned().unwrap_or_default();
                return first(&format!("{path}.{name}"), &a[name], &there);
            }
        }
        _ => {}
    }
    (path.to_owned(), here.clone(), there.clone())
}
