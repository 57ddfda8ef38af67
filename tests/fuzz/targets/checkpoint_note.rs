//! A signed note, such as a checkpoint.
#![no_main]

#[path = "../notes.rs"]
mod notes;
#[path = "../../support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static KNOWN: LazyLock<notes::Known> = LazyLock::new(notes::Known::new);

#[cfg(not(feature = "broken"))]
use handoff_ledger::note::Note;

/// A reader that forgives space at the end.
#[cfg(feature = "broken")]
struct Note;

#[cfg(feature = "broken")]
impl Note {
    fn parse(
        bytes: &[u8],
    ) -> Result<handoff_ledger::note::Note, handoff_ledger::note::NoteError> {
        let text = [bytes.trim_ascii_end(), b"\n"].concat();
        handoff_ledger::note::Note::parse(&text)
    }
}

fuzz_target!(|data: &[u8]| notes::note(data, &KNOWN, Note::parse));
