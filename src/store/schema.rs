//! What makes a file one of our ledgers: its header, its version, and its schema, text for text.

use super::StoreError;
use super::rows::fault;
use crate::types::CAPTURE_BYTES_MAX;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// The four bytes `hndf` in the header's application id (SQLite file format, section 1.3).
pub(super) const APPLICATION_ID: i32 = 0x686e_6466;
/// The migrations in order; a file's user_version is how many were applied to it.
const MIGRATIONS: [&str; 1] = [include_str!("../../migrations/0001_ledger.sql")];
/// The newest version that this program knows.
pub(super) const KNOWN_VERSION: i64 = 1;
/// Length of SQLite's file header, in bytes.
const HEADER_BYTES: usize = 100;
/// How SQLite's word begins about rows of the schema that it cannot use (corruptSchema in its
/// prepare.c); the code alone is that of any damaged page.
const MALFORMED: &str = "malformed database schema";
/// Most of an object's SQL that is quoted in an error, in characters.
const QUOTED_CHARACTERS_MAX: usize = 300;

/// Largest value or row, in bytes: a capture at its largest, with room for the row around it.
const LIMIT_LENGTH: usize = CAPTURE_BYTES_MAX + 4096;
/// Longest statement, in bytes; the schema's are read back through the parser.
const LIMIT_SQL_LENGTH: i32 = 16_384;
/// Most tables, indexes and triggers. Ours are fewer; a hostile file's do not all get parsed.
const LIMIT_SCHEMA: i32 = 32;
/// Deepest expression; ours nest less.
const LIMIT_EXPRESSION_DEPTH: i32 = 20;
/// Most columns; ours have fewer.
const LIMIT_COLUMN: i32 = 100;
/// Most instructions of one statement; ours need fewer.
const LIMIT_INSTRUCTIONS: i32 = 25_000;

/// What stands in the first hundred bytes of one of our ledgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    user_version: u32,
    page_bytes: u32,
    pages: u32,
    write_version: u8,
    read_version: u8,
    encoding: u32,
    /// The first field that no ledger has as it is, and its offset.
    odd: Option<(usize, &'static str)>,
}

/// Fields of the header that are the same in every ledger: offset, bytes, what they say.
const FIXED: [(usize, &[u8], &str); 6] = [
    (20, &[0], "reserved bytes of a page"),
    (21, &[64, 32, 32], "payload fractions"),
    (44, &[0, 0, 0, 4], "schema format"),
    (48, &[0; 8], "cache size and auto-vacuum"),
    (64, &[0; 4], "incremental vacuum"),
    (72, &[0; 20], "reserved for expansion"),
];

impl Header {
    /// Reads the header that `file`, opened at `path`, starts with.
    pub(super) fn read(path: &Path, file: &mut File) -> Result<Header, StoreError> {
        let mut bytes = [0; HEADER_BYTES];
        let parsed = match file.read_exact(&mut bytes) {
            Ok(()) => Header::parse(&bytes),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err("it is too short for an SQLite file".to_owned())
            }
            Err(error) => return Err(StoreError::io("read the file", &error)),
        };
        parsed.map_err(|reason| StoreError::NotALedger {
            path: path.into(),
            reason,
        })
    }

    /// An error says what the file is instead of one of our ledgers.
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Header, String> {
        if !bytes.starts_with(b"SQLite format 3\0") {
            return Err("it is not an SQLite file".to_owned());
        }
        let application_id = u32_at(bytes, 68);
        if application_id != APPLICATION_ID.unsigned_abs() {
            return Err(format!(
                "it is an SQLite file with application id {application_id:#010x}, \
                 not {APPLICATION_ID:#010x}"
            ));
        }
        Ok(Header {
            user_version: u32_at(bytes, 60),
            // 1 stands for 65,536 (SQLite file format, section 1.3.2).
            page_bytes: match u32_at(bytes, 14) & 0xffff {
                1 => 65_536,
                other => other,
            },
            pages: u32_at(bytes, 28),
            write_version: byte_at(bytes, 18),
            read_version: byte_at(bytes, 19),
            encoding: u32_at(bytes, 56),
            odd: FIXED.iter().find_map(|(at, fixed, what)| {
                let found = bytes.get(*at..)?.starts_with(fixed);
                (!found).then_some((*at, *what))
            }),
        })
    }

    /// Whether a ledger of this program can have this header.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if i64::from(self.user_version) > KNOWN_VERSION {
            return Err(StoreError::Newer {
                user_version: i64::from(self.user_version),
                known: KNOWN_VERSION,
            });
        }
        if (self.write_version, self.read_version) != (1, 1) {
            return Err(StoreError::Storage {
                detail: format!(
                    "its header says journal versions {}, {} where a ledger has 1, 1 \
                     (2 is WAL: `PRAGMA journal_mode=DELETE` undoes it)",
                    self.write_version, self.read_version
                ),
            });
        }
        if !self.page_bytes.is_power_of_two() || self.page_bytes < 512 || self.encoding != 1 {
            return Err(StoreError::Storage {
                detail: format!(
                    "its header says pages of {} bytes and text encoding {}",
                    self.page_bytes, self.encoding
                ),
            });
        }
        if let Some((at, what)) = self.odd {
            return Err(StoreError::Storage {
                detail: format!("its header has {what} at offset {at} that no ledger has"),
            });
        }
        Ok(())
    }

    /// How long the file should be, in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        u64::from(self.page_bytes) * u64::from(self.pages)
    }
}

fn byte_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

fn u32_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    u32::from_be_bytes(four.copied().unwrap_or_default())
}

/// Opens the database at an absolute path, with everything off that a hostile file could use.
/// `flags` says whether it may be written to or created.
pub(super) fn connect(
    path: &Path,
    flags: OpenFlags,
    wait: Duration,
) -> Result<Connection, StoreError> {
    // NOFOLLOW: the path was resolved; a link in it now was put there since.
    let flags = flags
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| fault(e, wait))?;
    harden(&connection, wait).map_err(|error| fault(error, wait))?;
    Ok(connection)
}

fn harden(connection: &Connection, wait: Duration) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(wait)?;
    for (limit, most) in [
        (
            Limit::SQLITE_LIMIT_LENGTH,
            i32::try_from(LIMIT_LENGTH).unwrap_or(i32::MAX),
        ),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, LIMIT_SQL_LENGTH),
        (Limit::SQLITE_LIMIT_SCHEMA, LIMIT_SCHEMA),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, LIMIT_EXPRESSION_DEPTH),
        (Limit::SQLITE_LIMIT_COLUMN, LIMIT_COLUMN),
        (Limit::SQLITE_LIMIT_VDBE_OP, LIMIT_INSTRUCTIONS),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        // Should a foreign WAL slip in after all, closing does not fold it into the file.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(setting, on)?;
    }
    connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;")
}

/// A row of `sqlite_schema`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: Option<String>,
    root: Root,
}

/// Where an object's rows begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    /// It has none: page 0.
    Nowhere,
    /// On a page after the first, which is the schema's own; files differ in which.
    Page,
}

impl Object {
    fn quoted(&self) -> String {
        let sql = self.sql.as_deref().unwrap_or("(no text)");
        let start: String = sql.chars().take(QUOTED_CHARACTERS_MAX).collect();
        format!("{:?} {:?}: {start:?}", self.kind, self.name)
    }
}

fn objects(connection: &Connection) -> Result<Vec<Object>, rusqlite::Error> {
    let mut statement = connection
        .prepare_cached("SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| {
        Ok(Object {
            kind: row.get(0)?,
            name: row.get(1)?,
            table: row.get(2)?,
            sql: row.get(3)?,
            root: match row.get(4)? {
                0 => Root::Nowhere,
                2.. => Root::Page,
                odd => return Err(rusqlite::Error::IntegralValueOutOfRange(4, odd)),
            },
        })
    })?;
    let mut objects = rows.collect::<Result<Vec<Object>, _>>()?;
    objects.sort();
    Ok(objects)
}

/// The schema that each version of a ledger has, from 1 on, as SQLite itself stores it.
fn released() -> Result<&'static [Vec<Object>], StoreError> {
    static RELEASED: OnceLock<Result<Vec<Vec<Object>>, StoreError>> = OnceLock::new();
    let build = || -> Result<Vec<Vec<Object>>, rusqlite::Error> {
        let scratch = Connection::open_in_memory()?;
        let mut versions = Vec::new();
        for migration in MIGRATIONS {
            scratch.execute_batch(migration)?;
            versions.push(objects(&scratch)?);
        }
        Ok(versions)
    };
    let released = RELEASED.get_or_init(|| build().map_err(|error| fault(error, Duration::ZERO)));
    released.as_deref().map_err(Clone::clone)
}

/// The number that a pragma answers.
pub(super) fn pragma(connection: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Checks a file's application id, its version, and its schema against that version's; answers the
/// version. To be called before a row is believed, and under the lock before one is written.
pub(super) fn check(connection: &Connection, wait: Duration) -> Result<i64, StoreError> {
    let read = |name| pragma(connection, name).map_err(|error| schema_fault(error, wait));
    let application_id = read("application_id")?;
    if application_id != i64::from(APPLICATION_ID) {
        return Err(StoreError::Schema {
            expected: format!("application id {APPLICATION_ID:#010x}"),
            found: format!("{application_id:#010x}"),
        });
    }
    let version = read("user_version")?;
    if version > KNOWN_VERSION {
        return Err(StoreError::Newer {
            user_version: version,
            known: KNOWN_VERSION,
        });
    }
    let wanted = usize::try_from(version.saturating_sub(1))
        .ok()
        .and_then(|place| released().map(|all| all.get(place)).transpose())
        .transpose()?
        .ok_or_else(|| StoreError::Schema {
            expected: format!("version 1 to {KNOWN_VERSION}"),
            found: version.to_string(),
        })?;
    let found = objects(connection).map_err(|error| schema_fault(error, wait))?;
    compare(wanted, &found)?;
    Ok(version)
}

/// What an error of reading the schema means: a value of another kind, or rows that SQLite cannot
/// take for a schema, are another schema.
fn schema_fault(error: rusqlite::Error, wait: Duration) -> StoreError {
    let found = error.to_string();
    if error.sqlite_error().is_none() || found.starts_with(MALFORMED) {
        let expected = "the released tables and triggers".to_owned();
        return StoreError::Schema { expected, found };
    }
    fault(error, wait)
}

fn compare(wanted: &[Object], found: &[Object]) -> Result<(), StoreError> {
    let quoted = |object: Option<&Object>| object.map_or("nothing".to_owned(), Object::quoted);
    let missing = wanted.iter().find(|object| !found.contains(object));
    let extra = found.iter().find(|object| !wanted.contains(object));
    if missing.is_some() || extra.is_some() || wanted.len() != found.len() {
        return Err(StoreError::Schema {
            expected: quoted(missing),
            found: quoted(extra),
        });
    }
    Ok(())
}

/// Applies every migration that a file of `version` lacks. The caller holds the transaction.
pub(super) fn migrate(connection: &Connection, version: i64) -> Result<(), rusqlite::Error> {
    let applied = usize::try_from(version).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(applied) {
        connection.execute_batch(migration)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", KNOWN_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_version_is_the_number_of_migrations() {
        assert_eq!(usize::try_from(KNOWN_VERSION), Ok(MIGRATIONS.len()));
        assert_eq!(released().unwrap().len(), MIGRATIONS.len());
    }

    #[test]
    fn the_application_id_spells_hndf() {
        assert_eq!(&APPLICATION_ID.to_be_bytes(), b"hndf");
    }

    #[test]
    fn a_schema_differs_by_one_letter_case_one_more_or_one_less() {
        let wanted = released().unwrap()[0].as_slice();
        assert_eq!(compare(wanted, wanted), Ok(()));
        assert!(compare(wanted, &wanted[1..]).is_err());
        assert!(compare(&wanted[1..], wanted).is_err());
        let mut twice = wanted.to_vec();
        twice.push(wanted[0].clone());
        assert!(compare(wanted, &twice).is_err());
        let mut other = wanted.to_vec();
        other[0].sql = other[0].sql.as_ref().map(|sql| sql.to_uppercase());
        assert!(compare(wanted, &other).is_err());
    }
}
