//! Proofs about the ledger of a vector, by keys whose seeds everybody knows.

use handoff_ledger::checkpoint::{Checkpoint, SignedCheckpoint};
use handoff_ledger::export::{Line, Reader};
use handoff_ledger::hash;
use handoff_ledger::key::{self, SigningKey};
use handoff_ledger::merkle::TreeHead;
use handoff_ledger::note::{SignatureType, VerifierKey};
use handoff_ledger::proof::{ConsistencyProof, InclusionProof};
use handoff_ledger::types::{Leaf, LedgerId, Seq, parse_hex};

/// When the witnesses of vectors cosign: 2026-01-06T00:00:00Z.
pub(crate) const COSIGNED: u64 = 1_767_657_600;

/// The root's key: RFC 8032 section 7.1, TEST 1.
pub(crate) fn root() -> SigningKey {
    let seed = parse_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    SigningKey::from_seed(seed.unwrap())
}

/// Alice's, who signs most events: TEST 2.
pub(crate) fn alice() -> SigningKey {
    let seed = parse_hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    SigningKey::from_seed(seed.unwrap())
}

/// The key of a witness, by number.
pub(crate) fn witness_key(number: u8) -> SigningKey {
    SigningKey::from_seed([0x10 + number; 32])
}

/// A witness, by number.
pub(crate) fn witness(number: u8) -> VerifierKey {
    let key = key::check(&witness_key(number).public()).unwrap();
    let name = format!("witness.example/w{number}");
    VerifierKey::new(&name, SignatureType::Cosignature, key).unwrap()
}

/// The records of an export.
pub(crate) fn records(vector: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/vectors/{vector}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (_, export) = text.split_once("\n\n").unwrap();
    let mut reader = Reader::new();
    let mut records = Vec::new();
    for line in export.split_inclusive('\n') {
        if let Line::Record(record) = reader.line(line.as_bytes()).unwrap() {
            records.push(record);
        }
    }
    records
}

/// A ledger of which proofs are made.
pub(crate) struct Made {
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) leaves: Vec<Leaf>,
}

impl Made {
    pub(crate) fn of(vector: &str) -> Made {
        let records = records(vector);
        let leaves = records.iter().map(|record| hash::leaf(record)).collect();
        Made { records, leaves }
    }

    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.leaves.len()).unwrap()
    }

    pub(crate) fn first(&self, size: u64) -> &[Leaf] {
        &self.leaves[..usize::try_from(size).unwrap()]
    }

    pub(crate) fn statement(&self, size: u64) -> Checkpoint {
        Checkpoint {
            ledger: LedgerId(self.leaves[0].0),
            tree: TreeHead::of(self.first(size)),
        }
    }

    /// The checkpoint at a size, signed by the root.
    pub(crate) fn checkpoint(&self, size: u64) -> SignedCheckpoint {
        SignedCheckpoint::sign(self.statement(size), &root()).unwrap()
    }

    /// A checkpoint of one event, which is the second.
    pub(crate) fn false_first(&self) -> SignedCheckpoint {
        let tree = TreeHead::of(&self.leaves[1..2]);
        let ledger = self.statement(1).ledger;
        SignedCheckpoint::sign(Checkpoint { ledger, tree }, &root()).unwrap()
    }

    pub(crate) fn inclusion_at(
        &self,
        index: u64,
        size: u64,
        checkpoint: SignedCheckpoint,
    ) -> InclusionProof {
        let record = self.records[usize::try_from(index).unwrap()].clone();
        InclusionProof::new(record, Seq(index), self.first(size), checkpoint).unwrap()
    }

    /// The proof of an event as of the end.
    pub(crate) fn inclusion(&self, index: u64) -> InclusionProof {
        self.inclusion_at(index, self.size(), self.checkpoint(self.size()))
    }

    pub(crate) fn consistency(&self, old: u64, checkpoint: SignedCheckpoint) -> ConsistencyProof {
        let size = checkpoint.checkpoint().tree.size;
        ConsistencyProof::new(old, self.first(size), checkpoint).unwrap()
    }
}

/// A checkpoint with the cosignatures of witnesses, by number.
pub(crate) fn cosigned(mut checkpoint: SignedCheckpoint, numbers: &[u8]) -> SignedCheckpoint {
    for number in numbers {
        let line = checkpoint.cosign(&witness(*number), &witness_key(*number), COSIGNED);
        checkpoint.add(line);
    }
    checkpoint
}
