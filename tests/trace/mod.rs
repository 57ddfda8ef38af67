//! Commands under strace: what they call, and what happens when a call fails.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests, and each test uses a part of them"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Says that a test is skipped for want of something; a failure where `HANDOFF_REQUIRE_TOOLS` is 1.
pub fn skipped(test: &str, missing: &str) {
    let required = std::env::var("HANDOFF_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(!required, "{test} needs {missing}, which is required here");
    eprintln!("SKIPPED {test}: no {missing} here");
}

/// Whether this system lets one process trace another, with the tool at hand; if not, the test is
/// [`skipped`].
pub fn can_trace(test: &str) -> bool {
    let traced = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let can = traced.is_ok_and(|status| status.success());
    if !can {
        skipped(test, "strace");
    }
    can
}

/// The same command under strace with `options`; only its main thread is traced unless they say
/// otherwise.
pub fn traced(plain: &Command, log: &Path, options: &[String]) -> Command {
    let mut traced = Command::new("strace");
    traced
        .arg("-o")
        .arg(log)
        .args(options)
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null());
    if let Some(folder) = plain.get_current_dir() {
        traced.current_dir(folder);
    }
    traced
}

/// The system calls by which files change, and by which they are opened for it.
pub const CALLS: [&str; 14] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "unlink",
    "unlinkat",
    "rename",
    "renameat2",
    "linkat",
    "open",
    "openat",
    "mkdir",
    "fchmod",
];

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// This call alone.
    Once,
    /// It and all later ones of its kind.
    Forever,
}

/// The option that makes the `nth` call of a kind fail.
pub fn failing(call: &str, nth: usize, error: &str, failing: Failing) -> Vec<String> {
    let on = match failing {
        Failing::Once => "",
        Failing::Forever => "+",
    };
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:error={error}:when={nth}{on}");
    ["-e", &trace, "-e", &inject].map(str::to_owned).to_vec()
}

/// Which calls of [`CALLS`] a command makes, each by its kind and its number among those of its
/// kind and thread (from 1); without those by which the system loads the program itself. `options`
/// are more of strace's.
pub fn calls(plain: &Command, options: &[String]) -> Vec<(&'static str, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let trace = ["-e".to_owned(), format!("trace={}", CALLS.join(","))];
    let ended = traced(plain, &log, &[&trace, options].concat())
        .stdout(Stdio::piped())
        .output();
    assert!(
        ended.unwrap().status.success(),
        "{plain:?} fails untroubled"
    );
    let text = std::fs::read_to_string(log).unwrap();
    let mut counts: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    let mut made = Vec::new();
    for line in text.lines() {
        let call = line.split('(').next().unwrap();
        // Where threads are followed, each line begins with its thread's number.
        let (thread, name) = call.split_once(' ').unwrap_or(("", call));
        let Some(kind) = CALLS.iter().position(|call| *call == name.trim()) else {
            continue;
        };
        let nth = counts.entry((thread, kind)).or_default();
        *nth += 1;
        let loads = line.contains("/etc/ld.so") || line.contains(".so.") || line.contains(".so\"");
        if !loads {
            made.push((CALLS[kind], *nth));
        }
    }
    made
}
