//! A file that somebody handed over: hostile until proven, and left as it is (section 8).
//!
//! It is hashed while it is copied into a private folder, and only the copy is opened, so every
//! answer is about the very bytes of [`Evidence::sha256`]. In this order: regular file, raw header,
//! size, schema text for text, pages, rows.

use super::file::{self, Held, side_files};
use super::rows::{Rows, fault, quick_check};
use super::schema::{self, Header};
use super::{Capture, Oversized, Read, Record, StoreError};
use crate::hash::Running;
use crate::types::{Digest, Seq};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::cell::Cell;
use std::fs::File;
use std::io::{Read as _, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Largest file that is examined, in bytes: 16 GiB.
pub const EVIDENCE_BYTES_MAX: u64 = 16 << 30;
/// Most faults of its pages that are listed.
pub const DAMAGE_MAX: usize = 1_000;

/// How much more than its header says a file may hold and still be read to its end, in bytes:
/// SQLite reads past none of it, and a sparse tail can be longer than any disk.
const SURPLUS_BYTES_MAX: u64 = 16 << 20;

/// How much of a file may be holes, in bytes: a ledger is written all through, and what copied it
/// may have left out the zeros of its free pages. A file can tell any length and hold nothing, and
/// the copy would be written out.
const HOLES_BYTES_MAX: u64 = 64 << 20;

/// What any statement may take, however small the file.
const STATEMENT_TIME: Duration = Duration::from_secs(4);
/// For how many bytes of the file a statement may take another second.
const BYTES_PER_SECOND: u64 = 16 << 20;
/// How many instructions SQLite runs between two looks at the clock.
const INSTRUCTIONS_PER_LOOK: i32 = 1_000;
/// Size of the pieces in which the file is copied, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// A private copy of a ledger file, for reading.
#[derive(Debug)]
pub struct Evidence {
    connection: Connection,
    clock: Clock,
    sha256: Option<Digest>,
    bytes: u64,
    sidecars: Vec<PathBuf>,
    /// Why no capture is looked up; `None` if all are as long as they may be.
    captures_refused: Option<StoreError>,
    /// What statements may still take in all, if its pages are damaged: each of many could be made
    /// to take its time.
    left: Option<Cell<Duration>>,
    /// Dropped after the connection, and the copy with it.
    _folder: TempDir,
}

/// Why a file is not taken as evidence, and what is known of it all the same.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub struct EvidenceError {
    /// What is wrong with it.
    pub fault: StoreError,
    /// Whether its header is that of one of our ledgers: then a [`StoreError::Schema`] or
    /// [`StoreError::Storage`] fault means that somebody altered it.
    pub is_ledger_by_header: bool,
    /// SHA-256 of the file, if it was read to its end.
    pub sha256: Option<Digest>,
    /// Its length in bytes, if it is a regular file.
    pub bytes: Option<u64>,
    /// Side files beside it: it may be incomplete.
    pub sidecars: Vec<PathBuf>,
    /// What is wrong with its pages, at most [`DAMAGE_MAX`] lines; empty for any other fault.
    pub damage: Vec<String>,
    /// The file, if only its pages are damaged: its rows can be read up to the first that cannot.
    pub salvage: Option<Box<Evidence>>,
}

/// What is known of a file when a fault is met.
#[derive(Default)]
struct Known {
    is_ledger_by_header: bool,
    sha256: Option<Digest>,
    bytes: Option<u64>,
    sidecars: Vec<PathBuf>,
}

impl Known {
    fn and(self, fault: StoreError) -> EvidenceError {
        EvidenceError {
            fault,
            is_ledger_by_header: self.is_ledger_by_header,
            sha256: self.sha256,
            bytes: self.bytes,
            sidecars: self.sidecars,
            damage: Vec::new(),
            salvage: None,
        }
    }
}

impl Evidence {
    /// Copies the file and examines it. Links in `path` are followed; what they lead to must be a
    /// regular file, and nothing else is opened. Side files are reported, never read.
    ///
    /// # Errors
    /// [`EvidenceError::fault`]: [`StoreError::NotALedger`], [`StoreError::Newer`],
    /// [`StoreError::Schema`], [`StoreError::Storage`] and [`StoreError::TooLarge`] as they say, or
    /// what the system refused.
    pub fn open(path: &Path) -> Result<Evidence, Box<EvidenceError>> {
        let mut known = Known::default();
        let (header, mut evidence) = match Self::examine(path, &mut known) {
            Ok(examined) => examined,
            Err(fault) => return Err(Box::new(known.and(fault))),
        };
        let damage = evidence.damage(header.file_bytes());
        match damage.first().cloned() {
            None => Ok(evidence),
            Some(detail) => {
                evidence.left = Some(Cell::new(evidence.clock.allowed));
                Err(Box::new(EvidenceError {
                    damage,
                    salvage: Some(Box::new(evidence)),
                    ..known.and(StoreError::Storage { detail })
                }))
            }
        }
    }

    /// Everything up to the schema; `known` is filled in on the way.
    fn examine(path: &Path, known: &mut Known) -> Result<(Header, Evidence), StoreError> {
        let path = file::resolve(path)?;
        let (mut file, metadata) = open_unheld(&path)?;
        known.bytes = Some(metadata.len());
        known.sidecars = side_files(&path);
        let header = Header::read(&path, &mut file)?;
        known.is_ledger_by_header = true;
        let surplus = metadata.len().saturating_sub(header.file_bytes());
        let wanted = if surplus > SURPLUS_BYTES_MAX {
            header.file_bytes()
        } else {
            metadata.len()
        };
        let copy = Copy::of(&mut file, wanted, metadata.len())?;
        known.sha256 = copy.sha256;
        // The original may have been changed since: what is opened is the copy.
        let header = copy.header(&path)?;
        header.check()?;
        Ok((header, copy.open(&known.sidecars)?))
    }

    /// SHA-256 of the whole file; `None` if its end was not read, which is damage.
    pub fn sha256(&self) -> Option<Digest> {
        self.sha256
    }

    /// Length of the file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Side files that lie beside the original. What they hold may belong to the ledger, so with
    /// one there the file is incomplete.
    pub fn sidecars(&self) -> &[PathBuf] {
        &self.sidecars
    }

    /// What is wrong with the file's length and pages. The schema was compared before: these checks
    /// would run the code of a hostile one.
    fn damage(&mut self, wanted: u64) -> Vec<String> {
        let mut damage = Vec::new();
        if wanted != self.bytes {
            damage.push(format!(
                "the file is {} bytes long, its header says {wanted}",
                self.bytes
            ));
        }
        self.clock.start();
        match quick_check(&self.connection, DAMAGE_MAX) {
            Ok(lines) => damage.extend(lines),
            Err(error) => damage.push(fault(error, Duration::ZERO).to_string()),
        }
        damage.truncate(DAMAGE_MAX);
        if let Err(refused) = self.read(|rows| rows.check_captures()) {
            damage.truncate(DAMAGE_MAX - 1);
            damage.push(refused.to_string());
            self.captures_refused = Some(refused);
        }
        damage
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Rows<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let left = self.left.as_ref().map(Cell::get);
        if left == Some(Duration::ZERO) {
            return Err(StoreError::Storage {
                detail: "reading what is damaged takes longer than its size can explain".to_owned(),
            });
        }
        self.clock.start();
        let read = work(&Rows {
            connection: &self.connection,
            wait: Duration::ZERO,
        });
        if let (Some(cell), Some(left)) = (&self.left, left) {
            cell.set(left.saturating_sub(began.elapsed()));
        }
        read
    }
}

impl Read for Evidence {
    fn head(&self) -> Result<Option<(Seq, Record)>, StoreError> {
        self.read(|rows| rows.head())
    }

    fn get(&self, seq: Seq) -> Result<Option<Record>, StoreError> {
        self.read(|rows| rows.get(seq))
    }

    fn scan(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.read(|rows| rows.scan(from, limit))
    }

    fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, StoreError> {
        match &self.captures_refused {
            Some(refused) => Err(refused.clone()),
            None => self.read(|rows| rows.capture(commitment)),
        }
    }
}

/// Opens a file that is no ledger but may hold one as text: a regular file, be it at the end of
/// links, which is opened without hanging.
///
/// # Errors
/// [`StoreError::Absent`]; [`StoreError::NotALedger`] for anything but a regular file;
/// [`StoreError::TooLarge`] above [`EVIDENCE_BYTES_MAX`]; what the system refused.
pub fn open_text(path: &Path) -> Result<File, StoreError> {
    let (file, metadata) = open_unheld(&file::resolve(path)?)?;
    if metadata.len() > EVIDENCE_BYTES_MAX {
        return Err(too_large(
            Oversized::File,
            metadata.len(),
            EVIDENCE_BYTES_MAX,
        ));
    }
    Ok(file)
}

fn too_large(what: Oversized, bytes: u64, max: u64) -> StoreError {
    StoreError::TooLarge {
        what,
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        max: usize::try_from(max).unwrap_or(usize::MAX),
    }
}

/// Opens the file unless this process has it open through SQLite, whose locks that would drop.
fn open_unheld(path: &Path) -> Result<(File, std::fs::Metadata), StoreError> {
    if Held::has(&file::metadata(path)?) {
        return Err(StoreError::Io {
            doing: "examine the file",
            detail: "this process has it open as its ledger".to_owned(),
        });
    }
    file::open_regular(path)
}

/// The copy, not opened yet.
struct Copy {
    folder: TempDir,
    sha256: Option<Digest>,
    /// Of the file.
    bytes: u64,
}

impl Copy {
    const NAME: &str = "ledger.db";

    /// Copies the first `wanted` bytes of `file`, which is `bytes` long, and hashes what is copied.
    fn of(file: &mut File, wanted: u64, bytes: u64) -> Result<Copy, StoreError> {
        if wanted > EVIDENCE_BYTES_MAX {
            return Err(too_large(Oversized::File, wanted, EVIDENCE_BYTES_MAX));
        }
        let holes = file::holes(file, wanted, HOLES_BYTES_MAX)?;
        if holes > HOLES_BYTES_MAX {
            return Err(too_large(Oversized::Holes, holes, HOLES_BYTES_MAX));
        }
        let io = |error: std::io::Error| StoreError::io("copy the file", &error);
        let folder = tempfile::Builder::new()
            .prefix("handoff-evidence-")
            .tempdir()
            .map_err(io)?;
        file::check_space(folder.path(), wanted)?;
        let mut copy = File::create_new(folder.path().join(Self::NAME)).map_err(io)?;
        file.rewind().map_err(io)?;
        let modified = file.metadata().and_then(|it| it.modified()).map_err(io)?;
        // One byte more than there should be, to notice a file that grows.
        let more = u64::from(wanted == bytes);
        let mut source = (&*file).take(wanted.saturating_add(more));
        let mut hash = Running::new();
        let mut copied: u64 = 0;
        let room = usize::try_from(wanted.saturating_add(more)).unwrap_or(PIECE_BYTES);
        let mut piece = vec![0; room.clamp(1, PIECE_BYTES)];
        loop {
            let length = source.read(&mut piece).map_err(io)?;
            let Some(read) = piece.get(..length).filter(|read| !read.is_empty()) else {
                break;
            };
            hash.add(read);
            copy.write_all(read).map_err(io)?;
            copied = copied.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        }
        let now = file.metadata().and_then(|it| it.modified()).map_err(io)?;
        if copied != wanted || now != modified {
            return Err(StoreError::Io {
                doing: "copy the file",
                detail: "it was changed meanwhile".to_owned(),
            });
        }
        Ok(Copy {
            folder,
            sha256: (wanted == bytes).then(|| hash.finish()),
            bytes,
        })
    }

    /// The header of the copy of what lies at `path`.
    fn header(&self, path: &Path) -> Result<Header, StoreError> {
        let opened = File::open(self.folder.path().join(Self::NAME));
        let mut copy = opened.map_err(|error| StoreError::io("read the copy", &error))?;
        Header::read(path, &mut copy)
    }

    /// Opens the copy and compares its schema.
    fn open(self, sidecars: &[PathBuf]) -> Result<Evidence, StoreError> {
        let folder = file::resolve(self.folder.path())?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let mut connection = schema::connect(&folder.join(Self::NAME), flags, Duration::ZERO)?;
        let clock = Clock::for_file_of(self.bytes);
        let off = |connection: &Connection| -> Result<(), rusqlite::Error> {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
            // Nobody else has the copy: it is locked once, not by each statement.
            connection.execute_batch("PRAGMA query_only = ON; PRAGMA locking_mode = EXCLUSIVE")
        };
        clock
            .watch(&mut connection)
            .and_then(|()| off(&connection))
            .map_err(|error| fault(error, Duration::ZERO))?;
        clock.start();
        schema::check(&connection, Duration::ZERO)?;
        Ok(Evidence {
            connection,
            clock,
            sha256: self.sha256,
            bytes: self.bytes,
            sidecars: sidecars.to_vec(),
            captures_refused: None,
            left: None,
            _folder: self.folder,
        })
    }
}

/// When the statement that runs is to be interrupted.
#[derive(Debug)]
struct Clock {
    allowed: Duration,
    deadline: Arc<Mutex<Instant>>,
}

impl Clock {
    /// A clock that allows each statement what one pass over a file of so many bytes may take.
    fn for_file_of(bytes: u64) -> Clock {
        let allowed = STATEMENT_TIME + Duration::from_secs(bytes / BYTES_PER_SECOND);
        Clock {
            allowed,
            deadline: Arc::new(Mutex::new(Instant::now() + allowed)),
        }
    }

    /// Gives the statement that is about to run its time.
    fn start(&self) {
        if let Ok(mut deadline) = self.deadline.lock() {
            *deadline = Instant::now() + self.allowed;
        }
    }

    fn watch(&self, connection: &mut Connection) -> Result<(), rusqlite::Error> {
        let deadline = Arc::clone(&self.deadline);
        let passed = move || {
            deadline
                .lock()
                .map_or(true, |deadline| Instant::now() > *deadline)
        };
        connection.progress_handler(INSTRUCTIONS_PER_LOOK, Some(passed))
    }
}
