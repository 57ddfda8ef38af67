//! What lives outside the ledger: keys, pins, folders, the scope, the clock, randomness.
//!
//! ```text
//!  folders.rs  this person's folders         paths.rs   which ledger, which root
//!  keys.rs     files of keys ──────────┬─▶ key_text.rs       scope.rs   where a session runs
//!  pins.rs     whose ledgers to trust ─┼─▶ files.rs   read whole, written whole
//!  witness.rs  what was seen of ledgers┼─▶ lock.rs    one change at a time
//!  view.rs     the index of a ledger ──┼─▶ memory.rs  what outlives it
//!                                      └─▶ own_files.rs  whose it is, own_word.rs  who wrote it
//!  clock.rs    the time, random bytes        surroundings.rs   who may write where
//! ```

pub mod clock;
mod files;
pub mod folders;
pub mod key_text;
pub mod keys;
mod lock;
pub mod memory;
pub mod own_files;
mod own_word;
pub mod paths;
pub mod pins;
pub mod scope;
pub mod surroundings;
pub mod view;
pub mod witness;

pub use files::{
    FileError, FileKind, Replaceable, read_given, replace, write_in_passing, write_new,
};
pub use lock::LockError;
pub use own_word::{OwnWordError, read_own_word};
