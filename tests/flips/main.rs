//! Altered copies of a ledger: every bit of one of 20 events, every byte of one of 200, as an
//! export and as a file. An altered export is never accepted; an altered file is not, or it says
//! what it said before: the same count, head and state.
//!
//! A `cargo test` tries a part of each. `HANDOFF_FLIPS=all` tries all, with `--release`:
//!
//! ```text
//! HANDOFF_FLIPS=all cargo test --release --test flips -- --nocapture --test-threads 1
//! ```

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

#[path = "../support/judge.rs"]
mod judge;
mod pages;
mod subject;
#[path = "../support/mod.rs"]
mod support;

use judge::Blind;
use pages::{Pages, regions};
use subject::{Alteration, Part, Subject};
use support::ledger::LONGEST;

/// How much is tried.
fn everything() -> bool {
    std::env::var_os("HANDOFF_FLIPS").is_some_and(|value| value == "all")
}

/// All alterations, or one of so many.
fn some_of(alterations: Vec<Alteration>, one_of: usize) -> Vec<Alteration> {
    let step = if everything() { 1 } else { one_of };
    alterations.into_iter().step_by(step).collect()
}

fn every_bit(bytes: &[u8]) -> Vec<Alteration> {
    let bits = (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, 1 << bit)));
    bits.map(|(at, with)| Alteration::Xor { at, with })
        .collect()
}

/// Each byte: in turn its lowest bit, its letter case and its highest bit.
fn every_byte(bytes: &[u8]) -> Vec<Alteration> {
    let turns = [0x01, 0x20, 0x80].into_iter().cycle();
    (0..bytes.len())
        .zip(turns)
        .map(|(at, with)| Alteration::Xor { at, with })
        .collect()
}

fn lengths(bytes: &[u8], step: usize) -> Vec<Alteration> {
    (0..bytes.len())
        .step_by(step)
        .map(|length| Alteration::Cut { length })
        .collect()
}

/// What is put behind the end.
fn tails(bytes: &[u8]) -> Vec<Alteration> {
    let page = 16_384;
    let tails = [
        vec![0],
        b"\n".to_vec(),
        b"{}\n".to_vec(),
        vec![0; 511],
        vec![0; page],
        vec![0xff; page],
        bytes[bytes.len().saturating_sub(page)..].to_vec(),
        bytes[bytes.len().saturating_sub(700)..].to_vec(),
        bytes.to_vec(),
    ];
    tails.map(Alteration::Append).to_vec()
}

#[test]
fn no_bit_of_an_export_of_20_events_can_be_turned() {
    let subject = Subject::export("bits of an export of 20 events", 20);
    let tally = subject.alter(some_of(every_bit(&subject.bytes), 211), Blind::Nothing);
    tally.tell();
    assert_eq!(tally.accepted(), 0, "{:?}", tally.first_accepted());
}

#[test]
fn no_byte_of_an_export_of_200_events_can_be_changed() {
    let subject = Subject::export("bytes of an export of 200 events", LONGEST);
    let tally = subject.alter(some_of(every_byte(&subject.bytes), 1333), Blind::Nothing);
    tally.tell();
    assert_eq!(tally.accepted(), 0, "{:?}", tally.first_accepted());
}

#[test]
fn an_export_is_neither_cut_nor_continued_nor_shuffled() {
    let subject = Subject::export("an export of 20 events, cut and shuffled", 20);
    let mut alterations = some_of(lengths(&subject.bytes, 1), 97);
    alterations.extend(tails(&subject.bytes));
    alterations.extend(subject.lines_moved());
    let tally = subject.alter(alterations, Blind::Nothing);
    tally.tell();
    // Without one of its captures it is the same ledger still.
    tally.assert_nothing_else_accepted();
}

#[test]
fn no_bit_of_a_file_of_20_events_makes_another_ledger_of_it() {
    let subject = Subject::file("bits of a file of 20 events", 20);
    let tally = subject.alter(some_of(every_bit(&subject.bytes), 3001), Blind::Nothing);
    tally.tell();
    tally.assert_nothing_else_accepted();
}

#[test]
fn no_byte_of_a_file_of_200_events_makes_another_ledger_of_it() {
    let subject = Subject::file("bytes of a file of 200 events", LONGEST);
    let tally = subject.alter(some_of(every_byte(&subject.bytes), 1333), Blind::Nothing);
    tally.tell();
    tally.assert_nothing_else_accepted();
}

#[test]
fn a_file_is_neither_cut_nor_continued() {
    let subject = Subject::file("a file of 200 events, cut and continued", LONGEST);
    let pages = Pages::of(&subject.bytes);
    let mut alterations = pages.cut();
    alterations.extend(some_of(lengths(&subject.bytes, 61), 97));
    alterations.extend(tails(&subject.bytes));
    alterations.extend(pages.continued());
    let tally = subject.alter(alterations, Blind::Nothing);
    tally.tell();
    tally.assert_nothing_else_accepted();
}

#[test]
fn the_pages_of_a_file_are_neither_swapped_nor_repeated_nor_blanked() {
    let subject = Subject::file("a file of 200 events, its pages moved", LONGEST);
    let pages = Pages::of(&subject.bytes);
    let mut alterations = some_of(pages.moved(), 7);
    alterations.extend(pages.fewer_cells());
    let tally = subject.alter(alterations, Blind::Nothing);
    tally.tell();
    tally.assert_nothing_else_accepted();
}

/// A page of an older copy is a page of ours, and with enough pages of another file a file is that
/// other one. So what was written down of its head is held to it; without that only a ledger passes
/// that somebody signed: an older one, or the other one.
#[test]
fn a_file_is_not_spliced_with_another() {
    let subject = Subject::file("a file of 200 events, with pages of others", LONGEST);
    let pages = Pages::of(&subject.bytes);
    let mut alterations = Vec::new();
    for events in [LONGEST - 1, LONGEST - 20, LONGEST / 2, 20] {
        let older = pages.spliced(&Subject::file("older", events).bytes);
        alterations.extend(some_of(older, 3));
    }
    let others = pages.spliced(&Subject::stranger(LONGEST).bytes);
    alterations.extend(some_of(others, 3));
    let known = subject.clone().expecting_its_head();
    let tally = known.alter(alterations.clone(), Blind::Nothing);
    tally.tell();
    tally.assert_nothing_else_accepted();
    subject.alter(alterations, Blind::Nothing).assert_genuine();
}

/// The harness sees what a verifier lets through that looks at no signature, or at no page.
#[test]
fn a_verifier_that_is_blind_is_caught() {
    let subject = Subject::export("an export, signatures unseen", 20);
    let changes = every_bit(&subject.bytes).into_iter().step_by(5003);
    let tally = subject.alter(changes.collect(), Blind::Signatures);
    assert!(tally.accepted() > 0, "an export");

    let subject = Subject::file("a file, signatures unseen", 20);
    let changes = every_byte(&subject.bytes).into_iter().step_by(211);
    let tally = subject.alter(changes.collect(), Blind::Signatures);
    assert!(tally.otherwise_accepted() > 0, "a file");

    let subject = Subject::file("a file, damage unseen", LONGEST);
    let fewer = Pages::of(&subject.bytes).fewer_cells();
    let tally = subject.alter(fewer, Blind::Damage);
    tally.tell();
    assert!(tally.otherwise_accepted() > 0, "its pages");
}

#[test]
fn the_regions_of_a_file_are_told_apart() {
    let subject = Subject::file("regions", LONGEST);
    let mut parts: Vec<Part> = regions(&subject.bytes);
    assert_eq!(parts.len(), subject.bytes.len());
    parts.sort_unstable();
    parts.dedup();
    for part in [Part::PageHeader, Part::Cells, Part::Unallocated] {
        assert!(parts.contains(&part), "{part:?} in {parts:?}");
    }
}
