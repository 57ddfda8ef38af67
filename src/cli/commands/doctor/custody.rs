//! This user's folders, the key that signs, and who else can use it.

use super::{Check, Found, Name};
use crate::cli::args::Common;
use crate::cli::context;
use crate::cli::report::Failure;
use crate::home::folders::Folders;
use crate::home::keys::{self, KeyFileError};
use crate::home::paths::{PathError, user};
use crate::home::surroundings::Custody;
use crate::types::{LedgerId, PublicKey};
use std::path::{Path, PathBuf};

/// The folders of keys, pins and views, as far as they are there.
pub(super) fn home(folders: &Folders) -> Check {
    let paths = || -> Result<[PathBuf; 3], PathError> {
        let (pins, view) = (folders.pins()?, folders.view(&LedgerId::ZERO)?);
        let parent = |path: PathBuf| path.parent().map(Path::to_owned).unwrap_or(path);
        Ok([folders.keys()?, parent(pins), parent(view)])
    };
    let paths = match paths() {
        Ok(paths) => paths,
        Err(error) => return Check::failed(Name::Home, error.into()),
    };
    for path in &paths {
        let custody = match Custody::of(path) {
            Ok(custody) => custody,
            // It is made when it is needed.
            Err(error) if error.is_absent() => continue,
            Err(error) => {
                let failure = Failure::environment("io", error.to_string());
                return Check::failed(
                    Name::Home,
                    failure.next("export XDG_DATA_HOME=/a/folder/of/yours"),
                );
            }
        };
        if custody.others_write || !custody.is_own() {
            let detail = format!(
                "{} belongs to user {}, mode {:04o}: others can replace what is in it",
                path.display(),
                custody.owner,
                custody.mode
            );
            let next = match custody.is_own() {
                true => format!("chmod 700 {}", path.display()),
                false => "folders of yours: XDG_DATA_HOME, XDG_CONFIG_HOME and XDG_STATE_HOME \
                          name others"
                    .to_owned(),
            };
            return Check::warn(Name::Home, detail, next);
        }
    }
    let [keys, pins, views] = paths.map(|path| path.display().to_string());
    Check::ok(
        Name::Home,
        format!("keys {keys}, pins {pins}, views {views}"),
    )
}

/// The key that signs, and what it means that it can be read from here.
pub(super) fn key(common: &Common, folders: &Folders) -> (Vec<Check>, Option<PublicKey>) {
    let path = match context::key_path(common, folders) {
        Ok(path) => path,
        Err(failure) => return (vec![Check::failed(Name::Key, failure)], None),
    };
    let shown = path.display();
    match keys::read(&path) {
        Ok(key) => {
            let public = key.public();
            let detail = format!("{public} at {shown}, whole, for its owner alone");
            let checks = vec![Check::ok(Name::Key, detail), shared(&path)];
            (checks, Some(public))
        }
        Err(KeyFileError::File(error)) if error.is_absent() && common.key.is_none() => {
            let detail =
                format!("there is no key at {shown}: this user can read, and sign nothing");
            let check = Check::skipped(Name::Key, detail).next("handoff key new");
            (vec![check], None)
        }
        Err(error) => (vec![Check::failed(Name::Key, error.into())], None),
    }
}

/// A key that this process can read, any process of this user can read: it is as good as theirs.
fn shared(path: &Path) -> Check {
    let detail = format!(
        "every process of user {}, an agent's included, can read {} and sign anything with it, true \
         or not",
        user(),
        path.display()
    );
    let next = "run agents as a user of their own, with a recorder key each; and init with \
                --four-eyes, so that no key promotes what it flagged";
    Check::new(Name::KeyCustody, Found::Warn, detail).next(next)
}

/// What the ledger lets the key do.
pub(super) fn authority(key: Option<&PublicKey>, state: &crate::state::State) -> Check {
    let name = Name::KeyAuthority;
    let Some(key) = key else {
        return Check::skipped(name, "there is no key");
    };
    match state.keys().get(key) {
        None => {
            let detail = format!(
                "the ledger does not know key {}: it may read alone",
                key.short()
            );
            let next = format!("let an admin type: handoff key authorize {key} --label NAME");
            Check::warn(name, detail, next)
        }
        Some(known) => match &known.revoked {
            Some(revoked) => {
                let message = format!(
                    "key {} ({}) was revoked at event {}",
                    key.short(),
                    known.label,
                    revoked.seq
                );
                let failure = Failure::no("key_revoked", message);
                Check::failed(name, failure.next("handoff key new --label NAME"))
            }
            None => {
                let roles: Vec<&str> = known.roles.iter().map(|role| role.as_str()).collect();
                let detail = format!("{}: {}", known.label, roles.join(", "));
                Check::ok(name, detail)
            }
        },
    }
}
