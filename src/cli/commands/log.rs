//! `log`: the events, one line each.

use super::evidence::told;
use super::reading::no_event;
use super::session::told as inheriting;
use crate::chain::VerifiedEvent;
use crate::cli::args::{Common, Log};
use crate::cli::context::Context;
use crate::cli::examined::{Answers, AnyLedger};
use crate::cli::output::{Format, Output};
use crate::cli::quote::quoted_within;
use crate::cli::render::probe_text;
use crate::cli::report::{Exit, Failure};
use crate::event::{Body, KINDS};
use crate::refusal::Refusal;
use crate::slice::Question;
use crate::state::State;
use crate::store::Record;
use crate::types::Seq;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};

/// Most characters of a body that a line for a person shows.
const BODY_CHARACTERS_MAX: usize = 100;

pub(super) fn run(common: &Common, request: &Log, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(kind) = &request.kind
        && !KINDS.contains(&kind.as_str())
    {
        let shown = quoted_within(kind, BODY_CHARACTERS_MAX);
        let message = format!("there is no kind {shown}, only {}", KINDS.join(", "));
        return Err(Failure::usage(message).next("handoff log --kind KIND"));
    }
    Context::answering(common, output, |context, output| {
        answer(context, request, output)
    })
}

fn answer(
    context: &Context<'_, AnyLedger>,
    request: &Log,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let head = context.head()?;
    let to = request.to.unwrap_or(head.seq).min(head.seq);
    let mut from = request.from.unwrap_or(Seq::ZERO);
    if from > head.seq {
        return Err(no_event(from, &head));
    }
    if request.to.is_some_and(|to| to < from) {
        let message = format!("--from {from} is after --to {to}");
        return Err(Failure::usage(message).next("handoff log"));
    }
    let picks_all = request.session.is_none() && request.kind.is_none() && request.claim.is_none();
    if let Some(limit) = request.limit.filter(|_| picks_all) {
        from = from.max(Seq(to.0.saturating_add(1).saturating_sub(limit)));
    }
    let limit = request
        .limit
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let format = output.format();
    let state = context.ledger.ask(&Question::default())?;
    let undetermined = state.undetermined();
    let voided = voided(context, &state, head.seq)?;
    let mut newest: VecDeque<Entry> = VecDeque::new();
    if let (Format::Json, Some(integrity)) = (format, context.ledger.integrity()) {
        output.json_line(&json!({ "integrity": integrity }));
    }
    context
        .ledger
        .replay(from, to, &mut |event, refusal, record| {
            if !is_picked(request, event) || output.is_closed() {
                return;
            }
            let judged = Judged::of(refusal.as_ref(), undetermined, event.event().seq);
            let standing = match voided.contains(&event.event().seq) {
                true => Standing::Void,
                false => Standing::Stands,
            };
            let entry = match format {
                Format::Text => Entry::Line(text(event, &judged, standing, record)),
                Format::Json => Entry::Value(value(event, &judged, standing, record)),
            };
            match limit {
                None => entry.print(output),
                Some(limit) => {
                    if newest.len() >= limit {
                        newest.pop_front();
                    }
                    newest.push_back(entry);
                }
            }
        })?;
    for entry in newest {
        entry.print(output);
    }
    Ok(context.ledger.exit(Exit::Yes))
}

/// Whether voidness reaches an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Stands,
    Void,
}

/// The void events. They are known of the whole alone, which is folded only where a key is said to
/// be compromised.
fn voided(
    context: &Context<'_, AnyLedger>,
    state: &State,
    head: Seq,
) -> Result<BTreeSet<Seq>, Failure> {
    let mut revoked = state.keys().values().filter_map(|key| key.revoked);
    if !revoked.any(|revocation| revocation.compromised_since.is_some()) {
        return Ok(BTreeSet::new());
    }
    Ok(context.ledger.fold(head)?.voided().into_iter().collect())
}

/// How an event was judged.
pub(super) enum Judged<'a> {
    /// The rules permit it.
    Lawful,
    /// They do not.
    Refused(&'a Refusal),
    /// It comes after what this program can judge.
    Unjudged,
}

impl Judged<'_> {
    /// Of the event at `seq`, if nothing is judged after `undetermined`.
    pub(super) fn of(refusal: Option<&Refusal>, undetermined: Option<Seq>, seq: Seq) -> Judged<'_> {
        match refusal {
            Some(refusal) => Judged::Refused(refusal),
            None if undetermined.is_some_and(|last| seq > last) => Judged::Unjudged,
            None => Judged::Lawful,
        }
    }

    /// The refusal as JSON, if it is one.
    pub(super) fn refused(&self) -> Option<Value> {
        match self {
            Judged::Refused(refusal) => {
                Some(json!({ "rule": refusal.rule, "detail": refusal.detail }))
            }
            Judged::Lawful | Judged::Unjudged => None,
        }
    }

    /// Whether it was not judged.
    pub(super) fn is_unjudged(&self) -> bool {
        matches!(self, Judged::Unjudged)
    }
}

/// An event as it is printed.
enum Entry {
    Line(String),
    Value(Value),
}

impl Entry {
    fn print(self, output: &mut Output) {
        match self {
            Entry::Line(line) => output.line(&line),
            Entry::Value(value) => output.json_line(&value),
        }
    }
}

fn is_picked(request: &Log, event: &VerifiedEvent) -> bool {
    let event = event.event();
    let of_session = request
        .session
        .is_none_or(|session| event.session == session || event.seq == session);
    let of_kind = (request.kind.as_deref()).is_none_or(|kind| event.body.kind() == kind);
    let of_claim = (request.claim.as_ref()).is_none_or(|claim| event.body.claims().contains(claim));
    of_session && of_kind && of_claim
}

/// The body of a record as it was signed.
pub(super) fn body(record: &Record) -> Value {
    let bytes = record.event_bytes().unwrap_or_default();
    let event: Value = serde_json::from_slice(bytes).unwrap_or_default();
    event.get("body").cloned().unwrap_or_default()
}

fn value(event: &VerifiedEvent, judged: &Judged<'_>, standing: Standing, record: &Record) -> Value {
    let (leaf, event) = (event.leaf(), event.event());
    json!({
        "seq": event.seq,
        "hash": leaf,
        "kind": event.body.kind(),
        "session": event.session,
        "key": event.key,
        "time": event.time,
        "body": body(record),
        "refused": judged.refused(),
        "unjudged": judged.is_unjudged(),
        "void": standing == Standing::Void,
    })
}

fn text(event: &VerifiedEvent, judged: &Judged<'_>, standing: Standing, record: &Record) -> String {
    let event = event.event();
    let session = match event.session {
        Seq::ZERO => String::new(),
        session => format!(" in {session}"),
    };
    let refused = match judged {
        Judged::Refused(refusal) => format!(" REFUSED {}", refusal.rule),
        Judged::Unjudged => " UNJUDGED".to_owned(),
        Judged::Lawful if standing == Standing::Void => " VOID".to_owned(),
        Judged::Lawful => String::new(),
    };
    let about = about(&event.body)
        .unwrap_or_else(|| quoted_within(&body(record).to_string(), BODY_CHARACTERS_MAX));
    let kind = event.body.kind();
    format!(
        "{} {} {kind}{session}{refused} {about}",
        event.seq, event.time
    )
}

/// What an event is about, in a few words; `None` where its body says it best.
fn about(body: &Body) -> Option<String> {
    let claims = body.claims();
    if !claims.is_empty() {
        let claims: Vec<&str> = claims.iter().map(|claim| claim.as_str()).collect();
        return Some(claims.join(", "));
    }
    if let Body::ProbeReceipt(receipt) = body {
        let probe = quoted_within(&probe_text(&receipt.probe), BODY_CHARACTERS_MAX);
        Some(format!("{probe}: {}", told(receipt)))
    } else if let Body::AxisRecorded(axis) = body {
        Some(format!("{} by receipt {}", axis.axis, axis.receipt))
    } else if let Body::SessionOpened(opened) = body {
        let inherits = inheriting(&opened.inherits);
        Some(format!("by {}{inherits}", opened.agent))
    } else if let Body::KeyAuthorized(key) = body {
        let roles: Vec<&str> = key.roles.iter().map(|role| role.as_str()).collect();
        Some(format!(
            "{} {}, {}",
            key.label,
            key.key.short(),
            roles.join(", ")
        ))
    } else if let Body::KeyRevoked(key) = body {
        let since = key.compromised_since;
        let since = since.map_or(String::new(), |since| format!(", void from {since} on"));
        let reason = quoted_within(key.reason.as_str(), BODY_CHARACTERS_MAX);
        Some(format!("{}{since}: {reason}", key.key.short()))
    } else if let Body::SessionSealed(sealed) = body {
        let counts = &sealed.counts;
        Some(format!(
            "axes {}, claims {}, promotions {}, flags {}",
            counts.axes, counts.claims, counts.promotions, counts.flags
        ))
    } else {
        None
    }
}
