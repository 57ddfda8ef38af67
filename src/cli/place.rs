//! Where a command runs, and on which ledger file: found, named, and whose it is.

use super::args::Common;
use super::failures::LEDGER_GONE;
use super::report::Failure;
use crate::home::folders::Folders;
use crate::home::memory::Memory;
use crate::home::own_files::OwnFiles;
use crate::home::paths::{self, FoundBy, FoundLedger, LEDGER_FILE, LEDGER_FOLDER, PathError};
use crate::types::{LedgerId, Seq};
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
    Ok(found(common, cwd, &folders(common))?.path)
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
    let found = found(common, cwd, folders)?;
    let whose = match found.by {
        FoundBy::Search => Whose::Own,
        FoundBy::Name => whose_is(&found.path, cwd, folders)?,
    };
    Ok((found.path, whose))
}

/// The ledger that the options or the search name. Of one that is gone it is told what it was.
fn found(common: &Common, cwd: &Path, folders: &Folders) -> Result<FoundLedger, Failure> {
    let found = paths::find_ledger(named(common), cwd, paths::user());
    let looked_at: Vec<PathBuf> = match &found {
        Ok(found) => vec![found.path.clone()],
        Err(PathError::NoLedger { from }) => (from.ancestors())
            .map(|folder| folder.join(LEDGER_FOLDER).join(LEDGER_FILE))
            .chain(paths::place_for_ledger(cwd).ok())
            .collect(),
        Err(_) => Vec::new(),
    };
    match looked_at.iter().find_map(|path| Gone::at(path, folders)) {
        Some(gone) => Err(gone.failure(common)),
        None => Ok(found?),
    }
}

/// A ledger of this machine's own that is not where it was.
pub struct Gone {
    path: PathBuf,
    ledger: LedgerId,
    /// The head that was verified last, as far as it is remembered.
    head: Option<Seq>,
}

impl Gone {
    /// What this machine kept at `path`, if nothing is there any more.
    pub fn at(path: &Path, folders: &Folders) -> Option<Gone> {
        if path.symlink_metadata().is_ok() {
            return None;
        }
        // Where the folder went too, the one above says what its path was.
        let folder = path.parent()?;
        let folder = folder.canonicalize().or_else(|_| {
            let above = folder.parent().unwrap_or(folder).canonicalize()?;
            Ok::<_, std::io::Error>(above.join(folder.file_name().unwrap_or_default()))
        });
        let listed = folder.ok()?.join(path.file_name()?);
        let ledger = OwnFiles::of(folders).ok()?.ledger_at(&listed).ok()??;
        let memory = Memory::of(folders, &ledger).ok();
        let remembered = memory.and_then(|memory| memory.read().ok().flatten());
        Some(Gone {
            path: path.to_owned(),
            ledger,
            head: remembered.map(|remembered| remembered.head.seq),
        })
    }

    /// Exit 5: a ledger that is lost is not to be replaced by the way.
    pub fn failure(&self, common: &Common) -> Failure {
        let up_to = self.head.map_or(String::new(), |head| {
            format!(", last seen up to event {head}")
        });
        let (path, ledger) = (self.path.display(), self.ledger.short());
        let message = format!("{path} held ledger {ledger}{up_to}, and is gone");
        let init = common.carried("handoff init --anew");
        Failure::environment(LEDGER_GONE, message).next(format!(
            "restore the file; or, if that ledger is given up: {init}"
        ))
    }
}

/// Whose a file is that was named.
///
/// # Errors
/// If it may be this machine's own, and the list of those cannot be believed.
pub fn whose_is(path: &Path, cwd: &Path, folders: &Folders) -> Result<Whose, Failure> {
    let Ok(named) = path.canonicalize() else {
        return Ok(Whose::Unknown);
    };
    let searched = paths::find_ledger(None, cwd, paths::user());
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
