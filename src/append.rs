//! The one write path, and the one way to read what this machine has verified.
//!
//! A [`Ledger`] is a store and this machine's index of it. Before anything is read or written the
//! index is brought up to the store's head, verifying each record; what is written is judged by the
//! same rules as the fold's, signed, checked as a reader would, and appended in one transaction.
//! Time and keys are arguments.

use crate::catch_up::{BATCH, Verified, catch_up, missing, row};
use crate::chain::{ChainFault, VerifiedEvent, Walk};
use crate::credential::{self, Found};
use crate::event::{Body, Event};
use crate::format::{self, DecodeError};
use crate::kept::{CommittedTo, OtherContent};
use crate::key::SigningKey;
use crate::refusal::Refusal;
use crate::rules;
use crate::slice::{self, Question};
use crate::state::State;
use crate::store::positions::{IndexRow, Positions};
use crate::store::{Capture, Record, Store, StoreError, Transaction};
use crate::types::{Digest, Head, Leaf, LedgerId, Seq, Time};
use serde_json::Value;

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
    #[error("rolled back: this machine saw it up to event {seen}, the ledger ends at {found}")]
    Rollback {
        /// The head verified before.
        seen: Seq,
        /// The ledger's head, or 0 if it is empty.
        found: Seq,
    },
    /// The ledger is another history than the one this machine verified.
    #[error("forked: this machine saw event {seq} as {expected}, the ledger has {found}")]
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
    /// A text of the event looks like a credential, and would be in the chain for good.
    #[error("{} looks like a credential (rule {}); nothing was recorded", .0.field, .0.rule)]
    Credential(Found),
    /// An event is out of its bounds.
    #[error("the event cannot be recorded: {0}")]
    Unspeakable(#[from] DecodeError),
    /// What is kept outside the chain is not what an event commits to.
    #[error(transparent)]
    Content(#[from] OtherContent),
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

    /// The store, to set how it works; what it holds is written by [`Ledger::append`] alone.
    pub(crate) fn store_mut(&mut self) -> &mut S {
        &mut self.store
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

    /// What is kept under a commitment, if it is what an event commits to by it.
    ///
    /// # Errors
    /// `Content` if it is something else; what the store failed with.
    pub fn capture(
        &self,
        commitment: &Digest,
        committed: CommittedTo,
    ) -> Result<Option<Capture>, LedgerError> {
        let kept = self.store.capture(commitment)?;
        Ok(committed.accept(commitment, kept)?)
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

    /// What was computed of all events up to one, if it was kept.
    ///
    /// # Errors
    /// What the index failed with.
    pub fn computed(&self, up_to: Seq) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.positions.computed(up_to)?)
    }

    /// Keeps what was computed of all events up to one of those that were verified.
    ///
    /// # Errors
    /// What the index failed with.
    pub fn keep_computed(&self, up_to: Seq, bytes: &[u8]) -> Result<(), LedgerError> {
        Ok(self.positions.keep_computed(up_to, bytes)?)
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
            if !pen.erased.is_empty() {
                tx.erase(&pen.erased)?;
            }
            written = pen.rows;
            Ok((head, outcome))
        })?;
        // It is recorded, whatever becomes of the index: the next to open that catches up.
        let taken_in = positions.advance(from, &written);
        *behind = taken_in.and_then(|_| positions.wrote()).err();
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

/// What writes events one after the other, each on the state that the one before left.
pub struct Pen<'a> {
    state: State,
    last: Option<(Seq, Leaf)>,
    signer: &'a SigningKey,
    time: Time,
    records: Vec<Record>,
    captures: Vec<Capture>,
    erased: Vec<Digest>,
    rows: Vec<IndexRow>,
}

impl<'a> Pen<'a> {
    fn new(state: State, last: Option<(Seq, Leaf)>, signer: &'a SigningKey, time: Time) -> Pen<'a> {
        Pen {
            state,
            last,
            signer,
            time,
            records: Vec::new(),
            captures: Vec::new(),
            erased: Vec::new(),
            rows: Vec::new(),
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
        let bytes = format::encode(&event)?;
        // First, for the refusal of a rule may quote the event.
        self.refuse_credentials(&event.body, &bytes)?;
        rules::permits(&self.state, &event)?;
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
        // The event and what it says are one transaction, whoever writes it.
        if let Body::CaptureErased(body) = &event.body {
            self.erased.extend(body.commitments.iter());
        }
        self.last = Some((event.seq, verified.leaf()));
        self.records.push(Record(record));
        Ok(event.seq)
    }

    /// Refuses a body with a credential in it. A probe that stands in the chain already is passed
    /// over: what it names is out, and who inherits it cannot help it.
    fn refuse_credentials(&self, body: &Body, event_bytes: &[u8]) -> Result<(), LedgerError> {
        let event: Value =
            serde_json::from_slice(event_bytes).map_err(|error| DecodeError::Malformed {
                detail: error.to_string(),
            })?;
        let mut texts = event.get("body").cloned().unwrap_or_default();
        if let (Body::ProbeReceipt(receipt), Some(texts)) = (body, texts.as_object_mut())
            && self.state.knows_probe(&receipt.probe_digest)
        {
            texts.remove("probe");
        }
        match credential::find_in("", &texts) {
            Some(found) => Err(LedgerError::Credential(found)),
            None => Ok(()),
        }
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
