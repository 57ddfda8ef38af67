//! What a caller asks of claims, and what events it becomes: claims that are verified, flagged,
//! promoted and withdrawn.

use crate::append::{LedgerError, Pen};
use crate::command::{Proof, Recorded, Run, attempt, proof, receipt, receipts};
use crate::event::{
    ClaimDiscarded, ClaimFlagged, ClaimPromoted, ClaimPromotionRefused, ClaimVerified, Directive,
    DiscardWhy, FlagNeed, PromotionRefusedWhy,
};
use crate::judge::{Asked, Judge};
use crate::observation;
use crate::probe_spec::{self, FileDigest, Probe, Strength};
use crate::refusal::{Refusal, Rule};
use crate::resolve::{Resolved, resolve};
use crate::rules_claims;
use crate::state::State;
use crate::types::{Ascending, AxisName, ClaimId, Digest, Seq, Text, Value};
/// What a claim rests on beside its receipts.
#[derive(Debug, Clone, Default)]
pub struct Grounds {
    /// The axes it needs.
    pub needs: Vec<Seq>,
    /// Why it needs none.
    pub independent: Option<Text>,
    /// The claims it is derived from.
    pub from: Vec<ClaimId>,
}

/// The runs around a proof that show the needed axes as held.
#[derive(Debug, Default)]
pub struct Bracket {
    /// Before the proof.
    pub before: Vec<Run>,
    /// After it.
    pub after: Vec<Run>,
}

/// Whether a claim could be verified by a probe at all, asked before the probe runs.
///
/// # Errors
/// The rule that the claim would break, however the probe ended.
pub fn provable(
    state: &State,
    claim: &ClaimId,
    statement: &Text,
    probe: &Probe,
    met_by_empty: &[bool],
) -> Result<(), Refusal> {
    rules_claims::verifiable(state, claim, statement)?;
    if probe_spec::is_constant(probe) {
        let detail = "a constant command is never evidence".to_owned();
        return Err(Refusal {
            rule: Rule::Vacuous,
            detail,
        });
    }
    if probe_spec::best_strength(probe, met_by_empty) == Strength::None {
        let detail = "the probe expects no more than an exit code".to_owned();
        return Err(Refusal {
            rule: Rule::NoExpectation,
            detail,
        });
    }
    Ok(())
}

/// Records a verified claim, with the observations that bracket its proof.
///
/// # Errors
/// If a receipt is refused; what the rules say of the claim is in the answer.
pub fn claim(
    pen: &mut Pen<'_>,
    session: Seq,
    claim: ClaimId,
    statement: Text,
    grounds: Grounds,
    bracket: Bracket,
    shown_by: Proof,
) -> Result<Recorded, LedgerError> {
    receipts(pen, session, bracket.before)?;
    let receipt = proof(pen, session, shown_by)?;
    receipts(pen, session, bracket.after)?;
    let body = ClaimVerified {
        claim,
        from: Ascending::from_unordered(grounds.from),
        independent: grounds.independent,
        needs: Ascending::from_unordered(grounds.needs),
        receipts: Ascending::from_unordered([receipt]),
        statement,
    };
    Ok(Recorded {
        receipt,
        attempt: attempt(pen, session, body)?,
    })
}

/// The missing verification step of a flag, as it is found where it is flagged.
#[derive(Debug)]
pub struct Step {
    /// The probe.
    pub probe: Probe,
    /// Per expectation, whether empty output meets it.
    pub met_by_empty: Vec<bool>,
    /// Its executable, if it is there.
    pub executable: Option<FileDigest>,
    /// The files that its arguments name.
    pub files: Vec<FileDigest>,
}

/// A provisional claim as its author puts it.
#[derive(Debug)]
pub struct Provisional {
    /// The claim.
    pub claim: ClaimId,
    /// What it states.
    pub statement: Text,
    /// How it was arrived at.
    pub derivation: Value,
    /// The axes that its promotion must need.
    pub needs: Vec<AxisName>,
    /// Why it needs none.
    pub independent: Option<Text>,
    /// What would verify it.
    pub step: Option<Step>,
}

/// What became of a flag.
#[derive(Debug)]
pub enum Flagged {
    /// It stands.
    Provisional {
        /// The flag.
        flag: Seq,
        /// Digest of its step.
        step: Digest,
    },
    /// It was recorded as discarded.
    Discarded {
        /// The event.
        seq: Seq,
        /// Why.
        why: DiscardWhy,
    },
}

/// Flags a provisional claim; what is not worth keeping is recorded as discarded: rule 7.
///
/// # Errors
/// What the rules say against either.
pub fn flag(
    pen: &mut Pen<'_>,
    session: Seq,
    provisional: Provisional,
) -> Result<Flagged, LedgerError> {
    let Provisional {
        claim,
        statement,
        derivation,
        needs,
        independent,
        step,
    } = provisional;
    if let Some(why) = discard_why(pen, session, &claim, &statement, &derivation, step.as_ref()) {
        return discarded(pen, session, claim, statement, why);
    }
    let Some(step) = step else {
        return discarded(pen, session, claim, statement, DiscardWhy::NoStep);
    };
    let step_digest = step.probe.digest();
    let mut needs: Vec<FlagNeed> = needs
        .into_iter()
        .map(|axis| flag_need(pen.state(), session, axis))
        .collect();
    needs.sort_by(|a, b| a.axis.cmp(&b.axis));
    needs.dedup_by(|a, b| a.axis == b.axis);
    let body = ClaimFlagged {
        directive: Directive {
            do_not_act_on: claim.clone(),
            until_probe: step_digest,
        },
        claim,
        derivation,
        executable: step.executable,
        files: step.files,
        independent,
        met_by_empty: step.met_by_empty,
        needs,
        statement,
        step: step.probe,
        step_digest,
    };
    let flag = pen.write(session, body)?;
    Ok(Flagged::Provisional {
        flag,
        step: step_digest,
    })
}

/// An axis as it is known to the session: by probe and comparator, else by name alone.
fn flag_need(state: &State, session: Seq, axis: AxisName) -> FlagNeed {
    let known = match resolve(state, session, &axis) {
        Resolved::One(record) => state.axis_identity(record),
        Resolved::Unknown | Resolved::Ambiguous(_) => None,
    };
    let (probe_digest, comparator) = match known {
        Some((probe, comparator)) => (Some(probe), Some(comparator.clone())),
        None => (None, None),
    };
    FlagNeed {
        axis,
        comparator,
        probe_digest,
    }
}

/// Why a provisional claim is not worth keeping, if it is not.
fn discard_why(
    pen: &Pen<'_>,
    session: Seq,
    claim: &ClaimId,
    statement: &Text,
    derivation: &Value,
    step: Option<&Step>,
) -> Option<DiscardWhy> {
    if !rules_claims::is_derived(derivation) {
        return Some(DiscardWhy::NoDerivation);
    }
    let Some(step) = step else {
        return Some(DiscardWhy::NoStep);
    };
    if rules_claims::is_vacuous(&step.probe, &step.met_by_empty) {
        return Some(DiscardWhy::VacuousStep);
    }
    let asked = Asked::AtHead { time: pen.time() };
    let judge = Judge::new(pen.state(), Some(session), asked);
    judge
        .covering(claim, statement)
        .map(|_| DiscardWhy::Redundant)
}

fn discarded(
    pen: &mut Pen<'_>,
    session: Seq,
    claim: ClaimId,
    statement: Text,
    why: DiscardWhy,
) -> Result<Flagged, LedgerError> {
    let body = ClaimDiscarded {
        claim,
        flag: None,
        reason: None,
        statement,
        why,
    };
    let seq = pen.write(session, body)?;
    Ok(Flagged::Discarded { seq, why })
}

/// Withdraws the open flag of a claim: by the session that flagged it, else as an admin.
///
/// # Errors
/// `FlagNotOpen` if there is none; what the rules say.
pub fn withdraw(
    pen: &mut Pen<'_>,
    session: Option<Seq>,
    claim: ClaimId,
    reason: Text,
) -> Result<Seq, LedgerError> {
    let Some(flag) = pen.state().open_flag(&claim) else {
        let detail = format!("{claim} has no open flag");
        return Err(Refusal {
            rule: Rule::FlagNotOpen,
            detail,
        }
        .into());
    };
    let owner = session
        .filter(|session| *session == flag.session)
        .unwrap_or(Seq::ZERO);
    let body = ClaimDiscarded {
        claim,
        flag: Some(flag.seq),
        reason: Some(reason),
        statement: flag.body.statement.clone(),
        why: DiscardWhy::Withdrawn,
    };
    pen.write(owner, body)
}

/// What became of a promotion.
#[derive(Debug)]
pub struct Promotion {
    /// The receipt of the step.
    pub receipt: Seq,
    /// The promotion, or the refused promotion and why.
    pub attempt: Result<Seq, (Option<Seq>, Refusal)>,
}

/// Promotes a claim by its flag's step, or records that it could not be: rule 9.
///
/// # Errors
/// If a receipt is refused.
pub fn promote(
    pen: &mut Pen<'_>,
    session: Seq,
    claim: ClaimId,
    flag: Seq,
    grounds: Grounds,
    run: Run,
    after: Vec<Run>,
) -> Result<Promotion, LedgerError> {
    let successful = observation::is_successful(&run.receipt);
    let receipt = receipt(pen, session, run)?;
    receipts(pen, session, after)?;
    let body = ClaimPromoted {
        claim: claim.clone(),
        flag,
        from: Ascending::from_unordered(grounds.from),
        independent: grounds.independent,
        needs: Ascending::from_unordered(grounds.needs),
        receipt,
    };
    let refusal = match attempt(pen, session, body)? {
        Ok(seq) => {
            return Ok(Promotion {
                receipt,
                attempt: Ok(seq),
            });
        }
        Err(refusal) => refusal,
    };
    let why = if !successful {
        Some(PromotionRefusedWhy::ProbeFailed)
    } else if refusal.rule == Rule::NotBracketed {
        Some(PromotionRefusedWhy::AxisNotHeld)
    } else if refusal.rule == Rule::FromNotAdmissible {
        Some(PromotionRefusedWhy::FromNotAdmissible)
    } else {
        None
    };
    let refused = match why {
        Some(why) => {
            let body = ClaimPromotionRefused {
                claim,
                flag,
                receipt,
                why,
            };
            attempt(pen, session, body)?.ok()
        }
        None => None,
    };
    Ok(Promotion {
        receipt,
        attempt: Err((refused, refusal)),
    })
}
