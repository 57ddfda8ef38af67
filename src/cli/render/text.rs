//! Claims, axes and reasons for a person, one line each; what a predecessor wrote stands quoted.

use super::{AxisShown, observed, recorded, statement};
use crate::cli::quote::{quoted_within, shell_quoted};
use crate::probe_spec::{Extraction, Probe, STEP_TIMEOUT_MS_DEFAULT, TIMEOUT_MS_DEFAULT};
use crate::state::State;
use crate::types::{ClaimId, Seq};
use crate::verdict::{AxisVerdict, Because, ClaimVerdict, Obstacle, Reason, Verdict, Weak};
use std::collections::BTreeSet;

/// Most characters of a value or a text that a line shows.
const SHOWN_CHARACTERS_MAX: usize = 200;

fn short(text: &str) -> String {
    quoted_within(text, SHOWN_CHARACTERS_MAX)
}

/// A claim's line: its id, then its statement if it has one.
pub fn claim_text(state: &State, id: &ClaimId, verdict: &ClaimVerdict) -> String {
    match statement(state, id, verdict) {
        Some(statement) => format!("{id}: {}", short(statement)),
        None => id.to_string(),
    }
}

/// Why a support is weaker than it could be; nothing if it is not.
pub fn weak_text(weak: &BTreeSet<Weak>) -> Option<String> {
    let words: Vec<&str> = weak
        .iter()
        .map(|weak| match weak {
            Weak::ExitOnly => "shown by an exit code only",
            Weak::EnvironmentIndependent => "said to hold in any environment",
            Weak::ScriptChanged => {
                "its step's program, or a file that it names, has changed since it was flagged"
            }
        })
        .collect();
    (!words.is_empty()).then(|| format!("weak: {}", words.join(", ")))
}

/// An axis's line: name, record, value, verdict and what it rests on.
pub fn axis_text(state: &State, axis: &AxisShown) -> String {
    let verdict = axis.verdict.verdict;
    match (verdict, recorded(state, axis.seq)) {
        (Verdict::Held, Some(value)) => format!(
            "{} held {}{}",
            name(state, axis.seq),
            short(value),
            by_receipt(axis.verdict.receipt)
        ),
        (Verdict::Held, None) => {
            let receipt = by_receipt(axis.verdict.receipt);
            format!("{} held{receipt}", name(state, axis.seq))
        }
        (
            Verdict::DriftedAmbient | Verdict::DriftedLoadBearing | Verdict::Unverifiable,
            Some(_) | None,
        ) => axis_because(state, axis.seq, &axis.verdict),
    }
}

/// Several reasons in one line.
pub fn reasons_text(state: &State, because: &[Because]) -> String {
    let reasons: Vec<String> = because
        .iter()
        .map(|because| because_text(state, because))
        .collect();
    reasons.join("; ")
}

/// One reason, as `db.host was "stage-1", now "prod-1" (receipt 112)`.
pub fn because_text(state: &State, because: &Because) -> String {
    match because {
        Because::Axis { axis, verdict } => axis_because(state, *axis, verdict),
        Because::From { claim } => format!("{claim}, from which it derives, is not admissible"),
        Because::CounterEvidence { receipt } => {
            format!("its proof ran again and failed, all it needs being held (receipt {receipt})")
        }
        Because::TooLarge => "it rests on more supports than are judged at once".to_owned(),
        Because::NotReverified => "inherited, and this session has not reverified".to_owned(),
        Because::Provisional { flag } => {
            format!("provisional until its step has succeeded (flag {flag})")
        }
        Because::Retracted { retraction } => match state.retractions().get(retraction) {
            Some(fact) => {
                let reason = short(fact.body.reason.as_str());
                format!("retracted: {reason} (event {retraction})")
            }
            None => format!("retracted (event {retraction})"),
        },
        Because::Void => "void: the key that signed it was compromised".to_owned(),
        Because::Statement { claim } => {
            format!("{claim} states something else, since a key's revocation was changed")
        }
        Because::Discarded => "discarded".to_owned(),
        Because::Unsealed { session } => format!("session {session} is not sealed"),
        Because::Unknown => "nothing in this lineage speaks of it".to_owned(),
        Because::NoSession => "no session is named and none is open here".to_owned(),
        Because::Elsewhere => "the session was opened in another place than this".to_owned(),
        Because::Ended => "the session has ended".to_owned(),
        Because::KeyRevoked => "the session's key is revoked".to_owned(),
        Because::Undetermined => {
            "the ledger was upgraded beyond what this program can judge".to_owned()
        }
        Because::Ledger(obstacle) => match obstacle {
            Obstacle::Tampered => "the ledger was tampered with",
            Obstacle::Incomplete => "the ledger is incomplete",
            Obstacle::Untrusted => "nobody here vouches for the ledger's root key",
        }
        .to_owned(),
    }
}

fn axis_because(state: &State, axis: Seq, verdict: &AxisVerdict) -> String {
    let name = name(state, axis);
    let was = recorded(state, axis).map(|value| format!(" was {}", short(value)));
    let was = was.unwrap_or_default();
    let now = observed(state, axis, verdict).map(short);
    let receipt = by_receipt(verdict.receipt);
    let why = verdict.reason.map_or("", reason_text);
    match (verdict.verdict, verdict.reason, now) {
        (Verdict::Held, _, _) => format!("{name} held{receipt}"),
        (Verdict::Unverifiable, Some(Reason::AssertedOnly), Some(now)) => {
            format!("{name}{was}, said to be {now}: {why}")
        }
        (Verdict::Unverifiable, _, _) => {
            let comma = if was.is_empty() { "" } else { "," };
            format!("{name}{was}{comma} now unverifiable: {why}{receipt}")
        }
        (drifted, Some(Reason::Changed | Reason::Unreachable), Some(now)) => {
            format!("{name}{was}, now {now}{}{receipt}", ambient(drifted))
        }
        (drifted, _, Some(now)) => {
            format!("{name}{was}, now {now}: {why}{}{receipt}", ambient(drifted))
        }
        (drifted, _, None) => format!("{name}{was}, now: {why}{}{receipt}", ambient(drifted)),
    }
}

fn ambient(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DriftedAmbient => ", which its session declared ambient",
        Verdict::Held | Verdict::DriftedLoadBearing | Verdict::Unverifiable => "",
    }
}

fn name(state: &State, axis: Seq) -> String {
    match state.axes().get(&axis) {
        Some(record) => record.body.axis.to_string(),
        None => format!("axis {axis}"),
    }
}

fn by_receipt(receipt: Option<Seq>) -> String {
    receipt.map_or(String::new(), |receipt| format!(" (receipt {receipt})"))
}

/// Why a verdict is not `held`, in words.
pub fn reason_text(reason: Reason) -> &'static str {
    match reason {
        Reason::Stale => "its observation is too old",
        Reason::Future => "its observation is dated ahead",
        Reason::Void => "its observation is void",
        Reason::NotFound => "the probe's program was not found",
        Reason::NotExecutable => "the probe's program could not be run",
        Reason::Signaled => "a signal ended the probe",
        Reason::TimedOut => "the probe timed out",
        Reason::Interrupted => "the probe was interrupted",
        Reason::Failed => "the check could not be made",
        Reason::Unparsable => "the probe gave no value",
        Reason::Unreachable => "not reachable",
        Reason::UnexpectedExit => "the probe exited with another code than expected",
        Reason::ExpectationUnmet => "an expectation of the probe is not met",
        Reason::Changed => "changed",
        Reason::NotProbed => "not probed in this session",
        Reason::NotRun => "its probe was not run, or not to its end in time",
        Reason::NoExec => "running probes was forbidden",
        Reason::Untrusted => "its recorder is not trusted to say what to run",
        Reason::SaltMissing => "the salt of its redacted value is gone",
        Reason::AssertedOnly => "asserted, not probed, which does not count here",
    }
}

/// What a probe runs and expects, as its options would be typed.
pub fn probe_text(probe: &Probe) -> String {
    let mut words: Vec<String> = Vec::new();
    if *probe.extract() != Extraction::default() {
        words.extend(["--extract".to_owned(), probe.extract().to_string()]);
    }
    for name in probe.env() {
        words.extend(["--env".to_owned(), name.to_string()]);
    }
    for expectation in probe.expect() {
        words.extend(["--expect".to_owned(), expectation.to_string()]);
    }
    if probe.exit_only() {
        words.push("--exit-only".to_owned());
    }
    if probe.shell() {
        words.push("--shell".to_owned());
    }
    if probe.redact() {
        words.push("--redact".to_owned());
    }
    if probe.timeout_ms() != TIMEOUT_MS_DEFAULT && probe.timeout_ms() != STEP_TIMEOUT_MS_DEFAULT {
        words.extend(["--timeout".to_owned(), format!("{}ms", probe.timeout_ms())]);
    }
    if probe.cwd() != "." {
        words.extend(["--cwd".to_owned(), probe.cwd().to_owned()]);
    }
    match (probe.argv(), probe.check()) {
        (Some(argv), _) => {
            words.push("--".to_owned());
            words.extend(argv.iter().cloned());
        }
        (None, Some(check)) => words.extend(["--check".to_owned(), check.to_string()]),
        (None, None) => {}
    }
    shell_quoted(&words)
}
