//! Values of the command line that no event holds as such, each parsed from its one spelling.

use crate::checkpoint::Expected;
pub use crate::duration::DURATION_MAX;
pub(super) use crate::duration::duration;
use crate::home;
use crate::note::{NOTE_BYTES_MAX, SignatureType, VerifierKey};
use crate::types::{AxisName, Digest, ParseError, PublicKey, Seq, Text};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The session that `text` names: the seq of its `session.opened`, which is never 0.
///
/// # Errors
/// Any other text.
pub(super) fn session(text: &str) -> Result<Seq, ParseError> {
    match text.parse() {
        Ok(seq) if seq > Seq::ZERO => Ok(seq),
        Ok(_) | Err(_) => Err(ParseError::new(
            "a session: the number that session open or session list prints",
            start_of(text),
        )),
    }
}

/// The name of an environment variable: not empty, without `=`.
///
/// # Errors
/// Any other text.
pub(super) fn variable(text: &str) -> Result<String, ParseError> {
    if text.is_empty() || text.contains('=') {
        return Err(ParseError::new(
            "the name of an environment variable, without a value",
            start_of(text),
        ));
    }
    Ok(text.to_owned())
}

/// An axis as it is cited: the latest record of a name, or that of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisReference {
    /// The axis's name.
    pub name: AxisName,
    /// The session whose record is meant, if the name alone would be ambiguous.
    pub session: Option<Seq>,
}

impl FromStr for AxisReference {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (name, of) = match text.split_once('@') {
            Some((name, of)) => (name, Some(session(of)?)),
            None => (text, None),
        };
        Ok(AxisReference {
            name: name.parse()?,
            session: of,
        })
    }
}

/// What can be erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasable {
    /// All that is kept of the output of a receipt.
    Receipt(Seq),
    /// What is kept under one commitment.
    Commitment(Digest),
}

impl FromStr for Erasable {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.len() {
            64 => text.parse().map(Erasable::Commitment),
            _ => text.parse().map(Erasable::Receipt),
        }
    }
}

/// Where a public key is taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The key itself, 64 hexadecimal digits.
    Key(PublicKey),
    /// A file that holds it.
    File(PathBuf),
}

impl FromStr for KeySource {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let is_hexadecimal = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hexadecimal {
            return text.parse().map(KeySource::Key);
        }
        if text.is_empty() {
            return Err(ParseError::new("a public key or a file", text));
        }
        Ok(KeySource::File(text.into()))
    }
}

/// A head line or a checkpoint, as `text` spells it or the file of that name holds it.
///
/// # Errors
/// Any other text, and a file that cannot be read.
pub(super) fn expected(text: &str) -> Result<Expected, ParseError> {
    if let Ok(expected) = text.parse() {
        return Ok(expected);
    }
    let held = held_by(Path::new(text)).and_then(|held| held.parse().ok());
    held.ok_or_else(|| {
        let wanted = "a head line, a checkpoint, or a file that holds one";
        ParseError::new(wanted, start_of(text))
    })
}

/// The witnesses that `text` names, or that the file of that name lists, one a line; lines that are
/// empty or begin with `#` say nothing.
///
/// # Errors
/// Any other text, a key that is no witness's, and a file that cannot be read.
pub(super) fn witnesses(text: &str) -> Result<Witnesses, ParseError> {
    let refused = || {
        let wanted = "the key of a witness, as handoff witness key prints it, or a file of such";
        ParseError::new(wanted, start_of(text))
    };
    let held = match text.contains('+') {
        true => text.to_owned(),
        false => held_by(Path::new(text)).ok_or_else(refused)?,
    };
    let named = held
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed = named.map(|line| match line.parse::<VerifierKey>() {
        Ok(key) if key.signature_type() == SignatureType::Cosignature => Ok(key),
        Ok(_) | Err(_) => Err(refused()),
    });
    let keys: Vec<VerifierKey> = parsed.collect::<Result<_, _>>()?;
    if keys.is_empty() {
        return Err(refused());
    }
    Ok(Witnesses(keys))
}

/// The witnesses of one `--witness`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnesses(pub Vec<VerifierKey>);

fn held_by(path: &Path) -> Option<String> {
    String::from_utf8(home::read_given(path, NOTE_BYTES_MAX).ok()?).ok()
}

/// `NAME=REASON` of an ambient allowlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedReason {
    /// The axis or property that may drift.
    pub name: AxisName,
    /// Why it may.
    pub reason: Text,
}

impl FromStr for NamedReason {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let Some((name, reason)) = text.split_once('=') else {
            return Err(ParseError::new("NAME=REASON", start_of(text)));
        };
        Ok(NamedReason {
            name: name.parse()?,
            reason: reason.parse()?,
        })
    }
}

/// As much of a refused text as an error needs to show.
fn start_of(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_cited_by_name_or_by_name_and_session() {
        let plain: AxisReference = "db.host".parse().unwrap();
        assert_eq!(plain.session, None);
        let of: AxisReference = "db.host@12".parse().unwrap();
        assert_eq!((of.name.as_str(), of.session), ("db.host", Some(Seq(12))));
        for text in ["", "@1", "a@", "a@0", "a@01", "a@x", "a@1@2", "A@1"] {
            assert!(text.parse::<AxisReference>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_in_hexadecimal_is_no_file() {
        let hex = "ab".repeat(32);
        assert_eq!(hex.parse(), Ok(KeySource::Key(PublicKey([0xab; 32]))));
        assert!(hex.to_uppercase().parse::<KeySource>().is_err());
        assert_eq!("root.pem".parse(), Ok(KeySource::File("root.pem".into())));
        assert!("".parse::<KeySource>().is_err());
    }

    #[test]
    fn an_ambient_entry_has_a_name_and_a_reason() {
        let entry: NamedReason = "host=ephemeral = fine".parse().unwrap();
        assert_eq!(entry.reason.as_str(), "ephemeral = fine");
        for text in ["", "host", "host=", "=why", "host= ", "HOST=why"] {
            assert!(text.parse::<NamedReason>().is_err(), "{text}");
        }
    }
}
