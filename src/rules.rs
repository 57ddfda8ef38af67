//! The rules, stated once: what an event may say here and now.
//!
//! [`permits`] is asked by the writing side before an event is signed and by the fold before it is
//! taken in, always on the state just before the event. The rules of evidence are in
//! `rules_evidence.rs`, those of claims in `rules_claims.rs`; numbers in the comments
//! are those of `ledger-format.md`.

use crate::boundary::Boundary;
use crate::event::{
    Body, Event, EventAcknowledged, KeyAuthorized, KeyRevoked, LedgerUpgraded, Role,
    SessionAbandoned, SessionOpened, SessionSealed,
};
use crate::facts::{Key, Session};
use crate::key;
use crate::refusal::{Refusal, Rule, refuse, require};
use crate::rules_claims;
use crate::rules_evidence;
use crate::state::State;
use crate::types::Seq;

/// How many seals of a session may bind something else than its boundary. Each takes a look at all
/// that the session said.
pub(crate) const WRONG_SEALS_MAX: usize = 8;

/// Whether an event may be taken in, on the state just before it.
///
/// # Errors
/// The first rule that it breaks.
pub fn permits(state: &State, event: &Event) -> Result<(), Refusal> {
    if let Body::LedgerOpened(_) = event.body {
        let first = state.ledger().is_none() && event.seq == Seq::ZERO;
        require(first, Rule::AlreadyOpened, || {
            "the ledger is opened once, by its first event".into()
        })?;
        return envelope(state, event);
    }
    authority(state, event)?;
    envelope(state, event)?;
    match &event.body {
        Body::LedgerOpened(_) | Body::Unknown(_) => Ok(()),
        Body::LedgerUpgraded(body) => upgrade(state, event, body),
        Body::KeyAuthorized(body) => authorize(state, event, body),
        Body::KeyRevoked(body) => revoke(state, event, body),
        Body::SessionOpened(body) => open(state, body),
        Body::SessionSealed(body) => seal(state, event, body),
        Body::SessionAbandoned(body) => abandon(state, event, body),
        Body::CaptureErased(_) => Ok(()),
        Body::EventAcknowledged(body) => acknowledge(state, event, body),
        Body::ProbeBegun(body) => rules_evidence::begun(state, event, body),
        Body::ProbeReceipt(body) => rules_evidence::receipt(state, event, body),
        Body::AxisRecorded(body) => rules_evidence::axis(state, event, body),
        Body::AmbientDeclared(body) => rules_evidence::ambient(state, event, body),
        Body::BoundaryReverified(body) => rules_evidence::reverified(state, event, body),
        Body::ActionGated(body) => rules_evidence::gated(state, event, body),
        Body::ActionFinished(body) => rules_evidence::finished(state, event, body),
        Body::ClaimVerified(body) => rules_claims::verified(state, event, body),
        Body::ClaimFlagged(body) => rules_claims::flagged(state, event, body),
        Body::ClaimDiscarded(body) => rules_claims::discarded(state, event, body),
        Body::ClaimPromoted(body) => rules_claims::promoted(state, event, body),
        Body::ClaimPromotionRefused(body) => rules_claims::promotion_refused(state, event, body),
        Body::ClaimRetracted(body) => rules_claims::retracted(state, event, body),
    }
}

/// Rule 13: only an authorised, unrevoked key writes, within its role; judged before the kind.
fn authority(state: &State, event: &Event) -> Result<(), Refusal> {
    let Some(key) = state.keys().get(&event.key) else {
        return refuse(
            Rule::KeyNotAuthorized,
            format!("key {} was never authorised", event.key.short()),
        );
    };
    if let Some(revocation) = key.revoked {
        return refuse(
            Rule::KeyRevoked,
            format!(
                "key {} was revoked by event {}",
                event.key.short(),
                revocation.seq
            ),
        );
    }
    if let Body::Unknown(unknown) = &event.body {
        return refuse(
            Rule::KindNotAllowed,
            format!(
                "kind {:?} of version {} is not allowed here",
                unknown.kind, unknown.v
            ),
        );
    }
    let Some(role) = required_role(event) else {
        return Ok(());
    };
    require(key.has(role), Rule::Role, || {
        format!(
            "key {} is no {role}, as {} needs",
            event.key.short(),
            event.body.kind()
        )
    })
}

/// The role that a kind needs; none where the rule of the kind says who may. Who signs as the root
/// is judged kind by kind too.
fn required_role(event: &Event) -> Option<Role> {
    match &event.body {
        Body::SessionAbandoned(_) | Body::Unknown(_) => None,
        Body::LedgerOpened(_)
        | Body::LedgerUpgraded(_)
        | Body::KeyAuthorized(_)
        | Body::KeyRevoked(_)
        | Body::CaptureErased(_)
        | Body::EventAcknowledged(_) => Some(Role::Admin),
        Body::ClaimDiscarded(_) if event.session == Seq::ZERO => Some(Role::Admin),
        Body::SessionOpened(_)
        | Body::SessionSealed(_)
        | Body::ProbeBegun(_)
        | Body::ProbeReceipt(_)
        | Body::AxisRecorded(_)
        | Body::AmbientDeclared(_)
        | Body::ClaimVerified(_)
        | Body::ClaimFlagged(_)
        | Body::ClaimDiscarded(_)
        | Body::ClaimPromoted(_)
        | Body::ClaimPromotionRefused(_)
        | Body::ClaimRetracted(_)
        | Body::BoundaryReverified(_)
        | Body::ActionGated(_)
        | Body::ActionFinished(_) => Some(Role::Recorder),
    }
}

/// Whether a kind stands in a session.
enum Place {
    /// The envelope's session is 0.
    Ledger,
    /// The envelope names the session.
    Session,
    /// Either: 0 for an admin.
    Either,
}

fn place(body: &Body) -> Place {
    match body {
        Body::LedgerOpened(_)
        | Body::LedgerUpgraded(_)
        | Body::KeyAuthorized(_)
        | Body::KeyRevoked(_)
        | Body::SessionOpened(_)
        | Body::SessionAbandoned(_)
        | Body::CaptureErased(_)
        | Body::EventAcknowledged(_) => Place::Ledger,
        Body::ClaimDiscarded(_) | Body::Unknown(_) => Place::Either,
        Body::SessionSealed(_)
        | Body::ProbeBegun(_)
        | Body::ProbeReceipt(_)
        | Body::AxisRecorded(_)
        | Body::AmbientDeclared(_)
        | Body::ClaimVerified(_)
        | Body::ClaimFlagged(_)
        | Body::ClaimPromoted(_)
        | Body::ClaimPromotionRefused(_)
        | Body::ClaimRetracted(_)
        | Body::BoundaryReverified(_)
        | Body::ActionGated(_)
        | Body::ActionFinished(_) => Place::Session,
    }
}

/// Rule 12: the envelope's session is there, goes on, and was opened by the signer.
fn envelope(state: &State, event: &Event) -> Result<(), Refusal> {
    let none = event.session == Seq::ZERO;
    match place(&event.body) {
        Place::Ledger if none => return Ok(()),
        Place::Either if none => return Ok(()),
        Place::Session if none => {
            return refuse(
                Rule::Session,
                format!("{} needs a session", event.body.kind()),
            );
        }
        Place::Ledger => {
            return refuse(
                Rule::Session,
                format!("{} stands in no session", event.body.kind()),
            );
        }
        Place::Session | Place::Either => {}
    }
    let session = session(state, event.session)?;
    require(session.opened.key == event.key, Rule::SessionKey, || {
        let (opener, signer) = (session.opened.key.short(), event.key.short());
        format!(
            "session {} was opened by key {opener}, not {signer}",
            event.session
        )
    })?;
    let may_follow_the_end = matches!(event.body, Body::ActionFinished(_));
    require(
        session.is_open() || may_follow_the_end,
        Rule::SessionEnded,
        || format!("session {} has ended", event.session),
    )
}

pub(crate) fn session(state: &State, seq: Seq) -> Result<&Session, Refusal> {
    match state.sessions().get(&seq) {
        Some(session) => Ok(session),
        None => refuse(Rule::SessionUnknown, format!("there is no session {seq}")),
    }
}

fn root_only(state: &State, event: &Event) -> Result<(), Refusal> {
    require(state.root() == Some(event.key), Rule::RootOnly, || {
        format!("{} of this kind takes the root key", event.body.kind())
    })
}

fn upgrade(state: &State, event: &Event, body: &LedgerUpgraded) -> Result<(), Refusal> {
    root_only(state, event)?;
    let Some(ledger) = state.ledger() else {
        return Ok(());
    };
    let lowers = body.rules < ledger.rules || body.v < ledger.v;
    let same = body.rules == ledger.rules && body.v == ledger.v;
    require(!lowers && !same, Rule::UpgradeLowers, || {
        let (rules, v) = (ledger.rules, ledger.v);
        format!(
            "rules {} and v {} do not raise rules {rules} and v {v}",
            body.rules, body.v
        )
    })
}

/// Rule 13: one authorisation per key, of a key that is fit; only the root makes admins.
fn authorize(state: &State, event: &Event, body: &KeyAuthorized) -> Result<(), Refusal> {
    if body.roles.contains(&Role::Admin) {
        root_only(state, event)?;
    }
    require(
        !state.keys().contains_key(&body.key),
        Rule::KeyAlreadyAuthorized,
        || format!("key {} was authorised before", body.key.short()),
    )?;
    if let Err(fault) = key::check(&body.key) {
        return refuse(Rule::KeyWeak, format!("key {}: {fault}", body.key.short()));
    }
    let taken = state.labels.contains(&body.label);
    require(!taken, Rule::LabelInUse, || {
        format!("another key is called {}", body.label)
    })
}

/// Rule 13: the last revocation governs; admins may only lower, the root sets and withdraws.
fn revoke(state: &State, event: &Event, body: &KeyRevoked) -> Result<(), Refusal> {
    let Some(key) = state.keys().get(&body.key) else {
        return refuse(
            Rule::KeyUnknown,
            format!("key {} was never authorised", body.key.short()),
        );
    };
    let is_root = state.root() == Some(body.key);
    require(!is_root, Rule::RootIrrevocable, || {
        "the root is never revoked".into()
    })?;
    if key.has(Role::Admin) {
        root_only(state, event)?;
    }
    let in_the_past = body
        .compromised_since
        .is_none_or(|since| since <= event.seq);
    require(in_the_past, Rule::CompromisedSince, || {
        "compromised_since lies after the revocation".into()
    })?;
    let by_root = state.root() == Some(event.key);
    require(
        by_root || may_revoke_again(key, body),
        Rule::CompromisedSince,
        || {
            "only the root sets or withdraws compromised_since of a revoked key; an admin lowers it"
                .into()
        },
    )
}

fn may_revoke_again(key: &Key, body: &KeyRevoked) -> bool {
    let Some(before) = key.revoked else {
        return true;
    };
    match (before.compromised_since, body.compromised_since) {
        (Some(before), Some(since)) => since < before,
        (None | Some(_), None) | (None, Some(_)) => false,
    }
}

/// Rule 15: only sealed sessions are inherited.
fn open(state: &State, body: &SessionOpened) -> Result<(), Refusal> {
    for inherited in body.inherits.iter() {
        require(
            session(state, *inherited)?.is_sealed(),
            Rule::InheritsUnsealed,
            || format!("session {inherited} is not sealed"),
        )?;
    }
    Ok(())
}

/// Rule 11: the ambient list is declared, there is something to seal, and the seal binds it.
fn seal(state: &State, event: &Event, body: &SessionSealed) -> Result<(), Refusal> {
    let session = session(state, event.session)?;
    require(!session.ambient.is_empty(), Rule::AmbientUndeclared, || {
        "the ambient allowlist was not declared; an empty one is a declaration".into()
    })?;
    let inherits = !session.opened.body.inherits.is_empty();
    require(session.acted || inherits, Rule::NothingToSeal, || {
        "the session has nothing of its own and inherits nothing".into()
    })?;
    require(
        state.wrong_seals(event.session) < WRONG_SEALS_MAX,
        Rule::Boundary,
        || format!("{WRONG_SEALS_MAX} seals of it were refused; it can be abandoned"),
    )?;
    let boundary = Boundary::of(state, event.session);
    let expected = boundary.map(|boundary| (boundary.digest(), boundary.counts()));
    let found = Some((Some(body.boundary_digest), body.counts.clone()));
    require(expected == found, Rule::Boundary, || {
        "the digest or a count is not that of the session's boundary record".into()
    })
}

/// Rule 12: the key that opened a session or an admin abandons it.
fn abandon(state: &State, event: &Event, body: &SessionAbandoned) -> Result<(), Refusal> {
    let session = session(state, body.session)?;
    let admin = state
        .keys()
        .get(&event.key)
        .is_some_and(|key| key.has(Role::Admin));
    require(
        session.opened.key == event.key || admin,
        Rule::SessionKey,
        || {
            format!(
                "session {} was opened by another key, and this is no admin's",
                body.session
            )
        },
    )?;
    require(session.is_open(), Rule::SessionEnded, || {
        format!("session {} has ended", body.session)
    })
}

/// An acknowledgement is the root's, of what came before it.
fn acknowledge(state: &State, event: &Event, body: &EventAcknowledged) -> Result<(), Refusal> {
    root_only(state, event)?;
    require(body.up_to < event.seq, Rule::AcknowledgesAhead, || {
        format!("event {} acknowledges up to {}", event.seq, body.up_to)
    })
}
