//! The tree over the leaves of a chain: RFC 6962 section 2.1.

use crate::hash;
use crate::types::{Digest, Leaf};

/// The tree over the leaves added so far, as the roots of its full subtrees, the widest first.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    subtrees: Vec<Subtree>,
}

#[derive(Debug, Clone, Copy)]
struct Subtree {
    /// Leaves below it: a power of two.
    width: u64,
    root: Digest,
}

impl Tree {
    /// A tree without leaves.
    pub fn new() -> Tree {
        Tree::default()
    }

    /// Adds the next leaf.
    pub fn add(&mut self, leaf: Leaf) {
        let mut new = Subtree {
            width: 1,
            root: Digest(leaf.0),
        };
        while let Some(left) = self.subtrees.pop_if(|left| left.width == new.width) {
            new = Subtree {
                width: left.width.saturating_mul(2),
                root: hash::node(&left.root, &new.root),
            };
        }
        self.subtrees.push(new);
    }

    /// The root over the leaves added so far; `None` while there is none.
    pub fn root(&self) -> Option<Digest> {
        let mut from_right = self.subtrees.iter().rev().map(|subtree| subtree.root);
        let rightmost = from_right.next()?;
        Some(from_right.fold(rightmost, |right, left| hash::node(&left, &right)))
    }
}

/// A tree as one names it: how many leaves, and the root over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    /// Number of leaves.
    pub size: u64,
    /// The root over them.
    pub root: Digest,
}

impl TreeHead {
    /// The tree over `leaves`; of none, the root is the hash of nothing (RFC 6962 section 2.1).
    pub fn of(leaves: &[Leaf]) -> TreeHead {
        TreeHead {
            size: u64::try_from(leaves.len()).unwrap_or(u64::MAX),
            root: root_over(leaves),
        }
    }
}

/// The root over `leaves`, or the hash of nothing.
pub(crate) fn root_over(leaves: &[Leaf]) -> Digest {
    let mut tree = Tree::new();
    for leaf in leaves {
        tree.add(*leaf);
    }
    tree.root().unwrap_or_else(|| hash::bytes(&[]))
}
