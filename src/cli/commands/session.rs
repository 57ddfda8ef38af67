//! `session` and `seal`: the beginning and the end of an agent's run.

use super::super::args::{Common, Open};
use super::super::context::Context;
use super::super::examined::Answers;
use super::super::output::Output;
use super::super::quote::quoted;
use super::super::render::head_json;
use super::super::report::{Exit, Failure};
use super::super::written::wrote;
use crate::command;
use crate::event::SessionAbandoned;
use crate::facts::{End, Session};
use crate::home::clock;
use crate::slice::Question;
use crate::types::{Seq, Text};
use serde_json::{Value, json};

/// Opens a session.
pub(super) fn open(
    context: &mut Context<'_>,
    arguments: &Open,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let before = context.session();
    let (session, head, inherits) = opened(context, arguments)?;
    output.recorded(&head);
    tell_other(before, context, output);
    let line = format!(
        "session {session} opened by {}{}",
        arguments.agent,
        told(&inherits)
    );
    output.line(&line);
    output.line(&format!("next: export HANDOFF_SESSION={session}"));
    let body = json!({
        "seq": session, "session": session, "inherits": inherits, "agent": arguments.agent,
        "head": head_json(&head),
    });
    output.document("handoff.session_open.v1", Exit::Yes, body);
    Ok(Exit::Yes)
}

/// Says that another session of this key was open here when one more was opened.
pub(super) fn tell_other(before: Result<Seq, Failure>, context: &Context<'_>, output: &mut Output) {
    if let Ok(other) = before {
        let seal = context
            .common()
            .carried(&format!("handoff seal --session {other}"));
        output.note(&format!(
            "note: session {other} of your key is open here too: name one with --session, or end \
             it, with: {seal}, or handoff session abandon {other} --reason WHY"
        ));
    }
}

/// How inheritance is told in a line.
pub(super) fn told(inherits: &[Seq]) -> String {
    match inherits.is_empty() {
        true => ", inheriting nothing".to_owned(),
        false => {
            let inherits: Vec<String> = inherits.iter().map(Seq::to_string).collect();
            format!(", inheriting {}", inherits.join(", "))
        }
    }
}

/// Writes the opening: the session, the head after it and what it inherits.
pub(super) fn opened(
    context: &mut Context<'_>,
    arguments: &Open,
) -> Result<(Seq, crate::types::Head, Vec<Seq>), Failure> {
    let signer = context.signer()?;
    let question = Question {
        sessions: true,
        cited: named(context, &arguments.inherit)?.into_iter().collect(),
        ..Question::default()
    };
    context.ask(&question)?;
    let inherit = (!arguments.inherit.is_empty()).then(|| arguments.inherit.clone());
    let (agent, purpose) = (arguments.agent.clone(), arguments.purpose.clone());
    let scope = context.scope;
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            let session = command::open(pen, agent, purpose, inherit, scope)?;
            let inherits = pen.state().sessions().get(&session);
            let inherits = inherits.map(|session| session.opened.body.inherits.to_vec());
            Ok::<_, Failure>((session, inherits.unwrap_or_default()))
        })?;
    let (session, inherits) = appended.outcome;
    Ok((session, appended.head, inherits))
}

/// The sessions that are named, which must be there.
pub(super) fn named(
    context: &Context<'_, impl Answers>,
    sessions: &[Seq],
) -> Result<Vec<Seq>, Failure> {
    for session in sessions {
        let question = Question {
            session: Some(*session),
            ..Question::default()
        };
        if !context
            .ledger
            .ask(&question)?
            .sessions()
            .contains_key(session)
        {
            return Err(
                Failure::no("session_unknown", format!("there is no session {session}"))
                    .next("handoff session list"),
            );
        }
    }
    Ok(sessions.to_vec())
}

/// Lists every session there was, and which of them the next one would inherit.
pub(super) fn list(common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    let state = context.ledger.fold(context.head()?.seq)?;
    let key = context.signer().ok().map(|signer| signer.public());
    let frontier = state.frontier();
    let mut listed = Vec::new();
    for (seq, session) in state.sessions() {
        let here = session.opened.body.scope == context.scope;
        let mine = Some(session.opened.key) == key;
        let purpose = match &session.opened.body.purpose {
            Some(purpose) => format!(" for {}", quoted(purpose.as_str())),
            None => String::new(),
        };
        let whose = if mine { "your key" } else { "another key" };
        let where_opened = if here { "here" } else { "elsewhere" };
        output.line(&format!(
            "{seq} {} by {}{purpose}, {whose}, {where_opened}{}",
            status(session),
            session.opened.body.agent,
            told(&session.opened.body.inherits)
        ));
        listed.push(json!({
            "session": seq, "status": status(session), "agent": session.opened.body.agent,
            "purpose": session.opened.body.purpose, "key": session.opened.key, "mine": mine,
            "here": here, "inherits": session.opened.body.inherits.to_vec(),
            "to_inherit": frontier.contains(seq), "time": session.opened.time,
        }));
    }
    if listed.is_empty() {
        output.line("there was no session yet");
    }
    let body = json!({ "sessions": listed });
    Ok(context.answer(output, "handoff.session_list.v1", Exit::Yes, body))
}

fn status(session: &Session) -> &'static str {
    match session.end {
        None => "open",
        Some(End::Sealed(_)) => "sealed",
        Some(End::Abandoned(_)) => "abandoned",
    }
}

/// Ends a session without a seal.
pub(super) fn abandon(
    context: &mut Context<'_>,
    session: Seq,
    reason: &Text,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signer = context.signer()?;
    named(context, &[session])?;
    let question = Question {
        cited: [session].into_iter().collect(),
        ..Question::default()
    };
    context.ask(&question)?;
    let body = SessionAbandoned {
        reason: reason.clone(),
        session,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(Seq::ZERO, body).map_err(Failure::from)
        })?;
    let line = format!(
        "session {session} abandoned: nobody inherits what it verified or promoted; its flags stay \
         open"
    );
    let body = json!({ "seq": appended.outcome, "session": session });
    Ok(wrote(
        output,
        "session_abandon",
        &appended.head,
        &line,
        body,
    ))
}

/// Seals the session: what it leaves is bound, and its successors may inherit it.
pub(super) fn seal(context: &mut Context<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let question = Question {
        session: Some(session),
        boundary: true,
        ..Question::default()
    };
    context.ask(&question)?;
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            command::seal(pen, session).map_err(Failure::from)
        })?;
    let (seq, boundary) = &appended.outcome;
    let counts = boundary.counts();
    output.line(&format!(
        "session {session} sealed as {seq}: axes {}, claims {}, promotions {}, flags {}",
        counts.axes, counts.claims, counts.promotions, counts.flags
    ));
    let line = format!(
        "head {} (put this line where your successor will see it)",
        appended.head
    );
    let body = json!({
        "seq": seq, "session": session, "counts": counts, "boundary_digest": boundary.digest(),
        "boundary": serde_json::to_value(boundary).unwrap_or(Value::Null),
    });
    Ok(wrote(output, "seal", &appended.head, &line, body))
}
