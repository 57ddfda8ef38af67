//! What this machine saw of other people's ledgers: of each the largest checkpoint that it
//! cosigned, and what contradicts it.
//!
//! One file per ledger, replaced whole and synced under a lock, so that of two at once one sees
//! what the other kept. Whoever deletes it makes the witness forget.

use super::files::{self, FileError, Links, LockError, Present};
use crate::checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint};
use crate::hash;
use crate::note::NOTE_BYTES_MAX;
use crate::types::LedgerId;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What follows a ledger's id in the name of the file of its checkpoint.
const EXTENSION: &str = "checkpoint";

/// Why what was seen could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process holds the ledger's lock and does not end.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// What lies there is no checkpoint of that ledger. It is never taken for "nothing was seen".
    #[error("{}: {fault}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: CheckpointError,
    },
}

impl WitnessError {
    /// What to type so that it goes on.
    pub fn next(&self) -> String {
        match self {
            WitnessError::File(_) => "export XDG_STATE_HOME=/a/folder/of/yours".to_owned(),
            WitnessError::Lock(_) => "the same command again".to_owned(),
            WitnessError::Damaged { path, .. } => {
                format!("restore {} from a backup", path.display())
            }
        }
    }
}

/// What was seen of a ledger, held so that nobody else changes it meanwhile.
#[derive(Debug)]
pub struct Seen {
    path: PathBuf,
    checkpoint: Option<SignedCheckpoint>,
    _lock: File,
}

impl Seen {
    /// What is kept of a ledger in the witness's folder, which is made if need be.
    ///
    /// # Errors
    /// A lock that stays held; a file that cannot be read, or holds something else.
    pub fn of(folder: &Path, ledger: &LedgerId) -> Result<Seen, WitnessError> {
        files::make_folder(folder)?;
        let path = folder.join(format!("{ledger}.{EXTENSION}"));
        let lock = files::lock(&path)?;
        let checkpoint = match files::read(&path, max(), Links::Refuse) {
            Ok(file) => Some(parse(&path, &file.bytes, ledger)?),
            Err(error) if error.is_absent() => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Seen {
            path,
            checkpoint,
            _lock: lock,
        })
    }

    /// The largest checkpoint that was cosigned.
    pub fn checkpoint(&self) -> Option<&SignedCheckpoint> {
        self.checkpoint.as_ref()
    }

    /// Keeps a checkpoint in place of the one kept so far. When this returns it outlasts a power
    /// loss.
    ///
    /// # Errors
    /// What the system refused; then what was kept so far may still be kept.
    pub fn keep(&self, checkpoint: &SignedCheckpoint) -> Result<(), WitnessError> {
        let text = checkpoint.to_string();
        Ok(files::write(&self.path, text.as_bytes(), Present::Replace)?)
    }

    /// Keeps a request that contradicts what was kept, once for each checkpoint, and says where.
    ///
    /// # Errors
    /// What the system refused.
    pub fn keep_evidence(
        &self,
        checkpoint: &SignedCheckpoint,
        request: &str,
    ) -> Result<PathBuf, WitnessError> {
        let digest = hash::bytes(checkpoint.note().text().as_bytes());
        let path = self.path.with_extension(format!("{digest}.refused"));
        match files::write(&path, request.as_bytes(), Present::Keep) {
            Ok(()) | Err(FileError::Exists { .. }) => Ok(path),
            Err(error) => Err(error.into()),
        }
    }
}

/// The largest checkpoints cosigned so far, by ledger; a folder that is not there holds none.
///
/// # Errors
/// A folder or file that cannot be read, or holds something else.
pub fn all(folder: &Path) -> Result<Vec<Checkpoint>, WitnessError> {
    let failed = || FileError::io("list the folder", folder);
    let entries = match std::fs::read_dir(folder).map_err(failed()) {
        Ok(entries) => entries,
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed())?.path();
        let stem = path.file_stem().and_then(OsStr::to_str);
        let ledger: Option<LedgerId> = stem.and_then(|stem| stem.parse().ok());
        let of_it = ledger.filter(|_| path.extension() == Some(OsStr::new(EXTENSION)));
        if let Some(ledger) = of_it {
            let bytes = files::read(&path, max(), Links::Refuse)?.bytes;
            all.push(*parse(&path, &bytes, &ledger)?.checkpoint());
        }
    }
    all.sort_by_key(|checkpoint| checkpoint.ledger);
    Ok(all)
}

fn max() -> u64 {
    u64::try_from(NOTE_BYTES_MAX).unwrap_or(u64::MAX)
}

fn parse(path: &Path, bytes: &[u8], ledger: &LedgerId) -> Result<SignedCheckpoint, WitnessError> {
    let damaged = |fault| {
        let path = path.to_owned();
        WitnessError::Damaged { path, fault }
    };
    let parsed = SignedCheckpoint::parse(bytes).map_err(damaged)?;
    if parsed.checkpoint().ledger != *ledger {
        let found = parsed.checkpoint().ledger.to_string();
        return Err(damaged(CheckpointError::Text { found }));
    }
    Ok(parsed)
}
