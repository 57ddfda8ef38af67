//! The result of a verification, by the conditions that hold: of two, the first of the list.

#![allow(
    clippy::unwrap_used,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

use handoff_ledger::checkpoint::Expected;
use handoff_ledger::event::{Body, Event, LedgerOpened, Policy, RULES_VERSION, SessionOpened};
use handoff_ledger::format;
use handoff_ledger::key::SigningKey;
use handoff_ledger::store::Record;
use handoff_ledger::types::{Ascending, Digest, HeadLine, Leaf, Seq};
use handoff_ledger::verify::{Basis, FAULTS_MAX, Outside, Report, Verification, Verifier};

/// What can be amiss, in the order in which it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Amiss {
    Fault,
    Rollback,
    Fork,
    Expect,
    Refused,
    Upgraded,
    SideFile,
    NoEvent,
    Unpinned,
}

impl Amiss {
    const ALL: [Amiss; 9] = [
        Amiss::Fault,
        Amiss::Rollback,
        Amiss::Fork,
        Amiss::Expect,
        Amiss::Refused,
        Amiss::Upgraded,
        Amiss::SideFile,
        Amiss::NoEvent,
        Amiss::Unpinned,
    ];

    fn result(self) -> Verification {
        match self {
            Amiss::Fault | Amiss::Rollback | Amiss::Fork | Amiss::Expect => Verification::Tampered,
            Amiss::Refused => Verification::Unlawful,
            Amiss::Upgraded => Verification::Undetermined,
            Amiss::SideFile => Verification::Incomplete,
            Amiss::NoEvent => Verification::Empty,
            Amiss::Unpinned => Verification::SelfConsistent,
        }
    }
}

fn record(key: &SigningKey, last: Option<(Seq, Leaf)>, body: Body) -> Record {
    let event = Event {
        seq: last.map_or(Seq::ZERO, |(seq, _)| seq.next()),
        prev: last.map_or(Leaf::ZERO, |(_, leaf)| leaf),
        key: key.public(),
        session: Seq::ZERO,
        time: "2026-01-01T00:00:00.000Z".parse().unwrap(),
        body,
    };
    let bytes = format::encode(&event).unwrap();
    Record([key.sign(&bytes).as_slice(), &bytes].concat())
}

fn opened(rules: u64) -> Body {
    LedgerOpened {
        name: "table".parse().unwrap(),
        nonce: Digest([7; 32]),
        policy: Policy {
            asserted_values: false,
            four_eyes: false,
        },
        rules,
    }
    .into()
}

fn session() -> Body {
    SessionOpened {
        agent: "somebody".parse().unwrap(),
        inherits: Ascending::default(),
        purpose: None,
        scope: Digest([1; 32]),
    }
    .into()
}

/// Verifies a ledger of which all of `amiss` holds; `None` if that cannot be.
fn verified(amiss: &[Amiss]) -> Option<Report> {
    let has = |what| amiss.contains(&what);
    // Beyond an upgrade nothing is refused; what is not there is neither.
    let is_absurd =
        has(Amiss::NoEvent) && (has(Amiss::Refused) || has(Amiss::Upgraded) || has(Amiss::Fork));
    if is_absurd || (has(Amiss::Refused) && has(Amiss::Upgraded)) {
        return None;
    }
    let (root, stranger) = (
        SigningKey::from_seed([1; 32]),
        SigningKey::from_seed([2; 32]),
    );
    let rules = RULES_VERSION + u64::from(has(Amiss::Upgraded));
    let first = record(&root, None, opened(rules));
    let mut last = (Seq::ZERO, first.leaf());
    let mut records = vec![first];
    let key = if has(Amiss::Refused) {
        &stranger
    } else {
        &root
    };
    records.push(record(key, Some(last), session()));
    last = (Seq(1), records.last().unwrap().leaf());
    let mut outside = Outside::default();
    if has(Amiss::Fork) {
        outside.view = Some((last.0, Leaf([9; 32])));
    }
    if has(Amiss::Rollback) {
        outside.view = Some((Seq(5), Leaf([9; 32])));
    }
    if has(Amiss::Expect) {
        outside.expect = Some(Expected::Head(HeadLine {
            ledger: "0".repeat(12),
            seq: Seq(1),
            leaf: Leaf([9; 32]),
        }));
    }
    let mut verifier = Verifier::new(outside);
    if !has(Amiss::NoEvent) {
        for (seq, Record(bytes)) in (0..).map(Seq).zip(&records) {
            verifier.record(seq, bytes);
        }
    }
    if has(Amiss::Fault) {
        verifier.fault(None, "storage", "a page is torn");
    }
    if has(Amiss::SideFile) {
        verifier.incomplete("a journal lies beside it");
    }
    let basis = if has(Amiss::Unpinned) {
        Basis::Unpinned
    } else {
        Basis::Pinned
    };
    Some(verifier.finish(basis))
}

#[test]
fn of_two_conditions_the_first_gives_the_result() {
    assert_eq!(verified(&[]).unwrap().result, Verification::Verified);
    let mut pairs = 0;
    for (place, first) in Amiss::ALL.into_iter().enumerate() {
        let alone = verified(&[first]).unwrap();
        assert_eq!(alone.result, first.result(), "{first:?}");
        for second in Amiss::ALL.into_iter().skip(place + 1) {
            let Some(report) = verified(&[first, second]) else {
                continue;
            };
            pairs += 1;
            assert_eq!(report.result, first.result(), "{first:?} and {second:?}");
        }
    }
    assert_eq!(pairs, 36 - 4, "of all pairs, those that can be");
}

#[test]
fn every_fault_is_told_with_its_place_and_the_walk_goes_on() {
    let root = SigningKey::from_seed([1; 32]);
    let first = record(&root, None, opened(RULES_VERSION));
    let mut verifier = Verifier::new(Outside::default());
    verifier.record(Seq::ZERO, &first.0);
    let mut last = (Seq::ZERO, first.leaf());
    let mut expected: Vec<(Seq, &str)> = Vec::new();
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("signature", |record| record[5] ^= 1),
        ("length", |record| record.truncate(10)),
        ("malformed", |record| record.truncate(100)),
        ("not_canonical", |record| record.insert(65, b' ')),
    ];
    for (kind, damage) in damages {
        let mut damaged = record(&root, Some(last), session());
        damage(&mut damaged.0);
        expected.push((last.0.next(), kind));
        verifier.record(last.0.next(), &damaged.0);
        last = (last.0.next(), damaged.leaf());
        // What follows it is a good record, and no fault.
        let good = record(&root, Some(last), session());
        verifier.record(last.0.next(), &good.0);
        last = (last.0.next(), good.leaf());
    }
    let unlinked = record(&root, Some((last.0, Leaf([3; 32]))), session());
    verifier.record(last.0.next(), &unlinked.0);
    expected.push((last.0.next(), "link"));
    last = (last.0.next(), unlinked.leaf());
    let elsewhere = record(&root, Some((Seq(77), last.1)), session());
    verifier.record(last.0.next(), &elsewhere.0);
    expected.push((last.0.next(), "seq"));
    let report = verifier.finish(Basis::Pinned);
    let found: Vec<(Seq, &str)> = (report.faults.items().iter())
        .map(|fault| (fault.seq.unwrap(), fault.kind))
        .collect();
    assert_eq!(found, expected);
    assert_eq!((report.events, report.result), (1, Verification::Tampered));
}

#[test]
fn a_list_of_faults_holds_a_thousand_and_their_number() {
    let mut verifier = Verifier::new(Outside::default());
    for seq in 0..1_200 {
        verifier.record(Seq(seq), b"garbage");
    }
    let report = verifier.finish(Basis::Unpinned);
    assert_eq!(report.faults.items().len(), FAULTS_MAX);
    assert_eq!(report.faults.total(), 1_200);
}
