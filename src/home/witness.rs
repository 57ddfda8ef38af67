//! What this machine saw of other people's ledgers: of each the largest checkpoint that it
//! cosigned, and what contradicts it.
//!
//! One file per ledger, replaced whole and synced under a lock, so that of two at once one sees
//! what the other kept. Beside their folder lies a list of the ledgers that were cosigned, so that
//! a file that was lost is missed and never taken for "not seen yet". Folder and list are made
//! with the witness's key: a key without either is refused.

use super::files::{self, FileError, Links, Present};
use super::lock::{self, LockError};
use super::surroundings::Custody;
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
/// Name of the list of ledgers, beside the folder.
const LIST: &str = "cosigned";
/// First line of the list; an id a line follows. A file that was emptied is no list.
const LIST_HEADER: &str = "handoff witness: cosigned";
/// Largest list, in bytes: some 64,000 ledgers.
const LIST_BYTES_MAX: u64 = 4 << 20;

/// Why what was seen could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process holds the ledger's lock and does not end.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The witness cosigned, and what it kept of that is gone. It is never taken for "nothing was
    /// seen".
    #[error("expected what this witness cosigned in {}, found none", path.display())]
    Forgotten {
        /// Where it should lie.
        path: PathBuf,
        /// All that the witness has, its key included.
        witness: PathBuf,
    },
    /// The list of ledgers holds something else.
    #[error("expected the ids of ledgers in {}, found {found}", path.display())]
    List {
        /// The list.
        path: PathBuf,
        /// What it holds instead.
        found: String,
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
            WitnessError::Forgotten { path, witness } => format!(
                "restore {} from a backup, or move {} away: a new witness, which has another key, \
                 has seen nothing",
                path.display(),
                witness.display()
            ),
            WitnessError::Exposed { path, .. } => format!(
                "look at what is in {}, then, as its owner: chmod go-w {0}",
                path.display()
            ),
            WitnessError::Lock(_) => "the same command again".to_owned(),
            WitnessError::Damaged { path, .. } | WitnessError::List { path, .. } => {
                format!("restore {} from a backup", path.display())
            }
        }
    }
}

/// Makes the folder of a witness that has no key yet, and its list, which may be there.
///
/// # Errors
/// What the system refused.
pub fn make(folder: &Path) -> Result<(), WitnessError> {
    files::make_folder(folder)?;
    let empty = format!("{LIST_HEADER}\n");
    match files::write(&list_of(folder), empty.as_bytes(), Present::Keep) {
        Ok(()) | Err(FileError::Exists { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Checks that what a witness that has its key saw is there, and that nobody else can change it.
///
/// # Errors
/// `Forgotten`, `Exposed`, `List`, or what the system refused.
pub fn check(folder: &Path) -> Result<(), WitnessError> {
    match Custody::of(folder) {
        Ok(custody) => refuse_exposed(folder, &custody)?,
        Err(error) if error.is_absent() => return Err(forgotten(folder, folder)),
        Err(error) => return Err(error.into()),
    }
    listed(folder).map(drop)
}

fn list_of(folder: &Path) -> PathBuf {
    folder.with_file_name(LIST)
}

/// That `path` is gone, of what a witness keeps in and beside its folder.
fn forgotten(path: &Path, folder: &Path) -> WitnessError {
    WitnessError::Forgotten {
        path: path.to_owned(),
        witness: files::folder_of(folder).to_owned(),
    }
}

/// The ledgers that were cosigned.
fn listed(folder: &Path) -> Result<Vec<LedgerId>, WitnessError> {
    let path = list_of(folder);
    let bytes = match files::read(&path, LIST_BYTES_MAX, Links::Refuse) {
        Ok(file) => file.bytes,
        Err(error) if error.is_absent() => return Err(forgotten(&path, folder)),
        Err(error) => return Err(error.into()),
    };
    refuse_exposed(&path, &Custody::of(&path)?)?;
    let text = String::from_utf8_lossy(&bytes);
    let fault = |line: Option<&str>| WitnessError::List {
        path: path.clone(),
        found: line.map_or("nothing".to_owned(), |line| format!("{line:?}")),
    };
    // Every line is ended: a last one that is not was cut short.
    let whole = text.strip_suffix('\n').ok_or(fault(text.lines().last()))?;
    let mut lines = whole.split('\n');
    match lines.next() {
        Some(LIST_HEADER) => {}
        other => return Err(fault(other)),
    }
    let id = |line: &str| line.parse().map_err(|_| fault(Some(line)));
    lines.map(id).collect()
}

/// Adds a ledger to the list, if it is not there. When this returns it outlasts a power loss.
fn list(folder: &Path, ledger: &LedgerId) -> Result<(), WitnessError> {
    if listed(folder)?.contains(ledger) {
        return Ok(());
    }
    let path = list_of(folder);
    let _lock = lock::lock(&path)?;
    let mut text = format!("{LIST_HEADER}\n");
    for known in listed(folder)?.iter().chain([ledger]) {
        text.push_str(&format!("{known}\n"));
    }
    match u64::try_from(text.len()) {
        Ok(length) if length <= LIST_BYTES_MAX => {}
        found => {
            let (max, found) = (LIST_BYTES_MAX, found.unwrap_or(u64::MAX));
            return Err(FileError::TooLarge { path, max, found }.into());
        }
    }
    Ok(files::write(&path, text.as_bytes(), Present::Replace)?)
}

fn refuse_exposed(path: &Path, custody: &Custody) -> Result<(), WitnessError> {
    if custody.is_own_word() {
        return Ok(());
    }
    let Custody { mode, owner, .. } = *custody;
    let path = path.to_owned();
    Err(WitnessError::Exposed { path, mode, owner })
}

/// What was seen of a ledger, held so that nobody else changes it meanwhile.
#[derive(Debug)]
pub struct Seen {
    folder: PathBuf,
    ledger: LedgerId,
    path: PathBuf,
    checkpoint: Option<SignedCheckpoint>,
    _lock: File,
}

impl Seen {
    /// What is kept of a ledger in the witness's folder.
    ///
    /// # Errors
    /// A lock that stays held; a file that cannot be read, or holds something else; `Forgotten`
    /// if the ledger was cosigned and there is none.
    pub fn of(folder: &Path, ledger: &LedgerId) -> Result<Seen, WitnessError> {
        let path = file_of(folder, ledger);
        let lock = lock::lock(&path)?;
        let checkpoint = match read(&path, ledger) {
            Ok(checkpoint) => Some(checkpoint),
            Err(WitnessError::File(error)) if error.is_absent() => {
                if listed(folder)?.contains(ledger) {
                    return Err(forgotten(&path, folder));
                }
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Seen {
            folder: folder.to_owned(),
            ledger: *ledger,
            path,
            checkpoint,
            _lock: lock,
        })
    }

    /// The largest checkpoint that was cosigned.
    pub fn checkpoint(&self) -> Option<&SignedCheckpoint> {
        self.checkpoint.as_ref()
    }

    /// Keeps a checkpoint in place of the one kept so far, and that the ledger is about to be
    /// cosigned. When this returns both outlast a power loss.
    ///
    /// A repeat, perhaps with fewer signatures, does not take the place of what was seen first.
    ///
    /// # Errors
    /// What the system refused; then what was kept so far may still be kept.
    pub fn keep(&self, checkpoint: &SignedCheckpoint) -> Result<(), WitnessError> {
        let tree = checkpoint.checkpoint().tree;
        let kept = self.checkpoint().map(|kept| kept.checkpoint().tree);
        if kept != Some(tree) {
            let text = checkpoint.to_string();
            files::write(&self.path, text.as_bytes(), Present::Replace)?;
        }
        // After the file: one that is listed and has none was lost.
        list(&self.folder, &self.ledger)
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
/// A folder or file that cannot be read, or holds something else; `Forgotten`.
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
    let kept = |ledger| all.iter().any(|seen| seen.checkpoint.ledger == ledger);
    match listed(folder)?.into_iter().find(|ledger| !kept(*ledger)) {
        Some(lost) => Err(forgotten(&file_of(folder, &lost), folder)),
        None => Ok(all),
    }
}

/// The file of what is kept of a ledger.
fn file_of(folder: &Path, ledger: &LedgerId) -> PathBuf {
    folder.join(format!("{ledger}.{EXTENSION}"))
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
