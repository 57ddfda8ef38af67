//! The commands: one file each, one arm each.

use super::args::{Command, Request};
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
        Command::Key(_) => not_built("key"),
        Command::Trust(_) => not_built("trust"),
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
        Command::Brief(_) => not_built("brief"),
        Command::Can(_) => not_built("can"),
        Command::Verify(_) => not_built("verify"),
        Command::Log(_) => not_built("log"),
        Command::Show(_) => not_built("show"),
        Command::State(_) => not_built("state"),
        Command::Head => not_built("head"),
        Command::Export(_) => not_built("export"),
        Command::Import(_) => not_built("import"),
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
