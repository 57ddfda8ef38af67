//! `axis --preset`: ready axes, all probed and then recorded in one append.

use super::super::args::ReadyAxes;
use super::super::context::Context;
use super::super::observe::{Observer, milliseconds};
use super::super::output::{Format, Output};
use super::super::report::{Exit, Failure};
use super::super::written::said_lines;
use super::evidence::{printed, told};
use crate::command::{self, Proof, Recorded, Run};
use crate::preset::{self, PresetError, Ready};
use crate::refusal::Refusal;
use crate::slice::Question;
use crate::types::{AxisName, Seq, Value};
use serde_json::{Value as Json, json};

/// The code of a preset of files of which none is there.
const NOTHING_HERE: &str = "nothing_here";

/// An axis that was probed: what a person is told of it, and a program.
struct Seen {
    name: AxisName,
    value: Option<Value>,
    told: String,
}

/// Something that was asked for and is not recorded.
struct Refused {
    /// `axis` and its name, or `preset` and the preset.
    what: (&'static str, String),
    /// The receipt that stands in the ledger all the same.
    receipt: Option<Seq>,
    why: Failure,
}

/// Records the axes of presets. Exit 1 if not all that was asked for could be: the others are.
pub(super) fn axes(
    context: &mut Context<'_>,
    asked: &ReadyAxes,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = context.session()?;
    let signer = context.signer()?;
    let max_age_ms = asked.max_age.map(milliseconds);
    let question = Question {
        session: Some(session),
        ..Question::default()
    };
    context.ask(&question)?;
    let (ready, mut refused) = asked_for(context, asked)?;
    if let (true, Some(nothing)) = (ready.is_empty(), refused.first()) {
        return Err(nothing.why.clone());
    }
    let observer = Observer::new(context)?;
    let (mut seen, mut runs) = (Vec::new(), Vec::new());
    for axis in ready {
        let run = observer.run(&axis.probe, None, &[])?;
        seen.push(Seen {
            name: axis.name.clone(),
            value: run.receipt.value.clone(),
            told: format!("{}{}", told(&run.receipt), printed(&run)),
        });
        runs.push((axis, run));
    }
    let appended = context.append_seen(&signer, &question, |pen| {
        let record = |(axis, run): (Ready, Run)| {
            let Ready {
                name,
                class,
                comparator,
                probe: _,
            } = axis;
            let proof = Proof::Run(Box::new(run));
            command::axis(pen, session, name, class, comparator, max_age_ms, proof)
        };
        let recorded: Result<Vec<Recorded>, _> = runs.into_iter().map(record).collect();
        recorded.map_err(Failure::from)
    })?;
    let (mut lines, mut recorded) = (Vec::new(), Vec::new());
    for (seen, Recorded { receipt, attempt }) in seen.iter().zip(&appended.outcome) {
        match attempt {
            Ok(seq) => {
                lines.push(format!(
                    "axis {} recorded as {seq}: {}",
                    seen.name, seen.told
                ));
                recorded.push(json!({
                    "axis": seen.name, "seq": seq, "receipt": receipt, "value": seen.value,
                }));
            }
            Err(refusal) => refused.push(not_recorded(context, seen, *receipt, refusal)),
        }
    }
    let exit = if refused.is_empty() {
        Exit::Yes
    } else {
        Exit::No
    };
    let body = body(session, recorded, &refused);
    said_lines(output, "axis", exit, &appended.head, &lines, body);
    tell(&refused, output);
    Ok(exit)
}

/// The axes of the presets, and the presets that give none here.
fn asked_for(
    context: &Context<'_>,
    asked: &ReadyAxes,
) -> Result<(Vec<Ready>, Vec<Refused>), Failure> {
    let root = &context.root;
    let is_there = |name: &str| match name {
        preset::REPOSITORY => root.ancestors().any(|folder| folder.join(name).exists()),
        file => root.join(file).is_file(),
    };
    let unfit = |error: PresetError| {
        Failure::usage(error.to_string()).next("handoff axis NAME --class CLASS -- ARGV")
    };
    let mut refused = Vec::new();
    for preset in &asked.presets {
        if preset::axes(std::slice::from_ref(preset), is_there)
            .map_err(unfit)?
            .is_empty()
        {
            let message = format!(
                "preset {preset}: in {} is none of {}",
                root.display(),
                preset::files(preset).join(", ")
            );
            let why = Failure::no(NOTHING_HERE, message)
                .next("handoff axis NAME --class dependency_version -- ARGV");
            refused.push(Refused {
                what: ("preset", preset.to_string()),
                receipt: None,
                why: addressed(context, why),
            });
        }
    }
    let ready = preset::axes(&asked.presets, is_there).map_err(unfit)?;
    Ok((ready, refused))
}

fn not_recorded(context: &Context<'_>, seen: &Seen, receipt: Seq, refusal: &Refusal) -> Refused {
    let message = format!(
        "axis {} is not recorded: {}: {}",
        seen.name, refusal.detail, seen.told
    );
    let why = Failure::no(refusal.rule.as_str(), message).next(format!("handoff show {receipt}"));
    Refused {
        what: ("axis", seen.name.to_string()),
        receipt: Some(receipt),
        why: addressed(context, why),
    }
}

/// The failure with a next command that is of the session and the ledger that were named.
fn addressed(context: &Context<'_>, why: Failure) -> Failure {
    let common = context.common();
    why.in_session(common.session).carrying(common)
}

/// The document: what was recorded and what was refused, the first of it as the error.
fn body(session: Seq, recorded: Vec<Json>, refused: &[Refused]) -> Json {
    let each = |refused: &Refused| {
        let mut told = refused.why.error();
        if let Some(members) = told.as_object_mut() {
            let (what, name) = &refused.what;
            members.insert((*what).to_owned(), json!(name));
            if let Some(receipt) = refused.receipt {
                members.insert("receipt".to_owned(), json!(receipt));
            }
        }
        told
    };
    let mut body = json!({
        "session": session,
        "axes": recorded,
        "refused": refused.iter().map(each).collect::<Vec<Json>>(),
    });
    if let (Some(members), Some(first)) = (body.as_object_mut(), refused.first()) {
        members.insert("error".to_owned(), first.why.error());
    }
    body
}

/// The refusals for a person, each with what to type next.
fn tell(refused: &[Refused], output: &mut Output) {
    if output.format() == Format::Text {
        let lines = refused.iter().flat_map(|refused| refused.why.lines());
        lines.for_each(|line| output.note(&line));
    }
}
