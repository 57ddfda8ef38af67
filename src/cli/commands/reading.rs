//! What the commands that show have in common: a state, whose it is, and at which moment.

use crate::cli::context::Context;
use crate::cli::examined::{Answers, AnyLedger};
use crate::cli::report::{Exit, Failure};
use crate::event::Body;
use crate::judge::{Asked, Judge};
use crate::slice::Question;
use crate::state::State;
use crate::types::{Head, Leaf, Seq};
use crate::verdict::Obstacle;
use std::rc::Rc;

/// How often a state is asked for anew because the ledger grew meanwhile.
const ATTEMPTS_MAX: usize = 16;

/// A state, and the session and moment that it is looked at from.
pub(super) struct Moment {
    /// The state.
    pub(super) state: Rc<State>,
    /// Its last event.
    pub(super) seq: Seq,
    /// The leaf of that.
    pub(super) leaf: Leaf,
    /// Who looks.
    pub(super) session: Option<Seq>,
    /// When.
    pub(super) asked: Asked,
    /// Why nothing of it may be relied on.
    obstacle: Option<Obstacle>,
}

impl Moment {
    /// How the state looks from there.
    pub(super) fn judge(&self) -> Judge<'_> {
        Judge::new(&self.state, self.session, self.asked).behind(self.obstacle)
    }
}

/// The state that answers a question, and the head that it is of. While others write, the question
/// is asked again; if they never pause, the head is the one just before the state.
pub(super) fn asked(
    context: &Context<'_, AnyLedger>,
    question: &Question,
) -> Result<(Rc<State>, Head), Failure> {
    let mut head = context.head()?;
    let mut state = context.ledger.ask(question)?;
    for _ in 0..ATTEMPTS_MAX {
        let after = context.head()?;
        if after == head {
            break;
        }
        head = after;
        state = context.ledger.ask(question)?;
    }
    context.require_trust_or_tell(&state)?;
    Ok((state, head))
}

/// Everything a session may ask now, of every claim.
pub(super) fn now(context: &Context<'_, AnyLedger>) -> Result<Moment, Failure> {
    let session = context.session_if_any()?;
    let question = Question {
        session,
        all_claims: true,
        boundary: true,
        ..Question::default()
    };
    let (state, head) = asked(context, &question)?;
    Ok(Moment {
        state,
        seq: head.seq,
        leaf: head.leaf,
        session,
        asked: context.now(),
        obstacle: obstacle(context),
    })
}

/// The state just after an event, from the session named or else the event's own.
pub(super) fn at(context: &Context<'_, AnyLedger>, seq: Seq) -> Result<Moment, Failure> {
    let head = context.head()?;
    if seq > head.seq {
        return Err(no_event(seq, &head));
    }
    let mut own = None;
    let mut leaf = head.leaf;
    context.ledger.replay(seq, seq, &mut |event, _, _| {
        leaf = event.leaf();
        own = session_of(
            event.event().seq,
            event.event().session,
            &event.event().body,
        );
    })?;
    let state = context.ledger.fold(seq)?;
    context.require_trust_or_tell(&state)?;
    let named = context.common().session;
    if let Some(named) = named.filter(|named| !state.sessions().contains_key(named)) {
        let message = format!("there is no session {named} at event {seq}");
        return Err(Failure::usage(message).next("handoff session list"));
    }
    let own = own.filter(|own| state.sessions().contains_key(own));
    let time = state.head_time().unwrap_or(context.time);
    Ok(Moment {
        state: Rc::new(state),
        seq,
        leaf,
        session: named.or(own),
        asked: Asked::AtHead { time },
        obstacle: obstacle(context),
    })
}

fn obstacle(context: &Context<'_, AnyLedger>) -> Option<Obstacle> {
    context.ledger.obstacle().map(|(obstacle, _)| obstacle)
}

/// The session that an event is of, or that it opens or ends.
fn session_of(seq: Seq, session: Seq, body: &Body) -> Option<Seq> {
    match body {
        Body::SessionOpened(_) => Some(seq),
        Body::SessionAbandoned(body) => Some(body.session),
        Body::LedgerOpened(_)
        | Body::LedgerUpgraded(_)
        | Body::KeyAuthorized(_)
        | Body::KeyRevoked(_)
        | Body::ProbeBegun(_)
        | Body::ProbeReceipt(_)
        | Body::AxisRecorded(_)
        | Body::AmbientDeclared(_)
        | Body::ClaimVerified(_)
        | Body::ClaimFlagged(_)
        | Body::ClaimDiscarded(_)
        | Body::ClaimPromoted(_)
        | Body::ClaimPromotionRefused(_)
        | Body::ClaimRetracted(_)
        | Body::SessionSealed(_)
        | Body::BoundaryReverified(_)
        | Body::ActionGated(_)
        | Body::ActionFinished(_)
        | Body::CaptureErased(_)
        | Body::EventAcknowledged(_)
        | Body::Unknown(_) => (session != Seq::ZERO).then_some(session),
    }
}

/// Exit 1: there is no such event.
pub(super) fn no_event(seq: Seq, head: &Head) -> Failure {
    let message = format!("there is no event {seq}: the ledger ends at {}", head.seq);
    Failure::no("unknown_event", message).next(format!("handoff show {}", head.seq))
}

/// Whether a question that is answered could be judged at all.
pub(super) fn judged(state: &State, exit: Exit) -> Exit {
    match state.undetermined() {
        Some(_) => Exit::CannotJudge,
        None => exit,
    }
}

/// The session as a word.
pub(super) fn session_text(session: Option<Seq>) -> String {
    session.map_or("no session".to_owned(), |session| {
        format!("session {session}")
    })
}
