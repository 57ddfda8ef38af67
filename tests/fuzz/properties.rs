//! What must hold of any bytes at all, one function a target. `tests/corpus.rs` holds the kept
//! inputs to the same.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a property that does not hold ends the run"
)]

use crate::judge::{Judged, Way, judge};
use handoff_ledger::chain::{self, FaultKind, Walk};
use handoff_ledger::event::Event;
use handoff_ledger::export::{self, ExportedCapture, Line, Reader};
use handoff_ledger::format::{self, DecodeError};
use handoff_ledger::hash;
use handoff_ledger::home::key_text::{self, KeyTextError};
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::key::{self, SigningKey};
use handoff_ledger::state::State;
use handoff_ledger::types::{Leaf, PublicKey, SIGNATURE_BYTES, Seq};
use std::collections::BTreeSet;
use std::path::Path;

/// How bytes are decoded.
pub type Decode = fn(&[u8]) -> Result<Event, DecodeError>;
/// How a public key is read.
pub type ReadPublic = fn(&[u8]) -> Result<PublicKey, KeyTextError>;

/// One in so many inputs is judged a second time.
const JUDGED_TWICE: u64 = 16;
/// A line of at least so many characters of base64 may be a secret, and is never quoted.
const TELLING_BYTES: usize = 20;

/// Bytes are an event's if and only if it encodes to them, whoever asks says the same, and no event
/// that anyone could sign brings down the fold.
pub fn event_bytes(data: &[u8], before: &State, decode: Decode) {
    let decoded = decode(data);
    assert_eq!(decode(data), decoded, "decoded twice");
    let record = [&[0; SIGNATURE_BYTES], data].concat();
    let leaf = hash::leaf(&record);
    let accepted = chain::accept(Seq::ZERO, &record, leaf);
    let walked = Walk::from_genesis().step(Seq::ZERO, &record);
    let faults = walked.expect_err("nobody signed it");
    match decoded {
        Ok(event) => {
            assert_eq!(format::encode(&event).as_deref(), Ok(data), "one spelling");
            assert!(data.len() <= format::EVENT_BYTES_MAX);
            let accepted = accepted.expect("whoever knows the leaf reads the same");
            assert_eq!(accepted.event(), &event);
            assert!(
                (faults.iter()).all(|fault| !matches!(fault.kind, FaultKind::Decode(_))),
                "{faults:?}"
            );
            fold(before, event);
        }
        Err(error) => {
            let kind = FaultKind::Decode(error);
            assert_eq!(accepted.expect_err("no event").kind, kind);
            assert_eq!(faults.first().map(|fault| &fault.kind), Some(&kind));
        }
    }
    // As a record of its own, whatever its first bytes are.
    let split = chain::split(data).and_then(|(_, bytes)| decode(bytes));
    let accepted = chain::accept(Seq::ZERO, data, hash::leaf(data));
    assert_eq!(accepted.is_ok(), split.is_ok());
}

/// Judges the event as the next of a ledger that has something of every kind.
fn fold(before: &State, mut event: Event) {
    let head = before.head().expect("the ledger is not empty");
    event.seq = head.seq.next();
    event.prev = head.leaf;
    let Ok(bytes) = format::encode(&event) else {
        // With the longer seq it is too long.
        return;
    };
    let record = [&[0; SIGNATURE_BYTES], bytes.as_slice()].concat();
    let verified = chain::accept(event.seq, &record, hash::leaf(&record)).expect("it decodes");
    let mut state = before.clone();
    let refusal = state.apply(&verified);
    let mut again = before.clone();
    assert_eq!(again.apply(&verified), refusal, "judged twice");
    assert!(again == state, "folded twice");
    if refusal.is_some() && state.undetermined().is_none() {
        assert!(state.refused().contains_key(&event.seq));
    }
    let time = state.head_time().expect("it has a head");
    for session in state.sessions().keys() {
        let judge = Judge::new(&state, Some(*session), Asked::AtHead { time });
        let admissible = judge.admissible();
        for claim in state.claims().keys() {
            judge.claim(claim, &admissible);
        }
    }
}

/// An export that passes is spelt as its records and captures are, to the byte, and nobody else's.
pub fn export_text(data: &[u8], judged: &Judged, known: &BTreeSet<Leaf>) {
    let read = read_export(data);
    let Judged::Accepted(report, _) = judged else {
        return;
    };
    let (records, captures) = read.expect("what passes can be read");
    let mut spelt = export::header(&report.head.expect("what passes has a head"));
    for record in &records {
        assert!(known.contains(&hash::leaf(record)), "a forged record");
        spelt += &export::event_line(record).expect("it came from a line");
    }
    spelt.extend(captures.iter().map(export::capture_line));
    assert_eq!(spelt.as_bytes(), data, "one spelling");
    assert_eq!(u64::try_from(records.len()), Ok(report.events));
}

fn read_export(data: &[u8]) -> Option<(Vec<Vec<u8>>, Vec<ExportedCapture>)> {
    let mut reader = Reader::new();
    let (mut records, mut captures) = (Vec::new(), Vec::new());
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match reader.line(line).ok()? {
            Line::Header => {}
            Line::Record(record) => records.push(record),
            Line::Capture(capture) => captures.push(capture),
        }
    }
    reader.finish().ok()?;
    Some((records, captures))
}

/// What passes is a chain of records that somebody signed.
pub fn ledger_file(judged: &Judged, known: &BTreeSet<Leaf>) {
    let Judged::Accepted(report, state) = judged else {
        return;
    };
    let head = report.head.expect("what passes has a head");
    assert!(known.contains(&head.leaf), "a forged record");
    assert_eq!(report.events, head.seq.0 + 1);
    assert_eq!(state.head(), Some(head));
    assert_eq!(report.faults.total(), 0);
}

/// Some inputs are judged again, one in four of them without what is remembered.
pub fn same_verdict(data: &[u8], path: &Path, judged: &Judged, way: &Way) {
    let number = data
        .iter()
        .fold(u64::try_from(data.len()).unwrap(), |number, byte| {
            number.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
        });
    if number.is_multiple_of(JUDGED_TWICE) {
        let anew = number.is_multiple_of(4 * JUDGED_TWICE);
        let mut way = way.clone();
        if anew {
            way.remembered = None;
        }
        let again = judge(path, &way);
        assert!(again == *judged, "judged twice: {judged:?}, then {again:?}");
    }
    assert!(
        std::fs::read(path).unwrap() == data,
        "evidence is left alone"
    );
}

/// A key that is read is fit, works, and can be told from its text; a text that is none is not
/// quoted.
pub fn key_text(data: &[u8], public: ReadPublic) {
    let read = public(data);
    assert_eq!(public(data), read, "read twice");
    match read {
        Ok(found) => {
            key::check(&found).expect("a key that is read is fit");
            assert_eq!(public(found.to_string().as_bytes()), Ok(found));
        }
        Err(error) => assert_not_quoted(data, &error),
    }
    match key_text::secret(data) {
        Ok(secret) => {
            let again = key_text::secret(data).expect("read twice");
            assert_eq!(again.public(), secret.public());
            assert_signs(&secret);
            let read = public(data).map(|_| ());
            assert!(read.is_err(), "a secret is no public key");
        }
        Err(error) => assert_not_quoted(data, &error),
    }
}

fn assert_signs(secret: &SigningKey) {
    let public = key::check(&secret.public()).expect("a key of a seed is fit");
    let signature = secret.sign(b"{}");
    assert!(key::verify_event(&public, b"{}", &signature));
}

fn assert_not_quoted(data: &[u8], error: &KeyTextError) {
    let told = format!("{error} {error:?}");
    let lines = data.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    let is_secret = |line: &&str| {
        let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        line.len() >= TELLING_BYTES && line.bytes().all(base64)
    };
    for line in lines.filter(is_secret) {
        assert!(!told.contains(line), "quoted: {told}");
    }
}
