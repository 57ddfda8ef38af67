//! Files as files: what may be opened at all, what lies beside one, and which ones SQLite holds.

use super::StoreError;
use rustix::fs::{Mode, OFlags, SeekFrom, seek};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Endings of the files that SQLite takes for a part of a database.
pub(super) const SIDE_FILE_ENDINGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The path of the side file of `path` with this ending.
pub(super) fn side_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Those side files of `path` that exist, be they only dangling links.
pub(super) fn side_files(path: &Path) -> Vec<PathBuf> {
    SIDE_FILE_ENDINGS
        .iter()
        .map(|ending| side_file(path, ending))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// The absolute path of an existing file, links resolved. It starts with `/`, so that SQLite cannot
/// take it for a URI or for `:memory:`, and it is the name that SQLite derives side files from.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let resolved = path.canonicalize();
    resolved.map_err(|error| absent_or("find the file", path, &error))
}

fn absent_or(doing: &'static str, path: &Path, error: &std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::NotFound {
        StoreError::Absent { path: path.into() }
    } else {
        StoreError::io(doing, error)
    }
}

/// Opens a regular file for reading. Anything else is refused before it is opened, and cannot
/// make the call hang if it takes the file's place meanwhile.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata), StoreError> {
    check_regular(path, &metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|error| StoreError::io("open the file", &error.into()))?;
    let metadata = file
        .metadata()
        .map_err(|error| StoreError::io("examine the file", &error))?;
    check_regular(path, &metadata)?;
    Ok((file, metadata))
}

/// The metadata of what `path` leads to, without opening it.
pub(super) fn metadata(path: &Path) -> Result<Metadata, StoreError> {
    let metadata = path.metadata();
    metadata.map_err(|error| absent_or("examine the file", path, &error))
}

/// Refuses what is no regular file.
pub(super) fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let kind = metadata.file_type();
    let found = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(StoreError::NotALedger {
        path: path.into(),
        reason: format!("it is {found}, not a regular file"),
    })
}

/// How many of the first `bytes` of a file are holes, which hold nothing and read as zeros;
/// counting ends once they are more than `enough`. A file system that knows of no holes has none.
pub(super) fn holes(file: &File, bytes: u64, enough: u64) -> Result<u64, StoreError> {
    let failed = |errno: Errno| StoreError::io("examine the file", &errno.into());
    let (mut holes, mut at): (u64, u64) = (0, 0);
    while at < bytes && holes <= enough {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(bytes),
            // No data from here on (lseek(2)).
            Err(Errno::NXIO) => bytes,
            Err(Errno::INVAL) => return Ok(0),
            Err(errno) => return Err(failed(errno)),
        };
        holes = holes.saturating_add(data.saturating_sub(at));
        if data < bytes {
            at = seek(file, SeekFrom::Hole(data)).map_err(failed)?;
        } else {
            at = bytes;
        }
    }
    Ok(holes)
}

/// Refuses to begin what a folder has no room for. A file system that does not tell its size is
/// taken to have it.
pub(super) fn check_space(folder: &Path, bytes: u64) -> Result<(), StoreError> {
    let there = rustix::fs::statvfs(folder)
        .map_err(|errno| StoreError::io("examine the folder for copies", &errno.into()))?;
    let free = there.f_frsize.saturating_mul(there.f_bavail);
    if there.f_blocks == 0 || free >= bytes {
        return Ok(());
    }
    Err(StoreError::Full {
        detail: format!(
            "a copy of {bytes} bytes is needed, and {} has {free} free; TMPDIR can name another",
            folder.display()
        ),
    })
}

/// Where SQLite locks a file to write to it: its pending and its reserved byte (SQLite, os.h).
const WRITER_LOCK: (u64, u64) = (0x4000_0000, 2);

/// Whether another process is writing to a ledger through SQLite.
pub(super) fn has_writer(ledger: &File) -> bool {
    let mut lock = Flock::from(FlockType::WriteLock);
    (lock.start, lock.length) = WRITER_LOCK;
    matches!(fcntl_getlk(ledger, &lock), Ok(Some(_)))
}

/// A file's identity: its device and inode.
type Identity = (u64, u64);

/// How many connections this process has to each file.
static HELD: Mutex<BTreeMap<Identity, usize>> = Mutex::new(BTreeMap::new());

/// A note that this process has a file open through SQLite. While one lives, the file is not opened
/// by other means: closing any descriptor of a file drops all POSIX locks that the process has on
/// it, SQLite's included.
#[derive(Debug)]
pub(super) struct Held(Identity);

impl Held {
    /// Notes a connection that is about to be made. If it is the file's first, `check` may read the
    /// file before; otherwise it has been checked already.
    pub(super) fn after<F>(metadata: &Metadata, check: F) -> Result<Held, StoreError>
    where
        F: FnOnce() -> Result<(), StoreError>,
    {
        let identity = (metadata.dev(), metadata.ino());
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.contains_key(&identity) {
            check()?;
        }
        *held.entry(identity).or_insert(0) += 1;
        Ok(Held(identity))
    }

    /// Whether this process has the file open through SQLite.
    pub(super) fn has(metadata: &Metadata) -> bool {
        let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.contains_key(&(metadata.dev(), metadata.ino()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.0);
            }
        }
    }
}
