//! The rules of the design, each both ways: what is permitted, and what is refused and why.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

#[path = "../support/mod.rs"]
mod support;

mod admissible;
mod claims;
mod evidence;
mod holes;
mod keys;
mod refusals;
mod sessions;
mod signers;
mod verdicts;
