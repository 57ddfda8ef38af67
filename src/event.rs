//! The event kinds, and the envelope around each.
//!
//! What a member may hold on its own is its type ([`crate::bodies`]); what members may hold
//! together is [`Body::check`], and both are judged when the bytes are read ([`crate::format`]).
//! What an event may say *here and now* is for [`crate::rules`].

pub use crate::bodies::*;
use crate::body_checks::{ARGUMENTS_MAX, ascending, at_least_one, integers};
use crate::types::{ClaimId, Leaf, PublicKey, Seq, Time};

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
