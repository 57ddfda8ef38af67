//! The tree and its proofs, against the definitions of the RFCs and the reference implementation's.

use handoff_ledger::hash;
use handoff_ledger::merkle::{Tree, TreeHead};
use handoff_ledger::merkle_proof::{
    ProofFault, check_consistency, check_inclusion, consistency, inclusion,
};
use handoff_ledger::types::{Digest, Leaf};

fn leaf(record: &[u8]) -> Leaf {
    hash::leaf(record)
}

/// RFC 6962 section 2.1, as it is written there: split at the largest power of two below n.
fn by_definition(leaves: &[Leaf]) -> Digest {
    match leaves {
        [one] => Digest(one.0),
        several => {
            let (left, right) = several.split_at(several.len().next_power_of_two() / 2);
            hash::node(&by_definition(left), &by_definition(right))
        }
    }
}

const SIZES: u64 = 70;

fn leaves(count: u64) -> Vec<Leaf> {
    (0..count).map(|n| leaf(&n.to_be_bytes())).collect()
}

/// RFC 9162 section 2.1.3.1, word for word.
fn path_by_definition(index: usize, leaves: &[Leaf]) -> Vec<Digest> {
    if leaves.len() == 1 {
        return vec![];
    }
    let split = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(split);
    if index < split {
        [path_by_definition(index, left), vec![by_definition(right)]].concat()
    } else {
        let below = path_by_definition(index - split, right);
        [below, vec![by_definition(left)]].concat()
    }
}

/// RFC 9162 section 2.1.4.1, word for word.
fn proof_by_definition(old: usize, leaves: &[Leaf], known: bool) -> Vec<Digest> {
    if old == leaves.len() {
        return if known {
            vec![]
        } else {
            vec![by_definition(leaves)]
        };
    }
    let split = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(split);
    if old <= split {
        let below = proof_by_definition(old, left, known);
        [below, vec![by_definition(right)]].concat()
    } else {
        let below = proof_by_definition(old - split, right, false);
        [below, vec![by_definition(left)]].concat()
    }
}

/// Every proof that differs from one in one hash: changed, missing, twice, or one too many.
fn altered(path: &[Digest]) -> Vec<Vec<Digest>> {
    let mut all = Vec::new();
    for at in 0..=path.len() {
        let mut more = path.to_vec();
        more.insert(at, Digest([9; 32]));
        all.push(more);
    }
    for at in 0..path.len() {
        let mut changed = path.to_vec();
        changed[at].0[31] ^= 1;
        let mut less = path.to_vec();
        less.remove(at);
        let mut twice = path.to_vec();
        twice.insert(at, path[at]);
        all.extend([changed, less, twice]);
        if at > 0 {
            let mut swapped = path.to_vec();
            swapped.swap(at - 1, at);
            all.push(swapped);
        }
    }
    all
}

#[test]
fn the_root_is_that_of_the_definition_for_every_size() {
    let leaves: Vec<Leaf> = (0..70u8).map(|n| leaf(&[n])).collect();
    let mut tree = Tree::new();
    assert_eq!(tree.root(), None);
    for (index, leaf) in leaves.iter().enumerate() {
        tree.add(*leaf);
        assert_eq!(
            tree.root(),
            Some(by_definition(&leaves[..=index])),
            "{index}"
        );
    }
}

#[test]
fn the_root_is_that_of_certificate_transparency() {
    // The first test inputs of the reference implementation of RFC 6962, and their root.
    let mut tree = Tree::new();
    for record in [&b""[..], &[0x00], &[0x10]] {
        tree.add(leaf(record));
    }
    let root = "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77";
    assert_eq!(
        tree.root().map(|root| root.to_string()),
        Some(root.to_owned())
    );
}

#[test]
fn every_leaf_of_every_tree_is_shown_by_its_proof_and_by_no_other() {
    for size in 1..=SIZES {
        let leaves = leaves(size);
        let tree = TreeHead::of(&leaves);
        for index in 0..size {
            let path = inclusion(&leaves, index).unwrap();
            let at = usize::try_from(index).unwrap();
            assert_eq!(path, path_by_definition(at, &leaves));
            let check =
                |index, leaf: &Leaf, path: &[Digest]| check_inclusion(&tree, index, leaf, path);
            assert_eq!(check(index, &leaves[at], &path), Ok(()));
            for other in altered(&path) {
                assert!(
                    check(index, &leaves[at], &other).is_err(),
                    "{index} of {size}"
                );
            }
            assert!(check(index, &leaf(b"other"), &path).is_err());
            for other in (0..size + 2).filter(|other| *other != index) {
                assert!(
                    check(other, &leaves[at], &path).is_err(),
                    "{index} as {other}"
                );
            }
        }
        assert_eq!(inclusion(&leaves, size), None);
        let beyond = check_inclusion(&tree, size, &leaves[0], &[]);
        assert_eq!(beyond, Err(ProofFault::Index { index: size, size }));
    }
    assert_eq!(inclusion(&[], 0), None);
    let nothing = check_inclusion(&TreeHead::of(&[]), 0, &leaf(b""), &[]);
    assert_eq!(nothing, Err(ProofFault::Index { index: 0, size: 0 }));
}

#[test]
fn every_tree_is_shown_to_begin_every_larger_one_and_no_other() {
    for size in 1..=SIZES {
        let leaves = leaves(size);
        let new = TreeHead::of(&leaves);
        for old_size in 0..=size {
            let path = consistency(&leaves, old_size).unwrap();
            let (beginning, _) = leaves.split_at(usize::try_from(old_size).unwrap());
            if old_size > 0 {
                let known = proof_by_definition(beginning.len(), &leaves, true);
                assert_eq!(path, known, "{old_size} of {size}");
            }
            let old = TreeHead::of(beginning);
            assert_eq!(
                check_consistency(&old, &new, &path),
                Ok(()),
                "{old_size} of {size}"
            );
            for other in altered(&path) {
                assert!(check_consistency(&old, &new, &other).is_err());
            }
            let mut other = old;
            other.root.0[0] ^= 1;
            let checked = check_consistency(&other, &new, &path);
            assert!(
                matches!(checked, Err(ProofFault::Root { .. })),
                "{checked:?}"
            );
            if old_size == 0 {
                continue;
            }
            let mut other = new;
            other.root.0[0] ^= 1;
            assert!(check_consistency(&old, &other, &path).is_err());
            // A fork: the same older size over other leaves.
            let mut forked = beginning.to_vec();
            *forked.last_mut().unwrap() = leaf(b"forked");
            assert!(check_consistency(&TreeHead::of(&forked), &new, &path).is_err());
        }
        assert_eq!(consistency(&leaves, size + 1), None);
        let larger = TreeHead {
            size: size + 1,
            root: new.root,
        };
        let (old, new_size) = (size + 1, size);
        let refused = check_consistency(&larger, &new, &[]);
        assert_eq!(refused, Err(ProofFault::Sizes { old, new: new_size }));
    }
}

#[test]
fn the_proofs_are_those_of_certificate_transparency() {
    // Inputs and proofs of the reference implementation of RFC 6962 (its merkle tests).
    let inputs: [&[u8]; 8] = [
        b"",
        &[0x00],
        &[0x10],
        &[0x20, 0x21],
        &[0x30, 0x31],
        &[0x40, 0x41, 0x42, 0x43],
        &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
        &[
            0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
            0x6e, 0x6f,
        ],
    ];
    let leaves: Vec<Leaf> = inputs.iter().map(|input| leaf(input)).collect();
    let texts = |path: Option<Vec<Digest>>| -> Vec<String> {
        path.unwrap().iter().map(Digest::to_string).collect()
    };
    assert_eq!(
        TreeHead::of(&leaves).root.to_string(),
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    );
    assert_eq!(
        texts(inclusion(&leaves, 5)),
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
    assert_eq!(
        texts(consistency(&leaves, 6)),
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
}
