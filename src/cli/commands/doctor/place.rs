//! Where the ledger lies: its folder, its names, what lies beside it, and the file system.

use super::{Check, Found, Name};
use crate::cli::report::{Exit, Failure};
use crate::home::surroundings::{Custody, FileSystem};
use std::path::{Path, PathBuf};

/// Below this, in bytes, there is soon no room for a transaction and its journal.
const FREE_BYTES_LOW: u64 = 64 << 20;
/// Below this there is none now.
const FREE_BYTES_NONE: u64 = 1 << 20;

pub(super) fn of_ledger(path: &Path) -> Vec<Check> {
    // The journal is found by the name that links lead to.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(&path);
    let mut checks = vec![custody(&path, folder), names(&path), side_files(&path)];
    checks.extend(of_folder(folder));
    checks
}

pub(super) fn of_folder(folder: &Path) -> Vec<Check> {
    match FileSystem::of(folder) {
        Ok(found) => vec![file_system(&found), free_space(&found)],
        Err(error) => {
            let failure = Failure::environment("io", error.to_string());
            vec![Check::failed(Name::FileSystem, failure)]
        }
    }
}

fn custody(path: &Path, folder: &Path) -> Check {
    for place in [path, folder] {
        let shown = place.display();
        match Custody::of(place) {
            Ok(found) if found.others_write => {
                let detail = format!(
                    "{shown} has mode {:04o}: others can cut it back or replace it, which this \
                     machine's view notices, and other machines do not",
                    found.mode
                );
                let next = format!("chmod go-w {shown}");
                return Check::warn(Name::Folder, detail, next);
            }
            Ok(found) if !found.is_own() => {
                let detail = format!(
                    "{shown} belongs to user {}: verify before each use",
                    found.owner
                );
                return Check::warn(Name::Folder, detail, "handoff verify");
            }
            Ok(_) => {}
            Err(error) => {
                let failure = Failure::environment("io", error.to_string());
                return Check::failed(Name::Folder, failure);
            }
        }
    }
    Check::ok(
        Name::Folder,
        format!("{}, its owner's to write", folder.display()),
    )
}

fn names(path: &Path) -> Check {
    match Custody::of(path).map(|found| found.names) {
        Ok(1) => Check::ok(Name::HardLinks, "the file has one name"),
        Ok(names) => {
            let message = format!(
                "the file has {names} names, each with a journal of its own: what one writer began \
                 another would not see"
            );
            let failure = Failure::environment("not_a_ledger", message);
            let next = format!("find / -xdev -samefile {}, and keep one", path.display());
            Check::failed(Name::HardLinks, failure.next(next))
        }
        Err(error) => {
            let failure = Failure::environment("io", error.to_string());
            Check::failed(Name::HardLinks, failure)
        }
    }
}

fn side_files(path: &Path) -> Check {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let path = PathBuf::from(name);
        path.symlink_metadata().is_ok().then_some(path)
    };
    if let Some(found) = beside("-wal").or_else(|| beside("-shm")) {
        let message = format!(
            "{} lies beside the ledger, which never has one: somebody put it there",
            found.display()
        );
        let failure = Failure::integrity("sidecar", message);
        let next = "move it away, and look at what it holds: handoff verify";
        return Check::failed(Name::SideFiles, failure.next(next));
    }
    match beside("-journal") {
        Some(journal) => Check::warn(
            Name::SideFiles,
            format!(
                "{}: a writer is at work, or was interrupted and is undone by the next",
                journal.display()
            ),
            "handoff head",
        ),
        None => Check::ok(Name::SideFiles, "nothing lies beside the file"),
    }
}

fn file_system(found: &FileSystem) -> Check {
    let name = Name::FileSystem;
    if found.read_only {
        let failure = Failure::environment("io", "it is mounted for reading alone");
        return Check::failed(
            name,
            failure.next("the same command with --ledger PATH, on another file system"),
        );
    }
    match found.network {
        Some(kind) => Check::warn(
            name,
            format!(
                "it is {kind}: its locks and syncs are another machine's word, and writers on two \
                 machines can destroy the file"
            ),
            "keep the ledger on a local disk, and hand it over by: handoff export -o FILE",
        ),
        None => Check::ok(name, "local, as far as the system says"),
    }
}

fn free_space(found: &FileSystem) -> Check {
    let told = format!("{} MiB free", found.free_bytes >> 20);
    if found.free_bytes < FREE_BYTES_NONE {
        let failed = Found::Failed(Exit::Environment);
        let check = Check::new(Name::FreeSpace, failed, told);
        return check.next("make room: nothing can be recorded");
    }
    match found.free_bytes < FREE_BYTES_LOW {
        true => Check::warn(Name::FreeSpace, told, "make room"),
        false => Check::ok(Name::FreeSpace, told),
    }
}
