//! The files of guards that hold for a tool call: where they lie, and whose word they are.

use super::guards::{Guards, GuardsError};
use crate::home::paths::{self, PathError};
use crate::home::{self, OwnWordError};
use std::path::{Path, PathBuf};

/// Name of the file of guards, beside the ledger.
pub const GUARDS_FILE: &str = "guards.toml";
/// Largest such file, in bytes.
const GUARDS_BYTES_MAX: u64 = 64 * 1024;

/// A file of guards that was found.
#[derive(Debug, Clone)]
pub struct FoundGuards {
    /// The file.
    pub path: PathBuf,
    /// The folder that it was found from.
    pub from: PathBuf,
    /// What it says.
    pub guards: Guards,
}

/// Why it cannot be told what is guarded.
#[derive(Debug, thiserror::Error)]
pub enum FoundError {
    /// A folder cannot be looked at.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The file cannot be read, or others could have written it.
    #[error(transparent)]
    File(#[from] OwnWordError),
    /// It is not in UTF-8.
    #[error("{}: expected text in UTF-8, found other bytes", .0.display())]
    NotText(PathBuf),
    /// It is not of the grammar.
    #[error("{}: {error}", path.display())]
    Guards {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: GuardsError,
    },
}

/// The files of guards that hold in any of `folders`: all above each, so that none is evaded by one
/// that is nearer; each once.
///
/// # Errors
/// The first that cannot be looked for, read, believed or understood: what it guards is unknown.
pub fn guards(folders: &[PathBuf]) -> Result<Vec<FoundGuards>, FoundError> {
    let mut found: Vec<FoundGuards> = Vec::new();
    for folder in folders {
        for path in paths::find_beside_ledgers(folder, GUARDS_FILE)? {
            if found.iter().all(|known| known.path != path) {
                let guards = read(&path)?;
                let from = folder.clone();
                found.push(FoundGuards { path, from, guards });
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Guards, FoundError> {
    let bytes = home::read_own_word(path, GUARDS_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| FoundError::NotText(path.to_owned()))?;
    Guards::parse(&text).map_err(|error| FoundError::Guards {
        path: path.to_owned(),
        error,
    })
}
