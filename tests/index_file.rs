//! The index file: advanced in order, by one process at a time, and rebuilt whenever in doubt.

#![allow(clippy::unwrap_used, clippy::as_conversions, clippy::panic)]

use handoff_ledger::hash;
use handoff_ledger::store::StoreError;
use handoff_ledger::store::index::IndexFile;
use handoff_ledger::store::positions::{IndexRow, Positions as _};
use handoff_ledger::types::{Leaf, Seq};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn leaf(seq: u64) -> Leaf {
    hash::leaf(&seq.to_be_bytes())
}

fn row(seq: u64, add: &[&str]) -> IndexRow {
    IndexRow {
        seq: Seq(seq),
        leaf: leaf(seq),
        refused: None,
        add: add
            .iter()
            .map(|text| (hash::subject(text), Seq(seq)))
            .collect(),
        remove: Vec::new(),
    }
}

fn at(seq: u64) -> Option<(Seq, Leaf)> {
    Some((Seq(seq), leaf(seq)))
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("view.db")
}

/// An index of events 0 to 4; `even` concerns 0, 2 and 4.
fn index_in(folder: &Path) -> IndexFile {
    let mut index = IndexFile::open(&path_in(folder)).unwrap();
    let rows: Vec<IndexRow> = (0..5)
        .map(|seq| {
            row(
                seq,
                if seq % 2 == 0 {
                    &["even", "all"]
                } else {
                    &["all"]
                },
            )
        })
        .collect();
    assert_eq!(index.advance(None, &rows), Ok(true));
    index
}

#[test]
fn a_new_index_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let index = IndexFile::open(&path_in(folder.path())).unwrap();
    assert_eq!(index.head(), Ok(None));
    assert_eq!(index.event(Seq::ZERO), Ok(None));
    assert_eq!(index.all(&hash::subject("even")), Ok(vec![]));
    assert_eq!(index.first(&hash::subject("even")), Ok(None));
    assert_eq!(index.last(&hash::subject("even"), Seq(9)), Ok(None));
}

#[test]
fn a_subject_is_found_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    drop(index_in(folder.path()));
    let index = IndexFile::open(&path_in(folder.path())).unwrap();
    let even = hash::subject("even");
    assert_eq!(index.head(), Ok(at(4)));
    assert_eq!(index.event(Seq(3)), Ok(Some((leaf(3), None))));
    assert_eq!(index.all(&even), Ok(vec![Seq(0), Seq(2), Seq(4)]));
    assert_eq!(index.first(&even), Ok(Some(Seq(0))));
    for (at_most, wanted) in [(9, 4), (4, 4), (3, 2), (1, 0), (0, 0)] {
        assert_eq!(index.last(&even, Seq(at_most)), Ok(Some(Seq(wanted))));
    }
}

#[test]
fn a_refused_event_keeps_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = index_in(folder.path());
    let refused = IndexRow {
        refused: Some("rule 6".to_owned()),
        ..row(5, &[])
    };
    assert_eq!(index.advance(at(4), &[refused]), Ok(true));
    assert_eq!(
        index.event(Seq(5)),
        Ok(Some((leaf(5), Some("rule 6".to_owned()))))
    );
}

#[test]
fn a_row_removes_the_entries_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = index_in(folder.path());
    let even = hash::subject("even");
    let removing = IndexRow {
        remove: vec![(even, Seq(0)), (even, Seq(4)), (even, Seq(3))],
        ..row(5, &["even"])
    };
    assert_eq!(index.advance(at(4), &[removing]), Ok(true));
    assert_eq!(index.all(&even), Ok(vec![Seq(2), Seq(5)]));
    assert_eq!(index.all(&hash::subject("all")).unwrap().len(), 5);
}

#[test]
fn only_who_saw_the_head_advances_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = index_in(folder.path());
    let mut other = IndexFile::open(&path_in(folder.path())).unwrap();
    assert_eq!(other.advance(at(4), &[row(5, &["even"])]), Ok(true));
    assert_eq!(index.advance(at(4), &[row(5, &[]), row(6, &[])]), Ok(false));
    assert_eq!(index.advance(None, &[row(0, &[])]), Ok(false));
    let forked = Some((Seq(5), leaf(99)));
    assert_eq!(index.advance(forked, &[row(6, &[])]), Ok(false));
    assert_eq!(index.head(), Ok(at(5)));
    assert_eq!(index.last(&hash::subject("even"), Seq(9)), Ok(Some(Seq(5))));
    assert_eq!(index.advance(at(5), &[row(6, &[])]), Ok(true));
    assert_eq!(index.advance(at(6), &[]), Ok(true));
}

#[test]
fn rows_follow_the_head_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = index_in(folder.path());
    let not_next = |expected, found| {
        Err(StoreError::NotNext {
            expected: Seq(expected),
            found: Seq(found),
        })
    };
    assert_eq!(index.advance(at(4), &[row(6, &[])]), not_next(5, 6));
    assert_eq!(index.advance(at(4), &[row(4, &[])]), not_next(5, 4));
    let gap = [row(5, &[]), row(7, &[])];
    assert_eq!(index.advance(at(4), &gap), not_next(6, 7));
    assert_eq!(index.advance(None, &[row(1, &[])]), not_next(0, 1));
    assert_eq!(index.head(), Ok(at(4)));
}

#[test]
fn a_snapshot_stays_while_another_process_would_advance() {
    let folder = tempfile::tempdir().unwrap();
    let index = index_in(folder.path());
    let seen: Result<_, StoreError> = index.snapshot(|index| {
        let before = index.head()?;
        Ok((before, index.all(&hash::subject("even"))?.len()))
    });
    assert_eq!(seen, Ok((at(4), 3)));
    let mut other = IndexFile::open(&path_in(folder.path())).unwrap();
    assert_eq!(other.advance(at(4), &[row(5, &[])]), Ok(true));
    assert_eq!(index.head(), Ok(at(5)));
}

#[test]
fn an_index_of_another_format_is_emptied() {
    let folder = tempfile::tempdir().unwrap();
    drop(index_in(folder.path()));
    let path = path_in(folder.path());
    let older = "PRAGMA user_version = 77; DROP TABLE subject; CREATE TABLE \"odd\"\"name\" (x)";
    Connection::open(&path)
        .unwrap()
        .execute_batch(older)
        .unwrap();
    let mut index = IndexFile::open(&path).unwrap();
    assert_eq!(index.head(), Ok(None));
    assert_eq!(index.advance(None, &[row(0, &["all"])]), Ok(true));
    drop(index);
    assert_eq!(IndexFile::open(&path).unwrap().head(), Ok(at(0)));
}

#[test]
fn a_file_that_is_no_index_is_unusable_until_it_is_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path());
    let unusable = |path: &Path| {
        let error = IndexFile::open(path).unwrap_err();
        assert!(
            matches!(error, StoreError::IndexUnusable { .. }),
            "{error:?}"
        );
    };
    std::fs::write(&path, [b'x'; 8192]).unwrap();
    unusable(&path);
    IndexFile::discard(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    unusable(&path);
    IndexFile::discard(&path).unwrap();
    IndexFile::discard(&path).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(index_in(folder.path()).head(), Ok(at(4)));
}

#[test]
fn damage_is_told_as_unusable() {
    let folder = tempfile::tempdir().unwrap();
    drop(index_in(folder.path()));
    let path = path_in(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let read = IndexFile::open(&path).and_then(|index| index.head());
    assert!(
        matches!(read, Err(StoreError::IndexUnusable { .. })),
        "{read:?}"
    );
}

#[test]
fn of_eight_that_build_one_index_one_advances_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path());
    let build = || {
        let mut index = IndexFile::open(&path).unwrap();
        index
            .advance(None, &[row(0, &["all"]), row(1, &["all"])])
            .unwrap()
    };
    let advanced: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(build)).collect();
        threads
            .into_iter()
            .map(|it| usize::from(it.join().unwrap()))
            .sum()
    });
    assert_eq!(advanced, 1);
    assert_eq!(IndexFile::open(&path).unwrap().head(), Ok(at(1)));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once_and_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path());
    for ending in ["", "-journal", "-wal", "-shm"] {
        drop(index_in(folder.path()));
        let file = PathBuf::from(format!("{}{ending}", path.display()));
        let _ = std::fs::remove_file(&file);
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        for refused in [
            IndexFile::open(&path).map(drop),
            IndexFile::peek(&path).map(drop),
        ] {
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, StoreError::IndexUnusable { .. }),
                "{ending}: {refused}"
            );
        }
        IndexFile::discard(&path).unwrap();
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "{ending}"
        );
    }
}

#[test]
fn an_index_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    drop(index_in(folder.path()));
    let mode = path_in(folder.path())
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
