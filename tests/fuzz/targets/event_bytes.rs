//! The bytes of one event.
#![no_main]

mod broken;
#[path = "../../support/judge.rs"]
mod judge;
#[path = "../properties.rs"]
mod properties;
#[path = "../../support/mod.rs"]
mod support;

use broken::BROKEN;
use handoff_ledger::event::Event;
use handoff_ledger::format::{self, DecodeError};
use handoff_ledger::state::State;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static BEFORE: LazyLock<State> = LazyLock::new(|| support::ledger::Made::of(60).state());

fn decode(bytes: &[u8]) -> Result<Event, DecodeError> {
    match *BROKEN {
        // Space at the end is forgiven.
        true => format::decode(bytes.trim_ascii_end()),
        false => format::decode(bytes),
    }
}

fuzz_target!(|data: &[u8]| properties::event_bytes(data, &BEFORE, decode));
