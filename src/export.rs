//! The export: a ledger as lines of text, for those who have no SQLite, and for `import`.
//!
//! ```text
//! {"count":N,"format":"handoff-ledger-export/v1","head":"<head line>","ledger":"<64 hex>"}
//! {"event":<event bytes>,"sig":"<base64>"}                                       N times, in order
//! {"capture":"<64 hex>","bytes":"<base64>","salt":"<32 hex>"}       any number, by commitment
//! ```
//!
//! Each line ends in one line feed, the last one too. The event's bytes are taken by position,
//! between a prefix and a suffix of fixed length, and never read as JSON here; so what comes in is
//! byte for byte what went out, whether it is a good event or not. Nothing in the header is
//! believed: a [`Reader`] recomputes all of it. Base64 is that of RFC 4648 section 4, padded.

use crate::hash::{self, SALT_BYTES};
use crate::types::{
    CAPTURE_BYTES_MAX, Digest, Head, HeadLine, Leaf, LedgerId, SIGNATURE_BYTES, hex, parse_hex,
};
use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};

/// How every export begins.
pub const HEADER_BEGINS: &[u8] = br#"{"count":"#;
/// The name of this format, in the header.
pub const FORMAT: &str = "handoff-ledger-export/v1";
/// Longest line, in bytes, its line feed included: that of the largest capture.
pub const LINE_BYTES_MAX: usize = CAPTURE_BYTES_MAX.div_ceil(3) * 4 + 256;

const EVENT_PREFIX: &str = "{\"event\":";
const SIGNATURE_PREFIX: &str = ",\"sig\":\"";
const CAPTURE_PREFIX: &str = "{\"capture\":\"";
/// Sixty-four bytes in padded base64.
const SIGNATURE_CHARACTERS: usize = SIGNATURE_BYTES.div_ceil(3) * 4;

/// Why text is not an export, or a record cannot stand in one. Lines count from 1, the header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// A record that is shorter than a signature, too long for a line, not UTF-8, or holds a line
    /// feed: none that a chain could hold.
    #[error("a record of {bytes} bytes does not fit a line: {reason}")]
    Record {
        /// Its length.
        bytes: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A line that does not end in its one line feed, or is longer than any line may be.
    #[error("line {line}: expected at most {LINE_BYTES_MAX} bytes and a line feed at the end")]
    NotALine {
        /// Which line.
        line: u64,
    },
    /// The first line is not the header, in its one spelling.
    #[error("line 1: expected the header of a {FORMAT}: {reason}")]
    Header {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A line that is none of those that may stand there, in their one spelling.
    #[error("line {line}: expected {expected}")]
    Unexpected {
        /// Which line.
        line: u64,
        /// What may stand there.
        expected: &'static str,
    },
    /// A capture's bytes are other than the ones committed to.
    #[error("line {line}: the bytes hash to {found}, the commitment is {expected}")]
    Commitment {
        /// Which line.
        line: u64,
        /// The commitment.
        expected: Digest,
        /// SHA-256 of the salt and the bytes.
        found: Digest,
    },
    /// The text ends before all events were there.
    #[error("expected {expected} events, as the header says, found {found}")]
    Count {
        /// As many as the header says.
        expected: u64,
        /// As many as there are.
        found: u64,
    },
    /// The first record is not the one that the header names the ledger by.
    #[error("expected ledger {expected}, as the header says; the first record hashes to {found}")]
    Ledger {
        /// The id in the header.
        expected: LedgerId,
        /// Leaf of the first record.
        found: LedgerId,
    },
    /// The last record is not the one that the header's head line names.
    #[error("expected head {expected}, as the header says; the last record hashes to {found}")]
    Head {
        /// The leaf in the header.
        expected: Leaf,
        /// Leaf of the last record.
        found: Leaf,
    },
}

/// Captured output, or only the salt of a redacted value, as it stands beside the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedCapture {
    /// The digest by which an event refers to it.
    pub commitment: Digest,
    /// At most [`CAPTURE_BYTES_MAX`] bytes; `None` where only the salt is kept.
    pub bytes: Option<Vec<u8>>,
    /// The salt of the commitment.
    pub salt: [u8; SALT_BYTES],
}

/// What a line holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The header; nothing in it is proven before [`Reader::finish`].
    Header,
    /// A record, signature and event bytes; not necessarily well-formed.
    Record(Vec<u8>),
    /// A capture whose bytes, if it has any, hash to the commitment of its line.
    Capture(ExportedCapture),
}

/// The header as it is spelt; members stand in canonical order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    count: u64,
    format: String,
    head: String,
    ledger: LedgerId,
}

/// The header line of an export that ends at `head`, its line feed included.
pub fn header(head: &Head) -> String {
    let (count, ledger) = (head.seq.next(), head.ledger);
    format!(
        "{{\"count\":{count},\"format\":\"{FORMAT}\",\
         \"head\":\"{head}\",\"ledger\":\"{ledger}\"}}\n"
    )
}

/// The line of a record, its line feed included.
///
/// # Errors
/// `Record` if no line could hold it; a record of a good chain always fits.
pub fn event_line(record: &[u8]) -> Result<String, ExportError> {
    let refused = |reason| ExportError::Record {
        bytes: record.len(),
        reason,
    };
    let (signature, event) = record
        .split_first_chunk::<SIGNATURE_BYTES>()
        .ok_or_else(|| refused("it is shorter than a signature"))?;
    let event = str::from_utf8(event).map_err(|_| refused("its event is not UTF-8"))?;
    if event.contains('\n') {
        return Err(refused("its event holds a line feed"));
    }
    let signature = Base64::encode_string(signature);
    let line = format!("{EVENT_PREFIX}{event}{SIGNATURE_PREFIX}{signature}\"}}\n");
    if line.len() > LINE_BYTES_MAX {
        return Err(refused("it is longer than any record may be"));
    }
    Ok(line)
}

/// The record that an event's line holds, its line feed included; `None` if it is no such line in
/// its one spelling.
pub fn record_of(line: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(line).ok()?;
    let record = parse_event(text.strip_suffix('\n')?)?;
    (event_line(&record).ok()? == text).then_some(record)
}

/// The line of a capture, its line feed included.
pub fn capture_line(capture: &ExportedCapture) -> String {
    let (commitment, salt) = (capture.commitment, hex(&capture.salt));
    let bytes = match &capture.bytes {
        Some(bytes) => format!("\"bytes\":\"{}\",", Base64::encode_string(bytes)),
        None => String::new(),
    };
    format!("{CAPTURE_PREFIX}{commitment}\",{bytes}\"salt\":\"{salt}\"}}\n")
}

/// Reads an export line by line.
#[derive(Debug, Default)]
pub struct Reader {
    line: u64,
    header: Option<Head>,
    records: u64,
    first: Option<Leaf>,
    last: Option<Leaf>,
    capture: Option<Digest>,
}

impl Reader {
    /// A reader that awaits the header.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Reads the next line, its line feed included.
    ///
    /// # Errors
    /// What is wrong with it; the reader is of no use after that.
    pub fn line(&mut self, line: &[u8]) -> Result<Line, ExportError> {
        self.line = self.line.saturating_add(1);
        let number = self.line;
        let text = (line.len() <= LINE_BYTES_MAX)
            .then_some(line)
            .and_then(|line| str::from_utf8(line).ok())
            .and_then(|line| line.strip_suffix('\n'))
            .filter(|line| !line.contains('\n'));
        let Some(head) = self.header else {
            let reason = "it is no line of UTF-8";
            let header = text.ok_or(ExportError::Header { reason })?;
            self.header = Some(parse_header(header)?);
            return Ok(Line::Header);
        };
        let text = text.ok_or(ExportError::NotALine { line: number })?;
        let unexpected = |expected| ExportError::Unexpected {
            line: number,
            expected,
        };
        if self.records <= head.seq.0 {
            let record = parse_event(text).ok_or_else(|| unexpected("an event"))?;
            let leaf = hash::leaf(&record);
            self.records = self.records.saturating_add(1);
            self.first.get_or_insert(leaf);
            self.last = Some(leaf);
            return Ok(Line::Record(record));
        }
        let capture = parse_capture(text).ok_or_else(|| unexpected("a capture or the end"))?;
        if self.capture.is_some_and(|last| last >= capture.commitment) {
            return Err(unexpected("captures in ascending order, none twice"));
        }
        if let Some(bytes) = &capture.bytes {
            let (found, expected) = (hash::commitment(&capture.salt, bytes), capture.commitment);
            if found != expected {
                return Err(ExportError::Commitment {
                    line: number,
                    expected,
                    found,
                });
            }
        }
        self.capture = Some(capture.commitment);
        Ok(Line::Capture(capture))
    }

    /// Ends the reading, and answers the head, which is then the one that the header names.
    ///
    /// # Errors
    /// `Header`, `Count`, `Ledger` or `Head`: the header does not say what the lines hold.
    pub fn finish(self) -> Result<Head, ExportError> {
        let head = self.header.ok_or(ExportError::Header {
            reason: "there is no line",
        })?;
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return Err(ExportError::Count {
                expected: head.seq.next().0,
                found: 0,
            });
        };
        if self.records != head.seq.next().0 {
            return Err(ExportError::Count {
                expected: head.seq.next().0,
                found: self.records,
            });
        }
        let found = LedgerId(first.0);
        if found != head.ledger {
            return Err(ExportError::Ledger {
                expected: head.ledger,
                found,
            });
        }
        if last != head.leaf {
            return Err(ExportError::Head {
                expected: head.leaf,
                found: last,
            });
        }
        Ok(head)
    }
}

/// The head that a header names. That it agrees with itself is all that is checked here.
fn parse_header(text: &str) -> Result<Head, ExportError> {
    let refused = |reason| ExportError::Header { reason };
    let said: Header = serde_json::from_str(text)
        .map_err(|_| refused("it is no object of count, format, head and ledger"))?;
    if said.format != FORMAT {
        return Err(refused("the format is another"));
    }
    let line: HeadLine = said
        .head
        .parse()
        .map_err(|_| refused("the head is no head line"))?;
    let head = Head {
        ledger: said.ledger,
        seq: line.seq,
        leaf: line.leaf,
    };
    let spelt = header(&head);
    if spelt.strip_suffix('\n') == Some(text) {
        Ok(head)
    } else {
        Err(refused(
            "it contradicts itself, or is not in its one spelling",
        ))
    }
}

fn parse_event(text: &str) -> Option<Vec<u8>> {
    let rest = text.strip_prefix(EVENT_PREFIX)?.strip_suffix("\"}")?;
    let at = rest.len().checked_sub(SIGNATURE_CHARACTERS)?;
    let (rest, signature) = rest.split_at_checked(at)?;
    let event = rest.strip_suffix(SIGNATURE_PREFIX)?;
    let signature = Base64::decode_vec(signature).ok()?;
    // As many characters may hold two bytes more, which would become the event's first ones.
    let signature: [u8; SIGNATURE_BYTES] = signature.try_into().ok()?;
    Some([&signature, event.as_bytes()].concat())
}

fn parse_capture(text: &str) -> Option<ExportedCapture> {
    let rest = text.strip_prefix(CAPTURE_PREFIX)?.strip_suffix("\"}")?;
    let (commitment, rest) = rest.split_once("\",\"")?;
    let (bytes, salt) = match rest.strip_prefix("bytes\":\"") {
        Some(rest) => {
            let (bytes, rest) = rest.split_once("\",\"")?;
            (Some(Base64::decode_vec(bytes).ok()?), rest)
        }
        None => (None, rest),
    };
    let capture = ExportedCapture {
        commitment: commitment.parse().ok()?,
        bytes,
        salt: parse_hex(salt.strip_prefix("salt\":\"")?)?,
    };
    let fits = capture
        .bytes
        .as_ref()
        .is_none_or(|bytes| bytes.len() <= CAPTURE_BYTES_MAX);
    fits.then_some(capture)
}
