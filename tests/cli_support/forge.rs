//! A writer that keeps no rule: validly signed records put straight into the ledger file.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions,
    reason = "the lints know tests by their attribute, which helpers do not have"
)]

use handoff_ledger::event::{Body, Event};
use handoff_ledger::format;
use handoff_ledger::key::SigningKey;
use handoff_ledger::store::Record;
use handoff_ledger::types::{Leaf, Seq};
use rusqlite::Connection;
use std::path::Path;

/// The ledger file, open to somebody who holds a key and writes what he likes.
pub struct Forger {
    file: Connection,
}

impl Forger {
    pub fn of(ledger: &Path) -> Forger {
        Forger {
            file: Connection::open(ledger).unwrap(),
        }
    }

    fn last(&self) -> (Seq, Record) {
        let sql = "SELECT seq, record FROM event ORDER BY seq DESC LIMIT 1";
        let row = self.file.query_row(sql, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
        });
        let (seq, record) = row.unwrap();
        (Seq(seq.try_into().unwrap()), Record(record))
    }

    /// The newest event of a kind.
    pub fn newest(&self, kind: &str) -> Event {
        let sql = "SELECT record FROM event ORDER BY seq DESC";
        let mut rows = self.file.prepare(sql).unwrap();
        let records = rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        records
            .map(|record| format::decode(Record(record.unwrap()).event_bytes().unwrap()).unwrap())
            .find(|event| event.body.kind() == kind)
            .unwrap_or_else(|| panic!("no {kind}"))
    }

    /// The event at a position.
    pub fn at(&self, seq: Seq) -> Event {
        let sql = "SELECT record FROM event WHERE seq = ?1";
        let record = self.file.query_row(sql, [seq.0 as i64], |row| row.get(0));
        format::decode(Record(record.unwrap()).event_bytes().unwrap()).unwrap()
    }

    /// A well-formed event that would come next.
    pub fn draft(&self, key: &SigningKey, session: Seq, body: Body) -> Event {
        let (seq, record) = self.last();
        let before = format::decode(record.event_bytes().unwrap()).unwrap();
        Event {
            seq: seq.next(),
            prev: record.leaf(),
            key: key.public(),
            session,
            time: before.time,
            body,
        }
    }

    /// Signs and appends what would come next.
    pub fn append(&self, key: &SigningKey, session: Seq, body: impl Into<Body>) -> Seq {
        let event = self.draft(key, session, body.into());
        self.insert(event.seq, &signed(key, &event));
        event.seq
    }

    /// Does all of `work` in one transaction.
    pub fn together(&self, work: impl FnOnce()) {
        self.file.execute_batch("BEGIN").unwrap();
        work();
        self.file.execute_batch("COMMIT").unwrap();
    }

    /// Appends a record as it is.
    pub fn insert(&self, seq: Seq, record: &[u8]) {
        let seq = seq.0 as i64;
        let sql = "INSERT INTO event (seq, record) VALUES (?1, ?2)";
        self.file.execute(sql, (seq, record)).unwrap();
    }
}

/// The record of an event: signature and bytes.
pub fn signed(key: &SigningKey, event: &Event) -> Vec<u8> {
    let bytes = format::encode(event).unwrap();
    let mut record = key.sign(&bytes).to_vec();
    record.extend(bytes);
    record
}

/// No event.
pub const NOWHERE: Leaf = Leaf::ZERO;
