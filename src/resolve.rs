//! What an axis's name stands for in a session.

use crate::event::AxisRecorded;
use crate::state::{Fact, State};
use crate::types::{AxisName, Seq};
use std::collections::BTreeSet;

/// What a name stands for in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// This record.
    One(Seq),
    /// No record.
    Unknown,
    /// Several that differ, one a session.
    Ambiguous(Vec<Seq>),
}

/// Rule 4: this session's latest record of a name, else an inherited one. A record shadows those of
/// its session's ancestors; several left that differ in probe, value or comparator are ambiguous.
pub fn resolve(state: &State, session: Seq, name: &AxisName) -> Resolved {
    let recorded = |session: &Seq| state.latest_axis(*session, name);
    let mut left: Vec<&Fact<AxisRecorded>> =
        state.lineage(session).iter().filter_map(recorded).collect();
    let shadowed: BTreeSet<Seq> = (left.iter())
        .flat_map(|record| {
            let mut ancestors = state.lineage(record.session);
            ancestors.remove(&record.session);
            ancestors
        })
        .collect();
    left.retain(|record| !shadowed.contains(&record.session));
    let what = |seq: Seq| {
        let record = state.axes().get(&seq)?;
        let receipt = state.receipts().get(&record.body.receipt)?;
        let redacted = receipt
            .body
            .redacted
            .as_ref()
            .map(|redacted| redacted.commitment);
        let value = &receipt.body.value;
        Some((
            receipt.body.probe_digest,
            &record.body.comparator,
            value,
            redacted,
        ))
    };
    let Some(newest) = left.iter().map(|record| record.seq).max() else {
        return Resolved::Unknown;
    };
    if left.iter().all(|record| what(record.seq) == what(newest)) {
        Resolved::One(newest)
    } else {
        Resolved::Ambiguous(left.iter().map(|record| record.seq).collect())
    }
}
