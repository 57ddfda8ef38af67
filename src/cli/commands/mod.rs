//! The commands: one file each, one arm each.

mod brief;
mod can;
mod export;
mod head;
mod import;
mod key_read;
mod log;
mod reading;
mod show;
mod state;
mod trust;
mod verify;

use super::args::{Command, Key, Request};
use super::help;
use super::output::Output;
use super::report::{Exit, Failure};

/// Does what was asked, saying on `output` what there is to say.
///
/// # Errors
/// Why it could not be done, or was refused.
pub fn run(request: &Request, output: &mut Output) -> Result<Exit, Failure> {
    match &request.command {
        Command::Init(_) => not_built("init"),
        Command::Key(Key::New { out }) => key_read::new(out.as_deref(), output),
        Command::Key(Key::Show) => key_read::show(&request.common, output),
        Command::Key(Key::List) => key_read::list(&request.common, output),
        Command::Key(Key::Authorize { .. }) => not_built("key authorize"),
        Command::Key(Key::Revoke { .. }) => not_built("key revoke"),
        Command::Trust(asked) => trust::run(&request.common, asked, output),
        Command::Session(_) => not_built("session"),
        Command::Probe(_) => not_built("probe"),
        Command::Axis(_) => not_built("axis"),
        Command::Ambient(_) => not_built("ambient"),
        Command::Claim(_) => not_built("claim"),
        Command::Flag(_) => not_built("flag"),
        Command::Promote(_) => not_built("promote"),
        Command::Retract(_) => not_built("retract"),
        Command::Discard(_) => not_built("discard"),
        Command::Seal => not_built("seal"),
        Command::Acknowledge(_) => not_built("acknowledge"),
        Command::Upgrade => not_built("upgrade"),
        Command::Resume(_) => not_built("resume"),
        Command::Reverify(_) => not_built("reverify"),
        Command::Brief(asked) => brief::run(&request.common, asked, output),
        Command::Can(asked) => can::run(&request.common, asked, output),
        Command::Verify(asked) => verify::run(&request.common, asked, output),
        Command::Log(asked) => log::run(&request.common, asked, output),
        Command::Show(asked) => show::run(&request.common, asked, output),
        Command::State(asked) => state::run(&request.common, asked, output),
        Command::Head => head::run(&request.common, output),
        Command::Export(asked) => export::run(&request.common, asked, output),
        Command::Import(asked) => import::run(&request.common, asked, output),
        Command::Demo(_) => not_built("demo"),
        Command::Completions(asked) => help::completions(asked, output),
        Command::Man(asked) => help::man(asked, output),
        Command::Help(asked) => help::help(asked, output),
        Command::Version => help::version(output),
    }
}

fn not_built(command: &str) -> Result<Exit, Failure> {
    Err(Failure::environment(
        "not_built",
        format!("{command} is not built yet"),
    ))
}
