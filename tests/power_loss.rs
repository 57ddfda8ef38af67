//! Power cuts: of recorded runs, images of the disk at every moment, each opened by the product.
//! Nothing acknowledged is lost, and nothing is left that cannot be verified.
//!
//! `HANDOFF_IMAGES=N` makes at least N images; see the README.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

mod crash_images;
mod machine;
mod trace;

use crash_images::{Disk, Op, Policy, RECORDED, Reader};
use handoff_ledger::append::{Ledger, LedgerError};
use handoff_ledger::home::folders::Folders;
use handoff_ledger::home::keys;
use handoff_ledger::home::memory::{Memory, Point};
use handoff_ledger::home::pins::Pins;
use handoff_ledger::home::view::{self, ViewError};
use handoff_ledger::store::StoreError;
use handoff_ledger::store::index::IndexFile;
use handoff_ledger::store::sqlite::SqliteLedger;
use handoff_ledger::types::{LedgerId, Seq};
use machine::{Answer, Machine, OS_AXIS, PATIENCE, Person, head};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trace::{can_trace, traced};

/// How many images there are at least, unless `HANDOFF_IMAGES` says otherwise.
const IMAGES: usize = 600;
/// Of how many images one is also given to the program itself.
const PROGRAM_EVERY: usize = 40;
/// Bytes of a sector: of old disks, and of new ones.
const SECTORS: [usize; 2] = [512, 4096];
/// After how many rounds there are no new images to be expected.
const ROUNDS_MAX: u64 = 500;
/// The images of a moment that chance has no part in.
const PLAIN: [Policy; 4] = [Policy::All, Policy::Nothing, Policy::Names, Policy::Bytes];

fn images_wanted() -> usize {
    std::env::var("HANDOFF_IMAGES").map_or(IMAGES, |text| text.parse().unwrap())
}

/// What was done, call by call, on which disk, and what was acknowledged on the way.
struct Recording {
    disk: Disk,
    ops: Vec<Op>,
    answers: Vec<(Seq, String)>,
}

fn log_options() -> Vec<String> {
    let options = ["-xx", "-s", "1000000", "-e", &format!("trace={RECORDED}")];
    options.map(str::to_owned).to_vec()
}

/// Runs a command and takes down what it calls.
fn record(reader: &mut Reader, command: &Command, options: &[String]) -> (Vec<Op>, Answer) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let options = [&log_options(), options].concat();
    let output = traced(command, &log, &options).output().unwrap();
    let ops = reader.read(&std::fs::read_to_string(log).unwrap());
    (ops, Answer::of(output))
}

impl Recording {
    fn of(roots: [&Path; 2], commands: &[Command]) -> Recording {
        let roots = roots.map(Path::to_owned);
        let (mut reader, disk) = Reader::of(&roots, &roots[0]);
        let mut recording = Recording {
            disk,
            ops: Vec::new(),
            answers: Vec::new(),
        };
        for command in commands {
            let (ops, answer) = record(&mut reader, command, &[]);
            assert_eq!(answer.exit, Some(0), "{command:?}: {answer:?}");
            let told = ops.iter().filter(|op| matches!(op, Op::Acknowledge));
            assert_eq!(told.count(), 1, "{command:?}");
            recording.ops.extend(ops);
            recording.answers.push(head(&answer.json));
        }
        recording
    }
}

/// What is wrong with what a power cut left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    Lost,
    Unverifiable,
}

#[derive(Default)]
struct Tally {
    images: usize,
    wrong: BTreeMap<Wrong, Vec<String>>,
    seen: BTreeSet<u64>,
}

impl Tally {
    fn count(&self, wrong: Wrong) -> usize {
        self.wrong.get(&wrong).map_or(0, Vec::len)
    }

    fn say(&self, what: &str) {
        eprintln!(
            "{what}: {} images, {} with acknowledged events lost, {} unverifiable",
            self.images,
            self.count(Wrong::Lost),
            self.count(Wrong::Unverifiable)
        );
    }

    /// Makes the images of a recording, some at random of each moment beside the plain ones, and
    /// gives those not seen yet to `judge`, with how many answers were acknowledged before. Each
    /// round makes others.
    fn walk(
        &mut self,
        recording: (&Disk, &[Op]),
        round: u64,
        mut judge: impl FnMut(&Image, usize) -> Result<(), (Wrong, String)>,
    ) {
        let (start, ops) = recording;
        let mut disk = start.clone();
        let mut acknowledged = 0;
        for (moment, op) in ops.iter().enumerate() {
            disk.apply(op);
            acknowledged += usize::from(matches!(op, Op::Acknowledge));
            let chances = (0_u64..).zip(SECTORS).map(|(nth, sector)| Policy::Random {
                seed: (round << 32) + u64::try_from(moment).unwrap() * 2 + nth,
                sector,
            });
            for policy in PLAIN.into_iter().chain(chances) {
                let image = disk.image(policy);
                let mut hasher = DefaultHasher::new();
                (acknowledged, &image).hash(&mut hasher);
                if !self.seen.insert(hasher.finish()) {
                    continue;
                }
                self.images += 1;
                if let Err((wrong, why)) = judge(&image, acknowledged) {
                    let told = format!("after call {moment} {policy:?}: {why}");
                    self.wrong.entry(wrong).or_default().push(told);
                }
            }
        }
    }
}

type Image = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// A folder in memory, if there is such a thing: images are many, and need no disk.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// Writes an image, each root under its own name.
fn lay_out(image: &Image, roots: [(&Path, &Path); 2]) {
    for (path, content) in image {
        let (from, to) = roots
            .iter()
            .find(|(from, _)| path.starts_with(from))
            .unwrap();
        let place = to.join(path.strip_prefix(from).unwrap());
        match content {
            None => std::fs::create_dir_all(place).unwrap(),
            Some(bytes) => {
                std::fs::write(&place, bytes).unwrap();
                let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                std::fs::set_permissions(place, owner).unwrap();
            }
        }
    }
}

/// A place where an image of a machine is laid out and opened.
struct Place {
    _folder: tempfile::TempDir,
    project: PathBuf,
    home: PathBuf,
}

impl Place {
    fn of(image: &Image, project: &Path, home: &Path) -> Place {
        let folder = scratch();
        let place = Place {
            project: folder.path().join("project"),
            home: folder.path().join("home"),
            _folder: folder,
        };
        lay_out(image, [(project, &place.project), (home, &place.home)]);
        place
    }

    fn file(&self) -> PathBuf {
        self.project.join(".handoff/ledger.db")
    }

    fn folders(&self) -> Folders {
        Folders::of_variables(|name| (name == "HOME").then(|| self.home.clone().into_os_string()))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handoff"));
        command
            .arg("--json")
            .args(arguments)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .stdin(Stdio::null());
        command
    }

    fn judge(&self, answers: &[(Seq, String)]) -> Result<(), (Wrong, String)> {
        let lost = |what: &str| Err((Wrong::Lost, what.to_owned()));
        let remembered = self.remembered(answers)?;
        if !self.file().exists() {
            return match answers {
                [] => Ok(()),
                _ => lost("there is no ledger"),
            };
        }
        let leaves = self.leaves().map_err(|why| (Wrong::Unverifiable, why))?;
        // Behind the ledger, a later rollback may go unnoticed; ahead of it, or of another history,
        // the next command would take this ledger for one that was rolled back.
        if let Some(head) = remembered
            && leaves.get(usize::try_from(head.seq.0).unwrap()) != Some(&head.leaf.to_string())
        {
            return Err((Wrong::Unverifiable, format!("remembers {head:?}")));
        }
        for (seq, leaf) in answers {
            if leaves.get(usize::try_from(seq.0).unwrap()) != Some(leaf) {
                return lost(&format!("event {seq}"));
            }
        }
        if answers.is_empty() {
            return Ok(());
        }
        let folders = self.folders();
        if let Err(error) = keys::read(&keys::default_path(&folders.keys().unwrap())) {
            return lost(&format!("the key: {error}"));
        }
        match Pins::read(&folders.pins().unwrap()) {
            Ok(pins) if pins != Pins::default() => Ok(()),
            other => lost(&format!("the pin: {other:?}")),
        }
    }

    /// The head that this machine remembers of the ledger: read before anything is opened. It is
    /// never torn, and once the ledger was acknowledged, there is one.
    fn remembered(&self, answers: &[(Seq, String)]) -> Result<Option<Point>, (Wrong, String)> {
        // Of a recovery's own answers none may be that to init.
        let Some((_, first)) = answers.first().filter(|(seq, _)| *seq == Seq::ZERO) else {
            return Ok(None);
        };
        let id: LedgerId = first.parse().unwrap();
        let memory = Memory::of(&self.folders(), &id).unwrap();
        match memory.read() {
            Ok(Some(remembered)) => Ok(Some(remembered.head)),
            Ok(None) => Err((Wrong::Lost, "what is remembered".to_owned())),
            Err(error) => Err((Wrong::Unverifiable, error.to_string())),
        }
    }

    /// The leaves of the ledger, opened as any command opens it, and verified from nothing.
    fn leaves(&self) -> Result<Vec<String>, String> {
        let opened = view::open(&self.file(), &self.folders(), PATIENCE);
        // What a command meets only when it is under way, the next one finds mended.
        let unusable = |error: &ViewError| {
            matches!(
                error,
                ViewError::Ledger(LedgerError::Store(StoreError::IndexUnusable { .. }))
            )
        };
        if let Err(error) = opened
            && !unusable(&error)
        {
            return Err(format!("with the view: {error}"));
        }
        let told = |error: LedgerError| error.to_string();
        let store = SqliteLedger::open(&self.file(), PATIENCE).map_err(|it| it.to_string())?;
        let index = IndexFile::open(&self.home.join("fresh.db")).unwrap();
        let ledger = Ledger::open(store, index).map_err(told)?;
        let mut leaves = Vec::new();
        let head = ledger.head().map_err(told)?;
        ledger
            .replay(head.seq, |_, _, record| {
                leaves.push(record.leaf().to_string())
            })
            .map_err(told)?;
        Ok(leaves)
    }

    /// What the program itself says and does, once it was told that there is a ledger.
    fn asks_the_program(&self) -> Result<(), (Wrong, String)> {
        for arguments in [&["verify"][..], &["session", "open", "--agent", "after"]] {
            let answer = Answer::of(self.command(arguments).output().unwrap());
            if answer.exit != Some(0) {
                return Err((Wrong::Unverifiable, format!("{arguments:?}: {answer:?}")));
            }
        }
        Ok(())
    }
}

/// Walks the images of what a person did in a project.
fn walk(tally: &mut Tally, recording: &Recording, person: &Person, project: &Path, round: u64) {
    let mut nth = 0;
    tally.walk(
        (&recording.disk, &recording.ops),
        round,
        |image, acknowledged| {
            let place = Place::of(image, project, &person.home);
            let answers = &recording.answers[..acknowledged];
            place.judge(answers)?;
            nth += 1;
            match nth % PROGRAM_EVERY == 0 && !answers.is_empty() {
                true => place.asks_the_program(),
                false => Ok(()),
            }
        },
    );
}

/// A ledger's life: made, a session opened, events and a promotion recorded, sealed, resumed.
fn life(machine: &Machine, root: &Person) -> Recording {
    let session = ["--session", "1"];
    let in_session = |arguments: &[&str]| root.command(&[&session[..], arguments].concat());
    let independent = ["--environment-independent", "arithmetic"];
    let proof = ["--expect", "value=4", "--", "cat", "answer"];
    let flag = [
        "flag",
        "sum",
        "two and two are four",
        "--because",
        "counted",
    ];
    let commands = [
        root.command(&["init"]),
        root.command(&["session", "open", "--agent", "first"]),
        in_session(&OS_AXIS),
        in_session(&[&flag[..], &independent, &proof].concat()),
        in_session(&[&["promote", "sum"][..], &independent].concat()),
        in_session(&["ambient", "--none"]),
        in_session(&["seal"]),
        root.command(&["resume", "--agent", "second"]),
    ];
    Recording::of([&machine.project, &root.home], &commands)
}

/// What is recorded on a disk that a cut left in the midst of a commit: the recovery, and an append.
fn recoveries(
    life: &Recording,
    machine: &Machine,
    root: &Person,
    many: usize,
) -> Vec<(Recording, Place)> {
    let journal = machine.journal();
    let mut disk = life.disk.clone();
    let mut acknowledged = 0;
    let mut hot = Vec::new();
    for (at, op) in life.ops.iter().enumerate() {
        disk.apply(op);
        acknowledged += usize::from(matches!(op, Op::Acknowledge));
        let written = matches!(op, Op::Write(_, _, data) if data.len() == 16_384);
        let image = disk.image(Policy::All);
        // The first pages that are written after the journal was synced are the ledger's own.
        if written
            && matches!(life.ops.get(at + 1), Some(Op::SyncFile(_)))
            && image.contains_key(&journal)
        {
            hot.push((image, acknowledged));
        }
    }
    assert!(hot.len() > 3, "no commit was cut");
    let step = hot.len().div_ceil(many);
    hot.into_iter()
        .step_by(step)
        .map(|(image, acknowledged)| {
            let place = Place::of(&image, &machine.project, &root.home);
            let commands = [
                place.command(&["head"]),
                place.command(&["session", "open", "--agent", "after"]),
            ];
            let mut recording = Recording::of([&place.project, &place.home], &commands);
            let before = life.answers[..acknowledged].iter().cloned();
            let rolled_back =
                |op: &Op| matches!(op, Op::Unlink(path) if path.ends_with("ledger.db-journal"));
            assert!(
                recording.ops.iter().any(rolled_back),
                "there was no recovery"
            );
            // What had been acknowledged is so from the start.
            let told = before.len();
            recording.answers.splice(0..0, before);
            recording
                .ops
                .splice(0..0, std::iter::repeat_n(Op::Acknowledge, told));
            (recording, place)
        })
        .collect()
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged() {
    if !can_trace("power loss") {
        return;
    }
    let wanted = images_wanted();
    let (machine, root) = {
        let machine = Machine::new();
        let root = machine.person("root");
        (machine, root)
    };
    let life = life(&machine, &root);
    let (mut tally, mut of_recovery) = (Tally::default(), Tally::default());
    let recoveries = recoveries(&life, &machine, &root, 1 + wanted / 1000);
    for round in 0.. {
        walk(&mut tally, &life, &root, &machine.project, round);
        for (recording, place) in &recoveries {
            let person = Person::at(&place.home, &place.project);
            walk(&mut of_recovery, recording, &person, &place.project, round);
        }
        if tally.images + of_recovery.images >= wanted {
            break;
        }
        assert!(round < ROUNDS_MAX, "only {} images", tally.images);
    }
    tally.say("a ledger's life");
    of_recovery.say("recovery and an append after it");
    let first = |tally: &Tally| -> Vec<String> {
        let wrong = tally.wrong.iter();
        wrong
            .map(|(kind, all)| format!("{kind:?}: {:?}", &all[..all.len().min(3)]))
            .collect()
    };
    assert!(tally.wrong.is_empty(), "{:#?}", first(&tally));
    assert!(of_recovery.wrong.is_empty(), "{:#?}", first(&of_recovery));
}

#[test]
fn a_memory_that_is_torn_ahead_or_gone_is_caught() {
    let machine = Machine::new();
    let root = machine.person("root");
    let commands = [&["init"][..], &["session", "open", "--agent", "first"]];
    let answers: Vec<_> = commands.map(|it| head(&root.does(it))).into();
    let place = Place {
        project: machine.project.clone(),
        home: root.home.clone(),
        _folder: scratch(),
    };
    let judged = || place.judge(&answers).map_err(|(wrong, _)| wrong);
    assert_eq!(judged(), Ok(()));
    let (folders, id) = (root.folders(), machine.id());
    let recent = folders.recent(&id).unwrap();
    let sound = std::fs::read_to_string(&recent).unwrap();
    for wrong in [
        &sound[..sound.len() / 2],
        &sound.replace("\"seq\":1,", "\"seq\":2,"),
    ] {
        assert_ne!(wrong, sound);
        std::fs::write(&recent, wrong).unwrap();
        assert_eq!(judged(), Err(Wrong::Unverifiable), "{wrong}");
    }
    std::fs::write(&recent, sound).unwrap();
    std::fs::remove_file(folders.memory(&id).unwrap()).unwrap();
    assert_eq!(judged(), Err(Wrong::Lost));
}

const PLAIN_WRITER: &str = "HANDOFF_TEST_PLAIN_WRITER";
const PLAIN_SETTINGS: &str = "HANDOFF_TEST_PLAIN_SETTINGS";
/// How many rows the plain writer inserts, one transaction each.
const PLAIN_ROWS: i64 = 30;

#[test]
fn plays_the_plain_writer() {
    let (Some(file), Ok(settings)) = (
        std::env::var_os(PLAIN_WRITER),
        std::env::var(PLAIN_SETTINGS),
    ) else {
        return;
    };
    let plain = Connection::open(file).unwrap();
    plain.execute_batch(&settings).unwrap();
    for row in 0..PLAIN_ROWS {
        let sql = "INSERT INTO event (seq, record) VALUES (?1, randomblob(700))";
        plain.execute(sql, [row]).unwrap();
        println!("{{\"schema\":\"handoff.plain.v1\",\"seq\":{row}}}");
    }
}

/// The same images of a plain SQLite writer with these settings.
fn plain(what: &str, settings: &str) -> Tally {
    let machine = Machine::new();
    let file = machine.project.join("plain.db");
    let home = machine.person("nobody").home;
    let prepared = Connection::open(&file).unwrap();
    let table = "CREATE TABLE event (seq INTEGER PRIMARY KEY, record BLOB NOT NULL)";
    prepared
        .execute_batch(&format!("{settings}; {table}"))
        .unwrap();
    drop(prepared);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "plays_the_plain_writer",
            "--nocapture",
            "--test-threads=1",
        ])
        .current_dir(&machine.project)
        .env(PLAIN_WRITER, &file)
        .env(PLAIN_SETTINGS, settings);
    let roots = [machine.project.clone(), home.clone()];
    let (mut reader, disk) = Reader::of(&roots, &machine.project);
    let (ops, answer) = record(&mut reader, &command, &["-f".to_owned()]);
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    let mut tally = Tally::default();
    tally.walk((&disk, &ops), 0, |image, acknowledged| {
        let place = Place::of(image, &machine.project, &home);
        let count = || -> Result<i64, rusqlite::Error> {
            let left = Connection::open(place.project.join("plain.db"))?;
            left.query_row("SELECT count(*) FROM event", [], |row| row.get(0))
        };
        match count() {
            Ok(rows) if rows >= i64::try_from(acknowledged).unwrap() => Ok(()),
            Ok(rows) => Err((Wrong::Lost, format!("{rows} of {acknowledged}"))),
            Err(error) => Err((Wrong::Unverifiable, error.to_string())),
        }
    });
    tally.say(what);
    tally
}

#[test]
fn the_same_images_of_a_writer_with_wal_and_synchronous_normal_show_losses() {
    if !can_trace("power loss, control") {
        return;
    }
    let normal = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL";
    let tally = plain("control: WAL, synchronous NORMAL", normal);
    assert!(tally.count(Wrong::Lost) > tally.images / 4);
    // And the harness is no harder than a disk: with the ledger's settings a plain writer passes.
    let extra = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA";
    let tally = plain("the same writer with DELETE, synchronous EXTRA", extra);
    assert!(
        tally.images > 100 && tally.wrong.is_empty(),
        "{:?}",
        tally.wrong
    );
}
