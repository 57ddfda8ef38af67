//! `gate`: a command is run only if the claims it relies on may be acted on, probed again just
//! before.

mod dry_run;
mod report;

use crate::append::Pen;
use crate::cli::args::{Common, Gate};
use crate::cli::context::Context;
use crate::cli::observe;
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::render::{
    because_json, because_text, claim_text, claims, end_text, head_json, next_for, reasons_text,
};
use crate::cli::report::{Exit, Failure};
use crate::cli::reprobe::{DEADLINE, Observed};
use crate::event::GateDecision;
use crate::gate::{self, Decided};
use crate::home::clock;
use crate::judge::{Asked, Judge, axis_name};
use crate::key::SigningKey;
use crate::probe::{self, Relay};
use crate::probe_spec::Outcome;
use crate::reverify;
use crate::slice::Question;
use crate::state::State;
use crate::types::{AxisName, ClaimId, Seq, Time, Value};
use crate::verdict::ClaimVerdict;
use report::Report;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What a shell adds to the number of the signal that ended a command.
const BY_SIGNAL: u8 = 128;

/// Decides, and runs the command if it may be. Whatever else happens is exit 125.
pub(super) fn run(common: &Common, asked: &Gate, output: &mut Output) -> Result<Exit, Failure> {
    if asked.dry_run {
        return dry_run::run(common, asked, output);
    }
    let mut report = Report::at(asked.report.as_deref())?;
    gated(common, asked, &mut report, output).map_err(|failure| {
        let failure = failure
            .in_session(common.session)
            .carrying(common)
            .not_run();
        report.failed(&failure, output);
        failure.details(report.decision())
    })
}

fn gated(
    common: &Common,
    asked: &Gate,
    report: &mut Report,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let mut gate = Gating {
        session: context.session()?,
        signer: context.signer()?,
        ids: asked.ids.iter().cloned().collect(),
        context,
        common,
        asked,
    };
    let decided = gate.decide()?;
    report.decided(decided.body);
    if let Some(failure) = decided.refusal {
        return Err(failure);
    }
    let run = match report.begin() {
        Ok(()) => act(&asked.argv),
        Err(error) => Err((Outcome::Failed, error.into())),
    };
    let (outcome, exit) = match run {
        Ok(outcome) => (outcome, Ok(Exit::Action(exit_of(outcome)))),
        Err((outcome, failure)) => (outcome, Err(failure)),
    };
    let finished = gate.finish(decided.gate, outcome, output);
    let exit = exit?;
    report.finished(exit, outcome, finished, output);
    Ok(exit)
}

/// One gate, in its session.
struct Gating<'a> {
    context: Context<'a>,
    common: &'a Common,
    asked: &'a Gate,
    session: Seq,
    signer: SigningKey,
    ids: BTreeSet<ClaimId>,
}

/// What was decided and recorded.
struct Told {
    /// The `action.gated`.
    gate: Seq,
    /// Why the command is not run, if it is not.
    refusal: Option<Failure>,
    /// All of it, for a program.
    body: Json,
}

impl Gating<'_> {
    /// Probes the claims' closure anew, and records what was found and what follows.
    fn decide(&mut self) -> Result<Told, Failure> {
        let words = self.asked.argv.iter().map(|word| word.parse());
        let argv: Vec<Value> = words.collect::<Result<_, _>>()?;
        let (observed, is_known) = observed(&self.context, self.session, self.asked)?;
        let mut known = observed.question(self.session);
        known.claims = self.ids.clone();
        let (session, ids, common, asked) = (self.session, &self.ids, self.common, self.asked);
        let appended = self.context.append_seen(&self.signer, &known, |pen| {
            if !is_known {
                let unseen = observed.write(pen, session)?;
                if !unseen.is_empty() {
                    return Ok(Err(not_probed(pen.state(), &unseen)));
                }
            }
            let decided = gate::decide(pen, session, ids, argv)?;
            // Told of the very state that was decided on.
            Ok(Ok(told(pen, session, ids, decided, common, asked)))
        });
        let appended = appended.map_err(of_command)?;
        let mut told = appended.outcome?;
        if let Some(body) = told.body.as_object_mut() {
            body.insert("head".to_owned(), head_json(&appended.head));
        }
        Ok(told)
    }

    /// Records how the command ended. It has ended: should that fail, its exit is told all the
    /// same.
    fn finish(&mut self, gate: Seq, outcome: Outcome, output: &mut Output) -> Option<Seq> {
        let session = self.session;
        let question = Question {
            session: Some(session),
            cited: BTreeSet::from([gate]),
            ..Question::default()
        };
        let appended = self.context.append_seen(&self.signer, &question, |pen| {
            gate::finish(pen, session, gate, outcome).map_err(Failure::from)
        });
        match appended {
            Ok(appended) => Some(appended.outcome),
            Err(failure) => {
                let next = self.common.carried(&format!("handoff show {gate}"));
                output.note(&format!(
                    "WARNING NOT RECORDED: how the command of gate {gate} ended ({}); the ledger \
                     will tell that it never came back: {failure}",
                    end_text(outcome)
                ));
                output.note(&format!("next: {next}"));
                None
            }
        }
    }
}

/// Looks at the axes of the claims' closure; whether that is known already.
fn observed(
    context: &Context<'_>,
    session: Seq,
    asked: &Gate,
) -> Result<(Observed, bool), Failure> {
    let ids: BTreeSet<ClaimId> = asked.ids.iter().cloned().collect();
    let state = context.ask(&question(session, &ids))?;
    let judge = Judge::new(&state, Some(session), context.now());
    if let Some(bar) = judge.barred() {
        let message = format!("nothing is admissible: {}", because_text(&state, &bar));
        let verdicts = claims(&state, &judge, Some(&ids));
        return Err(refused(&state, &verdicts, session, message));
    }
    let axes = to_probe(&state, &judge, session, asked);
    let mut observed = Observed::default();
    let deadline = asked.deadline.unwrap_or(DEADLINE);
    observed
        .probe(context, &state, &axes, deadline)
        .map_err(|failure| failure.next("the same command again"))?;
    let is_known = observed.is_empty() && judge.has_reverified();
    Ok((observed, is_known))
}

/// Looks as a gate does, and records what was found, but gates no command: whether all the claims
/// may be acted on now.
///
/// # Errors
/// As a gate's refusal, if one may not; what keeps it from being told.
pub(super) fn look(common: &Common, asked: &Gate) -> Result<(), Failure> {
    let mut context = Context::open(common)?;
    let (session, signer) = (context.session()?, context.signer()?);
    let (observed, is_known) = observed(&context, session, asked)?;
    if !is_known {
        let known = observed.question(session);
        let appended = context.append_seen(&signer, &known, |pen| {
            let unseen = observed.write(pen, session)?;
            Ok(match unseen.is_empty() {
                true => Ok(()),
                false => Err(not_probed(pen.state(), &unseen)),
            })
        })?;
        appended.outcome?;
    }
    let ids: BTreeSet<ClaimId> = asked.ids.iter().cloned().collect();
    let state = context.ask(&question(session, &ids))?;
    let judge = Judge::new(&state, Some(session), context.now());
    let verdicts = claims(&state, &judge, Some(&ids));
    match verdicts.values().all(|verdict| verdict.admissible) {
        true => Ok(()),
        false => {
            let message = "not all of it may be acted on".to_owned();
            Err(refused(&state, &verdicts, session, message))
        }
    }
}

/// Of an axis that could not be probed the session's older observation goes on to count: to decide
/// by that would be to act on what nobody looked at.
fn not_probed(state: &State, axes: &BTreeSet<Seq>) -> Failure {
    let names: BTreeSet<&str> = axes
        .iter()
        .filter_map(|axis| axis_name(state, *axis))
        .map(AxisName::as_str)
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let message = format!(
        "nothing was decided: {} could not be probed now",
        names.join(", ")
    );
    Failure::no("not_probed", message)
        .retryable()
        .next("the same command again, or with a longer --deadline")
}

fn told(
    pen: &Pen<'_>,
    session: Seq,
    ids: &BTreeSet<ClaimId>,
    decided: Decided,
    common: &Common,
    asked: &Gate,
) -> Told {
    let (state, moment) = (pen.state(), Asked::AtHead { time: pen.time() });
    let judge = Judge::new(state, Some(session), moment);
    let verdicts = claims(state, &judge, Some(ids));
    let Decided { gate, decision } = decided;
    let message = format!("gate {gate} did not let the command run");
    let refusal = match decision {
        GateDecision::Allowed => None,
        GateDecision::Refused => Some(refused(state, &verdicts, session, message)),
    };
    let body = json!({
        "session": session,
        "gate": gate,
        "decision": decision,
        "argv": asked.argv,
        "claims": claims_json(state, &verdicts, session, common),
    });
    Told {
        gate,
        refusal,
        body,
    }
}

/// The refusal: each claim with what stands against it, and the command that would help first.
fn refused(
    state: &State,
    verdicts: &BTreeMap<ClaimId, ClaimVerdict>,
    session: Seq,
    message: String,
) -> Failure {
    let mut failure = Failure::no("refused", message);
    for (id, verdict) in verdicts.iter().filter(|(_, verdict)| !verdict.admissible) {
        let (claim, reasons) = (
            claim_text(state, id, verdict),
            reasons_text(state, &verdict.because),
        );
        failure.message += &format!("; {claim} ({reasons})");
        if failure.next.is_none() {
            failure = failure.next(next_for(state, id, verdict, Some(session)));
        }
    }
    failure
}

/// What is to be done about words that cannot be signed, where they are those of a command.
fn of_command(failure: Failure) -> Failure {
    match failure.code {
        "credential" => failure
            .next("the same command with the credential in a variable or a file that it reads"),
        _ => failure,
    }
}

/// Runs the command, and says how it ended, or why it did not start.
fn act(argv: &[String]) -> Result<Outcome, (Outcome, Failure)> {
    let relay = Relay::listen().map_err(|error| {
        let failure = Failure::environment("signals", format!("expected to hear signals: {error}"));
        (Outcome::Failed, failure.next("the same command again"))
    })?;
    if observe::stop_listening() {
        let failure = Failure::environment("interrupted", "interrupted before the command began");
        return Err((Outcome::Interrupted, failure.next("the same command again")));
    }
    probe::attached(argv, relay).map_err(|error| not_started(argv, &error))
}

fn not_started(argv: &[String], error: &io::Error) -> (Outcome, Failure) {
    let outcome = probe::not_started(error);
    let program = quoted(argv.first().map_or("", String::as_str));
    let failure = Failure::environment("not_started", format!("{program} cannot run: {error}"));
    let failure = match outcome {
        Outcome::Failed => failure.retryable().next("the same command again"),
        Outcome::NotFound
        | Outcome::NotExecutable
        | Outcome::Exited(_)
        | Outcome::Signaled(_)
        | Outcome::TimedOut
        | Outcome::Interrupted
        | Outcome::Checked => failure.next("the same command with a program that can be started"),
    };
    (outcome, failure)
}

/// What a shell would say a command that ended so exited with.
fn exit_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Exited(code) => code,
        Outcome::Signaled(number) => number.saturating_add(BY_SIGNAL),
        Outcome::Failed => Exit::Indeterminate.code(),
        Outcome::NotFound
        | Outcome::NotExecutable
        | Outcome::TimedOut
        | Outcome::Interrupted
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

fn claims_json(
    state: &State,
    verdicts: &BTreeMap<ClaimId, ClaimVerdict>,
    session: Seq,
    common: &Common,
) -> Vec<Json> {
    let told = verdicts.iter().map(|(id, verdict)| {
        let because = verdict.because.iter().map(|one| because_json(state, one));
        let next = (!verdict.admissible)
            .then(|| common.carried(&next_for(state, id, verdict, Some(session))));
        json!({
            "claim": id,
            "admissible": verdict.admissible,
            "because": because.collect::<Vec<Json>>(),
            "next": next,
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_is_the_commands_own_and_a_signal_is_told_as_a_shell_does() {
        for code in 0..=u8::MAX {
            assert_eq!(exit_of(Outcome::Exited(code)), code);
        }
        // Of signals there are 64 (signal(7)).
        for number in 1..=64 {
            assert_eq!(exit_of(Outcome::Signaled(number)), 128 + number);
        }
        assert_eq!(exit_of(Outcome::NotFound), 125);
    }
}
