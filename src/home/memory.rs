//! What this machine keeps of a ledger should its view be lost: the head that it verified last, and
//! the rollbacks that were accepted. Which ledger files are its own is in `own_files.rs`.
//!
//! The view is rebuilt whenever anything is amiss with it; this is not, so losing the view does
//! not make a ledger that was rolled back look whole. Two files per ledger lie beside its view.
//!
//! Of the two, one is synced at each change: it holds the rollbacks, and the head as of the first
//! look, of a rollback, and of every `SYNCED_EVERY` events. The other holds the head since, and
//! is not, so that an append does not wait for the disk once more. A power cut may take that one,
//! and then a rollback to between the two heads goes unnoticed; what it leaves is never ahead of
//! the ledger, whose commit was synced before.

use super::files::{self, FileError, Links, Present};
use super::folders::{Folders, make_folder};
use super::lock::{self, LockError};
use super::paths::PathError;
use crate::types::{Leaf, LedgerId, Seq, Text, Time};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Largest file of either kind, in bytes.
pub(super) const BYTES_MAX: u64 = 1024 * 1024;
/// How far the head that is sure to be remembered may be behind the last one, in events.
const SYNCED_EVERY: u64 = 8;
/// Most rollbacks that are kept of a ledger; the oldest go first.
const ROLLBACKS_MAX: usize = 100;

/// Why the memory could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Others could have written it.
    #[error("expected {} to be this user's alone to write", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// It is not what this program writes.
    #[error("expected what this program remembers in {}, found: {detail}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// Which ledger files are this machine's own cannot be told.
    #[error("cannot tell which ledger files are this machine's own: {0}")]
    OwnFiles(Box<MemoryError>),
    /// Another process has been changing it for too long.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folders of this user could not be found or made.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// An event, by its place and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its position.
    pub seq: Seq,
    /// The leaf of its record.
    pub leaf: Leaf,
}

/// A ledger that went back, and was accepted as it then was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// When it was accepted, by this machine's clock.
    pub time: Time,
    /// The head that had been verified before; `None` if what was remembered could not be read, or
    /// was of another ledger.
    pub from: Option<Point>,
    /// The ledger that had been there before, if it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<LedgerId>,
    /// The head that was accepted in its place.
    pub to: Point,
    /// Why.
    pub reason: Text,
}

/// What is remembered of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remembered {
    /// The head that was verified last.
    pub head: Point,
    /// The rollbacks that were accepted, the oldest first.
    pub rollbacks: Vec<Rollback>,
}

/// How far this machine came since it last synced what it remembers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recent {
    /// The head that was remembered then: of another, this says nothing.
    after: Point,
    /// The head that was verified last.
    head: Point,
}

/// What is remembered of one ledger, in its files.
#[derive(Debug)]
pub struct Memory {
    path: PathBuf,
    recent: PathBuf,
}

impl Memory {
    /// The memory of a ledger, be there one yet or not. Nothing is read or made.
    ///
    /// # Errors
    /// If this user has no folder for it.
    pub fn of(folders: &Folders, ledger: &LedgerId) -> Result<Memory, PathError> {
        let (path, recent) = (folders.memory(ledger)?, folders.recent(ledger)?);
        Ok(Memory { path, recent })
    }

    /// What is remembered; `None` if nothing is.
    ///
    /// # Errors
    /// If there is a file that cannot be believed.
    pub fn read(&self) -> Result<Option<Remembered>, MemoryError> {
        let Some(mut found) = self.synced()? else {
            return Ok(None);
        };
        if let Some(recent) = read::<Recent>(&self.recent, Cut::Possible)?
            && recent.after == found.head
            && recent.head.seq > found.head.seq
        {
            found.head = recent.head;
        }
        Ok(Some(found))
    }

    fn synced(&self) -> Result<Option<Remembered>, MemoryError> {
        read(&self.path, Cut::Impossible)
    }

    /// Remembers a head that was verified, unless a later one is remembered. What cannot be
    /// believed is left as it is, so that it is told until a rollback is acknowledged.
    ///
    /// The head's own record must be on the disk for good: this may reach it at any time.
    ///
    /// # Errors
    /// What kept it from being written.
    pub fn note(&self, head: Point) -> Result<(), MemoryError> {
        let is_news = |found: &Result<Option<Remembered>, MemoryError>| match found {
            Ok(Some(found)) => found.head.seq < head.seq,
            Ok(None) => true,
            Err(_) => false,
        };
        if !is_news(&self.read()) {
            return Ok(());
        }
        let _held = lock(&self.path)?;
        if !is_news(&self.read()) {
            return Ok(());
        }
        let rollbacks = match self.synced()? {
            Some(Remembered { head: after, .. })
                if head.seq.0.saturating_sub(after.seq.0) < SYNCED_EVERY =>
            {
                let bytes = text(&self.recent, &Recent { after, head })?;
                return Ok(files::write_in_passing(&self.recent, &bytes)?);
            }
            Some(found) => found.rollbacks,
            None => Vec::new(),
        };
        let bytes = text(&self.path, &Remembered { head, rollbacks })?;
        Ok(files::write(&self.path, &bytes, Present::Replace)?)
    }

    /// Remembers a head whatever is remembered, and the rollback that it is, if it is one.
    ///
    /// # Errors
    /// What kept it from being written.
    pub fn accept(&self, head: Point, rollback: Option<Rollback>) -> Result<(), MemoryError> {
        let _held = lock(&self.path)?;
        let found = self.synced().unwrap_or_default();
        let mut rollbacks = found.map(|it| it.rollbacks).unwrap_or_default();
        rollbacks.extend(rollback);
        let surplus = rollbacks.len().saturating_sub(ROLLBACKS_MAX);
        rollbacks.drain(..surplus);
        let bytes = text(&self.path, &Remembered { head, rollbacks })?;
        // Else it could still say how far this machine came before, and that after this very head.
        match std::fs::remove_file(&self.recent) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(FileError::io("remove", &self.recent)(error).into());
            }
            Ok(()) | Err(_) => {}
        }
        // It syncs the folder, and the removal with it.
        Ok(files::write(&self.path, &bytes, Present::Replace)?)
    }
}

/// Whether a power cut may have left a file without its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Its bytes need not have reached the disk.
    Possible,
    /// It was synced.
    Impossible,
}

/// What one of these files says; `None` if there is none.
///
/// # Errors
/// One that cannot be believed; what the system refused.
pub(super) fn read<T: serde::de::DeserializeOwned>(
    path: &Path,
    cut: Cut,
) -> Result<Option<T>, MemoryError> {
    let file = match files::read(path, BYTES_MAX, Links::Refuse) {
        Ok(file) => file,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !file.custody.is_own_word() {
        let path = path.to_owned();
        return Err(MemoryError::Exposed { path });
    }
    if cut == Cut::Possible && file.bytes.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let value = serde_json::from_slice(&file.bytes).map_err(unreadable(path))?;
    Ok(Some(value))
}

/// The bytes of one of these files.
pub(super) fn text<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, MemoryError> {
    let mut bytes = serde_json::to_vec(value).map_err(unreadable(path))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn unreadable(path: &Path) -> impl FnOnce(serde_json::Error) -> MemoryError + use<> {
    let path = path.to_owned();
    move |error| MemoryError::Unreadable {
        path,
        detail: error.to_string(),
    }
}

/// Waits for the lock of one of these files, in a folder that is made if need be.
pub(super) fn lock(path: &Path) -> Result<File, MemoryError> {
    let folder = files::folder_of(path);
    make_folder(folder)?;
    Ok(lock::lock(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(seq: u64, leaf: u8) -> Point {
        Point {
            seq: Seq(seq),
            leaf: Leaf([leaf; 32]),
        }
    }

    fn memory(folder: &Path) -> Memory {
        let (path, recent) = (folder.join("ledger.seen"), folder.join("ledger.recent"));
        Memory { path, recent }
    }

    #[test]
    fn a_head_is_remembered_until_a_later_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(folder.path());
        assert_eq!(memory.read().unwrap(), None);
        for (noted, seen) in [(5, 5), (4, 5), (5, 5), (6, 6)] {
            memory.note(point(noted, 1)).unwrap();
            assert_eq!(memory.read().unwrap().unwrap().head, point(seen, 1));
        }
    }

    #[test]
    fn a_power_cut_may_take_the_last_heads_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(folder.path());
        let head = || memory.read().unwrap().unwrap().head;
        for seq in 0..SYNCED_EVERY {
            memory.note(point(seq, 1)).unwrap();
            assert_eq!(head(), point(seq, 1));
        }
        // As file systems leave a file that was named and not yet written, or not named.
        for left in ["", "\0\0\0"] {
            std::fs::write(&memory.recent, left).unwrap();
            assert_eq!(head(), point(0, 1));
            memory.note(point(3, 1)).unwrap();
            assert_eq!(head(), point(3, 1));
        }
        let earlier = std::fs::read(&memory.recent).unwrap();
        std::fs::remove_file(&memory.recent).unwrap();
        assert_eq!(head(), point(0, 1));
        memory.note(point(SYNCED_EVERY, 1)).unwrap();
        assert!(!memory.recent.exists());
        // It came after another head than the one that is remembered now.
        std::fs::write(&memory.recent, earlier).unwrap();
        assert_eq!(head(), point(SYNCED_EVERY, 1));
        memory.note(point(SYNCED_EVERY + 1, 1)).unwrap();
        assert_eq!(head(), point(SYNCED_EVERY + 1, 1));
        std::fs::write(&memory.recent, "garbled").unwrap();
        assert!(memory.read().is_err());
    }

    #[test]
    fn a_rollback_to_the_synced_head_is_not_undone_by_what_came_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(folder.path());
        memory.note(point(3, 1)).unwrap();
        memory.note(point(5, 1)).unwrap();
        memory.accept(point(3, 1), None).unwrap();
        assert_eq!(memory.read().unwrap().unwrap().head, point(3, 1));
    }

    #[test]
    fn a_rollback_is_kept_with_its_reason_and_survives_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(folder.path());
        let time: Time = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let reason: Text = "restored".parse().unwrap();
        memory.note(point(9, 1)).unwrap();
        let kept = Rollback {
            time,
            from: Some(point(9, 1)),
            in_place_of: Some(LedgerId([8; 32])),
            to: point(4, 2),
            reason,
        };
        memory.accept(point(4, 2), Some(kept.clone())).unwrap();
        memory.note(point(5, 3)).unwrap();
        let remembered = memory.read().unwrap().unwrap();
        assert_eq!(remembered.head, point(5, 3));
        assert_eq!(remembered.rollbacks, [kept]);
    }

    #[test]
    fn what_others_may_write_or_nobody_wrote_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(folder.path());
        for text in ["", "{}", "null", "[1]", "{\"head\":1}"] {
            std::fs::write(&memory.path, text).unwrap();
            let read = memory.read();
            assert!(
                matches!(read, Err(MemoryError::Unreadable { .. })),
                "{text}"
            );
        }
        // Noting a head replaces nothing; accepting one does, and says so.
        memory.note(point(3, 1)).unwrap();
        assert!(memory.read().is_err());
        memory.accept(point(3, 1), None).unwrap();
        assert_eq!(memory.read().unwrap().unwrap().head, point(3, 1));
        let open = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&memory.path, open).unwrap();
        let read = memory.read();
        assert!(matches!(read, Err(MemoryError::Exposed { .. })));
    }
}
