//! `import`: a ledger file made of an export.

use crate::append::LedgerError;
use crate::cli::args::{Common, Import};
use crate::cli::context::{self, Whose};
use crate::cli::examine::{Examination, Subject, examine};
use crate::cli::examined::require_whole;
use crate::cli::known::{Against, Known, RESTORE};
use crate::cli::output::Output;
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use crate::cli::source::{LineFault, Lines, Opened, Source, capture_of};
use crate::cli::written::not_told;
use crate::export::Line;
use crate::home::folders;
use crate::home::paths;
use crate::home::view::{self, ViewError};
use crate::store::sqlite::SqliteLedger;
use crate::store::{Capture, Record, Store, Transaction};
use crate::types::Digest;
use crate::verify::{Basis, Report};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "handoff.import.v1";
/// How many records are appended at a time.
const BATCH: usize = 1024;

/// The export is verified whole before the ledger is made; nothing is pinned.
pub(super) fn run(common: &Common, request: &Import, output: &mut Output) -> Result<Exit, Failure> {
    let folders = context::folders(common);
    let file = context::current_folder(common)?.join(&request.file);
    let subject = Subject::of(file, Whose::Unknown);
    let Examination {
        opened,
        report,
        state,
        known,
        ..
    } = examine(common, &folders, subject, output)?;
    let erased: BTreeSet<Digest> = state.erased().keys().copied().collect();
    let Opened { source, file, .. } = opened;
    let Source::Export(text) = source else {
        return Err(not_an_export(&request.file));
    };
    let head = match report.head.filter(|_| Against::Memory.is_all_of(&report)) {
        // It is one chain: that it is not the one that this machine saw is told below.
        Some(head) if report.incomplete.is_empty() => head,
        Some(_) | None => require_whole(&report, &request.file)?,
    };
    let (digest, _) = file.ok_or_else(changed)?;
    let path = place(common, request)?;
    let wait = context::wait(common);
    let (ledger, ()) = SqliteLedger::create(&path, wait, |ledger| {
        ledger.transact(|tx| fill(tx, &text, digest, &erased))
    })?;
    output.recorded(&head);
    view::own(&ledger, &folders).map_err(|error| not_told(error.into(), &head))?;
    match view::over(ledger, &folders) {
        // Told here, and by every command from then on.
        Ok(_) | Err(ViewError::Ledger(LedgerError::Rollback { .. } | LedgerError::Fork { .. })) => {
        }
        Err(error) => return Err(not_told(error.into(), &head)),
    }
    output.line(&head.to_string());
    output.line(&format!("imported to {}", path.display()));
    let setback = setback(&report, &known);
    let next = match (&setback, report.signer.root_key) {
        (Some(setback), _) => {
            output.note(&format!("WARNING {setback}"));
            Some(RESTORE.to_owned())
        }
        (None, Some(root)) if report.signer.basis == Basis::Unpinned => {
            output.line(&format!(
                "nobody here vouches for its root key {root}, which the file names itself: trust \
                 it only if its owner gives you the same"
            ));
            Some(pinning(common, request))
        }
        (None, _) => None,
    };
    if let Some(next) = &next {
        output.line(&format!("next: {next}"));
    }
    for what in &report.not_proven {
        output.note(&format!("not proven: {what}"));
    }
    let told = json!({
        "head": head_json(&head),
        "ledger": report.ledger,
        "path": path.to_string_lossy(),
        "root_key": report.signer.root_key,
        "setback": setback,
        "not_proven": report.not_proven,
        "next": next,
    });
    output.document(SCHEMA, Exit::Yes, told);
    Ok(Exit::Yes)
}

/// What to type so that the new ledger's root is trusted.
fn pinning(common: &Common, request: &Import) -> String {
    match request.to.as_ref().or(common.ledger.as_ref()) {
        Some(path) => {
            let path = path.to_string_lossy();
            context::command(&["handoff", "--ledger", &path, "trust", "add", "KEY"])
        }
        None => "handoff trust add KEY".to_owned(),
    }
}

/// Exit 5: what is no export holds a ledger already.
fn not_an_export(file: &Path) -> Failure {
    let message = format!("{} is no export", file.display());
    let next = "where that ledger is: handoff export -o FILE";
    Failure::environment("not_an_export", message).next(next)
}

/// That the ledger is not all of what this machine saw of it, or is another history, if it is so:
/// no command takes it before that is accepted.
fn setback(report: &Report, known: &Known) -> Option<String> {
    if let Some(fault) = report.faults.items().first() {
        return Some(fault.detail.clone());
    }
    let (seen, _) = known.head?;
    let head = report.head.filter(|head| head.seq < seen)?;
    Some(format!(
        "this machine saw it up to event {seen}, and this is an older copy, up to event {}",
        head.seq
    ))
}

/// Where the ledger is to be: as asked, else where one of this folder belongs.
fn place(common: &Common, request: &Import) -> Result<PathBuf, Failure> {
    if let Some(path) = request.to.as_ref().or(common.ledger.as_ref()) {
        return Ok(path.clone());
    }
    let path = paths::place_for_ledger(&context::current_folder(common)?)?;
    if let Some(folder) = path.parent() {
        folders::make_folder(folder)?;
    }
    Ok(path)
}

/// Appends what the export holds, which must still be the text that was verified, but for captures
/// that an event says are erased.
fn fill(
    tx: &mut dyn Transaction,
    text: &File,
    expected: Digest,
    erased: &BTreeSet<Digest>,
) -> Result<(), Failure> {
    let mut lines = Lines::of(text)?;
    let mut records: Vec<Record> = Vec::new();
    let mut captures: Vec<Capture> = Vec::new();
    loop {
        match lines.next_line() {
            Ok(Some(Line::Header)) => {}
            Ok(Some(Line::Record(record))) => records.push(Record(record)),
            Ok(Some(Line::Capture(capture))) if erased.contains(&capture.commitment) => {}
            Ok(Some(Line::Capture(capture))) => captures.push(capture_of(capture)),
            Ok(None) => break,
            Err(LineFault::Io(failure)) => return Err(failure),
            Err(LineFault::BrokenOff | LineFault::Export(_)) => return Err(changed()),
        }
        if records.len() + captures.len() >= BATCH {
            tx.append(&records, &captures)?;
            records.clear();
            captures.clear();
        }
    }
    tx.append(&records, &captures)?;
    if lines.file().0 == expected {
        Ok(())
    } else {
        Err(changed())
    }
}

fn changed() -> Failure {
    let message = "the export was changed while it was read";
    Failure::environment("changed", message).retryable()
}
