//! Everything that the README shows is run here, and its output is what the program prints today.
//!
//! A `console` block holds lines `$ command`, each followed by what it prints and, unless it exits
//! 0, by the exit in brackets. `HANDOFF_WRITE_README=1` writes the output anew.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what fails here fails the test"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../README.md");

/// A command of the README and what stands below it.
struct Shown {
    command: String,
    output: String,
}

#[test]
fn every_command_of_the_readme_prints_what_it_shows() {
    let scratch = tempfile::tempdir().unwrap();
    let project = scratch.path().join("project");
    std::fs::create_dir(&project).unwrap();
    prepare(&project);
    let mut written = String::new();
    let mut inside = false;
    let mut lines = README.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "```console" {
            inside = true;
        } else if line == "```" {
            inside = false;
        }
        writeln!(written, "{line}").unwrap();
        if !inside || !line.starts_with("$ ") {
            continue;
        }
        let mut output = String::new();
        while let Some(next) = lines.next_if(|next| !next.starts_with("$ ") && *next != "```") {
            writeln!(output, "{next}").unwrap();
        }
        let shown = Shown {
            command: line[2..].to_owned(),
            output,
        };
        let found = run(&shown.command, scratch.path(), &project);
        write!(written, "{found}").unwrap();
        if std::env::var_os("HANDOFF_WRITE_README").is_none() {
            assert_eq!(steady(&found), steady(&shown.output), "$ {}", shown.command);
        }
    }
    if std::env::var_os("HANDOFF_WRITE_README").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        std::fs::write(path, written).unwrap();
    }
}

/// The project that the README's commands are typed in.
fn prepare(project: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let tool = "#!/bin/sh\n\
        case \"$1\" in\n\
        --version) echo 'tool 1.4.2' ;;\n\
        build) echo 'built: 12 targets' ;;\n\
        health) cat api-health ;;\n\
        esac\n";
    std::fs::write(project.join("tool"), tool).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.join("tool"), executable).unwrap();
    std::fs::write(project.join("db-host"), "stage-1\n").unwrap();
    std::fs::write(project.join("api-health"), "starting\n").unwrap();
}

/// What a command prints, standard error after standard output, and its exit unless it is 0.
fn run(command: &str, scratch: &Path, project: &Path) -> String {
    // The two commands at the top: the one is run without building again, the other runs this test.
    let command = match command {
        "cargo test --locked" => return String::new(),
        other => other.replace("cargo run --release --locked --", "handoff"),
    };
    let demo = command.starts_with("handoff demo");
    let home = scratch.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_handoff"))
        .parent()
        .unwrap()
        .to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(project)
        .env_clear()
        .env("PATH", path)
        .env("HOME", &home)
        .env("TMPDIR", scratch)
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(std::str::from_utf8(&output.stderr).unwrap());
    let code = output.status.code().unwrap();
    if code != 0 {
        writeln!(text, "[{code}]").unwrap();
    }
    if demo {
        assert_eq!(code, 0, "{text}");
        // The README does not show the demo's own output: it is the tour, told by itself.
        return String::new();
    }
    text.replace(&home.display().to_string(), "/home/you")
        .replace(&scratch.display().to_string(), "/home/you")
}

/// The text with what differs from run to run made the same: digests, times, durations.
fn steady(text: &str) -> String {
    let digest = regex::Regex::new("[0-9a-f]{12,}").unwrap();
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").unwrap();
    let since = regex::Regex::new(r"\d+ ?(ms|s) ago").unwrap();
    let text = time.replace_all(text, "TIME");
    let text = since.replace_all(&text, "AGO");
    digest.replace_all(&text, "DIGEST").into_owned()
}
