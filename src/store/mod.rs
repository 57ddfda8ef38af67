//! Where records are kept: an append-only sequence of opaque bytes, and captures beside it.
//!
//! A store knows bytes, never kinds. [`sqlite`] is the ledger file, [`memory`] its double in tests,
//! [`evidence`] a file that somebody handed over. [`index`] is no store: it is the file of this
//! machine's own view.

pub mod evidence;
pub mod index;
pub mod memory;
pub mod pages;
pub mod positions;
pub mod rehearsal;
pub mod sqlite;

mod connection;
mod file;
mod rows;
mod schema;

use crate::hash::{self, SALT_BYTES};
use crate::types::{CAPTURE_BYTES_MAX, Digest, Leaf, RECORD_BYTES_MAX, SIGNATURE_BYTES, Seq};
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A signature and the event bytes it is over, as stored; not necessarily well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record(pub Vec<u8>);

impl Record {
    /// The signature; `None` if the record is shorter than one.
    pub fn signature(&self) -> Option<&[u8]> {
        self.0.get(..SIGNATURE_BYTES)
    }

    /// What follows the signature; `None` if the record is shorter than a signature.
    pub fn event_bytes(&self) -> Option<&[u8]> {
        self.0.get(SIGNATURE_BYTES..)
    }

    /// The record's hash: see [`hash::leaf`].
    pub fn leaf(&self) -> Leaf {
        hash::leaf(&self.0)
    }
}

/// Captured output, or only the salt of a redacted value, under the commitment that an event holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The digest by which an event refers to it. The store does not check it.
    pub commitment: Digest,
    /// The salt of the commitment.
    pub salt: [u8; SALT_BYTES],
    /// At most [`CAPTURE_BYTES_MAX`] bytes; `None` where only the salt is kept.
    pub bytes: Option<Vec<u8>>,
}

/// Reading a store. Every call is one short statement: none holds a lock when it has returned.
pub trait Read {
    /// The newest record, with its position.
    ///
    /// # Errors
    /// Whatever keeps the store from being read; so for every method here.
    fn head(&self) -> Result<Option<(Seq, Record)>, StoreError>;

    /// The record at `seq`.
    ///
    /// # Errors
    /// See [`Read::head`].
    fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError>;

    /// Up to `limit` records from `from` on, in ascending order. Only an empty answer means that
    /// there are no more: a shorter one than asked for ends before a fault, which the next call
    /// (from the seq after its last record) returns.
    ///
    /// # Errors
    /// See [`Read::head`].
    fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError>;

    /// What is kept under `commitment`.
    ///
    /// # Errors
    /// See [`Read::head`].
    fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError>;
}

/// A store that is locked for writing: what is read here stays so until the transaction ends.
pub trait Transaction: Read {
    /// Appends `records` right after the head (from 0 on if there is none) and keeps `captures`.
    /// What is already kept under a capture's commitment stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Empty`] or [`StoreError::TooLarge`] for a record or capture out of bounds, and
    /// then nothing was appended; otherwise what kept the rows from being written, after which
    /// the transaction is to be given up.
    fn append(&mut self, records: &[Record], captures: &[Capture]) -> Result<(), StoreError>;

    /// Forgets what is kept under `commitments`; one under which nothing is kept is passed over.
    ///
    /// # Errors
    /// What kept the rows from being deleted.
    fn erase(&mut self, commitments: &[Digest]) -> Result<(), StoreError>;
}

/// A store that can be written to.
pub trait Store: Read {
    /// Runs `work` with the store locked for writing, and commits what it appended if it returns
    /// `Ok`; otherwise nothing happened.
    ///
    /// # Errors
    /// What `work` returned; [`StoreError::Busy`] if another writer held the lock for too long; or
    /// why it could not be committed, where [`StoreError::Indeterminate`] alone leaves open whether
    /// it was.
    fn transact<T, E, F>(&mut self, work: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: FnOnce(&mut dyn Transaction) -> Result<T, E>;
}

/// What can be larger than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversized {
    /// A record.
    Record,
    /// A captured output.
    Capture,
    /// A file that is to be examined.
    File,
    /// The holes of such a file, together: it tells a length and holds less.
    Holes,
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Oversized::Record => "a record",
            Oversized::Capture => "a captured output",
            Oversized::File => "a file",
            Oversized::Holes => "what a file leaves unwritten,",
        })
    }
}

/// Why a store could not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else held the lock for longer than we wait. Nothing happened; trying again helps.
    #[error("locked by another process for more than {waited_ms} ms")]
    Busy {
        /// How long we waited, in milliseconds.
        waited_ms: u64,
    },
    /// The system refused an operation.
    #[error("cannot {doing}: {detail}")]
    Io {
        /// What was being done, as it follows "cannot".
        doing: &'static str,
        /// What the system said.
        detail: String,
    },
    /// The disk or a quota is full.
    #[error("no space left: {detail}")]
    Full {
        /// What the system said.
        detail: String,
    },
    /// There is nothing at the path.
    #[error("there is no file {path:?}")]
    Absent {
        /// Where a ledger was looked for.
        path: PathBuf,
    },
    /// Something is already where a ledger was to be created.
    #[error("{path:?} exists already")]
    AlreadyExists {
        /// Where it is.
        path: PathBuf,
    },
    /// What is at the path is not a ledger, or not one that may be written to.
    #[error("{path:?} is not a ledger that can be used: {reason}")]
    NotALedger {
        /// Where it is.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A file that SQLite would take for a part of the ledger lies beside it. A ledger never has
    /// one of its own, so somebody put it there.
    #[error("{path:?} lies beside the ledger and is no part of it")]
    Sidecar {
        /// The side file.
        path: PathBuf,
    },
    /// A later version of this program made the file.
    #[error("the file is of version {user_version}, this program knows up to {known}")]
    Newer {
        /// The file's version.
        user_version: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file's pages or values are not as SQLite or this program writes them.
    #[error("the file is damaged: {detail}")]
    Storage {
        /// What was found.
        detail: String,
    },
    /// The file's tables and triggers are not the released ones.
    #[error("the file's schema was altered: expected {expected}, found {found}")]
    Schema {
        /// What stands in the released schema.
        expected: String,
        /// What stands in the file.
        found: String,
    },
    /// The ledger's own triggers refused a row.
    #[error("refused by the ledger's own guards: {detail}")]
    Guarded {
        /// Which guard.
        detail: String,
    },
    /// Rows were to be added that do not follow those that are there.
    #[error("expected seq {expected} next, found {found}")]
    NotNext {
        /// The seq that would have followed.
        expected: Seq,
        /// The seq that was given.
        found: Seq,
    },
    /// Something is larger than the format, or this program, allows.
    #[error("{what} of {bytes} bytes is larger than {max}")]
    TooLarge {
        /// What it is.
        what: Oversized,
        /// How large it is, in bytes.
        bytes: usize,
        /// How large it may be, in bytes.
        max: usize,
    },
    /// A record without bytes, or a new ledger without a record.
    #[error("{what} is empty")]
    Empty {
        /// What is empty.
        what: &'static str,
    },
    /// Committing failed, and whether it happened all the same could not be found out.
    #[error("events {first} to {last} may or may not have been recorded: {detail}")]
    Indeterminate {
        /// Seq of the first record of the transaction.
        first: Seq,
        /// Seq of its last record.
        last: Seq,
        /// Leaf of its last record: found at `last` later, it means that all were recorded.
        leaf: Leaf,
        /// Why it failed, and why it cannot be settled.
        detail: String,
    },
    /// The index file is not one, or is damaged: delete it and build it anew.
    #[error("the index {path:?} cannot be used: {detail}")]
    IndexUnusable {
        /// The index file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
}

impl StoreError {
    /// A stable name for programs to act on.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Busy { .. } => "busy",
            StoreError::Io { .. } => "io",
            StoreError::Full { .. } => "full",
            StoreError::Absent { .. } => "absent",
            StoreError::AlreadyExists { .. } => "already_exists",
            StoreError::NotALedger { .. } => "not_a_ledger",
            StoreError::Sidecar { .. } => "sidecar",
            StoreError::Newer { .. } => "newer",
            StoreError::Storage { .. } => "storage",
            StoreError::Schema { .. } => "schema",
            StoreError::Guarded { .. } => "guarded",
            StoreError::NotNext { .. } => "not_next",
            StoreError::TooLarge { .. } => "too_large",
            StoreError::Empty { .. } => "empty",
            StoreError::Indeterminate { .. } => "indeterminate",
            StoreError::IndexUnusable { .. } => "index_unusable",
        }
    }

    /// The error for a failed operation of the standard library; `doing` follows "cannot".
    fn io(doing: &'static str, error: &std::io::Error) -> StoreError {
        let detail = error.to_string();
        if matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        ) {
            StoreError::Full { detail }
        } else {
            StoreError::Io { doing, detail }
        }
    }
}

/// The bounds that every store holds its rows to.
fn check_bounds(records: &[Record], captures: &[Capture]) -> Result<(), StoreError> {
    fn at_most(what: Oversized, bytes: usize, max: usize) -> Result<(), StoreError> {
        if bytes > max {
            return Err(StoreError::TooLarge { what, bytes, max });
        }
        Ok(())
    }
    for Record(bytes) in records {
        at_most(Oversized::Record, bytes.len(), RECORD_BYTES_MAX)?;
        if bytes.is_empty() {
            return Err(StoreError::Empty { what: "a record" });
        }
    }
    for capture in captures {
        let bytes = capture.bytes.as_ref().map_or(0, Vec::len);
        at_most(Oversized::Capture, bytes, CAPTURE_BYTES_MAX)?;
    }
    Ok(())
}
