//! Commands about the ledger itself: its keys, its sessions, and carrying it.

use super::values::{KeySource, session};
use crate::types::{LedgerId, Name, Seq, Text};
use std::path::PathBuf;

/// `init`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Init {
    /// What the ledger is called (default: the folder's name, as far as it is a name)
    #[arg(long, value_name = "N")]
    pub name: Option<Name>,
    /// Let no key promote what it flagged itself
    #[arg(long)]
    pub four_eyes: bool,
    /// Let values that were not probed count as observations
    #[arg(long)]
    pub allow_asserted: bool,
    /// Make it though this machine kept another ledger here, which is gone
    #[arg(long)]
    pub anew: bool,
}

/// `key`
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Key {
    /// Make a key pair outside the ledger, readable by you alone
    #[command(after_help = "Example:\n  handoff key new")]
    New {
        /// Where to write it (default: the data folder)
        #[arg(long, value_name = "FILE", conflicts_with = "label")]
        out: Option<PathBuf>,
        /// What it is called in the data folder, and by --key (default: default)
        #[arg(long, value_name = "L")]
        label: Option<Name>,
    },
    /// Print the public half of your key
    #[command(after_help = "Example:\n  handoff key show > me.pub")]
    Show,
    /// List the keys this ledger knows, with their roles
    #[command(after_help = "Example:\n  handoff key list --json")]
    List,
    /// Let a key write
    #[command(after_help = "Example:\n  \
        handoff key new --label ci && handoff key authorize ci --label ci\n\n\
        A key is authorised once, with roles that are for good: give --admin --recorder to one\n\
        that is to do both.")]
    Authorize {
        /// The public key, a file that holds it, or the label of a key of yours
        #[arg(value_name = "KEY")]
        public: KeySource,
        /// What it is called
        #[arg(long, value_name = "L")]
        label: Name,
        /// Let it handle recorders, discard others' flags and erase captures; not record, unless
        /// --recorder is given too
        #[arg(long)]
        admin: bool,
        /// Let it record (the default if --admin is not given)
        #[arg(long)]
        recorder: bool,
    },
    /// As admin: let a new key write in an old one's place, and end the old one's authority
    #[command(after_help = "Example:\n  \
        handoff key new --label ci-2 && handoff key rotate ci ci-2 --label ci-2\n\n\
        Both happen or neither. What the old key wrote stands; where it was stolen, revoke it\n\
        with --compromised-since instead. Seal its open sessions first, for no other key can.\n\
        The root key is not rotated: it names the ledger. Keep it offline, with an admin at hand.")]
    Rotate {
        /// The key that goes, by its label in the ledger, or a file that holds it
        #[arg(value_name = "OLD")]
        old: KeySource,
        /// The key that comes, a file that holds it, or the label of a key of yours
        #[arg(value_name = "NEW")]
        new: KeySource,
        /// What the new key is called
        #[arg(long, value_name = "L")]
        label: Name,
        /// Why
        #[arg(long, value_name = "R", default_value = "rotated")]
        reason: Text,
    },
    /// End a key's authority, from now or from an event on
    #[command(after_help = "Example:\n  \
        handoff key revoke ci --reason 'runner was breached' --compromised-since 118")]
    Revoke {
        /// The key, by its label in the ledger, or a file that holds it
        #[arg(value_name = "KEY")]
        public: KeySource,
        /// Why
        #[arg(long, value_name = "R")]
        reason: Text,
        /// Void what it wrote from this event on
        #[arg(long, value_name = "SEQ")]
        compromised_since: Option<Seq>,
    },
}

/// `trust`
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Trust {
    /// Pin the root key of this ledger
    #[command(after_help = "Example:\n  handoff trust add acme-root.pub --label acme")]
    Add {
        /// The root's public key, or a file that holds it
        #[arg(value_name = "KEY|FILE")]
        root: KeySource,
        /// What the pin is called
        #[arg(long, value_name = "L")]
        label: Option<Name>,
        /// Pin it for the ledger of this id, which need not be here (default: the one at hand)
        #[arg(long, value_name = "LEDGER-ID")]
        id: Option<LedgerId>,
    },
    /// List the pinned roots
    #[command(after_help = "Example:\n  handoff trust list")]
    List,
    /// Take a pin away
    #[command(after_help = "Example:\n  handoff trust remove acme-root.pub")]
    Remove {
        /// The root's public key, or a file that holds it
        #[arg(value_name = "KEY|FILE")]
        root: KeySource,
    },
}

/// `session`
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Session {
    /// Open a session, without probing what it inherits
    #[command(after_help = "Example:\n  handoff session open --agent builder --purpose 'fix CI'")]
    Open(Open),
    /// List the sessions: open, sealed, abandoned
    #[command(after_help = "Example:\n  handoff session list")]
    List,
    /// End a session without a seal
    #[command(after_help = "Example:\n  handoff session abandon 12 --reason 'runner was lost'")]
    Abandon {
        /// The session
        #[arg(value_name = "N", value_parser = session)]
        number: Seq,
        /// Why
        #[arg(long, value_name = "R")]
        reason: Text,
    },
}

/// What a session is opened with.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Open {
    /// The agent that speaks
    #[arg(long, value_name = "A")]
    pub agent: Name,
    /// What for
    #[arg(long, value_name = "P")]
    pub purpose: Option<Text>,
    /// The sealed sessions to inherit (default: all that none has inherited yet)
    #[arg(long, value_name = "N", num_args = 1.., value_delimiter = ',', value_parser = session)]
    pub inherit: Vec<Seq>,
}

/// `acknowledge`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Acknowledge {
    /// What is acknowledged.
    #[command(flatten)]
    pub what: Acknowledged,
    /// Why it is all right to go on
    #[arg(long, value_name = "R")]
    pub reason: Text,
}

/// What is acknowledged: exactly one of the two.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Acknowledged {
    /// Every refused event up to this one
    #[arg(value_name = "SEQ")]
    pub seq: Option<Seq>,
    /// That the ledger is shorter than this machine has seen it: this machine's own note, no event
    #[arg(long)]
    pub rollback: bool,
}

/// `export`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Export {
    /// Where to write (default: standard output)
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Include what probes printed
    #[arg(long)]
    pub captures: bool,
}

/// `import`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Import {
    /// The export
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The ledger file to make (default: that of this folder)
    #[arg(long, value_name = "PATH")]
    pub to: Option<PathBuf>,
}

/// `demo`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Demo {
    /// Make it in this new folder and leave it there (default: a scratch folder, removed)
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// `completions`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `man`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Man {
    /// Write one file per command into this folder (default: all to standard output)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `install-docs`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct InstallDocs {
    /// The folder under which share/man and the folders of completions are, such as ~/.local
    #[arg(value_name = "PREFIX")]
    pub prefix: PathBuf,
}

/// `help`
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Help {
    /// A command, or all
    #[arg(value_name = "COMMAND")]
    pub topic: Vec<String>,
}
