//! `can`: whether the session may act on claims.

use super::reading::{asked, judged};
use crate::cli::args::{Can, Common};
use crate::cli::context::Context;
use crate::cli::examined::Answers;
use crate::cli::output::Output;
use crate::cli::render::{
    age_text, because_json, claim_text, claims, next_for, oldest_observation, reasons_text,
    weak_text,
};
use crate::cli::report::{Exit, Failure};
use crate::judge::Judge;
use crate::slice::Question;
use crate::types::ClaimId;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCHEMA: &str = "handoff.can.v1";

pub(super) fn run(common: &Common, request: &Can, output: &mut Output) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    // Evidence that is not whole, or whose root nobody vouches for, says nothing may be done.
    context.ledger.require_trusted()?;
    let is_evidence = context.ledger.integrity().is_some();
    if is_evidence && common.session.is_none() {
        let message = "of evidence no session is yours: name the one to ask as";
        return Err(Failure::usage(message).next("handoff session list"));
    }
    let session = context.session()?;
    let ids: BTreeSet<ClaimId> = request.ids.iter().cloned().collect();
    let question = Question {
        session: Some(session),
        claims: ids.clone(),
        ..Question::default()
    };
    let (state, basis) = asked(&context, &question)?;
    let judge = Judge::new(&state, Some(session), context.now());
    let verdicts = claims(&state, &judge, Some(&ids));
    let all = verdicts.values().all(|verdict| verdict.admissible);
    let exit = judged(&state, if all { Exit::Yes } else { Exit::No });
    let mut told: Vec<Value> = Vec::new();
    for (id, verdict) in &verdicts {
        let because: Vec<Value> = (verdict.because.iter())
            .map(|because| because_json(&state, because))
            .collect();
        let next = (!verdict.admissible)
            .then(|| common.carried(&next_for(&state, id, verdict, Some(session))));
        let observed = oldest_observation(&state, &judge, id);
        let observed = observed.filter(|_| verdict.admissible);
        let line = claim_text(&state, id, verdict);
        if verdict.admissible {
            output.verdict("yes", &line);
            if let Some(weak) = weak_text(&verdict.weak) {
                output.line(&format!("    {weak}"));
            }
            if let Some((_, time)) = observed {
                let age = age_text(context.time, time);
                let again =
                    common.carried(&format!("handoff reverify --session {session} --only {id}"));
                output.line(&format!("    seen {age}; to look again: {again}"));
            }
        } else {
            output.verdict("no", &line);
            output.line(&format!("    {}", reasons_text(&state, &verdict.because)));
        }
        if let Some(next) = &next {
            output.line(&format!("    next: {next}"));
        }
        told.push(json!({
            "claim": id,
            "admissible": verdict.admissible,
            "state": verdict.state,
            "weak": !verdict.weak.is_empty(),
            "weak_because": verdict.weak,
            "because": because,
            "observed": observed.map(|(receipt, time)| json!({ "receipt": receipt, "time": time })),
            "next": next,
        }));
    }
    let body = json!({ "basis": basis.to_string(), "session": session, "claims": told });
    Ok(context.answer(output, SCHEMA, exit, body))
}
