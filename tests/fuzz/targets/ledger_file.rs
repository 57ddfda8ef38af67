//! The bytes of a ledger file, opened as evidence.
#![no_main]

mod broken;
#[path = "../../support/judge.rs"]
mod judge;
#[path = "../properties.rs"]
mod properties;
mod scratch;
#[path = "../../support/mod.rs"]
mod support;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use scratch::SCRATCH;

fuzz_target!(|data: &[u8]| {
    let path = SCRATCH.put(data);
    let judged = judge::judge(&path, &SCRATCH.way);
    properties::ledger_file(&judged, &SCRATCH.known);
    properties::same_verdict(data, &path, &judged, &SCRATCH.way);
});

// Nearly all files that are altered anywhere in the magic bytes are told from a ledger at once:
// mostly they are put back, and the length in the header made to fit.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    if seed % 8 != 0 && size > 100 {
        data[..16].copy_from_slice(b"SQLite format 3\0");
        data[18..20].copy_from_slice(&[1, 1]);
        data[56..60].copy_from_slice(&[0, 0, 0, 1]);
        data[60..64].copy_from_slice(&[0, 0, 0, 1]);
        data[68..72].copy_from_slice(b"hndf");
        let page = usize::from(u16::from_be_bytes([data[16], data[17]])).max(1);
        if seed % 8 > 2 {
            let pages = u32::try_from(size / page).unwrap_or(u32::MAX);
            data[28..32].copy_from_slice(&pages.to_be_bytes());
        }
    }
    size
});
