//! The text of a key.
#![no_main]

#[path = "../../support/judge.rs"]
mod judge;
#[path = "../properties.rs"]
mod properties;

use libfuzzer_sys::fuzz_target;

#[cfg(not(feature = "broken"))]
use handoff_ledger::home::key_text::public;

/// A reader that takes any 64 digits for a key.
#[cfg(feature = "broken")]
fn public(
    bytes: &[u8],
) -> Result<handoff_ledger::types::PublicKey, handoff_ledger::home::key_text::KeyTextError> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    match text.trim_end().parse() {
        Ok(key) => Ok(key),
        Err(_) => handoff_ledger::home::key_text::public(bytes),
    }
}

fuzz_target!(|data: &[u8]| properties::key_text(data, public));
