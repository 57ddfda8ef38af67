//! A file that somebody handed over, in every command that reads: it is answered from what was
//! verified, told as what it is, and left as it was; nothing is kept of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "cli_support/forge.rs"]
mod forge;
mod machine;

use handoff_ledger::store::sqlite::SqliteLedger;
use handoff_ledger::store::{Record, Store as _, Transaction};
use handoff_ledger::types::Seq;
use handoff_ledger::verify::{Basis, Outside, Verification, Verifier};
use machine::{Answer, Handed, Machine, Person};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long any answer about a small file may take before it counts as hung.
const HANG: Duration = Duration::from_secs(60);

/// A ledger of somebody's, and an auditor elsewhere who is handed a copy.
struct Case {
    machine: Machine,
    owner: Person,
    auditor: Person,
    /// Where the copy is.
    folder: PathBuf,
    file: PathBuf,
    root: String,
}

impl Case {
    fn new() -> Case {
        let (machine, owner) = Machine::with_ledger();
        owner.opens("first");
        owner.concludes_good();
        owner.does(&["ambient", "--none"]);
        owner.does(&["seal"]);
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
        }
    }

    /// A command of the auditor, in the folder of the copy.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.auditor.command(words);
        command.current_dir(&self.folder);
        command
    }

    /// The same about the copy, and the time it may take.
    fn asks(&self, options: &[&str], words: &[&str]) -> Answer {
        let named = ["--ledger", "copy.db"];
        let began = Instant::now();
        let answer = self.command(&[&named, options, words].concat()).output();
        assert!(began.elapsed() < HANG, "{words:?}");
        Answer::of(answer.unwrap())
    }

    /// Every file of the folder, and its bytes.
    fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        files
            .map(|path| (path.clone(), std::fs::read(path).unwrap_or_default()))
            .collect()
    }

    /// Changes the copy's bytes wherever they spell `from`.
    fn alter(&self, from: &str, to: &str) {
        assert_eq!(from.len(), to.len());
        let mut bytes = std::fs::read(&self.file).unwrap();
        let at = (0..bytes.len() - from.len()).find(|at| bytes[*at..].starts_with(from.as_bytes()));
        let at = at.unwrap();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        std::fs::write(&self.file, bytes).unwrap();
    }

    fn export_to(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        self.owner
            .does(&["export", "--captures", "-o", path.to_str().unwrap()]);
        path
    }
}

/// The commands that read, and whether they decide rather than show.
const READING: [(&[&str], bool); 9] = [
    (&["log"], false),
    (&["show", "1"], false),
    (&["state"], false),
    (&["state", "--at", "1"], false),
    (&["head"], false),
    (&["brief"], false),
    (&["session", "list"], false),
    (&["key", "list"], false),
    (&["can", "good", "--session", "1"], true),
];

/// What the answer says of the file: the member of its one document, or the log's first line.
fn integrity(words: &[&str], answer: &Answer, stdout: &str) -> Value {
    if words == ["log"] {
        let first: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
        return first["integrity"].clone();
    }
    answer.json["integrity"].clone()
}

#[test]
fn every_reading_command_says_what_the_file_is_and_leaves_no_trace() {
    for (name, result, show, decide) in [
        ("whole", "verified", 0, 1),
        ("unpinned", "self_consistent", 0, 3),
        ("altered", "tampered", 4, 4),
        ("expected", "tampered", 4, 4),
        ("journal", "incomplete", 3, 3),
        ("wal", "incomplete", 3, 3),
    ] {
        let case = Case::new();
        let other = format!("handoff1:{}:1:{}", "0".repeat(12), "0".repeat(64));
        let trust = ["--trust", &case.root];
        let expect = ["--trust", &case.root, "--expect", &other];
        let options: &[&str] = match name {
            "unpinned" => &[],
            "expected" => &expect,
            _ => &trust,
        };
        match name {
            "altered" => case.alter("it is good", "it is evil"),
            "journal" => std::fs::write(case.folder.join("copy.db-journal"), "x").unwrap(),
            "wal" => std::fs::write(case.folder.join("copy.db-wal"), "x").unwrap(),
            _ => {}
        }
        let before = case.snapshot();
        for (words, decides) in READING {
            let named = [&["--ledger", "copy.db"], options, words].concat();
            let output = case.command(&named).output().unwrap();
            let stdout = String::from_utf8(output.stdout.clone()).unwrap();
            let answer = Answer::of(output);
            let wanted = if decides { decide } else { show };
            assert_eq!(answer.exit, Some(wanted), "{name} {words:?}: {answer:?}");
            let found = integrity(words, &answer, &stdout);
            if decides && wanted != 1 {
                assert!(!answer.error().is_empty(), "{name} {words:?}: {answer:?}");
            } else {
                assert_eq!(found["result"], result, "{name} {words:?}");
                assert!(!found["not_proven"].as_array().unwrap().is_empty());
            }
            let loud = result == "verified" || answer.stderr.contains("WARNING");
            assert!(loud, "{name} {words:?}: {}", answer.stderr);
            assert!(answer.stderr.contains("evidence"), "{name} {words:?}");
        }
        assert_eq!(case.snapshot(), before, "{name}");
        let state = case.auditor.home.join(".local/state");
        assert!(!state.exists(), "{name}: nothing is kept of evidence");
    }
}

#[test]
fn evidence_answers_as_its_owner_would_were_the_moment_the_same() {
    let case = Case::new();
    let text = case.export_to("copy.jsonl");
    let trust = ["--trust", &case.root];
    for words in [&["state", "--at", "5"][..], &["show", "3"], &["show", "5"]] {
        let own = case.owner.does(words);
        for file in [&case.file, &text] {
            let named = ["--ledger", file.to_str().unwrap()];
            let answer = case.command(&[&named, &trust[..], words].concat()).output();
            let mut found = Answer::of(answer.unwrap()).json;
            let members = found.as_object_mut().unwrap();
            assert_eq!(members.remove("integrity").unwrap()["result"], "verified");
            assert_eq!(found, own, "{words:?} of {}", file.display());
        }
    }
    for file in ["copy.db", "copy.jsonl"] {
        let answer = case
            .command(&[
                "--ledger",
                file,
                "export",
                "--captures",
                "-o",
                "again.jsonl",
            ])
            .output();
        assert_eq!(Answer::of(answer.unwrap()).exit, Some(0));
        let again = case.folder.join("again.jsonl");
        assert_eq!(
            std::fs::read(&again).unwrap(),
            std::fs::read(&text).unwrap()
        );
        std::fs::remove_file(again).unwrap();
    }
    case.alter("it is good", "it is evil");
    let answer = case.asks(&[], &["export", "-o", "part.jsonl"]);
    assert_eq!(answer.exit, Some(4), "{answer:?}");
    assert_eq!(answer.json["result"], "tampered");
    let again = case.command(&["verify", "part.jsonl"]).output().unwrap();
    assert_eq!(Answer::of(again).json["result"], "self_consistent");
}

#[test]
fn a_file_is_own_if_it_is_found_upward_made_imported_or_written_to() {
    let case = Case::new();
    let is_own = |person: &Person, folder: &Path, file: &Path| {
        let mut command = person.command(&["--ledger", file.to_str().unwrap(), "head"]);
        let answer = Answer::of(command.current_dir(folder).output().unwrap());
        assert_eq!(answer.exit, Some(0), "{answer:?}");
        answer.json["integrity"].is_null()
    };
    let (home, project) = (&case.folder, &case.machine.project);
    let ledger = case.machine.file();
    assert!(is_own(&case.owner, home, &ledger), "it made it");
    assert!(
        !is_own(&case.owner, home, &case.file),
        "a copy is another file"
    );
    assert!(!is_own(&case.auditor, home, &ledger), "somebody else's");
    assert!(
        is_own(&case.auditor, project, &ledger),
        "found upward as well"
    );
    let link = case.folder.join("link.db");
    std::os::unix::fs::symlink(&ledger, &link).unwrap();
    assert!(
        is_own(&case.owner, home, &link),
        "a link is what it leads to"
    );

    // Importing makes a file one's own.
    let text = case.export_to("copy.jsonl");
    let imported = case.folder.join("imported.db");
    let words = [
        "import",
        text.to_str().unwrap(),
        "--to",
        imported.to_str().unwrap(),
    ];
    assert_eq!(case.auditor.run(&words).exit, Some(0));
    assert!(is_own(&case.auditor, home, &imported));

    // So does writing, which is done to nothing that is not whole or whose root nobody vouches for.
    let write = ["--ledger", "copy.db", "session", "open", "--agent", "x"];
    let owner = |words: &[&str]| {
        let mut command = case.owner.command(words);
        Answer::of(command.current_dir(home).output().unwrap())
    };
    std::fs::write(case.folder.join("copy.db-journal"), "x").unwrap();
    let before = case.snapshot();
    assert_eq!(owner(&write).error(), "incomplete");
    let written = case.command(&write).output().unwrap();
    assert_eq!(Answer::of(written).error(), "incomplete");
    assert_eq!(case.snapshot(), before, "what lies beside is not followed");
    std::fs::remove_file(case.folder.join("copy.db-journal")).unwrap();
    let refused = Answer::of(case.command(&write).output().unwrap());
    assert_eq!((refused.exit, refused.error()), (Some(3), "unpinned_root"));
    assert!(!is_own(&case.owner, home, &case.file));
    assert_eq!(owner(&write).exit, Some(0));
    assert!(is_own(&case.owner, home, &case.file));
}

/// What a reader makes of a file that compares neither header nor schema: the control.
fn naively(file: &Path) -> (u64, Verification) {
    let file = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut rows = file
        .prepare("SELECT seq, record FROM event ORDER BY seq")
        .unwrap();
    let rows = rows.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
    });
    let mut verifier = Verifier::new(Outside::default());
    for (seq, bytes) in rows.unwrap().map(Result::unwrap) {
        let Record(bytes) = Record(bytes);
        verifier.record(Seq(seq.try_into().unwrap()), &bytes);
    }
    let report = verifier.finish(Basis::Pinned);
    (report.events, report.result)
}

#[test]
fn a_schema_or_a_header_that_no_ledger_has_is_refused_where_a_naive_reader_is_fooled() {
    let case = Case::new();
    let whole = std::fs::read(&case.file).unwrap();
    let (events, result) = naively(&case.file);
    assert_eq!(result, Verification::Verified);
    let verify = ["verify", "copy.db", "--trust", &case.root];
    let answer = Answer::of(case.command(&verify).output().unwrap());
    assert_eq!(answer.json["result"], "verified");

    // A view that shows the first four events only, as a table would.
    let file = Connection::open(&case.file).unwrap();
    file.execute_batch(
        "ALTER TABLE event RENAME TO hidden;
         CREATE VIEW event AS SELECT seq, record FROM hidden WHERE seq < 4",
    )
    .unwrap();
    drop(file);
    assert_eq!(
        naively(&case.file),
        (4, Verification::Verified),
        "the control is fooled"
    );
    let answer = Answer::of(case.command(&verify).output().unwrap());
    assert_eq!(
        (answer.exit, &answer.json["result"]),
        (Some(4), &"tampered".into())
    );
    assert_eq!(answer.json["faults"][0]["kind"], "schema");

    // Fields of the header that SQLite reads past.
    let mut fooled = 0;
    for at in (20..24).chain(44..56).chain(64..68).chain(72..92) {
        let mut altered = whole.clone();
        altered[at] ^= 1;
        std::fs::write(&case.file, &altered).unwrap();
        let naive = Connection::open(&case.file).unwrap();
        let count = naive.query_row("SELECT count(*) FROM event", [], |row| row.get::<_, i64>(0));
        fooled += u64::from(count.is_ok_and(|count| u64::try_from(count) == Ok(events)));
        drop(naive);
        std::fs::write(&case.file, &altered).unwrap();
        let answer = Answer::of(case.command(&verify).output().unwrap());
        assert_eq!(answer.exit, Some(4), "byte {at}: {answer:?}");
        assert_eq!(answer.json["faults"][0]["kind"], "storage", "byte {at}");
    }
    assert!(
        fooled > 20,
        "the control reads {fooled} of them without a word"
    );
}

#[test]
fn the_walk_goes_on_behind_pages_that_cannot_be_read() {
    let case = Case::new();
    let owner = |words: &[&str]| case.owner.does(words);
    let session = case.owner.opens("long");
    for _ in 0..60 {
        owner(&["--session", &session, "ambient", "--none"]);
    }
    std::fs::copy(case.machine.file(), &case.file).unwrap();
    let whole = std::fs::read(&case.file).unwrap();
    let verify = ["verify", "copy.db", "--trust", &case.root];
    let answer = Answer::of(case.command(&verify).output().unwrap());
    let records = answer.json["records"].as_u64().unwrap();
    let events_on = |needle: &str| {
        (0..whole.len() - needle.len())
            .find(|at| whole[*at..].starts_with(needle.as_bytes()))
            .unwrap()
    };
    // The page of an early event is torn, and the signature of the last one is another.
    let page = events_on("\"seq\":3,") / 16_384 * 16_384;
    let last = events_on(&format!("\"seq\":{},", records - 1));
    assert!(last / 16_384 * 16_384 != page, "they are on two pages");
    let mut altered = whole;
    altered[page..page + 8].fill(0xff);
    altered[last] ^= 1;
    std::fs::write(&case.file, &altered).unwrap();
    let answer = Answer::of(case.command(&verify).output().unwrap());
    assert_eq!(
        (answer.exit, &answer.json["result"]),
        (Some(4), &"tampered".into())
    );
    let faults = answer.json["faults"].as_array().unwrap();
    let kinds: Vec<&str> = faults
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"storage"), "{kinds:?}");
    let at_last = faults.iter().any(|it| it["seq"] == records - 1);
    assert!(at_last, "the walk got to event {}: {faults:?}", records - 1);
}

/// Names that some programs take for something else.
const ODD_NAMES: [&[u8]; 8] = [
    b"a\nb.db",
    b"a?mode=memory",
    b"a#b.db",
    b"a%00b.db",
    b"-x.db",
    b":memory:",
    b"file:x.db?mode=memory",
    b"\xff\xfe.db",
];

#[test]
fn a_path_is_a_file_whatever_it_looks_like() {
    let case = Case::new();
    let head = case.owner.does(&["head"])["head"]["line"].clone();
    for name in ODD_NAMES {
        let name = OsStr::from_bytes(name);
        let file = case.folder.join(name);
        std::fs::copy(&case.file, &file).unwrap();
        for words in [&["head"][..], &["state"]] {
            let mut command = case.command(&["--trust", &case.root]);
            command.args(words).arg("--ledger").arg(&file);
            let answer = Answer::of(command.output().unwrap());
            if name.to_str().is_none() && answer.exit == Some(2) {
                continue;
            }
            assert_eq!(answer.exit, Some(0), "{name:?} {words:?}: {answer:?}");
            assert_eq!(answer.json["integrity"]["head"]["line"], head, "{name:?}");
        }
        let mut command = case.command(&["verify", "--trust", &case.root, "--"]);
        let answer = Answer::of(command.arg(name).output().unwrap());
        let is_refused = name.to_str().is_none() && answer.exit == Some(2);
        assert!(is_refused || answer.exit == Some(0), "{name:?}: {answer:?}");
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(case.snapshot().len(), 1, "nothing was made beside");
    let answer = Answer::of(case.command(&["--ledger", "", "head"]).output().unwrap());
    assert_eq!(answer.exit, Some(2), "{answer:?}");
}

#[test]
fn what_is_no_regular_file_is_refused_at_once_and_nothing_is_written_there() {
    let case = Case::new();
    let at = |name: &str| case.folder.join(name);
    let made = Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    std::fs::write(at("empty"), "").unwrap();
    std::fs::write(at("text"), "some notes\n").unwrap();
    let claims = ["claim", "x", "y", "--needs", "os", "--", "true"];
    for name in [
        "pipe",
        "socket",
        "folder",
        "empty",
        "text",
        "/dev/zero",
        "absent",
    ] {
        for words in [
            &["head"][..],
            &["log"],
            &["export", "-o", "out.jsonl"],
            &["resume", "--agent", "x"],
            &claims,
        ] {
            let began = Instant::now();
            let named = ["--ledger", name];
            let output = case.command(&[&named, words].concat()).output().unwrap();
            let answer = Answer::of(output);
            assert_eq!(answer.exit, Some(5), "{name} {words:?}: {answer:?}");
            assert!(began.elapsed() < HANG, "{name} {words:?}");
        }
        let answer = Answer::of(case.command(&["verify", name]).output().unwrap());
        assert_eq!(
            (answer.exit, &answer.json["result"]),
            (Some(5), &"error".into()),
            "{name}"
        );
    }
    assert_eq!(std::fs::read(at("empty")).unwrap(), b"");
    assert!(!at("out.jsonl").exists() && !at("absent").exists());
}

#[test]
fn a_ledger_of_two_names_is_read_as_evidence_and_not_written() {
    let case = Case::new();
    std::fs::hard_link(&case.file, case.folder.join("again.db")).unwrap();
    let trust = ["--trust", case.root.as_str()];
    assert_eq!(case.asks(&trust, &["state"]).exit, Some(0));
    let mut command = case
        .owner
        .command(&["--ledger", "copy.db", "session", "open"]);
    command.args(["--agent", "x"]).current_dir(&case.folder);
    let answer = Answer::of(command.output().unwrap());
    assert_eq!(
        (answer.exit, answer.error()),
        (Some(5), "not_a_ledger"),
        "{answer:?}"
    );
}

#[test]
fn a_medium_that_cannot_be_written_to_is_read_all_the_same() {
    let case = Case::new();
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(&case.file, read_only).unwrap();
    std::fs::set_permissions(&case.folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let trust = ["--trust", case.root.as_str()];
    let before = case.snapshot();
    for (words, decides) in READING {
        let wanted = Some(i32::from(decides));
        assert_eq!(case.asks(&trust, words).exit, wanted, "{words:?}");
    }
    assert_eq!(case.snapshot(), before);
    std::fs::set_permissions(&case.folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_pages_of_the_own_ledger_are_looked_at_too() {
    let case = Case::new();
    assert_eq!(case.owner.does(&["verify"])["result"], "verified");
    // A page that no row is on: the root of the table of captures gets a torn cell.
    let file = Connection::open(case.machine.file()).unwrap();
    let page: i64 = file
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'capture'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    drop(file);
    let mut bytes = std::fs::read(case.machine.file()).unwrap();
    let at = usize::try_from(page - 1).unwrap() * 16_384;
    // Its count of free bytes says what is not so (SQLite file format, section 1.6).
    bytes[at + 7] ^= 0x3f;
    std::fs::write(case.machine.file(), bytes).unwrap();
    let answer = case.owner.run(&["verify"]);
    assert_eq!(answer.exit, Some(4), "{answer:?}");
    assert_eq!(answer.json["faults"][0]["kind"], "storage");
}

/// What this machine keeps of a person's ledgers: every file of the state folder, but for locks.
fn kept(person: &Person) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = person.home.join(".local/state/handoff");
    let mut kept = BTreeMap::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(kept.insert(path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    kept
}

/// The same key and pins on another machine.
fn twin_of(case: &Case) -> Person {
    let twin = case.machine.person("twin");
    for folder in [".local/share", ".config"] {
        let to = twin.home.join(folder);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        let copied = Command::new("cp")
            .arg("-r")
            .args([case.owner.home.join(folder), to])
            .status();
        assert!(copied.unwrap().success());
    }
    twin
}

#[test]
fn what_is_only_read_in_another_file_or_refused_there_changes_nothing_that_is_remembered() {
    let case = Case::new();
    let named = ["--ledger", case.file.to_str().unwrap()];
    let on_copy = |who: &Person, words: &[&str]| who.run(&[&named[..], words].concat());
    let twin = twin_of(&case);
    let open = ["session", "open", "--agent", "twin"];
    let session = on_copy(&twin, &open).json["session"].to_string();
    let before = kept(&case.owner);
    let copy = case.snapshot();
    let retract = ["--session", &session, "retract", "nosuch", "--reason", "x"];
    for (words, exit) in [
        (&retract[..], 1),
        (&["checkpoint"], 0),
        (&["prove", "1"], 0),
        (&["doctor"], 0),
        (&["--session", &session, "reverify", "--dry-run"], 0),
        (&["resume", "--agent", "x", "--dry-run"], 0),
        (&["session", "abandon", "77", "--reason", "x"], 1),
        (&["verify"], 0),
    ] {
        let answer = on_copy(&case.owner, words);
        assert_eq!(answer.exit, Some(exit), "{words:?}: {answer:?}");
        assert_eq!(kept(&case.owner), before, "{words:?}");
        assert_eq!(case.owner.run(&["head"]).exit, Some(0), "{words:?}");
    }
    assert_eq!(case.snapshot(), copy);
    // The control: what was written to is this machine's own, and is remembered.
    assert_eq!(on_copy(&case.owner, &open).exit, Some(0));
    assert_ne!(kept(&case.owner), before);
    assert_eq!(case.owner.run(&["head"]).error(), "rollback");
    assert_eq!(on_copy(&case.owner, &["head"]).exit, Some(0));
}

#[test]
fn what_else_is_wrong_does_not_hide_that_a_file_is_incomplete() {
    let case = Case::new();
    let trust = ["--trust", case.root.as_str()];
    // An event that the rules refuse, and a journal beside.
    let forger = forge::Forger::of(&case.file);
    let seal = forger.newest("session.sealed");
    forger.append(&case.owner.key(), seal.session, seal.body);
    drop(forger);
    let can = ["can", "good", "--session", "1"];
    let answer = case.asks(&trust, &can);
    assert_eq!(
        answer.json["integrity"]["result"], "unlawful",
        "the control"
    );
    std::fs::write(case.folder.join("copy.db-journal"), "x").unwrap();
    let before = case.snapshot();
    let write = ["session", "open", "--agent", "x"];
    for words in [&can[..], &write, &["checkpoint"]] {
        let answer = case.asks(&trust, words);
        let told = (answer.exit, answer.error());
        assert_eq!(told, (Some(3), "incomplete"), "{words:?}: {answer:?}");
    }
    let own = case.machine.file();
    for words in [
        &["state"][..],
        &["export", "-o", "part.jsonl"],
        &["compare", "copy.db", own.to_str().unwrap()],
    ] {
        let answer = case.asks(&trust, words);
        assert_eq!(answer.exit, Some(3), "{words:?}: {answer:?}");
    }
    std::fs::remove_file(case.folder.join("part.jsonl")).unwrap();
    assert_eq!(case.snapshot(), before, "the journal was not played back");
}

#[test]
fn a_chain_whose_first_event_is_refused_is_trusted_by_nobody() {
    let case = Case::new();
    let key = case.owner.key();
    let forger = forge::Forger::of(&case.file);
    let first = forger.newest("ledger.opened");
    drop(forger);
    // The opening of a ledger is of no session.
    let forged = handoff_ledger::event::Event {
        session: Seq(5),
        ..first
    };
    let record = Record(forge::signed(&key, &forged));
    let file = case.folder.join("forged.db");
    let begin = |ledger: &mut SqliteLedger| {
        ledger.transact(|tx: &mut dyn Transaction| tx.append(std::slice::from_ref(&record), &[]))
    };
    drop(SqliteLedger::create(&file, machine::PATIENCE, begin).unwrap());
    let named = ["--ledger", "forged.db", "--trust", &case.root];
    let asks = |folder: &Path, words: &[&str]| {
        let mut command = case.auditor.command(words);
        Answer::of(command.current_dir(folder).output().unwrap())
    };
    for words in [
        &["can", "good", "--session", "1"][..],
        &["session", "open", "--agent", "x"],
        &["checkpoint"],
    ] {
        let answer = asks(&case.folder, &[&named[..], words].concat());
        let told = (answer.exit, answer.error());
        assert_eq!(told, (Some(3), "unpinned_root"), "{words:?}: {answer:?}");
    }
    // Nor where it is found upward.
    let place = case.folder.join("project/.handoff");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::rename(&file, place.join("ledger.db")).unwrap();
    let accept = [
        "acknowledge",
        "--rollback",
        "--reason",
        "x",
        "--trust",
        &case.root,
    ];
    let answer = asks(&case.folder.join("project"), &accept);
    assert_eq!(
        (answer.exit, answer.error()),
        (Some(3), "unpinned_root"),
        "{answer:?}"
    );
}

#[test]
fn trust_that_cannot_be_read_takes_nothing_from_what_was_found() {
    let case = Case::new();
    case.alter("it is good", "it is evil");
    let pins = case.auditor.folders().pins().unwrap();
    std::fs::create_dir_all(pins.parent().unwrap()).unwrap();
    let verify = |options: &[&str]| {
        let words = [options, &["verify", "copy.db"]].concat();
        Answer::of(case.command(&words).output().unwrap())
    };
    std::fs::write(&pins, "nonsense\n").unwrap();
    let answer = verify(&[]);
    assert_eq!(answer.exit, Some(4), "{answer:?}");
    assert!(!answer.json["faults"].as_array().unwrap().is_empty());
    assert_eq!(answer.json["signer"]["basis"], "unpinned");
    let given = verify(&["--trust", &case.root]);
    assert_eq!(given.json["signer"]["basis"], "given", "{given:?}");
    std::fs::copy(case.machine.file(), &case.file).unwrap();
    let answer = verify(&[]);
    assert_eq!(answer.exit, Some(3), "{answer:?}");
    let told = answer.json["not_proven"].to_string();
    assert!(told.contains("root key is not pinned: "), "{told}");
    let answer = verify(&["--trust", "/nonexistent/key"]);
    assert_eq!(answer.exit, Some(2), "{answer:?}");
}

#[test]
fn an_imported_head_is_remembered_and_a_digest_is_of_the_whole_file() {
    let case = Case::new();
    let text = case.export_to("copy.jsonl");
    let to = case.folder.join("imported.db");
    let words = [
        "import",
        text.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ];
    let head = case.auditor.does(&words)["head"].clone();
    let id = case.machine.id();
    let seen = case.auditor.view(&id).with_extension("seen");
    let seen: Value = serde_json::from_slice(&std::fs::read(seen).unwrap()).unwrap();
    assert_eq!(seen["head"]["seq"], head["seq"]);
    assert_eq!(seen["head"]["leaf"], head["hash"]);

    // Behind a line that is none, nothing is read.
    let verify = || Answer::of(case.command(&["verify", "copy.jsonl"]).output().unwrap());
    assert!(verify().json["file"]["sha256"].is_string());
    let mut lines = std::fs::read_to_string(&text).unwrap();
    lines.insert_str(lines.find('\n').unwrap() + 1, "nonsense\n");
    std::fs::write(&text, lines).unwrap();
    let answer = verify();
    assert_eq!(answer.exit, Some(4), "{answer:?}");
    assert!(answer.json["file"].is_null(), "{answer:?}");
}

#[test]
fn a_demand_that_is_met_is_told_also_where_this_machine_saw_more() {
    let case = Case::new();
    let head = case.owner.does(&["head"])["head"]["line"].clone();
    let head = head.as_str().unwrap();
    case.owner.opens("later");
    let verify = |options: &[&str]| {
        let file = case.file.to_str().unwrap();
        case.owner.does(&[options, &["verify", file]].concat())["end"].clone()
    };
    assert_eq!(verify(&[])["by"], "none", "the control");
    let end = verify(&["--expect", head]);
    assert_eq!(
        (&end["by"], &end["proven"]),
        (&"expect".into(), &true.into())
    );
}
