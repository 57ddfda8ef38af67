//! The one write path, and the one way to read what this machine has verified.
//!
//! A [`Ledger`] is a store and this machine's index of it. Before anything is read or written the
//! index is brought up to the store's head, verifying each record; what is written is judged by the
//! same rules as the fold's, signed, checked as a reader would, and appended in one transaction.
//! Time and keys are arguments.

use crate::chain::{self, ChainFault, FaultKind, VerifiedEvent, Walk};
use crate::event::{Body, Event};
use crate::format::{self, DecodeError};
use crate::key::SigningKey;
use crate::rules::{self, Refusal, Rule};
use crate::slice::{self, Index, Indexed, Question, Subject};
use crate::state::State;
use crate::store::index::{IndexRow, Positions};
use crate::store::{Capture, Read, Record, Store, StoreError, Transaction};
use crate::types::{Head, Leaf, LedgerId, Seq, Time};

/// How many records are read at a time, so that no writer waits for a reader.
const BATCH: usize = 1024;
/// Up to how many new events each is judged on its own slice.
const FEW: u64 = 32;
/// How many times shorter than the chain the new part must be for that to be worth it beyond few.
const SHORT: u64 = 200;

/// Why a ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The chain is broken at an event.
    #[error(transparent)]
    Fault(#[from] ChainFault),
    /// The ledger is shorter than what this machine verified.
    #[error("rolled back: this machine verified up to event {seen}, the ledger ends at {found}")]
    Rollback {
        /// The head verified before.
        seen: Seq,
        /// The ledger's head, or 0 if it is empty.
        found: Seq,
    },
    /// The ledger is another history than the one this machine verified.
    #[error("forked: this machine verified event {seq} as {expected}, the ledger has {found}")]
    Fork {
        /// The head verified before.
        seq: Seq,
        /// Its leaf.
        expected: Leaf,
        /// The leaf in the ledger.
        found: Leaf,
    },
    /// The rules do not permit it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An event is out of its bounds.
    #[error("the event cannot be recorded: {0}")]
    Unspeakable(#[from] DecodeError),
    /// The index holds a judgement that this program does not know.
    #[error("the view holds {0:?}, which is no rule of this program")]
    Judgement(String),
    /// The ledger was upgraded beyond what this program can judge.
    #[error("event {0} upgraded the ledger beyond this program: everything is blocked")]
    Undetermined(Seq),
    /// There is no event yet.
    #[error("the ledger is empty")]
    Empty,
}

/// A store and this machine's index of what it verified there.
#[derive(Debug)]
pub struct Ledger<S, P> {
    store: S,
    positions: P,
    /// Why the index did not take in what was committed; it answers nothing more.
    behind: Option<StoreError>,
}

/// What was written.
#[derive(Debug)]
pub struct Appended<T> {
    /// The head after it.
    pub head: Head,
    /// What the writer made of it.
    pub outcome: T,
}

impl<S: Store, P: Positions> Ledger<S, P> {
    /// A ledger whose index is brought up to its head.
    ///
    /// # Errors
    /// What was wrong with the part that was new.
    pub fn open(store: S, mut positions: P) -> Result<Ledger<S, P>, LedgerError> {
        catch_up(&store, &mut positions)?;
        Ok(Ledger::caught_up(store, positions))
    }

    /// A ledger whose index [`catch_up`] has just brought to its head.
    pub(crate) fn caught_up(store: S, positions: P) -> Ledger<S, P> {
        let behind = None;
        Ledger {
            store,
            positions,
            behind,
        }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The head of what was verified.
    ///
    /// # Errors
    /// `Empty`, or what the index failed with.
    pub fn head(&self) -> Result<Head, LedgerError> {
        let (seq, leaf) = self.positions.head()?.ok_or(LedgerError::Empty)?;
        Ok(Head {
            ledger: ledger_id(&self.positions)?,
            seq,
            leaf,
        })
    }

    /// The state that answers a question.
    ///
    /// # Errors
    /// `Fault` if a record is no longer the one that was verified.
    pub fn ask(&self, question: &Question) -> Result<State, LedgerError> {
        self.verified()?;
        let Ledger {
            store, positions, ..
        } = self;
        positions.snapshot(|positions| slice::slice(&Verified { store, positions }, question))
    }

    fn verified(&self) -> Result<Verified<'_, S, P>, LedgerError> {
        match &self.behind {
            Some(error) => Err(error.clone().into()),
            None => Ok(Verified {
                store: &self.store,
                positions: &self.positions,
            }),
        }
    }

    /// The state up to an event, by folding everything.
    ///
    /// # Errors
    /// As [`Ledger::ask`].
    pub fn fold(&self, up_to: Seq) -> Result<State, LedgerError> {
        let mut state = State::new();
        self.replay(up_to, |event, refusal, _| {
            state.apply_judged(event, refusal)
        })?;
        Ok(state)
    }

    /// Hands each event up to one, in order, to `visit`, with its judgement and its record.
    ///
    /// # Errors
    /// As [`Ledger::ask`].
    pub fn replay(
        &self,
        up_to: Seq,
        visit: impl FnMut(&VerifiedEvent, Option<Refusal>, &Record),
    ) -> Result<(), LedgerError> {
        self.replay_from(Seq::ZERO, up_to, visit)
    }

    /// As [`Ledger::replay`], from an event on.
    ///
    /// # Errors
    /// As [`Ledger::ask`].
    pub fn replay_from(
        &self,
        from: Seq,
        up_to: Seq,
        mut visit: impl FnMut(&VerifiedEvent, Option<Refusal>, &Record),
    ) -> Result<(), LedgerError> {
        let verified = self.verified()?;
        let mut next = from;
        while next <= up_to {
            let batch = self.store.scan(next, BATCH)?;
            if batch.is_empty() {
                return Err(missing(next).into());
            }
            for (seq, record) in batch {
                if seq > up_to {
                    return Ok(());
                }
                let indexed = verified.accept(seq, &record)?;
                visit(&indexed.event, indexed.refusal, &record);
                next = seq.next();
            }
        }
        Ok(())
    }

    /// Writes what `work` says, in one transaction, on the state that answers `question`. The
    /// clock is read once, under the write lock.
    ///
    /// # Errors
    /// What `work` returned, and then nothing was written; or why it could not be written.
    pub fn append<T, E: From<LedgerError> + From<StoreError>>(
        &mut self,
        signer: &SigningKey,
        clock: impl FnOnce() -> Time,
        question: &Question,
        work: impl FnOnce(&mut Pen<'_>) -> Result<T, E>,
    ) -> Result<Appended<T>, E> {
        let Ledger {
            store,
            positions,
            behind,
        } = self;
        let mut written = Vec::new();
        let mut from = None;
        let (head, outcome) = store.transact(|tx: &mut dyn Transaction| -> Result<_, E> {
            catch_up(tx, positions)?;
            from = positions.head()?;
            let verified = Verified {
                store: tx,
                positions,
            };
            let state = slice::slice(&verified, question)?;
            if let Some(upgrade) = state.undetermined() {
                return Err(LedgerError::Undetermined(upgrade).into());
            }
            let mut pen = Pen::new(state, from, signer, clock());
            let outcome = work(&mut pen)?;
            let head = pen.head(positions)?;
            tx.append(&pen.records, &pen.captures)?;
            written = pen.rows;
            Ok((head, outcome))
        })?;
        // It is recorded, whatever becomes of the index: the next to open that catches up.
        *behind = positions.advance(from, &written).err();
        Ok(Appended { head, outcome })
    }
}

/// Opens a ledger: its first event, in a store that is empty.
///
/// # Errors
/// `Unspeakable` if the event is out of its bounds.
pub fn genesis(
    signer: &SigningKey,
    time: Time,
    body: Body,
) -> Result<(Record, LedgerId), LedgerError> {
    let mut pen = Pen::new(State::new(), None, signer, time);
    pen.write(Seq::ZERO, body)?;
    match pen.records.pop() {
        Some(record) => Ok((record.clone(), LedgerId(record.leaf().0))),
        None => Err(LedgerError::Empty),
    }
}

fn ledger_id(positions: &impl Positions) -> Result<LedgerId, LedgerError> {
    match positions.event(Seq::ZERO)? {
        Some((leaf, _)) => Ok(LedgerId(leaf.0)),
        None => Err(LedgerError::Empty),
    }
}

fn missing(seq: Seq) -> ChainFault {
    ChainFault {
        seq,
        kind: FaultKind::Missing,
    }
}

/// What writes events one after the other, each on the state that the one before left.
pub struct Pen<'a> {
    state: State,
    last: Option<(Seq, Leaf)>,
    signer: &'a SigningKey,
    time: Time,
    records: Vec<Record>,
    captures: Vec<Capture>,
    rows: Vec<IndexRow>,
}

impl<'a> Pen<'a> {
    fn new(state: State, last: Option<(Seq, Leaf)>, signer: &'a SigningKey, time: Time) -> Pen<'a> {
        let (records, captures, rows) = (Vec::new(), Vec::new(), Vec::new());
        Pen {
            state,
            last,
            signer,
            time,
            records,
            captures,
            rows,
        }
    }

    /// The state after what was written so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The time that events are dated.
    pub fn time(&self) -> Time {
        self.time
    }

    /// The signer's public key.
    pub fn key(&self) -> crate::types::PublicKey {
        self.signer.public()
    }

    /// The position of the next event.
    pub fn next(&self) -> Seq {
        self.last.map_or(Seq::ZERO, |(seq, _)| seq.next())
    }

    /// Whether an event would be permitted next.
    ///
    /// # Errors
    /// The rule that it would break.
    pub fn permits(&self, session: Seq, body: impl Into<Body>) -> Result<(), Refusal> {
        rules::permits(&self.state, &self.draft(session, body.into()))
    }

    /// Writes an event: judged, signed, and checked as any reader will.
    ///
    /// # Errors
    /// `Refused` by the rules, `Unspeakable` if out of its bounds.
    pub fn write(&mut self, session: Seq, body: impl Into<Body>) -> Result<Seq, LedgerError> {
        let event = self.draft(session, body.into());
        rules::permits(&self.state, &event)?;
        let bytes = format::encode(&event)?;
        let mut record = self.signer.sign(&bytes).to_vec();
        record.extend(bytes);
        let verified = match Walk::after(self.last).step(event.seq, &record) {
            Ok(verified) => verified,
            Err(faults) => {
                return Err(faults
                    .into_iter()
                    .next()
                    .map_or(LedgerError::Empty, Into::into));
            }
        };
        self.rows.push(row(&self.state, &verified, None));
        self.state.apply_judged(&verified, None);
        self.last = Some((event.seq, verified.leaf()));
        self.records.push(Record(record));
        Ok(event.seq)
    }

    /// Keeps captured output, or the salt of a redacted value.
    pub fn keep(&mut self, capture: Capture) {
        self.captures.push(capture);
    }

    fn draft(&self, session: Seq, body: Body) -> Event {
        Event {
            seq: self.next(),
            prev: self.last.map_or(Leaf::ZERO, |(_, leaf)| leaf),
            key: self.signer.public(),
            session,
            time: self.time,
            body,
        }
    }

    fn head(&self, positions: &impl Positions) -> Result<Head, LedgerError> {
        let (seq, leaf) = self.last.ok_or(LedgerError::Empty)?;
        Ok(Head {
            ledger: ledger_id(positions)?,
            seq,
            leaf,
        })
    }
}

/// The index over the store: positions from the one, records from the other, accepted by leaf.
struct Verified<'a, R: Read + ?Sized, P> {
    store: &'a R,
    positions: &'a P,
}

impl<R: Read + ?Sized, P: Positions> Verified<'_, R, P> {
    fn accept(&self, seq: Seq, record: &Record) -> Result<Indexed, LedgerError> {
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

fn row(before: &State, event: &VerifiedEvent, refusal: Option<&Refusal>) -> IndexRow {
    let seq = event.event().seq;
    let entry = slice::entry(before, event.event(), refusal.is_some());
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
    let Some((head, _)) = store.head()? else {
        return match positions.head()? {
            Some((seen, _)) => Err(LedgerError::Rollback {
                seen,
                found: Seq::ZERO,
            }),
            None => Err(LedgerError::Empty),
        };
    };
    let seen = positions.head()?;
    if let Some((seq, expected)) = seen {
        extends(store, seq, expected, head)?;
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
fn extends<R: Read + ?Sized>(
    store: &R,
    seq: Seq,
    expected: Leaf,
    head: Seq,
) -> Result<(), LedgerError> {
    if head < seq {
        return Err(LedgerError::Rollback {
            seen: seq,
            found: head,
        });
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
