//! Proofs that stand alone: that an event is in a ledger as of a checkpoint (C2SP tlog-proof), and
//! that a checkpoint continues an older one (the body of C2SP tlog-witness `add-checkpoint`).
//!
//! ```text
//! c2sp.org/tlog-proof@v1                    old <size of the older checkpoint>
//! extra <the event's record, base64>        <hash, base64>
//! index <seq>                               …
//! <hash, base64>
//! …                                         <checkpoint>
//!
//! <checkpoint>
//! ```
//!
//! What `extra` holds is believed only because its leaf is shown to be of the tree.

use crate::chain::{ChainFault, VerifiedEvent, Walk, split};
use crate::checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint, parse_size};
use crate::format;
use crate::merkle::TreeHead;
use crate::merkle_proof::{self, ProofFault};
use crate::note::{NOTE_BYTES_MAX, from_base64, to_base64};
use crate::types::{Digest, Leaf, Seq};
use std::fmt;

/// First line of a proof that an event is in a ledger.
pub const INCLUSION_HEADER: &str = "c2sp.org/tlog-proof@v1";
/// Most hashes of a proof, by C2SP tlog-witness; trees of 2^53 leaves never need as many.
pub const HASHES_MAX: usize = 63;
/// Longest proof, in bytes: the longest note, and room for a record and the hashes.
pub const PROOF_BYTES_MAX: u64 = NOTE_BYTES_MAX + 131_072;

/// Why a text is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// It begins as neither kind does.
    #[error("expected the line {INCLUSION_HEADER} or old SIZE, found another")]
    Unknown,
    /// More than a proof may hold.
    #[error("expected at most {PROOF_BYTES_MAX} bytes of a proof, found {found}")]
    TooLarge {
        /// How many bytes there are.
        found: u64,
    },
    /// A line above the checkpoint is not what stands there.
    #[error("expected {expected} in line {line}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What stands there.
        expected: &'static str,
    },
    /// What stands below is no checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// That an event is in a ledger as of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The event's record: signature and event bytes.
    pub record: Vec<u8>,
    /// The event's position.
    pub index: Seq,
    /// The hashes, from the leaf's sibling up.
    pub path: Vec<Digest>,
    /// The checkpoint.
    pub checkpoint: SignedCheckpoint,
}

impl InclusionProof {
    /// The proof of an event, of which `leaves` are those of its ledger up to the checkpoint.
    /// `None` if it is not among them, or they are not those of the checkpoint.
    pub fn new(
        record: Vec<u8>,
        index: Seq,
        leaves: &[Leaf],
        checkpoint: SignedCheckpoint,
    ) -> Option<InclusionProof> {
        let path = merkle_proof::inclusion(leaves, index.0)?;
        let proof = InclusionProof {
            record,
            index,
            path,
            checkpoint,
        };
        proof.included().ok()?;
        Some(proof)
    }

    /// The event, if its record is one, stands at its position, and its signature is valid.
    ///
    /// # Errors
    ///
    /// All that is wrong with the record.
    pub fn event(&self) -> Result<VerifiedEvent, Vec<ChainFault>> {
        let before = self.index.0.checked_sub(1).map(Seq);
        let mut walk = Walk::after(before.and_then(|seq| Some((seq, self.leaf_before()?))));
        walk.step(self.index, &self.record)
    }

    /// The leaf of the event before. At an odd position it is the first hash, at 1 the ledger's id;
    /// at an even one nothing is known of it but what the event says.
    fn leaf_before(&self) -> Option<Leaf> {
        let named = || {
            let (_, bytes) = split(&self.record).ok()?;
            Some(format::decode(bytes).ok()?.prev)
        };
        match self.index {
            Seq(1) => Some(Leaf(self.checkpoint.checkpoint().ledger.0)),
            Seq(index) if index % 2 == 1 => self.path.first().map(|hash| Leaf(hash.0)),
            Seq(_) => None,
        }
        .or_else(named)
    }

    /// Checks that the record is the checkpoint's event of that position.
    ///
    /// # Errors
    ///
    /// Why the hashes do not show it.
    pub fn included(&self) -> Result<(), ProofFault> {
        let Checkpoint { ledger, tree } = self.checkpoint.checkpoint();
        let leaf = crate::hash::leaf(&self.record);
        if self.index == Seq::ZERO && leaf.0 != ledger.0 {
            // The checkpoint names its first leaf.
            return Err(ProofFault::Root {
                expected: Digest(ledger.0),
                found: Digest(leaf.0),
            });
        }
        merkle_proof::check_inclusion(tree, self.index.0, &leaf, &self.path)
    }
}

/// Prints the proof.
impl fmt::Display for InclusionProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{INCLUSION_HEADER}")?;
        writeln!(f, "extra {}", to_base64(&self.record))?;
        writeln!(f, "index {}", self.index)?;
        write_hashes(f, &self.path)?;
        write!(f, "\n{}", self.checkpoint)
    }
}

/// That a checkpoint continues an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// Size of the older tree.
    pub old: u64,
    /// The hashes.
    pub path: Vec<Digest>,
    /// The newer checkpoint.
    pub checkpoint: SignedCheckpoint,
}

impl ConsistencyProof {
    /// The proof that a checkpoint, of which `leaves` are the leaves, continues the tree of its
    /// first `old`. `None` if that is more, or they are not those of the checkpoint.
    pub fn new(
        old: u64,
        leaves: &[Leaf],
        checkpoint: SignedCheckpoint,
    ) -> Option<ConsistencyProof> {
        if TreeHead::of(leaves) != checkpoint.checkpoint().tree {
            return None;
        }
        let path = merkle_proof::consistency(leaves, old)?;
        Some(ConsistencyProof {
            old,
            path,
            checkpoint,
        })
    }
}

/// Prints the request body.
impl fmt::Display for ConsistencyProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old)?;
        write_hashes(f, &self.path)?;
        write!(f, "\n{}", self.checkpoint)
    }
}

fn write_hashes(f: &mut fmt::Formatter<'_>, path: &[Digest]) -> fmt::Result {
    path.iter()
        .try_for_each(|hash| writeln!(f, "{}", to_base64(&hash.0)))
}

/// A proof of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Of an event.
    Inclusion(InclusionProof),
    /// Of an older checkpoint.
    Consistency(ConsistencyProof),
}

impl Proof {
    /// Reads a proof. There is one spelling of each: printing it gives the same bytes.
    ///
    /// # Errors
    ///
    /// What keeps it from being one. Whether it shows anything is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Proof, ProofError> {
        let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if found > PROOF_BYTES_MAX {
            return Err(ProofError::TooLarge { found });
        }
        let mut lines = Lines {
            rest: bytes,
            line: 0,
        };
        let first = lines.next();
        if first == Some(INCLUSION_HEADER.as_bytes()) {
            return inclusion(lines).map(Proof::Inclusion);
        }
        let old = first.and_then(|line| value(line, "old "));
        let old = old.and_then(parse_size).ok_or(ProofError::Unknown)?;
        let path = hashes(&mut lines)?;
        let checkpoint = SignedCheckpoint::parse(lines.rest)?;
        Ok(Proof::Consistency(ConsistencyProof {
            old,
            path,
            checkpoint,
        }))
    }

    /// The checkpoint that it speaks of.
    pub fn checkpoint(&self) -> &SignedCheckpoint {
        match self {
            Proof::Inclusion(proof) => &proof.checkpoint,
            Proof::Consistency(proof) => &proof.checkpoint,
        }
    }
}

/// Prints the proof.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Inclusion(proof) => proof.fmt(f),
            Proof::Consistency(proof) => proof.fmt(f),
        }
    }
}

fn inclusion(mut lines: Lines<'_>) -> Result<InclusionProof, ProofError> {
    let extra = lines.next().and_then(|line| value(line, "extra "));
    let expected = "extra and the event's record in base64";
    let record = extra.and_then(from_base64).ok_or(lines.fault(expected))?;
    let index = lines.next().and_then(|line| value(line, "index "));
    let expected = "index and the event's position";
    let index = index.and_then(|text| text.parse().ok());
    let index = index.ok_or(lines.fault(expected))?;
    let path = hashes(&mut lines)?;
    let checkpoint = SignedCheckpoint::parse(lines.rest)?;
    Ok(InclusionProof {
        record,
        index,
        path,
        checkpoint,
    })
}

/// The hashes up to the empty line above the checkpoint.
fn hashes(lines: &mut Lines<'_>) -> Result<Vec<Digest>, ProofError> {
    let mut path = Vec::new();
    loop {
        let expected = "a hash of 32 bytes in base64, or an empty line";
        let line = lines.next().ok_or(lines.fault(expected))?;
        if line.is_empty() {
            return Ok(path);
        }
        let hash = value(line, "").and_then(from_base64);
        let hash = hash.and_then(|bytes| bytes.try_into().ok());
        path.push(Digest(hash.ok_or(lines.fault(expected))?));
        if path.len() > HASHES_MAX {
            return Err(lines.fault("at most 63 hashes, and an empty line"));
        }
    }
}

/// What stands behind a word at the beginning of a line.
fn value<'a>(line: &'a [u8], word: &str) -> Option<&'a str> {
    std::str::from_utf8(line).ok()?.strip_prefix(word)
}

/// The lines of a text, and what follows them.
struct Lines<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Lines<'a> {
    /// The next line, without its end; none if it has no end.
    fn next(&mut self) -> Option<&'a [u8]> {
        self.line += 1;
        let at = self.rest.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = self.rest.split_at_checked(at)?;
        self.rest = rest.strip_prefix(b"\n")?;
        Some(line)
    }

    fn fault(&self, expected: &'static str) -> ProofError {
        let line = self.line;
        ProofError::Line { line, expected }
    }
}
