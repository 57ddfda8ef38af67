//! The format: frozen vectors, and the document that they are indexed in.
//!
//! The vectors in `tests/vectors` are the contract with other programs. They are generated here and
//! never change within a version. `HANDOFF_WRITE_VECTORS=1 cargo test --test format the_committed`
//! writes them, and their index in `ledger-format.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::print_stdout,
    reason = "helpers of tests are tests"
)]
#![allow(missing_docs, reason = "helpers say by their names what they do")]

mod accepted;
mod accepted_axes;
mod accepted_claims;
mod bodies;
mod builder;
mod document;
mod refused;
mod refused_claims;
mod tampered;
mod tampered_bytes;
mod vector;

use handoff_ledger::event::KINDS;
use handoff_ledger::export::{Line, Reader};
use handoff_ledger::format;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::SIGNATURE_BYTES;
use std::collections::BTreeSet;
use std::path::PathBuf;
use vector::{Outcomes, Vector};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Every vector as this program makes it.
fn generated() -> Vec<Vector> {
    let refused = Rule::ALL.iter().map(|rule| {
        let (history, comment) = refused::history(*rule);
        let name = format!("refused-{rule}");
        Vector::judged(&name, comment, &history, Outcomes::default())
    });
    let mut all: Vec<Vector> = refused.collect();
    all.extend(accepted::vectors());
    all.extend(accepted_claims::vectors());
    all.extend(accepted_axes::vectors());
    all.extend(tampered_bytes::vectors());
    all.extend(tampered::vectors());
    all
}

/// Every vector as it is committed.
fn committed() -> Vec<Vector> {
    let mut all: Vec<Vector> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            assert_eq!(path.extension().unwrap(), "txt", "{}", path.display());
            Vector {
                name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
                text: std::fs::read_to_string(&path).unwrap(),
            }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn names(vectors: &[Vector]) -> Vec<&str> {
    vectors.iter().map(|vector| vector.name.as_str()).collect()
}

#[test]
fn the_committed_vectors_are_the_generated_ones() {
    let mut generated = generated();
    generated.sort_by(|a, b| a.name.cmp(&b.name));
    if std::env::var_os("HANDOFF_WRITE_VECTORS").is_some() {
        for vector in &generated {
            let path = folder().join(format!("{}.txt", vector.name));
            std::fs::write(path, &vector.text).unwrap();
        }
        document::write_index(&generated);
    }
    let committed = committed();
    assert_eq!(names(&committed), names(&generated));
    for (committed, generated) in committed.iter().zip(&generated) {
        assert!(committed.text == generated.text, "{}", generated.name);
    }
}

#[test]
fn each_vector_is_judged_as_it_says() {
    for vector in committed() {
        vector.run();
    }
}

#[test]
fn every_rule_and_every_fault_is_broken_alone_by_a_vector() {
    let vectors = committed();
    let names = names(&vectors);
    let faults = document::faults();
    let wanted = (Rule::ALL.iter().map(|rule| format!("refused-{rule}")))
        .chain(faults.iter().map(|fault| format!("tampered-{fault}")));
    for name in wanted {
        assert!(names.contains(&name.as_str()), "{name}");
    }
    for vector in vectors.iter().filter(|it| it.name.starts_with("refused-")) {
        let refused = vector
            .text
            .lines()
            .filter(|line| line.starts_with("refused: "));
        assert_eq!(refused.count(), 1, "{}", vector.name);
    }
}

#[test]
fn every_kind_stands_in_a_lawful_vector() {
    let mut seen = BTreeSet::new();
    for vector in committed() {
        let is_lawful = ["verified-", "undetermined-"]
            .iter()
            .any(|start| vector.name.starts_with(start));
        if !is_lawful {
            continue;
        }
        let (_, lines) = vector.text.split_once("\n\n").unwrap();
        let mut reader = Reader::new();
        for line in lines.split_inclusive('\n') {
            if let Line::Record(record) = reader.line(line.as_bytes()).unwrap() {
                let event = format::decode(&record[SIGNATURE_BYTES..]).unwrap();
                seen.insert(event.body.kind().to_owned());
            }
        }
    }
    let kinds: BTreeSet<String> = KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(seen, kinds);
}
