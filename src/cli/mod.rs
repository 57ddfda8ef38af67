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
    let parsed = args::parse(&argv);
    let mut output = match stream_of(&parsed, &argv) {
        Stream::Own => Output::new(args::format(&argv)),
        Stream::Client => Output::new(Format::Text),
        Stream::Action => Output::aside(args::format(&argv)),
    };
    let exit = answer(&argv, parsed, &mut output);
    output.finish(exit)
}

/// Whose standard output is.
enum Stream {
    /// This program's.
    Own,
    /// That of whoever asks a hook, in its own words.
    Client,
    /// The gated command's, whether it is run or not.
    Action,
}

fn stream_of(read: &Result<Request, Failure>, argv: &[OsString]) -> Stream {
    let (gated, hooked) = match read.as_ref().map(|request| &request.command) {
        Ok(command) => (
            matches!(command, Command::Gate(gate) if !gate.dry_run),
            matches!(command, Command::Hook(_)),
        ),
        Err(_) => {
            let topic = args::topic(argv);
            (topic == GATE, topic == HOOK)
        }
    };
    match (gated, hooked) {
        (true, _) => Stream::Action,
        (false, true) => Stream::Client,
        (false, false) => Stream::Own,
    }
}

/// Does what `argv` was read as, and says how it ended; a failure ends with what to type next.
fn answer(argv: &[OsString], read: Result<Request, Failure>, output: &mut Output) -> Exit {
    let ended = read.and_then(|request| {
        let ended = commands::run(&request, output);
        let common = &request.common;
        ended.map_err(|failure| failure.in_session(common.session).carrying(common))
    });
    ended.unwrap_or_else(|failure| {
        let topic = args::topic(argv);
        let failure = match failure.next {
            Some(_) => failure,
            None => failure.next(format!("handoff help {topic}")),
        };
        let failure = match topic.as_str() {
            GATE => failure.not_run(),
            HOOK => commands::hook::misused(argv, failure),
            _ => failure,
        };
        output.failure(&failure);
        failure.exit
    })
}
