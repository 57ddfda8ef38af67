//! `brief`: what a successor must know, blocked things first, in a bounded text.

use super::reading::{self, session_text};
use super::state::body;
use crate::cli::args::{BRIEF_CHARACTERS, Brief, Common};
use crate::cli::briefing::{Briefing, Markup, characters_of_tokens};
use crate::cli::context::Context;
use crate::cli::examined::AnyLedger;
use crate::cli::output::Output;
use crate::cli::report::{Exit, Failure};
use serde_json::json;

const SCHEMA: &str = "handoff.brief.v1";

pub(super) fn run(common: &Common, request: &Brief, output: &mut Output) -> Result<Exit, Failure> {
    Context::answering(common, output, |context, output| {
        answer(context, request, output)
    })
}

fn answer(
    context: &Context<'_, AnyLedger>,
    request: &Brief,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let moment = reading::now(context)?;
    let title = format!(
        "Handoff brief for {} at event {}",
        session_text(moment.session),
        moment.seq
    );
    let markup = if request.markdown {
        Markup::Markdown
    } else {
        Markup::Plain
    };
    let mut briefing = Briefing::of(&moment.state, &moment.judge(), context.common(), title);
    if let Some((_, look)) = context.ledger.obstacle() {
        briefing = briefing.only(format!("what is wrong with the file: {look}"));
    }
    let text = briefing.text(markup, characters_max(request));
    for line in text.trim_end().lines() {
        output.line(line);
    }
    let mut told = body(&moment);
    if let Some(members) = told.as_object_mut() {
        members.insert("text".to_owned(), json!(text));
    }
    Ok(context.answer(output, SCHEMA, Exit::Yes, told))
}

/// The smaller of the bounds that are given.
fn characters_max(request: &Brief) -> usize {
    let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let of_tokens = request.max_tokens.map(size).map(characters_of_tokens);
    let bounds = request.max_chars.map(size).into_iter().chain(of_tokens);
    bounds.min().unwrap_or_else(|| size(BRIEF_CHARACTERS))
}
