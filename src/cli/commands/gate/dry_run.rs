//! `gate --dry-run`: what would be probed, and what is to be said of the claims so far.

use super::report::SCHEMA;
use super::{claims_json, question, to_probe};
use crate::cli::args::{Common, Gate};
use crate::cli::context::Context;
use crate::cli::output::Output;
use crate::cli::quote::shell_quoted;
use crate::cli::render::{claim_text, claims, probe_text, reasons_text};
use crate::cli::report::{Exit, Failure};
use crate::judge::Judge;
use crate::reverify;
use crate::types::ClaimId;
use serde_json::json;
use std::collections::BTreeSet;

/// Runs and records nothing; exit 0 if, by what is recorded, the command would be run.
pub(super) fn run(common: &Common, asked: &Gate, output: &mut Output) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    context.ledger.require_trusted()?;
    let session = context.session()?;
    let ids: BTreeSet<ClaimId> = asked.ids.iter().cloned().collect();
    let state = context.ask(&question(session, &ids))?;
    let judge = Judge::new(&state, Some(session), context.now());
    let verdicts = claims(&state, &judge, Some(&ids));
    let mut probes = Vec::new();
    for planned in reverify::plan(&state, &to_probe(&state, &judge, session, asked)) {
        output.line(&format!("would probe {}", probe_text(&planned.probe)));
        probes.push(json!({ "probe": planned.probe, "axes": planned.axes }));
    }
    for (id, verdict) in &verdicts {
        let line = claim_text(&state, id, verdict);
        match verdict.admissible {
            true => output.verdict("yes", &line),
            false => {
                output.verdict("no", &line);
                output.line(&format!("    {}", reasons_text(&state, &verdict.because)));
            }
        }
    }
    let argv = shell_quoted(&asked.argv);
    let exit = match verdicts.values().all(|verdict| verdict.admissible) {
        true => {
            output.line(&format!("by what is recorded so far it would run: {argv}"));
            Exit::Yes
        }
        false => {
            output.line(&format!(
                "by what is recorded so far it would not run: {argv}"
            ));
            Exit::NotRun
        }
    };
    let body = json!({
        "dry_run": true, "session": session, "argv": asked.argv, "probes": probes,
        "claims": claims_json(&state, &verdicts, session, common),
    });
    Ok(context.answer(output, SCHEMA, exit, body))
}
