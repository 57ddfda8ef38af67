//! What a proof does not show, for each of those whom its reader may trust.

use super::made::{Made, alice, cosigned, root, witness};
use handoff_ledger::checkpoint::SignedCheckpoint;
use handoff_ledger::proof_report::{self, ProofReport, Trusted};
use handoff_ledger::verify::Verification;

const AUTHORITY: &str = "that the key which signed the checkpoint might speak";
const WHOSE: &str = "whose ledger it is";
const UNSIGNED: &str = "no key that is trusted signed";
const OLDER: &str = "that the older checkpoint was ever";
const SAME: &str = "that others are shown the same ledger";
const OTHER: &str = "that no other witness is shown another";
/// Told whoever is trusted.
const ALWAYS: [&str; 4] = [
    AUTHORITY,
    "what came after",
    "that what was signed was true",
    "when",
];

fn by_root(number: Option<u8>) -> Trusted {
    Trusted {
        keys: vec![root().public()],
        witnesses: number.map(witness).into_iter().collect(),
    }
}

fn by_witness(number: u8) -> Trusted {
    Trusted {
        keys: Vec::new(),
        witnesses: vec![witness(number)],
    }
}

/// Checks the result, and which of the sentences that depend on it are told.
fn tells(report: &ProofReport, result: Verification, told: &[&str]) {
    assert_eq!(report.result, result, "{:?}", report.faults);
    let has = |start: &str| report.not_proven.iter().any(|it| it.contains(start));
    for always in ALWAYS {
        assert!(has(always), "{always}: {:?}", report.not_proven);
    }
    for sometimes in [WHOSE, UNSIGNED, OLDER, SAME, OTHER] {
        let expected = told.contains(&sometimes);
        assert_eq!(
            has(sometimes),
            expected,
            "{sometimes}: {:?}",
            report.not_proven
        );
    }
}

#[test]
fn what_an_inclusion_does_not_show_depends_on_who_is_trusted() {
    let made = Made::of("verified-handoff");
    let seen = cosigned(made.checkpoint(made.size()), &[1]);
    let proof = made.inclusion_at(5, made.size(), seen);
    let of = |trusted: &Trusted| proof_report::of_inclusion(&proof, trusted);
    tells(&of(&by_root(None)), Verification::Verified, &[SAME]);
    tells(&of(&by_root(Some(1))), Verification::Verified, &[OTHER]);
    // A witness sees numbers and hashes: that it cosigned says nothing of whose they are.
    tells(&of(&by_witness(1)), Verification::Verified, &[WHOSE, OTHER]);
    let nobody = of(&Trusted::default());
    tells(
        &nobody,
        Verification::SelfConsistent,
        &[WHOSE, UNSIGNED, SAME],
    );
}

#[test]
fn what_a_consistency_does_not_show_depends_on_who_is_trusted() {
    let made = Made::of("verified-handoff");
    let size = made.size();
    let proof = made.consistency(6, cosigned(made.checkpoint(size), &[1]));
    let by_alice = SignedCheckpoint::sign(made.statement(6), &alice()).unwrap();
    let signed = made.checkpoint(6);
    let seen = cosigned(made.checkpoint(6), &[1]);
    let of = |old: &SignedCheckpoint, trusted: &Trusted| {
        proof_report::of_consistency(&proof, old, trusted)
    };
    tells(
        &of(&signed, &by_root(None)),
        Verification::Verified,
        &[SAME],
    );
    tells(
        &of(&seen, &by_witness(1)),
        Verification::Verified,
        &[WHOSE, OTHER],
    );
    // The trusted key did sign the newer one: that it did not is not to be said.
    let older = of(&by_alice, &by_root(None));
    tells(&older, Verification::SelfConsistent, &[OLDER, SAME]);
    let nobody = of(&signed, &Trusted::default());
    tells(
        &nobody,
        Verification::SelfConsistent,
        &[WHOSE, UNSIGNED, SAME],
    );
}
