//! Processes that are killed where they stand, and views that are damaged: what was acknowledged is
//! there, and the next command works without a hand being lent.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;
mod trace;

use handoff_ledger::types::Seq;
use machine::{Answer, Machine, Person, head};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trace::{can_trace, traced};

/// How many kills, unless `HANDOFF_KILLS` says otherwise.
const KILLS: u64 = 60;
/// How long a command may take at most.
const HANG: Duration = Duration::from_secs(120);

/// What was acknowledged: leaf by seq.
type Acknowledged = BTreeMap<Seq, String>;

fn acknowledge(acknowledged: &mut Acknowledged, answer: &Answer) {
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    let (seq, leaf) = head(&answer.json);
    acknowledged.insert(seq, leaf);
}

fn assert_all_there(machine: &Machine, acknowledged: &Acknowledged) {
    let leaves = machine.walk();
    for (seq, leaf) in acknowledged {
        let there = leaves.get(usize::try_from(seq.0).unwrap());
        assert_eq!(there.map(ToString::to_string).as_ref(), Some(leaf), "{seq}");
    }
}

/// The moment of a kill.
#[derive(Clone, Copy)]
enum Moment {
    /// So long after the start.
    After(Duration),
    /// So long after the journal was seen: between the first write and the end of the commit.
    Journal(Duration),
}

/// Runs a command and kills it at a moment; its answer if it came to its end before.
fn kill(machine: &Machine, mut command: Command, moment: Moment) -> Option<Answer> {
    let journal = machine.journal();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let mut at = match moment {
        Moment::After(delay) => Some(started + delay),
        Moment::Journal(_) => None,
    };
    loop {
        if let (None, Moment::Journal(delay)) = (at, moment)
            && journal.exists()
        {
            at = Some(Instant::now() + delay);
        }
        if at.is_some_and(|at| Instant::now() >= at) {
            child.kill().unwrap();
            break;
        }
        if child.try_wait().unwrap().is_some() {
            break;
        }
        assert!(started.elapsed() < HANG, "the command hangs");
        std::hint::spin_loop();
    }
    let output = child.wait_with_output().unwrap();
    let killed = output.status.signal() == Some(9);
    let spoke = output.stdout.ends_with(b"\n");
    // One that was killed after it had printed its answer acknowledged the event all the same.
    (!killed || spoke).then(|| Answer {
        exit: Some(0),
        ..Answer::of(output)
    })
}

#[test]
fn what_was_acknowledged_outlives_any_kill_and_the_next_command_works() {
    let kills = std::env::var("HANDOFF_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let (machine, root) = Machine::with_ledger();
    let session = root.opens("agent");
    let write = [
        "--session",
        &session,
        "ambient",
        "--allow",
        "load=it varies",
    ];
    let mut acknowledged = Acknowledged::new();
    let started = Instant::now();
    acknowledge(&mut acknowledged, &root.run(&write));
    let usual = started.elapsed();

    let (mut during_commit, mut before_or_after, mut not_killed, mut recorded) = (0, 0, 0, 0);
    for round in 0..kills {
        let before = machine.store_head();
        // Three in four are aimed at the commit; the others fall anywhere in the command.
        let step = u32::try_from(round / 4 % 16).unwrap();
        let moment = match round % 4 {
            0 => Moment::After(usual * step / 16),
            _ => Moment::Journal(Duration::from_micros(150) * step),
        };
        match kill(&machine, root.command(&write), moment) {
            Some(answer) => {
                not_killed += 1;
                acknowledge(&mut acknowledged, &answer);
            }
            // SQLite removes the journal to commit: what lies there was cut off in between.
            None if machine.journal().exists() => during_commit += 1,
            None => before_or_after += 1,
        }
        acknowledge(&mut acknowledged, &root.run(&write));
        assert!(!machine.journal().exists(), "it was rolled back");
        recorded += machine.store_head() - before - 1;
        if round % 20 == 19 {
            assert_all_there(&machine, &acknowledged);
        }
    }
    assert_all_there(&machine, &acknowledged);
    eprintln!(
        "{kills} kills: {during_commit} between the first write and the end of the commit, \
         {before_or_after} before or after, {not_killed} too late; {recorded} of the killed \
         commands had recorded their event; {} acknowledged, none lost",
        acknowledged.len()
    );
    assert!(during_commit > 0, "no kill met a commit");
    assert!(before_or_after > 0, "no kill met anything else");
}

impl Machine {
    fn store_head(&self) -> u64 {
        use handoff_ledger::store::Read;
        self.store().head().unwrap().unwrap().0.0
    }
}

/// The system calls by which files change.
const CHANGING: [&str; 6] = [
    "pwrite64",
    "fsync",
    "fdatasync",
    "unlink",
    "ftruncate",
    "write",
];

#[test]
fn a_kill_at_each_system_call_that_changes_a_file_loses_nothing() {
    if !can_trace("a kill at each system call") {
        return;
    }
    let (machine, root) = Machine::with_ledger();
    let session = root.opens("agent");
    let write = ["--session", &session, "ambient", "--none"];
    let mut acknowledged = Acknowledged::new();
    let (mut kills, mut during_commit) = (0, 0);
    for call in CHANGING {
        for nth in 1.. {
            let kill = [
                "-e".to_owned(),
                format!("trace={call}"),
                "-e".to_owned(),
                format!("inject={call}:signal=KILL:when={nth}"),
            ];
            let output = traced(&root.command(&write), Path::new("/dev/null"), &kill)
                .output()
                .unwrap();
            let (killed, journal) = (!output.status.success(), machine.journal().exists());
            if output.stdout.ends_with(b"\n") {
                let (seq, leaf) = head(&Answer::of(output).json);
                acknowledged.insert(seq, leaf);
            }
            if !killed {
                break;
            }
            kills += 1;
            during_commit += u64::from(journal);
            acknowledge(&mut acknowledged, &root.run(&write));
        }
        assert_all_there(&machine, &acknowledged);
    }
    eprintln!(
        "{kills} kills, one at each call: {during_commit} between the first write and the end of \
         the commit; {} acknowledged, none lost",
        acknowledged.len()
    );
    assert!(during_commit > 0, "no kill met a commit");
}

/// A ledger with some events, its root and the session that is open.
fn some_ledger() -> (Machine, Person, String) {
    let (machine, root) = Machine::with_ledger();
    let session = root.opens("agent");
    for _ in 0..3 {
        root.does(&["--session", &session, "ambient", "--none"]);
    }
    (machine, root, session)
}

/// Damages a view, and demands that the ledger goes on within `tries` commands and its view is whole.
fn heals(tries: usize, damage: impl FnOnce(&Person, &Path)) {
    let (machine, root, session) = some_ledger();
    let view = root.view(&machine.id());
    assert!(view.exists());
    damage(&root, &view);
    let write = ["--session", session.as_str(), "ambient", "--none"];
    let mut answers: Vec<Answer> = Vec::new();
    while answers.len() < tries && answers.last().is_none_or(|last| last.exit != Some(0)) {
        let answer = root.run(&write);
        if answer.exit != Some(0) {
            assert_eq!(answer.error(), "index_unusable", "{answer:?}");
            assert_eq!(answer.json["error"]["retryable"], true, "{answer:?}");
        }
        answers.push(answer);
    }
    let last = answers.last().unwrap();
    assert_eq!(last.exit, Some(0), "{answers:?}");
    let leaves = machine.walk();
    let ledger = root.ledger(&machine.file());
    let (seq, leaf) = head(&last.json);
    assert_eq!(ledger.head().unwrap().seq, seq);
    assert_eq!(leaves.last().unwrap().to_string(), leaf);
    let state = ledger.fold(seq).unwrap();
    assert!(state.sessions().values().any(|session| session.is_open()));
}

#[test]
fn a_view_that_is_gone_is_built_anew() {
    heals(1, |_, view| std::fs::remove_file(view).unwrap());
}

#[test]
fn a_view_that_is_truncated_is_built_anew() {
    for keep in [0, 1, 100, 4096, 8192] {
        heals(1, |_, view| {
            let file = std::fs::OpenOptions::new().write(true).open(view).unwrap();
            assert!(file.metadata().unwrap().len() > keep);
            file.set_len(keep).unwrap();
        });
    }
}

#[test]
fn a_view_of_garbage_is_built_anew() {
    heals(1, |_, view| {
        std::fs::write(view, "garbage ".repeat(4096)).unwrap()
    });
}

#[test]
fn a_view_with_garbage_in_its_pages_is_built_anew() {
    // Page by page; what is met only in the midst of a command is healed for the next.
    let (machine, root, _) = some_ledger();
    let pages = std::fs::metadata(root.view(&machine.id())).unwrap().len() / 4096;
    for page in 1..pages {
        heals(2, |_, view| {
            let mut bytes = std::fs::read(view).unwrap();
            let at = usize::try_from(page * 4096).unwrap();
            bytes[at..at + 4096].fill(0xa5);
            std::fs::write(view, bytes).unwrap();
        });
    }
}

#[test]
fn a_journal_of_garbage_beside_a_view_does_no_harm() {
    heals(2, |_, view| {
        let journal = format!("{}-journal", view.display());
        std::fs::write(journal, "garbage ".repeat(4096)).unwrap();
    });
}

#[test]
fn an_older_copy_of_a_view_catches_up() {
    heals(1, |root, view| {
        let older = std::fs::read(view).unwrap();
        root.opens("another");
        std::fs::write(view, older).unwrap();
    });
}

#[test]
fn a_view_of_another_ledger_is_built_anew() {
    heals(1, |_, view| {
        let (other, other_root, _) = some_ledger();
        std::fs::copy(other_root.view(&other.id()), view).unwrap();
    });
}

#[test]
fn a_folder_in_place_of_a_view_is_told_and_no_harm_is_done() {
    let (machine, root, session) = some_ledger();
    let view = root.view(&machine.id());
    std::fs::remove_file(&view).unwrap();
    std::fs::create_dir(&view).unwrap();
    let answer = root.run(&["--session", &session, "ambient", "--none"]);
    assert_eq!(answer.exit, Some(5), "{answer:?}");
    std::fs::remove_dir(&view).unwrap();
    root.does(&["--session", &session, "ambient", "--none"]);
}
