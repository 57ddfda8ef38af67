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
