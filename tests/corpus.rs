//! The inputs that fuzzing kept are held to the properties that it looked for.
//!
//! So are the seeds that it starts from, which `HANDOFF_WRITE_SEEDS=FOLDER` writes out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

#[path = "support/judge.rs"]
mod judge;
#[path = "fuzz/notes.rs"]
mod notes;
#[path = "fuzz/proofs.rs"]
mod proofs;
#[path = "fuzz/properties.rs"]
mod properties;
mod support;

use handoff_ledger::chain::Remembered;
use handoff_ledger::event::KINDS;
use handoff_ledger::format;
use handoff_ledger::home::key_text;
use handoff_ledger::note::Note;
use handoff_ledger::proof::Proof;
use handoff_ledger::proof_report;
use judge::{Judged, Way, judge};
use std::path::{Path, PathBuf};
use support::ledger::{LONGEST, Made};

/// How many events the ledgers have that fuzzing starts from.
const SIZES: [usize; 4] = [1, 3, 20, 45];
/// Size of the pages of the files that fuzzing starts from: what is in them lies close together.
const PAGE_BYTES: u32 = 512;

/// An input by a name.
type Input = (String, Vec<u8>);

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The seeds, which are written out if that is wanted, and every kept input.
fn inputs(target: &str, seeds: Vec<Input>) -> Vec<Input> {
    if let Some(folder) = std::env::var_os("HANDOFF_WRITE_SEEDS") {
        let folder = PathBuf::from(folder).join(target);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in &seeds {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
    let folder = tests().join("fuzz/corpus").join(target);
    let entries = folder.is_dir().then(|| std::fs::read_dir(folder).unwrap());
    let entries = entries.into_iter().flatten();
    let mut kept: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    kept.sort();
    println!("{target}: {} seeds, {} kept", seeds.len(), kept.len());
    let kept = kept.into_iter();
    let kept = kept.map(|path| (path.display().to_string(), std::fs::read(path).unwrap()));
    seeds.into_iter().chain(kept).collect()
}

/// The events of a text that holds some, as an export does.
fn events_in(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.strip_prefix("{\"event\":")?;
        rest.rsplit_once(",\"sig\":").map(|(event, _)| event)
    })
}

#[test]
fn events() {
    let before = Made::of(60).state();
    let golden = std::fs::read_to_string(tests().join("golden/ledger.jsonl")).unwrap();
    let golden = events_in(&golden).enumerate();
    let mut seeds: Vec<Input> = golden
        .map(|(number, event)| (format!("golden-{number:02}"), event.as_bytes().to_vec()))
        .collect();
    for entry in std::fs::read_dir(tests().join("vectors")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // The last event is the one that a vector is about.
        if let Some(event) = events_in(&text).last() {
            let name = path.file_stem().unwrap().to_str().unwrap();
            seeds.push((name.to_owned(), event.as_bytes().to_vec()));
        }
    }
    let inputs = inputs("event_bytes", seeds);
    let good = inputs.iter().filter(|(name, data)| {
        println!("{name}");
        properties::event_bytes(data, &before, format::decode);
        format::decode(data).is_ok()
    });
    let good = good.count();
    assert!(good > 0 && good < inputs.len(), "{good} are events");
}

#[test]
fn exports() {
    let known = Made::of(LONGEST).leaves().into_iter().collect();
    let mut seeds = Vec::new();
    for events in SIZES {
        let made = Made::of(events);
        seeds.push((events.to_string(), made.export().into_bytes()));
        let bare = Made {
            captures: Vec::new(),
            ..made
        };
        let mut text = bare.export().into_bytes();
        seeds.push((format!("{events}-bare"), text.clone()));
        text.truncate(text.len() - 9);
        seeds.push((format!("{events}-cut"), text));
    }
    let inputs = inputs("export_text", seeds);
    judged("export_text", &inputs, |data, judged, way, path| {
        properties::export_text(data, judged, &known);
        properties::same_verdict(data, path, judged, way);
    });
}

#[test]
fn ledger_files() {
    let known = Made::of(LONGEST).leaves().into_iter().collect();
    let mut seeds = Vec::new();
    for events in SIZES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        Made::of(events).write(&path);
        let connection = rusqlite::Connection::open(&path).unwrap();
        let sql = format!("PRAGMA page_size = {PAGE_BYTES}; VACUUM");
        connection.execute_batch(&sql).unwrap();
        drop(connection);
        let mut bytes = std::fs::read(&path).unwrap();
        seeds.push((events.to_string(), bytes.clone()));
        bytes.truncate(bytes.len() - 9);
        seeds.push((format!("{events}-cut"), bytes));
    }
    let inputs = inputs("ledger_file", seeds);
    judged("ledger_file", &inputs, |data, judged, way, path| {
        properties::ledger_file(judged, &known);
        properties::same_verdict(data, path, judged, way);
    });
}

fn judged(target: &str, inputs: &[Input], property: impl Fn(&[u8], &Judged, &Way, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let way = Way::remembering(&Remembered::default());
    let mut accepted = 0;
    for (name, data) in inputs {
        println!("{name}");
        let file = folder.path().join("input");
        std::fs::write(&file, data).unwrap();
        let judged = judge(&file, &way);
        property(data, &judged, &way, &file);
        accepted += usize::from(judged.is_accepted());
    }
    assert!(accepted > 0, "none of {target} is a ledger");
    assert!(accepted < inputs.len(), "all of {target} are ledgers");
}

#[test]
fn key_texts() {
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(tests().join("keys")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending != "md") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            seeds.push((name, std::fs::read(&path).unwrap()));
        }
    }
    let key = support::Who::Alice.key();
    seeds.push(("hex".to_owned(), key.to_string().into_bytes()));
    let small_order = format!("{:064}", 0).into_bytes();
    seeds.push(("hex-small-order".to_owned(), small_order));
    let inputs = inputs("key_text", seeds);
    let mut good = 0;
    for (name, data) in &inputs {
        println!("{name}");
        properties::key_text(data, key_text::public);
        good += usize::from(key_text::public(data).is_ok() || key_text::secret(data).is_ok());
    }
    assert!(good > 0 && good < inputs.len(), "{good} are keys");
}

#[test]
fn checkpoint_notes() {
    let known = notes::Known::new();
    let inputs = inputs("checkpoint_note", known.seeds());
    let mut good = 0;
    for (name, data) in &inputs {
        println!("{name}");
        notes::note(data, &known, Note::parse);
        good += usize::from(Note::parse(data).is_ok());
    }
    assert!(good > 0 && good < inputs.len(), "{good} are notes");
}

#[test]
fn proof_texts() {
    let known = proofs::Known::new();
    let mut seeds = known.seeds();
    for entry in std::fs::read_dir(tests().join("proof_vectors")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, proof) = text.split_once("\n\n").unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        seeds.push((name.to_owned(), proof.as_bytes().to_vec()));
    }
    let inputs = inputs("proof_text", seeds);
    let mut good = 0;
    for (name, data) in &inputs {
        println!("{name}");
        proofs::proof(data, &known, proof_report::of_inclusion);
        good += usize::from(Proof::parse(data).is_ok());
    }
    assert!(good > 0 && good < inputs.len(), "{good} are proofs");
}

#[test]
fn the_ledger_that_fuzzing_starts_from_holds_every_kind() {
    let kinds: Vec<String> = support::ledger::kinds(&Made::of(60)).into_iter().collect();
    let mut all = KINDS.to_vec();
    all.sort_unstable();
    assert_eq!(kinds, all);
}
