//! What a claim or a promotion rests on beside its proof: axes by name, and the runs around it.

use super::super::args::{AxisReference, Grounds as GroundsArgument};
use super::super::context::Context;
use super::super::observe::{Observer, secrets};
use super::super::report::Failure;
use crate::command::Run;
use crate::command_claims::Grounds;
use crate::observation::axis_in;
use crate::resolve::{Resolved, resolve};
use crate::slice::Question;
use crate::state::State;
use crate::types::{ClaimId, Digest, Seq};
use crate::verdict::Verdict;
use std::collections::BTreeSet;

/// What has to be known of a session in order to support a claim of it by these grounds.
pub(super) fn about(session: Seq, claim: &ClaimId, given: &GroundsArgument) -> Question {
    let from = given.from.iter().cloned();
    Question {
        session: Some(session),
        claims: from.chain([claim.clone()]).collect(),
        names: given.needs.iter().map(|need| need.name.clone()).collect(),
        ..Question::default()
    }
}

/// The axes that are named, as the session knows them.
pub(super) fn named(
    state: &State,
    session: Seq,
    references: &[AxisReference],
) -> Result<Vec<Seq>, Failure> {
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
pub(super) struct AxisProbes<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) observer: &'a Observer,
    pub(super) state: &'a State,
    pub(super) session: Seq,
    pub(super) axes: &'a [Seq],
}

impl AxisProbes<'_> {
    /// Runs the probe of each axis that `wanted` says must be observed anew.
    pub(super) fn run(&self, wanted: impl Fn(Seq) -> bool) -> Result<Vec<Run>, Failure> {
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
    pub(super) fn not_held(&self, axis: Seq) -> bool {
        let time = self.context.time;
        let verdict = axis_in(self.state, axis, self.session, None, time);
        verdict.verdict != Verdict::Held || verdict.receipt.is_none()
    }

    /// Whether an axis is observed by a probe.
    pub(super) fn is_by(&self, axis: Seq, probe: Digest) -> bool {
        self.state.axis_probe(axis) == Some(probe)
    }
}

pub(super) fn grounds(
    state: &State,
    session: Seq,
    argument: &GroundsArgument,
) -> Result<Grounds, Failure> {
    Ok(Grounds {
        needs: named(state, session, &argument.needs)?,
        independent: argument.environment_independent.clone(),
        from: argument.from.clone(),
    })
}

/// Axes or a reason to need none: neither or both is refused before anything runs.
pub(super) fn check_grounds(needs: bool, independent: bool) -> Result<(), Failure> {
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
