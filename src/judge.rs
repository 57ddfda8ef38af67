//! What still holds, and so what a session may act on: axis verdicts and admissibility.
//!
//! A [`Judge`] looks at a state from one session at one moment. Nothing here changes anything.

use crate::event::ProbeReceipt;
use crate::facts::{Fact, Support};
use crate::lineage::Sessions;
use crate::observation::{axis_in, unobserved};
use crate::probe_spec;
use crate::state::State;
use crate::types::{AxisName, ClaimId, Digest, Seq, Time};
use crate::verdict::{
    AxisVerdict, Because, ClaimState, ClaimVerdict, Obstacle, Reason, Verdict, Weak,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Whether the question is about now, and from where, or about the moment of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Now, from this scope.
    Now {
        /// The clock.
        time: Time,
        /// Where it is asked from.
        scope: Digest,
    },
    /// At the last event of the state, whose time is given.
    AtHead {
        /// Its time.
        time: Time,
    },
}

/// A view of a state from one session at one moment.
pub struct Judge<'a> {
    state: &'a State,
    session: Option<Seq>,
    asked: Asked,
    lineage: Sessions,
    /// Which axes are held, of those asked about.
    held: RefCell<BTreeMap<Seq, bool>>,
    obstacle: Option<Obstacle>,
}

impl<'a> Judge<'a> {
    /// A view from `session`. Without one nothing is admissible, and what is shown is what a
    /// session would inherit that were opened now.
    pub fn new(state: &'a State, session: Option<Seq>, asked: Asked) -> Judge<'a> {
        let lineage = match session {
            Some(session) => state.lineage_of(session),
            None => {
                let mut lineage = Sessions::default();
                for sealed in state.frontier() {
                    lineage.extend(&state.lineage_of(sealed));
                }
                lineage
            }
        };
        Judge {
            state,
            session,
            asked,
            lineage,
            held: RefCell::default(),
            obstacle: None,
        }
    }

    /// The same view of a ledger of which nothing may be relied on, if there is an obstacle.
    pub fn behind(self, obstacle: Option<Obstacle>) -> Judge<'a> {
        Judge { obstacle, ..self }
    }

    /// The session that asks.
    pub fn session(&self) -> Option<Seq> {
        self.session
    }

    /// The sessions whose conclusions count: the session and the sealed ones it inherits.
    pub fn lineage(&self) -> BTreeSet<Seq> {
        self.state.listed(&self.lineage)
    }

    pub(crate) fn is_in_lineage(&self, session: Seq) -> bool {
        self.state.is_in(&self.lineage, session)
    }

    pub(crate) fn state(&self) -> &'a State {
        self.state
    }

    fn time(&self) -> Time {
        match self.asked {
            Asked::Now { time, .. } | Asked::AtHead { time } => time,
        }
    }

    /// Why nothing at all is admissible here, if nothing is.
    pub fn barred(&self) -> Option<Because> {
        if let Some(obstacle) = self.obstacle {
            return Some(Because::Ledger(obstacle));
        }
        if self.state.undetermined().is_some() {
            return Some(Because::Undetermined);
        }
        let Some(session) = self.session.and_then(|seq| self.state.sessions().get(&seq)) else {
            return Some(Because::NoSession);
        };
        if let Asked::Now { scope, .. } = self.asked {
            if !session.is_open() {
                return Some(Because::Ended);
            }
            if scope != session.opened.body.scope {
                return Some(Because::Elsewhere);
            }
        }
        (!self.state.may_write(&session.opened.key)).then_some(Because::KeyRevoked)
    }

    /// Whether the session has reverified what it inherits: one `boundary.reverified`, not void.
    pub fn has_reverified(&self) -> bool {
        let session = self.session.and_then(|seq| self.state.sessions().get(&seq));
        // Nothing but the session's key voids them: no later one stands when the first is void.
        let first = session.and_then(|session| session.reverified.first());
        first.is_some_and(|event| !self.state.is_void(event.seq))
    }

    /// The verdict on an axis in this session.
    pub fn axis(&self, axis: Seq) -> AxisVerdict {
        match self.session {
            Some(session) => axis_in(self.state, axis, session, None, self.time()),
            None => unobserved(Reason::NotProbed),
        }
    }

    pub(crate) fn is_held(&self, axis: Seq) -> bool {
        let mut held = self.held.borrow_mut();
        *held
            .entry(axis)
            .or_insert_with(|| self.axis(axis).verdict == Verdict::Held)
    }

    /// What the session may think of a claim, given what is [admissible](Judge::admissible).
    pub fn claim(&self, id: &ClaimId, admissible: &BTreeMap<ClaimId, Seq>) -> ClaimVerdict {
        let mut verdict = self.standing(id);
        if let Some(support) = admissible.get(id) {
            verdict.admissible = true;
            verdict.because.clear();
            verdict.support = Some(*support);
        } else if let Some(bar) = self.barred() {
            verdict.because = vec![bar];
        } else if verdict.state == ClaimState::VerifiedInvariant
            && let Some(support) = verdict
                .support
                .and_then(|seq| self.state.supports().get(&seq))
        {
            verdict.because = self.obstacles(support).collect();
            if self.closure([id]).is_none() {
                verdict.because.push(Because::TooLarge);
            }
            let missing = support
                .body
                .from
                .iter()
                .filter(|from| !admissible.contains_key(*from));
            verdict.because.extend(missing.map(|claim| Because::From {
                claim: claim.clone(),
            }));
        }
        let support = verdict
            .support
            .and_then(|seq| self.state.supports().get(&seq));
        verdict.weak = support
            .map(|support| weaknesses(self.state, support))
            .unwrap_or_default();
        verdict
    }
}

/// Why a support is weaker than it could be.
pub fn weaknesses(state: &State, support: &Fact<Support>) -> BTreeSet<Weak> {
    let mut weak = BTreeSet::new();
    let receipts: Vec<&ProbeReceipt> = (support.body.receipts.iter())
        .filter_map(|receipt| state.receipts().get(receipt))
        .map(|receipt| &receipt.body)
        .collect();
    let shows_value = |receipt: &&ProbeReceipt| {
        probe_spec::strength(&receipt.probe, &receipt.expectations) == probe_spec::Strength::Value
    };
    if !receipts.iter().any(shows_value) {
        weak.insert(Weak::ExitOnly);
    }
    if support.body.independent.is_some() {
        weak.insert(Weak::EnvironmentIndependent);
    }
    let flag = support.body.flag.and_then(|flag| state.flags().get(&flag));
    let changed = flag.is_some_and(|flag| {
        receipts.iter().any(|receipt| {
            let executable =
                flag.body.executable.is_some() && flag.body.executable != receipt.executable;
            executable || flag.body.files != receipt.files
        })
    });
    if changed {
        weak.insert(Weak::ScriptChanged);
    }
    weak
}

/// The name of a recorded axis.
pub fn axis_name(state: &State, axis: Seq) -> Option<&AxisName> {
    state.axes().get(&axis).map(|record| &record.body.axis)
}
