//! The rules of claims: what supports one, what flags one, and what takes them back.

use crate::event::{
    ClaimDiscarded, ClaimFlagged, ClaimPromoted, ClaimPromotionRefused, ClaimRetracted,
    ClaimVerified, DiscardWhy, Event, FlagNeed, PromotionRefusedWhy,
};
use crate::facts::{Fact, Support};
use crate::judge::{self, Asked, Judge};
use crate::observation;
use crate::probe_spec::{self, Probe, Strength};
use crate::refusal::{Refusal, Rule, refuse, require};
use crate::resolve::{Resolved, resolve};
use crate::rules_evidence::{bracketed, dangling, evidence, is_latest, own_receipt};
use crate::state::State;
use crate::types::{ClaimId, Digest, PublicKey, Seq, Text, Value, is_blank};

/// Rule 3: a verified claim rests on successful receipts, and on axes held around them.
pub(crate) fn verified(state: &State, event: &Event, body: &ClaimVerified) -> Result<(), Refusal> {
    verifiable(state, &body.claim, &body.statement)?;
    let mut shows_value = false;
    let mut exit_only = false;
    for seq in body.receipts.iter() {
        let receipt = evidence(state, event, *seq)?;
        require(
            !probe_spec::is_constant(&receipt.body.probe),
            Rule::Vacuous,
            || format!("receipt {seq} is of a constant command"),
        )?;
        match probe_spec::strength(&receipt.body.probe, &receipt.body.expectations) {
            Strength::Value => shows_value = true,
            Strength::ExitOnly => exit_only = true,
            Strength::None => {}
        }
    }
    require(shows_value || exit_only, Rule::NoExpectation, || {
        "no receipt expects more than an exit code, and none is marked exit-only".into()
    })?;
    support(state, event, &Support::verified(body))
}

/// Rule 6: whether an id may gain a support by verification: it keeps its statement, and no open
/// flag binds either.
///
/// # Errors
/// `StatementChanged` or `OpenFlag`.
pub(crate) fn verifiable(state: &State, claim: &ClaimId, statement: &Text) -> Result<(), Refusal> {
    keeps_statement(state, claim, statement)?;
    let open = state.open_flag(claim).into_iter();
    match open.chain(state.open_flags_stating(statement)).next() {
        Some(flag) => refuse(
            Rule::OpenFlag,
            format!(
                "flag {} is open: it gains supports only by promotion",
                flag.seq
            ),
        ),
        None => Ok(()),
    }
}

/// What every support must be, however it came about.
fn support(state: &State, event: &Event, support: &Support) -> Result<(), Refusal> {
    let independent = support.independent.is_some();
    require(
        independent || !support.needs.is_empty(),
        Rule::NeedsMissing,
        || "a claim needs axes, or a reason to need none".into(),
    )?;
    require(
        !independent || support.needs.is_empty(),
        Rule::NeedsContradict,
        || "a claim that needs axes is not environment-independent".into(),
    )?;
    for seq in &support.receipts {
        let receipt = own_receipt(state, event, *seq)?;
        is_latest(state, event, receipt)?;
        let retraction = state
            .retracted(&support.claim)
            .filter(|retraction| retraction > seq);
        if let Some(retraction) = retraction {
            return refuse(
                Rule::ReceiptBeforeRetraction,
                format!("receipt {seq} is older than retraction {retraction} of the claim"),
            );
        }
    }
    let ends = (
        support.receipts.first().copied(),
        support.receipts.last().copied(),
    );
    let (Some(first), Some(last)) = ends else {
        return Ok(());
    };
    for axis in &support.needs {
        needed(state, event, *axis)?;
        bracketed(state, event, *axis, (first, last))?;
    }
    derived(state, event, &support.from)
}

/// Rules 4 and 5: a needed axis is of the lineage, not void and not allowlisted.
fn needed(state: &State, event: &Event, axis: Seq) -> Result<(), Refusal> {
    let Some(record) = state.axes().get(&axis) else {
        return dangling("axis", axis);
    };
    require(
        state.inherits(event.session, record.session),
        Rule::AxisNotInLineage,
        || {
            format!(
                "axis {axis} is of session {}, not of this lineage",
                record.session
            )
        },
    )?;
    require(!state.is_void(axis), Rule::Void, || {
        format!("axis {axis} is void")
    })?;
    let name = &record.body.axis;
    let ambient = [event.session, record.session]
        .into_iter()
        .find(|session| state.is_ambient(*session, name));
    match ambient {
        Some(session) => refuse(
            Rule::AxisAmbient,
            format!("session {session} lets {name} drift"),
        ),
        None => Ok(()),
    }
}

/// Rule 4: a claim is derived from claims that are admissible to the session.
fn derived(state: &State, event: &Event, from: &[ClaimId]) -> Result<(), Refusal> {
    if from.is_empty() {
        return Ok(());
    }
    let admissible = judge(state, event).admissible_of(from);
    match from.iter().find(|claim| !admissible.contains_key(*claim)) {
        Some(claim) => refuse(
            Rule::FromNotAdmissible,
            format!("{claim} is not admissible to session {}", event.session),
        ),
        None => Ok(()),
    }
}

fn judge<'a>(state: &'a State, event: &Event) -> Judge<'a> {
    Judge::new(
        state,
        Some(event.session),
        Asked::AtHead { time: event.time },
    )
}

/// Rule 6: an id keeps its statement.
fn keeps_statement(state: &State, claim: &ClaimId, statement: &Text) -> Result<(), Refusal> {
    match state.statement(claim) {
        Some(kept) if kept != statement => refuse(
            Rule::StatementChanged,
            format!("{claim} states something else since it was first recorded"),
        ),
        _ => Ok(()),
    }
}

/// Rules 6 to 8: a flag says how it was derived, what would verify it and what must wait for that;
/// it binds an id and a statement that are neither flagged elsewhere nor admissible.
pub(crate) fn flagged(state: &State, event: &Event, body: &ClaimFlagged) -> Result<(), Refusal> {
    keeps_statement(state, &body.claim, &body.statement)?;
    let open = state.open_flag(&body.claim);
    let open = open
        .into_iter()
        .chain(state.open_flags_stating(&body.statement));
    if let Some(flag) = open.into_iter().find(|flag| flag.session != event.session) {
        return refuse(
            Rule::OpenFlag,
            format!(
                "session {} flagged it: flag {} is open",
                flag.session, flag.seq
            ),
        );
    }
    require(is_derived(&body.derivation), Rule::NoDerivation, || {
        "a flag without derivation is speculation".into()
    })?;
    require(
        body.step.digest() == body.step_digest,
        Rule::ProbeDigest,
        || "the step's digest is not that of its definition".into(),
    )?;
    for (expectation, empty) in body.step.expect().iter().zip(&body.met_by_empty) {
        let recomputed = probe_spec::met_by_empty(body.step.extract(), expectation);
        require(
            recomputed.is_none_or(|recomputed| recomputed == *empty),
            Rule::ReceiptShape,
            || "met_by_empty is not what the expectation says".into(),
        )?;
    }
    let vacuous = is_vacuous(&body.step, &body.met_by_empty);
    require(!vacuous, Rule::Vacuous, || {
        "the step cannot fail, or expects nothing that empty output would not meet".into()
    })?;
    let directive = (&body.directive.do_not_act_on, body.directive.until_probe);
    require(
        directive == (&body.claim, body.step_digest),
        Rule::Directive,
        || "the directive is not the one built from the id and the step".into(),
    )?;
    require(
        body.independent.is_none() || body.needs.is_empty(),
        Rule::NeedsContradict,
        || "a claim that needs axes is not environment-independent".into(),
    )?;
    for need in &body.needs {
        flag_need(state, event, need)?;
    }
    match judge(state, event).covering(&body.claim, &body.statement) {
        Some(claim) => refuse(
            Rule::AlreadyAdmissible,
            format!("{claim} may be acted on by the session already"),
        ),
        None => Ok(()),
    }
}

/// Rule 7: whether a flag says how it was derived.
pub(crate) fn is_derived(derivation: &Value) -> bool {
    !is_blank(derivation.as_str())
}

/// Rule 7: whether a step is a constant command, or shows nothing even if it succeeds.
pub(crate) fn is_vacuous(step: &Probe, met_by_empty: &[bool]) -> bool {
    probe_spec::best_strength(step, met_by_empty) == Strength::None
}

/// A flag names an axis as it was known when flagged.
fn flag_need(state: &State, event: &Event, need: &FlagNeed) -> Result<(), Refusal> {
    let known = match resolve(state, event.session, &need.axis) {
        Resolved::One(axis) => state.axis_identity(axis),
        Resolved::Unknown => None,
        Resolved::Ambiguous(_) => {
            return refuse(Rule::FlagNeeds, format!("{} is ambiguous here", need.axis));
        }
    };
    let known = known.map(|(probe, comparator)| (probe, comparator.clone()));
    let said = need.probe_digest.zip(need.comparator.clone());
    let half = need.probe_digest.is_some() != need.comparator.is_some();
    require(!half && known == said, Rule::FlagNeeds, || {
        format!("{} is not named as it was known when flagged", need.axis)
    })
}

/// Rule 6: the flagging session withdraws its flag until its seal, an admin at any time. What is
/// discarded at once binds and closes nothing.
pub(crate) fn discarded(
    state: &State,
    event: &Event,
    body: &ClaimDiscarded,
) -> Result<(), Refusal> {
    if body.why != DiscardWhy::Withdrawn {
        return require(event.session != Seq::ZERO, Rule::Session, || {
            "what a session concluded is discarded in that session".into()
        });
    }
    let flag = body.flag.and_then(|flag| state.flags().get(&flag));
    let Some(flag) = flag else {
        return dangling("flag", body.flag.unwrap_or_default());
    };
    require(
        flag.body.claim == body.claim && state.is_open(flag.seq),
        Rule::FlagNotOpen,
        || format!("flag {} of {} is not open", flag.seq, body.claim),
    )?;
    require(
        flag.body.statement == body.statement,
        Rule::FlagStatement,
        || format!("flag {} states something else", flag.seq),
    )?;
    let owner = event.session == Seq::ZERO || event.session == flag.session;
    require(owner, Rule::FlagOwner, || {
        format!(
            "flag {} is of session {}: it or an admin discards it",
            flag.seq, flag.session
        )
    })
}

/// Rule 9: a promotion rests on the promised step, run by this session after the flag.
pub(crate) fn promoted(state: &State, event: &Event, body: &ClaimPromoted) -> Result<(), Refusal> {
    let flag = promotable(state, &body.claim, body.flag)?;
    let receipt = evidence(state, event, body.receipt)?;
    step_of(flag, receipt.seq, receipt.body.probe_digest)?;
    let strength = probe_spec::strength(&receipt.body.probe, &receipt.body.expectations);
    require(strength != Strength::None, Rule::NoExpectation, || {
        format!(
            "receipt {} shows nothing that empty output would not",
            receipt.seq
        )
    })?;
    let independent = body.independent.is_none() || flag.body.independent.is_some();
    require(independent, Rule::IndependenceNotFlagged, || {
        format!("flag {} does not say that it needs no axis", flag.seq)
    })?;
    for need in &flag.body.needs {
        let met = body.needs.iter().any(|axis| meets(state, *axis, need));
        require(met, Rule::FlagNeedsMissing, || {
            format!("flag {} needs {} as it was then", flag.seq, need.axis)
        })?;
    }
    four_eyes(state, &event.key, flag)?;
    support(
        state,
        event,
        &Support::promoted(body, flag.body.statement.clone()),
    )
}

/// The open flag that a promotion of a claim cites.
fn promotable<'a>(
    state: &'a State,
    claim: &ClaimId,
    flag: Seq,
) -> Result<&'a Fact<ClaimFlagged>, Refusal> {
    let Some(fact) = state.flags().get(&flag) else {
        return dangling("flag", flag);
    };
    require(state.is_open(flag), Rule::FlagNotOpen, || {
        format!("flag {flag} is not open")
    })?;
    let same = state.statement(claim) == Some(&fact.body.statement);
    require(same, Rule::FlagStatement, || {
        format!("flag {flag} is not of {claim} nor of its statement")
    })?;
    Ok(fact)
}

fn step_of(flag: &Fact<ClaimFlagged>, receipt: Seq, probe_digest: Digest) -> Result<(), Refusal> {
    require(
        probe_digest == flag.body.step_digest,
        Rule::ProbeDigest,
        || {
            format!(
                "receipt {receipt} is of another probe than flag {} promises",
                flag.seq
            )
        },
    )?;
    require(receipt > flag.seq, Rule::ReceiptBeforeFlag, || {
        format!("receipt {receipt} is older than flag {}", flag.seq)
    })
}

/// Whether a needed axis is the one that a flag names: by probe and comparator if it was known
/// when flagged, else by name.
fn meets(state: &State, axis: Seq, need: &FlagNeed) -> bool {
    match (need.probe_digest, &need.comparator) {
        (Some(probe), Some(comparator)) => state.axis_identity(axis) == Some((probe, comparator)),
        (None | Some(_), None) | (None, Some(_)) => {
            judge::axis_name(state, axis) == Some(&need.axis)
        }
    }
}

/// Rule 9, under four-eyes: the promoting key signed no flag of the id or of the statement.
pub(crate) fn four_eyes(
    state: &State,
    key: &PublicKey,
    flag: &Fact<ClaimFlagged>,
) -> Result<(), Refusal> {
    if !state.ledger().is_some_and(|ledger| ledger.policy.four_eyes) {
        return Ok(());
    }
    let mut signed = (state.ids_stating(&flag.body.statement))
        .filter_map(|claim| state.claims().get(claim)?.flagged_by.get(key));
    match signed.next() {
        Some(flag) => refuse(
            Rule::FourEyes,
            format!("key {} signed flag {flag} itself", key.short()),
        ),
        None => Ok(()),
    }
}

/// Rule 9: a refused promotion says why, truly.
pub(crate) fn promotion_refused(
    state: &State,
    event: &Event,
    body: &ClaimPromotionRefused,
) -> Result<(), Refusal> {
    let flag = promotable(state, &body.claim, body.flag)?;
    let receipt = own_receipt(state, event, body.receipt)?;
    step_of(flag, receipt.seq, receipt.body.probe_digest)?;
    let strength = probe_spec::strength(&receipt.body.probe, &receipt.body.expectations);
    let failed = !observation::is_successful(&receipt.body) || strength == Strength::None;
    let expected = body.why == PromotionRefusedWhy::ProbeFailed;
    require(failed == expected, Rule::PromotionRefusedWhy, || {
        let found = if failed {
            "failed"
        } else {
            "met all that was expected"
        };
        format!(
            "receipt {} {found}, which is not {}",
            body.receipt, body.why
        )
    })
}

/// Rule 10: what is retracted was spoken of; a receipt that shows why is the session's own.
pub(crate) fn retracted(
    state: &State,
    event: &Event,
    body: &ClaimRetracted,
) -> Result<(), Refusal> {
    let unknown = body
        .claims
        .iter()
        .find(|claim| !state.claims().contains_key(*claim));
    if let Some(claim) = unknown {
        return refuse(Rule::ClaimUnknown, format!("nobody spoke of {claim}"));
    }
    match body.receipt {
        Some(receipt) => own_receipt(state, event, receipt).map(|_| ()),
        None => Ok(()),
    }
}
