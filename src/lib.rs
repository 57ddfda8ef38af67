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

pub mod hash;
pub mod key;
pub mod probe_spec;
pub mod types;

pub mod cli;
pub mod home;
pub mod probe;
pub mod store;
