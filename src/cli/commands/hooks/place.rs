//! Where clients keep their settings.

use crate::cli::args::Common;
use crate::cli::context;
use crate::cli::report::Failure;
use crate::home::paths::{self, PathError};
use crate::hooks::client::Client;
use std::path::{Path, PathBuf};

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// A user's, for all projects.
    User,
    /// A project's.
    Project,
}

impl Level {
    pub(super) const ALL: [Level; 2] = [Level::User, Level::Project];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Level::User => "user",
            Level::Project => "project",
        }
    }
}

/// The root of the project that the command is typed in.
pub(super) fn project(common: &Common) -> Result<PathBuf, Failure> {
    let cwd = context::current_folder(common)?;
    let ledger = match context::find(common, &cwd) {
        Ok(path) => path,
        Err(_) => paths::place_for_ledger(&cwd)?,
    };
    Ok(paths::root_of_session(&cwd, &ledger)?)
}

/// The file that holds a client's hooks.
///
/// Of Claude Code's two for a project it is the one that is nobody else's: what is written names
/// this machine's program. `CLAUDE_CONFIG_DIR` and `CODEX_HOME` name other folders than the home's.
pub(super) fn settings(client: Client, level: Level, root: &Path) -> Result<PathBuf, Failure> {
    let (variable, folder, file) = match (client, level) {
        (Client::Claude, Level::User) => (Some("CLAUDE_CONFIG_DIR"), ".claude", "settings.json"),
        (Client::Claude, Level::Project) => (None, ".claude", "settings.local.json"),
        (Client::Codex, Level::User) => (Some("CODEX_HOME"), ".codex", "hooks.json"),
        (Client::Codex, Level::Project) => (None, ".codex", "hooks.json"),
        (Client::Gemini, Level::User | Level::Project) => (None, ".gemini", "settings.json"),
        (Client::Cursor, Level::User | Level::Project) => (None, ".cursor", "hooks.json"),
    };
    let named = variable.and_then(std::env::var_os).map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    let folder = match (level, named) {
        (_, Some(named)) => named,
        (Level::User, None) => home()?.join(folder),
        (Level::Project, None) => root.join(folder),
    };
    Ok(folder.join(file))
}

/// Every file in which a client's hooks may stand.
pub(super) fn all(client: Client, root: &Path) -> Vec<(Level, PathBuf)> {
    let levels = Level::ALL.into_iter();
    let files = levels.filter_map(|level| Some((level, settings(client, level, root).ok()?)));
    let mut files: Vec<(Level, PathBuf)> = files.collect();
    if client == Client::Claude {
        files.push((Level::Project, root.join(".claude/settings.json")));
    }
    files
}

fn home() -> Result<PathBuf, Failure> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    Ok(home.ok_or(PathError::NoHome { variable: "HOME" })?)
}
