//! Commands that record evidence and claims.

use super::probe::{self, Evidence, Step};
use super::values::{AxisReference, Erasable, NamedReason, duration};
use crate::preset::Preset;
use crate::types::{AxisName, ClaimId, Text};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};
use std::path::PathBuf;
use std::time::Duration;

/// The class of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Class {
    /// Where and as whom things run, and what they talk to
    #[value(alias = "execution-topology")]
    ExecutionTopology,
    /// What versions are there
    #[value(alias = "dependency-version")]
    DependencyVersion,
    /// What can be reached
    Reachability,
}

/// `axis`
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// One axis, named and shown.
    Named(NamedAxis),
    /// The ready ones of presets.
    Ready(ReadyAxes),
}

/// An axis, what it is called and what shows it.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct NamedAxis {
    /// What the axis is called
    #[arg(value_name = "NAME", required = false, required_unless_present = PRESET)]
    pub name: AxisName,
    /// Its class: execution_topology (where it runs, what it talks to), dependency_version (which
    /// versions are there) or reachability (what answers)
    #[arg(
        long,
        value_name = "C",
        hide_possible_values = true,
        required = false,
        required_unless_present = PRESET
    )]
    pub class: Class,
    /// It holds if: exact (default), one-of=A,B, semver=REQ, present
    #[arg(long, value_name = "CMP")]
    pub holds_if: Option<String>,
    /// How long an observation counts (12h)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub max_age: Option<Duration>,
    /// What it stands on.
    #[command(flatten)]
    pub evidence: Evidence,
}

/// Ready axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyAxes {
    /// The presets that they are of.
    pub presets: Vec<Preset>,
    /// How long an observation of one counts.
    pub max_age: Option<Duration>,
}

const PRESET: &str = "preset";
/// What a preset says itself.
const SAID_BY_PRESET: [&str; 3] = ["name", "class", "holds_if"];

impl Args for Axis {
    fn augment_args(command: Command) -> Command {
        let preset = Arg::new(PRESET)
            .long(PRESET)
            .value_name("P")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(value_parser!(Preset))
            .conflicts_with_all(SAID_BY_PRESET)
            .conflicts_with_all(probe::OPTIONS)
            .help("Record the ready axes of these presets, by commas, in place of one of NAME");
        let command = NamedAxis::augment_args(command.arg(preset));
        command.mut_group(probe::SOURCE, |group| group.arg(PRESET))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Axis {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some(presets) = matches.get_many::<Preset>(PRESET) else {
            return NamedAxis::from_arg_matches(matches).map(Axis::Named);
        };
        Ok(Axis::Ready(ReadyAxes {
            presets: presets.cloned().collect(),
            max_age: matches.get_one::<Duration>("max_age").copied(),
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What a support needs of the environment. That exactly one of the two is given is a rule of the
/// ledger (exit 1), not of the command line.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Grounds {
    /// The axes it needs: NAME, or NAME@SESSION, by commas
    #[arg(long, value_name = "AXIS", value_delimiter = ',')]
    pub needs: Vec<AxisReference>,
    /// Why it holds in any environment; shown as weak
    #[arg(long, value_name = "WHY")]
    pub environment_independent: Option<Text>,
    /// The claims it derives from, by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub from: Vec<ClaimId>,
}

/// `claim`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Claim {
    /// The claim's id
    #[arg(value_name = "ID")]
    pub id: ClaimId,
    /// What it states; may be omitted once the id has a statement
    #[arg(value_name = "STATEMENT")]
    pub statement: Option<Text>,
    /// The same, whatever it begins with
    #[arg(
        id = "stated",
        long = "statement",
        value_name = "TEXT",
        conflicts_with = "statement"
    )]
    pub stated: Option<Text>,
    /// What it needs.
    #[command(flatten)]
    pub grounds: Grounds,
    /// What it stands on.
    #[command(flatten)]
    pub evidence: Evidence,
}

/// `flag`. A flag without derivation or step is recorded as discarded (exit 1), so neither is
/// demanded here.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Flag {
    /// The claim's id
    #[arg(value_name = "ID")]
    pub id: ClaimId,
    /// What it states
    #[arg(value_name = "STATEMENT", required_unless_present = "stated")]
    pub statement: Option<Text>,
    /// The same, whatever it begins with
    #[arg(
        id = "stated",
        long = "statement",
        value_name = "TEXT",
        conflicts_with = "statement"
    )]
    pub stated: Option<Text>,
    /// What it was derived from; without it the claim is not flagged, but recorded as discarded
    #[arg(long, value_name = "DERIVATION")]
    pub because: Option<String>,
    /// The axes that its promotion will need, by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub needs: Vec<AxisName>,
    /// Why it would hold in any environment
    #[arg(long, value_name = "WHY")]
    pub environment_independent: Option<Text>,
    /// The step that would verify it.
    #[command(flatten)]
    pub step: Step,
}

impl Claim {
    /// What it states, if that was typed.
    pub fn statement(&self) -> Option<&Text> {
        self.statement.as_ref().or(self.stated.as_ref())
    }
}

impl Flag {
    /// What it states; it was typed, or the command line was refused.
    pub fn statement(&self) -> Option<&Text> {
        self.statement.as_ref().or(self.stated.as_ref())
    }
}

/// `promote`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Promote {
    /// The flagged claim
    #[arg(value_name = "ID")]
    pub id: ClaimId,
    /// What it needs.
    #[command(flatten)]
    pub grounds: Grounds,
}

/// `ambient`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambient {
    /// What may drift; empty if that was declared with `--none`.
    pub entries: Vec<AmbientEntry>,
}

/// One thing that may drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmbientEntry {
    /// What, and why it may.
    pub allowed: NamedReason,
    /// The values seen, each from an `--observed` after this `--allow` and before the next.
    pub observed: Vec<Text>,
}

impl Args for Ambient {
    fn augment_args(command: Command) -> Command {
        let allow = Arg::new("allow").long("allow").value_name("NAME=REASON");
        let observed = Arg::new("observed").long("observed").value_name("V");
        let none = Arg::new("none").long("none").action(ArgAction::SetTrue);
        command
            .arg(
                allow
                    .action(ArgAction::Append)
                    .value_parser(value_parser!(NamedReason))
                    .required_unless_present("none")
                    .help("Let this axis of the session, or this property, drift (repeatable)"),
            )
            .arg(
                observed
                    .action(ArgAction::Append)
                    .value_parser(value_parser!(Text))
                    .requires("allow")
                    .help("A value seen, of the --allow before it (repeatable)"),
            )
            .arg(
                none.conflicts_with("allow")
                    .help("Declare that nothing may drift"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Ambient {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut entries: Vec<(usize, AmbientEntry)> = placed::<NamedReason>(matches, "allow")
            .map(|(place, allowed)| {
                let observed = Vec::new();
                (place, AmbientEntry { allowed, observed })
            })
            .collect();
        for (place, value) in placed::<Text>(matches, "observed") {
            let Some((_, entry)) = entries.iter_mut().rfind(|(allow, _)| *allow < place) else {
                let message = "--observed says what the --allow before it was seen as; none is";
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
            };
            entry.observed.push(value);
        }
        Ok(Ambient {
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of a repeatable option, each with its place on the command line.
fn placed<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    id: &str,
) -> impl Iterator<Item = (usize, T)> {
    let places = matches.indices_of(id).into_iter().flatten();
    let values = matches.get_many::<T>(id).into_iter().flatten().cloned();
    places.zip(values)
}

/// `retract`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Retract {
    /// The claims
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<ClaimId>,
    /// Why
    #[arg(long, value_name = "R")]
    pub reason: Text,
}

/// `discard`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Discard {
    /// The flagged claim
    #[arg(value_name = "ID")]
    pub id: ClaimId,
    /// Why
    #[arg(long, value_name = "R")]
    pub reason: Text,
}

/// `erase`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Erase {
    /// A receipt, for all that is kept of its output; or one commitment, 64 hexadecimal digits
    #[arg(value_name = "SEQ|COMMITMENT", required = true)]
    pub what: Vec<Erasable>,
    /// Why; it stands in the ledger for good, so it must not repeat what is to go
    #[arg(long, value_name = "R")]
    pub reason: Text,
}

/// `append`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Append {
    /// JSON Lines: each the words of a command as an array of strings; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Go on after a line that ends with exit 1 or 2; the exit is that of the first
    #[arg(long)]
    pub keep_going: bool,
}
