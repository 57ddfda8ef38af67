//! Where a command runs, and on which ledger file: found, named, and whose it is.

use super::args::Common;
use super::report::Failure;
use crate::home::memory::OwnFiles;
use crate::home::paths::{self, Folders, FoundBy};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// This user's folders.
pub fn folders(common: &Common) -> Folders {
    match &common.place {
        Some(place) => place.folders.clone(),
        None => Folders::of_process(),
    }
}

/// The current folder.
///
/// # Errors
/// If it is gone.
pub fn current_folder(common: &Common) -> Result<PathBuf, Failure> {
    if let Some(place) = &common.place {
        return Ok(place.cwd.clone());
    }
    std::env::current_dir().map_err(|error| {
        Failure::environment("io", format!("the current folder cannot be found: {error}"))
    })
}

/// The ledger that the options or the search upward name.
///
/// # Errors
/// If there is none.
pub fn find(common: &Common, cwd: &Path) -> Result<PathBuf, Failure> {
    Ok(paths::find_ledger(named(common), None, cwd, paths::user())?.path)
}

/// Whose ledger file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This machine's: found upward, or made, imported or written to by it.
    Own,
    /// Nobody here knows it: evidence, as far as it is only read.
    Unknown,
}

/// The ledger that the options or the search upward name, and whose it is.
///
/// # Errors
/// If there is none.
pub fn whose(common: &Common, cwd: &Path, folders: &Folders) -> Result<(PathBuf, Whose), Failure> {
    let found = paths::find_ledger(named(common), None, cwd, paths::user())?;
    let whose = match found.by {
        FoundBy::Search | FoundBy::MainWorktree => Whose::Own,
        FoundBy::Option | FoundBy::Variable => whose_is(&found.path, cwd, folders),
    };
    Ok((found.path, whose))
}

/// Whose a file is that was named.
pub fn whose_is(path: &Path, cwd: &Path, folders: &Folders) -> Whose {
    let Ok(named) = path.canonicalize() else {
        return Whose::Unknown;
    };
    let searched = paths::find_ledger(None, None, cwd, paths::user());
    let searched = searched.ok().and_then(|it| it.path.canonicalize().ok());
    // Without a folder of this user nothing is known to be its own.
    let listed = OwnFiles::of(folders).ok();
    let is_listed = listed.is_some_and(|own| own.ledger_at(&named).is_some());
    if is_listed || searched.as_ref() == Some(&named) {
        Whose::Own
    } else {
        Whose::Unknown
    }
}

fn named(common: &Common) -> Option<&OsStr> {
    common.ledger.as_deref().map(Path::as_os_str)
}
