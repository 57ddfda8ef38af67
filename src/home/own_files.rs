//! Which ledger files are this machine's own: those that it made, imported or wrote to.
//!
//! One file for all ledgers lists them. It outlives the views, so that losing one does not make
//! another ledger in the place of this machine's own look like a new one.

use super::files::{self, FileError, Present};
use super::folders::Folders;
use super::memory::{BYTES_MAX, Cut, MemoryError, lock, read, text};
use super::paths::PathError;
use crate::types::LedgerId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most files that are listed as this machine's own.
const FILES_MAX: usize = 4_000;

/// Which ledger files are this machine's own: those that it made, imported or wrote to, each with
/// the ledger that it held.
#[derive(Debug)]
pub struct OwnFiles {
    path: PathBuf,
}

/// By the path of each, without links; bytes that are no plain ASCII are escaped as Rust does.
type Listed = BTreeMap<String, LedgerId>;

impl OwnFiles {
    /// The list of a user, be there one yet or not.
    ///
    /// # Errors
    /// If this user has no folder for it.
    pub fn of(folders: &Folders) -> Result<OwnFiles, PathError> {
        let path = folders.own_files()?;
        Ok(OwnFiles { path })
    }

    /// Which ledger the file at `file`, an absolute path without links, held; `None` if it is not
    /// one of this machine's own.
    ///
    /// # Errors
    /// If there is a list that cannot be believed: it may have named this file.
    pub fn ledger_at(&self, file: &Path) -> Result<Option<LedgerId>, MemoryError> {
        Ok(self.listed()?.get(&key(file)).copied())
    }

    fn listed(&self) -> Result<Listed, MemoryError> {
        let listed: Option<Listed> = read(&self.path, Cut::Impossible)
            .map_err(|error| MemoryError::OwnFiles(Box::new(error)))?;
        Ok(listed.unwrap_or_default())
    }

    /// Lists a file as this machine's own, in place of what was listed under its path.
    ///
    /// # Errors
    /// What kept it from being written. A list that cannot be believed is left as it is.
    pub fn add(&self, file: &Path, ledger: LedgerId) -> Result<(), MemoryError> {
        if self.ledger_at(file)? == Some(ledger) {
            return Ok(());
        }
        let _held = lock(&self.path)?;
        let mut listed = self.listed()?;
        let is_too_long = |bytes: &[u8]| u64::try_from(bytes.len()).is_ok_and(|it| it > BYTES_MAX);
        listed.insert(key(file), ledger);
        let mut bytes = text(&self.path, &listed)?;
        if listed.len() > FILES_MAX || is_too_long(&bytes) {
            // Those that are no more make room.
            listed.retain(|path, _| Path::new(path).exists() || *path == key(file));
            bytes = text(&self.path, &listed)?;
        }
        if is_too_long(&bytes) {
            return Err(FileError::TooLarge {
                path: self.path.clone(),
                max: BYTES_MAX,
                found: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            }
            .into());
        }
        Ok(files::write(&self.path, &bytes, Present::Replace)?)
    }
}

fn key(file: &Path) -> String {
    let bytes = file.as_os_str().as_encoded_bytes();
    bytes.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_listed_by_its_very_bytes() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledgers");
        let own = OwnFiles { path };
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff\n?#%00/ledger.db"));
        let near = Path::new("/a\\xff\\n?#%00/ledger.db");
        let (one, other) = (LedgerId([1; 32]), LedgerId([2; 32]));
        own.add(odd, one).unwrap();
        assert_eq!(own.ledger_at(odd).unwrap(), Some(one));
        assert_eq!(own.ledger_at(near).unwrap(), None);
        own.add(near, other).unwrap();
        own.add(odd, other).unwrap();
        assert_eq!(own.ledger_at(odd).unwrap(), Some(other));
        // One that cannot be believed names nothing, and is not written over.
        for garbled in ["", "[]"] {
            std::fs::write(&own.path, garbled).unwrap();
            assert!(own.ledger_at(odd).is_err(), "{garbled:?}");
            assert!(own.add(odd, one).is_err(), "{garbled:?}");
            assert_eq!(std::fs::read_to_string(&own.path).unwrap(), garbled);
        }
    }
}
