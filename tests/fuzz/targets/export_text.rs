//! The text of an export, as a file.
#![no_main]

mod broken;
#[path = "../../support/judge.rs"]
mod judge;
#[path = "../properties.rs"]
mod properties;
mod scratch;
#[path = "../../support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use scratch::SCRATCH;

fuzz_target!(|data: &[u8]| {
    let path = SCRATCH.put(data);
    let judged = judge::judge(&path, &SCRATCH.way);
    properties::export_text(data, &judged, &SCRATCH.known);
    properties::same_verdict(data, &path, &judged, &SCRATCH.way);
});
