//! Commands about checkpoints and proofs.

use super::values::{Witnesses, witnesses};
use crate::types::Seq;
use std::path::PathBuf;

/// `checkpoint`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct CheckpointArgs {
    /// Where to write (default: standard output)
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `prove`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Prove {
    /// What is proven.
    #[command(flatten)]
    pub what: Proven,
    /// As of this checkpoint, with its cosignatures (default: a new one, signed by your key)
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Where to write (default: standard output)
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What is proven: exactly one of the two.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Proven {
    /// That the ledger holds this event
    #[arg(value_name = "SEQ")]
    pub seq: Option<Seq>,
    /// That the ledger continues the one of this many events: what a witness asks for
    #[arg(long, value_name = "SIZE")]
    pub from: Option<Seq>,
}

/// `verify-proof`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct VerifyProof {
    /// The proof
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The older checkpoint, if the proof is that a ledger continues it
    #[arg(long, value_name = "FILE")]
    pub old: Option<PathBuf>,
    /// Demand that this witness cosigned the proof's checkpoint (repeatable)
    #[arg(long = "witness", value_name = "VKEY|FILE", value_parser = witnesses)]
    pub witnesses: Vec<Witnesses>,
}

/// `witness`
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum WitnessCommand {
    /// Print the key that this machine cosigns with; it is made if there is none
    #[command(after_help = "Example:\n  handoff witness key > this-machine.vkey")]
    Key,
    /// Cosign a checkpoint that continues the one seen before
    #[command(after_help = "Example:\n  \
        handoff checkpoint -o cp\n  \
        handoff prove --from 0 --checkpoint cp > request\n  \
        handoff witness add request >> cp")]
    Add {
        /// The request, as prove --from prints it (default: standard input)
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// List the ledgers seen, with the size and root of each
    #[command(after_help = "Example:\n  handoff witness list")]
    List,
}
