//! What somebody does to a ledger's file who has the file alone, and no key.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers do not have"
)]

use rusqlite::Connection;
use std::path::Path;

/// Size of a ledger's pages, in bytes.
pub const PAGE: usize = 16_384;

/// Does something to a file behind its triggers' back, and leaves the schema as it was.
pub fn without_triggers<T>(file: &Path, work: impl FnOnce(&Connection) -> T) -> T {
    let file = Connection::open(file).unwrap();
    let triggers: Vec<(String, String)> = file
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(!triggers.is_empty());
    for (name, _) in &triggers {
        file.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let done = work(&file);
    for (_, sql) in &triggers {
        file.execute_batch(sql).unwrap();
    }
    done
}

/// A rollback journal that turns a file into `old` (SQLite file format, section 3).
pub fn journal(old: &[u8]) -> Vec<u8> {
    let pages = u32::try_from(old.len() / PAGE).unwrap();
    let nonce: u32 = 0x1234_5678;
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [pages, nonce, pages, 512, u32::try_from(PAGE).unwrap()] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    for (number, page) in (1_u32..).zip(old.chunks(PAGE)) {
        journal.extend(number.to_be_bytes());
        journal.extend(page);
        let mut sum = nonce;
        let mut at = PAGE - 200;
        while at > 0 {
            sum = sum.wrapping_add(u32::from(page[at]));
            at = at.saturating_sub(200);
        }
        journal.extend(sum.to_be_bytes());
    }
    journal
}
