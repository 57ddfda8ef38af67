//! Files that are this user's own word: nobody else can have written them.

use super::files::{FileError, Links, folder_of, read};
use super::surroundings::Custody;
use std::path::{Path, PathBuf};

/// Why a file is not taken for this user's own word.
#[derive(Debug, thiserror::Error)]
pub enum OwnWordError {
    /// Others wrote it, or could have.
    #[error(
        "expected {} to be its owner's alone to write, and yours, found mode {mode:04o}, owner \
         {owner}",
        path.display()
    )]
    Exposed {
        /// The file, or the folder it is in.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Its owner's user id.
        owner: u32,
    },
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The bytes of a regular file of at most `max` that only this user, or the superuser, can have
/// written: neither it nor the folder it is in is anybody else's to change.
///
/// # Errors
///
/// Who else could have; what keeps it from being read.
pub fn read_own_word(path: &Path, max: u64) -> Result<Vec<u8>, OwnWordError> {
    let file = read(path, max, Links::Follow)?;
    let folder = folder_of(path);
    for (path, custody) in [(path, file.custody), (folder, Custody::of(folder)?)] {
        if !custody.is_own_word() {
            let (path, Custody { mode, owner, .. }) = (path.to_owned(), custody);
            return Err(OwnWordError::Exposed { path, mode, owner });
        }
    }
    Ok(file.bytes)
}
