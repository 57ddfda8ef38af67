//! A client that no one here wrote: the official Python SDK, in an environment of its own under
//! the target folder, made once. Without it the test says that it was skipped, or fails if
//! `HANDOFF_REQUIRE_TOOLS=1`.

use crate::cli_support::Machine;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The release that is installed where there is none.
const SDK: &str = "mcp==2.3.0";

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn has_sdk(python: &Path) -> bool {
    succeeds(Command::new(python).args(["-c", "from mcp import Client"]))
}

/// A Python with the SDK.
fn python() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find_python).clone()
}

fn find_python() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-client");
    let python = folder.join("bin/python3");
    if has_sdk(&python) {
        return Some(python);
    }
    let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", SDK]))
        && has_sdk(&python);
    if made {
        return Some(python);
    }
    let required = std::env::var("HANDOFF_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(
        !required,
        "{SDK} cannot be installed, which HANDOFF_REQUIRE_TOOLS=1 demands"
    );
    eprintln!("SKIPPED: {SDK} cannot be installed here; no foreign client was tried");
    None
}

/// Runs the story against a program.
fn told(machine: &Machine, program: &Path, mode: &str) -> Option<Output> {
    let root = machine.root("");
    machine.write("db-host", "stage\n");
    let story = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/foreign.py");
    let output = Command::new(python()?)
        .arg("-B")
        .arg(story)
        .arg(program)
        .arg(mode)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &root.home)
        .current_dir(&root.cwd)
        .output()
        .unwrap();
    Some(output)
}

#[test]
fn a_foreign_client_tells_the_whole_story_in_either_greeting() {
    for mode in ["legacy", "auto"] {
        let machine = Machine::new();
        let program = Path::new(env!("CARGO_BIN_EXE_handoff"));
        let Some(output) = told(&machine, program, mode) else {
            return;
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{mode}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(printed, "the whole story was told\n", "{mode}");
    }
}

/// The negative control: a server of which each answer says yes is not believed.
#[test]
fn the_foreign_client_catches_a_server_that_always_says_yes() {
    let machine = Machine::new();
    machine.program(
        "flatterer",
        "#!/usr/bin/env python3\n\
         import re, subprocess, sys\n\
         server = subprocess.Popen([sys.argv[0] + '.real', *sys.argv[1:]], stdout=subprocess.PIPE)\n\
         for line in server.stdout:\n    \
             line = re.sub(rb'\"exit\":1', b'\"exit\":0', line)\n    \
             sys.stdout.buffer.write(line)\n    \
             sys.stdout.buffer.flush()\n",
    );
    let program = machine.project().join("flatterer");
    let real = machine.project().join("flatterer.real");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_handoff"), real).unwrap();
    if let Some(output) = told(&machine, &program, "legacy") {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "it was believed");
        assert!(told.contains("proves nothing"), "{told}");
    }
}
