//! What still holds, and so what a session may act on: axis verdicts and admissibility.
//!
//! A [`Judge`] looks at a state from one session at one moment. Nothing here changes anything.

use crate::event::ProbeReceipt;
use crate::lineage::Sessions;
use crate::lists::closed;
use crate::observation::unobserved;
pub use crate::observation::{
    AHEAD_MS_MAX, MAX_AGE_MS_DEFAULT, axis_in, has_finished, is_successful, satisfies,
};
use crate::probe_spec;
use crate::state::{Fact, State, Support};
use crate::types::{AxisName, ClaimId, Digest, Seq, Time, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

closed! {
    /// Whether an axis is as it was recorded, in a session.
    Verdict {
        /// It is.
        Held = "held",
        /// It is not, and its session said that this may be.
        DriftedAmbient = "drifted_ambient",
        /// It is not.
        DriftedLoadBearing = "drifted_load_bearing",
        /// Nobody can say.
        Unverifiable = "unverifiable",
    }

    /// Why a verdict is not `held`.
    Reason {
        /// The observation is older than the axis allows.
        Stale = "stale",
        /// The observation is dated over 5 minutes ahead.
        Future = "future",
        /// The observation is void.
        Void = "void",
        /// The probe's executable was not found.
        NotFound = "not_found",
        /// The probe's executable could not be run.
        NotExecutable = "not_executable",
        /// A signal ended the probe.
        Signaled = "signaled",
        /// The probe did not end in time.
        TimedOut = "timed_out",
        /// The run was interrupted.
        Interrupted = "interrupted",
        /// The native check could not be made.
        Failed = "failed",
        /// No value could be extracted.
        Unparsable = "unparsable",
        /// The endpoint was not reachable.
        Unreachable = "unreachable",
        /// The probe ended with another exit code than expected.
        UnexpectedExit = "unexpected_exit",
        /// An expectation of the probe was not met.
        ExpectationUnmet = "expectation_unmet",
        /// The value does not satisfy the comparator.
        Changed = "changed",
        /// This session has not probed it.
        NotProbed = "not_probed",
        /// The deadline came before the probe.
        NotRun = "not_run",
        /// Running probes was forbidden.
        NoExec = "no_exec",
        /// Its recorder was not trusted to say what to run.
        Untrusted = "untrusted",
        /// The salt of the redacted value is gone or is another.
        SaltMissing = "salt_missing",
        /// There is only an asserted value, and it does not count.
        AssertedOnly = "asserted_only",
    }

    /// What a claim is in a lineage.
    ClaimState {
        /// It has a support.
        VerifiedInvariant = "verified_invariant",
        /// It has an open flag.
        ProvisionalUnverified = "provisional_unverified",
        /// Its supports were withdrawn.
        Retracted = "retracted",
        /// All that was said of it is void.
        Void = "void",
        /// It was not worth keeping.
        Discarded = "discarded",
        /// Only sessions without a seal speak of it.
        Unsealed = "unsealed",
        /// Nobody the session inherits speaks of it.
        Unknown = "unknown",
    }

    /// Why a support is weaker than it could be.
    Weak {
        /// A proof shows no more than an exit code.
        ExitOnly = "exit_only",
        /// It needs no axis.
        EnvironmentIndependent = "environment_independent",
        /// The step's executable or script is another than when flagged.
        ScriptChanged = "script_changed",
    }
}

closed! {
    /// Why nothing that a ledger says may be relied on here, whatever it says.
    Obstacle {
        /// It is not the chain that was signed.
        Tampered = "tampered",
        /// There may be more of it.
        Incomplete = "incomplete",
        /// Nobody here vouches for its root key.
        Untrusted = "untrusted",
    }
}

/// The verdict on an axis, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `held`.
    pub reason: Option<Reason>,
    /// The value observed.
    pub now: Option<Value>,
    /// The receipt of the observation.
    pub receipt: Option<Seq>,
}

/// One reason why a claim is not admissible.
#[derive(Debug, Clone, PartialEq)]
pub enum Because {
    /// An axis it needs is not held.
    Axis {
        /// The axis.
        axis: Seq,
        /// Its verdict.
        verdict: AxisVerdict,
    },
    /// A claim it is derived from is not admissible.
    From {
        /// That claim.
        claim: ClaimId,
    },
    /// Its proof was run again, with every needed axis held, and failed.
    CounterEvidence {
        /// The failed run.
        receipt: Seq,
    },
    /// It rests on more supports than are judged for one answer.
    TooLarge,
    /// It is inherited, and the session has not reverified.
    NotReverified,
    /// It is provisional until its step has succeeded.
    Provisional {
        /// The flag.
        flag: Seq,
    },
    /// It was retracted.
    Retracted {
        /// The retraction.
        retraction: Seq,
    },
    /// All that was said of it is void.
    Void,
    /// A claim, this one or one it is derived from, states something else than the support counts
    /// on: a revocation voided what bound it, or ceased to.
    Statement {
        /// That claim.
        claim: ClaimId,
    },
    /// It was discarded.
    Discarded,
    /// Only a session without a seal speaks of it.
    Unsealed {
        /// That session.
        session: Seq,
    },
    /// Nobody the session inherits speaks of it.
    Unknown,
    /// No session was named.
    NoSession,
    /// It was asked from another scope than the session's.
    Elsewhere,
    /// The session has ended.
    Ended,
    /// The session's key is revoked.
    KeyRevoked,
    /// The ledger was upgraded beyond what this program can judge.
    Undetermined,
    /// The ledger itself is not to be relied on.
    Ledger(Obstacle),
}

/// What a session may think of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimVerdict {
    /// What it is in the lineage.
    pub state: ClaimState,
    /// Whether the session may act on it.
    pub admissible: bool,
    /// Why not.
    pub because: Vec<Because>,
    /// Why its support is weaker than it could be.
    pub weak: BTreeSet<Weak>,
    /// The support that makes it admissible, else the newest that could.
    pub support: Option<Seq>,
    /// Its open flag in the lineage, or in an unsealed session.
    pub flag: Option<Seq>,
}

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

    /// The state of a claim in the lineage, and the reason that goes with the state alone.
    fn standing(&self, id: &ClaimId) -> ClaimVerdict {
        let state = self.state;
        let told = |claim_state, because, support, flag| ClaimVerdict {
            state: claim_state,
            admissible: false,
            because,
            weak: BTreeSet::new(),
            support,
            flag,
        };
        let Some(claim) = state.claims().get(id) else {
            return told(ClaimState::Unknown, vec![Because::Unknown], None, None);
        };
        let retracted = state.retracted(id);
        let in_lineage = |session: Option<Seq>| session.is_some_and(|s| self.is_in_lineage(s));
        let support_session = |seq: &Seq| state.supports().get(seq).map(|fact| fact.session);
        let flag_session = |seq: &Seq| state.flags().get(seq).map(|fact| fact.session);
        let supports: Vec<Seq> = (claim.supports.iter().copied())
            .filter(|seq| in_lineage(support_session(seq)))
            .collect();
        let statement = state.statement(id);
        let states_it = |seq: &Seq| {
            let support = state.supports().get(seq);
            support.is_some_and(|support| Some(&support.body.statement) == statement)
        };
        let live = supports.iter().rev().find(|seq| {
            !state.is_void(**seq)
                && retracted.is_none_or(|retraction| retraction < **seq)
                && states_it(seq)
        });
        let open = state.open_flag(id);
        let flag = open
            .filter(|flag| in_lineage(Some(flag.session)))
            .map(|flag| flag.seq);
        if let Some(support) = live {
            return told(
                ClaimState::VerifiedInvariant,
                Vec::new(),
                Some(*support),
                flag,
            );
        }
        if let Some(flag) = flag {
            let because = vec![Because::Provisional { flag }];
            return told(ClaimState::ProvisionalUnverified, because, None, Some(flag));
        }
        let flagged = claim.flags.iter().any(|seq| in_lineage(flag_session(seq)));
        if let Some(retraction) = retracted.filter(|_| !supports.is_empty() || flagged) {
            let because = vec![Because::Retracted { retraction }];
            return told(ClaimState::Retracted, because, None, None);
        }
        let void = |seq: &Seq| state.is_void(*seq);
        let void_flag = claim
            .flags
            .iter()
            .any(|seq| in_lineage(flag_session(seq)) && void(seq));
        if supports.iter().any(void) || void_flag {
            return told(ClaimState::Void, vec![Because::Void], None, None);
        }
        if !supports.is_empty() {
            let claim = id.clone();
            return told(
                ClaimState::Void,
                vec![Because::Statement { claim }],
                None,
                None,
            );
        }
        let discarded = claim.discards.iter().any(|seq| {
            let session = state.discards().get(seq).map(|fact| fact.session);
            session == Some(Seq::ZERO) || in_lineage(session)
        });
        if discarded || flagged {
            return told(ClaimState::Discarded, vec![Because::Discarded], None, None);
        }
        let spoken = claim.supports.iter().filter_map(support_session);
        let spoken = spoken.chain(claim.flags.iter().filter_map(flag_session));
        let unsealed = spoken.filter(|session| {
            state
                .sessions()
                .get(session)
                .is_some_and(|session| !session.is_sealed())
        });
        match unsealed.max() {
            Some(session) => {
                let because = vec![Because::Unsealed { session }];
                told(
                    ClaimState::Unsealed,
                    because,
                    None,
                    open.map(|flag| flag.seq),
                )
            }
            None => told(ClaimState::Unknown, vec![Because::Unknown], None, None),
        }
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
