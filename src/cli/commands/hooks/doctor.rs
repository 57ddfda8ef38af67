//! `hooks doctor`: which settings name this program, what is guarded, and what fired last.

use super::{SCHEMA, place, read};
use crate::cli::args::Common;
use crate::cli::context;
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::report::{Exit, Failure};
use crate::hooks::client::{Client, Moment};
use crate::hooks::fired;
use crate::hooks::found;
use crate::hooks::settings::{self, Installed};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Looks at everything. Exit 0 unless something that is there does not work.
pub(super) fn run(common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let root = place::project(common)?;
    let mut wrong = Vec::new();
    let settings: Vec<Value> = (Client::ALL.into_iter())
        .flat_map(|client| {
            let files = place::all(client, &root);
            files
                .into_iter()
                .map(move |(level, path)| (client, level.as_str(), path))
        })
        .filter_map(|(client, level, path)| file(client, level, &path, &mut wrong, output))
        .collect();
    if settings.is_empty() {
        output.line("no client's settings name this program: handoff hooks install CLIENT");
    }
    let guards = guarded(common, &root, &mut wrong, output)?;
    let fired = fired_last(common, output);
    wrong
        .iter()
        .for_each(|line| output.line(&format!("WRONG  {line}")));
    let exit = if wrong.is_empty() {
        Exit::Yes
    } else {
        Exit::No
    };
    let body = json!({
        "settings": settings, "guards": guards, "fired": fired, "wrong": wrong,
    });
    output.document(SCHEMA, exit, body);
    Ok(exit)
}

/// One file of settings, if it names this program.
fn file(
    client: Client,
    level: &str,
    path: &Path,
    wrong: &mut Vec<String>,
    output: &mut Output,
) -> Option<Value> {
    let shown = path.display();
    let text = match read(path) {
        Ok(text) => text?,
        Err(failure) => {
            wrong.push(failure.message);
            return None;
        }
    };
    let found = match settings::found(&text) {
        Ok(found) => found,
        Err(error) => {
            wrong.push(format!("{shown}: {error}"));
            return None;
        }
    };
    if found.is_empty() {
        return None;
    }
    let events: Vec<&str> = found.iter().map(|hook| hook.event.as_str()).collect();
    output.line(&format!(
        "{client} ({level}): {shown}: {}",
        events.join(", ")
    ));
    let missing = Moment::ALL.into_iter();
    let missing = missing.filter(|moment| found.iter().all(|hook| hook.moment != *moment));
    for moment in missing {
        wrong.push(format!(
            "{shown}: nothing at {moment}: handoff hooks install {client} --write"
        ));
    }
    let mut faults: Vec<String> = found
        .iter()
        .filter_map(|hook| fault(client, hook))
        .collect();
    faults.dedup();
    wrong.extend(faults.into_iter().map(|fault| format!("{shown}: {fault}")));
    if settings::says_disabled(&text) {
        wrong.push(format!("{shown}: hooks are switched off there"));
    }
    let hooks: Vec<Value> = (found.iter())
        .map(|hook| json!({ "event": hook.event, "command": hook.command }))
        .collect();
    Some(json!({
        "client": client.as_str(), "level": level, "path": shown.to_string(), "hooks": hooks,
    }))
}

/// What is wrong with a hook that stands in settings.
fn fault(client: Client, hook: &Installed) -> Option<String> {
    if hook.client != client {
        return Some(format!("its command says --client {}", hook.client));
    }
    let program = PathBuf::from(&hook.program);
    let found = program.metadata();
    let runs = found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if program.is_absolute() && !runs {
        let program = quoted(&hook.program);
        return Some(format!(
            "{program} is no program any more, and a client takes that for a yes: handoff hooks \
             install {client} --write"
        ));
    }
    None
}

fn guarded(
    common: &Common,
    root: &Path,
    wrong: &mut Vec<String>,
    output: &mut Output,
) -> Result<Vec<Value>, Failure> {
    let cwd = context::current_folder(common)?;
    let found = match found::guards(&[cwd, root.to_owned()]) {
        Ok(found) => found,
        Err(error) => {
            wrong.push(format!("every tool call is refused: {error}"));
            return Ok(Vec::new());
        }
    };
    if found.is_empty() {
        output.line("guards: no .handoff/guards.toml, so no tool call is guarded");
    }
    let told = found.iter().map(|file| {
        let on_error = format!("{:?}", file.guards.on_error).to_lowercase();
        let (path, count) = (file.path.display(), file.guards.len());
        output.line(&format!("guards: {path}: {count}, on_error {on_error}"));
        json!({ "path": path.to_string(), "guards": count, "on_error": on_error })
    });
    Ok(told.collect())
}

fn fired_last(common: &Common, output: &mut Output) -> Vec<Value> {
    let folders = context::folders(common);
    let mut told = Vec::new();
    for client in Client::ALL {
        for moment in Moment::ALL {
            let Some(last) = fired::last(&folders, client, moment) else {
                continue;
            };
            let detail = last.detail.as_deref().map(quoted);
            let detail = detail.map_or(String::new(), |text| format!(": {text}"));
            output.line(&format!(
                "fired: {client} {moment} at {} in {}: {}{detail}",
                last.time, last.folder, last.answer
            ));
            told.push(json!({
                "client": client.as_str(), "moment": moment.as_str(), "time": last.time,
                "version": last.version, "folder": last.folder, "answer": last.answer,
                "detail": last.detail,
            }));
        }
    }
    if told.is_empty() {
        output.line("fired: none yet");
    }
    told
}
