//! `resume` and `reverify`: what still holds here, of what was inherited.

use super::super::args::{BRIEF_CHARACTERS, Common, Reprobe, Resume};
use super::super::briefing::{Briefing, Markup};
use super::super::context::Context;
use super::super::examined::Answers;
use super::super::output::Output;
use super::super::render;
use super::super::render::head_json;
use super::super::report::{Exit, Failure};
use super::super::reprobe::{
    Judged, asserted, everything, is_of_an_axis, judge_anew, refuse_unknown,
};
use super::super::written::not_told;
use super::session;
use crate::judge::Judge;
use crate::reverify;
use crate::slice::Question;
use crate::state::State;
use crate::types::{ClaimId, Head, Seq};
use crate::verdict::{ClaimState, Verdict};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Which part of a brief the axes that do not hold may take up: one in so many.
const DRIFTED_SHARE: u32 = 3;

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
    check_known(context, None, &arguments.reprobe.only)?;
    let before = context.session();
    let (session, opened, inherits) = session::opened(context, &arguments.open)?;
    session::tell_other(before, context, output);
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
        let why = match told.unknown.contains(*id) {
            true => ": nobody spoke of it",
            false => "",
        };
        output.line(&format!("REQUIRED {id} is not admissible{why}"));
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
    check_known(context, Some(session), &arguments.only)?;
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
        | Exit::NotRun
        | Exit::Action(_)
        | Exit::Blocked => failure,
    };
    failure
        .details(json!({ "session": session }))
        .next(format!("handoff reverify --session {session}"))
}

/// The claims asked about must have been spoken of.
fn check_known(
    context: &Context<'_, impl Answers>,
    session: Option<Seq>,
    only: &[ClaimId],
) -> Result<(), Failure> {
    let question = Question {
        session,
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

/// Axes that would be inherited, and the state that knows them.
type Inherited = (Rc<State>, BTreeSet<Seq>);

/// The axes that a session opened now would reverify, each once, with the state that knows them.
fn to_inherit(
    context: &Context<'_, impl Answers>,
    arguments: &Resume,
) -> Result<Vec<Inherited>, Failure> {
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
    let found = found.iter().map(|(state, axes)| (state.as_ref(), axes));
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
    check_known(&context, Some(session), &arguments.only)?;
    let state = context.ask(&everything(Some(session)))?;
    let axes = reverify::axes(&state, session, &arguments.only);
    Ok(would_run([(state.as_ref(), &axes)], output, "reverify"))
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

/// The axes that do not hold, a line each, as many as a third of a brief has room for.
fn drifted(state: &State, judge: &Judge<'_>) -> Vec<String> {
    let axes = render::axes(state, judge);
    let mut lines = (axes.iter())
        .filter(|axis| axis.verdict.verdict != Verdict::Held)
        .map(|axis| render::axis_text(state, axis));
    let mut room = usize::try_from(BRIEF_CHARACTERS / DRIFTED_SHARE).unwrap_or(usize::MAX);
    let mut shown = Vec::new();
    for line in lines.by_ref() {
        let length = line.chars().count();
        if length > room {
            let left = lines.count().saturating_add(1);
            shown.push(format!("{left} more axes do not hold: handoff state"));
            break;
        }
        room -= length;
        shown.push(line);
    }
    shown
}

/// What a session may think of everything it inherits, and of what was asked about.
struct Told {
    axes: Vec<Json>,
    admissible: BTreeSet<ClaimId>,
    blocked: Vec<Json>,
    provisional: Vec<Json>,
    /// Claims that were asked about and nobody spoke of.
    unknown: BTreeSet<ClaimId>,
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
            context.common(),
            format!("Handoff brief for session {session} at event {at}"),
        );
        let drifted = drifted(state, &judge);
        let characters: usize = drifted.iter().map(|line| line.chars().count()).sum();
        let characters_max = usize::try_from(BRIEF_CHARACTERS).unwrap_or(usize::MAX);
        let mut told = Told {
            axes: render::axes_json(state, &judge),
            admissible: BTreeSet::new(),
            blocked: Vec::new(),
            provisional: Vec::new(),
            unknown: BTreeSet::new(),
            drifted,
            text: briefing.text(Markup::Plain, characters_max.saturating_sub(characters)),
        };
        let mut claims = render::claims(state, &judge, None);
        claims.extend(render::claims(state, &judge, Some(&asked)));
        for (id, verdict) in claims {
            if verdict.state == ClaimState::Unknown {
                told.unknown.insert(id.clone());
            }
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
                let next = context.common().carried(&next);
                told.blocked.push(json!({
                    "claim": id, "state": verdict.state, "because": because, "next": next,
                }));
            }
        }
        told
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        let drifted = self.drifted.iter().map(String::as_str);
        drifted.chain(self.text.lines())
    }

    fn print(&self, output: &mut Output) {
        self.lines().for_each(|line| output.line(line));
    }

    fn json(&self, session: Seq, head: &Head) -> Json {
        let text: Vec<&str> = self.lines().collect();
        json!({
            "head": head_json(head), "seq": head.seq, "session": session, "axes": self.axes,
            "admissible": self.admissible, "blocked": self.blocked,
            "provisional": self.provisional, "text": text.join("\n"),
        })
    }
}
