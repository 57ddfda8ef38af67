//! What a caller asks for, and what events it becomes.
//!
//! Each function writes with a [`Pen`] on the state just before, inside the one transaction of
//! [`crate::append`]. A probe that was run leaves its receipt whatever the rules say of what was to
//! rest on it: a failed attempt is evidence too. What is asked of claims is in
//! [`crate::command_claims`].

use crate::append::{LedgerError, Pen};
use crate::boundary::Boundary;
use crate::event::{
    AmbientDeclared, AmbientEntry, AxisClass, AxisRecorded, Body, ProbeReceipt, SessionOpened,
    SessionSealed,
};
use crate::probe_spec::Comparator;
use crate::refusal::{Refusal, Rule};
use crate::store::Capture;
use crate::types::{Ascending, AxisName, Digest, Name, Seq, Text};

/// A probe that was run, ready to be recorded.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was seen.
    pub receipt: ProbeReceipt,
    /// What it printed, and the salts of what is committed to.
    pub captures: Vec<Capture>,
}

/// What became of an attempt: the event, or why the rules refuse it.
pub type Attempt = Result<Seq, Refusal>;

/// Writes an event, or answers why the rules refuse it.
pub(crate) fn attempt(
    pen: &mut Pen<'_>,
    session: Seq,
    body: impl Into<Body>,
) -> Result<Attempt, LedgerError> {
    match pen.write(session, body) {
        Ok(seq) => Ok(Ok(seq)),
        Err(LedgerError::Refused(refusal)) => Ok(Err(refusal)),
        Err(error) => Err(error),
    }
}

/// Records a receipt and keeps what was captured.
///
/// # Errors
/// If the receipt itself is refused.
pub fn receipt(pen: &mut Pen<'_>, session: Seq, run: Run) -> Result<Seq, LedgerError> {
    let seq = pen.write(session, run.receipt)?;
    for capture in run.captures {
        pen.keep(capture);
    }
    Ok(seq)
}

/// Records receipts one after the other.
///
/// # Errors
/// If one is refused.
pub fn receipts(pen: &mut Pen<'_>, session: Seq, runs: Vec<Run>) -> Result<Vec<Seq>, LedgerError> {
    runs.into_iter()
        .map(|run| receipt(pen, session, run))
        .collect()
}

/// A receipt that is to be made, or that there is.
#[derive(Debug)]
pub enum Proof {
    /// A run that just ended.
    Run(Box<Run>),
    /// A receipt recorded before.
    Receipt(Seq),
}

/// The seq of a receipt: of one that is recorded now, or of one that there is.
pub(crate) fn proof(pen: &mut Pen<'_>, session: Seq, proof: Proof) -> Result<Seq, LedgerError> {
    match proof {
        Proof::Run(run) => receipt(pen, session, *run),
        Proof::Receipt(seq) => Ok(seq),
    }
}

/// What was recorded, and on which receipt.
#[derive(Debug)]
pub struct Recorded {
    /// The receipt that it rests on.
    pub receipt: Seq,
    /// The event, or why there is none.
    pub attempt: Attempt,
}

/// Records an axis.
///
/// # Errors
/// If the receipt itself is refused; what the rules say of the axis is in the answer.
pub fn axis(
    pen: &mut Pen<'_>,
    session: Seq,
    name: AxisName,
    class: AxisClass,
    comparator: Comparator,
    max_age_ms: Option<u64>,
    shown_by: Proof,
) -> Result<Recorded, LedgerError> {
    let receipt = proof(pen, session, shown_by)?;
    let body = AxisRecorded {
        axis: name,
        class,
        comparator,
        max_age_ms,
        receipt,
    };
    Ok(Recorded {
        receipt,
        attempt: attempt(pen, session, body)?,
    })
}

/// Opens a session; without a word on what it inherits, it inherits every sealed session that no
/// sealed session inherits: rule 15.
///
/// # Errors
/// What the rules say.
pub fn open(
    pen: &mut Pen<'_>,
    agent: Name,
    purpose: Option<Text>,
    inherits: Option<Vec<Seq>>,
    scope: Digest,
) -> Result<Seq, LedgerError> {
    let inherits = inherits.unwrap_or_else(|| pen.state().frontier().into_iter().collect());
    let inherits = Ascending::from_unordered(inherits);
    pen.write(
        Seq::ZERO,
        SessionOpened {
            agent,
            inherits,
            purpose,
            scope,
        },
    )
}

/// Declares what may drift.
///
/// # Errors
/// What the rules say.
pub fn ambient(
    pen: &mut Pen<'_>,
    session: Seq,
    mut entries: Vec<AmbientEntry>,
) -> Result<Seq, LedgerError> {
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    pen.write(session, AmbientDeclared { entries })
}

/// Seals a session: what it leaves is bound.
///
/// # Errors
/// What the rules say.
pub fn seal(pen: &mut Pen<'_>, session: Seq) -> Result<(Seq, Boundary), LedgerError> {
    let Some(boundary) = Boundary::of(pen.state(), session) else {
        let detail = format!("there is no session {session}");
        return Err(Refusal {
            rule: Rule::SessionUnknown,
            detail,
        }
        .into());
    };
    let body = SessionSealed {
        boundary_digest: boundary.digest().unwrap_or(Digest::ZERO),
        counts: boundary.counts(),
    };
    Ok((pen.write(session, body)?, boundary))
}
