//! What lives outside the ledger: keys, pins, folders, the scope, the clock, randomness.
//!
//! ```text
//!  paths.rs   which folders, which ledger, which root          clock.rs   the time, random bytes
//!  keys.rs    files of keys ───────────┬─▶ key_text.rs         scope.rs   where a session runs
//!  pins.rs    whose ledgers to trust ──┼─▶ files.rs   read whole, written whole
//!  witness.rs what was seen of ledgers ┤                  surroundings.rs   who may write where
//!  view.rs    the index of a ledger ───┴─▶ memory.rs  what outlives it
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
pub mod witness;

pub use files::{FileError, FileKind, LockError, read_given, write_new};
