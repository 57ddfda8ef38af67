//! The lock of a file that several processes change.

use super::files::{FileError, PRIVATE_MODE, require_regular};
use rustix::fs::{Mode, OFlags};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a change of a file waits for another one to end.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How long it sleeps between two looks.
const LOCK_POLL: Duration = Duration::from_millis(5);

/// Another process is changing a file and does not end.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It holds the lock.
    #[error("expected the lock {} within 5 s, found it held", path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
    },
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Waits for the lock of a file, which holds until what is returned is dropped or the process
/// ends. It is on a file beside it, since the file itself is another one after each change.
pub(super) fn lock(path: &Path) -> Result<File, LockError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let path = PathBuf::from(beside);
    let file = open_lock(&path)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_WAIT => {
                std::thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { path }),
            Err(TryLockError::Error(source)) => {
                return Err(FileError::io("lock", &path)(source).into());
            }
        }
    }
}

/// Opens a lock's file, made if there is none; nothing else in its place makes this wait.
fn open_lock(path: &Path) -> Result<File, FileError> {
    let opened = rustix::fs::open(
        path,
        OFlags::RDWR
            | OFlags::CREATE
            | OFlags::NONBLOCK
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC,
        Mode::from_raw_mode(PRIVATE_MODE),
    );
    let failed = || FileError::io("open the lock", path);
    let file = File::from(opened.map_err(|errno| failed()(errno.into()))?);
    require_regular(path, &file.metadata().map_err(failed())?)?;
    Ok(file)
}
