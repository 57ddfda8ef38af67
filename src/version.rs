//! Versions: how one is read from a value, and the grammar and meaning of a requirement.
//!
//! This page is the text of the format; it can be implemented from here alone.
//!
//! **The version in a value.** It is the leftmost match of this expression, digits and letters
//! being those of ASCII, each part as long as it can be:
//!
//! ```text
//! ([0-9]+)(\.([0-9]+))?(\.([0-9]+))?(-([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?
//! ```
//!
//! What stands before the first digit (a `v`, a program's name, a space) and what follows the match
//! (a fourth number, `+` and build metadata, a letter) is ignored. The one to three numbers are
//! decimal, leading zeros allowed; absent numbers are 0. The part after the hyphen is the
//! pre-release. There is no version if there is no match, if a number exceeds 2^64 - 1, or if a
//! dot-separated identifier of the pre-release is all digits, longer than one, and begins with `0`.
//!
//! **Order** is that of Semantic Versioning 2.0.0 section 11: by the three numbers, then a version
//! without pre-release above every one with; pre-releases identifier by identifier, all-digit ones
//! by number and below the others, the others by bytes, and the shorter list first if one begins
//! the other.
//!
//! **A requirement** is 1 to 8 comparators, at most 256 bytes in all, separated by `,` or `, `,
//! every one of which must be met:
//!
//! ```text
//! comparator = ( "=" / ">" / ">=" / "<" / "<=" / "~" / "^" ) I [ "." J [ "." K [ "-" pre ] ] ]
//! ```
//!
//! with I, J, K decimal without leading zeros, at most 2^64 - 1, and pre as above. Let V be the
//! version's three numbers and pre-release, and B the comparator's with absent numbers 0:
//!
//! | comparator | met if |
//! |---|---|
//! | `=` | V agrees with each number that is given, and, if K is given, the pre-releases are the
//! same |
//! | `>` | all three given: V > B; else the given numbers of V, as a list, are greater than those
//! of B |
//! | `>=` | the comparator `>` or the comparator `=` of the same version is met |
//! | `<` | all three given: V < B; else the given numbers of V, as a list, are less than those of B
//! |
//! | `<=` | the comparator `<` or the comparator `=` of the same version is met |
//! | `~` | V agrees in I, and in J if given, and, if K is given, V is not below B |
//! | `^` | V agrees in each given number up to and including the first that is not 0 (all of them
//! if all are 0), and, if J is given, V is not below B |
//!
//! And a version with a pre-release meets a requirement only if some comparator of it has a
//! pre-release too and the same three numbers: `>=1.0` does not admit `2.0.0-rc.1`, `>=2.0.0-rc.1`
//! does.

use crate::types::ParseError;
use semver::{BuildMetadata, Prerelease, Version, VersionReq};
use std::fmt;
use std::str::FromStr;

const REQUIREMENT_BYTES_MAX: usize = 256;
const COMPARATORS_MAX: usize = 8;

/// A requirement on a version, in the grammar of this module; it keeps the spelling it was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    text: String,
    parsed: VersionReq,
}

impl Requirement {
    /// Whether there is a version in `value` and it meets the requirement.
    pub fn is_met_by(&self, value: &str) -> bool {
        version_in(value).is_some_and(|version| self.parsed.matches(&version))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Requirement {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || {
            ParseError::new(
                "a version requirement: comparators such as >=3.11 separated by commas, each with \
                 one of = > >= < <= ~ ^ before the version",
                text,
            )
        };
        let comparators: Vec<&str> = text
            .split(',')
            .enumerate()
            .map(|(index, part)| match index {
                0 => part,
                1.. => part.strip_prefix(' ').unwrap_or(part),
            })
            .collect();
        let well_formed = text.len() <= REQUIREMENT_BYTES_MAX
            && comparators.len() <= COMPARATORS_MAX
            && comparators.iter().all(|part| is_comparator(part));
        if !well_formed {
            return Err(refused());
        }
        Ok(Requirement {
            text: text.to_owned(),
            parsed: VersionReq::parse(text).map_err(|_| refused())?,
        })
    }
}

/// Whether `text` has the shape of a comparator; the numbers' limits are the parser's to check.
fn is_comparator(text: &str) -> bool {
    let version = [">=", "<=", "=", ">", "<", "~", "^"]
        .iter()
        .find_map(|operator| text.strip_prefix(operator));
    version.is_some_and(|version| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        version.starts_with(|first: char| first.is_ascii_digit())
            && version.bytes().all(allowed)
            && !version.split('-').next().is_some_and(has_letter)
    })
}

fn has_letter(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The version in `value`.
fn version_in(value: &str) -> Option<Version> {
    let start = value.find(|character: char| character.is_ascii_digit())?;
    let (major, mut rest) = number(value.get(start..)?)?;
    let mut further = [0_u64; 2];
    for place in &mut further {
        let Some(after_dot) = rest
            .strip_prefix('.')
            .filter(|text| starts_with_digit(text))
        else {
            break;
        };
        (*place, rest) = number(after_dot)?;
    }
    let [minor, patch] = further;
    Some(Version {
        major,
        minor,
        patch,
        pre: Prerelease::new(pre_release(rest)).ok()?,
        build: BuildMetadata::EMPTY,
    })
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// The number that `text` begins with, and what follows it; none if it exceeds 64 bits.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// The pre-release that follows the numbers, without its hyphen; empty if there is none.
fn pre_release(rest: &str) -> &str {
    let Some(after) = rest.strip_prefix('-') else {
        return "";
    };
    let mut end = 0;
    for identifier in after.split('.') {
        let length = identifier
            .find(|character: char| !character.is_ascii_alphanumeric() && character != '-')
            .unwrap_or(identifier.len());
        if length == 0 {
            break;
        }
        let dot = usize::from(end > 0);
        end += dot + length;
        if length < identifier.len() {
            break;
        }
    }
    after.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_a_value() {
        for (value, expected) in [
            ("Python 3.12.1", "3.12.1"),
            ("v20.1", "20.1.0"),
            ("go version go1.22.1 linux/amd64", "1.22.1"),
            ("7", "7.0.0"),
            ("7.", "7.0.0"),
            ("1.2.3.4-rc", "1.2.3"),
            ("24.04", "24.4.0"),
            ("1.2.3-rc.1+build", "1.2.3-rc.1"),
            ("1.2-beta", "1.2.0-beta"),
            ("1.2.3-", "1.2.3"),
            ("1.2.3-a.", "1.2.3-a"),
            ("1.2.3-a..b", "1.2.3-a"),
            ("1.2.3-a_b", "1.2.3-a"),
            ("1.2.3--", "1.2.3--"),
            ("OpenSSL 1.1.1k", "1.1.1"),
            ("3.13.0rc1", "3.13.0"),
            ("18446744073709551615.0.0", "18446744073709551615.0.0"),
        ] {
            let version = version_in(value).map(|version| version.to_string());
            assert_eq!(version.as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn a_value_without_a_version() {
        for value in [
            "",
            "none",
            "18446744073709551616",
            "1.2.3-01",
            "1.2.3-a.01",
            "٣.١",
        ] {
            assert_eq!(version_in(value), None, "{value}");
        }
    }

    #[test]
    fn the_table_of_comparators() {
        for (requirement, met, unmet) in [
            ("=1.2.3", vec!["1.2.3"], vec!["1.2.4", "1.2.3-a"]),
            ("=1.2", vec!["1.2.0", "1.2.9"], vec!["1.3.0", "1.1.9"]),
            ("=1", vec!["1.0.0", "1.9.9"], vec!["2.0.0", "0.9.0"]),
            (">1.2.3", vec!["1.2.4", "2"], vec!["1.2.3"]),
            (">1.2", vec!["1.3.0"], vec!["1.2.9"]),
            (">1", vec!["2.0.0"], vec!["1.9.9"]),
            (">=1.2", vec!["1.2.0", "3"], vec!["1.1.9"]),
            ("<1.2.3", vec!["1.2.2"], vec!["1.2.3"]),
            ("<1.2", vec!["1.1.9"], vec!["1.2.0"]),
            ("<=1.2", vec!["1.2.9"], vec!["1.3.0"]),
            ("<=1", vec!["1.9.9"], vec!["2.0.0"]),
            ("~1.2.3", vec!["1.2.3", "1.2.9"], vec!["1.2.2", "1.3.0"]),
            ("~1.2", vec!["1.2.0"], vec!["1.3.0"]),
            ("~1", vec!["1.9.0"], vec!["2.0.0"]),
            ("^1.2.3", vec!["1.2.3", "1.9.0"], vec!["1.2.2", "2.0.0"]),
            ("^1.2", vec!["1.2.0", "1.9.0"], vec!["1.1.9", "2.0.0"]),
            ("^0.2.3", vec!["0.2.3", "0.2.9"], vec!["0.2.2", "0.3.0"]),
            ("^0.0.3", vec!["0.0.3"], vec!["0.0.4", "0.0.2"]),
            ("^0.0", vec!["0.0.9"], vec!["0.1.0"]),
            ("^0", vec!["0.9.9"], vec!["1.0.0"]),
            (
                ">=3.11,<3.13",
                vec!["3.11.0", "3.12.9"],
                vec!["3.13.0", "3.10.1"],
            ),
            (">=3.11, <3.13", vec!["3.12"], vec!["3.13"]),
            (">=1.0", vec!["2.0.0"], vec!["2.0.0-rc.1"]),
            (
                ">=2.0.0-rc.1",
                vec!["2.0.0-rc.1", "2.0.0-rc.2", "2.0.0"],
                vec!["2.0.1-rc.1", "2.0.0-rc.0"],
            ),
            (">=2.0.0-rc.2", vec!["2.0.0-rc.10"], vec!["2.0.0-rc.1"]),
            // Beside one that lets the pre-release in.
            ("=1.2,=1.2.0-a", vec![], vec!["1.2.0-a", "1.2.0"]),
            ("<=1.2,=1.2.0-a", vec![], vec!["1.2.0-a"]),
            ("~1.2,=1.2.0-a", vec![], vec!["1.2.0-a"]),
            ("^1.2,=1.2.0-a", vec!["1.2.0-a"], vec!["1.2.0"]),
        ] {
            let parsed: Requirement = requirement.parse().unwrap();
            assert_eq!(parsed.to_string(), requirement);
            for value in met {
                assert!(parsed.is_met_by(value), "{requirement} met by {value}");
            }
            for value in unmet {
                assert!(!parsed.is_met_by(value), "{requirement} not met by {value}");
            }
        }
    }

    #[test]
    fn a_malformed_requirement_is_refused() {
        for text in [
            "",
            "*",
            "1.2.3",
            "3",
            ">=",
            ">= 1",
            ">=1 ",
            " >=1",
            ">=1,",
            ">=1,  <2",
            ">=1 ,<2",
            "=1.*",
            "=1.x",
            "=01.2",
            "=1.2.3.4",
            "=1.2-a",
            "=1.2.3-",
            "=1.2.3-01",
            "=1.2.3+b",
            "==1",
            "!=1",
            ">v1",
            "=18446744073709551616",
            ">=1,>=1,>=1,>=1,>=1,>=1,>=1,>=1,>=1",
        ] {
            assert!(text.parse::<Requirement>().is_err(), "{text:?}");
        }
    }
}
