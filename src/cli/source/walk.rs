//! Handing what a source holds to a verifier: to its end, whatever is wrong on the way.

use super::{LineFault, Lines, Opened, Source};
use crate::catch_up::BATCH;
use crate::cli::output::Output;
use crate::cli::report::Failure;
use crate::export::{ExportError, Line};
use crate::store::{Read, Record, StoreError};
use crate::types::{Digest, INTEGER_MAX, Seq};
use crate::verify::Verifier;
use std::fs::File;

/// At how many positions behind a damaged row it is looked for one that can be read, the first of
/// them one after the other.
const PROBES_MAX: u32 = 320;
/// How many are one after the other; from there on each step is twice as long.
const PROBES_CLOSE: u32 = 256;
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
        Source::Export(file) => opened.file = walk_export(file, verifier)?,
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
    // A head that cannot be read is told where the rows are read, at its place.
    let (last, mut unread) = match store.head() {
        Ok(Some((last, _))) => (last, None),
        Ok(None) => return Ok(()),
        Err(error) => (Seq(INTEGER_MAX), Some(error)),
    };
    let progress = output.progress("verifying", last.0.saturating_add(1));
    let mut next = Seq::ZERO;
    // What others append meanwhile is left for the next verification.
    while next <= last {
        let batch = match store.scan(next, BATCH) {
            Ok(batch) => batch,
            Err(error) => {
                tampered(error, Some(next), verifier)?;
                unread = None;
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
            progress.advance();
        }
        next = batch.last().map_or(last, |(seq, _)| *seq).next();
    }
    if let Some(error) = unread {
        tampered(error, None, verifier)?;
    }
    for commitment in verifier.committed() {
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

/// Returns SHA-256 and length of the text, if it was read to its end.
fn walk_export(file: &File, verifier: &mut Verifier) -> Result<Option<(Digest, u64)>, Failure> {
    let mut lines = Lines::of(file)?;
    let mut next = Seq::ZERO;
    loop {
        match lines.next_line() {
            Ok(Some(Line::Header)) => {}
            Ok(Some(Line::Record(record))) => {
                verifier.record(next, &record);
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
                return Ok(Some(lines.file()));
            }
            Err(LineFault::Export(error)) => {
                judge_text(error, next, verifier)?;
                return Ok(None);
            }
        }
    }
    let read = lines.file();
    if let Err(error) = lines.finish() {
        judge_text(error, next, verifier)?;
    }
    Ok(Some(read))
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
