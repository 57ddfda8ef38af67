//! Rules 11, 12 and 15: how sessions begin, end and follow one another.

use crate::support::index::MemoryIndex;
use crate::support::{History, Who, make};
use handoff_ledger::event::GateDecision;
use handoff_ledger::refusal::Rule;
use handoff_ledger::rules::permits;
use handoff_ledger::slice::{Question, slice};
use handoff_ledger::types::Seq;
use handoff_ledger::verdict::{Because, ClaimState};

#[test]
fn rule_11_a_seal_of_what_is_inherited_alone_is_permitted() {
    let mut h = History::new();
    let first = h.open(Who::Alice);
    h.axis(first, "a", "1");
    h.seal(first);
    let second = h.open_on(Who::Bob, &[first]);
    h.seal(second);
    assert!(h.state.sessions()[&second].is_sealed());
}

#[test]
fn rule_11_a_session_whose_flags_were_all_discarded_seals() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let flag = h.flag(session, "c");
    h.say(session, make::withdrawn("c", flag));
    h.seal(session);
    assert!(h.state.sessions()[&session].is_sealed());
}

#[test]
fn rule_11_the_digest_covers_what_is_void_too() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.verify(bob, "c", &[axis]);
    h.ambient_none(bob);
    let before = h.sealed(bob);
    h.revoke(Who::Alice, Some(alice));
    assert_eq!(h.sealed(bob), before);
    h.say(bob, before);
}

/// Each wrong seal takes a look at all that the session said: there are not many.
#[test]
fn rule_11_a_session_is_not_sealed_after_eight_wrong_seals() {
    let mut h = History::new();
    let (alice, other) = (h.open(Who::Alice), h.open(Who::Alice));
    for session in [alice, other] {
        h.axis(session, "a", "1");
        h.ambient_none(session);
    }
    let mut wrong = h.sealed(alice);
    wrong.counts.axes += 1;
    for _ in 0..8 {
        assert_eq!(h.say_refused(alice, wrong.clone()), Rule::Boundary);
        // What another signs there is no seal of the session's key.
        assert_eq!(h.refused(Who::Bob, other, wrong.clone()), Rule::SessionKey);
    }
    let index = MemoryIndex::of(&h);
    let right = h.draft(Who::Alice, alice, h.sealed(alice));
    let part = slice(&index, &Question::of(&right)).unwrap();
    let refusal = permits(&part, &right).unwrap_err();
    assert_eq!(refusal.rule, Rule::Boundary, "by a slice too");
    let right = h.sealed(alice);
    assert_eq!(h.say_refused(alice, right), Rule::Boundary);
    let right = h.sealed(other);
    h.say(other, right);
    h.ok(Who::Alice, Seq::ZERO, make::abandoned(alice));
}

#[test]
fn rule_12_the_opener_or_an_admin_abandons() {
    let mut h = History::new();
    for who in [Who::Alice, Who::Admin, Who::Root] {
        let session = h.open(Who::Alice);
        h.ok(who, Seq::ZERO, make::abandoned(session));
        assert!(!h.state.sessions()[&session].is_open());
    }
}

#[test]
fn rule_12_an_action_may_finish_after_the_seal() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    let gate = h.say(session, make::gated(&["c"], GateDecision::Allowed));
    h.seal(session);
    let sealed = h.sealed(session);
    h.say(session, make::finished(gate));
    assert_eq!(
        h.sealed(session),
        sealed,
        "the boundary record stays as it was sealed"
    );
}

#[test]
fn rule_12_the_decision_of_a_gate_is_recomputed() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    h.say(session, make::gated(&["c"], GateDecision::Allowed));
    h.say(session, make::gated(&["c", "d"], GateDecision::Refused));
    h.observe(session, "a", "2");
    h.say(session, make::gated(&["c"], GateDecision::Refused));
}

#[test]
fn rule_15_by_default_every_sealed_session_that_no_sealed_one_inherits() {
    let mut h = History::new();
    let sealed = |h: &mut History, inherits: &[Seq]| {
        let session = h.open_on(Who::Alice, inherits);
        h.axis(session, "a", "1");
        h.seal(session);
        session
    };
    let first = sealed(&mut h, &[]);
    let second = sealed(&mut h, &[]);
    assert_eq!(h.state.frontier(), [first, second].into());
    let open = h.open_on(Who::Bob, &[first, second]);
    assert_eq!(
        h.state.frontier(),
        [first, second].into(),
        "it is not sealed"
    );
    h.ok(Who::Bob, Seq::ZERO, make::abandoned(open));
    assert_eq!(h.state.frontier(), [first, second].into(), "nor is it now");
    let third = sealed(&mut h, &[first]);
    assert_eq!(h.state.frontier(), [second, third].into());
}

#[test]
fn rule_15_claims_of_unsealed_sessions_are_shown_and_blocked() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    let flag = h.flag(alice, "d");
    let bob = h.open(Who::Bob);
    for claim in ["c", "d"] {
        let verdict = h.claim(bob, claim);
        assert_eq!(verdict.state, ClaimState::Unsealed);
        assert_eq!(verdict.because, [Because::Unsealed { session: alice }]);
    }
    let own = h.axis(bob, "a", "1");
    h.promote(bob, "d", flag, &[own]);
    assert!(h.admits(bob, "d"), "its flags may be promoted");
    assert_eq!(h.claim(alice, "d").state, ClaimState::ProvisionalUnverified);
}
