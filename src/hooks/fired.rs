//! What fired last: a small file per client and moment in this user's state folder. Nothing is
//! decided by it, and a hook that cannot write it decides the same.

use super::client::{Client, Moment};
use crate::home::folders::Folders;
use crate::home::{self, read_given};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Largest such file that is read, in bytes.
const FIRED_BYTES_MAX: u64 = 64 * 1024;
/// Most characters of what was said that are kept.
const DETAIL_CHARACTERS_MAX: usize = 500;
/// How many conversations are remembered as reminded.
const REMINDED_MAX: usize = 64;
/// The file of those.
const REMINDED_FILE: &str = "reminded.json";

/// One hook that fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// When, as an event's time is written.
    pub time: String,
    /// The version of this program.
    pub version: String,
    /// Where: the first folder that the client named, or the process's.
    pub folder: String,
    /// What was answered, by its stable name.
    pub answer: String,
    /// What was said.
    pub detail: Option<String>,
}

impl Fired {
    /// The same with no more of the detail than is kept.
    fn short(&self) -> Fired {
        let detail = self.detail.as_deref();
        let detail = detail.map(|text| text.chars().take(DETAIL_CHARACTERS_MAX).collect());
        Fired {
            detail,
            ..self.clone()
        }
    }
}

fn file(folders: &Folders, client: Client, moment: Moment) -> Option<PathBuf> {
    let folder = folders.hooks().ok()?;
    Some(folder.join(format!("{client}-{moment}.json")))
}

/// Remembers what fired. That it could not is worth telling nobody.
pub fn note(folders: &Folders, client: Client, moment: Moment, fired: &Fired) {
    if let (Some(path), Ok(bytes)) = (
        file(folders, client, moment),
        serde_json::to_vec(&fired.short()),
    ) {
        write(&path, &bytes);
    }
}

/// What fired last for a client at a moment, if anything did and it can be read.
pub fn last(folders: &Folders, client: Client, moment: Moment) -> Option<Fired> {
    let bytes = read_given(&file(folders, client, moment)?, FIRED_BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a reminder was given before; it is noted as given now.
pub fn reminded(folders: &Folders, key: &str) -> bool {
    let Some(path) = (folders.hooks().ok()).map(|folder| folder.join(REMINDED_FILE)) else {
        return false;
    };
    let bytes = read_given(&path, FIRED_BYTES_MAX).unwrap_or_default();
    let mut keys: Vec<String> = serde_json::from_slice(&bytes).unwrap_or_default();
    let before = keys.iter().any(|known| known == key);
    if !before {
        keys.push(key.to_owned());
        let kept = keys.split_off(keys.len().saturating_sub(REMINDED_MAX));
        if let Ok(bytes) = serde_json::to_vec(&kept) {
            write(&path, &bytes);
        }
    }
    before
}

fn write(path: &std::path::Path, bytes: &[u8]) {
    let Some(folder) = path.parent() else {
        return;
    };
    if home::write_in_passing(path, bytes).is_err() && home::folders::make_folder(folder).is_ok() {
        // What fired last is not worth a word where it cannot be kept.
        let _ = home::write_in_passing(path, bytes);
    }
}
