//! `verify`: a whole ledger, every fault of it, and what is not proven all the same.

use crate::checkpoint::Expected;
use crate::cli::args::{Common, Verify};
use crate::cli::context::{self, Trust, Whose};
use crate::cli::known::Known;
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use crate::cli::source;
use crate::home::clock;
use crate::home::memory::Rollback;
use crate::note::VerifierKey;
use crate::types::Seq;
use crate::verify::{Basis, By, Outside, Report, Verification, Verifier};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "handoff.verify.v1";

pub(super) fn run(common: &Common, request: &Verify, output: &mut Output) -> Result<Exit, Failure> {
    let witnesses = witnesses(common, request)?;
    match verify(common, request, witnesses, output) {
        Ok(Verified {
            report,
            file,
            rollbacks,
            evidence,
        }) => {
            print(&report, output);
            print_rollbacks(&rollbacks, output);
            if let Some(next) = &next(&report, evidence.as_deref()) {
                let next = common.carried(next);
                output.line(&format!("next: {next}"));
            }
            let exit = Exit::from(report.result);
            output.document(SCHEMA, exit, body(&report, file, &rollbacks));
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
    let trust = Trust::of(common, &folders)?;
    let cwd = context::current_folder(common)?;
    // A file that is named is read as evidence; where it lies decides what is known of it.
    let (path, whose, read_as) = match &request.file {
        Some(path) => {
            let whose = context::whose_is(&cwd.join(path), &cwd, &folders);
            (path.clone(), whose, Whose::Unknown)
        }
        None => {
            let (path, whose) = context::whose(common, &cwd, &folders)?;
            (path, whose, whose)
        }
    };
    let mut opened = match read_as {
        Whose::Own => source::own(&path, context::wait(common))?,
        Whose::Unknown => source::file(&path)?,
    };
    let known = Known::of(&folders, &opened, &cwd.join(&path), whose)?;
    let mut verifier = Verifier::new(Outside {
        expect: common.expect.clone(),
        witnesses,
        view: known.head,
        elsewhere: whose == Whose::Unknown,
        now: Some(clock::now()),
    });
    source::walk(&mut opened, &mut verifier, output)?;
    known.tell(&mut verifier);
    let ledger = verifier.state().ledger();
    let basis = ledger.map(|ledger| trust.basis(&ledger.id, &ledger.root));
    let basis = basis
        .unwrap_or(Ok(Basis::Unpinned))
        .unwrap_or_else(|failure| {
            verifier.not_proven(format!("that its root key is not pinned: {failure}"));
            Basis::Unpinned
        });
    let file = opened
        .file
        .map(|(sha256, bytes)| json!({ "sha256": sha256, "bytes": bytes }));
    Ok(Verified {
        report: verifier.finish(basis),
        file,
        rollbacks: known.rollbacks,
        evidence: match read_as {
            Whose::Own => None,
            Whose::Unknown => Some(path),
        },
    })
}

/// What was found.
pub(super) struct Verified {
    /// The verdict, and all that it rests on.
    pub(super) report: Report,
    /// Digest and length of the file, where it was read whole.
    file: Option<Value>,
    /// The rollbacks of this ledger that this machine accepted.
    rollbacks: Vec<Rollback>,
    /// The file, if it is not this machine's own.
    evidence: Option<PathBuf>,
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

fn body(report: &Report, file: Option<Value>, rollbacks: &[Rollback]) -> Value {
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
        "rollbacks_accepted": rollbacks,
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
        false => format!("{events} events of {records} records, before the first fault"),
    };
    output.verdict(report.result.as_str(), &format!("{of}{head}"));
    if let (Some(ledger), Some(root)) = (report.ledger, report.signer.root_key) {
        let basis = report.signer.basis.as_str();
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
        let from = match rollback.from {
            Some(from) => format!("event {}", from.seq),
            None => "what it could not read any more".to_owned(),
        };
        output.line(&format!(
            "this machine accepted a rollback from {from} to {} at {}: {}",
            rollback.to.seq,
            rollback.time,
            quoted(rollback.reason.as_str())
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
fn next(report: &Report, evidence: Option<&Path>) -> Option<String> {
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
            let advice = if all_of(&["rollback", "fork", "other_ledger", "expect"]) {
                "restore the newer file, or accept this one with: \
                 handoff acknowledge --rollback --reason WHY"
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
