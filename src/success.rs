//! What follows from a receipt: whether it is a success, and how much it says.

use crate::expectation::Expectation;
use crate::outcome::{Judgement, Outcome};
use crate::probe_spec::Probe;
use crate::vacuous::is_constant;

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

/// How much a probe says at best: if it is successful, and every expectation was met. Per
/// expectation `met_by_empty` says whether empty output meets it.
pub fn best_strength(probe: &Probe, met_by_empty: &[bool]) -> Strength {
    let met: Vec<Judgement> = (met_by_empty.iter())
        .map(|empty| Judgement {
            met: true,
            met_by_empty: *empty,
        })
        .collect();
    strength(probe, &met)
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
