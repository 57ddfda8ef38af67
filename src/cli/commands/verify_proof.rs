//! `verify-proof`: what a proof shows, without a ledger and without a home.

use super::log::body;
use super::prove::read_checkpoint;
use super::show::shown;
use crate::checkpoint::SignedCheckpoint;
use crate::cli::args::{Common, VerifyProof};
use crate::cli::context;
use crate::cli::output::{Format, Output};
use crate::cli::report::{Exit, Failure};
use crate::cli::trust::given_keys;
use crate::home::{self, FileError};
use crate::key::ORIGIN_PREFIX;
use crate::proof::{InclusionProof, PROOF_BYTES_MAX, Proof, ProofError};
use crate::proof_report::{self, ProofReport, Trusted};
use crate::store::Record;
use crate::types::Time;
use crate::verify::Verification;
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA: &str = "handoff.verify_proof.v1";

pub(super) fn run(
    common: &Common,
    request: &VerifyProof,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let witnesses = request.witnesses.iter().flat_map(|it| it.0.clone());
    let trusted = Trusted {
        keys: given_keys(common)?,
        witnesses: witnesses.collect(),
    };
    let parsed = match home::read_given(&request.file, PROOF_BYTES_MAX) {
        Ok(bytes) => {
            let parsed = Proof::parse(&bytes);
            if parsed == Err(ProofError::Unknown)
                && let Some(kind) = Kind::of(&bytes)
            {
                return Ok(another_kind(&request.file, kind, output));
            }
            parsed
        }
        Err(FileError::TooLarge { found, .. }) => Err(ProofError::TooLarge { found }),
        Err(error) => return Err(error.into()),
    };
    let proof = match parsed {
        Ok(proof) => proof,
        Err(error) => return Ok(no_proof(&error, output)),
    };
    let report = match (&proof, &request.old) {
        (Proof::Inclusion(proof), None) => proof_report::of_inclusion(proof, &trusted),
        (Proof::Consistency(proof), Some(old)) => {
            proof_report::of_consistency(proof, &older(old)?, &trusted)
        }
        (Proof::Inclusion(_), Some(_)) => {
            let message = "--old is for a proof that a ledger continues an older checkpoint";
            return Err(Failure::usage(message).next("the same command without --old"));
        }
        (Proof::Consistency(_), None) => {
            let message = "a proof that a ledger continues an older checkpoint needs that one";
            return Err(Failure::usage(message).next("the same command with --old FILE"));
        }
    };
    print(&proof, &report, output);
    if report.result == Verification::SelfConsistent {
        let file = request.file.to_string_lossy();
        let command = context::command(&["handoff", "verify-proof", &file, "--trust", "KEY"]);
        output.line(&format!("next: {command}"));
    }
    let exit = Exit::from(report.result);
    output.document(SCHEMA, exit, told(&proof, &report));
    Ok(exit)
}

/// The older checkpoint. Who checks proofs has no ledger to make another one of.
fn older(path: &Path) -> Result<SignedCheckpoint, Failure> {
    let next = "the same command with --old FILE, the older checkpoint as it was kept";
    read_checkpoint(path).map_err(|failure| failure.next(next))
}

/// A file that does not even claim to be a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ledger,
    Export,
    Checkpoint,
    Unknown,
}

impl Kind {
    /// What bytes are that do not begin as a proof does; `None` if a checkpoint stands below, as in
    /// a proof whose beginning was altered.
    fn of(bytes: &[u8]) -> Option<Kind> {
        let origin = ORIGIN_PREFIX.as_bytes();
        if bytes.starts_with(b"SQLite format 3\0") {
            Some(Kind::Ledger)
        } else if bytes.starts_with(b"{") {
            Some(Kind::Export)
        } else if bytes.starts_with(origin) {
            Some(Kind::Checkpoint)
        } else if bytes.windows(origin.len()).any(|part| part == origin) {
            None
        } else {
            Some(Kind::Unknown)
        }
    }
}

/// Of a file of another kind nothing is said but that: nobody tampered with it.
fn another_kind(path: &Path, kind: Kind, output: &mut Output) -> Exit {
    let file = path.to_string_lossy();
    let verify = context::command(&["handoff", "verify", &file]);
    let demand = context::command(&["handoff", "verify", "--expect", &file]);
    let (what, next) = match kind {
        Kind::Ledger => ("a ledger", verify),
        Kind::Export => ("an export, or another JSON", verify),
        Kind::Checkpoint => ("a checkpoint", format!("where the ledger is: {demand}")),
        Kind::Unknown => ("another file", "handoff verify-proof FILE".to_owned()),
    };
    let message = format!("{file} is no proof, but {what}");
    let failure = Failure::environment("not_a_proof", message).next(next);
    output.verdict(Verification::Error.as_str(), "this is no proof");
    let mut told = failure.body();
    if let Some(members) = told.as_object_mut() {
        members.insert("result".to_owned(), json!(Verification::Error));
    }
    output.document(SCHEMA, failure.exit, told);
    if output.format() == Format::Text {
        output.failure(&failure);
    }
    failure.exit
}

/// What is no proof any longer shows nothing.
fn no_proof(error: &ProofError, output: &mut Output) -> Exit {
    let (result, exit) = (Verification::Tampered, Exit::Integrity);
    output.verdict(result.as_str(), "this is no proof");
    output.line(&format!("fault proof: {error}"));
    let fault = json!({ "seq": null, "kind": "proof", "detail": error.to_string() });
    let told = json!({ "result": result, "faults": [fault], "not_proven": [] });
    output.document(SCHEMA, exit, told);
    exit
}

fn print(proof: &Proof, report: &ProofReport, output: &mut Output) {
    let checkpoint = proof.checkpoint().checkpoint();
    let (ledger, size) = (checkpoint.ledger, checkpoint.tree.size);
    let what = match proof {
        Proof::Inclusion(proof) => format!("event {} of {size}", proof.index),
        Proof::Consistency(proof) => format!("{size} events continue {}", proof.old),
    };
    output.verdict(report.result.as_str(), &format!("{what}, ledger {ledger}"));
    for fault in &report.faults {
        output.line(&format!("fault {}: {}", fault.kind, fault.detail));
    }
    if let (Some(event), Proof::Inclusion(proof)) = (&report.event, proof) {
        let event = event.event();
        output.line(&format!("{} {}", event.body.kind(), event.time));
        output.line(&format!("session {}", event.session));
        output.line(&format!("key {}", event.key));
        let body = body(&Record(proof.record.clone()));
        for (name, value) in body.as_object().into_iter().flatten() {
            output.line(&format!("  {name}: {}", shown(value)));
        }
    }
    for key in &report.vouched.keys {
        output.line(&format!("checkpoint signed by {key}"));
    }
    for (witness, time) in &report.vouched.witnesses {
        let (name, time) = (witness.name(), moment(*time));
        output.line(&format!("checkpoint cosigned by {name} at {time}"));
    }
    for what in &report.not_proven {
        output.line(&format!("not proven: {what}"));
    }
}

fn told(proof: &Proof, report: &ProofReport) -> Value {
    let checkpoint = proof.checkpoint().checkpoint();
    let witnesses = report.vouched.witnesses.iter().map(|(witness, time)| {
        json!({ "name": witness.name(), "witness": witness.to_string(), "time": moment(*time) })
    });
    let mut told = json!({
        "result": report.result,
        "ledger": checkpoint.ledger,
        "checkpoint": {
            "size": checkpoint.tree.size,
            "root": checkpoint.tree.root,
            "keys": report.vouched.keys,
            "witnesses": witnesses.collect::<Vec<Value>>(),
        },
        "faults": report.faults,
        "not_proven": report.not_proven,
    });
    let (name, value) = match proof {
        Proof::Consistency(proof) => ("from", json!(proof.old)),
        Proof::Inclusion(proof) => ("event", event(proof, report)),
    };
    if let Some(members) = told.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    told
}

fn event(proof: &InclusionProof, report: &ProofReport) -> Value {
    let Some(verified) = &report.event else {
        return Value::Null;
    };
    let event = verified.event();
    json!({
        "seq": event.seq,
        "hash": verified.leaf(),
        "prev": event.prev,
        "kind": event.body.kind(),
        "session": event.session,
        "key": event.key,
        "time": event.time,
        "body": body(&Record(proof.record.clone())),
    })
}

/// A witness's time, in seconds since 1970.
fn moment(seconds: u64) -> Time {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Time::from_ms(seconds.saturating_mul(1000))
}
