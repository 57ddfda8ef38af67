//! What is kept outside the chain, held to what an event commits to.

use crate::event::ProbeReceipt;
use crate::hash;
use crate::store::Capture;
use crate::types::Digest;

/// What an event commits to by a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommittedTo {
    /// This many bytes, with their salt.
    Bytes(u64),
    /// A salt alone, by its digest.
    Salt(Digest),
}

/// How what is kept stands to what was committed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It is that.
    Same,
    /// It is something else.
    Other,
    /// Nothing is kept that could be compared.
    Nothing,
}

/// Something else is kept than what was committed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what is kept under commitment {0} is something else")]
pub struct OtherContent(pub Digest);

/// A commitment of a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commitment {
    /// What is kept under it: `stdout`, `stderr` or `salt`.
    pub what: &'static str,
    /// The commitment itself.
    pub digest: Digest,
    /// To what.
    pub to: CommittedTo,
}

impl Commitment {
    /// Whether there is something to be kept: of no output there is nothing.
    pub fn is_of_something(&self) -> bool {
        self.to != CommittedTo::Bytes(0)
    }
}

/// The commitments of a receipt: to its two outputs, and to the salt of a redacted value.
pub fn commitments(receipt: &ProbeReceipt) -> impl Iterator<Item = Commitment> {
    let streams = receipt.outputs.iter().flat_map(|outputs| {
        [
            ("stdout", outputs.stdout.kept),
            ("stderr", outputs.stderr.kept),
        ]
    });
    let bytes = streams.map(|(what, kept)| Commitment {
        what,
        digest: kept.commitment,
        to: CommittedTo::Bytes(kept.length),
    });
    let salt = receipt.redacted.iter().map(|it| Commitment {
        what: "salt",
        digest: it.commitment,
        to: CommittedTo::Salt(it.salt_digest),
    });
    bytes.chain(salt)
}

impl CommittedTo {
    /// Compares what is kept under `commitment`.
    pub fn compare(
        self,
        commitment: &Digest,
        salt: &[u8; hash::SALT_BYTES],
        bytes: Option<&[u8]>,
    ) -> Comparison {
        let is_same = match (self, bytes) {
            (CommittedTo::Bytes(length), Some(bytes)) => {
                let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                found == length && hash::commitment(salt, bytes) == *commitment
            }
            (CommittedTo::Bytes(_), None) => return Comparison::Nothing,
            (CommittedTo::Salt(digest), None) => hash::salt(salt) == digest,
            (CommittedTo::Salt(digest), Some(bytes)) => {
                hash::salt(salt) == digest && hash::commitment(salt, bytes) == *commitment
            }
        };
        match is_same {
            true => Comparison::Same,
            false => Comparison::Other,
        }
    }

    /// What a store keeps under `commitment`, if it is that.
    ///
    /// # Errors
    /// If it is something else.
    pub fn accept(
        self,
        commitment: &Digest,
        kept: Option<Capture>,
    ) -> Result<Option<Capture>, OtherContent> {
        let Some(kept) = kept else {
            return Ok(None);
        };
        match self.compare(commitment, &kept.salt, kept.bytes.as_deref()) {
            Comparison::Same => Ok(Some(kept)),
            Comparison::Nothing => Ok(None),
            Comparison::Other => Err(OtherContent(*commitment)),
        }
    }
}
