//! A proof that stands alone.
#![no_main]

mod broken;
#[path = "../proofs.rs"]
mod proofs;
#[path = "../../support/mod.rs"]
mod support;

use broken::BROKEN;
use handoff_ledger::proof::InclusionProof;
use handoff_ledger::proof_report::{self, ProofReport, Trusted};
use handoff_ledger::verify::Verification;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use std::sync::LazyLock;

static KNOWN: LazyLock<proofs::Known> = LazyLock::new(proofs::Known::new);

fn judge(proof: &InclusionProof, trusted: &Trusted) -> ProofReport {
    let report = proof_report::of_inclusion(proof, trusted);
    let mut shorter = proof.clone();
    if *BROKEN && report.result == Verification::Tampered && shorter.path.pop().is_some() {
        // A hash too many is forgiven.
        return proof_report::of_inclusion(&shorter, trusted);
    }
    report
}

fuzz_target!(|data: &[u8]| proofs::proof(data, &KNOWN, judge));

// A proof is made of lines: sometimes one is repeated elsewhere, left out, or put for another.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut lines: Vec<&[u8]> = data[..size].split_inclusive(|it| *it == b'\n').collect();
    let mut number = usize::try_from(seed).unwrap_or_default();
    let mut choose = |among: usize| {
        let chosen = number % among;
        number /= among;
        chosen
    };
    let way = choose(8);
    if way > 2 || lines.is_empty() {
        return fuzzer_mutate(data, size, max_size);
    }
    let (from, to) = (choose(lines.len()), choose(lines.len()));
    match way {
        0 => lines.insert(to, lines[from]),
        1 => drop(lines.remove(from)),
        _ => lines[to] = lines[from],
    }
    let mut text = lines.concat();
    text.truncate(max_size);
    data[..text.len()].copy_from_slice(&text);
    text.len()
});
