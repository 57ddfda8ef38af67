//! The ledger file: SQLite, journal mode DELETE, synchronous EXTRA (section 8).

use super::connection::{Open, check_journal, refuse_side_files};
use super::file::{self, side_files};
use super::pages::{LOOK_TIME, Pages, check_free_pages, look};
use super::rows::{Rows, fault, row_id};
use super::schema;
use super::{Capture, Read, Record, Store, StoreError, Transaction, check_bounds};
use crate::types::{Digest, Leaf, Seq};
use rusqlite::TransactionBehavior;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of the one SQLite that this program is built with.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// How long a connection waits for another one's lock unless told otherwise.
pub const WAIT: Duration = Duration::from_secs(5);

/// Lays the captures that are left out on new pages. A b-tree that was rebalanced keeps copies of
/// cells it moved elsewhere in the unused part of its pages, out of the reach of `secure_delete`,
/// which overwrites what is deleted where it stands now (one row in a hundred had such a copy).
/// But pages that are given up are overwritten whole, and a table is emptied by giving up its
/// pages.
/// What SQLite keeps meanwhile, in memory or in a file without a name, is what was not erased.
const LAY_OUT_ANEW: &str = "
    CREATE TEMP TABLE left_over AS SELECT commitment, salt, bytes FROM main.capture;
    DELETE FROM main.capture;
    INSERT INTO main.capture SELECT commitment, salt, bytes FROM temp.left_over ORDER BY rowid;
    DROP TABLE temp.left_over;";

/// A connection to a ledger file. Threads and processes each have their own.
#[derive(Debug)]
pub struct SqliteLedger {
    path: PathBuf,
    wait: Duration,
    /// `None` only after a commit failed and the file could not be opened again.
    open: Option<Open>,
}

impl SqliteLedger {
    /// Creates a ledger with the events that `begin` appends (one at least), and opens it. It is
    /// made under another name and moved into place whole, so a process that dies at any moment
    /// leaves either no ledger or this one, and of several that create the same one wins.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] if there is anything at `path`; [`StoreError::Sidecar`] if a
    /// side file of an earlier ledger is left there; what `begin` returned, or the system.
    pub fn create<T, E, F>(path: &Path, wait: Duration, begin: F) -> Result<(SqliteLedger, T), E>
    where
        E: From<StoreError>,
        F: FnOnce(&mut SqliteLedger) -> Result<T, E>,
    {
        let (folder, path) = free_place(path)?;
        let scratch = tempfile::Builder::new()
            .prefix(".new-ledger-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .tempfile_in(&folder)
            .map_err(|error| StoreError::io("create the ledger", &error))?
            // Closes the file, which must happen before SQLite opens it.
            .into_temp_path();
        let mut ledger = SqliteLedger::at(&scratch, wait, Open::blank)?;
        let value = begin(&mut ledger)?;
        let Some((last, record)) = ledger.head()? else {
            let what = "a new ledger";
            return Err(StoreError::Empty { what }.into());
        };
        drop(ledger);
        scratch
            .persist_noclobber(&path)
            .map_err(|refused| not_placed(&path, &refused.error))?;
        // It has its name now; whether it keeps it through a power cut is what this makes sure of.
        let synced = sync_folder(&path);
        let unsure = |detail: String| StoreError::Indeterminate {
            first: Seq::ZERO,
            last,
            leaf: record.leaf(),
            detail,
        };
        synced.map_err(|error| unsure(format!("cannot write the ledger's folder: {error}")))?;
        let ledger = SqliteLedger::open(&path, wait);
        Ok((ledger.map_err(|error| unsure(error.to_string()))?, value))
    }

    /// Opens an existing ledger. Links in `path` are followed; it is a path and nothing else, be it
    /// `:memory:` or `file:…?…`. A ledger that may not be written to is opened for reading.
    ///
    /// # Errors
    /// [`StoreError::NotALedger`] for what is no regular file, has another header, or goes by
    /// several names (the journal is found by name, so each name would have its own);
    /// [`StoreError::Sidecar`] for a `-wal` or `-shm` beside it; [`StoreError::Newer`],
    /// [`StoreError::Schema`] and [`StoreError::Storage`] as they say; what the system refused.
    pub fn open(path: &Path, wait: Duration) -> Result<SqliteLedger, StoreError> {
        SqliteLedger::at(path, wait, Open::existing)
    }

    fn at(
        path: &Path,
        wait: Duration,
        open: fn(&Path, Duration) -> Result<Open, StoreError>,
    ) -> Result<SqliteLedger, StoreError> {
        let path = file::resolve(path)?;
        let open = Some(open(&path, wait)?);
        Ok(SqliteLedger { path, wait, open })
    }

    /// The file, as an absolute path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at the pages without their rows, for as long as a writer can wait meanwhile.
    ///
    /// # Errors
    /// What kept the file from being read.
    pub fn look_at_pages(&mut self) -> Result<Pages, StoreError> {
        refuse_side_files(&self.path)?;
        let wait = self.wait;
        let open = self.open.as_mut().ok_or_else(closed)?;
        look(&mut open.connection, wait, LOOK_TIME)
    }

    /// Waits from now on at least so long for another one's lock.
    ///
    /// # Errors
    /// If the file could not be opened again after a failed commit.
    pub fn wait_at_least(&mut self, wait: Duration) -> Result<(), StoreError> {
        self.wait = self.wait.max(wait);
        let open = self.open.as_ref().ok_or_else(closed)?;
        let set = open.connection.busy_timeout(self.wait);
        set.map_err(|error| fault(error, self.wait))
    }

    fn rows(&self) -> Result<Rows<'_>, StoreError> {
        refuse_side_files(&self.path)?;
        let open = self.open.as_ref().ok_or_else(closed)?;
        Ok(Rows {
            connection: &open.connection,
            wait: self.wait,
        })
    }

    /// Finds out whether a transaction whose commit failed with `error` happened all the same.
    /// A failed connection's own word is worth nothing, so the records are read through another.
    fn settle(&mut self, written: &[(Seq, Leaf)], error: StoreError) -> Result<(), StoreError> {
        let (Some((first, _)), Some((last, leaf))) = (written.first(), written.last()) else {
            return Err(error);
        };
        let indeterminate = |why: String| StoreError::Indeterminate {
            first: *first,
            last: *last,
            leaf: *leaf,
            detail: format!("{error}; {why}"),
        };
        self.open = None;
        let unread = |why: StoreError| indeterminate(format!("then {why}"));
        self.open = Some(Open::existing(&self.path, self.wait).map_err(unread)?);
        let mut same = 0;
        for (seq, leaf) in written {
            let found = self.get(*seq).map_err(unread)?;
            same += usize::from(found.is_some_and(|record| record.leaf() == *leaf));
        }
        match same {
            0 => Err(error),
            all if all == written.len() => {
                // The journal's removal may be what failed: it must outlive a power cut.
                let unsynced = |error: std::io::Error| {
                    indeterminate(format!("then its folder could not be synced: {error}"))
                };
                sync_folder(&self.path).map_err(unsynced)
            }
            some => Err(indeterminate(format!(
                "then {some} of its records were there"
            ))),
        }
    }
}

fn closed() -> StoreError {
    StoreError::Io {
        doing: "use the ledger",
        detail: "it could not be opened again after a failed commit".to_owned(),
    }
}

/// Syncs the folder of a file; the file itself, which SQLite has open, is not touched.
fn sync_folder(path: &Path) -> Result<(), std::io::Error> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// The folder and the absolute path for a new ledger, both without links, if nothing is there.
fn free_place(path: &Path) -> Result<(PathBuf, PathBuf), StoreError> {
    let Some(name) = path.file_name() else {
        return Err(StoreError::NotALedger {
            path: path.into(),
            reason: "the path does not end in a file name".to_owned(),
        });
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => file::resolve(folder)?,
        _ => file::resolve(Path::new("."))?,
    };
    let path = folder.join(name);
    if path.symlink_metadata().is_ok() {
        return Err(StoreError::AlreadyExists { path });
    }
    // A journal left from an earlier file of this name would be rolled back into the new one.
    match side_files(&path).into_iter().next() {
        Some(path) => Err(StoreError::Sidecar { path }),
        None => Ok((folder, path)),
    }
}

/// Why the new ledger could not be moved to `path`.
fn not_placed(path: &Path, error: &std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        StoreError::AlreadyExists { path: path.into() }
    } else {
        StoreError::io("move the new ledger into place", error)
    }
}

impl Read for SqliteLedger {
    fn head(&self) -> Result<Option<(Seq, Record)>, StoreError> {
        self.rows()?.head()
    }

    fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError> {
        self.rows()?.get(seq)
    }

    fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.rows()?.scan(from, limit)
    }

    fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError> {
        self.rows()?.capture(commitment)
    }
}

/// What a transaction did to the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    Nothing,
    Rows,
}

/// A ledger under a write lock.
struct Locked<'a> {
    rows: Rows<'a>,
    /// What was appended, to be looked for should the commit fail.
    written: Vec<(Seq, Leaf)>,
    touched: Touched,
}

impl Read for Locked<'_> {
    fn head(&self) -> Result<Option<(Seq, Record)>, StoreError> {
        self.rows.head()
    }

    fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError> {
        self.rows.get(seq)
    }

    fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.rows.scan(from, limit)
    }

    fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError> {
        self.rows.capture(commitment)
    }
}

impl Transaction for Locked<'_> {
    fn append(&mut self, records: &[Record], captures: &[Capture]) -> Result<(), StoreError> {
        check_bounds(records, captures)?;
        let wait = self.rows.wait;
        let fault = |error| fault(error, wait);
        let mut next = self.head()?.map_or(Seq::ZERO, |(head, _)| head.next());
        let connection = self.rows.connection;
        let mut insert = connection
            .prepare_cached("INSERT INTO event (seq, record) VALUES (?1, ?2)")
            .map_err(fault)?;
        self.touched = Touched::Rows;
        for record in records {
            let row = row_id(next)?;
            insert.execute((row, &record.0)).map_err(fault)?;
            self.written.push((next, record.leaf()));
            next = next.next();
        }
        let mut insert = connection
            .prepare_cached(
                "INSERT INTO capture (commitment, salt, bytes) SELECT ?1, ?2, ?3
                 WHERE NOT EXISTS (SELECT 1 FROM capture WHERE commitment = ?1)",
            )
            .map_err(fault)?;
        for capture in captures {
            insert
                .execute((capture.commitment.0, capture.salt, &capture.bytes))
                .map_err(fault)?;
        }
        Ok(())
    }

    fn erase(&mut self, commitments: &[Digest]) -> Result<(), StoreError> {
        let wait = self.rows.wait;
        let fault = |error| fault(error, wait);
        let connection = self.rows.connection;
        let sql = "DELETE FROM capture WHERE commitment = ?1";
        let mut delete = connection.prepare_cached(sql).map_err(fault)?;
        self.touched = Touched::Rows;
        let mut erased = 0;
        for commitment in commitments {
            erased += delete.execute([commitment.0]).map_err(fault)?;
        }
        match erased {
            0 => Ok(()),
            _ => connection.execute_batch(LAY_OUT_ANEW).map_err(fault),
        }
    }
}

impl Store for SqliteLedger {
    fn transact<T, E, F>(&mut self, work: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: FnOnce(&mut dyn Transaction) -> Result<T, E>,
    {
        let wait = self.wait;
        let fault = |error| fault(error, wait);
        refuse_side_files(&self.path)?;
        let open = self.open.as_mut().ok_or_else(closed)?;
        check_free_pages(&mut open.connection, wait)?;
        let transaction = open
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fault)?;
        // Under the lock again: another process may have changed either since we opened.
        schema::check(&transaction, wait)?;
        let journal: String = transaction
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(fault)?;
        check_journal(&journal)?;
        let mut locked = Locked {
            rows: Rows {
                connection: &transaction,
                wait,
            },
            written: Vec::new(),
            touched: Touched::Nothing,
        };
        let value = work(&mut locked)?;
        let Locked {
            written, touched, ..
        } = locked;
        if touched == Touched::Nothing {
            return Ok(value);
        }
        match transaction.commit().map_err(fault) {
            Ok(()) => Ok(value),
            // A reader held on for too long; SQLite gave up before it wrote.
            Err(busy @ StoreError::Busy { .. }) => Err(busy.into()),
            Err(error) => {
                self.settle(&written, error)?;
                Ok(value)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        Record(text.as_bytes().to_vec())
    }

    fn append(ledger: &mut SqliteLedger, texts: &[&str]) -> Result<(), StoreError> {
        let records: Vec<Record> = texts.iter().copied().map(record).collect();
        ledger.transact(|transaction| transaction.append(&records, &[]))
    }

    fn ledger(folder: &Path) -> SqliteLedger {
        let path = folder.join("ledger.db");
        let begin = |ledger: &mut SqliteLedger| append(ledger, &["genesis"]);
        SqliteLedger::create(&path, WAIT, begin).unwrap().0
    }

    fn failed() -> StoreError {
        StoreError::Io {
            doing: "commit",
            detail: "disk I/O error".to_owned(),
        }
    }

    #[test]
    fn the_settings_are_those_of_the_design() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(folder.path());
        let connection = &ledger.open.as_ref().unwrap().connection;
        for (name, wanted) in [
            ("synchronous", 3),
            ("page_size", 16_384),
            ("recursive_triggers", 1),
            ("trusted_schema", 0),
            ("cell_size_check", 1),
            ("secure_delete", 1),
            ("application_id", i64::from(schema::APPLICATION_ID)),
            ("user_version", schema::KNOWN_VERSION),
        ] {
            assert_eq!(schema::pragma(connection, name), Ok(wanted), "{name}");
        }
        let defensive = rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE;
        assert_eq!(connection.db_config(defensive), Ok(true));
    }

    #[test]
    fn a_commit_that_failed_but_happened_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = ledger(folder.path());
        append(&mut ledger, &["a", "b"]).unwrap();
        let written = [(Seq(1), record("a").leaf()), (Seq(2), record("b").leaf())];
        assert_eq!(ledger.settle(&written, failed()), Ok(()));
        append(&mut ledger, &["c"]).unwrap();
    }

    #[test]
    fn a_commit_that_failed_and_did_not_happen_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = ledger(folder.path());
        let written = [(Seq(1), record("a").leaf())];
        assert_eq!(ledger.settle(&written, failed()), Err(failed()));
        // Another writer's record took the seq.
        append(&mut ledger, &["b"]).unwrap();
        assert_eq!(ledger.settle(&written, failed()), Err(failed()));
    }

    #[test]
    fn a_commit_that_cannot_be_settled_is_indeterminate() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = ledger(folder.path());
        let leaf = record("a").leaf();
        std::fs::remove_file(ledger.path()).unwrap();
        let result = ledger.settle(&[(Seq(1), leaf), (Seq(2), leaf)], failed());
        let Err(StoreError::Indeterminate {
            first,
            last,
            leaf: named,
            ..
        }) = result
        else {
            panic!("{result:?}");
        };
        assert_eq!((first, last, named), (Seq(1), Seq(2), leaf));
        assert_eq!(ledger.head(), Err(closed()));
    }

    #[test]
    fn a_commit_that_a_hook_refuses_appends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = ledger(folder.path());
        let connection = &mut ledger.open.as_mut().unwrap().connection;
        connection.commit_hook(Some(|| true)).unwrap();
        assert!(append(&mut ledger, &["a"]).is_err());
        // The connection with the hook was dropped, and the file is as before.
        assert_eq!(ledger.head(), Ok(Some((Seq::ZERO, record("genesis")))));
        append(&mut ledger, &["b"]).unwrap();
        assert_eq!(ledger.get(Seq(1)), Ok(Some(record("b"))));
    }
}
