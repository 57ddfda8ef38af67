//! The file of this machine's own view of a ledger: which seqs concern a subject, and their leaves.
//!
//! It holds nothing that cannot be built anew from the ledger. Whatever is wrong with it is
//! [`StoreError::IndexUnusable`], and the answer is [`IndexFile::discard`] and building it again.

use super::StoreError;
use super::file::{SIDE_FILE_ENDINGS, side_file};
use super::positions::{IndexRow, KEY_BYTES, Positions};
use super::rows::{self, blob, row_id};
use super::schema::pragma;
use crate::hash;
use crate::types::{Leaf, Seq};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, Transaction, TransactionBehavior};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The four bytes `hndi` in the header's application id.
const APPLICATION_ID: i32 = 0x686e_6469;
/// What the tables hold: their layout, and the judgements of this program by its rules. A file of
/// another program is emptied, whichever is newer, and built anew.
const CONTENTS: &str = concat!("layout 4, handoff-ledger ", env!("CARGO_PKG_VERSION"));
/// Of how many positions it is kept what was computed up to there: as many as there are checkpoints
/// in use at once.
const COMPUTED_MAX: i64 = 16;
/// How long a connection waits for another one's lock.
const WAIT: Duration = Duration::from_secs(5);

/// NORMAL: what a power cut takes is built anew. 32 MiB of cache hold the tree of some 400,000
/// entries while a long ledger is indexed in one go; memory is taken only as pages are touched.
const SETTINGS: &str =
    "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -32768;";

const TABLES: &str = "
    CREATE TABLE event (
        seq     INTEGER PRIMARY KEY,
        leaf    BLOB NOT NULL,
        refused TEXT
    ) STRICT;
    CREATE TABLE computed (
        seq   INTEGER PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE subject (
        key BLOB NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (key, seq)
    ) STRICT, WITHOUT ROWID;";

/// A connection to an index file.
#[derive(Debug)]
pub struct IndexFile {
    path: PathBuf,
    connection: Connection,
}

impl IndexFile {
    /// Opens the index, or creates it empty; one of another format version is emptied. Its folder
    /// must exist.
    ///
    /// # Errors
    /// [`StoreError::IndexUnusable`] if the file is no index or is damaged; [`StoreError::Busy`];
    /// what the system refused. So for every method here and of [`Positions`].
    pub fn open(path: &Path) -> Result<IndexFile, StoreError> {
        // An absolute path starts with `/`: SQLite cannot take it for a URI.
        let path =
            std::path::absolute(path).map_err(|error| StoreError::io("find the index", &error))?;
        refuse_irregular(&path)?;
        let fault = |error| fault(&path, error);
        make_private(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(fault)?;
        connection.busy_timeout(WAIT).map_err(fault)?;
        connection.execute_batch(SETTINGS).map_err(fault)?;
        if identify(&connection).map_err(fault)? != Identity::Current {
            lay_out(&mut connection, &path)?;
        }
        Ok(IndexFile { path, connection })
    }

    /// The index in a file, for looking into it without changing the file: none if it is of another
    /// format version, which [`IndexFile::open`] would empty.
    ///
    /// # Errors
    /// See [`IndexFile::open`]; and a file that is not there.
    pub fn peek(path: &Path) -> Result<Option<IndexFile>, StoreError> {
        let path =
            std::path::absolute(path).map_err(|error| StoreError::io("find the index", &error))?;
        refuse_irregular(&path)?;
        let fault = |error| fault(&path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(&path, flags).map_err(fault)?;
        connection.busy_timeout(WAIT).map_err(fault)?;
        connection.execute_batch(SETTINGS).map_err(fault)?;
        match identify(&connection).map_err(fault)? {
            Identity::Current => Ok(Some(IndexFile { path, connection })),
            Identity::Outdated => Ok(None),
            Identity::Foreign => Err(unusable(&path, "it is of another program")),
        }
    }

    /// An empty index that is in no file, and gone with what is returned.
    ///
    /// # Errors
    /// See [`IndexFile::open`].
    pub fn in_memory() -> Result<IndexFile, StoreError> {
        let path = PathBuf::from(":memory:");
        let opened = Connection::open_in_memory();
        let mut connection = opened.map_err(|error| fault(&path, error))?;
        lay_out(&mut connection, &path)?;
        Ok(IndexFile { path, connection })
    }

    /// Removes an unusable index and what SQLite left beside it. No other process may be using it;
    /// one that is loses its index, not its ledger.
    ///
    /// # Errors
    /// What the system refused.
    pub fn discard(path: &Path) -> Result<(), StoreError> {
        // The journal first: it would be rolled back into the next file of this name.
        let beside = SIDE_FILE_ENDINGS.iter().rev();
        let beside = beside.map(|ending| side_file(path, ending));
        for path in beside.chain([path.to_path_buf()]) {
            match std::fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io("remove the index", &error)),
            }
        }
        Ok(())
    }

    fn lookup<T, P, F>(&self, sql: &str, params: P, read: F) -> Result<Option<T>, StoreError>
    where
        P: rusqlite::Params,
        F: FnOnce(&Row<'_>) -> Result<T, StoreError>,
    {
        let fault = |error| self.fault(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(fault)?;
        let mut rows = statement.query(params).map_err(fault)?;
        rows.next().map_err(fault)?.map(read).transpose()
    }

    fn fault(&self, error: rusqlite::Error) -> StoreError {
        fault(&self.path, error)
    }
}

impl Positions for IndexFile {
    fn snapshot<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        // Others may not change it meanwhile, so it is to be short: it keeps writers waiting.
        let transaction = self.connection.unchecked_transaction();
        let transaction = transaction.map_err(|error| self.fault(error))?;
        let value = work(self)?;
        transaction.finish().map_err(|error| self.fault(error))?;
        Ok(value)
    }

    fn head(&self) -> Result<Option<(Seq, Leaf)>, StoreError> {
        head(&self.connection, &self.path)
    }

    fn event(&self, seq: Seq) -> Result<Option<(Leaf, Option<String>)>, StoreError> {
        let sql = "SELECT leaf, refused FROM event WHERE seq = ?1";
        self.lookup(sql, [row_id(seq)?], |row| {
            let refused = match row.get_ref(1).map_err(|error| self.fault(error))? {
                ValueRef::Null => None,
                ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
                    return Err(unusable(&self.path, "a reason is no text"));
                }
            };
            Ok((leaf(row, 0, &self.path)?, refused))
        })
    }

    fn all(&self, key: &[u8; KEY_BYTES]) -> Result<Vec<Seq>, StoreError> {
        let sql = "SELECT seq FROM subject WHERE key = ?1 ORDER BY seq";
        let fault = |error| self.fault(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(fault)?;
        let mut rows = statement.query([key]).map_err(fault)?;
        let mut seqs = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            seqs.push(seq(row, &self.path)?);
        }
        Ok(seqs)
    }

    fn first(&self, key: &[u8; KEY_BYTES]) -> Result<Option<Seq>, StoreError> {
        let sql = "SELECT seq FROM subject WHERE key = ?1 ORDER BY seq LIMIT 1";
        self.lookup(sql, [key], |row| seq(row, &self.path))
    }

    fn last(&self, key: &[u8; KEY_BYTES], at_most: Seq) -> Result<Option<Seq>, StoreError> {
        let sql = "SELECT seq FROM subject WHERE key = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1";
        self.lookup(sql, (key, row_id(at_most)?), |row| seq(row, &self.path))
    }

    fn advance(
        &mut self,
        expected: Option<(Seq, Leaf)>,
        rows: &[IndexRow],
    ) -> Result<bool, StoreError> {
        let mut next = expected.map_or(Seq::ZERO, |(seq, _)| seq.next());
        for row in rows {
            if row.seq != next {
                return Err(StoreError::NotNext {
                    expected: next,
                    found: row.seq,
                });
            }
            next = next.next();
        }
        let path = &self.path;
        let fault = |error| fault(path, error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fault)?;
        if head(&transaction, path)? != expected {
            // Another process was here first.
            return Ok(false);
        }
        insert(&transaction, path, rows)?;
        transaction.commit().map_err(fault)?;
        Ok(true)
    }

    fn computed(&self, up_to: Seq) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT bytes FROM computed WHERE seq = ?1";
        self.lookup(sql, [row_id(up_to)?], |row| {
            let bytes = row.get(0);
            bytes.map_err(|error| self.fault(error))
        })
    }

    fn keep_computed(&self, up_to: Seq, bytes: &[u8]) -> Result<(), StoreError> {
        let fault = |error| self.fault(error);
        let sql = "INSERT OR REPLACE INTO computed (seq, bytes) VALUES (?1, ?2)";
        let kept = self.connection.execute(sql, (row_id(up_to)?, bytes));
        kept.map_err(fault)?;
        let sql = "DELETE FROM computed WHERE seq NOT IN
            (SELECT seq FROM computed ORDER BY seq DESC LIMIT ?1)";
        let thinned = self.connection.execute(sql, [COMPUTED_MAX]);
        thinned.map(drop).map_err(fault)
    }
}

/// Makes an empty file where there is none, its owner's alone: SQLite, which gives its side files
/// the same mode, would let others read it.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::io("make the index", &error)),
    }
}

/// Refuses an index that is no regular file, or has something else for one beside it: SQLite opens
/// whatever is there, and would wait for ever at a named pipe.
fn refuse_irregular(path: &Path) -> Result<(), StoreError> {
    let beside = SIDE_FILE_ENDINGS.map(|ending| side_file(path, ending));
    for file in beside.iter().map(PathBuf::as_path).chain([path]) {
        if file.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            let detail = format!("{} is no regular file", file.display());
            return Err(unusable(path, &detail));
        }
    }
    Ok(())
}

/// Whose file it is.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// An index of this format.
    Current,
    /// An index of another format, or a file without anything in it.
    Outdated,
    /// Some other database.
    Foreign,
}

fn identify(connection: &Connection) -> Result<Identity, rusqlite::Error> {
    let application_id = pragma(connection, "application_id")?;
    if application_id == i64::from(APPLICATION_ID) {
        let version = pragma(connection, "user_version")?;
        return Ok(if version == i64::from(version_of(CONTENTS)) {
            Identity::Current
        } else {
            Identity::Outdated
        });
    }
    let objects = "SELECT count(*) FROM sqlite_schema";
    Ok(match connection.query_row(objects, [], |row| row.get(0))? {
        0_i64 => Identity::Outdated,
        _ => Identity::Foreign,
    })
}

/// The number that stands for what an index holds: the start of its SHA-256.
fn version_of(contents: &str) -> i32 {
    let digest = hash::bytes(contents.as_bytes()).0;
    let start = digest.first_chunk::<4>().copied();
    i32::from_be_bytes(start.unwrap_or_default())
}

/// Makes an empty or outdated file an empty index, if no other process was faster.
fn lay_out(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let fault = |error| fault(path, error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fault)?;
    match identify(&transaction).map_err(fault)? {
        Identity::Current => return Ok(()),
        Identity::Foreign => return Err(unusable(path, "it is another kind of file")),
        Identity::Outdated => {}
    }
    let build = || -> Result<(), rusqlite::Error> {
        for table in tables(&transaction)? {
            let quoted = table.replace('"', "\"\"");
            transaction.execute_batch(&format!("DROP TABLE \"{quoted}\""))?;
        }
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", version_of(CONTENTS))
    };
    build().map_err(fault)?;
    transaction.commit().map_err(fault)
}

fn tables(connection: &Connection) -> Result<Vec<String>, rusqlite::Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

fn insert(transaction: &Transaction<'_>, path: &Path, rows: &[IndexRow]) -> Result<(), StoreError> {
    let fault = |error| fault(path, error);
    let prepare = |sql| transaction.prepare_cached(sql).map_err(fault);
    let mut event = prepare("INSERT INTO event (seq, leaf, refused) VALUES (?1, ?2, ?3)")?;
    let mut add = prepare("INSERT OR IGNORE INTO subject (key, seq) VALUES (?1, ?2)")?;
    let mut remove = prepare("DELETE FROM subject WHERE key = ?1 AND seq = ?2")?;
    for row in rows {
        let number = row_id(row.seq)?;
        event
            .execute((number, row.leaf.0, &row.refused))
            .map_err(fault)?;
        for (key, seq) in &row.remove {
            remove.execute((key, row_id(*seq)?)).map_err(fault)?;
        }
        for (key, seq) in &row.add {
            add.execute((key, row_id(*seq)?)).map_err(fault)?;
        }
    }
    Ok(())
}

fn head(connection: &Connection, path: &Path) -> Result<Option<(Seq, Leaf)>, StoreError> {
    let sql = "SELECT seq, leaf FROM event ORDER BY seq DESC LIMIT 1";
    let fault = |error| fault(path, error);
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let mut rows = statement.query([]).map_err(fault)?;
    let Some(row) = rows.next().map_err(fault)? else {
        return Ok(None);
    };
    Ok(Some((seq(row, path)?, leaf(row, 1, path)?)))
}

fn seq(row: &Row<'_>, path: &Path) -> Result<Seq, StoreError> {
    rows::seq(row, 0).map_err(|error| unusable(path, &error.to_string()))
}

fn leaf(row: &Row<'_>, column: usize, path: &Path) -> Result<Leaf, StoreError> {
    let bytes = blob(row, column, "leaf").ok();
    let leaf = bytes.and_then(|bytes| bytes.try_into().ok()).map(Leaf);
    leaf.ok_or_else(|| unusable(path, "a leaf is not 32 bytes"))
}

fn unusable(path: &Path, detail: &str) -> StoreError {
    StoreError::IndexUnusable {
        path: path.into(),
        detail: detail.to_owned(),
    }
}

fn fault(path: &Path, error: rusqlite::Error) -> StoreError {
    let fault = rows::fault(error, WAIT);
    let altered = matches!(
        fault,
        StoreError::Storage { .. } | StoreError::Guarded { .. } | StoreError::Schema { .. }
    );
    if altered {
        unusable(path, &fault.to_string())
    } else {
        fault
    }
}
