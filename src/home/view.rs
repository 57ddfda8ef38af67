//! The view: this machine's own verified index of a ledger, one file per ledger id.
//!
//! It is rebuilt whenever it is absent or cannot be used, and advanced only by verified records.
//! What must outlive it is in [`super::memory`]: by the last verified head, a ledger that was
//! rolled back or forked is recognised though the view was lost.

use super::folders::{Folders, make_folder};
use super::memory::{Memory, MemoryError, Point, Rollback};
use super::own_files::OwnFiles;
use super::paths::PathError;
use super::surroundings::Custody;
use crate::append::{Ledger, LedgerError};
use crate::catch_up;
use crate::store::index::IndexFile;
use crate::store::positions::{IndexRow, KEY_BYTES, Positions};
use crate::store::rehearsal::Rehearsal;
use crate::store::sqlite::SqliteLedger;
use crate::store::{Read, StoreError};
use crate::types::{Leaf, LedgerId, Seq, Text, Time};
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
    /// A journal lies beside the ledger that would take away what this machine verified.
    #[error("{error}: {} would do that to it, and was not played back", journal.display())]
    Journal {
        /// The journal.
        journal: PathBuf,
        /// What is wrong with the ledger that would be left.
        error: Box<ViewError>,
    },
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

    fn computed(&self, up_to: Seq) -> Result<Option<Vec<u8>>, StoreError> {
        self.index.computed(up_to)
    }

    fn keep_computed(&self, up_to: Seq, bytes: &[u8]) -> Result<(), StoreError> {
        self.index.keep_computed(up_to, bytes)
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
    over(open_store(path, folders, wait)?, folders)
}

/// Opens a ledger file, unless a journal beside it would take away what this machine verified.
///
/// # Errors
/// [`ViewError::Journal`], of a journal that is left where it is; what kept the file from being
/// opened.
pub fn open_store(
    path: &Path,
    folders: &Folders,
    wait: Duration,
) -> Result<SqliteLedger, ViewError> {
    rehearse(path, folders)?;
    Ok(SqliteLedger::open(path, wait)?)
}

/// Refuses a journal that would leave less than was verified, if there is one to be played back.
fn rehearse(path: &Path, folders: &Folders) -> Result<(), ViewError> {
    let Some(rehearsal) = Rehearsal::of(path) else {
        return Ok(());
    };
    let listed = OwnFiles::of(folders)?.ledger_at(rehearsal.ledger())?;
    let left: Result<(), ViewError> = match (rehearsal.left(), listed) {
        (Ok(store), listed) => known(store, listed).and_then(|id| seen(folders, &id)?.hold(store)),
        (Err(error), Some(_)) => Err(error.into()),
        (Err(_), None) => Ok(()),
    };
    match left {
        // If not, somebody wrote meanwhile, and it is something else than was copied.
        Err(error) if rehearsal.stands() => Err(ViewError::Journal {
            journal: rehearsal.journal().to_owned(),
            error: Box::new(error),
        }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Puts the view over a ledger that is open.
///
/// # Errors
/// As [`open`].
pub fn over(store: SqliteLedger, folders: &Folders) -> Result<OwnLedger, ViewError> {
    let file = store.path().to_owned();
    let own_files = OwnFiles::of(folders)?;
    let found = known(&store, own_files.ledger_at(&file)?)?;
    seen(folders, &found)?.hold(&store)?;
    let view = View {
        index: caught_up(&store, &found, folders)?,
        memory: Memory::of(folders, &found)?,
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
    let store = open_store(path, folders, wait)?;
    let found = id(&store)?;
    seen(folders, &found)?.hold(&store)?;
    let mut index = IndexFile::in_memory()?;
    catch_up::catch_up(&store, &mut index)?;
    let view = View {
        index,
        memory: Memory::of(folders, &found)?,
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

/// What this machine saw of a ledger.
#[derive(Debug)]
pub struct Seen {
    /// The head that it verified last: the one remembered or the view's, whichever is later.
    pub head: Option<Point>,
    /// The rollbacks that were accepted.
    pub rollbacks: Vec<Rollback>,
    /// Why it may have seen more: what is remembered cannot be believed.
    pub doubt: Option<MemoryError>,
}

/// What this machine saw of a ledger; nothing is changed by looking.
///
/// # Errors
/// If this user has no folder for it.
pub fn seen(folders: &Folders, ledger: &LedgerId) -> Result<Seen, PathError> {
    let viewed = viewed(&folders.view(ledger)?, ledger);
    let (remembered, doubt) = match Memory::of(folders, ledger)?.read() {
        Ok(remembered) => (remembered, None),
        Err(error) => (None, Some(error)),
    };
    let (noted, rollbacks) = match remembered {
        Some(remembered) => (Some(remembered.head), remembered.rollbacks),
        None => (None, Vec::new()),
    };
    Ok(Seen {
        head: viewed.into_iter().chain(noted).max_by_key(|head| head.seq),
        rollbacks,
        doubt,
    })
}

impl Seen {
    /// Holds a store to it.
    fn hold(self, store: &SqliteLedger) -> Result<(), ViewError> {
        match (self.head, self.doubt) {
            (Some(head), _) => Ok(catch_up::extends(store, head.seq, head.leaf)?),
            (None, Some(doubt)) => Err(doubt.into()),
            (None, None) => Ok(()),
        }
    }
}

/// The head of a view as it lies there, if it is one of that ledger that can be used.
fn viewed(view: &Path, ledger: &LedgerId) -> Option<Point> {
    if others_may_write(view) {
        return None;
    }
    let index = IndexFile::peek(view).ok().flatten()?;
    let (first, _) = index.event(Seq::ZERO).ok().flatten()?;
    let (seq, leaf) = index.head().ok().flatten()?;
    (first.0 == ledger.0).then_some(Point { seq, leaf })
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
    path.symlink_metadata()
        .is_ok_and(|found| !found.is_file() || !Custody::of_found(&found).is_own_word())
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

/// Accepts a ledger as it is now, up to `head`, in place of what this machine verified before, be
/// it more of it or another ledger, and remembers what that was and why; then puts a new view over
/// it.
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
    let listed = OwnFiles::of(folders)?.ledger_at(store.path())?;
    let in_place_of = listed.filter(|listed| *listed != found);
    let seen = seen(folders, &found)?;
    let from = match seen.head {
        Some(seen) => match catch_up::extends(&store, seen.seq, seen.leaf) {
            Ok(()) => None,
            Err(LedgerError::Rollback { .. } | LedgerError::Fork { .. }) => Some(seen),
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    let is_one = from.is_some() || in_place_of.is_some() || seen.doubt.is_some();
    let rollback = is_one.then(|| Rollback {
        time,
        from,
        in_place_of,
        to: head,
        reason: reason.clone(),
    });
    // The view first: it would still know what is given up.
    forget(&store, folders)?;
    Memory::of(folders, &found)?.accept(head, rollback)?;
    own(&store, folders)?;
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
