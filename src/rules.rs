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
use crate::key;
use crate::lists::closed;
use crate::rules_claims;
pub(crate) use crate::rules_claims::four_eyes;
use crate::rules_evidence;
use crate::state::{Key, Session, State};
use crate::types::{PublicKey, Seq};

closed! {
    /// The rule that a refused event breaks.
    Rule {
        /// 13: the signer was never authorised.
        KeyNotAuthorized = "key_not_authorized",
        /// 13: the signer is revoked.
        KeyRevoked = "key_revoked",
        /// 13: the signer's roles do not cover the kind.
        Role = "role",
        /// The kind or version is not allowed in this ledger.
        KindNotAllowed = "kind_not_allowed",
        /// The ledger is opened once, by its first event.
        AlreadyOpened = "already_opened",
        /// An upgrade raises a version and lowers none.
        UpgradeLowers = "upgrade_lowers",
        /// 13: one authorisation per key.
        KeyAlreadyAuthorized = "key_already_authorized",
        /// 13: a key that is not fit to be trusted.
        KeyWeak = "key_weak",
        /// 13: another key has the label.
        LabelInUse = "label_in_use",
        /// 13: the key to revoke was never authorised.
        KeyUnknown = "key_unknown",
        /// 13: the root is never revoked.
        RootIrrevocable = "root_irrevocable",
        /// 13: only the root makes or unmakes admins.
        RootOnly = "root_only",
        /// 13: an admin may only lower `compromised_since`, to a seq before the event.
        CompromisedSince = "compromised_since",
        /// The envelope's session is 0 for this kind, or must not be.
        Session = "session",
        /// There is no such session.
        SessionUnknown = "session_unknown",
        /// 12: the session has ended.
        SessionEnded = "session_ended",
        /// 12: the session was opened by another key.
        SessionKey = "session_key",
        /// 15: only sealed sessions are inherited.
        InheritsUnsealed = "inherits_unsealed",
        /// 11: the ambient list was not declared.
        AmbientUndeclared = "ambient_undeclared",
        /// 11: there is nothing to seal.
        NothingToSeal = "nothing_to_seal",
        /// 11: the boundary digest or a count is another.
        Boundary = "boundary",
        /// The acknowledgement reaches itself or beyond.
        AcknowledgesAhead = "acknowledges_ahead",
        /// What is cited is not there, or is of another kind.
        DanglingReference = "dangling_reference",
        /// 14: what is cited is void.
        Void = "void",
        /// The probe's digest is not that of its definition, or not the one promised.
        ProbeDigest = "probe_digest",
        /// 1: the receipt's scope is not its session's.
        Scope = "scope",
        /// 1: what the receipt says contradicts itself.
        ReceiptShape = "receipt_shape",
        /// 2, 3: the receipt is of another session.
        ReceiptSession = "receipt_session",
        /// 2, 3, 9: the receipt is not successful.
        ReceiptFailed = "receipt_failed",
        /// 3: a constant command is never evidence.
        Vacuous = "vacuous",
        /// 3: no receipt expects more than an exit code.
        NoExpectation = "no_expectation",
        /// 12: the session has a later receipt of the probe.
        ReceiptNotLatest = "receipt_not_latest",
        /// 9: the receipt is older than the flag.
        ReceiptBeforeFlag = "receipt_before_flag",
        /// 10: the receipt is older than the claim's latest retraction.
        ReceiptBeforeRetraction = "receipt_before_retraction",
        /// 2: the receipt's value does not satisfy the comparator.
        Comparator = "comparator",
        /// 2: a redacted axis is compared exactly.
        RedactedComparator = "redacted_comparator",
        /// 5: a support of the session needed the axis.
        AmbientLoadBearing = "ambient_load_bearing",
        /// 5: the axis is allowlisted.
        AxisAmbient = "axis_ambient",
        /// 3: neither axes nor a reason to need none.
        NeedsMissing = "needs_missing",
        /// 3: both axes and a reason to need none.
        NeedsContradict = "needs_contradict",
        /// 4: the axis is not of the session's lineage.
        AxisNotInLineage = "axis_not_in_lineage",
        /// 3: the axis was not held before and after the proof.
        NotBracketed = "not_bracketed",
        /// 4: a claim it is derived from is not admissible.
        FromNotAdmissible = "from_not_admissible",
        /// 6: the id keeps its statement.
        StatementChanged = "statement_changed",
        /// 6: an open flag binds the id or the statement.
        OpenFlag = "open_flag",
        /// 6, 7: the id or the statement is admissible already.
        AlreadyAdmissible = "already_admissible",
        /// 7: a flag without derivation.
        NoDerivation = "no_derivation",
        /// 8: the directive is not the one built from the id and the step.
        Directive = "directive",
        /// 9: the flag's needs are not those of the axes it names.
        FlagNeeds = "flag_needs",
        /// 6, 9: the flag is not open.
        FlagNotOpen = "flag_not_open",
        /// 6: the flag is another session's.
        FlagOwner = "flag_owner",
        /// 9: the statement is not the flag's.
        FlagStatement = "flag_statement",
        /// 9: an axis that the flag names is not needed.
        FlagNeedsMissing = "flag_needs_missing",
        /// 9: the flag does not say that it needs no axis.
        IndependenceNotFlagged = "independence_not_flagged",
        /// 9: the promoting key signed a flag of the claim.
        FourEyes = "four_eyes",
        /// 9: the promotion was refused for another reason than the one given.
        PromotionRefusedWhy = "promotion_refused_why",
        /// 10: a claim that nobody spoke of.
        ClaimUnknown = "claim_unknown",
        /// 18: an entry cites a receipt of another session or probe.
        ReverifiedReceipt = "reverified_receipt",
        /// 12: the decision is not the one that the state gives.
        GateDecision = "gate_decision",
        /// The gate is finished already, or did not let the action run.
        GateFinished = "gate_finished",
    }
}

/// How many seals of a session may bind something else than its boundary. Each takes a look at all
/// that the session said.
pub(crate) const WRONG_SEALS_MAX: usize = 8;

/// Why an event is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {detail}")]
pub struct Refusal {
    /// The rule it breaks.
    pub rule: Rule,
    /// How, in words.
    pub detail: String,
}

pub(crate) fn refuse<T>(rule: Rule, detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        rule,
        detail: detail.into(),
    })
}

pub(crate) fn require(
    lawful: bool,
    rule: Rule,
    detail: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    if lawful {
        Ok(())
    } else {
        refuse(rule, detail())
    }
}

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

fn root(state: &State) -> Option<PublicKey> {
    state.ledger().map(|ledger| ledger.root)
}

fn root_only(state: &State, event: &Event) -> Result<(), Refusal> {
    require(root(state) == Some(event.key), Rule::RootOnly, || {
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
    let is_root = root(state) == Some(body.key);
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
    let by_root = root(state) == Some(event.key);
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
