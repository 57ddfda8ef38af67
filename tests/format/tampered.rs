//! For each fault of a record beyond its bytes a chain that has it, and no other, at one place.

use crate::builder::Who::{Alice, Root};
use crate::builder::*;
use crate::tampered_bytes::next_bytes;
use crate::vector::Vector;
use handoff_ledger::event::Role;
use handoff_ledger::format;
use handoff_ledger::hash;
use handoff_ledger::types::{Leaf, PublicKey, Seq, parse_hex};

/// The order of the base point, 2^252 + 27742317777372353535851937790883648493, little-endian.
const ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

pub(crate) fn vectors() -> Vec<Vector> {
    let mut all = of_links();
    all.extend(of_signatures());
    all.extend(of_memory());
    all
}

fn of_links() -> Vec<Vector> {
    let mut skipped = History::opened();
    let mut event = skipped.event(Alice, 0, skipped.opening_of(&[]));
    event.seq = Seq(3);
    skipped.add_bytes(Alice, &format::encode(&event).unwrap());

    let mut repeated = History::opened();
    let mut event = repeated.event(Alice, 0, repeated.opening_of(&[]));
    event.seq = Seq(1);
    repeated.add_bytes(Alice, &format::encode(&event).unwrap());

    let mut unlinked = History::opened();
    let mut event = unlinked.event(Alice, 0, unlinked.opening_of(&[]));
    event.prev = hash::leaf(&unlinked.records[0]);
    unlinked.add_bytes(Alice, &format::encode(&event).unwrap());

    let mut rootless = History::empty();
    let event = rootless.event(Root, 0, authorization(Alice, "alice", &[Role::Recorder]));
    rootless.add_bytes(Root, &format::encode(&event).unwrap());

    let mut started = History::empty();
    let mut event = started.event(Root, 0, opening(false, false, 1));
    event.prev = Leaf([1; 32]);
    started.add_bytes(Root, &format::encode(&event).unwrap());

    vec![
        Vector::tampered("tampered-seq", "a seq is left out", &skipped, "seq", 2),
        Vector::tampered(
            "tampered-seq-twice",
            "a seq stands twice",
            &repeated,
            "seq",
            2,
        ),
        Vector::tampered(
            "tampered-link",
            "prev is the leaf before the last",
            &unlinked,
            "link",
            2,
        ),
        Vector::tampered(
            "tampered-link-first",
            "the first prev is not zero",
            &started,
            "link",
            0,
        ),
        Vector::tampered(
            "tampered-genesis",
            "the first event opens no ledger",
            &rootless,
            "genesis",
            0,
        ),
    ]
}

fn of_signatures() -> Vec<Vector> {
    let mut all = Vec::new();
    for (variant, key, comment) in [
        (
            "",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "a key of small order",
        ),
        (
            "-not-a-point",
            "0200000000000000000000000000000000000000000000000000000000000000",
            "a key that is no point",
        ),
        (
            "-not-canonical",
            "0100000000000000000000000000000000000000000000000000000000000080",
            "a key in another encoding of its point",
        ),
        ("-torsion", MIXED_ORDER, "a key with a torsion component"),
    ] {
        let mut h = History::opened();
        let mut event = h.event(Alice, 0, h.opening_of(&[]));
        event.key = PublicKey(parse_hex(key).unwrap());
        h.add_bytes(Alice, &format::encode(&event).unwrap());
        let name = format!("tampered-key{variant}");
        all.push(Vector::tampered(&name, comment, &h, "key", 2));
    }
    let changes: [(&str, &str, Change); 3] = [
        ("", "one bit of S is another", flip),
        ("-large-s", "S is larger than L by what it was", add_order),
        ("-other", "the signature is another key's", sign_as_root),
    ];
    for (variant, comment, change) in changes {
        let mut h = History::opened();
        let bytes = next_bytes(&h);
        h.add_bytes(Alice, bytes.as_bytes());
        change(h.records.last_mut().unwrap());
        let name = format!("tampered-signature{variant}");
        all.push(Vector::tampered(&name, comment, &h, "signature", 2));
    }
    all
}

/// The base point plus a point of order 8.
const MIXED_ORDER: &str = "da99e28ba529cdde35a25fba9059e78ecaee239f99755b9b1aa4f65df00803e2";

/// What is done to a record.
type Change = fn(&mut [u8]);

fn flip(record: &mut [u8]) {
    record[32] ^= 1;
}

/// S + L: the same scalar modulo L, which RFC 8032 section 5.1.7 refuses.
fn add_order(record: &mut [u8]) {
    let order: [u8; 32] = parse_hex(ORDER).unwrap();
    let mut carry = 0;
    for (byte, add) in record[32..64].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        *byte = u8::try_from(sum & 0xff).unwrap();
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
}

fn sign_as_root(record: &mut [u8]) {
    let signature = Root.key().sign(&record[64..]);
    record[..64].copy_from_slice(&signature);
}

/// Faults that only who remembers an earlier verification can tell.
fn of_memory() -> Vec<Vector> {
    let mut h = History::opened();
    h.open(Alice, &[]);
    let remembered = Leaf([7; 32]);
    vec![
        Vector::remembered(
            "tampered-replaced",
            "a good chain, but another record was verified before at seq 2",
            &h,
            "replaced",
            (2, remembered),
        ),
        Vector::remembered(
            "tampered-missing",
            "a good chain, but it ended later when it was verified before",
            &h,
            "missing",
            (3, remembered),
        ),
    ]
}
