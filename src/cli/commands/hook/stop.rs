//! Before a stop: what is recorded is checkpointed, and what is not sealed is told, once.

use super::super::prove::signed_now;
use super::Question;
use crate::boundary::Boundary;
use crate::cli::context::Context;
use crate::cli::examined::{Answers as _, AnyLedger};
use crate::cli::failures::NO_LEDGER;
use crate::cli::output::Output;
use crate::cli::report::Failure;
use crate::home::paths::LEDGER_FOLDER;
use crate::home::{self, read_given};
use crate::hooks::answer::Answer;
use crate::hooks::client::Client;
use crate::hooks::fired;
use crate::hooks::payload::Stop;
use crate::note::NOTE_BYTES_MAX;
use crate::slice;
use crate::state::State;
use crate::types::Seq;
use std::path::Path;

/// Name of the checkpoint beside the ledger.
const CHECKPOINT_FILE: &str = "checkpoint";

/// Never keeps up a stop but once.
pub(super) fn end(
    question: &Question<'_>,
    stop: Stop,
    client: Client,
    output: &mut Output,
) -> Answer {
    if stop == Stop::Again {
        return Answer::Silent;
    }
    let ended = (question.folders.iter())
        .map(|folder| look(question, folder, client, output))
        .find(|ended| !matches!(ended, Ok(None)));
    match ended {
        Some(Ok(Some(answer))) => answer,
        Some(Ok(None)) | None => Answer::Silent,
        Some(Err(failure)) => {
            let lines = failure.lines();
            lines.iter().for_each(|line| output.note(line));
            Answer::Tell(format!("handoff: at the stop: {}", lines.join("; ")))
        }
    }
}

/// What there is to say of the ledger that is found from a folder; none if there is none.
fn look(
    question: &Question<'_>,
    folder: &Path,
    client: Client,
    output: &mut Output,
) -> Result<Option<Answer>, Failure> {
    let common = question.common_in(folder);
    let context = match Context::examine(&common, output) {
        Ok(context) => context,
        Err(failure) if failure.code == NO_LEDGER => return Ok(None),
        Err(failure) => return Err(failure),
    };
    if context.ledger.integrity().is_some() {
        return Ok(Some(Answer::Silent));
    }
    if let Err(failure) = checkpoint(&context) {
        output.note(&format!("handoff hook: no checkpoint: {failure}"));
    }
    let Some(session) = context.session_if_any()? else {
        return Ok(Some(Answer::Silent));
    };
    let state = context.ask(&slice::Question {
        session: Some(session),
        boundary: true,
        ..slice::Question::default()
    })?;
    let Some(reminder) = reminder(&state, session) else {
        return Ok(Some(Answer::Silent));
    };
    let conversation = question.conversation.as_deref().unwrap_or_default();
    let key = format!(
        "{client} {conversation} {} {session}",
        context.head()?.ledger
    );
    Ok(Some(match fired::reminded(&context.folders, &key) {
        true => Answer::Silent,
        false => {
            let head = context.head()?;
            Answer::Remind(format!("{reminder}\nRecorded so far: {head}"))
        }
    }))
}

/// Signs where the ledger stands into a file beside it, if it stands elsewhere than that says.
fn checkpoint(context: &Context<'_, AnyLedger>) -> Result<(), Failure> {
    let folder = context.path.parent().unwrap_or(&context.path);
    if folder.file_name() != Some(LEDGER_FOLDER.as_ref()) {
        return Ok(());
    }
    let path = folder.join(CHECKPOINT_FILE);
    let before = read_given(&path, NOTE_BYTES_MAX).unwrap_or_default();
    let text = signed_now(context)?.to_string();
    if before != text.as_bytes() {
        home::replace(&path, text.as_bytes())?;
    }
    Ok(())
}

/// What an open session leaves undone; nothing, if it recorded nothing.
fn reminder(state: &State, session: Seq) -> Option<String> {
    let counts = Boundary::of(state, session)?.counts();
    let own = [
        (counts.axes, "axes"),
        (counts.claims, "claims"),
        (counts.promotions, "promotions"),
        (counts.flags, "flags"),
    ];
    let own: Vec<String> = (own.iter())
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let ended = |begun: Seq| {
        let mut receipts = state.receipts().values();
        receipts.any(|receipt| receipt.body.begun == Some(begun))
    };
    let begun = state.begun.values().filter(|fact| fact.session == session);
    let begun: Vec<String> = (begun.filter(|fact| !ended(fact.seq)))
        .map(|fact| fact.seq.to_string())
        .collect();
    if own.is_empty() && begun.is_empty() {
        return None;
    }
    let recorded = match own.is_empty() {
        true => "nothing but probes".to_owned(),
        false => own.join(", "),
    };
    let declared = state
        .sessions()
        .get(&session)
        .is_some_and(|it| !it.ambient.is_empty());
    let seal = format!("handoff seal --session {session}");
    let next = match declared {
        true => seal,
        false => format!("handoff ambient --session {session} --none && {seal}"),
    };
    let mut text = format!(
        "handoff: session {session} is open and not sealed: {recorded}. No other session inherits \
         from it until it is. Record what you concluded and have not recorded (handoff claim, \
         handoff flag). If the work is done: {next}. If it goes on, leave it open; you are told \
         once."
    );
    if !begun.is_empty() {
        text += &format!(
            "\nProbes that were begun and never came back: event {}; handoff show tells of which.",
            begun.join(", ")
        );
    }
    Some(text)
}
