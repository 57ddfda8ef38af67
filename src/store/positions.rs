//! What an index answers: which seqs concern a subject, and the leaves of the events.

use super::StoreError;
use crate::types::{Leaf, Seq};

/// Length of a subject's key, in bytes: see [`crate::hash::subject`].
pub const KEY_BYTES: usize = 16;

/// What a verified event adds to the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRow {
    /// The event's position.
    pub seq: Seq,
    /// Its leaf.
    pub leaf: Leaf,
    /// Why it is refused; `None` if it is lawful.
    pub refused: Option<String>,
    /// Keys of the subjects that it concerns.
    pub add: Vec<([u8; KEY_BYTES], Seq)>,
    /// Earlier entries that it makes superfluous.
    pub remove: Vec<([u8; KEY_BYTES], Seq)>,
}

/// What was verified of a ledger, by position and by subject.
pub trait Positions {
    /// The newest event that is known.
    ///
    /// # Errors
    /// Whatever keeps the index from being read; so for every method here.
    fn head(&self) -> Result<Option<(Seq, Leaf)>, StoreError>;

    /// The leaf of an event, and why it is refused if it is.
    ///
    /// # Errors
    /// See [`Positions::head`].
    fn event(&self, seq: Seq) -> Result<Option<(Leaf, Option<String>)>, StoreError>;

    /// All positions of a subject, ascending.
    ///
    /// # Errors
    /// See [`Positions::head`].
    fn all(&self, key: &[u8; KEY_BYTES]) -> Result<Vec<Seq>, StoreError>;

    /// The first position of a subject.
    ///
    /// # Errors
    /// See [`Positions::head`].
    fn first(&self, key: &[u8; KEY_BYTES]) -> Result<Option<Seq>, StoreError>;

    /// The last position of a subject, at or before `at_most`.
    ///
    /// # Errors
    /// See [`Positions::head`].
    fn last(&self, key: &[u8; KEY_BYTES], at_most: Seq) -> Result<Option<Seq>, StoreError>;

    /// Runs look-ups that must fit together on one state of the index, whoever advances it
    /// meanwhile; each costs less then.
    ///
    /// # Errors
    /// What `work` returned.
    fn snapshot<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E>
    where
        Self: Sized,
    {
        work(self)
    }

    /// Adds rows, all or none, if the head is still `expected` (`None`: nothing is known yet);
    /// whether it was. If not, another process was here first, and the index is left alone.
    ///
    /// # Errors
    /// [`StoreError::NotNext`] if `rows` do not follow `expected` one by one.
    fn advance(
        &mut self,
        expected: Option<(Seq, Leaf)>,
        rows: &[IndexRow],
    ) -> Result<bool, StoreError>;

    /// What was computed of all events up to one, if it was kept.
    ///
    /// # Errors
    /// See [`Positions::head`].
    fn computed(&self, _up_to: Seq) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    /// Keeps what was computed of all events up to one, which this index knows: it stays true,
    /// since they do. Of the newest few positions only.
    ///
    /// # Errors
    /// See [`Positions::head`].
    fn keep_computed(&self, _up_to: Seq, _bytes: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    /// Told after this machine wrote to the ledger and [`Positions::advance`] took it in.
    ///
    /// # Errors
    /// What kept it from being remembered.
    fn wrote(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
