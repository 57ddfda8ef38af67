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
/// If there is none, or as [`whose_is`].
pub fn whose(common: &Common, cwd: &Path, folders: &Folders) -> Result<(PathBuf, Whose), Failure> {
    let found = paths::find_ledger(named(common), None, cwd, paths::user())?;
    let whose = match found.by {
        FoundBy::Search | FoundBy::MainWorktree => Whose::Own,
        FoundBy::Option | FoundBy::Variable => whose_is(&found.path, cwd, folders)?,
    };
    Ok((found.path, whose))
}

/// Whose a file is that was named.
///
/// # Errors
/// If it may be this machine's own, and the list of those cannot be believed.
pub fn whose_is(path: &Path, cwd: &Path, folders: &Folders) -> Result<Whose, Failure> {
    let Ok(named) = path.canonicalize() else {
        return Ok(Whose::Unknown);
    };
    let searched = paths::find_ledger(None, None, cwd, paths::user());
    let searched = searched.ok().and_then(|it| it.path.canonicalize().ok());
    if searched.as_ref() == Some(&named) {
        return Ok(Whose::Own);
    }
    // Without a folder of this user nothing is known to be its own.
    let Ok(own) = OwnFiles::of(folders) else {
        return Ok(Whose::Unknown);
    };
    Ok(match own.ledger_at(&named)? {
        Some(_) => Whose::Own,
        None => Whose::Unknown,
    })
}

fn named(common: &Common) -> Option<&OsStr> {
    common.ledger.as_deref().map(Path::as_os_str)
}
