//! Which signatures and which public keys are valid: one accept set, from every side.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests are tests"
)]

use handoff_ledger::key::{
    KeyFault, PAYLOAD_TYPE, SigningKey, check, pre_authentication_encoding, verify_event,
};
use handoff_ledger::types::{PublicKey, parse_hex};

/// The order of the base point, 2^252 + 27742317777372353535851937790883648493, little-endian.
const L: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

/// RFC 8032 section 7.1, test 1: seed, public key, signature over the empty message.
const RFC_SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const RFC_KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const RFC_SIGNATURE: &str = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
                             5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";

/// The eight points whose order divides 8, in their canonical encodings.
const SMALL_ORDER: [&str; 8] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

/// Six further encodings of those points: `x = 0` with its sign bit set, or `y >= p`.
const SMALL_ORDER_NOT_CANONICAL: [&str; 6] = [
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

/// A point of order L plus each of the seven points of small order that are not the identity.
const WITH_TORSION: [&str; 7] = [
    "015ff595e4e0add00dde896efa66ea4f6848c4396410c693c92232aa64861d4f",
    "10eb7c3acfb2bed3e0d6ab89bf5a3d6afddd1176ce4812e38d9fd485058fdb1f",
    "6718d0a3d58deaeaefa655eae3f119071deaa2cfebfd0ca28b670f879d657086",
    "86e72f5c2a7215151059aa151c0ee6f8e2155d301402f35d7498f078629a8f79",
    "dd1483c5304d412c1f29547640a5c2950222ee8931b7ed1c72602b7afa7024e0",
    "eca00a6a1b1f522ff2217691059915b097b73bc69bef396c36ddcd559b79e2b0",
    "fe894df18abf1c20088bfbe6c9ad45d42ec20663eaf7111eaea1d851da0d7f89",
];

/// A fit key of the edge-case vectors.
const VECTOR_KEY: &str = "ef75b20e7540e3dff77404193652ba2bd13df99c1508eee1515e27ae25f28076";

fn key(text: &str) -> PublicKey {
    text.parse().unwrap()
}

fn signature(text: &str) -> [u8; 64] {
    parse_hex(text).unwrap()
}

fn with_s(signature: &[u8; 64], s: [u8; 32]) -> [u8; 64] {
    let mut changed = *signature;
    changed[32..].copy_from_slice(&s);
    changed
}

/// Adds 256-bit little-endian numbers, modulo 2^256.
fn plus(a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    let mut carry = 0;
    std::array::from_fn(|i| {
        let sum = u16::from(a[i]) + u16::from(b[i]) + carry;
        carry = sum >> 8;
        sum.to_le_bytes()[0]
    })
}

#[test]
fn the_first_vector_of_rfc_8032_holds() {
    let signing = SigningKey::from_seed(parse_hex(RFC_SEED).unwrap());
    assert_eq!(signing.public(), key(RFC_KEY));
    let verifying = check(&signing.public()).unwrap();
    assert!(verifying.verify(b"", &signature(RFC_SIGNATURE)));
    assert!(!verifying.verify(b" ", &signature(RFC_SIGNATURE)));
}

#[test]
fn the_encoding_before_signing_is_that_of_dsse() {
    assert_eq!(
        pre_authentication_encoding("http://example.com/HelloWorld", b"hello world"),
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
    assert_eq!(pre_authentication_encoding("", b""), b"DSSEv1 0  0 ");
    assert_eq!(
        pre_authentication_encoding("t\u{e4}", b"\xff\x00"),
        b"DSSEv1 3 t\xc3\xa4 2 \xff\x00"
    );
}

/// The signature was made by another implementation; any tool checks it, as `openssl pkeyutl
/// -verify -rawin` does over `DSSEv1 44 application/vnd.handoff-ledger.event.v1+json 7 {"v":1}`.
#[test]
fn an_event_is_signed_by_way_of_its_encoding() {
    let event = br#"{"v":1}"#;
    let expected = signature(
        "db7f0f968b33f2fa5437a805dc683c0f6d6e39490d3c93e5f2d1b5dfb1e3f0a8\
         67a40b9caea4cd6f2a622b451b57d53eb305f362c3d3b1de66aa93ae82cc320e",
    );
    let signing = SigningKey::from_seed(parse_hex(RFC_SEED).unwrap());
    let verifying = check(&signing.public()).unwrap();
    assert_eq!(signing.sign(event), expected);
    assert!(verify_event(&verifying, event, &expected));
    assert!(!verifying.verify(event, &expected));
    let encoded = pre_authentication_encoding(PAYLOAD_TYPE, event);
    assert!(verifying.verify(&encoded, &expected));
}

#[test]
fn a_signature_under_another_payload_type_or_key_is_refused() {
    let signing = SigningKey::from_seed([1; 32]);
    let verifying = check(&signing.public()).unwrap();
    let other = SigningKey::from_seed([2; 32]);
    assert!(!verify_event(&verifying, b"{}", &other.sign(b"{}")));
    let doubly = signing.sign(&pre_authentication_encoding(PAYLOAD_TYPE, b"{}"));
    assert!(!verify_event(&verifying, b"{}", &doubly));
    let other_type = pre_authentication_encoding("text/plain", b"{}");
    assert!(!verifying.verify(&other_type, &signing.sign(b"{}")));
}

#[test]
fn every_flipped_bit_is_refused() {
    let signing = SigningKey::from_seed([7; 32]);
    let verifying = check(&signing.public()).unwrap();
    let event = br#"{"kind":"claim.verified","seq":12}"#;
    let valid = signing.sign(event);
    assert!(verify_event(&verifying, event, &valid));
    for bit in 0..valid.len() * 8 {
        let mut flipped = valid;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(
            !verify_event(&verifying, event, &flipped),
            "signature {bit}"
        );
    }
    for bit in 0..event.len() * 8 {
        let mut flipped = event.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(!verify_event(&verifying, &flipped, &valid), "event {bit}");
    }
    for bit in 0..256 {
        let mut flipped = signing.public();
        flipped.0[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = check(&flipped) {
            assert!(!verify_event(&other, event, &valid), "key {bit}");
        }
    }
}

#[test]
fn s_must_be_less_than_l() {
    let verifying = check(&key(RFC_KEY)).unwrap();
    let valid = signature(RFC_SIGNATURE);
    let order: [u8; 32] = parse_hex(L).unwrap();
    let mut s: [u8; 32] = valid[32..].try_into().unwrap();
    // Every S + nL below 2^256 solves the equation as S does.
    for n in 1..=14 {
        s = plus(s, order);
        assert!(!verifying.verify(b"", &with_s(&valid, s)), "S + {n} L");
    }
    let mut largest = [0xff; 32];
    for top in [0x1f, 0x20, 0x3f, 0x7f, 0x80, 0xff] {
        largest[31] = top;
        assert!(!verifying.verify(b"", &with_s(&valid, largest)), "{top:x}");
    }
    for s in [[0; 32], order] {
        assert!(!verifying.verify(b"", &with_s(&valid, s)), "{s:?}");
    }
}

#[test]
fn r_must_be_canonical_and_of_large_order() {
    let verifying = check(&key(RFC_KEY)).unwrap();
    let s = parse_hex(&RFC_SIGNATURE[64..]).unwrap();
    let encodings = SMALL_ORDER.iter().chain(&SMALL_ORDER_NOT_CANONICAL);
    for r in encodings
        .map(|text| parse_hex::<32>(text).unwrap())
        .chain([[0xff; 32]])
    {
        for s in [s, [0; 32]] {
            let mut forged = [0; 64];
            forged[..32].copy_from_slice(&r);
            assert!(!verifying.verify(b"", &with_s(&forged, s)), "{r:?} {s:?}");
        }
    }
    // Both solve the equation for a fit key, with R = identity: in its canonical encoding, and
    // with the sign bit of x = 0 set.
    let fit = check(&key(VECTOR_KEY)).unwrap();
    for (message, text) in [
        (
            "ed25519vectors 7",
            "0100000000000000000000000000000000000000000000000000000000000000\
             330b30d6c1f07511e2208d233b6a34d4ed7109da2dea615bcd97daee3a842704",
        ),
        (
            "ed25519vectors 5",
            "0100000000000000000000000000000000000000000000000000000000000080\
             2d32f9eeccaa31dba2ff4ab4e196b61e2ee1648073bbb5f599dcff4f7ea02900",
        ),
    ] {
        assert!(!fit.verify(message.as_bytes(), &signature(text)), "{text}");
    }
}

#[test]
fn the_equation_has_no_cofactor() {
    // [8][S]B = [8]R + [8][k]A holds here, [S]B = R + [k]A does not.
    let fit = check(&key(VECTOR_KEY)).unwrap();
    let forged = signature(
        "36684ea91032ba5b1dbab2d02f4debc74c3327f2b3802e2e4d371aa42b12b56b\
         2d471882773a677af1e3824e757a33f8ddf7bbeaf3d28a09595eb8daa0d74a03",
    );
    assert!(!fit.verify(b"ed25519vectors 3", &forged));
}

#[test]
fn a_key_of_small_order_is_unfit_in_each_encoding() {
    for text in SMALL_ORDER {
        assert_eq!(
            check(&key(text)).err(),
            Some(KeyFault::SmallOrder),
            "{text}"
        );
    }
    for text in SMALL_ORDER_NOT_CANONICAL {
        assert_eq!(
            check(&key(text)).err(),
            Some(KeyFault::NotCanonical),
            "{text}"
        );
    }
}

#[test]
fn a_key_with_a_torsion_component_is_unfit() {
    for text in WITH_TORSION {
        assert_eq!(check(&key(text)).err(), Some(KeyFault::Torsion), "{text}");
    }
}

#[test]
fn a_key_with_y_of_p_or_more_is_unfit() {
    // p = 2^255 - 19, so that y from p to 2^255 - 1 differs from 0 to 18 in the first byte alone.
    let mut points = 0;
    for low in 0xed..=0xff {
        for top in [0x7f, 0xff] {
            let mut encoding = [0xff; 32];
            encoding[0] = low;
            encoding[31] = top;
            match check(&PublicKey(encoding)).err() {
                Some(KeyFault::NotCanonical) => points += 1,
                other => assert_eq!(other, Some(KeyFault::NotAPoint), "{low:x} {top:x}"),
            }
        }
    }
    assert!(points >= 20, "{points} of the 38 encodings name a point");
}

#[test]
fn a_key_that_names_no_point_is_unfit() {
    let mut encoding = [0; 32];
    encoding[0] = 2;
    assert_eq!(check(&PublicKey(encoding)).err(), Some(KeyFault::NotAPoint));
    assert_eq!(KeyFault::NotAPoint.code(), "key_not_a_point");
}

/// Wycheproof's Ed25519 vectors: the rules accept what they call valid and nothing else, there is no
/// vector about which the two differ, and none passes for the signature of an event.
#[test]
fn the_wycheproof_vectors_are_judged_as_they_say() {
    use wycheproof::TestResult;
    use wycheproof::eddsa::{TestName, TestSet};
    let set = TestSet::load(TestName::Ed25519).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for group in &set.test_groups {
        let public: [u8; 32] = group.key.pk.to_vec().try_into().unwrap();
        let fit = check(&PublicKey(public));
        for test in &group.tests {
            let name = format!("vector {}: {}", test.tc_id, test.comment);
            // Other lengths than 64 bytes are no signatures to begin with: the types say so.
            let signature: Option<[u8; 64]> = test.sig.to_vec().try_into().ok();
            let valid = fit.is_ok_and(|key| {
                signature.is_some_and(|signature| key.verify(&test.msg, &signature))
            });
            let as_event = fit.is_ok_and(|key| {
                signature.is_some_and(|signature| verify_event(&key, &test.msg, &signature))
            });
            assert!(!as_event, "{name}: without the encoding it is over");
            match test.result {
                TestResult::Valid => assert!(valid, "{name}"),
                TestResult::Invalid | TestResult::Acceptable => assert!(!valid, "{name}"),
            }
            accepted += usize::from(valid);
            refused += usize::from(!valid);
        }
    }
    println!("accepted {accepted}, refused {refused}");
    assert!(accepted > 50 && refused > 50, "{accepted} {refused}");
}

/// The same cases as events of a chain: a signature over an event with what a vector does to it.
#[test]
fn what_the_vectors_do_to_a_signature_is_refused_in_a_chain_too() {
    use handoff_ledger::chain::Walk;
    let record = genesis_record();
    let (valid, event) = record.split_at(64);
    let walked = |signature: &[u8]| {
        let record = [signature, event].concat();
        Walk::from_genesis()
            .step(handoff_ledger::types::Seq(0), &record)
            .is_ok()
    };
    assert!(walked(valid));
    let order: [u8; 32] = parse_hex(L).unwrap();
    let (r, s) = valid.split_at(32);
    let malleated = plus(s.try_into().unwrap(), order);
    for (what, changed) in [
        ("S + L", [r, &malleated].concat()),
        ("S = 0", [r, &[0; 32]].concat()),
        ("S = L", [r, &order].concat()),
        ("all ones", vec![0xff; 64]),
        ("R = 0", [&[0; 32], s].concat()),
        ("halves swapped", [s, r].concat()),
        ("truncated", valid[..63].to_vec()),
        ("one byte more", [valid, &[0]].concat()),
        (
            "as hexadecimal digits",
            handoff_ledger::types::hex(valid).into_bytes(),
        ),
        ("none", Vec::new()),
    ] {
        assert!(!walked(&changed), "{what}");
    }
}

/// The first record of a ledger.
fn genesis_record() -> Vec<u8> {
    use handoff_ledger::event::{LedgerOpened, Policy, RULES_VERSION};
    let body = LedgerOpened {
        name: "vectors".parse().unwrap(),
        nonce: handoff_ledger::types::Digest([5; 32]),
        policy: Policy {
            asserted_values: false,
            four_eyes: false,
        },
        rules: RULES_VERSION,
    };
    let signing = SigningKey::from_seed([9; 32]);
    let time = "2026-01-01T00:00:00.000Z".parse().unwrap();
    let (record, _) = handoff_ledger::append::genesis(&signing, time, body.into()).unwrap();
    record.0
}

#[derive(serde::Deserialize)]
struct Vector {
    number: u32,
    key: String,
    sig: String,
    msg: String,
    flags: Option<Vec<String>>,
}

impl Vector {
    /// What the rules say of a vector that has these properties. Torsion in R alone is not among
    /// them: with a fit key it leaves a residue in the equation without cofactor.
    fn must_be_refused(&self) -> bool {
        self.flags.iter().flatten().any(|flag| match flag.as_str() {
            "low_order_A" | "low_order_component_A" | "non_canonical_A" => true,
            "low_order_R" | "non_canonical_R" | "low_order_residue" => true,
            "low_order_component_R" | "reencoded_k" => false,
            unknown => panic!("vector {} has the flag {unknown}", self.number),
        })
    }
}

/// The vectors of C2SP's CCTV, if they are at hand: `HANDOFF_EDGE_CASES` names the file.
#[test]
fn the_edge_case_vectors_are_judged_by_the_rules_alone() {
    let path = std::env::var_os("HANDOFF_EDGE_CASES").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../shared/vectors/ed25519-edge-cases.json")
        },
        std::path::PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no vectors at {}", path.display());
        return;
    };
    let vectors: Vec<Vector> = serde_json::from_str(&text).unwrap();
    let mut accepted = Vec::new();
    for vector in &vectors {
        let signature = signature(&vector.sig);
        let valid =
            check(&key(&vector.key)).is_ok_and(|key| key.verify(vector.msg.as_bytes(), &signature));
        assert_eq!(valid, !vector.must_be_refused(), "vector {}", vector.number);
        if valid {
            accepted.push(vector.number);
        }
    }
    println!("{} vectors, accepted: {accepted:?}", vectors.len());
    assert!(!accepted.is_empty());
}
