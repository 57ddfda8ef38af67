//! PROBE: the options of a probe and what it runs, as four commands share them.

use super::values::{duration, variable};
use crate::types::Seq;
use clap::error::ErrorKind;
use clap::{Arg, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};
use std::time::Duration;

const HEADING: &str = "Probe";
const ARGV: &str = "argv";
const CHECK: &str = "check";
const RECEIPT: &str = "receipt";
/// The group of what a probe or another evidence is taken from.
pub(super) const SOURCE: &str = "source";
/// The options of a probe.
pub(super) const OPTIONS: [&str; 8] = [
    "timeout",
    "cwd",
    "env",
    "extract",
    "expect",
    "exit_only",
    "shell",
    "redact",
];

/// How a probe runs and what is expected of it.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct ProbeOptions {
    /// Kill it after this long (10s; the step of a flag: 10m)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Run it in this folder, relative to the session's root
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Pass this environment variable on (repeatable)
    #[arg(long, value_name = "NAME", value_parser = variable)]
    pub env: Vec<String>,
    /// Take the value by: trim, line:N, regex:RE, json:/PTR, sha256, none
    #[arg(long, value_name = "X")]
    pub extract: Option<String>,
    /// Expect: value=T, value~RE, stdout~RE, stderr~RE, semver=REQ, json:/PTR=T, exit=N
    #[arg(long, value_name = "E", value_parser = expectation)]
    pub expect: Vec<String>,
    /// Take the exit code as the whole proof; shown as weak
    #[arg(long)]
    pub exit_only: bool,
    /// Run ARGV, one word, as a line of /bin/sh; recorded as such
    #[arg(long)]
    pub shell: bool,
    /// Keep a salted commitment of the value in place of the value
    #[arg(long)]
    pub redact: bool,
}

/// What a probe runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A program and its arguments; at least the program, which is not empty.
    Argv(Vec<String>),
    /// A check of the program's own, as it was typed, such as `tcp=HOST:PORT`.
    Native(String),
}

/// A probe to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeArgs {
    /// What it runs.
    pub check: Check,
    /// How.
    pub options: ProbeOptions,
}

/// What an axis or a claim stands on: a probe to be run, or one that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// A probe to be run now.
    Probe(ProbeArgs),
    /// The receipt of one that ran.
    Receipt(Seq),
}

/// The missing step of a flag; none makes the flag one that is discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The probe that would verify the claim.
    pub probe: Option<ProbeArgs>,
}

fn expectation(text: &str) -> Result<String, &'static str> {
    if text.starts_with("handoff1:") {
        return Err("a head is demanded before the command: handoff --expect HEAD COMMAND …");
    }
    Ok(text.to_owned())
}

fn augment(command: Command) -> Command {
    ProbeOptions::augment_args(command)
        .arg(
            Arg::new(CHECK)
                .long(CHECK)
                .value_name("NATIVE")
                .help_heading(HEADING)
                .help(
                    "Check without a program: os, arch, user, tcp=HOST:PORT, file-sha256=PATH, …",
                ),
        )
        .arg(
            Arg::new(ARGV)
                .value_name("ARGV")
                .last(true)
                .num_args(1..)
                .help("The program to run and its arguments, after --"),
        )
}

fn read(matches: &ArgMatches) -> Result<Option<ProbeArgs>, clap::Error> {
    let argv = matches.get_many::<String>(ARGV);
    let native = matches.get_one::<String>(CHECK);
    let check = match (argv, native) {
        (Some(argv), _) => Check::Argv(argv.cloned().collect()),
        (None, Some(native)) => Check::Native(native.clone()),
        (None, None) => return Ok(None),
    };
    if let Check::Argv(argv) = &check
        && argv.first().is_some_and(String::is_empty)
    {
        let message = "the program to run, after --, has an empty name";
        return Err(clap::Error::raw(ErrorKind::ValueValidation, message));
    }
    Ok(Some(ProbeArgs {
        check,
        options: ProbeOptions::from_arg_matches(matches)?,
    }))
}

fn missing() -> clap::Error {
    clap::Error::raw(
        ErrorKind::MissingRequiredArgument,
        "nothing to run is given",
    )
}

impl Args for ProbeArgs {
    fn augment_args(command: Command) -> Command {
        augment(command).group(ArgGroup::new(SOURCE).args([CHECK, ARGV]).required(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ProbeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        read(matches)?.ok_or_else(missing)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Evidence {
    fn augment_args(command: Command) -> Command {
        let receipt = Arg::new(RECEIPT)
            .long(RECEIPT)
            .value_name("SEQ")
            .value_parser(value_parser!(Seq))
            .conflicts_with_all(OPTIONS)
            .help_heading(HEADING)
            .help("Take this receipt of the session; run nothing");
        let sources = ArgGroup::new(SOURCE).args([CHECK, ARGV, RECEIPT]);
        augment(command).arg(receipt).group(sources.required(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Evidence {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.get_one::<Seq>(RECEIPT) {
            Some(seq) => Ok(Evidence::Receipt(*seq)),
            None => ProbeArgs::from_arg_matches(matches).map(Evidence::Probe),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Step {
    fn augment_args(command: Command) -> Command {
        augment(command).group(ArgGroup::new(SOURCE).args([CHECK, ARGV]))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Step {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Step {
            probe: read(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
