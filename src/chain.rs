//! Decode, link, signature: whether records are the chain that was signed.
//!
//! This module knows signatures, not authority: whether a key *might* write is a rule
//! ([`crate::rules`]). It is the only maker of a [`VerifiedEvent`], and so of anything that the
//! fold takes in.

use crate::event::{Body, Event};
use crate::format::{self, DecodeError};
use crate::hash;
use crate::key::{self, KeyFault, VerifyingKey};
use crate::types::{Leaf, PublicKey, RECORD_BYTES_MAX, SIGNATURE_BYTES, Seq};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

/// An event whose record decodes, and which is known to be part of the chain.
#[derive(Debug, Clone)]
pub struct VerifiedEvent {
    event: Event,
    leaf: Leaf,
}

impl VerifiedEvent {
    /// The event.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The leaf of its record.
    pub fn leaf(&self) -> Leaf {
        self.leaf
    }
}

/// What is wrong with a record, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFault {
    /// The position at which it stands.
    pub seq: Seq,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What can be wrong with a record. The variants stand in the order in which they are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes are no event.
    Decode(DecodeError),
    /// The row or the event stands at another position than the next.
    Seq {
        /// The next position.
        expected: Seq,
        /// The position found, in the file or in the event.
        found: Seq,
    },
    /// `prev` is not the leaf of the record before.
    Link {
        /// The leaf of the record before.
        expected: Leaf,
        /// The event's `prev`.
        found: Leaf,
    },
    /// The first event is not `ledger.opened`.
    Genesis {
        /// Its kind.
        found: String,
    },
    /// The signer's public key is none that may be trusted.
    Key(KeyFault),
    /// The signature does not verify.
    Signature,
    /// The record is not the one that was verified before: its leaf is another.
    Replaced {
        /// The leaf that was verified.
        expected: Leaf,
        /// The leaf of what is there now.
        found: Leaf,
    },
    /// There was a record here that was verified before, and is none now.
    Missing,
}

impl FaultKind {
    /// The stable name of the fault.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::Decode(DecodeError::Length { .. }) => "length",
            FaultKind::Decode(DecodeError::Malformed { .. }) => "malformed",
            FaultKind::Decode(DecodeError::NotCanonical { .. }) => "not_canonical",
            FaultKind::Seq { .. } => "seq",
            FaultKind::Link { .. } => "link",
            FaultKind::Genesis { .. } => "genesis",
            FaultKind::Key(_) => "key",
            FaultKind::Signature => "signature",
            FaultKind::Replaced { .. } => "replaced",
            FaultKind::Missing => "missing",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Decode(error) => error.fmt(f),
            FaultKind::Seq { expected, found } => {
                write!(f, "expected seq {expected}, found {found}")
            }
            FaultKind::Link { expected, found } => {
                write!(
                    f,
                    "prev is {found}, but the record before hashes to {expected}"
                )
            }
            FaultKind::Genesis { found } => {
                write!(f, "the first event is {found:?}, not ledger.opened")
            }
            FaultKind::Key(fault) => write!(f, "the signer's key is not one: {fault}"),
            FaultKind::Signature => f.write_str("the signature does not verify"),
            FaultKind::Replaced { expected, found } => {
                write!(
                    f,
                    "the record verified before hashes to {expected}, this one to {found}"
                )
            }
            FaultKind::Missing => f.write_str("the record verified before is gone"),
        }
    }
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.seq, self.kind)
    }
}

impl std::error::Error for ChainFault {}

/// The records whose key and signature were found good, by their leaves, for whoever walks
/// altered copies of one chain again and again.
///
/// A leaf covers the signature and all that is signed, the key included: what was good once is
/// good for ever. Only a walk adds to it, after it verified; clones are one memory.
#[derive(Debug, Clone, Default)]
pub struct Remembered(Arc<Mutex<HashSet<Leaf>>>);

impl Remembered {
    fn has(&self, leaf: &Leaf) -> bool {
        self.0.lock().is_ok_and(|good| good.contains(leaf))
    }

    fn add(&self, leaf: Leaf) {
        if let Ok(mut good) = self.0.lock() {
            good.insert(leaf);
        }
    }
}

/// Walks a chain from a point that is known, record by record.
pub struct Walk {
    next: Seq,
    prev: Leaf,
    keys: BTreeMap<PublicKey, Result<VerifyingKey, KeyFault>>,
    remembered: Option<Remembered>,
}

impl Walk {
    /// A walk from the first event on.
    pub fn from_genesis() -> Walk {
        Walk {
            next: Seq::ZERO,
            prev: Leaf::ZERO,
            keys: BTreeMap::new(),
            remembered: None,
        }
    }

    /// The same walk, which verifies no signature that is remembered as good.
    pub fn remembering(self, remembered: Remembered) -> Walk {
        Walk {
            remembered: Some(remembered),
            ..self
        }
    }

    /// A walk from the event after one that was verified before; from the first if there is none.
    pub fn after(head: Option<(Seq, Leaf)>) -> Walk {
        match head {
            None => Walk::from_genesis(),
            Some((seq, leaf)) => Walk {
                next: seq.next(),
                prev: leaf,
                keys: BTreeMap::new(),
                remembered: None,
            },
        }
    }

    /// Checks a record by itself: whether its signer signed it as it is. What it says of its place
    /// in the chain is believed.
    ///
    /// # Errors
    /// The first fault of the record.
    pub fn alone(record: &[u8]) -> Result<VerifiedEvent, ChainFault> {
        let claimed = split(record).and_then(|(_, bytes)| format::decode(bytes));
        let claimed = claimed.map_err(|error| ChainFault {
            seq: Seq::ZERO,
            kind: FaultKind::Decode(error),
        })?;
        let mut walk = Walk {
            next: claimed.seq,
            prev: claimed.prev,
            keys: BTreeMap::new(),
            remembered: None,
        };
        walk.step(claimed.seq, record).map_err(|mut faults| {
            let missing = ChainFault {
                seq: claimed.seq,
                kind: FaultKind::Missing,
            };
            faults.drain(..).next().unwrap_or(missing)
        })
    }

    /// Checks the record found at `seq`, and steps behind it whatever it was, so that a walk can go
    /// on and find all that is wrong.
    ///
    /// # Errors
    /// Every fault of the record, in the order of [`FaultKind`]; at least one. Each is told at
    /// `seq`, but that of the order at the position where another was expected.
    pub fn step(&mut self, seq: Seq, record: &[u8]) -> Result<VerifiedEvent, Vec<ChainFault>> {
        let leaf = hash::leaf(record);
        let (expected, prev) = (self.next, self.prev);
        self.next = seq.next();
        self.prev = leaf;
        let fault = |kind| ChainFault { seq, kind };
        let (signature, bytes) = match split(record) {
            Ok(parts) => parts,
            Err(error) => return Err(vec![fault(FaultKind::Decode(error))]),
        };
        let event = match format::decode(bytes) {
            Ok(event) => event,
            Err(error) => return Err(vec![fault(FaultKind::Decode(error))]),
        };
        let mut faults = Vec::new();
        for found in [seq, event.seq] {
            if found != expected && faults.is_empty() {
                faults.push(ChainFault {
                    seq: expected,
                    kind: FaultKind::Seq { expected, found },
                });
            }
        }
        if event.prev != prev {
            faults.push(fault(FaultKind::Link {
                expected: prev,
                found: event.prev,
            }));
        }
        if seq == Seq::ZERO && !matches!(event.body, Body::LedgerOpened(_)) {
            faults.push(fault(FaultKind::Genesis {
                found: event.body.kind().to_owned(),
            }));
        }
        if let Err(kind) = self.signed(leaf, &event.key, bytes, signature) {
            faults.push(fault(kind));
        }
        if faults.is_empty() {
            Ok(VerifiedEvent { event, leaf })
        } else {
            Err(faults)
        }
    }

    /// Whether the record of a leaf is signed, by a key that is one.
    fn signed(
        &mut self,
        leaf: Leaf,
        signer: &PublicKey,
        bytes: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> Result<(), FaultKind> {
        let remembered = self.remembered.as_ref();
        if remembered.is_some_and(|remembered| remembered.has(&leaf)) {
            return Ok(());
        }
        let key = self.keys.entry(*signer);
        let key = key.or_insert_with(|| key::check(signer)).as_ref();
        let key = key.map_err(|reason| FaultKind::Key(*reason))?;
        if !key::verify_event(key, bytes, signature) {
            return Err(FaultKind::Signature);
        }
        if let Some(remembered) = remembered {
            remembered.add(leaf);
        }
        Ok(())
    }
}

/// Accepts a record that was verified before, by its leaf.
///
/// # Errors
/// `Replaced` if it is another record than the one verified; `Decode` if it is no event.
pub fn accept(seq: Seq, record: &[u8], expected: Leaf) -> Result<VerifiedEvent, ChainFault> {
    let fault = |kind| ChainFault { seq, kind };
    let found = hash::leaf(record);
    if found != expected {
        return Err(fault(FaultKind::Replaced { expected, found }));
    }
    let decoded = split(record).and_then(|(_, bytes)| format::decode(bytes));
    match decoded {
        Ok(event) => Ok(VerifiedEvent { event, leaf: found }),
        Err(error) => Err(fault(FaultKind::Decode(error))),
    }
}

/// The signature and the event bytes of a record.
///
/// # Errors
/// `Length` if it is too short for both or longer than a record may be.
pub fn split(record: &[u8]) -> Result<(&[u8; SIGNATURE_BYTES], &[u8]), DecodeError> {
    match record.split_first_chunk::<SIGNATURE_BYTES>() {
        Some((signature, bytes)) if !bytes.is_empty() && record.len() <= RECORD_BYTES_MAX => {
            Ok((signature, bytes))
        }
        _ => Err(DecodeError::Length {
            found: record.len(),
        }),
    }
}
