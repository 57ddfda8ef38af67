//! What this machine verified of a store: read through its index, and brought up to its head.

use crate::append::LedgerError;
use crate::chain::{self, ChainFault, FaultKind, VerifiedEvent, Walk};
use crate::refusal::{Refusal, Rule};
use crate::slice::{self, Index, Indexed, Question, Subject};
use crate::state::State;
use crate::store::positions::{IndexRow, Positions};
use crate::store::{Read, Record};
use crate::types::{Leaf, Seq};

/// How many records are read at a time, so that no writer waits for a reader.
pub(crate) const BATCH: usize = 1024;
/// Up to how many new events each is judged on its own slice.
const FEW: u64 = 32;
/// How many times shorter than the chain the new part must be for that to be worth it beyond few.
const SHORT: u64 = 200;

pub(crate) fn missing(seq: Seq) -> ChainFault {
    ChainFault {
        seq,
        kind: FaultKind::Missing,
    }
}

/// The index over the store: positions from the one, records from the other, accepted by leaf.
pub(crate) struct Verified<'a, R: Read + ?Sized, P> {
    pub(crate) store: &'a R,
    pub(crate) positions: &'a P,
}

impl<R: Read + ?Sized, P: Positions> Verified<'_, R, P> {
    pub(crate) fn accept(&self, seq: Seq, record: &Record) -> Result<Indexed, LedgerError> {
        let (leaf, refused) = self.positions.event(seq)?.ok_or_else(|| missing(seq))?;
        let event = chain::accept(seq, &record.0, leaf)?;
        let refusal = refused.map(|text| judgement(&text)).transpose()?;
        Ok(Indexed { event, refusal })
    }
}

impl<R: Read + ?Sized, P: Positions> Index for Verified<'_, R, P> {
    type Error = LedgerError;

    fn all(&self, subject: &Subject) -> Result<Vec<Seq>, LedgerError> {
        Ok(self.positions.all(&subject.key())?)
    }

    fn first(&self, subject: &Subject) -> Result<Option<Seq>, LedgerError> {
        Ok(self.positions.first(&subject.key())?)
    }

    fn last(&self, subject: &Subject, at_most: Seq) -> Result<Option<Seq>, LedgerError> {
        Ok(self.positions.last(&subject.key(), at_most)?)
    }

    fn holds(&self, seq: Seq) -> Result<bool, LedgerError> {
        Ok(self.positions.event(seq)?.is_some())
    }

    fn event(&self, seq: Seq) -> Result<Indexed, LedgerError> {
        let record = self.store.get(seq)?.ok_or_else(|| missing(seq))?;
        self.accept(seq, &record)
    }
}

/// The text by which an index keeps a judgement: the rule's name, a line feed, the detail.
fn judgement_text(refusal: &Refusal) -> String {
    format!("{}\n{}", refusal.rule, refusal.detail)
}

fn judgement(text: &str) -> Result<Refusal, LedgerError> {
    let (name, detail) = text.split_once('\n').unwrap_or((text, ""));
    match Rule::ALL.iter().find(|rule| rule.as_str() == name) {
        Some(rule) => Ok(Refusal {
            rule: *rule,
            detail: detail.to_owned(),
        }),
        None => Err(LedgerError::Judgement(name.to_owned())),
    }
}

pub(crate) fn row(before: &State, event: &VerifiedEvent, refusal: Option<&Refusal>) -> IndexRow {
    let seq = event.event().seq;
    let entry = slice::entry(before, event.event(), refusal);
    let mut add: Vec<_> = entry
        .add
        .iter()
        .map(|subject| (subject.key(), seq))
        .collect();
    add.extend(
        entry
            .open_to_inheritance
            .map(|session| (Subject::Frontier.key(), session)),
    );
    IndexRow {
        seq,
        leaf: event.leaf(),
        refused: refusal.map(judgement_text),
        add,
        remove: entry
            .remove
            .iter()
            .map(|(subject, seq)| (subject.key(), *seq))
            .collect(),
    }
}

/// Brings an index up to the head of a store, verifying each new record.
///
/// # Errors
/// `Rollback` or `Fork` if the store is not an extension of what was verified; `Fault` where the
/// new part is broken.
pub fn catch_up<R: Read + ?Sized, P: Positions>(
    store: &R,
    positions: &mut P,
) -> Result<(), LedgerError> {
    // In this order: another process may append and bring the index there between the two, which
    // looks like a rollback if the store was asked first.
    let seen = positions.head()?;
    let Some((head, _)) = store.head()? else {
        return match seen {
            Some((seen, _)) => Err(LedgerError::Rollback {
                seen,
                found: Seq::ZERO,
            }),
            None => Err(LedgerError::Empty),
        };
    };
    if let Some((seq, expected)) = seen {
        extends(store, seq, expected)?;
    }
    let known = seen.map_or(0, |(seq, _)| seq.0 + 1);
    let new = (head.0 + 1).saturating_sub(known);
    if new == 0 {
        return Ok(());
    }
    if known > 0 && (new <= FEW || new.saturating_mul(SHORT) < head.0) {
        return advance_by_slices(store, positions, head);
    }
    advance_by_fold(store, positions, head)
}

/// Whether the store still holds the head that was verified.
///
/// # Errors
/// `Rollback` if it ends before, `Fork` if another event is there.
pub(crate) fn extends<R: Read + ?Sized>(
    store: &R,
    seq: Seq,
    expected: Leaf,
) -> Result<(), LedgerError> {
    let found = store.head()?.map_or(Seq::ZERO, |(head, _)| head);
    if found < seq {
        return Err(LedgerError::Rollback { seen: seq, found });
    }
    let record = store.get(seq)?.ok_or_else(|| missing(seq))?;
    let found = record.leaf();
    if found == expected {
        Ok(())
    } else {
        Err(LedgerError::Fork {
            seq,
            expected,
            found,
        })
    }
}

fn first_fault(mut faults: Vec<ChainFault>, seq: Seq) -> ChainFault {
    if faults.is_empty() {
        missing(seq)
    } else {
        faults.swap_remove(0)
    }
}

fn advance_by_slices<R: Read + ?Sized, P: Positions>(
    store: &R,
    positions: &mut P,
    head: Seq,
) -> Result<(), LedgerError> {
    loop {
        let seen = positions.head()?;
        let next = seen.map_or(Seq::ZERO, |(seq, _)| seq.next());
        if next > head {
            return Ok(());
        }
        let record = store.get(next)?.ok_or_else(|| missing(next))?;
        let event = Walk::after(seen)
            .step(next, &record.0)
            .map_err(|faults| first_fault(faults, next))?;
        let verified = Verified { store, positions };
        let before = slice::slice(&verified, &Question::of(event.event()))?;
        let refusal = before.judge(&event);
        let row = row(&before, &event, refusal.as_ref());
        positions.advance(seen, &[row])?;
    }
}

fn advance_by_fold<R: Read + ?Sized, P: Positions>(
    store: &R,
    positions: &mut P,
    head: Seq,
) -> Result<(), LedgerError> {
    let seen = positions.head()?;
    let mut walk = Walk::after(seen);
    let mut state = State::new();
    let mut from = seen;
    let mut next = Seq::ZERO;
    while next <= head {
        let mut rows = Vec::new();
        let batch = store.scan(next, BATCH)?;
        if batch.is_empty() {
            return Err(missing(next).into());
        }
        for (seq, record) in batch.into_iter().take_while(|(seq, _)| *seq <= head) {
            if seen.is_some_and(|(seen, _)| seq <= seen) {
                let indexed = Verified { store, positions }.accept(seq, &record)?;
                state.apply_judged(&indexed.event, indexed.refusal);
            } else {
                let event = walk
                    .step(seq, &record.0)
                    .map_err(|faults| first_fault(faults, seq))?;
                let refusal = state.judge(&event);
                rows.push(row(&state, &event, refusal.as_ref()));
                state.apply_judged(&event, refusal);
            }
            next = seq.next();
        }
        if let Some(last) = rows.last().map(|row| (row.seq, row.leaf)) {
            if !positions.advance(from, &rows)? {
                // Another process got ahead; what it verified it verified as we do.
                return catch_up(store, positions);
            }
            from = Some(last);
        }
    }
    Ok(())
}
