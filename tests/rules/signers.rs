//! No one signer can wedge, launder or evict.

use crate::support::{History, Who, make};
use handoff_ledger::event::{DiscardWhy, Role};
use handoff_ledger::probe_spec::Outcome;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Seq, Time};
use handoff_ledger::verdict::{Because, ClaimState, Reason};

#[test]
fn unknown_kinds_and_strangers_stop_nobody() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    for who in Who::ALL {
        for (kind, v) in [("x.y", 1), ("session.opened", 2), ("ledger.upgraded", 7)] {
            assert!(h.push(who, Seq::ZERO, make::unknown(kind, v)).is_err());
            assert!(h.push(who, session, make::unknown(kind, v)).is_err());
        }
    }
    assert_eq!(h.state.undetermined(), None);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    h.seal(session);
    assert_eq!(h.refusals.len(), Who::ALL.len() * 6);
}

#[test]
fn an_acknowledgement_gives_refused_events_no_effect() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let refused = h.next();
    h.refused(Who::Bob, session, make::ambient(&["a"]));
    h.ok(Who::Root, Seq::ZERO, make::acknowledged(refused));
    assert_eq!(h.state.acknowledged(), Some(refused));
    assert!(h.state.refused().contains_key(&refused));
    assert!(h.state.sessions()[&session].ambient.is_empty());
}

#[test]
fn a_recorder_evicts_nobody() {
    let mut h = History::new();
    for victim in [Who::Root, Who::Admin, Who::Bob, Who::Alice] {
        let body = make::revoked(victim.key(), Some(Seq(0)));
        assert_eq!(h.refused(Who::Alice, Seq::ZERO, body), Rule::Role);
    }
    let session = h.open(Who::Bob);
    let rule = h.refused(Who::Alice, Seq::ZERO, make::abandoned(session));
    assert_eq!(rule, Rule::SessionKey);
}

#[test]
fn admins_do_not_revoke_each_other_nor_does_one_revoke_backwards() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    for (by, whom) in [(Who::Admin, Who::OtherAdmin), (Who::OtherAdmin, Who::Admin)] {
        let body = make::revoked(whom.key(), Some(Seq(0)));
        assert_eq!(h.refused(by, Seq::ZERO, body), Rule::RootOnly);
    }
    let body = make::revoked(Who::Root.key(), Some(Seq(0)));
    assert_eq!(
        h.refused(Who::Admin, Seq::ZERO, body),
        Rule::RootIrrevocable
    );
    h.revoke(Who::Admin, Some(Seq(0)));
    let body = make::revoked(Who::Alice.key(), Some(Seq(0)));
    assert_eq!(h.refused(Who::Admin, Seq::ZERO, body), Rule::KeyRevoked);
    assert!(!h.state.is_void(axis));
    assert!(h.state.may_write(&Who::OtherAdmin.key()));
}

#[test]
fn a_revoked_admin_has_no_last_word() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.ok(
        Who::Admin,
        Seq::ZERO,
        make::revoked(Who::Alice.key(), Some(session)),
    );
    assert!(h.state.is_void(axis));
    h.revoke(Who::Admin, Some(Seq(1)));
    assert!(h.state.is_void(axis), "key events are never void");
    h.revoke(Who::Alice, None);
    assert!(!h.state.is_void(axis), "the root sets it right");
}

#[test]
fn a_flag_is_not_bypassed_by_a_claim_of_the_id_or_of_the_statement() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let flag = h.flag(alice, "c");
    h.seal(alice);
    let bob = h.open(Who::Bob);
    let axis = h.axis(bob, "a", "1");
    let easy = make::command(&["easy"], &["value=ok"]);
    let receipt = h.prove(bob, &easy, &[axis]);
    let claim = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(h.say_refused(bob, claim.clone()), Rule::OpenFlag);
    let mut alias = make::verified("c2", &[receipt], &[axis], &[]);
    alias.statement = make::statement("c");
    assert_eq!(h.say_refused(bob, alias), Rule::OpenFlag);
    assert_eq!(
        h.say_refused(bob, make::flagged_step("c", easy.clone())),
        Rule::OpenFlag
    );
    let mut alias = make::flagged_step("c2", easy);
    alias.statement = make::statement("c");
    assert_eq!(h.say_refused(bob, alias), Rule::OpenFlag);
    h.say(bob, make::retracted(&["c"]));
    let again = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(
        h.say_refused(bob, again),
        Rule::OpenFlag,
        "nor by a retraction"
    );
    let discarded = make::discarded("c", DiscardWhy::NoStep);
    h.say(bob, discarded);
    assert!(
        h.state.is_open(flag),
        "nor by a discard that withdraws nothing"
    );
    assert_eq!(h.say_refused(bob, claim), Rule::OpenFlag);
    h.promote(bob, "c", flag, &[axis]);
    assert!(h.admits(bob, "c"));
}

#[test]
fn a_flag_is_not_weakened_by_its_own_key_from_a_later_session() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    h.flag(alice, "c");
    h.seal(alice);
    let heir = h.open_on(Who::Alice, &[alice]);
    let easy = make::flagged_step("c", make::command(&["easy"], &["value=ok"]));
    assert_eq!(h.say_refused(heir, easy), Rule::OpenFlag);
}

#[test]
fn a_void_flag_binds_nobody() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let bob = h.open(Who::Bob);
    let flag = h.flag(bob, "c");
    h.revoke(Who::Bob, Some(bob));
    assert!(!h.state.is_open(flag));
    h.verify(alice, "c", &[axis]);
    assert!(h.admits(alice, "c"));
}

#[test]
fn a_void_withdrawal_leaves_the_flag_open() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let flag = h.flag(alice, "c");
    let withdrawal = h.say(alice, make::withdrawn("c", flag));
    assert!(!h.state.is_open(flag));
    h.revoke(Who::Alice, Some(withdrawal));
    assert!(h.state.is_open(flag));
    assert_eq!(h.claim(alice, "c").state, ClaimState::ProvisionalUnverified);
}

#[test]
fn a_retraction_does_not_launder_an_old_receipt() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    let receipt = h.prove(alice, &make::proof_probe("c"), &[axis]);
    let other = h.open(Who::Bob);
    h.say(other, make::retracted(&["c"]));
    let claim = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(h.say_refused(alice, claim), Rule::ReceiptBeforeRetraction);
}

#[test]
fn a_failed_proof_is_not_hidden_behind_an_older_receipt() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let good = h.prove(session, &make::proof_probe("c"), &[axis]);
    h.run_ended(
        session,
        &make::proof_probe("c"),
        Outcome::Exited(1),
        Some("bad"),
    );
    let claim = make::verified("c", &[good], &[axis], &[]);
    assert_eq!(h.say_refused(session, claim), Rule::ReceiptNotLatest);
}

#[test]
fn a_drifted_bracket_is_not_hidden_behind_an_older_observation() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let good = h.prove(session, &make::proof_probe("c"), &[axis]);
    h.observe(session, "a", "2");
    let claim = make::verified("c", &[good], &[axis], &[]);
    assert_eq!(h.say_refused(session, claim), Rule::NotBracketed);
}

#[test]
fn a_clock_in_the_year_9999_makes_nothing_fresh() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let now = h.now;
    h.now = Time::from_ms(253_402_300_700_000);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    h.now = now;
    let bob = h.open_on(Who::Bob, &[alice]);
    assert_eq!(h.verdict(alice, axis).reason, Some(Reason::Future));
    assert!(!h.admits(alice, "c"));
    h.reverify(bob, &[(axis, "1")]);
    assert!(h.admits(bob, "c"), "and keeps nobody from looking anew");
    h.now = Time::from_ms(253_402_300_700_000);
    h.observe(bob, "a", "1");
    h.now = now;
    h.ambient_none(bob);
    assert_eq!(h.verdict(bob, axis).reason, Some(Reason::Future));
}

#[test]
fn a_flag_of_everything_takes_no_support_away() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    let bob = h.open(Who::Bob);
    let flag = h.flag(bob, "c");
    assert!(h.admits(alice, "c"));
    h.ok(Who::Admin, Seq::ZERO, make::withdrawn("c", flag));
    h.verify(alice, "c", &[axis]);
}

#[test]
fn another_keys_session_is_not_written_into() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    for who in [Who::Bob, Who::Root] {
        let probe = make::axis_probe("a");
        let receipt = make::receipt(&probe, Outcome::Exited(0), Some("1"));
        assert_eq!(h.refused(who, alice, receipt), Rule::SessionKey);
    }
    assert_eq!(h.refused(Who::Admin, alice, make::ambient(&[])), Rule::Role);
}

#[test]
fn a_key_enrolled_by_a_compromised_admin_is_not_evicted_by_the_revocation_alone() {
    let mut h = History::new();
    let body = make::authorized(Who::Stranger.key(), "new", &[Role::Recorder]);
    let since = h.ok(Who::Admin, Seq::ZERO, body);
    h.revoke(Who::Admin, Some(since));
    let session = h.open(Who::Stranger);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    assert!(h.admits(session, "c"));
    h.revoke(Who::Stranger, Some(session));
    assert_eq!(h.because(session, "c"), [Because::KeyRevoked]);
}
