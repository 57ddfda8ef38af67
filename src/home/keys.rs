//! Files of keys: secret ones, which are made and read here, and public ones as people pass them
//! on.
//!
//! Written: PKCS#8 PEM (RFC 8410 section 7, version 1, as `openssl genpkey -algorithm ed25519`
//! writes it). Read: that, its version 2 with the public half, and OpenSSH's format, neither of
//! them encrypted. A secret key that others can read is no secret and is refused.

use super::files::{self, FileError, Links, Present};
use super::key_text::{self, KeyKind, KeyTextError, Zeroizing};
use super::paths::{LEDGER_FILE, LEDGER_FOLDER};
use super::surroundings::Custody;
use crate::key::SigningKey;
use crate::types::{Name, PublicKey};
#[cfg(target_os = "linux")]
use rustix::process::DumpableBehavior;
#[cfg(not(target_os = "linux"))]
use rustix::process::Resource;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Largest key file, in bytes.
pub const KEY_FILE_BYTES_MAX: u64 = 16 * 1024;
/// The label of the key that is used if none is named.
pub const DEFAULT_LABEL: &str = "default";
/// What follows the label in the name of a key's file.
const EXTENSION: &str = "pem";

/// Why there is no key to be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read or written, or is no regular file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Group or others may read or write it.
    #[error("expected {} to be its owner's alone, found mode {mode:04o}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Others may put another file in its place.
    #[error(
        "expected {} to be its owner's to write, found mode {mode:04o}: others could replace the key",
        folder.display()
    )]
    ExposedFolder {
        /// The folder that the file is in.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// What the file holds is not the key that was wanted.
    #[error("{}: {fault}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong with its text.
        fault: KeyTextError,
    },
    /// A public key given as text is not one to verify with.
    #[error(transparent)]
    Given(KeyTextError),
    /// A secret key would travel with the ledger.
    #[error("expected a key outside the ledger's folder, found {}", path.display())]
    InLedger {
        /// The key's file.
        path: PathBuf,
    },
    /// No such label, and no such file.
    #[error("expected a label of a key in {} or a path, found {given:?}", folder.display())]
    NoKey {
        /// What was given.
        given: String,
        /// The folder of keys.
        folder: PathBuf,
    },
}

impl KeyFileError {
    /// What to type so that it goes on.
    pub fn next(&self) -> String {
        match self {
            KeyFileError::File(error) if error.is_absent() => "handoff key new".to_owned(),
            KeyFileError::File(FileError::Exists { .. }) => {
                "handoff key new --label ANOTHER".to_owned()
            }
            KeyFileError::File(FileError::NotRegular { .. }) => {
                "name the file itself: --key PATH".to_owned()
            }
            KeyFileError::File(FileError::Io { .. } | FileError::TooLarge { .. }) => {
                "name another file: --key PATH".to_owned()
            }
            KeyFileError::Exposed { path, .. } => format!(
                "chmod 600 {}; if others may have read it: handoff key revoke",
                path.display()
            ),
            KeyFileError::ExposedFolder { folder, .. } => {
                format!("chmod go-w {}", folder.display())
            }
            KeyFileError::Text { path, fault } => match fault {
                KeyTextError::Kind { found, .. } if *found == KeyKind::Encrypted => format!(
                    "decrypt a copy of {0}: an OpenSSH key with ssh-keygen -p -f COPY, another with \
                     openssl pkey -in COPY -out PLAIN",
                    path.display()
                ),
                KeyTextError::Unfit(_) => "ask its owner for: handoff key show".to_owned(),
                KeyTextError::Kind { .. }
                | KeyTextError::NotPlain
                | KeyTextError::TrailingSpace
                | KeyTextError::Surplus
                | KeyTextError::Broken
                | KeyTextError::Several { .. }
                | KeyTextError::Halves { .. } => "name a file of one whole key".to_owned(),
            },
            KeyFileError::Given(_) => "ask its owner for: handoff key show".to_owned(),
            KeyFileError::InLedger { path } => format!("mv {} ELSEWHERE", path.display()),
            KeyFileError::NoKey { .. } => "handoff key list".to_owned(),
        }
    }
}

/// The file of the key with this label. A label with a `/` in it has no file of its own.
pub fn path_of(folder: &Path, label: &Name) -> Option<PathBuf> {
    let plain = !label.as_str().contains('/');
    plain.then(|| folder.join(format!("{label}.{EXTENSION}")))
}

/// The file of the key that is used if none is named.
pub fn default_path(folder: &Path) -> PathBuf {
    folder.join(format!("{DEFAULT_LABEL}.{EXTENSION}"))
}

/// The file that `--key` or `HANDOFF_KEY` means: the default key if nothing is given; a path if
/// there is a `/` in it; else the key with this label in the folder of keys, if there is one; else
/// the file of this name in the current folder.
///
/// # Errors
///
/// [`KeyFileError::NoKey`] when the last two are both absent.
pub fn resolve(given: Option<&OsStr>, folder: &Path) -> Result<PathBuf, KeyFileError> {
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        return Ok(default_path(folder));
    };
    let path = Path::new(given);
    if given.as_encoded_bytes().contains(&b'/') {
        return Ok(path.to_owned());
    }
    let label = given.to_str().and_then(|text| text.parse().ok());
    let labelled = label.and_then(|label| path_of(folder, &label));
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    labelled
        .into_iter()
        .chain([path.to_owned()])
        .find(exists)
        .ok_or_else(|| KeyFileError::NoKey {
            given: given.to_string_lossy().into_owned(),
            folder: folder.to_owned(),
        })
}

/// Writes the key of a seed to a new file, which only its owner can read, and whose folder is made
/// if need be. The file appears whole or not at all, and none is ever overwritten.
///
/// # Errors
///
/// A file there already; a place inside a ledger's folder; a refusal by the system.
pub fn create(path: &Path, seed: [u8; 32]) -> Result<SigningKey, KeyFileError> {
    keep_memory_private();
    let seed = Zeroizing::new(seed);
    let pem = key_text::to_pem(*seed).map_err(text_of(path))?;
    refuse_in_ledger(path)?;
    files::make_folder(files::folder_of(path))?;
    files::write(path, pem.as_bytes(), Present::Keep)?;
    Ok(SigningKey::from_seed(*seed))
}

/// Reads a secret key.
///
/// # Errors
///
/// A file that is a link or not regular, too large, inside a ledger's folder, or open to others;
/// anything but one whole, unencrypted Ed25519 key whose halves belong together.
pub fn read(path: &Path) -> Result<SigningKey, KeyFileError> {
    keep_memory_private();
    let file = files::read(path, KEY_FILE_BYTES_MAX, Links::Refuse)?;
    let bytes = Zeroizing::new(file.bytes);
    let mode = file.custody.mode;
    if mode & 0o077 != 0 {
        // A public key is no secret key, however few may read it.
        if key_text::public(&bytes).is_ok() {
            return key_text::secret(&bytes).map_err(text_of(path));
        }
        let path = path.to_owned();
        return Err(KeyFileError::Exposed { path, mode });
    }
    let folder = files::folder_of(path);
    let custody = Custody::of(folder)?;
    if custody.others_write {
        let (folder, mode) = (folder.to_owned(), custody.mode);
        return Err(KeyFileError::ExposedFolder { folder, mode });
    }
    refuse_in_ledger(path)?;
    key_text::secret(&bytes).map_err(text_of(path))
}

/// Keeps this process's memory, in which a secret key is or soon will be, out of core dumps, and on
/// Linux out of other processes' reach by way of ptrace(2). What it starts is not concerned there.
fn keep_memory_private() {
    // Where the system refuses, the key is as safe as it was: nothing better is left to be done.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    #[cfg(not(target_os = "linux"))]
    {
        let maximum = rustix::process::getrlimit(Resource::Core).maximum;
        let none = rustix::process::Rlimit {
            current: Some(0),
            maximum,
        };
        let _ = rustix::process::setrlimit(Resource::Core, none);
    }
}

/// A key's file in the folder of keys.
#[derive(Debug)]
pub struct Listed {
    /// Its label: the file's name without `.pem`.
    pub label: Name,
    /// The file.
    pub path: PathBuf,
    /// Its public half, or why it cannot be used.
    pub public: Result<PublicKey, KeyFileError>,
}

/// The keys in a folder, by label; a folder that is not there holds none. One that cannot be used
/// is listed with its reason. Files of other names are none of ours.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<Listed>, KeyFileError> {
    let failed = || FileError::io("list the folder", folder);
    let entries = match std::fs::read_dir(folder).map_err(failed()) {
        Ok(entries) => entries,
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut listed = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed())?.path();
        let stem = path.file_stem().and_then(OsStr::to_str);
        let label: Option<Name> = stem.and_then(|stem| stem.parse().ok());
        if let Some(label) = label.filter(|_| path.extension() == Some(OsStr::new(EXTENSION))) {
            let public = read(&path).map(|key| key.public());
            listed.push(Listed {
                label,
                path,
                public,
            });
        }
    }
    listed.sort_by(|a, b| a.label.cmp(&b.label));
    Ok(listed)
}

/// A public key from 64 hexadecimal digits, from one line of OpenSSH, or from a file with either,
/// or with a SubjectPublicKeyInfo in PEM. The key is found fit before it is returned.
///
/// # Errors
///
/// A file that cannot be read, or holds something else (a secret key, say); an unfit key.
pub fn read_public(text_or_path: &OsStr) -> Result<PublicKey, KeyFileError> {
    let text = text_or_path.to_str().unwrap_or_default();
    match KeyKind::of(text) {
        KeyKind::Hex | KeyKind::PublicSsh => {
            return key_text::public(text.as_bytes()).map_err(KeyFileError::Given);
        }
        KeyKind::Pkcs8
        | KeyKind::OpenSsh
        | KeyKind::Encrypted
        | KeyKind::OtherSecret
        | KeyKind::PublicPem
        | KeyKind::Unknown => {}
    }
    let path = Path::new(text_or_path);
    let file = files::read(path, KEY_FILE_BYTES_MAX, Links::Follow)?;
    let bytes = Zeroizing::new(file.bytes);
    key_text::public(&bytes).map_err(text_of(path))
}

/// Refuses a place in a `.handoff` folder, at any depth, or right beside a ledger's file.
fn refuse_in_ledger(path: &Path) -> Result<(), KeyFileError> {
    let given = files::folder_of(path);
    let folder = std::path::absolute(given).map_err(FileError::io("find", given))?;
    // Of a folder yet to be made, the nearest one above that exists says where it will be.
    let existing = folder.ancestors().find_map(|part| part.canonicalize().ok());
    let named = |part: &Path| part.file_name() == Some(OsStr::new(LEDGER_FOLDER));
    let within = |folder: &Path| folder.ancestors().any(named);
    if within(&folder)
        || existing.as_deref().is_some_and(within)
        || folder.join(LEDGER_FILE).exists()
    {
        let path = path.to_owned();
        return Err(KeyFileError::InLedger { path });
    }
    Ok(())
}

fn text_of(path: &Path) -> impl FnOnce(KeyTextError) -> KeyFileError {
    move |fault| KeyFileError::Text {
        path: path.to_owned(),
        fault,
    }
}
