//! `show`: one event, as it was signed.

use super::log::{Judged, body};
use super::reading::no_event;
use crate::cli::args::{Common, Show};
use crate::cli::context::Context;
use crate::cli::examined::{Answers, AnyLedger};
use crate::cli::output::{Format, Output};
use crate::cli::quote::quoted;
use crate::cli::report::{Exit, Failure};
use crate::event::Body;
use crate::kept::{self, Commitment};
use crate::slice::Question;
use crate::state::State;
use crate::types::{Digest, PublicKey, Seq, Time, hex};
use serde_json::{Value, json};
use std::fmt;

const SCHEMA: &str = "handoff.show.v1";

/// With `--raw` and without `--json`, standard output is the event's bytes and nothing else: what
/// the signature is over, by DSSE. The leaf is SHA-256 of 0x00, the signature and these bytes.
pub(super) fn run(common: &Common, request: &Show, output: &mut Output) -> Result<Exit, Failure> {
    Context::answering(common, output, |context, output| {
        answer(context, request, output)
    })
}

fn answer(
    context: &Context<'_, AnyLedger>,
    request: &Show,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let head = context.head()?;
    if request.seq > head.seq {
        return Err(no_event(request.seq, &head));
    }
    let mut found = None;
    context
        .ledger
        .replay(request.seq, request.seq, &mut |event, refusal, record| {
            found = Some((event.clone(), refusal, record.clone()));
        })?;
    let Some((verified, refusal, record)) = found else {
        return Err(no_event(request.seq, &head));
    };
    let bytes = record.event_bytes().unwrap_or_default();
    if request.raw && output.format() == Format::Text {
        output.raw(bytes);
        return Ok(context.ledger.exit(Exit::Yes));
    }
    let state = context.ledger.ask(&Question {
        cited: [request.seq].into(),
        erasures: true,
        ..Question::default()
    })?;
    let judged = Judged::of(refusal.as_ref(), state.undetermined(), request.seq);
    let is_void = state.is_void(request.seq);
    let event = verified.event();
    let signature = hex(record.signature().unwrap_or_default());
    let body = body(&record);
    output.line(&format!(
        "{} {} {}",
        event.seq,
        event.body.kind(),
        event.time
    ));
    if let Some(refusal) = &refusal {
        output.line(&format!(
            "refused {}: {}",
            refusal.rule,
            quoted(&refusal.detail)
        ));
    }
    if judged.is_unjudged() {
        output.line("unjudged: it comes after what this program can judge");
    }
    if is_void {
        output.line("void: the key that signed it, or what it cites, was compromised");
    }
    output.line(&format!("session {}", event.session));
    output.line(&format!("key {}", event.key));
    output.line(&format!("leaf {}", verified.leaf()));
    output.line(&format!("prev {}", event.prev));
    output.line(&format!("signature {signature}"));
    for (name, value) in body.as_object().into_iter().flatten() {
        output.line(&format!("  {name}: {}", shown(value)));
    }
    let kept = kept(context, &event.body)?;
    for (stream, text) in &kept {
        output.line(&format!("  {stream} kept: {}", quoted(text)));
    }
    let erased = erased(context, &state, &event.body)?;
    for one in &erased {
        output.line(&format!("  {one}"));
    }
    let erased: Vec<Value> = erased.iter().map(Erased::json).collect();
    let kept: serde_json::Map<String, Value> = kept
        .into_iter()
        .map(|(stream, text)| (stream.to_owned(), text.into()))
        .collect();
    let told = json!({
        "kept": kept,
        "erased": erased,
        "seq": event.seq,
        "hash": verified.leaf(),
        "prev": event.prev,
        "kind": event.body.kind(),
        "v": event.body.v(),
        "session": event.session,
        "key": event.key,
        "time": event.time,
        "body": body,
        "signature": signature,
        "event": String::from_utf8_lossy(bytes),
        "refused": judged.refused(),
        "unjudged": judged.is_unjudged(),
        "void": is_void,
        "basis": head.to_string(),
    });
    Ok(context.answer(output, SCHEMA, Exit::Yes, told))
}

/// What is kept of a receipt's output; bytes that are no text are shown as such.
fn kept(
    context: &Context<'_, AnyLedger>,
    body: &Body,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut all = Vec::new();
    let Body::ProbeReceipt(receipt) = body else {
        return Ok(all);
    };
    for Commitment { what, digest, to } in kept::commitments(receipt) {
        let capture = context.ledger.capture(&digest, to)?;
        if let Some(bytes) = capture.and_then(|capture| capture.bytes) {
            all.push((what, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    Ok(all)
}

/// What was kept of a receipt until somebody erased it.
struct Erased {
    what: &'static str,
    commitment: Digest,
    event: Seq,
    time: Time,
    by: PublicKey,
    label: String,
    reason: String,
}

impl fmt::Display for Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Erased {
            what,
            event,
            time,
            label,
            ..
        } = self;
        let (label, reason) = (quoted(label), quoted(&self.reason));
        write!(
            f,
            "{what} erased by {label} at {time}, event {event}: {reason}"
        )
    }
}

impl Erased {
    fn json(&self) -> Value {
        json!({
            "what": self.what,
            "commitment": self.commitment,
            "seq": self.event,
            "time": self.time,
            "key": self.by,
            "label": self.label,
            "reason": self.reason,
        })
    }
}

fn erased(
    context: &Context<'_, AnyLedger>,
    state: &State,
    body: &Body,
) -> Result<Vec<Erased>, Failure> {
    let mut erased = Vec::new();
    let Body::ProbeReceipt(receipt) = body else {
        return Ok(erased);
    };
    for Commitment {
        what,
        digest: commitment,
        ..
    } in kept::commitments(receipt).filter(Commitment::is_of_something)
    {
        let Some(seq) = state.erased().get(&commitment).copied() else {
            continue;
        };
        context.ledger.replay(seq, seq, &mut |event, _, _| {
            let event = event.event();
            if let Body::CaptureErased(body) = &event.body {
                let label = state
                    .keys()
                    .get(&event.key)
                    .map(|key| key.label.to_string());
                erased.push(Erased {
                    what,
                    commitment,
                    event: seq,
                    time: event.time,
                    by: event.key,
                    label: label.unwrap_or_default(),
                    reason: body.reason.to_string(),
                });
            }
        })?;
    }
    Ok(erased)
}

/// A member of a body: texts quoted, all else as JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}
