//! What is given wrongly is told as what it is, with a step that its reader can take.

use super::circuit::{into_file, ledger};
use super::cli_support::Machine;
use super::made::Made;
use handoff_ledger::checkpoint::SignedCheckpoint;
use handoff_ledger::proof::{ConsistencyProof, PROOF_BYTES_MAX};
use std::io::Write as _;

#[test]
fn what_a_reader_of_proofs_gives_wrongly_is_told_as_what_it_is() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let mut reader = machine.agent("reader");
    reader.home = machine.path("no-such-home");
    into_file(&root, "prove 1", "proof");
    into_file(&root, "prove --from 2", "grown");
    // The neutral point: every signature would be its own.
    let small = format!("01{}", "00".repeat(31));
    let told = reader.ends(2, &format!("verify-proof proof --trust {small}"));
    assert_eq!(told["error"]["code"], "key_small_order");

    machine.write(
        "large",
        &"x".repeat(usize::try_from(PROOF_BYTES_MAX).unwrap() + 1),
    );
    let told = reader.ends(4, "verify-proof large");
    assert_eq!(told["result"], "tampered");
    assert_eq!(told["faults"][0]["kind"], "proof");

    let told = reader.ends(5, "verify-proof grown --old proof");
    let next = told["error"]["next"].as_str().unwrap();
    assert!(next.contains("--old FILE"), "{next}");
}

#[test]
fn a_proof_that_a_ledger_grew_is_made_of_the_leaves_of_its_checkpoint_alone() {
    let made = Made::of("verified-handoff");
    let size = made.size();
    let new = |leaves| ConsistencyProof::new(2, leaves, made.checkpoint(size));
    assert!(new(made.first(size)).is_some());
    assert_eq!(new(made.first(size - 1)), None);
    let mut other = made.leaves.clone();
    other[4].0[0] ^= 1;
    assert_eq!(new(&other), None);
}

/// The lines that the help shows, as a shell runs them.
#[test]
fn the_example_of_a_witness_makes_a_checkpoint_with_a_cosignature() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let help = root.run("help witness add").stdout;
    let (_, example) = help.split_once("Example:\n").unwrap();
    let lines = example.lines().map(str::trim);
    for line in lines.take_while(|line| line.starts_with("handoff ")) {
        let line = line.strip_prefix("handoff ").unwrap();
        let (command, target) = match line.split_once(" >") {
            Some((command, target)) => (command, Some(target.trim_start_matches(['>', ' ']))),
            None => (line, None),
        };
        let ran = root.run(command);
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
        if let Some(target) = target {
            let mut options = std::fs::OpenOptions::new();
            let file = options.append(true).create(true);
            let mut file = file.open(root.cwd.join(target)).unwrap();
            file.write_all(ran.stdout.as_bytes()).unwrap();
        }
    }
    let text = std::fs::read_to_string(root.cwd.join("cp")).unwrap();
    SignedCheckpoint::parse(text.as_bytes()).unwrap();
    assert!(text.contains("handoff-witness/"), "{text}");
}
