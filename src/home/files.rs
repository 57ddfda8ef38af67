//! Small files that are read whole, and files that appear whole or not at all.

use super::surroundings::Custody;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fmt;
use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Mode of every folder that is made here: its owner's alone.
const FOLDER_MODE: u32 = 0o700;
/// Mode of a file that is its owner's alone.
pub(super) const PRIVATE_MODE: u32 = 0o600;
/// Mode of a file for others, from which the umask takes away.
const SHARED_MODE: u32 = 0o666;

/// Errors that say of a path that this process finds nothing there, today as tomorrow: no such
/// thing, not for this user, a path that leads nowhere, or a kernel that lacks it (containers and
/// emulated systems answer so where others have no such file). All others, such as EIO, EMFILE,
/// ENOMEM or ESTALE, say that looking failed, and nothing of what is there.
const ABSENT: [Errno; 9] = [
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::ACCESS,
    Errno::PERM,
    Errno::LOOP,
    Errno::NAMETOOLONG,
    Errno::NOSYS,
    Errno::INVAL,
    Errno::OPNOTSUPP,
];

/// Whether an error says that there is nothing, rather than that looking failed.
pub(super) fn says_absent(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| ABSENT.contains(&errno))
}

/// What a file system entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
}

impl FileKind {
    fn of(metadata: &Metadata) -> FileKind {
        let kind = metadata.file_type();
        if kind.is_file() {
            FileKind::Regular
        } else if kind.is_dir() {
            FileKind::Folder
        } else if kind.is_symlink() {
            FileKind::Link
        } else if kind.is_fifo() {
            FileKind::Pipe
        } else if kind.is_socket() {
            FileKind::Socket
        } else {
            FileKind::Device
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Regular => "a regular file",
            FileKind::Folder => "a folder",
            FileKind::Link => "a symbolic link",
            FileKind::Pipe => "a named pipe",
            FileKind::Socket => "a socket",
            FileKind::Device => "a device",
        })
    }
}

/// Why a file outside the ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("expected to {action} {}, found: {source}", path.display())]
    Io {
        /// What was to be done, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else than a regular file.
    #[error("expected a regular file at {}, found {found}", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: FileKind,
    },
    /// More bytes than such a file ever has.
    #[error("expected at most {max} bytes in {}, found {found}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        max: u64,
        /// Its size, in bytes.
        found: u64,
    },
    /// There is a file already, and it is never overwritten.
    #[error("expected no file at {}, found one", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

impl FileError {
    pub(super) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> FileError + use<> {
        let path = path.to_owned();
        move |source| FileError::Io {
            action,
            path,
            source,
        }
    }

    /// Whether the file is simply not there.
    pub fn is_absent(&self) -> bool {
        match self {
            FileError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            FileError::NotRegular { .. }
            | FileError::TooLarge { .. }
            | FileError::Exists { .. } => false,
        }
    }
}

/// What to do with a symbolic link in a path's last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Read what it leads to.
    Follow,
    /// Refuse it.
    Refuse,
}

/// A file read whole.
pub(super) struct SmallFile {
    pub(super) bytes: Vec<u8>,
    /// Who else can change it.
    pub(super) custody: Custody,
    /// How many bytes the system says it has; none of those that the system makes up (proc(5)).
    length: u64,
}

/// Reads a regular file of at most `max` bytes. A named pipe without a writer does not block, and
/// the bytes are never moved about in memory.
pub(super) fn read(path: &Path, max: u64, links: Links) -> Result<SmallFile, FileError> {
    let too_large = |found| FileError::TooLarge {
        path: path.to_owned(),
        max,
        found,
    };
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if links == Links::Refuse {
        let found = std::fs::symlink_metadata(path).map_err(FileError::io("read", path))?;
        if found.is_symlink() {
            return Err(FileError::NotRegular {
                path: path.to_owned(),
                found: FileKind::Link,
            });
        }
        flags |= OFlags::NOFOLLOW;
    }
    let opened = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| FileError::io("open", path)(errno.into()))?;
    let file = File::from(opened);
    let metadata = file.metadata().map_err(FileError::io("read", path))?;
    require_regular(path, &metadata)?;
    if metadata.len() > max {
        return Err(too_large(metadata.len()));
    }
    // One byte more than allowed, so that a file that grows meanwhile is noticed.
    let limit = max.saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(limit).unwrap_or(0));
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(FileError::io("read", path))?;
    match u64::try_from(bytes.len()) {
        Ok(found) if found <= max => Ok(SmallFile {
            bytes,
            custody: Custody::of_found(&metadata),
            length: metadata.len(),
        }),
        _ => Err(too_large(limit)),
    }
}

/// Demands of what was found at a path that it is a regular file.
pub(super) fn require_regular(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    match FileKind::of(metadata) {
        FileKind::Regular => Ok(()),
        found @ (FileKind::Folder
        | FileKind::Link
        | FileKind::Pipe
        | FileKind::Socket
        | FileKind::Device) => Err(FileError::NotRegular {
            path: path.to_owned(),
            found,
        }),
    }
}

/// The bytes of a regular file of at most `max` by which something else is decided; `None` if
/// there is none, or something else in its place. What failed is never taken for either.
pub(super) fn read_if_present(path: &Path, max: u64) -> Result<Option<Vec<u8>>, FileError> {
    match read(path, max, Links::Follow) {
        Ok(file) => {
            let is_short = u64::try_from(file.bytes.len()).is_ok_and(|found| found < file.length);
            if is_short {
                let early = io::ErrorKind::UnexpectedEof.into();
                return Err(FileError::io("read all of", path)(early));
            }
            Ok(Some(file.bytes))
        }
        Err(FileError::NotRegular { .. }) => Ok(None),
        Err(FileError::Io { source, .. }) if says_absent(&source) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What stands at the path where a new file is to appear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Present {
    /// Take its place.
    Replace,
    /// Leave it alone and fail.
    Keep,
}

/// Makes a file that only its owner can read (0600), whole or not at all: written beside its
/// place under another name, synced, then given its name, and the folder synced.
pub(super) fn write(path: &Path, bytes: &[u8], present: Present) -> Result<(), FileError> {
    place(path, beside(path, bytes, PRIVATE_MODE)?, present)
}

/// Makes a file as [`write`] does, in place of another, but lets the system choose when it reaches
/// the disk: whoever reads it sees all of it or all of the one before, but a power cut may leave
/// either, or nothing but zeros, or no bytes (some file systems name a file before its bytes).
///
/// # Errors
///
/// What the system refused, and then the one before is left.
pub fn write_in_passing(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let failed = |error: tempfile::PersistError| FileError::io("write", path)(error.error);
    beside(path, bytes, PRIVATE_MODE)?
        .persist(path)
        .map_err(failed)?;
    Ok(())
}

/// Gives a file that was written beside its place its name, for good.
fn place(path: &Path, file: tempfile::NamedTempFile, present: Present) -> Result<(), FileError> {
    let failed = || FileError::io("write", path);
    file.as_file().sync_all().map_err(failed())?;
    let placed = match present {
        Present::Replace => file.persist(path),
        Present::Keep => file.persist_noclobber(path),
    };
    match placed {
        Ok(_) => sync_folder(folder_of(path)),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(FileError::Exists {
                path: path.to_owned(),
            })
        }
        Err(refused) => Err(failed()(refused.error)),
    }
}

fn beside(path: &Path, bytes: &[u8], mode: u32) -> Result<tempfile::NamedTempFile, FileError> {
    let failed = || FileError::io("write", path);
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder_of(path))
        .map_err(failed())?;
    file.write_all(bytes).map_err(failed())?;
    Ok(file)
}

/// Makes a folder and those above it, each its owner's alone (0700); existing ones stay as they
/// are. What is put in them would go with them in a power cut, so each new one's name is synced.
pub(super) fn make_folder(folder: &Path) -> Result<(), FileError> {
    let new: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .collect();
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(FileError::io("make the folder", folder))?;
    new.into_iter().map(folder_of).try_for_each(sync_folder)
}

/// The bytes of a regular file that somebody named, of at most `max`.
///
/// # Errors
///
/// Anything but a regular file; a larger one; what the system refused.
pub fn read_given(path: &Path, max: u64) -> Result<Vec<u8>, FileError> {
    Ok(read(path, max, Links::Follow)?.bytes)
}

/// Writes a new file for others to read as far as the umask lets them: as it is written with
/// [`write`]. One that is there already is left alone, as is what a link leads to.
///
/// # Errors
///
/// [`FileError::Exists`]; what the system refused, and then no file is left.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    place(path, beside(path, bytes, SHARED_MODE)?, Present::Keep)
}

/// A file that somebody named, its owner's alone (0600), of which each version takes the place of
/// the one before: whoever reads it sees one of them whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaceable {
    path: PathBuf,
}

impl Replaceable {
    /// The file at a path, once it is sure that one can be written there now. What is there already
    /// stays until the first version.
    ///
    /// # Errors
    /// Anything but a regular file stands there, a link too; or its folder takes no new file.
    pub fn at(path: &Path) -> Result<Replaceable, FileError> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(metadata) => {
                return Err(FileError::NotRegular {
                    path: path.to_owned(),
                    found: FileKind::of(&metadata),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::io("write", path)(error)),
        }
        beside(path, &[], PRIVATE_MODE)?;
        Ok(Replaceable {
            path: path.to_owned(),
        })
    }

    /// Writes the next version, for good.
    ///
    /// # Errors
    /// What the system refused; then the version before is left.
    pub fn write(&self, bytes: &[u8]) -> Result<(), FileError> {
        write(&self.path, bytes, Present::Replace)
    }
}

/// Takes a file's place, whole or not at all, as it is written with [`write`]; its permission bits
/// stay, and a link stays one: what it leads to is replaced. Where there is none, it is a new file
/// as of [`write_new`].
///
/// # Errors
///
/// Anything but a regular file in its place; what the system refused, and then the one before is
/// left.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return write_new(path, bytes),
        Err(error) => return Err(FileError::io("examine", path)(error)),
    };
    let kind = FileKind::of(&found);
    if kind != FileKind::Regular {
        let path = path.to_owned();
        return Err(FileError::NotRegular { path, found: kind });
    }
    let target = path.canonicalize().map_err(FileError::io("find", path))?;
    let file = beside(&target, bytes, PRIVATE_MODE)?;
    let same = Permissions::from_mode(found.permissions().mode() & 0o777);
    (file.as_file().set_permissions(same)).map_err(FileError::io("write", &target))?;
    place(&target, file, Present::Replace)
}

fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(FileError::io("sync the folder", folder))
}

/// The folder that a path's file is in: `.` for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_path_says_of_itself_is_absence() {
        for absent in [
            Errno::NOENT,
            Errno::NOTDIR,
            Errno::ACCESS,
            Errno::PERM,
            Errno::NOSYS,
            Errno::INVAL,
        ] {
            assert!(says_absent(&absent.into()), "{absent}");
        }
        for failed in [
            Errno::IO,
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::STALE,
            Errno::INTR,
            Errno::TIMEDOUT,
            Errno::AGAIN,
        ] {
            assert!(!says_absent(&failed.into()), "{failed}");
        }
        assert!(!says_absent(&io::ErrorKind::UnexpectedEof.into()));
    }

    #[test]
    fn a_file_that_decides_something_is_read_whole_or_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(read_if_present(&path, 9).unwrap(), None);
        assert_eq!(read_if_present(folder.path(), 9).unwrap(), None);
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_if_present(&path, 9).unwrap().unwrap(), b"text");
        let refused = read_if_present(&path, 3).unwrap_err();
        assert!(matches!(refused, FileError::TooLarge { .. }), "{refused}");
        if cfg!(target_os = "linux") {
            // A file that the system makes up tells no length.
            assert!(
                read_if_present(Path::new("/proc/self/stat"), 9_000)
                    .unwrap()
                    .is_some()
            );
        }
    }

    #[test]
    fn a_new_file_is_never_seen_by_halves_and_is_as_open_as_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = vec![7; 8 * 1024 * 1024];
        let whole = u64::try_from(bytes.len()).unwrap();
        for round in 0..8 {
            let path = folder.path().join(format!("new-{round}"));
            let seen = std::thread::scope(|scope| {
                let writer = scope.spawn(|| write_new(&path, &bytes).unwrap());
                let mut seen = Vec::new();
                while !writer.is_finished() {
                    seen.extend(path.metadata().map(|found| found.len()));
                }
                seen
            });
            assert!(seen.iter().all(|length| *length == whole), "{seen:?}");
            assert_eq!(path.metadata().unwrap().len(), whole);
            std::fs::remove_file(path).unwrap();
        }
        let (new, other) = (folder.path().join("new"), folder.path().join("other"));
        write_new(&new, b"text").unwrap();
        File::create(&other).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&new), mode(&other));
        // What is there stays, and nothing is left beside it.
        let refused = write_new(&new, b"another").unwrap_err();
        assert!(matches!(refused, FileError::Exists { .. }), "{refused}");
        assert_eq!(std::fs::read(&new).unwrap(), b"text");
        assert_eq!(folder.path().read_dir().unwrap().count(), 2);
    }
}
