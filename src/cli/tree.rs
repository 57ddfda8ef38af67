//! The tree over this machine's own ledger, and heads from outside that it is held to.

use super::context::Context;
use super::examined::Answers;
use super::report::Failure;
use crate::checkpoint::Expected;
use crate::demand::Demand;
use crate::merkle::Tree;
use crate::state::State;
use crate::types::{Leaf, Seq};

/// The leaves of the events up to one, as this machine verified them.
///
/// # Errors
/// If a record is no longer the one that was verified.
pub(super) fn leaves(context: &Context<'_, impl Answers>, last: Seq) -> Result<Vec<Leaf>, Failure> {
    let mut leaves = Vec::new();
    let ledger = &context.ledger;
    ledger.replay(Seq::ZERO, last, &mut |event, _, _| {
        leaves.push(event.leaf())
    })?;
    Ok(leaves)
}

/// Has a demand see the ledger at the event that it speaks of: as it was computed once, by folding
/// all events up to there, and is true of them ever since.
fn reach(
    context: &Context<'_, impl Answers>,
    last: Seq,
    demand: &mut Demand,
) -> Result<(), Failure> {
    let ledger = &context.ledger;
    if let Some(kept) = ledger.computed(last)?
        && demand.recall(&kept)
    {
        return Ok(());
    }
    let (mut tree, mut state) = (Tree::new(), State::new());
    ledger.replay(Seq::ZERO, last, &mut |event, refusal, _| {
        tree.add(event.leaf());
        state.apply_judged(event, refusal);
        demand.event(event.event().seq, &tree, &state);
    })?;
    // What could not be kept is computed again.
    demand
        .reached()
        .map(|reached| ledger.keep_computed(last, &reached).ok());
    Ok(())
}

/// Holds the ledger to a head from outside.
///
/// # Errors
/// Exit 4, with the name of the fault, if it is not met.
pub(super) fn hold(
    context: &Context<'_, impl Answers>,
    expected: &Expected,
) -> Result<(), Failure> {
    let head = context.head()?;
    let mut demand = Demand::new(Some(expected.clone()), Vec::new());
    match (expected, demand.seq()) {
        (Expected::Head(line), _) => {
            if let Some(leaf) = context.ledger.leaf(line.seq)? {
                demand.record(line.seq, leaf);
            }
        }
        (Expected::Checkpoint(_), Some(last)) if last <= head.seq => {
            reach(context, last, &mut demand)?;
        }
        (Expected::Checkpoint(_), _) => {}
    }
    match demand.faults(Some(Leaf(head.ledger.0))).into_iter().next() {
        None => Ok(()),
        Some(fault) => Err(Failure::integrity(fault.kind, fault.detail).next("handoff verify")),
    }
}
