//! `append`: many commands in one process, each recorded and answered before the next is begun.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what fails here fails the test"
)]

mod cli_support;

use cli_support::{Agent, Machine, Ran, next};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// One line of the input.
fn line(words: &[&str]) -> String {
    json!(words).to_string()
}

/// Runs `append` with `options`, and `input` on standard input.
fn append(agent: &Agent, options: &str, input: &str) -> Ran {
    let mut child = agent
        .command(&format!("append {options}"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // It reads no further once a line has failed.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    next::check_text(&ran.stderr);
    ran
}

/// The answers, each the only one to its line.
fn answers(ran: &Ran) -> Vec<Value> {
    let answers = ran.stdout.lines().enumerate().map(|(place, text)| {
        let answer: Value = serde_json::from_str(text).unwrap();
        assert_eq!(answer["line"], place + 1, "{ran:?}");
        assert!(answer["schema"].is_string(), "{ran:?}");
        next::check_document(&answer);
        answer
    });
    answers.collect()
}

fn exits(ran: &Ran) -> Vec<u64> {
    let answers = answers(ran);
    let exits = answers
        .iter()
        .map(|answer| answer["exit"].as_u64().unwrap());
    exits.collect()
}

const CLAIM: [&str; 9] = [
    "claim",
    "is-four",
    "It is four",
    "--needs",
    "os",
    "--expect",
    "value=4",
    "--",
    "cat",
];

#[test]
fn a_whole_session_is_recorded_by_one_process_and_answered_line_by_line() {
    let machine = Machine::new();
    let root = machine.root("");
    let claim = [&CLAIM[..], &["four.txt"]].concat();
    let lines = [
        line(&["session", "open", "--agent", "builder"]),
        line(&["axis", "--preset", "platform"]),
        line(&[
            "axis",
            "four",
            "--class",
            "reachability",
            "--",
            "cat",
            "four.txt",
        ]),
        line(&claim),
        line(&[
            "flag",
            "later",
            "It will be",
            "--because",
            "a hunch",
            "--check",
            "os",
        ]),
        line(&["ambient", "--none"]),
        line(&["seal"]),
    ];
    machine.write("lines.jsonl", &lines.join("\n"));
    let ran = root.run("append lines.jsonl");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, "");
    let answers = answers(&ran);
    let schemas: Vec<&str> = answers
        .iter()
        .map(|it| it["schema"].as_str().unwrap())
        .collect();
    let expected = [
        "session_open",
        "axis",
        "axis",
        "claim",
        "flag",
        "ambient",
        "seal",
    ];
    let expected = expected.map(|name| format!("handoff.{name}.v1"));
    assert_eq!(schemas, expected);
    assert_eq!(root.ok("head")["head"], answers[6]["head"]);
    assert_eq!(root.ok("verify")["result"], "verified");
    let can = root.ok("resume --agent successor --require is-four");
    assert_eq!(can["admissible"], json!(["is-four"]));
}

#[test]
fn the_first_line_that_fails_ends_it_and_says_where_to_go_on() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let lines = [
        line(&["axis", "--preset", "platform"]),
        line(&[
            "claim", "a", "b", "--needs", "nothing", "--expect", "value=4", "--", "cat", "four.txt",
        ]),
        line(&["seal", "now"]),
        line(&["ambient", "--none"]),
    ];
    let input = lines.join("\n") + "\n";
    let ran = append(&root, "-", &input);
    assert_eq!((ran.code, exits(&ran)), (1, vec![0, 1]));
    let told = "append: 1 lines done, not done: 2\nnext: the lines from 2 on, to handoff append\n";
    assert_eq!(ran.stderr, told);
    assert_eq!(root.run("log --kind ambient.declared").stdout, "");
    let ran = append(&root, "--keep-going", &input);
    assert_eq!((ran.code, exits(&ran)), (1, vec![0, 1, 2, 0]));
    let told = "append: 2 lines done, not done: 2, 3\n\
                next: the lines that failed, to handoff append\n";
    assert_eq!(ran.stderr, told);
}

#[test]
fn a_line_that_is_no_command_that_records_is_refused_by_its_number() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let head = root.ok("head")["head"].clone();
    for (bad, said) in [
        ("", "line 1: blank"),
        (" \t", "line 1: blank"),
        ("{}", "line 1: no JSON array of strings"),
        (
            "[\"seal\", 1]",
            "line 1: no JSON array of strings, from column 10 on",
        ),
        ("[\"seal\"] []", "line 1: no JSON array of strings"),
        ("[\"seal\"", "line 1: no JSON array of strings"),
        ("handoff seal", "line 1: no JSON array of strings"),
        ("[]", "line 1: no command"),
        (
            "[\"ambient\",\"--allow\",\"a=b\\u0000\"]",
            "line 1: a word holds a NUL",
        ),
        (
            "[\"brief\"]",
            "line 1: no command by which a session records",
        ),
        (
            "[\"append\"]",
            "line 1: no command by which a session records",
        ),
        (
            "[\"session\",\"list\"]",
            "line 1: no command by which a session records",
        ),
        (
            "[\"--help\"]",
            "line 1: no command by which a session records",
        ),
        (
            "[\"--version\"]",
            "line 1: no command by which a session records",
        ),
        (
            "[\"key\",\"new\"]",
            "line 1: no command by which a session records",
        ),
        ("[\"handoff\",\"seal\"]", "there is no command \"handoff\""),
        (
            "[\"seal\",\"--frobnicate\"]",
            "unexpected argument \"--frobnicate\"",
        ),
        ("[\"\"]", "there is no command \"\""),
    ] {
        let ran = append(
            &root,
            "-",
            &format!("{bad}\n{}\n", line(&["ambient", "--none"])),
        );
        let answers = answers(&ran);
        assert_eq!((ran.code, answers.len()), (2, 1), "{bad}: {ran:?}");
        assert_eq!(answers[0]["error"]["code"], "usage");
        let message = answers[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{bad}: {message}");
    }
    assert_eq!(root.ok("head")["head"], head);
}

#[test]
fn a_line_has_at_most_a_mebibyte_and_one_too_long_is_one_line() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let padded = |bytes: usize| {
        let line = line(&["ambient", "--none"]);
        let spaces = " ".repeat(bytes - line.len());
        line + &spaces
    };
    let input = [
        padded(1 << 20),
        padded((1 << 20) + 1),
        padded(3 << 20),
        padded(100),
    ];
    let ran = append(&root, "--keep-going", &input.join("\n"));
    assert_eq!((ran.code, exits(&ran)), (2, vec![0, 2, 2, 0]));
    let message = &answers(&ran)[1]["error"]["message"];
    assert_eq!(message, "line 2: longer than 1048576 bytes");
}

#[test]
fn its_own_options_hold_for_each_line_that_gives_none() {
    let machine = Machine::new();
    let root = machine.root("");
    let (one, other) = (root.open("one"), root.open("other"));
    let own = other.to_string();
    let lines = [
        line(&["ambient", "--none"]),
        line(&["ambient", "--none", "--session", &own]),
        line(&["--session", &own, "ambient", "--none"]),
    ];
    let elsewhere = root.within(&machine.path(""));
    let options = format!("--session {one} --ledger {}", machine.ledger().display());
    let ran = append(&elsewhere, &options, &lines.join("\n"));
    let sessions = answers(&ran);
    let sessions: Vec<&Value> = sessions.iter().map(|answer| &answer["session"]).collect();
    assert_eq!(
        sessions,
        [&json!(one), &json!(other), &json!(other)],
        "{ran:?}"
    );
    let of_environment = root.of(one);
    let ran = append(&of_environment, "", &lines.join("\n"));
    assert_eq!(answers(&ran)[0]["session"], one);
    assert_eq!(answers(&ran)[1]["session"], other);
    // What is to be typed next carries what was typed, as that of a command by itself does.
    let bad = line(&["promote", "nothing"]);
    let ran = append(&elsewhere, &options, &bad);
    let next = answers(&ran)[0]["error"]["next"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(next.contains("--ledger"), "{next}");
}

#[test]
fn nothing_is_read_from_a_terminal() {
    let machine = Machine::new();
    let root = machine.root("");
    // The master of a pseudo-terminal is a terminal too, pty(7).
    let ran = root.run("append /dev/ptmx");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("nothing from a terminal"), "{ran:?}");
    let terminal = File::open("/dev/ptmx").unwrap();
    let output = root
        .command("append --json")
        .stdin(terminal)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], "usage");
    let missing = root.ends(5, "append no-such-file");
    assert_eq!(missing["error"]["code"], "io");
    assert_eq!(append(&root, "", "").code, 0);
}

#[test]
fn an_interrupt_between_lines_ends_it_after_what_was_answered() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let mut child = root
        .command("append")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    writeln!(stdin, "{}", line(&["axis", "--preset", "platform"])).unwrap();
    let mut answer = String::new();
    stdout.read_line(&mut answer).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["line"], &answer["exit"]), (&json!(1), &json!(0)));
    // The input stays open: it is the signal that ends the wait for more of it.
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let mut last = String::new();
    stdout.read_line(&mut last).unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["error"]["code"], "interrupted");
    assert_eq!(
        last["error"]["message"],
        "interrupted before line 2 was begun"
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.starts_with("append: 1 lines done, not done: 2\n"),
        "{told}"
    );
    assert_eq!(root.ok("head")["head"], answer["head"]);
    drop(stdin);
}

#[test]
#[cfg(target_os = "linux")]
fn answers_that_cannot_be_written_end_it_and_are_no_success() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let lines = line(&["ambient", "--none"]) + "\n" + &line(&["ambient", "--none"]);
    machine.write("lines.jsonl", &lines);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = root
        .command("append lines.jsonl")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("recorded up to event 2"), "{told}");
    let log = root.run("log --kind ambient.declared");
    assert_eq!(
        log.stdout.lines().count(),
        1,
        "the second line was not begun"
    );
}
