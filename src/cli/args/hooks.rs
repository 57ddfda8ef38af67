//! The hooks of agents' command lines.

use crate::hooks::client::Client;
use std::path::PathBuf;

/// `hook`. What it is asked at and by whom are texts here: a hook whose command line is wrong still
/// has a client that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Hook {
    /// What the client asks at: session-start, pre-tool or stop
    #[arg(value_name = "EVENT")]
    pub event: String,
    /// Who asks, if its own words do not tell: claude, codex, gemini or cursor
    #[arg(long, value_name = "CLIENT")]
    pub client: Option<String>,
    /// A folder whose guards hold wherever the agent went
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// At the start of a session, say so if there is no ledger
    #[arg(long)]
    pub say_missing: bool,
}

/// `hooks`
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Hooks {
    /// Put this program into a client's settings; without --write, only show what would change
    #[command(after_help = "Example:\n  handoff hooks install claude --write\n\n\
        Nothing else in the settings changes; a copy of them is kept beside. Clients: claude,\n\
        codex, gemini, cursor.")]
    Install(Settings),
    /// Take this program out of a client's settings; without --write, only show what would change
    #[command(after_help = "Example:\n  handoff hooks uninstall claude --write")]
    Uninstall(Settings),
    /// Show which settings name this program, what is guarded, and what fired last
    #[command(after_help = "Example:\n  handoff hooks doctor")]
    Doctor,
}

/// Whose settings, and what is done with them.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Settings {
    /// The client: claude, codex, gemini or cursor
    #[arg(value_name = "CLIENT")]
    pub client: Client,
    /// Show what would change, and change nothing (the default)
    #[arg(long, conflicts_with = "write")]
    pub dry_run: bool,
    /// Write it
    #[arg(long)]
    pub write: bool,
    /// The settings of this user, for all projects
    #[arg(long, conflicts_with = "project")]
    pub user: bool,
    /// The settings of this project (the default)
    #[arg(long)]
    pub project: bool,
}
