//! Where a whole ledger is read from in order to be verified: a store or an export.

use super::output::Output;
use super::report::Failure;
use crate::export::{ExportError, ExportedCapture, LINE_BYTES_MAX, Line, Reader};
use crate::hash::Running;
use crate::home::clock;
use crate::store::evidence::{self, Evidence, EvidenceError};
use crate::store::sqlite::{Pages, SqliteLedger};
use crate::store::{Capture, Read, Record, StoreError};
use crate::types::{Digest, INTEGER_MAX, Seq};
use crate::verify::Verifier;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek};
use std::path::Path;
use std::time::Duration;

/// How many records are read at a time, so that no writer waits for a reader.
const BATCH: usize = 1024;

/// At how many positions behind a damaged row it is looked for one that can be read, the first of
/// them one after the other.
const PROBES_MAX: u32 = 320;
/// How many are one after the other; from there on each step is twice as long.
const PROBES_CLOSE: u32 = 256;
/// How long the processor may work on the judging of any history.
const JUDGING_TIME: Duration = Duration::from_secs(7);
/// How much longer for each of its events: many times what an honest one takes.
const JUDGING_TIME_PER_EVENT: Duration = Duration::from_millis(2);

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

    /// Puts a copy of its own in the place of a text that others may change between two readings.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn keep_privately(&mut self) -> Result<(), Failure> {
        if let Source::Export(file) = &mut self.source {
            // As far as it is an export: behind that may be more than fits on a disk.
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
            file.rewind().map_err(unreadable)?;
            std::io::copy(&mut (&*file).take(bytes), &mut copy).map_err(unreadable)?;
            copy.rewind().map_err(unreadable)?;
            *file = copy;
        }
        Ok(())
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

    /// What is kept under a commitment, which was compared before.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn capture(&self, commitment: &Digest) -> Result<Option<Capture>, Failure> {
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
pub fn own(path: &Path, wait: Duration) -> Result<Opened, Failure> {
    match SqliteLedger::open(path, wait) {
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
        Err(
            StoreError::Schema { .. } | StoreError::Storage { .. } | StoreError::Sidecar { .. },
        ) => copy(path),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file that somebody handed over: a ledger, or an export if it begins as one.
///
/// # Errors
/// If it is neither, or cannot be read.
pub fn file(path: &Path) -> Result<Opened, Failure> {
    let mut file = evidence::open_text(path)?;
    let mut first = [0; 1];
    let begins_as_text = file.read_exact(&mut first).is_ok() && first == *b"{";
    if begins_as_text {
        file.rewind().map_err(unreadable)?;
        return Ok(Opened::just(Source::Export(file)));
    }
    drop(file);
    copy(path)
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

/// Hands every record and capture of a source to a verifier, and then what is wrong around them.
///
/// # Errors
/// If the source cannot be read, which says nothing of the ledger.
pub fn walk(
    opened: &mut Opened,
    verifier: &mut Verifier,
    output: &mut Output,
) -> Result<(), Failure> {
    match &mut opened.source {
        Source::Own(ledger) => walk_store(ledger, verifier, output)?,
        Source::Copy(evidence) => walk_store(evidence.as_ref(), verifier, output)?,
        Source::Unreadable => {}
        Source::Export(file) => opened.file = Some(walk_export(file, verifier)?),
    }
    for (kind, detail) in &opened.faults {
        verifier.fault(None, kind, detail.clone());
    }
    for why in &opened.incomplete {
        verifier.incomplete(why.clone());
    }
    if let Some(what) = opened.not_looked_at {
        verifier.not_proven(what);
    }
    Ok(())
}

fn walk_store(
    store: &impl Read,
    verifier: &mut Verifier,
    output: &mut Output,
) -> Result<(), Failure> {
    let last = match store.head() {
        Ok(Some((last, _))) => last,
        Ok(None) => return Ok(()),
        Err(error) => {
            tampered(error, None, verifier)?;
            Seq(INTEGER_MAX)
        }
    };
    let progress = output.progress("verifying", last.0.saturating_add(1));
    let mut next = Seq::ZERO;
    let mut watch = Watch::started();
    // What others append meanwhile is left for the next verification.
    while next <= last {
        let batch = match store.scan(next, BATCH) {
            Ok(batch) => batch,
            Err(error) => {
                tampered(error, Some(next), verifier)?;
                match beyond(store, next, last)? {
                    Some(seq) => next = seq,
                    None => break,
                }
                continue;
            }
        };
        if batch.is_empty() {
            break;
        }
        for (seq, Record(bytes)) in batch.iter().take_while(|(seq, _)| *seq <= last) {
            verifier.record(*seq, bytes);
            watch.look(verifier);
            progress.advance();
        }
        next = batch.last().map_or(last, |(seq, _)| *seq).next();
    }
    for commitment in verifier.commitments() {
        match store.capture(&commitment) {
            Ok(Some(kept)) => {
                verifier.capture(&commitment, &kept.salt, kept.bytes.as_deref());
            }
            Ok(None) => {}
            Err(error) => tampered(error, None, verifier)?,
        }
    }
    Ok(())
}

/// The next position from which rows can be read again after one that cannot, if there is one. The
/// steps get longer, so that it ends.
fn beyond(store: &impl Read, damaged: Seq, last: Seq) -> Result<Option<Seq>, Failure> {
    let mut seq = damaged;
    for step in 0..PROBES_MAX {
        let length = 1_u64 << step.saturating_sub(PROBES_CLOSE).min(u64::BITS - 1);
        seq = Seq(seq.0.saturating_add(length));
        if seq > last {
            return Ok(None);
        }
        match store.scan(seq, 1) {
            Ok(rows) => return Ok(rows.first().map(|_| seq)),
            Err(StoreError::Schema { .. } | StoreError::Storage { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// A watch over how long the judging of events takes.
struct Watch {
    began: Duration,
    allowed: Duration,
}

impl Watch {
    fn started() -> Watch {
        Watch {
            began: clock::worked(),
            allowed: JUDGING_TIME,
        }
    }

    /// One more event was taken in. A history made to be slow is not judged to its end; that it is
    /// one chain still is.
    fn look(&mut self, verifier: &mut Verifier) {
        self.allowed += JUDGING_TIME_PER_EVENT;
        if clock::worked().saturating_sub(self.began) > self.allowed {
            verifier.give_up();
        }
    }
}

/// A fault of the file's contents is one of the ledger; any other is the machine's.
fn tampered(error: StoreError, seq: Option<Seq>, verifier: &mut Verifier) -> Result<(), Failure> {
    if !matches!(
        error,
        StoreError::Schema { .. } | StoreError::Storage { .. }
    ) {
        return Err(error.into());
    }
    verifier.fault(seq, error.code(), error.to_string());
    Ok(())
}

/// Reads an export's lines, its digest and length.
pub struct Lines {
    file: BufReader<File>,
    reader: Reader,
    digest: Running,
    bytes: u64,
}

/// Why the next line of an export could not be read.
pub enum LineFault {
    /// The system refused.
    Io(Failure),
    /// It breaks off in the middle of a line.
    BrokenOff,
    /// It is not what may stand there.
    Export(ExportError),
}

impl Lines {
    /// The lines of a file, from its beginning.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(file: &File) -> Result<Lines, Failure> {
        let mut file = file.try_clone().map_err(unreadable)?;
        file.rewind().map_err(unreadable)?;
        Ok(Lines {
            file: BufReader::new(file),
            reader: Reader::new(),
            digest: Running::new(),
            bytes: 0,
        })
    }

    /// The next line, or nothing at the end.
    ///
    /// # Errors
    /// Why there is none.
    pub fn next_line(&mut self) -> Result<Option<Line>, LineFault> {
        let mut line = Vec::new();
        let limit = u64::try_from(LINE_BYTES_MAX)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let read = (&mut self.file).take(limit).read_until(b'\n', &mut line);
        read.map_err(|error| LineFault::Io(unreadable(error)))?;
        if line.is_empty() {
            return Ok(None);
        }
        self.digest.add(&line);
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(length);
        if line.last() != Some(&b'\n') && length < limit {
            return Err(LineFault::BrokenOff);
        }
        self.reader.line(&line).map(Some).map_err(LineFault::Export)
    }

    /// SHA-256 of all lines, and their length.
    pub fn file(&self) -> (Digest, u64) {
        (self.digest.clone().finish(), self.bytes)
    }

    /// Holds the header to what was read.
    ///
    /// # Errors
    /// What the header says and the lines do not.
    pub fn finish(self) -> Result<(), ExportError> {
        self.reader.finish().map(drop)
    }
}

/// What the store keeps, of what a line holds.
pub fn capture_of(line: ExportedCapture) -> Capture {
    let ExportedCapture {
        commitment,
        bytes,
        salt,
    } = line;
    Capture {
        commitment,
        salt,
        bytes,
    }
}

fn walk_export(file: &File, verifier: &mut Verifier) -> Result<(Digest, u64), Failure> {
    let mut lines = Lines::of(file)?;
    let mut next = Seq::ZERO;
    let mut watch = Watch::started();
    loop {
        match lines.next_line() {
            Ok(Some(Line::Header)) => {}
            Ok(Some(Line::Record(record))) => {
                verifier.record(next, &record);
                watch.look(verifier);
                next = next.next();
            }
            Ok(Some(Line::Capture(capture))) => {
                let bytes = capture.bytes.as_deref();
                verifier.capture(&capture.commitment, &capture.salt, bytes);
            }
            Ok(None) => break,
            Err(LineFault::Io(failure)) => return Err(failure),
            Err(LineFault::BrokenOff) => {
                verifier.incomplete("the export breaks off in the middle of a line");
                return Ok(lines.file());
            }
            Err(LineFault::Export(error)) => {
                judge_text(error, next, verifier)?;
                return Ok(lines.file());
            }
        }
    }
    let read = lines.file();
    if let Err(error) = lines.finish() {
        judge_text(error, next, verifier)?;
    }
    Ok(read)
}

fn judge_text(error: ExportError, next: Seq, verifier: &mut Verifier) -> Result<(), Failure> {
    let detail = error.to_string();
    match error {
        ExportError::Header { .. } => {
            return Err(Failure::environment("not_a_ledger", detail).next("handoff help verify"));
        }
        ExportError::Count { .. } => verifier.incomplete(detail),
        ExportError::Commitment { .. } => verifier.fault(None, "capture", detail),
        ExportError::Ledger { .. } | ExportError::Head { .. } => {
            verifier.fault(None, "export_header", detail);
        }
        ExportError::Record { .. }
        | ExportError::NotALine { .. }
        | ExportError::Unexpected { .. } => {
            verifier.fault(Some(next), "export_line", detail);
        }
    }
    Ok(())
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::environment("io", format!("the file cannot be read: {error}"))
}
