//! Before a tool call: the claims that guards say it needs.

use super::super::gate;
use super::{Question, shown};
use crate::cli::args::Gate;
use crate::cli::context::NO_SESSION;
use crate::cli::context::forget_view;
use crate::cli::failures::VIEW_UNUSABLE;
use crate::cli::output::Output;
use crate::cli::quote::{shell_quoted, visible};
use crate::cli::report::{Exit, Failure};
use crate::hooks::answer::Answer;
use crate::hooks::found::{self, FoundGuards};
use crate::hooks::guards::{Needed, OnError};
use crate::hooks::payload::{Input, ToolCall};
use crate::hooks::shell::plain_commands;
use std::time::Duration;

/// How long probes may take: less than clients wait for a hook.
const DEADLINE: Duration = Duration::from_secs(40);
/// The name by which this program is called.
const PROGRAM: &str = "handoff";

/// The answer to a call, or to a question that is none.
pub(super) fn before(
    question: &Question<'_>,
    call: Result<&ToolCall, String>,
    output: &mut Output,
) -> Answer {
    let found = match found::guards(&question.folders) {
        Ok(found) => found,
        Err(error) => {
            return Answer::Refuse(format!(
                "handoff: refused: what is guarded cannot be told: {error}\nnext: put that file \
                 right by hand; until then every call is refused"
            ));
        }
    };
    let call = match call {
        Ok(call) => call,
        Err(error) => return misunderstood(&found, &error, output),
    };
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(|path| path.to_str());
    let programs: Vec<&str> = std::iter::once(PROGRAM).chain(program).collect();
    let mut answer = Answer::Silent;
    for file in &found {
        let Some(needed) = file.guards.needed(call, &programs) else {
            continue;
        };
        match judged(question, file, &needed, call) {
            Answer::Silent => {}
            refused @ Answer::Refuse(_) => return refused,
            other
            @ (Answer::Context(_) | Answer::Warn(_) | Answer::Tell(_) | Answer::Remind(_)) => {
                answer = other;
            }
        }
    }
    answer
}

/// A question that is not understood may be any call.
fn misunderstood(found: &[FoundGuards], error: &str, output: &mut Output) -> Answer {
    let guarding = found.iter().filter(|file| !file.guards.is_empty());
    let on_error = guarding.map(|file| file.guards.on_error).max();
    match on_error {
        None => {
            output.note(&format!("handoff hook: nothing is guarded here; {error}"));
            Answer::Silent
        }
        Some(OnError::Closed) => Answer::Refuse(format!(
            "handoff: refused: the question of the hook is not understood: {error}\nnext: handoff \
             hooks doctor"
        )),
        Some(OnError::Open) => Answer::Warn(format!(
            "handoff: WARNING: NOT GUARDED (on_error = \"open\"): the question of the hook is not \
             understood: {error}\nnext: handoff hooks doctor"
        )),
    }
}

fn judged(question: &Question<'_>, file: &FoundGuards, needed: &Needed, call: &ToolCall) -> Answer {
    let claims: Vec<&str> = needed.claims.iter().map(|claim| claim.as_str()).collect();
    let what = format!(
        "{} needs {} (guard {} in {})",
        shown(call),
        claims.join(", "),
        needed
            .expressions
            .iter()
            .map(|it| format!("'{it}'"))
            .collect::<Vec<_>>()
            .join(", "),
        file.path.display()
    );
    let what = visible(&what).into_owned();
    if needed.by_gate {
        return Answer::Refuse(format!(
            "handoff: refused: {what}, and is to be run by its gate alone\nnext: {}",
            by_gate(needed, call)
        ));
    }
    let common = question.common_in(&file.from);
    let asked = Gate {
        ids: needed.claims.iter().cloned().collect(),
        max_age: needed.max_age,
        deadline: Some(DEADLINE),
        report: None,
        dry_run: false,
        argv: Vec::new(),
    };
    let failure = match gate::look(&common, &asked) {
        Ok(()) => return Answer::Silent,
        Err(failure) => failure.in_session(common.session).carrying(&common),
    };
    if failure.code == VIEW_UNUSABLE {
        // It is built anew by the next command; this one is answered as by any other failure.
        let _ = forget_view(&common);
    }
    let next = failure.next.as_deref().unwrap_or("handoff doctor");
    let next = visible(next).into_owned();
    let told = visible(&failure.message).into_owned();
    match (is_verdict(&failure), needed.on_error) {
        (true, _) => Answer::Refuse(format!("handoff: refused: {what}: {told}\nnext: {next}")),
        (false, OnError::Closed) => Answer::Refuse(format!(
            "handoff: refused, because it cannot be told whether it may be: {what}: {told}\n\
             next: {next}"
        )),
        (false, OnError::Open) => Answer::Warn(format!(
            "handoff: WARNING: NOT GUARDED (on_error = \"open\"): {what}: {told}\nnext: {next}"
        )),
    }
}

/// Whether a failure says no, whatever is to happen on errors: the claim does not hold, there is no
/// session to hold it for, or the ledger is not the one that was signed.
fn is_verdict(failure: &Failure) -> bool {
    match failure.exit {
        Exit::No | Exit::CannotJudge | Exit::Integrity => true,
        Exit::Usage => failure.code == NO_SESSION,
        Exit::Yes
        | Exit::Environment
        | Exit::Indeterminate
        | Exit::NotRun
        | Exit::Blocked
        | Exit::Action(_) => false,
    }
}

/// The same call through the gate.
fn by_gate(needed: &Needed, call: &ToolCall) -> String {
    let mut words: Vec<String> = vec![PROGRAM.to_owned(), "gate".to_owned()];
    words.extend(needed.claims.iter().map(ToString::to_string));
    let line = match &call.input {
        Input::Line(line) => line,
        Input::Arguments(_) => {
            let gate = shell_quoted(&words);
            return format!("{gate} -- a command that does the same");
        }
    };
    words.push("--".to_owned());
    match plain_commands(line).as_deref() {
        // What another gate was to run.
        Some([command]) if command.first().is_some_and(|program| program == PROGRAM) => {
            let given = command.iter().skip_while(|word| *word != "--").skip(1);
            words.extend(given.cloned());
        }
        Some([command]) => words.extend(command.iter().cloned()),
        Some(_) | None => words.extend(["sh".to_owned(), "-c".to_owned(), line.clone()]),
    }
    shell_quoted(&words)
}
