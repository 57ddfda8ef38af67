//! What a witness answers: whether a checkpoint continues the one that it kept of that ledger (C2SP
//! tlog-witness, `add-checkpoint`). Keeping it, and signing, is the caller's.

use crate::checkpoint::Checkpoint;
use crate::merkle::TreeHead;
use crate::merkle_proof::{self, ProofFault};
use crate::proof::ConsistencyProof;
use crate::types::{LedgerId, PublicKey};

/// Why a witness does not cosign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WitnessRefusal {
    /// No key is trusted to speak for the ledger.
    #[error("no key is trusted here for ledger {ledger}")]
    UnknownOrigin {
        /// The ledger.
        ledger: LedgerId,
    },
    /// None of the trusted keys signed, or one of them did not sign this.
    #[error("expected a valid signature by a key trusted for ledger {ledger}, found {found}")]
    Untrusted {
        /// The ledger.
        ledger: LedgerId,
        /// What is wrong.
        found: String,
    },
    /// The older size is above the newer one.
    #[error("expected an old size of at most {size}, found {old}")]
    OldSize {
        /// Size of the checkpoint.
        size: u64,
        /// The old size that was given.
        old: u64,
    },
    /// The ledger was seen at another size than the given one.
    #[error("expected old size {known}, at which this ledger was last seen, found {old}")]
    Conflict {
        /// Size of the checkpoint kept; 0 if there is none.
        known: u64,
        /// The old size that was given.
        old: u64,
    },
    /// The ledger was seen at this size with another root: two ledgers under one id.
    #[error("expected root {} for {} events, as seen before, found {}", known.root, known.size,
        found.root)]
    Fork {
        /// The tree kept.
        known: TreeHead,
        /// The tree given.
        found: TreeHead,
    },
    /// The hashes do not show that the checkpoint continues the one kept.
    #[error("the proof from size {known} does not hold: {fault}")]
    BadProof {
        /// Size of the checkpoint kept.
        known: u64,
        /// What is wrong.
        fault: ProofFault,
    },
}

impl WitnessRefusal {
    /// Its stable name.
    pub fn code(&self) -> &'static str {
        match self {
            WitnessRefusal::UnknownOrigin { .. } => "unknown_origin",
            WitnessRefusal::Untrusted { .. } => "untrusted_signature",
            WitnessRefusal::OldSize { .. } => "old_size",
            WitnessRefusal::Conflict { .. } => "conflict",
            WitnessRefusal::Fork { .. } => "fork",
            WitnessRefusal::BadProof { .. } => "bad_proof",
        }
    }

    /// The status that C2SP tlog-witness answers with over HTTP.
    pub fn status(&self) -> u16 {
        match self {
            WitnessRefusal::OldSize { .. } => 400,
            WitnessRefusal::Untrusted { .. } => 403,
            WitnessRefusal::UnknownOrigin { .. } => 404,
            WitnessRefusal::Conflict { .. } | WitnessRefusal::Fork { .. } => 409,
            WitnessRefusal::BadProof { .. } => 422,
        }
    }

    /// Whether the request, beside the checkpoint kept, shows that two histories were signed: one
    /// size, two roots. Hashes that do not fit show nothing, since anyone can spoil a proof.
    pub fn is_evidence(&self) -> bool {
        match self {
            WitnessRefusal::Fork { .. } => true,
            WitnessRefusal::BadProof { .. }
            | WitnessRefusal::UnknownOrigin { .. }
            | WitnessRefusal::Untrusted { .. }
            | WitnessRefusal::OldSize { .. }
            | WitnessRefusal::Conflict { .. } => false,
        }
    }
}

/// Whether a key that is trusted to speak for the ledger signed the checkpoint of a request.
///
/// # Errors
/// `UnknownOrigin` if none is trusted, else `Untrusted`.
pub fn authenticate(
    request: &ConsistencyProof,
    trusted: &[PublicKey],
) -> Result<(), WitnessRefusal> {
    let ledger = request.checkpoint.checkpoint().ledger;
    if trusted.is_empty() {
        return Err(WitnessRefusal::UnknownOrigin { ledger });
    }
    let found = match request.checkpoint.vouched(trusted.iter().copied(), &[]) {
        Ok(vouched) if !vouched.keys.is_empty() => return Ok(()),
        Ok(_) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(WitnessRefusal::Untrusted { ledger, found })
}

/// Whether the checkpoint of a request, which a trusted key signed, is to be kept and cosigned.
///
/// The very checkpoint that is kept is cosigned again whatever the old size, so that a request
/// whose answer was lost can be repeated as it was. From its own size on there is nothing to show.
///
/// # Errors
/// Why it is not. Nothing is to be kept then but evidence.
pub fn judge(request: &ConsistencyProof, kept: Option<&Checkpoint>) -> Result<(), WitnessRefusal> {
    let tree = request.checkpoint.checkpoint().tree;
    let (old, size) = (request.old, tree.size);
    if old > size {
        return Err(WitnessRefusal::OldSize { size, old });
    }
    let known = kept.map_or(TreeHead::of(&[]), |kept| kept.tree);
    if known.size == size && known.root != tree.root {
        return Err(WitnessRefusal::Fork { known, found: tree });
    }
    if known.size != old {
        let known = known.size;
        return match known == size {
            true => Ok(()),
            false => Err(WitnessRefusal::Conflict { known, old }),
        };
    }
    let shown = merkle_proof::check_consistency(&known, &tree, &request.path);
    shown.map_err(|fault| WitnessRefusal::BadProof {
        known: known.size,
        fault,
    })
}
