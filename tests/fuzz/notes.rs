//! What must hold of any bytes as a signed note, such as a checkpoint.

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
use handoff_ledger::key;
use handoff_ledger::merkle::Tree;
use handoff_ledger::note::{Note, NoteError, SignatureType, VerifierKey, to_base64};
use handoff_ledger::types::Leaf;
use std::collections::BTreeSet;

/// How a note is read.
pub type Parse = fn(&[u8]) -> Result<Note, NoteError>;

/// How many events the checkpoints of the seeds are of.
const SIZES: [usize; 4] = [1, 7, 20, LONGEST];
/// When the witness cosigns: 2026-01-06T00:00:00Z.
const COSIGNED: u64 = 1_767_657_600;

/// The checkpoints of a ledger, and who signed them.
pub struct Known {
    texts: Vec<String>,
    signed: BTreeSet<String>,
    /// Of the root, of Alice, and of a witness.
    keys: [VerifierKey; 3],
}

impl Known {
    /// The ledger that fuzzing starts from.
    pub fn new() -> Known {
        let leaves = Made::of(LONGEST).leaves();
        let texts: Vec<String> = SIZES.iter().map(|size| text(&leaves[..*size])).collect();
        let (origin, _) = texts[0].split_once('\n').expect("it has lines");
        let named = |who: Who, name: &str, signature_type| {
            let key = key::check(&who.key()).expect("it is fit");
            VerifierKey::new(name, signature_type, key).expect("it is a name")
        };
        Known {
            keys: [
                named(Who::Root, origin, SignatureType::Ed25519),
                named(Who::Alice, origin, SignatureType::Ed25519),
                named(Who::Carol, "witness.example/w", SignatureType::Cosignature),
            ],
            signed: texts.iter().cloned().collect(),
            texts,
        }
    }

    /// Notes by their names: signed by one key, by all, and by a witness alone.
    pub fn seeds(&self) -> Vec<(String, Vec<u8>)> {
        let [root, alice, witness] = &self.keys;
        let mut seeds = Vec::new();
        for (size, text) in SIZES.iter().zip(&self.texts) {
            let checkpoint: Checkpoint = text.parse().expect("it is a checkpoint");
            let by = |who: Who, key: &VerifierKey| {
                let signature = who.signing_key().sign_checkpoint(&checkpoint.text());
                key.line(None, &signature)
            };
            let cosigned = Who::Carol
                .signing_key()
                .cosign(COSIGNED, &checkpoint.text());
            let cosigned = witness.line(Some(COSIGNED), &cosigned);
            let one = Note::new(text.clone(), by(Who::Root, root));
            let mut all = one.clone();
            all.add(by(Who::Alice, alice));
            all.add(cosigned.clone());
            let alone = Note::new(text.clone(), cosigned);
            for (name, note) in [("one", one), ("all", all), ("witness", alone)] {
                seeds.push((format!("{name}-{size}"), note.to_string().into_bytes()));
            }
        }
        let mut cut = seeds[0].1.clone();
        cut.truncate(cut.len() - 9);
        seeds.push(("cut".to_owned(), cut));
        seeds
    }
}

/// The text of a checkpoint (C2SP tlog-checkpoint).
fn text(leaves: &[Leaf]) -> String {
    let mut tree = Tree::new();
    leaves.iter().for_each(|leaf| tree.add(*leaf));
    let root = to_base64(&tree.root().expect("it has a leaf").0);
    let (ledger, size) = (leaves[0], leaves.len());
    format!("handoff-ledger/{ledger}\n{size}\n{root}\n")
}

/// A note and a checkpoint have one spelling; what nobody signed is not taken for signed.
pub fn note(data: &[u8], known: &Known, parse: Parse) {
    let read = parse(data);
    assert_eq!(parse(data), read, "read twice");
    let Ok(note) = read else { return };
    assert_eq!(note.to_string().as_bytes(), data, "one spelling");
    let said: Option<Checkpoint> = note.text().parse().ok();
    let checkpoint = SignedCheckpoint::parse(note.to_string().as_bytes()).ok();
    assert_eq!(checkpoint.as_ref().map(|it| *it.checkpoint()), said);
    if let (Some(said), Some(checkpoint)) = (said, checkpoint) {
        assert_eq!(
            said.to_string(),
            note.text(),
            "one spelling of a checkpoint"
        );
        assert_eq!(checkpoint.note(), &note);
    }
    let signed = note.signed(&known.keys);
    assert_eq!(note.signed(&known.keys), signed, "looked at twice");
    if signed.is_ok_and(|signed| !signed.is_empty()) {
        let text = note.text();
        assert!(known.signed.contains(text), "nobody signed {text:?}");
    }
}
