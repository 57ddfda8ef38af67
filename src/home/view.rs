//! The view: this machine's own verified index of a ledger, one file per ledger id.
//!
//! It is rebuilt whenever it is absent or cannot be used, and advanced only by verified records.
//! What must outlive it is in [`super::memory`]: by the last verified head, a ledger that was
//! rolled back or forked is recognised though the view was lost.

use super::memory::{Memory, MemoryError, OwnFiles, Point};
use super::paths::{Folders, PathError, make_folder, user};
use crate::append::{Ledger, LedgerError};
use crate::catch_up;
use crate::store::index::{IndexFile, IndexRow, KEY_BYTES, Positions};
use crate::store::sqlite::SqliteLedger;
use crate::store::{Read, StoreError};
use crate::types::{Leaf, LedgerId, Seq, Text, Time};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// This machine's own ledger: the file and the view of it.
pub type OwnLedger = Ledger<SqliteLedger, View>;

/// Why a ledger could not be opened with its view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The folders of this user could not be found or made.
    #[error(transparent)]
    Path(#[from] PathError),
    /// What this machine remembers could not be written.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The ledger or its view failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Another ledger lies where this machine keeps one.
    #[error("{} held ledger {expected}, and holds {found} now", path.display())]
    OtherLedger {
        /// The ledger's file.
        path: PathBuf,
        /// The ledger that this machine knows it as.
        expected: LedgerId,
        /// The ledger that is there.
        found: LedgerId,
    },
    /// No event is left where this machine keeps a ledger.
    #[error("{} held ledger {expected}, and has no event now", path.display())]
    Emptied {
        /// The ledger's file.
        path: PathBuf,
        /// The ledger that this machine knows it as.
        expected: LedgerId,
    },
}

impl From<StoreError> for ViewError {
    fn from(error: StoreError) -> Self {
        ViewError::Ledger(error.into())
    }
}

/// The index of a ledger, and what is remembered should it be lost.
#[derive(Debug)]
pub struct View {
    index: IndexFile,
    memory: Memory,
    own_files: OwnFiles,
    /// The ledger's file.
    file: PathBuf,
}

impl View {
    fn note_head(&self) -> Result<(), MemoryError> {
        match self.index.head() {
            Ok(Some((seq, leaf))) => self.memory.note(Point { seq, leaf }),
            // An index that cannot be read is found out by who asks it next.
            Ok(None) | Err(_) => Ok(()),
        }
    }
}

impl Positions for View {
    fn snapshot<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.index.snapshot(|_| work(self))
    }

    fn head(&self) -> Result<Option<(Seq, Leaf)>, StoreError> {
        self.index.head()
    }

    fn event(&self, seq: Seq) -> Result<Option<(Leaf, Option<String>)>, StoreError> {
        self.index.event(seq)
    }

    fn all(&self, key: &[u8; KEY_BYTES]) -> Result<Vec<Seq>, StoreError> {
        self.index.all(key)
    }

    fn first(&self, key: &[u8; KEY_BYTES]) -> Result<Option<Seq>, StoreError> {
        self.index.first(key)
    }

    fn last(&self, key: &[u8; KEY_BYTES], at_most: Seq) -> Result<Option<Seq>, StoreError> {
        self.index.last(key, at_most)
    }

    fn advance(
        &mut self,
        expected: Option<(Seq, Leaf)>,
        rows: &[IndexRow],
    ) -> Result<bool, StoreError> {
        self.index.advance(expected, rows)
    }

    /// What was written to is this machine's own from then on.
    fn wrote(&mut self) -> Result<(), StoreError> {
        let io = |error: MemoryError| StoreError::Io {
            doing: "remember the head",
            detail: error.to_string(),
        };
        if let Some((first, _)) = self.index.event(Seq::ZERO)? {
            let id = LedgerId(first.0);
            self.own_files.add(&self.file, id).map_err(io)?;
        }
        self.note_head().map_err(io)
    }
}

/// Opens a ledger file with its view, brought up to the ledger's head.
///
/// # Errors
/// What kept the file or the view from being opened, or what is wrong with the new part.
pub fn open(path: &Path, folders: &Folders, wait: Duration) -> Result<OwnLedger, ViewError> {
    let store = SqliteLedger::open(path, wait)?;
    over(store, folders)
}

/// Puts the view over a ledger that is open.
///
/// # Errors
/// As [`open`].
pub fn over(store: SqliteLedger, folders: &Folders) -> Result<OwnLedger, ViewError> {
    let file = store.path().to_owned();
    let own_files = OwnFiles::of(folders)?;
    let found = known(&store, own_files.ledger_at(&file))?;
    let memory = Memory::of(folders, &found)?;
    hold(&store, &memory, &folders.view(&found)?)?;
    let view = View {
        index: caught_up(&store, &found, folders)?,
        memory,
        own_files,
        file,
    };
    view.note_head()?;
    Ok(Ledger::caught_up(store, view))
}

/// Opens a ledger file that is not this machine's own, in order to write to it. Of what is read
/// there nothing is kept until something was written.
///
/// # Errors
/// As [`open`].
pub fn open_unlisted(
    path: &Path,
    folders: &Folders,
    wait: Duration,
) -> Result<OwnLedger, ViewError> {
    let store = SqliteLedger::open(path, wait)?;
    let found = id(&store)?;
    let memory = Memory::of(folders, &found)?;
    hold(&store, &memory, &folders.view(&found)?)?;
    let mut index = IndexFile::in_memory()?;
    catch_up::catch_up(&store, &mut index)?;
    let view = View {
        index,
        memory,
        own_files: OwnFiles::of(folders)?,
        file: store.path().to_owned(),
    };
    Ok(Ledger::caught_up(store, view))
}

/// The ledger that a store holds, which must be the one that is listed for its file.
fn known(store: &SqliteLedger, listed: Option<LedgerId>) -> Result<LedgerId, ViewError> {
    let path = store.path().to_owned();
    match (id(store), listed) {
        (Err(LedgerError::Empty), Some(expected)) => Err(ViewError::Emptied { path, expected }),
        (Ok(found), Some(expected)) if found != expected => Err(ViewError::OtherLedger {
            path,
            expected,
            found,
        }),
        (found, _) => Ok(found?),
    }
}

/// Holds a store to the head that this machine verified of it: the one remembered, or, if what is
/// remembered cannot be believed, the view's.
fn hold(store: &SqliteLedger, memory: &Memory, view: &Path) -> Result<(), ViewError> {
    let seen = match memory.read() {
        Ok(Some(remembered)) => Some((remembered.head.seq, remembered.head.leaf)),
        Ok(None) => head_of(view),
        Err(error) => Some(head_of(view).ok_or(error)?),
    };
    match seen {
        Some((seq, leaf)) => Ok(catch_up::extends(store, seq, leaf)?),
        None => Ok(()),
    }
}

/// The head of the view as it lies there, if it is one that can be used.
fn head_of(view: &Path) -> Option<(Seq, Leaf)> {
    if view.symlink_metadata().is_err() || others_may_write(view) {
        return None;
    }
    let index = IndexFile::open(view).ok()?;
    index.head().ok().flatten()
}

/// The index, brought up to the ledger's head; built anew where it cannot be used.
fn caught_up(
    store: &SqliteLedger,
    id: &LedgerId,
    folders: &Folders,
) -> Result<IndexFile, ViewError> {
    let path = folders.view(id)?;
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    if others_may_write(&path) {
        IndexFile::discard(&path)?;
    }
    let mut index = match verified(&path, id, store) {
        Err(LedgerError::Store(StoreError::IndexUnusable { .. }) | LedgerError::Judgement(_)) => {
            IndexFile::discard(&path)?;
            IndexFile::open(&path)?
        }
        other => return Ok(other?),
    };
    catch_up::catch_up(store, &mut index)?;
    Ok(index)
}

/// Whether somebody else could have written a view, which is then nobody's word. One that is
/// accepted, or made, is for its owner alone.
fn others_may_write(path: &Path) -> bool {
    let owned = |metadata: &Metadata| metadata.uid() == user() && metadata.mode() & 0o022 == 0;
    path.symlink_metadata()
        .is_ok_and(|found| !found.is_file() || !owned(&found))
}

/// Lists the file of an open ledger as this machine's own, whatever was there before: it was just
/// made.
///
/// # Errors
/// If the ledger is empty, or the list cannot be written.
pub fn own(store: &SqliteLedger, folders: &Folders) -> Result<(), ViewError> {
    Ok(OwnFiles::of(folders)?.add(store.path(), id(store)?)?)
}

/// Removes the view of a ledger: it is built anew by full verification. What is remembered beyond
/// it stays.
///
/// # Errors
/// What kept the ledger from being read, or the view from being removed.
pub fn forget(store: &SqliteLedger, folders: &Folders) -> Result<(), ViewError> {
    let path = folders.view(&id(store)?)?;
    Ok(IndexFile::discard(&path)?)
}

/// Accepts a ledger as it is now, up to `head`, in place of what this machine verified before, and
/// remembers why; then puts a new view over it.
///
/// # Errors
/// As [`open`]; and what kept it from being remembered.
pub fn accept(
    store: SqliteLedger,
    folders: &Folders,
    head: Point,
    time: Time,
    reason: &Text,
) -> Result<OwnLedger, ViewError> {
    let found = id(&store)?;
    Memory::of(folders, &found)?.accept(head, time, reason)?;
    own(&store, folders)?;
    forget(&store, folders)?;
    over(store, folders)
}

fn id(store: &SqliteLedger) -> Result<LedgerId, LedgerError> {
    match store.get(Seq::ZERO)? {
        Some(record) => Ok(LedgerId(record.leaf().0)),
        None => Err(LedgerError::Empty),
    }
}

/// The view as it lies there, brought up to the ledger's head.
fn verified(path: &Path, id: &LedgerId, store: &SqliteLedger) -> Result<IndexFile, LedgerError> {
    let mut index = IndexFile::open(path)?;
    if let Some((first, _)) = index.event(Seq::ZERO)?
        && first.0 != id.0
    {
        return Err(LedgerError::Store(StoreError::IndexUnusable {
            path: path.to_owned(),
            detail: format!("it is of ledger {first}"),
        }));
    }
    catch_up::catch_up(store, &mut index)?;
    Ok(index)
}
