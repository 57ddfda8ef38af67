//! Checkpoints, proofs and witnesses: the frozen vectors, every alteration of a proof, and the whole
//! circuit with real programs.
//!
//! `HANDOFF_WRITE_VECTORS=1 cargo test --test proofs the_committed` writes the vectors in
//! `tests/proof_vectors`, and their index in `ledger-format.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::print_stdout,
    reason = "helpers of tests are tests"
)]
#![allow(missing_docs, reason = "helpers say by their names what they do")]

mod altered;
mod circuit;
#[path = "../cli_support/mod.rs"]
mod cli_support;
mod made;
mod merkle;
mod refused;
mod remembered;
mod unproven;
mod vectors;
mod witness;
