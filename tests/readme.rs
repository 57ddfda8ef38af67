//! Everything that the README shows is run here, and its output is what the program prints today.
//!
//! A `console` block holds lines `$ command`, each followed by what it prints and, unless it exits
//! 0, by the exit in brackets. `HANDOFF_WRITE_README=1` writes the output anew. The programs in
//! `python` and `js` blocks are run by `python3` and `node`; where one of these is not there, that is
//! told, and with `HANDOFF_REQUIRE_TOOLS=1` a failure for `python3`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "what fails here fails the test, and what is skipped is told"
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

/// Longest program that the README shows, in lines.
const PROGRAM_LINES_MAX: usize = 30;

/// The one block of the README in a language.
fn block(language: &str) -> String {
    let fence = format!("```{language}\n");
    let mut blocks = README.split(&fence).skip(1);
    let block = blocks.next().unwrap().split("```\n").next().unwrap();
    assert_eq!(blocks.count(), 0, "one program in {language}");
    let lines = block.lines().count();
    assert!(lines <= PROGRAM_LINES_MAX, "{language}: {lines} lines");
    block.to_owned()
}

/// A project in a scratch folder, in which programs of the README run.
struct Programs {
    scratch: tempfile::TempDir,
}

impl Programs {
    fn new() -> Programs {
        let scratch = tempfile::tempdir().unwrap();
        let project = scratch.path().join("project");
        std::fs::create_dir(&project).unwrap();
        prepare(&project);
        let programs = Programs { scratch };
        programs.shell("handoff init");
        programs
    }

    fn project(&self) -> std::path::PathBuf {
        self.scratch.path().join("project")
    }

    fn shell(&self, command: &str) -> String {
        run(command, self.scratch.path(), &self.project())
    }

    /// What the README's program prints.
    fn program(&self, language: &str, interpreter: &str, file: &str) -> String {
        std::fs::write(self.scratch.path().join(file), block(language)).unwrap();
        self.shell(&format!("{interpreter} ../{file}"))
    }
}

fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("{tool} is not there: the README's program is not run");
    }
    is_there
}

#[test]
fn the_programs_of_the_readme_hand_over_what_holds_and_stop_at_what_does_not() {
    if !is_there("python3") {
        let required = std::env::var("HANDOFF_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "HANDOFF_REQUIRE_TOOLS=1, but python3 is not there"
        );
        return;
    }
    let programs = Programs::new();
    let sealed = programs.program("python", "python3", "session.py");
    assert!(sealed.starts_with("sealed handoff1:"), "{sealed}");
    let head = programs.shell("handoff head");
    assert_eq!(sealed, format!("sealed {head}"));
    if !is_there("node") {
        return;
    }
    let successor = || programs.program("js", "node", "successor.mjs");
    assert_eq!(successor(), "resetting the database\n");
    std::fs::write(programs.project().join("db-host"), "prod-1\n").unwrap();
    let told = successor();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[0], "db-safe is blocked: db.host is now prod-1",
        "{told}"
    );
    assert!(
        lines[1].starts_with("not before: handoff axis db.host "),
        "{told}"
    );
    assert_eq!(lines.len(), 2, "{told}");
}

#[test]
fn a_program_of_the_readme_says_what_is_in_its_way() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let programs = Programs::new();
    let ledger = programs.project().join(".handoff/ledger.db");
    std::fs::write(ledger, "no ledger").unwrap();
    for (language, interpreter, file) in [
        ("python", "python3", "session.py"),
        ("js", "node", "successor.mjs"),
    ] {
        let told = programs.program(language, interpreter, file);
        assert!(told.contains("; next: "), "{told}");
        assert!(told.ends_with("[1]\n"), "{told}");
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
