//! Sets of sessions that share what they have in common.
//!
//! A session's ancestors are those of the sessions it inherits, and these. Kept each by itself, a
//! thousand sessions that inherit one another would be half a million entries; here a session that
//! adds one to another's ancestors adds one chunk.

use std::sync::Arc;

/// Words of a chunk, 64 sessions each.
const WORDS: usize = 64;
const WORD_BITS: usize = 64;

type Chunk = [u64; WORDS];

/// Sessions, by their numbers in the order of their openings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sessions {
    chunks: Vec<Arc<Chunk>>,
}

impl Sessions {
    pub(crate) fn contains(&self, number: usize) -> bool {
        let (chunk, word, bit) = place(number);
        let word = self.chunks.get(chunk).and_then(|chunk| chunk.get(word));
        word.is_some_and(|word| word & bit != 0)
    }

    pub(crate) fn insert(&mut self, number: usize) {
        let (chunk, word, bit) = place(number);
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk + 1, Arc::new([0; WORDS]));
        }
        let chunk = self.chunks.get_mut(chunk).map(Arc::make_mut);
        if let Some(word) = chunk.and_then(|chunk| chunk.get_mut(word)) {
            *word |= bit;
        }
    }

    /// Takes in all of another set.
    pub(crate) fn extend(&mut self, other: &Sessions) {
        for (mine, theirs) in self.chunks.iter_mut().zip(&other.chunks) {
            if Arc::ptr_eq(mine, theirs) || is_within(theirs, mine) {
                continue;
            }
            if is_within(mine, theirs) {
                *mine = Arc::clone(theirs);
                continue;
            }
            for (mine, theirs) in Arc::make_mut(mine).iter_mut().zip(theirs.iter()) {
                *mine |= theirs;
            }
        }
        let more = other.chunks.get(self.chunks.len()..).unwrap_or_default();
        self.chunks.extend_from_slice(more);
    }

    /// The numbers, ascending.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.chunks.iter().flat_map(|chunk| chunk.iter());
        let words = words.enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(index, word)| {
            let bits = (0..WORD_BITS).filter(move |bit| word & (1 << bit) != 0);
            bits.map(move |bit| index * WORD_BITS + bit)
        })
    }
}

fn place(number: usize) -> (usize, usize, u64) {
    let word = number / WORD_BITS;
    (word / WORDS, word % WORDS, 1 << (number % WORD_BITS))
}

fn is_within(part: &Chunk, whole: &Chunk) -> bool {
    part.iter()
        .zip(whole)
        .all(|(part, whole)| part & !whole == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_holds_what_was_put_in_and_nothing_else() {
        let numbers = BTreeSet::from([0, 1, 63, 64, 4_095, 4_096, 20_000]);
        let mut set = Sessions::default();
        for number in &numbers {
            assert!(!set.contains(*number));
            set.insert(*number);
        }
        assert_eq!(set.numbers().collect::<BTreeSet<_>>(), numbers);
        assert!((0..30_000).all(|it| set.contains(it) == numbers.contains(&it)));
    }

    #[test]
    fn a_union_is_that_of_the_numbers_and_leaves_the_other_as_it_is() {
        let of = |numbers: &[usize]| {
            let mut set = Sessions::default();
            numbers.iter().for_each(|it| set.insert(*it));
            set
        };
        let all: [&[usize]; 5] = [&[], &[3], &[3, 70], &[5, 9_000], &[3, 4_096]];
        for (one, other) in all.iter().flat_map(|one| all.map(|other| (*one, other))) {
            let (mut united, before) = (of(one), of(other));
            united.extend(&before);
            let expected: BTreeSet<usize> = one.iter().chain(other).copied().collect();
            assert_eq!(united.numbers().collect::<BTreeSet<_>>(), expected);
            assert_eq!(before, of(other));
        }
    }

    #[test]
    fn a_set_grown_from_another_shares_its_chunks() {
        let mut before = Sessions::default();
        (0..10_000).for_each(|number| before.insert(number));
        let mut after = Sessions::default();
        after.extend(&before);
        after.insert(10_000);
        let shared = before.chunks.iter().zip(&after.chunks);
        assert_eq!(shared.filter(|(a, b)| Arc::ptr_eq(a, b)).count(), 2);
    }
}
