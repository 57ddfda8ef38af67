//! Every command that reads, on every kind of file that somebody may hand over: the exit, no word
//! that reads as a pass, and nothing changed, neither where the file lies nor at home.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod machine;
#[path = "cli_support/tampering.rs"]
mod tampering;

use machine::{Answer, Handed, Machine, Person};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tampering::{PAGE, journal};

/// A ledger of somebody's with a claim that is admissible in its last session, which is open.
struct Case {
    machine: Machine,
    owner: Person,
    auditor: Person,
    folder: PathBuf,
    file: PathBuf,
    root: String,
    session: String,
}

impl Case {
    fn new() -> Case {
        let (machine, owner) = Machine::with_ledger();
        let session = owner.opens("first");
        owner.concludes_good();
        let Handed {
            auditor,
            folder,
            file,
            root,
        } = machine.hands_over(&owner);
        Case {
            machine,
            owner,
            auditor,
            folder,
            file,
            root,
            session,
        }
    }

    /// A command of somebody in the folder of the copy, for a person or a program to read.
    fn command(&self, who: &Person, words: &[&str]) -> Command {
        let mut command = who.command(words);
        command.current_dir(&self.folder);
        command
    }

    fn everything(&self) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
        let mut files = BTreeMap::new();
        for folder in [&self.folder, &self.auditor.home] {
            below(folder, &mut files);
        }
        files
    }
}

/// Every file and folder, with the number of its content and what it holds.
fn below(folder: &Path, files: &mut BTreeMap<PathBuf, (u64, Vec<u8>)>) {
    use std::os::unix::fs::MetadataExt as _;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = path.symlink_metadata().unwrap();
        if found.is_dir() {
            // A file that was made there and removed shows in the folder's time.
            let time = format!("{}.{}", found.mtime(), found.mtime_nsec());
            files.insert(path.clone(), (found.ino(), time.into_bytes()));
            below(&path, files);
        } else {
            files.insert(path.clone(), (found.ino(), std::fs::read(&path).unwrap()));
        }
    }
}

/// Changes a file's bytes wherever they first spell `from`.
fn alter(file: &Path, from: &str, to: &str) {
    let mut bytes = std::fs::read(file).unwrap();
    let at = bytes
        .windows(from.len())
        .position(|it| it == from.as_bytes());
    let at = at.unwrap();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    std::fs::write(file, bytes).unwrap();
}

/// What a file may be: how it is made of a sound copy, with what options it is read, the exit of
/// what only shows and of what decides, and the reason that every claim is blocked for.
struct Kind {
    name: &'static str,
    make: fn(&Case),
    trusted: bool,
    exits: (i32, i32),
    because: &'static str,
}

const fn kind(
    name: &'static str,
    exits: (i32, i32),
    because: &'static str,
    make: fn(&Case),
) -> Kind {
    Kind {
        name,
        make,
        trusted: true,
        exits,
        because,
    }
}

const KINDS: [Kind; 10] = [
    Kind {
        trusted: false,
        ..kind("unpinned", (0, 3), "untrusted", |_| {})
    },
    kind("a changed text", (4, 4), "tampered", |case| {
        alter(&case.file, "it is good", "it is evil")
    }),
    kind("junk behind the last event", (4, 4), "tampered", |case| {
        let file = Connection::open(&case.file).unwrap();
        let sql = "INSERT INTO event SELECT max(seq) + 1, zeroblob(100) FROM event";
        file.execute_batch(sql).unwrap();
    }),
    kind("no intact event", (4, 4), "", |case| {
        let name = "\"kind\":\"ledger.opened\"";
        alter(&case.file, name, &name.replace("opened", "0pened"))
    }),
    kind("a table too many", (4, 4), "", |case| {
        let file = Connection::open(&case.file).unwrap();
        file.execute_batch("CREATE TABLE more (a)").unwrap();
    }),
    kind("a hot journal beside it", (3, 3), "incomplete", |case| {
        // Of zeros: whoever replays it has no ledger left.
        let past = vec![0; PAGE * 2];
        std::fs::write(case.folder.join("copy.db-journal"), journal(&past)).unwrap();
    }),
    kind("a log beside it", (3, 3), "incomplete", |case| {
        std::fs::write(case.folder.join("copy.db-wal"), [7; 64]).unwrap();
    }),
    kind("a damaged page", (4, 4), "tampered", |case| {
        let mut bytes = std::fs::read(&case.file).unwrap();
        let last = bytes.len() - 1;
        bytes.truncate(last);
        std::fs::write(&case.file, bytes).unwrap();
    }),
    kind("an export that breaks off", (3, 3), "incomplete", |case| {
        let text = case.folder.join("text.jsonl");
        case.owner.does(&["export", "-o", text.to_str().unwrap()]);
        let bytes = std::fs::read(&text).unwrap();
        std::fs::remove_file(text).unwrap();
        std::fs::write(&case.file, &bytes[..bytes.len() - 20]).unwrap();
    }),
    kind(
        "an export with a changed line",
        (4, 4),
        "tampered",
        |case| {
            let text = case.folder.join("text.jsonl");
            case.owner.does(&["export", "-o", text.to_str().unwrap()]);
            std::fs::rename(text, &case.file).unwrap();
            alter(&case.file, "it is good", "it is evil");
        },
    ),
];

/// The commands that read, and whether they decide rather than show.
const READING: [(&[&str], bool); 16] = [
    (&["head"], false),
    (&["state"], false),
    (&["state", "--at", "6"], false),
    (&["brief"], false),
    (&["brief", "--markdown"], false),
    (&["log"], false),
    (&["show", "1"], false),
    (&["show", "1", "--raw"], false),
    (&["session", "list"], false),
    (&["key", "list"], false),
    (&["can", "good"], true),
    (&["checkpoint"], true),
    (&["prove", "1"], true),
    (&["resume", "--agent", "x", "--dry-run"], true),
    (&["reverify", "--dry-run"], true),
    (&["doctor"], true),
];

/// Questions of what is not there.
const ABSENT: [(&[&str], bool); 4] = [
    (&["show", "99"], false),
    (&["log", "--from", "99"], false),
    (&["state", "--at", "99"], false),
    (&["state", "--session", "99"], false),
];

/// Words that only a ledger that may be acted on has in an answer, where `\n` begins a line.
const PASSES: [&str; 7] = [
    "MAY BE RELIED ON",
    "\n  admissible,",
    "\"admissible\":true",
    "\"result\":\"verified\"",
    "\nverified ",
    "\nyes ",
    "\nok      rollback",
];

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn no_command_passes_a_file_that_is_not_whole_or_trusted_or_changes_anything() {
    let mut blocks = 0;
    for kind in &KINDS {
        let case = Case::new();
        (kind.make)(&case);
        let before = case.everything();
        let trust: &[&str] = match kind.trusted {
            true => &["--trust", &case.root],
            false => &[],
        };
        let named = ["--ledger", "copy.db", "--session", &case.session];
        let verify = ["verify", "copy.db"];
        let compare = ["compare", "copy.db", "copy.db"];
        let readings = READING.into_iter();
        let more = [(&verify[..], true), (&compare[..], true)];
        // Of what is not whole it is not known that there is no such thing.
        let absent = ABSENT.into_iter().filter(|_| kind.exits.0 != 0);
        for (words, decides) in readings.chain(more).chain(absent) {
            let what = format!("{} {words:?}", kind.name);
            let all = [&named, trust, words].concat();
            let program = case.command(&case.auditor, &all).output().unwrap();
            let mut person = case.command(&case.auditor, &all);
            // The same without --json, which is the first argument.
            let arguments: Vec<_> = person.get_args().skip(1).map(ToOwned::to_owned).collect();
            let mut human = Command::new(person.get_program());
            human.args(arguments).current_dir(&case.folder).env_clear();
            human.env("HOME", &case.auditor.home);
            human.env("PATH", std::env::var_os("PATH").unwrap());
            person = human;
            let person = person.output().unwrap();
            for output in [&program, &person] {
                let text = stdout(output);
                let exits = if decides { kind.exits.1 } else { kind.exits.0 };
                // Two copies of one unpinned file hold the same events all the same.
                let is_same = words[0] == "compare" && !kind.trusted;
                let exit = if is_same { 0 } else { exits };
                assert_eq!(
                    output.status.code(),
                    Some(exit),
                    "{what}: {text} {output:?}"
                );
                let text = format!("\n{text}");
                for pass in PASSES {
                    assert!(!text.contains(pass), "{what}: {pass:?} in {text}");
                }
            }
            if ["state", "brief"].contains(&words[0]) && !words.contains(&"99") {
                let told = Answer::of(program).json;
                blocks += u64::from(is_blocked(&told, kind.because, &what));
            }
            assert_eq!(case.everything(), before, "{what}");
        }
    }
    // Four answers each of the kinds whose intact part holds the claim.
    assert!(blocks >= 16, "{blocks}");
}

/// Whether the claim stands there, which must be as it was signed, and blocked for that reason
/// alone.
fn is_blocked(told: &Value, because: &str, what: &str) -> bool {
    let mut claims = told["claims"].as_array().into_iter().flatten();
    let Some(claim) = claims.find(|it| it["claim"] == "good") else {
        return false;
    };
    assert_eq!(claim["state"], "verified_invariant", "{what}");
    assert_eq!(claim["because"][0]["kind"], because, "{what}: {claim}");
    let reasons = claim["because"].as_array().unwrap().len();
    assert_eq!(reasons, 1, "{what}: {claim}");
    true
}

#[test]
fn a_file_that_is_whole_and_trusted_passes_by_the_same_words() {
    let case = Case::new();
    let before = case.everything();
    let named = ["--ledger", "copy.db", "--trust", &case.root];
    let at = [&named[..], &["state", "--at", "6"]].concat();
    let answer = case.command(&case.auditor, &at).output().unwrap();
    assert!(
        stdout(&answer).contains("\"admissible\":true"),
        "{answer:?}"
    );
    let verify = ["verify", "copy.db", "--trust", &case.root];
    let answer = case.command(&case.auditor, &verify).output().unwrap();
    assert!(stdout(&answer).contains("\"result\":\"verified\""));
    let doctor = [&named[..], &["doctor"]].concat();
    let answer = Answer::of(case.command(&case.auditor, &doctor).output().unwrap());
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    assert_eq!(case.everything(), before);
}

#[test]
fn a_hot_journal_beside_evidence_is_not_replayed_by_the_doctor() {
    let case = Case::new();
    let past = std::fs::read(&case.file).unwrap();
    case.owner
        .does(&["--session", &case.session, "ambient", "--none"]);
    std::fs::copy(case.machine.file(), &case.file).unwrap();
    std::fs::write(case.folder.join("copy.db-journal"), journal(&past)).unwrap();
    let before = case.everything();
    let words = ["--ledger", "copy.db", "--trust", &case.root, "doctor"];
    let answer = Answer::of(case.command(&case.auditor, &words).output().unwrap());
    assert_eq!(answer.exit, Some(3), "{answer:?}");
    assert_eq!(case.everything(), before);
    // The control: whoever opens it to write loses the event.
    let file = Connection::open(&case.file).unwrap();
    let count = "SELECT count(*) FROM event";
    file.query_row(count, [], |row| row.get::<_, i64>(0))
        .unwrap();
    drop(file);
    assert_ne!(case.everything(), before, "the journal is a hot one");
}

#[test]
fn what_is_demanded_is_demanded_by_every_command() {
    let case = Case::new();
    let other = format!("handoff1:{}:1:{}", "0".repeat(12), "0".repeat(64));
    let own = case.machine.file();
    let own = own.to_str().unwrap();
    let compare = ["compare", own, own];
    let verify = ["verify"];
    for words in [&["head"][..], &["state"], &verify, &compare] {
        let demand = ["--expect", &other];
        let answer = case.owner.run(&[&demand, words].concat());
        assert_eq!(answer.exit, Some(4), "{words:?}: {answer:?}");
        // What a lost file of the head, or of the key, leaves in a script.
        for variable in ["HANDOFF_EXPECT", "HANDOFF_TRUST"] {
            let mut command = case.owner.command(words);
            let answer = Answer::of(command.env(variable, "").output().unwrap());
            assert_eq!(answer.exit, Some(2), "{variable} {words:?}: {answer:?}");
        }
    }
}

#[test]
fn what_is_no_key_to_trust_is_refused_alike_by_every_command() {
    let case = Case::new();
    let pipe = case.folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let small = "0".repeat(64);
    let proof = case.folder.join("proof");
    case.owner
        .does(&["prove", "1", "-o", proof.to_str().unwrap()]);
    let request = case.folder.join("request");
    let from = ["prove", "--from", "0", "-o", request.to_str().unwrap()];
    case.owner.does(&from);
    for bad in [small.as_str(), "/nonexistent", pipe.to_str().unwrap(), "/"] {
        for words in [
            &["head"][..],
            &["state"],
            &["verify"],
            &["session", "open", "--agent", "x"],
            &["verify-proof", proof.to_str().unwrap()],
            &["witness", "add", request.to_str().unwrap()],
            &["doctor"],
            &["export", "-o", "out.jsonl"],
            &["--ledger", case.file.to_str().unwrap(), "head"],
        ] {
            let answer = case.owner.run(&[&["--trust", bad], words].concat());
            assert_eq!(answer.exit, Some(2), "{bad} {words:?}: {answer:?}");
            if words != ["doctor"] {
                let next = answer.json["error"]["next"].as_str().unwrap();
                assert!(next.contains("--trust"), "{bad} {words:?}: {next}");
            }
        }
    }
}

#[test]
fn a_witness_takes_only_keys_that_were_typed_with_the_request() {
    let case = Case::new();
    let request = case.folder.join("request");
    let request = request.to_str().unwrap();
    case.owner.does(&["prove", "--from", "0", "-o", request]);
    let add = ["witness", "add", request];
    let mut command = case.auditor.command(&add);
    let answer = Answer::of(command.env("HANDOFF_TRUST", &case.root).output().unwrap());
    assert_eq!(answer.exit, Some(3), "{answer:?}");
    let typed = [&["--trust", &case.root], &add[..]].concat();
    assert_eq!(case.auditor.run(&typed).exit, Some(0));
}

#[test]
fn an_export_says_the_result_that_verify_says() {
    let case = Case::new();
    let answer = case.owner.does(&["export", "-o", "out.jsonl"]);
    assert_eq!(answer["result"], "verified");
    let key = case.root.clone();
    case.owner.does(&["trust", "remove", &key]);
    let answer = case.owner.run(&["export", "-o", "again.jsonl"]);
    assert_eq!(answer.json["result"], "self_consistent", "{answer:?}");
    assert_eq!(answer.exit, Some(0));
}

#[test]
fn an_import_tells_that_this_machine_saw_more_or_another_history() {
    let case = Case::new();
    let export = |name: &str| {
        let path = case.folder.join(name);
        case.owner.does(&["export", "-o", path.to_str().unwrap()]);
        path
    };
    let old = export("old.jsonl");
    let file = std::fs::read(case.machine.file()).unwrap();
    let session = ["--session", &case.session];
    case.owner
        .does(&[&session[..], &["ambient", "--none"]].concat());
    // Another history: the same owner at another home, which knows nothing of the first.
    let twin = case.machine.person("twin");
    let keys = twin.folders().keys().unwrap();
    std::fs::create_dir_all(&keys).unwrap();
    let name = "default.pem";
    let own = case.owner.folders().keys().unwrap();
    std::fs::copy(own.join(name), keys.join(name)).unwrap();
    let forked = case.folder.join("twin.db");
    std::fs::write(&forked, file).unwrap();
    let other = ["--trust", &case.root, "--ledger", forked.to_str().unwrap()];
    twin.does(&[&other[..], &["session", "open", "--agent", "twin"]].concat());
    let fork = case.folder.join("fork.jsonl");
    twin.does(&[&other[..], &["export", "-o", fork.to_str().unwrap()]].concat());
    let import = |from: &Path, to: &str| {
        let (from, to) = (from.to_str().unwrap(), case.folder.join(to));
        case.owner
            .run(&["import", from, "--to", to.to_str().unwrap()])
    };
    let new = export("new.jsonl");
    let whole = import(&new, "whole.db");
    assert_eq!(whole.exit, Some(0));
    assert!(whole.json["setback"].is_null(), "the control: {whole:?}");
    for (what, from) in [("older", &old), ("forked", &fork)] {
        let answer = import(from, &format!("{what}.db"));
        assert_eq!(answer.exit, Some(0), "{what}: {answer:?}");
        assert!(answer.json["setback"].is_string(), "{what}: {answer:?}");
        assert!(answer.stderr.contains("WARNING"), "{what}: {answer:?}");
    }
}
