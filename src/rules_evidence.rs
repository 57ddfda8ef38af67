//! The rules of evidence: receipts, axes, ambient declarations, reverifications and gates.

use crate::event::{
    ActionFinished, ActionGated, AmbientDeclared, AxisRecorded, BoundaryReverified, Event,
    GateDecision, ProbeBegun, ProbeReceipt, ReverifiedEntry,
};
use crate::facts::Fact;
use crate::judge::{Asked, Judge};
use crate::observation;
use crate::probe_spec::{self, Comparator, Extraction, Outcome};
use crate::refusal::{Refusal, Rule, refuse, require};
use crate::rules::session;
use crate::state::State;
use crate::types::{Digest, Seq, Value};
use crate::verdict::{AxisVerdict, Verdict};

/// A flag's step is announced with the flag's own digest.
pub(crate) fn begun(state: &State, event: &Event, body: &ProbeBegun) -> Result<(), Refusal> {
    let Some(flag) = state.flags().get(&body.flag) else {
        return dangling("flag", body.flag);
    };
    require(state.is_open(body.flag), Rule::FlagNotOpen, || {
        format!("flag {} is not open", body.flag)
    })?;
    let same =
        flag.body.claim == body.claim || state.statement(&body.claim) == Some(&flag.body.statement);
    require(same, Rule::FlagStatement, || {
        format!(
            "flag {} is not of {} nor of its statement",
            body.flag, body.claim
        )
    })?;
    require(
        flag.body.step_digest == body.probe_digest,
        Rule::ProbeDigest,
        || {
            format!(
                "event {} announces another probe than flag {} promises",
                event.seq, body.flag
            )
        },
    )
}

/// Rule 1: a receipt is whole in itself, and of its session's scope.
pub(crate) fn receipt(state: &State, event: &Event, body: &ProbeReceipt) -> Result<(), Refusal> {
    require(
        body.probe.digest() == body.probe_digest,
        Rule::ProbeDigest,
        || "the probe's digest is not that of its definition".into(),
    )?;
    let scope = session(state, event.session)?.opened.body.scope;
    require(body.scope == scope, Rule::Scope, || {
        format!(
            "the receipt is of scope {}, session {} of {scope}",
            body.scope, event.session
        )
    })?;
    if let Some(begun) = body.begun {
        let announced = state.begun.get(&begun).is_some_and(|fact| {
            fact.session == event.session && fact.body.probe_digest == body.probe_digest
        });
        require(announced, Rule::DanglingReference, || {
            format!("event {begun} does not announce this probe in this session")
        })?;
    }
    for compared in &body.compared {
        let probe = state.axis_probe(compared.axis);
        require(
            probe == Some(body.probe_digest),
            Rule::DanglingReference,
            || format!("axis {} is none of this probe", compared.axis),
        )?;
    }
    match contradiction(body) {
        Some(detail) => refuse(Rule::ReceiptShape, detail),
        None => Ok(()),
    }
}

/// How a receipt contradicts itself, if it does: what anyone can recompute must be so.
fn contradiction(body: &ProbeReceipt) -> Option<&'static str> {
    let native = body.probe.check().is_some();
    let of_its_kind = match body.outcome {
        Outcome::Checked | Outcome::Failed => native,
        Outcome::Exited(_) | Outcome::Signaled(_) | Outcome::NotFound | Outcome::NotExecutable => {
            !native
        }
        Outcome::TimedOut | Outcome::Interrupted => true,
    };
    if !of_its_kind {
        return Some("the outcome is none of this sort of probe");
    }
    if body.extracted && !observation::has_finished(body) {
        return Some("a value from a run that did not finish");
    }
    let has_value = body.value.is_some() || body.redacted.is_some();
    if body.extracted && has_value == (*body.probe.extract() == Extraction::None) {
        return Some("a value where none is extracted, or none where one is");
    }
    if body.redacted.is_none() && !body.compared.is_empty() {
        return Some("a comparison without a redacted value");
    }
    if native && body.executable.is_some() {
        return Some("an executable of a native check");
    }
    let value = body.value.as_ref().map(Value::as_str);
    for (expectation, judged) in body.probe.expect().iter().zip(&body.expectations) {
        let empty = probe_spec::met_by_empty(body.probe.extract(), expectation);
        if empty.is_some_and(|empty| empty != judged.met_by_empty) {
            return Some("met_by_empty is not what the expectation says");
        }
        let met = probe_spec::recomputable(&body.probe, expectation, value, &body.outcome);
        if met.is_some_and(|met| met != judged.met) {
            return Some("an expectation is not judged as the value and outcome say");
        }
        if judged.met && !observation::has_finished(body) {
            return Some("an expectation met by a run that did not finish");
        }
    }
    None
}

/// Rule 2: an axis needs a successful receipt of its own session that satisfies its comparator.
pub(crate) fn axis(state: &State, event: &Event, body: &AxisRecorded) -> Result<(), Refusal> {
    let receipt = evidence(state, event, body.receipt)?;
    require(
        !probe_spec::is_constant(&receipt.body.probe),
        Rule::Vacuous,
        || format!("receipt {} is of a constant command", body.receipt),
    )?;
    let redacted = receipt.body.probe.redact();
    require(
        !redacted || body.comparator == Comparator::Exact,
        Rule::RedactedComparator,
        || "a redacted axis is compared exactly".into(),
    )?;
    let value = receipt.body.value.as_ref().map(Value::as_str);
    let check = receipt.body.probe.check();
    require(
        receipt.body.redacted.is_some() || body.comparator.satisfied(check, value, value),
        Rule::Comparator,
        || {
            format!(
                "the value of receipt {} does not satisfy {}",
                body.receipt, body.comparator
            )
        },
    )
}

/// A receipt fit to be evidence: of the event's own session, not void, successful.
pub(crate) fn evidence<'a>(
    state: &'a State,
    event: &Event,
    seq: Seq,
) -> Result<&'a Fact<ProbeReceipt>, Refusal> {
    let receipt = own_receipt(state, event, seq)?;
    require(!state.is_void(seq), Rule::Void, || {
        format!("receipt {seq} is void")
    })?;
    require(
        observation::is_successful(&receipt.body),
        Rule::ReceiptFailed,
        || format!("receipt {seq} is not successful"),
    )?;
    Ok(receipt)
}

/// A receipt of the event's own session.
pub(crate) fn own_receipt<'a>(
    state: &'a State,
    event: &Event,
    seq: Seq,
) -> Result<&'a Fact<ProbeReceipt>, Refusal> {
    let Some(receipt) = state.receipts().get(&seq) else {
        return dangling("receipt", seq);
    };
    require(
        receipt.session == event.session,
        Rule::ReceiptSession,
        || {
            format!(
                "receipt {seq} is of session {}, not {}",
                receipt.session, event.session
            )
        },
    )?;
    Ok(receipt)
}

/// Rule 12: a support cites the session's latest receipt of each probe.
pub(crate) fn is_latest(
    state: &State,
    event: &Event,
    receipt: &Fact<ProbeReceipt>,
) -> Result<(), Refusal> {
    let latest = state.latest_receipt(event.session, receipt.body.probe_digest, None);
    match latest {
        Some(latest) if latest.seq != receipt.seq => refuse(
            Rule::ReceiptNotLatest,
            format!(
                "receipt {} is older than {} of the same probe",
                receipt.seq, latest.seq
            ),
        ),
        _ => Ok(()),
    }
}

/// Rule 3: the session observed the axis as held at or before the proof's first receipt, and its
/// latest observation, held, is at or after the last.
pub(crate) fn bracketed(
    state: &State,
    event: &Event,
    axis: Seq,
    proof: (Seq, Seq),
) -> Result<(), Refusal> {
    let (first, last) = proof;
    let held = |at_most| observation::axis_in(state, axis, event.session, at_most, event.time);
    let before = held(Some(first));
    let after = held(None);
    let is_bracketed = before.verdict == Verdict::Held
        && before.receipt.is_some()
        && after.verdict == Verdict::Held
        && after.receipt.is_some_and(|receipt| receipt >= last);
    require(is_bracketed, Rule::NotBracketed, || {
        let told = |verdict: &AxisVerdict| match verdict.reason {
            Some(reason) => format!("{} ({reason})", verdict.verdict),
            None => verdict.verdict.to_string(),
        };
        let (before, after) = (told(&before), told(&after));
        format!("axis {axis} is {before} before the proof and {after} after it, or not probed anew")
    })
}

/// Rule 5: ambient and load-bearing are a partition.
pub(crate) fn ambient(state: &State, event: &Event, body: &AmbientDeclared) -> Result<(), Refusal> {
    for entry in &body.entries {
        let needed = (event.session, entry.name.clone());
        if let Some(claim) = state.needed.get(&needed) {
            return refuse(
                Rule::AmbientLoadBearing,
                format!("{} is load-bearing for {claim}", entry.name),
            );
        }
    }
    Ok(())
}

/// Rule 18: an entry is of an axis of the lineage, and cites a receipt of this session and that
/// axis's probe.
pub(crate) fn reverified(
    state: &State,
    event: &Event,
    body: &BoundaryReverified,
) -> Result<(), Refusal> {
    for entry in &body.entries {
        let Some(axis) = state.axes().get(&entry.axis) else {
            return dangling("axis", entry.axis);
        };
        require(
            state.inherits(event.session, axis.session),
            Rule::AxisNotInLineage,
            || format!("axis {} is not of the session's lineage", entry.axis),
        )?;
        reverified_receipt(state, event, entry)?;
    }
    Ok(())
}

fn reverified_receipt(
    state: &State,
    event: &Event,
    entry: &ReverifiedEntry,
) -> Result<(), Refusal> {
    let Some(seq) = entry.receipt else {
        return Ok(());
    };
    let cited: Option<(Seq, Digest)> = state
        .receipts()
        .get(&seq)
        .map(|receipt| (receipt.session, receipt.body.probe_digest));
    let expected = state
        .axis_probe(entry.axis)
        .map(|probe| (event.session, probe));
    require(cited == expected, Rule::ReverifiedReceipt, || {
        format!(
            "receipt {seq} is of another session or probe than axis {} asks for",
            entry.axis
        )
    })
}

/// Rule 12: the decision of a gate is recomputed.
pub(crate) fn gated(state: &State, event: &Event, body: &ActionGated) -> Result<(), Refusal> {
    let asked = Asked::AtHead { time: event.time };
    let judge = Judge::new(state, Some(event.session), asked);
    let admissible = judge.admissible_of(body.claims.iter());
    let all = body
        .claims
        .iter()
        .all(|claim| admissible.contains_key(claim));
    let expected = if all {
        GateDecision::Allowed
    } else {
        GateDecision::Refused
    };
    require(body.decision == expected, Rule::GateDecision, || {
        format!("the claims make it {expected}, not {}", body.decision)
    })
}

/// An action finishes once, and only one that was let run.
pub(crate) fn finished(state: &State, event: &Event, body: &ActionFinished) -> Result<(), Refusal> {
    let gate = state
        .gates
        .get(&body.gate)
        .filter(|gate| gate.session == event.session);
    let Some(gate) = gate else {
        return dangling("gate", body.gate);
    };
    let unfinished = !state.finished.contains_key(&body.gate);
    let allowed = gate.body.decision == GateDecision::Allowed;
    require(unfinished && allowed, Rule::GateFinished, || {
        format!(
            "gate {} is finished already, or did not let its action run",
            body.gate
        )
    })
}

pub(crate) fn dangling<T>(what: &str, seq: Seq) -> Result<T, Refusal> {
    refuse(Rule::DanglingReference, format!("there is no {what} {seq}"))
}
