//! Running real programs and asking real servers: the runner's contract.
// The lint exempts test functions, not what they call.
#![allow(clippy::unwrap_used)]

mod checks;
mod ends;
mod given;
mod printed;

use handoff_ledger::probe::{Observation, Surroundings, run};
use handoff_ledger::probe_spec::{Definition, Probe};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What a probe may take beyond its timeout, however slow the machine.
const HANG: Duration = Duration::from_secs(20);

static NOT_INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn observe(root: &Path, definition: Definition) -> Observation {
    let probe = Probe::new(definition).unwrap();
    let start = Instant::now();
    let seen = run(&probe, &surroundings(root, &NOT_INTERRUPTED));
    let limit = Duration::from_millis(probe.timeout_ms()) + HANG;
    assert!(start.elapsed() < limit, "took {:?}", start.elapsed());
    assert_eq!(seen.expectations.len(), probe.expect().len());
    seen
}

fn surroundings<'a>(root: &'a Path, interrupted: &'a AtomicBool) -> Surroundings<'a> {
    Surroundings { root, interrupted }
}

fn here() -> &'static Path {
    Path::new("/")
}

fn argv(words: &[&str]) -> Definition {
    Definition::command(words.iter().map(|word| (*word).to_owned()))
}

fn script(text: &str) -> Observation {
    observe(here(), Definition::script(text))
}

fn expecting(definition: Definition, expect: &[&str]) -> Definition {
    let expect = expect.iter().map(|text| text.parse().unwrap()).collect();
    Definition {
        expect,
        ..definition
    }
}

fn extracting(definition: Definition, extract: &str) -> Definition {
    Definition {
        extract: extract.parse().unwrap(),
        ..definition
    }
}

fn timeout(definition: Definition, timeout_ms: u64) -> Definition {
    Definition {
        timeout_ms,
        ..definition
    }
}

fn stdout(seen: &Observation) -> &[u8] {
    &seen.outputs.as_ref().unwrap().stdout.kept
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + HANG;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// That process `pid` ends; a killed one may take a moment to vanish.
fn assert_is_gone(pid: &str) {
    assert!(pid.parse::<u32>().is_ok(), "{pid:?}");
    eventually("the process is gone", || {
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => stat.rsplit(')').next().unwrap().starts_with(" Z"),
            Err(_) => true,
        }
    });
}
