//! Every call by which a command changes files fails once and for ever: nothing is acknowledged
//! that is not recorded, nothing recorded is denied, and a retry records once.
//!
//! `HANDOFF_FAULTS=long` walks all tasks with more errors; see the README.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;
mod trace;

use handoff_ledger::store::{Read, Record};
use handoff_ledger::types::Seq;
use machine::{Machine, OS_AXIS, Person};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use trace::{Failing, can_trace, failing, traced};

/// The faults that are tried at each call, in the short form and in the long one.
const FAULTS: [(&str, Failing); 2] = [("EIO", Failing::Once), ("ENOSPC", Failing::Forever)];
const MORE_FAULTS: [(&str, Failing); 6] = [
    ("EIO", Failing::Once),
    ("EIO", Failing::Forever),
    ("ENOSPC", Failing::Once),
    ("ENOSPC", Failing::Forever),
    ("EDQUOT", Failing::Once),
    ("EROFS", Failing::Forever),
];

/// More calls of each kind of sync than a command makes.
const MOST_SYNCS: usize = 9;

fn is_long() -> bool {
    std::env::var("HANDOFF_FAULTS").is_ok_and(|form| form == "long")
}

fn faults() -> &'static [(&'static str, Failing)] {
    if is_long() { &MORE_FAULTS } else { &FAULTS }
}

/// Something to be recorded once, whatever happens.
trait Task {
    /// Gets ready for one more case.
    fn prepare(&mut self);
    /// The command that records it.
    fn command(&self) -> Command;
    /// How often it is recorded.
    fn recorded(&self) -> usize;
    /// Whether everything from before is as it was.
    fn is_intact(&self) -> bool;
    /// What strace is told beside the fault.
    fn options(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What is wrong with how a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    /// Told that it is recorded, and it is not.
    FalseAcknowledgement,
    /// Told that it is not recorded, and it is: a retry records it twice.
    Duplicate,
    /// An exit other than 0, 5 and 6.
    Exit,
    /// Not a word on either stream.
    Silence,
    /// A retry on a system that works again fails.
    Stuck,
    /// What was recorded before is gone or changed.
    Damage,
}

/// What came of a case that went right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    /// It was recorded in spite of the fault.
    Recorded,
    /// It was not; the retry did.
    Refused,
    /// It was left open, and had been recorded.
    OpenAndRecorded,
    /// It was left open, and had not; the retry did.
    OpenAndNot,
}

/// One case: the command fails as `options` say, is judged, and is tried again.
fn judge(task: &dyn Task, options: &[String], can_speak: bool) -> Result<Ended, (Wrong, String)> {
    let options = [options, &task.options()].concat();
    let output = traced(&task.command(), Path::new("/dev/null"), &options)
        .output()
        .unwrap();
    let told = format!(
        "exit {:?}: {}{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let wrong = |wrong: Wrong| (wrong, told.clone());
    let retry = |ended: Ended| match task.command().output().unwrap().status.success() {
        true if task.recorded() == 1 => Ok(ended),
        true => Err(wrong(Wrong::Duplicate)),
        false => Err(wrong(Wrong::Stuck)),
    };
    let ended = match output.status.code() {
        Some(0) if task.recorded() == 1 => Ended::Recorded,
        Some(0) => return Err(wrong(Wrong::FalseAcknowledgement)),
        Some(5 | 6) if can_speak && !speaks(&output) => return Err(wrong(Wrong::Silence)),
        // Told that nothing is recorded, a caller tries again without looking.
        Some(5) => retry(Ended::Refused)?,
        Some(6) => match task.recorded() {
            1 => Ended::OpenAndRecorded,
            _ => retry(Ended::OpenAndNot)?,
        },
        _ => return Err(wrong(Wrong::Exit)),
    };
    match task.is_intact() {
        true => Ok(ended),
        false => Err(wrong(Wrong::Damage)),
    }
}

fn speaks(output: &Output) -> bool {
    let document = serde_json::from_slice::<serde_json::Value>(&output.stdout);
    let in_document = document.is_ok_and(|json| json["error"]["message"].is_string());
    in_document || output.stderr.starts_with(b"error: ")
}

/// The cases of a task, counted by how they ended, and the first of each kind that went wrong.
#[derive(Default)]
struct Tally {
    cases: usize,
    ended: BTreeMap<Ended, usize>,
    wrong: BTreeMap<Wrong, Vec<String>>,
}

impl Tally {
    fn walk(&mut self, task: &mut dyn Task, faults: &[(&str, Failing)]) {
        task.prepare();
        let calls = trace::calls(&task.command(), &task.options());
        assert!(
            calls.iter().any(|(call, _)| *call == "pwrite64"),
            "{calls:?}"
        );
        for ((call, nth), (error, how)) in calls
            .iter()
            .flat_map(|call| faults.iter().map(move |fault| (call, fault)))
        {
            task.prepare();
            let can_speak = !(*call == "write" && *how == Failing::Forever);
            self.cases += 1;
            match judge(task, &failing(call, *nth, error, *how), can_speak) {
                Ok(ended) => *self.ended.entry(ended).or_default() += 1,
                Err((wrong, told)) => {
                    let case = format!("{call} {nth} {error} {how:?}: {told}");
                    self.wrong.entry(wrong).or_default().push(case);
                }
            }
        }
    }

    fn say(&self, task: &str) {
        let of = |ended| self.ended.get(&ended).copied().unwrap_or_default();
        let wrong = |kind| self.wrong.get(&kind).map_or(0, Vec::len);
        eprintln!(
            "{task}: {} faults: {} recorded all the same, {} refused, {} left open ({} of them \
             recorded); {} false acknowledgements, {} duplicates, {} otherwise wrong",
            self.cases,
            of(Ended::Recorded),
            of(Ended::Refused),
            of(Ended::OpenAndRecorded) + of(Ended::OpenAndNot),
            of(Ended::OpenAndRecorded),
            wrong(Wrong::FalseAcknowledgement),
            wrong(Wrong::Duplicate),
            self.wrong.values().map(Vec::len).sum::<usize>()
                - wrong(Wrong::FalseAcknowledgement)
                - wrong(Wrong::Duplicate),
        );
    }
}

/// A ledger with one session, and what its chain was before the case.
struct Project {
    machine: Machine,
    root: Person,
    session: String,
    before: Vec<Record>,
    case: usize,
}

impl Project {
    fn new() -> Project {
        let (machine, root) = Machine::with_ledger();
        let session = root.opens("agent");
        let before = Vec::new();
        let case = 0;
        Project {
            machine,
            root,
            session,
            before,
            case,
        }
    }

    fn records(&self) -> Vec<Record> {
        let rows = self.machine.store().scan(Seq::ZERO, usize::MAX).unwrap();
        rows.into_iter().map(|(_, record)| record).collect()
    }

    /// How many records hold all of these texts.
    fn records_with(&self, texts: &[&str]) -> usize {
        let holds = |record: &Record| {
            let text = String::from_utf8_lossy(&record.0);
            texts.iter().all(|it| text.contains(it))
        };
        self.records().iter().filter(|it| holds(it)).count()
    }

    fn next_case(&mut self) {
        self.case += 1;
        self.before = self.records();
    }

    fn is_intact(&self) -> bool {
        self.records().starts_with(&self.before)
    }
}

/// One event in one transaction.
struct Append(Project);

impl Append {
    fn reason(&self) -> String {
        format!("this is case {}.", self.0.case)
    }
}

impl Task for Append {
    fn prepare(&mut self) {
        self.0.next_case();
    }

    fn command(&self) -> Command {
        let entry = format!("load={}", self.reason());
        let session = ["--session", &self.0.session];
        let arguments = [&session[..], &["ambient", "--allow", &entry]].concat();
        self.0.root.command(&arguments)
    }

    fn recorded(&self) -> usize {
        self.0.records_with(&[&self.reason()])
    }

    fn is_intact(&self) -> bool {
        self.0.is_intact()
    }
}

/// A seal, of a session of its own.
struct Seal(Project);

impl Task for Seal {
    fn prepare(&mut self) {
        self.0.session = self.0.root.opens("agent");
        let in_session = ["--session", &self.0.session];
        let axis = OS_AXIS;
        self.0.root.does(&[&in_session[..], &axis].concat());
        self.0
            .root
            .does(&[&in_session[..], &["ambient", "--none"]].concat());
        self.0.next_case();
    }

    fn command(&self) -> Command {
        self.0.root.command(&["--session", &self.0.session, "seal"])
    }

    fn recorded(&self) -> usize {
        let of_session = format!("\"session\":{},", self.0.session);
        self.0.records_with(&["\"session.sealed\"", &of_session])
    }

    fn is_intact(&self) -> bool {
        self.0.is_intact()
    }
}

/// A promotion, whose probe is committed to before it runs: two transactions.
struct Promote(Project);

impl Promote {
    fn id(&self) -> String {
        format!("case-{}.", self.0.case)
    }
}

impl Task for Promote {
    fn prepare(&mut self) {
        self.0.next_case();
        let (id, statement) = (self.id(), format!("this is case {}", self.0.case));
        self.0.root.does(&[
            "--session",
            &self.0.session,
            "flag",
            &id,
            &statement,
            "--because",
            "it was so before",
            "--environment-independent",
            "arithmetic",
            "--expect",
            "value=4",
            "--",
            "cat",
            "answer",
        ]);
    }

    fn command(&self) -> Command {
        let independent = ["--environment-independent", "arithmetic"];
        let session = ["--session", &self.0.session, "promote"];
        let id = self.id();
        let arguments = [&session[..], &[&id], &independent].concat();
        self.0.root.command(&arguments)
    }

    fn recorded(&self) -> usize {
        let claim = format!("\"claim\":\"{}\"", self.id());
        self.0.records_with(&["\"claim.promoted\"", &claim])
    }

    fn is_intact(&self) -> bool {
        self.0.is_intact()
    }
}

/// A new ledger, each in a place and of a home of its own.
struct Init {
    machine: Machine,
    person: Person,
}

impl Task for Init {
    fn prepare(&mut self) {
        self.machine = Machine::new();
        self.person = self.machine.person("root");
    }

    fn command(&self) -> Command {
        self.person.command(&["init"])
    }

    fn recorded(&self) -> usize {
        usize::from(self.machine.file().exists())
    }

    /// What init leaves can be worked with.
    fn is_intact(&self) -> bool {
        let session = self.person.run(&["session", "open", "--agent", "agent"]);
        session.exit == Some(0) && self.machine.walk().len() == 2
    }
}

fn walk(name: &str, task: &mut dyn Task) {
    if !can_trace(name) {
        return;
    }
    let mut tally = Tally::default();
    tally.walk(task, faults());
    tally.say(name);
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert!(
        tally.ended.contains_key(&Ended::Refused),
        "no fault was felt"
    );
}

/// Whether a log of strace shows that the ledger's folder was synced after its journal went.
fn folder_was_synced(log: &str) -> bool {
    let mut after = log
        .rsplit("/.handoff/ledger.db-journal\"")
        .next()
        .unwrap()
        .lines();
    after
        .any(|line| line.contains("sync(") && line.contains("/.handoff>)") && line.ends_with("= 0"))
}

#[test]
fn nothing_is_acknowledged_that_a_power_cut_may_take_with_its_folder() {
    if !can_trace("nothing_is_acknowledged_that_a_power_cut_may_take_with_its_folder") {
        return;
    }
    let mut task = Append(Project::new());
    let log = task.0.machine.project.join("strace.log");
    let mut open = 0;
    for nth in 1..=MOST_SYNCS {
        task.prepare();
        let inject = |call: &str| format!("inject={call}:error=EIO:when={nth}+");
        let options: Vec<String> = [
            "-y",
            "-e",
            "trace=fsync,fdatasync,unlink",
            "-e",
            &inject("fsync"),
            "-e",
            &inject("fdatasync"),
        ]
        .map(str::to_owned)
        .to_vec();
        let ended = traced(&task.command(), &log, &options).output().unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        let was_synced = folder_was_synced(&text);
        match ended.status.code() {
            Some(0) => assert!(was_synced, "from sync {nth} on: {text}"),
            Some(6) => open += 1,
            other => assert_eq!(other, Some(5), "from sync {nth} on: {ended:?}"),
        }
    }
    assert!(
        open > 0,
        "no case was left open: the folder's sync is none of {MOST_SYNCS}"
    );
}

#[test]
fn an_append_whose_every_call_fails_in_turn_is_neither_lost_nor_doubled() {
    let mut task = Append(Project::new());
    walk("append", &mut task);
    task.0.machine.walk();
}

#[test]
fn an_init_whose_every_call_fails_in_turn_makes_one_ledger_that_can_be_used() {
    if is_long() {
        let machine = Machine::new();
        let person = machine.person("root");
        walk("init", &mut Init { machine, person });
    }
}

#[test]
fn a_seal_whose_every_call_fails_in_turn_is_neither_lost_nor_doubled() {
    if is_long() {
        walk("seal", &mut Seal(Project::new()));
    }
}

#[test]
fn a_promotion_whose_every_call_fails_in_turn_is_neither_lost_nor_doubled() {
    if is_long() {
        walk("promote", &mut Promote(Project::new()));
    }
}

/// A writer that takes no notice of what the system says.
struct Naive {
    folder: tempfile::TempDir,
    case: usize,
}

const NAIVE: &str = "HANDOFF_TEST_NAIVE";
const NAIVE_CASE: &str = "HANDOFF_TEST_NAIVE_CASE";

impl Naive {
    fn file(&self) -> PathBuf {
        self.folder.path().join("plain.db")
    }
}

impl Task for Naive {
    fn prepare(&mut self) {
        self.case += 1;
        let table = "CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, record TEXT)";
        let plain = Connection::open(self.file()).unwrap();
        plain.execute_batch(table).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "plays_the_naive_writer", "--test-threads=1"])
            .env(NAIVE, self.file())
            .env(NAIVE_CASE, self.case.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn recorded(&self) -> usize {
        let plain = Connection::open(self.file()).unwrap();
        let sql = "SELECT count(*) FROM event WHERE record = ?1";
        let count: i64 = plain
            .query_row(sql, [self.case.to_string()], |row| row.get(0))
            .unwrap();
        usize::try_from(count).unwrap()
    }

    fn is_intact(&self) -> bool {
        true
    }

    /// A test runs in a thread of its own.
    fn options(&self) -> Vec<String> {
        vec!["-f".to_owned()]
    }
}

#[test]
fn plays_the_naive_writer() {
    let (Some(file), Ok(case)) = (std::env::var_os(NAIVE), std::env::var(NAIVE_CASE)) else {
        return;
    };
    if let Ok(plain) = Connection::open(file) {
        let sql = "INSERT INTO event (record) VALUES (?1)";
        let _ = plain.execute(sql, [case]);
    }
}

#[test]
fn a_writer_that_takes_no_notice_of_errors_is_caught() {
    if !can_trace("naive writer") {
        return;
    }
    let mut task = Naive {
        folder: tempfile::tempdir().unwrap(),
        case: 0,
    };
    let mut tally = Tally::default();
    tally.walk(&mut task, &FAULTS[..1]);
    tally.say("control: a writer that takes no notice");
    let caught = tally.wrong.get(&Wrong::FalseAcknowledgement);
    assert!(
        caught.is_some_and(|cases| cases.len() > 5),
        "{:?}",
        tally.wrong
    );
}
