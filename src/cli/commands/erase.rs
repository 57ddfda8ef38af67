//! `erase`: what is kept of probes' output goes, and an event says so.

use super::reading::no_event;
use crate::cli::args::{Erasable, Erase};
use crate::cli::context::Context;
use crate::cli::output::Output;
use crate::cli::report::{Exit, Failure};
use crate::cli::written::wrote;
use crate::event::{Body, CaptureErased, ProbeReceipt};
use crate::home::clock;
use crate::kept::{self, Commitment};
use crate::slice::Question;
use crate::state::State;
use crate::store::Read;
use crate::types::{Ascending, Digest, Head, Seq};
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
    let found = found(context, &state, &arguments.what)?;
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
        return Ok(nothing_left(&context.head()?, &before, &values, output));
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

/// What of what was named is to go.
fn found(context: &Context<'_>, state: &State, named: &[Erasable]) -> Result<Found, Failure> {
    let mut found = Found::default();
    let by_commitment = |what: &Erasable| matches!(what, Erasable::Commitment(_));
    let all = match named.iter().any(by_commitment) {
        true => receipts(context, Seq::ZERO, context.head()?.seq)?,
        false => Vec::new(),
    };
    for what in named {
        match what {
            Erasable::Receipt(seq) => of_receipt(context, state, *seq, &mut found)?,
            Erasable::Commitment(digest) => {
                of_commitment(context, state, *digest, &all, &mut found)?;
            }
        }
    }
    Ok(found)
}

/// That all of it was erased before: nothing is written.
fn nothing_left(
    head: &Head,
    before: &[Digest],
    values: &BTreeSet<Seq>,
    output: &mut Output,
) -> Exit {
    let body = json!({
        "seq": null, "commitments": [], "erased_before": before, "missing": [],
        "values_stay": values,
    });
    let line = "nothing left to erase: all of it was erased before";
    let exit = wrote(output, "erase", head, line, body);
    tell_values(values, output);
    exit
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

fn of_receipt(
    context: &Context<'_>,
    state: &State,
    seq: Seq,
    found: &mut Found,
) -> Result<(), Failure> {
    let receipt = receipt(context, seq)?;
    let kept: Vec<Commitment> = (kept::commitments(&receipt))
        .filter(Commitment::is_of_something)
        .collect();
    if kept.is_empty() {
        let message = format!("nothing was kept of the output of receipt {seq}");
        return Err(Failure::no("nothing_kept", message).next(look(seq)));
    }
    for commitment in &kept {
        let capture = context.ledger.capture(&commitment.digest, commitment.to)?;
        sort(state, commitment.digest, capture.is_some(), found);
    }
    if receipt.value.is_some() {
        found.values.insert(seq);
    }
    let mut kept = kept.iter();
    if receipt.redacted.is_some() && kept.any(|it| found.commitments.contains(&it.digest)) {
        found.redacted.insert(seq);
    }
    Ok(())
}

/// What is kept under a commitment goes, whichever of the receipts hold it.
fn of_commitment(
    context: &Context<'_>,
    state: &State,
    digest: Digest,
    all: &[(Seq, ProbeReceipt)],
    found: &mut Found,
) -> Result<(), Failure> {
    // What no receipt commits to is nobody's output, and goes like the rest.
    let mut is_kept = context.ledger.store().capture(&digest)?.is_some();
    for (seq, receipt) in all {
        if let Some(commitment) = kept::commitments(receipt).find(|it| it.digest == digest) {
            is_kept = (context.ledger.capture(&digest, commitment.to)?).is_some();
            if receipt.value.is_some() {
                found.values.insert(*seq);
            }
        }
    }
    if !is_kept && !state.erased().contains_key(&digest) {
        let message = format!("nothing is kept under {digest}");
        return Err(Failure::no("nothing_kept", message).next("handoff log --kind probe.receipt"));
    }
    sort(state, digest, is_kept, found);
    Ok(())
}

/// What an event says is gone and is there all the same (somebody put it back) goes again.
fn sort(state: &State, digest: Digest, is_kept: bool, found: &mut Found) {
    let goes_to = match (is_kept, state.erased().contains_key(&digest)) {
        (true, _) => &mut found.commitments,
        (false, true) => &mut found.before,
        (false, false) => &mut found.missing,
    };
    goes_to.insert(digest);
}

/// The receipts from one event to another. No index says which of them holds a commitment.
fn receipts(
    context: &Context<'_>,
    from: Seq,
    to: Seq,
) -> Result<Vec<(Seq, ProbeReceipt)>, Failure> {
    let mut receipts = Vec::new();
    context.ledger.replay_from(from, to, |event, _, _| {
        if let Body::ProbeReceipt(receipt) = &event.event().body {
            receipts.push((event.event().seq, receipt.clone()));
        }
    })?;
    Ok(receipts)
}

fn receipt(context: &Context<'_>, seq: Seq) -> Result<ProbeReceipt, Failure> {
    let head = context.head()?;
    if seq > head.seq {
        return Err(no_event(seq, &head));
    }
    match receipts(context, seq, seq)?.pop() {
        Some((_, receipt)) => Ok(receipt),
        None => {
            let message = format!("event {seq} is no probe.receipt, and nothing is kept of it");
            Err(Failure::no("not_a_receipt", message).next(look(seq)))
        }
    }
}

fn look(seq: Seq) -> String {
    format!("handoff show {seq}")
}
