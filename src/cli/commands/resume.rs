//! `resume` and `reverify`: what still holds here, of what was inherited.

use super::super::args::{Reprobe, Resume};
use super::super::briefing::{Briefing, Markup};
use super::super::context::Context;
use super::super::observe::{Observer, Secret, secrets};
use super::super::output::Output;
use super::super::quote::shell_quoted;
use super::super::render;
use super::super::render::head_json;
use super::super::report::{Exit, Failure};
use super::session;
use crate::append::Pen;
use crate::command::{self, Run};
use crate::event::NotProbedWhy;
use crate::home::clock;
use crate::probe_spec::Probe;
use crate::reverify::{self, Found, Planned};
use crate::slice::Question;
use crate::state::State;
use crate::types::{ClaimId, Digest, Head, Seq, Value};
use crate::verdict::{ClaimState, Judge};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// How long reverification may take in all, if nothing else is said.
const DEADLINE: Duration = Duration::from_secs(60);
/// Longest brief, in characters.
const CHARACTERS_MAX: usize = 6000;
/// How many probes run at the same time.
const PARALLEL: usize = 8;
/// How often a wait looks whether a signal came.
const POLL: Duration = Duration::from_millis(20);
/// Largest file of asserted values, in bytes.
const VALUES_BYTES_MAX: u64 = 1 << 20;

/// Opens a session, probes what it inherits, and says what may be relied on.
pub(super) fn resume(
    context: &mut Context<'_>,
    arguments: &Resume,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let asserted = asserted(&arguments.reprobe)?;
    context.ask(&Question::default())?;
    if arguments.reprobe.dry_run {
        return dry_resume(context, arguments, output);
    }
    let (session, _, inherits) = session::opened(context, &arguments.open)?;
    let judged = judge_anew(context, session, &arguments.reprobe, &asserted)?;
    let told = Told::of(context, session, &judged.state);
    let missing: Vec<&ClaimId> = arguments
        .require
        .iter()
        .filter(|id| !told.admissible.contains(id))
        .collect();
    let exit = if missing.is_empty() {
        Exit::Yes
    } else {
        Exit::No
    };
    let agent = &arguments.open.agent;
    output.line(&format!(
        "session {session} opened by {agent}{}",
        session::told(&inherits)
    ));
    output.line(&format!("next: export HANDOFF_SESSION={session}"));
    for id in &missing {
        output.line(&format!("REQUIRED {id} is not admissible"));
    }
    output.line("");
    let judge = Judge::new(&judged.state, Some(session), context.now());
    let title = format!(
        "Handoff brief for session {session} at event {}",
        judged.head.seq
    );
    let briefing = Briefing::of(&judged.state, &judge, title);
    output.line(briefing.text(Markup::Plain, CHARACTERS_MAX).trim_end());
    let mut body = told.json(session, &judged.head);
    if let Some(body) = body.as_object_mut() {
        body.insert("inherits".into(), json!(inherits));
        body.insert("required_missing".into(), json!(missing));
    }
    output.document("handoff.resume.v1", exit, body);
    Ok(exit)
}

/// Probes what the session inherits and needs, anew. Exit 1 if a claim asked about is blocked.
pub(super) fn reverify(
    context: &mut Context<'_>,
    arguments: &Reprobe,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let asserted = asserted(arguments)?;
    if arguments.dry_run {
        let state = context.ask(&everything(Some(session)))?;
        let axes = reverify::axes(&state, session, &arguments.only);
        return Ok(would_run(&state, &axes, output, "reverify"));
    }
    let judged = judge_anew(context, session, arguments, &asserted)?;
    let told = Told::of(context, session, &judged.state);
    let asked = match arguments.only.is_empty() {
        true => inherited(&judged.state, session),
        false => arguments.only.iter().cloned().collect(),
    };
    let all = asked.iter().all(|id| told.admissible.contains(id));
    let exit = if all { Exit::Yes } else { Exit::No };
    for line in told.lines() {
        output.line(&line);
    }
    output.document(
        "handoff.reverify.v1",
        exit,
        told.json(session, &judged.head),
    );
    Ok(exit)
}

fn everything(session: Option<Seq>) -> Question {
    Question {
        session,
        all_claims: true,
        ..Question::default()
    }
}

/// The claims verified by sessions that this one inherits.
fn inherited(state: &State, session: Seq) -> BTreeSet<ClaimId> {
    let lineage = state.lineage(session);
    let supports = state.supports().values();
    let supports = supports.filter(|s| s.session != session && lineage.contains(&s.session));
    let live = supports.filter(|support| {
        let retracted = state.retracted(&support.body.claim);
        retracted.is_none_or(|retraction| retraction < support.seq)
    });
    live.map(|support| support.body.claim.clone()).collect()
}

/// The values of `--values`: by axis name or by the seq of its record.
fn asserted(arguments: &Reprobe) -> Result<BTreeMap<String, Value>, Failure> {
    let Some(path) = &arguments.values else {
        return Ok(BTreeMap::new());
    };
    let usage = |what: String| {
        Failure::usage(format!("{}: {what}", path.display()))
            .next("a file of at most 1 MiB that holds {\"AXIS\": \"VALUE\"}")
    };
    let text = read_small(path).map_err(usage)?;
    serde_json::from_str::<BTreeMap<String, Value>>(&text).map_err(|error| usage(error.to_string()))
}

fn read_small(path: &Path) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > VALUES_BYTES_MAX {
        return Err("no regular file of at most 1 MiB".to_owned());
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// What would be probed, if this were no dry run.
fn dry_resume(
    context: &Context<'_>,
    arguments: &Resume,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut state = context.ask(&Question {
        sessions: true,
        ..everything(None)
    })?;
    let inherits: Vec<Seq> = match arguments.open.inherit.is_empty() {
        true => state.frontier().into_iter().collect(),
        false => arguments.open.inherit.clone(),
    };
    let mut axes = BTreeSet::new();
    for session in inherits {
        state = context.ask(&everything(Some(session)))?;
        let found = reverify::axes(&state, session, &arguments.reprobe.only);
        would_run(&state, &found, output, "");
        axes.extend(found);
    }
    output.document(
        "handoff.resume.v1",
        Exit::Yes,
        json!({ "dry_run": true, "axes": axes }),
    );
    Ok(Exit::Yes)
}

fn would_run(state: &State, axes: &BTreeSet<Seq>, output: &mut Output, command: &str) -> Exit {
    let mut listed = Vec::new();
    for planned in reverify::plan(state, axes) {
        let names: Vec<String> = planned
            .axes
            .iter()
            .filter_map(|axis| state.axes().get(axis))
            .map(|record| record.body.axis.to_string())
            .collect();
        output.line(&format!(
            "would run {} for {}",
            told_probe(&planned.probe),
            names.join(", ")
        ));
        listed.push(json!({ "probe": planned.probe, "axes": planned.axes, "key": planned.key }));
    }
    if !command.is_empty() {
        let body = json!({ "dry_run": true, "probes": listed });
        output.document(&format!("handoff.{command}.v1"), Exit::Yes, body);
    }
    Exit::Yes
}

/// A probe in a line, as a shell would take it.
fn told_probe(probe: &Probe) -> String {
    match (probe.argv(), probe.check()) {
        (Some(argv), _) => shell_quoted(argv),
        (None, Some(check)) => format!("--check {}", shell_quoted(&[check.to_string()])),
        (None, None) => String::new(),
    }
}

/// The state after a reverification, and the head it was written at.
struct Judged {
    state: State,
    head: Head,
}

fn judge_anew(
    context: &mut Context<'_>,
    session: Seq,
    arguments: &Reprobe,
    asserted: &BTreeMap<String, Value>,
) -> Result<Judged, Failure> {
    let signer = context.signer()?;
    let state = context.ask(&everything(Some(session)))?;
    let axes = reverify::axes(&state, session, &arguments.only);
    let mut found: BTreeMap<Seq, Found> = BTreeMap::new();
    let mut left = BTreeSet::new();
    for axis in axes {
        match value_of(&state, axis, asserted) {
            Some(value) => {
                found.insert(axis, Found::Asserted(value));
            }
            None if arguments.no_exec => {
                found.insert(axis, Found::NotProbed(NotProbedWhy::NoExec));
            }
            None => {
                left.insert(axis);
            }
        }
    }
    let plan = reverify::plan(&state, &left);
    let runs = run_all(
        context,
        &state,
        &plan,
        arguments.deadline.unwrap_or(DEADLINE),
    )?;
    let question = Question {
        session: Some(session),
        cited: left.iter().copied().chain(found.keys().copied()).collect(),
        ..Question::default()
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen: &mut Pen<'_>| {
            for (planned, run) in plan.iter().zip(runs) {
                let what = match run {
                    Some(run) => Found::Receipt(command::receipt(pen, session, run)?),
                    None => Found::NotProbed(NotProbedWhy::NotRun),
                };
                found.extend(planned.axes.iter().map(|axis| (*axis, what.clone())));
            }
            for event in reverify::events(found) {
                pen.write(session, event)?;
            }
            Ok::<_, Failure>(())
        })?;
    Ok(Judged {
        state: context.ask(&everything(Some(session)))?,
        head: appended.head,
    })
}

fn value_of(state: &State, axis: Seq, asserted: &BTreeMap<String, Value>) -> Option<Value> {
    let name = &state.axes().get(&axis)?.body.axis;
    asserted
        .get(&axis.to_string())
        .or_else(|| asserted.get(name.as_str()))
        .cloned()
}

/// Runs planned probes, several at a time, until the deadline; none for one that did not come to
/// its end by then.
fn run_all(
    context: &Context<'_>,
    state: &State,
    plan: &[Planned],
    deadline: Duration,
) -> Result<Vec<Option<Run>>, Failure> {
    let end = Instant::now() + deadline;
    let observer = Observer::new(context)?;
    let over = Arc::new(AtomicBool::new(false));
    let within = observer.until(Arc::clone(&over));
    let mut secrets_of: Vec<Vec<Secret>> = Vec::new();
    for planned in plan {
        secrets_of.push(secrets(context, state, planned.axes.iter().copied())?);
    }
    let next = AtomicUsize::new(0);
    let runs: Mutex<BTreeMap<usize, Run>> = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        for _ in 0..PARALLEL.min(plan.len()) {
            let done = done.clone();
            let (next, runs, over, within, secrets_of) =
                (&next, &runs, &over, &within, &secrets_of);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(planned), Some(secrets)) = (plan.get(index), secrets_of.get(index))
                    else {
                        break;
                    };
                    if let Ok(run) = within.run(&planned.probe, None, secrets)
                        && let Ok(mut runs) = runs.lock()
                    {
                        runs.insert(index, run);
                    }
                }
                drop(done);
            });
        }
        drop(done);
        while wait.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if Instant::now() >= end || observer.is_interrupted() {
                over.store(true, Ordering::Relaxed);
            }
        }
    });
    if observer.is_interrupted() {
        return Err(
            Failure::environment("interrupted", "interrupted; nothing more was recorded")
                .next("handoff reverify"),
        );
    }
    let mut runs = runs.into_inner().unwrap_or_default();
    Ok((0..plan.len()).map(|index| runs.remove(&index)).collect())
}

/// What a session may think of everything it inherits.
struct Told {
    axes: Vec<Json>,
    admissible: BTreeSet<ClaimId>,
    blocked: Vec<(ClaimId, Json)>,
    provisional: Vec<(ClaimId, Option<Probe>, Option<Digest>)>,
}

impl Told {
    fn of(context: &Context<'_>, session: Seq, state: &State) -> Told {
        let judge = Judge::new(state, Some(session), context.now());
        let mut told = Told {
            axes: render::axes_json(state, &judge),
            admissible: BTreeSet::new(),
            blocked: Vec::new(),
            provisional: Vec::new(),
        };
        for (id, verdict) in render::claims(state, &judge, None) {
            if verdict.admissible {
                told.admissible.insert(id);
            } else if verdict.state == ClaimState::ProvisionalUnverified {
                let flag = verdict.flag.and_then(|flag| state.flags().get(&flag));
                let step = flag.map(|flag| flag.body.step.clone());
                told.provisional
                    .push((id, step, flag.map(|flag| flag.body.step_digest)));
            } else if verdict.state == ClaimState::VerifiedInvariant {
                let because: Vec<Json> = (verdict.because.iter())
                    .map(|because| render::because_json(state, because))
                    .collect();
                told.blocked.push((id, json!(because)));
            }
        }
        told
    }

    fn json(&self, session: Seq, head: &Head) -> Json {
        let blocked: Vec<Json> = (self.blocked.iter())
            .map(|(claim, because)| json!({ "claim": claim, "because": because }))
            .collect();
        let provisional: Vec<Json> = (self.provisional.iter())
            .map(|(claim, step, _)| json!({ "claim": claim, "step": step }))
            .collect();
        json!({
            "head": head_json(head), "seq": head.seq, "session": session, "axes": self.axes,
            "admissible": self.admissible, "blocked": blocked, "provisional": provisional,
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for axis in &self.axes {
            let text = |member: &str| axis.get(member).and_then(Json::as_str).unwrap_or_default();
            let reason = match text("reason") {
                "" => String::new(),
                reason => format!(" ({reason})"),
            };
            lines.push(format!("{} {}{reason}", text("axis"), text("verdict")));
        }
        let join = |ids: Vec<String>| ids.join(", ");
        let admissible = self.admissible.iter().map(ClaimId::to_string).collect();
        let blocked: Vec<String> = self.blocked.iter().map(|(id, _)| id.to_string()).collect();
        lines.push(format!("admissible: {}", join(admissible)));
        if !blocked.is_empty() {
            lines.push(format!("blocked: {}", join(blocked.clone())));
            lines.push(format!("next: handoff can {}", blocked.join(" ")));
        }
        lines
    }
}
