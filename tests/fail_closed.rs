//! What this machine remembers of its ledgers has one reader: whatever part of it is lost, garbled or
//! open to others, no command takes a ledger for whole that another part speaks against, and none
//! writes over what it cannot read.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod machine;

use handoff_ledger::types::LedgerId;
use machine::{Answer, Machine, Person};
use rusqlite::Connection;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const WHY: [&str; 4] = ["acknowledge", "--rollback", "--reason", "restored"];

/// An own ledger of which an older file was kept.
struct Case {
    machine: Machine,
    root: Person,
    old: Vec<u8>,
    id: LedgerId,
}

impl Case {
    fn new() -> Case {
        let (machine, root) = Machine::with_ledger();
        let session = root.opens("first");
        let old = std::fs::read(machine.file()).unwrap();
        root.does(&["--session", &session, "ambient", "--none"]);
        let id = machine.id();
        Case {
            machine,
            root,
            old,
            id,
        }
    }

    fn roll_back(&self) {
        std::fs::write(self.machine.file(), &self.old).unwrap();
    }

    /// The two files of what is remembered of the ledger.
    fn memories(&self) -> [PathBuf; 2] {
        let folders = self.root.folders();
        [folders.memory(&self.id), folders.recent(&self.id)].map(Result::unwrap)
    }

    /// Each way in which what is remembered may be lost, done to a case of its own.
    fn each_loss(mut work: impl FnMut(&str, &Case)) {
        for (what, lose) in LOSSES {
            for file in 0..2 {
                let case = Case::new();
                let path = &case.memories()[file];
                lose(path);
                work(&format!("{} {what}", path.display()), &case);
            }
        }
    }

    fn list(&self) -> PathBuf {
        self.root.folders().own_files().unwrap()
    }
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What can become of a file: its name, and how it is done.
type Loss = (&'static str, fn(&Path));

const LOSSES: [Loss; 4] = [
    ("removed", |path| std::fs::remove_file(path).unwrap()),
    ("garbled", |path| std::fs::write(path, "x").unwrap()),
    ("empty", |path| std::fs::write(path, "").unwrap()),
    ("open to others", |path| chmod(path, 0o666)),
];

/// Every command that reads or writes an own ledger.
const COMMANDS: [&[&str]; 12] = [
    &["head"],
    &["state"],
    &["brief"],
    &["log"],
    &["show", "1"],
    &["session", "list"],
    &["key", "list"],
    &["can", "x"],
    &["checkpoint"],
    &["doctor"],
    &["verify"],
    &["session", "open", "--agent", "x"],
];

#[test]
fn a_rollback_is_told_whatever_became_of_the_memory_as_long_as_the_view_knows() {
    Case::each_loss(|what, case| {
        // The control: without a rollback nothing speaks against it.
        let untouched = case.root.run(&["verify"]);
        assert_eq!(untouched.exit, Some(0), "{what}: {untouched:?}");
        case.roll_back();
        let file = case.machine.file();
        let compared = ["compare", file.to_str().unwrap(), file.to_str().unwrap()];
        let exported = ["export", "-o", "out.jsonl"];
        for words in COMMANDS.into_iter().chain([&compared[..], &exported]) {
            let answer = case.root.run(words);
            assert_eq!(answer.exit, Some(4), "{what} {words:?}: {answer:?}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), case.old, "{what}");
    });
}

#[test]
fn a_memory_that_is_older_than_the_view_hides_no_rollback() {
    let case = Case::new();
    let [synced, recent] = case.memories();
    let paths = [case.machine.file(), synced, recent];
    let before = paths.each_ref().map(|path| std::fs::read(path).unwrap());
    case.root.does(&["session", "open", "--agent", "second"]);
    for (path, bytes) in paths.iter().zip(before) {
        std::fs::write(path, bytes).unwrap();
    }
    for words in COMMANDS {
        let answer = case.root.run(words);
        assert_eq!(answer.exit, Some(4), "{words:?}: {answer:?}");
    }
}

#[test]
fn a_view_is_looked_at_and_not_emptied() {
    let case = Case::new();
    let view = case.root.view(&case.id);
    // As one of another format version, which opening it to write would empty.
    let file = Connection::open(&view).unwrap();
    file.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(file);
    let before = std::fs::read(&view).unwrap();
    for words in [&["verify"][..], &["doctor"]] {
        case.root.does(words);
        assert_eq!(std::fs::read(&view).unwrap(), before, "{words:?}");
    }
}

#[test]
fn an_accepted_rollback_is_told_from_then_on_whatever_was_left_to_know_of_it() {
    Case::each_loss(|what, case| {
        case.roll_back();
        case.root.does(&WHY);
        case.root.does(&["session", "open", "--agent", "later"]);
        let told = case.root.does(&["verify"]);
        let kept = &told["rollbacks_accepted"][0];
        assert_eq!(kept["reason"], "restored", "{what}: {told}");
        assert_eq!(kept["from"]["seq"], 2, "{what}: {told}");
    });
    // What only grew was not rolled back.
    let case = Case::new();
    let answer = case.root.run(&WHY);
    assert_eq!(
        (answer.exit, answer.error()),
        (Some(1), "nothing_rolled_back")
    );
    let told = case.root.does(&["verify"]);
    assert_eq!(told["rollbacks_accepted"], serde_json::json!([]));
}

#[test]
fn another_ledger_that_is_accepted_is_told_from_then_on() {
    let case = Case::new();
    let other = Machine::new();
    let maker = Person::at(&case.root.home, &other.project);
    maker.does(&["init"]);
    let other_id = other.id();
    std::fs::copy(other.file(), case.machine.file()).unwrap();
    let answer = case.root.run(&["head"]);
    assert_eq!((answer.exit, answer.error()), (Some(4), "other_ledger"));
    case.root.does(&WHY);
    case.root.does(&["session", "open", "--agent", "later"]);
    let told = case.root.does(&["verify"]);
    assert_eq!(told["ledger"], other_id.to_string());
    let kept = &told["rollbacks_accepted"][0];
    assert_eq!(kept["in_place_of"], case.id.to_string(), "{told}");
}

#[test]
fn a_list_of_own_files_that_cannot_be_believed_is_told_and_left_as_it_is() {
    for (what, lose) in LOSSES.into_iter().filter(|(what, _)| *what != "removed") {
        let case = Case::new();
        let elsewhere = case.machine.person("elsewhere").home;
        lose(&case.list());
        let before = std::fs::read(case.list()).unwrap();
        let file = case.machine.file();
        let named = ["--ledger", file.to_str().unwrap()];
        for words in COMMANDS {
            if ["verify", "doctor"].contains(&words[0]) {
                continue;
            }
            let mut command = case.root.command(&[&named, words].concat());
            let by_name = Answer::of(command.current_dir(&elsewhere).output().unwrap());
            for answer in [case.root.run(words), by_name] {
                // Nor is the log's one line a document of its own.
                assert_eq!(answer.exit, Some(5), "{what} {words:?}: {answer:?}");
                assert!(answer.json["error"]["next"].is_string(), "{what} {words:?}");
            }
        }
        let told = case.root.run(&["verify"]);
        let not_proven = told.json["not_proven"].to_string();
        assert!(
            not_proven.contains("which ledger files"),
            "{what}: {told:?}"
        );
        let told = case.root.run(&["doctor"]);
        assert_eq!(told.exit, Some(5), "{what}: {told:?}");
        for words in [&WHY[..], &["init"]] {
            let answer = case.root.run(words);
            assert_eq!(answer.exit, Some(5), "{what} {words:?}: {answer:?}");
        }
        assert_eq!(std::fs::read(case.list()).unwrap(), before, "{what}");
    }
}

#[test]
fn another_ledger_or_none_behind_a_list_that_cannot_be_believed_is_not_taken() {
    for (what, lose) in LOSSES.into_iter().filter(|(what, _)| *what != "removed") {
        let case = Case::new();
        let other = Machine::new();
        Person::at(&case.root.home, &other.project).does(&["init"]);
        std::fs::copy(other.file(), case.machine.file()).unwrap();
        lose(&case.list());
        for words in [&["head"][..], &["session", "open", "--agent", "x"]] {
            let answer = case.root.run(words);
            assert_eq!(answer.exit, Some(5), "{what} {words:?}: {answer:?}");
        }
    }
}

#[test]
fn pins_of_another_user_or_open_to_others_vouch_for_nobody() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let case = Case::new();
    let pins = case.root.folders().pins().unwrap();
    chmod(&pins, 0o620);
    let refused = |what: &str| {
        for words in [&["state"][..], &["session", "open", "--agent", "x"]] {
            let answer = case.root.run(words);
            assert_eq!(answer.exit, Some(5), "{what} {words:?}: {answer:?}");
            assert_eq!(answer.error(), "pins", "{what} {words:?}");
        }
        let answer = case.root.run(&["verify"]);
        assert_eq!(answer.exit, Some(3), "{what}: {answer:?}");
        assert_eq!(answer.json["signer"]["basis"], "unpinned", "{what}");
    };
    refused("open to others");
    chmod(&pins, 0o600);
    case.root.does(&["state"]);
    // Only the superuser can give a file away.
    if pins.metadata().unwrap().uid() == 0 {
        chown(&pins, Some(65_534), None).unwrap();
        refused("another user's");
    }
}
