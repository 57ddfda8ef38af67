//! How a program ends, and what it leaves behind.

use super::*;
use handoff_ledger::probe_spec::Outcome;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;

#[test]
fn exit_codes_are_told_as_they_are() {
    for code in [0, 1, 2, 126, 127, 255] {
        let seen = script(&format!("exit {code}"));
        assert_eq!(seen.outcome, Outcome::Exited(code));
        assert_eq!((seen.extracted, seen.value.as_deref()), (true, Some("")));
    }
}

#[test]
fn signals_are_told_as_they_are_and_leave_no_value() {
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15)] {
        let seen = script(&format!("echo printed; kill -{name} $$"));
        assert_eq!(seen.outcome, Outcome::Signaled(number));
        assert_eq!((seen.extracted, seen.value.as_deref()), (false, None));
        assert_eq!(stdout(&seen), b"printed\n");
    }
}

#[test]
fn a_program_that_is_not_there_is_not_found() {
    for name in [
        "no-such-program-anywhere",
        "./no-such-program",
        "/no/such/program",
    ] {
        let seen = observe(here(), argv(&[name]));
        assert_eq!(seen.outcome, Outcome::NotFound, "{name}");
        assert!(seen.outputs.is_none() && seen.executable.is_none());
    }
}

#[test]
fn a_program_that_does_not_start_is_not_executable() {
    let folder = tempfile::tempdir().unwrap();
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    let for_a_shell = b"echo run by a shell > proof\n".as_slice();
    let with_zeros = [for_a_shell, &[0; 200]].concat();
    let with_interpreter = b"#!./for-a-shell\necho run by a shell > proof\n".as_slice();
    let with_no_interpreter = b"#! \necho run by a shell > proof\n".as_slice();
    // Where the program's kind is told and nothing follows, and one byte short of the header.
    let (kind, header) = (&program[..20], &program[..63]);
    let image_and_text = [header, b"\n", for_a_shell].concat();
    for (name, bytes, mode) in [
        ("data", b"#!/bin/sh\n".as_slice(), 0o644),
        ("orphan", b"#!/no/such/interpreter\n", 0o755),
        ("for-a-shell", for_a_shell, 0o755),
        ("with-zeros", &with_zeros, 0o755),
        ("zeros", &[0; 200], 0o755),
        ("with-interpreter", with_interpreter, 0o755),
        ("with-no-interpreter", with_no_interpreter, 0o755),
        ("kind", kind, 0o755),
        ("header", header, 0o755),
        ("image-and-text", &image_and_text, 0o755),
        ("empty", b"", 0o755),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let seen = observe(folder.path(), argv(&[&format!("./{name}")]));
        assert_eq!(seen.outcome, Outcome::NotExecutable, "{name}");
        assert!(seen.outputs.is_none(), "{name}");
    }
    assert!(!folder.path().join("proof").exists());
    // What is there and no file is never opened; what is not there is not found.
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for (name, outcome) in [
        ("./pipe", Outcome::NotExecutable),
        ("/dev/null", Outcome::NotExecutable),
        ("/", Outcome::NotExecutable),
        ("./absent", Outcome::NotFound),
        ("absent", Outcome::NotFound),
    ] {
        let seen = observe(folder.path(), argv(&[name]));
        assert_eq!(seen.outcome, outcome, "{name}");
    }
    let elsewhere = Definition {
        cwd: "no/such/folder".into(),
        ..argv(&["ls"])
    };
    assert_eq!(
        observe(folder.path(), elsewhere).outcome,
        Outcome::NotExecutable
    );
}

#[test]
fn a_stopped_program_is_killed_at_the_timeout() {
    let seen = observe(here(), timeout(Definition::script("kill -STOP $$"), 200));
    assert_eq!(seen.outcome, Outcome::TimedOut);
    assert_eq!((seen.extracted, seen.value), (false, None));
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_killed() {
    let deaf = "trap '' TERM; echo started; while :; do sleep 0.05; done";
    let seen = observe(here(), timeout(Definition::script(deaf), 300));
    assert_eq!(seen.outcome, Outcome::TimedOut);
    assert!(seen.duration_ms >= 300);
    assert_eq!(stdout(&seen), b"started\n");
}

#[test]
fn a_program_that_exits_well_when_told_to_end_still_timed_out() {
    let polite = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
    let definition = expecting(timeout(Definition::script(polite), 300), &["exit=0"]);
    let seen = observe(here(), definition);
    assert_eq!(seen.outcome, Outcome::TimedOut);
    assert!(!seen.expectations[0].met);
}

#[test]
fn an_interrupt_kills_the_group_and_is_told() {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let both = Definition::script("sleep 600 & echo $! > pid; echo ready >> pid; sleep 600");
    let probe = Probe::new(timeout(both, 600_000)).unwrap();
    let surroundings = surroundings(folder.path(), &INTERRUPTED);
    let pid = folder.path().join("pid");
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            eventually("it runs", || {
                fs::read_to_string(&pid).is_ok_and(|text| text.contains("ready"))
            });
            INTERRUPTED.store(true, Ordering::Relaxed);
        });
        run(&probe, &surroundings)
    });
    assert_eq!(seen.outcome, Outcome::Interrupted);
    assert_eq!((seen.extracted, seen.value), (false, None));
    assert_is_gone(fs::read_to_string(&pid).unwrap().lines().next().unwrap());

    let again = run(&probe, &surroundings);
    assert_eq!(again.outcome, Outcome::Interrupted);
    assert!(again.outputs.is_none(), "none is started any more");
}

#[test]
fn output_held_open_in_the_background_does_not_hang_it() {
    let seen = script("sleep 600 & echo $!");
    assert_eq!(seen.outcome, Outcome::Exited(0));
    assert!(seen.pipe_held);
    assert_is_gone(seen.value.as_deref().unwrap());
}

#[test]
fn a_background_process_that_holds_nothing_is_killed_too() {
    let seen = script("sleep 600 >/dev/null 2>&1 & echo $!");
    assert_eq!(seen.outcome, Outcome::Exited(0));
    assert!(!seen.pipe_held);
    assert_is_gone(seen.value.as_deref().unwrap());
}

#[test]
fn at_the_timeout_the_whole_group_dies() {
    let both = Definition::script("sleep 600 & echo $!; sleep 600");
    let seen = observe(here(), timeout(both, 500));
    assert_eq!(seen.outcome, Outcome::TimedOut);
    assert_is_gone(std::str::from_utf8(stdout(&seen)).unwrap().trim());
}
