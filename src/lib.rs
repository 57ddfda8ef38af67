//! The ledger through which agent sessions hand conclusions to their successors.
//!
//! ```text
//!  command ──decide──▶ event ──append──▶ record ──chain──▶ verified event ──fold──▶ state
//!     ▲                  │                  │                                         │
//!   a caller          format.rs          store/                                  verdict.rs
//!   (cli/)          bytes ◀▶ event    opaque bytes                          what may be acted on
//! ```
//!
//! A file directly under `src/` is pure: no clock, no randomness, no file, no process, no printing.
//! A folder touches the world. `ledger-format.md` is the normative text of the format.

pub mod check;
pub mod comparator;
pub mod env_name;
pub mod expectation;
pub mod hash;
pub mod key;
pub mod outcome;
pub mod probe_spec;
pub mod success;
pub mod types;
pub mod vacuous;
pub mod version;

pub mod home;
pub mod probe;
pub mod store;
