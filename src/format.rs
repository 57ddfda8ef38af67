//! Bytes to events and back, in the order of `ledger-format.md`.
//!
//! Decoding is strict: bytes are an event's only if encoding that event gives the same bytes again.
//! So there is one spelling, canonical JSON (RFC 8785 restricted to objects, arrays, strings,
//! booleans and integers), and nothing is ever re-serialised in order to verify.

use crate::event::{Body, Event, FORMAT_VERSION, Unknown};
use crate::types::{INTEGER_MAX, Leaf, PublicKey, RECORD_BYTES_MAX, SIGNATURE_BYTES, Seq, Time};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// Longest event, in bytes.
pub const EVENT_BYTES_MAX: usize = RECORD_BYTES_MAX - SIGNATURE_BYTES;
/// Deepest nesting of arrays and objects in the body of an event of unknown kind.
pub const DEPTH_MAX: usize = 32;
/// Longest account of what is malformed, in characters.
const DETAIL_CHARACTERS_MAX: usize = 200;
/// Longest name of a kind.
const KIND_BYTES_MAX: usize = 64;

/// Why bytes are not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There is not even a signature and one byte, or more than a record may hold.
    #[error("a record of {found} bytes; it has 65 to {RECORD_BYTES_MAX}")]
    Length {
        /// How many bytes there are.
        found: usize,
    },
    /// Not an object with the members of the envelope, or a body that its kind does not allow.
    #[error("{detail}")]
    Malformed {
        /// What is wrong, in words.
        detail: String,
    },
    /// Another spelling of an event.
    #[error("not in canonical form from byte {at} on")]
    NotCanonical {
        /// The first byte that differs from the canonical form.
        at: usize,
    },
}

fn malformed(detail: impl fmt::Display) -> DecodeError {
    // A parser's message quotes what it read, which anyone may have written.
    let detail = detail.to_string();
    let detail = detail.escape_debug().take(DETAIL_CHARACTERS_MAX).collect();
    DecodeError::Malformed { detail }
}

/// The envelope, frozen for every version. Members stand in canonical order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    key: PublicKey,
    kind: String,
    prev: Leaf,
    seq: Seq,
    session: Seq,
    time: Time,
    v: u64,
}

/// Encodes an event into its canonical bytes.
///
/// # Errors
/// `Malformed` if a member is out of its bounds, `Length` if the record would be too long.
pub fn encode(event: &Event) -> Result<Vec<u8>, DecodeError> {
    event.body.check().map_err(malformed)?;
    let bytes = spell(event)?;
    if bytes.len() > EVENT_BYTES_MAX {
        return Err(DecodeError::Length {
            found: bytes.len() + SIGNATURE_BYTES,
        });
    }
    Ok(bytes)
}

fn spell(event: &Event) -> Result<Vec<u8>, DecodeError> {
    let body = event.body.encode().map_err(malformed)?;
    let body: &RawValue = serde_json::from_str(&body).map_err(malformed)?;
    let envelope = Envelope {
        body,
        key: event.key,
        kind: event.body.kind().to_owned(),
        prev: event.prev,
        seq: event.seq,
        session: event.session,
        time: event.time,
        v: event.body.v(),
    };
    serde_json::to_vec(&envelope).map_err(malformed)
}

/// Decodes an event from bytes that must be its canonical form.
///
/// # Errors
/// `Length`, `Malformed` or `NotCanonical`.
pub fn decode(bytes: &[u8]) -> Result<Event, DecodeError> {
    if bytes.is_empty() || bytes.len() > EVENT_BYTES_MAX {
        return Err(DecodeError::Length {
            found: bytes.len() + SIGNATURE_BYTES,
        });
    }
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(malformed)?;
    if !is_kind(&envelope.kind) {
        return Err(malformed(
            "a kind is two or more words of a-z and _ joined by dots",
        ));
    }
    if !(1..=INTEGER_MAX).contains(&envelope.v) {
        return Err(malformed("v is out of its range"));
    }
    let json = envelope.body.get();
    let known = if envelope.v == FORMAT_VERSION {
        Body::decode(&envelope.kind, json)
    } else {
        None
    };
    let body = match known {
        Some(body) => body.map_err(malformed)?,
        None => {
            check_canonical(json)?;
            Body::Unknown(Unknown {
                kind: envelope.kind,
                v: envelope.v,
                body: json.to_owned(),
            })
        }
    };
    body.check().map_err(malformed)?;
    let Envelope {
        key,
        prev,
        seq,
        session,
        time,
        ..
    } = envelope;
    let event = Event {
        seq,
        prev,
        key,
        session,
        time,
        body,
    };
    same(bytes, &spell(&event)?)?;
    Ok(event)
}

fn same(found: &[u8], canonical: &[u8]) -> Result<(), DecodeError> {
    if found == canonical {
        return Ok(());
    }
    let at = found
        .iter()
        .zip(canonical)
        .take_while(|(a, b)| a == b)
        .count();
    Err(DecodeError::NotCanonical { at })
}

/// A kind is `[a-z_]+(\.[a-z_]+)+`, at most 64 bytes.
fn is_kind(kind: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    kind.len() <= KIND_BYTES_MAX && kind.contains('.') && kind.split('.').all(word)
}

/// Whether `json` is any canonical object: the body of an event whose kind is not known.
fn check_canonical(json: &str) -> Result<(), DecodeError> {
    let value: Canonical = serde_json::from_str(json).map_err(malformed)?;
    if !matches!(value, Canonical::Object(_)) {
        return Err(malformed("a body is an object"));
    }
    if value.depth() > DEPTH_MAX {
        return Err(malformed("a body is nested deeper than 32"));
    }
    same(
        json.as_bytes(),
        &serde_json::to_vec(&value).map_err(malformed)?,
    )
}

/// Any value of canonical JSON. A `BTreeMap` sorts member names by bytes, which for `[a-z0-9_]+` is
/// the order by UTF-16 code units that RFC 8785 section 3.2.3 asks for.
#[derive(Serialize)]
#[serde(untagged)]
enum Canonical {
    Boolean(bool),
    Integer(i64),
    Text(String),
    Array(Vec<Canonical>),
    Object(BTreeMap<String, Canonical>),
}

impl Canonical {
    fn depth(&self) -> usize {
        let within = match self {
            Canonical::Boolean(_) | Canonical::Integer(_) | Canonical::Text(_) => return 0,
            Canonical::Array(items) => items.iter().map(Canonical::depth).max(),
            Canonical::Object(members) => members.values().map(Canonical::depth).max(),
        };
        within.unwrap_or(0) + 1
    }
}

impl<'de> Deserialize<'de> for Canonical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CanonicalVisitor)
    }
}

struct CanonicalVisitor;

impl<'de> Visitor<'de> for CanonicalVisitor {
    type Value = Canonical;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, array, string, boolean or integer of magnitude below 2^53")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Canonical, E> {
        Ok(Canonical::Boolean(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Canonical, E> {
        if value.unsigned_abs() > INTEGER_MAX {
            return Err(E::custom("an integer of magnitude 2^53 or more"));
        }
        Ok(Canonical::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Canonical, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Err(E::custom("an integer of magnitude 2^53 or more")),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Canonical, E> {
        Ok(Canonical::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Canonical, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Canonical::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Canonical, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, value)) = object.next_entry::<String, Canonical>()? {
            let lawful =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            if name.is_empty() || !name.bytes().all(lawful) {
                return Err(de::Error::custom("a member name other than [a-z0-9_]+"));
            }
            if members.insert(name, value).is_some() {
                return Err(de::Error::custom("a member name twice"));
            }
        }
        Ok(Canonical::Object(members))
    }
}
