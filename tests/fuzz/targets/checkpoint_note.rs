//! A signed note, such as a checkpoint.
#![no_main]

mod broken;
#[path = "../notes.rs"]
mod notes;
#[path = "../../support/mod.rs"]
mod support;

use broken::BROKEN;
use handoff_ledger::note::{Note, NoteError};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static KNOWN: LazyLock<notes::Known> = LazyLock::new(notes::Known::new);

fn parse(bytes: &[u8]) -> Result<Note, NoteError> {
    match *BROKEN {
        // Space at the end is forgiven.
        true => Note::parse(&[bytes.trim_ascii_end(), b"\n"].concat()),
        false => Note::parse(bytes),
    }
}

fuzz_target!(|data: &[u8]| notes::note(data, &KNOWN, parse));
