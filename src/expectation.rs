//! How a value is taken from what a probe printed, and what is expected of it.

use crate::check::checked_text;
use crate::types::{ParseError, TEXT_BYTES_MAX, text_serde};
use crate::version::Requirement;
use std::fmt;
use std::str::FromStr;

/// Longest regular expression, in bytes.
const PATTERN_BYTES_MAX: usize = 1024;
/// Highest line number that an extraction may name.
const LINE_MAX: u32 = 1_000_000;
/// SHA-256 of no bytes: the value that extraction `sha256` gives of empty output.
const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

checked_text! {
    /// A regular expression: 1 to 1,024 bytes in the syntax of the `regex` crate.
    /// It is text here: only the tool that runs a probe compiles it.
    Pattern, is_pattern, "a regular expression of 1 to 1024 bytes"
}
checked_text! {
    /// A JSON pointer (RFC 6901 section 3): empty, or each token behind a `/`, with `~0` and `~1`
    /// as the only escapes.
    Pointer, is_pointer, "a JSON pointer: empty, or /a/b with ~0 for ~ and ~1 for /"
}

fn is_pattern(text: &str) -> bool {
    (1..=PATTERN_BYTES_MAX).contains(&text.len())
}

fn is_pointer(text: &str) -> bool {
    let escapes_are_good = || {
        text.split('~')
            .skip(1)
            .all(|after| after.starts_with(['0', '1']))
    };
    text.len() < TEXT_BYTES_MAX && (text.is_empty() || text.starts_with('/')) && escapes_are_good()
}

/// How the value is taken from standard output.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Extraction {
    /// `trim`: all of it, as UTF-8, without surrounding white space.
    #[default]
    Trim,
    /// `line:N`: line N, from 1, as UTF-8, without surrounding white space.
    Line(u32),
    /// `regex:RE`: what the first group of the first match took, or the match if RE has no group.
    Regex(Pattern),
    /// `json:/PTR`: the string, number, boolean or null that the pointer names.
    Json(Pointer),
    /// `sha256`: SHA-256 of the bytes, in hexadecimal.
    Sha256,
    /// `none`: there is no value.
    None,
}

impl Extraction {
    /// The value of empty output: the digest of nothing for `sha256`, else the empty text.
    pub fn of_empty_output(&self) -> &'static str {
        match self {
            Extraction::Sha256 => EMPTY_SHA256,
            Extraction::Trim
            | Extraction::Line(_)
            | Extraction::Regex(_)
            | Extraction::Json(_)
            | Extraction::None => "",
        }
    }
}

impl fmt::Display for Extraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extraction::Trim => f.write_str("trim"),
            Extraction::Line(number) => write!(f, "line:{number}"),
            Extraction::Regex(pattern) => write!(f, "regex:{pattern}"),
            Extraction::Json(pointer) => write!(f, "json:{pointer}"),
            Extraction::Sha256 => f.write_str("sha256"),
            Extraction::None => f.write_str("none"),
        }
    }
}

impl FromStr for Extraction {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new("trim, line:N, regex:RE, json:/PTR, sha256 or none", text);
        match text {
            "trim" => return Ok(Extraction::Trim),
            "sha256" => return Ok(Extraction::Sha256),
            "none" => return Ok(Extraction::None),
            _ => {}
        }
        match text.split_once(':') {
            Some(("line", number)) => match number.parse() {
                Ok(n @ 1..=LINE_MAX) if n.to_string() == number => Ok(Extraction::Line(n)),
                Ok(_) | Err(_) => Err(refused()),
            },
            Some(("regex", pattern)) => pattern.parse().map(Extraction::Regex),
            Some(("json", pointer)) => pointer.parse().map(Extraction::Json),
            Some(_) | None => Err(refused()),
        }
    }
}

text_serde!(Extraction);

/// What a probe must show for its receipt to be a success.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expectation {
    /// `value=TEXT`: the value is TEXT, byte for byte; TEXT may be empty.
    Value(String),
    /// `value~RE`: RE matches somewhere in the value.
    ValueMatches(Pattern),
    /// `stdout~RE`: RE matches somewhere in standard output.
    StdoutMatches(Pattern),
    /// `stderr~RE`: RE matches somewhere in standard error.
    StderrMatches(Pattern),
    /// `semver=REQ`: the version in the value meets the requirement.
    Semver(Requirement),
    /// `json:/PTR=TEXT`: standard output is JSON, and what the pointer names is TEXT. The pointer
    /// ends at the first `=`, so it cannot hold one.
    Json {
        /// Which part of the document.
        pointer: Pointer,
        /// What it must be: a string's content, or a number, boolean or null as JSON spells it.
        text: String,
    },
    /// `exit=N`: the program exits with N, 0 to 255. At most one in a probe.
    Exit(u8),
}

impl Expectation {
    /// Whether it is about the extracted value.
    pub fn is_of_value(&self) -> bool {
        match self {
            Expectation::Value(_) | Expectation::ValueMatches(_) | Expectation::Semver(_) => true,
            Expectation::StdoutMatches(_)
            | Expectation::StderrMatches(_)
            | Expectation::Json { .. }
            | Expectation::Exit(_) => false,
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Value(text) => write!(f, "value={text}"),
            Expectation::ValueMatches(pattern) => write!(f, "value~{pattern}"),
            Expectation::StdoutMatches(pattern) => write!(f, "stdout~{pattern}"),
            Expectation::StderrMatches(pattern) => write!(f, "stderr~{pattern}"),
            Expectation::Semver(requirement) => write!(f, "semver={requirement}"),
            Expectation::Json { pointer, text } => write!(f, "json:{pointer}={text}"),
            Expectation::Exit(code) => write!(f, "exit={code}"),
        }
    }
}

impl FromStr for Expectation {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || {
            ParseError::new(
                "value=TEXT, value~RE, stdout~RE, stderr~RE, semver=REQ, json:/PTR=TEXT or exit=N \
                 (0 to 255), at most 4096 bytes",
                text,
            )
        };
        if text.len() > TEXT_BYTES_MAX {
            return Err(refused());
        }
        if let Some(rest) = text.strip_prefix("json:") {
            let (pointer, text) = rest.split_once('=').ok_or_else(refused)?;
            return Ok(Expectation::Json {
                pointer: pointer.parse()?,
                text: text.to_owned(),
            });
        }
        let at = text.find(['=', '~']).ok_or_else(refused)?;
        let (name, rest) = text.split_at(at);
        let operand = rest.get(1..).unwrap_or_default();
        match (name, rest.starts_with('=')) {
            ("value", true) => Ok(Expectation::Value(operand.to_owned())),
            ("value", false) => operand.parse().map(Expectation::ValueMatches),
            ("stdout", false) => operand.parse().map(Expectation::StdoutMatches),
            ("stderr", false) => operand.parse().map(Expectation::StderrMatches),
            ("semver", true) => operand.parse().map(Expectation::Semver),
            ("exit", true) => match operand.parse::<u8>() {
                Ok(code) if code.to_string() == operand => Ok(Expectation::Exit(code)),
                Ok(_) | Err(_) => Err(refused()),
            },
            _ => Err(refused()),
        }
    }
}

text_serde!(Expectation);

/// Whether empty output meets `expectation`, as anyone can compute it; absent where a regular
/// expression decides (`value~`, `stdout~`, `stderr~`) and the tool's signed word counts.
///
/// Always for `exit=`, which says nothing of output. Never for `json:`. `value=` and `semver=` are
/// judged on the value of empty output: the digest of nothing if the extraction is `sha256`, else
/// the empty text.
pub fn met_by_empty(extraction: &Extraction, expectation: &Expectation) -> Option<bool> {
    match expectation {
        Expectation::Exit(_) => Some(true),
        Expectation::Json { .. } => Some(false),
        Expectation::Value(text) => Some(text == extraction.of_empty_output()),
        Expectation::Semver(requirement) => {
            Some(requirement.is_met_by(extraction.of_empty_output()))
        }
        Expectation::ValueMatches(_)
        | Expectation::StdoutMatches(_)
        | Expectation::StderrMatches(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips<T: FromStr<Err = ParseError> + ToString>(texts: &[&str]) {
        for text in texts {
            assert_eq!(
                text.parse::<T>()
                    .unwrap_or_else(|e| panic!("{e}"))
                    .to_string(),
                *text
            );
        }
    }

    fn is_refused<T: FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_extraction_has_one_text_form() {
        round_trips::<Extraction>(&[
            "trim",
            "line:1",
            "line:20",
            "regex:v(.*)",
            "regex:a:b",
            "json:",
            "json:/a~0b/c~1d/0",
            "sha256",
            "none",
        ]);
        is_refused::<Extraction>(&[
            "",
            "TRIM",
            "line:0",
            "line:01",
            "line:",
            "line:1000001",
            "regex:",
            "json:a",
            "json:/~",
            "json:/~2",
            "sha256:",
        ]);
    }

    #[test]
    fn an_expectation_has_one_text_form() {
        round_trips::<Expectation>(&[
            "value=",
            "value=a=b",
            "value=~",
            "value~^a=b$",
            "stdout~x",
            "stderr~~",
            "exit=0",
            "exit=255",
            "semver=>=3.11,<4",
            "json:/a/b=c=d",
            "json:=x",
        ]);
        is_refused::<Expectation>(&[
            "",
            "value",
            "value~",
            "stdout=x",
            "stderr=",
            "exit=256",
            "exit=-1",
            "exit=01",
            "exit~1",
            "exit=",
            "semver=",
            "semver~>1",
            "json:/a",
            "json:a=b",
            "Value=1",
            "other=1",
        ]);
        let long = format!("value={}", "x".repeat(TEXT_BYTES_MAX));
        is_refused::<Expectation>(&[&long]);
    }

    #[test]
    fn the_empty_digest_is_met_by_empty_output() {
        let expectation = Expectation::Value(EMPTY_SHA256.into());
        assert_eq!(met_by_empty(&Extraction::Sha256, &expectation), Some(true));
        assert_eq!(met_by_empty(&Extraction::Trim, &expectation), Some(false));
        assert_eq!(crate::hash::bytes(b"").to_string(), EMPTY_SHA256);
    }

    #[test]
    fn whether_empty_output_meets_an_expectation() {
        for (text, expected) in [
            ("exit=3", Some(true)),
            ("value=", Some(true)),
            ("value=x", Some(false)),
            ("semver=>=0", Some(false)),
            ("json:/a=", Some(false)),
            ("value~x", None),
            ("stdout~.", None),
        ] {
            let expectation: Expectation = text.parse().unwrap();
            assert_eq!(
                met_by_empty(&Extraction::Trim, &expectation),
                expected,
                "{text}"
            );
        }
    }
}
