//! Rules 13 and 14: who may write, and what a compromise undoes.

use crate::support::{History, Who, make};
use handoff_ledger::event::{NotProbedWhy, Policy, Role};
use handoff_ledger::facts::End;
use handoff_ledger::probe_spec::Outcome;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Seq, Time};
use handoff_ledger::verdict::{Because, ClaimState, Reason, Verdict};

#[test]
fn rule_13_the_root_makes_admins_and_admins_make_recorders() {
    let mut h = History::bare(Policy {
        asserted_values: false,
        four_eyes: false,
    });
    let admin = make::authorized(Who::Admin.key(), "admin", &[Role::Admin]);
    h.ok(Who::Root, Seq::ZERO, admin);
    let recorder = make::authorized(Who::Alice.key(), "alice", &[Role::Recorder]);
    h.ok(Who::Admin, Seq::ZERO, recorder);
    let session = h.open(Who::Alice);
    h.axis(session, "a", "1");
    h.ok(
        Who::Admin,
        Seq::ZERO,
        make::revoked(Who::Alice.key(), Some(session)),
    );
    h.ok(Who::Root, Seq::ZERO, make::revoked(Who::Admin.key(), None));
    let body = make::authorized(Who::Bob.key(), "bob", &[Role::Recorder]);
    assert_eq!(h.refused(Who::Admin, Seq::ZERO, body), Rule::KeyRevoked);
}

#[test]
fn rule_13_admins_erase_and_discard_and_abandon() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let flag = h.flag(session, "c");
    h.ok(Who::Admin, Seq::ZERO, make::erased());
    h.ok(Who::Admin, Seq::ZERO, make::withdrawn("c", flag));
    h.ok(Who::Admin, Seq::ZERO, make::abandoned(session));
    assert!(!h.state.is_open(flag));
    assert!(matches!(
        h.state.sessions()[&session].end,
        Some(End::Abandoned(_))
    ));
}

#[test]
fn rule_13_authority_is_judged_before_the_kind() {
    let mut h = History::new();
    let rule = h.refused(Who::Stranger, Seq(3), make::unknown("x.y", 9));
    assert_eq!(rule, Rule::KeyNotAuthorized);
    h.revoke(Who::Alice, None);
    let rule = h.refused(Who::Alice, Seq(3), make::unknown("x.y", 9));
    assert_eq!(rule, Rule::KeyRevoked);
}

#[test]
fn rule_13_the_last_revocation_governs() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let first = h.observe(session, "a", "1");
    let second = h.observe(session, "a", "1");
    h.ok(
        Who::Admin,
        Seq::ZERO,
        make::revoked(Who::Alice.key(), Some(second)),
    );
    assert_eq!(h.state.voided(), [second]);
    h.ok(
        Who::OtherAdmin,
        Seq::ZERO,
        make::revoked(Who::Alice.key(), Some(first)),
    );
    assert_eq!(h.state.voided(), [first, second], "an admin may lower it");
    h.revoke(Who::Alice, Some(second));
    assert_eq!(h.state.voided(), [second], "the root may raise it");
    h.revoke(Who::Alice, None);
    assert_eq!(h.state.voided(), [], "the root may withdraw it");
    h.revoke(Who::Alice, Some(session));
    assert_eq!(h.state.voided(), [session, first, second]);
}

#[test]
fn rule_13_the_keys_that_a_compromised_admin_enrolled_since_are_listed() {
    let mut h = History::new();
    let since = h.next();
    let body = make::authorized(Who::Stranger.key(), "new", &[Role::Recorder]);
    h.ok(Who::Admin, Seq::ZERO, body);
    assert_eq!(h.state.authorized_by_compromised(), []);
    h.revoke(Who::Admin, Some(since));
    assert_eq!(h.state.authorized_by_compromised(), [Who::Stranger.key()]);
    assert!(
        h.state.may_write(&Who::Stranger.key()),
        "it is listed, not evicted"
    );
    h.revoke(Who::Admin, Some(Seq(since.0 + 1)));
    assert_eq!(h.state.authorized_by_compromised(), []);
}

#[test]
fn rule_14_voidness_passes_through_receipt_axis_and_flag() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let flag = h.flag(alice, "c");
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    let needs_axis = h.verify(bob, "d", &[axis]);
    let own = h.axis(bob, "b", "1");
    let by_flag = h.promote(bob, "c", flag, &[own]);
    let untouched = h.verify(bob, "e", &[own]);
    h.revoke(Who::Alice, Some(alice));
    assert!(h.state.is_void(axis), "through its receipt, too");
    assert!(h.state.is_void(needs_axis), "through the axis");
    assert!(h.state.is_void(by_flag), "through the flag");
    assert!(!h.state.is_void(untouched), "never through inherits");
    assert_eq!(h.claim(bob, "d").state, ClaimState::Void);
    assert_eq!(h.because(bob, "d"), [Because::Void]);
    assert!(h.admits(bob, "e"));
    assert_eq!(h.refusals.len(), 0, "a void event is not a refused one");
}

#[test]
fn rule_14_only_what_stands_from_the_compromise_on_is_void() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "before", &[axis]);
    let since = h.next();
    h.verify(alice, "after", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.reverify(bob, &[(axis, "1")]);
    h.revoke(Who::Alice, Some(since));
    assert!(h.admits(bob, "before"));
    assert!(!h.admits(bob, "after"));
}

#[test]
fn rule_14_state_at_n_uses_the_revocations_up_to_n() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let count = h.events.len();
    h.revoke(Who::Alice, Some(axis));
    assert_eq!(h.state.voided(), [axis]);
    assert_eq!(h.state_after(count).voided(), []);
}

#[test]
fn rule_14_key_events_upgrades_and_acknowledgements_are_never_void() {
    let mut h = History::new();
    let enrolled = make::authorized(Who::Stranger.key(), "new", &[Role::Recorder]);
    let since = h.ok(Who::Admin, Seq::ZERO, enrolled);
    let erased = h.ok(Who::Admin, Seq::ZERO, make::erased());
    h.ok(Who::Admin, Seq::ZERO, make::revoked(Who::Carol.key(), None));
    h.revoke(Who::Admin, Some(since));
    assert_eq!(h.state.voided(), [erased]);
}

/// An id restated while what bound it was void supports nothing once that is void no longer: its
/// first statement is its statement again, and nothing derived from the second may be acted on.
#[test]
fn rule_6_and_14_what_an_id_does_not_state_does_not_support_it() {
    for inherits in [true, false] {
        let mut h = History::new();
        let alice = h.open(Who::Alice);
        let axis = h.axis(alice, "a", "1");
        h.verify(alice, "c", &[axis]);
        h.seal(alice);
        let inherited = if inherits { vec![alice] } else { vec![] };
        let bob = h.open_on(Who::Bob, &inherited);
        h.revoke(Who::Alice, Some(alice));
        let own = h.axis(bob, "b", "1");
        let proof = h.prove(bob, &make::proof_probe("c"), &[own]);
        let mut restated = make::verified("c", &[proof], &[own], &[]);
        restated.statement = make::statement("something else");
        h.say(bob, restated.clone());
        h.verify_from(bob, "d", &[own], &["c"]);
        if inherits {
            h.reverify(bob, &[(axis, "1")]);
        }
        assert!(h.admits(bob, "c") && h.admits(bob, "d"));
        h.revoke(Who::Alice, None);
        let claim = "c".parse().unwrap();
        assert_eq!(h.state.statement(&claim), Some(&make::statement("c")));
        assert_eq!(h.admits(bob, "c"), inherits, "by its first support alone");
        assert!(!h.admits(bob, "d"), "it derives from what c stated then");
        assert!(h.because(bob, "d").contains(&Because::Statement { claim }));
        if inherits {
            h.reverify(bob, &[(axis, "2")]);
            assert!(!h.admits(bob, "c"), "its first support does not hold");
        } else {
            assert_eq!(h.claim(bob, "c").state, ClaimState::Void);
        }
        assert_eq!(h.say_refused(bob, restated), Rule::StatementChanged);
        h.revoke(Who::Alice, Some(alice));
        assert!(h.admits(bob, "c") && h.admits(bob, "d"));
    }
}

#[test]
fn rule_14_a_void_retraction_stays_and_verifying_anew_restores() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    let bob = h.open(Who::Bob);
    let retraction = h.say(bob, make::retracted(&["c"]));
    h.revoke(Who::Bob, Some(bob));
    assert!(h.state.is_void(retraction));
    assert_eq!(h.claim(alice, "c").state, ClaimState::Retracted);
    assert!(!h.admits(alice, "c"));
    h.verify(alice, "c", &[axis]);
    assert!(h.admits(alice, "c"));
}

#[test]
fn rule_14_a_void_receipt_still_stands_before_older_observations() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.reverify(bob, &[(axis, "1")]);
    assert!(h.admits(bob, "c"));
    let newest = h.observe(bob, "a", "1");
    h.revoke(Who::Bob, Some(newest));
    let verdict = h.verdict(bob, axis);
    assert_eq!(verdict.verdict, Verdict::Unverifiable);
    assert_eq!(verdict.reason, Some(Reason::Void));
    assert_eq!(verdict.receipt, Some(newest));
}

#[test]
fn rule_14_a_void_failed_proof_still_counts() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.reverify(bob, &[(axis, "1")]);
    let failed = h.run_ended(
        bob,
        &make::proof_probe("c"),
        Outcome::Exited(0),
        Some("bad"),
    );
    h.seal(bob);
    let carol = h.open_on(Who::Carol, &[bob]);
    h.reverify(carol, &[(axis, "1")]);
    let because = [Because::CounterEvidence { receipt: failed }];
    assert_eq!(h.because(carol, "c"), because);
    h.revoke(Who::Bob, Some(bob));
    assert!(h.state.is_void(failed));
    assert_eq!(
        h.because(carol, "c"),
        because,
        "its observations are void with it"
    );
}

#[test]
fn rule_14_a_void_reverification_reverifies_nothing() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let proof = h.run(alice, &make::proof_probe("c"), "ok");
    h.say(alice, make::independent("c", &[proof]));
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    let entry = make::not_probed(axis, NotProbedWhy::NotRun);
    let reverified = h.say(bob, make::reverified(vec![entry]));
    assert!(h.judge(bob).has_reverified());
    h.revoke(Who::Bob, Some(reverified));
    assert!(!h.judge(bob).has_reverified());
}

#[test]
fn rule_14_nothing_is_admissible_to_a_session_whose_key_is_revoked() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    assert!(h.admits(session, "c"));
    h.revoke(Who::Alice, None);
    assert_eq!(h.state.voided(), [], "nothing of it is void");
    assert!(!h.admits(session, "c"));
    assert_eq!(h.because(session, "c"), [Because::KeyRevoked]);
}

#[test]
fn rule_14_voidness_changes_the_lawfulness_of_nothing_judged_already() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let seal = h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.revoke(Who::Alice, Some(alice));
    assert!(h.state.is_void(seal));
    assert_eq!(h.state.sessions()[&alice].end, Some(End::Sealed(seal)));
    assert_eq!(h.state.lineage(bob), [alice, bob].into());
    assert!(h.state.axes().contains_key(&axis));
    h.open_on(Who::Carol, &[alice]);
}

#[test]
fn a_clock_that_goes_back_is_a_warning() {
    let mut h = History::new();
    h.now = Time::from_ms(h.now.ms() - 60_000);
    let session = h.open(Who::Alice);
    assert_eq!(h.state.clock_went_back(), [session]);
    assert_eq!(h.refusals.len(), 0);
}

#[test]
fn past_an_upgrade_beyond_the_program_everything_is_undetermined() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    let upgrade = h.ok(Who::Root, Seq::ZERO, make::upgraded(2, 1));
    assert_eq!(h.state.undetermined(), Some(upgrade));
    assert!(!h.admits(session, "c"));
    assert_eq!(h.because(session, "c"), [Because::Undetermined]);
    let before = h.state.refused().clone();
    let beyond = h.push(Who::Stranger, Seq::ZERO, make::unknown("x.y", 2));
    assert_eq!(beyond, Ok(Seq(upgrade.0 + 1)), "it is not judged");
    assert_eq!(h.state.refused(), &before);
}
