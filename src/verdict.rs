//! What can be said of an axis and of a claim: the verdicts, and the reasons for them.
//!
//! [`crate::judge`] comes to them.

use crate::lists::closed;
use crate::types::{ClaimId, Seq, Value};
use std::collections::BTreeSet;

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
