//! When the value of an axis still holds.

use crate::check::Check;
use crate::types::{ParseError, TEXT_BYTES_MAX, is_blank, text_serde};
use crate::version::Requirement;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Most alternatives of `one-of`.
const ALTERNATIVES_MAX: usize = 64;

/// When an axis still holds, given the value recorded and the value now.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Comparator {
    /// `exact`: the value now is the value recorded, byte for byte.
    #[default]
    Exact,
    /// `one-of=A,B`: the value now is one of these; 1 to 64, none empty, none twice.
    OneOf(Vec<String>),
    /// `semver=REQ`: the version in the value now meets the requirement.
    Semver(Requirement),
    /// `present`: there is a value now and it is not blank; of an `env-set` check, it is `set`.
    Present,
}

impl Comparator {
    /// Whether the value `now` satisfies the comparator, `recorded` being the axis's own and
    /// `check` the axis's probe if that is a native one.
    ///
    /// No value satisfies none of them: what was not seen is never safer than what changed. A
    /// redacted value is compared by the tool, which signs the result, not here.
    pub fn satisfied(
        &self,
        check: Option<&Check>,
        recorded: Option<&str>,
        now: Option<&str>,
    ) -> bool {
        let Some(now) = now else {
            return false;
        };
        match self {
            Comparator::Exact => recorded == Some(now),
            Comparator::OneOf(alternatives) => alternatives.iter().any(|text| text == now),
            Comparator::Semver(requirement) => requirement.is_met_by(now),
            Comparator::Present if check.is_some_and(Check::is_presence) => now == "set",
            Comparator::Present => !is_blank(now),
        }
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparator::Exact => f.write_str("exact"),
            Comparator::OneOf(alternatives) => write!(f, "one-of={}", alternatives.join(",")),
            Comparator::Semver(requirement) => write!(f, "semver={requirement}"),
            Comparator::Present => f.write_str("present"),
        }
    }
}

impl FromStr for Comparator {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || {
            ParseError::new(
                "exact, present, semver=REQ or one-of=A,B (1 to 64 different texts without commas)",
                text,
            )
        };
        match text {
            "exact" => return Ok(Comparator::Exact),
            "present" => return Ok(Comparator::Present),
            _ => {}
        }
        match text.split_once('=') {
            Some(("semver", requirement)) => requirement.parse().map(Comparator::Semver),
            Some(("one-of", list)) if text.len() <= TEXT_BYTES_MAX => {
                let alternatives: Vec<String> = list.split(',').map(str::to_owned).collect();
                let distinct: BTreeSet<_> = alternatives.iter().collect();
                if alternatives.len() > ALTERNATIVES_MAX
                    || distinct.len() != alternatives.len()
                    || alternatives.iter().any(String::is_empty)
                {
                    return Err(refused());
                }
                Ok(Comparator::OneOf(alternatives))
            }
            Some(_) | None => Err(refused()),
        }
    }
}

text_serde!(Comparator);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparator_has_one_text_form() {
        for text in [
            "exact",
            "present",
            "one-of=a",
            "one-of=a,b c",
            "semver=^1.2",
        ] {
            assert_eq!(text.parse::<Comparator>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "one-of=",
            "one-of=a,",
            "one-of=a,a",
            "semver=",
            "exact=",
            "present=x",
        ] {
            assert!(text.parse::<Comparator>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_value_satisfies_no_comparator() {
        for text in ["exact", "present", "one-of=a", "semver=>=0"] {
            let comparator: Comparator = text.parse().unwrap();
            assert!(!comparator.satisfied(None, None, None), "{text}");
            assert!(!comparator.satisfied(None, Some("a"), None), "{text}");
        }
    }

    #[test]
    fn a_comparator_judges_the_value_now() {
        let satisfied = |text: &str, recorded, now| {
            text.parse::<Comparator>()
                .unwrap()
                .satisfied(None, Some(recorded), Some(now))
        };
        assert!(satisfied("exact", "a", "a"));
        assert!(satisfied("exact", "", ""));
        assert!(!satisfied("exact", "a", "a "));
        assert!(satisfied("one-of=a,b", "a", "b"));
        assert!(!satisfied("one-of=a,b", "a", "c"));
        assert!(satisfied("semver=>=3.11", "3.11", "Python 3.12.1"));
        assert!(!satisfied("semver=>=3.11", "3.11", "Python 3.10"));
        assert!(satisfied("present", "a", "b"));
        assert!(!satisfied("present", "a", " \n"));
    }

    #[test]
    fn present_reads_the_answer_of_a_presence_check() {
        let check: Check = "env-set=CI".parse().unwrap();
        let present = |now| Comparator::Present.satisfied(Some(&check), Some("set"), Some(now));
        assert!(present("set"));
        assert!(!present("unset"));
    }
}
