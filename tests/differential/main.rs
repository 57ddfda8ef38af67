//! The library and a second verifier, which was written from `ledger-format.md` alone, say the same
//! of small random ledgers: lawful ones, unlawful ones, and ones that somebody altered.
//!
//! Compared are result, head, faults, refused and void events, and at every session's end the
//! verdict on each axis, the admissible claims, and the state of each claim.
//!
//! `HANDOFF_LEDGERS` sets how many ledgers, `HANDOFF_SEED` the first one. The long form:
//!
//! ```text
//! HANDOFF_LEDGERS=10000 cargo test --release --test differential -- --nocapture
//! ```
//!
//! It needs `python3` with `cryptography`; without them it says that it was skipped, or fails if
//! `HANDOFF_REQUIRE_TOOLS=1`.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

mod alter;
mod answer;
#[path = "../slice/generate.rs"]
mod generate;
#[path = "../support/judge.rs"]
mod judge;
mod second;
#[path = "../support/mod.rs"]
mod support;

use alter::{Altered, Chance, WAYS};
use answer::{difference, of_the_library};
use generate::Step;
use handoff_ledger::event::{LedgerOpened, Policy};
use handoff_ledger::types::{Digest, Seq};
use second::Second;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use support::ledger::Made;
use support::{History, Who, make};

/// How many ledgers are compared if nothing else is said.
const LEDGERS: u64 = 200;
/// Most steps of most histories; each makes one event or several.
const STEPS: usize = 20;
/// Most steps of one in eight.
const STEPS_MAX: usize = 60;
/// How many differences are shown.
const SHOWN: usize = 20;

fn number(name: &str) -> Option<u64> {
    let given = std::env::var(name).ok()?;
    Some(given.parse().expect("it is a number"))
}

/// The ledger of a seed, altered or not.
fn ledger(seed: u64) -> Altered {
    let mut chance = Chance::of(seed);
    let policy = u8::try_from(chance.below(4)).unwrap();
    let most = if chance.below(8) == 0 {
        STEPS_MAX
    } else {
        STEPS
    };
    let length = 1 + chance.below(most);
    let steps: Vec<Step> = (0..length)
        .map(|_| (chance.below(generate::ways()), chance.next()))
        .collect();
    let mut history = generate::history(policy, &steps);
    if chance.below(2) == 0 {
        // Then what was refused is known, and the ledger is not unlawful for it.
        let last = Seq(u64::try_from(history.records.len() - 1).unwrap());
        let _ = history.push(Who::Root, Seq::ZERO, make::acknowledged(last));
    }
    alter::some_way(history.records, &mut chance)
}

/// What was compared, and what differed.
#[derive(Default)]
struct Tally {
    ledgers: u64,
    ways: BTreeMap<&'static str, u64>,
    results: BTreeMap<String, u64>,
    faults: BTreeMap<String, u64>,
    rules: BTreeMap<String, u64>,
    verdicts: BTreeMap<String, u64>,
    files: u64,
    events: u64,
    voided: usize,
    sessions: usize,
    admissible: usize,
    differences: Vec<String>,
}

impl Tally {
    fn count(&mut self, altered: &Altered, answer: &Value) {
        self.ledgers += 1;
        *self.ways.entry(altered.way).or_default() += 1;
        self.files += u64::from(altered.is_file);
        self.events += answer["events"].as_u64().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        *self.results.entry(text(&answer["result"])).or_default() += 1;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for fault in list(&answer["faults"]) {
            *self.faults.entry(text(&fault["kind"])).or_default() += 1;
        }
        for refused in list(&answer["refused"]) {
            *self.rules.entry(text(&refused["rule"])).or_default() += 1;
        }
        self.voided += list(&answer["voided"]).len();
        for session in list(&answer["sessions"]) {
            self.sessions += 1;
            self.admissible += list(&session["admissible"]).len();
            for axis in list(&session["axes"]) {
                *self.verdicts.entry(text(&axis["verdict"])).or_default() += 1;
            }
        }
    }

    fn merge(&mut self, other: Tally) {
        fn add<K: Ord>(to: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
            for (key, count) in from {
                *to.entry(key).or_default() += count;
            }
        }
        self.ledgers += other.ledgers;
        add(&mut self.ways, other.ways);
        add(&mut self.results, other.results);
        add(&mut self.faults, other.faults);
        add(&mut self.rules, other.rules);
        add(&mut self.verdicts, other.verdicts);
        self.files += other.files;
        self.events += other.events;
        self.voided += other.voided;
        self.sessions += other.sessions;
        self.admissible += other.admissible;
        self.differences.extend(other.differences);
    }

    fn tell(&self) {
        println!(
            "{} ledgers compared, {} of them as files: {} events, {} void, {} sessions, \
             {} claims admissible at their ends, {} differences",
            self.ledgers,
            self.files,
            self.events,
            self.voided,
            self.sessions,
            self.admissible,
            self.differences.len()
        );
        println!("altered: {:?}", self.ways);
        println!("results: {:?}", self.results);
        println!("faults: {:?}", self.faults);
        println!("refused: {:?}", self.rules);
        println!("verdicts: {:?}", self.verdicts);
        for difference in self.differences.iter().take(SHOWN) {
            println!("{difference}");
        }
    }
}

/// Compares the ledgers of these seeds, on all processors, each with a second verifier of its own.
/// `shown` is what the second one is shown of a ledger.
fn compare(
    seeds: std::ops::Range<u64>,
    shown: impl Fn(&Altered) -> Vec<u8> + Sync,
) -> Option<Tally> {
    drop(Second::start()?);
    let next = AtomicU64::new(seeds.start);
    let tally = Mutex::new(Tally::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut second = Second::start().expect("it was started before");
                let folder = scratch();
                let mut own = Tally::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let altered = ledger(seed);
                    compare_one(seed, &altered, &shown, &mut second, folder.path(), &mut own);
                }
                tally.lock().unwrap().merge(own);
            });
        }
    });
    Some(tally.into_inner().unwrap())
}

fn compare_one(
    seed: u64,
    altered: &Altered,
    shown: &(impl Fn(&Altered) -> Vec<u8> + Sync),
    second: &mut Second,
    folder: &Path,
    tally: &mut Tally,
) {
    let path = folder.join("ledger");
    std::fs::write(&path, &altered.bytes).unwrap();
    let root = (!seed.is_multiple_of(4)).then(|| Who::Root.key());
    let here = of_the_library(&path, root);
    std::fs::write(&path, shown(altered)).unwrap();
    let there = second.ask(&path, altered.is_file, root);
    tally.count(altered, &here);
    if let Some(difference) = difference(altered.way, &here, &there) {
        let way = altered.way;
        if let Some(kept) = std::env::var_os("HANDOFF_KEEP") {
            let kept = Path::new(&kept).join(format!("seed-{seed}"));
            std::fs::write(kept, &altered.bytes).unwrap();
        }
        tally
            .differences
            .push(format!("seed {seed} ({way}): {difference}"));
    }
}

fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let mut folder = tempfile::Builder::new();
    folder.prefix("handoff-differential-");
    let made = match memory.is_dir() {
        true => folder.tempdir_in(memory),
        false => folder.tempdir(),
    };
    made.expect("a folder can be made")
}

#[test]
fn two_verifiers_that_share_no_code_say_the_same() {
    let first = number("HANDOFF_SEED").unwrap_or_default();
    let ledgers = number("HANDOFF_LEDGERS").unwrap_or(LEDGERS);
    let Some(tally) = compare(first..first + ledgers, |altered| altered.bytes.clone()) else {
        return;
    };
    tally.tell();
    assert_eq!(tally.differences.len(), 0, "they differ");
    assert_eq!(tally.ledgers, ledgers);
    if ledgers >= LEDGERS {
        assert_eq!(tally.ways.len(), WAYS, "every way to alter a ledger");
        for result in ["verified", "self_consistent", "unlawful", "tampered"] {
            assert!(tally.results.contains_key(result), "{result}");
        }
        assert!(tally.voided > 0 && tally.admissible > 0);
    }
}

/// Found by comparing: with the first event refused, a chain that links was said to be of 0 events.
#[test]
fn a_chain_whose_first_event_is_refused_has_a_head() {
    let mut history = History::nothing();
    let opened = LedgerOpened {
        name: "tests".parse().unwrap(),
        nonce: Digest([9; 32]),
        policy: Policy {
            asserted_values: false,
            four_eyes: false,
        },
        rules: 1,
    };
    assert!(history.push(Who::Root, Seq(5), opened).is_err());
    assert!(
        history
            .push(Who::Alice, Seq::ZERO, make::opened(&[]))
            .is_err()
    );
    let made = Made {
        records: history.records,
        captures: Vec::new(),
    };
    let folder = scratch();
    let path = folder.path().join("ledger");
    std::fs::write(&path, made.export()).unwrap();
    let answer = of_the_library(&path, None);
    let head = made.head();
    assert_eq!(answer["result"], "unlawful");
    assert_eq!(answer["events"], 2);
    assert_eq!(answer["head"], json!({"seq": head.seq, "hash": head.leaf}));
}

/// The negative control: a second verifier that is shown another ledger than the library.
#[test]
fn a_verifier_that_sees_something_else_is_caught() {
    let blind = |altered: &Altered| match altered.is_file {
        true => altered.bytes.clone(),
        // Without its last line.
        false => {
            let text = altered.bytes.strip_suffix(b"\n").unwrap_or(&altered.bytes);
            let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            text[..end + 1].to_vec()
        }
    };
    let Some(tally) = compare(0..40, blind) else {
        return;
    };
    let texts = tally.ledgers - tally.files;
    assert!(
        u64::try_from(tally.differences.len()).unwrap() * 2 > texts,
        "{} of {texts}",
        tally.differences.len()
    );
}

/// The negative control of the comparison: an answer altered anywhere is another.
#[test]
fn an_answer_that_differs_anywhere_is_another() {
    let folder = scratch();
    let path = folder.path().join("ledger");
    let answers: Vec<Value> = (0..60)
        .map(|seed| {
            std::fs::write(&path, ledger(seed).bytes).unwrap();
            of_the_library(&path, Some(Who::Root.key()))
        })
        .collect();
    for pointer in [
        "/result",
        "/events",
        "/head/hash",
        "/faults/0/kind",
        "/refused/0/rule",
        "/voided/0",
        "/sessions/0/at",
        "/sessions/0/axes/0/verdict",
        "/sessions/0/axes/0/reason",
        "/sessions/0/admissible/0",
        "/sessions/0/claims/0/state",
    ] {
        let has = |answer: &&Value| answer.pointer(pointer).is_some();
        let answer = answers.iter().find(has).expect(pointer);
        assert_eq!(difference("nothing", answer, answer), None);
        let mut other = answer.clone();
        *other.pointer_mut(pointer).unwrap() = "other".into();
        assert!(difference("nothing", answer, &other).is_some(), "{pointer}");
    }
}
