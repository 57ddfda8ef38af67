//! The newtypes every other module speaks in: positions, digests, names and times.
//!
//! Each parses from, and prints as, exactly the text that stands in an event; there is one
//! spelling of a value and every other spelling is refused.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// Largest integer an event may hold: 2^53 - 1 (RFC 8785 section 3.2.2.3, I-JSON).
pub const INTEGER_MAX: u64 = 9_007_199_254_740_991;
/// Longest text value in an event, in bytes.
pub const TEXT_BYTES_MAX: usize = 4096;
/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Bytes of a record's signature, which it begins with (RFC 8032 section 5.1.6).
pub const SIGNATURE_BYTES: usize = 64;
/// Largest record, in bytes: its signature and its event.
pub const RECORD_BYTES_MAX: usize = 65_535;
/// Most of a captured output that is kept under one commitment, in bytes.
pub const CAPTURE_BYTES_MAX: usize = 65_536;

/// Why a text is not a value of one of this module's types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct ParseError {
    /// What the type takes, in words.
    pub expected: &'static str,
    /// The text that was given.
    pub found: String,
}

impl ParseError {
    /// An error that says what was wanted and what was there.
    pub fn new(expected: &'static str, found: impl Into<String>) -> Self {
        Self {
            expected,
            found: found.into(),
        }
    }
}

/// Position of an event in its chain, from 0, dense; at most 2^53 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The first position, that of `ledger.opened`; as an envelope's session it means "none".
    pub const ZERO: Seq = Seq(0);

    /// The position after this one.
    pub fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }
}

impl<'de> Deserialize<'de> for Seq {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            seq @ 0..=INTEGER_MAX => Ok(Seq(seq)),
            _ => Err(serde::de::Error::custom("a sequence number above 2^53 - 1")),
        }
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seq {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wanted = "a sequence number without sign or leading zeros";
        match text.parse::<u64>() {
            Ok(n) if n <= INTEGER_MAX && n.to_string() == text => Ok(Seq(n)),
            _ => Err(ParseError::new(wanted, text)),
        }
    }
}

/// Lower-case hexadecimal of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The `N` bytes that `text` spells in lower-case hexadecimal, exactly `2 N` characters.
pub fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    fn digit(character: u8) -> Option<u8> {
        match character {
            b'0'..=b'9' => Some(character - b'0'),
            b'a'..=b'f' => Some(character - b'a' + 10),
            _ => None,
        }
    }
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0u8; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

macro_rules! bytes32 {
    ($(#[$doc:meta])* $name:ident, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl $name {
            /// Thirty-two zero bytes.
            pub const ZERO: $name = $name([0; 32]);
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                parse_hex(text).map($name).ok_or_else(|| ParseError::new($expected, text))
            }
        }

        text_serde!($name);
    };
}

macro_rules! text_serde {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_serde;

bytes32! {
    /// Hash of a record, and so of all before it: see [`crate::hash::leaf`].
    Leaf, "64 lower-case hexadecimal digits (a leaf)"
}
bytes32! {
    /// Any other SHA-256 digest; which one, the field's name says.
    Digest, "64 lower-case hexadecimal digits (a digest)"
}
bytes32! {
    /// Leaf of event 0: the identity of a ledger.
    LedgerId, "64 lower-case hexadecimal digits (a ledger id)"
}
bytes32! {
    /// Encoding of an Ed25519 public key (RFC 8032 section 5.1.2). Whether it is a key one may
    /// trust is for [`crate::key`] to say.
    PublicKey, "64 lower-case hexadecimal digits (a public key)"
}

impl LedgerId {
    /// The first twelve hexadecimal digits, as they stand in a head line.
    pub fn short(&self) -> String {
        hex(&self.0).chars().take(12).collect()
    }
}

impl PublicKey {
    /// The first sixteen hexadecimal digits: enough to tell keys apart on a screen.
    pub fn short(&self) -> String {
        hex(&self.0).chars().take(16).collect()
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                if is_name(text) {
                    Ok($name(text.to_owned()))
                } else {
                    Err(ParseError::new($expected, text))
                }
            }
        }

        text_serde!($name);
    };
}

/// Whether `text` matches `[a-z0-9][a-z0-9._/-]{0,63}`, the grammar of every name.
pub fn is_name(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= NAME_BYTES_MAX
        && text.bytes().next().is_some_and(alphanumeric)
        && text
            .bytes()
            .all(|byte| alphanumeric(byte) || b"._/-".contains(&byte))
}

name! {
    /// Id of a claim; it keeps its statement for ever.
    ClaimId, "a claim id: 1 to 64 of a-z 0-9 . _ / -, starting with a letter or digit"
}
name! {
    /// Name of an axis, or of an ambient property.
    AxisName, "an axis name: 1 to 64 of a-z 0-9 . _ / -, starting with a letter or digit"
}
name! {
    /// Name of an agent, a ledger or a key's label.
    Name, "a name: 1 to 64 of a-z 0-9 . _ / -, starting with a letter or digit"
}

/// Text of 1 to 4,096 bytes with something to see in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Text {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.len() > TEXT_BYTES_MAX || is_blank(text) {
            let start: String = text.chars().take(64).collect();
            return Err(ParseError::new(
                "a text of 1 to 4096 bytes that is not blank",
                start,
            ));
        }
        Ok(Text(text.to_owned()))
    }
}

text_serde!(Text);

/// A value or free text of 0 to 4,096 bytes; it may be blank.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Value(String);

impl Value {
    /// The value's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Value {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.len() > TEXT_BYTES_MAX {
            let start: String = text.chars().take(64).collect();
            return Err(ParseError::new("a value of at most 4096 bytes", start));
        }
        Ok(Value(text.to_owned()))
    }
}

text_serde!(Value);

/// A list in strictly ascending order: one spelling of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<T>", into = "Vec<T>")]
#[serde(bound(
    serialize = "T: Serialize + Clone",
    deserialize = "T: Deserialize<'de> + Ord"
))]
pub struct Ascending<T>(Vec<T>);

impl<T: Ord> Ascending<T> {
    /// The set of `items`, whatever their order.
    pub fn from_unordered(items: impl IntoIterator<Item = T>) -> Self {
        let set: std::collections::BTreeSet<T> = items.into_iter().collect();
        Ascending(set.into_iter().collect())
    }
}

impl<T> Default for Ascending<T> {
    fn default() -> Self {
        Ascending(Vec::new())
    }
}

impl<T> std::ops::Deref for Ascending<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Ord> TryFrom<Vec<T>> for Ascending<T> {
    type Error = &'static str;

    fn try_from(items: Vec<T>) -> Result<Self, Self::Error> {
        if items.is_sorted_by(|a, b| a < b) {
            Ok(Ascending(items))
        } else {
            Err("a list is not in strictly ascending order")
        }
    }
}

impl<T> From<Ascending<T>> for Vec<T> {
    fn from(list: Ascending<T>) -> Vec<T> {
        list.0
    }
}

/// Whether `text` holds nothing but space, tab, line feed, carriage return, vertical tab and form
/// feed.
pub fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | 0x09..=0x0d))
}

/// A moment as a signer's clock told it: milliseconds since 1970-01-01T00:00:00Z, printed as
/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, from the year 0000 to the end of 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    const MIN_MS: i64 = -62_167_219_200_000;
    const MAX_MS: i64 = 253_402_300_799_999;

    /// The moment `ms` milliseconds after the epoch, held within the years that can be printed.
    pub fn from_ms(ms: i64) -> Time {
        Time(ms.clamp(Self::MIN_MS, Self::MAX_MS))
    }

    /// Milliseconds since the epoch.
    pub fn ms(self) -> i64 {
        self.0
    }

    /// How many milliseconds lie between `earlier` and this moment; negative if it is later.
    pub fn ms_since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The epoch as a civil date: times are UTC, and a civil date reaches to the end of 9999.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = EPOCH
            .checked_add(SignedDuration::from_millis(self.0))
            .map_err(|_| fmt::Error)?;
        write!(f, "{civil:.3}Z")
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({})", self.0)
    }
}

impl FromStr for Time {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new("a time as YYYY-MM-DDTHH:MM:SS.mmmZ", text);
        let civil = text.strip_suffix('Z').ok_or_else(refused)?;
        let civil: DateTime = civil.parse().map_err(|_| refused())?;
        let ms = civil.duration_since(EPOCH).as_millis();
        let time = Time(i64::try_from(ms).map_err(|_| refused())?);
        let in_range = (Self::MIN_MS..=Self::MAX_MS).contains(&time.0);
        if in_range && time.to_string() == text {
            Ok(time)
        } else {
            Err(refused())
        }
    }
}

text_serde!(Time);

/// What identifies the newest event of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Leaf of event 0.
    pub ledger: LedgerId,
    /// The newest event's position.
    pub seq: Seq,
    /// Its leaf.
    pub leaf: Leaf,
}

/// Prints the head line: `handoff1:<ledger id, 12 hex>:<seq>:<leaf, 64 hex>`.
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}",
            HeadLine {
                ledger: self.ledger.short(),
                seq: self.seq,
                leaf: self.leaf
            }
        )
    }
}

/// A head as somebody wrote it down: the ledger's id in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadLine {
    /// The first twelve hexadecimal digits of the ledger's id.
    pub ledger: String,
    /// Position of the event.
    pub seq: Seq,
    /// The leaf that it must have.
    pub leaf: Leaf,
}

impl fmt::Display for HeadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handoff1:{}:{}:{}", self.ledger, self.seq, self.leaf)
    }
}

impl FromStr for HeadLine {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new("a head line, handoff1:<12 hex>:<seq>:<64 hex>", text);
        let mut parts = text.split(':');
        let (Some("handoff1"), Some(ledger), Some(seq), Some(leaf), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return Err(refused());
        };
        if parse_hex::<6>(ledger).is_none() {
            return Err(refused());
        }
        Ok(HeadLine {
            ledger: ledger.to_owned(),
            seq: seq.parse().map_err(|_| refused())?,
            leaf: leaf.parse().map_err(|_| refused())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_one_spelling() {
        let text = "2026-11-30T09:48:18.641Z";
        assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        for other in [
            "2026-11-30T09:48:18Z",
            "2026-11-30T09:48:18.641+00:00",
            "2026-11-30t09:48:18.641z",
            "2026-11-30T09:48:18.6410Z",
            "2026-11-30 09:48:18.641Z",
            "2026-13-30T09:48:18.641Z",
            "-000001-11-30T09:48:18.641Z",
            "",
        ] {
            assert!(other.parse::<Time>().is_err(), "{other}");
        }
        for edge in [
            "0000-01-01T00:00:00.000Z",
            "9999-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00.000Z",
        ] {
            assert_eq!(
                edge.parse::<Time>().map(|time| time.to_string()),
                Ok(edge.to_owned())
            );
        }
    }

    #[test]
    fn hexadecimal_is_lower_case_and_whole() {
        assert_eq!(parse_hex::<2>("0aff"), Some([10, 255]));
        for text in ["0aFf", "0af", "0aff0", "0x0a", "", "0a f"] {
            assert_eq!(parse_hex::<2>(text), None, "{text}");
        }
    }

    #[test]
    fn names_follow_the_grammar() {
        for good in ["a", "db.host", "9-x/y_z", &"a".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "",
            "A",
            ".a",
            "-a",
            "a b",
            "a\n",
            "ä",
            "a:b",
            &"a".repeat(65),
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_head_line_reads_back() {
        let line = HeadLine {
            ledger: "0123456789ab".into(),
            seq: Seq(7),
            leaf: Leaf([9; 32]),
        };
        assert_eq!(line.to_string().parse(), Ok(line));
        assert!("handoff1:0123456789ab:07:00".parse::<HeadLine>().is_err());
    }
}
