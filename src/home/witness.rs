//! What this machine saw of other people's ledgers: of each the largest checkpoint that it
//! cosigned, and what contradicts it.
//!
//! One file per ledger, replaced whole and synced under a lock, so that of two at once one sees
//! what the other kept. The folder is made with the witness's key: a key without it is refused.

use super::files::{self, FileError, Links, LockError, Present};
use super::surroundings::{Custody, OTHERS_WRITE};
use crate::checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint};
use crate::hash;
use crate::note::NOTE_BYTES_MAX;
use crate::proof::ConsistencyProof;
use crate::types::LedgerId;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What follows a ledger's id in the name of the file of its checkpoint.
const EXTENSION: &str = "checkpoint";
/// What the name of a file of evidence ends with.
const EVIDENCE: &str = "refused";
/// Most files of evidence of one ledger: one shows it, and more fill the disk.
pub const EVIDENCE_MAX: usize = 16;

/// Why what was seen could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process holds the ledger's lock and does not end.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The key cosigned, and what it cosigned is gone. It is never taken for "nothing was seen".
    #[error("expected what {} cosigned in {}, found none", key.display(), folder.display())]
    Forgotten {
        /// The witness's key.
        key: PathBuf,
        /// Where it should lie.
        folder: PathBuf,
    },
    /// Others could make the witness forget.
    #[error("expected {} to be its owner's alone to write, found mode {mode:04o} of user {owner}",
        path.display())]
    Exposed {
        /// The folder, or a file in it.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Its owner's user id.
        owner: u32,
    },
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
            WitnessError::File(_) => "the same command, once the system lets it".to_owned(),
            WitnessError::Forgotten { key, folder } => format!(
                "restore {} from a backup, or move {} away: a new witness has seen nothing",
                folder.display(),
                key.display()
            ),
            WitnessError::Exposed { path, .. } => format!(
                "look at what is in {}, then, as its owner: chmod go-w {0}",
                path.display()
            ),
            WitnessError::Lock(_) => "the same command again".to_owned(),
            WitnessError::Damaged { path, .. } => {
                format!("restore {} from a backup", path.display())
            }
        }
    }
}

/// Makes the folder of a witness that has no key yet.
///
/// # Errors
/// What the system refused.
pub fn make(folder: &Path) -> Result<(), WitnessError> {
    Ok(files::make_folder(folder)?)
}

/// Checks that what the witness of a key saw is there, and that nobody else can change it.
///
/// # Errors
/// `Forgotten`, `Exposed`, or what the system refused.
pub fn check(folder: &Path, key: &Path) -> Result<(), WitnessError> {
    match Custody::of(folder) {
        Ok(custody) => refuse_exposed(folder, &custody),
        Err(error) if error.is_absent() => {
            let (key, folder) = (key.to_owned(), folder.to_owned());
            Err(WitnessError::Forgotten { key, folder })
        }
        Err(error) => Err(error.into()),
    }
}

fn refuse_exposed(path: &Path, custody: &Custody) -> Result<(), WitnessError> {
    let Custody { mode, owner, .. } = *custody;
    if mode & OTHERS_WRITE == 0 && custody.is_own() {
        return Ok(());
    }
    let path = path.to_owned();
    Err(WitnessError::Exposed { path, mode, owner })
}

/// What was seen of a ledger, held so that nobody else changes it meanwhile.
#[derive(Debug)]
pub struct Seen {
    path: PathBuf,
    checkpoint: Option<SignedCheckpoint>,
    _lock: File,
}

impl Seen {
    /// What is kept of a ledger in the witness's folder.
    ///
    /// # Errors
    /// A lock that stays held; a file that cannot be read, or holds something else.
    pub fn of(folder: &Path, ledger: &LedgerId) -> Result<Seen, WitnessError> {
        let path = folder.join(format!("{ledger}.{EXTENSION}"));
        let lock = files::lock(&path)?;
        let checkpoint = match read(&path, ledger) {
            Ok(checkpoint) => Some(checkpoint),
            Err(WitnessError::File(error)) if error.is_absent() => None,
            Err(error) => return Err(error),
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

    /// Keeps the checkpoint kept so far and a request that forks from it, once for each
    /// checkpoint, and says where; nowhere if there are [`EVIDENCE_MAX`] of the ledger already.
    ///
    /// # Errors
    /// What the system refused.
    pub fn keep_evidence(
        &self,
        request: &ConsistencyProof,
    ) -> Result<Option<PathBuf>, WitnessError> {
        let Some(kept) = &self.checkpoint else {
            return Ok(None);
        };
        let digest = hash::bytes(request.checkpoint.note().text().as_bytes());
        let path = self.path.with_extension(format!("{digest}.{EVIDENCE}"));
        if path.exists() {
            return Ok(Some(path));
        }
        let ledger = kept.checkpoint().ledger;
        let entries = entries(files::folder_of(&self.path))?;
        if evidence(&entries, &ledger).len() >= EVIDENCE_MAX {
            return Ok(None);
        }
        let both = format!("{kept}\n{request}");
        files::write(&path, both.as_bytes(), Present::Keep)?;
        Ok(Some(path))
    }
}

/// What is kept of one ledger.
#[derive(Debug)]
pub struct Witnessed {
    /// The largest checkpoint that was cosigned.
    pub checkpoint: Checkpoint,
    /// Files that each show that the ledger's keeper signed two histories.
    pub evidence: Vec<PathBuf>,
}

/// What is kept, by ledger; a folder that is not there holds nothing.
///
/// # Errors
/// A folder or file that cannot be read, or holds something else.
pub fn all(folder: &Path) -> Result<Vec<Witnessed>, WitnessError> {
    let entries = match entries(folder) {
        Ok(entries) => entries,
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut all = Vec::new();
    for path in &entries {
        let stem = path.file_stem().and_then(OsStr::to_str);
        let ledger: Option<LedgerId> = stem.and_then(|stem| stem.parse().ok());
        let of_it = ledger.filter(|_| path.extension() == Some(OsStr::new(EXTENSION)));
        if let Some(ledger) = of_it {
            all.push(Witnessed {
                checkpoint: *read(path, &ledger)?.checkpoint(),
                evidence: evidence(&entries, &ledger),
            });
        }
    }
    Ok(all)
}

/// What lies in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = || FileError::io("list the folder", folder);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed())? {
        all.push(entry.map_err(failed())?.path());
    }
    all.sort();
    Ok(all)
}

fn evidence(entries: &[PathBuf], ledger: &LedgerId) -> Vec<PathBuf> {
    let is_of = |path: &&PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let of_it = name.strip_prefix(&format!("{ledger}."));
        of_it.is_some_and(|rest| rest.ends_with(&format!(".{EVIDENCE}")))
    };
    entries.iter().filter(is_of).cloned().collect()
}

/// The checkpoint of a ledger that a file holds.
fn read(path: &Path, ledger: &LedgerId) -> Result<SignedCheckpoint, WitnessError> {
    let bytes = files::read(path, NOTE_BYTES_MAX, Links::Refuse)?.bytes;
    refuse_exposed(path, &Custody::of(path)?)?;
    let damaged = |fault| {
        let path = path.to_owned();
        WitnessError::Damaged { path, fault }
    };
    let parsed = SignedCheckpoint::parse(&bytes).map_err(damaged)?;
    if parsed.checkpoint().ledger != *ledger {
        let found = parsed.checkpoint().ledger.to_string();
        return Err(damaged(CheckpointError::Text { found }));
    }
    Ok(parsed)
}
