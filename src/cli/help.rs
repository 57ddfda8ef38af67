//! Help, manual pages and completions: all made from the one definition of the command line.

use super::args::{Completions, Help, InstallDocs, Man, command};
use super::output::{Format, Output};
use super::quote::quoted_within;
use super::report::{Exit, Failure};
use clap_complete::Shell;
use clap_mangen::Man as ManualPage;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

/// Longest command name shown in an error, in characters.
const TOPIC_CHARACTERS_MAX: usize = 80;

/// Where manual pages are, under a prefix (FHS 3.0 section 4.11.6).
const MANUAL_FOLDER: &str = "share/man/man1";
/// Where each shell looks for completions, under a prefix.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions/handoff"),
    (Shell::Zsh, "share/zsh/site-functions/_handoff"),
    (Shell::Fish, "share/fish/vendor_completions.d/handoff.fish"),
];

/// Commands of every day, as the short help shows them.
const EVERYDAY: [(&str, &[&str]); 3] = [
    ("Start", &["init", "resume", "session", "brief"]),
    (
        "Record",
        &[
            "probe", "axis", "ambient", "claim", "flag", "promote", "seal",
        ],
    ),
    ("Ask", &["can", "gate", "state", "verify"]),
];

/// The other commands.
const OTHER: [(&str, &[&str]); 7] = [
    ("Record in bulk", &["append"]),
    ("Correct", &["reverify", "retract", "discard", "erase"]),
    (
        "Read",
        &["log", "show", "head", "compare", "export", "import"],
    ),
    ("Prove", &["checkpoint", "prove", "verify-proof", "witness"]),
    ("Trust", &["key", "trust", "acknowledge", "upgrade"]),
    ("Connect", &["mcp"]),
    (
        "Program",
        &[
            "hook",
            "hooks",
            "guide",
            "doctor",
            "demo",
            "completions",
            "man",
            "install-docs",
            "help",
            "version",
        ],
    ),
];

const INTRODUCTION: &str = "\
Hand conclusions to the next agent session, with the environment they held in.

Usage: handoff COMMAND …    --json with any command: one JSON document on standard output
";

const CLOSING: &str = "
handoff help COMMAND shows what it takes; handoff help all, every command and option.
Try it: handoff demo. Exit: 0 yes, 1 no, 2 usage, 3 cannot judge, 4 integrity, 5 environment,
6 indeterminate.
";

const EXITS: &str = "
Exit
    0  yes: recorded, verified, held, admissible; all of what was asked
    1  no: drifted, unverifiable, blocked, unknown, refused by a rule, expectation not met
    2  usage
    3  the ledger cannot be judged: unpinned root, incomplete copy, undetermined, empty
    4  integrity failure, rollback, fork
    5  environment: locked too long, disk full, I/O, not a ledger, newer than this program
    6  indeterminate: may or may not have been recorded; says how to find out
  125  gate alone: the command was not run
";

const EVIDENCE: &str = "
Evidence
    A file named with --ledger that this machine did not make, import or write to is only read:
    copied, verified whole, and answered from its intact part, with the result in the answer
    (\"integrity\") and on standard error. Tampered with: exit 4; with a side file beside it: 3;
    root not pinned: a warning, and 3 from can. An export will do in place of a ledger.
";

/// `handoff help`: the everyday commands, all of them, or one.
///
/// # Errors
/// Usage, if there is no such command.
pub fn help(asked: &Help, output: &mut Output) -> Result<Exit, Failure> {
    let topic: Vec<&str> = asked.topic.iter().map(String::as_str).collect();
    let text = match topic.as_slice() {
        [] => short(),
        ["all"] => all(),
        topic => of_command(topic)?,
    };
    print("handoff.help.v1", &text, output);
    Ok(Exit::Yes)
}

/// `handoff --version`.
///
/// # Errors
/// None.
pub fn version(output: &mut Output) -> Result<Exit, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    output.line(&format!("handoff {version}"));
    output.document(
        "handoff.version.v1",
        Exit::Yes,
        json!({ "version": version }),
    );
    Ok(Exit::Yes)
}

/// `handoff completions`.
///
/// # Errors
/// None.
pub fn completions(asked: &Completions, output: &mut Output) -> Result<Exit, Failure> {
    print("handoff.completions.v1", &completion(asked.shell), output);
    Ok(Exit::Yes)
}

fn completion(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "handoff", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// `handoff man`: to standard output, or one file per command into a folder.
///
/// # Errors
/// Environment, if a file cannot be written.
pub fn man(asked: &Man, output: &mut Output) -> Result<Exit, Failure> {
    let pages = pages()?;
    match &asked.out {
        Some(folder) => {
            let files = in_folder(folder, &pages);
            write_all(&files)?;
            for (path, _) in &files {
                output.line(&path.display().to_string());
            }
            let files: Vec<&str> = pages.iter().map(|page| page.file.as_str()).collect();
            output.document("handoff.man.v1", Exit::Yes, json!({ "files": files }));
        }
        None => {
            let text: String = pages.iter().map(|page| page.text.as_str()).collect();
            print("handoff.man.v1", &text, output);
        }
    }
    Ok(Exit::Yes)
}

/// `handoff install-docs`: manual pages and completions, where programs look for them.
///
/// # Errors
/// Environment, if a file cannot be written.
pub fn install(asked: &InstallDocs, output: &mut Output) -> Result<Exit, Failure> {
    let manual = asked.prefix.join(MANUAL_FOLDER);
    let mut files = in_folder(&manual, &pages()?);
    let count = files.len();
    let scripts = COMPLETIONS.map(|(shell, path)| (asked.prefix.join(path), completion(shell)));
    files.extend(scripts);
    write_all(&files)?;
    output.line(&format!("{count} manual pages in {}", manual.display()));
    for (path, _) in files.iter().skip(count) {
        output.line(&path.display().to_string());
    }
    let paths: Vec<String> = (files.iter())
        .map(|(path, _)| path.display().to_string())
        .collect();
    output.document(
        "handoff.install_docs.v1",
        Exit::Yes,
        json!({ "files": paths }),
    );
    Ok(Exit::Yes)
}

struct Page {
    file: String,
    text: String,
}

fn pages() -> Result<Vec<Page>, Failure> {
    let mut pages = Vec::new();
    let mut root = command().after_help(EXITS.trim());
    root.build();
    collect_pages(&root, &mut pages).map_err(|error| {
        Failure::environment("io", format!("a manual page cannot be written: {error}"))
    })?;
    Ok(pages)
}

fn collect_pages(command: &clap::Command, pages: &mut Vec<Page>) -> io::Result<()> {
    let page = ManualPage::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.push(Page {
        file: page.get_filename(),
        text: String::from_utf8_lossy(&text).into_owned(),
    });
    command
        .get_subcommands()
        .try_for_each(|below| collect_pages(below, pages))
}

fn in_folder(folder: &Path, pages: &[Page]) -> Vec<(PathBuf, String)> {
    let placed = |page: &Page| (folder.join(&page.file), page.text.clone());
    pages.iter().map(placed).collect()
}

/// Writes files, and the folders above them where they are not there.
fn write_all(files: &[(PathBuf, String)]) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| {
        let path = path.display();
        Failure::environment("io", format!("{path} cannot be written: {error}"))
    };
    for (path, text) in files {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
        std::fs::write(path, text).map_err(|error| failed(path, error))?;
    }
    Ok(())
}

/// Prints a text of this program's own.
fn print(schema: &str, text: &str, output: &mut Output) {
    match output.format() {
        Format::Text => output.raw(text.as_bytes()),
        Format::Json => output.document(schema, Exit::Yes, json!({ "text": text })),
    }
}

fn short() -> String {
    let mut text = INTRODUCTION.to_owned();
    groups(&mut text, &EVERYDAY);
    text.push_str(CLOSING);
    text
}

fn all() -> String {
    let mut text = INTRODUCTION.to_owned();
    groups(&mut text, &EVERYDAY);
    groups(&mut text, &OTHER);
    text.push_str("\nOptions of every command\n");
    let options = command()
        .help_template("{options}\n")
        .render_help()
        .to_string();
    text.push_str(&options);
    text.push_str(EXITS);
    text.push_str(EVIDENCE);
    text
}

fn groups(text: &mut String, groups: &[(&str, &[&str])]) {
    let root = command();
    for (title, names) in groups {
        text.push_str(&format!("\n{title}\n"));
        for name in *names {
            let about = root
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("    {name:<12} {about}\n"));
        }
    }
}

fn of_command(topic: &[&str]) -> Result<String, Failure> {
    let mut root = command();
    root.build();
    let found = topic
        .iter()
        .try_fold(&mut root, |command, name| command.find_subcommand_mut(name));
    match found {
        Some(command) => Ok(command.render_help().to_string()),
        None => {
            let shown = quoted_within(&topic.join(" "), TOPIC_CHARACTERS_MAX);
            let message = format!("there is no command {shown}");
            Err(Failure::usage(message).next("handoff help all"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_stands_in_one_group_of_the_help() {
        let mut grouped: Vec<&str> = EVERYDAY
            .iter()
            .chain(&OTHER)
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.sort_unstable();
        let root = command();
        let mut defined: Vec<&str> = root
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        defined.sort_unstable();
        assert_eq!(grouped, defined);
    }
}
