//! The ledger file under many writers, and under writers that die.

#![allow(clippy::unwrap_used, clippy::as_conversions, clippy::panic)]

use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Capture, Read, Record, Store, StoreError};
use handoff_ledger::types::{Digest, Seq};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn record(text: &str) -> Record {
    Record(text.as_bytes().to_vec())
}

fn append(ledger: &mut SqliteLedger, text: &str) -> Result<Seq, StoreError> {
    ledger.transact(|transaction| {
        transaction.append(&[record(text)], &[])?;
        Ok(transaction.head()?.unwrap().0)
    })
}

fn create(path: &Path) -> Result<SqliteLedger, StoreError> {
    let begin = |ledger: &mut SqliteLedger| append(ledger, "genesis").map(drop);
    SqliteLedger::create(path, WAIT, begin).map(|(ledger, ())| ledger)
}

fn open(path: &Path) -> Result<SqliteLedger, StoreError> {
    SqliteLedger::open(path, WAIT)
}

/// A closed ledger with events 0 to 2 and a capture.
fn ledger_in(folder: &Path) -> PathBuf {
    let path = folder.join("ledger.db");
    let mut ledger = create(&path).unwrap();
    append(&mut ledger, "one").unwrap();
    let kept = Capture {
        commitment: Digest([1; 32]),
        salt: [2; 16],
        bytes: Some(b"output".to_vec()),
    };
    let done: Result<(), StoreError> =
        ledger.transact(|transaction| transaction.append(&[record("two")], &[kept]));
    done.unwrap();
    path
}

fn code<T>(result: Result<T, StoreError>) -> &'static str {
    result.err().map_or("ok", |error| error.code())
}

#[test]
fn of_eight_that_create_one_ledger_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut codes: Vec<&str> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| code(create(&path))))
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    codes.sort_unstable();
    assert_eq!(codes[..7], ["already_exists"; 7]);
    assert_eq!(codes[7], "ok");
    assert_eq!(
        open(&path).unwrap().head(),
        Ok(Some((Seq::ZERO, record("genesis"))))
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn of_twenty_writers_none_loses_an_event() {
    const WRITERS: u64 = 20;
    const EACH: u64 = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    drop(create(&path).unwrap());
    let acknowledged: BTreeSet<(Seq, String)> = std::thread::scope(|scope| {
        let write = |writer: u64| {
            let path = &path;
            move || {
                let mut ledger = SqliteLedger::open(path, Duration::from_secs(60)).unwrap();
                let texts = (0..EACH).map(|turn| format!("{writer} {turn}"));
                texts
                    .map(|text| (append(&mut ledger, &text).unwrap(), text))
                    .collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..WRITERS).map(|it| scope.spawn(write(it))).collect();
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
    assert_eq!(acknowledged.len() as u64, WRITERS * EACH);
    let rows = open(&path).unwrap().scan(Seq(1), usize::MAX).unwrap();
    let found = rows
        .into_iter()
        .map(|(seq, record)| (seq, String::from_utf8(record.0).unwrap()));
    assert_eq!(found.collect::<BTreeSet<_>>(), acknowledged);
    let seqs: Vec<u64> = acknowledged.iter().map(|(seq, _)| seq.0).collect();
    assert_eq!(seqs, (1..=WRITERS * EACH).collect::<Vec<_>>());
}

#[test]
fn a_writer_that_waits_too_long_is_told_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let mut first = open(&path).unwrap();
    let mut second = SqliteLedger::open(&path, Duration::from_millis(20)).unwrap();
    let nested: Result<_, StoreError> = first.transact(|transaction| {
        transaction.append(&[record("three")], &[])?;
        Ok(append(&mut second, "another three"))
    });
    assert_eq!(nested, Ok(Err(StoreError::Busy { waited_ms: 20 })));
    assert_eq!(append(&mut second, "four"), Ok(Seq(4)));
}

#[test]
fn a_relative_path_is_no_uri_either() {
    let folder = tempfile::tempdir().unwrap();
    let done = child("create_relative", folder.path())
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(done.success());
    assert!(folder.path().join("file:x.db?mode=memory").is_file());
}

/// What a child of these tests does, by name, in a folder.
const CHILD: &str = "LEDGER_FILE_TEST_CHILD";
const CHILD_FOLDER: &str = "LEDGER_FILE_TEST_FOLDER";

/// This test binary again, to play a part in a process of its own.
fn child(part: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "plays_its_part_in_another_test", "--nocapture"])
        .env(CHILD, part)
        .env(CHILD_FOLDER, folder)
        .stdin(Stdio::null());
    command
}

#[test]
fn plays_its_part_in_another_test() {
    let (Ok(part), Ok(folder)) = (std::env::var(CHILD), std::env::var(CHILD_FOLDER)) else {
        return;
    };
    let folder = PathBuf::from(folder);
    match part.as_str() {
        "create_relative" => {
            let path = Path::new("file:x.db?mode=memory");
            append(&mut create(path).unwrap(), "one").unwrap();
            assert_eq!(open(path).unwrap().get(Seq(1)), Ok(Some(record("one"))));
        }
        "create_many" => {
            for number in 0.. {
                drop(create(&folder.join(format!("{number}.db"))).unwrap());
            }
        }
        "append_many" => {
            let mut ledger = open(&folder.join("ledger.db")).unwrap();
            for number in 0.. {
                let seq = append(&mut ledger, &format!("event {number}")).unwrap();
                std::fs::write(folder.join("acknowledged"), seq.to_string()).unwrap();
            }
        }
        other => panic!("no part {other}"),
    }
}

/// Lets a child play its part for a while, and kills it where it stands.
fn play_and_kill(part: &str, folder: &Path, for_a_while: Duration) {
    let mut playing = child(part, folder).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(for_a_while);
    playing.kill().unwrap();
    let status = playing.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[test]
fn a_creator_that_is_killed_leaves_whole_ledgers_or_none() {
    let mut whole = 0;
    for round in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        play_and_kill(
            "create_many",
            folder.path(),
            Duration::from_millis(60 + 7 * round),
        );
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.starts_with(".new-ledger-") {
                let head = open(&path).unwrap().head();
                assert_eq!(head, Ok(Some((Seq::ZERO, record("genesis")))), "{name}");
                whole += 1;
            }
        }
    }
    assert!(whole > 0, "no child came far enough to create a ledger");
}

#[test]
fn what_a_killed_writer_was_told_is_recorded_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let mut highest = 2;
    for round in 0..8 {
        play_and_kill(
            "append_many",
            folder.path(),
            Duration::from_millis(60 + 7 * round),
        );
        let mut ledger = open(&path).unwrap();
        let head = ledger.head().unwrap().unwrap().0;
        let text = std::fs::read_to_string(folder.path().join("acknowledged")).unwrap_or_default();
        // A kill between truncating and writing the note leaves it empty.
        let acknowledged = text.parse::<Seq>().unwrap_or(Seq(highest));
        assert!(head >= acknowledged, "{head} < {acknowledged}");
        assert!(head.0 >= highest);
        let seqs: Vec<u64> = ledger
            .scan(Seq::ZERO, usize::MAX)
            .unwrap()
            .into_iter()
            .map(|(seq, _)| seq.0)
            .collect();
        assert_eq!(seqs, (0..=head.0).collect::<Vec<_>>());
        assert_eq!(append(&mut ledger, "after"), Ok(head.next()));
        highest = head.0 + 1;
    }
    assert!(highest > 2 + 8, "no child came far enough to append");
}
