//! What lives outside the ledger: keys, pins, folders, the scope, the clock, randomness.
//!
//! ```text
//!  paths.rs   which folders, which ledger, which root          clock.rs   the time, random bytes
//!  keys.rs    files of keys ───────────┬─▶ key_text.rs         scope.rs   where a session runs
//!  pins.rs    whose ledgers to trust ──┴─▶ files.rs   read whole, written whole
//!  view.rs    the index of a ledger ──────▶ memory.rs  what outlives it
//!                                          surroundings.rs   file systems, and who may write
//! ```

pub mod clock;
mod files;
pub mod key_text;
pub mod keys;
pub mod memory;
pub mod paths;
pub mod pins;
pub mod scope;
pub mod surroundings;
pub mod view;

pub use files::{FileError, FileKind};
