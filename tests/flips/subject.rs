//! A ledger whose copies are altered, and what became of them.

use crate::judge::{Blind, Judged, Way, judge};
use crate::pages::regions;
use crate::support::ledger::{LONGEST, Made};
use handoff_ledger::chain::Remembered;
use handoff_ledger::types::Leaf;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use tempfile::TempDir;

/// One change of a file.
#[derive(Debug, Clone)]
pub enum Alteration {
    /// A byte with some of its bits turned.
    Xor { at: usize, with: u8 },
    /// Only so many bytes of it.
    Cut { length: usize },
    /// More behind its end.
    Append(Vec<u8>),
    /// Something else, in words, and what it then is.
    Whole { what: String, bytes: Vec<u8> },
}

impl Alteration {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut altered = bytes.to_vec();
        match self {
            Alteration::Xor { at, with } => altered[*at] ^= with,
            Alteration::Cut { length } => altered.truncate(*length),
            Alteration::Append(tail) => altered.extend_from_slice(tail),
            Alteration::Whole { bytes, .. } => altered.clone_from(bytes),
        }
        altered
    }

    fn told(&self) -> String {
        match self {
            Alteration::Xor { at, with } => format!("byte {at} xor {with:#04x}"),
            Alteration::Cut { length } => format!("cut to {length} bytes"),
            Alteration::Append(tail) => format!("{} bytes appended", tail.len()),
            Alteration::Whole { what, .. } => what.clone(),
        }
    }
}

/// Where in a file a byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Of a text.
    Text,
    /// The header's: page size, versions, sizes, encoding, application id.
    FileHeader,
    /// The header's counters and library version, which say nothing of what is in the file.
    FileCounters,
    /// The header's bytes that are kept for later versions of SQLite.
    FileReserved,
    /// The header of a page of a b-tree.
    PageHeader,
    /// Where a page's cells begin.
    CellPointers,
    /// Between the pointers and the cells: in no use.
    Unallocated,
    /// The cells of the schema.
    SchemaCells,
    /// Cells of events and captures, and what is free between them.
    Cells,
    /// A page that continues a record.
    Overflow,
    /// The alteration is of no one byte.
    Whole,
}

/// A ledger, as bytes, and what is true of it.
#[derive(Clone)]
pub struct Subject {
    name: &'static str,
    /// The export or the file.
    pub bytes: Vec<u8>,
    parts: Vec<Part>,
    truth: Judged,
    way: Way,
}

/// The records that anyone signed.
static SIGNED: LazyLock<BTreeSet<Leaf>> = LazyLock::new(|| {
    let strangers = Made::by_strangers(LONGEST).leaves();
    Made::of(LONGEST)
        .leaves()
        .into_iter()
        .chain(strangers)
        .collect()
});

impl Subject {
    /// The export of so many events.
    pub fn export(name: &'static str, events: usize) -> Subject {
        let bytes = Made::of(events).export().into_bytes();
        let parts = vec![Part::Text; bytes.len()];
        Subject::of(name, bytes, parts)
    }

    /// The ledger file of so many events.
    pub fn file(name: &'static str, events: usize) -> Subject {
        Subject::of_made(name, &Made::of(events))
    }

    /// A file of the same story, told by others.
    pub fn stranger(events: usize) -> Subject {
        Subject::of_made("a stranger's", &Made::by_strangers(events))
    }

    fn of_made(name: &'static str, made: &Made) -> Subject {
        let bytes = made.file();
        let parts = regions(&bytes);
        Subject::of(name, bytes, parts)
    }

    fn of(name: &'static str, bytes: Vec<u8>, parts: Vec<Part>) -> Subject {
        let way = Way::remembering(&Remembered::default());
        let folder = scratch();
        let path = folder.path().join("ledger");
        std::fs::write(&path, &bytes).unwrap();
        let truth = judge(&path, &way);
        assert_eq!(truth.result(), "self_consistent", "{name}");
        Subject {
            name,
            bytes,
            parts,
            truth,
            way,
        }
    }

    /// The same, judged by somebody who wrote its head down.
    pub fn expecting_its_head(mut self) -> Subject {
        let Judged::Accepted(report, _) = &self.truth else {
            panic!("{} is a ledger", self.name);
        };
        let head = report.head.expect("it has a head");
        self.way.expect = Some(head.to_string());
        self
    }

    /// Its lines in every order of two neighbours, each left out, and each twice.
    pub fn lines_moved(&self) -> Vec<Alteration> {
        let lines: Vec<&[u8]> = self.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut moved = Vec::new();
        for at in 0..lines.len() {
            let mut other = lines.clone();
            other.remove(at);
            moved.push((format!("line {at} left out"), other));
            let mut other = lines.clone();
            other.insert(at, lines[at]);
            moved.push((format!("line {at} twice"), other));
            if at > 0 {
                let mut other = lines.clone();
                other.swap(at - 1, at);
                moved.push((format!("line {at} before the one before"), other));
            }
        }
        let whole = |(what, lines): (String, Vec<&[u8]>)| Alteration::Whole {
            what,
            bytes: lines.concat(),
        };
        moved.into_iter().map(whole).collect()
    }

    /// Judges every altered copy, on all processors.
    pub fn alter(&self, alterations: Vec<Alteration>, blind: Blind) -> Tally {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let tally = Mutex::new(Tally::new(self.name));
        let way = Way {
            blind,
            ..self.way.clone()
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let folder = scratch();
                    let path = folder.path().join("altered");
                    let mut own = Tally::new(self.name);
                    while let Some(alteration) =
                        alterations.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        self.judge_one(alteration, &path, &way, &mut own);
                    }
                    tally.lock().unwrap().merge(own);
                });
            }
        });
        let tally = tally.into_inner().unwrap();
        assert_eq!(tally.total(), alterations.len(), "each was judged");
        tally
    }

    /// Where an alteration is made.
    pub fn part(&self, alteration: &Alteration) -> Part {
        match alteration {
            Alteration::Xor { at, .. } => self.parts[*at],
            Alteration::Cut { .. } | Alteration::Append(_) | Alteration::Whole { .. } => {
                Part::Whole
            }
        }
    }

    fn judge_one(&self, alteration: &Alteration, path: &Path, way: &Way, tally: &mut Tally) {
        let altered = alteration.apply(&self.bytes);
        if altered == self.bytes {
            tally.unaltered += 1;
            return;
        }
        std::fs::write(path, &altered).unwrap();
        let judged = judge(path, way);
        let part = self.part(alteration);
        let end = self.end(&judged);
        if end != End::Rejected && tally.accepted.len() < ACCEPTED_LISTED {
            let head = match &judged {
                Judged::Accepted(report, _) => report.head.map(|head| head.leaf),
                Judged::NotLookedAt(_) | Judged::Rejected(_) => None,
            };
            let signed = head.is_some_and(|leaf| SIGNED.contains(&leaf));
            tally.accepted.push(Passed {
                what: alteration.told(),
                end,
                signed,
            });
        }
        *tally.ends.entry((part, end)).or_default() += 1;
        *tally.results.entry(judged.result()).or_default() += 1;
    }

    fn end(&self, judged: &Judged) -> End {
        let (Judged::Accepted(report, state), Judged::Accepted(truth, before)) =
            (judged, &self.truth)
        else {
            return End::Rejected;
        };
        let same = report.events == truth.events
            && report.head == truth.head
            && report.root == truth.root
            && report.refused == truth.refused
            && report.voided == truth.voided
            && state == before;
        match (same, report.not_proven == truth.not_proven) {
            (false, _) => End::Otherwise,
            (true, true) => End::Same,
            (true, false) => End::SameWithLessProven,
        }
    }
}

/// How many of those that pass are listed.
const ACCEPTED_LISTED: usize = 100_000;

/// What became of an altered copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It does not pass.
    Rejected,
    /// It passes as what it was.
    Same,
    /// It passes as what it was, and more is told to be not proven: a capture is gone.
    SameWithLessProven,
    /// It passes as something else.
    Otherwise,
}

/// An altered copy that passed.
#[derive(Debug, Clone)]
pub struct Passed {
    what: String,
    end: End,
    /// Whether somebody signed its head.
    signed: bool,
}

/// How many copies came to what.
pub struct Tally {
    name: &'static str,
    ends: BTreeMap<(Part, End), usize>,
    results: BTreeMap<&'static str, usize>,
    accepted: Vec<Passed>,
    unaltered: usize,
}

impl Tally {
    fn new(name: &'static str) -> Tally {
        Tally {
            name,
            ends: BTreeMap::new(),
            results: BTreeMap::new(),
            accepted: Vec::new(),
            unaltered: 0,
        }
    }

    fn merge(&mut self, other: Tally) {
        for (key, count) in other.ends {
            *self.ends.entry(key).or_default() += count;
        }
        for (key, count) in other.results {
            *self.results.entry(key).or_default() += count;
        }
        self.accepted.extend(other.accepted);
        self.unaltered += other.unaltered;
    }

    fn total(&self) -> usize {
        self.ends.values().sum::<usize>() + self.unaltered
    }

    fn count(&self, wanted: impl Fn(End) -> bool) -> usize {
        let ends = self.ends.iter().filter(|((_, end), _)| wanted(*end));
        ends.map(|(_, count)| count).sum()
    }

    /// How many passed.
    pub fn accepted(&self) -> usize {
        self.count(|end| end != End::Rejected)
    }

    /// How many passed as something else.
    pub fn otherwise_accepted(&self) -> usize {
        self.count(|end| end == End::Otherwise)
    }

    /// One that passed.
    pub fn first_accepted(&self) -> Option<&str> {
        self.accepted.first().map(|passed| passed.what.as_str())
    }

    /// Demands that whatever passed is what it was.
    pub fn assert_nothing_else_accepted(&self) {
        let found = self.accepted.iter().find(|it| it.end == End::Otherwise);
        let found = found.map(|it| &it.what);
        assert_eq!(found, None, "{}", self.name);
        assert_eq!(self.otherwise_accepted(), 0, "{}", self.name);
        assert!(self.count(|end| end == End::Rejected) > 0, "{}", self.name);
    }

    /// Demands that whatever passed was signed by somebody.
    pub fn assert_genuine(&self) {
        let found = self.accepted.iter().find(|it| !it.signed);
        let found = found.map(|it| &it.what);
        assert_eq!(found, None, "{}", self.name);
    }

    /// Prints it.
    pub fn tell(&self) {
        let mut told = format!("{}: {} altered copies\n", self.name, self.total());
        for ((part, end), count) in &self.ends {
            let _ = writeln!(told, "{count:10} {end:?} in {part:?}");
        }
        if self.unaltered > 0 {
            let _ = writeln!(told, "{:10} as they were", self.unaltered);
        }
        let results: Vec<String> = (self.results.iter())
            .map(|(result, count)| format!("{count} {result}"))
            .collect();
        let _ = writeln!(told, "           {}", results.join(", "));
        println!("{told}");
    }
}

/// A folder in memory, where there is one.
fn scratch() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let mut folder = tempfile::Builder::new();
    folder.prefix("handoff-flips-");
    let made = match memory.is_dir() {
        true => folder.tempdir_in(memory),
        false => folder.tempdir(),
    };
    made.expect("a folder can be made")
}
