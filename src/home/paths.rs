//! Where things are: the ledger, a session's root.
//!
//! The ledger is given, or searched for upward from the current folder; no other program is asked.

use super::files::{self, FileError};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// Name of the folder that holds a ledger.
pub const LEDGER_FOLDER: &str = ".handoff";
/// Name of the ledger's file in it.
pub const LEDGER_FILE: &str = "ledger.db";
/// Largest file that points from a worktree to its repository, in bytes.
const POINTER_BYTES_MAX: u64 = 16 * 1024;

/// Why a folder or a ledger could not be told.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// Neither the XDG variable nor a home folder says where.
    #[error("expected an absolute path in {variable} or HOME, found none")]
    NoHome {
        /// The XDG variable that would do.
        variable: &'static str,
    },
    /// No ledger was given, and none is in the folder or above.
    #[error("expected {LEDGER_FOLDER}/{LEDGER_FILE} in {} or above, found none", from.display())]
    NoLedger {
        /// Where the search began.
        from: PathBuf,
    },
    /// What was found belongs to another user, who may have laid it there to be found.
    #[error(
        "expected {} to belong to user {expected}, found that it belongs to user {found}",
        path.display()
    )]
    NotYours {
        /// The folder or file.
        path: PathBuf,
        /// The ledger that would be used if it were named.
        ledger: PathBuf,
        /// The user id of this process.
        expected: u32,
        /// The user id of the owner.
        found: u32,
    },
    /// An empty path was given.
    #[error("expected the path of a ledger, found an empty text")]
    Empty,
    /// A path that is to be recorded has no text.
    #[error("expected a path in UTF-8, found {}", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl PathError {
    /// What to type, or to set, so that it goes on.
    pub fn next(&self) -> String {
        match self {
            PathError::NoHome { variable } => format!("export {variable}=/a/folder/of/yours"),
            PathError::NoLedger { .. } => "handoff init".to_owned(),
            PathError::NotYours { ledger, .. } => {
                format!("the same command with --ledger {}", ledger.display())
            }
            PathError::Empty => "the same command with --ledger PATH".to_owned(),
            PathError::NotUtf8 { .. } => {
                "the same command with --cwd PATH, a path in UTF-8".to_owned()
            }
            PathError::File(FileError::Io { source, .. }) if !files::says_absent(source) => {
                "the same command again".to_owned()
            }
            PathError::File(_) => {
                "export XDG_DATA_HOME, XDG_CONFIG_HOME and XDG_STATE_HOME as folders of yours"
                    .to_owned()
            }
        }
    }
}

/// How a ledger came to be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// It was named.
    Name,
    /// It is in the current folder or above, or in the main worktree of a git repository there.
    Search,
}

/// A ledger's file, and how it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLedger {
    /// An absolute path, so that nothing takes it for a URI, an option or a memory database.
    pub path: PathBuf,
    /// How.
    pub by: FoundBy,
}

/// Finds the ledger: the one that is `named`, else `.handoff/ledger.db` in `cwd` or the nearest
/// folder above. In a linked git worktree the main worktree's folder comes right after
/// the worktree's own top, so that a repository's worktrees share a ledger.
///
/// A path that was named is not looked at. What the search finds must belong to `user`, the
/// effective user id, root included: folder, file, and links to them.
///
/// # Errors
///
/// Nothing found; found but someone else's; an empty name; `cwd` out of reach; a search that
/// failed, which is not one that found nothing.
pub fn find_ledger(named: Option<&OsStr>, cwd: &Path, user: u32) -> Result<FoundLedger, PathError> {
    if let Some(named) = named {
        if named.is_empty() {
            return Err(PathError::Empty);
        }
        let (path, by) = (cwd.join(named), FoundBy::Name);
        return Ok(FoundLedger { path, by });
    }
    let start = canonical(cwd)?;
    for folder in start.ancestors() {
        if let Some(path) = ledger_in(folder, user)? {
            let by = FoundBy::Search;
            return Ok(FoundLedger { path, by });
        }
        if let Some(main) = main_worktree(folder)?
            && let Some(path) = ledger_in(&main, user)?
        {
            let by = FoundBy::Search;
            return Ok(FoundLedger { path, by });
        }
    }
    Err(PathError::NoLedger { from: start })
}

/// Where a new ledger of the folder `cwd` belongs: in it, or, if it is the top of a linked git
/// worktree, in the main worktree, where the other worktrees find it.
///
/// # Errors
///
/// When `cwd` is out of reach, or what lies in it cannot be looked at.
pub fn place_for_ledger(cwd: &Path) -> Result<PathBuf, PathError> {
    let cwd = canonical(cwd)?;
    let folder = main_worktree(&cwd)?.unwrap_or(cwd);
    Ok(folder.join(LEDGER_FOLDER).join(LEDGER_FILE))
}

/// The files of a name beside ledgers, whether or not there is one: in every `.handoff` of `cwd`
/// and the folders above, and of the main worktree, the nearest first. A `cwd` that is gone is
/// searched from the nearest folder above it that is there.
///
/// # Errors
///
/// A search that failed, which is not one that found nothing.
pub fn find_beside_ledgers(cwd: &Path, name: &str) -> Result<Vec<PathBuf>, PathError> {
    let start = cwd.ancestors().find(|folder| folder.is_dir());
    let start = start.map(canonical).transpose()?.unwrap_or_default();
    let mut found = Vec::new();
    for folder in start.ancestors() {
        let main = main_worktree(folder)?;
        for holder in std::iter::once(folder).chain(main.as_deref()) {
            let path = holder.join(LEDGER_FOLDER).join(name);
            match path.symlink_metadata() {
                Ok(_) if !found.contains(&path) => found.push(path),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(FileError::io("look at", &path)(error).into()),
            }
        }
    }
    Ok(found)
}

/// The effective user id of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The ledger in a folder, if there is one; an error if it belongs to someone else.
fn ledger_in(folder: &Path, user: u32) -> Result<Option<PathBuf>, PathError> {
    let holder = folder.join(LEDGER_FOLDER);
    let ledger = holder.join(LEDGER_FILE);
    for path in [&holder, &ledger] {
        let owners = match owners(path) {
            Ok(owners) => owners,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(FileError::io("look at", path)(error).into()),
        };
        if let Some(found) = owners.into_iter().find(|owner| *owner != user) {
            return Err(PathError::NotYours {
                path: path.clone(),
                ledger: ledger.clone(),
                expected: user,
                found,
            });
        }
    }
    Ok(Some(ledger))
}

/// Who owns the entry itself, and what it leads to if it is a link.
fn owners(path: &Path) -> io::Result<[u32; 2]> {
    Ok([path.symlink_metadata()?.uid(), path.metadata()?.uid()])
}

/// The root of a session in `cwd`: the nearest folder at or above it that is the top of a git
/// worktree or holds the ledger's `.handoff`; else `cwd` itself. A canonical path.
///
/// # Errors
///
/// When `cwd` is out of reach, or a folder above cannot be looked at: another root would be another
/// scope.
pub fn root_of_session(cwd: &Path, ledger: &Path) -> Result<PathBuf, PathError> {
    let cwd = canonical(cwd)?;
    let holder = canonical_if_present(ledger)?
        .and_then(|ledger| Some(ledger.parent()?.to_owned()))
        .filter(|folder| folder.file_name() == Some(OsStr::new(LEDGER_FOLDER)));
    let ledgers_folder = holder.as_deref().and_then(Path::parent);
    for folder in cwd.ancestors() {
        if Some(folder) == ledgers_folder || is_worktree_top(folder)? {
            return Ok(folder.to_owned());
        }
    }
    Ok(cwd)
}

/// A working directory as it is recorded: relative to `root` with `/` between its parts, `.` for
/// the root itself, absolute if outside. Both are absolute; `.` and `..` in `cwd` are resolved by
/// the text alone.
///
/// # Errors
///
/// When the path is not UTF-8.
pub fn relative_cwd(root: &Path, cwd: &Path) -> Result<String, PathError> {
    let mut plain = PathBuf::new();
    for part in cwd.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    let shown = match plain.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => Path::new("."),
        Ok(inside) => inside,
        Err(_) => &plain,
    };
    match shown.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(PathError::NotUtf8 { path: plain }),
    }
}

fn canonical(path: &Path) -> Result<PathBuf, PathError> {
    Ok(path
        .canonicalize()
        .map_err(FileError::io("enter the folder", path))?)
}

fn canonical_if_present(path: &Path) -> Result<Option<PathBuf>, PathError> {
    present(path, path.canonicalize())
}

/// What was found at a path, if anything is there.
fn present<T>(path: &Path, found: io::Result<T>) -> Result<Option<T>, PathError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if files::says_absent(&error) => Ok(None),
        Err(error) => Err(FileError::io("look at", path)(error).into()),
    }
}

/// Whether a folder is the top of a git worktree (gitrepository-layout(5)): `.git` is a
/// repository, or a file that points to one.
fn is_worktree_top(folder: &Path) -> Result<bool, PathError> {
    let head = folder.join(".git/HEAD");
    let is_file = present(&head, head.metadata())?.is_some_and(|found| found.is_file());
    Ok(is_file || git_folder_of_link(folder)?.is_some())
}

/// The main worktree of the repository that `folder` is a linked worktree of, if it is the top of
/// one. A bare repository has none; a submodule's `.git` file leads to a repository of its own.
fn main_worktree(folder: &Path) -> Result<Option<PathBuf>, PathError> {
    let Some(git_folder) = git_folder_of_link(folder)? else {
        return Ok(None);
    };
    let Some(common) = pointer(&git_folder.join("commondir"))? else {
        return Ok(None);
    };
    let common = canonical_if_present(&git_folder.join(common))?
        .filter(|common| common.file_name() == Some(OsStr::new(".git")));
    Ok(common.and_then(|common| Some(common.parent()?.to_owned())))
}

/// What a `.git` file's line `gitdir: PATH` says.
fn git_folder_of_link(folder: &Path) -> Result<Option<PathBuf>, PathError> {
    let line = pointer(&folder.join(".git"))?;
    let target = line.as_deref().and_then(|it| it.strip_prefix("gitdir: "));
    Ok(target.map(|target| folder.join(target)))
}

/// The one line of a file that points somewhere, if there is such a file.
fn pointer(path: &Path) -> Result<Option<String>, PathError> {
    let bytes = match files::read_if_present(path, POINTER_BYTES_MAX) {
        // So large a file is none that points.
        Err(FileError::TooLarge { .. }) => None,
        other => other?,
    };
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_is_recorded_relative_to_the_root() {
        for (cwd, expected) in [
            ("/r", "."),
            ("/r/", "."),
            ("/r/a/b", "a/b"),
            ("/r/./a//b/", "a/b"),
            ("/r/a/../b", "b"),
            ("/r/..", "/"),
            ("/r/../x", "/x"),
            ("/rest", "/rest"),
            ("/", "/"),
        ] {
            let recorded = relative_cwd(Path::new("/r"), Path::new(cwd)).unwrap();
            assert_eq!(recorded, expected, "{cwd}");
        }
    }
}
