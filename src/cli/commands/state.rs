//! `state`: the axes and claims of a session, now or after an event.

use super::reading::{self, Moment, session_text};
use crate::cli::args::{Common, StateArgs};
use crate::cli::context::Context;
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::render::{
    axes, axes_json, axis_text, claim_text, claims, claims_json, reasons_text, unfinished_json,
    unfinished_text, weak_text,
};
use crate::cli::report::{Exit, Failure};
use serde_json::{Value, json};

const SCHEMA: &str = "handoff.state.v1";

pub(super) fn run(
    common: &Common,
    request: &StateArgs,
    output: &mut Output,
) -> Result<Exit, Failure> {
    Context::answering(common, output, |context, output| {
        let moment = match request.at {
            Some(seq) => reading::at(context, seq)?,
            None => reading::now(context)?,
        };
        print(&moment, output);
        Ok(context.answer(output, SCHEMA, Exit::Yes, body(&moment)))
    })
}

/// What `state` and `brief` have in common.
pub(super) fn body(moment: &Moment) -> Value {
    let (state, judge) = (&moment.state, moment.judge());
    json!({
        "at": { "seq": moment.seq, "hash": moment.leaf },
        "ledger": state.ledger().map(|ledger| ledger.id),
        "session": moment.session,
        "claims": claims_json(state, &judge, None),
        "axes": axes_json(state, &judge),
        "unfinished": unfinished_json(state),
        "undetermined": state.undetermined(),
    })
}

fn print(moment: &Moment, output: &mut Output) {
    let (state, judge) = (&moment.state, moment.judge());
    let session = session_text(moment.session);
    output.line(&format!("{session} at event {}", moment.seq));
    let opened = moment.session.and_then(|seq| state.sessions().get(&seq));
    if let Some(opened) = opened {
        let purpose = opened.opened.body.purpose.as_ref();
        let purpose = purpose.map_or(String::new(), |text| format!(", {}", quoted(text.as_str())));
        output.line(&format!("opened by {}{purpose}", opened.opened.body.agent));
    }
    let axes = axes(state, &judge);
    for gate in state.unfinished() {
        output.line(&unfinished_text(gate));
    }
    if !axes.is_empty() {
        output.line("axes");
    }
    for axis in &axes {
        let verdict = axis.verdict.verdict.as_str();
        output.line(&format!("  {verdict}: {}", axis_text(state, axis)));
    }
    let claims = claims(state, &judge, None);
    output.line(if claims.is_empty() {
        "no claims"
    } else {
        "claims"
    });
    for (id, verdict) in &claims {
        let may = if verdict.admissible {
            "admissible"
        } else {
            "blocked"
        };
        let line = claim_text(state, id, verdict);
        output.line(&format!("  {may}, {}: {line}", verdict.state));
        if !verdict.because.is_empty() {
            output.line(&format!("    {}", reasons_text(state, &verdict.because)));
        }
        if let Some(weak) = weak_text(&verdict.weak) {
            output.line(&format!("    {weak}"));
        }
    }
}
