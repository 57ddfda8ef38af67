//! `verify`: a whole ledger, every fault of it, and what is not proven all the same.

use crate::checkpoint::Expected;
use crate::cli::args::{Common, Verify};
use crate::cli::context::{self, Whose};
use crate::cli::examine::{Examination, Subject, examine};
use crate::cli::known::{Against, RESTORE};
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use crate::home::memory::Rollback;
use crate::note::VerifierKey;
use crate::types::Seq;
use crate::verify::{Basis, By, Fault, Report, Verification};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "handoff.verify.v1";

pub(super) fn run(common: &Common, request: &Verify, output: &mut Output) -> Result<Exit, Failure> {
    let witnesses = witnesses(common, request)?;
    match verify(common, request, witnesses, output) {
        Ok(Verified { found, evidence }) => {
            print(&found.report, common, output);
            print_rollbacks(&found.known.rollbacks, output);
            if let Some(next) = &next(&found.report, common, evidence.as_deref()) {
                let next = common.carried(next);
                output.line(&format!("next: {next}"));
            }
            let exit = Exit::from(found.report.result);
            output.document(SCHEMA, exit, body(&found));
            Ok(exit)
        }
        Err(failure) if failure.exit == Exit::Usage => Err(failure),
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

/// What is found of the ledger or file that was asked for.
///
/// # Errors
/// If it could not be looked at, which says nothing of it.
pub(super) fn verify(
    common: &Common,
    request: &Verify,
    witnesses: Vec<VerifierKey>,
    output: &mut Output,
) -> Result<Verified, Failure> {
    let folders = context::folders(common);
    let cwd = context::current_folder(common)?;
    // A file that is named is read as evidence; where it lies decides what is known of it.
    let subject = match &request.file {
        Some(path) => {
            let path = cwd.join(path);
            let (whose, doubt) = match context::whose_is(&path, &cwd, &folders) {
                Ok(whose) => (whose, None),
                Err(failure) => (Whose::Unknown, Some(failure)),
            };
            Subject {
                read_as: Whose::Unknown,
                doubt,
                witnesses,
                ..Subject::of(path, whose)
            }
        }
        None => {
            let (path, whose) = context::whose(common, &cwd, &folders)?;
            Subject {
                witnesses,
                ..Subject::of(path, whose)
            }
        }
    };
    let evidence = match (subject.read_as, &request.file) {
        (Whose::Own, _) => None,
        (Whose::Unknown, Some(path)) => Some(path.clone()),
        (Whose::Unknown, None) => Some(subject.path.clone()),
    };
    Ok(Verified {
        found: examine(common, &folders, subject, output)?,
        evidence,
    })
}

/// What was found.
pub(super) struct Verified {
    /// The verdict, and all that it rests on.
    pub(super) found: Examination,
    /// The file, if it is not read as this machine's own.
    pub(super) evidence: Option<PathBuf>,
}

/// The witnesses that must have cosigned the checkpoint, which there must be then.
fn witnesses(common: &Common, request: &Verify) -> Result<Vec<VerifierKey>, Failure> {
    let named: Vec<VerifierKey> = (request.witnesses.iter())
        .flat_map(|witnesses| witnesses.0.clone())
        .collect();
    match &common.expect {
        Some(Expected::Checkpoint(_)) => Ok(named),
        Some(Expected::Head(_)) | None if named.is_empty() => Ok(named),
        Some(Expected::Head(_)) | None => {
            let message = "a witness cosigns a checkpoint, which is given with --expect";
            Err(Failure::usage(message).next("the same command with --expect CHECKPOINT-FILE"))
        }
    }
}

fn body(found: &Examination) -> Value {
    let report = &found.report;
    let file = found.opened.file;
    let file = file.map(|(sha256, bytes)| json!({ "sha256": sha256, "bytes": bytes }));
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
        "dated_ahead": report.dated_ahead.items(),
        "undetermined": report.undetermined,
        "incomplete": report.incomplete,
        "not_proven": report.not_proven,
        "file": file,
        "rollbacks_accepted": found.known.rollbacks,
    })
}

fn print(report: &Report, common: &Common, output: &mut Output) {
    let head = match &report.head {
        Some(head) => format!(", head {head}"),
        None => String::new(),
    };
    let (events, records) = (report.events, report.records);
    let of = match events == records {
        true => format!("{events} events"),
        false => format!("{events} events of {records} records, before the first fault"),
    };
    output.verdict(report.result.as_str(), &format!("{of}{head}"));
    if let (Some(ledger), Some(root)) = (report.ledger, report.signer.root_key) {
        let basis = match (report.signer.basis, common.trust.as_slice()) {
            (Basis::Unpinned, []) => "unpinned: compare it with what its owner gives",
            (Basis::Unpinned, _) => "not the key that --trust gives",
            (basis @ (Basis::Pinned | Basis::Given), _) => basis.as_str(),
        };
        output.line(&format!("ledger {ledger}"));
        output.line(&format!("root key {root} ({basis})"));
    }
    match (report.end.by, report.end.seq) {
        (By::Expect, Some(seq)) => output.line(&format!("known by --expect up to event {seq}")),
        (By::Witness, Some(seq)) => {
            output.line(&format!("known by the witnesses named up to event {seq}"));
        }
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

/// Whether a fault is that of the event before, at the next one: where one record is missing, each
/// that follows has its fault.
fn continues(before: &Fault, fault: &Fault) -> bool {
    before.kind == fault.kind && fault.seq.is_some() && before.seq.map(Seq::next) == fault.seq
}

/// A fault, or a row of faults alike: where, and the first in full.
fn print_faults(alike: &[Fault], output: &mut Output) {
    let Some((first, others)) = alike.split_first() else {
        return;
    };
    let (kind, detail) = (first.kind, &first.detail);
    let line = match (first.seq, others.last().and_then(|last| last.seq)) {
        (None, _) => format!("fault {kind}: {detail}"),
        (Some(seq), None) => format!("fault {kind} at event {seq}: {detail}"),
        (Some(seq), Some(last)) => {
            format!("fault {kind} at event {seq} and each one up to {last}; the first: {detail}")
        }
    };
    output.line(&line);
}

/// What is wrong with single events, or to be known of them.
fn print_events(report: &Report, output: &mut Output) {
    for alike in report.faults.items().chunk_by(continues) {
        print_faults(alike, output);
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
    if let Some(first) = report.dated_ahead.items().first() {
        let total = report.dated_ahead.total();
        output.line(&format!(
            "warning: {total} events are dated ahead of this machine's clock, first event {first}"
        ));
    }
    if let Some(seq) = report.undetermined {
        output.line(&format!(
            "nothing after event {seq} was judged: it goes beyond this program"
        ));
    }
}

fn print_rollbacks(rollbacks: &[Rollback], output: &mut Output) {
    for rollback in rollbacks {
        let to = rollback.to.seq;
        let what = match (rollback.in_place_of, rollback.from) {
            (Some(other), _) => format!("this ledger, up to event {to}, in place of {other}"),
            (None, Some(from)) => format!("a rollback from event {} to {to}", from.seq),
            (None, None) => format!("event {to} as the end, what it knew being unreadable"),
        };
        let (time, reason) = (rollback.time, quoted(rollback.reason.as_str()));
        output.line(&format!("this machine accepted {what} at {time}: {reason}"));
    }
}

fn more(listed: usize, total: u64, what: &str, output: &mut Output) {
    let left = total.saturating_sub(u64::try_from(listed).unwrap_or(u64::MAX));
    if left > 0 {
        output.line(&format!("and {left} more {what}"));
    }
}

/// What to type next: to repair or to trust one's own ledger, or to look at what was handed over.
fn next(report: &Report, common: &Common, evidence: Option<&Path>) -> Option<String> {
    let file = evidence.map(|file| file.to_string_lossy());
    match (report.result, file) {
        (Verification::Tampered, None) => {
            let kinds: Vec<&str> = report
                .faults
                .items()
                .iter()
                .map(|fault| fault.kind)
                .collect();
            let all_of = |names: &[&str]| kinds.iter().all(|kind| names.contains(kind));
            let advice = if Against::Memory.is_all_of(report) || all_of(&["rollback", "expect"]) {
                RESTORE
            } else if all_of(&["checkpoint", "witness"]) {
                "the same command with a checkpoint that they signed: handoff checkpoint, \
                 handoff witness add"
            } else {
                "handoff export -o prefix.jsonl"
            };
            Some(advice.to_owned())
        }
        (Verification::Unlawful, None) => {
            let refused = report.refused.items().iter();
            let last = refused.map(|refused| refused.seq).max();
            last.map(|seq| format!("handoff show {seq}"))
        }
        (Verification::SelfConsistent, _) if !common.trust.is_empty() => None,
        (Verification::SelfConsistent, None) => Some("handoff trust add KEY".to_owned()),
        (Verification::SelfConsistent, Some(file)) => Some(context::command(&[
            "handoff", "verify", &file, "--trust", "KEY",
        ])),
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
