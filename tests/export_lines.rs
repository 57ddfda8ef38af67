//! What a verifier names in the lines of an export that are no lines of one, and where.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod machine;

use base64ct::{Base64, Encoding as _};
use handoff_ledger::export::{ExportedCapture, capture_line};
use handoff_ledger::hash;
use machine::{Answer, Machine, Person};
use serde_json::{Value, json};
use std::process::Command;

/// An export with what its probe printed, as lines.
fn exported() -> (Machine, Person, Vec<String>) {
    let (machine, owner) = Machine::with_ledger();
    owner.opens("first");
    owner.does(&["probe", "--", "cat", "answer"]);
    let path = machine.project.join("whole.jsonl");
    owner.does(&["export", "--captures", "-o", path.to_str().unwrap()]);
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    assert!(lines.last().unwrap().starts_with("{\"capture\""));
    (machine, owner, lines)
}

fn faults(machine: &Machine, auditor: &Person, lines: &[String]) -> (Value, Vec<Value>) {
    let path = machine.project.join("altered.jsonl");
    std::fs::write(&path, lines.concat()).unwrap();
    let answer: Answer = auditor.run(&["verify", path.to_str().unwrap()]);
    let faults = answer.json["faults"].as_array().unwrap().iter();
    let faults = faults.map(|fault| json!([fault["seq"], fault["kind"]]));
    (answer.json["result"].clone(), faults.collect())
}

#[test]
fn a_signature_of_more_than_64_bytes_is_no_line_of_an_event() {
    let (machine, owner, mut lines) = exported();
    let line = lines[2].clone();
    let (event, signature) = line.rsplit_once("\"sig\":\"").unwrap();
    let mut bytes = Base64::decode_vec(&signature[..88]).unwrap();
    bytes.extend_from_slice(b"{}");
    lines[2] = format!("{event}\"sig\":\"{}\"}}\n", Base64::encode_string(&bytes));
    assert_eq!(lines[2].len(), line.len());
    let (result, faults) = faults(&machine, &owner, &lines);
    assert_eq!(result, "tampered");
    assert_eq!(faults[0], json!([1, "export_line"]));
}

#[test]
fn a_capture_of_no_receipt_is_passed_over_only_if_its_bytes_are_its_own() {
    let (machine, owner, lines) = exported();
    let with = |bytes: &[u8], order: &dyn Fn(&mut Vec<String>, String)| {
        let salt = [7; 16];
        let line = capture_line(&ExportedCapture {
            commitment: hash::commitment(&salt, b"nobody's"),
            bytes: Some(bytes.to_vec()),
            salt,
        });
        let mut lines = lines.clone();
        order(&mut lines, line);
        faults(&machine, &owner, &lines)
    };
    let ascending = |lines: &mut Vec<String>, line: String| {
        lines.push(line);
        lines.sort_by_key(|line| line.strip_prefix("{\"capture\"").map(str::to_owned));
    };
    let (sound, forged) = (b"nobody's".as_slice(), b"somebody's".as_slice());
    assert_eq!(with(sound, &ascending), (json!("verified"), vec![]));
    let (result, told) = with(forged, &ascending);
    assert_eq!(
        (result, &told[0]),
        (json!("tampered"), &json!([null, "capture"]))
    );
    let twice = |lines: &mut Vec<String>, line: String| {
        ascending(lines, line.clone());
        let at = lines.iter().position(|it| *it == line).unwrap();
        lines.insert(at, line);
    };
    let count = lines
        .iter()
        .filter(|line| line.starts_with("{\"event\""))
        .count();
    let (result, told) = with(sound, &twice);
    assert_eq!(
        (result, &told[0]),
        (json!("tampered"), &json!([count, "export_line"]))
    );
}

#[test]
fn where_a_line_is_missing_the_faults_that_follow_are_one_line_and_all_in_json() {
    let (machine, owner) = Machine::with_ledger();
    let session = owner.opens("first");
    for _ in 0..3 {
        owner.does(&["--session", &session, "probe", "--", "cat", "answer"]);
    }
    let path = machine.project.join("short.jsonl");
    let path = path.to_str().unwrap();
    owner.does(&["export", "-o", path]);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.len() - 3;
    lines.remove(2);
    std::fs::write(path, format!("{}\n", lines.join("\n"))).unwrap();
    let faults = owner.run(&["verify", path]).json["faults"].clone();
    let seqs = |kind: &str| -> Vec<Value> {
        let faults = faults.as_array().unwrap().iter();
        let faults = faults.filter(|fault| fault["kind"] == kind);
        faults.map(|fault| fault["seq"].clone()).collect()
    };
    assert_eq!(json!(seqs("seq")), json!((1..=last).collect::<Vec<_>>()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_handoff"));
    command.args(["verify", path]).env("HOME", &owner.home);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let told: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("fault seq"))
        .collect();
    let expected = [
        "fault seq at event 1: expected seq 1, found 2".to_owned(),
        format!(
            "fault seq at event 2 and each one up to {last}; the first: expected seq 2, found 3"
        ),
    ];
    assert_eq!(told, expected, "{text}");
}

#[test]
fn a_first_line_that_is_no_header_is_no_ledger_whatever_is_wrong_with_it() {
    let (machine, owner, lines) = exported();
    let path = machine.project.join("altered.jsonl");
    let verify = |first: &[u8]| {
        let text = [first, lines[1..].concat().as_bytes()].concat();
        std::fs::write(&path, text).unwrap();
        let answer = owner.run(&["verify", path.to_str().unwrap()]);
        (answer.json["result"].clone(), answer.exit)
    };
    let header = lines[0].as_bytes();
    assert_eq!(verify(header), (json!("verified"), Some(0)), "the control");
    for (at, byte) in [
        (60, 0xff),
        (60, b' '),
        (header.len() - 2, b']'),
        (12, b'\r'),
    ] {
        let mut first = header.to_vec();
        first[at] = byte;
        assert_eq!(verify(&first), (json!("error"), Some(5)), "{at} {byte}");
    }
    let long = [header.trim_ascii_end(), &[b' '; 90_000], b"\n"].concat();
    assert_eq!(verify(&long), (json!("error"), Some(5)));
}
