//! Gated commands, as JSON and as lines.

use crate::cli::quote::{quoted_within, shell_quoted};
use crate::event::ActionGated;
use crate::facts::Fact;
use crate::probe_spec::Outcome;
use crate::state::State;
use serde_json::{Value, json};

/// Most characters of a command that a line shows.
const COMMAND_CHARACTERS_MAX: usize = 200;

/// The gated commands whose end is not recorded.
pub fn unfinished_json(state: &State) -> Vec<Value> {
    let told = state.unfinished().map(|gate| {
        json!({
            "gate": gate.seq,
            "session": gate.session,
            "time": gate.time,
            "argv": gate.body.argv,
            "claims": gate.body.claims,
        })
    });
    told.collect()
}

/// One of them, as `unfinished: gate 17 of session 15 let "./migrate.sh" run at …`.
pub fn unfinished_text(gate: &Fact<ActionGated>) -> String {
    let argv: Vec<&str> = gate.body.argv.iter().map(|word| word.as_str()).collect();
    let command = quoted_within(&shell_quoted(&argv), COMMAND_CHARACTERS_MAX);
    let (seq, session, time) = (gate.seq, gate.session, gate.time);
    format!(
        "unfinished: gate {seq} of session {session} let {command} run at {time}: it runs still, \
         or never came back"
    )
}

/// How a gated command ended.
pub fn end_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Exited(code) => format!("exit {code}"),
        Outcome::Signaled(number) => format!("ended by signal {number}"),
        Outcome::NotFound | Outcome::NotExecutable | Outcome::Interrupted => {
            "it was not started".to_owned()
        }
        Outcome::Failed | Outcome::TimedOut | Outcome::Checked => {
            "how, the system did not tell".to_owned()
        }
    }
}
