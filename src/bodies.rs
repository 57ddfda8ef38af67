//! What each kind's body holds, member by member: the structs of the wire format.
//!
//! Members stand in alphabetical order, so that the order of declaration is the canonical order of
//! RFC 8785; an optional member is absent, never null.

pub use crate::lists::{
    AxisClass, Comparison, DiscardWhy, GateDecision, NotProbedWhy, PromotionRefusedWhy, Role,
};
use crate::probe_spec::{Comparator, FileDigest, Judgement, Outcome, Outputs, Probe};
use crate::types::{Ascending, AxisName, ClaimId, Digest, Name, PublicKey, Seq, Text, Value};
use serde::{Deserialize, Serialize};

/// Declares a struct of the wire format.
macro_rules! wire {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        })*
    };
}

wire! {
    /// `ledger.opened`
    LedgerOpened {
        /// What the ledger is called.
        name: Name,
        /// 32 random bytes, so that no two ledgers have one id.
        nonce: Digest,
        /// What the ledger allows.
        policy: Policy,
        /// Rules version, 1.
        rules: u64,
    }

    /// What a ledger allows, fixed when it is opened.
    Policy {
        /// Whether asserted values count where a session has no receipt of its own.
        asserted_values: bool,
        /// Whether a promotion must be signed by another key than the flag.
        four_eyes: bool,
    }

    /// `ledger.upgraded`
    LedgerUpgraded {
        /// Rules version from here on.
        rules: u64,
        /// Highest format version allowed from here on.
        v: u64,
    }

    /// `key.authorized`
    KeyAuthorized {
        /// The key.
        key: PublicKey,
        /// What people call it; no two keys of a ledger have one label.
        label: Name,
        /// What it may do; at least one.
        roles: Ascending<Role>,
    }

    /// `key.revoked`
    KeyRevoked {
        /// From which seq on the key's events are void.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        compromised_since: Option<Seq>,
        /// The key.
        key: PublicKey,
        /// Why.
        reason: Text,
    }

    /// `session.opened`
    SessionOpened {
        /// Who runs.
        agent: Name,
        /// The sealed sessions whose conclusions it inherits.
        inherits: Ascending<Seq>,
        /// What it is for.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        purpose: Option<Text>,
        /// Digest of the host, boot, namespaces and root it runs in.
        scope: Digest,
    }

    /// `probe.begun`
    ProbeBegun {
        /// The claim to be promoted.
        claim: ClaimId,
        /// The flag whose step is about to run.
        flag: Seq,
        /// Digest of that step.
        probe_digest: Digest,
    }

    /// `probe.receipt`
    ProbeReceipt {
        /// The `probe.begun` that announced it, for a promotion's.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        begun: Option<Seq>,
        /// For a redacted probe: the value against that of recorded axes.
        compared: Vec<Compared>,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
        /// The executable that ran, symbolic links resolved.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        executable: Option<FileDigest>,
        /// Per expectation of the probe, in its order.
        expectations: Vec<Judgement>,
        /// Whether extraction gave a value (`none` always does).
        extracted: bool,
        /// Files that the arguments name.
        files: Vec<FileDigest>,
        /// How it ended.
        outcome: Outcome,
        /// What it printed, committed to; absent for a native check.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        outputs: Option<Outputs>,
        /// Whether something that it left behind still held its output open.
        pipe_held: bool,
        /// The probe's whole definition.
        probe: Probe,
        /// Digest of that definition.
        probe_digest: Digest,
        /// For a redacted probe that gave a value: the commitment that stands for it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        redacted: Option<Redacted>,
        /// Where it ran.
        scope: Digest,
        /// The extracted value, unless redacted or none was asked for.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        value: Option<Value>,
    }

    /// What stands in the chain for a redacted value.
    Redacted {
        /// SHA-256(salt || value).
        commitment: Digest,
        /// SHA-256(salt).
        salt_digest: Digest,
    }

    /// A redacted value against that of a recorded axis, judged by the tool.
    Compared {
        /// The axis.
        axis: Seq,
        /// What was found.
        result: Comparison,
    }

    /// `axis.recorded`
    AxisRecorded {
        /// The axis's name.
        axis: AxisName,
        /// What it is a property of.
        class: AxisClass,
        /// When a later value still holds.
        comparator: Comparator,
        /// How old an observation may be, in milliseconds; 12 hours if absent.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        max_age_ms: Option<u64>,
        /// The receipt that shows its value.
        receipt: Seq,
    }

    /// `ambient.declared`
    AmbientDeclared {
        /// What may drift, ascending by name; none is a declaration too.
        entries: Vec<AmbientEntry>,
    }

    /// One property that may drift.
    AmbientEntry {
        /// An axis of this session, or any other property.
        name: AxisName,
        /// Values that were seen.
        observed: Vec<Value>,
        /// Why its drift invalidates nothing.
        reason: Text,
    }

    /// `claim.verified`
    ClaimVerified {
        /// The claim.
        claim: ClaimId,
        /// The claims it is derived from.
        from: Ascending<ClaimId>,
        /// Why it holds in every environment, if it does.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        independent: Option<Text>,
        /// The axes it holds under.
        needs: Ascending<Seq>,
        /// The receipts that show it.
        receipts: Ascending<Seq>,
        /// What it states.
        statement: Text,
    }

    /// `claim.flagged`
    ClaimFlagged {
        /// The claim.
        claim: ClaimId,
        /// How it was arrived at.
        derivation: Value,
        /// What a successor must not do, and until when.
        directive: Directive,
        /// The step's executable as it was, if it was there.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        executable: Option<FileDigest>,
        /// The files that the step's arguments name, as they were.
        files: Vec<FileDigest>,
        /// Why it holds in every environment, if it does.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        independent: Option<Text>,
        /// Per expectation of the step, whether empty output meets it.
        met_by_empty: Vec<bool>,
        /// The axes that a promotion must need, ascending by name.
        needs: Vec<FlagNeed>,
        /// What it states.
        statement: Text,
        /// The missing verification step.
        step: Probe,
        /// Digest of that step.
        step_digest: Digest,
    }

    /// The fail-closed directive of a flag.
    Directive {
        /// The claim not to act on.
        do_not_act_on: ClaimId,
        /// Digest of the probe that must succeed first.
        until_probe: Digest,
    }

    /// An axis that a promotion must need.
    FlagNeed {
        /// Its name.
        axis: AxisName,
        /// How its value is compared, if it was recorded when flagged.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        comparator: Option<Comparator>,
        /// Digest of its probe, if it was recorded when flagged.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        probe_digest: Option<Digest>,
    }

    /// `claim.discarded`
    ClaimDiscarded {
        /// The claim.
        claim: ClaimId,
        /// The flag that is withdrawn.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        flag: Option<Seq>,
        /// A person's reason.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reason: Option<Text>,
        /// What it stated.
        statement: Text,
        /// Why it was discarded.
        why: DiscardWhy,
    }

    /// `claim.promoted`
    ClaimPromoted {
        /// The claim.
        claim: ClaimId,
        /// The flag whose step succeeded.
        flag: Seq,
        /// The claims it is derived from.
        from: Ascending<ClaimId>,
        /// Why it holds in every environment, if the flag says that it does.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        independent: Option<Text>,
        /// The axes it holds under.
        needs: Ascending<Seq>,
        /// The step's receipt.
        receipt: Seq,
    }

    /// `claim.promotion_refused`
    ClaimPromotionRefused {
        /// The claim.
        claim: ClaimId,
        /// The flag whose step was run.
        flag: Seq,
        /// The step's receipt.
        receipt: Seq,
        /// Why it was not promoted.
        why: PromotionRefusedWhy,
    }

    /// `claim.retracted`
    ClaimRetracted {
        /// The claims, at least one.
        claims: Ascending<ClaimId>,
        /// Why.
        reason: Text,
        /// A receipt that shows it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        receipt: Option<Seq>,
    }

    /// `session.sealed`
    SessionSealed {
        /// Digest of the boundary record.
        boundary_digest: Digest,
        /// How many lawful events of each kind the session has.
        counts: Counts,
    }

    /// How many lawful events of each kind a session has.
    Counts {
        /// `ambient.declared`
        ambient: u64,
        /// `axis.recorded`
        axes: u64,
        /// `claim.verified`
        claims: u64,
        /// `claim.discarded`
        discards: u64,
        /// `claim.flagged`
        flags: u64,
        /// `claim.promoted`
        promotions: u64,
        /// `probe.receipt`
        receipts: u64,
        /// `claim.retracted`
        retractions: u64,
    }

    /// `session.abandoned`
    SessionAbandoned {
        /// Why.
        reason: Text,
        /// The session.
        session: Seq,
    }

    /// `boundary.reverified`
    BoundaryReverified {
        /// Per axis, ascending by it.
        entries: Vec<ReverifiedEntry>,
    }

    /// What was found of one axis: exactly one of `asserted`, `receipt` and `unverifiable`.
    ReverifiedEntry {
        /// A value that somebody asserted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        asserted: Option<Value>,
        /// The axis.
        axis: Seq,
        /// The receipt of its probe in this session.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        receipt: Option<Seq>,
        /// Why there is none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        unverifiable: Option<NotProbedWhy>,
    }

    /// `action.gated`
    ActionGated {
        /// What was to run: 1 to 256 arguments.
        argv: Vec<Value>,
        /// The claims it relies on, at least one.
        claims: Ascending<ClaimId>,
        /// Whether it was let run.
        decision: GateDecision,
    }

    /// `action.finished`
    ActionFinished {
        /// The `action.gated` that let it run.
        gate: Seq,
        /// How it ended.
        outcome: Outcome,
    }

    /// `capture.erased`
    CaptureErased {
        /// The commitments of the captures, at least one.
        commitments: Ascending<Digest>,
        /// Why.
        reason: Text,
    }

    /// `event.acknowledged`
    EventAcknowledged {
        /// Why they may stand.
        reason: Text,
        /// The last of the refused events that are known.
        up_to: Seq,
    }
}
