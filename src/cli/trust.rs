//! Who vouches for a ledger's root: the keys given for one command, and this user's pins.

use super::args::{Common, KeySource};
use super::quote::quoted_within;
use super::report::{Exit, Failure};
use crate::home::folders::Folders;
use crate::home::keys;
use crate::home::pins::Pins;
use crate::key;
use crate::state::State;
use crate::types::{LedgerId, Name, PublicKey};
use crate::verify::Basis;
use std::path::Path;

/// Longest part of a given text shown in an error, in characters.
const GIVEN_CHARACTERS_MAX: usize = 80;

/// What is trusted, read before the ledger is.
pub struct Trust {
    given: Vec<PublicKey>,
    pins: Result<Pins, Failure>,
}

impl Trust {
    /// The keys given and the pins; pins that cannot be read are told when one is asked for.
    ///
    /// # Errors
    /// As [`given_keys`].
    pub fn of(common: &Common, folders: &Folders) -> Result<Trust, Failure> {
        let pins = folders.pins().map_err(Failure::from);
        Ok(Trust {
            given: given_keys(common)?,
            pins: pins.and_then(|path| Ok(Pins::read(&path)?)),
        })
    }

    /// Where trust in a root comes from.
    ///
    /// # Errors
    /// If the root was not given, and the pins cannot be read.
    pub fn basis(&self, ledger: &LedgerId, root: &PublicKey) -> Result<Basis, Failure> {
        if self.given.contains(root) {
            return Ok(Basis::Given);
        }
        let pins = self.pins.as_ref().map_err(Failure::clone)?;
        Ok(match pins.trusts(ledger, root) {
            true => Basis::Pinned,
            false => Basis::Unpinned,
        })
    }
}

/// The keys to trust for one command, typed or named by the environment.
///
/// # Errors
/// Exit 2 if one is no key to trust, or is not there to be read.
pub fn given_keys(common: &Common) -> Result<Vec<PublicKey>, Failure> {
    let all = common.trust.iter().chain(&common.trust_of_environment);
    all.map(given).collect()
}

/// As [`given_keys`], of those that were typed with the command: of a ledger that cannot be seen,
/// what holds for every command says nothing.
///
/// # Errors
/// As [`given_keys`].
pub fn typed_keys(common: &Common) -> Result<Vec<PublicKey>, Failure> {
    common.trust.iter().map(given).collect()
}

fn given(source: &KeySource) -> Result<PublicKey, Failure> {
    let next = "the same command with --trust KEY, as its owner gave it (or HANDOFF_TRUST)";
    public_key(source).map_err(|failure| Failure {
        exit: Exit::Usage,
        next: Some(next.to_owned()),
        ..failure
    })
}

/// The public key that an argument gives.
///
/// # Errors
/// If it is none, or none that may be trusted.
pub fn public_key(source: &KeySource) -> Result<PublicKey, Failure> {
    let public = match source {
        KeySource::Key(key) => *key,
        KeySource::File(path) if path.symlink_metadata().is_err() => return Err(no_key(path)),
        KeySource::File(path) => keys::read_public(path.as_os_str()).map_err(|error| Failure {
            exit: Exit::Usage,
            ..Failure::from(error)
        })?,
    };
    match key::check(&public) {
        Ok(_) => Ok(public),
        Err(fault) => Err(Failure::no(
            fault.code(),
            format!("{public} is no key to trust: {fault}"),
        )
        .next("the same command with the key as `handoff key show` prints it")),
    }
}

/// Exit 2: what was given is neither a key nor a file.
fn no_key(path: &Path) -> Failure {
    let given = path.to_string_lossy();
    let digits = given.bytes().all(|byte| byte.is_ascii_hexdigit());
    let what = match digits {
        true => format!("{} of them", given.len()),
        false => "no such file".to_owned(),
    };
    let message = format!(
        "expected a key of 64 lower-case hexadecimal digits, or a file that holds one, found {} \
         ({what})",
        quoted_within(&given, GIVEN_CHARACTERS_MAX)
    );
    Failure::usage(message).next("let its owner type: handoff key show, which prints it whole")
}

/// A key that the ledger knows: by its label there, or as [`public_key`].
///
/// # Errors
/// As [`public_key`].
pub fn known_key(state: &State, source: &KeySource) -> Result<PublicKey, Failure> {
    let label = plain_name(source);
    let labelled = |name: &Name| state.keys().iter().find(|(_, key)| key.label == *name);
    match label.as_ref().and_then(labelled) {
        Some((key, _)) => Ok(*key),
        None => public_key(source),
    }
}

/// A key that is to come: that of a label in this user's folder of keys, or as [`public_key`].
///
/// # Errors
/// As [`public_key`], or if the key of that label cannot be read.
pub fn new_key(folders: &Folders, source: &KeySource) -> Result<PublicKey, Failure> {
    let path = match plain_name(source) {
        Some(name) => keys::path_of(&folders.keys()?, &name),
        None => None,
    };
    match path.filter(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Ok(keys::read(&path)?.public()),
        None => public_key(source),
    }
}

/// The label that a source may mean: a name with no folder before it.
fn plain_name(source: &KeySource) -> Option<Name> {
    match source {
        KeySource::Key(_) => None,
        KeySource::File(path) => path.to_str().filter(|it| !it.contains('/'))?.parse().ok(),
    }
}

/// Exit 3: nobody vouches for the root.
pub fn unpinned(root: &PublicKey, ledger: &LedgerId) -> Failure {
    let message = format!(
        "the root key {root} of ledger {} is not pinned on this machine: take it from the ledger's \
         owner, not from the file",
        ledger.short()
    );
    Failure::cannot_judge("unpinned_root", message).next("handoff trust add KEY")
}

/// Exit 3: as [`unpinned`], also of a ledger whose first event is refused.
pub fn untrusted(root: Option<PublicKey>, ledger: &LedgerId) -> Failure {
    match root {
        Some(root) => unpinned(&root, ledger),
        None => {
            let ledger = ledger.short();
            let message =
                format!("the first event of ledger {ledger} is refused: it has no root key");
            Failure::cannot_judge("unpinned_root", message).next("handoff verify")
        }
    }
}
