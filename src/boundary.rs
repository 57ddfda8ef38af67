//! The boundary record: what a seal binds.
//!
//! It is everything the session lawfully said before its seal, voided or not, with each axis's
//! value and the claims it is load-bearing for. It is not stored; a seal holds its digest, and
//! anyone recomputes it.

use crate::event::{
    ActionGated, AmbientDeclared, AxisRecorded, BoundaryReverified, ClaimDiscarded, ClaimFlagged,
    ClaimPromotionRefused, ClaimRetracted, Counts, ProbeBegun, ProbeReceipt, Redacted,
    SessionOpened,
};
use crate::facts::{Fact, Support};
use crate::hash;
use crate::state::State;
use crate::types::{Ascending, ClaimId, Digest, Seq, Text, Value};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The boundary record of a session. Members stand in canonical order.
#[derive(Debug, Clone, Serialize)]
pub struct Boundary {
    ambient: Vec<Entry<AmbientDeclared>>,
    axes: Vec<BoundAxis>,
    begun: Vec<Entry<ProbeBegun>>,
    claims: Vec<BoundSupport>,
    discards: Vec<Entry<ClaimDiscarded>>,
    flags: Vec<Entry<ClaimFlagged>>,
    gates: Vec<Entry<ActionGated>>,
    opened: Entry<SessionOpened>,
    promotions: Vec<BoundSupport>,
    promotions_refused: Vec<Entry<ClaimPromotionRefused>>,
    receipts: Vec<Entry<ProbeReceipt>>,
    retractions: Vec<Entry<ClaimRetracted>>,
    reverified: Vec<Entry<BoundaryReverified>>,
}

/// An event's body at its position.
#[derive(Debug, Clone, Serialize)]
struct Entry<T> {
    body: T,
    seq: Seq,
}

#[derive(Debug, Clone, Serialize)]
struct BoundAxis {
    body: AxisRecorded,
    load_bearing_for: Ascending<ClaimId>,
    probe_digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<Redacted>,
    seq: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
}

#[derive(Debug, Clone, Serialize)]
struct BoundSupport {
    claim: ClaimId,
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<Seq>,
    from: Vec<ClaimId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    independent: Option<Text>,
    needs: Vec<Seq>,
    receipts: Vec<Seq>,
    seq: Seq,
    statement: Text,
}

impl Boundary {
    /// The boundary record of a session as it stands; `None` if there is no such session.
    pub fn of(state: &State, session: Seq) -> Option<Boundary> {
        let own_session = state.sessions().get(&session)?;
        let opened = &own_session.opened;
        let supports = |promoted: bool| {
            own(since(state.supports(), session), session)
                .filter(|support| support.body.flag.is_some() == promoted)
                .map(bound_support)
                .collect()
        };
        let mut relying: BTreeMap<Seq, BTreeSet<&ClaimId>> = BTreeMap::new();
        for support in own(since(state.supports(), session), session) {
            for axis in &support.body.needs {
                relying
                    .entry(*axis)
                    .or_default()
                    .insert(&support.body.claim);
            }
        }
        Some(Boundary {
            ambient: entries(&own_session.ambient, session),
            axes: own(since(state.axes(), session), session)
                .filter_map(|axis| bound_axis(state, axis, relying.remove(&axis.seq)))
                .collect(),
            begun: entries(since(&state.begun, session), session),
            claims: supports(false),
            discards: entries(since(state.discards(), session), session),
            flags: entries(since(state.flags(), session), session),
            gates: entries(since(&state.gates, session), session),
            opened: Entry {
                body: opened.body.clone(),
                seq: opened.seq,
            },
            promotions: supports(true),
            promotions_refused: entries(since(&state.promotions_refused, session), session),
            receipts: entries(since(state.receipts(), session), session),
            retractions: entries(since(state.retractions(), session), session),
            reverified: entries(&own_session.reverified, session),
        })
    }

    /// Its digest, over its canonical JSON; `None` only if it could not be spelled.
    pub fn digest(&self) -> Option<Digest> {
        serde_json::to_vec(self)
            .ok()
            .map(|canonical| hash::boundary(&canonical))
    }

    /// How many lawful events of each kind it holds.
    pub fn counts(&self) -> Counts {
        let count = |list: usize| u64::try_from(list).unwrap_or(u64::MAX);
        Counts {
            ambient: count(self.ambient.len()),
            axes: count(self.axes.len()),
            claims: count(self.claims.len()),
            discards: count(self.discards.len()),
            flags: count(self.flags.len()),
            promotions: count(self.promotions.len()),
            receipts: count(self.receipts.len()),
            retractions: count(self.retractions.len()),
        }
    }
}

/// The facts from a session's opening on. All that is a session's follows its opening, so a seal
/// costs what came since, not what came before.
fn since<T>(facts: &BTreeMap<Seq, Fact<T>>, session: Seq) -> impl Iterator<Item = &Fact<T>> {
    facts.range(session..).map(|(_, fact)| fact)
}

fn own<'a, T: 'a>(
    facts: impl IntoIterator<Item = &'a Fact<T>>,
    session: Seq,
) -> impl Iterator<Item = &'a Fact<T>> {
    facts
        .into_iter()
        .filter(move |fact| fact.session == session)
}

fn entries<'a, T: Clone + 'a>(
    facts: impl IntoIterator<Item = &'a Fact<T>>,
    session: Seq,
) -> Vec<Entry<T>> {
    own(facts, session)
        .map(|fact| Entry {
            body: fact.body.clone(),
            seq: fact.seq,
        })
        .collect()
}

fn bound_axis(
    state: &State,
    axis: &Fact<AxisRecorded>,
    relying: Option<BTreeSet<&ClaimId>>,
) -> Option<BoundAxis> {
    let receipt = state.receipts().get(&axis.body.receipt)?;
    let relying = relying.into_iter().flatten().cloned();
    Some(BoundAxis {
        body: axis.body.clone(),
        load_bearing_for: Ascending::from_unordered(relying),
        probe_digest: receipt.body.probe_digest,
        redacted: receipt.body.redacted.clone(),
        seq: axis.seq,
        value: receipt.body.value.clone(),
    })
}

fn bound_support(support: &Fact<Support>) -> BoundSupport {
    let Support {
        claim,
        receipts,
        needs,
        from,
        from_bound_by: _,
        independent,
        statement,
        flag,
    } = &support.body;
    BoundSupport {
        claim: claim.clone(),
        flag: *flag,
        from: from.clone(),
        independent: independent.clone(),
        needs: needs.clone(),
        receipts: receipts.clone(),
        seq: support.seq,
        statement: statement.clone(),
    }
}
