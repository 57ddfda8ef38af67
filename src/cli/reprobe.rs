//! Probing anew: the axes that a session inherits, several at a time, and what was found of them
//! recorded in one append.

use super::args::Reprobe;
use super::context::Context;
use super::observe::{Observer, Secret, secrets};
use super::quote::quoted;
use super::report::Failure;
use super::written::not_told;
use crate::append::{LedgerError, Pen};
use crate::command::{self, Run};
use crate::credential;
use crate::event::NotProbedWhy;
use crate::reverify::{self, Found, Planned, Turn, Turns};
use crate::slice::Question;
use crate::state::State;
use crate::types::{Head, Seq, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// How long reverification may take in all, if nothing else is said.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);
/// How many probes run at the same time.
const PARALLEL: usize = 8;
/// How often a wait looks whether a signal came.
const POLL: Duration = Duration::from_millis(20);
/// Largest file of asserted values, in bytes.
const VALUES_BYTES_MAX: u64 = 1 << 20;

/// The question for all claims, as `session` may think of them.
pub(super) fn everything(session: Option<Seq>) -> Question {
    Question {
        session,
        all_claims: true,
        ..Question::default()
    }
}

/// The values of `--values`: by axis name or by the seq of its record.
pub(super) fn asserted(arguments: &Reprobe) -> Result<BTreeMap<String, Value>, Failure> {
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
pub(super) fn is_of_an_axis(state: &State, axes: &BTreeSet<Seq>, name: &str) -> bool {
    let mut records = axes.iter().filter_map(|axis| state.axes().get(axis));
    records.any(|record| record.body.axis.as_str() == name || record.seq.to_string() == name)
}

/// A value for what is no axis to be reverified is a slip of the pen, and would count for nothing.
pub(super) fn refuse_unknown(left: &BTreeMap<String, Value>) -> Result<(), Failure> {
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

/// The state after a reverification, and the head it was written at.
pub(super) struct Judged {
    pub(super) state: Rc<State>,
    pub(super) head: Head,
}

/// Probes what `session` inherits and needs, records what was found, and judges by it.
pub(super) fn judge_anew(
    context: &mut Context<'_>,
    session: Seq,
    arguments: &Reprobe,
    asserted: &BTreeMap<String, Value>,
) -> Result<Judged, Failure> {
    let signer = context.signer()?;
    let state = context.ask(&everything(Some(session)))?;
    let axes = reverify::axes(&state, session, &arguments.only);
    let mut observed = Observed::default();
    let mut left = BTreeSet::new();
    for axis in axes {
        match value_of(&state, axis, asserted) {
            Some(value) => {
                check_assertable(&state, axis, &value)?;
                observed.found.insert(axis, Found::Asserted(value));
            }
            None if arguments.no_exec => {
                let why = NotProbedWhy::NoExec;
                observed.found.insert(axis, Found::NotProbed(why));
            }
            None => {
                left.insert(axis);
            }
        }
    }
    let deadline = arguments.deadline.unwrap_or(DEADLINE);
    observed
        .probe(context, &state, &left, deadline)
        .map_err(|failure| failure.next(format!("handoff reverify --session {session}")))?;
    let question = observed.question(session);
    let appended = context.append_seen(&signer, &question, |pen| observed.write(pen, session))?;
    let head = appended.head;
    let state = context.ask(&everything(Some(session)));
    Ok(Judged {
        state: state.map_err(|failure| not_told(failure, &head))?,
        head,
    })
}

/// What was found of axes, and is not yet recorded.
#[derive(Default)]
pub(super) struct Observed {
    found: BTreeMap<Seq, Found>,
    runs: Vec<(Planned, Option<Run>)>,
}

impl Observed {
    /// Runs the probes of axes, each once, until the deadline.
    pub(super) fn probe(
        &mut self,
        context: &Context<'_>,
        state: &State,
        axes: &BTreeSet<Seq>,
        deadline: Duration,
    ) -> Result<(), Failure> {
        let plan = reverify::plan(state, axes);
        let runs = run_all(context, state, &plan, deadline)?;
        self.runs.extend(plan.into_iter().zip(runs));
        Ok(())
    }

    /// What must be known to record it.
    pub(super) fn question(&self, session: Seq) -> Question {
        let planned = self.runs.iter().flat_map(|(planned, _)| &planned.axes);
        Question {
            session: Some(session),
            cited: planned.chain(self.found.keys()).copied().collect(),
            ..Question::default()
        }
    }

    /// Whether nothing was looked at.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.runs.is_empty()
    }

    /// Records the receipts, and what they say of the axes. Returns the axes that nothing was seen
    /// of, for which what was seen before goes on to count (rule 16).
    pub(super) fn write(self, pen: &mut Pen<'_>, session: Seq) -> Result<BTreeSet<Seq>, Failure> {
        let mut found = self.found;
        for (planned, run) in self.runs {
            let what = match run {
                Some(run) => recorded(command::receipt(pen, session, run))?,
                None => Found::NotProbed(NotProbedWhy::NotRun),
            };
            found.extend(planned.axes.iter().map(|axis| (*axis, what.clone())));
        }
        let unseen = found
            .iter()
            .filter(|(_, found)| matches!(found, Found::NotProbed(_)))
            .map(|(axis, _)| *axis)
            .collect();
        for event in reverify::events(found) {
            pen.write(session, event)?;
        }
        Ok(unseen)
    }
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
        return Err(Failure::no("credential", message).next("the same command without that value"));
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
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                work.labour();
                drop(done);
            });
            if started.is_err() {
                // Those that are there do the work; without any, none of it is run.
                break;
            }
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
