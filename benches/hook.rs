//! What a hook costs before a tool call that no guard matches: `cargo bench --bench hook`.
//!
//! The real program is run as a client runs it, the payload on standard input, in turns with
//! `/bin/true`, so that a busy machine slows both.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::float_arithmetic,
    clippy::indexing_slicing
)]

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often each is run.
const TURNS: usize = 400;
/// Guards in the file, none of which matches.
const GUARDS: usize = 20;
/// At most this many times what `/bin/true` costs.
const GOAL: f64 = 5.0;

fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let project = scratch.path().join("project");
    let ledger = project.join(".handoff");
    std::fs::create_dir_all(&ledger).unwrap();
    let guards = (0..GUARDS).map(|number| {
        format!("[[guard]]\nmatch = '^(tool{number}|deploy{number})\\b'\nclaims = ['c']\n")
    });
    private(&ledger, 0o700);
    let file = ledger.join("guards.toml");
    std::fs::write(&file, guards.collect::<String>()).unwrap();
    private(&file, 0o600);
    let payload = scratch.path().join("payload.json");
    let text = include_str!("../tests/hooks/claude-pre-tool.json")
        .replace("PROJECT", project.to_str().unwrap())
        .replace("COMMAND", "ls -l && git status");
    std::fs::write(&payload, text).unwrap();
    let hook = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&project)
            .env("HOME", scratch.path())
            .stdin(File::open(&payload).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        assert!(command.status().unwrap().success());
        started.elapsed()
    };
    let handoff = env!("CARGO_BIN_EXE_handoff");
    let words = ["hook", "pre-tool", "--client", "claude"];
    let (mut bare, mut hooked) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(hook("/bin/true", &[]));
        hooked.push(hook(handoff, &words));
    }
    let (bare, hooked) = (median(bare), median(hooked));
    let ratio = hooked.as_secs_f64() / bare.as_secs_f64();
    println!("/bin/true {bare:?}, hook {hooked:?}: {ratio:.2} times (goal: {GOAL})");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn private(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
