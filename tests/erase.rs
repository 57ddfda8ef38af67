//! Erasure: what is erased is nowhere any more, and everything else is as it was.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::print_stdout
)]

mod cli_support;

use cli_support::tampering::without_triggers;
use cli_support::{Agent, Machine, code};
use handoff_ledger::hash;
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Capture, Read, Record, Store, StoreError};
use handoff_ledger::types::{CAPTURE_BYTES_MAX, Digest};
use rusqlite::Connection;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// How much of a capture is looked for, in bytes: as much as no other capture holds by chance.
const TRACE_BYTES: usize = 16;

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Whether any of `traces` stands in any file below the folder.
fn traced(folder: &Path, traces: &[Vec<u8>]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        any_of(&bytes, traces)
    };
    files_below(folder).into_iter().filter(holds).collect()
}

/// Whether any of `traces`, each of [`TRACE_BYTES`], stands in `bytes`.
fn any_of(bytes: &[u8], traces: &[Vec<u8>]) -> bool {
    let wanted: std::collections::HashSet<&[u8]> = traces.iter().map(Vec::as_slice).collect();
    assert!(wanted.iter().all(|trace| trace.len() == TRACE_BYTES));
    // Few places need more than a look at two bytes.
    let two = |bytes: &[u8]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let mut begins = vec![false; 1 << 16];
    wanted.iter().for_each(|trace| begins[two(trace)] = true);
    let mut place = 0;
    while place + TRACE_BYTES <= bytes.len() {
        if begins[two(&bytes[place..])] && wanted.contains(&bytes[place..place + TRACE_BYTES]) {
            return true;
        }
        place += 1;
    }
    false
}

/// What would give a capture away: its salt, and its bytes at the start, in the middle, at the end.
fn traces(capture: &Capture) -> Vec<Vec<u8>> {
    let mut traces = vec![capture.salt.to_vec()];
    let bytes = capture.bytes.as_deref().unwrap_or_default();
    if bytes.len() >= TRACE_BYTES {
        for start in [
            0,
            (bytes.len() - TRACE_BYTES) / 2,
            bytes.len() - TRACE_BYTES,
        ] {
            traces.push(bytes[start..start + TRACE_BYTES].to_vec());
        }
    }
    traces
}

/// Bytes without a pattern, the same for the same seed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut block = hash::leaf(&seed.to_be_bytes()).0;
    while bytes.len() < length {
        bytes.extend(block);
        block = hash::leaf(&block).0;
    }
    bytes.truncate(length);
    bytes
}

fn capture(seed: u64, length: usize) -> Capture {
    let salt = noise(seed | 1 << 41, TRACE_BYTES).try_into().unwrap();
    let bytes = noise(seed | 1 << 42, length);
    Capture {
        commitment: hash::commitment(&salt, &bytes),
        salt,
        bytes: Some(bytes),
    }
}

/// A ledger file with captures, kept one by one, so that its tree is rebalanced again and again.
fn file_of(path: &Path, captures: &[Capture]) -> SqliteLedger {
    let begin = |ledger: &mut SqliteLedger| {
        ledger.transact(|tx| tx.append(&[Record(b"genesis".to_vec())], &[]))
    };
    let (mut ledger, ()) = SqliteLedger::create::<_, StoreError, _>(path, WAIT, begin).unwrap();
    // Without waiting for the disk at every one.
    for part in captures.chunks(64) {
        let kept: Result<(), StoreError> = ledger.transact(|tx| {
            for one in part {
                tx.append(&[], std::slice::from_ref(one))?;
            }
            Ok(())
        });
        kept.unwrap();
    }
    ledger
}

/// A name, how many captures, and how long each is.
type Shape = (&'static str, usize, fn(u64) -> usize);

/// Lengths that put captures into cells, across several pages, and at their largest.
const SHAPES: [Shape; 5] = [
    ("small", 1000, |seed| {
        100 + usize::try_from(seed % 300).unwrap()
    }),
    ("a quarter of a page", 400, |seed| {
        1000 + usize::try_from(seed * 37 % 2500).unwrap()
    }),
    ("a page", 200, |seed| {
        12_000 + usize::try_from(seed * 101 % 6000).unwrap()
    }),
    ("the largest", 24, |_| CAPTURE_BYTES_MAX),
    ("empty", 400, |_| 0),
];

#[test]
fn what_is_erased_stands_nowhere_in_the_file_whatever_its_size() {
    for (name, count, length) in SHAPES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let captures: Vec<Capture> = (0..count as u64)
            .map(|seed| capture(seed, length(seed)))
            .collect();
        let mut ledger = file_of(&path, &captures);
        let (gone, left): (Vec<_>, Vec<_>) = captures
            .iter()
            .enumerate()
            .partition(|(place, _)| place % 3 != 0);
        let commitments: Vec<Digest> = gone.iter().map(|(_, one)| one.commitment).collect();
        let erased: Result<(), StoreError> = ledger.transact(|tx| tx.erase(&commitments));
        erased.unwrap();
        for (_, one) in &left {
            assert_eq!(
                ledger.capture(&one.commitment).unwrap().as_ref(),
                Some(*one),
                "{name}"
            );
        }
        let all: Vec<Vec<u8>> = gone.iter().flat_map(|(_, one)| traces(one)).collect();
        assert_eq!(traced(folder.path(), &all), [] as [PathBuf; 0], "{name}");
        // Pages given up are used again, and what comes later is erased as well.
        let later: Vec<Capture> = (0..50)
            .map(|seed| capture(seed | 1 << 30, length(seed)))
            .collect();
        let again: Result<(), StoreError> = ledger.transact(|tx| tx.append(&[], &later));
        again.unwrap();
        let commitments: Vec<Digest> = later.iter().map(|one| one.commitment).collect();
        let erased: Result<(), StoreError> = ledger.transact(|tx| tx.erase(&commitments));
        erased.unwrap();
        let all: Vec<Vec<u8>> = later.iter().flat_map(traces).collect();
        assert_eq!(
            traced(folder.path(), &all),
            [] as [PathBuf; 0],
            "{name}, later"
        );
    }
}

/// The same search finds what other ways to delete leave behind, or it would prove nothing.
#[test]
fn the_search_finds_what_a_careless_deletion_leaves() {
    for (secure_delete, why) in [
        ("OFF", "the bytes themselves"),
        (
            "ON",
            "copies of cells that a rebalanced tree moved elsewhere",
        ),
    ] {
        let (mut found, mut tried) = (0, 0);
        for (_, count, length) in &SHAPES[..3] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("ledger.db");
            let captures: Vec<Capture> = (0..*count as u64)
                .map(|seed| capture(seed, length(seed)))
                .collect();
            drop(file_of(&path, &captures));
            let connection = Connection::open(&path).unwrap();
            connection
                .pragma_update(None, "secure_delete", secure_delete)
                .unwrap();
            connection.execute_batch("BEGIN").unwrap();
            for one in captures.iter().step_by(2) {
                let sql = "DELETE FROM capture WHERE commitment = ?1";
                connection.execute(sql, [one.commitment.0]).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            drop(connection);
            let bytes = std::fs::read(&path).unwrap();
            let all: Vec<Vec<u8>> = captures.iter().step_by(2).flat_map(traces).collect();
            found += usize::from(any_of(&bytes, &all));
            tried += 1;
        }
        assert!(
            found > 0,
            "secure_delete {secure_delete}: {why}: in none of {tried} files"
        );
        println!("secure_delete {secure_delete}: in {found} of {tried} files: {why}");
    }
}

/// A machine with an admin that has a session, in which a probe printed `secret`.
fn printed(secret: &str) -> (Machine, Agent, u64) {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    machine.write("secret.txt", secret);
    let receipt = root.ok("probe --extract sha256 -- cat secret.txt")["receipt"]
        .as_u64()
        .unwrap();
    std::fs::remove_file(machine.project().join("secret.txt")).unwrap();
    (machine, root, receipt)
}

#[test]
fn an_erased_capture_is_in_no_file_of_the_machine() {
    let secret = "Erika Mustermann, 12 Heidestrasse";
    let (machine, root, receipt) = printed(secret);
    let kept = root.ok(&format!("show {receipt}"));
    assert_eq!(kept["kept"]["stdout"], secret);
    let commitment = &kept["body"]["outputs"]["stdout"]["kept"]["commitment"];
    let commitment: Digest = commitment.as_str().unwrap().parse().unwrap();
    let ledger = SqliteLedger::open(&machine.ledger(), WAIT).unwrap();
    let capture = ledger.capture(&commitment).unwrap().unwrap();
    drop(ledger);
    assert_eq!(capture.bytes.as_deref(), Some(secret.as_bytes()));
    assert_eq!(
        traced(&machine.path(""), &traces(&capture)),
        [machine.ledger()]
    );

    let erased = root.ok(&format!("erase {receipt} --reason 'it names a person'"));
    assert_eq!(erased["commitments"], serde_json::json!([commitment]));
    assert_eq!(
        traced(&machine.path(""), &traces(&capture)),
        [] as [PathBuf; 0]
    );
    let beside = files_below(machine.ledger().parent().unwrap());
    assert_eq!(beside, [machine.ledger()], "no journal is left");

    let shown = root.ok(&format!("show {receipt}"));
    assert_eq!(shown["kept"], serde_json::json!({}));
    let told = &shown["erased"][0];
    assert_eq!(
        (&told["seq"], told["what"].as_str()),
        (&erased["seq"], Some("stdout"))
    );
    assert_eq!(told["key"], root.public().to_string());
    assert_eq!(told["reason"], "it names a person");
    let text = root.run(&format!("show {receipt}")).stdout;
    assert!(
        text.contains("stdout erased by") && text.contains("it names a person"),
        "{text}"
    );

    let verified = root.ok("verify");
    let unproven = verified["not_proven"].to_string();
    assert!(!unproven.contains("captured output"), "{unproven}");
    let again = root.ok(&format!("erase {receipt} {commitment} --reason again"));
    assert_eq!(again["seq"], Value::Null);
    assert_eq!(again["erased_before"], serde_json::json!([commitment]));
    assert_eq!(again["head"], erased["head"], "nothing was written");
}

#[test]
fn an_export_lacks_what_was_erased_and_is_verified_all_the_same() {
    let (machine, root, receipt) = printed("a line that is to go");
    machine.write("other.txt", "a line that is to stay");
    let other = root.ok("probe --extract sha256 -- cat other.txt")["receipt"]
        .as_u64()
        .unwrap();
    let before = root.ok("export --captures -o before.jsonl");
    root.ok(&format!("erase {receipt} --reason R"));
    let after = root.ok("export --captures -o after.jsonl");
    assert_eq!(before["captures"], 2);
    assert_eq!(
        (&after["captures"], &after["erased"]),
        (&1.into(), &1.into())
    );
    let lines = |name: &str| std::fs::read_to_string(machine.project().join(name)).unwrap();
    let captures = |name: &str| lines(name).matches("{\"capture\":").count();
    assert_eq!((captures("before.jsonl"), captures("after.jsonl")), (2, 1));
    root.ok("verify after.jsonl");
    // The older export, which still has it, is told apart from one that lies about it.
    root.ok("verify before.jsonl");
    // Somebody puts it back into the export: it does not come back into a ledger.
    let is_capture = |line: &&str| line.starts_with("{\"capture\":");
    let (after, before) = (lines("after.jsonl"), lines("before.jsonl"));
    let events = after.lines().filter(|line| !is_capture(line));
    let restored: Vec<&str> = events.chain(before.lines().filter(is_capture)).collect();
    machine.write("restored.jsonl", &format!("{}\n", restored.join("\n")));
    root.ok("import restored.jsonl --to restored.db");
    let bytes = std::fs::read(machine.project().join("restored.db")).unwrap();
    let gone = b"a line that is to go";
    assert!(!bytes.windows(gone.len()).any(|part| part == gone));
    root.ok("import after.jsonl --to copy.db");
    let copy = root.ok(&format!("--ledger copy.db show {other}"));
    assert_eq!(copy["kept"]["stdout"], "a line that is to stay");
    assert_eq!(
        root.ok(&format!("--ledger copy.db show {receipt}"))["kept"],
        serde_json::json!({})
    );
}

#[test]
fn only_an_admin_erases_and_only_what_there_is() {
    let (machine, root, receipt) = printed("something printed");
    let recorder = machine.recorder(&root, "ci");
    assert_eq!(
        recorder.refused(&format!("erase {receipt} --reason R")),
        "role"
    );
    assert_eq!(
        root.ok(&format!("show {receipt}"))["kept"]["stdout"],
        "something printed"
    );
    assert_eq!(root.refused("erase 0 --reason R"), "not_a_receipt");
    assert_eq!(root.refused("erase 999 --reason R"), "unknown_event");
    let nothing = format!("erase {} --reason R", "ab".repeat(32));
    assert_eq!(root.refused(&nothing), "nothing_kept");
    let silent = root.no("probe -- false")["receipt"].as_u64().unwrap();
    assert_eq!(
        root.refused(&format!("erase {silent} --reason R")),
        "nothing_kept"
    );
    for usage in [
        "erase --reason R",
        "erase 3",
        "erase x --reason R",
        "erase 3 --reason ''",
    ] {
        assert_eq!(code(&root.ends(2, usage)), "usage", "{usage}");
    }
    // A failed command among several erases nothing.
    assert_eq!(
        root.refused(&format!("erase {receipt} 0 --reason R")),
        "not_a_receipt"
    );
    assert_eq!(
        root.ok(&format!("show {receipt}"))["kept"]["stdout"],
        "something printed"
    );
}

/// Takes a capture out of the file as somebody would who has the file alone: no event says so.
fn take(ledger: &Path, commitment: &str) {
    let delete = format!("DELETE FROM capture WHERE commitment = x'{commitment}'");
    assert_eq!(unguarded(ledger, &delete), 1);
}

/// Does what the file's triggers refuse; how many rows it changed.
fn unguarded(ledger: &Path, sql: &str) -> usize {
    without_triggers(ledger, |file| file.execute(sql, []).unwrap())
}

#[test]
fn other_bytes_than_were_committed_to_are_neither_shown_nor_exported_nor_erased() {
    let (machine, root, receipt) = printed("what was printed");
    let commitment = commitment_of(&root, receipt);
    let forge = format!(
        "UPDATE capture SET bytes = CAST('what a forger likes' AS BLOB) \
         WHERE commitment = x'{commitment}'"
    );
    assert_eq!(unguarded(&machine.ledger(), &forge), 1);
    let before = machine.bytes();
    for line in [
        format!("show {receipt}"),
        "export --captures -o forged.jsonl".to_owned(),
        format!("erase {receipt} --reason R"),
        format!("erase {commitment} --reason R"),
    ] {
        let ran = root.run(&line);
        assert_eq!(ran.code, 4, "{line}: {ran:?}");
        assert!(!ran.stdout.contains("a forger"), "{line}: {ran:?}");
    }
    // The intact part goes out, and that capture is none of it.
    let exported = std::fs::read_to_string(machine.project().join("forged.jsonl")).unwrap();
    assert!(exported.contains(&commitment), "its receipt is there");
    assert!(!exported.contains(&format!("\"capture\":\"{commitment}\"")));
    assert_eq!(machine.bytes(), before);
    assert_eq!(root.ends(4, "verify")["result"], "tampered");
}

#[test]
fn another_salt_than_was_committed_to_is_not_signed_for_as_erased() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let receipt = root.ok("probe --redact -- cat four.txt")["receipt"]
        .as_u64()
        .unwrap();
    let shown = root.ok(&format!("show {receipt}"));
    let commitment = shown["body"]["redacted"]["commitment"].as_str().unwrap();
    let forge =
        format!("UPDATE capture SET salt = zeroblob(16) WHERE commitment = x'{commitment}'");
    assert_eq!(unguarded(&machine.ledger(), &forge), 1);
    let before = machine.bytes();
    for what in [receipt.to_string(), commitment.to_owned()] {
        let document = root.ends(4, &format!("erase {what} --reason R"));
        assert_eq!(code(&document), "capture");
    }
    assert_eq!(machine.bytes(), before);
    assert_eq!(root.ends(4, "verify")["result"], "tampered");
}

/// The commitment to what a receipt kept of standard output.
fn commitment_of(root: &Agent, receipt: u64) -> String {
    let shown = root.ok(&format!("show {receipt}"));
    let kept = &shown["body"]["outputs"]["stdout"]["kept"]["commitment"];
    kept.as_str().unwrap().to_owned()
}

#[test]
fn what_went_without_a_word_is_not_signed_for_as_erased() {
    let (machine, root, lost) = printed("that somebody took");
    machine.write("other.txt", "that is there");
    let other = root.ok("probe --extract sha256 -- cat other.txt")["receipt"]
        .as_u64()
        .unwrap();
    let (gone, kept) = (commitment_of(&root, lost), commitment_of(&root, other));
    take(&machine.ledger(), &gone);
    let head = root.ok("head")["head"]["seq"].clone();
    for what in [lost.to_string(), format!("{lost} {gone}")] {
        let document = root.no(&format!("erase {what} --reason R"));
        let refused = ["already_missing", "nothing_kept"];
        assert!(refused.contains(&code(&document)), "{document}");
    }
    let document = root.no(&format!("erase {lost} --reason R"));
    assert_eq!(
        document["error"]["details"]["missing"],
        serde_json::json!([gone])
    );
    assert_eq!(root.ok("head")["head"]["seq"], head, "nothing was written");
    // Beside what is there it is told, and not counted.
    let erased = root.ok(&format!("erase {lost} {other} --reason R"));
    assert_eq!(erased["commitments"], serde_json::json!([kept]));
    assert_eq!(erased["missing"], serde_json::json!([gone]));
    let event = root.ok(&format!("show {}", erased["seq"]));
    assert_eq!(event["body"]["commitments"], serde_json::json!([kept]));
    assert_eq!(
        code(&root.no(&format!("erase {lost} --reason R"))),
        "already_missing"
    );
}

#[test]
fn an_axis_whose_salt_is_erased_is_unverifiable() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let axis = "axis db.host --class reachability --redact -- cat four.txt";
    let receipt = root.ok(axis)["receipt"].as_u64().unwrap();
    root.ok("claim safe 'it is the fourth' --needs db.host --expect value=5 -- cat five.txt");
    root.seal();
    let held = root.ok("resume --agent second");
    assert_eq!(cli_support::verdict(&held, "db.host").0, "held");
    root.ok(&format!(
        "session abandon {} --reason 'try again'",
        held["session"]
    ));
    let erased = root.ok(&format!("erase {receipt} --reason R"));
    assert_eq!(
        erased["unverifiable_receipts"],
        serde_json::json!([receipt])
    );
    let resumed = root.ok("resume --agent third");
    let verdict = cli_support::verdict(&resumed, "db.host");
    assert_eq!(verdict, ("unverifiable", "salt_missing"));
    assert_eq!(cli_support::blocked(&resumed), ["safe"]);
}

/// More commitments than one event holds.
#[test]
fn many_captures_are_erased_with_several_events_in_one_transaction() {
    let machine = Machine::new();
    let root = machine.root("");
    let captures: Vec<Capture> = (0..600).map(|seed| capture(seed, 40)).collect();
    let mut ledger = SqliteLedger::open(&machine.ledger(), WAIT).unwrap();
    let kept: Result<(), StoreError> = ledger.transact(|tx| tx.append(&[], &captures));
    kept.unwrap();
    drop(ledger);
    let what: Vec<String> = captures
        .iter()
        .map(|one| one.commitment.to_string())
        .collect();
    let before = root.ok("head")["head"]["seq"].as_u64().unwrap();
    let erased = root.ok(&format!("erase {} --reason R", what.join(" ")));
    assert_eq!(erased["seq"], before + 2);
    assert_eq!(erased["commitments"].as_array().unwrap().len(), 600);
    root.ok("verify");
}

/// Killed at any moment, either nothing happened or all of it, and the same command finishes it.
#[test]
fn a_killed_erasure_happened_whole_or_not_at_all() {
    let (machine, root, _) = printed("first");
    let (mut before, mut after) = (0, 0);
    for round in 0..40_u64 {
        let text = format!("printed in round {round}, {}", "to be erased ".repeat(2000));
        machine.write("secret.txt", &text);
        let ran = root.ok("probe --extract sha256 -- cat secret.txt");
        let receipt = ran["receipt"].as_u64().unwrap();
        let line = format!("erase {receipt} --reason R");
        let mut command = root.command(&line);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        let shown = root.ok(&format!("show {receipt}"));
        let is_kept = shown["kept"]["stdout"] == text;
        let is_erased = shown["erased"][0]["reason"] == "R";
        assert_ne!(is_kept, is_erased, "round {round}");
        before += usize::from(is_kept);
        after += usize::from(is_erased);
        root.ok(&line);
        assert!(!machine.holds(&text[..30]), "round {round}");
    }
    root.ok("verify");
    println!("killed before {before}, after {after}");
    assert!(before > 0, "no kill came early enough");
}
