//! The commands that read, verify and carry a ledger, driven through the real program.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

mod carried;
mod shown;
mod verified;
mod world;
