//! The ledger through which agent sessions hand conclusions to their successors.
//!
//! ```text
//!  command ──decide──▶ event ──append──▶ record ──chain──▶ verified event ──fold──▶ state
//!     ▲                  │                  │                                         │
//!   a caller          format.rs          store/                                  judge.rs
//!   (cli/)          bytes ◀▶ event    opaque bytes                          what may be acted on
//! ```
//!
//! A file directly under `src/` is pure: no clock, no randomness, no file, no process, no printing.
//! A folder touches the world. `ledger-format.md` is the normative text of the format.

mod admissible;
pub mod append;
pub mod bodies;
mod body_checks;
pub mod boundary;
pub mod catch_up;
pub mod chain;
pub mod check;
pub mod checkpoint;
pub mod command;
pub mod command_claims;
pub mod comparator;
pub mod credential;
mod demand;
pub mod duration;
pub mod env_name;
pub mod event;
pub mod expectation;
pub mod export;
pub mod facts;
pub mod fold;
pub mod format;
pub mod gate;
pub mod hash;
pub mod judge;
pub mod kept;
pub mod key;
mod lineage;
pub mod lists;
pub mod merkle;
pub mod merkle_proof;
pub mod note;
pub mod observation;
pub mod outcome;
pub mod preset;
pub mod probe_spec;
pub mod proof;
pub mod proof_report;
pub mod refusal;
pub mod resolve;
pub mod reverify;
pub mod rules;
mod rules_claims;
mod rules_evidence;
pub mod slice;
mod slice_closure;
mod standing;
pub mod state;
pub mod success;
pub mod types;
pub mod vacuous;
pub mod verdict;
pub mod verifier_key;
pub mod verify;
mod verify_report;
pub mod version;
pub mod witness;

pub mod cli;
pub mod home;
pub mod hooks;
pub mod mcp;
pub mod probe;
pub mod store;

/// The code of the README is run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
