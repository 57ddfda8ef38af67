//! `handoff mcp`, driven over its standard streams: by a client of our own here, by the official
//! Python SDK in `foreign.rs`.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

mod bounds;
mod calls;
#[path = "../cli_support/mod.rs"]
mod cli_support;
mod client;
mod ends;
mod foreign;
mod messages;
mod story;
