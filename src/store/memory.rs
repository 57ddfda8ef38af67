//! A store in memory: what the rules are tried against where no file is wanted.

use super::{Capture, Read, Record, Store, StoreError, Transaction, check_bounds};
use crate::types::{Digest, Seq};
use std::collections::BTreeMap;

/// A store that ends with its process. Transactions exclude each other by `&mut`.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger {
    records: Vec<Record>,
    captures: BTreeMap<Digest, Capture>,
}

impl MemoryLedger {
    /// A store without a record.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The index of `seq` in a list; past every list's end if it does not fit.
fn place(seq: Seq) -> usize {
    usize::try_from(seq.0).unwrap_or(usize::MAX)
}

/// The seq of the item at `place` of a list.
fn seq(place: usize) -> Seq {
    Seq(u64::try_from(place).unwrap_or(u64::MAX))
}

impl Read for MemoryLedger {
    fn head(&self) -> Result<Option<(Seq, Record)>, StoreError> {
        let newest = self.records.iter().enumerate().next_back();
        Ok(newest.map(|(place, record)| (seq(place), record.clone())))
    }

    fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError> {
        Ok(self.records.get(place(seq)).cloned())
    }

    fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError> {
        let rows = self.records.iter().enumerate().skip(place(from));
        Ok(rows
            .take(limit)
            .map(|(place, record)| (seq(place), record.clone()))
            .collect())
    }

    fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError> {
        Ok(self.captures.get(commitment).cloned())
    }
}

/// The store under a transaction, and what is needed to undo it.
struct Undoable<'a> {
    ledger: &'a mut MemoryLedger,
    records_before: usize,
    captures_before: Vec<(Digest, Option<Capture>)>,
}

impl Undoable<'_> {
    fn undo(self) {
        self.ledger.records.truncate(self.records_before);
        for (commitment, before) in self.captures_before.into_iter().rev() {
            match before {
                Some(capture) => self.ledger.captures.insert(commitment, capture),
                None => self.ledger.captures.remove(&commitment),
            };
        }
    }
}

impl Read for Undoable<'_> {
    fn head(&self) -> Result<Option<(Seq, Record)>, StoreError> {
        self.ledger.head()
    }

    fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError> {
        self.ledger.get(seq)
    }

    fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.ledger.scan(from, limit)
    }

    fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError> {
        self.ledger.capture(commitment)
    }
}

impl Transaction for Undoable<'_> {
    fn append(&mut self, records: &[Record], captures: &[Capture]) -> Result<(), StoreError> {
        check_bounds(records, captures)?;
        self.ledger.records.extend_from_slice(records);
        for capture in captures {
            if !self.ledger.captures.contains_key(&capture.commitment) {
                self.captures_before.push((capture.commitment, None));
                self.ledger
                    .captures
                    .insert(capture.commitment, capture.clone());
            }
        }
        Ok(())
    }

    fn erase(&mut self, commitments: &[Digest]) -> Result<(), StoreError> {
        for commitment in commitments {
            let before = self.ledger.captures.remove(commitment);
            self.captures_before.push((*commitment, before));
        }
        Ok(())
    }
}

impl Store for MemoryLedger {
    fn transact<T, E, F>(&mut self, work: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: FnOnce(&mut dyn Transaction) -> Result<T, E>,
    {
        let mut transaction = Undoable {
            records_before: self.records.len(),
            captures_before: Vec::new(),
            ledger: self,
        };
        let result = work(&mut transaction);
        if result.is_err() {
            transaction.undo();
        }
        result
    }
}
