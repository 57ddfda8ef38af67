//! What must hold of any bytes as a proof that stands alone.
//!
//! What a proof's hashes lead to is found here from the definitions of RFC 9162 section 2.1.1, top
//! down; the product climbs from the leaf.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a property that does not hold ends the run"
)]

use crate::support::Who;
use crate::support::ledger::{LONGEST, Made};
use handoff_ledger::checkpoint::{Checkpoint, SignedCheckpoint};
use handoff_ledger::hash;
use handoff_ledger::key;
use handoff_ledger::merkle::TreeHead;
use handoff_ledger::merkle_proof::{self, ProofFault};
use handoff_ledger::note::{SignatureType, VerifierKey};
use handoff_ledger::proof::{ConsistencyProof, InclusionProof, Proof};
use handoff_ledger::proof_report::{self, ProofReport, Trusted};
use handoff_ledger::types::{Digest, Leaf, LedgerId, Seq};
use handoff_ledger::verify::Verification;

/// How a proof that an event is in a ledger is judged.
pub type OfInclusion = fn(&InclusionProof, &Trusted) -> ProofReport;

/// How many events the checkpoints of the seeds are of.
const SIZES: [u64; 4] = [1, 7, 20, 200];
/// When the witness cosigns: 2026-01-06T00:00:00Z.
const COSIGNED: u64 = 1_767_657_600;

/// A ledger whose root signed a checkpoint at each of [`SIZES`], which a witness cosigned.
pub struct Known {
    records: Vec<Vec<u8>>,
    leaves: Vec<Leaf>,
    witness: VerifierKey,
    /// Those who trust nobody, the root, and the witness.
    trusted: [Trusted; 3],
}

impl Known {
    /// The ledger that fuzzing starts from.
    pub fn new() -> Known {
        let made = Made::of(LONGEST);
        let key = key::check(&Who::Carol.key()).expect("it is fit");
        let witness = VerifierKey::new("witness.example/w", SignatureType::Cosignature, key);
        let witness = witness.expect("it is a name");
        let root = Trusted {
            keys: vec![Who::Root.key()],
            witnesses: Vec::new(),
        };
        let seen = Trusted {
            keys: Vec::new(),
            witnesses: vec![witness.clone()],
        };
        Known {
            leaves: made.leaves(),
            records: made.records,
            witness,
            trusted: [Trusted::default(), root, seen],
        }
    }

    fn first(&self, size: u64) -> &[Leaf] {
        &self.leaves[..usize::try_from(size).unwrap()]
    }

    fn statement(&self, size: u64) -> Checkpoint {
        Checkpoint {
            ledger: LedgerId(self.leaves[0].0),
            tree: TreeHead::of(self.first(size)),
        }
    }

    fn checkpoint(&self, statement: Checkpoint) -> SignedCheckpoint {
        let signed = SignedCheckpoint::sign(statement, &Who::Root.signing_key());
        let mut signed = signed.expect("it is a checkpoint");
        let line = signed.cosign(&self.witness, &Who::Carol.signing_key(), COSIGNED);
        signed.add(line);
        signed
    }

    /// Proofs by their names: of the first, a middle and the last event, and from half the size.
    pub fn seeds(&self) -> Vec<(String, Vec<u8>)> {
        let mut seeds = Vec::new();
        for size in SIZES {
            let leaves = self.first(size);
            let checkpoint = self.checkpoint(self.statement(size));
            for index in [0, size / 2, size - 1] {
                let record = self.records[usize::try_from(index).unwrap()].clone();
                let proof = InclusionProof::new(record, Seq(index), leaves, checkpoint.clone());
                let proof = proof.expect("it is among them").to_string();
                seeds.push((format!("inclusion-{index}-{size}"), proof.into_bytes()));
            }
            let old = size.div_ceil(2);
            let proof = ConsistencyProof::new(old, leaves, checkpoint);
            let proof = proof.expect("it is a beginning").to_string();
            seeds.push((format!("consistency-{old}-{size}"), proof.into_bytes()));
        }
        seeds
    }

    fn assert_signed(&self, checkpoint: &SignedCheckpoint) {
        let said = checkpoint.checkpoint();
        let signed = SIZES.iter().any(|size| self.statement(*size) == *said);
        assert!(signed, "nobody signed {said}");
    }

    fn inclusion(&self, proof: &InclusionProof, judge: OfInclusion) {
        let shown = included(proof);
        assert_eq!(proof.included(), shown, "another way to the root");
        let leaf = hash::leaf(&proof.record);
        for trusted in &self.trusted {
            let report = judge(proof, trusted);
            assert_same(&judge(proof, trusted), &report);
            if report.result == Verification::Tampered {
                continue;
            }
            assert_eq!(shown, Ok(()), "accepted: {report:?}");
            let event = report.event.expect("what is accepted is an event");
            assert_eq!((event.event().seq, event.leaf()), (proof.index, leaf));
            if report.result == Verification::Verified {
                self.assert_signed(&proof.checkpoint);
                let index = proof.index.0;
                let leaves = self.first(proof.checkpoint.checkpoint().tree.size);
                assert_eq!(
                    leaves[usize::try_from(index).unwrap()],
                    leaf,
                    "another event"
                );
                let path = merkle_proof::inclusion(leaves, index);
                assert_eq!(path.as_ref(), Some(&proof.path), "one proof");
            }
        }
    }

    fn consistency(&self, proof: &ConsistencyProof) {
        let known = 1..=u64::try_from(LONGEST).unwrap();
        let old = Some(proof.old).filter(|old| known.contains(old));
        let statement = self.statement(old.unwrap_or(1));
        let older = self.checkpoint(statement);
        let shown = continues(proof, &statement);
        let newer = proof.checkpoint.checkpoint();
        if old.is_some() {
            let found = merkle_proof::check_consistency(&statement.tree, &newer.tree, &proof.path);
            assert_eq!(found, shown, "another way to the roots");
        }
        for trusted in &self.trusted {
            let report = proof_report::of_consistency(proof, &older, trusted);
            let again = proof_report::of_consistency(proof, &older, trusted);
            assert_same(&again, &report);
            if report.result == Verification::Tampered {
                continue;
            }
            assert_eq!(shown, Ok(()), "accepted: {report:?}");
            assert_eq!((old, newer.ledger), (Some(proof.old), statement.ledger));
            if report.result == Verification::Verified {
                self.assert_signed(&proof.checkpoint);
                let path = merkle_proof::consistency(self.first(newer.tree.size), proof.old);
                assert_eq!(path.as_ref(), Some(&proof.path), "one proof");
            }
        }
        self.assert_fork_is_told(proof, statement);
    }

    /// The root signed another history of the older size as well.
    fn assert_fork_is_told(&self, proof: &ConsistencyProof, mut statement: Checkpoint) {
        if statement.tree.size == 1 {
            return;
        }
        statement.tree.root = hash::bytes(b"another history");
        let forked = self.checkpoint(statement);
        for trusted in &self.trusted {
            let report = proof_report::of_consistency(proof, &forked, trusted);
            assert_ne!(report.result, Verification::Verified, "a fork");
        }
    }
}

/// A proof has one spelling; it is accepted if and only if its hashes lead from what it is about to
/// what was signed; and what somebody trusted signed is true of the ledger's own leaves.
pub fn proof(data: &[u8], known: &Known, judge: OfInclusion) {
    let read = Proof::parse(data);
    assert_eq!(Proof::parse(data), read, "read twice");
    let Ok(proof) = read else { return };
    assert_eq!(proof.to_string().as_bytes(), data, "one spelling");
    match &proof {
        Proof::Inclusion(proof) => known.inclusion(proof, judge),
        Proof::Consistency(proof) => known.consistency(proof),
    }
}

fn assert_same(again: &ProofReport, report: &ProofReport) {
    let told = |report: &ProofReport| {
        let leaf = report.event.as_ref().map(|event| event.leaf());
        (
            report.result,
            report.faults.clone(),
            report.vouched.clone(),
            leaf,
        )
    };
    assert_eq!(told(again), told(report), "judged twice");
    assert_eq!(again.not_proven, report.not_proven, "judged twice");
}

fn same(expected: Digest, found: Digest) -> Result<(), ProofFault> {
    match expected == found {
        true => Ok(()),
        false => Err(ProofFault::Root { expected, found }),
    }
}

/// Whether the record is shown to be the checkpoint's event of that position.
fn included(proof: &InclusionProof) -> Result<(), ProofFault> {
    let Checkpoint { ledger, tree } = *proof.checkpoint.checkpoint();
    let leaf = Digest(hash::leaf(&proof.record).0);
    let (index, size) = (proof.index.0, tree.size);
    if index == 0 {
        same(Digest(ledger.0), leaf)?;
    }
    if index >= size {
        return Err(ProofFault::Index { index, size });
    }
    let found = proof.path.len();
    let root = root_with(leaf, index, size, &proof.path);
    same(tree.root, root.ok_or(ProofFault::Length { found })?)
}

/// Whether the proof's tree is shown to continue that of the older checkpoint.
fn continues(proof: &ConsistencyProof, older: &Checkpoint) -> Result<(), ProofFault> {
    let (old, new) = (older.tree, proof.checkpoint.checkpoint().tree);
    if old.size > new.size {
        let (old, new) = (old.size, new.size);
        return Err(ProofFault::Sizes { old, new });
    }
    let found = proof.path.len();
    let roots = roots_with(old.root, old.size, new.size, &proof.path, Whole::Yes);
    let (old_root, new_root) = roots.ok_or(ProofFault::Length { found })?;
    if old.size == new.size {
        return same(new.root, old.root);
    }
    same(old.root, old_root)?;
    same(new.root, new_root)
}

/// Leaves left of the split of a tree of more than one: the largest power of two below its size.
fn left_of(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// The root of a tree in which `leaf` stands at `index`, if the path is as long as it must be.
fn root_with(leaf: Digest, index: u64, size: u64, path: &[Digest]) -> Option<Digest> {
    if size == 1 {
        return path.is_empty().then_some(leaf);
    }
    let (sibling, below) = path.split_last()?;
    let left = left_of(size);
    Some(match index.checked_sub(left) {
        None => hash::node(&root_with(leaf, index, left, below)?, sibling),
        Some(index) => hash::node(sibling, &root_with(leaf, index, size - left, below)?),
    })
}

/// Whether a subtree is the whole of the older tree, whose root is known.
#[derive(Clone, Copy)]
enum Whole {
    Yes,
    No,
}

/// The roots of the first `old` leaves and of all, if the path is as long as it must be.
fn roots_with(
    root: Digest,
    old: u64,
    size: u64,
    path: &[Digest],
    whole: Whole,
) -> Option<(Digest, Digest)> {
    if old == size {
        return match (whole, path) {
            (Whole::Yes, []) => Some((root, root)),
            (Whole::No, [hash]) => Some((*hash, *hash)),
            (Whole::Yes | Whole::No, _) => None,
        };
    }
    let (sibling, below) = path.split_last()?;
    let left = left_of(size);
    Some(match old.checked_sub(left) {
        None | Some(0) => {
            let (older, newer) = roots_with(root, old, left, below, whole)?;
            (older, hash::node(&newer, sibling))
        }
        Some(old) => {
            let (older, newer) = roots_with(root, old, size - left, below, Whole::No)?;
            (hash::node(sibling, &older), hash::node(sibling, &newer))
        }
    })
}
