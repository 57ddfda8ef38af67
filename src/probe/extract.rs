//! The value of an output, and whether the expectations were met: what needs a regular expression
//! or the output itself, judged once, here.

use super::Seen;
use super::output::{Captured, CapturedStream};
use crate::probe_spec::{
    Expectation, Extraction, Judgement, Outcome, Pattern, Pointer, Probe, met_by_empty,
};
use crate::types::TEXT_BYTES_MAX;
use regex::bytes::Regex;
use serde_json::Value;

/// A regular expression that does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a regular expression: {reason}")]
pub struct ExpressionError {
    /// The expression.
    pub pattern: String,
    /// What is wrong with it, and where.
    pub reason: String,
}

/// Compiles every regular expression of `probe`, to refuse it before it is signed. One that does
/// not compile and is run all the same extracts nothing and is met by nothing.
pub fn check_expressions(probe: &Probe) -> Result<(), ExpressionError> {
    let of_extraction = match probe.extract() {
        Extraction::Regex(pattern) => Some(pattern),
        Extraction::Trim
        | Extraction::Line(_)
        | Extraction::Json(_)
        | Extraction::Sha256
        | Extraction::None => None,
    };
    let of_expectations = probe
        .expect()
        .iter()
        .filter_map(|expectation| match expectation {
            Expectation::ValueMatches(pattern)
            | Expectation::StdoutMatches(pattern)
            | Expectation::StderrMatches(pattern) => Some(pattern),
            Expectation::Value(_)
            | Expectation::Semver(_)
            | Expectation::Json { .. }
            | Expectation::Exit(_) => None,
        });
    for pattern in of_extraction.into_iter().chain(of_expectations) {
        Regex::new(pattern.as_str()).map_err(|error| ExpressionError {
            pattern: pattern.to_string(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// What was taken from an output and how it was judged.
pub(super) struct Judged {
    pub(super) extracted: bool,
    pub(super) value: Option<String>,
    pub(super) expectations: Vec<Judgement>,
}

/// Judges what was seen.
///
/// Only a run that ended by itself has a value and meets anything. Of output longer than what is
/// kept, there is a digest but no other value, and no expectation about it is met: what is in the
/// middle was not seen.
/// Per expectation of a probe that is not run, whether empty output meets it.
pub fn met_by_empty_output(probe: &Probe) -> Vec<bool> {
    let judge = |expectation: &Expectation| {
        met_by_empty(probe.extract(), expectation)
            .unwrap_or_else(|| matches_empty(probe.extract(), expectation))
    };
    probe.expect().iter().map(judge).collect()
}

pub(super) fn judge(probe: &Probe, seen: &Seen) -> Judged {
    let extracted = seen
        .outcome
        .is_finished()
        .then(|| extract(probe, seen))
        .flatten();
    let value = extracted.clone().and_then(|value| match value {
        Extracted::Text(text) => Some(text),
        Extracted::Nothing => None,
    });
    let judgement = |expectation: &Expectation| Judgement {
        met: seen.outcome.is_finished()
            && is_met(
                expectation,
                value.as_deref(),
                &seen.outcome,
                seen.outputs.as_ref(),
            ),
        met_by_empty: met_by_empty(probe.extract(), expectation)
            .unwrap_or_else(|| matches_empty(probe.extract(), expectation)),
    };
    Judged {
        extracted: extracted.is_some(),
        expectations: probe.expect().iter().map(judgement).collect(),
        value,
    }
}

#[derive(Clone)]
enum Extracted {
    Text(String),
    /// There is no value, as was asked for.
    Nothing,
}

fn extract(probe: &Probe, seen: &Seen) -> Option<Extracted> {
    let text = match (&seen.answer, &seen.outputs) {
        (Some(answer), _) => trimmed(answer.as_bytes())?,
        (None, Some(outputs)) => match probe.extract() {
            Extraction::None => return Some(Extracted::Nothing),
            Extraction::Sha256 => outputs.stdout.whole_sha256.to_string(),
            Extraction::Trim => trimmed(outputs.stdout.whole()?)?,
            Extraction::Line(number) => trimmed(line(outputs.stdout.whole()?, *number)?)?,
            Extraction::Regex(pattern) => captured(outputs.stdout.whole()?, pattern)?,
            Extraction::Json(pointer) => scalar(outputs.stdout.whole()?, pointer)?,
        },
        (None, None) => return None,
    };
    (text.len() <= TEXT_BYTES_MAX).then_some(Extracted::Text(text))
}

/// The bytes as UTF-8, without the white space of [`is_blank`](crate::types::is_blank) around them.
fn trimmed(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_space = |character| matches!(character, ' ' | '\t'..='\r');
    Some(text.trim_matches(is_space).to_owned())
}

/// Line `number`, from 1; after a final line feed there is no further line.
fn line(bytes: &[u8], number: u32) -> Option<&[u8]> {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    if bytes.is_empty() {
        return None;
    }
    lines.split(|byte| *byte == b'\n').nth(index)
}

fn captured(bytes: &[u8], pattern: &Pattern) -> Option<String> {
    let expression = Regex::new(pattern.as_str()).ok()?;
    let captures = expression.captures(bytes)?;
    let group = usize::from(captures.len() > 1);
    String::from_utf8(captures.get(group)?.as_bytes().to_vec()).ok()
}

/// The text of what the pointer names: a string's content, or another scalar's JSON.
fn scalar(bytes: &[u8], pointer: &Pointer) -> Option<String> {
    let document: Value = serde_json::from_slice(bytes).ok()?;
    match document.pointer(pointer.as_str())? {
        Value::String(text) => Some(text.clone()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => Some(other.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_met(
    expectation: &Expectation,
    value: Option<&str>,
    outcome: &Outcome,
    outputs: Option<&Captured>,
) -> bool {
    let stream = |choose: fn(&Captured) -> &CapturedStream| {
        outputs.map(choose).and_then(CapturedStream::whole)
    };
    match expectation {
        Expectation::Exit(code) => *outcome == Outcome::Exited(*code),
        Expectation::Value(text) => value == Some(text),
        Expectation::Semver(requirement) => value.is_some_and(|text| requirement.is_met_by(text)),
        Expectation::ValueMatches(pattern) => matches(pattern, value.map(str::as_bytes)),
        Expectation::StdoutMatches(pattern) => matches(pattern, stream(|both| &both.stdout)),
        Expectation::StderrMatches(pattern) => matches(pattern, stream(|both| &both.stderr)),
        Expectation::Json { pointer, text } => {
            let found = stream(|both| &both.stdout).and_then(|bytes| scalar(bytes, pointer));
            found.as_ref() == Some(text)
        }
    }
}

fn matches(pattern: &Pattern, bytes: Option<&[u8]>) -> bool {
    let expression = Regex::new(pattern.as_str()).ok();
    expression
        .zip(bytes)
        .is_some_and(|(expression, bytes)| expression.is_match(bytes))
}

/// Whether a regular expression matches what empty output gives.
fn matches_empty(extraction: &Extraction, expectation: &Expectation) -> bool {
    match expectation {
        Expectation::ValueMatches(pattern) => {
            matches(pattern, Some(extraction.of_empty_output().as_bytes()))
        }
        Expectation::StdoutMatches(pattern) | Expectation::StderrMatches(pattern) => {
            matches(pattern, Some(b""))
        }
        Expectation::Value(_)
        | Expectation::Semver(_)
        | Expectation::Json { .. }
        | Expectation::Exit(_) => false,
    }
}
