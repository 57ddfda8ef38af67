//! The command line as types: what may be typed, and what was.

mod common;
mod manage;
mod probe;
mod read;
mod record;
mod usage;
mod values;

pub use common::Common;
pub use manage::{
    Acknowledge, Acknowledged, Completions, Demo, Export, Help, Import, Init, Key, Man, Open,
    Session, Trust,
};
pub use probe::{Check, Evidence, ProbeArgs, ProbeOptions, Step};
pub use read::{BRIEF_CHARACTERS, Brief, Can, Log, Reprobe, Resume, Show, StateArgs, Verify};
pub use record::{
    Ambient, AmbientEntry, Axis, Claim, Class, Discard, Flag, Grounds, Promote, Retract,
};
pub use values::{AxisReference, DURATION_MAX, KeySource, NamedReason};

use super::output::Format;
use super::report::Failure;
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// Widest help, in columns.
const HELP_COLUMNS: usize = 100;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The options of every command.
    pub common: Common,
    /// The command.
    pub command: Command,
}

/// Hand conclusions to the next agent session, with the environment they held in.
#[derive(Debug, clap::Parser)]
#[command(name = "handoff", version, disable_help_subcommand = true, max_term_width = HELP_COLUMNS)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The commands.
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Command {
    /// Make a ledger here, and a key of your own
    #[command(after_help = "Example:\n  handoff init --name staging")]
    Init(Init),
    /// Make, show, list, authorize or revoke keys
    #[command(subcommand)]
    Key(Key),
    /// Pin the root keys that ledgers are judged by
    #[command(subcommand)]
    Trust(Trust),
    /// Open, list or abandon sessions
    #[command(subcommand)]
    Session(Session),
    /// Run a probe and record what the tool saw
    #[command(after_help = "Example:\n  \
        handoff probe --extract json:/status --expect value=ok -- curl -fsS http://db/health")]
    Probe(ProbeArgs),
    /// Record a property of the environment that claims may need
    #[command(after_help = "Example:\n  \
        handoff axis python --class dependency_version --holds-if 'semver=>=3.11' -- python3 -V")]
    Axis(Axis),
    /// Declare what may drift without invalidating anything
    #[command(after_help = "Example:\n  \
        handoff ambient --allow host.name='runners are ephemeral' --observed ci-41")]
    Ambient(Ambient),
    /// Record a verified claim: what it states, needs and is proved by
    #[command(after_help = "Example:\n  \
        handoff claim tests-pass 'the suite passes' --needs python \\\n    \
        --expect 'stdout~[0-9]+ passed' -- pytest -q")]
    Claim(Claim),
    /// Record an unverified claim, with the step that would verify it
    #[command(after_help = "Example:\n  \
        handoff flag orders-v2 '/v2/orders exists' --because 'openapi.yaml line 88' \\\n    \
        --check http=http://api/v2/orders")]
    Flag(Flag),
    /// Run a flag's step now; if it is met, the claim is verified
    #[command(after_help = "Example:\n  handoff promote orders-v2 --needs api.host")]
    Promote(Promote),
    /// Withdraw claims, in every session
    #[command(after_help = "Example:\n  handoff retract tests-pass --reason 'suite was skipped'")]
    Retract(Retract),
    /// Close a flag without verifying it
    #[command(after_help = "Example:\n  handoff discard orders-v2 --reason 'no longer planned'")]
    Discard(Discard),
    /// Seal the session, so that others inherit it
    #[command(after_help = "Example:\n  handoff seal --session 12")]
    Seal,
    /// As root: say that refused events, or a rollback, are known of
    #[command(after_help = "Example:\n  handoff acknowledge 77 --reason 'old client, no effect'")]
    Acknowledge(Acknowledge),
    /// As root: allow this program's newest format in the ledger
    #[command(after_help = "Example:\n  handoff upgrade")]
    Upgrade,
    /// Open a session on what earlier ones left: verify, probe again, brief
    #[command(after_help = "Example:\n  handoff resume --agent builder --require db-is-staging")]
    Resume(Resume),
    /// Probe the inherited axes again
    #[command(after_help = "Example:\n  handoff reverify --only db-is-staging --dry-run")]
    Reverify(Reprobe),
    /// Tell what may not, and what may, be acted on
    #[command(after_help = "Example:\n  handoff brief --max-chars 2000")]
    Brief(Brief),
    /// Ask whether claims may be acted on; exit 0 if all may
    #[command(after_help = "Example:\n  handoff can db-is-staging tests-pass")]
    Can(Can),
    /// Verify a ledger, or a file that somebody handed you
    #[command(after_help = "Example:\n  handoff verify evidence.db --trust acme-root.pub")]
    Verify(Verify),
    /// List the events
    #[command(after_help = "Example:\n  handoff log --session 12 --kind axis.recorded")]
    Log(Log),
    /// Show an event
    #[command(after_help = "Example:\n  handoff show 41 --raw | sha256sum")]
    Show(Show),
    /// Show the state of the session's axes and claims
    #[command(after_help = "Example:\n  handoff state --session 12 --at 90")]
    State(StateArgs),
    /// Print the head line, to be kept elsewhere
    #[command(after_help = "Example:\n  handoff head >> ~/heads")]
    Head,
    /// Write the ledger as JSON Lines, byte for byte
    #[command(after_help = "Example:\n  handoff export -o ledger.jsonl")]
    Export(Export),
    /// Make a ledger file of an export
    #[command(after_help = "Example:\n  handoff import ledger.jsonl --to restored.db")]
    Import(Import),
    /// Watch a whole handoff, with real probes, in a scratch folder
    #[command(after_help = "Example:\n  handoff demo")]
    Demo(Demo),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  \
        handoff completions bash > ~/.local/share/bash-completion/completions/handoff")]
    Completions(Completions),
    /// Print the manual pages
    #[command(after_help = "Example:\n  handoff man --out ~/.local/share/man/man1")]
    Man(Man),
    /// Print this help, that of a command, or all
    #[command(after_help = "Example:\n  handoff help all")]
    Help(Help),
    /// Print the version
    Version,
}

/// What may be typed.
pub fn command() -> clap::Command {
    common::everywhere(Line::command())
}

/// What `argv` asks to be printed; read before it is known whether `argv` is right.
pub fn format(argv: &[OsString]) -> Format {
    let options = argv.iter().take_while(|word| *word != "--");
    if options.into_iter().any(|word| word == "--json") {
        Format::Json
    } else {
        Format::Text
    }
}

/// What `argv`, the program's name first, asks for. No command at all asks for help.
///
/// # Errors
/// A usage failure that names the word at fault and the command to type next.
pub fn parse(argv: &[OsString]) -> Result<Request, Failure> {
    let words = usage::texts(argv)?;
    let read = command()
        .try_get_matches_from(&words)
        .and_then(|matches| read(&matches));
    let error = match read {
        Ok(request) => return Ok(request),
        Err(error) => error,
    };
    let command = if error.kind() == ErrorKind::DisplayVersion {
        Command::Version
    } else if error.kind() == ErrorKind::DisplayHelp {
        let topic = usage::path(&words);
        Command::Help(Help { topic })
    } else {
        return Err(usage::failure(&error, &words));
    };
    let common = Common::default();
    Ok(Request { common, command })
}

fn read(matches: &ArgMatches) -> Result<Request, clap::Error> {
    let levels: Vec<&ArgMatches> = std::iter::successors(Some(matches), |level| {
        level.subcommand().map(|(_, below)| below)
    })
    .collect();
    let line = Line::from_arg_matches(matches)?;
    let help = Help { topic: Vec::new() };
    Ok(Request {
        common: Common::gather(&levels),
        command: line.command.unwrap_or(Command::Help(help)),
    })
}
