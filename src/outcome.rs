//! What is seen when a probe runs, as it stands in a receipt.

use crate::types::Digest;
use serde::{Deserialize, Serialize};

/// Highest signal number that a receipt holds.
const SIGNAL_MAX: u8 = 64;

/// How a probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "OutcomeMembers", into = "OutcomeMembers")]
pub enum Outcome {
    /// The program exited with this code.
    Exited(u8),
    /// The program was ended by this signal, 1 to 64.
    Signaled(u8),
    /// It ran longer than its timeout and was killed.
    TimedOut,
    /// There is no such program.
    NotFound,
    /// The program is there but could not be started.
    NotExecutable,
    /// The tool was interrupted and killed it.
    Interrupted,
    /// A native check was made and gave a value.
    Checked,
    /// A native check could not be made, as of a file that cannot be read. Of a program it says
    /// that the system failed at starting it, and is then never recorded.
    Failed,
}

impl Outcome {
    /// Whether it ran to an end of its own: `exited` or `checked`.
    pub fn is_finished(self) -> bool {
        matches!(self, Outcome::Exited(_) | Outcome::Checked)
    }
}

#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum End {
    Exited,
    Signaled,
    TimedOut,
    NotFound,
    NotExecutable,
    Interrupted,
    Checked,
    Failed,
}

/// The flat JSON object of an outcome: `exit` with `exited` only, `signal` with `signaled` only.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutcomeMembers {
    end: End,
    #[serde(
        default,
        with = "crate::probe_spec::present",
        skip_serializing_if = "Option::is_none"
    )]
    exit: Option<u8>,
    #[serde(
        default,
        with = "crate::probe_spec::present",
        skip_serializing_if = "Option::is_none"
    )]
    signal: Option<u8>,
}

impl From<Outcome> for OutcomeMembers {
    fn from(outcome: Outcome) -> Self {
        let (end, exit, signal) = match outcome {
            Outcome::Exited(code) => (End::Exited, Some(code), None),
            Outcome::Signaled(number) => (End::Signaled, None, Some(number)),
            Outcome::TimedOut => (End::TimedOut, None, None),
            Outcome::NotFound => (End::NotFound, None, None),
            Outcome::NotExecutable => (End::NotExecutable, None, None),
            Outcome::Interrupted => (End::Interrupted, None, None),
            Outcome::Checked => (End::Checked, None, None),
            Outcome::Failed => (End::Failed, None, None),
        };
        OutcomeMembers { end, exit, signal }
    }
}

impl TryFrom<OutcomeMembers> for Outcome {
    type Error = &'static str;

    fn try_from(members: OutcomeMembers) -> Result<Self, Self::Error> {
        let OutcomeMembers { end, exit, signal } = members;
        match (end, exit, signal) {
            (End::Exited, Some(code), None) => Ok(Outcome::Exited(code)),
            (End::Signaled, None, Some(number @ 1..=SIGNAL_MAX)) => Ok(Outcome::Signaled(number)),
            (End::TimedOut, None, None) => Ok(Outcome::TimedOut),
            (End::NotFound, None, None) => Ok(Outcome::NotFound),
            (End::NotExecutable, None, None) => Ok(Outcome::NotExecutable),
            (End::Interrupted, None, None) => Ok(Outcome::Interrupted),
            (End::Checked, None, None) => Ok(Outcome::Checked),
            (End::Failed, None, None) => Ok(Outcome::Failed),
            (_, Some(_) | None, Some(_) | None) => {
                Err("exit belongs to exited alone, signal (1 to 64) to signaled alone")
            }
        }
    }
}

/// How one expectation was judged by the tool that ran the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Whether this run met it.
    pub met: bool,
    /// Whether empty output would have met it, so that meeting it says nothing.
    pub met_by_empty: bool,
}

/// SHA-256 of a file's bytes: of the program that ran, or of a file that its arguments name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    /// SHA-256 of the bytes.
    pub digest: Digest,
    /// The program's resolved path, or the argument as it was given.
    pub path: String,
}

/// A commitment to bytes that stand outside the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    /// SHA-256(salt || bytes): [`crate::hash::commitment`].
    pub commitment: Digest,
    /// How many bytes, without the salt.
    pub length: u64,
}

/// Commitments to what one stream printed; both use the same salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputCommitment {
    /// What was kept: all of it up to 64 KiB, else the first 32 KiB followed by the last 32 KiB.
    pub kept: Committed,
    /// Everything that was printed.
    pub whole: Committed,
}

/// Commitments to both streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    /// Standard error.
    pub stderr: OutputCommitment,
    /// Standard output.
    pub stdout: OutputCommitment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_a_flat_object_with_one_spelling() {
        for (text, outcome) in [
            (r#"{"end":"exited","exit":0}"#, Outcome::Exited(0)),
            (r#"{"end":"exited","exit":255}"#, Outcome::Exited(255)),
            (r#"{"end":"signaled","signal":9}"#, Outcome::Signaled(9)),
            (r#"{"end":"timed_out"}"#, Outcome::TimedOut),
            (r#"{"end":"not_found"}"#, Outcome::NotFound),
            (r#"{"end":"not_executable"}"#, Outcome::NotExecutable),
            (r#"{"end":"interrupted"}"#, Outcome::Interrupted),
            (r#"{"end":"checked"}"#, Outcome::Checked),
            (r#"{"end":"failed"}"#, Outcome::Failed),
        ] {
            assert_eq!(serde_json::to_string(&outcome).unwrap(), text);
            assert_eq!(serde_json::from_str::<Outcome>(text).unwrap(), outcome);
        }
        for text in [
            r#"{"end":"exited"}"#,
            r#"{"end":"exited","exit":256}"#,
            r#"{"end":"exited","exit":-1}"#,
            r#"{"end":"exited","exit":0,"signal":null}"#,
            r#"{"end":"signaled","signal":0}"#,
            r#"{"end":"signaled","signal":65}"#,
            r#"{"end":"timed_out","exit":0}"#,
            r#"{"end":"exited","exit":0,"more":1}"#,
            r#"{"end":"ended"}"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<Outcome>(text).is_err(), "{text}");
        }
    }
}
