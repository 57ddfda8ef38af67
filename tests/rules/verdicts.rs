//! Rules 16 and 17: what a session knows of an axis.

use crate::support::{History, SCOPE, Who, make};
use handoff_ledger::event::{Compared, Comparison, NotProbedWhy, Policy};
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::observation::{AHEAD_MS_MAX, MAX_AGE_MS_DEFAULT};
use handoff_ledger::probe_spec::{Outcome, Probe};
use handoff_ledger::types::{Seq, Time};
use handoff_ledger::verdict::{Reason, Verdict};

/// A session of Bob's that inherits one axis of Alice's, recorded by a probe at a value.
fn inherited(h: &mut History, probe: &Probe, value: &str) -> (Seq, Seq) {
    let alice = h.open(Who::Alice);
    let receipt = h.run(alice, probe, value);
    let axis = h.say(alice, make::axis("a", receipt));
    h.seal(alice);
    (h.open_on(Who::Bob, &[alice]), axis)
}

fn told(h: &History, session: Seq, axis: Seq) -> (Verdict, Option<Reason>) {
    let verdict = h.verdict(session, axis);
    (verdict.verdict, verdict.reason)
}

const UNVERIFIABLE: Verdict = Verdict::Unverifiable;
const DRIFTED: Verdict = Verdict::DriftedLoadBearing;

#[test]
fn rule_16_own_axes_start_from_their_own_receipt_and_inherited_ones_unprobed() {
    let mut h = History::new();
    let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
    let alice = h.state.axes()[&axis].session;
    assert_eq!(told(&h, alice, axis), (Verdict::Held, None));
    assert_eq!(told(&h, bob, axis), (UNVERIFIABLE, Some(Reason::NotProbed)));
    h.observe(bob, "a", "1");
    assert_eq!(told(&h, bob, axis), (Verdict::Held, None));
}

#[test]
fn rule_16_the_highest_seq_counts_and_not_run_never_replaces_a_receipt() {
    let mut h = History::new();
    let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
    let not_run = make::not_probed(axis, NotProbedWhy::NotRun);
    h.say(bob, make::reverified(vec![not_run.clone()]));
    assert_eq!(told(&h, bob, axis), (UNVERIFIABLE, Some(Reason::NotRun)));
    h.observe(bob, "a", "2");
    assert_eq!(told(&h, bob, axis), (DRIFTED, Some(Reason::Changed)));
    h.observe(bob, "a", "1");
    h.say(bob, make::reverified(vec![not_run]));
    assert_eq!(told(&h, bob, axis), (Verdict::Held, None));
}

#[test]
fn rule_16_why_there_is_no_receipt_is_told() {
    for (why, reason) in [
        (NotProbedWhy::NotRun, Reason::NotRun),
        (NotProbedWhy::NoExec, Reason::NoExec),
        (NotProbedWhy::Untrusted, Reason::Untrusted),
        (NotProbedWhy::SaltMissing, Reason::SaltMissing),
    ] {
        let mut h = History::new();
        let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
        h.say(bob, make::reverified(vec![make::not_probed(axis, why)]));
        assert_eq!(told(&h, bob, axis), (UNVERIFIABLE, Some(reason)));
    }
}

#[test]
fn rule_16_asserted_values_count_only_if_the_policy_says_so() {
    for asserted_values in [false, true] {
        let mut h = History::with_policy(Policy {
            asserted_values,
            four_eyes: false,
        });
        let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
        h.say(bob, make::reverified(vec![make::asserted(axis, "1")]));
        let verdict = h.verdict(bob, axis);
        assert_eq!(verdict.now, Some(make::value("1")), "it is shown");
        assert_eq!(verdict.receipt, None);
        let expected = if asserted_values {
            (Verdict::Held, None)
        } else {
            (UNVERIFIABLE, Some(Reason::AssertedOnly))
        };
        assert_eq!((verdict.verdict, verdict.reason), expected);
    }
}

#[test]
fn rule_16_an_asserted_value_never_overrides_a_receipt() {
    let mut h = History::with_policy(Policy {
        asserted_values: true,
        four_eyes: false,
    });
    let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
    h.observe(bob, "a", "2");
    h.say(bob, make::reverified(vec![make::asserted(axis, "1")]));
    assert_eq!(told(&h, bob, axis), (DRIFTED, Some(Reason::Changed)));
}

#[test]
fn rule_17_the_first_that_applies() {
    let probe = make::command(&["observe", "a"], &["value~[0-9]", "exit=0"]);
    let run = |outcome, value| {
        let mut h = History::new();
        let (bob, axis) = inherited(&mut h, &probe, "1");
        h.run_ended(bob, &probe, outcome, value);
        told(&h, bob, axis)
    };
    let unverifiable = |reason| (UNVERIFIABLE, Some(reason));
    assert_eq!(run(Outcome::NotFound, None), unverifiable(Reason::NotFound));
    assert_eq!(
        run(Outcome::NotExecutable, None),
        unverifiable(Reason::NotExecutable)
    );
    assert_eq!(
        run(Outcome::Signaled(9), None),
        unverifiable(Reason::Signaled)
    );
    assert_eq!(run(Outcome::TimedOut, None), unverifiable(Reason::TimedOut));
    assert_eq!(
        run(Outcome::Interrupted, None),
        unverifiable(Reason::Interrupted)
    );
    assert_eq!(
        run(Outcome::Exited(0), None),
        unverifiable(Reason::Unparsable)
    );
    assert_eq!(
        run(Outcome::Exited(3), None),
        unverifiable(Reason::Unparsable)
    );
    assert_eq!(
        run(Outcome::Exited(3), Some("2")),
        unverifiable(Reason::UnexpectedExit)
    );
    assert_eq!(
        run(Outcome::Exited(0), Some("2")),
        (DRIFTED, Some(Reason::Changed))
    );
    assert_eq!(run(Outcome::Exited(0), Some("1")), (Verdict::Held, None));
}

#[test]
fn rule_17_an_expectation_unmet_is_drift() {
    let mut h = History::new();
    let probe = make::command(&["observe", "a"], &["value=1"]);
    let (bob, axis) = inherited(&mut h, &probe, "1");
    h.run_ended(bob, &probe, Outcome::Exited(0), Some("2"));
    assert_eq!(
        told(&h, bob, axis),
        (DRIFTED, Some(Reason::ExpectationUnmet))
    );
}

#[test]
fn rule_17_natively_unreachable_is_drift_and_a_check_that_failed_is_unverifiable() {
    for (outcome, value, expected) in [
        (Outcome::Checked, Some("reachable"), (Verdict::Held, None)),
        (
            Outcome::Checked,
            Some("refused"),
            (DRIFTED, Some(Reason::Unreachable)),
        ),
        (
            Outcome::Checked,
            Some("timeout"),
            (DRIFTED, Some(Reason::Unreachable)),
        ),
        (Outcome::Failed, None, (UNVERIFIABLE, Some(Reason::Failed))),
        (
            Outcome::TimedOut,
            None,
            (UNVERIFIABLE, Some(Reason::TimedOut)),
        ),
    ] {
        let mut h = History::new();
        let probe = make::native("tcp=db:5432");
        let (bob, axis) = inherited(&mut h, &probe, "reachable");
        h.run_ended(bob, &probe, outcome, value);
        assert_eq!(told(&h, bob, axis), expected, "{outcome:?} {value:?}");
    }
}

#[test]
fn rule_17_age_is_judged_at_the_moment_asked_about() {
    let mut h = History::new();
    let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
    let receipt = h.observe(bob, "a", "1");
    let observed = h.state.receipts()[&receipt].time;
    let at = |ms: i64| {
        let time = Time::from_ms(observed.ms() + ms);
        let asked = Asked::Now { time, scope: SCOPE };
        let verdict = Judge::new(&h.state, Some(bob), asked).axis(axis);
        (verdict.verdict, verdict.reason)
    };
    let oldest = i64::try_from(MAX_AGE_MS_DEFAULT).unwrap();
    assert_eq!(at(0), (Verdict::Held, None));
    assert_eq!(at(oldest), (Verdict::Held, None));
    assert_eq!(at(oldest + 1), (UNVERIFIABLE, Some(Reason::Stale)));
    assert_eq!(at(-AHEAD_MS_MAX), (Verdict::Held, None));
    assert_eq!(at(-AHEAD_MS_MAX - 1), (UNVERIFIABLE, Some(Reason::Future)));
}

#[test]
fn rule_17_an_axis_may_say_how_old_an_observation_may_be() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let receipt = h.observe(session, "a", "1");
    let mut axis = make::axis("a", receipt);
    axis.max_age_ms = Some(5_000);
    let axis = h.say(session, axis);
    assert_eq!(told(&h, session, axis), (Verdict::Held, None));
    h.now = Time::from_ms(h.now.ms() + 5_000);
    assert_eq!(told(&h, session, axis), (UNVERIFIABLE, Some(Reason::Stale)));
}

#[test]
fn rule_17_age_comes_before_everything_else() {
    let mut h = History::new();
    let (bob, axis) = inherited(&mut h, &make::axis_probe("a"), "1");
    h.observe(bob, "a", "2");
    h.now = Time::from_ms(h.now.ms() + 13 * 60 * 60 * 1000);
    assert_eq!(told(&h, bob, axis), (UNVERIFIABLE, Some(Reason::Stale)));
}

#[test]
fn rule_17_drift_is_ambient_if_the_axis_own_session_allows_it() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let allowed = h.axis(alice, "a", "1");
    let other = h.axis(alice, "b", "1");
    h.say(alice, make::ambient(&["a"]));
    let seal = h.sealed(alice);
    h.say(alice, seal);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.say(bob, make::ambient(&["b"]));
    h.observe(bob, "a", "2");
    h.observe(bob, "b", "2");
    let ambient = (Verdict::DriftedAmbient, Some(Reason::Changed));
    assert_eq!(told(&h, bob, allowed), ambient);
    let load_bearing = (DRIFTED, Some(Reason::Changed));
    assert_eq!(
        told(&h, bob, other),
        load_bearing,
        "Bob's list covers Bob's axes only"
    );
}

#[test]
fn rule_5_declarations_of_a_session_accumulate() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.say(session, make::ambient(&["a"]));
    h.say(session, make::ambient(&["b"]));
    h.observe(session, "a", "2");
    let ambient = (Verdict::DriftedAmbient, Some(Reason::Changed));
    assert_eq!(told(&h, session, axis), ambient);
}

#[test]
fn a_redacted_axis_is_held_if_the_tool_says_it_is_the_same() {
    let probe = make::redacted_probe(&["token"]);
    for (compared, expected) in [
        (Some(Comparison::Same), (Verdict::Held, None)),
        (
            Some(Comparison::Different),
            (DRIFTED, Some(Reason::Changed)),
        ),
        (None, (UNVERIFIABLE, Some(Reason::SaltMissing))),
    ] {
        let mut h = History::new();
        let (bob, axis) = inherited(&mut h, &probe, "secret");
        let alice = h.state.axes()[&axis].session;
        assert_eq!(told(&h, alice, axis), (Verdict::Held, None));
        let mut receipt = make::receipt(&probe, Outcome::Exited(0), Some("secret"));
        let result = compared.map(|result| Compared { axis, result });
        receipt.compared = result.into_iter().collect();
        h.say(bob, receipt);
        assert_eq!(told(&h, bob, axis), expected);
        assert_eq!(
            h.verdict(bob, axis).now,
            None,
            "the value does not stand in the chain"
        );
    }
}

#[test]
fn a_redacted_value_is_never_asserted() {
    let mut h = History::with_policy(Policy {
        asserted_values: true,
        four_eyes: false,
    });
    let (bob, axis) = inherited(&mut h, &make::redacted_probe(&["token"]), "secret");
    h.say(bob, make::reverified(vec![make::asserted(axis, "secret")]));
    assert_eq!(
        told(&h, bob, axis),
        (UNVERIFIABLE, Some(Reason::AssertedOnly))
    );
}

#[test]
fn without_a_session_nothing_is_observed() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let judge = Judge::new(&h.state, None, Asked::AtHead { time: h.now });
    assert_eq!(judge.axis(axis).verdict, UNVERIFIABLE);
}
