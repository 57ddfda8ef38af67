//! `claim`, `flag`, `retract` and `discard`: what is concluded, and what is taken back.

use super::super::args::{Claim, Discard, Evidence, Flag, Retract};
use super::super::context::Context;
use super::super::observe::{Observer, probe_of, secrets};
use super::super::output::Output;
use super::super::render::weak_text;
use super::super::report::{Exit, Failure};
use super::super::written::{not_told, refused_with, said, wrote};
use super::evidence::{printed, require_receipt, told};
use super::grounds::{AxisProbes, about, check_grounds, grounds};
use crate::command::Proof;
use crate::command_claims::{self, Bracket, Flagged, Provisional, Step};
use crate::event::{ClaimRetracted, DiscardWhy};
use crate::home::clock;
use crate::judge::weaknesses;
use crate::observation::axis_in;
use crate::probe;
use crate::probe_spec::{Probe, STEP_TIMEOUT_MS_DEFAULT, TIMEOUT_MS_DEFAULT};
use crate::slice::Question;
use crate::state::State;
use crate::types::{Ascending, ClaimId, Seq, Text};
use crate::verdict::{Verdict, Weak};
use serde_json::json;
use std::collections::BTreeSet;

/// Records a verified claim.
pub(super) fn claim(
    context: &mut Context<'_>,
    arguments: &Claim,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let given = &arguments.grounds;
    check_grounds(
        !given.needs.is_empty(),
        given.environment_independent.is_some(),
    )?;
    let mut question = about(session, &arguments.id, given);
    question.statements.extend(arguments.statement().cloned());
    let state = context.ask(&question)?;
    let statement = stated(&state, &arguments.id, arguments.statement())?;
    let grounds = grounds(&state, session, given)?;
    question.cited.extend(&grounds.needs);
    question.statements.insert(statement.clone());
    if let Evidence::Probe(probe) = &arguments.evidence {
        let probe = probe_of(context, probe, TIMEOUT_MS_DEFAULT)?;
        let state = context.ask(&question)?;
        let met_by_empty = probe::met_by_empty_output(&probe);
        command_claims::provable(&state, &arguments.id, &statement, &probe, &met_by_empty)?;
    }
    let (proof, bracket, told_of) = prove(
        context,
        &state,
        session,
        &grounds.needs,
        &arguments.evidence,
        &mut question,
    )?;
    let id = arguments.id.clone();
    let appended = context.append_seen(&signer, &question, |pen| {
        command_claims::claim(pen, session, id, statement, grounds, bracket, proof)
            .map_err(Failure::from)
    })?;
    let (receipt, id) = (appended.outcome.receipt, &arguments.id);
    match &appended.outcome.attempt {
        Ok(seq) => {
            let weak =
                weak_of(context, *seq).map_err(|failure| not_told(failure, &appended.head))?;
            let told = weak_text(&weak).map_or(String::new(), |weak| format!(" ({weak})"));
            let line =
                format!("claim {id} recorded as {seq}, admissible to session {session}{told}");
            let body = json!({
                "seq": seq, "claim": id, "receipt": receipt, "session": session,
                "state": "verified_invariant", "weak": !weak.is_empty(), "weak_because": weak,
            });
            Ok(wrote(output, "claim", &appended.head, &line, body))
        }
        Err(refusal) => {
            let mut refusal = refusal.clone();
            refusal.detail.push_str(&told_of);
            Err(refused_with(
                output,
                refusal,
                receipt,
                &appended,
                json!({ "receipt": receipt, "claim": id }),
            ))
        }
    }
}

/// Why a support that was just written is weaker than it could be.
pub(super) fn weak_of(context: &Context<'_>, support: Seq) -> Result<BTreeSet<Weak>, Failure> {
    let question = Question {
        cited: BTreeSet::from([support]),
        ..Question::default()
    };
    let state = context.ledger.ask(&question)?;
    let support = state.supports().get(&support);
    Ok(support
        .map(|support| weaknesses(&state, support))
        .unwrap_or_default())
}

/// Runs a claim's proof with the observations around it, as far as they are not there.
fn prove(
    context: &Context<'_>,
    state: &State,
    session: Seq,
    needs: &[Seq],
    evidence: &Evidence,
    question: &mut Question,
) -> Result<(Proof, Bracket, String), Failure> {
    let observer = Observer::new(context)?;
    let axes = AxisProbes {
        context,
        observer: &observer,
        state,
        session,
        axes: needs,
    };
    match evidence {
        Evidence::Probe(arguments) => {
            let probe = probe_of(context, arguments, TIMEOUT_MS_DEFAULT)?;
            let digest = probe.digest();
            let before = axes.run(|axis| axes.not_held(axis) && !axes.is_by(axis, digest))?;
            let run = observer.run(
                &probe,
                None,
                &secrets(context, state, needs.iter().copied(), digest)?,
            )?;
            let after = axes.run(|axis| !axes.is_by(axis, digest))?;
            let told_of = format!(" (the proof: {}{})", told(&run.receipt), printed(&run));
            Ok((
                Proof::Run(Box::new(run)),
                Bracket { before, after },
                told_of,
            ))
        }
        Evidence::Receipt(seq) => {
            question.cited.insert(*seq);
            question.bracket = Some(*seq);
            let proof = Proof::Receipt(*seq);
            require_receipt(context, question, &proof)?;
            let own = context.ledger.ask(question)?;
            let digest = own
                .receipts()
                .get(seq)
                .map(|receipt| receipt.body.probe_digest);
            let time = context.time;
            let after = axes.run(|axis| {
                let newest = axis_in(&own, axis, session, None, time);
                let held = newest.verdict == Verdict::Held
                    && newest.receipt.is_some_and(|receipt| receipt >= *seq);
                !held && own.axis_probe(axis) != digest
            })?;
            Ok((
                proof,
                Bracket {
                    before: Vec::new(),
                    after,
                },
                String::new(),
            ))
        }
    }
}

fn stated(state: &State, id: &ClaimId, given: Option<&Text>) -> Result<Text, Failure> {
    match given.or_else(|| state.statement(id)) {
        Some(statement) => Ok(statement.clone()),
        None => Err(Failure::usage(format!("{id} has no statement yet"))
            .next(format!("handoff claim {id} STATEMENT --needs AXIS -- ARGV"))),
    }
}

/// Flags a provisional claim. Exit 1 if it was recorded as discarded instead.
pub(super) fn flag(
    context: &mut Context<'_>,
    arguments: &Flag,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let statement = arguments
        .statement()
        .ok_or_else(|| Failure::usage("missing <STATEMENT>"))?;
    let step = match &arguments.step.probe {
        None => None,
        Some(probe) => Some(step_of(
            context,
            probe_of(context, probe, STEP_TIMEOUT_MS_DEFAULT)?,
        )),
    };
    let question = Question {
        session: Some(session),
        claims: BTreeSet::from([arguments.id.clone()]),
        statements: BTreeSet::from([statement.clone()]),
        names: arguments.needs.iter().cloned().collect(),
        ..Question::default()
    };
    context.ask(&question)?;
    let provisional = Provisional {
        claim: arguments.id.clone(),
        statement: statement.clone(),
        derivation: arguments.because.clone().unwrap_or_default().parse()?,
        needs: arguments.needs.clone(),
        independent: arguments.environment_independent.clone(),
        step,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            command_claims::flag(pen, session, provisional).map_err(Failure::from)
        })?;
    let id = &arguments.id;
    match &appended.outcome {
        Flagged::Provisional { flag, step } => {
            let line = format!(
                "claim {id} flagged as {flag}: provisional; do not act on it before its step succeeds"
            );
            let body = json!({
                "seq": flag, "claim": id, "session": session, "state": "provisional_unverified",
                "directive": { "do_not_act_on": id, "until_probe": step },
                "next": context.common().carried(&format!("handoff promote {id}")),
            });
            Ok(wrote(output, "flag", &appended.head, &line, body))
        }
        Flagged::Discarded { seq, why } => {
            let next = amended(*why);
            let line = format!(
                "claim {id} not flagged: {why}; event {seq} says so, and closes nothing\nnext: {next}"
            );
            let body = json!({
                "seq": seq, "claim": id, "session": session, "state": "discarded", "why": why,
                "next": next,
            });
            Ok(said(output, "flag", Exit::No, &appended.head, &line, body))
        }
    }
}

/// What to type instead of a flag that was recorded as discarded.
fn amended(why: DiscardWhy) -> &'static str {
    match why {
        DiscardWhy::NoDerivation => "the same command with --because DERIVATION",
        DiscardWhy::NoStep => "the same command with its step: --expect E -- ARGV",
        DiscardWhy::VacuousStep => {
            "the same command with a step that can fail: another program, or an --expect that empty \
             output does not meet"
        }
        DiscardWhy::Redundant => "nothing: the same is admissible already",
        DiscardWhy::Withdrawn => "handoff state",
    }
}

fn step_of(context: &Context<'_>, probe: Probe) -> Step {
    let (executable, files) = probe::file_digests(&probe, &context.root);
    let met_by_empty = probe::met_by_empty_output(&probe);
    Step {
        probe,
        met_by_empty,
        executable,
        files,
    }
}

/// Withdraws the supports of claims.
pub(super) fn retract(
    context: &mut Context<'_>,
    arguments: &Retract,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let question = Question {
        session: Some(session),
        claims: arguments.ids.iter().cloned().collect(),
        ..Question::default()
    };
    context.ask(&question)?;
    let body = ClaimRetracted {
        claims: Ascending::from_unordered(arguments.ids.iter().cloned()),
        reason: arguments.reason.clone(),
        receipt: None,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(session, body).map_err(Failure::from)
        })?;
    let ids: Vec<String> = arguments.ids.iter().map(ClaimId::to_string).collect();
    let line = format!("retracted as {}: {}", appended.outcome, ids.join(", "));
    let body = json!({ "seq": appended.outcome, "session": session, "claims": ids });
    Ok(wrote(output, "retract", &appended.head, &line, body))
}

/// Withdraws a flag.
pub(super) fn discard(
    context: &mut Context<'_>,
    arguments: &Discard,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session_if_any()?;
    let signer = context.signer()?;
    let question = Question {
        session,
        claims: BTreeSet::from([arguments.id.clone()]),
        ..Question::default()
    };
    context.ask(&question)?;
    let (id, reason) = (arguments.id.clone(), arguments.reason.clone());
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            command_claims::withdraw(pen, session, id, reason).map_err(Failure::from)
        })?;
    let line = format!("flag of {} withdrawn as {}", arguments.id, appended.outcome);
    let body = json!({ "seq": appended.outcome, "claim": arguments.id, "state": "discarded" });
    Ok(wrote(output, "discard", &appended.head, &line, body))
}
