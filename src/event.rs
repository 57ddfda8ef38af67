//! The event kinds: what can be said in the ledger, member by member.
//!
//! The structs here are the wire format. Members stand in alphabetical order, so that the order of
//! declaration is the canonical order of RFC 8785; an optional member is absent, never null. What a
//! member may hold on its own is its type; what members may hold together is `check`, and both are
//! judged when the bytes are read ([`crate::format`]). What an event may say *here and now* is for
//! [`crate::rules`].

use crate::probe_spec::{Comparator, FileDigest, Judgement, Outcome, Outputs, Probe};
use crate::types::{
    Ascending, AxisName, ClaimId, Digest, INTEGER_MAX, Leaf, Name, PublicKey, Seq, Text, Time,
    Value,
};
use serde::{Deserialize, Serialize};

/// The format version that this program writes and reads strictly.
pub const FORMAT_VERSION: u64 = 1;
/// The version of the rules that this program judges by.
pub const RULES_VERSION: u64 = 1;

/// A well-formed event. Whether it was signed is for [`crate::chain`], whether it was permitted
/// for [`crate::rules`].
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position in the chain.
    pub seq: Seq,
    /// Leaf of the event before; zero for the first.
    pub prev: Leaf,
    /// The signer's public key.
    pub key: PublicKey,
    /// The session it belongs to, by the seq of its opening; 0 for none.
    pub session: Seq,
    /// The signer's clock when it was written.
    pub time: Time,
    /// What it says.
    pub body: Body,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $kind:literal,)*) => {
        /// What an event says, by kind.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Body {
            $($(#[$doc])* $name($name),)*
            /// An event of a kind or version that this program does not know.
            Unknown(Unknown),
        }

        impl Body {
            /// The kind's name on the wire.
            pub fn kind(&self) -> &str {
                match self {
                    $(Body::$name(_) => $kind,)*
                    Body::Unknown(unknown) => &unknown.kind,
                }
            }

            /// The format version it is of.
            pub fn v(&self) -> u64 {
                match self {
                    $(Body::$name(_))|* => FORMAT_VERSION,
                    Body::Unknown(unknown) => unknown.v,
                }
            }

            /// The body of `kind` that `json` spells; `None` if the kind is not known.
            pub(crate) fn decode(
                kind: &str,
                json: &str,
            ) -> Option<Result<Body, serde_json::Error>> {
                match kind {
                    $($kind => Some(serde_json::from_str::<$name>(json).map(Body::$name)),)*
                    _ => None,
                }
            }

            /// The canonical JSON of the body.
            pub(crate) fn encode(&self) -> Result<String, serde_json::Error> {
                match self {
                    $(Body::$name(body) => serde_json::to_string(body),)*
                    Body::Unknown(unknown) => Ok(unknown.body.clone()),
                }
            }
        }

        $(impl From<$name> for Body {
            fn from(body: $name) -> Body {
                Body::$name(body)
            }
        })*

        /// Every kind this program knows, by its name on the wire.
        pub const KINDS: &[&str] = &[$($kind),*];
    };
}

kinds! {
    /// The first event; its signer is the root.
    LedgerOpened = "ledger.opened",
    /// What versions are allowed from here on.
    LedgerUpgraded = "ledger.upgraded",
    /// A key may write from here on.
    KeyAuthorized = "key.authorized",
    /// A key may not write from here on.
    KeyRevoked = "key.revoked",
    /// A session begins.
    SessionOpened = "session.opened",
    /// A promotion's probe is about to run.
    ProbeBegun = "probe.begun",
    /// What was seen when a probe ran.
    ProbeReceipt = "probe.receipt",
    /// A named property of the environment.
    AxisRecorded = "axis.recorded",
    /// What may drift without invalidating anything.
    AmbientDeclared = "ambient.declared",
    /// A claim that receipts support.
    ClaimVerified = "claim.verified",
    /// A provisional claim and the step that would verify it.
    ClaimFlagged = "claim.flagged",
    /// A claim not worth keeping, or a flag withdrawn.
    ClaimDiscarded = "claim.discarded",
    /// A provisional claim whose step succeeded.
    ClaimPromoted = "claim.promoted",
    /// A promotion that failed.
    ClaimPromotionRefused = "claim.promotion_refused",
    /// Claims whose supports are withdrawn.
    ClaimRetracted = "claim.retracted",
    /// A session ends, and what it leaves is bound.
    SessionSealed = "session.sealed",
    /// A session ends without a seal.
    SessionAbandoned = "session.abandoned",
    /// What a session found when it probed inherited axes anew.
    BoundaryReverified = "boundary.reverified",
    /// An action that was let run, or not.
    ActionGated = "action.gated",
    /// How a gated action ended.
    ActionFinished = "action.finished",
    /// Captured output was erased.
    CaptureErased = "capture.erased",
    /// Refused events are known to the root.
    EventAcknowledged = "event.acknowledged",
}

/// An event of a kind or version that this program does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Its kind.
    pub kind: String,
    /// Its version.
    pub v: u64,
    /// Its body's canonical JSON, unread.
    pub body: String,
}

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

/// Declares a closed list of the wire format.
macro_rules! closed {
    ($(
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)*
        }
    )*) => {
        $($(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value of the list.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The value's text on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        })*
    };
}
pub(crate) use closed;

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

closed! {
    /// What a key may do.
    Role {
        /// Authorise and revoke recorders, discard others' flags, erase captures.
        Admin = "admin",
        /// Run sessions.
        Recorder = "recorder",
    }

    /// What an axis is a property of.
    AxisClass {
        /// Where and as whom things run.
        ExecutionTopology = "execution_topology",
        /// Which version of something is there.
        DependencyVersion = "dependency_version",
        /// What can be reached.
        Reachability = "reachability",
    }

    /// Whether a redacted value is that of a recorded axis.
    Comparison {
        /// It is.
        Same = "same",
        /// It is not.
        Different = "different",
    }

    /// Why a claim was discarded.
    DiscardWhy {
        /// It was not derived from anything.
        NoDerivation = "no_derivation",
        /// There was no step that would verify it.
        NoStep = "no_step",
        /// The step could not fail, or would show nothing.
        VacuousStep = "vacuous_step",
        /// The same is already admissible.
        Redundant = "redundant",
        /// A person withdrew the flag.
        Withdrawn = "withdrawn",
    }

    /// Why a promotion was refused.
    PromotionRefusedWhy {
        /// The step did not succeed.
        ProbeFailed = "probe_failed",
        /// An axis it needs did not hold before and after.
        AxisNotHeld = "axis_not_held",
        /// A claim it is derived from is not admissible.
        FromNotAdmissible = "from_not_admissible",
    }

    /// Why an axis was not probed.
    NotProbedWhy {
        /// The deadline came first.
        NotRun = "not_run",
        /// Running probes was forbidden.
        NoExec = "no_exec",
        /// The recorder was not trusted to say what to run.
        Untrusted = "untrusted",
        /// The salt of the redacted value is gone or is another.
        SaltMissing = "salt_missing",
    }

    /// Whether an action was let run.
    GateDecision {
        /// It was.
        Allowed = "allowed",
        /// It was not.
        Refused = "refused",
    }
}

impl Body {
    /// What members must hold together, beyond each one's type.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        match self {
            Body::LedgerOpened(body) => integers(&[body.rules]),
            Body::LedgerUpgraded(body) => integers(&[body.rules, body.v]),
            Body::KeyAuthorized(body) => at_least_one(&body.roles, "a key without a role"),
            Body::ProbeReceipt(body) => body.check(),
            Body::AxisRecorded(body) => integers(&[body.max_age_ms.unwrap_or(1)]),
            Body::AmbientDeclared(body) => ascending(body.entries.iter().map(|entry| &entry.name)),
            Body::ClaimVerified(body) => at_least_one(&body.receipts, "a claim without a receipt"),
            Body::ClaimFlagged(body) => {
                if body.met_by_empty.len() != body.step.expect().len() {
                    return Err("met_by_empty does not match the step's expectations");
                }
                ascending(body.needs.iter().map(|need| &need.axis))
            }
            Body::ClaimDiscarded(body) => {
                let withdrawn = body.why == DiscardWhy::Withdrawn;
                if body.flag.is_some() != withdrawn || body.reason.is_some() != withdrawn {
                    return Err("flag and reason stand if, and only if, why is withdrawn");
                }
                Ok(())
            }
            Body::ClaimRetracted(body) => at_least_one(&body.claims, "a retraction of nothing"),
            Body::BoundaryReverified(body) => body.check(),
            Body::ActionGated(body) => {
                if body.argv.is_empty() || body.argv.len() > ARGUMENTS_MAX {
                    return Err("argv has no argument, or more than 256");
                }
                at_least_one(&body.claims, "a gate that relies on nothing")
            }
            Body::SessionSealed(body) => body.counts.check(),
            Body::CaptureErased(body) => at_least_one(&body.commitments, "an erasure of nothing"),
            Body::KeyRevoked(_)
            | Body::SessionOpened(_)
            | Body::ProbeBegun(_)
            | Body::ClaimPromoted(_)
            | Body::ClaimPromotionRefused(_)
            | Body::SessionAbandoned(_)
            | Body::ActionFinished(_)
            | Body::EventAcknowledged(_)
            | Body::Unknown(_) => Ok(()),
        }
    }
}

impl Body {
    /// The receipts, axes and flags that it cites, and what announced it.
    pub fn references(&self) -> Vec<Seq> {
        match self {
            Body::ProbeBegun(body) => vec![body.flag],
            Body::ProbeReceipt(body) => body.begun.into_iter().collect(),
            Body::AxisRecorded(body) => vec![body.receipt],
            Body::ClaimVerified(body) => body
                .receipts
                .iter()
                .chain(body.needs.iter())
                .copied()
                .collect(),
            Body::ClaimDiscarded(body) => body.flag.into_iter().collect(),
            Body::ClaimPromoted(body) => [body.flag, body.receipt]
                .into_iter()
                .chain(body.needs.iter().copied())
                .collect(),
            Body::ClaimPromotionRefused(body) => vec![body.flag, body.receipt],
            Body::ClaimRetracted(body) => body.receipt.into_iter().collect(),
            Body::ActionFinished(body) => vec![body.gate],
            Body::LedgerOpened(_)
            | Body::LedgerUpgraded(_)
            | Body::KeyAuthorized(_)
            | Body::KeyRevoked(_)
            | Body::SessionOpened(_)
            | Body::AmbientDeclared(_)
            | Body::ClaimFlagged(_)
            | Body::SessionSealed(_)
            | Body::SessionAbandoned(_)
            | Body::BoundaryReverified(_)
            | Body::ActionGated(_)
            | Body::CaptureErased(_)
            | Body::EventAcknowledged(_)
            | Body::Unknown(_) => Vec::new(),
        }
    }

    /// The claims that it speaks of.
    pub fn claims(&self) -> Vec<ClaimId> {
        match self {
            Body::ClaimVerified(body) => vec![body.claim.clone()],
            Body::ClaimFlagged(body) => vec![body.claim.clone()],
            Body::ClaimDiscarded(body) => vec![body.claim.clone()],
            Body::ClaimPromoted(body) => vec![body.claim.clone()],
            Body::ClaimPromotionRefused(body) => vec![body.claim.clone()],
            Body::ClaimRetracted(body) => body.claims.to_vec(),
            Body::ActionGated(body) => body.claims.to_vec(),
            Body::LedgerOpened(_)
            | Body::LedgerUpgraded(_)
            | Body::KeyAuthorized(_)
            | Body::KeyRevoked(_)
            | Body::SessionOpened(_)
            | Body::ProbeBegun(_)
            | Body::ProbeReceipt(_)
            | Body::AxisRecorded(_)
            | Body::AmbientDeclared(_)
            | Body::SessionSealed(_)
            | Body::SessionAbandoned(_)
            | Body::BoundaryReverified(_)
            | Body::ActionFinished(_)
            | Body::CaptureErased(_)
            | Body::EventAcknowledged(_)
            | Body::Unknown(_) => Vec::new(),
        }
    }
}

/// Most arguments of an action.
const ARGUMENTS_MAX: usize = 256;

impl ProbeReceipt {
    fn check(&self) -> Result<(), &'static str> {
        integers(&[self.duration_ms.saturating_add(1)])?;
        for stream in self.outputs.iter().flat_map(|it| [it.stderr, it.stdout]) {
            integers(&[stream.kept, stream.whole].map(|it| it.length.saturating_add(1)))?;
        }
        if self.expectations.len() != self.probe.expect().len() {
            return Err("expectations do not match the probe's");
        }
        let started = self.probe.check().is_none()
            && !matches!(self.outcome, Outcome::NotFound | Outcome::NotExecutable);
        if self.outputs.is_some() != started {
            return Err("outputs stand for a command that was started, and only for one");
        }
        if self.value.is_some() && self.redacted.is_some() {
            return Err("a value beside its redaction");
        }
        if self.probe.redact() && self.value.is_some() {
            return Err("a redacted probe shows its value");
        }
        if self.redacted.is_some() && !self.probe.redact() {
            return Err("a redaction that the probe does not ask for");
        }
        let has_value = self.value.is_some() || self.redacted.is_some();
        if has_value && !self.extracted {
            return Err("a value that was not extracted");
        }
        ascending(self.compared.iter().map(|compared| compared.axis))
    }
}

impl Counts {
    fn check(&self) -> Result<(), &'static str> {
        let Counts {
            ambient,
            axes,
            claims,
            discards,
            flags,
            promotions,
            receipts,
            retractions,
        } = *self;
        let counts = [
            ambient,
            axes,
            claims,
            discards,
            flags,
            promotions,
            receipts,
            retractions,
        ];
        integers(&counts.map(|count| count.saturating_add(1)))
    }
}

impl BoundaryReverified {
    fn check(&self) -> Result<(), &'static str> {
        for entry in &self.entries {
            let found = [
                entry.asserted.is_some(),
                entry.receipt.is_some(),
                entry.unverifiable.is_some(),
            ];
            if found.into_iter().filter(|found| *found).count() != 1 {
                return Err("an entry holds exactly one of asserted, receipt and unverifiable");
            }
        }
        ascending(self.entries.iter().map(|entry| entry.axis))
    }
}

fn integers(values: &[u64]) -> Result<(), &'static str> {
    if values.iter().all(|value| (1..=INTEGER_MAX).contains(value)) {
        Ok(())
    } else {
        Err("an integer is out of its range")
    }
}

fn at_least_one<T>(list: &[T], otherwise: &'static str) -> Result<(), &'static str> {
    if list.is_empty() {
        Err(otherwise)
    } else {
        Ok(())
    }
}

fn ascending<T: PartialOrd>(names: impl Iterator<Item = T>) -> Result<(), &'static str> {
    if names.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err("a list is not in strictly ascending order")
    }
}
