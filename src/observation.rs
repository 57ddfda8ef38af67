//! What a session observed of an axis, and the verdict that gives: rules 16 and 17.

use crate::event::{
    AxisRecorded, BoundaryReverified, Comparison, NotProbedWhy, ProbeReceipt, ReverifiedEntry,
};
use crate::facts::Fact;
use crate::probe_spec::{self, Check, Outcome};
use crate::state::State;
use crate::types::{Seq, Time, Value};
use crate::verdict::{AxisVerdict, Reason, Verdict};

/// How old an observation may be where the axis does not say: 12 hours, in milliseconds.
pub const MAX_AGE_MS_DEFAULT: u64 = 12 * 60 * 60 * 1000;
/// How far ahead of the moment asked about an observation may be dated: 5 minutes.
pub const AHEAD_MS_MAX: i64 = 5 * 60 * 1000;

/// The verdict on an axis in a session, by its newest observation there (at or before `at_most` if
/// that is given), judged at a moment: rules 16 and 17.
pub fn axis_in(
    state: &State,
    axis: Seq,
    session: Seq,
    at_most: Option<Seq>,
    at: Time,
) -> AxisVerdict {
    observation(state, axis, session, (at_most, at), Voided::Unverifiable)
}

/// What a void observation is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voided {
    /// It stands before older ones, and says nothing.
    Unverifiable,
    /// It is taken as it was signed.
    Counts,
}

pub(crate) fn observation(
    state: &State,
    axis: Seq,
    session: Seq,
    (at_most, at): (Option<Seq>, Time),
    voided: Voided,
) -> AxisVerdict {
    let (Some(record), Some(probe)) = (state.axes().get(&axis), state.axis_probe(axis)) else {
        return unobserved(Reason::NotProbed);
    };
    match state.latest_receipt(session, probe, at_most) {
        Some(receipt) if voided == Voided::Unverifiable && state.is_void(receipt.seq) => {
            AxisVerdict {
                now: receipt.body.value.clone(),
                receipt: Some(receipt.seq),
                ..unobserved(Reason::Void)
            }
        }
        Some(receipt) => observed(state, record, receipt, at),
        None => {
            let counts = |(event, _): &Told<'_>| {
                at_most.is_none_or(|at_most| event.seq <= at_most)
                    && (voided == Voided::Counts || !state.is_void(event.seq))
            };
            let newest = told(state, session, axis).find(counts);
            not_observed(state, record, newest, at)
        }
    }
}

/// A reverification, and its entry for an axis.
type Told<'a> = (&'a Fact<BoundaryReverified>, &'a ReverifiedEntry);

/// What a session's reverifications say of an axis, newest first.
fn told(state: &State, session: Seq, axis: Seq) -> impl Iterator<Item = Told<'_>> {
    let session = state.sessions().get(&session);
    session.into_iter().flat_map(move |session| {
        let places = session.told.get(&axis).into_iter().flatten().rev();
        places.filter_map(|(event, entry)| {
            let event = session.reverified.get(*event)?;
            Some((event, event.body.entries.get(*entry)?))
        })
    })
}

/// The verdict that one receipt gives on an axis.
fn observed(
    state: &State,
    record: &Fact<AxisRecorded>,
    receipt: &Fact<ProbeReceipt>,
    at: Time,
) -> AxisVerdict {
    let told = |verdict, reason| AxisVerdict {
        verdict,
        reason,
        now: receipt.body.value.clone(),
        receipt: Some(receipt.seq),
    };
    let unverifiable = |reason| told(Verdict::Unverifiable, Some(reason));
    let drifted = |reason| told(drift(state, record), Some(reason));
    if let Some(reason) = age(record, receipt.time, at) {
        return unverifiable(reason);
    }
    let body = &receipt.body;
    if let Some(reason) = unfinished(body) {
        return unverifiable(reason);
    }
    if is_unreachable(body) {
        return drifted(Reason::Unreachable);
    }
    if let Outcome::Exited(code) = body.outcome
        && code != probe_spec::expected_exit(&body.probe)
    {
        return unverifiable(Reason::UnexpectedExit);
    }
    if !is_successful(body) {
        return drifted(Reason::ExpectationUnmet);
    }
    match satisfies(state, record, receipt) {
        None => unverifiable(Reason::SaltMissing),
        Some(false) => drifted(Reason::Changed),
        Some(true) => told(Verdict::Held, None),
    }
}

/// The verdict on an axis that the session has no receipt of, by what its newest reverification
/// says instead.
fn not_observed(
    state: &State,
    record: &Fact<AxisRecorded>,
    newest: Option<Told<'_>>,
    at: Time,
) -> AxisVerdict {
    let Some((event, entry)) = newest else {
        return unobserved(Reason::NotProbed);
    };
    let Some(value) = &entry.asserted else {
        return unobserved(match entry.unverifiable {
            Some(NotProbedWhy::NotRun) => Reason::NotRun,
            Some(NotProbedWhy::NoExec) => Reason::NoExec,
            Some(NotProbedWhy::Untrusted) => Reason::Untrusted,
            Some(NotProbedWhy::SaltMissing) => Reason::SaltMissing,
            None => Reason::NotProbed,
        });
    };
    let told = |verdict, reason| AxisVerdict {
        verdict,
        reason,
        now: Some(value.clone()),
        receipt: None,
    };
    let counts = state
        .ledger()
        .is_some_and(|ledger| ledger.policy.asserted_values);
    let recorded = state
        .receipts()
        .get(&record.body.receipt)
        .map(|receipt| &receipt.body);
    let Some(recorded) = recorded.filter(|recorded| counts && recorded.redacted.is_none()) else {
        return told(Verdict::Unverifiable, Some(Reason::AssertedOnly));
    };
    if let Some(reason) = age(record, event.time, at) {
        return told(Verdict::Unverifiable, Some(reason));
    }
    let was = recorded.value.as_ref().map(Value::as_str);
    let check = recorded.probe.check();
    if record
        .body
        .comparator
        .satisfied(check, was, Some(value.as_str()))
    {
        told(Verdict::Held, None)
    } else {
        told(drift(state, record), Some(Reason::Changed))
    }
}

pub(crate) fn unobserved(reason: Reason) -> AxisVerdict {
    AxisVerdict {
        verdict: Verdict::Unverifiable,
        reason: Some(reason),
        now: None,
        receipt: None,
    }
}

fn drift(state: &State, record: &Fact<AxisRecorded>) -> Verdict {
    if state.is_ambient(record.session, &record.body.axis) {
        Verdict::DriftedAmbient
    } else {
        Verdict::DriftedLoadBearing
    }
}

fn age(record: &Fact<AxisRecorded>, observed: Time, at: Time) -> Option<Reason> {
    let age_ms = at.ms_since(observed);
    let max_age_ms = record.body.max_age_ms.unwrap_or(MAX_AGE_MS_DEFAULT);
    if age_ms < -AHEAD_MS_MAX {
        return Some(Reason::Future);
    }
    u64::try_from(age_ms)
        .is_ok_and(|age_ms| age_ms > max_age_ms)
        .then_some(Reason::Stale)
}

/// Why a run gave nothing to judge by, if it did not.
fn unfinished(receipt: &ProbeReceipt) -> Option<Reason> {
    match receipt.outcome {
        Outcome::NotFound => Some(Reason::NotFound),
        Outcome::NotExecutable => Some(Reason::NotExecutable),
        Outcome::Signaled(_) => Some(Reason::Signaled),
        Outcome::TimedOut => Some(Reason::TimedOut),
        Outcome::Interrupted => Some(Reason::Interrupted),
        Outcome::Failed => Some(Reason::Failed),
        Outcome::Exited(_) | Outcome::Checked => (!receipt.extracted).then_some(Reason::Unparsable),
    }
}

/// Whether a native check of reachability found anything but `reachable`.
fn is_unreachable(receipt: &ProbeReceipt) -> bool {
    receipt.probe.check().is_some_and(Check::is_reachability)
        && receipt.value.as_ref().map(Value::as_str) != Some("reachable")
}

/// Whether a run came to its own end, whatever it found.
pub fn has_finished(receipt: &ProbeReceipt) -> bool {
    receipt.outcome.is_finished()
}

/// Whether a receipt is successful: rule 1.
pub fn is_successful(receipt: &ProbeReceipt) -> bool {
    probe_spec::is_successful(
        &receipt.probe,
        &receipt.outcome,
        receipt.extracted,
        receipt.value.as_ref().map(Value::as_str),
        &receipt.expectations,
    )
}

/// Whether a successful receipt's value satisfies an axis's comparator; `None` if the value is
/// redacted and was not compared.
pub fn satisfies(
    state: &State,
    record: &Fact<AxisRecorded>,
    receipt: &Fact<ProbeReceipt>,
) -> Option<bool> {
    if receipt.seq == record.body.receipt && receipt.body.redacted.is_some() {
        return Some(true);
    }
    if receipt.body.probe.redact() {
        let compared = receipt
            .body
            .compared
            .iter()
            .find(|compared| compared.axis == record.seq)?;
        return Some(compared.result == Comparison::Same);
    }
    let recorded = state.receipts().get(&record.body.receipt)?;
    let was = recorded.body.value.as_ref().map(Value::as_str);
    let now = receipt.body.value.as_ref().map(Value::as_str);
    Some(
        record
            .body
            .comparator
            .satisfied(receipt.body.probe.check(), was, now),
    )
}
