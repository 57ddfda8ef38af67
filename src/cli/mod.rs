//! The program: its command line, its streams and its exits. Nothing here knows a rule of the
//! ledger; commands ask the library and say what it answered.

pub mod args;
pub mod briefing;
pub mod commands;
pub mod context;
pub mod examine;
pub mod examined;
mod failures;
pub mod help;
pub mod known;
pub mod next;
pub mod observe;
pub mod output;
pub mod place;
pub mod quote;
pub mod render;
pub mod report;
mod reprobe;
pub mod source;
mod tree;
pub mod trust;
pub mod written;

use args::{Command, Request};
use output::{Format, Output};
use report::{Exit, Failure};
use std::ffi::OsString;
use std::process::ExitCode;

/// The command whose exits are another program's.
const GATE: &str = "gate";
/// The command whose answers are another program's to read.
const HOOK: &str = "hook";

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    observe::outlive_file_size_limit();
    let argv: Vec<OsString> = std::env::args_os().collect();
    let topic = args::topic(&argv);
    let parsed = args::parse(&argv);
    // A gate's standard output is the gated command's, whether it is run or not.
    let aside = match &parsed {
        Ok(request) => matches!(&request.command, Command::Gate(gate) if !gate.dry_run),
        Err(_) => topic == GATE,
    };
    let format = match topic == HOOK {
        true => Format::Text,
        false => args::format(&argv),
    };
    let mut output = match aside {
        true => Output::aside(format),
        false => Output::new(format),
    };
    let exit = answer(&argv, parsed, &mut output);
    output.finish(exit)
}

/// Does what `argv` was read as, and says how it ended; a failure ends with what to type next.
fn answer(argv: &[OsString], read: Result<Request, Failure>, output: &mut Output) -> Exit {
    let topic = args::topic(argv);
    let ended = read.and_then(|request| {
        let ended = commands::run(&request, output);
        let common = &request.common;
        ended.map_err(|failure| failure.in_session(common.session).carrying(common))
    });
    let ended = ended.map_err(|failure| match failure.next {
        Some(_) => failure,
        None => failure.next(format!("handoff help {topic}")),
    });
    let ended = match topic == GATE {
        true => ended.map_err(Failure::not_run),
        false => ended,
    };
    let ended = match topic == HOOK {
        true => ended.map_err(|failure| commands::hook::misused(argv, failure)),
        false => ended,
    };
    ended.unwrap_or_else(|failure| {
        output.failure(&failure);
        failure.exit
    })
}
