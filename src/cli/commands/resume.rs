//! `resume` and `reverify`: what still holds here, of what was inherited.

use super::super::args::{BRIEF_CHARACTERS, Common, Reprobe, Resume};
use super::super::briefing::{Briefing, Markup};
use super::super::context::Context;
use super::super::examined::Answers;
use super::super::observe::{Observer, Secret, secrets};
use super::super::output::Output;
use super::super::quote::quoted;
use super::super::render;
use super::super::render::head_json;
use super::super::report::{Exit, Failure};
use super::super::written::not_told;
use super::session;
use crate::append::LedgerError;
use crate::command::{self, Run};
use crate::credential;
use crate::event::NotProbedWhy;
use crate::reverify::{self, Found, Planned, Turn, Turns};
use crate::slice::Question;
use crate::state::State;
use crate::types::{ClaimId, Head, Seq, Value};
use crate::verdict::{ClaimState, Judge, Verdict};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// How long reverification may take in all, if nothing else is said.
const DEADLINE: Duration = Duration::from_secs(60);
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
    if !asserted.is_empty() {
        let mut left = asserted.clone();
        for (state, axes) in to_inherit(context, arguments)? {
            left.retain(|name, _| !is_of_an_axis(&state, &axes, name));
        }
        refuse_unknown(&left)?;
    }
    let (session, opened, inherits) = session::opened(context, &arguments.open)?;
    let judged = judge_anew(context, session, &arguments.reprobe, &asserted)
        .map_err(|failure| left_open(failure, session, &opened))?;
    output.recorded(&judged.head);
    let asked = arguments.reprobe.only.iter().chain(&arguments.require);
    let told = Told::of(context, session, &judged, asked.cloned().collect());
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
    told.print(output);
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
    check_known(context, session, &arguments.only)?;
    if !asserted.is_empty() {
        let state = context.ask(&everything(Some(session)))?;
        let axes = reverify::axes(&state, session, &arguments.only);
        let mut left = asserted.clone();
        left.retain(|name, _| !is_of_an_axis(&state, &axes, name));
        refuse_unknown(&left)?;
    }
    let judged = judge_anew(context, session, arguments, &asserted)?;
    output.recorded(&judged.head);
    let asked = match arguments.only.is_empty() {
        true => inherited(&judged.state, session),
        false => arguments.only.iter().cloned().collect(),
    };
    let told = Told::of(context, session, &judged, asked.clone());
    let all = asked.iter().all(|id| told.admissible.contains(id));
    let exit = if all { Exit::Yes } else { Exit::No };
    told.print(output);
    output.document(
        "handoff.reverify.v1",
        exit,
        told.json(session, &judged.head),
    );
    Ok(exit)
}

/// What goes wrong after a session was opened leaves it open, which must be told: the same command
/// again would open another.
fn left_open(failure: Failure, session: Seq, opened: &Head) -> Failure {
    let failure = match failure.exit {
        Exit::Environment => not_told(failure, opened),
        Exit::Yes
        | Exit::No
        | Exit::Usage
        | Exit::CannotJudge
        | Exit::Integrity
        | Exit::Indeterminate
        | Exit::NotRun => failure,
    };
    failure
        .details(json!({ "session": session }))
        .next(format!("handoff reverify --session {session}"))
}

/// The claims asked about must have been spoken of.
fn check_known(
    context: &Context<'_, impl Answers>,
    session: Seq,
    only: &[ClaimId],
) -> Result<(), Failure> {
    let question = Question {
        session: Some(session),
        claims: only.iter().cloned().collect(),
        ..Question::default()
    };
    let state = context.ask(&question)?;
    match only.iter().find(|id| !state.claims().contains_key(*id)) {
        Some(id) => {
            Err(Failure::no("claim_unknown", format!("nobody spoke of {id}")).next("handoff state"))
        }
        None => Ok(()),
    }
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
        !state.is_void(support.seq) && retracted.is_none_or(|retraction| retraction < support.seq)
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

/// Whether a name of `--values` is that of an axis, or its number.
fn is_of_an_axis(state: &State, axes: &BTreeSet<Seq>, name: &str) -> bool {
    let mut records = axes.iter().filter_map(|axis| state.axes().get(axis));
    records.any(|record| record.body.axis.as_str() == name || record.seq.to_string() == name)
}

/// A value for what is no axis to be reverified is a slip of the pen, and would count for nothing.
fn refuse_unknown(left: &BTreeMap<String, Value>) -> Result<(), Failure> {
    match left.keys().next() {
        Some(name) => {
            let message = format!(
                "--values: no axis to be reverified is named {}",
                quoted(name)
            );
            Err(Failure::usage(message).next("the same command with --dry-run, which lists them"))
        }
        None => Ok(()),
    }
}

/// The axes that a session opened now would reverify, each once, with the state that knows them.
fn to_inherit(
    context: &Context<'_, impl Answers>,
    arguments: &Resume,
) -> Result<Vec<(State, BTreeSet<Seq>)>, Failure> {
    let state = context.ask(&Question {
        sessions: true,
        ..everything(None)
    })?;
    let inherits: Vec<Seq> = match arguments.open.inherit.is_empty() {
        true => state.frontier().into_iter().collect(),
        false => session::named(context, &arguments.open.inherit)?,
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for session in inherits {
        let state = context.ask(&everything(Some(session)))?;
        let mut axes = reverify::axes(&state, session, &arguments.reprobe.only);
        axes.retain(|axis| seen.insert(*axis));
        found.push((state, axes));
    }
    Ok(found)
}

/// What [`resume`] would probe: nothing is run or written.
pub(super) fn dry_resume(
    common: &Common,
    arguments: &Resume,
    output: &mut Output,
) -> Result<Exit, Failure> {
    asserted(&arguments.reprobe)?;
    let context = Context::examine(common, output)?;
    context.ledger.require_trusted()?;
    context.ask(&Question::default())?;
    let found = to_inherit(&context, arguments)?;
    let found = found.iter().map(|(state, axes)| (state, axes));
    Ok(would_run(found, output, "resume"))
}

/// What [`reverify`] would probe: nothing is run or written.
pub(super) fn dry_reverify(
    common: &Common,
    arguments: &Reprobe,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    context.ledger.require_trusted()?;
    let session = context.session()?;
    asserted(arguments)?;
    check_known(&context, session, &arguments.only)?;
    let state = context.ask(&everything(Some(session)))?;
    let axes = reverify::axes(&state, session, &arguments.only);
    Ok(would_run([(&state, &axes)], output, "reverify"))
}

fn would_run<'s>(
    found: impl IntoIterator<Item = (&'s State, &'s BTreeSet<Seq>)>,
    output: &mut Output,
    command: &str,
) -> Exit {
    let mut listed = Vec::new();
    for (state, axes) in found {
        for planned in reverify::plan(state, axes) {
            let records = planned
                .axes
                .iter()
                .filter_map(|axis| state.axes().get(axis));
            let names: Vec<&str> = records.map(|record| record.body.axis.as_str()).collect();
            let probe = render::probe_text(&planned.probe);
            output.line(&format!("would run {probe} for {}", names.join(", ")));
            let probe = &planned.probe;
            listed.push(json!({ "probe": probe, "axes": planned.axes, "keys": planned.keys }));
        }
    }
    if listed.is_empty() {
        output.line("would run nothing");
    }
    let body = json!({ "dry_run": true, "probes": listed });
    output.document(&format!("handoff.{command}.v1"), Exit::Yes, body);
    Exit::Yes
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
                check_assertable(&state, axis, &value)?;
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
    )
    .map_err(|failure| failure.next(format!("handoff reverify --session {session}")))?;
    let question = Question {
        session: Some(session),
        cited: left.iter().copied().chain(found.keys().copied()).collect(),
        ..Question::default()
    };
    let appended = context.append_seen(&signer, &question, |pen| {
        for (planned, run) in plan.iter().zip(runs) {
            let what = match run {
                Some(run) => recorded(command::receipt(pen, session, run))?,
                None => Found::NotProbed(NotProbedWhy::NotRun),
            };
            found.extend(planned.axes.iter().map(|axis| (*axis, what.clone())));
        }
        for event in reverify::events(found) {
            pen.write(session, event)?;
        }
        Ok(())
    })?;
    let head = appended.head;
    let state = context.ask(&everything(Some(session)));
    Ok(Judged {
        state: state.map_err(|failure| not_told(failure, &head))?,
        head,
    })
}

/// What became of a receipt. One that cannot be put in an event (a predecessor may have recorded
/// hundreds of redacted axes by one probe) leaves its axes unverifiable and stops nothing else.
fn recorded(receipt: Result<Seq, LedgerError>) -> Result<Found, Failure> {
    match receipt {
        Ok(seq) => Ok(Found::Receipt(seq)),
        Err(LedgerError::Unspeakable(_) | LedgerError::Credential(_)) => {
            Ok(Found::NotProbed(NotProbedWhy::NotRun))
        }
        Err(error) => Err(error.into()),
    }
}

/// A value that is asserted stands in the chain for good, so it must be no secret.
fn check_assertable(state: &State, axis: Seq, value: &Value) -> Result<(), Failure> {
    let record = state.axes().get(&axis);
    let receipt = record.and_then(|record| state.receipts().get(&record.body.receipt));
    let redacted = receipt.is_some_and(|receipt| receipt.body.probe.redact());
    if redacted || credential::find(value.as_str().as_bytes()).is_some() {
        let what = if redacted {
            "is of a redacted axis"
        } else {
            "looks like a credential"
        };
        let message = format!("the value for axis {axis} {what}: it would stand in the chain");
        return Err(Failure::no("credential", message).next("handoff reverify, without that value"));
    }
    Ok(())
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
        let axes = planned.axes.iter().copied();
        secrets_of.push(secrets(context, state, axes, planned.probe.digest())?);
    }
    let work = Work {
        plan,
        secrets_of,
        within,
        over,
        turns: Mutex::new(Turns::new(plan, PARALLEL)),
        runs: Mutex::new(BTreeMap::new()),
    };
    std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        for _ in 0..PARALLEL.min(plan.len()) {
            let (done, work) = (done.clone(), &work);
            scope.spawn(move || {
                work.labour();
                drop(done);
            });
        }
        drop(done);
        while wait.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if Instant::now() >= end || observer.is_interrupted() {
                work.over.store(true, Ordering::Relaxed);
            }
        }
    });
    if observer.is_interrupted() {
        let message = "interrupted; no receipt was recorded";
        return Err(Failure::environment("interrupted", message));
    }
    let mut runs = work.runs.into_inner().unwrap_or_default();
    Ok((0..plan.len()).map(|index| runs.remove(&index)).collect())
}

/// What the workers of a reverification share.
struct Work<'a> {
    plan: &'a [Planned],
    secrets_of: Vec<Vec<Secret>>,
    within: Observer,
    over: Arc<AtomicBool>,
    turns: Mutex<Turns>,
    runs: Mutex<BTreeMap<usize, Run>>,
}

impl Work<'_> {
    /// Runs one probe after the other until there is none or it is over.
    fn labour(&self) {
        while !self.over.load(Ordering::Relaxed) {
            let turn = match self.turns.lock() {
                Ok(mut turns) => turns.take(),
                Err(_) => return,
            };
            match turn {
                Turn::Over => return,
                Turn::Wait => std::thread::sleep(POLL),
                Turn::Run(index, key) => {
                    self.run(index);
                    if let Ok(mut turns) = self.turns.lock() {
                        turns.ended(key);
                    }
                }
            }
        }
    }

    fn run(&self, index: usize) {
        let (Some(planned), Some(secrets)) = (self.plan.get(index), self.secrets_of.get(index))
        else {
            return;
        };
        if let Ok(run) = self.within.run(&planned.probe, None, secrets)
            && let Ok(mut runs) = self.runs.lock()
        {
            runs.insert(index, run);
        }
    }
}

/// What a session may think of everything it inherits, and of what was asked about.
struct Told {
    axes: Vec<Json>,
    admissible: BTreeSet<ClaimId>,
    blocked: Vec<Json>,
    provisional: Vec<Json>,
    drifted: Vec<String>,
    text: String,
}

impl Told {
    fn of(context: &Context<'_>, session: Seq, judged: &Judged, asked: BTreeSet<ClaimId>) -> Told {
        let (state, at) = (&judged.state, judged.head.seq);
        let judge = Judge::new(state, Some(session), context.now());
        let briefing = Briefing::of(
            state,
            &judge,
            format!("Handoff brief for session {session} at event {at}"),
        );
        let characters_max = usize::try_from(BRIEF_CHARACTERS).unwrap_or(usize::MAX);
        let mut told = Told {
            axes: render::axes_json(state, &judge),
            admissible: BTreeSet::new(),
            blocked: Vec::new(),
            provisional: Vec::new(),
            drifted: (render::axes(state, &judge).iter())
                .filter(|axis| axis.verdict.verdict != Verdict::Held)
                .map(|axis| render::axis_text(state, axis))
                .collect(),
            text: briefing.text(Markup::Plain, characters_max),
        };
        let mut claims = render::claims(state, &judge, None);
        claims.extend(render::claims(state, &judge, Some(&asked)));
        for (id, verdict) in claims {
            if verdict.admissible {
                told.admissible.insert(id);
            } else if verdict.state == ClaimState::ProvisionalUnverified {
                let flag = verdict.flag.and_then(|flag| state.flags().get(&flag));
                let step = flag.map(|flag| &flag.body.step);
                told.provisional.push(json!({ "claim": id, "step": step }));
            } else {
                let because: Vec<Json> = (verdict.because.iter())
                    .map(|because| render::because_json(state, because))
                    .collect();
                let next = render::next_for(state, &id, &verdict, Some(session));
                told.blocked.push(json!({
                    "claim": id, "state": verdict.state, "because": because, "next": next,
                }));
            }
        }
        told
    }

    fn print(&self, output: &mut Output) {
        for line in self
            .drifted
            .iter()
            .map(String::as_str)
            .chain(self.text.lines())
        {
            output.line(line);
        }
    }

    fn json(&self, session: Seq, head: &Head) -> Json {
        json!({
            "head": head_json(head), "seq": head.seq, "session": session, "axes": self.axes,
            "admissible": self.admissible, "blocked": self.blocked,
            "provisional": self.provisional,
        })
    }
}
