//! The bytes of one event.
#![no_main]

#[path = "../../support/judge.rs"]
mod judge;
#[path = "../properties.rs"]
mod properties;
#[path = "../../support/mod.rs"]
mod support;

use handoff_ledger::state::State;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static BEFORE: LazyLock<State> = LazyLock::new(|| support::ledger::Made::of(60).state());

#[cfg(not(feature = "broken"))]
use handoff_ledger::format::decode;

/// A decoder that forgives a space at the end.
#[cfg(feature = "broken")]
fn decode(
    bytes: &[u8],
) -> Result<handoff_ledger::event::Event, handoff_ledger::format::DecodeError> {
    handoff_ledger::format::decode(bytes.trim_ascii_end())
}

fuzz_target!(|data: &[u8]| properties::event_bytes(data, &BEFORE, decode));
