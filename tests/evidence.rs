//! Files that were handed over: judged whole, touched never.

#![allow(clippy::unwrap_used, clippy::as_conversions, clippy::panic)]

use handoff_ledger::hash;
use handoff_ledger::store::evidence::{EVIDENCE_BYTES_MAX, Evidence, EvidenceError};
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Capture, Oversized, Read, Record, Store, StoreError};
use handoff_ledger::types::{Digest, Seq};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

fn record(number: u64) -> Record {
    Record(number.to_string().repeat(100).into_bytes())
}

fn kept() -> Capture {
    Capture {
        commitment: Digest([1; 32]),
        salt: [2; 16],
        bytes: Some(b"output".to_vec()),
    }
}

/// A closed ledger with events 0 to 199, on several pages.
fn ledger_in(folder: &Path) -> PathBuf {
    let path = folder.join("ledger.db");
    SqliteLedger::create(&path, WAIT, |ledger| {
        let records: Vec<Record> = (0..200).map(record).collect();
        ledger.transact(|it| -> Result<(), StoreError> { it.append(&records, &[kept()]) })
    })
    .unwrap();
    path
}

/// Every name in a folder, with its bytes and the time it was changed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let changed = path.metadata().unwrap().modified().unwrap();
            (path.clone(), (std::fs::read(&path).unwrap(), changed))
        })
        .collect()
}

fn refused(path: &Path) -> Box<EvidenceError> {
    Evidence::open(path).unwrap_err()
}

#[test]
fn evidence_is_read_as_it_was_and_its_folder_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let before = contents(folder.path());
    let evidence = Evidence::open(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(evidence.sha256().unwrap(), hash::bytes(&whole));
    assert_eq!(evidence.bytes(), whole.len() as u64);
    assert!(evidence.sidecars().is_empty());
    assert_eq!(evidence.head(), Ok(Some((Seq(199), record(199)))));
    assert_eq!(evidence.get(Seq(7)), Ok(Some(record(7))));
    assert_eq!(evidence.get(Seq(200)), Ok(None));
    assert_eq!(evidence.scan(Seq(100), 3).unwrap().len(), 3);
    assert_eq!(evidence.scan(Seq::ZERO, 999).unwrap().len(), 200);
    assert_eq!(evidence.capture(&kept().commitment), Ok(Some(kept())));
    drop(evidence);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn side_files_are_reported_and_not_read() {
    for ending in ["-wal", "-shm", "-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let path = ledger_in(folder.path());
        let side = PathBuf::from(format!("{}{ending}", path.display()));
        std::fs::write(&side, [0x5a; 4096]).unwrap();
        let before = contents(folder.path());
        let evidence = Evidence::open(&path).unwrap();
        assert_eq!(evidence.sidecars(), [side.canonicalize().unwrap()]);
        assert_eq!(evidence.head(), Ok(Some((Seq(199), record(199)))));
        drop(evidence);
        assert_eq!(contents(folder.path()), before);
    }
}

#[test]
fn a_real_wal_does_not_change_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let rollback_mode = std::fs::read(&path).unwrap();
    let writer = Connection::open(&path).unwrap();
    let insert = "PRAGMA journal_mode = WAL; INSERT INTO event VALUES (200, x'00')";
    writer.execute_batch(insert).unwrap();
    // The main file in rollback mode, with the log that the writer left beside it.
    let wal = PathBuf::from(format!("{}-wal", path.display()));
    let log = std::fs::read(&wal).unwrap();
    assert!(!log.is_empty());
    drop(writer);
    std::fs::write(&path, rollback_mode).unwrap();
    std::fs::write(&wal, log).unwrap();
    let evidence = Evidence::open(&path).unwrap();
    assert_eq!(evidence.head().unwrap().unwrap().0, Seq(199));
    assert_eq!(evidence.sidecars().len(), 1);
}

#[test]
fn what_is_no_ledger_is_no_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("empty"), b"").unwrap();
    std::fs::write(at("text"), [b'a'; 500]).unwrap();
    Connection::open(at("other.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    let pipe = at("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let paths = ["empty", "text", "other.db", "pipe"].map(at);
    for path in paths
        .iter()
        .map(PathBuf::as_path)
        .chain([folder.path(), Path::new("/dev/zero")])
    {
        let error = refused(path);
        assert!(
            matches!(error.fault, StoreError::NotALedger { .. }),
            "{error}"
        );
        assert!(!error.is_ledger_by_header);
    }
    let error = refused(&at("absent"));
    assert!(matches!(error.fault, StoreError::Absent { .. }), "{error}");
}

#[test]
fn another_schema_is_told_of_a_ledger_by_its_header() {
    for alteration in [
        "DROP TRIGGER event_no_update",
        "CREATE VIEW extra AS SELECT 1",
        "ALTER TABLE event RENAME TO events",
        "CREATE VIRTUAL TABLE extra USING fts5(x)",
        "ALTER TABLE event RENAME TO hidden;
         CREATE VIEW event AS WITH RECURSIVE n(seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM n)
         SELECT seq, x'00' AS record FROM n",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = ledger_in(folder.path());
        Connection::open(&path)
            .unwrap()
            .execute_batch(alteration)
            .unwrap();
        let error = refused(&path);
        assert!(
            matches!(error.fault, StoreError::Schema { .. }),
            "{alteration}: {error}"
        );
        assert!(error.is_ledger_by_header);
        assert_eq!(
            error.sha256,
            Some(hash::bytes(&std::fs::read(&path).unwrap()))
        );
        assert!(error.salvage.is_none());
    }
}

#[test]
fn a_newer_ledger_is_told_as_newer() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 2)
        .unwrap();
    let error = refused(&path);
    assert_eq!(
        error.fault,
        StoreError::Newer {
            user_version: 2,
            known: 1
        }
    );
}

#[test]
fn a_length_that_the_header_does_not_tell_is_damage_and_the_rows_are_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let mut longer = std::fs::read(&path).unwrap();
    longer.push(0);
    std::fs::write(&path, &longer).unwrap();
    let error = refused(&path);
    assert!(matches!(error.fault, StoreError::Storage { .. }));
    assert!(error.is_ledger_by_header);
    let salvage = error.salvage.unwrap();
    assert_eq!(salvage.scan(Seq::ZERO, 999).unwrap().len(), 200);
}

#[test]
fn a_truncated_file_is_a_storage_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 16_384]).unwrap();
    let error = refused(&path);
    assert!(matches!(error.fault, StoreError::Storage { .. }), "{error}");
    assert!(error.is_ledger_by_header && error.sha256.is_some());
}

#[test]
fn a_damaged_page_is_listed_and_the_rows_before_it_are_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = record(150).0;
    let at = bytes
        .windows(needle.len())
        .position(|it| it == needle)
        .unwrap();
    let page = at / 16_384 * 16_384;
    bytes[page..page + 16].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let error = refused(&path);
    assert!(matches!(error.fault, StoreError::Storage { .. }));
    assert!(!error.damage.is_empty());
    let salvage = error.salvage.unwrap();
    let rows = salvage.scan(Seq::ZERO, 999).unwrap();
    assert!(!rows.is_empty() && rows.len() < 200, "{}", rows.len());
    assert!(
        (0..)
            .map(Seq)
            .zip(&rows)
            .all(|(seq, row)| seq == row.0 && row.1 == record(seq.0))
    );
    let next = Seq(rows.len() as u64);
    assert!(matches!(
        salvage.scan(next, 999),
        Err(StoreError::Storage { .. })
    ));
}

#[test]
fn a_tree_that_was_pointed_elsewhere_is_damage() {
    // One bit of sqlite_schema's rootpage once turned 200 events into 7 that verified.
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET rootpage = rootpage + 2 WHERE name = 'event'",
        )
        .unwrap();
    drop(connection);
    let error = refused(&path);
    assert!(matches!(error.fault, StoreError::Storage { .. }), "{error}");
}

#[test]
fn values_of_another_type_end_the_rows_whatever_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let connection = Connection::open(&path).unwrap();
    let sql: String = connection
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE name = 'event'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    connection
        .execute_batch("PRAGMA writable_schema = ON")
        .unwrap();
    let set = "UPDATE sqlite_schema SET sql = ?1 WHERE name = 'event'";
    let lax = "CREATE TABLE event (seq INTEGER PRIMARY KEY, record)";
    connection.execute(set, [lax]).unwrap();
    drop(connection);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("INSERT INTO event VALUES (200, 'a text'); PRAGMA writable_schema = ON")
        .unwrap();
    connection.execute(set, [sql]).unwrap();
    drop(connection);
    let error = refused(&path);
    assert!(matches!(error.fault, StoreError::Storage { .. }), "{error}");
    let salvage = error.salvage.unwrap();
    assert_eq!(salvage.scan(Seq::ZERO, 999).unwrap().len(), 200);
    assert!(matches!(
        salvage.scan(Seq(200), 999),
        Err(StoreError::Storage { .. })
    ));
    assert!(matches!(salvage.head(), Err(StoreError::Storage { .. })));
}

#[test]
fn a_sparse_tail_is_damage_and_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let whole = std::fs::metadata(&path).unwrap().len();
    for length in [whole + (64 << 20), EVIDENCE_BYTES_MAX + 1, 500 << 30] {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        let error = refused(&path);
        assert!(matches!(error.fault, StoreError::Storage { .. }), "{error}");
        assert!(error.is_ledger_by_header);
        assert_eq!((error.sha256, error.bytes), (None, Some(length)));
        let salvage = error.salvage.unwrap();
        assert_eq!(salvage.scan(Seq::ZERO, 999).unwrap().len(), 200);
    }
}

#[test]
fn a_ledger_that_says_it_is_a_giant_is_refused_by_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[28..32].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(EVIDENCE_BYTES_MAX + 1).unwrap();
    let error = refused(&path);
    assert!(
        matches!(error.fault, StoreError::TooLarge { .. }),
        "{error}"
    );
    assert_eq!(error.sha256, None);
}

#[test]
fn a_ledger_that_is_mostly_holes_is_refused_unread_and_a_hole_for_free_pages_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let hollow = |bytes: u64| {
        std::fs::write(&path, &whole).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let pages = u32::try_from(bytes / 16_384).unwrap();
        file.write_all_at(&pages.to_be_bytes(), 28).unwrap();
        file.set_len(bytes).unwrap();
    };
    hollow(15 << 30);
    let error = refused(&path);
    assert!(
        matches!(
            error.fault,
            StoreError::TooLarge {
                what: Oversized::Holes,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.is_ledger_by_header && error.sha256.is_none());
    // Pages that nothing leads to are damage; the holes they lie in are not.
    hollow(32 << 20);
    let error = refused(&path);
    assert!(matches!(error.fault, StoreError::Storage { .. }), "{error}");
    assert!(error.sha256.is_some());
}

#[test]
fn a_capture_of_another_length_is_damage_and_none_is_looked_up() {
    for row in [
        "zeroblob(31), zeroblob(16), x'00'",
        "zeroblob(33), zeroblob(16), x'00'",
        "zeroblob(32), zeroblob(15), x'00'",
        "zeroblob(32), zeroblob(17), x'00'",
        "zeroblob(32), zeroblob(16), zeroblob(65537)",
        "zeroblob(32), zeroblob(16), zeroblob(9000000)",
        "zeroblob(32), zeroblob(9000000), NULL",
        "zeroblob(9000000), zeroblob(16), NULL",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = ledger_in(folder.path());
        let put = |row: &str| {
            Connection::open(&path)
                .unwrap()
                .execute_batch(&format!(
                    "PRAGMA ignore_check_constraints = ON; INSERT INTO capture VALUES ({row})"
                ))
                .unwrap();
        };
        // As long as they may be, the control.
        put("zeroblob(32), zeroblob(16), zeroblob(65536)");
        put("CAST(x'03' || zeroblob(31) AS BLOB), zeroblob(16), NULL");
        Evidence::open(&path).unwrap();
        put(row
            .replace("zeroblob(32)", "CAST(x'02' || zeroblob(31) AS BLOB)")
            .as_str());
        let error = refused(&path);
        assert!(
            matches!(error.fault, StoreError::Storage { .. }),
            "{row}: {error}"
        );
        let evidence = error.salvage.unwrap();
        assert_eq!(evidence.scan(Seq::ZERO, 999).unwrap().len(), 200);
        let looked_up = evidence.capture(&kept().commitment);
        assert!(
            matches!(looked_up, Err(StoreError::Storage { .. })),
            "{row}"
        );
    }
}

#[test]
fn a_ledger_that_this_process_has_open_is_not_opened_by_other_means() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let ledger = SqliteLedger::open(&path, WAIT).unwrap();
    assert!(matches!(refused(&path).fault, StoreError::Io { .. }));
    drop(ledger);
    Evidence::open(&path).unwrap();
}

#[test]
fn no_flipped_byte_panics_or_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let step = whole.len() / 300;
    for at in (0..120).chain((120..whole.len()).step_by(step)) {
        let mut altered = whole.clone();
        altered[at] ^= 0x81;
        std::fs::write(&path, &altered).unwrap();
        let readable: Box<dyn Read> = match Evidence::open(&path) {
            Ok(evidence) => Box::new(evidence),
            Err(error) => match error.salvage {
                Some(salvage) => salvage,
                None => continue,
            },
        };
        let rows = readable.scan(Seq::ZERO, 999).unwrap_or_default();
        assert!(rows.is_sorted_by(|one, next| one.0 < next.0), "byte {at}");
    }
}
