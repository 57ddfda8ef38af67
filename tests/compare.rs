//! Two copies of a ledger: what they have in common, and the two signed events at which they part.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cli_support;

use cli_support::forge::{Forger, signed};
use cli_support::{Agent, Machine};
use handoff_ledger::event::{KeyAuthorized, Role};
use handoff_ledger::types::{Ascending, Seq};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A ledger with a second admin, and copies of it that went different ways.
struct Copies {
    machine: Machine,
    root: Agent,
    second: Agent,
}

impl Copies {
    fn new() -> Copies {
        let machine = Machine::new();
        let root = machine.root("");
        let second = machine.agent("second");
        root.ok(&format!(
            "key authorize {} --label second --admin --recorder",
            second.public()
        ));
        Copies {
            machine,
            root,
            second,
        }
    }

    /// A copy to which `agent` added an event of its own.
    fn branch(&self, name: &str, by: Option<&Agent>) -> PathBuf {
        let path = self.machine.project().join(name);
        std::fs::copy(self.machine.ledger(), &path).unwrap();
        if let Some(agent) = by {
            let body = KeyAuthorized {
                key: self.machine.agent(name).public(),
                label: name.replace('.', "-").parse().unwrap(),
                roles: Ascending::from_unordered([Role::Recorder]),
            };
            Forger::of(&path).append(&agent.key(), Seq::ZERO, body);
        }
        path
    }

    fn compared(&self, code: i32, one: &Path, other: &Path) -> Value {
        let (one, other) = (one.display(), other.display());
        self.root.ends(code, &format!("compare {one} {other}"))
    }
}

#[test]
fn copies_are_the_same_or_one_is_the_beginning_of_the_other() {
    let copies = Copies::new();
    let own = copies.machine.ledger();
    let text = copies.machine.project().join("all.jsonl");
    copies.root.ok(&format!("export -o {}", text.display()));
    let same = copies.branch("same.db", None);
    let longer = copies.branch("longer.db", Some(&copies.root));
    for (one, other) in [(&own, &same), (&same, &text), (&text, &own)] {
        let told = copies.compared(0, one, other);
        assert_eq!(told["result"], "same");
        assert_eq!(
            (&told["common"]["events"], &told["at"]),
            (&2.into(), &Value::Null)
        );
        assert_eq!(told["events"], Value::Array(Vec::new()));
    }
    for (one, other) in [(&own, &longer), (&longer, &text)] {
        let told = copies.compared(0, one, other);
        assert_eq!(
            (&told["result"], &told["at"]),
            (&"prefix".into(), &2.into())
        );
        assert_eq!(told["common"]["head"]["seq"], 1);
        assert!(!told["not_proven"].as_array().unwrap().is_empty());
    }
}

#[test]
fn one_key_that_signed_two_histories_is_named_and_the_proof_needs_no_ledger() {
    let copies = Copies::new();
    let one = copies.branch("one.db", Some(&copies.root));
    let other = copies.branch("other.db", Some(&copies.root));
    let told = copies.compared(4, &one, &other);
    assert_eq!((&told["result"], &told["at"]), (&"fork".into(), &2.into()));
    assert_eq!(told["equivocation"], copies.root.public().to_string());
    for result in ["result", "head"] {
        assert!(told["sides"][0][result] != Value::Null);
    }
    assert_eq!(
        told["sides"][0]["result"], "verified",
        "each is valid alone"
    );
    assert_eq!(told["sides"][1]["result"], "verified");
    let command = format!(
        "compare {} {} -o proof.jsonl",
        one.display(),
        other.display()
    );
    copies.root.ends(4, &command);
    let proof = std::fs::read_to_string(copies.machine.project().join("proof.jsonl")).unwrap();
    let lines = [&told["events"][0]["line"], &told["events"][1]["line"]];
    assert_eq!(proof, lines.map(|line| line.as_str().unwrap()).concat());

    // A stranger with neither ledger nor pin comes to the same.
    let stranger = copies.machine.agent("stranger");
    let told = stranger.ends(4, "compare proof.jsonl");
    assert_eq!(told["equivocation"], copies.root.public().to_string());
    let not_proven = told["not_proven"].to_string();
    assert!(not_proven.contains("might write"), "{not_proven}");
    assert_eq!(copies.root.run(&command).code, 5, "no file is overwritten");

    // What is no proof is none, whatever is changed of it.
    let first = proof.lines().next().unwrap();
    let second = proof.lines().nth(1).unwrap();
    let own = std::fs::read_to_string({
        copies.root.ok("export -o own.jsonl");
        copies.machine.project().join("own.jsonl")
    });
    let own = own.unwrap();
    let genesis = own.lines().nth(1).unwrap();
    for (text, code) in [
        (format!("{first}\n{first}\n"), 1),
        (format!("{first}\n{genesis}\n"), 1),
        (format!("{genesis}\n{genesis}\n"), 1),
        (format!("{first}\n"), 5),
        (format!("{first}\n{second}"), 5),
        (format!("{first}\n{second}\n{first}\n"), 5),
        (proof.replace("other", "Other"), 5),
        (proof.replacen("\"sig\":\"", "\"sig\":\" ", 1), 5),
        (String::new(), 5),
    ] {
        copies.machine.write("altered.jsonl", &text);
        let told = stranger.ends(code, "compare altered.jsonl");
        assert_eq!(told["result"], Value::Null, "{text}");
    }
    let mut flipped = 0;
    for at in (0..proof.len()).step_by(7) {
        let mut bytes = proof.clone().into_bytes();
        bytes[at] ^= 1;
        std::fs::write(copies.machine.project().join("flipped.jsonl"), bytes).unwrap();
        let ran = stranger.run("--json compare flipped.jsonl");
        assert!([1, 5].contains(&ran.code), "byte {at}: {ran:?}");
        flipped += 1;
    }
    assert!(flipped > 100);
}

#[test]
fn two_keys_after_the_same_event_are_a_fork_of_which_nobody_is_convicted() {
    let copies = Copies::new();
    let one = copies.branch("one.db", Some(&copies.root));
    let other = copies.branch("other.db", Some(&copies.second));
    let told = copies.compared(4, &one, &other);
    assert_eq!(
        (&told["result"], &told["equivocation"]),
        (&"fork".into(), &Value::Null)
    );
    let keys = [0, 1].map(|at| told["events"][at]["key"].clone());
    assert_eq!(
        keys,
        [&copies.root, &copies.second].map(|it| Value::from(it.public().to_string()))
    );
    assert_eq!(told["events"][0]["prev"], told["events"][1]["prev"]);
    let told = told["not_proven"].to_string();
    assert!(told.contains("who is at fault"), "{told}");
}

#[test]
fn other_ledgers_altered_ones_and_incomplete_ones_are_told_as_such() {
    let copies = Copies::new();
    let one = copies.branch("one.db", Some(&copies.root));
    let other = Machine::new();
    other.root("--name other");
    let told = copies.compared(1, &one, &other.ledger());
    assert_eq!(told["result"], "different_ledgers");

    // An event that its key did not sign convicts nobody: the copy is tampered with.
    let forged = copies.branch("forged.db", None);
    let forger = Forger::of(&forged);
    let body = KeyAuthorized {
        key: copies.machine.agent("third").public(),
        label: "third".parse().unwrap(),
        roles: Ascending::from_unordered([Role::Recorder]),
    };
    let event = forger.draft(&copies.root.key(), Seq::ZERO, body.into());
    forger.insert(event.seq, &signed(&copies.second.key(), &event));
    let told = copies.compared(4, &one, &forged);
    assert_eq!(
        (&told["result"], &told["equivocation"]),
        (&"unknown".into(), &Value::Null)
    );
    assert_eq!(told["sides"][1]["faults"][0]["kind"], "signature");
    assert_eq!(told["events"], Value::Array(Vec::new()));

    let beside = copies.branch("beside.db", None);
    copies.machine.write("beside.db-journal", "x");
    assert_eq!(copies.compared(3, &one, &beside)["result"], "prefix");
    copies.machine.write("notes.txt", "no ledger\n");
    let told = copies
        .root
        .ends(5, &format!("compare {} notes.txt", one.display()));
    assert_eq!(told["error"]["code"], "not_a_ledger");
}

#[test]
fn a_branch_that_the_rules_refuse_is_told_as_such_and_proves_no_fork() {
    let copies = Copies::new();
    let one = copies.branch("one.db", Some(&copies.root));
    let outsider = copies.machine.agent("outsider");
    let other = copies.branch("other.db", Some(&outsider));
    let line = format!("compare {} {}", one.display(), other.display());
    let told = copies.root.ends(4, &format!("{line} -o proof.jsonl"));
    assert_eq!((&told["result"], &told["at"]), (&"fork".into(), &2.into()));
    let events = &told["events"];
    assert_eq!(events[0]["refused"], Value::Null);
    assert_eq!(events[1]["refused"], "key_not_authorized");
    let not_proven = told["not_proven"].to_string();
    assert!(
        not_proven.contains("that the ledger forked"),
        "{not_proven}"
    );
    let text = copies.root.run(&line).stdout;
    assert!(
        text.contains("without effect, refused by key_not_authorized"),
        "{text}"
    );
    // Of the two events alone nobody can tell.
    let shown = copies.root.ends(4, "compare proof.jsonl");
    let not_proven = shown["not_proven"].to_string();
    let might = format!("that key {} might write", outsider.public());
    assert!(not_proven.contains(&might), "{not_proven}");
}

#[test]
fn a_name_of_somebody_elses_adds_no_line_to_the_answer() {
    let copies = Copies::new();
    let hostile = "a\nverified 31 events, head x\nb";
    let named = copies.branch(hostile, None);
    let schema = copies.branch("schema.db", None);
    let file = rusqlite::Connection::open(&schema).unwrap();
    let object = format!("CREATE TABLE \"{hostile}\" (x); CREATE VIEW \"v{hostile}\" AS SELECT 1");
    file.execute_batch(&object).unwrap();
    drop(file);
    let trust = copies.root.public().to_string();
    let beside = copies.branch("beside.db", None);
    std::fs::write(copies.machine.project().join("beside.db-journal"), "x").unwrap();
    let ledger = copies.machine.ledger();
    for words in [
        vec!["verify", schema.to_str().unwrap(), "--trust", &trust],
        vec!["verify", named.to_str().unwrap()],
        vec![
            "verify",
            named.to_str().unwrap(),
            "--trust",
            "no such\nverified 31 events, head x",
        ],
        vec!["compare", named.to_str().unwrap(), ledger.to_str().unwrap()],
        vec!["compare", named.to_str().unwrap(), schema.to_str().unwrap()],
        vec![
            "compare",
            schema.to_str().unwrap(),
            beside.to_str().unwrap(),
        ],
        vec!["--ledger", schema.to_str().unwrap(), "head"],
        vec!["--ledger", schema.to_str().unwrap(), "brief"],
        vec!["--ledger", named.to_str().unwrap(), "state"],
        vec![
            "import",
            schema.to_str().unwrap(),
            "--to",
            "x\nverified 31 events, head x",
        ],
        vec!["--ledger", "absent\nverified 31 events, head x", "head"],
        vec!["--key", "absent\nverified 31 events, head x", "seal"],
    ] {
        let output = copies.root.command("").args(&words).output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        let forged = printed.lines().any(|line| line.starts_with("verified 31"));
        assert!(!forged, "{words:?}: {printed}");
    }
}
