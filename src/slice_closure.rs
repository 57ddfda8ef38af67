//! The events that can bear on a question, found step by step through an index.

use crate::event::{Body, Event};
use crate::observation;
use crate::slice::{Index, Indexed, Question, Subject};
use crate::types::{AxisName, ClaimId, Digest, INTEGER_MAX, Seq, Text};
use std::collections::{BTreeMap, BTreeSet};

/// A position at or after every other.
const LAST: Seq = Seq(INTEGER_MAX);

/// The events found so far, and what has been followed already.
pub(crate) struct Closure<'i, I: Index> {
    index: &'i I,
    events: BTreeMap<Seq, Indexed>,
    session: Option<Seq>,
    lineage: BTreeSet<Seq>,
    taken: BTreeSet<Seq>,
    sessions_seen: BTreeSet<Seq>,
    statements_seen: BTreeSet<Text>,
    claims_seen: BTreeSet<ClaimId>,
    /// Claims still to be followed: a list, for claims derive from claims without end.
    claims_left: Vec<ClaimId>,
    /// Whether some key is compromised, so that the newest record of a name may be void.
    voidness: bool,
}

/// Whether the sessions before those that may be inherited matter: without a session, what is shown
/// is theirs; and where other sessions are taken in, they tell which of those are inherited
/// already.
fn needs_ancestors_of_frontier(question: &Question) -> bool {
    let shown = question.all_claims || !question.claims.is_empty();
    let sessions_alone = Question {
        sessions: true,
        ..Question::default()
    };
    (question.session.is_none() && shown) || (question.sessions && *question != sessions_alone)
}

impl<'i, I: Index> Closure<'i, I> {
    /// Everything that can bear on a question.
    pub(crate) fn of(
        index: &'i I,
        question: &Question,
    ) -> Result<BTreeMap<Seq, Indexed>, I::Error> {
        let mut closure = Closure {
            index,
            events: BTreeMap::new(),
            session: question.session,
            lineage: BTreeSet::new(),
            taken: BTreeSet::new(),
            sessions_seen: BTreeSet::new(),
            statements_seen: BTreeSet::new(),
            claims_seen: BTreeSet::new(),
            claims_left: Vec::new(),
            voidness: false,
        };
        closure.ledger()?;
        if let Some(session) = question.session {
            closure.lineage(session)?;
        }
        if needs_ancestors_of_frontier(question) {
            for sealed in index.all(&Subject::Frontier)? {
                let ancestors = closure.ancestors(sealed)?;
                if question.session.is_none() {
                    closure.lineage.extend(ancestors);
                }
            }
        }
        closure.ask(question)?;
        closure.follow_claims()?;
        Ok(closure.events)
    }

    fn ask(&mut self, question: &Question) -> Result<(), I::Error> {
        if question.sessions {
            for subject in [Subject::Unsealed, Subject::Frontier] {
                for session in self.index.all(&subject)? {
                    self.session(session)?;
                }
            }
        }
        if question.erasures {
            self.take_all(&Subject::Erasures)?;
        }
        for name in &question.names {
            self.name(name)?;
        }
        for seq in &question.cited {
            self.cited(*seq, question.bracket)?;
        }
        for probe in &question.probes {
            self.observed(*probe, LAST)?;
        }
        for statement in &question.statements {
            self.statement(statement)?;
        }
        for claim in &question.claims {
            self.claim(claim);
        }
        if let Some(session) = question.session {
            for name in &question.needed_names {
                self.take_all(&Subject::Needs(session, name.clone()))?;
            }
            if question.boundary {
                self.take_all(&Subject::Own(session))?;
            }
        }
        if question.all_claims {
            self.take_all(&Subject::Unfinished)?;
            self.all_claims()?;
        }
        Ok(())
    }

    /// Takes in the event at a position, and says what it is.
    fn fetch(&mut self, seq: Seq) -> Result<Event, I::Error> {
        if let Some(indexed) = self.events.get(&seq) {
            return Ok(indexed.event.event().clone());
        }
        let indexed = self.index.event(seq)?;
        let event = indexed.event.event().clone();
        self.events.insert(seq, indexed);
        Ok(event)
    }

    /// Takes in an event with its session and all that it refers to; of an axis, also what the
    /// asking session knows of it.
    fn take(&mut self, seq: Seq) -> Result<Event, I::Error> {
        let event = self.fetch(seq)?;
        let known = !self.taken.insert(seq);
        let refused = self
            .events
            .get(&seq)
            .is_some_and(|indexed| indexed.refusal.is_some());
        // What a refused event refers to may not be there.
        if known || refused {
            return Ok(event);
        }
        self.session(event.session)?;
        for cited in event.body.references() {
            self.take(cited)?;
        }
        if let Body::AxisRecorded(body) = &event.body {
            self.axis(seq, body.receipt)?;
        }
        Ok(event)
    }

    fn take_all(&mut self, subject: &Subject) -> Result<(), I::Error> {
        for seq in self.index.all(subject)? {
            self.take(seq)?;
        }
        Ok(())
    }

    /// The newest of a subject; all of it where the newest may be void.
    fn newest(&self, subject: &Subject) -> Result<Vec<Seq>, I::Error> {
        if self.voidness {
            return self.index.all(subject);
        }
        Ok(self.index.last(subject, LAST)?.into_iter().collect())
    }

    fn ledger(&mut self) -> Result<(), I::Error> {
        for seq in self.index.all(&Subject::Ledger)? {
            if let Body::KeyRevoked(body) = self.fetch(seq)?.body {
                self.voidness |= body.compromised_since.is_some();
            }
        }
        Ok(())
    }

    /// A session's opening, end and ambient declarations, and that it has reverified.
    fn session(&mut self, session: Seq) -> Result<(), I::Error> {
        if session == Seq::ZERO || !self.sessions_seen.insert(session) {
            return Ok(());
        }
        for seq in self.index.all(&Subject::Session(session))? {
            self.fetch(seq)?;
        }
        // The first is void last: later events of the same key are void whenever it is.
        if let Some(first) = self.index.first(&Subject::Reverified(session))? {
            self.fetch(first)?;
        }
        Ok(())
    }

    fn lineage(&mut self, session: Seq) -> Result<(), I::Error> {
        let lineage = self.ancestors(session)?;
        self.lineage.extend(lineage);
        Ok(())
    }

    /// A session and all that it inherits, transitively.
    fn ancestors(&mut self, session: Seq) -> Result<BTreeSet<Seq>, I::Error> {
        let mut ancestors = BTreeSet::new();
        let mut left = vec![session];
        while let Some(session) = left.pop() {
            if !ancestors.insert(session) {
                continue;
            }
            self.session(session)?;
            let opened = self
                .events
                .get(&session)
                .map(|indexed| indexed.event.event());
            if let Some(Body::SessionOpened(body)) = opened.map(|event| &event.body) {
                left.extend(body.inherits.iter());
            }
        }
        Ok(ancestors)
    }

    /// The records that a name may stand for in the session.
    fn name(&mut self, name: &AxisName) -> Result<(), I::Error> {
        for session in self.lineage.clone() {
            for record in self.newest(&Subject::Axis(session, name.clone()))? {
                self.take(record)?;
            }
        }
        Ok(())
    }

    /// A cited event, and what it takes to judge the citation; `bracket` is the first receipt of
    /// the proof that cites it. What is not there is cited in vain.
    fn cited(&mut self, seq: Seq, bracket: Option<Seq>) -> Result<(), I::Error> {
        if !self.index.holds(seq)? {
            return Ok(());
        }
        let event = self.take(seq)?;
        if let Body::SessionOpened(_) = &event.body {
            self.session(seq)?;
        }
        if let Body::ProbeReceipt(body) = &event.body {
            self.observed(body.probe_digest, LAST)?;
        }
        if let (Body::AxisRecorded(body), Some(first)) = (&event.body, bracket)
            && let Some(probe) = self.probe_of(body.receipt)
        {
            self.observed(probe, first)?;
        }
        if let Body::ClaimFlagged(body) = &event.body {
            self.claim(&body.claim);
        }
        if let Body::ActionGated(_) = &event.body {
            self.take_all(&Subject::Gate(seq))?;
        }
        Ok(())
    }

    fn probe_of(&self, receipt: Seq) -> Option<Digest> {
        let indexed = self.events.get(&receipt)?;
        if let Body::ProbeReceipt(body) = &indexed.event.event().body {
            Some(body.probe_digest)
        } else {
            None
        }
    }

    /// What the asking session knows of an axis.
    fn axis(&mut self, axis: Seq, receipt: Seq) -> Result<(), I::Error> {
        if let Some(probe) = self.probe_of(receipt) {
            self.observed(probe, LAST)?;
        }
        if let Some(session) = self.session {
            for seq in self.newest(&Subject::Unprobed(session, axis))? {
                self.fetch(seq)?;
            }
        }
        Ok(())
    }

    /// The asking session's newest receipt of a probe, at or before a position.
    fn observed(&mut self, probe: Digest, at_most: Seq) -> Result<(), I::Error> {
        if let Some(session) = self.session
            && let Some(seq) = self
                .index
                .last(&Subject::Receipts(session, probe), at_most)?
        {
            self.take(seq)?;
        }
        Ok(())
    }

    /// Every claim that was bound to a statement.
    fn statement(&mut self, statement: &Text) -> Result<(), I::Error> {
        if !self.statements_seen.insert(statement.clone()) {
            return Ok(());
        }
        for seq in self.index.all(&Subject::Statement(statement.clone()))? {
            for claim in self.fetch(seq)?.body.claims() {
                self.claim(&claim);
            }
        }
        Ok(())
    }

    fn claim(&mut self, claim: &ClaimId) {
        if self.claims_seen.insert(claim.clone()) {
            self.claims_left.push(claim.clone());
        }
    }

    /// All that was said of the claims, and what their admissibility to the session rests on.
    fn follow_claims(&mut self) -> Result<(), I::Error> {
        while let Some(claim) = self.claims_left.pop() {
            for seq in self.index.all(&Subject::Claim(claim))? {
                let event = self.take(seq)?;
                if let Body::ClaimFlagged(body) = &event.body {
                    self.statement(&body.statement)?;
                }
                if let Body::ClaimVerified(body) = &event.body {
                    self.support(&event, &body.receipts, &body.needs, &body.from)?;
                }
                if let Body::ClaimPromoted(body) = &event.body {
                    self.support(&event, &[body.receipt], &body.needs, &body.from)?;
                }
            }
        }
        Ok(())
    }

    /// The claims that a support is derived from, and the evidence against it.
    fn support(
        &mut self,
        event: &Event,
        receipts: &[Seq],
        needs: &[Seq],
        from: &[ClaimId],
    ) -> Result<(), I::Error> {
        if !self.lineage.contains(&event.session) {
            return Ok(());
        }
        for claim in from {
            self.claim(claim);
        }
        let proofs: BTreeSet<Digest> = receipts
            .iter()
            .filter_map(|receipt| self.probe_of(*receipt))
            .collect();
        for session in self.lineage.clone() {
            for proof in &proofs {
                self.counter_evidence(event.seq, session, *proof, needs)?;
            }
        }
        Ok(())
    }

    fn counter_evidence(
        &mut self,
        support: Seq,
        session: Seq,
        proof: Digest,
        needs: &[Seq],
    ) -> Result<(), I::Error> {
        let newest = self.index.last(&Subject::Receipts(session, proof), LAST)?;
        let Some(run) = newest.filter(|run| *run > support) else {
            return Ok(());
        };
        let Body::ProbeReceipt(receipt) = self.take(run)?.body else {
            return Ok(());
        };
        if observation::is_successful(&receipt) {
            return Ok(());
        }
        for axis in needs {
            let Body::AxisRecorded(record) = self.take(*axis)?.body else {
                continue;
            };
            let probe = self.probe_of(record.receipt);
            let observed = probe.map(|probe| Subject::Receipts(session, probe));
            for subject in observed
                .into_iter()
                .chain([Subject::Unprobed(session, *axis)])
            {
                if let Some(seq) = self.index.last(&subject, run)? {
                    self.take(seq)?;
                }
            }
        }
        Ok(())
    }

    /// The records that a session lets drift.
    fn ambient(&mut self, session: Seq) -> Result<(), I::Error> {
        let names: BTreeSet<AxisName> = (self.events.values())
            .map(|indexed| indexed.event.event())
            .filter(|event| event.session == session)
            .filter_map(|event| {
                let Body::AmbientDeclared(body) = &event.body else {
                    return None;
                };
                Some(&body.entries)
            })
            .flatten()
            .map(|entry| entry.name.clone())
            .collect();
        for name in names {
            for record in self.newest(&Subject::Axis(session, name))? {
                self.take(record)?;
            }
        }
        Ok(())
    }

    /// Every claim of the lineage, and of sessions that are not sealed; and what the lineage lets
    /// drift.
    fn all_claims(&mut self) -> Result<(), I::Error> {
        for session in self.lineage.clone() {
            self.ambient(session)?;
        }
        let mut sessions = self.lineage.clone();
        sessions.extend(self.index.all(&Subject::Unsealed)?);
        for session in sessions {
            self.session(session)?;
            for seq in self.index.all(&Subject::Claims(session))? {
                for claim in self.fetch(seq)?.body.claims() {
                    self.claim(&claim);
                }
            }
        }
        Ok(())
    }
}
