//! `claim`, `flag`, `promote`, `retract` and `discard`: what is concluded, and what is taken back.

use super::super::args::{
    AxisReference, Claim, Discard, Evidence, Flag, Grounds as GroundsArgument, Promote, Retract,
};
use super::super::context::Context;
use super::super::observe::{Observer, probe_of, secrets};
use super::super::output::Output;
use super::super::render::weak_text;
use super::super::report::{Exit, Failure};
use super::super::written::{refused_with, said, wrote};
use super::evidence::{printed, require_receipt, told};
use crate::append::Pen;
use crate::command::{self, Bracket, Flagged, Grounds, Proof, Provisional, Run, Step};
use crate::event::{ClaimRetracted, ProbeBegun};
use crate::home::clock;
use crate::probe;
use crate::probe_spec::{Probe, STEP_TIMEOUT_MS_DEFAULT, TIMEOUT_MS_DEFAULT};
use crate::resolve::{Resolved, resolve};
use crate::slice::Question;
use crate::state::State;
use crate::types::{Ascending, ClaimId, Digest, Seq, Text};
use crate::verdict::{Verdict, Weak, axis_in, weaknesses};
use serde_json::json;
use std::collections::BTreeSet;

/// The axes that are named, as the session knows them.
fn named(state: &State, session: Seq, references: &[AxisReference]) -> Result<Vec<Seq>, Failure> {
    references
        .iter()
        .map(|reference| axis_named(state, session, reference))
        .collect()
}

fn axis_named(state: &State, session: Seq, reference: &AxisReference) -> Result<Seq, Failure> {
    let name = &reference.name;
    let unknown = || {
        Failure::no(
            "axis_unknown",
            format!("session {session} knows no axis {name}"),
        )
        .next(format!(
            "handoff axis {name} --session {session} --class CLASS -- ARGV"
        ))
    };
    if let Some(from) = reference.session {
        let known = state.lineage(session).contains(&from);
        let record = state.latest_axis(from, name).filter(|_| known);
        return record.map(|record| record.seq).ok_or_else(unknown);
    }
    match resolve(state, session, name) {
        Resolved::One(axis) => Ok(axis),
        Resolved::Unknown => Err(unknown()),
        Resolved::Ambiguous(records) => {
            let sessions = records.iter().filter_map(|record| state.axes().get(record));
            let choices: Vec<String> = sessions
                .map(|record| format!("{name}@{}", record.session))
                .collect();
            let message = format!("{name} is ambiguous: {}", choices.join(", "));
            Err(Failure::no("ambiguous_axis", message).next(format!(
                "the same command with --needs {}",
                choices.join(" or ")
            )))
        }
    }
}

/// The probes of axes, each once, that are not already observed as asked.
struct AxisProbes<'a> {
    context: &'a Context<'a>,
    observer: &'a Observer,
    state: &'a State,
    session: Seq,
    axes: &'a [Seq],
}

impl AxisProbes<'_> {
    /// Runs the probe of each axis that `wanted` says must be observed anew.
    fn run(&self, wanted: impl Fn(Seq) -> bool) -> Result<Vec<Run>, Failure> {
        let mut done: BTreeSet<Digest> = BTreeSet::new();
        let mut runs = Vec::new();
        for axis in self.axes.iter().copied().filter(|axis| wanted(*axis)) {
            let receipt = self
                .state
                .axes()
                .get(&axis)
                .map(|record| record.body.receipt);
            let receipt = receipt.and_then(|receipt| self.state.receipts().get(&receipt));
            let Some(receipt) = receipt else { continue };
            if done.insert(receipt.body.probe_digest) {
                let axes = self.axes.iter().copied();
                let digest = receipt.body.probe_digest;
                let secrets = secrets(self.context, self.state, axes, digest)?;
                runs.push(self.observer.run(&receipt.body.probe, None, &secrets)?);
            }
        }
        Ok(runs)
    }

    /// The axes that the session has not observed as held, at or before `at_most` if given.
    fn not_held(&self, axis: Seq) -> bool {
        let time = self.context.time;
        let verdict = axis_in(self.state, axis, self.session, None, time);
        verdict.verdict != Verdict::Held || verdict.receipt.is_none()
    }

    /// Whether an axis is observed by a probe.
    fn is_by(&self, axis: Seq, probe: Digest) -> bool {
        self.state.axis_probe(axis) == Some(probe)
    }
}

fn grounds(state: &State, session: Seq, argument: &GroundsArgument) -> Result<Grounds, Failure> {
    Ok(Grounds {
        needs: named(state, session, &argument.needs)?,
        independent: argument.environment_independent.clone(),
        from: argument.from.clone(),
    })
}

/// Axes or a reason to need none: neither or both is refused before anything runs.
fn check_grounds(needs: bool, independent: bool) -> Result<(), Failure> {
    match (needs, independent) {
        (false, false) => Err(Failure::no(
            "needs_missing",
            "a claim needs axes, or a reason to need none; otherwise nobody can inherit it",
        )
        .next("the same command with --needs AXIS or --environment-independent WHY")),
        (true, true) => Err(Failure::no(
            "needs_contradict",
            "a claim that needs axes is not environment-independent",
        )
        .next("the same command with --needs alone")),
        (true, false) | (false, true) => Ok(()),
    }
}

/// Records a verified claim.
pub(super) fn claim(
    context: &mut Context<'_>,
    arguments: &Claim,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let given = &arguments.grounds;
    check_grounds(
        !given.needs.is_empty(),
        given.environment_independent.is_some(),
    )?;
    let mut question = Question {
        session: Some(session),
        claims: given
            .from
            .iter()
            .cloned()
            .chain([arguments.id.clone()])
            .collect(),
        statements: arguments.statement.iter().cloned().collect(),
        names: given.needs.iter().map(|need| need.name.clone()).collect(),
        ..Question::default()
    };
    let state = context.ask(&question)?;
    let statement = stated(&state, &arguments.id, arguments.statement.as_ref())?;
    let grounds = grounds(&state, session, given)?;
    question.cited.extend(&grounds.needs);
    question.statements.insert(statement.clone());
    if let Evidence::Probe(probe) = &arguments.evidence {
        let probe = probe_of(context, probe, TIMEOUT_MS_DEFAULT)?;
        let state = context.ask(&question)?;
        let met_by_empty = probe::met_by_empty_output(&probe);
        command::provable(&state, &arguments.id, &statement, &probe, &met_by_empty)?;
    }
    let (proof, bracket, told_of) = prove(
        context,
        &state,
        session,
        &grounds.needs,
        &arguments.evidence,
        &mut question,
    )?;
    let id = arguments.id.clone();
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen: &mut Pen<'_>| {
            command::claim(pen, session, id, statement, grounds, bracket, proof)
                .map_err(Failure::from)
        })?;
    let (receipt, id) = (appended.outcome.receipt, &arguments.id);
    match &appended.outcome.attempt {
        Ok(seq) => {
            let weak = weak_of(context, *seq)?;
            let told = weak_text(&weak).map_or(String::new(), |weak| format!(" ({weak})"));
            let line =
                format!("claim {id} recorded as {seq}, admissible to session {session}{told}");
            let body = json!({
                "seq": seq, "claim": id, "receipt": receipt, "session": session,
                "state": "verified_invariant", "weak": !weak.is_empty(), "weak_because": weak,
            });
            Ok(wrote(output, "claim", &appended.head, &line, body))
        }
        Err(refusal) => {
            let mut refusal = refusal.clone();
            refusal.detail.push_str(&told_of);
            Err(refused_with(
                refusal,
                receipt,
                &appended,
                json!({ "receipt": receipt, "claim": id }),
            ))
        }
    }
}

/// Why a support that was just written is weaker than it could be.
fn weak_of(context: &Context<'_>, support: Seq) -> Result<BTreeSet<Weak>, Failure> {
    let question = Question {
        cited: BTreeSet::from([support]),
        ..Question::default()
    };
    let state = context.ledger.ask(&question)?;
    let support = state.supports().get(&support);
    Ok(support
        .map(|support| weaknesses(&state, support))
        .unwrap_or_default())
}

/// Runs a claim's proof with the observations around it, as far as they are not there.
fn prove(
    context: &Context<'_>,
    state: &State,
    session: Seq,
    needs: &[Seq],
    evidence: &Evidence,
    question: &mut Question,
) -> Result<(Proof, Bracket, String), Failure> {
    let observer = Observer::new(context)?;
    let axes = AxisProbes {
        context,
        observer: &observer,
        state,
        session,
        axes: needs,
    };
    match evidence {
        Evidence::Probe(arguments) => {
            let probe = probe_of(context, arguments, TIMEOUT_MS_DEFAULT)?;
            let digest = probe.digest();
            let before = axes.run(|axis| axes.not_held(axis) && !axes.is_by(axis, digest))?;
            let run = observer.run(
                &probe,
                None,
                &secrets(context, state, needs.iter().copied(), digest)?,
            )?;
            let after = axes.run(|axis| !axes.is_by(axis, digest))?;
            let told_of = format!(" (the proof: {}{})", told(&run.receipt), printed(&run));
            Ok((
                Proof::Run(Box::new(run)),
                Bracket { before, after },
                told_of,
            ))
        }
        Evidence::Receipt(seq) => {
            question.cited.insert(*seq);
            question.bracket = Some(*seq);
            let proof = Proof::Receipt(*seq);
            require_receipt(context, question, &proof)?;
            let own = context.ledger.ask(question)?;
            let digest = own
                .receipts()
                .get(seq)
                .map(|receipt| receipt.body.probe_digest);
            let time = context.time;
            let after = axes.run(|axis| {
                let newest = axis_in(&own, axis, session, None, time);
                let held = newest.verdict == Verdict::Held
                    && newest.receipt.is_some_and(|receipt| receipt >= *seq);
                !held && own.axis_probe(axis) != digest
            })?;
            Ok((
                proof,
                Bracket {
                    before: Vec::new(),
                    after,
                },
                String::new(),
            ))
        }
    }
}

fn stated(state: &State, id: &ClaimId, given: Option<&Text>) -> Result<Text, Failure> {
    match given.or_else(|| state.statement(id)) {
        Some(statement) => Ok(statement.clone()),
        None => Err(Failure::usage(format!("{id} has no statement yet"))
            .next(format!("handoff claim {id} STATEMENT …"))),
    }
}

/// Flags a provisional claim. Exit 1 if it was recorded as discarded instead.
pub(super) fn flag(
    context: &mut Context<'_>,
    arguments: &Flag,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let step = match &arguments.step.probe {
        None => None,
        Some(probe) => Some(step_of(
            context,
            probe_of(context, probe, STEP_TIMEOUT_MS_DEFAULT)?,
        )),
    };
    let question = Question {
        session: Some(session),
        claims: BTreeSet::from([arguments.id.clone()]),
        statements: BTreeSet::from([arguments.statement.clone()]),
        names: arguments.needs.iter().cloned().collect(),
        ..Question::default()
    };
    context.ask(&question)?;
    let provisional = Provisional {
        claim: arguments.id.clone(),
        statement: arguments.statement.clone(),
        derivation: arguments.because.clone().unwrap_or_default().parse()?,
        needs: arguments.needs.clone(),
        independent: arguments.environment_independent.clone(),
        step,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            command::flag(pen, session, provisional).map_err(Failure::from)
        })?;
    let id = &arguments.id;
    match &appended.outcome {
        Flagged::Provisional { flag, step } => {
            let line = format!(
                "claim {id} flagged as {flag}: provisional; do not act on it before its step succeeds"
            );
            let body = json!({
                "seq": flag, "claim": id, "session": session, "state": "provisional_unverified",
                "directive": { "do_not_act_on": id, "until_probe": step },
                "next": format!("handoff promote {id}"),
            });
            Ok(wrote(output, "flag", &appended.head, &line, body))
        }
        Flagged::Discarded { seq, why } => {
            let line = format!("claim {id} discarded as {seq}, not flagged: {why}");
            let body = json!({
                "seq": seq, "claim": id, "session": session, "state": "discarded", "why": why,
            });
            Ok(said(output, "flag", Exit::No, &appended.head, &line, body))
        }
    }
}

fn step_of(context: &Context<'_>, probe: Probe) -> Step {
    let (executable, files) = probe::file_digests(&probe, &context.root);
    let met_by_empty = probe::met_by_empty_output(&probe);
    Step {
        probe,
        met_by_empty,
        executable,
        files,
    }
}

/// What a promotion is to be made of.
struct Promotable {
    flag: Seq,
    step: Probe,
    grounds: Grounds,
    question: Question,
    state: State,
}

/// Promotes a provisional claim by running its flag's step.
pub(super) fn promote(
    context: &mut Context<'_>,
    arguments: &Promote,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let promotable = promotable(context, session, arguments)?;
    let Promotable {
        flag,
        step,
        grounds,
        question,
        state,
    } = promotable;
    let observer = Observer::new(context)?;
    let (begun, run, after) = {
        let needs = grounds.needs.clone();
        let axes = AxisProbes {
            context,
            observer: &observer,
            state: &state,
            session,
            axes: &needs,
        };
        let digest = step.digest();
        let before = axes.run(|axis| axes.not_held(axis) && !axes.is_by(axis, digest))?;
        let begun = ProbeBegun {
            claim: arguments.id.clone(),
            flag,
            probe_digest: digest,
        };
        let announced = announce(context, &signer, session, &question, before, begun)?;
        let axes = AxisProbes {
            context,
            observer: &observer,
            state: &state,
            session,
            axes: &needs,
        };
        let secrets = secrets(context, &state, needs.iter().copied(), digest)?;
        let stands = |failure: Failure| unfinished(failure, announced, &arguments.id);
        let run = observer
            .run(&step, Some(announced), &secrets)
            .map_err(stands)?;
        let after = axes.run(|axis| !axes.is_by(axis, digest)).map_err(stands)?;
        (announced, run, after)
    };
    let told_of = format!("{}{}", told(&run.receipt), printed(&run));
    let question = with_event(question, begun);
    let id = arguments.id.clone();
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen: &mut Pen<'_>| {
            command::promote(pen, session, id, flag, grounds, run, after).map_err(Failure::from)
        })?;
    let (receipt, id) = (appended.outcome.receipt, &arguments.id);
    match &appended.outcome.attempt {
        Ok(seq) => {
            let line = format!("claim {id} promoted as {seq}: {told_of}");
            let body = json!({
                "seq": seq, "claim": id, "flag": flag, "receipt": receipt, "session": session,
                "state": "verified_invariant",
            });
            Ok(wrote(output, "promote", &appended.head, &line, body))
        }
        Err((refused, refusal)) => {
            let mut refusal = refusal.clone();
            refusal.detail = format!("{id} stays provisional: {} ({told_of})", refusal.detail);
            let details = json!({ "receipt": receipt, "claim": id, "flag": flag, "seq": refused });
            Err(
                refused_with(refusal, receipt, &appended, details).next(format!(
                    "handoff show {receipt}, then: handoff promote {id}"
                )),
            )
        }
    }
}

/// A promotion that ended between its two transactions: the first one stands.
fn unfinished(mut failure: Failure, begun: Seq, id: &ClaimId) -> Failure {
    failure.message = format!(
        "{}; that its step was begun stands as event {begun}",
        failure.message
    );
    failure.next(format!("handoff promote {id}"))
}

fn with_event(mut question: Question, seq: Seq) -> Question {
    question.cited.insert(seq);
    question
}

/// Commits the observations before, and that the step is about to run.
fn announce(
    context: &mut Context<'_>,
    signer: &crate::key::SigningKey,
    session: Seq,
    question: &Question,
    before: Vec<Run>,
    begun: ProbeBegun,
) -> Result<Seq, Failure> {
    let appended = context
        .ledger
        .append(signer, clock::now, question, |pen: &mut Pen<'_>| {
            command::receipts(pen, session, before)?;
            pen.write(session, begun).map_err(Failure::from)
        })?;
    Ok(appended.outcome)
}

fn promotable(
    context: &Context<'_>,
    session: Seq,
    arguments: &Promote,
) -> Result<Promotable, Failure> {
    let given = &arguments.grounds;
    let mut question = Question {
        session: Some(session),
        claims: given
            .from
            .iter()
            .cloned()
            .chain([arguments.id.clone()])
            .collect(),
        names: given.needs.iter().map(|need| need.name.clone()).collect(),
        ..Question::default()
    };
    let state = context.ask(&question)?;
    let id = &arguments.id;
    let stating = state
        .statement(id)
        .map(|statement| state.open_flags_stating(statement));
    let flag = state
        .open_flag(id)
        .or_else(|| stating.into_iter().flatten().next());
    let Some(flag) = flag else {
        return Err(
            Failure::no("flag_not_open", format!("{id} has no open flag to promote"))
                .next(format!("handoff can {id}")),
        );
    };
    let flag = flag.clone();
    let mut given = given.clone();
    if given.needs.is_empty() && given.environment_independent.is_none() {
        given.environment_independent = flag.body.independent.clone();
        given.needs = (flag.body.needs.iter())
            .map(|need| AxisReference {
                name: need.axis.clone(),
                session: None,
            })
            .collect();
        question
            .names
            .extend(flag.body.needs.iter().map(|need| need.axis.clone()));
    }
    check_grounds(
        !given.needs.is_empty(),
        given.environment_independent.is_some(),
    )?;
    let state = context.ask(&question)?;
    let grounds = grounds(&state, session, &given)?;
    question.cited.extend(&grounds.needs);
    question.cited.insert(flag.seq);
    let step = flag.body.step.clone();
    question.probes.insert(flag.body.step_digest);
    Ok(Promotable {
        flag: flag.seq,
        step,
        grounds,
        question,
        state,
    })
}

/// Withdraws the supports of claims.
pub(super) fn retract(
    context: &mut Context<'_>,
    arguments: &Retract,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let question = Question {
        session: Some(session),
        claims: arguments.ids.iter().cloned().collect(),
        ..Question::default()
    };
    context.ask(&question)?;
    let body = ClaimRetracted {
        claims: Ascending::from_unordered(arguments.ids.iter().cloned()),
        reason: arguments.reason.clone(),
        receipt: None,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(session, body).map_err(Failure::from)
        })?;
    let ids: Vec<String> = arguments.ids.iter().map(ClaimId::to_string).collect();
    let line = format!("retracted as {}: {}", appended.outcome, ids.join(", "));
    let body = json!({ "seq": appended.outcome, "session": session, "claims": ids });
    Ok(wrote(output, "retract", &appended.head, &line, body))
}

/// Withdraws a flag.
pub(super) fn discard(
    context: &mut Context<'_>,
    arguments: &Discard,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session_if_any()?;
    let signer = context.signer()?;
    let question = Question {
        session,
        claims: BTreeSet::from([arguments.id.clone()]),
        ..Question::default()
    };
    context.ask(&question)?;
    let (id, reason) = (arguments.id.clone(), arguments.reason.clone());
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            command::withdraw(pen, session, id, reason).map_err(Failure::from)
        })?;
    let line = format!("flag of {} withdrawn as {}", arguments.id, appended.outcome);
    let body = json!({ "seq": appended.outcome, "claim": arguments.id, "state": "discarded" });
    Ok(wrote(output, "discard", &appended.head, &line, body))
}
