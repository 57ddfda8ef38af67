//! Which probes a session must run to know what it may inherit.

use crate::event::{BoundaryReverified, NotProbedWhy, ReverifiedEntry};
use crate::probe_spec::Probe;
use crate::state::State;
use crate::types::{ClaimId, Digest, PublicKey, Seq, Value};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// Who recorded them.
    pub keys: BTreeSet<PublicKey>,
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
            let latest = state.latest_axis(axis.session, &axis.body.axis);
            lineage.contains(&axis.session)
                && state.is_ambient(axis.session, &axis.body.axis)
                && latest.is_some_and(|latest| latest.seq == axis.seq)
        });
        axes.extend(ambient.map(|axis| axis.seq));
    }
    axes.retain(|axis| !state.is_void(*axis));
    axes
}

/// The probes to run, each once, that of the newest axis first.
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
                keys: BTreeSet::new(),
            });
        planned.axes.push(*axis);
        planned.keys.insert(record.key);
    }
    let mut order: Vec<Planned> = by_probe.into_values().collect();
    order.sort_by_key(|planned| Reverse(planned.axes.last().copied()));
    order
}

/// Whose probe runs next: recording keys take turns, and no key has more than its share of the
/// workers while another has probes that wait or run. So the slow probes of one cannot keep those
/// of another from being run before the deadline. A probe that several recorded is in the turn of
/// each.
#[derive(Debug)]
pub struct Turns {
    waiting: BTreeMap<PublicKey, VecDeque<usize>>,
    running: BTreeMap<PublicKey, usize>,
    taken: BTreeSet<usize>,
    workers: usize,
}

/// What a worker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Run this probe of the plan, in the turn of this key.
    Run(usize, PublicKey),
    /// Ask again later.
    Wait,
    /// Nothing is left.
    Over,
}

impl Turns {
    /// The turns of a plan, for so many workers.
    pub fn new(plan: &[Planned], workers: usize) -> Turns {
        let mut waiting: BTreeMap<PublicKey, VecDeque<usize>> = BTreeMap::new();
        for (index, planned) in plan.iter().enumerate() {
            for key in &planned.keys {
                waiting.entry(*key).or_default().push_back(index);
            }
        }
        Turns {
            waiting,
            running: BTreeMap::new(),
            taken: BTreeSet::new(),
            workers,
        }
    }

    /// The next turn.
    pub fn take(&mut self) -> Turn {
        let taken = &self.taken;
        for queue in self.waiting.values_mut() {
            while queue.front().is_some_and(|index| taken.contains(index)) {
                queue.pop_front();
            }
        }
        self.waiting.retain(|_, queue| !queue.is_empty());
        let parties: BTreeSet<&PublicKey> =
            self.waiting.keys().chain(self.running.keys()).collect();
        let share = self.workers.checked_div(parties.len()).unwrap_or(1).max(1);
        let running = |key: &PublicKey| self.running.get(key).copied().unwrap_or(0);
        let next = (self.waiting.iter())
            .filter(|(key, _)| running(key) < share)
            .min_by_key(|(key, _)| running(key))
            .and_then(|(key, queue)| Some((*queue.front()?, *key)));
        match next {
            Some((index, key)) => {
                self.taken.insert(index);
                *self.running.entry(key).or_default() += 1;
                Turn::Run(index, key)
            }
            None if self.waiting.is_empty() => Turn::Over,
            None => Turn::Wait,
        }
    }

    /// A probe that ran in the turn of a key has ended.
    pub fn ended(&mut self, key: PublicKey) {
        let left = self.running.remove(&key).unwrap_or(0).saturating_sub(1);
        if left > 0 {
            self.running.insert(key, left);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SigningKey;
    use crate::probe_spec::Definition;

    fn planned(seq: u64, keys: &[PublicKey]) -> Planned {
        Planned {
            probe: Probe::new(Definition::command([format!("./{seq}")])).unwrap(),
            axes: vec![Seq(seq)],
            keys: keys.iter().copied().collect(),
        }
    }

    fn keys() -> [PublicKey; 2] {
        [1, 2].map(|byte| SigningKey::from_seed([byte; 32]).public())
    }

    #[test]
    fn the_many_probes_of_one_key_leave_half_the_workers_to_another() {
        let [many, few] = keys();
        let mut plan: Vec<Planned> = (0..100).map(|seq| planned(seq, &[many])).collect();
        plan.extend((100..110).map(|seq| planned(seq, &[few])));
        let mut turns = Turns::new(&plan, 8);
        let mut ran = BTreeSet::new();
        for _ in 0..100 {
            match turns.take() {
                // The probes of the first hang; those of the second end at once.
                Turn::Run(index, key) if key == few => {
                    ran.insert(index);
                    turns.ended(key);
                }
                Turn::Run(..) | Turn::Wait | Turn::Over => {}
            }
        }
        assert_eq!(ran, (100..110).collect());
        assert_eq!(
            turns.running.get(&many),
            Some(&8),
            "then all are free for the first"
        );
    }

    #[test]
    fn a_probe_that_several_keys_recorded_is_run_once_and_in_the_turn_of_any() {
        let [many, few] = keys();
        let mut plan: Vec<Planned> = (0..20).map(|seq| planned(seq, &[many])).collect();
        plan.push(planned(20, &[many, few]));
        let mut turns = Turns::new(&plan, 2);
        let first = [turns.take(), turns.take()];
        assert!(first.contains(&Turn::Run(20, few)), "{first:?}");
        assert_eq!(turns.take(), Turn::Wait);
        turns.ended(few);
        let mut order = Vec::new();
        while let Turn::Run(index, key) = turns.take() {
            order.push(index);
            turns.ended(key);
        }
        assert_eq!(order.len(), 19);
        assert!(!order.contains(&20));
        assert_eq!(turns.take(), Turn::Over);
    }
}
