//! The text of a key.
#![no_main]

mod broken;
#[path = "../../support/judge.rs"]
mod judge;
#[path = "../properties.rs"]
mod properties;

use broken::BROKEN;
use handoff_ledger::home::key_text::{self, KeyTextError};
use handoff_ledger::types::PublicKey;
use libfuzzer_sys::fuzz_target;

fn public(bytes: &[u8]) -> Result<PublicKey, KeyTextError> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    match text.trim_end().parse() {
        // Any 64 digits are taken for a key.
        Ok(key) if *BROKEN => Ok(key),
        Ok(_) | Err(_) => key_text::public(bytes),
    }
}

fuzz_target!(|data: &[u8]| properties::key_text(data, public));
