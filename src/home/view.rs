//! The view: this machine's own verified index of a ledger, one file per ledger id.
//!
//! It is rebuilt whenever it is absent or cannot be used, and advanced only by verified records.
//! What it remembers beyond that is the last verified head, by which a ledger that was rolled back
//! or forked is recognised.

use super::paths::{Folders, PathError, make_folder, user};
use crate::append::{Ledger, LedgerError};
use crate::catch_up;
use crate::store::index::IndexFile;
use crate::store::sqlite::SqliteLedger;
use crate::store::{Read, StoreError};
use crate::types::{LedgerId, Seq};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// This machine's own ledger: the file and the view of it.
pub type OwnLedger = Ledger<SqliteLedger, IndexFile>;

/// Why a ledger could not be opened with its view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The folders of this user could not be found or made.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The ledger or its view failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<StoreError> for ViewError {
    fn from(error: StoreError) -> Self {
        ViewError::Ledger(error.into())
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
    let id = id(&store)?;
    let path = folders.view(&id)?;
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    if others_may_write(&path) {
        IndexFile::discard(&path)?;
    }
    let mut index = match verified(&path, &id, &store) {
        Err(LedgerError::Store(StoreError::IndexUnusable { .. }) | LedgerError::Judgement(_)) => {
            IndexFile::discard(&path)?;
            IndexFile::open(&path)?
        }
        other => return Ok(Ledger::caught_up(store, other?)),
    };
    catch_up::catch_up(&store, &mut index)?;
    Ok(Ledger::caught_up(store, index))
}

/// Whether somebody else could have written a view, which is then nobody's word. One that is
/// accepted, or made, is for its owner alone.
fn others_may_write(path: &Path) -> bool {
    let owned = |metadata: &Metadata| metadata.uid() == user() && metadata.mode() & 0o022 == 0;
    path.symlink_metadata()
        .is_ok_and(|found| !found.is_file() || !owned(&found))
}

/// Removes the view of a ledger, with what it remembers: it is built anew by full verification.
///
/// # Errors
/// What kept the ledger from being read, or the view from being removed.
pub fn forget(store: &SqliteLedger, folders: &Folders) -> Result<(), ViewError> {
    let path = folders.view(&id(store)?)?;
    Ok(IndexFile::discard(&path)?)
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
