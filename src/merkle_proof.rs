//! Proofs about the tree over the leaves of a chain: that a leaf is of it, and that an older tree
//! is its beginning (RFC 9162 sections 2.1.3 and 2.1.4; the tree is that of RFC 6962).

use crate::hash;
use crate::merkle::{TreeHead, root_over};
use crate::types::{Digest, Leaf};

/// Why a proof does not show what it is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    /// The leaf is none of the tree's.
    #[error("expected an index below the size {size}, found {index}")]
    Index {
        /// The leaf's index.
        index: u64,
        /// Leaves of the tree.
        size: u64,
    },
    /// The older tree is the larger one.
    #[error("expected an older size of at most {new}, found {old}")]
    Sizes {
        /// Leaves of the older tree.
        old: u64,
        /// Leaves of the newer tree.
        new: u64,
    },
    /// Sizes and index ask for another number of hashes.
    #[error("expected another number of hashes, found {found}")]
    Length {
        /// Hashes of the proof.
        found: usize,
    },
    /// The hashes lead to another root.
    #[error("expected the root {expected}, found that the hashes lead to {found}")]
    Root {
        /// The root that the tree has.
        expected: Digest,
        /// The root that they lead to.
        found: Digest,
    },
}

/// The hashes that show leaf `index` to be of the tree over `leaves`, from its sibling up
/// (RFC 9162 section 2.1.3.1); `None` if there is no such leaf.
pub fn inclusion(leaves: &[Leaf], index: u64) -> Option<Vec<Digest>> {
    let mut index = usize::try_from(index).ok()?;
    let mut below = leaves;
    let mut path = Vec::new();
    while let Some((left, right)) = halves(below) {
        if index < left.len() {
            path.push(root_over(right));
            below = left;
        } else {
            path.push(root_over(left));
            index -= left.len();
            below = right;
        }
    }
    path.reverse();
    (index < below.len()).then_some(path)
}

/// The hashes that show the tree over the first `old` of `leaves` to be a beginning of the tree
/// over all (RFC 9162 section 2.1.4.1); none at all if `old` is 0 or all; `None` if it is more.
pub fn consistency(leaves: &[Leaf], old: u64) -> Option<Vec<Digest>> {
    let mut old = usize::try_from(old).ok()?;
    if old > leaves.len() {
        return None;
    }
    let mut path = Vec::new();
    let mut below = leaves;
    // Whether the older tree is a node of the newer one on the way so far, known to the verifier.
    let mut whole = true;
    while old > 0 && old < below.len() {
        let (left, right) = halves(below)?;
        if old <= left.len() {
            path.push(root_over(right));
            below = left;
        } else {
            path.push(root_over(left));
            old -= left.len();
            below = right;
            whole = false;
        }
    }
    if !whole {
        path.push(root_over(below));
    }
    path.reverse();
    Some(path)
}

/// Checks that `leaf` stands at `index` of a tree (RFC 9162 section 2.1.3.2).
///
/// # Errors
///
/// Why the hashes do not show it.
pub fn check_inclusion(
    tree: &TreeHead,
    index: u64,
    leaf: &Leaf,
    path: &[Digest],
) -> Result<(), ProofFault> {
    let size = tree.size;
    if index >= size {
        return Err(ProofFault::Index { index, size });
    }
    let too_long = ProofFault::Length { found: path.len() };
    let mut place = Place::new(index, size).ok_or(too_long)?;
    let mut found = Digest(leaf.0);
    for hash in path {
        found = match place.step().ok_or(too_long)? {
            Side::Left => hash::node(hash, &found),
            Side::Right => hash::node(&found, hash),
        };
    }
    place.ended(path.len())?;
    same(&tree.root, &found)
}

/// Checks that the older tree is a beginning of the newer one (RFC 9162 section 2.1.4.2).
///
/// # Errors
///
/// Why the hashes do not show it.
pub fn check_consistency(
    old: &TreeHead,
    new: &TreeHead,
    path: &[Digest],
) -> Result<(), ProofFault> {
    let too_long = ProofFault::Length { found: path.len() };
    if old.size > new.size {
        let (old, new) = (old.size, new.size);
        return Err(ProofFault::Sizes { old, new });
    }
    if old.size == new.size || old.size == 0 {
        if !path.is_empty() {
            return Err(too_long);
        }
        // Nothing is a beginning of anything.
        let expected = if old.size == 0 {
            root_over(&[])
        } else {
            new.root
        };
        return same(&expected, &old.root);
    }
    let mut place = Place::new(old.size - 1, new.size).ok_or(too_long)?;
    place.climb_from_right();
    // A full older tree is a node of the newer one, and not told again.
    let (first, rest) = match old.size.is_power_of_two() {
        true => (&old.root, path),
        false => path.split_first().ok_or(too_long)?,
    };
    let (mut found_old, mut found_new) = (*first, *first);
    for hash in rest {
        match place.step().ok_or(too_long)? {
            Side::Left => {
                found_old = hash::node(hash, &found_old);
                found_new = hash::node(hash, &found_new);
            }
            Side::Right => found_new = hash::node(&found_new, hash),
        }
    }
    place.ended(path.len())?;
    same(&old.root, &found_old)?;
    same(&new.root, &found_new)
}

/// On which side of the node so far the next hash of a proof stands.
enum Side {
    Left,
    Right,
}

/// A node on the way up, and the last node of its level: `fn` and `sn` of RFC 9162.
struct Place {
    node: u64,
    last: u64,
}

impl Place {
    fn new(node: u64, size: u64) -> Option<Place> {
        let last = size.checked_sub(1)?;
        Some(Place { node, last })
    }

    fn up(&mut self) {
        self.node >>= 1;
        self.last >>= 1;
    }

    /// Up to the widest subtree that ends with this node.
    fn climb_from_right(&mut self) {
        while self.node & 1 == 1 {
            self.up();
        }
    }

    /// One level up, or several where the node has no sibling; `None` at the root.
    fn step(&mut self) -> Option<Side> {
        if self.last == 0 {
            return None;
        }
        let side = if self.node & 1 == 1 || self.node == self.last {
            while self.node & 1 == 0 && self.node != 0 {
                self.up();
            }
            Side::Left
        } else {
            Side::Right
        };
        self.up();
        Some(side)
    }

    fn ended(&self, found: usize) -> Result<(), ProofFault> {
        match self.last {
            0 => Ok(()),
            _ => Err(ProofFault::Length { found }),
        }
    }
}

fn same(expected: &Digest, found: &Digest) -> Result<(), ProofFault> {
    if expected == found {
        return Ok(());
    }
    Err(ProofFault::Root {
        expected: *expected,
        found: *found,
    })
}

/// Two or more leaves, parted at the largest power of two below their number.
fn halves(leaves: &[Leaf]) -> Option<(&[Leaf], &[Leaf])> {
    if leaves.len() < 2 {
        return None;
    }
    leaves.split_at_checked(leaves.len().next_power_of_two() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
