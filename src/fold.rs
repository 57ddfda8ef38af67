//! The only place where state changes.
//!
//! The fold is total: every verified event is taken in, and one that the rules do not permit
//! changes nothing but the list of refused events.

use crate::chain::VerifiedEvent;
use crate::event::{
    AxisRecorded, Body, ClaimDiscarded, ClaimFlagged, ClaimPromoted, ClaimRetracted, Event,
    FORMAT_VERSION, KeyAuthorized, KeyRevoked, LedgerOpened, LedgerUpgraded, ProbeReceipt,
    RULES_VERSION, Role, SessionOpened,
};
use crate::facts::{Claim, End, Fact, Key, Ledger, Revocation, Said, Session, Support};
use crate::lineage::Sessions;
use crate::observation;
use crate::refusal::{Refusal, Rule};
use crate::rules;
use crate::state::State;
use crate::types::{ClaimId, Leaf, LedgerId, Name, PublicKey, Seq};
use std::collections::{BTreeMap, BTreeSet};

impl State {
    /// Judges an event on the state just before it, and takes it in.
    ///
    /// Returns why it is refused, if it is.
    pub fn apply(&mut self, event: &VerifiedEvent) -> Option<Refusal> {
        let refusal = self.judge(event);
        self.apply_judged(event, refusal.clone());
        refusal
    }

    /// Why an event is refused on this state, if it is. Beyond an upgrade that this program does
    /// not know nothing is judged.
    pub fn judge(&self, event: &VerifiedEvent) -> Option<Refusal> {
        match self.undetermined {
            Some(_) => None,
            None => rules::permits(self, event.event()).err(),
        }
    }

    /// Takes in an event that was judged before, on the whole chain.
    pub fn apply_judged(&mut self, event: &VerifiedEvent, refusal: Option<Refusal>) {
        let (leaf, event) = (event.leaf(), event.event());
        if self.head.is_some_and(|(_, _, time)| event.time < time) {
            self.clock_went_back.push(event.seq);
        }
        self.head = Some((event.seq, leaf, event.time));
        match refusal {
            _ if self.undetermined.is_some() => {}
            Some(refusal) => {
                if refusal.rule == Rule::Boundary {
                    *self.wrong_seals.entry(event.session).or_default() += 1;
                }
                self.refused.insert(event.seq, refusal);
            }
            None => self.take_in(event, leaf),
        }
    }

    fn take_in(&mut self, event: &Event, leaf: Leaf) {
        let said = said(event);
        if self.is_voided(event.seq, &said, &self.void) {
            self.void.insert(event.seq);
        }
        self.said.insert(event.seq, said);
        if let Some(session) = self.sessions.get_mut(&event.session) {
            session.acted |= is_act(&event.body);
        }
        match &event.body {
            Body::LedgerOpened(body) => self.ledger_opened(event, leaf, body),
            Body::LedgerUpgraded(body) => self.ledger_upgraded(event, body),
            Body::KeyAuthorized(body) => self.key_authorized(event, body),
            Body::KeyRevoked(body) => self.key_revoked(event, body),
            Body::SessionOpened(body) => self.session_opened(event, body),
            Body::SessionSealed(_) => self.session_ended(event.session, End::Sealed(event.seq)),
            Body::SessionAbandoned(body) => {
                self.session_ended(body.session, End::Abandoned(event.seq));
            }
            Body::AmbientDeclared(body) => {
                if let Some(session) = self.sessions.get_mut(&event.session) {
                    for entry in &body.entries {
                        let allowed = session.allowed.entry(entry.name.clone());
                        allowed.or_insert(event.seq);
                    }
                    session.ambient.push(fact(event, body.clone()));
                }
            }
            Body::BoundaryReverified(body) => {
                if let Some(session) = self.sessions.get_mut(&event.session) {
                    for (index, entry) in body.entries.iter().enumerate() {
                        let told = session.told.entry(entry.axis).or_default();
                        told.push((session.reverified.len(), index));
                    }
                    session.reverified.push(fact(event, body.clone()));
                }
            }
            Body::ProbeBegun(body) => {
                self.begun.insert(event.seq, fact(event, body.clone()));
            }
            Body::ProbeReceipt(body) => self.probe_receipt(event, body),
            Body::AxisRecorded(body) => self.axis_recorded(event, body),
            Body::ActionGated(body) => {
                self.gates.insert(event.seq, fact(event, body.clone()));
            }
            Body::ActionFinished(body) => {
                self.finished.insert(body.gate, fact(event, body.clone()));
            }
            Body::ClaimVerified(body) => self.supported(event, Support::verified(body)),
            Body::ClaimPromoted(body) => self.claim_promoted(event, body),
            Body::ClaimFlagged(body) => self.claim_flagged(event, body),
            Body::ClaimDiscarded(body) => self.claim_discarded(event, body),
            Body::ClaimPromotionRefused(body) => {
                self.spoken_of(&body.claim)
                    .promotions_refused
                    .push(event.seq);
                self.promotions_refused
                    .insert(event.seq, fact(event, body.clone()));
            }
            Body::ClaimRetracted(body) => self.claim_retracted(event, body),
            Body::CaptureErased(body) => {
                self.erased
                    .extend(body.commitments.iter().map(|digest| (*digest, event.seq)));
            }
            Body::EventAcknowledged(body) => {
                self.acknowledged = self.acknowledged.max(Some(body.up_to));
            }
            Body::Unknown(_) => {}
        }
    }

    fn ledger_opened(&mut self, event: &Event, leaf: Leaf, body: &LedgerOpened) {
        self.ledger = Some(Ledger {
            id: LedgerId(leaf.0),
            root: event.key,
            name: body.name.clone(),
            policy: body.policy.clone(),
            rules: body.rules,
            v: FORMAT_VERSION,
        });
        self.enrol(
            event,
            event.key,
            &body.name,
            vec![Role::Admin, Role::Recorder],
        );
        if body.rules > RULES_VERSION {
            self.undetermined = Some(event.seq);
        }
    }

    fn ledger_upgraded(&mut self, event: &Event, body: &LedgerUpgraded) {
        if let Some(ledger) = &mut self.ledger {
            (ledger.rules, ledger.v) = (body.rules, body.v);
        }
        if body.rules > RULES_VERSION || body.v > FORMAT_VERSION {
            self.undetermined = Some(event.seq);
        }
    }

    fn key_authorized(&mut self, event: &Event, body: &KeyAuthorized) {
        self.enrol(event, body.key, &body.label, body.roles.to_vec());
    }

    fn enrol(&mut self, event: &Event, id: PublicKey, label: &Name, roles: Vec<Role>) {
        let (label, authorized, by) = (label.clone(), event.seq, event.key);
        self.labels.insert(label.clone());
        self.keys.insert(
            id,
            Key {
                label,
                roles,
                authorized,
                by,
                revoked: None,
            },
        );
    }

    fn key_revoked(&mut self, event: &Event, body: &KeyRevoked) {
        if let Some(key) = self.keys.get_mut(&body.key) {
            let before = key.revoked.and_then(|before| before.compromised_since);
            let compromised_since = body.compromised_since;
            key.revoked = Some(Revocation {
                seq: event.seq,
                compromised_since,
            });
            if compromised_since != before {
                self.void_anew();
            }
        }
    }

    /// Whether a lawful event is void, given which before it are.
    fn is_voided(&self, seq: Seq, said: &Said, void: &BTreeSet<Seq>) -> bool {
        let revoked = self.keys.get(&said.key).and_then(|key| key.revoked);
        let since = revoked.and_then(|revocation| revocation.compromised_since);
        said.voidable
            && (since.is_some_and(|since| seq >= since)
                || said.cites.iter().any(|cited| void.contains(cited)))
    }

    fn void_anew(&mut self) {
        let mut void = BTreeSet::new();
        for (seq, said) in &self.said {
            if self.is_voided(*seq, said, &void) {
                void.insert(*seq);
            }
        }
        self.void = void;
        self.bind_anew();
    }

    /// What binds each id, once other events are void than were.
    fn bind_anew(&mut self) {
        for stated in self.stated.values_mut() {
            stated.open.clear();
        }
        for claim in self.claims.values_mut() {
            let stands = |seq: &Seq| !self.void.contains(seq);
            claim.first_support = claim.supports.iter().copied().find(stands);
            let newest = claim.flags.iter().rev().copied().find(stands);
            let discards = claim.discards.iter().filter(|seq| stands(seq));
            let mut discards = discards.filter_map(|seq| self.discards.get(seq));
            let is_discarded = discards.any(|discard| discard.body.flag == newest);
            claim.open_flag = newest.filter(|_| !is_discarded);
            if let Some(flag) = claim.open_flag.and_then(|flag| self.flags.get(&flag)) {
                let stated = self.stated.entry(flag.body.statement.clone());
                stated.or_default().open.insert(flag.seq);
            }
        }
    }

    /// Nothing is open under an id any more.
    fn close_flag(&mut self, claim: &ClaimId) {
        let open = self
            .claims
            .get_mut(claim)
            .and_then(|it| it.open_flag.take());
        let flag = open.and_then(|flag| self.flags.get(&flag));
        if let Some(flag) = flag
            && let Some(stated) = self.stated.get_mut(&flag.body.statement)
        {
            stated.open.remove(&flag.seq);
        }
    }

    fn session_opened(&mut self, event: &Event, body: &SessionOpened) {
        let mut ancestors = Sessions::default();
        // The newest first: most often it has the others' ancestors too.
        for inherited in body.inherits.iter().rev() {
            if !self.is_in(&ancestors, *inherited) {
                ancestors.extend(&self.lineage_of(*inherited));
            }
        }
        self.openings.push(event.seq);
        let session = Session {
            opened: fact(event, body.clone()),
            ancestors,
            allowed: BTreeMap::new(),
            told: BTreeMap::new(),
            end: None,
            ambient: Vec::new(),
            reverified: Vec::new(),
            acted: false,
        };
        self.sessions.insert(event.seq, session);
    }

    fn session_ended(&mut self, session: Seq, end: End) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.end = Some(end);
        }
    }

    fn probe_receipt(&mut self, event: &Event, body: &ProbeReceipt) {
        let probe = (event.session, body.probe_digest);
        let receipts = self.receipts_of.entry(probe).or_default();
        let failed = self.failed.entry(body.probe_digest).or_default();
        if let Some(before) = receipts.last() {
            failed.remove(before);
        }
        if observation::has_finished(body) && !observation::is_successful(body) {
            failed.insert(event.seq, event.session);
        }
        receipts.insert(event.seq);
        self.receipts.insert(event.seq, fact(event, body.clone()));
    }

    fn axis_recorded(&mut self, event: &Event, body: &AxisRecorded) {
        let named = self.axes_named.entry(body.axis.clone()).or_default();
        named.entry(event.session).or_default().insert(event.seq);
        self.axes.insert(event.seq, fact(event, body.clone()));
    }

    fn claim_promoted(&mut self, event: &Event, body: &ClaimPromoted) {
        if let Some(flag) = self.flags.get(&body.flag) {
            let statement = flag.body.statement.clone();
            self.supported(event, Support::promoted(body, statement));
        }
    }

    fn claim_flagged(&mut self, event: &Event, body: &ClaimFlagged) {
        // The rules let nothing be flagged on void ground: the flag is open.
        self.close_flag(&body.claim);
        let claim = self.spoken_of(&body.claim);
        claim.flags.push(event.seq);
        claim.open_flag = Some(event.seq);
        claim.flagged_by.entry(event.key).or_insert(event.seq);
        let stated = self.stated.entry(body.statement.clone()).or_default();
        stated.ids.insert(body.claim.clone());
        stated.open.insert(event.seq);
        self.flags.insert(event.seq, fact(event, body.clone()));
    }

    fn claim_discarded(&mut self, event: &Event, body: &ClaimDiscarded) {
        let claim = self.spoken_of(&body.claim);
        claim.discards.push(event.seq);
        if body.flag.is_some() && claim.open_flag == body.flag {
            self.close_flag(&body.claim);
        }
        self.discards.insert(event.seq, fact(event, body.clone()));
    }

    fn claim_retracted(&mut self, event: &Event, body: &ClaimRetracted) {
        for claim in body.claims.iter() {
            self.spoken_of(claim).retractions.push(event.seq);
        }
        self.retractions
            .insert(event.seq, fact(event, body.clone()));
    }

    fn supported(&mut self, event: &Event, mut support: Support) {
        let from = support.from.iter();
        support.from_bound_by = from.map(|claim| self.bound_by(claim)).collect();
        for name in support.needs.iter().filter_map(|axis| self.axes.get(axis)) {
            let needed = (event.session, name.body.axis.clone());
            let claim = || support.claim.clone();
            self.needed.entry(needed).or_insert_with(claim);
        }
        let claim = self.spoken_of(&support.claim);
        claim.supports.push(event.seq);
        claim.first_support = claim.first_support.or(Some(event.seq));
        let stated = self.stated.entry(support.statement.clone()).or_default();
        stated.ids.insert(support.claim.clone());
        self.supports.insert(event.seq, fact(event, support));
    }

    fn spoken_of(&mut self, claim: &ClaimId) -> &mut Claim {
        self.claims.entry(claim.clone()).or_default()
    }
}

fn fact<T>(event: &Event, body: T) -> Fact<T> {
    Fact {
        seq: event.seq,
        session: event.session,
        key: event.key,
        time: event.time,
        body,
    }
}

/// Whether an event is something of a session's own, that a seal would have to bind.
fn is_act(body: &Body) -> bool {
    !matches!(body, Body::AmbientDeclared(_) | Body::SessionSealed(_))
}

/// Who said an event, and what it cites through a receipt, an axis or a flag.
fn said(event: &Event) -> Said {
    // What announced a receipt, and what let an action run, is neither.
    let is_cited = !matches!(event.body, Body::ProbeReceipt(_) | Body::ActionFinished(_));
    let cites = if is_cited {
        event.body.references()
    } else {
        Vec::new()
    };
    let voidable = !matches!(
        event.body,
        Body::LedgerOpened(_)
            | Body::LedgerUpgraded(_)
            | Body::KeyAuthorized(_)
            | Body::KeyRevoked(_)
            | Body::EventAcknowledged(_)
    );
    Said {
        key: event.key,
        cites,
        voidable,
    }
}
