//! Which probes a session must run to know what it may inherit.

use crate::event::{BoundaryReverified, NotProbedWhy, ReverifiedEntry};
use crate::probe_spec::Probe;
use crate::state::State;
use crate::types::{ClaimId, Digest, PublicKey, Seq, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Most entries of one `boundary.reverified`, so that its record stays within its length.
const ENTRIES_MAX: usize = 256;
/// The same where entries hold asserted values, of up to 4 KiB each.
const ASSERTED_ENTRIES_MAX: usize = 8;

/// A probe to run, once, however many axes are observed by it.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The probe.
    pub probe: Probe,
    /// The axes it observes, ascending.
    pub axes: Vec<Seq>,
    /// Who recorded the newest of them.
    pub key: PublicKey,
}

/// The claims that are asked about, and what they are derived from.
pub fn closure(state: &State, lineage: &BTreeSet<Seq>, only: &[ClaimId]) -> BTreeSet<ClaimId> {
    let mut closure = BTreeSet::new();
    let mut left: Vec<ClaimId> = only.to_vec();
    while let Some(claim) = left.pop() {
        if !closure.insert(claim.clone()) {
            continue;
        }
        let supports = state
            .claims()
            .get(&claim)
            .map(|claim| claim.supports.as_slice());
        let supports = supports.unwrap_or_default().iter();
        let supports = supports.filter_map(|seq| state.supports().get(seq));
        let supports = supports.filter(|support| lineage.contains(&support.session));
        left.extend(supports.flat_map(|support| support.body.from.iter().cloned()));
    }
    closure
}

/// The axes to observe: those that a live support of the lineage needs and, unless only some claims
/// are asked about, recorded axes that their session lets drift.
pub fn axes(state: &State, session: Seq, only: &[ClaimId]) -> BTreeSet<Seq> {
    let lineage = state.lineage(session);
    let asked = closure(state, &lineage, only);
    let mut axes = BTreeSet::new();
    for support in state.supports().values() {
        let retracted = state.retracted(&support.body.claim);
        let live = retracted.is_none_or(|retraction| retraction < support.seq)
            && !state.is_void(support.seq);
        let wanted = only.is_empty() || asked.contains(&support.body.claim);
        if lineage.contains(&support.session) && live && wanted {
            axes.extend(&support.body.needs);
        }
    }
    if only.is_empty() {
        let ambient = state.axes().values().filter(|axis| {
            lineage.contains(&axis.session) && state.is_ambient(axis.session, &axis.body.axis)
        });
        axes.extend(ambient.map(|axis| axis.seq));
    }
    axes.retain(|axis| !state.is_void(*axis));
    axes
}

/// The probes to run, each once, newest axis first, taking turns between the keys that recorded.
pub fn plan(state: &State, axes: &BTreeSet<Seq>) -> Vec<Planned> {
    let mut by_probe: BTreeMap<Digest, Planned> = BTreeMap::new();
    for axis in axes {
        let Some(record) = state.axes().get(axis) else {
            continue;
        };
        let Some(receipt) = state.receipts().get(&record.body.receipt) else {
            continue;
        };
        let planned = by_probe
            .entry(receipt.body.probe_digest)
            .or_insert_with(|| Planned {
                probe: receipt.body.probe.clone(),
                axes: Vec::new(),
                key: record.key,
            });
        planned.axes.push(*axis);
        planned.key = record.key;
    }
    let mut queues: BTreeMap<PublicKey, Vec<Planned>> = BTreeMap::new();
    for planned in by_probe.into_values() {
        queues.entry(planned.key).or_default().push(planned);
    }
    for queue in queues.values_mut() {
        queue.sort_by_key(|planned| planned.axes.last().copied());
    }
    let mut order = Vec::new();
    while queues.values().any(|queue| !queue.is_empty()) {
        order.extend(queues.values_mut().filter_map(Vec::pop));
    }
    order
}

/// What was found of an axis.
#[derive(Debug, Clone)]
pub enum Found {
    /// This receipt of its probe.
    Receipt(Seq),
    /// A value that somebody asserted.
    Asserted(Value),
    /// Nothing, and why.
    NotProbed(NotProbedWhy),
}

/// The events that say what was found; one at least, perhaps empty.
pub fn events(found: BTreeMap<Seq, Found>) -> Vec<BoundaryReverified> {
    let entries: Vec<ReverifiedEntry> = found.into_iter().map(entry).collect();
    if entries.is_empty() {
        return vec![BoundaryReverified { entries }];
    }
    let asserted = entries.iter().any(|entry| entry.asserted.is_some());
    let most = if asserted {
        ASSERTED_ENTRIES_MAX
    } else {
        ENTRIES_MAX
    };
    entries
        .chunks(most)
        .map(|entries| BoundaryReverified {
            entries: entries.to_vec(),
        })
        .collect()
}

fn entry((axis, found): (Seq, Found)) -> ReverifiedEntry {
    let (mut asserted, mut receipt, mut unverifiable) = (None, None, None);
    match found {
        Found::Receipt(seq) => receipt = Some(seq),
        Found::Asserted(value) => asserted = Some(value),
        Found::NotProbed(why) => unverifiable = Some(why),
    }
    ReverifiedEntry {
        asserted,
        axis,
        receipt,
        unverifiable,
    }
}
