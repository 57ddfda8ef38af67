//! `verify`: a whole ledger, every fault of it, and what is not proven all the same.

use crate::cli::args::{Common, Verify};
use crate::cli::context::{self, basis};
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use crate::cli::source::{self, Opened, Source};
use crate::home::paths::Folders;
use crate::store::index::IndexFile;
use crate::store::{Read, StoreError};
use crate::types::{Leaf, LedgerId, Seq};
use crate::verify::{Basis, By, Outside, Report, Verification, Verifier};
use serde_json::{Value, json};

const SCHEMA: &str = "handoff.verify.v1";

pub(super) fn run(common: &Common, request: &Verify, output: &mut Output) -> Result<Exit, Failure> {
    match verify(common, request, output) {
        Ok((report, file)) => {
            print(&report, output);
            if let Some(next) = next(&report, request) {
                output.line(&format!("next: {next}"));
            }
            let exit = exit(report.result);
            output.document(SCHEMA, exit, body(&report, file));
            Ok(exit)
        }
        Err(failure) => {
            output.verdict(
                Verification::Error.as_str(),
                "the ledger could not be looked at",
            );
            let mut told = failure.body();
            if let Some(members) = told.as_object_mut() {
                members.insert("result".to_owned(), json!(Verification::Error));
            }
            let exit = Exit::Environment;
            output.document(SCHEMA, exit, told);
            if output.format() == crate::cli::output::Format::Text {
                output.failure(&failure);
            }
            Ok(exit)
        }
    }
}

fn verify(
    common: &Common,
    request: &Verify,
    output: &mut Output,
) -> Result<(Report, Option<Value>), Failure> {
    let folders = context::folders(common);
    let mut outside = Outside {
        expect: common.expect.clone(),
        view: None,
        elsewhere: request.file.is_some(),
    };
    let mut view_fault = None;
    let mut opened = match &request.file {
        Some(path) => source::file(path)?,
        None => {
            let path = context::find(common, &context::current_folder(common)?)?;
            source::own(&path, context::wait(common))?
        }
    };
    match viewed(&folders, &opened) {
        Ok(view) => outside.view = view,
        Err(failure) => view_fault = Some(failure),
    }
    let mut verifier = Verifier::new(outside);
    source::walk(&mut opened, &mut verifier, output)?;
    if let Some(failure) = view_fault {
        let told = format!(
            "that it was not rolled back: this machine's own view of it cannot be read ({})",
            failure.message
        );
        verifier.not_proven(told);
    }
    let basis = match verifier.state().ledger() {
        Some(ledger) => basis(common, &folders, &ledger.id, &ledger.root)?,
        None => Basis::Unpinned,
    };
    let file = opened
        .file
        .map(|(sha256, bytes)| json!({ "sha256": sha256, "bytes": bytes }));
    Ok((verifier.finish(basis), file))
}

/// The head that this machine verified of the ledger before, if it did. A view that is not there
/// is not made.
fn viewed(folders: &Folders, opened: &Opened) -> Result<Option<(Seq, Leaf)>, Failure> {
    let first = match &opened.source {
        Source::Own(ledger) => ledger.get(Seq::ZERO)?,
        Source::Copy(evidence) => evidence.get(Seq::ZERO)?,
        Source::Unreadable | Source::Export(_) => None,
    };
    let Some(first) = first else {
        return Ok(None);
    };
    let path = folders.view(&LedgerId(first.leaf().0))?;
    if !path.exists() {
        return Ok(None);
    }
    let head = IndexFile::open(&path).and_then(|index| index.head());
    head.map_err(|error: StoreError| error.into())
}

fn exit(result: Verification) -> Exit {
    match result {
        Verification::Error => Exit::Environment,
        Verification::Tampered | Verification::Unlawful => Exit::Integrity,
        Verification::Undetermined
        | Verification::Incomplete
        | Verification::Empty
        | Verification::SelfConsistent => Exit::CannotJudge,
        Verification::Verified => Exit::Yes,
    }
}

fn body(report: &Report, file: Option<Value>) -> Value {
    json!({
        "result": report.result,
        "ledger": report.ledger,
        "events": report.events,
        "records": report.records,
        "head": report.head.as_ref().map(head_json),
        "root": report.root,
        "signer": report.signer,
        "end": report.end,
        "faults": report.faults.items(),
        "faults_total": report.faults.total(),
        "refused": report.refused.items(),
        "refused_total": report.refused.total(),
        "voided": report.voided.items(),
        "voided_total": report.voided.total(),
        "enrolled_by_compromised": report.enrolled_by_compromised,
        "clock_went_back": report.clock_went_back.items(),
        "undetermined": report.undetermined,
        "incomplete": report.incomplete,
        "not_proven": report.not_proven,
        "file": file,
    })
}

fn print(report: &Report, output: &mut Output) {
    let head = match &report.head {
        Some(head) => format!(", head {head}"),
        None => String::new(),
    };
    let (events, records) = (report.events, report.records);
    let of = match events == records {
        true => format!("{events} events"),
        false => format!("{events} intact events of {records} records"),
    };
    output.verdict(report.result.as_str(), &format!("{of}{head}"));
    if let (Some(ledger), Some(root)) = (report.ledger, report.signer.root_key) {
        let basis = report.signer.basis.as_str();
        output.line(&format!("ledger {ledger}"));
        output.line(&format!("root key {root} ({basis})"));
    }
    match (report.end.by, report.end.seq) {
        (By::Expect, Some(seq)) => output.line(&format!("known by --expect up to event {seq}")),
        (By::View, Some(seq)) => output.line(&format!("known by this machine up to event {seq}")),
        (By::None, _) | (_, None) => {}
    }
    print_events(report, output);
    for why in &report.incomplete {
        output.line(&format!("incomplete: {why}"));
    }
    for what in &report.not_proven {
        output.line(&format!("not proven: {what}"));
    }
}

/// What is wrong with single events, or to be known of them.
fn print_events(report: &Report, output: &mut Output) {
    for fault in report.faults.items() {
        let at = fault
            .seq
            .map_or(String::new(), |seq| format!(" at event {seq}"));
        output.line(&format!("fault {}{at}: {}", fault.kind, fault.detail));
    }
    more(
        report.faults.items().len(),
        report.faults.total(),
        "faults",
        output,
    );
    for refused in report.refused.items() {
        let known = if refused.acknowledged {
            ", acknowledged"
        } else {
            ""
        };
        let detail = quoted(&refused.detail);
        let (seq, rule) = (refused.seq, refused.rule);
        output.line(&format!("refused event {seq} by {rule}{known}: {detail}"));
    }
    more(
        report.refused.items().len(),
        report.refused.total(),
        "refused events",
        output,
    );
    if report.voided.total() > 0 {
        let seqs: Vec<String> = report.voided.items().iter().map(Seq::to_string).collect();
        output.line(&format!("void events: {}", seqs.join(", ")));
    }
    more(
        report.voided.items().len(),
        report.voided.total(),
        "void events",
        output,
    );
    for key in &report.enrolled_by_compromised {
        output.line(&format!(
            "warning: key {key} was authorised by a compromised admin"
        ));
    }
    if let Some(first) = report.clock_went_back.items().first() {
        let total = report.clock_went_back.total();
        output.line(&format!(
            "warning: the clock went back {total} times, first at event {first}"
        ));
    }
    if let Some(seq) = report.undetermined {
        output.line(&format!(
            "upgraded at event {seq} beyond what this program can judge"
        ));
    }
}

fn more(listed: usize, total: u64, what: &str, output: &mut Output) {
    let left = total.saturating_sub(u64::try_from(listed).unwrap_or(u64::MAX));
    if left > 0 {
        output.line(&format!("and {left} more {what}"));
    }
}

/// What to type next: to repair or to trust one's own ledger, or to look at what was handed over.
fn next(report: &Report, request: &Verify) -> Option<String> {
    let file = request.file.as_deref().map(|file| file.to_string_lossy());
    match (report.result, file) {
        (Verification::Tampered, None) => {
            let kinds: Vec<&str> = report
                .faults
                .items()
                .iter()
                .map(|fault| fault.kind)
                .collect();
            let replaced = kinds
                .iter()
                .all(|kind| ["rollback", "fork", "expect"].contains(kind));
            Some(match replaced {
                true => "restore the newer file, or accept this one with: \
                         handoff acknowledge --rollback --reason WHY"
                    .to_owned(),
                false => "handoff export -o intact.jsonl".to_owned(),
            })
        }
        (Verification::Unlawful, None) => {
            let refused = report.refused.items().iter();
            let last = refused.map(|refused| refused.seq).max();
            last.map(|seq| format!("handoff show {seq}"))
        }
        (Verification::SelfConsistent, None) => {
            Some("handoff trust add KEY, with the root key as its owner gave it".to_owned())
        }
        (Verification::SelfConsistent, Some(file)) => {
            let command = context::command(&["handoff", "verify", &file, "--trust", "KEY"]);
            Some(format!("{command}, with the root key as its owner gave it"))
        }
        (Verification::Undetermined, _) => Some("cargo install handoff-ledger".to_owned()),
        (Verification::Tampered | Verification::Unlawful, Some(_))
        | (
            Verification::Error
            | Verification::Incomplete
            | Verification::Empty
            | Verification::Verified,
            _,
        ) => None,
    }
}
