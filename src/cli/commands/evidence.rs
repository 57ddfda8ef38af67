//! `probe`, `axis` and `ambient`: what is seen of the environment, and what may drift.

use super::super::args::{Ambient, Class, Evidence, NamedAxis, ProbeArgs};
use super::super::context::Context;
use super::super::observe::{Observer, Secret, milliseconds, probe_of, secrets};
use super::super::output::Output;
use super::super::quote::quoted;
use super::super::report::{Exit, Failure};
use super::super::written::{refused_with, said, wrote};
use crate::check::Check;
use crate::command::{self, Proof, Recorded, Run};
use crate::event::{AmbientEntry, AxisClass, ProbeReceipt};
use crate::home::clock;
use crate::observation;
use crate::probe_spec::{Comparator, Outcome, Probe, TIMEOUT_MS_DEFAULT};
use crate::slice::Question;
use crate::types::{AxisName, Seq, Value};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// How much of what a failed run printed is told, in characters.
const PRINTED_CHARACTERS_MAX: usize = 200;

/// Runs a probe and records its receipt. Exit 1 if it was not successful.
pub(super) fn probe(context: &Context<'_>, arguments: &ProbeArgs) -> Result<Probed, Failure> {
    let session = context.session()?;
    let probe = probe_of(context, arguments, TIMEOUT_MS_DEFAULT)?;
    context.ask(&Question {
        session: Some(session),
        ..Question::default()
    })?;
    let run = Observer::new(context)?.run(&probe, None, &[])?;
    Ok(Probed { session, run })
}

/// A probe that was run for `probe`.
pub(super) struct Probed {
    session: Seq,
    run: Run,
}

/// Records what [`probe`] saw.
pub(super) fn record_probe(
    context: &mut Context<'_>,
    probed: Probed,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Probed { session, run } = probed;
    let signer = context.signer()?;
    let seen = run.receipt.clone();
    let printed = printed(&run);
    let question = Question {
        session: Some(session),
        ..Question::default()
    };
    let appended = context.append_seen(&signer, &question, |pen| {
        command::receipt(pen, session, run).map_err(Failure::from)
    })?;
    let successful = observation::is_successful(&seen);
    let exit = if successful { Exit::Yes } else { Exit::No };
    let line = format!("receipt {}: {}{printed}", appended.outcome, told(&seen));
    let mut body = seen_json(&seen);
    body.insert("seq".into(), json!(appended.outcome));
    body.insert("receipt".into(), json!(appended.outcome));
    body.insert("session".into(), json!(session));
    body.insert("successful".into(), json!(successful));
    Ok(said(
        output,
        "probe",
        exit,
        &appended.head,
        &line,
        Json::Object(body),
    ))
}

/// What a receipt says, in a line.
pub(super) fn told(receipt: &ProbeReceipt) -> String {
    let end = match receipt.outcome {
        Outcome::Exited(code) => format!("exit {code}"),
        Outcome::Signaled(signal) => format!("ended by signal {signal}"),
        Outcome::TimedOut => format!("timed out after {} ms", receipt.probe.timeout_ms()),
        Outcome::NotFound => not_found(&receipt.probe),
        Outcome::NotExecutable => "not executable".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Checked => "checked".to_owned(),
        Outcome::Failed => match receipt.probe.check() {
            Some(Check::Env(name)) => format!("could not be checked: is {name} set here?"),
            Some(check) => format!("{check} could not be checked here"),
            None => "could not be checked".to_owned(),
        },
    };
    let value = match (&receipt.value, &receipt.redacted) {
        (Some(value), _) => format!(", value {}", quoted(value.as_str())),
        (None, Some(_)) => ", value redacted".to_owned(),
        (None, None) if !receipt.extracted => ", no value".to_owned(),
        (None, None) => String::new(),
    };
    let expectations = receipt.probe.expect().iter().zip(&receipt.expectations);
    let unmet: Vec<String> = expectations
        .filter(|(_, judged)| !judged.met)
        .map(|(expectation, _)| quoted(&expectation.to_string()))
        .collect();
    let unmet = match unmet.is_empty() {
        true => String::new(),
        false => format!(", not met: {}", unmet.join(", ")),
    };
    let not_kept = not_kept(receipt);
    let not_kept = match not_kept.is_empty() {
        true => String::new(),
        false => format!(
            ", {} not kept: it holds what looks like a credential",
            not_kept.join(" and ")
        ),
    };
    format!("{end}{value}{unmet}{not_kept}")
}

/// A program that was not found, with the slip that is likely if its name has spaces.
fn not_found(probe: &Probe) -> String {
    let program = probe.argv().and_then(|argv| argv.first());
    match program.filter(|program| program.contains(' ')) {
        Some(program) => format!(
            "not found: {} is one word; a program and its arguments are words of their own",
            quoted(program)
        ),
        None => "not found".to_owned(),
    }
}

/// The streams of which nothing was kept although something was printed and nothing is redacted.
fn not_kept(receipt: &ProbeReceipt) -> Vec<&'static str> {
    let outputs = receipt.outputs.iter().filter(|_| !receipt.probe.redact());
    outputs
        .flat_map(|both| [("stdout", both.stdout), ("stderr", both.stderr)])
        .filter(|(_, stream)| stream.kept.length == 0 && stream.whole.length > 0)
        .map(|(name, _)| name)
        .collect()
}

/// Of a run that was not successful, the end of what it printed, as far as it is kept.
pub(super) fn printed(run: &Run) -> String {
    if observation::is_successful(&run.receipt) {
        return String::new();
    }
    let Some(outputs) = &run.receipt.outputs else {
        return String::new();
    };
    let mut told = String::new();
    for (stream, output) in [("stderr", outputs.stderr), ("stdout", outputs.stdout)] {
        let kept = run
            .captures
            .iter()
            .find(|it| it.commitment == output.kept.commitment);
        let Some(bytes) = kept.and_then(|kept| kept.bytes.as_ref()) else {
            continue;
        };
        let text = String::from_utf8_lossy(bytes);
        let end: Vec<char> = text
            .trim_end()
            .chars()
            .rev()
            .take(PRINTED_CHARACTERS_MAX)
            .collect();
        let end: String = end.into_iter().rev().collect();
        told.push_str(&format!(", {stream} ends with {}", quoted(&end)));
    }
    told
}

/// What a receipt says, for a program.
pub(super) fn seen_json(receipt: &ProbeReceipt) -> Map<String, Json> {
    let mut body = Map::new();
    body.insert("outcome".into(), json!(receipt.outcome));
    body.insert("duration_ms".into(), json!(receipt.duration_ms));
    body.insert("value".into(), json!(receipt.value));
    body.insert("redacted".into(), json!(receipt.redacted.is_some()));
    let expectations = receipt.probe.expect().iter().zip(&receipt.expectations);
    let expectations: Vec<Json> = expectations
        .map(|(expectation, judged)| json!({ "expect": expectation, "met": judged.met }))
        .collect();
    body.insert("expectations".into(), json!(expectations));
    body.insert("not_kept".into(), json!(not_kept(receipt)));
    body
}

fn class_of(class: Class) -> AxisClass {
    match class {
        Class::ExecutionTopology => AxisClass::ExecutionTopology,
        Class::DependencyVersion => AxisClass::DependencyVersion,
        Class::Reachability => AxisClass::Reachability,
    }
}

/// Records an axis on a receipt, its own or one made before.
pub(super) fn axis(
    context: &mut Context<'_>,
    arguments: &NamedAxis,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let comparator: Comparator = match &arguments.holds_if {
        Some(text) => text.parse()?,
        None => Comparator::Exact,
    };
    let max_age_ms = arguments.max_age.map(milliseconds);
    let mut question = Question {
        session: Some(session),
        ..Question::default()
    };
    context.ask(&question)?;
    let (proof, told_of) = match &arguments.evidence {
        Evidence::Receipt(seq) => {
            question.cited.insert(*seq);
            (Proof::Receipt(*seq), String::new())
        }
        Evidence::Probe(probe) => {
            let probe = probe_of(context, probe, TIMEOUT_MS_DEFAULT)?;
            let secrets = known_secrets(context, session, &arguments.name, &probe)?;
            let run = Observer::new(context)?.run(&probe, None, &secrets)?;
            let told_of = format!(": {}{}", told(&run.receipt), printed(&run));
            (Proof::Run(Box::new(run)), told_of)
        }
    };
    require_receipt(context, &question, &proof)?;
    let (name, class) = (arguments.name.clone(), class_of(arguments.class));
    let appended = context.append_seen(&signer, &question, |pen| {
        command::axis(pen, session, name, class, comparator, max_age_ms, proof)
            .map_err(Failure::from)
    })?;
    let Recorded { receipt, attempt } = &appended.outcome;
    match attempt {
        Ok(seq) => {
            let line = format!("axis {} recorded as {seq}{told_of}", arguments.name);
            let body = json!({
                "seq": seq, "axis": arguments.name, "receipt": receipt, "session": session,
            });
            Ok(wrote(output, "axis", &appended.head, &line, body))
        }
        Err(refusal) => {
            let mut refusal = refusal.clone();
            refusal.detail.push_str(&told_of);
            Err(refused_with(
                output,
                refusal,
                *receipt,
                &appended,
                json!({ "receipt": receipt }),
            ))
        }
    }
}

/// The secrets of what the session knows under an axis's name: a new run of the same redacted probe
/// is an observation of that too.
fn known_secrets(
    context: &Context<'_>,
    session: Seq,
    name: &AxisName,
    probe: &Probe,
) -> Result<Vec<Secret>, Failure> {
    if !probe.redact() {
        return Ok(Vec::new());
    }
    let question = Question {
        session: Some(session),
        names: [name.clone()].into(),
        ..Question::default()
    };
    let state = context.ask(&question)?;
    let axes = state.axes().keys().copied().collect::<Vec<Seq>>();
    secrets(context, &state, axes, probe.digest())
}

/// Requires that a cited receipt is there.
pub(super) fn require_receipt(
    context: &Context<'_>,
    question: &Question,
    proof: &Proof,
) -> Result<(), Failure> {
    let Proof::Receipt(seq) = proof else {
        return Ok(());
    };
    if *seq > context.head()?.seq {
        return Err(
            Failure::no("dangling_reference", format!("there is no event {seq}"))
                .next("handoff log --kind probe.receipt"),
        );
    }
    match context.ledger.ask(question)?.receipts().contains_key(seq) {
        true => Ok(()),
        false => Err(
            Failure::no("dangling_reference", format!("event {seq} is no receipt"))
                .next("handoff log --kind probe.receipt"),
        ),
    }
}

/// Declares what may drift.
pub(super) fn ambient(
    context: &mut Context<'_>,
    arguments: &Ambient,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let mut entries = Vec::new();
    for entry in &arguments.entries {
        let mut observed = Vec::new();
        for value in &entry.observed {
            observed.push(value.as_str().parse::<Value>()?);
        }
        let (name, reason) = (entry.allowed.name.clone(), entry.allowed.reason.clone());
        entries.push(AmbientEntry {
            name,
            observed,
            reason,
        });
    }
    let mut names: Vec<&AxisName> = entries.iter().map(|entry| &entry.name).collect();
    names.sort();
    let twice = names.windows(2).find_map(|pair| match pair {
        [one, other] if one == other => Some(one),
        _ => None,
    });
    if let Some(twice) = twice {
        return Err(Failure::usage(format!("{twice} is allowed twice"))
            .next(format!("handoff ambient --allow {twice}=REASON")));
    }
    let question = Question {
        session: Some(session),
        needed_names: entries.iter().map(|entry| entry.name.clone()).collect(),
        ..Question::default()
    };
    let state = context.ask(&question)?;
    let before = (state.sessions().get(&session)).map(|session| session.ambient.as_slice());
    let before = (before.unwrap_or_default().iter()).flat_map(|it| it.body.entries.iter());
    let before: BTreeSet<String> = before.map(|entry| entry.name.to_string()).collect();
    let names: Vec<String> = entries.iter().map(|entry| entry.name.to_string()).collect();
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            command::ambient(pen, session, entries).map_err(Failure::from)
        })?;
    let all: BTreeSet<String> = before.into_iter().chain(names.iter().cloned()).collect();
    let all: Vec<String> = all.into_iter().collect();
    let line = match all.is_empty() {
        true => format!("ambient allowlist of session {session}: nothing may drift"),
        false => format!(
            "ambient allowlist of session {session}: {} may drift",
            all.join(", ")
        ),
    };
    let body = json!({
        "seq": appended.outcome, "session": session, "names": names, "may_drift": all,
    });
    Ok(wrote(output, "ambient", &appended.head, &line, body))
}
