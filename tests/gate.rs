//! The gate: a command runs only if what it relies on may be acted on, looked at just before.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

mod cli_support;

use cli_support::{Agent, Machine, next, send, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// An open session that inherits `four` (which needs `a`, the content of `four.txt`) and `derived`,
/// which needs nothing but follows from it.
fn successor(machine: &Machine) -> Agent {
    let root = machine.root("");
    root.open("first");
    root.ok("axis a --class reachability -- cat four.txt");
    root.ok("claim four 'it is four' --needs a --expect value=4 -- cat four.txt");
    root.ok(
        "claim derived 'so is this' --environment-independent arithmetic --from four \
         --expect value=5 -- cat five.txt",
    );
    root.seal();
    let session = root.ok("resume --agent second")["session"]
        .as_u64()
        .unwrap();
    root.of(session)
}

fn report(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn head(agent: &Agent) -> u64 {
    agent.ok("head")["head"]["seq"].as_u64().unwrap()
}

/// The one document on standard error of a gate that did not run its command.
fn not_run(agent: &Agent, line: &str) -> Value {
    let ran = agent.run(&format!("--json {line}"));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (125, ""),
        "{line}: {ran:?}"
    );
    assert_eq!(ran.stderr.lines().count(), 1, "{line}: {ran:?}");
    let document: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(document["exit"], 125, "{document}");
    next::check_document(&document);
    document
}

#[test]
fn streams_and_exit_are_the_commands_own() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let mut child = agent
        .command("gate four derived -- sh -c 'cat; echo told >&2; exit 7'")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let given = b"\x00\xff bytes\n";
    child.stdin.take().unwrap().write_all(given).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, given);
    assert_eq!(output.stderr, b"told\n");
    let gated = agent.bodies("action.gated");
    assert_eq!(gated[0]["decision"], "allowed");
    assert_eq!(gated[0]["claims"], serde_json::json!(["derived", "four"]));
    assert_eq!(gated[0]["argv"][0], "sh");
    let finished = agent.bodies("action.finished");
    assert_eq!(
        finished[0]["outcome"],
        serde_json::json!({ "end": "exited", "exit": 7 })
    );
}

#[test]
fn what_changed_since_the_session_began_is_seen_and_stops_the_command() {
    let machine = Machine::new();
    let agent = successor(&machine);
    machine.write("four.txt", "5\n");
    let written = machine.path("report.json");
    let ran = agent.run(&format!(
        "gate derived --report {} -- touch ran",
        written.display()
    ));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stdout.is_empty() && !machine.project().join("ran").exists());
    assert!(ran.stderr.starts_with("error: gate "), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nnext: handoff "), "{}", ran.stderr);
    let report = report(&written);
    assert_eq!(report["schema"], "handoff.gate.v1");
    assert_eq!(
        (&report["exit"], &report["decision"]),
        (&125.into(), &"refused".into())
    );
    assert_eq!(report["claims"][0]["because"][0]["claim"], "four");
    assert_eq!(report["error"]["code"], "refused");
    assert_eq!(agent.bodies("action.gated")[0]["decision"], "refused");
    assert!(agent.bodies("action.finished").is_empty());
    // The whole chain stays lawful.
    agent.ok("verify");
}

#[test]
fn a_young_enough_observation_is_not_made_again() {
    let machine = Machine::new();
    let agent = successor(&machine);
    machine.write("four.txt", "5\n");
    let receipts = agent.bodies("probe.receipt").len();
    assert_eq!(agent.run("gate four --max-age 1h -- true").code, 0);
    assert_eq!(agent.bodies("probe.receipt").len(), receipts);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(agent.run("gate four --max-age 1ms -- true").code, 125);
    assert_eq!(agent.bodies("probe.receipt").len(), receipts + 1);
    // What did not hold is looked at again whatever its age.
    machine.write("four.txt", "4\n");
    assert_eq!(agent.run("gate four --max-age 1h -- true").code, 0);
}

#[test]
fn the_decision_is_committed_before_the_command_runs() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let program = env!("CARGO_BIN_EXE_handoff");
    let ran = agent.run(&format!("gate four -- {program} log --kind action.gated"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("action.gated"), "{}", ran.stdout);
    assert!(agent.bodies("action.finished").len() == 1);
}

#[test]
fn a_run_that_never_came_back_is_visible() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let (begun, written) = (machine.path("begun"), machine.path("report.json"));
    let line = format!(
        "gate four --report {} -- sh -c 'touch {}; cat'",
        written.display(),
        begun.display()
    );
    // The command ends with its input, which is held until the end of this test.
    let mut child = agent.command(&line).stdin(Stdio::piped()).spawn().unwrap();
    let _input = child.stdin.take();
    wait_for(&begun);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    assert_eq!(agent.bodies("action.gated").len(), 1);
    assert!(agent.bodies("action.finished").is_empty());
    let report = report(&written);
    assert_eq!(report["decision"], "allowed");
    assert!(report["exit"].is_null(), "{report}");
    assert!(report.get("outcome").is_none(), "{report}");
    // Whoever comes next is told: this session, a successor, an auditor.
    let gate = report["gate"].as_u64().unwrap();
    for line in ["state", "brief", "resume --agent third"] {
        let told = agent.ok(line);
        if line != "resume --agent third" {
            assert_eq!(told["unfinished"][0]["gate"], gate, "{line}: {told}");
            assert_eq!(told["unfinished"][0]["argv"][0], "sh");
        }
    }
    let state = agent.run("state").stdout;
    let begin = format!("\nunfinished: gate {gate} of session ");
    assert!(state.contains(&begin), "{state}");
    let brief = agent.run("brief").stdout;
    let line = format!("\nA gated command runs still or never came back: handoff show {gate}\n");
    assert!(brief.contains(&line), "{brief}");
    let told = agent.ok("verify");
    let not_proven =
        format!("that every gated command ended: of 1, the first let run by event {gate},");
    let lines = told["not_proven"].as_array().unwrap();
    assert!(
        lines
            .iter()
            .any(|it| it.as_str().unwrap().starts_with(&not_proven)),
        "{told}"
    );
    // One that came back is none of them, whoever asks.
    assert_eq!(agent.run("gate four -- true").code, 0);
    assert_eq!(agent.ok("state")["unfinished"].as_array().unwrap().len(), 1);
}

#[test]
fn signals_are_handed_on_and_the_end_is_recorded() {
    let machine = Machine::new();
    let agent = successor(&machine);
    for (number, (signal, handler, code)) in [
        (Signal::TERM, "trap \"exit 9\" TERM;", 9),
        (Signal::INT, "trap \"exit 8\" INT;", 8),
        (Signal::HUP, "", 129),
        (Signal::USR1, "", 138),
    ]
    .into_iter()
    .enumerate()
    {
        let begun = machine.path(&format!("begun-{number}"));
        let line = format!(
            "gate four -- sh -c '{handler} touch {}; while :; do sleep 0.01; done'",
            begun.display()
        );
        let mut child = agent.start(&line);
        wait_for(&begun);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal:?}");
        assert_eq!(agent.bodies("action.finished").len(), number + 1);
    }
    let outcome = agent.bodies("action.finished").pop().unwrap()["outcome"].clone();
    assert_eq!(
        outcome,
        serde_json::json!({ "end": "signaled", "signal": 10 })
    );
}

#[test]
fn a_command_that_cannot_start_was_not_run() {
    let machine = Machine::new();
    let agent = successor(&machine);
    machine.write("data", "not a program");
    for (program, end) in [
        ("no-such-program", "not_found"),
        ("./data", "not_executable"),
    ] {
        let ran = agent.run(&format!("gate four -- {program}"));
        assert_eq!(ran.code, 125, "{ran:?}");
        let finished = agent.bodies("action.finished").pop().unwrap();
        assert_eq!(finished["outcome"]["end"], end);
    }
}

#[test]
fn whatever_is_wrong_with_the_gate_itself_is_125() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let secret = format!("ghp_{}", "0123456789abcdefABCDEFGHIJKLMNOPQRST");
    let before = head(&agent);
    let ledger = machine.bytes();
    for line in [
        "gate -- true",
        "gate four",
        "gate four -- ",
        "gate 'not an id' -- true",
        "gate four --max-age soon -- true",
        "gate four --report /nowhere/at/all -- true",
        "gate four --session 999 -- true",
        "gate four --ledger /nowhere/ledger.db -- true",
        "gate four --key /nowhere/key.pem -- true",
    ] {
        let document = not_run(&agent, line);
        assert!(document["error"]["next"].is_string(), "{document}");
    }
    let document = not_run(&agent, &format!("gate four -- echo {secret}"));
    assert_eq!(document["error"]["code"], "credential");
    assert_eq!((head(&agent), machine.bytes()), (before, ledger));
    // Of a claim that nobody spoke of, the refusal is recorded.
    let document = not_run(&agent, "gate unheard-of -- touch ran");
    assert_eq!(document["error"]["code"], "refused");
    assert_eq!(agent.bodies("action.gated")[0]["decision"], "refused");
    assert!(!machine.project().join("ran").exists());
}

#[test]
fn nothing_is_admissible_elsewhere_or_after_the_end() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let elsewhere = machine.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut there = agent.within(&elsewhere);
    there.set("HANDOFF_LEDGER", machine.ledger());
    let document = not_run(&there, "gate four -- touch ran");
    assert_eq!(document["error"]["code"], "refused");
    agent.ok("ambient --none");
    agent.ok("seal");
    not_run(&agent, "gate four -- touch ran");
    assert!(!elsewhere.join("ran").exists() && !machine.project().join("ran").exists());
    assert!(agent.bodies("action.gated").is_empty());
}

#[test]
fn a_dry_run_runs_and_records_nothing() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let before = machine.bytes();
    let document = agent.ok("gate derived --dry-run -- touch ran");
    assert_eq!(document["probes"][0]["probe"]["argv"][0], "cat");
    assert_eq!(document["claims"][0]["admissible"], true);
    let document = agent.ok("gate derived --max-age 1h --dry-run -- touch ran");
    assert_eq!(document["probes"].as_array().unwrap().len(), 0);
    let document = agent.ends(125, "gate unheard-of --dry-run -- touch ran");
    assert_eq!(document["claims"][0]["because"][0]["kind"], "unknown");
    // A line for each of what would be probed and what is to be said so far.
    let ran = agent.run("gate four --dry-run -- touch ran");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "would probe -- cat four.txt");
    assert_eq!(lines[1], "yes four: \"it is four\"");
    assert_eq!(
        lines[2],
        "by what is recorded so far it would run: touch ran"
    );
    assert_eq!(machine.bytes(), before);
    assert!(!machine.project().join("ran").exists());
}

#[test]
fn the_outcome_that_cannot_be_recorded_does_not_change_the_exit() {
    let machine = Machine::new();
    let agent = successor(&machine);
    // The command replaces the ledger by one that cannot be opened.
    let ledger = machine.ledger();
    let line = format!(
        "gate four -- sh -c 'mv {0} {0}.away; exit 3'",
        ledger.display()
    );
    let ran = agent.run(&line);
    assert_eq!(ran.code, 3, "{ran:?}");
}
