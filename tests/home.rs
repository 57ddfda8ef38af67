//! What lives outside the ledger: where it is, and that nobody else had a hand in it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

use handoff_ledger::home::folders::make_folder;
use handoff_ledger::home::paths::{
    FoundBy, PathError, find_ledger, place_for_ledger, root_of_session, user,
};
use handoff_ledger::home::pins::{self, Added, Pin, PinError, PinnedLedger, Pins};
use handoff_ledger::key::SigningKey;
use handoff_ledger::types::{LedgerId, PublicKey};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn ledger_in(folder: &Path) -> PathBuf {
    let path = folder.join(".handoff/ledger.db");
    put(&path, "");
    path
}

fn search(cwd: &Path) -> Result<PathBuf, PathError> {
    find_ledger(None, cwd, user()).map(|found| found.path)
}

/// Lays out what `git worktree add` leaves: a main worktree and a linked one elsewhere.
fn git_worktrees(main: &Path, linked: &Path) {
    put(&main.join(".git/HEAD"), "ref: refs/heads/main\n");
    put(&main.join(".git/worktrees/wt/commondir"), "../..\n");
    put(&main.join(".git/worktrees/wt/HEAD"), "ref: refs/heads/wt\n");
    let git_folder = main.join(".git/worktrees/wt");
    put(
        &linked.join(".git"),
        &format!("gitdir: {}\n", git_folder.display()),
    );
}

#[test]
fn a_name_comes_before_the_search() {
    let (_guard, top) = scratch();
    let here = ledger_in(&top);
    let find = |name| find_ledger(name, &top, user()).unwrap();
    let named = find(Some(OsStr::new("a.db")));
    assert_eq!((named.path, named.by), (top.join("a.db"), FoundBy::Name));
    let searched = find(None);
    assert_eq!((searched.path, searched.by), (here, FoundBy::Search));
    let empty = find_ledger(Some(OsStr::new("")), &top, user());
    assert!(matches!(empty, Err(PathError::Empty)));
}

#[test]
fn a_named_path_is_a_path_whatever_it_looks_like() {
    let (_guard, top) = scratch();
    for odd in [
        ":memory:",
        "file:x.db?mode=memory",
        "-x.db",
        "a\nb",
        "a%00#?",
    ] {
        let found = find_ledger(Some(OsStr::new(odd)), &top, user()).unwrap();
        assert_eq!(found.path, top.join(odd));
        assert!(found.path.is_absolute());
    }
}

#[test]
fn the_nearest_ledger_above_is_found() {
    let (_guard, top) = scratch();
    let outer = ledger_in(&top);
    let deep = top.join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(search(&deep).unwrap(), outer);
    // A `.handoff` without a ledger, or that is no folder, stops nothing.
    fs::create_dir(top.join("a/b/c/.handoff")).unwrap();
    put(&top.join("a/b/.handoff"), "a file");
    let inner = ledger_in(&top.join("a"));
    assert_eq!(search(&deep).unwrap(), inner);
}

#[test]
fn no_ledger_is_an_error_that_says_what_to_type() {
    let (_guard, top) = scratch();
    let refused = search(&top).unwrap_err();
    assert!(matches!(refused, PathError::NoLedger { .. }), "{refused}");
    assert_eq!(refused.next(), "handoff init");
    assert!(matches!(
        search(&top.join("absent")),
        Err(PathError::File(_))
    ));
}

#[test]
fn a_ledger_of_someone_else_is_not_used_silently() {
    let (_guard, top) = scratch();
    let ledger = ledger_in(&top);
    let stranger = user() + 1;
    let refused = find_ledger(None, &top, stranger).unwrap_err();
    let PathError::NotYours {
        path,
        expected,
        found,
        ..
    } = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!(path, &top.join(".handoff"));
    assert_eq!((*expected, *found), (stranger, user()));
    assert_eq!(
        refused.next(),
        format!("the same command with --ledger {}", ledger.display())
    );
    let named = find_ledger(Some(ledger.as_os_str()), &top, stranger).unwrap();
    assert_eq!(named.path, ledger);
}

#[test]
fn worktrees_share_the_ledger_of_the_main_one() {
    let (_guard, top) = scratch();
    let (main, linked) = (top.join("main"), top.join("elsewhere/linked"));
    git_worktrees(&main, &linked);
    let shared = ledger_in(&main);
    let above = ledger_in(&top.join("elsewhere"));
    let deep = linked.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(search(&deep).unwrap(), shared.clone());
    assert_eq!(place_for_ledger(&linked).unwrap(), shared);
    assert_eq!(
        place_for_ledger(&deep).unwrap(),
        deep.join(".handoff/ledger.db")
    );
    // The worktree's own comes first; without either, the search goes on upward.
    let own = ledger_in(&linked);
    assert_eq!(search(&deep).unwrap(), own.clone());
    fs::remove_file(own).unwrap();
    fs::remove_file(shared).unwrap();
    assert_eq!(search(&deep).unwrap(), above);
}

#[test]
fn a_git_file_that_is_no_worktrees_changes_nothing() {
    let (_guard, top) = scratch();
    let ledger = ledger_in(&top.join("main"));
    let cwd = top.join("cwd");
    fs::create_dir(&cwd).unwrap();
    // A submodule's has no `commondir`; a bare repository has no main worktree.
    put(&top.join("main/.git/modules/sub/HEAD"), "");
    put(&top.join("bare.git/worktrees/wt/commondir"), "../..");
    for text in [
        "gitdir: ../main/.git/modules/sub\n",
        "gitdir: ../bare.git/worktrees/wt\n",
        "gitdir: /absent\n",
        "gitdir:",
        "",
        "\u{0}",
        &"x".repeat(1 << 20),
    ] {
        put(&cwd.join(".git"), text);
        assert!(matches!(search(&cwd), Err(PathError::NoLedger { .. })));
    }
    assert!(ledger.exists());
}

#[test]
fn the_root_of_a_session_is_its_worktree_else_the_ledgers_folder_else_here() {
    let (_guard, top) = scratch();
    let (main, linked) = (top.join("main"), top.join("linked"));
    git_worktrees(&main, &linked);
    let ledger = ledger_in(&main);
    for (cwd, root) in [
        (main.join("src"), &main),
        (linked.join("src"), &linked),
        (linked.clone(), &linked),
    ] {
        fs::create_dir_all(&cwd).unwrap();
        assert_eq!(&root_of_session(&cwd, &ledger).unwrap(), root);
    }
    let plain = top.join("plain");
    let ledger = ledger_in(&plain);
    fs::create_dir_all(plain.join("a/b")).unwrap();
    assert_eq!(root_of_session(&plain.join("a/b"), &ledger).unwrap(), plain);
    let outside = top.join("outside");
    fs::create_dir(&outside).unwrap();
    assert_eq!(root_of_session(&outside, &ledger).unwrap(), outside);
    // A ledger that was named, in a folder of another name, says nothing of a root.
    let elsewhere = top.join("l.db");
    put(&elsewhere, "");
    assert_eq!(root_of_session(&outside, &elsewhere).unwrap(), outside);
    symlink(plain.join("a"), outside.join("link")).unwrap();
    let through_link = root_of_session(&outside.join("link"), &ledger).unwrap();
    assert_eq!(through_link, plain);
}

#[test]
fn folders_are_made_for_their_owner_alone() {
    let (_guard, top) = scratch();
    make_folder(&top.join("a/b")).unwrap();
    make_folder(&top.join("a/b")).unwrap();
    assert_eq!(
        (mode(&top.join("a")), mode(&top.join("a/b"))),
        (0o700, 0o700)
    );
    put(&top.join("file"), "");
    let refused = make_folder(&top.join("file/b")).unwrap_err();
    assert!(refused.to_string().contains("file/b"), "{refused}");
    assert!(refused.next().contains("XDG_STATE_HOME"));
}

fn key(byte: u8) -> PublicKey {
    SigningKey::from_seed([byte; 32]).public()
}

fn pin(ledger: u8, root: u8) -> Pin {
    Pin {
        ledger: PinnedLedger::One(LedgerId([ledger; 32])),
        root: key(root),
        comment: format!("ledger {ledger}"),
    }
}

#[test]
fn a_root_is_trusted_only_where_it_is_pinned() {
    let (_guard, top) = scratch();
    let file = top.join("config/handoff/trust");
    assert_eq!(Pins::read(&file).unwrap(), Pins::default());
    assert_eq!(pins::add(&file, pin(1, 1)).unwrap(), Added::New);
    assert_eq!(pins::add(&file, pin(1, 1)).unwrap(), Added::Present);
    let any = Pin {
        ledger: PinnedLedger::Any,
        root: key(2),
        comment: String::new(),
    };
    assert_eq!(pins::add(&file, any.clone()).unwrap(), Added::New);
    let known = Pins::read(&file).unwrap();
    let trusts = |ledger, root| known.trusts(&LedgerId([ledger; 32]), &key(root));
    assert!(trusts(1, 1) && trusts(9, 2));
    assert!(!trusts(2, 1) && !trusts(1, 3));
    assert_eq!(known.list().cloned().collect::<Vec<_>>(), [pin(1, 1), any]);
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let removed = pins::remove(&file, |pin| pin.root == key(1)).unwrap();
    assert_eq!(removed, [pin(1, 1)]);
    assert_eq!(pins::remove(&file, |pin| pin.root == key(1)).unwrap(), []);
    assert_eq!(Pins::read(&file).unwrap().list().count(), 1);
}

#[test]
fn one_ledger_has_one_root() {
    let (_guard, top) = scratch();
    let file = top.join("trust");
    pins::add(&file, pin(1, 1)).unwrap();
    let refused = pins::add(&file, pin(1, 2)).unwrap_err();
    assert!(matches!(refused, PinError::OtherRoot { .. }), "{refused}");
    assert_eq!(refused.next(), format!("handoff trust remove {}", key(1)));
}

#[test]
fn a_pin_that_would_not_read_back_is_not_added() {
    let (_guard, top) = scratch();
    let file = top.join("trust");
    for comment in [" x", "x ", "a\nb", "a\u{7}", &"x".repeat(257)] {
        let mut bad = pin(1, 1);
        bad.comment = comment.to_owned();
        assert!(pins::add(&file, bad).is_err(), "{comment:?}");
    }
    let mut weak = pin(1, 1);
    weak.root = PublicKey([0; 32]);
    assert!(matches!(pins::add(&file, weak), Err(PinError::Unfit(_))));
    assert!(!file.exists());
}

#[test]
fn a_malformed_line_is_named_and_nothing_is_believed() {
    let (_guard, top) = scratch();
    let file = top.join("trust");
    let text = format!("# mine\n\n{}\n{} x\n", pin(1, 1), key(2));
    put(&file, &text);
    for refused in [
        Pins::read(&file).map(drop).unwrap_err(),
        pins::add(&file, pin(3, 3)).map(drop).unwrap_err(),
        pins::remove(&file, |_| true).map(drop).unwrap_err(),
    ] {
        assert!(
            matches!(refused, PinError::Line { line: 4, .. }),
            "{refused}"
        );
        assert!(refused.next().contains("line 4"));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    fs::write(&file, b"\xff\n").unwrap();
    assert!(matches!(Pins::read(&file), Err(PinError::NotText { .. })));
    fs::write(&file, "\r\n").unwrap();
    assert!(matches!(
        Pins::read(&file),
        Err(PinError::Line { line: 1, .. })
    ));
}

#[test]
fn what_a_person_wrote_between_the_pins_stays() {
    let (_guard, top) = scratch();
    let file = top.join("trust");
    put(&file, &format!("# first\n\n{}\n# last", pin(1, 1)));
    pins::add(&file, pin(2, 2)).unwrap();
    pins::remove(&file, |known| *known == pin(1, 1)).unwrap();
    let expected = format!("# first\n\n# last\n{}\n", pin(2, 2));
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
}

#[test]
fn pins_that_others_could_write_are_not_believed() {
    let (_guard, top) = scratch();
    let file = top.join("trust");
    pins::add(&file, pin(1, 1)).unwrap();
    for (bits, fit) in [(0o620, false), (0o602, false), (0o644, true), (0o400, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
        let read = Pins::read(&file);
        assert_eq!(read.is_ok(), fit, "{bits:o} {read:?}");
    }
}

#[test]
fn a_linked_pins_file_stays_linked() {
    let (_guard, top) = scratch();
    let (real, link) = (top.join("dotfiles/trust"), top.join("trust"));
    pins::add(&real, pin(1, 1)).unwrap();
    symlink(&real, &link).unwrap();
    pins::add(&link, pin(2, 2)).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(Pins::read(&real).unwrap().list().count(), 2);
}

#[test]
fn pins_added_at_once_are_all_there() {
    let (_guard, top) = scratch();
    let file = top.join("new/trust");
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let file = &file;
            scope.spawn(move || {
                for number in 0..4 {
                    pins::add(file, pin(writer * 4 + number, writer)).unwrap();
                }
            });
        }
    });
    assert_eq!(Pins::read(&file).unwrap().list().count(), 32);
    let left: Vec<_> = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
