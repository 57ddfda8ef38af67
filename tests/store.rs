//! One conformance suite over every store.

#![allow(clippy::unwrap_used, clippy::as_conversions, clippy::panic)]

use handoff_ledger::hash;
use handoff_ledger::store::memory::MemoryLedger;
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Capture, Oversized, Read, Record, Store, StoreError, Transaction};
use handoff_ledger::types::{CAPTURE_BYTES_MAX, Digest, INTEGER_MAX, RECORD_BYTES_MAX, Seq};

fn record(text: &str) -> Record {
    Record(text.as_bytes().to_vec())
}

fn records(texts: &[&str]) -> Vec<Record> {
    texts.iter().copied().map(record).collect()
}

fn capture(salt: u8, bytes: Option<&[u8]>) -> Capture {
    Capture {
        commitment: hash::commitment(&[salt; 16], bytes.unwrap_or_default()),
        salt: [salt; 16],
        bytes: bytes.map(<[u8]>::to_vec),
    }
}

fn append<S: Store>(store: &mut S, texts: &[&str]) -> Result<(), StoreError> {
    store.transact(|transaction| transaction.append(&records(texts), &[]))
}

fn texts<R: Read + ?Sized>(store: &R) -> Vec<(u64, String)> {
    let rows = store.scan(Seq::ZERO, 1_000).unwrap();
    rows.into_iter()
        .map(|(seq, record)| (seq.0, String::from_utf8(record.0).unwrap()))
        .collect()
}

/// Why a piece of work was given up, as a caller of `transact` has it.
#[derive(Debug, PartialEq)]
enum GivenUp {
    ByRule,
    ByStore(StoreError),
}

impl From<StoreError> for GivenUp {
    fn from(error: StoreError) -> Self {
        GivenUp::ByStore(error)
    }
}

/// Runs a test over every store, made with one record, `genesis`.
macro_rules! over_every_store {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[test]
            fn $name() {
                let mut store = super::MemoryLedger::new();
                super::append(&mut store, &["genesis"]).unwrap();
                super::$name(store);
            })*
        }

        mod sqlite {
            $(#[test]
            fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let (store, ()) = super::SqliteLedger::create(
                    &folder.path().join("ledger.db"),
                    super::WAIT,
                    |ledger| super::append(ledger, &["genesis"]),
                )
                .unwrap();
                super::$name(store);
            })*
        }
    };
}

over_every_store![
    records_are_appended_after_the_head_in_order,
    a_scan_starts_where_it_is_told_and_stops_at_its_limit,
    what_is_not_there_is_none,
    work_that_fails_leaves_nothing_behind,
    work_sees_what_it_appended,
    several_appends_of_one_transaction_follow_each_other,
    work_that_appends_nothing_changes_nothing,
    a_record_is_1_to_65535_bytes_of_anything,
    a_capture_is_kept_under_its_commitment,
    a_capture_is_written_once,
    a_capture_holds_at_most_64_kib,
    an_erased_capture_is_gone_and_the_records_stay,
    an_erasure_is_undone_with_its_transaction,
];

fn records_are_appended_after_the_head_in_order<S: Store>(mut store: S) {
    assert_eq!(store.head(), Ok(Some((Seq::ZERO, record("genesis")))));
    append(&mut store, &["a", "b"]).unwrap();
    append(&mut store, &["c"]).unwrap();
    assert_eq!(store.head(), Ok(Some((Seq(3), record("c")))));
    let wanted = ["genesis", "a", "b", "c"].map(str::to_owned);
    assert_eq!(
        texts(&store),
        (0..).zip(wanted).collect::<Vec<(u64, String)>>()
    );
}

fn a_scan_starts_where_it_is_told_and_stops_at_its_limit<S: Store>(mut store: S) {
    append(&mut store, &["a", "b", "c", "d"]).unwrap();
    let b_and_c = vec![(Seq(2), record("b")), (Seq(3), record("c"))];
    assert_eq!(store.scan(Seq(2), 2), Ok(b_and_c));
    assert_eq!(store.scan(Seq(4), 9), Ok(vec![(Seq(4), record("d"))]));
    assert_eq!(store.scan(Seq(5), 9), Ok(vec![]));
    assert_eq!(store.scan(Seq::ZERO, 0), Ok(vec![]));
    assert_eq!(store.scan(Seq(INTEGER_MAX), usize::MAX), Ok(vec![]));
}

fn what_is_not_there_is_none<S: Store>(store: S) {
    assert_eq!(store.get(Seq(1)), Ok(None));
    assert_eq!(store.get(Seq(INTEGER_MAX)), Ok(None));
    assert_eq!(store.get(Seq(u64::MAX)), Ok(None));
    assert_eq!(store.capture(&Digest([7; 32])), Ok(None));
}

fn work_that_fails_leaves_nothing_behind<S: Store>(mut store: S) {
    let kept = capture(1, Some(b"output"));
    let result: Result<(), GivenUp> = store.transact(|transaction| {
        transaction.append(&records(&["a", "b"]), std::slice::from_ref(&kept))?;
        Err(GivenUp::ByRule)
    });
    assert_eq!(result, Err(GivenUp::ByRule));
    assert_eq!(store.head(), Ok(Some((Seq::ZERO, record("genesis")))));
    assert_eq!(store.capture(&kept.commitment), Ok(None));
    append(&mut store, &["c"]).unwrap();
    assert_eq!(store.get(Seq(1)), Ok(Some(record("c"))));
}

fn work_sees_what_it_appended<S: Store>(mut store: S) {
    let kept = capture(1, Some(b"output"));
    let seen = store.transact(|transaction: &mut dyn Transaction| {
        transaction.append(&records(&["a"]), std::slice::from_ref(&kept))?;
        assert_eq!(transaction.get(Seq(1))?, Some(record("a")));
        assert_eq!(transaction.scan(Seq(1), 5)?, vec![(Seq(1), record("a"))]);
        assert_eq!(transaction.capture(&kept.commitment)?.as_ref(), Some(&kept));
        transaction.head()
    });
    assert_eq!(seen, Ok(Some((Seq(1), record("a")))));
}

fn several_appends_of_one_transaction_follow_each_other<S: Store>(mut store: S) {
    let result: Result<(), StoreError> = store.transact(|transaction| {
        transaction.append(&records(&["a", "b"]), &[])?;
        transaction.append(&[], &[])?;
        transaction.append(&records(&["c"]), &[])
    });
    assert_eq!(result, Ok(()));
    assert_eq!(store.get(Seq(3)), Ok(Some(record("c"))));
}

fn work_that_appends_nothing_changes_nothing<S: Store>(mut store: S) {
    let head = store.transact(|transaction| transaction.head());
    assert_eq!(head, Ok(Some((Seq::ZERO, record("genesis")))));
    assert_eq!(append(&mut store, &[]), Ok(()));
    assert_eq!(texts(&store).len(), 1);
}

fn a_record_is_1_to_65535_bytes_of_anything<S: Store>(mut store: S) {
    let mut refuse = |record: Record| {
        store.transact(|transaction| transaction.append(&[Record(vec![1]), record], &[]))
    };
    assert_eq!(
        refuse(Record(Vec::new())),
        Err(StoreError::Empty { what: "a record" })
    );
    assert_eq!(
        refuse(Record(vec![0; RECORD_BYTES_MAX + 1])),
        Err(StoreError::TooLarge {
            what: Oversized::Record,
            bytes: RECORD_BYTES_MAX + 1,
            max: RECORD_BYTES_MAX
        })
    );
    assert_eq!(store.get(Seq(1)), Ok(None));
    for bytes in [vec![0], vec![0xff; RECORD_BYTES_MAX]] {
        let record = [Record(bytes)];
        let done: Result<(), StoreError> = store.transact(|it| it.append(&record, &[]));
        assert_eq!(done, Ok(()));
        assert_eq!(store.head().unwrap().unwrap().1, record[0]);
    }
}

fn keep<S: Store>(store: &mut S, captures: &[Capture]) -> Result<(), StoreError> {
    store.transact(|transaction| transaction.append(&[], captures))
}

fn a_capture_is_kept_under_its_commitment<S: Store>(mut store: S) {
    let whole = capture(1, Some(b"output"));
    let empty = capture(2, Some(b""));
    let only_salt = capture(3, None);
    let all = [whole, empty, only_salt];
    keep(&mut store, &all).unwrap();
    for one in all {
        assert_eq!(store.capture(&one.commitment), Ok(Some(one)));
    }
}

fn a_capture_is_written_once<S: Store>(mut store: S) {
    let first = capture(1, None);
    let second = Capture {
        bytes: Some(b"later".to_vec()),
        ..first.clone()
    };
    keep(&mut store, std::slice::from_ref(&first)).unwrap();
    assert_eq!(keep(&mut store, std::slice::from_ref(&second)), Ok(()));
    assert_eq!(store.capture(&first.commitment), Ok(Some(first)));
}

fn a_capture_holds_at_most_64_kib<S: Store>(mut store: S) {
    let largest = capture(1, Some(&[9; CAPTURE_BYTES_MAX]));
    keep(&mut store, std::slice::from_ref(&largest)).unwrap();
    assert_eq!(store.capture(&largest.commitment), Ok(Some(largest)));
    let larger = capture(2, Some(&[9; CAPTURE_BYTES_MAX + 1]));
    let refused = keep(&mut store, std::slice::from_ref(&larger));
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
    assert_eq!(store.capture(&larger.commitment), Ok(None));
}

fn an_erased_capture_is_gone_and_the_records_stay<S: Store>(mut store: S) {
    let (one, other) = (capture(1, Some(b"one")), capture(2, Some(b"other")));
    keep(&mut store, &[one.clone(), other.clone()]).unwrap();
    let erased: Result<(), StoreError> = store.transact(|transaction| {
        transaction.append(&records(&["erased"]), &[])?;
        transaction.erase(&[one.commitment, Digest([7; 32])])
    });
    assert_eq!(erased, Ok(()));
    assert_eq!(store.capture(&one.commitment), Ok(None));
    assert_eq!(store.capture(&other.commitment), Ok(Some(other)));
    assert_eq!(store.head(), Ok(Some((Seq(1), record("erased")))));
}

fn an_erasure_is_undone_with_its_transaction<S: Store>(mut store: S) {
    let (kept, new) = (capture(1, Some(b"one")), capture(2, Some(b"two")));
    keep(&mut store, std::slice::from_ref(&kept)).unwrap();
    let result: Result<(), GivenUp> = store.transact(|transaction| {
        transaction.append(&[], std::slice::from_ref(&new))?;
        transaction.erase(&[kept.commitment, new.commitment])?;
        transaction.append(&[], std::slice::from_ref(&kept))?;
        transaction.erase(&[kept.commitment])?;
        Err(GivenUp::ByRule)
    });
    assert_eq!(result, Err(GivenUp::ByRule));
    assert_eq!(store.capture(&kept.commitment), Ok(Some(kept)));
    assert_eq!(store.capture(&new.commitment), Ok(None));
}

#[test]
fn a_new_memory_store_is_empty() {
    let store = MemoryLedger::new();
    assert_eq!(store.head(), Ok(None));
    assert_eq!(store.scan(Seq::ZERO, 1), Ok(vec![]));
}

#[test]
fn a_record_is_a_signature_and_event_bytes() {
    let record = Record([&[7; 64][..], b"event"].concat());
    assert_eq!(record.signature(), Some(&[7; 64][..]));
    assert_eq!(record.event_bytes(), Some(&b"event"[..]));
    assert_eq!(record.leaf(), hash::leaf(&record.0));
    assert_eq!(Record(vec![7; 63]).signature(), None);
    assert_eq!(Record(vec![7; 63]).event_bytes(), None);
}
