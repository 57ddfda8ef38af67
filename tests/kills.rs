//! Writers that are killed where they stand, some thousand times, and so are the processes that
//! recover from it: every acknowledged event is there, and no event is there by half.
//!
//! `HANDOFF_KILLS=N` kills N times; see the README.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;
mod trace;

use handoff_ledger::append::LedgerError;
use handoff_ledger::event::{AmbientDeclared, AmbientEntry, SessionOpened};
use handoff_ledger::home::folders::Folders;
use handoff_ledger::home::keys;
use handoff_ledger::home::view::{self, OwnLedger};
use handoff_ledger::slice::Question;
use handoff_ledger::store::Read as _;
use handoff_ledger::types::{Ascending, Digest, Seq, Time};
use machine::{Machine, PATIENCE, Person, head};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trace::{skipped, traced};

/// How many kills, unless `HANDOFF_KILLS` says otherwise.
const KILLS: usize = 40;
/// How many kills more a run may take to meet a recovery.
const MORE_KILLS: usize = 1_000;
/// A writer is killed after so many acknowledgements at least, and so many at most.
const TOLD_MIN: usize = 3;
const TOLD_MAX: usize = 11;
/// After how many kills the whole chain is verified from nothing, and by the program.
const WHOLE_EVERY: usize = 250;
/// The second of two events of one transaction has this in it.
const SECOND: &str = "the second of two";

const PART: &str = "HANDOFF_TEST_KILLS_PART";
const FILE: &str = "HANDOFF_TEST_KILLS_FILE";

/// When a writer acknowledges.
#[derive(Clone, Copy)]
enum Writer {
    /// Once the events are committed, as the product does.
    Honest,
    /// Before: the control.
    Hasty,
}

/// Chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap() % bound
    }

    fn part_of(&mut self, whole: Duration) -> Duration {
        whole * u32::try_from(self.below(1000)).unwrap() / 1000
    }
}

fn say(ledger: Seq, leaf: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{ledger} {leaf}").unwrap();
    stdout.flush().unwrap();
}

#[test]
fn plays_a_writer() {
    let (Ok(part), Some(file)) = (std::env::var(PART), std::env::var_os(FILE)) else {
        return;
    };
    let folders = Folders::of_process();
    let signer = keys::read(&keys::default_path(&folders.keys().unwrap())).unwrap();
    let mut ledger: OwnLedger = view::open(Path::new(&file), &folders, PATIENCE).unwrap();
    let clock = || Time::from_ms(1_790_000_000_000);
    let opened = SessionOpened {
        agent: "writer".parse().unwrap(),
        inherits: Ascending::default(),
        purpose: None,
        scope: Digest([2; 32]),
    };
    let session = ledger
        .append::<_, LedgerError>(&signer, clock, &Question::default(), |pen| {
            pen.write(Seq::ZERO, opened)
        })
        .unwrap()
        .outcome;
    let question = Question {
        session: Some(session),
        ..Question::default()
    };
    for _ in 0..1000 {
        let events = ["the first of two", SECOND].map(|reason| AmbientDeclared {
            entries: vec![AmbientEntry {
                name: "load".parse().unwrap(),
                observed: Vec::new(),
                reason: reason.parse().unwrap(),
            }],
        });
        let appended = ledger.append::<_, LedgerError>(&signer, clock, &question, |pen| {
            let mut last = Seq::ZERO;
            for event in events {
                last = pen.write(session, event)?;
            }
            if part == "hasty" {
                say(last, "unknown");
            }
            Ok(())
        });
        let head = appended.unwrap().head;
        if part == "honest" {
            say(head.seq, head.leaf);
        }
    }
}

/// The machine that is tortured, an auditor who looks on, and what was acknowledged.
struct Torture {
    machine: Machine,
    root: Person,
    auditor: Person,
    /// Acknowledged and not yet looked for.
    told: BTreeMap<Seq, String>,
    acknowledged: usize,
    lost: Vec<Seq>,
    halved: usize,
    kills: usize,
    /// Kills of a writer that left a journal to recover from.
    during_commit: usize,
    /// Kills of a process that was recovering from one, and left it there.
    during_recovery: usize,
    chance: Chance,
}

impl Torture {
    fn new() -> Torture {
        let (machine, root) = Machine::with_ledger();
        let auditor = machine.person("auditor");
        Torture {
            machine,
            root,
            auditor,
            told: BTreeMap::new(),
            acknowledged: 0,
            lost: Vec::new(),
            halved: 0,
            kills: 0,
            during_commit: 0,
            during_recovery: 0,
            chance: Chance(0x9e37_79b9_7f4a_7c15),
        }
    }

    fn is_hot(&self) -> bool {
        self.machine.journal().exists()
    }

    fn writer(&self, writer: Writer) -> Child {
        let part = match writer {
            Writer::Honest => "honest",
            Writer::Hasty => "hasty",
        };
        Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "plays_a_writer",
                "--nocapture",
                "--test-threads=1",
            ])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.root.home)
            .env(PART, part)
            .env(FILE, self.machine.file())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }

    /// Lets a writer work until it acknowledged some events, kills it in the midst of the next, and
    /// notes all that it had acknowledged.
    fn kill_a_writer(&mut self, writer: Writer) {
        let mut child = self.writer(writer);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard: Vec<(Seq, String)> = Vec::new();
        let wanted = TOLD_MIN + self.chance.below(TOLD_MAX - TOLD_MIN);
        let mut usual = Duration::ZERO;
        let mut since = Instant::now();
        while heard.len() < wanted {
            let line = lines.next().expect("the writer ended by itself").unwrap();
            // The test harness of the writer talks too.
            if let Some(acknowledgement) = parse(&line) {
                heard.push(acknowledgement);
                usual = since.elapsed();
                since = Instant::now();
            }
        }
        let until = Instant::now() + self.chance.part_of(usual);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        // What is still in the pipe was said before the kill.
        heard.extend(lines.map_while(Result::ok).filter_map(|line| parse(&line)));
        child.wait().unwrap();
        self.kills += 1;
        self.during_commit += usize::from(self.is_hot());
        self.acknowledged += heard.len();
        self.told.extend(heard);
    }

    /// Kills the program while it recovers, at one of the calls by which it does so.
    fn kill_a_recovery(&mut self) {
        const CALLS: [(&str, usize); 3] = [("pwrite64", 3), ("fsync", 2), ("unlink", 1)];
        let (call, many) = CALLS[self.chance.below(CALLS.len())];
        let nth = 1 + self.chance.below(many);
        let options = [
            "-e".to_owned(),
            format!("trace={call}"),
            "-e".to_owned(),
            format!("inject={call}:signal=KILL:when={nth}"),
        ];
        let recovering = self.root.command(&["head"]);
        let ended = traced(&recovering, Path::new("/dev/null"), &options)
            .output()
            .unwrap();
        if !ended.status.success() {
            self.kills += 1;
            self.during_recovery += usize::from(self.is_hot());
        }
    }

    /// Looks for what was acknowledged since the last look, verifying what is new.
    fn look(&mut self) {
        let ledger = self.auditor.ledger(&self.machine.file());
        for (seq, leaf) in std::mem::take(&mut self.told) {
            let found = ledger.store().get(seq).unwrap();
            let same = |found: String| found == leaf || leaf == "unknown";
            if !found.is_some_and(|record| same(record.leaf().to_string())) {
                self.lost.push(seq);
            }
        }
        let head = ledger.head().unwrap();
        let last = ledger.store().get(head.seq).unwrap().unwrap();
        let text = String::from_utf8_lossy(&last.0).into_owned();
        let whole = text.contains(SECOND) || !text.contains("ambient.declared");
        self.halved += usize::from(!whole);
    }

    /// Verifies everything from nothing, here and by the program.
    fn look_at_all(&self) {
        let leaves = self.machine.walk();
        let verified = self.root.does(&["verify"]);
        let (seq, leaf) = head(&verified);
        assert_eq!(usize::try_from(seq.0).unwrap() + 1, leaves.len());
        assert_eq!(leaf, leaves.last().unwrap().to_string());
    }

    fn say(&self, what: &str) {
        eprintln!(
            "{what}: {} kills ({} between the first write and the end of a commit, {} during \
             recovery), {} acknowledged appends, {} lost, {} by half, 0 unverifiable",
            self.kills,
            self.during_commit,
            self.during_recovery,
            self.acknowledged,
            self.lost.len(),
            self.halved
        );
    }
}

/// A line of a writer, if it is one of its acknowledgements.
fn parse(line: &str) -> Option<(Seq, String)> {
    let (seq, leaf) = line.split_once(' ')?;
    let leaf_like = leaf == "unknown" || leaf.len() == 64;
    leaf_like.then_some(())?;
    // libtest may print before the first one on the same line.
    let seq = seq.rsplit(' ').next()?.parse().ok()?;
    Some((Seq(seq), leaf.to_owned()))
}

#[test]
fn of_what_was_acknowledged_no_kill_takes_anything_also_not_during_recovery() {
    let kills = std::env::var("HANDOFF_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut torture = Torture::new();
    let strace = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    let traces = strace.is_ok_and(|status| status.success());
    if !traces {
        skipped("kills during recovery", "strace");
    }
    let mut wholly_seen = 0;
    // A hot journal is met by chance: a short run goes on until one was.
    let met =
        |torture: &Torture| torture.during_commit > 0 && (!traces || torture.during_recovery > 0);
    while torture.kills < kills || (!met(&torture) && torture.kills < kills + MORE_KILLS) {
        torture.kill_a_writer(Writer::Honest);
        // Several in a row may die of one journal.
        while traces && torture.is_hot() && torture.chance.below(2) == 0 {
            torture.kill_a_recovery();
        }
        // Else the next writer is the one to recover.
        if torture.chance.below(2) == 0 {
            torture.look();
        }
        if torture.kills / WHOLE_EVERY > wholly_seen {
            wholly_seen = torture.kills / WHOLE_EVERY;
            torture.look_at_all();
        }
    }
    torture.look();
    torture.look_at_all();
    torture.say("kill -9");
    assert_eq!(
        (torture.lost.len(), torture.halved),
        (0, 0),
        "{:?}",
        torture.lost
    );
    assert!(torture.acknowledged >= TOLD_MIN * (torture.kills - torture.during_recovery) / 2);
    assert!(torture.during_commit > 0, "no kill met a commit");
    assert!(
        !traces || torture.during_recovery > 0,
        "no kill met a recovery"
    );
}

#[test]
fn a_writer_that_acknowledges_before_it_commits_is_caught() {
    let mut torture = Torture::new();
    for _ in 0..KILLS / 2 {
        torture.kill_a_writer(Writer::Hasty);
        torture.look();
    }
    torture.say("control: a writer that acknowledges too soon");
    assert!(!torture.lost.is_empty(), "the harness sees no loss");
}
