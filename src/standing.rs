//! What a claim is in a lineage: the first of the states of the design that fits it.

use crate::facts::Claim;
use crate::judge::Judge;
use crate::types::{ClaimId, Seq};
use crate::verdict::{Because, ClaimState, ClaimVerdict};
use std::collections::BTreeSet;

fn told(state: ClaimState, because: Option<Because>) -> ClaimVerdict {
    ClaimVerdict {
        state,
        admissible: false,
        because: because.into_iter().collect(),
        weak: BTreeSet::new(),
        support: None,
        flag: None,
    }
}

impl Judge<'_> {
    /// The state of a claim in the lineage, and the reason that goes with the state alone.
    pub(crate) fn standing(&self, id: &ClaimId) -> ClaimVerdict {
        let state = self.state();
        let Some(claim) = state.claims().get(id) else {
            return told(ClaimState::Unknown, Some(Because::Unknown));
        };
        let supports: Vec<Seq> = (claim.supports.iter().copied())
            .filter(|seq| self.is_of_lineage(self.support_session(*seq)))
            .collect();
        let flags: Vec<Seq> = (claim.flags.iter().copied())
            .filter(|seq| self.is_of_lineage(self.flag_session(*seq)))
            .collect();
        let open = state.open_flag(id).map(|flag| flag.seq);
        let flag = open.filter(|flag| self.is_of_lineage(self.flag_session(*flag)));
        if let Some(support) = self.live_support(id, &supports) {
            return ClaimVerdict {
                support: Some(support),
                flag,
                ..told(ClaimState::VerifiedInvariant, None)
            };
        }
        if let Some(open) = flag {
            let because = Because::Provisional { flag: open };
            return ClaimVerdict {
                flag,
                ..told(ClaimState::ProvisionalUnverified, Some(because))
            };
        }
        let is_spoken_of = !supports.is_empty() || !flags.is_empty();
        if let Some(retraction) = state.retracted(id).filter(|_| is_spoken_of) {
            let because = Because::Retracted { retraction };
            return told(ClaimState::Retracted, Some(because));
        }
        if supports.iter().chain(&flags).any(|seq| state.is_void(*seq)) {
            return told(ClaimState::Void, Some(Because::Void));
        }
        if !supports.is_empty() {
            let claim = id.clone();
            return told(ClaimState::Void, Some(Because::Statement { claim }));
        }
        if !flags.is_empty() || self.is_discarded(claim) {
            return told(ClaimState::Discarded, Some(Because::Discarded));
        }
        match self.unsealed(claim) {
            Some(session) => ClaimVerdict {
                flag: open,
                ..told(ClaimState::Unsealed, Some(Because::Unsealed { session }))
            },
            None => told(ClaimState::Unknown, Some(Because::Unknown)),
        }
    }

    fn support_session(&self, support: Seq) -> Option<Seq> {
        let support = self.state().supports().get(&support);
        support.map(|fact| fact.session)
    }

    fn flag_session(&self, flag: Seq) -> Option<Seq> {
        let flag = self.state().flags().get(&flag);
        flag.map(|fact| fact.session)
    }

    fn is_of_lineage(&self, session: Option<Seq>) -> bool {
        session.is_some_and(|session| self.is_in_lineage(session))
    }

    /// The newest of a claim's supports that is neither void nor retracted since, and states what
    /// the claim states.
    fn live_support(&self, id: &ClaimId, supports: &[Seq]) -> Option<Seq> {
        let state = self.state();
        let (retracted, statement) = (state.retracted(id), state.statement(id));
        let states_it = |seq: &Seq| {
            let support = state.supports().get(seq);
            support.is_some_and(|support| Some(&support.body.statement) == statement)
        };
        let is_live = |seq: &Seq| {
            !state.is_void(*seq)
                && retracted.is_none_or(|retraction| retraction < *seq)
                && states_it(seq)
        };
        supports.iter().rev().copied().find(is_live)
    }

    /// Whether an admin or a session of the lineage discarded a claim.
    fn is_discarded(&self, claim: &Claim) -> bool {
        claim.discards.iter().any(|seq| {
            let session = self.state().discards().get(seq).map(|fact| fact.session);
            session == Some(Seq::ZERO) || self.is_of_lineage(session)
        })
    }

    /// The newest session without a seal that speaks of a claim.
    fn unsealed(&self, claim: &Claim) -> Option<Seq> {
        let supports = claim.supports.iter();
        let supports = supports.filter_map(|seq| self.support_session(*seq));
        let flags = claim.flags.iter();
        let flags = flags.filter_map(|seq| self.flag_session(*seq));
        let is_unsealed = |session: &Seq| {
            let session = self.state().sessions().get(session);
            session.is_some_and(|session| !session.is_sealed())
        };
        supports.chain(flags).filter(is_unsealed).max()
    }
}
