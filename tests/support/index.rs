//! An index in memory, kept as the view keeps its own.

use super::History;
use handoff_ledger::refusal::Refusal;
use handoff_ledger::slice::{self, Index, Indexed, Subject};
use handoff_ledger::state::State;
use handoff_ledger::types::Seq;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Where the first events of a history are, by the key of their subject.
#[derive(Default)]
pub struct MemoryIndex {
    subjects: BTreeMap<[u8; 16], BTreeSet<Seq>>,
    events: Vec<Indexed>,
    /// How many events were read through it.
    pub read: Cell<usize>,
}

impl MemoryIndex {
    /// An index of a whole history.
    pub fn of(history: &History) -> MemoryIndex {
        let mut index = MemoryIndex::default();
        let mut state = State::new();
        for event in &history.events {
            index.add(&state, event, history.refusals.get(&event.event().seq));
            state.apply(event);
        }
        index
    }

    /// Takes in the next event, given the state just before it.
    pub fn add(
        &mut self,
        before: &State,
        event: &handoff_ledger::chain::VerifiedEvent,
        refusal: Option<&Refusal>,
    ) {
        let seq = event.event().seq;
        let entry = slice::entry(before, event.event(), refusal);
        for subject in &entry.add {
            self.insert(subject, seq);
        }
        for (subject, seq) in &entry.remove {
            if let Some(seqs) = self.subjects.get_mut(&subject.key()) {
                seqs.remove(seq);
            }
        }
        if let Some(session) = entry.open_to_inheritance {
            self.insert(&Subject::Frontier, session);
        }
        self.events.push(Indexed {
            event: event.clone(),
            refusal: refusal.cloned(),
        });
    }

    fn insert(&mut self, subject: &Subject, seq: Seq) {
        self.subjects.entry(subject.key()).or_default().insert(seq);
    }

    fn seqs(&self, subject: &Subject) -> BTreeSet<Seq> {
        self.subjects
            .get(&subject.key())
            .cloned()
            .unwrap_or_default()
    }
}

/// There is no event at this position.
#[derive(Debug, PartialEq, Eq)]
pub struct NoEvent(pub Seq);

impl Index for MemoryIndex {
    type Error = NoEvent;

    fn all(&self, subject: &Subject) -> Result<Vec<Seq>, NoEvent> {
        Ok(self.seqs(subject).into_iter().collect())
    }

    fn first(&self, subject: &Subject) -> Result<Option<Seq>, NoEvent> {
        Ok(self.seqs(subject).first().copied())
    }

    fn last(&self, subject: &Subject, at_most: Seq) -> Result<Option<Seq>, NoEvent> {
        Ok(self.seqs(subject).range(..=at_most).next_back().copied())
    }

    fn holds(&self, seq: Seq) -> Result<bool, NoEvent> {
        Ok(usize::try_from(seq.0).is_ok_and(|at| at < self.events.len()))
    }

    fn event(&self, seq: Seq) -> Result<Indexed, NoEvent> {
        self.read.set(self.read.get() + 1);
        let at = usize::try_from(seq.0).map_err(|_| NoEvent(seq))?;
        self.events.get(at).cloned().ok_or(NoEvent(seq))
    }
}
