//! `hooks`: this program in the settings of agents' command lines, and what came of it.

mod doctor;
mod place;

use crate::cli::args::{Common, Hooks, Settings};
use crate::cli::output::{Format, Output};
use crate::cli::quote::shell_quoted;
use crate::cli::report::{Exit, Failure};
use crate::home::{self, FileError, read_given};
use crate::hooks::client::{Client, Moment};
use crate::hooks::settings::{self, SettingsError};
use place::Level;
use serde_json::json;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "handoff.hooks.v1";
/// Largest settings file, in bytes.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// What the copy of settings that were changed is called, after their name.
const BACKUP: &str = "before-handoff";
/// How many such copies are kept.
const BACKUPS_MAX: u32 = 100;

/// Does what was asked.
pub(super) fn run(common: &Common, asked: &Hooks, output: &mut Output) -> Result<Exit, Failure> {
    match asked {
        Hooks::Install(settings) => {
            let after = |text: &str, place: &Place| {
                settings::installed(text, place.client, |moment| place.command(moment))
            };
            change(common, settings, after, output)
        }
        Hooks::Uninstall(settings) => {
            change(common, settings, |text, _| settings::removed(text), output)
        }
        Hooks::Doctor => doctor::run(common, output),
    }
}

/// What the command of a hook is made of.
struct Place {
    client: Client,
    program: String,
    project: Option<String>,
}

impl Place {
    /// The command at a moment, quoted for a shell.
    fn command(&self, moment: Moment) -> String {
        let client = self.client.as_str();
        let mut words = vec![&*self.program, "hook", moment.as_str(), "--client", client];
        if let Some(project) = &self.project {
            words.extend(["--project", project]);
        }
        shell_quoted(&words)
    }
}

/// Changes settings, or shows what would change in them.
fn change(
    common: &Common,
    asked: &Settings,
    after: impl FnOnce(&str, &Place) -> Result<String, SettingsError>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let client = asked.client;
    let level = if asked.user {
        Level::User
    } else {
        Level::Project
    };
    let root = place::project(common)?;
    let path = place::settings(client, level, &root)?;
    let before = read(&path)?;
    let place = Place {
        client,
        program: program()?,
        project: match level {
            Level::User => None,
            Level::Project => Some(text(&root)?),
        },
    };
    let text = before.as_deref().unwrap_or_default();
    let after = after(text, &place).map_err(|error| refused(&path, &place, &error))?;
    let after = match after.is_empty() || after.ends_with('\n') || !text.is_empty() {
        true => after,
        false => after + "\n",
    };
    let shown = path.display().to_string();
    let difference = settings::difference(text, &after, &shown);
    let changes = after != text;
    let mut backup = None;
    if changes && asked.write {
        backup = before
            .as_deref()
            .map(|text| keep(&path, text))
            .transpose()?;
        write(&path, &after)?;
    }
    let told = match (changes, asked.write) {
        (false, _) => format!("{shown}: nothing to change"),
        (true, false) => format!("{shown} would change so; to write it: the same with --write"),
        (true, true) => format!("{shown} is written"),
    };
    if output.format() == Format::Text && !asked.write {
        output.raw(difference.as_bytes());
    }
    output.line(&told);
    if let Some(backup) = &backup {
        output.line(&format!("what it was is kept as {}", backup.display()));
    }
    notice(client)
        .into_iter()
        .for_each(|line| output.line(line));
    let body = json!({
        "client": client.as_str(), "path": shown, "changes": changes,
        "written": changes && asked.write, "difference": difference,
        "backup": backup.map(|path| path.display().to_string()),
    });
    output.document(SCHEMA, Exit::Yes, body);
    Ok(Exit::Yes)
}

/// What a user has to do besides.
fn notice(client: Client) -> Option<&'static str> {
    match client {
        Client::Claude => Some("Claude Code reads it when it starts anew."),
        Client::Codex => Some(
            "Codex runs a hook only once you trusted it, and says nothing until then: type /hooks \
             in Codex.",
        ),
        Client::Gemini => Some("Gemini CLI reads it when it starts anew; /hooks lists them."),
        Client::Cursor => None,
    }
}

/// This program, as a client is to call it from anywhere.
fn program() -> Result<String, Failure> {
    let found = std::env::current_exe().map_err(|error| {
        Failure::environment(
            "io",
            format!("this program's own path is not known: {error}"),
        )
    })?;
    text(&found)
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!("expected a path in UTF-8, found {}", path.display());
        Failure::environment("path", message).next("the same command from another folder")
    })
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = match read_given(path, SETTINGS_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!(
            "{}: expected text in UTF-8, found other bytes",
            path.display()
        );
        Failure::environment("settings", message).next("put that file right by hand")
    })?;
    Ok(Some(text))
}

/// Settings that are not understood are left alone, and it is said what to put in by hand.
fn refused(path: &Path, place: &Place, error: &SettingsError) -> Failure {
    let message = format!("{}: {error}; nothing was changed", path.display());
    let whole = settings::installed("", place.client, |moment| place.command(moment));
    let whole = whole.unwrap_or_default();
    let failure = Failure::environment("settings", message);
    failure
        .next(format!(
            "put that file right, or put into it by hand:\n{whole}"
        ))
        .details(json!({ "settings": whole }))
}

/// Keeps what a file was, under a name that is not taken.
fn keep(path: &Path, text: &str) -> Result<PathBuf, Failure> {
    let names = (1..=BACKUPS_MAX).map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(match number {
            1 => format!(".{BACKUP}"),
            number => format!(".{BACKUP}-{number}"),
        });
        PathBuf::from(name)
    });
    for name in names {
        match home::write_new(&name, text.as_bytes()) {
            Ok(()) => return Ok(name),
            Err(FileError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let message = format!(
        "{BACKUPS_MAX} copies of {} are kept already",
        path.display()
    );
    Err(Failure::environment("settings", message).next(format!("rm {}.{BACKUP}*", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        home::folders::make_folder(folder)?;
    }
    Ok(home::replace(path, text.as_bytes())?)
}
