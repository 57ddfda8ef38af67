//! What the events so far amount to.
//!
//! Only [`crate::fold`] changes a [`State`]. It keeps what was lawfully said, indexed by what can
//! be asked of it, and the refused events beside it. What of it still holds is for
//! [`crate::verdict`].
//!
//! Voidness is an overlay computed when asked: a key's last revocation decides which of its events
//! are void, and voidness passes to what cites them.

use crate::event::{
    ActionFinished, ActionGated, AxisRecorded, ClaimDiscarded, ClaimFlagged, ClaimPromotionRefused,
    ClaimRetracted, GateDecision, ProbeBegun, ProbeReceipt,
};
use crate::facts::{Claim, Fact, Key, Ledger, Said, Session, Stated, Support};
use crate::lineage::Sessions;
use crate::probe_spec::Comparator;
use crate::refusal::Refusal;
use crate::types::{AxisName, ClaimId, Digest, Head, Leaf, Name, PublicKey, Seq, Text, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The fold of a chain, or of the slice of it that answers a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    pub(crate) head: Option<(Seq, Leaf, Time)>,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) undetermined: Option<Seq>,
    pub(crate) said: BTreeMap<Seq, Said>,
    /// What of it is void by the revocations so far.
    pub(crate) void: BTreeSet<Seq>,
    pub(crate) keys: BTreeMap<PublicKey, Key>,
    pub(crate) labels: BTreeSet<Name>,
    /// The sessions in the order of their openings: a session's number is its place here.
    pub(crate) openings: Vec<Seq>,
    pub(crate) sessions: BTreeMap<Seq, Session>,
    pub(crate) begun: BTreeMap<Seq, Fact<ProbeBegun>>,
    pub(crate) receipts: BTreeMap<Seq, Fact<ProbeReceipt>>,
    pub(crate) receipts_of: BTreeMap<(Seq, Digest), BTreeSet<Seq>>,
    /// Of each probe the runs that finished unsuccessfully and are their session's latest, with it.
    pub(crate) failed: BTreeMap<Digest, BTreeMap<Seq, Seq>>,
    pub(crate) axes: BTreeMap<Seq, Fact<AxisRecorded>>,
    /// The records of a name, by session.
    pub(crate) axes_named: BTreeMap<AxisName, BTreeMap<Seq, BTreeSet<Seq>>>,
    pub(crate) supports: BTreeMap<Seq, Fact<Support>>,
    /// The first claim that a session's supports need an axis of a name for.
    pub(crate) needed: BTreeMap<(Seq, AxisName), ClaimId>,
    pub(crate) flags: BTreeMap<Seq, Fact<ClaimFlagged>>,
    pub(crate) discards: BTreeMap<Seq, Fact<ClaimDiscarded>>,
    pub(crate) promotions_refused: BTreeMap<Seq, Fact<ClaimPromotionRefused>>,
    pub(crate) retractions: BTreeMap<Seq, Fact<ClaimRetracted>>,
    pub(crate) gates: BTreeMap<Seq, Fact<ActionGated>>,
    pub(crate) finished: BTreeMap<Seq, Fact<ActionFinished>>,
    pub(crate) claims: BTreeMap<ClaimId, Claim>,
    pub(crate) stated: BTreeMap<Text, Stated>,
    pub(crate) erased: BTreeMap<Digest, Seq>,
    pub(crate) acknowledged: Option<Seq>,
    pub(crate) refused: BTreeMap<Seq, Refusal>,
    /// How many of them are seals of a session with another boundary than its own.
    pub(crate) wrong_seals: BTreeMap<Seq, usize>,
    pub(crate) clock_went_back: Vec<Seq>,
}

impl State {
    /// The state before the first event.
    pub fn new() -> State {
        State::default()
    }

    /// The last event taken in.
    pub fn head(&self) -> Option<Head> {
        let (seq, leaf, _) = self.head?;
        Some(Head {
            ledger: self.ledger.as_ref()?.id,
            seq,
            leaf,
        })
    }

    /// The time of the last event taken in.
    pub fn head_time(&self) -> Option<Time> {
        self.head.map(|(_, _, time)| time)
    }

    /// The ledger, once it is opened.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_ref()
    }

    /// The key that signed event 0.
    pub fn root(&self) -> Option<PublicKey> {
        self.ledger.as_ref().map(|ledger| ledger.root)
    }

    /// The upgrade beyond which this program cannot judge, if there is one.
    pub fn undetermined(&self) -> Option<Seq> {
        self.undetermined
    }

    /// The keys ever authorised, the root among them.
    pub fn keys(&self) -> &BTreeMap<PublicKey, Key> {
        &self.keys
    }

    /// The sessions, by the seq of their opening.
    pub fn sessions(&self) -> &BTreeMap<Seq, Session> {
        &self.sessions
    }

    /// The receipts.
    pub fn receipts(&self) -> &BTreeMap<Seq, Fact<ProbeReceipt>> {
        &self.receipts
    }

    /// The recorded axes.
    pub fn axes(&self) -> &BTreeMap<Seq, Fact<AxisRecorded>> {
        &self.axes
    }

    /// The supports.
    pub fn supports(&self) -> &BTreeMap<Seq, Fact<Support>> {
        &self.supports
    }

    /// The flags, open or not.
    pub fn flags(&self) -> &BTreeMap<Seq, Fact<ClaimFlagged>> {
        &self.flags
    }

    /// The discards.
    pub fn discards(&self) -> &BTreeMap<Seq, Fact<ClaimDiscarded>> {
        &self.discards
    }

    /// The retractions.
    pub fn retractions(&self) -> &BTreeMap<Seq, Fact<ClaimRetracted>> {
        &self.retractions
    }

    /// The claims ever spoken of.
    pub fn claims(&self) -> &BTreeMap<ClaimId, Claim> {
        &self.claims
    }

    /// The refused events, and why.
    pub fn refused(&self) -> &BTreeMap<Seq, Refusal> {
        &self.refused
    }

    /// Up to which seq the root knows of refused events.
    pub fn acknowledged(&self) -> Option<Seq> {
        self.acknowledged
    }

    /// Whether a receipt or a flag of this probe is in this state.
    pub fn knows_probe(&self, probe: &Digest) -> bool {
        let mut receipts = self.receipts.values();
        let mut flags = self.flags.values();
        receipts.any(|it| it.body.probe_digest == *probe)
            || flags.any(|it| it.body.step_digest == *probe)
    }

    /// The commands that gates let run and whose end is not recorded, by gate: each runs still, or
    /// never came back.
    pub fn unfinished(&self) -> impl Iterator<Item = &Fact<ActionGated>> {
        self.gates.values().filter(|gate| {
            gate.body.decision == GateDecision::Allowed && !self.finished.contains_key(&gate.seq)
        })
    }

    /// Commitments of captures that were erased, with the event that says so.
    pub fn erased(&self) -> &BTreeMap<Digest, Seq> {
        &self.erased
    }

    /// The events dated before the one before them: a warning, since order is seq.
    pub fn clock_went_back(&self) -> &[Seq] {
        &self.clock_went_back
    }

    /// Whether a lawful event is void: its key's last revocation reaches it, or it cites one that
    /// is void through a receipt, an axis or a flag.
    pub fn is_void(&self, seq: Seq) -> bool {
        self.void.contains(&seq)
    }

    /// The void events, ascending.
    pub fn voided(&self) -> Vec<Seq> {
        self.void.iter().copied().collect()
    }

    /// The keys that an admin, revoked since, authorised from the seq on at which it was
    /// compromised.
    pub fn authorized_by_compromised(&self) -> Vec<PublicKey> {
        let suspect = |key: &Key| {
            let by = self.keys.get(&key.by).and_then(|by| by.revoked);
            let since = by.and_then(|revocation| revocation.compromised_since);
            since.is_some_and(|since| key.authorized >= since)
        };
        self.keys
            .iter()
            .filter(|(_, key)| suspect(key))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Whether `key` is authorised and not revoked.
    pub fn may_write(&self, key: &PublicKey) -> bool {
        self.keys.get(key).is_some_and(|key| key.revoked.is_none())
    }

    /// How many seals of a session were refused for their boundary.
    pub(crate) fn wrong_seals(&self, session: Seq) -> usize {
        self.wrong_seals.get(&session).copied().unwrap_or_default()
    }

    /// The session and every sealed one it inherits, transitively.
    pub fn lineage(&self, session: Seq) -> BTreeSet<Seq> {
        self.listed(&self.lineage_of(session))
    }

    /// The lineage of a session; empty if there is no such session.
    pub(crate) fn lineage_of(&self, session: Seq) -> Sessions {
        let Some(known) = self.sessions.get(&session) else {
            return Sessions::default();
        };
        let mut lineage = known.ancestors.clone();
        if let Some(number) = self.number(session) {
            lineage.insert(number);
        }
        lineage
    }

    /// The openings of sessions.
    pub(crate) fn listed(&self, sessions: &Sessions) -> BTreeSet<Seq> {
        let openings = sessions.numbers();
        openings
            .filter_map(|number| self.openings.get(number))
            .copied()
            .collect()
    }

    /// The number of a session: how many were opened before it.
    pub(crate) fn number(&self, session: Seq) -> Option<usize> {
        self.openings.binary_search(&session).ok()
    }

    /// Whether a session is in a set of them.
    pub(crate) fn is_in(&self, sessions: &Sessions, session: Seq) -> bool {
        self.number(session)
            .is_some_and(|number| sessions.contains(number))
    }

    /// Whether a session is in the lineage of another.
    pub(crate) fn inherits(&self, session: Seq, ancestor: Seq) -> bool {
        let known = self.sessions.get(&session);
        known.is_some_and(|known| session == ancestor || self.is_in(&known.ancestors, ancestor))
    }

    /// The sealed sessions that no sealed session inherits: what a session inherits by default.
    pub fn frontier(&self) -> BTreeSet<Seq> {
        let sealed = || {
            self.sessions
                .iter()
                .filter(|(_, session)| session.is_sealed())
        };
        let mut frontier: BTreeSet<Seq> = sealed().map(|(seq, _)| *seq).collect();
        for (_, session) in sealed() {
            for inherited in session.opened.body.inherits.iter() {
                frontier.remove(inherited);
            }
        }
        frontier
    }

    /// The newest receipt of a probe in a session, at or before `at_most` if that is given.
    pub fn latest_receipt(
        &self,
        session: Seq,
        probe: Digest,
        at_most: Option<Seq>,
    ) -> Option<&Fact<ProbeReceipt>> {
        let seqs = self.receipts_of.get(&(session, probe))?;
        let newest = match at_most {
            None => seqs.last(),
            Some(at_most) => seqs.range(..=at_most).next_back(),
        };
        self.receipts.get(newest?)
    }

    /// The probe by which an axis is observed.
    pub fn axis_probe(&self, axis: Seq) -> Option<Digest> {
        let receipt = self.receipts.get(&self.axes.get(&axis)?.body.receipt)?;
        Some(receipt.body.probe_digest)
    }

    /// The newest record of a name in a session that is not void.
    pub fn latest_axis(&self, session: Seq, name: &AxisName) -> Option<&Fact<AxisRecorded>> {
        let records = self.axes_named.get(name)?.get(&session)?;
        let newest = records.iter().rev().find(|seq| !self.is_void(**seq))?;
        self.axes.get(newest)
    }

    /// Whether a session's unvoided declarations cover a name.
    pub fn is_ambient(&self, session: Seq, name: &AxisName) -> bool {
        let session = self.sessions.get(&session);
        let first = session.and_then(|session| session.allowed.get(name));
        first.is_some_and(|first| !self.is_void(*first))
    }

    /// Whether a flag is open: neither void, nor discarded, nor replaced by one that is not void.
    pub fn is_open(&self, flag: Seq) -> bool {
        let claim = self.flags.get(&flag).map(|fact| &fact.body.claim);
        let claim = claim.and_then(|claim| self.claims.get(claim));
        claim.is_some_and(|claim| claim.open_flag == Some(flag))
    }

    /// The open flag of an id, if it has one.
    pub fn open_flag(&self, claim: &ClaimId) -> Option<&Fact<ClaimFlagged>> {
        self.flags.get(&self.claims.get(claim)?.open_flag?)
    }

    /// The open flags of an exact statement, under whatever id.
    pub fn open_flags_stating(&self, statement: &Text) -> Vec<&Fact<ClaimFlagged>> {
        let stated = self.stated.get(statement);
        let open = stated.into_iter().flat_map(|stated| &stated.open);
        open.filter_map(|flag| self.flags.get(flag)).collect()
    }

    /// The ids that a support or flag with a statement was ever recorded of.
    pub(crate) fn ids_stating(&self, statement: &Text) -> impl Iterator<Item = &ClaimId> {
        let stated = self.stated.get(statement);
        stated.into_iter().flat_map(|stated| &stated.ids)
    }

    /// The statement that an id keeps, once an unvoided event bound it.
    pub fn statement(&self, claim: &ClaimId) -> Option<&Text> {
        self.stated_by(self.bound_by(claim)?)
    }

    /// The support or flag that binds an id to its statement: the earliest of those that count.
    pub(crate) fn bound_by(&self, claim: &ClaimId) -> Option<Seq> {
        let claim = self.claims.get(claim)?;
        claim.open_flag.into_iter().chain(claim.first_support).min()
    }

    /// What a support or a flag states.
    fn stated_by(&self, seq: Seq) -> Option<&Text> {
        let support = self.supports.get(&seq).map(|fact| &fact.body.statement);
        support.or_else(|| self.flags.get(&seq).map(|fact| &fact.body.statement))
    }

    /// The claim, of a support's own and those it is derived from, that states something else than
    /// what the support says or was derived from; if there is one.
    ///
    /// An id changes its statement where a revocation voids what bound it, or ceases to.
    pub(crate) fn restated<'s>(&self, support: &'s Support) -> Option<&'s ClaimId> {
        let own = (&support.claim, Some(&support.statement));
        let bound = support.from_bound_by.iter();
        let from = bound.map(|seq| seq.and_then(|seq| self.stated_by(seq)));
        std::iter::once(own)
            .chain(support.from.iter().zip(from))
            .find(|(claim, statement)| self.statement(claim) != *statement)
            .map(|(claim, _)| claim)
    }

    /// The newest retraction of a claim, void or not.
    pub fn retracted(&self, claim: &ClaimId) -> Option<Seq> {
        self.claims.get(claim)?.retractions.last().copied()
    }

    /// What an axis is to those who must need it: its probe and its comparator.
    pub fn axis_identity(&self, axis: Seq) -> Option<(Digest, &Comparator)> {
        Some((
            self.axis_probe(axis)?,
            &self.axes.get(&axis)?.body.comparator,
        ))
    }
}
