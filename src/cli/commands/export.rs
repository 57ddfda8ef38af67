//! `export`: the intact part of the ledger as lines of text.

use crate::cli::args::{Common, Export};
use crate::cli::context;
use crate::cli::examine::{Examination, Subject, examine};
use crate::cli::examined::shortfall;
use crate::cli::output::{Format, Output};
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use crate::cli::source::Opened;
use crate::export::{ExportedCapture, capture_line, event_line, header};
use crate::kept::CommittedTo;
use crate::types::{Digest, Head, Seq};
use crate::verify::Report;
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

const SCHEMA: &str = "handoff.export.v1";

/// The whole ledger is verified first; of one that is damaged, what stands before the first fault
/// is written, and the exit is 4.
pub(super) fn run(common: &Common, request: &Export, output: &mut Output) -> Result<Exit, Failure> {
    if request.out.is_none() && output.format() == Format::Json {
        let message = "with --json the export goes to a file";
        return Err(Failure::usage(message).next("handoff export --json -o FILE"));
    }
    let folders = context::folders(common);
    let cwd = context::current_folder(common)?;
    let (path, whose) = context::whose(common, &cwd, &folders)?;
    let Examination {
        opened,
        report,
        state,
        commitments,
        ..
    } = examine(common, &folders, Subject::of(path, whose), output)?;
    let erased = state.erased().len();
    let head = exportable(&report)?;
    let wanted = if request.captures {
        commitments.as_slice()
    } else {
        &[]
    };
    let mut sink = Sink::open(request.out.as_deref(), output)?;
    let written = write(&opened, &head, wanted, &mut sink);
    let captures = sink.close(written)?;
    if request.captures && erased > 0 {
        output.note(&format!(
            "{erased} captures are not in it: they were erased"
        ));
    }
    let exit = shortfall(&report).unwrap_or(Exit::Yes);
    if let Some(fault) = report.faults.items().first() {
        output.note(&format!("{}: {}", fault.kind, fault.detail));
        output.note(&format!(
            "only the part that is intact was exported, up to event {}",
            head.seq
        ));
        output.note("next: handoff verify");
    }
    for why in &report.incomplete {
        output.note(&format!("incomplete: {why}"));
    }
    if let Some(out) = &request.out {
        output.line(&head.to_string());
        output.line(&format!("written to {}", out.display()));
        let told = json!({
            "head": head_json(&head),
            "path": out.to_string_lossy(),
            "result": report.result,
            "captures": captures,
            "erased": erased,
            "faults_total": report.faults.total(),
            "incomplete": report.incomplete,
        });
        output.document(SCHEMA, exit, told);
    }
    Ok(exit)
}

/// The head up to which there is something to export.
fn exportable(report: &Report) -> Result<Head, Failure> {
    let unexpected = report
        .faults
        .items()
        .iter()
        .find(|fault| fault.kind == "expect");
    if let Some(fault) = unexpected {
        return Err(Failure::integrity("expect", fault.detail.clone()).next("handoff verify"));
    }
    report.head.ok_or_else(|| {
        if let Some(fault) = report.faults.items().first() {
            return Failure::integrity(fault.kind, fault.detail.clone()).next("handoff verify");
        }
        let message = "there is no intact event to export";
        Failure::cannot_judge("empty", message).next("handoff verify")
    })
}

/// Writes the lines, and says how many of them are captures.
fn write(
    opened: &Opened,
    head: &Head,
    commitments: &[(Digest, CommittedTo)],
    sink: &mut Sink<'_>,
) -> Result<usize, Failure> {
    sink.write(&header(head))?;
    let mut next = Seq::ZERO;
    let mut last = None;
    let mut written = Ok(());
    opened.records(Seq::ZERO, head.seq, |seq, record| {
        if written.is_ok() {
            written = match event_line(&record.0) {
                Ok(line) if seq == next => sink.write(&line),
                Ok(_) | Err(_) => Err(changed(next)),
            };
            next = seq.next();
            last = Some(record.leaf());
        }
    })?;
    written?;
    if last != Some(head.leaf) {
        return Err(changed(head.seq));
    }
    let mut captures = 0;
    for (commitment, committed) in commitments {
        let Some(kept) = opened.capture(commitment, *committed)? else {
            continue;
        };
        sink.write(&capture_line(&ExportedCapture {
            commitment: *commitment,
            bytes: kept.bytes,
            salt: kept.salt,
        }))?;
        captures += 1;
    }
    Ok(captures)
}

fn changed(seq: Seq) -> Failure {
    let message = format!("event {seq} is not the one that was verified a moment ago");
    Failure::integrity("replaced", message).next("handoff verify")
}

/// Where an export goes.
enum Sink<'a> {
    Stdout(&'a mut Output),
    File(&'a Path, BufWriter<File>),
}

impl<'a> Sink<'a> {
    /// A new file, never one that is there already, nor one that a link leads to.
    fn open(path: Option<&'a Path>, output: &'a mut Output) -> Result<Sink<'a>, Failure> {
        let Some(path) = path else {
            return Ok(Sink::Stdout(output));
        };
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(file) => Ok(Sink::File(path, BufWriter::new(file))),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let message = format!("{} exists already, and is left alone", path.display());
                let next = "handoff export -o ANOTHER";
                Err(Failure::environment("already_exists", message).next(next))
            }
            Err(error) => Err(refused(path, &error)),
        }
    }

    fn write(&mut self, line: &str) -> Result<(), Failure> {
        match self {
            Sink::Stdout(output) => {
                output.raw(line.as_bytes());
                Ok(())
            }
            Sink::File(path, file) => file
                .write_all(line.as_bytes())
                .map_err(|error| refused(path, &error)),
        }
    }

    /// Ends the export; of one that failed no file is left.
    fn close<T>(self, written: Result<T, Failure>) -> Result<T, Failure> {
        let Sink::File(path, file) = self else {
            return written;
        };
        let synced = written.and_then(|value| {
            let file = file
                .into_inner()
                .map_err(|error| refused(path, error.error()))?;
            file.sync_all().map_err(|error| refused(path, &error))?;
            Ok(value)
        });
        if synced.is_err() {
            // Nothing is left to be said beyond why it failed.
            let _ = std::fs::remove_file(path);
        }
        synced
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    Failure::environment("io", message).next("handoff export -o ANOTHER")
}
