//! What probes cost this process and leave in it. A file of its own, for it counts the whole process.
#![cfg(target_os = "linux")]
// The lint exempts test functions, not what they call.
#![allow(clippy::unwrap_used)]

use handoff_ledger::probe::{Observation, Surroundings, run};
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::types::CAPTURE_BYTES_MAX;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const HANG: Duration = Duration::from_secs(20);

static NOT_INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn observe(text: &str) -> Observation {
    observe_for(text, 60_000)
}

fn observe_for(text: &str, timeout_ms: u64) -> Observation {
    let definition = Definition {
        timeout_ms,
        ..Definition::script(text)
    };
    let surroundings = Surroundings {
        root: Path::new("/"),
        interrupted: &NOT_INTERRUPTED,
    };
    let start = Instant::now();
    let seen = run(&Probe::new(definition).unwrap(), &surroundings);
    assert!(start.elapsed() < Duration::from_millis(timeout_ms) + HANG);
    seen
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Children of this process, with the dead that nobody waited for.
fn children() -> String {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.collect()
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + HANG;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_gone(pid: &str) -> bool {
    assert!(pid.parse::<u32>().is_ok(), "{pid:?}");
    !Path::new("/proc").join(pid).exists()
}

#[test]
fn an_orphan_in_a_session_of_its_own_is_killed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    for (holds_output, daemon) in [
        (true, "setsid sh -c 'echo $$ > FILE; exec sleep 600' &"),
        (
            false,
            "setsid sh -c 'echo $$ > FILE; exec sleep 600' >/dev/null 2>&1 &",
        ),
        // Twice removed, its parent gone before it starts.
        (
            false,
            "(setsid sh -c '(sh -c \"echo \\$\\$ > FILE; exec sleep 600\") &' >/dev/null 2>&1 &);",
        ),
    ] {
        let _ = fs::remove_file(&file);
        let text = format!("{daemon} while ! test -s FILE; do sleep 0.01; done");
        let seen = observe(&text.replace("FILE", file.to_str().unwrap()));
        assert_eq!(seen.outcome, Outcome::Exited(0));
        assert_eq!(seen.pipe_held, holds_output);
        let pid = fs::read_to_string(&file).unwrap();
        eventually("the orphan is gone", || is_gone(pid.trim()));
        assert_eq!(children(), "");
    }
}

#[test]
fn a_job_in_another_group_of_the_session_is_killed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = observe("set -m; sleep 600 & echo $!");
    assert_eq!(seen.outcome, Outcome::Exited(0));
    let pid = seen.value.unwrap();
    eventually("the job is gone", || is_gone(&pid));
}

#[test]
fn children_that_are_no_probes_are_left_alone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut child = std::process::Command::new("setsid")
        .args(["sleep", "600"])
        .spawn()
        .unwrap();
    let seen = observe("setsid sleep 600 >/dev/null 2>&1 &");
    assert_eq!(seen.outcome, Outcome::Exited(0));
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn probes_in_a_row_and_at_once_leave_no_file_process_or_thread() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    observe("echo first");
    let (files, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
    for _ in 0..100 {
        assert_eq!(observe("echo in a row").value.as_deref(), Some("in a row"));
    }
    std::thread::scope(|scope| {
        for number in 0..20_u8 {
            scope.spawn(move || {
                for _ in 0..5 {
                    // What one probe leaves in the background must not cost another its status.
                    let seen = observe(&format!("sleep 600 >/dev/null 2>&1 & exit {number}"));
                    assert_eq!(seen.outcome, Outcome::Exited(number));
                }
            });
        }
    });
    assert_eq!(children(), "");
    eventually("files are closed", || count("/proc/self/fd") <= files);
    eventually("threads have ended", || count("/proc/self/task") <= threads);
}

#[test]
fn a_probe_that_ends_does_not_kill_another_ones_helper() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let helped = scope.spawn(|| {
            observe("setsid sleep 600 >/dev/null 2>&1 & sleep 1; kill -0 $! && echo alive")
        });
        for _ in 0..10 {
            observe("echo");
        }
        assert_eq!(helped.join().unwrap().value.as_deref(), Some("alive"));
    });
    assert_eq!(children(), "");
}

#[test]
fn endless_output_is_bounded_in_memory_and_killed_at_the_timeout() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = observe_for("yes & cat /dev/zero >&2", 1_000);
    assert_eq!(seen.outcome, Outcome::TimedOut);
    let outputs = seen.outputs.unwrap();
    for stream in [&outputs.stdout, &outputs.stderr] {
        assert_eq!(stream.kept.len(), CAPTURE_BYTES_MAX);
        assert!(stream.commitment.whole.length > 1_000_000);
        assert!(stream.whole().is_none());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(kibibytes < 64 * 1024, "peak memory {kibibytes} KiB");
}
