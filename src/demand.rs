//! A head that somebody outside wrote down, held to the ledger that is being verified.

use crate::checkpoint::{Expected, SignedCheckpoint, Vouched};
use crate::merkle::Tree;
use crate::note::VerifierKey;
use crate::state::State;
use crate::types::{Digest, HeadLine, Leaf, LedgerId, PublicKey, Seq};
use crate::verify_report::{By, Fault};

/// What was demanded, and what the ledger has shown of it so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demand {
    expected: Option<Expected>,
    witnesses: Vec<VerifierKey>,
    leaf: Option<Leaf>,
    reached: Option<Reached>,
}

/// The ledger at the size of a checkpoint.
#[derive(Debug, Clone)]
struct Reached {
    root: Digest,
    /// The keys that might write then.
    keys: Vec<PublicKey>,
}

impl Demand {
    pub(crate) fn new(expected: Option<Expected>, witnesses: Vec<VerifierKey>) -> Demand {
        Demand {
            expected,
            witnesses,
            ..Demand::default()
        }
    }

    /// The position that the end is demanded to have reached.
    pub(crate) fn seq(&self) -> Option<Seq> {
        self.expected.as_ref().map(seq_of)
    }

    /// By what the end is known, if the demand is met.
    pub(crate) fn by(&self) -> By {
        match self.witnesses.is_empty() {
            true => By::Expect,
            false => By::Witness,
        }
    }

    /// Takes in the leaf of a record, intact or not.
    pub(crate) fn record(&mut self, seq: Seq, leaf: Leaf) {
        if self.seq() == Some(seq) {
            self.leaf = Some(leaf);
        }
    }

    /// Takes in the state just after an event of the intact prefix.
    pub(crate) fn event(&mut self, seq: Seq, tree: &Tree, state: &State) {
        if self.seq() != Some(seq) || !matches!(self.expected, Some(Expected::Checkpoint(_))) {
            return;
        }
        let keys = state.keys().keys().filter(|key| state.may_write(key));
        self.reached = tree.root().map(|root| Reached {
            root,
            keys: keys.copied().collect(),
        });
    }

    /// The ledger at the size of the checkpoint, for [`Demand::recall`]: the root, then the keys
    /// that might write, 32 bytes each.
    pub(crate) fn reached(&self) -> Option<Vec<u8>> {
        let reached = self.reached.as_ref()?;
        let keys = reached.keys.iter().map(|key| key.0);
        let all: Vec<[u8; 32]> = std::iter::once(reached.root.0).chain(keys).collect();
        Some(all.concat())
    }

    /// Takes in what [`Demand::reached`] gave of the same ledger at this size; whether it is that.
    pub(crate) fn recall(&mut self, bytes: &[u8]) -> bool {
        let (all, rest) = bytes.as_chunks::<32>();
        let Some((root, keys)) = all.split_first().filter(|_| rest.is_empty()) else {
            return false;
        };
        self.reached = Some(Reached {
            root: Digest(*root),
            keys: keys.iter().map(|key| PublicKey(*key)).collect(),
        });
        true
    }

    /// Why the demand is not met by a ledger that begins with `first`.
    pub(crate) fn faults(&self, first: Option<Leaf>) -> Vec<Fault> {
        let ledger = first.map(|leaf| LedgerId(leaf.0));
        match &self.expected {
            None => Vec::new(),
            Some(Expected::Head(line)) => self.head_fault(line, ledger).into_iter().collect(),
            Some(Expected::Checkpoint(signed)) => match self.checkpoint_fault(signed, ledger) {
                Some(fault) => vec![fault],
                None => self.signature_faults(signed),
            },
        }
    }

    fn head_fault(&self, expected: &HeadLine, ledger: Option<LedgerId>) -> Option<Fault> {
        let ledger = ledger.map(|ledger| ledger.short());
        if ledger.as_ref() == Some(&expected.ledger) && self.leaf == Some(expected.leaf) {
            return None;
        }
        let found = match (ledger, self.leaf) {
            (None, _) => "nothing".to_owned(),
            (Some(ledger), None) => format!("ledger {ledger} without that event"),
            (Some(ledger), Some(leaf)) => {
                let seq = expected.seq;
                HeadLine { ledger, seq, leaf }.to_string()
            }
        };
        let detail = format!("expected {expected}, found {found}");
        Some(fault(expected.seq, "expect", detail))
    }

    fn checkpoint_fault(
        &self,
        signed: &SignedCheckpoint,
        ledger: Option<LedgerId>,
    ) -> Option<Fault> {
        let expected = signed.checkpoint();
        let (size, root) = (expected.tree.size, expected.tree.root);
        let found = match (ledger, &self.reached) {
            (None, _) => "nothing".to_owned(),
            (Some(ledger), _) if ledger != expected.ledger => format!("ledger {ledger}"),
            (Some(_), None) => "fewer intact ones".to_owned(),
            (Some(_), Some(reached)) if reached.root != root => format!("root {}", reached.root),
            (Some(_), Some(_)) => return None,
        };
        let ledger = expected.ledger;
        let detail =
            format!("expected {size} events of ledger {ledger}, root {root}; found {found}");
        Some(fault(last_of(signed), "expect", detail))
    }

    /// The ledger is as the checkpoint says; it counts only if the right ones signed it.
    fn signature_faults(&self, signed: &SignedCheckpoint) -> Vec<Fault> {
        let seq = last_of(signed);
        let keys = self.reached.iter().flat_map(|reached| reached.keys.clone());
        let vouched = match signed.vouched(keys, &self.witnesses) {
            Ok(vouched) => vouched,
            Err(error) => return vec![fault(seq, "checkpoint", error.to_string())],
        };
        if vouched == Vouched::default() {
            let detail = "expected a signature by a key that might write at that size, or by a \
                          --witness; found none";
            return vec![fault(seq, "checkpoint", detail.to_owned())];
        }
        let missing = vouched.missing(&self.witnesses);
        missing
            .map(|detail| fault(seq, "witness", detail))
            .collect()
    }
}

/// The last event that an expected head speaks of.
fn seq_of(expected: &Expected) -> Seq {
    match expected {
        Expected::Head(line) => line.seq,
        Expected::Checkpoint(signed) => last_of(signed),
    }
}

fn last_of(signed: &SignedCheckpoint) -> Seq {
    Seq(signed.checkpoint().tree.size.saturating_sub(1))
}

fn fault(seq: Seq, kind: &'static str, detail: String) -> Fault {
    Fault {
        seq: Some(seq),
        kind,
        detail,
    }
}
