//! Reading rows, every value's type checked, and what SQLite's errors mean.

use super::{Capture, Record, StoreError};
use crate::types::{Digest, INTEGER_MAX, Seq};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, ffi};
use std::time::Duration;

/// What an error of SQLite's means; `waited` is how long the connection waits for a lock.
pub(super) fn fault(error: rusqlite::Error, waited: Duration) -> StoreError {
    let detail = error.to_string();
    let Some(code) = error.sqlite_error() else {
        return StoreError::Storage { detail };
    };
    match code.extended_code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => StoreError::Busy {
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        },
        ffi::SQLITE_FULL => StoreError::Full { detail },
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_TOOBIG => {
            StoreError::Storage { detail }
        }
        ffi::SQLITE_INTERRUPT => StoreError::Storage {
            detail: "reading it takes longer than its size can explain".to_owned(),
        },
        ffi::SQLITE_CONSTRAINT => StoreError::Guarded { detail },
        // Our statements are fixed: one that does not compile meets another schema, and one that
        // is aborted meets more of it than is read.
        ffi::SQLITE_ERROR | ffi::SQLITE_ABORT => StoreError::Schema {
            expected: "the released tables".to_owned(),
            found: detail,
        },
        _ => StoreError::Io {
            doing: "read or write the file",
            detail,
        },
    }
}

/// What SQLite finds wrong with the pages of a database whose schema was compared before, at most
/// `most` lines of it.
pub(super) fn quick_check(
    connection: &Connection,
    most: usize,
) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({most})"))?;
    let lines = statement.query_map([], |row| row.get(0))?;
    let lines = lines.collect::<Result<Vec<String>, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// A connection as a reader of the ledger's tables.
pub(super) struct Rows<'a> {
    /// Where the tables are.
    pub(super) connection: &'a Connection,
    /// How long the connection waits for a lock.
    pub(super) wait: Duration,
}

impl Rows<'_> {
    /// See [`super::Read::head`].
    pub(super) fn head(&self) -> Result<Option<(Seq, Record)>, StoreError> {
        let sql = "SELECT seq, record FROM event ORDER BY seq DESC LIMIT 1";
        self.first(sql, [], event)
    }

    /// See [`super::Read::get`].
    pub(super) fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError> {
        let Ok(row) = row_id(seq) else {
            return Ok(None);
        };
        let sql = "SELECT record FROM event WHERE seq = ?1";
        self.first(sql, [row], |row| Ok(Record(blob(row, 0, "record")?)))
    }

    /// See [`super::Read::scan`]. From 0 on, rows below it are met too, as the fault they are.
    pub(super) fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError> {
        let lowest = match from {
            Seq::ZERO => i64::MIN,
            from => row_id(from)?,
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT seq, record FROM event WHERE seq >= ?1 ORDER BY seq LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql).map_err(self.fault())?;
        let mut rows = statement.query([lowest, limit]).map_err(self.fault())?;
        let mut found: Vec<(Seq, Record)> = Vec::new();
        loop {
            let next = match rows.next() {
                Ok(None) => return Ok(found),
                Ok(Some(row)) => event(row),
                Err(error) => Err(fault(error, self.wait)),
            };
            let newest = found.last().map(|(seq, _)| *seq);
            match next.and_then(|row| ascending(newest, from, row)) {
                Ok(row) => found.push(row),
                Err(error) if found.is_empty() => return Err(error),
                Err(_) => return Ok(found),
            }
        }
    }

    /// See [`super::Read::capture`].
    pub(super) fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError> {
        let sql = "SELECT salt, bytes FROM capture WHERE commitment = ?1";
        self.first(sql, [commitment.0], |row| {
            let salt = blob(row, 0, "salt")?;
            Ok(Capture {
                commitment: *commitment,
                salt: salt.try_into().map_err(|_| mistyped("salt"))?,
                bytes: match value(row, 1)? {
                    ValueRef::Null => None,
                    ValueRef::Blob(bytes) => Some(bytes.to_vec()),
                    ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => {
                        return Err(mistyped("bytes"));
                    }
                },
            })
        })
    }

    /// That every capture is as long as the format has it. Only lengths are read for this: looking
    /// a capture up reads those on the way to it whole, and SQLite checks nothing about a row of a
    /// file that is open for reading alone.
    pub(super) fn check_captures(&self) -> Result<(), StoreError> {
        let sql = "SELECT 1 FROM capture WHERE length(commitment) <> 32 OR length(salt) <> 16 \
                   OR length(bytes) > 65536 LIMIT 1";
        match self.first(sql, [], |_| Ok(()))? {
            None => Ok(()),
            Some(()) => Err(StoreError::Storage {
                detail: "a capture's commitment, salt or bytes have another length".to_owned(),
            }),
        }
    }

    /// What `read` makes of the first row that `sql` answers.
    fn first<T, P, F>(&self, sql: &str, params: P, read: F) -> Result<Option<T>, StoreError>
    where
        P: rusqlite::Params,
        F: FnOnce(&Row<'_>) -> Result<T, StoreError>,
    {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.fault())?;
        let mut rows = statement.query(params).map_err(self.fault())?;
        rows.next().map_err(self.fault())?.map(read).transpose()
    }

    fn fault(&self) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let wait = self.wait;
        move |error| fault(error, wait)
    }
}

/// The row number of a seq.
pub(super) fn row_id(seq: Seq) -> Result<i64, StoreError> {
    match i64::try_from(seq.0) {
        Ok(row) if seq.0 <= INTEGER_MAX => Ok(row),
        _ => Err(StoreError::Storage {
            detail: format!("seq {seq} is larger than {INTEGER_MAX}"),
        }),
    }
}

/// The row, if it comes after `newest` and not before `from`; a damaged page can hold any order.
fn ascending(
    newest: Option<Seq>,
    from: Seq,
    row: (Seq, Record),
) -> Result<(Seq, Record), StoreError> {
    if row.0 < from || newest.is_some_and(|newest| row.0 <= newest) {
        return Err(StoreError::Storage {
            detail: format!("seq {} stands where a higher one belongs", row.0),
        });
    }
    Ok(row)
}

fn event(row: &Row<'_>) -> Result<(Seq, Record), StoreError> {
    Ok((seq(row, 0)?, Record(blob(row, 1, "record")?)))
}

/// The seq in a column.
pub(super) fn seq(row: &Row<'_>, column: usize) -> Result<Seq, StoreError> {
    let ValueRef::Integer(number) = value(row, column)? else {
        return Err(mistyped("seq"));
    };
    match u64::try_from(number) {
        Ok(number) if number <= INTEGER_MAX => Ok(Seq(number)),
        _ => Err(StoreError::Storage {
            detail: format!("seq {number} is outside 0 to {INTEGER_MAX}"),
        }),
    }
}

/// The bytes in a column.
pub(super) fn blob(row: &Row<'_>, column: usize, name: &str) -> Result<Vec<u8>, StoreError> {
    match value(row, column)? {
        ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => {
            Err(mistyped(name))
        }
    }
}

fn value<'a>(row: &'a Row<'_>, column: usize) -> Result<ValueRef<'a>, StoreError> {
    row.get_ref(column).map_err(|error| StoreError::Storage {
        detail: error.to_string(),
    })
}

fn mistyped(column: &str) -> StoreError {
    StoreError::Storage {
        detail: format!("a value of column {column} is of another type or length"),
    }
}
