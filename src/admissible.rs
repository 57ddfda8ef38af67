//! What a session may act on: rule 18.
//!
//! A claim is judged by its newest supports and by those of the claims it is derived from, and only
//! if these are not too many: so the work for one answer has a bound that no history exceeds, and
//! every verifier comes to the same.

use crate::facts::{Fact, Support};
use crate::judge::Judge;
use crate::observation::{Voided, observation};
use crate::types::{ClaimId, Digest, Seq, Text};
use crate::verdict::{Because, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// How many supports of a claim count, the newest of those that still stand.
pub(crate) const SUPPORTS_MAX: usize = 8;
/// What the supports that claims rest on may weigh together.
pub(crate) const WEIGHT_MAX: usize = 2_048;

impl<'a> Judge<'a> {
    /// The claims that the session may act on, by the support that says so: the least fixpoint of
    /// rule 18, so that a circle supports nothing.
    pub fn admissible(&self) -> BTreeMap<ClaimId, Seq> {
        // What is derived comes after what it is derived from, most often.
        let mut claims: Vec<_> = self.state().claims().iter().collect();
        claims.sort_by_key(|(_, claim)| claim.supports.last());
        let mut too_large = BTreeSet::new();
        let mut supports = BTreeMap::new();
        for (claim, _) in claims {
            match self.rests_on([claim], &too_large) {
                Some(closure) => supports.extend(closure),
                None => drop(too_large.insert(claim)),
            }
        }
        let mut admissible = self.fixpoint(&supports);
        admissible.retain(|claim, _| !too_large.contains(claim));
        admissible
    }

    /// Of [`Judge::admissible`], these claims and those that they derive from, without a look at
    /// any other; none if together they rest on too much.
    pub fn admissible_of<'c>(
        &self,
        claims: impl IntoIterator<Item = &'c ClaimId>,
    ) -> BTreeMap<ClaimId, Seq> {
        let supports = self.closure(claims);
        self.fixpoint(&supports.unwrap_or_default())
    }

    /// The claim by which an id or its exact statement is admissible already, if it is.
    pub fn covering(&self, claim: &ClaimId, statement: &Text) -> Option<ClaimId> {
        let stating = self.state().ids_stating(statement);
        let stating = stating.filter(|id| self.state().statement(id) == Some(statement));
        let mut candidates: Vec<&ClaimId> = stating.collect();
        candidates.push(claim);
        let admissible = self.admissible_of(candidates.iter().copied());
        candidates
            .into_iter()
            .find(|id| admissible.contains_key(*id))
            .cloned()
    }

    /// The supports that claims rest on: the newest of each and of the claims that those are
    /// derived from. `None` if they weigh too much.
    pub(crate) fn closure<'c>(
        &self,
        claims: impl IntoIterator<Item = &'c ClaimId>,
    ) -> Option<BTreeMap<Seq, &'a Fact<Support>>> {
        self.rests_on(claims, &BTreeSet::new())
    }

    /// The same, where some claims are known to rest on too much, and so what is derived from them.
    fn rests_on<'c>(
        &self,
        claims: impl IntoIterator<Item = &'c ClaimId>,
        too_large: &BTreeSet<&ClaimId>,
    ) -> Option<BTreeMap<Seq, &'a Fact<Support>>> {
        let mut supports = BTreeMap::new();
        if self.barred().is_some() {
            return Some(supports);
        }
        let known = |claim: &ClaimId| self.state().claims().get_key_value(claim);
        let mut seen = BTreeSet::new();
        let mut left: Vec<&'a ClaimId> = (claims.into_iter())
            .filter_map(|claim| known(claim).map(|(claim, _)| claim))
            .collect();
        let mut weight = 0;
        while let Some(claim) = left.pop() {
            if too_large.contains(claim) {
                return None;
            }
            if !seen.insert(claim) {
                continue;
            }
            for support in self.counting(claim) {
                weight += self.weight(support);
                if weight > WEIGHT_MAX {
                    return None;
                }
                left.extend(&support.body.from);
                supports.insert(support.seq, support);
            }
        }
        Some(supports)
    }

    /// The newest supports of a claim in the lineage that were neither voided, nor withdrawn, nor
    /// stated of something else.
    fn counting(&self, claim: &ClaimId) -> impl Iterator<Item = &'a Fact<Support>> {
        let state = self.state();
        let supports = state.claims().get(claim).map(|claim| &claim.supports);
        let newest = supports.into_iter().flatten().rev();
        newest
            .filter_map(|seq| state.supports().get(seq))
            .take_while(|support| self.withdrawn(support).is_none())
            .filter(|support| self.is_in_lineage(support.session))
            .filter(|support| self.unsaid(support).is_none())
            .take(SUPPORTS_MAX)
    }

    /// What a support adds to the work: itself, and each of what is looked up to judge it.
    fn weight(&self, support: &Fact<Support>) -> usize {
        let Support {
            receipts,
            needs,
            from,
            ..
        } = &support.body;
        let runs = self.failed_runs(support).count();
        1 + receipts.len() + from.len() + needs.len() + runs * (1 + needs.len())
    }

    /// What follows from supports. Of several that admit a claim the one stands that does so first,
    /// always the oldest of those that can be judged going before.
    fn fixpoint(&self, supports: &BTreeMap<Seq, &Fact<Support>>) -> BTreeMap<ClaimId, Seq> {
        let mut admissible = BTreeMap::new();
        let mut missing: BTreeMap<Seq, usize> = BTreeMap::new();
        let mut waiting: BTreeMap<&ClaimId, Vec<Seq>> = BTreeMap::new();
        let mut ready = BTreeSet::new();
        for (seq, support) in supports {
            if support.body.from.is_empty() {
                ready.insert(*seq);
            }
            missing.insert(*seq, support.body.from.len());
            for claim in &support.body.from {
                waiting.entry(claim).or_default().push(*seq);
            }
        }
        while let Some(seq) = ready.pop_first() {
            let Some(support) = supports.get(&seq) else {
                continue;
            };
            let claim = &support.body.claim;
            // One support is enough: of the others nothing need be asked.
            if admissible.contains_key(claim) || self.obstacles(support).next().is_some() {
                continue;
            }
            admissible.insert(claim.clone(), seq);
            for derived in waiting.remove(claim).unwrap_or_default() {
                let left = missing.entry(derived).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.insert(derived);
                }
            }
        }
        admissible
    }

    /// What stands against a support, beside the claims it is derived from.
    pub(crate) fn obstacles(&self, support: &'a Fact<Support>) -> impl Iterator<Item = Because> {
        let is_inherited = Some(support.session) != self.session();
        let unverified = move || is_inherited && !self.has_reverified();
        let axes = support
            .body
            .needs
            .iter()
            .filter(|axis| !self.is_held(**axis));
        let axes = axes.map(|axis| Because::Axis {
            axis: *axis,
            verdict: self.axis(*axis),
        });
        let once = || std::iter::once(());
        (self.unsaid(support).into_iter())
            .chain(self.withdrawn(support))
            .chain(once().filter_map(move |()| unverified().then_some(Because::NotReverified)))
            .chain(axes)
            .chain(once().filter_map(|()| self.counter_evidence(support)))
    }

    /// Whether a support no longer says what it said, or not of this claim.
    fn unsaid(&self, support: &Fact<Support>) -> Option<Because> {
        if self.state().is_void(support.seq) {
            return Some(Because::Void);
        }
        let claim = self.state().restated(&support.body)?.clone();
        Some(Because::Statement { claim })
    }

    /// The retraction that a support is older than.
    fn withdrawn(&self, support: &Fact<Support>) -> Option<Because> {
        let retraction = self.state().retracted(&support.body.claim)?;
        (retraction > support.seq).then_some(Because::Retracted { retraction })
    }

    /// Of the support's proofs, the newest runs of a session of the lineage that are later than the
    /// support and finished unsuccessfully; with their sessions.
    fn failed_runs(&self, support: &Fact<Support>) -> impl Iterator<Item = (Seq, Seq)> {
        let state = self.state();
        let proofs: BTreeSet<Digest> = (support.body.receipts.iter())
            .filter_map(|receipt| state.receipts().get(receipt))
            .map(|receipt| receipt.body.probe_digest)
            .collect();
        let later = support.seq.next();
        let runs = proofs
            .into_iter()
            .filter_map(|proof| state.failed.get(&proof));
        let runs = runs.flat_map(move |runs| runs.range(later..));
        runs.map(|(run, session)| (*run, *session))
            .filter(|(_, session)| self.is_in_lineage(*session))
    }

    /// A failed run while which every needed axis was held in its session.
    fn counter_evidence(&self, support: &Fact<Support>) -> Option<Because> {
        let state = self.state();
        let mut runs = self.failed_runs(support);
        let refutes = |(run, session): &(Seq, Seq)| {
            let Some(receipt) = state.receipts().get(run) else {
                return false;
            };
            let when = (Some(*run), receipt.time);
            // What is void still counts here: voidness never opens anything.
            let held = |axis: &Seq| {
                let there = observation(state, *axis, *session, when, Voided::Counts);
                there.verdict == Verdict::Held
            };
            support.body.needs.iter().all(held)
        };
        let (receipt, _) = runs.find(refutes)?;
        Some(Because::CounterEvidence { receipt })
    }
}
