//! What a journal beside a ledger would do to it, found out on a copy.
//!
//! After a crash a journal is played back into the ledger, which is what it is for: it takes back
//! what was not committed. One that somebody put there is played back just as well, and takes away
//! what was. By its bytes the two cannot be told apart; by what is left they can, and to see that
//! before anything is lost the playing is rehearsed.

use super::StoreError;
use super::file::{self, Held, side_file};
use super::sqlite::{SqliteLedger, WAIT};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A ledger as it would be with the journal beside it played back.
#[derive(Debug)]
pub struct Rehearsal {
    opened: Result<SqliteLedger, StoreError>,
    ledger: PathBuf,
    journal: PathBuf,
    before: [Stamp; 2],
    /// Dropped after the connection, and the copy with it.
    _folder: TempDir,
}

/// By what it is seen that a file was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    bytes: u64,
    changed: [(i64, i64); 2],
}

impl Rehearsal {
    /// Plays back a copy of the journal beside a ledger into a copy of that. `None` if there is
    /// none, if a writer is at work whose it is, or if it cannot be copied.
    pub fn of(path: &Path) -> Option<Rehearsal> {
        let ledger = file::resolve(path).ok()?;
        let journal = side_file(&ledger, "-journal");
        let found = journal.symlink_metadata().ok()?;
        let metadata = file::metadata(&ledger).ok()?;
        if !found.is_file() || found.len() == 0 || Held::has(&metadata) {
            return None;
        }
        let before = [stamp(&metadata), stamp(&found)];
        let (source, _) = file::open_regular(&ledger).ok()?;
        if file::has_writer(&source) {
            return None;
        }
        let folder = tempfile::Builder::new()
            .prefix("handoff-rehearsal-")
            .tempdir()
            .ok()?;
        let copy = folder.path().join("ledger.db");
        copied(source, &copy)?;
        let (source, _) = file::open_regular(&journal).ok()?;
        copied(source, &side_file(&copy, "-journal"))?;
        Some(Rehearsal {
            opened: SqliteLedger::open(&copy, WAIT),
            ledger,
            journal,
            before,
            _folder: folder,
        })
    }

    /// The ledger that would be left, or why none would be.
    ///
    /// # Errors
    /// What opening it failed with.
    pub fn left(&self) -> Result<&SqliteLedger, StoreError> {
        self.opened.as_ref().map_err(Clone::clone)
    }

    /// The ledger's file, as an absolute path without links.
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// The journal.
    pub fn journal(&self) -> &Path {
        &self.journal
    }

    /// Whether ledger and journal are still what was copied: nobody wrote, and nobody played back.
    pub fn stands(&self) -> bool {
        let now = [&self.ledger, &self.journal].map(|path| path.symlink_metadata().ok());
        now.map(|found| found.as_ref().map(stamp)) == self.before.map(Some)
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    Stamp {
        file: (metadata.dev(), metadata.ino()),
        bytes: metadata.len(),
        changed: [
            (metadata.mtime(), metadata.mtime_nsec()),
            (metadata.ctime(), metadata.ctime_nsec()),
        ],
    }
}

fn copied(mut source: File, path: &Path) -> Option<u64> {
    let mut copy = File::create_new(path).ok()?;
    std::io::copy(&mut source, &mut copy).ok()
}
