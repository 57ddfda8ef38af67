//! Which events answer a question.
//!
//! A chain grows; what a session may act on depends on little of it. A [`Question`] names what is
//! to be asked, [`slice()`] finds through an [`Index`] the events that can bear on the answer, and
//! folding those gives the same answer as folding all: a property test holds the two equal. The
//! index says where events are, never what they say: each is read from the ledger and accepted by
//! its leaf.

use crate::chain::VerifiedEvent;
use crate::event::{Body, Event, GateDecision};
use crate::hash;
use crate::refusal::{Refusal, Rule};
use crate::rules::WRONG_SEALS_MAX;
use crate::slice_closure::Closure;
use crate::state::State;
use crate::types::{AxisName, ClaimId, Digest, Seq, Text};
use std::collections::BTreeSet;

/// What events are found by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Everything of the ledger itself and its keys.
    Ledger,
    /// A session's opening, end and ambient declarations, and the seals that were refused.
    Session(Seq),
    /// A session's reverifications.
    Reverified(Seq),
    /// The reverifications of a session that say of an axis why it has no receipt.
    Unprobed(Seq, Seq),
    /// Everything that stands in a session.
    Own(Seq),
    /// A session's receipts of a probe.
    Receipts(Seq, Digest),
    /// A session's records of an axis name.
    Axis(Seq, AxisName),
    /// A session's supports that need an axis of a name.
    Needs(Seq, AxisName),
    /// What a session said of claims.
    Claims(Seq),
    /// What was said of a claim.
    Claim(ClaimId),
    /// What bound an id to a statement.
    Statement(Text),
    /// The end of a gated action.
    Gate(Seq),
    /// The gates that let a command run whose end is not recorded.
    Unfinished,
    /// What was erased.
    Erasures,
    /// The openings of sealed sessions that no sealed session inherits.
    Frontier,
    /// The openings of sessions that are not sealed.
    Unsealed,
}

impl Subject {
    /// The key under which an index keeps it.
    pub fn key(&self) -> [u8; 16] {
        hash::subject(&match self {
            Subject::Ledger => "ledger".to_owned(),
            Subject::Session(session) => format!("session {session}"),
            Subject::Reverified(session) => format!("reverified {session}"),
            Subject::Unprobed(session, axis) => format!("unprobed {session} {axis}"),
            Subject::Own(session) => format!("own {session}"),
            Subject::Receipts(session, probe) => format!("receipts {session} {probe}"),
            Subject::Axis(session, name) => format!("axis {session} {name}"),
            Subject::Needs(session, name) => format!("needs {session} {name}"),
            Subject::Claims(session) => format!("claims {session}"),
            Subject::Claim(claim) => format!("claim {claim}"),
            Subject::Statement(statement) => format!("statement {statement}"),
            Subject::Gate(gate) => format!("gate {gate}"),
            Subject::Unfinished => "unfinished".to_owned(),
            Subject::Erasures => "erasures".to_owned(),
            Subject::Frontier => "frontier".to_owned(),
            Subject::Unsealed => "unsealed".to_owned(),
        })
    }
}

/// Where events are, by subject; kept outside the ledger and never taken from anyone.
pub trait Index {
    /// Why a look-up failed.
    type Error;

    /// All of a subject, ascending.
    fn all(&self, subject: &Subject) -> Result<Vec<Seq>, Self::Error>;

    /// The first of a subject.
    fn first(&self, subject: &Subject) -> Result<Option<Seq>, Self::Error>;

    /// The last of a subject at or before a position.
    fn last(&self, subject: &Subject, at_most: Seq) -> Result<Option<Seq>, Self::Error>;

    /// Whether there is an event at a position.
    fn holds(&self, seq: Seq) -> Result<bool, Self::Error>;

    /// The event at a position that [holds](Index::holds) one, accepted by the leaf that was
    /// verified.
    fn event(&self, seq: Seq) -> Result<Indexed, Self::Error>;
}

/// An event that an index leads to, with the judgement it was given on the whole chain.
#[derive(Debug, Clone)]
pub struct Indexed {
    /// The event.
    pub event: VerifiedEvent,
    /// Why it was refused, if it was.
    pub refusal: Option<Refusal>,
}

/// What is to be asked of a state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The session that asks.
    pub session: Option<Seq>,
    /// The claims asked about.
    pub claims: BTreeSet<ClaimId>,
    /// Every claim of the session's lineage and of unsealed sessions, and the commands whose end is
    /// not recorded.
    pub all_claims: bool,
    /// Statements that may be bound or admissible.
    pub statements: BTreeSet<Text>,
    /// Axis names to be resolved in the session.
    pub names: BTreeSet<AxisName>,
    /// Names that a support of the session may need.
    pub needed_names: BTreeSet<AxisName>,
    /// Events that are cited.
    pub cited: BTreeSet<Seq>,
    /// Probes whose receipts in the session matter.
    pub probes: BTreeSet<Digest>,
    /// Around which receipts an axis must be bracketed: the first of a proof.
    pub bracket: Option<Seq>,
    /// Everything the session said itself: its boundary record.
    pub boundary: bool,
    /// The sessions there are to inherit, to go on with or to take over from.
    pub sessions: bool,
    /// Which captures were erased.
    pub erasures: bool,
}

impl Question {
    /// What must be known to judge an event.
    pub fn of(event: &Event) -> Question {
        let mut question = Question::default();
        if event.session != Seq::ZERO {
            question.session = Some(event.session);
        }
        let cite = |question: &mut Question, seqs: &[Seq]| question.cited.extend(seqs);
        match &event.body {
            Body::SessionOpened(body) => cite(&mut question, &body.inherits),
            Body::SessionAbandoned(body) => cite(&mut question, &[body.session]),
            Body::SessionSealed(_) => question.boundary = true,
            Body::ProbeBegun(body) => cite(&mut question, &[body.flag]),
            Body::ProbeReceipt(body) => {
                let compared = body.compared.iter().map(|compared| compared.axis);
                question
                    .cited
                    .extend(body.begun.into_iter().chain(compared));
            }
            Body::AxisRecorded(body) => cite(&mut question, &[body.receipt]),
            Body::AmbientDeclared(body) => {
                question.needed_names = body.entries.iter().map(|e| e.name.clone()).collect();
            }
            Body::ClaimVerified(body) => {
                question.support(&body.claim, &body.from);
                question.statements.insert(body.statement.clone());
                cite(&mut question, &body.receipts);
                cite(&mut question, &body.needs);
                question.bracket = body.receipts.first().copied();
            }
            Body::ClaimFlagged(body) => {
                question.claims.insert(body.claim.clone());
                question.statements.insert(body.statement.clone());
                question.names = body.needs.iter().map(|need| need.axis.clone()).collect();
            }
            Body::ClaimDiscarded(body) => {
                question.claims.insert(body.claim.clone());
                question.cited.extend(body.flag);
            }
            Body::ClaimPromoted(body) => {
                question.support(&body.claim, &body.from);
                cite(&mut question, &[body.flag, body.receipt]);
                cite(&mut question, &body.needs);
                question.bracket = Some(body.receipt);
            }
            Body::ClaimPromotionRefused(body) => {
                question.claims.insert(body.claim.clone());
                cite(&mut question, &[body.flag, body.receipt]);
            }
            Body::ClaimRetracted(body) => {
                question.claims.extend(body.claims.iter().cloned());
                question.cited.extend(body.receipt);
            }
            Body::BoundaryReverified(body) => {
                for entry in &body.entries {
                    question.cited.insert(entry.axis);
                    question.cited.extend(entry.receipt);
                }
            }
            Body::ActionGated(body) => question.claims.extend(body.claims.iter().cloned()),
            Body::ActionFinished(body) => cite(&mut question, &[body.gate]),
            Body::LedgerOpened(_)
            | Body::LedgerUpgraded(_)
            | Body::KeyAuthorized(_)
            | Body::KeyRevoked(_)
            | Body::CaptureErased(_)
            | Body::EventAcknowledged(_)
            | Body::Unknown(_) => {}
        }
        question
    }

    /// Asks about a claim and those it is derived from.
    fn support(&mut self, claim: &ClaimId, from: &[ClaimId]) {
        self.claims.insert(claim.clone());
        self.claims.extend(from.iter().cloned());
    }
}

/// The state that answers a question: the fold of the events that can bear on it.
///
/// Its head is that of its last event, not of the chain; what it answers is the same.
///
/// # Errors
/// What the index failed with.
pub fn slice<I: Index>(index: &I, question: &Question) -> Result<State, I::Error> {
    let events = Closure::of(index, question)?;
    let mut state = State::new();
    for indexed in events.into_values() {
        state.apply_judged(&indexed.event, indexed.refusal);
    }
    Ok(state)
}

/// What an event changes in an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// Under which subjects it is found.
    pub add: Vec<Subject>,
    /// What is no longer found.
    pub remove: Vec<(Subject, Seq)>,
    /// The session that enters the frontier.
    pub open_to_inheritance: Option<Seq>,
}

/// What an event changes in the index, given the state just before it (or a slice that answers
/// [`Question::of`] it) and why it was refused: nothing if it was, but that wrong seals are
/// counted, and nothing past an upgrade that this program cannot judge beyond.
pub fn entry(before: &State, event: &Event, refusal: Option<&Refusal>) -> Entry {
    let mut entry = Entry::default();
    if before.undetermined().is_some() {
        return entry;
    }
    if let Some(refusal) = refusal {
        let counts = before.wrong_seals(event.session) < WRONG_SEALS_MAX;
        if refusal.rule == Rule::Boundary && counts {
            entry.add.push(Subject::Session(event.session));
        }
        return entry;
    }
    if event.session != Seq::ZERO {
        entry.add.push(Subject::Own(event.session));
    }
    lawful(&mut entry, before, event);
    entry
}

/// What a lawful event changes by its kind.
fn lawful(entry: &mut Entry, before: &State, event: &Event) {
    let session = event.session;
    match &event.body {
        Body::LedgerOpened(_)
        | Body::LedgerUpgraded(_)
        | Body::KeyAuthorized(_)
        | Body::KeyRevoked(_)
        | Body::EventAcknowledged(_) => entry.add.push(Subject::Ledger),
        Body::SessionOpened(_) => {
            entry
                .add
                .extend([Subject::Session(event.seq), Subject::Unsealed]);
        }
        Body::SessionSealed(_) => {
            entry.add.push(Subject::Session(session));
            entry.remove.push((Subject::Unsealed, session));
            entry.open_to_inheritance = Some(session);
            if let Some(opened) = before.sessions().get(&session) {
                let inherits = opened.opened.body.inherits.iter();
                let inherits = inherits.map(|seq| (Subject::Frontier, *seq));
                entry.remove.extend(inherits);
            }
        }
        Body::SessionAbandoned(body) => entry.add.push(Subject::Session(body.session)),
        Body::AmbientDeclared(_) => entry.add.push(Subject::Session(session)),
        Body::BoundaryReverified(body) => {
            entry.add.push(Subject::Reverified(session));
            let unprobed = body.entries.iter().filter(|entry| entry.receipt.is_none());
            let unprobed = unprobed.map(|entry| Subject::Unprobed(session, entry.axis));
            entry.add.extend(unprobed);
        }
        Body::ProbeReceipt(body) => {
            entry
                .add
                .push(Subject::Receipts(session, body.probe_digest));
        }
        Body::AxisRecorded(body) => {
            entry.add.push(Subject::Axis(session, body.axis.clone()));
        }
        Body::ClaimVerified(body) => {
            claim(entry, session, &body.claim);
            entry.add.push(Subject::Statement(body.statement.clone()));
            needs(entry, before, session, &body.needs);
        }
        Body::ClaimFlagged(body) => {
            claim(entry, session, &body.claim);
            entry.add.push(Subject::Statement(body.statement.clone()));
        }
        Body::ClaimPromoted(body) => {
            claim(entry, session, &body.claim);
            let flag = before.flags().get(&body.flag);
            let statement = flag.map(|flag| Subject::Statement(flag.body.statement.clone()));
            entry.add.extend(statement);
            needs(entry, before, session, &body.needs);
        }
        Body::ClaimDiscarded(body) => claim(entry, session, &body.claim),
        Body::ClaimPromotionRefused(body) => claim(entry, session, &body.claim),
        Body::ClaimRetracted(body) => {
            for id in body.claims.iter() {
                claim(entry, session, id);
            }
        }
        Body::ActionGated(body) => {
            if body.decision == GateDecision::Allowed {
                entry.add.push(Subject::Unfinished);
            }
        }
        Body::ActionFinished(body) => {
            entry.add.push(Subject::Gate(body.gate));
            entry.remove.push((Subject::Unfinished, body.gate));
        }
        Body::CaptureErased(_) => entry.add.push(Subject::Erasures),
        Body::ProbeBegun(_) | Body::Unknown(_) => {}
    }
}

fn claim(entry: &mut Entry, session: Seq, id: &ClaimId) {
    entry
        .add
        .extend([Subject::Claims(session), Subject::Claim(id.clone())]);
}

fn needs(entry: &mut Entry, before: &State, session: Seq, needs: &[Seq]) {
    let names = needs.iter().filter_map(|axis| before.axes().get(axis));
    let names: BTreeSet<&AxisName> = names.map(|axis| &axis.body.axis).collect();
    entry.add.extend(
        names
            .into_iter()
            .map(|name| Subject::Needs(session, name.clone())),
    );
}
