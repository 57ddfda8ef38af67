//! The attacks of tests/attacks: a suite of its own, in Python, with a forger that shares no code with
//! the program. Here it is run in its short form against the program just built, and so are its
//! negative controls, which put wrong programs in the place of the real one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the lints know tests by their attribute, which helpers do not have"
)]

use std::path::PathBuf;
use std::process::{Command, Output};

/// Set where tools that a test needs must be there: then a missing one fails the test.
const REQUIRE_TOOLS: &str = "HANDOFF_REQUIRE_TOOLS";

fn python(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("python3").args(arguments).output()
}

/// Whether Python has what the forger signs with; says so loudly where it has not.
fn python_can_sign() -> bool {
    let asked = python(&[
        "-c",
        "import sys, sqlite3; assert sys.version_info >= (3, 10); \
         from cryptography.hazmat.primitives.asymmetric import ed25519",
    ]);
    if asked.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let missing = "python3 (3.10 or newer) with the package `cryptography` is missing";
    assert!(
        std::env::var_os(REQUIRE_TOOLS).is_none_or(|value| value != "1"),
        "{missing}, and {REQUIRE_TOOLS}=1 demands it"
    );
    eprintln!("SKIPPED: {missing}: no attack was run");
    false
}

fn run(arguments: &[&str]) {
    if !python_can_sign() {
        return;
    }
    let suite = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/attacks/run.py");
    let mut all = vec!["-B", suite.to_str().unwrap()];
    all.extend(arguments);
    let output = python(&all).unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}");
    assert!(
        output.status.success(),
        "{told}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tally = told.lines().last().unwrap_or_default();
    assert!(tally.ends_with(" pass"), "no tally: {tally:?}");
}

#[test]
fn every_attack_is_answered_as_it_must_be() {
    let program = env!("CARGO_BIN_EXE_handoff");
    run(&["--short", "--deadline", "60", "--handoff", program]);
}

#[test]
fn a_program_that_answers_wrongly_is_found_out() {
    run(&["--control", "--deadline", "60"]);
}
