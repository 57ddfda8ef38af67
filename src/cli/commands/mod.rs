//! The commands: one file each, one arm each.

mod append;
mod authority;
mod brief;
mod can;
mod claims;
mod compare;
mod demo;
mod doctor;
mod erase;
mod evidence;
mod export;
mod gate;
mod grounds;
mod guide;
mod head;
pub mod hook;
mod hooks;
mod import;
mod key_read;
mod log;
mod mcp;
mod preset;
mod promote;
mod prove;
mod reading;
mod resume;
mod session;
mod setup;
mod show;
mod state;
mod trust;
mod verify;
mod verify_proof;
mod witness;

use super::args::{Axis, Command, Common, Key, Request, Session};
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
        Command::Key(asked) => key(common, asked, output),
        Command::Trust(asked) => trust::run(common, asked, output),
        Command::Session(asked) => session(common, asked, output),
        Command::Probe(asked) => {
            let mut context = Context::open(common)?;
            let probed = evidence::probe(&context, asked)?;
            evidence::record_probe(&mut context, probed, output)
        }
        Command::Axis(Axis::Named(asked)) => {
            evidence::axis(&mut Context::open(common)?, asked, output)
        }
        Command::Axis(Axis::Ready(asked)) => {
            preset::axes(&mut Context::open(common)?, asked, output)
        }
        Command::Ambient(asked) => evidence::ambient(&mut Context::open(common)?, asked, output),
        Command::Claim(asked) => claims::claim(&mut Context::open(common)?, asked, output),
        Command::Flag(asked) => claims::flag(&mut Context::open(common)?, asked, output),
        Command::Promote(asked) => promote::promote(&mut Context::open(common)?, asked, output),
        Command::Retract(asked) => claims::retract(&mut Context::open(common)?, asked, output),
        Command::Discard(asked) => claims::discard(&mut Context::open(common)?, asked, output),
        Command::Erase(asked) => erase::run(&mut Context::open(common)?, asked, output),
        Command::Seal => session::seal(&mut Context::open(common)?, output),
        Command::Append(asked) => append::run(common, asked, output),
        Command::Acknowledge(asked) => match asked.what.seq {
            Some(seq) => setup::acknowledge(&mut Context::open(common)?, seq, asked, output),
            None => setup::acknowledge_rollback(common, asked, output),
        },
        Command::Upgrade => setup::upgrade(&mut Context::open(common)?, output),
        Command::Resume(asked) if asked.reprobe.dry_run => {
            resume::dry_resume(common, asked, output)
        }
        Command::Resume(asked) => resume::resume(&mut Context::open(common)?, asked, output),
        Command::Reverify(asked) if asked.dry_run => resume::dry_reverify(common, asked, output),
        Command::Reverify(asked) => resume::reverify(&mut Context::open(common)?, asked, output),
        Command::Brief(asked) => brief::run(common, asked, output),
        Command::Can(asked) => can::run(common, asked, output),
        Command::Gate(asked) => gate::run(common, asked, output),
        Command::Verify(asked) => verify::run(common, asked, output),
        Command::Compare(asked) => compare::run(common, asked, output),
        Command::Log(asked) => log::run(common, asked, output),
        Command::Show(asked) => show::run(common, asked, output),
        Command::State(asked) => state::run(common, asked, output),
        Command::Head => head::run(common, output),
        Command::Checkpoint(asked) => prove::checkpoint(common, asked, output),
        Command::Prove(asked) => prove::prove(common, asked, output),
        Command::VerifyProof(asked) => verify_proof::run(common, asked, output),
        Command::Witness(asked) => witness::run(common, asked, output),
        Command::Export(asked) => export::run(common, asked, output),
        Command::Import(asked) => import::run(common, asked, output),
        Command::Hook(asked) => hook::run(common, asked, output),
        Command::Hooks(asked) => hooks::run(common, asked, output),
        Command::Guide => guide::run(output),
        Command::Doctor => doctor::run(common, output),
        Command::Demo(asked) => demo::demo(asked, output),
        Command::Mcp => mcp::run(),
        Command::Completions(asked) => help::completions(asked, output),
        Command::Man(asked) => help::man(asked, output),
        Command::InstallDocs(asked) => help::install(asked, output),
        Command::Help(asked) => help::help(asked, output),
        Command::Version => help::version(output),
    }
}

fn session(common: &Common, asked: &Session, output: &mut Output) -> Result<Exit, Failure> {
    match asked {
        Session::Open(open) => session::open(&mut Context::open(common)?, open, output),
        Session::List => session::list(common, output),
        Session::Abandon { number, reason } => {
            session::abandon(&mut Context::open(common)?, *number, reason, output)
        }
    }
}

fn key(common: &Common, asked: &Key, output: &mut Output) -> Result<Exit, Failure> {
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
        Key::Rotate {
            old,
            new,
            label,
            reason,
        } => authority::rotate(
            &mut Context::open(common)?,
            [old, new],
            label,
            reason,
            output,
        ),
        Key::New { out, label } => key_read::new(common, out.as_deref(), label.as_ref(), output),
        Key::Show => key_read::show(common, output),
        Key::List => key_read::list(common, output),
    }
}
