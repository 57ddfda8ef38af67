//! What is seen when a probe runs, as it stands in a receipt, and what follows from it.

use crate::expectation::Expectation;
use crate::probe_spec::Probe;
use crate::types::Digest;
use crate::vacuous::is_constant;
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
    /// A native check could not be made, as of a file that cannot be read.
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

/// The exit code with which the program must end: that of `exit=N`, else 0.
pub fn expected_exit(probe: &Probe) -> u8 {
    probe
        .expect()
        .iter()
        .find_map(|expectation| match expectation {
            Expectation::Exit(code) => Some(*code),
            Expectation::Value(_)
            | Expectation::ValueMatches(_)
            | Expectation::StdoutMatches(_)
            | Expectation::StderrMatches(_)
            | Expectation::Semver(_)
            | Expectation::Json { .. } => None,
        })
        .unwrap_or(0)
}

/// Whether `expectation` was met, as anyone can compute it from the receipt; absent where only the
/// tool that ran the probe could tell: regular expressions, `json:`, and anything about the value
/// of a redacted probe.
///
/// `exit=N`: the outcome is `exited` with N. `value=TEXT`: there is a value and it is TEXT.
/// `semver=REQ`: there is a value, and the version in it meets REQ.
pub fn recomputable(
    probe: &Probe,
    expectation: &Expectation,
    value: Option<&str>,
    outcome: &Outcome,
) -> Option<bool> {
    match expectation {
        Expectation::Exit(code) => Some(*outcome == Outcome::Exited(*code)),
        Expectation::Value(_) | Expectation::Semver(_) if probe.redact() => None,
        Expectation::Value(text) => Some(value == Some(text.as_str())),
        Expectation::Semver(requirement) => {
            Some(value.is_some_and(|value| requirement.is_met_by(value)))
        }
        Expectation::ValueMatches(_)
        | Expectation::StdoutMatches(_)
        | Expectation::StderrMatches(_)
        | Expectation::Json { .. } => None,
    }
}

/// Whether a receipt is a success.
///
/// A command: it exited with the expected code. A native check: it is `checked`, with value
/// `reachable` for `tcp` and `http`, `valid` for `schema`. In both cases the value was
/// extracted, and there is one judgement per expectation, each met.
pub fn is_successful(
    probe: &Probe,
    outcome: &Outcome,
    extracted: bool,
    value: Option<&str>,
    judgements: &[Judgement],
) -> bool {
    let ended_well = match probe.check() {
        None => *outcome == Outcome::Exited(expected_exit(probe)),
        Some(check) => {
            let answer_is_good = match check.required_value() {
                Some(required) => value == Some(required),
                None => true,
            };
            *outcome == Outcome::Checked && answer_is_good
        }
    };
    ended_well
        && extracted
        && judgements.len() == probe.expect().len()
        && judgements.iter().all(|judgement| judgement.met)
}

/// How much a successful receipt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// Nothing: a constant command, or one that is merely known to have run.
    None,
    /// That a program exited as expected, which its probe says is enough: shown as weak.
    ExitOnly,
    /// Something that empty output would not have said.
    Value,
}

/// How much a receipt says, if it is [successful](is_successful).
///
/// Nothing if the command is [constant](is_constant). `Value` if an expectation other than `exit=`
/// was met that empty output would not meet, or if it is a native check other than `env-set`.
/// Else `ExitOnly` if the probe is marked so. Else nothing.
pub fn strength(probe: &Probe, judgements: &[Judgement]) -> Strength {
    if is_constant(probe) {
        return Strength::None;
    }
    let says_something = probe
        .expect()
        .iter()
        .zip(judgements)
        .any(|(expectation, judgement)| {
            !matches!(expectation, Expectation::Exit(_)) && judgement.met && !judgement.met_by_empty
        });
    if says_something || probe.check().is_some_and(|check| !check.is_presence()) {
        Strength::Value
    } else if probe.exit_only() {
        Strength::ExitOnly
    } else {
        Strength::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe_spec::Definition;

    fn command(expect: &[&str]) -> Probe {
        Probe::new(Definition {
            expect: expect.iter().map(|text| text.parse().unwrap()).collect(),
            ..Definition::command(["db-version".to_owned()])
        })
        .unwrap()
    }

    fn check(text: &str) -> Probe {
        Probe::new(Definition::check(text.parse().unwrap())).unwrap()
    }

    const MET: Judgement = Judgement {
        met: true,
        met_by_empty: false,
    };
    const MET_BY_EMPTY: Judgement = Judgement {
        met: true,
        met_by_empty: true,
    };
    const UNMET: Judgement = Judgement {
        met: false,
        met_by_empty: false,
    };

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

    #[test]
    fn a_command_succeeds_by_its_exit_its_value_and_every_expectation() {
        let probe = command(&["value=a", "exit=3"]);
        let successful = |exit, extracted, judgements: &[Judgement]| {
            is_successful(
                &probe,
                &Outcome::Exited(exit),
                extracted,
                Some("a"),
                judgements,
            )
        };
        assert!(successful(3, true, &[MET, MET_BY_EMPTY]));
        assert!(!successful(0, true, &[MET, MET_BY_EMPTY]));
        assert!(!successful(3, false, &[MET, MET_BY_EMPTY]));
        assert!(!successful(3, true, &[UNMET, MET_BY_EMPTY]));
        assert!(!successful(3, true, &[MET]));
        assert!(!is_successful(
            &command(&[]),
            &Outcome::Checked,
            true,
            None,
            &[]
        ));
    }

    #[test]
    fn a_reachability_check_succeeds_only_with_reachable() {
        let probe = check("tcp=localhost:1");
        for (value, expected) in [
            (Some("reachable"), true),
            (Some("refused"), false),
            (Some("timeout"), false),
            (None, false),
        ] {
            assert_eq!(
                is_successful(&probe, &Outcome::Checked, true, value, &[]),
                expected
            );
        }
        assert!(!is_successful(
            &probe,
            &Outcome::Failed,
            true,
            Some("reachable"),
            &[]
        ));
        let schema = check("schema=a,b");
        assert!(is_successful(
            &schema,
            &Outcome::Checked,
            true,
            Some("valid"),
            &[]
        ));
        assert!(!is_successful(
            &schema,
            &Outcome::Checked,
            true,
            Some("invalid"),
            &[]
        ));
    }

    #[test]
    fn strength_needs_more_than_an_exit_code() {
        assert_eq!(strength(&command(&[]), &[]), Strength::None);
        assert_eq!(strength(&command(&["exit=0"]), &[MET]), Strength::None);
        assert_eq!(
            strength(&command(&["value="]), &[MET_BY_EMPTY]),
            Strength::None
        );
        assert_eq!(strength(&command(&["value=a"]), &[UNMET]), Strength::None);
        assert_eq!(strength(&command(&["value=a"]), &[MET]), Strength::Value);
        assert_eq!(strength(&check("os"), &[]), Strength::Value);
        assert_eq!(strength(&check("env-set=CI"), &[]), Strength::None);
        let marked = Definition {
            exit_only: true,
            ..Definition::command(["make".to_owned()])
        };
        assert_eq!(
            strength(&Probe::new(marked).unwrap(), &[]),
            Strength::ExitOnly
        );
        let constant = Definition {
            exit_only: true,
            ..Definition::command(["true".to_owned()])
        };
        assert_eq!(
            strength(&Probe::new(constant).unwrap(), &[]),
            Strength::None
        );
    }

    #[test]
    fn what_a_stranger_can_recompute() {
        let exited = Outcome::Exited(0);
        let of = |text: &str, value| {
            let probe = command(&[text]);
            probe
                .expect()
                .first()
                .and_then(|e| recomputable(&probe, e, value, &exited))
        };
        assert_eq!(of("exit=0", None), Some(true));
        assert_eq!(of("exit=1", None), Some(false));
        assert_eq!(of("value=a", Some("a")), Some(true));
        assert_eq!(of("value=a", None), Some(false));
        assert_eq!(of("semver=>=1", Some("v1.2")), Some(true));
        assert_eq!(of("value~a", Some("a")), None);
        assert_eq!(of("json:/a=b", None), None);
        let redacted = Probe::new(Definition {
            redact: true,
            expect: vec!["value=a".parse().unwrap()],
            ..Definition::command(["x".to_owned()])
        })
        .unwrap();
        assert_eq!(
            recomputable(&redacted, &redacted.expect()[0], None, &exited),
            None
        );
    }
}
