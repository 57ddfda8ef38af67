//! `show`: one event, as it was signed.

use super::log::{Judged, body};
use super::reading::no_event;
use crate::chain::VerifiedEvent;
use crate::cli::args::{Common, Show};
use crate::cli::context::Context;
use crate::cli::examined::{Answers, AnyLedger};
use crate::cli::output::{Format, Output};
use crate::cli::quote::quoted;
use crate::cli::report::{Exit, Failure};
use crate::event::Body;
use crate::kept::{self, Commitment};
use crate::refusal::Refusal;
use crate::slice::Question;
use crate::state::State;
use crate::types::{Digest, Head, PublicKey, Seq, Time, hex};
use serde_json::{Map, Value, json};
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
    let event = verified.event();
    let shown = Shown {
        judged: Judged::of(refusal.as_ref(), state.undetermined(), request.seq),
        is_void: state.is_void(request.seq),
        body: body(&record),
        signature: hex(record.signature().unwrap_or_default()),
        kept: kept(context, &event.body)?,
        erased: erased(context, &state, &event.body)?,
        refusal: refusal.as_ref(),
        verified: &verified,
        bytes,
    };
    shown.tell(output);
    let told = shown.json(&head);
    Ok(context.answer(output, SCHEMA, Exit::Yes, told))
}

/// An event, and what is made of it.
struct Shown<'a> {
    verified: &'a VerifiedEvent,
    /// Its bytes, as they were signed.
    bytes: &'a [u8],
    signature: String,
    body: Value,
    refusal: Option<&'a Refusal>,
    judged: Judged<'a>,
    is_void: bool,
    kept: Vec<(&'static str, String)>,
    erased: Vec<Erased>,
}

impl Shown<'_> {
    fn tell(&self, output: &mut Output) {
        let event = self.verified.event();
        let (seq, kind, time) = (event.seq, event.body.kind(), event.time);
        output.line(&format!("{seq} {kind} {time}"));
        if let Some(Refusal { rule, detail }) = self.refusal {
            output.line(&format!("refused {rule}: {}", quoted(detail)));
        }
        if self.judged.is_unjudged() {
            output.line("unjudged: it comes after what this program can judge");
        }
        if self.is_void {
            output.line("void: the key that signed it, or what it cites, was compromised");
        }
        output.line(&format!("session {}", event.session));
        output.line(&format!("key {}", event.key));
        output.line(&format!("leaf {}", self.verified.leaf()));
        output.line(&format!("prev {}", event.prev));
        output.line(&format!("signature {}", self.signature));
        for (name, value) in self.body.as_object().into_iter().flatten() {
            output.line(&format!("  {name}: {}", shown(value)));
        }
        for (stream, text) in &self.kept {
            output.line(&format!("  {stream} kept: {}", quoted(text)));
        }
        for erased in &self.erased {
            output.line(&format!("  {erased}"));
        }
    }

    fn json(&self, basis: &Head) -> Value {
        let event = self.verified.event();
        let kept = self.kept.iter();
        let kept: Map<String, Value> = kept
            .map(|(stream, text)| ((*stream).to_owned(), text.as_str().into()))
            .collect();
        let erased: Vec<Value> = self.erased.iter().map(Erased::json).collect();
        json!({
            "kept": kept,
            "erased": erased,
            "seq": event.seq,
            "hash": self.verified.leaf(),
            "prev": event.prev,
            "kind": event.body.kind(),
            "v": event.body.v(),
            "session": event.session,
            "key": event.key,
            "time": event.time,
            "body": self.body,
            "signature": self.signature,
            "event": String::from_utf8_lossy(self.bytes),
            "refused": self.judged.refused(),
            "unjudged": self.judged.is_unjudged(),
            "void": self.is_void,
            "basis": basis.to_string(),
        })
    }
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
