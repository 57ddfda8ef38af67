//! The command that would unblock a claim.

use super::text::probe_text;
use crate::cli::next::THEN;
use crate::cli::quote::shell_quoted;
use crate::event::AxisRecorded;
use crate::facts::{Fact, Support};
use crate::probe_spec::Comparator;
use crate::state::State;
use crate::types::{ClaimId, Seq};
use crate::verdict::{Because, ClaimVerdict, Verdict};

/// The command, or the commands joined by [`THEN`], that would make a claim admissible to a
/// session; for one that is, the command that shows what it rests on.
pub fn next_for(
    state: &State,
    id: &ClaimId,
    verdict: &ClaimVerdict,
    session: Option<Seq>,
) -> String {
    let of = session.map_or(String::new(), |session| format!(" --session {session}"));
    let Some(first) = most_urgent(&verdict.because) else {
        return format!("handoff can {id}{of}");
    };
    match first {
        Because::NotReverified => format!("handoff reverify{of}"),
        Because::Axis { .. } => axes(state, id, verdict, session, &of),
        Because::From { claim } => format!("handoff can {claim}{of}"),
        Because::CounterEvidence { receipt } => {
            let again = claim(state, id, verdict, &of);
            format!("handoff show {receipt}{THEN}{again}")
        }
        Because::Provisional { flag } => promote(state, id, *flag, &of),
        Because::Unsealed { .. } => match verdict.flag {
            Some(flag) => promote(state, id, flag, &of),
            None => claim(state, id, verdict, &of),
        },
        Because::Void => anew(state, id, verdict, &of),
        Because::TooLarge
        | Because::Retracted { .. }
        | Because::Statement { .. }
        | Because::Discarded => claim(state, id, verdict, &of),
        Because::Unknown => format!("handoff state{of}"),
        Because::NoSession | Because::Elsewhere | Because::Ended => {
            "handoff resume --agent NAME".to_owned()
        }
        Because::KeyRevoked => "handoff --key ANOTHER resume --agent NAME".to_owned(),
        Because::Undetermined => "cargo install handoff-ledger".to_owned(),
        Because::Ledger(_) => "handoff verify FILE".to_owned(),
    }
}

/// What is to be dealt with first: what reverifying may settle, before what was withdrawn, before
/// the axes, before the rest.
fn most_urgent(because: &[Because]) -> Option<&Because> {
    let rank = |because: &&Because| match because {
        Because::NotReverified => 0,
        Because::Void | Because::Statement { .. } | Because::Retracted { .. } => 1,
        Because::Axis { .. } => 2,
        Because::From { .. }
        | Because::CounterEvidence { .. }
        | Because::TooLarge
        | Because::Provisional { .. }
        | Because::Discarded
        | Because::Unsealed { .. }
        | Because::Unknown
        | Because::NoSession
        | Because::Elsewhere
        | Because::Ended
        | Because::KeyRevoked
        | Because::Undetermined
        | Because::Ledger(_) => 3,
    };
    because.iter().min_by_key(rank)
}

/// A claim that is void is verified anew, under axes of which the void ones are recorded anew.
fn anew(state: &State, id: &ClaimId, verdict: &ClaimVerdict, of: &str) -> String {
    let needs = newest_support(state, id, verdict).map(|support| &support.body.needs);
    let records = needs.into_iter().flatten().copied();
    let mut commands: Vec<String> = records
        .filter(|axis| state.is_void(*axis))
        .filter_map(|axis| state.axes().get(&axis))
        .map(|record| axis_command(state, record, of))
        .collect();
    commands.push(claim(state, id, verdict, of));
    commands.join(THEN)
}

fn axis_command(state: &State, record: &Fact<AxisRecorded>, of: &str) -> String {
    let body = &record.body;
    let probe = state.receipts().get(&body.receipt);
    let probe = probe.map_or("-- ARGV".to_owned(), |receipt| {
        probe_text(&receipt.body.probe)
    });
    let holds_if = match &body.comparator {
        Comparator::Exact => String::new(),
        other @ (Comparator::OneOf(_) | Comparator::Semver(_) | Comparator::Present) => {
            format!(" --holds-if {}", shell_quoted(&[other.to_string()]))
        }
    };
    let max_age = body.max_age_ms;
    let max_age = max_age.map_or(String::new(), |ms| format!(" --max-age {ms}ms"));
    let (name, class) = (&body.axis, body.class);
    format!("handoff axis {name}{of} --class {class}{holds_if}{max_age} {probe}")
}

/// An inherited axis that could not be verified is probed again; one that drifted, or is the
/// session's own, is recorded anew, and the claim verified under it.
fn axes(
    state: &State,
    id: &ClaimId,
    verdict: &ClaimVerdict,
    session: Option<Seq>,
    of: &str,
) -> String {
    let mut commands = Vec::new();
    for because in &verdict.because {
        let Because::Axis { axis, verdict } = because else {
            continue;
        };
        let Some(record) = state.axes().get(axis) else {
            continue;
        };
        if verdict.verdict == Verdict::Unverifiable && Some(record.session) != session {
            continue;
        }
        commands.push(axis_command(state, record, of));
    }
    if commands.is_empty() {
        return format!("handoff reverify{of} --only {id}");
    }
    commands.push(claim(state, id, verdict, of));
    commands.join(THEN)
}

fn newest_support<'s>(
    state: &'s State,
    id: &ClaimId,
    verdict: &ClaimVerdict,
) -> Option<&'s Fact<Support>> {
    let newest = state
        .claims()
        .get(id)
        .and_then(|claim| claim.supports.last());
    let support = verdict.support.or(newest.copied())?;
    state.supports().get(&support)
}

fn claim(state: &State, id: &ClaimId, verdict: &ClaimVerdict, of: &str) -> String {
    let Some(support) = newest_support(state, id, verdict) else {
        return format!("handoff claim {id}{of} STATEMENT --needs AXIS -- ARGV");
    };
    // What is void binds no statement to the id.
    let statement = match state.statement(id) {
        Some(_) => String::new(),
        None => format!(" {}", shell_quoted(&[support.body.statement.as_str()])),
    };
    let from: Vec<&str> = support.body.from.iter().map(|from| from.as_str()).collect();
    let from = match from.is_empty() {
        true => String::new(),
        false => format!(" --from {}", from.join(",")),
    };
    let names = names(state, &support.body.needs);
    let grounds = grounds(&names, support.body.independent.is_some());
    let proof = support
        .body
        .receipts
        .last()
        .and_then(|seq| state.receipts().get(seq));
    let proof = proof.map_or("-- ARGV".to_owned(), |receipt| {
        probe_text(&receipt.body.probe)
    });
    format!("handoff claim {id}{statement}{of}{grounds}{from} {proof}")
}

fn promote(state: &State, id: &ClaimId, flag: Seq, of: &str) -> String {
    let Some(flag) = state.flags().get(&flag) else {
        return format!("handoff promote {id}{of} --needs AXIS");
    };
    let names: Vec<&str> = (flag.body.needs.iter())
        .map(|need| need.axis.as_str())
        .collect();
    let grounds = grounds(&names, flag.body.independent.is_some());
    format!("handoff promote {id}{of}{grounds}")
}

fn grounds(names: &[&str], independent: bool) -> String {
    match (names, independent) {
        ([], true) => " --environment-independent WHY".to_owned(),
        ([], false) => " --needs AXIS".to_owned(),
        (names, _) => format!(" --needs {}", names.join(",")),
    }
}

fn names<'s>(state: &'s State, axes: &[Seq]) -> Vec<&'s str> {
    let mut names: Vec<&str> = (axes.iter())
        .filter_map(|axis| state.axes().get(axis))
        .map(|record| record.body.axis.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
