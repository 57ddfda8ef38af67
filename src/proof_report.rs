//! What a proof shows to those who trust certain keys, and what it does not.

use crate::chain::VerifiedEvent;
use crate::checkpoint::{SignedCheckpoint, Vouched};
use crate::merkle_proof;
use crate::note::VerifierKey;
use crate::proof::{ConsistencyProof, InclusionProof};
use crate::types::{PublicKey, Seq};
use crate::verify_report::{Fault, Verification};

/// Whom the reader trusts.
#[derive(Debug, Clone, Default)]
pub struct Trusted {
    /// Keys that are believed to sign checkpoints of the ledger; if there are any, one of them must
    /// have signed.
    pub keys: Vec<PublicKey>,
    /// Witnesses, all of which must have cosigned the proof's checkpoint.
    pub witnesses: Vec<VerifierKey>,
}

/// What a proof was found to show.
#[derive(Debug, Clone)]
pub struct ProofReport {
    /// `verified`, `self_consistent` if nobody trusted signed the checkpoint, or `tampered`.
    pub result: Verification,
    /// Who is known to have signed the proof's checkpoint.
    pub vouched: Vouched,
    /// The event, if it is a proof of one and its record is one.
    pub event: Option<VerifiedEvent>,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// What is not proven all the same.
    pub not_proven: Vec<String>,
}

/// Checks a proof that an event is in a ledger.
pub fn of_inclusion(proof: &InclusionProof, trusted: &Trusted) -> ProofReport {
    let mut faults = Vec::new();
    let event = match proof.event() {
        Ok(event) => Some(event),
        Err(found) => {
            faults.extend(found.into_iter().map(|fault| Fault {
                seq: Some(fault.seq),
                kind: fault.kind.name(),
                detail: fault.kind.to_string(),
            }));
            None
        }
    };
    if let Err(error) = proof.included() {
        faults.push(fault(Some(proof.index), "inclusion", error.to_string()));
    }
    // Without anybody trusted, the event's own signer is a key whose signature can be checked.
    let signer = event.as_ref().map(|event| event.event().key);
    let vouched = vouched(&proof.checkpoint, signer, trusted, &mut faults);
    let missing = vouched.missing(&trusted.witnesses);
    faults.extend(missing.map(|detail| fault(None, "witness", detail)));
    let trust = trust_in(&vouched, trusted);
    let size = proof.checkpoint.checkpoint().tree.size;
    let mut not_proven = of_trust(trust, &vouched);
    not_proven.extend([
        "that the event's signer was authorised then, and that the rules permit the event: that \
         takes the whole ledger"
            .to_owned(),
        format!("what came after {size} events: a later one may withdraw what this one says"),
    ]);
    not_proven.extend(OF_EVENTS.map(str::to_owned));
    ProofReport {
        result: result(&faults, trust),
        vouched,
        event,
        faults,
        not_proven,
    }
}

/// Checks a proof that a ledger continues the older checkpoint.
pub fn of_consistency(
    proof: &ConsistencyProof,
    old: &SignedCheckpoint,
    trusted: &Trusted,
) -> ProofReport {
    let mut faults = Vec::new();
    let (older, newer) = (old.checkpoint(), proof.checkpoint.checkpoint());
    if older.ledger != newer.ledger || older.tree.size != proof.old {
        let detail = format!(
            "expected a proof from {} events of ledger {}, found one from {} of {}",
            older.tree.size, older.ledger, proof.old, newer.ledger
        );
        faults.push(fault(None, "consistency", detail));
    } else if let Err(error) =
        merkle_proof::check_consistency(&older.tree, &newer.tree, &proof.path)
    {
        faults.push(fault(None, "consistency", error.to_string()));
    }
    let vouched_old = vouched(old, None, trusted, &mut faults);
    let vouched = vouched(&proof.checkpoint, None, trusted, &mut faults);
    let missing = vouched.missing(&trusted.witnesses);
    faults.extend(missing.map(|detail| fault(None, "witness", detail)));
    let trust = match (trust_in(&vouched, trusted), trust_in(&vouched_old, trusted)) {
        (Trust::Key | Trust::WitnessOnly, Trust::Nobody) => Trust::OldUnsigned,
        (newer, _) => newer,
    };
    let mut not_proven = of_trust(trust, &vouched);
    not_proven.extend([
        "what the events are, and that the rules permit them: that takes the whole ledger"
            .to_owned(),
        format!("what came after {} events", newer.tree.size),
    ]);
    not_proven.extend(OF_EVENTS.map(str::to_owned));
    ProofReport {
        result: result(&faults, trust),
        vouched,
        event: None,
        faults,
        not_proven,
    }
}

/// What no proof shows of events.
const OF_EVENTS: [&str; 2] = [
    "that what was signed was true: a signer can lie at the moment of writing",
    "when it happened: times are the signers' own clocks",
];

/// Who says so, of those trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// A key that is believed to speak for the ledger.
    Key,
    /// No key is trusted, but a witness is, which saw the checkpoint.
    WitnessOnly,
    /// Somebody signed the newer checkpoint, and nobody the older.
    OldUnsigned,
    Nobody,
}

/// Who signed a checkpoint, of those trusted and one more key; a wrong signature is a fault.
fn vouched(
    checkpoint: &SignedCheckpoint,
    signer: Option<PublicKey>,
    trusted: &Trusted,
    faults: &mut Vec<Fault>,
) -> Vouched {
    let keys = trusted.keys.iter().copied();
    let others = signer.filter(|signer| !trusted.keys.contains(signer));
    match checkpoint.vouched(keys.chain(others), &trusted.witnesses) {
        Ok(vouched) => vouched,
        Err(error) => {
            faults.push(fault(None, "checkpoint", error.to_string()));
            Vouched::default()
        }
    }
}

/// Of keys that are trusted one must have signed, whatever witnesses say; without any, a witness.
fn trust_in(vouched: &Vouched, trusted: &Trusted) -> Trust {
    match trusted.keys.is_empty() {
        true if vouched.witnesses.is_empty() => Trust::Nobody,
        true => Trust::WitnessOnly,
        false if vouched.keys.iter().any(|key| trusted.keys.contains(key)) => Trust::Key,
        false => Trust::Nobody,
    }
}

fn of_trust(trust: Trust, vouched: &Vouched) -> Vec<String> {
    let whose = match trust {
        Trust::Key => None,
        Trust::WitnessOnly => Some(
            "whose ledger it is: a witness says that it only grew, and not who keeps it; no key \
             was named to be trusted",
        ),
        Trust::OldUnsigned => Some(
            "that the older checkpoint was ever the ledger's: nobody who is trusted signed that one",
        ),
        Trust::Nobody => Some(
            "whose ledger it is: no key that is trusted signed the checkpoint, and anyone can make \
             a ledger",
        ),
    };
    let authority = "that the key which signed the checkpoint might speak for this ledger then: \
                     that takes the whole ledger";
    let others = match vouched.witnesses.is_empty() {
        true => {
            "that others are shown the same ledger: no witness that was named cosigned the \
             checkpoint"
        }
        false => "that no other witness is shown another ledger",
    };
    let told = whose.into_iter().chain([authority, others]);
    told.map(str::to_owned).collect()
}

fn result(faults: &[Fault], trust: Trust) -> Verification {
    match (faults.is_empty(), trust) {
        (false, _) => Verification::Tampered,
        (true, Trust::Nobody | Trust::OldUnsigned) => Verification::SelfConsistent,
        (true, Trust::Key | Trust::WitnessOnly) => Verification::Verified,
    }
}

fn fault(seq: Option<Seq>, kind: &'static str, detail: String) -> Fault {
    Fault { seq, kind, detail }
}
