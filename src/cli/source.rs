//! Where a whole ledger is read from in order to be verified: a store or an export.

mod lines;
mod walk;

pub use lines::{LineFault, Lines, capture_of};
pub use walk::walk;

use super::report::Failure;
use crate::append::LedgerError;
use crate::catch_up::BATCH;
use crate::export::{HEADER_BEGINS, Line};
use crate::home::folders::Folders;
use crate::home::view::{self, ViewError};
use crate::kept::CommittedTo;
use crate::store::evidence::{self, Evidence, EvidenceError};
use crate::store::pages::Pages;
use crate::store::sqlite::SqliteLedger;
use crate::store::{Capture, Read, Record, StoreError};
use crate::types::{Digest, Seq};
use std::fs::File;
use std::io::{Read as _, Seek};
use std::path::Path;
use std::time::Duration;

/// A ledger file, opened.
pub enum Source {
    /// This machine's own, in use.
    Own(SqliteLedger),
    /// A private copy of one that somebody handed over, or that is damaged.
    Copy(Box<Evidence>),
    /// One of our ledgers by its header, of which no row can be read.
    Unreadable,
    /// A text that may be an export.
    Export(File),
}

/// A source, and what opening it brought to light.
pub struct Opened {
    /// Where records are read from.
    pub source: Source,
    /// What is wrong with the file around the records.
    pub faults: Vec<(&'static str, String)>,
    /// Why there may be more than what is in the file.
    pub incomplete: Vec<String>,
    /// SHA-256 and length of the file, where it was read whole.
    pub file: Option<(Digest, u64)>,
    /// What was not looked at.
    pub not_looked_at: Option<&'static str>,
}

const NOT_LOOKED_AT: &str = "that its pages are whole: looking at them would keep writers waiting; \
                             verify a copy of the file to know";

impl Opened {
    /// A source of which nothing is to be said.
    pub fn just(source: Source) -> Opened {
        Opened {
            source,
            faults: Vec::new(),
            incomplete: Vec::new(),
            file: None,
            not_looked_at: None,
        }
    }

    fn store(&self) -> Option<&dyn Read> {
        match &self.source {
            Source::Own(ledger) => Some(ledger),
            Source::Copy(evidence) => Some(evidence.as_ref()),
            Source::Unreadable | Source::Export(_) => None,
        }
    }

    /// The first record, if there is one that can be read.
    ///
    /// # Errors
    /// If the source cannot be read, which says nothing of the ledger.
    pub fn first(&self) -> Result<Option<Record>, Failure> {
        let mut first = None;
        match self.store() {
            Some(store) => match store.get(Seq::ZERO) {
                Err(StoreError::Schema { .. } | StoreError::Storage { .. }) => {}
                found => first = found?,
            },
            None => self.records(Seq::ZERO, Seq::ZERO, |_, record| {
                first = Some(record.clone())
            })?,
        }
        Ok(first)
    }

    /// Whether it is a copy that lacks an event.
    pub fn is_copy_without(&self, seq: Seq) -> bool {
        match &self.source {
            Source::Copy(evidence) => matches!(evidence.get(seq), Ok(None)),
            Source::Own(_) | Source::Unreadable | Source::Export(_) => false,
        }
    }

    /// Hands the records from one to another, which were verified before, to `visit`.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn records(
        &self,
        from: Seq,
        up_to: Seq,
        mut visit: impl FnMut(Seq, &Record),
    ) -> Result<(), Failure> {
        let mut next = from;
        if let Some(store) = self.store() {
            while next <= up_to {
                let batch = store.scan(next, BATCH)?;
                let Some((last, _)) = batch.last() else {
                    return Ok(());
                };
                next = last.next();
                for (seq, record) in batch.iter().take_while(|(seq, _)| *seq <= up_to) {
                    visit(*seq, record);
                }
            }
            return Ok(());
        }
        let Source::Export(text) = &self.source else {
            return Ok(());
        };
        let mut lines = Lines::of(text)?;
        let mut at = Seq::ZERO;
        while at <= up_to {
            match lines.next_line() {
                Ok(Some(Line::Record(record))) => {
                    if at >= from {
                        visit(at, &Record(record));
                    }
                    at = at.next();
                }
                Ok(Some(Line::Header)) => {}
                Ok(Some(Line::Capture(_)) | None)
                | Err(LineFault::BrokenOff | LineFault::Export(_)) => return Ok(()),
                Err(LineFault::Io(failure)) => return Err(failure),
            }
        }
        Ok(())
    }

    /// What is kept under a commitment, if it is what an event commits to: anything else is a
    /// fault, which the walk told, and is not handed on as if it were that.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn capture(
        &self,
        commitment: &Digest,
        committed: CommittedTo,
    ) -> Result<Option<Capture>, Failure> {
        let kept = self.kept(commitment)?;
        Ok(committed.accept(commitment, kept).unwrap_or_default())
    }

    fn kept(&self, commitment: &Digest) -> Result<Option<Capture>, Failure> {
        if let Some(store) = self.store() {
            return Ok(store.capture(commitment)?);
        }
        let Source::Export(text) = &self.source else {
            return Ok(None);
        };
        let mut lines = Lines::of(text)?;
        loop {
            match lines.next_line() {
                Ok(Some(Line::Capture(found))) if found.commitment == *commitment => {
                    return Ok(Some(capture_of(found)));
                }
                Ok(Some(Line::Header | Line::Record(_) | Line::Capture(_))) => {}
                Ok(None) | Err(LineFault::BrokenOff | LineFault::Export(_)) => return Ok(None),
                Err(LineFault::Io(failure)) => return Err(failure),
            }
        }
    }
}

/// Opens this machine's own ledger; if it is damaged, a copy of it as evidence.
///
/// # Errors
/// If it is no ledger, or cannot be read.
pub fn own(path: &Path, folders: &Folders, wait: Duration) -> Result<Opened, Failure> {
    match view::open_store(path, folders, wait) {
        Ok(mut ledger) => {
            let pages = ledger.look_at_pages()?;
            let mut opened = Opened::just(Source::Own(ledger));
            match pages {
                Pages::Whole => {}
                Pages::Damaged(lines) => {
                    opened.faults = lines.into_iter().map(|line| ("storage", line)).collect();
                }
                Pages::NotLookedAt => opened.not_looked_at = Some(NOT_LOOKED_AT),
            }
            Ok(opened)
        }
        Err(ViewError::Ledger(LedgerError::Store(
            StoreError::Schema { .. } | StoreError::Storage { .. } | StoreError::Sidecar { .. },
        ))) => copy(path),
        // As it is without the journal, which is evidence too.
        Err(error @ ViewError::Journal { .. }) => {
            let mut opened = copy(path)?;
            opened.faults.push(("rollback", error.to_string()));
            Ok(opened)
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens a file that somebody handed over: a ledger, or an export if it begins as one, as far as it
/// goes.
///
/// # Errors
/// If it is neither, or cannot be read.
pub fn file(path: &Path) -> Result<Opened, Failure> {
    let mut file = evidence::open_text(path)?;
    let mut begins = Vec::new();
    let length = u64::try_from(HEADER_BEGINS.len()).unwrap_or(u64::MAX);
    let read = file.by_ref().take(length).read_to_end(&mut begins);
    if read.is_ok() && !begins.is_empty() && HEADER_BEGINS.starts_with(&begins) {
        file.rewind().map_err(unreadable)?;
        return Ok(Opened::just(Source::Export(kept_privately(&file)?)));
    }
    drop(file);
    copy(path)
}

/// A copy of a text that others may change between two readings, as far as it is an export: behind
/// that may be more than fits on a disk.
fn kept_privately(file: &File) -> Result<File, Failure> {
    let mut lines = Lines::of(file)?;
    loop {
        match lines.next_line() {
            Ok(Some(_)) => {}
            Ok(None) | Err(LineFault::BrokenOff | LineFault::Export(_)) => break,
            Err(LineFault::Io(failure)) => return Err(failure),
        }
    }
    let (_, bytes) = lines.file();
    let mut copy = tempfile::tempfile().map_err(unreadable)?;
    let mut text = file;
    text.rewind().map_err(unreadable)?;
    std::io::copy(&mut text.take(bytes), &mut copy).map_err(unreadable)?;
    copy.rewind().map_err(unreadable)?;
    Ok(copy)
}

fn copy(path: &Path) -> Result<Opened, Failure> {
    match Evidence::open(path) {
        Ok(evidence) => Ok(Opened {
            incomplete: beside(evidence.sidecars()),
            file: evidence.sha256().map(|sha256| (sha256, evidence.bytes())),
            faults: Vec::new(),
            not_looked_at: None,
            source: Source::Copy(Box::new(evidence)),
        }),
        Err(error) => damaged(*error),
    }
}

/// A file that is one of our ledgers by its header, but altered or damaged.
fn damaged(error: EvidenceError) -> Result<Opened, Failure> {
    let kind = match &error.fault {
        StoreError::Schema { .. } => "schema",
        StoreError::Storage { .. } => "storage",
        StoreError::Busy { .. }
        | StoreError::Io { .. }
        | StoreError::Full { .. }
        | StoreError::Absent { .. }
        | StoreError::AlreadyExists { .. }
        | StoreError::NotALedger { .. }
        | StoreError::Sidecar { .. }
        | StoreError::Newer { .. }
        | StoreError::Guarded { .. }
        | StoreError::NotNext { .. }
        | StoreError::TooLarge { .. }
        | StoreError::Empty { .. }
        | StoreError::Indeterminate { .. }
        | StoreError::IndexUnusable { .. } => return Err(error.fault.into()),
    };
    if !error.is_ledger_by_header {
        return Err(Failure::environment(
            "not_a_ledger",
            error.fault.to_string(),
        ));
    }
    let mut details = error.damage;
    if details.is_empty() {
        details.push(error.fault.to_string());
    }
    Ok(Opened {
        source: error.salvage.map_or(Source::Unreadable, Source::Copy),
        faults: details.into_iter().map(|detail| (kind, detail)).collect(),
        incomplete: beside(&error.sidecars),
        file: error.sha256.zip(error.bytes),
        not_looked_at: None,
    })
}

fn beside(sidecars: &[std::path::PathBuf]) -> Vec<String> {
    let told = |path: &std::path::PathBuf| {
        format!("{} lies beside it and may hold events", path.display())
    };
    sidecars.iter().map(told).collect()
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::environment("io", format!("the file cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_changed_after_it_was_opened_is_read_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export.jsonl");
        let before = format!("{}x\n", std::str::from_utf8(HEADER_BEGINS).unwrap());
        std::fs::write(&path, &before).unwrap();
        let Source::Export(mut text) = file(&path).unwrap().source else {
            panic!("no export");
        };
        std::fs::write(&path, before.to_uppercase()).unwrap();
        let mut read = String::new();
        text.read_to_string(&mut read).unwrap();
        assert_eq!(read, before);
    }
}
