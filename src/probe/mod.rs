//! Running probes: what a definition asks for, looked at here and now.
//!
//! Only [`run`] starts a process. Everything a probe prints is data: it is bounded, hashed and
//! judged, never obeyed.

mod descendants;
mod extract;
mod files;
mod loadable;
mod native;
mod network;
mod output;
mod relay;
mod run;
mod schema;

pub use extract::{ExpressionError, check_expressions, met_by_empty_output};
pub use files::file_digests;
pub use output::{Captured, CapturedStream};
pub use relay::{Relay, ending};
pub use run::{attached, not_started};

use crate::probe_spec::{FileDigest, Judgement, Outcome, Probe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a probe runs.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The session's own root, under which a relative working directory lies.
    pub root: &'a Path,
    /// Set, by a signal handler for instance, when probes must end at once.
    pub interrupted: &'a AtomicBool,
}

impl Surroundings<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// What was seen when a probe ran.
#[derive(Debug, Clone)]
pub struct Observation {
    /// How it ended.
    pub outcome: Outcome,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// The program that ran, through symbolic links.
    pub executable: Option<FileDigest>,
    /// The files that its arguments name.
    pub files: Vec<FileDigest>,
    /// Whether the extraction did what it says; with `none`, that there is no value.
    pub extracted: bool,
    /// The value.
    pub value: Option<String>,
    /// One judgement per expectation, in their order.
    pub expectations: Vec<Judgement>,
    /// What it printed; absent for native checks and for programs that did not start.
    pub outputs: Option<Captured>,
    /// Whether something still held its output open after it had ended.
    pub pipe_held: bool,
    /// What the system said when it failed at running it at all; nothing is then known of what was
    /// to be seen.
    pub failure: Option<String>,
}

/// Runs a probe. Whatever goes wrong is an outcome.
pub fn run(probe: &Probe, surroundings: &Surroundings<'_>) -> Observation {
    let (executable, files) = file_digests(probe, surroundings.root);
    let directory = directory(probe, surroundings.root);
    let seen = match (probe.check(), probe.argv()) {
        (Some(check), _) => native::observe(check, &directory, probe, surroundings),
        (None, Some(argv)) => run::observe(argv, &directory, probe, surroundings),
        (None, None) => Seen::nothing(Outcome::Failed),
    };
    let judged = extract::judge(probe, &seen);
    Observation {
        outcome: seen.outcome,
        duration_ms: seen.duration_ms,
        executable,
        files,
        extracted: judged.extracted,
        value: judged.value,
        expectations: judged.expectations,
        outputs: seen.outputs,
        pipe_held: seen.pipe_held,
        failure: seen.failure,
    }
}

/// The directory that a probe runs in.
fn directory(probe: &Probe, root: &Path) -> PathBuf {
    // An absolute path replaces the root, and `.` adds nothing.
    match probe.cwd() {
        "." => root.to_owned(),
        cwd => root.join(cwd),
    }
}

/// What was seen before anything is judged.
struct Seen {
    outcome: Outcome,
    duration_ms: u64,
    outputs: Option<Captured>,
    /// The answer of a native check.
    answer: Option<String>,
    pipe_held: bool,
    failure: Option<String>,
}

impl Seen {
    /// That it ended so at once, leaving nothing to judge.
    fn nothing(outcome: Outcome) -> Self {
        Seen {
            outcome,
            duration_ms: 0,
            outputs: None,
            answer: None,
            pipe_held: false,
            failure: None,
        }
    }

    /// That the system failed at it, and what it said.
    fn failed(error: &std::io::Error) -> Self {
        Seen {
            failure: Some(error.to_string()),
            ..Seen::nothing(Outcome::Failed)
        }
    }
}

/// Whole milliseconds since `start`.
fn milliseconds_since(start: std::time::Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
