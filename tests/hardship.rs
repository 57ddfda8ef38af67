//! Commands on a system that is short of something, that stops them or turns its clock back: each
//! is recorded and told, or neither, and what comes after works.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;
mod trace;

use handoff_ledger::append::LedgerError;
use handoff_ledger::event::AmbientDeclared;
use handoff_ledger::slice::Question;
use handoff_ledger::types::{Seq, Time};
use machine::{Answer, Machine, Person, head};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trace::{can_trace, traced};

/// How long anything here may take at most.
const HANG: Duration = Duration::from_secs(60);

/// A ledger, its maker and an open session.
fn ledger() -> (Machine, Person, String) {
    let (machine, root) = Machine::with_ledger();
    let session = root.opens("agent");
    (machine, root, session)
}

/// The same command, in a shell that said something first.
fn after(said: &str, plain: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("{said}\nexec \"$0\" \"$@\""))
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(plain.get_current_dir().unwrap())
        .env_clear()
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null());
    shell
}

/// How commands under limits ended.
#[derive(Default, Debug)]
struct Tally {
    recorded: usize,
    refused: usize,
    open: usize,
    /// The system could not load the program, or ended it.
    not_run: usize,
}

impl Tally {
    /// Runs a command under a limit, and holds what it said against what it did.
    fn run(&mut self, machine: &Machine, limited: &mut Command) -> Answer {
        let before = machine.walk();
        let output = limited.output().unwrap();
        let told = format!("{output:?}");
        assert!(!told.contains("panicked"), "{told}");
        let answer = Answer::of(output);
        let events = machine.walk().len() - before.len();
        match answer.exit {
            Some(0) => {
                assert_eq!(events, 1, "{told}");
                self.recorded += 1;
            }
            Some(5) => {
                assert_eq!(events, 0, "{told}");
                self.refused += 1;
            }
            Some(6) => self.open += 1,
            Some(127) | None => {
                assert_eq!(events, 0, "{told}");
                self.not_run += 1;
            }
            other => panic!("exit {other:?}: {told}"),
        }
        answer
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_not_the_end() {
    let (machine, root, session) = ledger();
    let append = root.command(&["--session", &session, "ambient", "--none"]);
    let mut tally = Tally::default();
    // In blocks of 512 bytes: from nothing to more than ledger and journal take.
    for blocks in [0, 1, 8, 16, 32, 33, 48, 64, 80, 96, 128, 256] {
        let answer = tally.run(
            &machine,
            &mut after(&format!("ulimit -f {blocks}"), &append),
        );
        assert!(
            answer.exit.is_some(),
            "ended by a signal at {blocks} blocks"
        );
    }
    eprintln!("limits of file size: {tally:?}");
    assert!(tally.refused > 0 && tally.recorded > 0);
    root.does(&["--session", &session, "ambient", "--none"]);
}

#[test]
fn a_limit_on_open_files_is_an_error_and_blames_no_probe() {
    let (machine, root, session) = ledger();
    let append = root.command(&["--session", &session, "ambient", "--none"]);
    let probe = [
        "--session",
        &session,
        "probe",
        "--expect",
        "value=4",
        "--",
        "cat",
        "answer",
    ];
    let probe = root.command(&probe);
    for (what, command) in [("append", &append), ("probe", &probe)] {
        let mut tally = Tally::default();
        for files in 3..24 {
            tally.run(&machine, &mut after(&format!("ulimit -n {files}"), command));
        }
        eprintln!("limits of open files, {what}: {tally:?}");
        assert!(tally.refused > 0 && tally.recorded > 0);
    }
    root.does(&["verify"]);
}

#[test]
fn a_limit_on_memory_leaves_no_half_event() {
    let (machine, root, session) = ledger();
    let append = root.command(&["--session", &session, "ambient", "--none"]);
    let mut tally = Tally::default();
    for mebibytes in (8..200).step_by(12) {
        let limit = format!("ulimit -v {}", mebibytes * 1024);
        tally.run(&machine, &mut after(&limit, &append));
    }
    eprintln!("limits of memory: {tally:?}");
    assert!(tally.recorded > 0);
    root.does(&["verify"]);
}

#[test]
fn streams_that_are_closed_at_the_start_do_not_become_the_ledger() {
    let (machine, root, session) = ledger();
    let append = root.command(&["--session", &session, "ambient", "--none"]);
    let refused = root.command(&["--session", "99", "ambient", "--none"]);
    let kept = std::fs::read(machine.file()).unwrap();
    let all = [
        "<&-",
        ">&-",
        "2>&-",
        "<&- >&-",
        "<&- 2>&-",
        ">&- 2>&-",
        "<&- >&- 2>&-",
    ];
    for closed in all {
        let before = machine.walk().len();
        let done = after(&format!("exec {closed}"), &append).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{closed}: {done:?}");
        assert_eq!(machine.walk().len(), before + 1, "{closed}");
        let done = after(&format!("exec {closed}"), &refused).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{closed}: {done:?}");
    }
    let now = std::fs::read(machine.file()).unwrap();
    assert_eq!(kept[..16], now[..16]);
    let text = String::from_utf8_lossy(&now).into_owned();
    assert!(!text.contains("handoff.ambient.v1") && !text.contains("handoff.error"));
    root.does(&["verify"]);
}

/// Runs a command that does not wait long for a lock.
fn impatiently(machine: &Machine, root: &Person, arguments: &[&str]) -> Answer {
    let command = Command::new(env!("CARGO_BIN_EXE_handoff"))
        .args(["--json", "--wait", "200ms"])
        .args(arguments)
        .current_dir(&machine.project)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &root.home)
        .stdin(Stdio::null())
        .output();
    Answer::of(command.unwrap())
}

fn signal(pid: u32, name: &str) {
    let arguments = [format!("-{name}"), pid.to_string()];
    let sent = Command::new("kill").args(arguments).status();
    assert!(sent.unwrap().success());
}

fn eventually<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(started.elapsed() < HANG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A writer that was stopped in the midst of its commit. It is killed when this goes.
struct Stopped {
    strace: Child,
    pid: u32,
}

impl Stopped {
    fn at(machine: &Machine, append: &Command, call: &str, nth: usize) -> Stopped {
        let pid_file = machine.project.join("pid");
        let _ = std::fs::remove_file(&pid_file);
        let with_pid = after(&format!("echo $$ > {}", pid_file.display()), append);
        let stop = [
            "-e".to_owned(),
            format!("trace={call}"),
            "-e".to_owned(),
            format!("inject={call}:signal=STOP:when={nth}"),
        ];
        let mut strace = traced(&with_pid, Path::new("/dev/null"), &stop);
        let strace = strace.stdout(Stdio::null()).spawn().unwrap();
        let pid: u32 = eventually("the writer starts", || {
            std::fs::read_to_string(&pid_file).ok()?.trim().parse().ok()
        });
        let stopped = Stopped { strace, pid };
        // A traced process is also held for a moment at each call: what is stopped stays so.
        let mut held = 0;
        eventually("the writer stops", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (_, state) = stat.rsplit_once(") ")?;
            let stops = state.starts_with(['T', 't']);
            held = if stops { held + 1 } else { 0 };
            (held > 80).then_some(())
        });
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.pid, "KILL");
        self.strace.wait().unwrap();
    }
}

#[test]
fn a_stopped_writer_keeps_others_waiting_and_its_end_lets_them_in() {
    if !can_trace("a stopped writer") {
        return;
    }
    let (machine, root, session) = ledger();
    let write = ["--session", session.as_str(), "ambient", "--none"];
    let append = root.command(&write);
    for (call, nth) in [
        ("pwrite64", 2),
        ("pwrite64", 9),
        ("fsync", 1),
        ("fsync", 3),
        ("unlink", 1),
    ] {
        let before = machine.walk();
        let stopped = Stopped::at(&machine, &append, call, nth);
        let turned_away = impatiently(&machine, &root, &write);
        assert_eq!(
            (turned_away.exit, turned_away.error()),
            (Some(5), "busy"),
            "{call} {nth}"
        );
        assert_eq!(turned_away.json["error"]["retryable"], true);
        drop(stopped);
        root.does(&write);
        let after = machine.walk();
        assert!(after.starts_with(&before));
        // Once the journal is gone the commit is made, though nobody was told.
        let made = usize::from(call == "unlink");
        assert_eq!(after.len(), before.len() + 1 + made, "{call} {nth}");
    }
}

/// Whether whoever runs the tests ignores a signal, as nohup does, and so do all that they start.
fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
    mask >> (signal - 1) & 1 == 1
}

#[test]
fn a_signal_in_the_midst_of_an_append_leaves_it_whole_or_not_there() {
    if !can_trace("signals in an append") {
        return;
    }
    let (machine, root, session) = ledger();
    let append = root.command(&["--session", &session, "ambient", "--none"]);
    let mut ended = 0;
    for name in ["INT", "TERM", "HUP"] {
        for (call, nth) in [
            ("pwrite64", 1),
            ("fsync", 2),
            ("pwrite64", 11),
            ("unlink", 1),
            ("write", 1),
        ] {
            let before = machine.walk();
            let send = [
                "-e".to_owned(),
                format!("trace={call}"),
                "-e".to_owned(),
                format!("inject={call}:signal={name}:when={nth}"),
            ];
            let output = traced(&append, Path::new("/dev/null"), &send)
                .output()
                .unwrap();
            let told = output.stdout.ends_with(b"\n");
            ended += usize::from(!output.status.success());
            root.does(&["--session", &session, "ambient", "--none"]);
            let after = machine.walk();
            let events = after.len() - before.len();
            assert!(after.starts_with(&before));
            assert!(
                events == 2 || (events == 1 && !told),
                "{name} at {call} {nth}: {events}"
            );
        }
    }
    // Not at the last call, perhaps: the end of the process may come before the signal.
    let least = 3 * [1, 2, 15]
        .iter()
        .filter(|signal| !is_ignored(**signal))
        .count();
    assert!(ended >= least, "only {ended} were ended by the signal");
}

#[test]
fn a_slow_reader_makes_a_writer_busy_and_nothing_worse() {
    let (machine, root, session) = ledger();
    for _ in 0..3 {
        root.does(&["--session", &session, "ambient", "--none"]);
    }
    let before = machine.walk();
    let reader = Connection::open(machine.file()).unwrap();
    let mut rows = reader.prepare("SELECT seq FROM event").unwrap();
    let mut reading = rows.query([]).unwrap();
    reading.next().unwrap().unwrap();
    let busy = impatiently(
        &machine,
        &root,
        &["--session", &session, "ambient", "--none"],
    );
    assert_eq!((busy.exit, busy.error()), (Some(5), "busy"), "{busy:?}");
    drop(reading);
    drop(rows);
    assert_eq!(machine.walk(), before);
    root.does(&["--session", &session, "ambient", "--none"]);
}

#[test]
fn a_clock_that_goes_back_changes_no_order_and_is_told() {
    let (machine, root, session) = ledger();
    let mut ledger = root.ledger(&machine.file());
    let session: Seq = session.parse().unwrap();
    let question = Question {
        session: Some(session),
        ..Question::default()
    };
    let mut written = Vec::new();
    for milliseconds in [
        1_790_000_000_000,
        1_789_996_400_000,
        0,
        4_102_444_800_000,
        1,
    ] {
        let body = AmbientDeclared {
            entries: Vec::new(),
        };
        let clock = || Time::from_ms(milliseconds);
        let appended = ledger.append::<_, LedgerError>(&root.key(), clock, &question, |pen| {
            pen.write(session, body)
        });
        written.push(appended.unwrap().outcome);
    }
    drop(ledger);
    assert!(written.is_sorted());
    let verified = root.does(&["verify"]);
    let back: Vec<u64> = (verified["clock_went_back"].as_array().unwrap().iter())
        .map(|seq| seq.as_u64().unwrap())
        .collect();
    for seq in [written[1], written[2], written[4]] {
        assert!(back.contains(&seq.0), "{seq} is not in {back:?}");
    }
    root.does(&["--session", &session.to_string(), "ambient", "--none"]);
}

/// A ledger whose session's probe does something to it, and what the command answered.
fn probed(script: &str) -> (Machine, Person, String, Answer) {
    let (machine, root, session) = ledger();
    root.does(&["--session", &session, "ambient", "--none"]);
    let answer = root.run(&["--session", &session, "probe", "--shell", "--", script]);
    (machine, root, session, answer)
}

#[test]
fn a_probe_may_use_the_ledger_it_is_run_for() {
    let program = env!("CARGO_BIN_EXE_handoff");
    let script = format!("'{program}' --session 1 ambient --none && '{program}' verify");
    let (machine, root, session, answer) = probed(&script);
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    let (seq, _) = head(&answer.json);
    assert_eq!(usize::try_from(seq.0).unwrap() + 1, machine.walk().len());
    root.does(&["--session", &session, "ambient", "--none"]);
}

#[test]
fn a_ledger_that_vanishes_during_a_probe_is_no_place_to_record_in() {
    for script in [
        "rm -r .handoff",
        "rm .handoff/ledger.db",
        "mv .handoff/ledger.db aside.db",
        "cp .handoff/ledger.db copy.db; mv copy.db .handoff/ledger.db",
    ] {
        let (machine, _, _, answer) = probed(script);
        assert_eq!(answer.exit, Some(5), "{script}: {answer:?}");
        let left: Vec<PathBuf> = [machine.file(), machine.project.join("aside.db")]
            .into_iter()
            .filter(|path| path.exists())
            .collect();
        for path in left {
            let copy = Connection::open(path).unwrap();
            let count = copy.query_row("SELECT count(*) FROM event", [], |row| row.get(0));
            assert_eq!(count, Ok(3_i64), "{script}: nothing was recorded");
        }
    }
}

#[test]
fn a_ledger_that_a_probe_rolls_back_is_not_written_to() {
    let (machine, root, session) = ledger();
    let older = machine.project.join("older.db");
    std::fs::copy(machine.file(), &older).unwrap();
    root.does(&["--session", &session, "ambient", "--none"]);
    let script = "cat older.db > .handoff/ledger.db";
    let answer = root.run(&["--session", &session, "probe", "--shell", "--", script]);
    assert_eq!(
        (answer.exit, answer.error()),
        (Some(4), "rollback"),
        "{answer:?}"
    );
    assert_eq!(
        std::fs::read(&older).unwrap(),
        std::fs::read(machine.file()).unwrap()
    );
}
