//! What a state amounts to for those who ask, as JSON and as lines; nothing here asks or prints.
//!
//! ```text
//!  mod.rs    claims, axes, reasons and heads as JSON      next.rs   the command to type next
//!  text.rs   the same for a person, one line each               age.rs    how old it is
//!  action.rs gated commands
//! ```

mod action;
mod age;
mod next;
mod text;

pub use action::{end_text, unfinished_json, unfinished_text};
pub use age::{age_text, oldest_observation};
pub use next::next_for;
pub use text::{
    axis_text, because_text, claim_text, probe_text, reason_text, reasons_text, weak_text,
};

use crate::facts::{Fact, Support};
use crate::judge::Judge;
use crate::state::State;
use crate::types::{AxisName, ClaimId, Head, Seq};
use crate::verdict::{AxisVerdict, Because, ClaimState, ClaimVerdict};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What stands where a redacted value would.
pub const REDACTED: &str = "(redacted)";

/// A head: `seq`, `hash` (the leaf) and `line` (the head line).
pub fn head_json(head: &Head) -> Value {
    json!({ "seq": head.seq, "hash": head.leaf, "line": head.to_string() })
}

/// The claims asked about, or all that the lineage and unsealed sessions speak of, by id.
pub fn claims(
    state: &State,
    judge: &Judge<'_>,
    which: Option<&BTreeSet<ClaimId>>,
) -> BTreeMap<ClaimId, ClaimVerdict> {
    let admissible = judge.admissible();
    let judged = |id: &ClaimId| (id.clone(), judge.claim(id, &admissible));
    match which {
        Some(ids) => ids.iter().map(judged).collect(),
        None => state
            .claims()
            .keys()
            .map(judged)
            .filter(|(_, verdict)| verdict.state != ClaimState::Unknown)
            .collect(),
    }
}

/// [`claims`] as JSON.
pub fn claims_json(
    state: &State,
    judge: &Judge<'_>,
    which: Option<&BTreeSet<ClaimId>>,
) -> Vec<Value> {
    claims(state, judge, which)
        .iter()
        .map(|(id, verdict)| claim_json(state, id, verdict))
        .collect()
}

/// One claim as JSON: `claim`, `statement`, `state`, `admissible`, `weak`, `weak_because`,
/// `because`, `directive` and `step` (of an open flag, else null), `support` and `flag`.
pub fn claim_json(state: &State, id: &ClaimId, verdict: &ClaimVerdict) -> Value {
    let flag = verdict.flag.and_then(|flag| state.flags().get(&flag));
    let because: Vec<Value> = (verdict.because.iter())
        .map(|because| because_json(state, because))
        .collect();
    json!({
        "claim": id,
        "statement": statement(state, id, verdict),
        "state": verdict.state,
        "admissible": verdict.admissible,
        "weak": !verdict.weak.is_empty(),
        "weak_because": verdict.weak,
        "because": because,
        "directive": flag.map(|flag| &flag.body.directive),
        "step": flag.map(|flag| &flag.body.step),
        "support": verdict.support,
        "flag": verdict.flag,
    })
}

/// What a claim states: by its support or flag, else as its id is bound.
pub fn statement<'s>(state: &'s State, id: &ClaimId, verdict: &ClaimVerdict) -> Option<&'s str> {
    let support = verdict.support.and_then(|seq| state.supports().get(&seq));
    let flag = verdict.flag.and_then(|seq| state.flags().get(&seq));
    let said = support.map(|support| &support.body.statement);
    let said = said.or_else(|| flag.map(|flag| &flag.body.statement));
    let said = said
        .or_else(|| state.statement(id))
        .map(|text| text.as_str());
    said.or_else(|| {
        let discards = &state.claims().get(id)?.discards;
        let newest = discards
            .iter()
            .rev()
            .find_map(|seq| state.discards().get(seq))?;
        Some(newest.body.statement.as_str())
    })
}

/// An axis in a session, with what needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisShown {
    /// Its record.
    pub seq: Seq,
    /// Its verdict.
    pub verdict: AxisVerdict,
    /// The claims whose supports in the lineage need it.
    pub needed_by: BTreeSet<ClaimId>,
}

/// The axes that supports of the lineage need, those that its sessions let drift, and those that
/// the session itself recorded last.
pub fn axes(state: &State, judge: &Judge<'_>) -> Vec<AxisShown> {
    let mut needed: BTreeMap<Seq, BTreeSet<ClaimId>> = BTreeMap::new();
    let lineage = judge.lineage();
    let live = |support: &&Fact<Support>| {
        lineage.contains(&support.session)
            && !state.is_void(support.seq)
            && state
                .retracted(&support.body.claim)
                .is_none_or(|retraction| retraction < support.seq)
    };
    for support in state.supports().values().filter(live) {
        for axis in &support.body.needs {
            let by = needed.entry(*axis).or_default();
            by.insert(support.body.claim.clone());
        }
    }
    let own = state
        .axes()
        .values()
        .filter(|record| {
            let ambient = lineage.contains(&record.session)
                && state.is_ambient(record.session, &record.body.axis);
            Some(record.session) == judge.session() || ambient
        })
        .filter(|record| {
            let latest = state.latest_axis(record.session, &record.body.axis);
            latest.is_some_and(|latest| latest.seq == record.seq)
        });
    for record in own {
        needed.entry(record.seq).or_default();
    }
    needed
        .into_iter()
        .map(|(seq, needed_by)| AxisShown {
            seq,
            verdict: judge.axis(seq),
            needed_by,
        })
        .collect()
}

/// [`axes`] as JSON.
pub fn axes_json(state: &State, judge: &Judge<'_>) -> Vec<Value> {
    axes(state, judge)
        .iter()
        .filter_map(|axis| axis_json(state, axis))
        .collect()
}

/// One axis as JSON: `axis`, `seq`, `class`, `session`, `value` (as recorded), `verdict`, `reason`,
/// `now`, `receipt` and `needed_by`.
pub fn axis_json(state: &State, axis: &AxisShown) -> Option<Value> {
    let record = state.axes().get(&axis.seq)?;
    let verdict = &axis.verdict;
    Some(json!({
        "axis": record.body.axis,
        "seq": axis.seq,
        "class": record.body.class,
        "session": record.session,
        "value": recorded(state, axis.seq),
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "now": observed(state, axis.seq, verdict),
        "receipt": verdict.receipt,
        "needed_by": axis.needed_by,
    }))
}

/// The value that an axis was recorded with, or [`REDACTED`].
pub fn recorded(state: &State, axis: Seq) -> Option<&str> {
    let receipt = state.axes().get(&axis)?.body.receipt;
    value(state, receipt)
}

/// The value that a verdict rests on, or [`REDACTED`].
pub fn observed<'s>(state: &'s State, axis: Seq, verdict: &'s AxisVerdict) -> Option<&'s str> {
    match (&verdict.now, verdict.receipt) {
        (Some(now), _) if !is_redacted(state, axis) => Some(now.as_str()),
        (Some(_), _) => Some(REDACTED),
        (None, Some(receipt)) => value(state, receipt),
        (None, None) => None,
    }
}

fn is_redacted(state: &State, axis: Seq) -> bool {
    let record = state.axes().get(&axis);
    let receipt = record.and_then(|record| state.receipts().get(&record.body.receipt));
    receipt.is_some_and(|receipt| receipt.body.probe.redact())
}

fn value(state: &State, receipt: Seq) -> Option<&str> {
    let body = &state.receipts().get(&receipt)?.body;
    match &body.redacted {
        Some(_) => Some(REDACTED),
        None => body.value.as_ref().map(|value| value.as_str()),
    }
}

/// The stable name of a reason's kind.
pub fn because_kind(because: &Because) -> &'static str {
    match because {
        Because::Axis { .. } => "axis",
        Because::From { .. } => "from",
        Because::CounterEvidence { .. } => "counter_evidence",
        Because::TooLarge => "too_large",
        Because::NotReverified => "not_reverified",
        Because::Provisional { .. } => "provisional",
        Because::Retracted { .. } => "retracted",
        Because::Void => "void",
        Because::Statement { .. } => "statement",
        Because::Discarded => "discarded",
        Because::Unsealed { .. } => "unsealed",
        Because::Unknown => "unknown",
        Because::NoSession => "no_session",
        Because::Elsewhere => "elsewhere",
        Because::Ended => "ended",
        Because::KeyRevoked => "key_revoked",
        Because::Undetermined => "undetermined",
        Because::Ledger(obstacle) => obstacle.as_str(),
    }
}

/// One reason as JSON: `kind`, and of `axis`, `claim`, `verdict`, `reason`, `was`, `now`, `receipt`
/// (and `flag`, `retraction`, `session`) what applies.
pub fn because_json(state: &State, because: &Because) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            members.insert(name.to_owned(), value);
        }
    };
    put("kind", because_kind(because).into());
    match because {
        Because::Axis { axis, verdict } => {
            put("axis", json!(axis_name(state, *axis)));
            put("seq", json!(axis));
            put("verdict", json!(verdict.verdict));
            put("reason", json!(verdict.reason));
            put("was", json!(recorded(state, *axis)));
            put("now", json!(observed(state, *axis, verdict)));
            put("receipt", json!(verdict.receipt));
        }
        Because::From { claim } | Because::Statement { claim } => put("claim", json!(claim)),
        Because::CounterEvidence { receipt } => put("receipt", json!(receipt)),
        Because::Provisional { flag } => put("flag", json!(flag)),
        Because::Retracted { retraction } => {
            put("retraction", json!(retraction));
            let fact = state.retractions().get(retraction);
            put("reason", json!(fact.map(|fact| &fact.body.reason)));
        }
        Because::Unsealed { session } => put("session", json!(session)),
        Because::TooLarge
        | Because::NotReverified
        | Because::Void
        | Because::Discarded
        | Because::Unknown
        | Because::NoSession
        | Because::Elsewhere
        | Because::Ended
        | Because::KeyRevoked
        | Because::Undetermined
        | Because::Ledger(_) => {}
    }
    Value::Object(members)
}

fn axis_name(state: &State, axis: Seq) -> Option<&AxisName> {
    state.axes().get(&axis).map(|record| &record.body.axis)
}
