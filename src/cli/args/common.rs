//! The options of every command. They stand before the command or after it; only where a command
//! has an option of that name itself (`--expect` of a probe, `--session` of the log) before it.

use super::values::{KeySource, duration, expected, session};
use crate::checkpoint::Expected;
use crate::cli::next;
use crate::cli::quote::shell_quoted;
use crate::home::folders::Folders;
use crate::types::Seq;
use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use std::path::PathBuf;
use std::time::Duration;

/// The options that hold a ledger to something.
const DEMANDS: [&str; 2] = ["trust", "head"];

/// The options of every command.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Common {
    /// The ledger file, in place of the one found upward
    #[arg(
        long,
        value_name = "PATH",
        env = "HANDOFF_LEDGER",
        hide_env_values = true
    )]
    pub ledger: Option<PathBuf>,
    /// The file of the key to sign with
    #[arg(long, value_name = "FILE", env = "HANDOFF_KEY", hide_env_values = true)]
    pub key: Option<PathBuf>,
    /// The session to speak for, in place of the one open here
    #[arg(
        long,
        value_name = "N",
        env = "HANDOFF_SESSION",
        hide_env_values = true,
        value_parser = session
    )]
    pub session: Option<Seq>,
    /// Print one JSON document, errors included
    #[arg(long)]
    pub json: bool,
    /// Trust this root key, or those in this file, for this command (repeatable)
    #[arg(
        long,
        value_name = "KEY|FILE",
        env = "HANDOFF_TRUST",
        hide_env_values = true
    )]
    pub trust: Vec<KeySource>,
    /// Those that `HANDOFF_TRUST` names, if none is typed where it is read
    #[arg(skip)]
    pub trust_of_environment: Vec<KeySource>,
    /// Demand that the ledger holds this head, or is as this checkpoint says
    #[arg(
        id = "head",
        long = "expect",
        value_name = "HEAD|FILE",
        env = "HANDOFF_EXPECT",
        hide_env_values = true,
        value_parser = expected
    )]
    pub expect: Option<Expected>,
    /// Wait this long for a lock (5s)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub wait: Option<Duration>,
    /// The ledger and the key as they were typed, each option with its value, quoted for a shell
    #[arg(skip)]
    pub typed: Vec<(String, String)>,
    /// Where the command runs, if not where the process does
    #[arg(skip)]
    pub place: Option<Place>,
}

/// A folder and a user's folders other than the process's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The current folder.
    pub cwd: PathBuf,
    /// The user's folders.
    pub folders: Folders,
}

impl Common {
    /// The same options at another place, where the environment names no ledger, key or session.
    pub fn here(&mut self, place: Place) {
        let json = self.json;
        *self = Common {
            json,
            place: Some(place),
            ..Common::default()
        };
    }

    /// The options as given at any of `levels`, the outermost first: the innermost wins, and keys
    /// to trust add up.
    pub(super) fn gather(levels: &[&ArgMatches]) -> Common {
        let trust = |from: fn(ValueSource) -> bool| {
            let levels = levels.iter().filter(|level| {
                let is_given = level.try_contains_id("trust").unwrap_or(false);
                is_given && level.value_source("trust").is_some_and(from)
            });
            levels.flat_map(|level| trusted(level)).collect()
        };
        Common {
            ledger: innermost(levels, "ledger"),
            key: innermost(levels, "key"),
            session: innermost(levels, "session"),
            json: levels.iter().any(|level| level.get_flag("json")),
            trust: trust(|source| source != ValueSource::EnvVariable),
            trust_of_environment: trust(|source| source == ValueSource::EnvVariable),
            expect: innermost(levels, "head"),
            wait: innermost(levels, "wait"),
            typed: typed(levels),
            place: None,
        }
    }

    /// These options, and those of `outer` where these say nothing; keys to trust add up.
    pub(super) fn within(mut self, outer: &Common) -> Common {
        let is_own = |name: &String| self.typed.iter().any(|(own, _)| own == name);
        let typed = outer.typed.iter().filter(|(name, _)| !is_own(name));
        let typed: Vec<(String, String)> = typed.cloned().collect();
        self.typed.extend(typed);
        self.trust.extend(outer.trust.iter().cloned());
        Common {
            ledger: self.ledger.or_else(|| outer.ledger.clone()),
            key: self.key.or_else(|| outer.key.clone()),
            session: self.session.or(outer.session),
            json: self.json || outer.json,
            trust: self.trust,
            trust_of_environment: outer.trust_of_environment.clone(),
            expect: self.expect.or_else(|| outer.expect.clone()),
            wait: self.wait.or(outer.wait),
            typed: self.typed,
            place: outer.place.clone(),
        }
    }

    /// A command to type next, of the ledger and by the key that this one was typed with. What the
    /// environment names it names there too.
    pub fn carried(&self, next: &str) -> String {
        next::carrying(next, &self.typed)
    }
}

/// `root` with its common options, which hold at every command below it too, unless that has an
/// option of the same name. There they are hidden, since the help of the whole shows them; and only
/// the root reads the environment, so that what is typed wins. An empty variable is as none, but
/// for those that demand something: `$(cat FILE)` of a file that is lost must not demand nothing.
pub(super) fn everywhere(root: Command) -> Command {
    let at_root = options().into_iter().map(|option| {
        let value = option.get_env().and_then(std::env::var_os);
        let demands = DEMANDS.contains(&option.get_id().as_str());
        if !demands && value.is_some_and(|value| value.is_empty()) {
            option.env(Resettable::Reset)
        } else {
            option
        }
    });
    root.args(at_root).mut_subcommands(beneath)
}

/// As [`everywhere`], without the environment: what it says counts further out.
pub(super) fn typed_alone(root: Command) -> Command {
    let at_root = options()
        .into_iter()
        .map(|option| option.env(Resettable::Reset));
    root.args(at_root).mut_subcommands(beneath)
}

fn beneath(command: Command) -> Command {
    let mut missing = options();
    missing.retain(|option| {
        let mut own = command.get_arguments();
        own.all(|own| own.get_long() != option.get_long())
    });
    let names: Vec<&str> = missing.iter().filter_map(Arg::get_long).collect();
    let closing = format!("Also --{}: see handoff help all", names.join(", --"));
    let closing = match command.get_after_help() {
        Some(example) => format!("{example}\n\n{closing}"),
        None => closing,
    };
    let hidden = missing
        .into_iter()
        .map(|option| option.env(Resettable::Reset).hide(true));
    command
        .args(hidden)
        .after_help(closing)
        .mut_subcommands(beneath)
}

fn options() -> Vec<Arg> {
    let only = Common::augment_args(Command::new(""));
    only.get_arguments().cloned().collect()
}

fn innermost<T: Clone + Send + Sync + 'static>(levels: &[&ArgMatches], id: &str) -> Option<T> {
    let given = |level: &&ArgMatches| level.try_get_one::<T>(id).ok().flatten().cloned();
    levels.iter().rev().find_map(given)
}

fn typed(levels: &[&ArgMatches]) -> Vec<(String, String)> {
    let is_typed = |level: &&&ArgMatches, id: &str| {
        let given = level.try_contains_id(id).unwrap_or(false);
        given && level.value_source(id) == Some(ValueSource::CommandLine)
    };
    let mut typed = Vec::new();
    for id in ["ledger", "key"] {
        let level = levels.iter().rev().find(|level| is_typed(level, id));
        let path = level.and_then(|level| level.get_one::<PathBuf>(id));
        if let Some(text) = path.and_then(|path| path.to_str()) {
            typed.push((format!("--{id}"), shell_quoted(&[text])));
        }
    }
    typed
}

fn trusted(level: &ArgMatches) -> Vec<KeySource> {
    let given = level.try_get_many::<KeySource>("trust").ok().flatten();
    given
        .map(|keys| keys.cloned().collect())
        .unwrap_or_default()
}
