//! The commands: one file each, one arm each.

mod authority;
mod claims;
mod evidence;
mod resume;
mod session;
mod setup;

use super::args::{Command, Common, Key, Request, Session};
use super::context::{self, Context};
use super::failures::VIEW_UNUSABLE;
use super::help;
use super::output::Output;
use super::report::{Exit, Failure};
use crate::event::Role;

/// Does what was asked, saying on `output` what there is to say.
///
/// # Errors
/// Why it could not be done, or was refused.
pub fn run(request: &Request, output: &mut Output) -> Result<Exit, Failure> {
    let done = dispatch(request, output);
    if let Err(failure) = &done
        && failure.code == VIEW_UNUSABLE
    {
        context::forget_view(&request.common)?;
    }
    done
}

fn dispatch(request: &Request, output: &mut Output) -> Result<Exit, Failure> {
    let common = &request.common;
    match &request.command {
        Command::Init(asked) => setup::init(common, asked, output),
        Command::Key(asked) => authority(common, asked, output),
        Command::Trust(_) => not_built("trust"),
        Command::Session(asked) => session(common, asked, output),
        Command::Probe(asked) => {
            let mut context = Context::open(common)?;
            let probed = evidence::probe(&context, asked)?;
            evidence::record_probe(&mut context, probed, output)
        }
        Command::Axis(asked) => evidence::axis(&mut Context::open(common)?, asked, output),
        Command::Ambient(asked) => evidence::ambient(&mut Context::open(common)?, asked, output),
        Command::Claim(asked) => claims::claim(&mut Context::open(common)?, asked, output),
        Command::Flag(asked) => claims::flag(&mut Context::open(common)?, asked, output),
        Command::Promote(asked) => claims::promote(&mut Context::open(common)?, asked, output),
        Command::Retract(asked) => claims::retract(&mut Context::open(common)?, asked, output),
        Command::Discard(asked) => claims::discard(&mut Context::open(common)?, asked, output),
        Command::Seal => session::seal(&mut Context::open(common)?, output),
        Command::Acknowledge(asked) => match asked.what.seq {
            Some(seq) => setup::acknowledge(&mut Context::open(common)?, seq, asked, output),
            None => setup::acknowledge_rollback(common, asked, output),
        },
        Command::Upgrade => setup::upgrade(&mut Context::open(common)?, output),
        Command::Resume(asked) => resume::resume(&mut Context::open(common)?, asked, output),
        Command::Reverify(asked) => resume::reverify(&mut Context::open(common)?, asked, output),
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

fn session(common: &Common, asked: &Session, output: &mut Output) -> Result<Exit, Failure> {
    let mut context = Context::open(common)?;
    match asked {
        Session::Open(open) => session::open(&mut context, open, output),
        Session::List => session::list(&context, output),
        Session::Abandon { number, reason } => {
            session::abandon(&mut context, *number, reason, output)
        }
    }
}

/// `key authorize` and `key revoke`.
fn authority(common: &Common, asked: &Key, output: &mut Output) -> Result<Exit, Failure> {
    match asked {
        Key::Authorize {
            public,
            label,
            admin,
            recorder,
        } => {
            let mut roles = Vec::new();
            if *admin {
                roles.push(Role::Admin);
            }
            if *recorder || !*admin {
                roles.push(Role::Recorder);
            }
            authority::authorize(&mut Context::open(common)?, public, label, roles, output)
        }
        Key::Revoke {
            public,
            reason,
            compromised_since,
        } => authority::revoke(
            &mut Context::open(common)?,
            public,
            reason,
            *compromised_since,
            output,
        ),
        Key::New { .. } | Key::Show | Key::List => not_built("key"),
    }
}

fn not_built(command: &str) -> Result<Exit, Failure> {
    Err(Failure::environment(
        "not_built",
        format!("{command} is not built yet"),
    ))
}
