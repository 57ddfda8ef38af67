//! Rules 18 and 19: what a session may act on, and what it is shown.

use crate::support::{History, SCOPE, Who, make};
use handoff_ledger::event::DiscardWhy;
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::probe_spec::Outcome;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Digest, Seq, Time};
use handoff_ledger::verdict::{Because, ClaimState, Verdict};

/// Alice's sealed session with claim `c` on axis `a`, and Bob's that inherits it.
fn handed_over() -> (History, Seq, Seq) {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    (h, axis, bob)
}

#[test]
fn rule_18_held_here_and_reverified() {
    let (mut h, axis, bob) = handed_over();
    assert!(!h.admits(bob, "c"));
    h.observe(bob, "a", "1");
    assert_eq!(h.because(bob, "c"), [Because::NotReverified]);
    h.reverify(bob, &[(axis, "1")]);
    assert!(h.admits(bob, "c"));
    assert_eq!(h.claim(bob, "c").because, []);
}

#[test]
fn rule_18_an_empty_reverification_is_one() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let receipt = h.run(alice, &make::proof_probe("c"), "ok");
    h.say(alice, make::independent("c", &[receipt]));
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    assert_eq!(h.because(bob, "c"), [Because::NotReverified]);
    h.reverify(bob, &[]);
    assert!(h.admits(bob, "c"));
}

#[test]
fn rule_18_own_claims_need_no_reverification() {
    let (mut h, _, bob) = handed_over();
    let own = h.axis(bob, "b", "1");
    h.verify(bob, "d", &[own]);
    assert!(h.admits(bob, "d"));
    assert!(!h.admits(bob, "c"));
}

#[test]
fn rule_18_drift_invalidates_exactly_what_needs_the_axis_and_what_derives_from_it() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let first = h.axis(alice, "a", "1");
    let second = h.axis(alice, "b", "1");
    h.verify(alice, "on-a", &[first]);
    h.verify(alice, "on-b", &[second]);
    h.verify_from(alice, "from-a", &[second], &["on-a"]);
    h.verify_from(alice, "from-b", &[second], &["on-b"]);
    h.verify_from(alice, "from-from-a", &[second], &["from-a"]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.reverify(bob, &[(first, "2"), (second, "1")]);
    for (claim, expected) in [
        ("on-a", false),
        ("on-b", true),
        ("from-a", false),
        ("from-b", true),
        ("from-from-a", false),
    ] {
        assert_eq!(h.admits(bob, claim), expected, "{claim}");
    }
    let because = h.because(bob, "from-a");
    let expected = Because::From {
        claim: "on-a".parse().unwrap(),
    };
    assert_eq!(because, [expected]);
    let because = h.because(bob, "on-a");
    let [Because::Axis { axis, verdict }] = because.as_slice() else {
        panic!("{because:?}");
    };
    assert_eq!(*axis, first);
    assert_eq!(verdict.verdict, Verdict::DriftedLoadBearing);
    assert_eq!(verdict.now, Some(make::value("2")));
}

#[test]
fn rule_18_a_circle_supports_nothing() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let base = h.axis(session, "b", "1");
    h.verify(session, "x", &[base]);
    h.verify_from(session, "y", &[axis], &["x"]);
    h.verify_from(session, "x", &[axis], &["y"]);
    assert!(h.admits(session, "x") && h.admits(session, "y"));
    h.observe(session, "b", "2");
    assert!(!h.admits(session, "x"), "x from y and y from x is a circle");
    assert!(!h.admits(session, "y"));
}

#[test]
fn rule_18_two_supports_in_two_environments() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let stage = h.axis(alice, "db", "stage");
    h.verify(alice, "c", &[stage]);
    h.seal(alice);
    let bob = h.open(Who::Bob);
    let prod = h.axis(bob, "db", "prod");
    h.verify(bob, "c", &[prod]);
    h.seal(bob);
    for (value, expected) in [("stage", true), ("prod", true), ("test", false)] {
        let carol = h.open_on(Who::Carol, &[alice, bob]);
        h.reverify(carol, &[(stage, value)]);
        assert_eq!(h.admits(carol, "c"), expected, "{value}");
    }
}

#[test]
fn rule_18_counter_evidence_is_a_failed_proof_with_every_axis_held() {
    let (mut h, axis, bob) = handed_over();
    h.reverify(bob, &[(axis, "1")]);
    assert!(h.admits(bob, "c"));
    let proof = make::proof_probe("c");
    h.run_ended(bob, &proof, Outcome::TimedOut, None);
    assert!(h.admits(bob, "c"), "it did not finish");
    let failed = h.run_ended(bob, &proof, Outcome::Exited(0), Some("bad"));
    assert_eq!(
        h.because(bob, "c"),
        [Because::CounterEvidence { receipt: failed }]
    );
    h.run(bob, &proof, "ok");
    assert!(h.admits(bob, "c"), "the newest run counts");
}

#[test]
fn rule_18_a_failed_proof_elsewhere_in_drift_says_nothing() {
    let (mut h, axis, bob) = handed_over();
    h.reverify(bob, &[(axis, "2")]);
    h.run_ended(
        bob,
        &make::proof_probe("c"),
        Outcome::Exited(1),
        Some("bad"),
    );
    h.observe(bob, "a", "1");
    assert!(
        h.admits(bob, "c"),
        "the axis had drifted when the proof failed"
    );
}

#[test]
fn rule_18_counter_evidence_of_an_ancestor_counts_and_of_a_stranger_does_not() {
    let (mut h, axis, bob) = handed_over();
    let stranger = h.open(Who::Carol);
    h.axis(stranger, "a", "1");
    h.run_ended(
        stranger,
        &make::proof_probe("c"),
        Outcome::Exited(1),
        Some("bad"),
    );
    h.reverify(bob, &[(axis, "1")]);
    assert!(h.admits(bob, "c"));
    let failed = h.run_ended(
        bob,
        &make::proof_probe("c"),
        Outcome::Exited(1),
        Some("bad"),
    );
    h.seal(bob);
    let heir = h.open_on(Who::Carol, &[bob]);
    h.reverify(heir, &[(axis, "1")]);
    assert_eq!(
        h.because(heir, "c"),
        [Because::CounterEvidence { receipt: failed }]
    );
}

#[test]
fn rule_18_a_failed_proof_from_before_the_support_is_no_counter_evidence() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.run_ended(
        session,
        &make::proof_probe("c"),
        Outcome::Exited(1),
        Some("bad"),
    );
    h.verify(session, "c", &[axis]);
    assert!(h.admits(session, "c"));
}

#[test]
fn rule_18_provisional_discarded_and_retracted_are_never_admissible() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.flag(session, "flagged");
    let flag = h.flag(session, "withdrawn");
    h.say(session, make::withdrawn("withdrawn", flag));
    h.say(
        session,
        make::discarded("speculation", DiscardWhy::NoDerivation),
    );
    h.verify(session, "retracted", &[axis]);
    h.say(session, make::retracted(&["retracted"]));
    for (claim, state) in [
        ("flagged", ClaimState::ProvisionalUnverified),
        ("withdrawn", ClaimState::Discarded),
        ("speculation", ClaimState::Discarded),
        ("retracted", ClaimState::Retracted),
        ("nobody", ClaimState::Unknown),
    ] {
        let verdict = h.claim(session, claim);
        assert_eq!(verdict.state, state, "{claim}");
        assert!(!verdict.admissible, "{claim}");
        assert_eq!(verdict.because.len(), 1, "{claim}");
    }
}

#[test]
fn rule_19_without_a_session_every_claim_is_inadmissible() {
    let (h, _, _) = handed_over();
    let judge = Judge::new(&h.state, None, Asked::AtHead { time: h.now });
    assert_eq!(judge.barred(), Some(Because::NoSession));
    let admissible = judge.admissible();
    assert!(admissible.is_empty());
    let verdict = judge.claim(&"c".parse().unwrap(), &admissible);
    assert_eq!(verdict.because, [Because::NoSession]);
}

#[test]
fn rule_19_asked_now_nothing_is_admissible_elsewhere_or_after_the_end() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    assert_eq!(h.judge_now(session).barred(), None);
    assert_eq!(h.judge_now(session).admissible().len(), 1);
    let asked = Asked::Now {
        time: h.now,
        scope: Digest([0; 32]),
    };
    let elsewhere = Judge::new(&h.state, Some(session), asked);
    assert_eq!(elsewhere.barred(), Some(Because::Elsewhere));
    assert!(elsewhere.admissible().is_empty());
    h.seal(session);
    assert_eq!(h.judge_now(session).barred(), Some(Because::Ended));
    assert!(h.judge_now(session).admissible().is_empty());
    assert!(h.admits(session, "c"), "asked at N, as it was at N");
}

#[test]
fn rule_19_asked_now_what_is_stale_is_not_admissible() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    let asked = Asked::Now {
        time: Time::from_ms(h.now.ms() + 13 * 3_600_000),
        scope: SCOPE,
    };
    assert!(
        Judge::new(&h.state, Some(session), asked)
            .admissible()
            .is_empty()
    );
}

#[test]
fn rule_19_shown_state_is_the_first_that_applies() {
    let mut h = History::new();
    let bob = h.open(Who::Bob);
    let flag = h.flag(bob, "c");
    assert_eq!(h.claim(bob, "c").state, ClaimState::ProvisionalUnverified);
    let axis = h.axis(bob, "a", "1");
    h.promote(bob, "c", flag, &[axis]);
    let verdict = h.claim(bob, "c");
    assert_eq!(verdict.state, ClaimState::VerifiedInvariant);
    assert_eq!(verdict.flag, Some(flag), "the flag is open still");
    h.say(bob, make::retracted(&["c"]));
    assert_eq!(h.claim(bob, "c").state, ClaimState::ProvisionalUnverified);
    h.say(bob, make::withdrawn("c", flag));
    assert_eq!(h.claim(bob, "c").state, ClaimState::Retracted);
}

#[test]
fn rule_19_void_comes_before_discarded() {
    let mut h = History::new();
    let bob = h.open(Who::Bob);
    let axis = h.axis(bob, "a", "1");
    h.say(bob, make::discarded("c", DiscardWhy::NoStep));
    h.verify(bob, "c", &[axis]);
    h.seal(bob);
    let carol = h.open_on(Who::Carol, &[bob]);
    h.revoke(Who::Bob, Some(bob));
    assert_eq!(h.claim(carol, "c").state, ClaimState::Void);
}

#[test]
fn rule_19_a_verified_claim_that_is_blocked_is_still_shown_as_verified() {
    let (mut h, axis, bob) = handed_over();
    h.reverify(bob, &[(axis, "2")]);
    let verdict = h.claim(bob, "c");
    assert_eq!(verdict.state, ClaimState::VerifiedInvariant);
    assert!(!verdict.admissible);
}

#[test]
fn rule_18_the_newest_eight_supports_count_of_those_that_stand() {
    let mut h = History::new();
    let other = h.open(Who::Carol);
    let elsewhere = h.axis(other, "a", "1");
    let alice = h.open(Who::Alice);
    let (held, drifted) = (h.axis(alice, "a", "1"), h.axis(alice, "b", "1"));
    let good = h.verify(alice, "c", &[held]);
    let proof = h.prove(alice, &make::proof_probe("c"), &[held, drifted]);
    let on_drift = make::verified("c", &[proof], &[drifted], &[]);
    for _ in 0..7 {
        h.say(alice, on_drift.clone());
    }
    h.observe(alice, "b", "2");
    assert!(h.admits(alice, "c"));
    for _ in 0..9 {
        h.verify(other, "c", &[elsewhere]);
    }
    assert!(h.admits(alice, "c"), "of another lineage none counts");
    h.observe(alice, "b", "1");
    let proof = h.prove(alice, &make::proof_probe("c"), &[drifted]);
    let eighth = h.say(alice, make::verified("c", &[proof], &[drifted], &[]));
    h.observe(alice, "b", "2");
    assert!(!h.admits(alice, "c"), "{good} is the ninth");
    assert_eq!(h.claim(alice, "c").support, Some(eighth));
    h.verify(alice, "c", &[held]);
    assert!(h.admits(alice, "c"), "verifying anew is enough");
}

#[test]
fn rule_18_what_rests_on_too_much_is_not_acted_on_and_can_be_verified_anew() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let proof = h.prove(alice, &make::proof_probe("c0"), &[axis]);
    h.say(alice, make::verified("c0", &[proof], &[axis], &[]));
    // The first weighs 3, each other 4: 512 weigh 2,047.
    for link in 1..512 {
        let (claim, before) = (format!("c{link}"), format!("c{}", link - 1));
        let body = make::verified(&claim, &[proof], &[axis], &[&before]);
        h.say(alice, body);
    }
    assert!(h.admits(alice, "c511"));
    let last = make::verified("c512", &[proof], &[axis], &["c511"]);
    h.say(alice, last);
    assert!(!h.admits(alice, "c512"));
    assert_eq!(h.because(alice, "c512"), [Because::TooLarge]);
    assert_eq!(h.claim(alice, "c512").state, ClaimState::VerifiedInvariant);
    let further = make::verified("d", &[proof], &[axis], &["c512"]);
    assert_eq!(h.say_refused(alice, further), Rule::FromNotAdmissible);
    h.say(alice, make::retracted(&["c512"]));
    h.verify(alice, "c512", &[axis]);
    assert!(h.admits(alice, "c512"));
}
