//! The ledger file against mistakes, hostile files and side files.

#![allow(clippy::unwrap_used, clippy::as_conversions, clippy::panic)]

use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Capture, Read, Record, Store, StoreError};
use handoff_ledger::types::{Digest, Seq};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// A connection such as a careless person's, with all that this program sets but its connection.
fn careless(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .pragma_update(None, "recursive_triggers", true)
        .unwrap();
    connection
}

fn code<T>(result: Result<T, StoreError>) -> &'static str {
    result.err().map_or("ok", |error| error.code())
}

#[test]
fn sqlite_is_new_enough_for_hostile_files() {
    assert!(
        rusqlite::version_number() >= 3_053_002,
        "{}",
        rusqlite::version()
    );
}

#[test]
fn the_guards_refuse_every_statement_that_is_not_the_next_insert() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let connection = careless(&path);
    let before: Vec<u8> = std::fs::read(&path).unwrap();
    for statement in [
        "INSERT INTO event VALUES (0, x'00')",
        "INSERT INTO event VALUES (2, x'00')",
        "INSERT INTO event VALUES (4, x'00')",
        "INSERT INTO event VALUES (-1, x'00')",
        "INSERT INTO event VALUES (9223372036854775807, x'00')",
        "INSERT INTO event (record) VALUES (x'00')",
        "INSERT INTO event VALUES (NULL, x'00')",
        "INSERT INTO event VALUES (3, NULL)",
        "INSERT INTO event VALUES (3, x'')",
        "INSERT INTO event VALUES (3, 'text')",
        "INSERT INTO event VALUES (3, 1)",
        "INSERT INTO event VALUES (3, zeroblob(65536))",
        "INSERT INTO event VALUES ('three', x'00')",
        "INSERT INTO event VALUES (3, x'00'), (3, x'01')",
        "INSERT INTO event VALUES (3, x'00'), (5, x'01')",
        "INSERT OR REPLACE INTO event VALUES (0, x'00')",
        "INSERT OR REPLACE INTO event VALUES (2, x'00')",
        "INSERT OR FAIL INTO event VALUES (2, x'00')",
        "INSERT OR ROLLBACK INTO event VALUES (2, x'00')",
        "INSERT OR IGNORE INTO event VALUES (7, x'00')",
        "REPLACE INTO event VALUES (1, x'00')",
        "INSERT INTO event VALUES (2, x'00') ON CONFLICT DO NOTHING",
        "INSERT INTO event VALUES (2, x'00') ON CONFLICT (seq) DO UPDATE SET record = x'00'",
        "INSERT INTO event SELECT seq, record FROM event",
        "INSERT INTO event SELECT seq + 10, record FROM event",
        "UPDATE event SET record = x'00'",
        "UPDATE event SET seq = 3 WHERE seq = 2",
        "UPDATE event SET rowid = 9 WHERE seq = 2",
        "UPDATE OR REPLACE event SET seq = 1 WHERE seq = 2",
        "UPDATE OR IGNORE event SET record = x'00' WHERE seq = 0",
        "DELETE FROM event",
        "DELETE FROM event WHERE seq = 2",
        "UPDATE capture SET bytes = x'00'",
        "UPDATE capture SET salt = zeroblob(16)",
        "INSERT INTO capture VALUES (x'01', zeroblob(16), NULL)",
        "INSERT INTO capture VALUES (zeroblob(32), zeroblob(15), NULL)",
        "INSERT INTO capture SELECT commitment, zeroblob(16), NULL FROM capture",
        "INSERT OR REPLACE INTO capture SELECT commitment, zeroblob(16), NULL FROM capture",
    ] {
        assert!(connection.execute_batch(statement).is_err(), "{statement}");
    }
    drop(connection);
    assert_eq!(before, std::fs::read(&path).unwrap());
    let connection = careless(&path);
    connection
        .execute_batch("INSERT INTO event VALUES (3, x'00')")
        .unwrap();
}

#[test]
fn a_file_with_another_header_is_refused_before_sqlite_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let cases: [(usize, &[u8], &str); 9] = [
        (0, b"sQLite", "not_a_ledger"),
        (68, b"hndg", "not_a_ledger"),
        (60, &[0, 0, 0, 2], "newer"),
        (60, &[0xff, 0xff, 0xff, 0xff], "newer"),
        (60, &[0, 0, 0, 0], "schema"),
        (18, &[2, 2], "storage"),
        (19, &[2], "storage"),
        (16, &[0, 3], "storage"),
        (59, &[2], "storage"),
    ];
    for (at, bytes, wanted) in cases {
        let mut altered = whole.clone();
        altered[at..at + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, &altered).unwrap();
        assert_eq!(code(open(&path)), wanted, "{bytes:?} at {at}");
        assert_eq!(std::fs::read(&path).unwrap(), altered);
    }
    for short in [&b""[..], b"SQLite format 3\0", &whole[..99]] {
        std::fs::write(&path, short).unwrap();
        assert_eq!(code(open(&path)), "not_a_ledger", "{} bytes", short.len());
    }
}

#[test]
fn a_file_with_another_schema_is_refused() {
    for alteration in [
        "DROP TRIGGER event_no_update",
        "DROP TRIGGER event_only_next",
        "DROP TRIGGER event_no_update;
         CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT 1; END",
        "CREATE TRIGGER late AFTER INSERT ON event BEGIN DELETE FROM capture; END",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TABLE extra (x)",
        "CREATE INDEX extra ON event (record)",
        "CREATE VIRTUAL TABLE extra USING fts5(x)",
        "ANALYZE",
        "ALTER TABLE event RENAME TO events",
        "ALTER TABLE event ADD COLUMN extra TEXT",
        "ALTER TABLE capture RENAME COLUMN bytes TO byte",
        "DROP TABLE capture",
        "ALTER TABLE event RENAME TO hidden;
         CREATE VIEW event AS WITH RECURSIVE n(seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM n)
         SELECT seq, x'00' AS record FROM n",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = ledger_in(folder.path());
        careless(&path).execute_batch(alteration).unwrap();
        assert_eq!(code(open(&path)), "schema", "{alteration}");
    }
}

#[test]
fn a_schema_altered_while_we_have_the_ledger_open_is_refused_at_the_next_append() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let mut ledger = open(&path).unwrap();
    careless(&path)
        .execute_batch("DROP TRIGGER event_no_delete")
        .unwrap();
    assert_eq!(code(append(&mut ledger, "three")), "schema");
}

#[test]
fn a_hundred_thousand_schema_rows_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let connection = careless(&path);
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
             INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
             SELECT 'table', 't' || i, 't' || i, 2, 'CREATE TABLE t' || i || '(x)' FROM n",
        )
        .unwrap();
    drop(connection);
    let refused = code(open(&path));
    assert!(matches!(refused, "schema" | "storage"), "{refused}");
}

#[test]
fn a_row_of_another_type_or_place_ends_the_scan_at_it() {
    for (row, readable) in [
        ("(-1, x'00')", 0),
        ("(9007199254740992, x'00')", 3),
        ("(9223372036854775807, x'00')", 3),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = ledger_in(folder.path());
        let connection = careless(&path);
        let trigger: String = connection
            .query_row(
                "SELECT sql FROM sqlite_schema WHERE name = 'event_only_next'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        let insert = format!("DROP TRIGGER event_only_next; INSERT INTO event VALUES {row};");
        connection.execute_batch(&insert).unwrap();
        connection.execute_batch(&trigger).unwrap();
        drop(connection);
        let mut ledger = open(&path).unwrap();
        let rows = ledger.scan(Seq::ZERO, 100);
        if readable > 0 {
            assert_eq!(rows.unwrap().len(), readable, "{row}");
            assert_eq!(code(ledger.scan(Seq(3), 100)), "storage", "{row}");
            assert_eq!(code(append(&mut ledger, "three")), "storage", "{row}");
        } else {
            assert_eq!(code(rows), "storage", "{row}");
        }
    }
}

#[test]
fn a_wal_beside_the_ledger_is_refused_and_left_alone() {
    for ending in ["-wal", "-shm"] {
        let folder = tempfile::tempdir().unwrap();
        let path = ledger_in(folder.path());
        let mut ledger = open(&path).unwrap();
        let side = PathBuf::from(format!("{}{ending}", path.display()));
        std::fs::write(&side, b"").unwrap();
        assert_eq!(code(append(&mut ledger, "three")), "sidecar");
        assert_eq!(code(open(&path)), "sidecar");
        assert!(side.exists());
        std::fs::remove_file(&side).unwrap();
        assert_eq!(append(&mut ledger, "three"), Ok(Seq(3)));
    }
}

#[test]
fn a_journal_left_by_an_earlier_ledger_keeps_a_new_one_from_its_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ledger.db-journal"), b"old").unwrap();
    assert_eq!(code(create(&folder.path().join("ledger.db"))), "sidecar");
}

#[test]
fn only_a_regular_file_of_one_name_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = ledger_in(folder.path());
    assert_eq!(code(open(folder.path())), "not_a_ledger");
    assert_eq!(code(open(Path::new("/dev/zero"))), "not_a_ledger");
    assert_eq!(code(open(&at("absent.db"))), "absent");
    assert_eq!(code(open(Path::new(""))), "absent");
    let pipe = at("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(code(open(&pipe)), "not_a_ledger");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert_eq!(code(open(&at("socket"))), "not_a_ledger");

    std::os::unix::fs::symlink(&path, at("link.db")).unwrap();
    assert_eq!(
        open(&at("link.db")).unwrap().path(),
        path.canonicalize().unwrap()
    );
    std::fs::hard_link(&path, at("second.db")).unwrap();
    assert_eq!(code(open(&path)), "not_a_ledger");
}

#[test]
fn a_path_is_a_path_whatever_it_looks_like() {
    for name in [
        "file:x.db?mode=memory",
        "file:x?immutable=1&vfs=unix-none",
        ":memory:",
        "-x.db",
        "a\nb?c#d%00.db",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        append(&mut create(&path).unwrap(), "one").unwrap();
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [name], "{name}");
        assert_eq!(open(&path).unwrap().get(Seq(1)), Ok(Some(record("one"))));
    }
}

#[test]
fn a_ledger_is_not_created_over_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let before = std::fs::read(&path).unwrap();
    assert_eq!(code(create(&path)), "already_exists");
    assert_eq!(before, std::fs::read(&path).unwrap());
    let dangling = folder.path().join("dangling.db");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).unwrap();
    assert_eq!(code(create(&dangling)), "already_exists");
    assert_eq!(code(create(folder.path())), "already_exists");
    assert_eq!(
        code(create(&folder.path().join("no/folder/x.db"))),
        "absent"
    );
}

#[test]
fn a_ledger_without_an_event_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let empty = SqliteLedger::create(&path, WAIT, |_| Ok::<(), StoreError>(()));
    assert_eq!(code(empty), "empty");
    let failing = SqliteLedger::create(&path, WAIT, |ledger| {
        append(ledger, "genesis")?;
        Err::<(), StoreError>(StoreError::Empty { what: "a test" })
    });
    assert_eq!(code(failing), "empty");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_ledger_that_may_not_be_written_to_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = ledger_in(folder.path());
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(&path, read_only).unwrap();
    // Root may write to it all the same.
    let writable = std::fs::OpenOptions::new().append(true).open(&path).is_ok();
    let mut ledger = open(&path).unwrap();
    assert_eq!(ledger.head(), Ok(Some((Seq(2), record("two")))));
    let wanted = if writable { "ok" } else { "io" };
    assert_eq!(code(append(&mut ledger, "three")), wanted);
}
