//! Opening a ledger file: what is checked before a row is believed, and the settings (section 8).

use super::StoreError;
use super::file::{self, Held, side_file};
use super::rows::fault;
use super::schema::{self, Header};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// An open connection to a ledger file. Fields are dropped in order: the connection closes before
/// the note of it goes.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) connection: Connection,
    _held: Held,
}

impl Open {
    /// Opens the ledger at a resolved path, once it is seen to be one.
    pub(super) fn existing(path: &Path, wait: Duration) -> Result<Open, StoreError> {
        let metadata = file::metadata(path)?;
        file::check_regular(path, &metadata)?;
        if metadata.nlink() != 1 {
            return Err(StoreError::NotALedger {
                path: path.into(),
                reason: format!("it goes by {} names (hard links)", metadata.nlink()),
            });
        }
        refuse_side_files(path)?;
        let held = Held::after(&metadata, || check_header(path))?;
        let mut connection = connect(path, wait)?;
        let version = schema::check(&connection, wait)?;
        check_length(&mut connection, path, wait)?;
        if version < schema::KNOWN_VERSION {
            upgrade(&mut connection, wait)?;
        }
        Ok(Open {
            connection,
            _held: held,
        })
    }

    /// Opens an empty file at a resolved path, and gives it the schema.
    pub(super) fn blank(path: &Path, wait: Duration) -> Result<Open, StoreError> {
        let held = Held::after(&file::metadata(path)?, || Ok(()))?;
        let connection = connect(path, wait)?;
        let build = || -> Result<(), rusqlite::Error> {
            connection.execute_batch("PRAGMA page_size = 16384; BEGIN IMMEDIATE;")?;
            schema::migrate(&connection, 0)?;
            connection.execute_batch("COMMIT")
        };
        build().map_err(|error| fault(error, wait))?;
        Ok(Open {
            connection,
            _held: held,
        })
    }
}

/// A ledger has no WAL and no shared memory: SQLite would read a WAL put beside it in place of the
/// ledger's own pages, whatever its header says. A journal may be there: another writer's, or one
/// to recover from; but only as a regular file, since opening a named pipe waits for ever.
pub(super) fn refuse_side_files(path: &Path) -> Result<(), StoreError> {
    for ending in ["-wal", "-shm"] {
        let path = side_file(path, ending);
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::Sidecar { path });
        }
    }
    let path = side_file(path, "-journal");
    match path.symlink_metadata() {
        Ok(journal) if !journal.is_file() => Err(StoreError::Sidecar { path }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Refuses a file of another length than its pages: SQLite passes over what follows them, and would
/// write over it. Nobody changes the length while this connection reads.
fn check_length(
    connection: &mut Connection,
    path: &Path,
    wait: Duration,
) -> Result<(), StoreError> {
    let fault = |error| fault(error, wait);
    let reading = connection.transaction().map_err(fault)?;
    let number = |name| reading.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = number("page_count").map_err(fault)?;
    let expected = number("page_size").map_err(fault)?.saturating_mul(pages);
    let found = i64::try_from(file::metadata(path)?.len()).unwrap_or(i64::MAX);
    if found != expected {
        return Err(StoreError::Storage {
            detail: format!("expected {expected} bytes in {pages} pages, found {found}"),
        });
    }
    Ok(())
}

/// Reads the header before SQLite does.
fn check_header(path: &Path) -> Result<(), StoreError> {
    let (mut file, _) = file::open_regular(path)?;
    Header::read(path, &mut file)?.check()
}

fn connect(path: &Path, wait: Duration) -> Result<Connection, StoreError> {
    let connection = schema::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, wait)?;
    // secure_delete: an erased capture does not live on in a free page. fullfsync: on macOS,
    // fsync alone does not reach the disk.
    let settings = "PRAGMA synchronous = EXTRA; PRAGMA recursive_triggers = ON;
        PRAGMA secure_delete = ON; PRAGMA fullfsync = ON;";
    let set = || {
        connection.execute_batch(settings)?;
        connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0))
    };
    let journal = set().map_err(|error| fault(error, wait))?;
    check_journal(&journal)?;
    Ok(connection)
}

/// Refuses any journal mode but DELETE; that of a connection that met a WAL is another.
pub(super) fn check_journal(mode: &str) -> Result<(), StoreError> {
    if mode != "delete" {
        return Err(StoreError::Storage {
            detail: format!("its journal mode is {mode}, not delete"),
        });
    }
    Ok(())
}

/// Applies the migrations that an older file lacks, if no other process was faster.
fn upgrade(connection: &mut Connection, wait: Duration) -> Result<(), StoreError> {
    let fault = |error| fault(error, wait);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fault)?;
    let version = schema::check(&transaction, wait)?;
    schema::migrate(&transaction, version).map_err(fault)?;
    schema::check(&transaction, wait)?;
    transaction.commit().map_err(fault)
}
