//! Events that this machine verified cannot be taken away unnoticed: neither by another file, nor
//! by what is put beside it, nor with the view gone.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod machine;
#[path = "cli_support/tampering.rs"]
mod tampering;

use handoff_ledger::event::{AmbientDeclared, Body, Event};
use handoff_ledger::format;
use handoff_ledger::home::memory::Memory;
use handoff_ledger::store::{Read as _, Record};
use handoff_ledger::types::{Leaf, Seq};
use machine::{Machine, Person, head};
use rusqlite::Connection;
use std::path::PathBuf;
use tampering::{PAGE, journal, without_triggers};

/// A ledger of which an older copy was kept.
struct Case {
    machine: Machine,
    root: Person,
    old: Vec<u8>,
    old_head: String,
    head: String,
}

impl Case {
    fn new() -> Case {
        let (machine, root) = Machine::with_ledger();
        let session = root.opens("first");
        let old = std::fs::read(machine.file()).unwrap();
        let line = |root: &Person| {
            root.does(&["head"])["head"]["line"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let old_head = line(&root);
        for _ in 0..3 {
            root.does(&["--session", &session, "ambient", "--none"]);
        }
        let head = line(&root);
        assert_ne!(old_head, head);
        Case {
            machine,
            root,
            old,
            old_head,
            head,
        }
    }

    fn events(&self) -> i64 {
        let file = Connection::open(self.machine.file()).unwrap();
        file.query_row("SELECT count(*) FROM event", [], |row| row.get(0))
            .unwrap()
    }

    /// Demands that a rollback is told, by reading, writing and verifying, and nothing is written.
    fn is_noticed(&self, what: &str) {
        for words in [
            &["head"][..],
            &["state"],
            &["session", "open", "--agent", "x"],
            &["resume", "--agent", "y"],
        ] {
            let answer = self.root.run(words);
            assert_eq!(
                (answer.exit, answer.error()),
                (Some(4), "rollback"),
                "{what} {words:?}: {answer:?}"
            );
        }
        let answer = self.root.run(&["verify"]);
        assert_eq!(
            (answer.exit, &answer.json["result"]),
            (Some(4), &"tampered".into()),
            "{what}"
        );
        let named =
            [".handoff/ledger.db", self.machine.file().to_str().unwrap()].map(str::to_owned);
        let by_name = named.map(|file| self.root.run(&["verify", &file]));
        for answer in by_name.iter().chain([&answer]) {
            assert_eq!(answer.exit, Some(4), "{what}: {answer:?}");
            let faults = answer.json["faults"].as_array().unwrap();
            assert!(
                faults.iter().any(|it| it["kind"] == "rollback"),
                "{what}: {answer:?}"
            );
        }
        let out = self.machine.project.join("out.jsonl");
        let answer = self.root.run(&["export", "-o", out.to_str().unwrap()]);
        assert_eq!(
            (answer.exit, &answer.json["result"]),
            (Some(4), &"tampered".into()),
            "{what}"
        );
        std::fs::remove_file(out).unwrap();
    }

    fn view(&self) -> PathBuf {
        self.root.view(&self.machine.id())
    }

    /// Removes the view and what SQLite keeps beside it, but not what is remembered.
    fn lose_view(&self) {
        std::fs::remove_file(self.view()).unwrap();
    }
}

#[test]
fn an_older_file_is_a_rollback_with_the_view_there_and_with_it_gone() {
    let case = Case::new();
    std::fs::write(case.machine.file(), &case.old).unwrap();
    case.is_noticed("the view is there");
    case.lose_view();
    case.is_noticed("the view is gone");
    std::fs::write(case.view(), "no index").unwrap();
    case.is_noticed("the view is damaged");
    assert_eq!(std::fs::read(case.machine.file()).unwrap(), case.old);
}

#[test]
fn without_anything_remembered_the_end_is_told_as_not_proven() {
    let case = Case::new();
    std::fs::write(case.machine.file(), &case.old).unwrap();
    std::fs::remove_dir_all(case.view().parent().unwrap()).unwrap();
    let told = case.root.does(&["verify"]);
    let not_proven = told["not_proven"].to_string();
    assert!(not_proven.contains("not rolled back"), "{not_proven}");
    assert!(not_proven.contains("that it ends here"), "{not_proven}");
    assert_eq!(told["end"]["by"], "none");
}

/// Every command refuses it before it takes effect: ledger and journal stay as they are, and once
/// the journal is out of the way nothing is missing.
#[test]
fn a_forged_journal_takes_no_event_away() {
    let out = |case: &Case| case.machine.project.join("out.jsonl");
    for lose_view in [false, true] {
        let case = Case::new();
        let (file, forged) = (case.machine.file(), journal(&case.old));
        let (before, beside) = (std::fs::read(&file).unwrap(), case.machine.journal());
        // First: to know which view it is, the ledger is opened.
        if lose_view {
            case.lose_view();
        }
        std::fs::write(&beside, &forged).unwrap();
        for words in [
            &["head"][..],
            &["state"],
            &["session", "open", "--agent", "x"],
            &["resume", "--agent", "y"],
            &["doctor"],
            &["verify"],
            &["export", "-o", out(&case).to_str().unwrap()],
            &["acknowledge", "--rollback", "--reason", "z"],
        ] {
            let answer = case.root.run(words);
            // Nothing is accepted of a file beside which something lies.
            let accepting = words[0] == "acknowledge";
            let exit = if accepting { 3 } else { 4 };
            assert_eq!(answer.exit, Some(exit), "{words:?}: {answer:?}");
            let told = answer.json.to_string();
            // What an export falls short of is told by name of the result alone.
            let kind = told.contains("rollback") || words[0] == "export" || accepting;
            assert!(kind && told.contains("-journal"), "{words:?}: {told}");
            assert!(before == std::fs::read(&file).unwrap(), "{words:?}");
            assert!(forged == std::fs::read(&beside).unwrap(), "{words:?}");
        }
        let answer = case.root.run(&["head"]);
        assert_eq!(answer.error(), "rollback");
        assert!(
            answer.json["error"]["next"]
                .as_str()
                .unwrap()
                .contains("mv ")
        );
        std::fs::rename(&beside, beside.with_extension("kept")).unwrap();
        let told = case.root.does(&["verify"]);
        assert_eq!(told["head"]["line"], case.head, "nothing was lost");
    }
}

/// A real one is played back as ever: it takes back what nobody was told is recorded.
#[test]
fn a_journal_that_takes_back_no_verified_event_is_played_back() {
    let case = Case::new();
    let before = std::fs::read(case.machine.file()).unwrap();
    let mut torn = before.clone();
    // A transaction that got as far as writing to the file.
    torn.extend(vec![7; PAGE]);
    torn[PAGE..2 * PAGE].fill(9);
    std::fs::write(case.machine.file(), &torn).unwrap();
    std::fs::write(case.machine.journal(), journal(&before)).unwrap();
    case.root.does(&["head"]);
    assert!(!case.machine.journal().exists());
    assert!(before == std::fs::read(case.machine.file()).unwrap());
    let told = case.root.does(&["verify"]);
    assert_eq!(told["head"]["line"], case.head);
}

#[test]
fn a_reader_that_remembers_nothing_is_fooled_by_the_same_journal() {
    let case = Case::new();
    let before = case.events();
    std::fs::write(case.machine.journal(), journal(&case.old)).unwrap();
    let stranger = case.machine.person("stranger");
    let root = case.root.key().public().to_string();
    let told = stranger.does(&["--trust", &root, "verify"]);
    assert_eq!(told["result"], "verified", "the control");
    assert!(case.events() < before);
}

#[test]
fn a_log_beside_the_ledger_is_refused_by_reading_and_writing_and_left_alone() {
    let case = Case::new();
    let file = std::fs::read(case.machine.file()).unwrap();
    let wal = case.machine.file().with_extension("db-wal");
    std::fs::write(&wal, [7; 64]).unwrap();
    for words in [&["head"][..], &["session", "open", "--agent", "x"]] {
        let answer = case.root.run(words);
        assert_eq!(
            (answer.exit, answer.error()),
            (Some(4), "sidecar"),
            "{answer:?}"
        );
    }
    let answer = case.root.run(&["verify"]);
    assert_eq!(
        (answer.exit, &answer.json["result"]),
        (Some(3), &"incomplete".into())
    );
    assert_eq!(std::fs::read(&wal).unwrap(), [7; 64]);
    assert_eq!(std::fs::read(case.machine.file()).unwrap(), file);
}

#[test]
fn a_rollback_is_acknowledged_by_who_trusts_the_root_and_its_reason_is_kept() {
    let case = Case::new();
    std::fs::write(case.machine.file(), &case.old).unwrap();
    let why = [
        "acknowledge",
        "--rollback",
        "--reason",
        "disk died, restored",
    ];
    let refused = case
        .root
        .run(&[&["--expect", &case.head], &why[..]].concat());
    assert_eq!(
        (refused.exit, refused.error()),
        (Some(4), "expect"),
        "{refused:?}"
    );
    let key = case.root.key().public().to_string();
    case.root.does(&["trust", "remove", &key]);
    let refused = case.root.run(&why);
    assert_eq!(
        (refused.exit, refused.error()),
        (Some(3), "unpinned_root"),
        "{refused:?}"
    );
    case.is_noticed("nothing was accepted");
    let accept = ["--trust", &key, "--expect", &case.old_head];
    case.root.does(&[&accept, &why[..]].concat());
    case.root.does(&["trust", "add", &key]);
    let told = case.root.does(&["verify"]);
    assert_eq!(told["result"], "verified");
    let kept = &told["rollbacks_accepted"][0];
    assert_eq!(kept["reason"], "disk died, restored");
    assert!(kept["from"]["seq"].as_u64() > kept["to"]["seq"].as_u64());
    // It survives the view, and what is written after.
    case.root.does(&["session", "open", "--agent", "later"]);
    case.lose_view();
    let told = case.root.does(&["verify"]);
    assert_eq!(told["rollbacks_accepted"][0], *kept);
    assert_eq!(told["end"]["proven"], true);
}

#[test]
fn a_tampered_file_is_not_accepted_as_a_rollback() {
    let case = Case::new();
    let mut old = case.old.clone();
    let at = old.windows(5).position(|it| it == b"first").unwrap();
    old[at] = b'F';
    std::fs::write(case.machine.file(), &old).unwrap();
    let why = ["acknowledge", "--rollback", "--reason", "whatever"];
    let refused = case.root.run(&why);
    assert_eq!(refused.exit, Some(4), "{refused:?}");
    std::fs::write(case.machine.file(), &case.old).unwrap();
    case.is_noticed("nothing was accepted");
}

#[test]
fn another_ledger_in_its_place_is_told_until_it_is_accepted() {
    let case = Case::new();
    let other = Machine::new();
    let same_key = other.person("same-key");
    let keys = same_key.folders().keys().unwrap();
    std::fs::create_dir_all(&keys).unwrap();
    for entry in std::fs::read_dir(case.root.folders().keys().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, keys.join(path.file_name().unwrap())).unwrap();
    }
    same_key.does(&["init"]);
    std::fs::copy(other.file(), case.machine.file()).unwrap();
    for words in [&["head"][..], &["session", "open", "--agent", "x"]] {
        let answer = case.root.run(words);
        assert_eq!(
            (answer.exit, answer.error()),
            (Some(4), "other_ledger"),
            "{answer:?}"
        );
    }
    let answer = case.root.run(&["verify"]);
    assert_eq!(
        (answer.exit, &answer.json["result"]),
        (Some(4), &"tampered".into())
    );
    assert_eq!(answer.json["faults"][0]["kind"], "other_ledger");
    let key = case.root.key().public().to_string();
    let why = ["acknowledge", "--rollback", "--reason", "moved"];
    case.root.does(&[&["--trust", &key], &why[..]].concat());
    case.root.does(&["head"]);
    // A ledger that is made anew where one was removed is no surprise, if that is what was meant.
    std::fs::remove_dir_all(case.machine.project.join(".handoff")).unwrap();
    case.root.does(&["init", "--anew"]);
    case.root.does(&["head"]);
}

#[test]
fn what_was_replaced_below_the_head_is_not_trusted_because_something_was_appended() {
    let case = Case::new();
    let session = Seq(1);
    let (last, _) = head(&case.root.does(&["head"]));
    let victim = Seq(last.0 - 1);
    let store = case.machine.store();
    let before = store.get(Seq(victim.0 - 1)).unwrap().unwrap().leaf();
    drop(store);
    // Validly signed by the right key, and at its place: only the next event's prev tells.
    let event = Event {
        seq: victim,
        prev: before,
        key: case.root.key().public(),
        session,
        time: "2026-01-01T00:00:00.000Z".parse().unwrap(),
        body: Body::from(AmbientDeclared {
            entries: Vec::new(),
        }),
    };
    let bytes = format::encode(&event).unwrap();
    let forged = Record([case.root.key().sign(&bytes).as_slice(), &bytes].concat());
    replace(&case.machine, victim, &forged);
    // Appending does not look at it.
    let other = case
        .machine
        .person("other")
        .make_key(9)
        .public()
        .to_string();
    let appended = case
        .root
        .run(&["key", "authorize", &other, "--label", "other"]);
    assert_eq!(appended.exit, Some(0), "{appended:?}");
    let answer = case.root.run(&["verify"]);
    assert_eq!(
        (answer.exit, &answer.json["result"]),
        (Some(4), &"tampered".into())
    );
    assert_eq!(answer.json["faults"][0]["seq"], victim.next().0);
    assert_eq!(answer.json["events"], victim.0 + 1);
    // Whoever reads it through the view finds another leaf there.
    for words in [
        &["log"][..],
        &["show", &victim.to_string()],
        &["state", "--at", "5"],
    ] {
        let answer = case.root.run(words);
        assert_eq!(answer.exit, Some(4), "{words:?}: {answer:?}");
    }
    // And a view that is built anew comes to the broken link.
    case.lose_view();
    for words in [&["head"][..], &["resume", "--agent", "x"]] {
        let answer = case.root.run(words);
        assert_eq!(
            (answer.exit, answer.error()),
            (Some(4), "link"),
            "{answer:?}"
        );
    }
}

/// Replaces a record behind the triggers' back, and leaves the schema as it was.
fn replace(machine: &Machine, seq: Seq, record: &Record) {
    let row = i64::try_from(seq.0).unwrap();
    let changed = without_triggers(&machine.file(), |file| {
        let sql = "UPDATE event SET record = ?2 WHERE seq = ?1";
        file.execute(sql, (row, &record.0)).unwrap()
    });
    assert_eq!(changed, 1);
}

#[test]
fn an_own_ledger_of_which_nothing_is_left_is_a_rollback() {
    let case = Case::new();
    without_triggers(&case.machine.file(), |file| {
        file.execute("DELETE FROM event", []).unwrap()
    });
    let file = case.machine.file();
    let accept = ["acknowledge", "--rollback", "--reason", "gone"];
    for words in [
        &["head"][..],
        &["state"],
        &["session", "open", "--agent", "x"],
        &["export", "-o", "out.jsonl"],
        &accept,
    ] {
        let answer = case.root.run(words);
        let told = (answer.exit, answer.error());
        assert_eq!(told, (Some(4), "rollback"), "{words:?}: {answer:?}");
    }
    for words in [&["verify"][..], &["verify", file.to_str().unwrap()]] {
        let answer = case.root.run(words);
        let told = (answer.exit, &answer.json["faults"][0]["kind"]);
        assert_eq!(told, (Some(4), &"rollback".into()), "{answer:?}");
    }
    // The control: to who never had it, it is empty.
    let answer = case.machine.person("stranger").run(&["verify"]);
    assert_eq!(answer.json["result"], "empty", "{answer:?}");
}

#[test]
fn what_is_remembered_and_cannot_be_read_is_told_until_it_is_acknowledged() {
    let case = Case::new();
    let why = |reason| ["acknowledge", "--rollback", "--reason", reason];
    std::fs::write(case.machine.file(), &case.old).unwrap();
    case.root.does(&why("disk died"));
    let seen = case.view().with_extension("seen");
    for text in ["", "{}", "not json"] {
        std::fs::write(&seen, text).unwrap();
        // The view still knows: work goes on, nothing is replaced, and it is told.
        case.root.does(&["session", "open", "--agent", "x"]);
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), text);
        let told = case.root.does(&["verify"])["not_proven"].to_string();
        assert!(told.contains("cannot be read"), "{told}");
        let newest = std::fs::read(case.machine.file()).unwrap();
        std::fs::write(case.machine.file(), &case.old).unwrap();
        assert_eq!(case.root.run(&["head"]).error(), "rollback", "by the view");
        std::fs::write(case.machine.file(), newest).unwrap();
    }
    case.lose_view();
    for words in [&["head"][..], &["session", "open", "--agent", "y"]] {
        let answer = case.root.run(words);
        let told = (answer.exit, answer.error());
        assert_eq!(told, (Some(5), "memory"), "{answer:?}");
        let next = answer.json["error"]["next"].as_str().unwrap();
        assert!(next.contains("acknowledge --rollback"), "{next}");
    }
    case.root.does(&why("memory lost"));
    let kept = case.root.does(&["verify"])["rollbacks_accepted"][0].clone();
    assert_eq!(kept["reason"], "memory lost");
    assert!(kept["from"].is_null(), "{kept}");
    case.root.does(&["head"]);
}

#[test]
fn what_a_power_cut_leaves_of_the_last_heads_refuses_nothing() {
    let case = Case::new();
    let recent = case.view().with_extension("recent");
    for left in ["", "\0\0\0\0"] {
        std::fs::write(&recent, left).unwrap();
        case.lose_view();
        case.root.does(&["session", "open", "--agent", "x"]);
        assert_ne!(std::fs::read_to_string(&recent).unwrap(), left);
    }
    std::fs::write(&recent, "no cut leaves this").unwrap();
    case.lose_view();
    let answer = case.root.run(&["head"]);
    assert_eq!((answer.exit, answer.error()), (Some(5), "memory"));
    let why = ["acknowledge", "--rollback", "--reason", "it was garbled"];
    case.root.does(&why);
    case.root.does(&["head"]);
}

#[test]
fn only_an_own_ledger_is_accepted_after_a_rollback_and_only_if_it_is_whole() {
    let case = Case::new();
    let copy = case.machine.project.join("copy.db");
    std::fs::write(&copy, &case.old).unwrap();
    let accept = ["acknowledge", "--rollback", "--reason", "whatever"];
    let named = ["--ledger", copy.to_str().unwrap()];
    let answer = case.root.run(&[&named[..], &accept].concat());
    assert_eq!((answer.exit, answer.error()), (Some(1), "not_own"));
    assert_eq!(std::fs::read(&copy).unwrap(), case.old);
    std::fs::write(case.machine.file(), &case.old).unwrap();
    let wal = case.machine.file().with_extension("db-wal");
    std::fs::write(&wal, [7; 64]).unwrap();
    let answer = case.root.run(&accept);
    assert_eq!((answer.exit, answer.error()), (Some(3), "incomplete"));
    std::fs::remove_file(wal).unwrap();
    case.is_noticed("nothing was accepted");
}

#[test]
fn a_view_of_another_program_is_built_anew() {
    let case = Case::new();
    let view = case.view();
    let version = || -> i64 {
        let file = Connection::open(&view).unwrap();
        file.pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap()
    };
    let current = version();
    // Another program judged that event 1 is refused.
    let file = Connection::open(&view).unwrap();
    let lie = "PRAGMA user_version = 77; UPDATE event SET refused = 'role' || char(10) || 'no'";
    file.execute_batch(lie).unwrap();
    drop(file);
    let shown = case.root.does(&["show", "1"]);
    assert_eq!(shown["refused"], serde_json::Value::Null);
    assert_eq!(version(), current);
    // The control: the same under this program's own version is taken at its word.
    let file = Connection::open(&view).unwrap();
    let lie = "UPDATE event SET refused = 'role' || char(10) || 'no' WHERE seq = 1";
    file.execute_batch(lie).unwrap();
    drop(file);
    assert_eq!(case.root.does(&["show", "1"])["refused"]["rule"], "role");
}

#[test]
fn the_leaf_that_is_remembered_is_the_head() {
    let case = Case::new();
    let memory = Memory::of(&case.root.folders(), &case.machine.id()).unwrap();
    let remembered = memory.read().unwrap().unwrap().head;
    let (seq, hash) = head(&case.root.does(&["head"]));
    assert_eq!(remembered.seq, seq);
    assert_eq!(remembered.leaf.to_string(), hash);
    assert_ne!(hash, Leaf::ZERO.to_string());
}
