//! The inputs that fuzzing kept are held to the properties that it looked for.
//!
//! `HANDOFF_WRITE_SEEDS=1` makes the seeds anew, from which fuzzing starts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

#[path = "support/judge.rs"]
mod judge;
#[path = "fuzz/properties.rs"]
mod properties;
mod support;

use handoff_ledger::chain::Remembered;
use handoff_ledger::event::KINDS;
use handoff_ledger::format;
use handoff_ledger::home::key_text;
use judge::{Judged, Way, judge};
use std::path::{Path, PathBuf};
use support::ledger::{LONGEST, Made};

/// Size of the pages of the files that fuzzing starts from: what is in them lies close together.
const PAGE_BYTES: u32 = 1024;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target)
}

/// Every kept input, after the seeds were made if that is wanted.
fn inputs(target: &str, seeds: impl FnOnce(&dyn Fn(&str, &[u8]))) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = corpus(target);
    if std::env::var_os("HANDOFF_WRITE_SEEDS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        seeds(&|name, bytes| {
            std::fs::write(folder.join(format!("seed-{name}")), bytes).unwrap();
        });
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let inputs: Vec<_> = (paths.into_iter())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    println!("{target}: {} inputs", inputs.len());
    inputs
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
    let inputs = inputs("event_bytes", |write| {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let golden = std::fs::read_to_string(tests.join("golden/ledger.jsonl")).unwrap();
        for (number, event) in events_in(&golden).enumerate() {
            write(&format!("golden-{number:02}"), event.as_bytes());
        }
        for entry in std::fs::read_dir(tests.join("vectors")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            // The last event is the one that a vector is about.
            if let Some(event) = events_in(&text).last() {
                write(&name, event.as_bytes());
            }
        }
    });
    let good = inputs.iter().filter(|(path, data)| {
        println!("{}", path.display());
        properties::event_bytes(data, &before, format::decode);
        format::decode(data).is_ok()
    });
    let good = good.count();
    assert!(good > 0 && good < inputs.len(), "{good} are events");
}

#[test]
fn exports() {
    let known = Made::of(LONGEST).leaves().into_iter().collect();
    let inputs = inputs("export_text", |write| {
        for events in [1, 3, 20, 45] {
            let made = Made::of(events);
            write(&events.to_string(), made.export().as_bytes());
            let bare = Made {
                captures: Vec::new(),
                ..made
            };
            let text = bare.export();
            write(&format!("{events}-bare"), text.as_bytes());
            write(&format!("{events}-cut"), &text.as_bytes()[..text.len() - 9]);
        }
    });
    judged("export_text", &inputs, |data, judged, way, path| {
        properties::export_text(data, judged, &known);
        properties::same_verdict(data, path, judged, way);
    });
}

#[test]
fn ledger_files() {
    let known = Made::of(LONGEST).leaves().into_iter().collect();
    let inputs = inputs("ledger_file", |write| {
        let folder = tempfile::tempdir().unwrap();
        for events in [1, 3, 20, 45] {
            let path = folder.path().join(events.to_string());
            Made::of(events).write(&path);
            let connection = rusqlite::Connection::open(&path).unwrap();
            let sql = format!("PRAGMA page_size = {PAGE_BYTES}; VACUUM");
            connection.execute_batch(&sql).unwrap();
            drop(connection);
            let bytes = std::fs::read(&path).unwrap();
            write(&events.to_string(), &bytes);
            write(&format!("{events}-cut"), &bytes[..bytes.len() - 9]);
        }
    });
    judged("ledger_file", &inputs, |data, judged, way, path| {
        properties::ledger_file(judged, &known);
        properties::same_verdict(data, path, judged, way);
    });
}

fn judged(
    target: &str,
    inputs: &[(PathBuf, Vec<u8>)],
    property: impl Fn(&[u8], &Judged, &Way, &Path),
) {
    let folder = tempfile::tempdir().unwrap();
    let way = Way::remembering(&Remembered::default());
    let mut accepted = 0;
    for (path, data) in inputs {
        println!("{}", path.display());
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
    let inputs = inputs("key_text", |write| {
        let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys");
        for entry in std::fs::read_dir(keys).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending != "md") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                write(&name, &std::fs::read(&path).unwrap());
            }
        }
        let key = support::Who::Alice.key();
        write("hex", key.to_string().as_bytes());
        let small = format!("{:064}\n", 0);
        write("hex-small-order", small.as_bytes());
    });
    let mut good = 0;
    for (path, data) in &inputs {
        println!("{}", path.display());
        properties::key_text(data, key_text::public);
        good += usize::from(key_text::public(data).is_ok() || key_text::secret(data).is_ok());
    }
    assert!(good > 0 && good < inputs.len(), "{good} are keys");
}

#[test]
fn the_ledger_that_fuzzing_starts_from_holds_every_kind() {
    let kinds: Vec<String> = support::ledger::kinds(&Made::of(60)).into_iter().collect();
    let mut all = KINDS.to_vec();
    all.sort_unstable();
    assert_eq!(kinds, all);
}
