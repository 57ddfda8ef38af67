//! Commands that judge and show.

use super::manage::Open;
use super::values::{Witnesses, duration, session, witnesses};
use crate::types::{ClaimId, Seq};
use clap::value_parser;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Longest `brief`, in characters, if not said otherwise.
pub const BRIEF_CHARACTERS: u32 = 6000;
/// What may be said otherwise, in characters.
const BRIEF_CHARACTERS_RANGE: RangeInclusive<i64> = 500..=1_000_000;
/// What may be said otherwise, in tokens.
const BRIEF_TOKENS_RANGE: RangeInclusive<i64> = 200..=1_000_000;

/// How inherited axes are probed again.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Reprobe {
    /// Probe for these claims only, by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub only: Vec<ClaimId>,
    /// Give up on what was not probed by then (60s)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub deadline: Option<Duration>,
    /// Show what would run; run and record nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Run no inherited probe
    #[arg(long)]
    pub no_exec: bool,
    /// Values that somebody asserts, as {"AXIS": "VALUE"}
    #[arg(long, value_name = "FILE.json")]
    pub values: Option<PathBuf>,
}

/// `resume`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Resume {
    /// What it is opened with.
    #[command(flatten)]
    pub open: Open,
    /// How the inherited axes are probed.
    #[command(flatten)]
    pub reprobe: Reprobe,
    /// Exit 1 unless these claims are admissible, by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub require: Vec<ClaimId>,
}

/// `brief`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Brief {
    /// Longest text, in characters (6000, unless --max-tokens says how long)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(BRIEF_CHARACTERS_RANGE))]
    pub max_chars: Option<u32>,
    /// Longest text, in tokens of a model, counted as 3 characters each
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(BRIEF_TOKENS_RANGE))]
    pub max_tokens: Option<u32>,
    /// Write Markdown
    #[arg(long)]
    pub markdown: bool,
}

/// `can`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Can {
    /// The claims
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<ClaimId>,
}

/// `gate`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Gate {
    /// The claims the action relies on
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<ClaimId>,
    /// Do not probe again what was seen to hold within this time
    #[arg(long, value_name = "D", value_parser = duration)]
    pub max_age: Option<Duration>,
    /// Give up on what was not probed by then (60s)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub deadline: Option<Duration>,
    /// Write what was decided, and then how the command ended, as JSON (a regular file, 0600)
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub report: Option<PathBuf>,
    /// Show what would be probed, and exit 0 or 125 by what is recorded; run and record nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The command: a program and its arguments
    #[arg(value_name = "ARGV", last = true, required = true)]
    pub argv: Vec<String>,
}

/// `verify`
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct Verify {
    /// A ledger or an export, opened as evidence (default: the ledger at hand)
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Demand that this witness cosigned the checkpoint of --expect (repeatable)
    #[arg(long = "witness", value_name = "VKEY|FILE", value_parser = witnesses)]
    pub witnesses: Vec<Witnesses>,
}

/// `compare`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Compare {
    /// A ledger, an export, or, alone, a proof that -o wrote
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// Another copy of the ledger, or of its export
    #[arg(value_name = "B")]
    pub second: Option<PathBuf>,
    /// Write the two events at which they part: a proof that needs no ledger
    #[arg(short = 'o', long = "out", value_name = "FILE", requires = "second")]
    pub out: Option<PathBuf>,
}

/// `log`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Log {
    /// Events of this session only
    #[arg(id = "of", long = "session", value_name = "N", value_parser = session)]
    pub session: Option<Seq>,
    /// Events of this kind only
    #[arg(long, value_name = "K")]
    pub kind: Option<String>,
    /// Events about this claim only
    #[arg(long, value_name = "ID")]
    pub claim: Option<ClaimId>,
    /// From this event on
    #[arg(long, value_name = "SEQ")]
    pub from: Option<Seq>,
    /// Up to this event, which is included
    #[arg(long, value_name = "SEQ")]
    pub to: Option<Seq>,
    /// The newest N of them
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
}

/// `show`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Show {
    /// The event
    #[arg(value_name = "SEQ")]
    pub seq: Seq,
    /// Write the event's bytes as they were signed
    #[arg(long)]
    pub raw: bool,
}

/// `state`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct StateArgs {
    /// As it was after this event
    #[arg(long, value_name = "SEQ")]
    pub at: Option<Seq>,
}
