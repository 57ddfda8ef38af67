//! `promote`: the step of a flag is run, and what came of it recorded.

use super::super::args::{AxisReference, Promote};
use super::super::context::Context;
use super::super::observe::{Observer, secrets};
use super::super::output::Output;
use super::super::render::weak_text;
use super::super::report::{Exit, Failure};
use super::super::written::{not_told, refused_with, wrote};
use super::claims::weak_of;
use super::evidence::{printed, told};
use super::grounds::{AxisProbes, about, check_grounds, grounds};
use crate::append::Pen;
use crate::command::{self, Run};
use crate::command_claims::{self, Grounds};
use crate::event::ProbeBegun;
use crate::home::clock;
use crate::key::SigningKey;
use crate::probe_spec::Probe;
use crate::rules_claims;
use crate::slice::Question;
use crate::state::State;
use crate::types::{ClaimId, PublicKey, Seq};
use serde_json::json;
use std::rc::Rc;

/// What a promotion is to be made of.
struct Promotable {
    flag: Seq,
    step: Probe,
    grounds: Grounds,
    question: Question,
    state: Rc<State>,
}

/// Promotes a provisional claim by running its flag's step.
pub(super) fn promote(
    context: &mut Context<'_>,
    arguments: &Promote,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let promotable = promotable(context, session, &signer.public(), arguments)?;
    let state = &promotable.state;
    let supported = (state.claims().get(&arguments.id)).is_some_and(|it| !it.supports.is_empty());
    let stays = if supported {
        "gains nothing by this"
    } else {
        "stays provisional"
    };
    let (begun, run, after) = run_step(context, &signer, session, &promotable, &arguments.id)?;
    let told_of = format!("{}{}", told(&run.receipt), printed(&run));
    let Promotable {
        flag,
        grounds,
        mut question,
        ..
    } = promotable;
    question.cited.insert(begun);
    let id = arguments.id.clone();
    let appended = context.append_seen(&signer, &question, |pen| {
        command_claims::promote(pen, session, id, flag, grounds, run, after).map_err(Failure::from)
    })?;
    let (receipt, id) = (appended.outcome.receipt, &arguments.id);
    match &appended.outcome.attempt {
        Ok(seq) => {
            let weak =
                weak_of(context, *seq).map_err(|failure| not_told(failure, &appended.head))?;
            let told = weak_text(&weak).map_or(String::new(), |weak| format!(" ({weak})"));
            let line = format!("claim {id} promoted as {seq}: {told_of}{told}");
            let body = json!({
                "seq": seq, "claim": id, "flag": flag, "receipt": receipt, "session": session,
                "state": "verified_invariant", "weak": !weak.is_empty(), "weak_because": weak,
            });
            Ok(wrote(output, "promote", &appended.head, &line, body))
        }
        Err((refused, refusal)) => {
            let mut refusal = refusal.clone();
            refusal.detail = format!("{id} {stays}: {} ({told_of})", refusal.detail);
            let details = json!({ "receipt": receipt, "claim": id, "flag": flag, "seq": refused });
            Err(refused_with(output, refusal, receipt, &appended, details))
        }
    }
}

/// A promotion that ended between its two transactions: the first one stands.
fn unfinished(mut failure: Failure, begun: Seq, id: &ClaimId) -> Failure {
    failure.message = format!(
        "{}; that its step was begun stands as event {begun}",
        failure.message
    );
    failure.next(format!("handoff promote {id}"))
}

/// Runs a flag's step between observations of the needed axes. What came before it is committed
/// with the word that it begins, whose event this answers first; the run and the observations after
/// are not yet.
fn run_step(
    context: &mut Context<'_>,
    signer: &SigningKey,
    session: Seq,
    promotable: &Promotable,
    id: &ClaimId,
) -> Result<(Seq, Run, Vec<Run>), Failure> {
    let Promotable {
        flag,
        step,
        grounds,
        question,
        state,
    } = promotable;
    let (needs, digest) = (&grounds.needs, step.digest());
    let observer = Observer::new(context)?;
    let axes = AxisProbes {
        context,
        observer: &observer,
        state,
        session,
        axes: needs,
    };
    let before = axes.run(|axis| axes.not_held(axis) && !axes.is_by(axis, digest))?;
    let begun = ProbeBegun {
        claim: id.clone(),
        flag: *flag,
        probe_digest: digest,
    };
    let begun = announce(context, signer, session, question, before, begun)?;
    let axes = AxisProbes {
        context,
        observer: &observer,
        state,
        session,
        axes: needs,
    };
    let secrets = secrets(context, state, needs.iter().copied(), digest)?;
    let stands = |failure: Failure| unfinished(failure, begun, id);
    let run = observer.run(step, Some(begun), &secrets).map_err(stands)?;
    let after = axes.run(|axis| !axes.is_by(axis, digest)).map_err(stands)?;
    Ok((begun, run, after))
}

/// Commits the observations before, and that the step is about to run.
fn announce(
    context: &mut Context<'_>,
    signer: &SigningKey,
    session: Seq,
    question: &Question,
    before: Vec<Run>,
    begun: ProbeBegun,
) -> Result<Seq, Failure> {
    let appended = context
        .ledger
        .append(signer, clock::now, question, |pen: &mut Pen<'_>| {
            command::receipts(pen, session, before)?;
            pen.write(session, begun).map_err(Failure::from)
        })?;
    Ok(appended.outcome)
}

fn promotable(
    context: &Context<'_>,
    session: Seq,
    signer: &PublicKey,
    arguments: &Promote,
) -> Result<Promotable, Failure> {
    let given = &arguments.grounds;
    let mut question = about(session, &arguments.id, given);
    let state = context.ask(&question)?;
    let id = &arguments.id;
    let stating = state
        .statement(id)
        .map(|statement| state.open_flags_stating(statement));
    let flag = state
        .open_flag(id)
        .or_else(|| stating.into_iter().flatten().next());
    let Some(flag) = flag else {
        return Err(
            Failure::no("flag_not_open", format!("{id} has no open flag to promote"))
                .next(format!("handoff can {id}")),
        );
    };
    let flag = flag.clone();
    rules_claims::four_eyes(&state, signer, &flag).map_err(|refusal| {
        Failure::from(refusal).next(format!("handoff --key ANOTHER promote {id}"))
    })?;
    let mut given = given.clone();
    if given.needs.is_empty() && given.environment_independent.is_none() {
        given.environment_independent = flag.body.independent.clone();
        given.needs = (flag.body.needs.iter())
            .map(|need| AxisReference {
                name: need.axis.clone(),
                session: None,
            })
            .collect();
        question
            .names
            .extend(flag.body.needs.iter().map(|need| need.axis.clone()));
    }
    check_grounds(
        !given.needs.is_empty(),
        given.environment_independent.is_some(),
    )?;
    let state = context.ask(&question)?;
    let grounds = grounds(&state, session, &given)?;
    question.cited.extend(&grounds.needs);
    question.cited.insert(flag.seq);
    let step = flag.body.step.clone();
    question.probes.insert(flag.body.step_digest);
    Ok(Promotable {
        flag: flag.seq,
        step,
        grounds,
        question,
        state,
    })
}
