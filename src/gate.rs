//! Gates: an action is let run only if every claim that it relies on may be acted on.
//!
//! The decision is committed before the action runs and its end after, so that one which never
//! came back is visible. A gate narrows the time between the look and the act to that between the
//! probes and the start of the action; it does not close it.

use crate::append::{LedgerError, Pen};
use crate::event::{ActionFinished, ActionGated, GateDecision};
use crate::judge::{Asked, Judge};
use crate::probe_spec::Outcome;
use crate::state::State;
use crate::types::{Ascending, ClaimId, Seq, Time, Value};
use crate::verdict::Verdict;
use std::collections::BTreeSet;

/// A decision, as it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// The `action.gated`.
    pub gate: Seq,
    /// What it says.
    pub decision: GateDecision,
}

/// Decides whether `argv` may run, relying on `claims`, and records it: rule 12.
///
/// # Errors
/// What the rules or the bounds of an event say against it.
pub fn decide(
    pen: &mut Pen<'_>,
    session: Seq,
    claims: &BTreeSet<ClaimId>,
    argv: Vec<Value>,
) -> Result<Decided, LedgerError> {
    let asked = Asked::AtHead { time: pen.time() };
    let judge = Judge::new(pen.state(), Some(session), asked);
    let admissible = judge.admissible_of(claims);
    let decision = match claims.iter().all(|claim| admissible.contains_key(claim)) {
        true => GateDecision::Allowed,
        false => GateDecision::Refused,
    };
    let body = ActionGated {
        argv,
        claims: Ascending::from_unordered(claims.iter().cloned()),
        decision,
    };
    let gate = pen.write(session, body)?;
    Ok(Decided { gate, decision })
}

/// Records how an action ended.
///
/// # Errors
/// `GateFinished` if it ended before, or was not let run.
pub fn finish(
    pen: &mut Pen<'_>,
    session: Seq,
    gate: Seq,
    outcome: Outcome,
) -> Result<Seq, LedgerError> {
    pen.write(session, ActionFinished { gate, outcome })
}

/// Whether an axis was observed as held, not before `since`: it need not be looked at again.
pub fn is_fresh(state: &State, judge: &Judge<'_>, axis: Seq, since: Time) -> bool {
    let verdict = judge.axis(axis);
    let receipt = verdict.receipt.and_then(|seq| state.receipts().get(&seq));
    verdict.verdict == Verdict::Held && receipt.is_some_and(|receipt| receipt.time >= since)
}
