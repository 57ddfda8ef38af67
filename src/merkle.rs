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
                let split = several.len().next_power_of_two() / 2;
                let (left, right) = several.split_at(split);
                hash::node(&by_definition(left), &by_definition(right))
            }
        }
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
}
