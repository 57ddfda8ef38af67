//! `gate`: a command is run only if the claims it relies on may be acted on, probed again just
//! before.

use crate::cli::args::{Common, Gate};
use crate::cli::context::Context;
use crate::cli::observe;
use crate::cli::output::Output;
use crate::cli::quote::{json_line, quoted};
use crate::cli::render::{
    because_json, because_text, claims, head_json, next_for, probe_text, reasons_text,
};
use crate::cli::report::{Exit, Failure};
use crate::cli::reprobe::{DEADLINE, Observed};
use crate::event::GateDecision;
use crate::gate::{self, Decided};
use crate::home::clock;
use crate::judge::Judge;
use crate::key::SigningKey;
use crate::probe;
use crate::probe_spec::Outcome;
use crate::reverify;
use crate::slice::Question;
use crate::state::State;
use crate::types::{ClaimId, Head, Seq, Time, Value};
use crate::verdict::ClaimVerdict;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Seek, Write};

const SCHEMA: &str = "handoff.gate.v1";

/// Decides, and runs the command if it may be. Whatever else happens is exit 125.
pub(super) fn run(common: &Common, asked: &Gate, output: &mut Output) -> Result<Exit, Failure> {
    if asked.dry_run {
        return dry_run(common, asked, output).map_err(Failure::not_run);
    }
    let argv: Vec<Value> = (asked.argv.iter())
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let mut report = Report::open(asked)?;
    let ended = gated(common, asked, argv, &mut report, output);
    ended.map_err(|failure| {
        report.failed(&failure);
        report.write(Exit::NotRun, output);
        failure.not_run()
    })
}

fn gated(
    common: &Common,
    asked: &Gate,
    argv: Vec<Value>,
    report: &mut Report,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut context = Context::open(common)?;
    let session = context.session()?;
    let signer = context.signer()?;
    let ids: BTreeSet<ClaimId> = asked.ids.iter().cloned().collect();
    let question = question(session, &ids);
    let state = context.ask(&question)?;
    let judge = Judge::new(&state, Some(session), context.now());
    if let Some(bar) = judge.barred() {
        let verdicts = claims(&state, &judge, Some(&ids));
        let message = format!("nothing is admissible: {}", because_text(&state, &bar));
        return Err(blocked(&state, &verdicts, session, message));
    }
    let axes = to_probe(&state, &judge, session, asked);
    let mut observed = Observed::default();
    observed.probe(&context, &state, &axes, asked.deadline.unwrap_or(DEADLINE))?;
    let is_known = observed.is_empty() && judge.has_reverified();
    let mut known = observed.question(session);
    known.claims = ids.clone();
    let appended = context.append_seen(&signer, &known, |pen| {
        if !is_known {
            observed.write(pen, session)?;
        }
        gate::decide(pen, session, &ids, argv).map_err(Failure::from)
    })?;
    let Decided { gate, decision } = appended.outcome;
    output.recorded(&appended.head);
    let state = context.ask(&question)?;
    let judge = Judge::new(&state, Some(session), context.now());
    let verdicts = claims(&state, &judge, Some(&ids));
    report.decided(
        asked,
        &state,
        &verdicts,
        (session, gate, decision),
        &appended.head,
    );
    if decision == GateDecision::Refused {
        let failure = blocked(&state, &verdicts, session, format!("gate {gate} refused"));
        return Err(failure.details(report.body.clone().unwrap_or_default()));
    }
    report.write(Exit::Yes, output);
    let run = act(&asked.argv);
    let outcome = match &run {
        Ok(outcome) => *outcome,
        Err((outcome, _)) => *outcome,
    };
    let finished = finish(&mut context, &signer, (session, gate), outcome, output);
    report.finished(outcome, finished);
    let exit = Exit::Action(run.map(exit_of).map_err(|(_, failure)| failure)?);
    report.write(exit, output);
    Ok(exit)
}

/// Runs the action, and says how it ended, or why it did not start.
fn act(argv: &[String]) -> Result<Outcome, (Outcome, Failure)> {
    observe::stop_listening();
    probe::attached(argv).map_err(|error| {
        let outcome = if error.kind() == ErrorKind::NotFound {
            Outcome::NotFound
        } else {
            Outcome::NotExecutable
        };
        let program = quoted(argv.first().map_or("", String::as_str));
        let failure = Failure::environment("not_started", format!("{program}: {error}"));
        (
            outcome,
            failure.next("the same command with a program that can be started"),
        )
    })
}

/// What a shell would say a command that ended so exited with.
fn exit_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Exited(code) => code,
        Outcome::Signaled(number) => number.saturating_add(128),
        Outcome::NotFound
        | Outcome::NotExecutable
        | Outcome::TimedOut
        | Outcome::Interrupted
        | Outcome::Failed
        | Outcome::Checked => Exit::NotRun.code(),
    }
}

fn question(session: Seq, ids: &BTreeSet<ClaimId>) -> Question {
    Question {
        session: Some(session),
        claims: ids.clone(),
        ..Question::default()
    }
}

/// The axes of the claims' closure, but for those that were seen to hold within `--max-age`.
fn to_probe(state: &State, judge: &Judge<'_>, session: Seq, asked: &Gate) -> BTreeSet<Seq> {
    let mut axes = reverify::axes(state, session, &asked.ids);
    if let Some(age) = asked.max_age {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let since = Time::from_ms(clock::now().ms().saturating_sub(age));
        axes.retain(|axis| !gate::is_fresh(state, judge, *axis, since));
    }
    axes
}

/// Records how the action ended. It has ended: should that fail, its exit is told all the same.
fn finish(
    context: &mut Context<'_>,
    signer: &SigningKey,
    (session, gate): (Seq, Seq),
    outcome: Outcome,
    output: &mut Output,
) -> Option<Seq> {
    let question = Question {
        session: Some(session),
        cited: BTreeSet::from([gate]),
        ..Question::default()
    };
    let appended = context.append_seen(signer, &question, |pen| {
        gate::finish(pen, session, gate, outcome).map_err(Failure::from)
    });
    match appended {
        Ok(appended) => Some(appended.outcome),
        Err(failure) => {
            output.note(&format!(
                "warning: how the command of gate {gate} ended is not recorded: {failure}"
            ));
            None
        }
    }
}

/// The refusal: each claim with what stands against it, and the command that would help first.
fn blocked(
    state: &State,
    verdicts: &BTreeMap<ClaimId, ClaimVerdict>,
    session: Seq,
    message: String,
) -> Failure {
    let mut message = message;
    let mut next = None;
    for (id, verdict) in verdicts.iter().filter(|(_, verdict)| !verdict.admissible) {
        message += &format!("; {id}: {}", reasons_text(state, &verdict.because));
        next = next.or_else(|| Some(next_for(state, id, verdict, Some(session))));
    }
    let failure = Failure::no("refused", message);
    match next {
        Some(next) => failure.next(next),
        None => failure,
    }
}

/// What a gate would do: nothing is run or recorded.
fn dry_run(common: &Common, asked: &Gate, output: &mut Output) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    context.ledger.require_trusted()?;
    let session = context.session()?;
    let ids: BTreeSet<ClaimId> = asked.ids.iter().cloned().collect();
    let state = context.ask(&question(session, &ids))?;
    let judge = Judge::new(&state, Some(session), context.now());
    let verdicts = claims(&state, &judge, Some(&ids));
    let all = verdicts.values().all(|verdict| verdict.admissible);
    let mut probes = Vec::new();
    for planned in reverify::plan(&state, &to_probe(&state, &judge, session, asked)) {
        output.line(&format!("would probe {}", probe_text(&planned.probe)));
        probes.push(json!({ "probe": planned.probe, "axes": planned.axes }));
    }
    for (id, verdict) in &verdicts {
        let so_far = match verdict.admissible {
            true => "admissible".to_owned(),
            false => reasons_text(&state, &verdict.because),
        };
        output.line(&format!("as recorded so far, {id}: {so_far}"));
    }
    let exit = if all { Exit::Yes } else { Exit::No };
    let body = json!({
        "dry_run": true, "session": session, "argv": asked.argv, "probes": probes,
        "claims": claims_json(&state, &verdicts, session),
    });
    Ok(context.answer(output, SCHEMA, exit, body))
}

fn claims_json(
    state: &State,
    verdicts: &BTreeMap<ClaimId, ClaimVerdict>,
    session: Seq,
) -> Vec<Json> {
    let told = verdicts.iter().map(|(id, verdict)| {
        let because = verdict.because.iter().map(|one| because_json(state, one));
        json!({
            "claim": id,
            "admissible": verdict.admissible,
            "because": because.collect::<Vec<Json>>(),
            "next": (!verdict.admissible).then(|| next_for(state, id, verdict, Some(session))),
        })
    });
    told.collect()
}

/// The file of `--report`: written when it was decided and again when the action ended, so that
/// one without an `outcome` is of an action that runs, or never came back.
struct Report {
    file: Option<File>,
    body: Option<Json>,
}

impl Report {
    /// Opened before anything is recorded: who asked for it shall not be told too late that it
    /// cannot be had.
    fn open(asked: &Gate) -> Result<Report, Failure> {
        let file = match &asked.report {
            Some(path) => Some(File::create(path).map_err(|error| {
                let message = format!("--report {}: {error}", path.display());
                Failure::environment("io", message).next("the same command with another --report")
            })?),
            None => None,
        };
        Ok(Report { file, body: None })
    }

    fn decided(
        &mut self,
        asked: &Gate,
        state: &State,
        verdicts: &BTreeMap<ClaimId, ClaimVerdict>,
        (session, gate, decision): (Seq, Seq, GateDecision),
        head: &Head,
    ) {
        self.body = Some(json!({
            "session": session,
            "gate": gate,
            "decision": decision,
            "argv": asked.argv,
            "claims": claims_json(state, verdicts, session),
            "head": head_json(head),
        }));
    }

    fn failed(&mut self, failure: &Failure) {
        let members = [self.body.take(), Some(failure.body())];
        let members = members.into_iter().flatten();
        let members = members.filter_map(|body| body.as_object().cloned());
        self.body = Some(members.flatten().collect());
    }

    fn finished(&mut self, outcome: Outcome, seq: Option<Seq>) {
        if let Some(body) = self.body.as_mut().and_then(Json::as_object_mut) {
            body.insert("outcome".to_owned(), json!(outcome));
            body.insert("finished".to_owned(), json!(seq));
        }
    }

    /// Writes the report in place of the one before. That it cannot be is told, and stops nothing.
    fn write(&mut self, exit: Exit, output: &mut Output) {
        let (Some(file), Some(body)) = (&mut self.file, &self.body) else {
            return;
        };
        let mut document = json!({ "schema": SCHEMA, "exit": exit.code() });
        if let (Some(document), Some(body)) = (document.as_object_mut(), body.as_object()) {
            document.extend(body.clone());
        }
        let written = rewind(file)
            .and_then(|()| file.write_all(format!("{}\n", json_line(&document)).as_bytes()));
        if let Err(error) = written {
            output.note(&format!("warning: --report: {error}"));
        }
    }
}

/// A pipe or a terminal cannot be written anew: there the reports follow each other.
fn rewind(file: &mut File) -> std::io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(())
}
