//! `erase`: what is kept of probes' output goes, and an event says so.

use super::reading::no_event;
use crate::cli::args::{Erasable, Erase};
use crate::cli::context::Context;
use crate::cli::output::Output;
use crate::cli::report::{Exit, Failure};
use crate::cli::written::wrote;
use crate::event::{Body, CaptureErased, ProbeReceipt};
use crate::home::clock;
use crate::slice::Question;
use crate::state::State;
use crate::types::{Ascending, Digest, Seq};
use serde_json::json;
use std::collections::BTreeSet;

/// Most commitments of one event: 67 bytes each, so that it fits a record beside any reason.
const COMMITMENTS_MAX: usize = 512;

/// What is to go.
#[derive(Default)]
struct Found {
    commitments: BTreeSet<Digest>,
    /// What went before, and with which event.
    before: BTreeSet<Digest>,
    /// What is gone and no event says so: nobody is to sign that it was erased now.
    missing: BTreeSet<Digest>,
    /// Receipts whose redacted value is compared by a salt that goes.
    redacted: BTreeSet<Seq>,
    /// Receipts whose value, taken from that output, is signed.
    values: BTreeSet<Seq>,
}

/// Erases captures, in one transaction with the events that say so. What went before is passed
/// over, so that the same command may be given again.
pub(super) fn run(
    context: &mut Context<'_>,
    arguments: &Erase,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signer = context.signer()?;
    let question = Question {
        erasures: true,
        ..Question::default()
    };
    let state = context.ask(&question)?;
    let mut found = Found::default();
    for what in &arguments.what {
        find(context, &state, *what, &mut found)?;
    }
    let Found {
        commitments,
        before,
        missing,
        redacted,
        values,
    } = found;
    let before: Vec<Digest> = before.into_iter().collect();
    let missing: Vec<Digest> = missing.into_iter().collect();
    if commitments.is_empty() && !missing.is_empty() {
        return Err(already_missing(&missing));
    }
    if commitments.is_empty() {
        let head = context.head()?;
        let body = json!({
            "seq": null, "commitments": [], "erased_before": before, "missing": [],
            "values_stay": values,
        });
        let line = "nothing left to erase: all of it was erased before";
        let exit = wrote(output, "erase", &head, line, body);
        tell_values(&values, output);
        return Ok(exit);
    }
    let all: Vec<Digest> = commitments.into_iter().collect();
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            let mut last = Seq::ZERO;
            for part in all.chunks(COMMITMENTS_MAX) {
                let body = CaptureErased {
                    commitments: Ascending::from_unordered(part.iter().copied()),
                    reason: arguments.reason.clone(),
                };
                last = pen.write(Seq::ZERO, body)?;
            }
            Ok::<Seq, Failure>(last)
        })?;
    let line = format!(
        "erased as {}: {} of what was kept, with salts. Exports with captures, backups, snapshots \
         and disk blocks not used again may still hold it",
        appended.outcome,
        all.len()
    );
    let body = json!({
        "seq": appended.outcome,
        "commitments": all,
        "erased_before": before,
        "missing": missing,
        "unverifiable_receipts": redacted,
        "values_stay": values,
    });
    let exit = wrote(output, "erase", &appended.head, &line, body);
    tell_values(&values, output);
    for commitment in &missing {
        output.line(&format!(
            "{commitment} was gone before, and no event says why: this one does not speak of it"
        ));
    }
    for receipt in &redacted {
        output.line(&format!(
            "the salt of receipt {receipt} is gone: axes recorded on it are unverifiable from now on"
        ));
    }
    Ok(exit)
}

/// That what a receipt says of its output is no part of what is erased.
fn tell_values(values: &BTreeSet<Seq>, output: &mut Output) {
    for receipt in values {
        output.line(&format!(
            "NOT erased: the value of receipt {receipt}, which was taken from that output. It is \
             signed and stands in the chain for good; --redact keeps the next one out"
        ));
    }
}

/// What went without an event is a loss, and an erasure now would pass it off as meant.
fn already_missing(missing: &[Digest]) -> Failure {
    let message = format!(
        "{} of what is named is gone already, and no event says that it was erased; a backup may \
         hold it",
        missing.len()
    );
    Failure::no("already_missing", message)
        .next("handoff verify")
        .details(json!({ "missing": missing }))
}

fn find(
    context: &Context<'_>,
    state: &State,
    what: Erasable,
    found: &mut Found,
) -> Result<(), Failure> {
    match what {
        Erasable::Receipt(seq) => {
            let receipt = receipt(context, seq)?;
            let kept = receipt.kept();
            if kept.is_empty() {
                let message = format!("nothing was kept of the output of receipt {seq}");
                return Err(Failure::no("nothing_kept", message).next(look(seq)));
            }
            if receipt.value.is_some() {
                found.values.insert(seq);
            }
            for (_, commitment) in &kept {
                sort(context, state, *commitment, found)?;
            }
            let mut kept = kept.iter();
            if receipt.redacted.is_some() && kept.any(|(_, it)| found.commitments.contains(it)) {
                found.redacted.insert(seq);
            }
        }
        Erasable::Commitment(commitment) => {
            let kept = context.ledger.capture(&commitment)?;
            if kept.is_none() && !state.erased().contains_key(&commitment) {
                let message = format!("nothing is kept under {commitment}");
                return Err(
                    Failure::no("nothing_kept", message).next("handoff log --kind probe.receipt")
                );
            }
            sort(context, state, commitment, found)?;
            found.values.extend(valued(context, &commitment)?);
        }
    }
    Ok(())
}

/// The receipts that hold a commitment, and a value beside it.
fn valued(context: &Context<'_>, commitment: &Digest) -> Result<Vec<Seq>, Failure> {
    let head = context.head()?;
    let mut receipts = Vec::new();
    context
        .ledger
        .replay_from(Seq::ZERO, head.seq, |event, _, _| {
            if let Body::ProbeReceipt(receipt) = &event.event().body
                && receipt.value.is_some()
                && receipt.kept().iter().any(|(_, it)| it == commitment)
            {
                receipts.push(event.event().seq);
            }
        })?;
    Ok(receipts)
}

/// What an event says is gone and is there all the same (somebody put it back) goes again.
fn sort(
    context: &Context<'_>,
    state: &State,
    commitment: Digest,
    found: &mut Found,
) -> Result<(), Failure> {
    let is_kept = context.ledger.capture(&commitment)?.is_some();
    let goes_to = match (is_kept, state.erased().contains_key(&commitment)) {
        (true, _) => &mut found.commitments,
        (false, true) => &mut found.before,
        (false, false) => &mut found.missing,
    };
    goes_to.insert(commitment);
    Ok(())
}

fn receipt(context: &Context<'_>, seq: Seq) -> Result<ProbeReceipt, Failure> {
    let head = context.head()?;
    if seq > head.seq {
        return Err(no_event(seq, &head));
    }
    let mut found = Err("no event".to_owned());
    context.ledger.replay_from(seq, seq, |event, _, _| {
        let body = &event.event().body;
        found = if let Body::ProbeReceipt(receipt) = body {
            Ok(receipt.clone())
        } else {
            Err(body.kind().to_owned())
        };
    })?;
    found.map_err(|kind| {
        let message = format!("event {seq} is {kind}, no probe.receipt, and nothing is kept of it");
        Failure::no("not_a_receipt", message).next(look(seq))
    })
}

fn look(seq: Seq) -> String {
    format!("handoff show {seq}")
}
