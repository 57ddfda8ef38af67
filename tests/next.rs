//! What a failure, a verdict or a brief says to type next can be typed as it stands.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cli_support;

use cli_support::next::{check_text, commands, fault};
use cli_support::{Agent, Machine, code};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Every test that drives the program checks every `next` that it meets; what such a check must
/// catch is this.
#[test]
fn a_next_that_is_prose_or_no_command_is_found_out() {
    for wrong in [
        "handoff show 20, then: handoff promote api-up",
        "handoff axis a --class reachability -- cat x   then: handoff claim y --needs a -- cat x",
        "handoff axis a --class reachability -- cat x handoff claim y --needs a -- cat x",
        "handoff trust add KEY, with the root key as its owner gave it",
        "handoff --key ROOT with the same command",
        "handoff reverify, without that value",
        "handoff can x --sesion 3",
        "handoff frobnicate",
        "handoff can x && handoff frobnicate",
        "handoff show SEQ of the receipt",
        "handoff can 'x",
    ] {
        assert!(fault(wrong).is_some(), "{wrong}");
    }
    for right in [
        "handoff axis a --class CLASS -- ARGV && handoff claim x STATEMENT --needs a -- ARGV",
        "handoff session abandon N --reason WHY",
        "handoff --ledger 'a b.db' trust add KEY",
        "the same command with --ledger PATH",
    ] {
        assert_eq!(fault(right), None);
    }
}

#[test]
fn every_next_that_the_readme_shows_can_be_typed() {
    check_text(include_str!("../README.md"));
}

/// Every example of every help, as far as it is this program's and not the shell's.
#[test]
fn every_example_of_the_help_is_a_command() {
    fn examples(command: &clap::Command, found: &mut Vec<String>) {
        let text = command.get_after_help().map(ToString::to_string);
        let text = text.unwrap_or_default().replace("\\\n", " ");
        let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
        found.extend(
            lines
                .filter(|line| line.starts_with("handoff "))
                .map(str::to_owned),
        );
        command
            .get_subcommands()
            .for_each(|below| examples(below, found));
    }
    let mut found = Vec::new();
    examples(&handoff_ledger::cli::args::command(), &mut found);
    assert!(found.len() > 40, "{found:?}");
    for example in found {
        let typed = [" > ", " >> ", " | "]
            .iter()
            .fold(example.as_str(), |text, cut| {
                text.split(cut).next().unwrap()
            });
        assert_eq!(fault(typed), None, "{example}");
    }
}

/// Types a `next` as a person at a shell would.
fn typed(agent: &Agent, next: &str) -> i32 {
    let program = Path::new(env!("CARGO_BIN_EXE_handoff")).parent().unwrap();
    let mut path = program.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", next])
        .env_clear()
        .env("HOME", &agent.home)
        .env("PATH", path)
        .envs(agent.variables.iter().cloned())
        .current_dir(&agent.cwd);
    shell.output().unwrap().status.code().unwrap()
}

/// A machine on which an inherited claim is blocked by an axis that drifted.
fn drifted() -> (Machine, Agent) {
    let machine = Machine::new();
    let root = machine.root("");
    machine.write("it's here && there", "stage-1\n");
    root.open("first");
    root.ok("axis db.host --class reachability --holds-if 'one-of=stage-1,stage-2' --max-age 2h -- sh -c 'cat it*'");
    root.ok("claim safe 'It is safe' --needs db.host --expect 'value~^(stage|prod)-' -- sh -c 'cat it*there'");
    root.ok("flag up 'It is up' --because guess --needs db.host --expect value=prod-1 -- sh -c 'cat it*'");
    root.seal();
    machine.write("it's here && there", "prod-1\n");
    (machine, root)
}

#[test]
fn what_a_blocked_claim_says_to_type_is_typed_and_unblocks_it() {
    let (machine, root) = drifted();
    let resumed = root.ok("resume --agent second");
    let next = resumed["blocked"][0]["next"].as_str().unwrap().to_owned();
    assert_eq!(commands(&next).unwrap().len(), 2, "{next}");
    assert_eq!(root.no("can safe")["claims"][0]["next"], next.as_str());
    // It drifted for good: what held it has to be said anew.
    machine.write("it's here && there", "stage-2\n");
    assert_eq!(typed(&root, &next), 0, "{next}");
    assert_eq!(root.ok("can safe")["claims"][0]["admissible"], true);
    let records = root.run("log --json --kind axis.recorded").stdout;
    let newest: Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
    assert_eq!(newest["body"]["max_age_ms"], 7_200_000);
}

#[test]
fn what_follows_a_promotion_that_failed_is_typed_and_shows_its_receipt() {
    let (machine, root) = drifted();
    machine.write("it's here && there", "stage-2\n");
    root.ok("resume --agent second");
    let failed = root.no("promote up");
    let next = failed["error"]["next"].as_str().unwrap();
    let receipt = &failed["error"]["details"]["receipt"];
    assert_eq!(next, format!("handoff show {receipt}"));
    assert_eq!(typed(&root, next), 0);
}

#[test]
fn what_is_to_be_typed_next_is_of_the_ledger_and_by_the_key_that_were_typed() {
    let machine = Machine::new();
    let root = machine.root("");
    root.ok("key new --label ci");
    root.ok(&format!(
        "key authorize {} --label ci",
        root.ok("--key ci key show")["key"].as_str().unwrap()
    ));
    let before = machine.bytes();
    let made = root.ok("--ledger 'the other.db' init");
    let next = made["next"].as_str().unwrap().replace("NAME", "first");
    assert!(next.contains("'the other.db'"), "{next}");
    assert_eq!(typed(&root, &next), 0);
    for line in [
        "--ledger 'the other.db' seal",
        "seal --ledger 'the other.db'",
        "--ledger 'the other.db' promote nothing",
        "--ledger 'the other.db' can nothing",
        "--ledger 'the other.db' axis x --class reachability -- cat nothing",
        "--ledger 'the other.db' claim x 'It is' --needs y --expect value=1 -- cat four.txt",
    ] {
        let told = root.no(line);
        let next = match code_or_none(&told) {
            Some(_) => told["error"]["next"].clone(),
            None => told["claims"][0]["next"].clone(),
        };
        let next = next.as_str().unwrap().to_owned();
        let is_command = next.starts_with("handoff ");
        assert!(
            !is_command || next.contains("--ledger 'the other.db'"),
            "{line}: {next}"
        );
    }
    let brief = root.run("--ledger 'the other.db' brief").stdout;
    assert!(
        brief.contains("handoff --ledger 'the other.db' can ID"),
        "{brief}"
    );
    assert_eq!(machine.bytes(), before, "the ledger here was not meant");
    let told = root.ends(2, "--key ci ambient --none");
    assert_eq!(code(&told), "no_session");
    assert_eq!(
        told["error"]["next"],
        "handoff --key ci resume --agent NAME"
    );
    // What the environment names it names for the next command too.
    let mut elsewhere = root.clone();
    elsewhere.set("HANDOFF_LEDGER", "the other.db");
    let told = elsewhere.no("promote nothing");
    assert!(!told["error"]["next"].as_str().unwrap().contains("--ledger"));
}

fn code_or_none(document: &Value) -> Option<&str> {
    document["error"]["code"].as_str()
}
