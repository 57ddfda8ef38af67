//! A disk that is full: a small tmpfs is filled up to so many bytes, an append fails cleanly, and
//! with space again the same append is recorded once.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;

use machine::{Machine, Person};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Size of the file system, in KiB: a ledger and a few times its journal.
const SIZE_KIB: u64 = 512;
/// Size of a block of a tmpfs, in bytes.
const BLOCK: usize = 4096;
/// How many blocks are left free, one more each time: from none to more than an append takes.
const FREE_MAX: usize = 14;

/// A tmpfs over a folder, as long as this lives.
struct Mounted(PathBuf);

impl Mounted {
    fn over(folder: &Path) -> Option<Mounted> {
        std::fs::create_dir_all(folder).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={SIZE_KIB}k"))
            .arg("tmpfs")
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        let mounted = mounted.is_ok_and(|status| status.success());
        mounted.then(|| Mounted(folder.to_owned()))
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Fills it, and then frees so many blocks.
    fn fill(&self, free: usize) {
        let mut filler = std::fs::File::create(self.filler()).unwrap();
        let mut written = 0;
        while filler.write_all(&[b'x'; BLOCK]).is_ok() {
            written += BLOCK;
        }
        let left = written.saturating_sub(free * BLOCK);
        filler.set_len(u64::try_from(left).unwrap()).unwrap();
    }

    fn empty(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[derive(Default)]
struct Tally {
    recorded: usize,
    refused: usize,
    open: usize,
}

/// Appends with each amount of space left, and again with space.
fn walk(machine: &Machine, root: &Person, session: &str, disk: &Mounted) -> Tally {
    let mut tally = Tally::default();
    for free in 0..FREE_MAX {
        let before = machine.walk();
        let reason = format!("load=with {free} blocks free.");
        let write = ["--session", session, "ambient", "--allow", &reason];
        disk.fill(free);
        let answer = root.run(&write);
        disk.empty();
        match answer.exit {
            Some(0) => tally.recorded += 1,
            Some(5) => {
                assert!(answer.json["error"]["next"].is_string(), "{answer:?}");
                let again = root.run(&write);
                assert_eq!(again.exit, Some(0), "{answer:?}, then {again:?}");
                tally.refused += 1;
            }
            Some(6) => {
                if machine.walk().len() == before.len() {
                    root.does(&write);
                }
                tally.open += 1;
            }
            other => panic!("exit {other:?}: {answer:?}"),
        }
        let after = machine.walk();
        assert!(after.starts_with(&before));
        assert_eq!(after.len(), before.len() + 1, "{answer:?}");
    }
    tally
}

fn with_full(what: &str, folder: impl FnOnce(&Machine, &Person) -> PathBuf) {
    let machine = Machine::new();
    let root = machine.person("root");
    let Some(disk) = Mounted::over(&folder(&machine, &root)) else {
        eprintln!("SKIPPED disk full: a tmpfs cannot be mounted here");
        return;
    };
    root.does(&["init"]);
    let session = root.opens("agent");
    let tally = walk(&machine, &root, &session, &disk);
    let Tally {
        recorded,
        refused,
        open,
    } = tally;
    eprintln!(
        "disk of the {what} full, 0 to {} blocks free: {recorded} recorded, {refused} refused, \
         {open} left open; each recorded once when there was space again",
        FREE_MAX - 1
    );
    assert!(refused > 0, "the disk was never full");
    assert!(recorded > 0, "the disk was always full");
}

#[test]
fn on_a_full_disk_an_append_fails_cleanly_and_works_when_there_is_space() {
    with_full("ledger", |machine, _| {
        machine.file().parent().unwrap().to_owned()
    });
}

#[test]
fn with_no_space_for_the_view_an_append_fails_cleanly_and_works_when_there_is() {
    with_full("view", |_, root| root.folders().view_folder());
}

trait ViewFolder {
    fn view_folder(&self) -> PathBuf;
}

impl ViewFolder for handoff_ledger::home::folders::Folders {
    fn view_folder(&self) -> PathBuf {
        let id = handoff_ledger::types::LedgerId([0; 32]);
        self.view(&id).unwrap().parent().unwrap().to_owned()
    }
}

#[test]
fn an_answer_that_finds_no_space_after_it_was_recorded_is_left_open_and_says_where_to_look() {
    let (machine, root) = Machine::with_ledger();
    let session = root.opens("agent");
    let full = || std::fs::File::create("/dev/full").unwrap();
    let write = ["--session", &session, "ambient", "--none"];
    let answer = root.command(&write).stdout(full()).output().unwrap();
    assert_eq!(answer.status.code(), Some(6), "{answer:?}");
    let leaves = machine.walk();
    let (last, leaf) = (leaves.len() - 1, leaves.last().unwrap());
    let told = String::from_utf8(answer.stderr).unwrap();
    assert!(
        told.contains(&format!("event {last}, leaf {leaf}")),
        "{told}"
    );
    // What only reads has nothing to look for, and a failure keeps its exit.
    let state = root.command(&["state"]).stdout(full()).output().unwrap();
    assert_eq!(state.status.code(), Some(5));
    let usage = root.command(&["nonsense"]).stdout(full()).output().unwrap();
    assert_eq!(usage.status.code(), Some(2));
}
