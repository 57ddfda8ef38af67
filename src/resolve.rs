//! What an axis's name stands for in a session.

use crate::event::AxisRecorded;
use crate::facts::Fact;
use crate::lineage::Sessions;
use crate::state::State;
use crate::types::{AxisName, Seq};

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
    let sessions = state.axes_named.get(name).into_iter().flatten();
    let mut left: Vec<&Fact<AxisRecorded>> = sessions
        .filter(|(recording, _)| state.inherits(session, **recording))
        .filter_map(|(recording, _)| state.latest_axis(*recording, name))
        .collect();
    let mut shadowed = Sessions::default();
    for session in left
        .iter()
        .filter_map(|it| state.sessions().get(&it.session))
    {
        shadowed.extend(&session.ancestors);
    }
    left.retain(|record| !state.is_in(&shadowed, record.session));
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
