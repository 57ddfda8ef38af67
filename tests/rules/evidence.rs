//! Rules 1 to 5: receipts, axes, proofs, names and what may drift.

use crate::support::{History, Who, make};
use handoff_ledger::event::ProbeReceipt;
use handoff_ledger::observation::is_successful;
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::refusal::Rule;
use handoff_ledger::resolve::{Resolved, resolve};
use handoff_ledger::types::{Digest, Seq};
use handoff_ledger::verdict::Weak;

fn name(text: &str) -> handoff_ledger::types::AxisName {
    text.parse().unwrap()
}

#[test]
fn rule_1_a_receipt_is_successful_by_exit_extraction_and_expectations() {
    let probe = make::command(&["x"], &["value=ok", "exit=3"]);
    let successful = |outcome, value| is_successful(&make::receipt(&probe, outcome, value));
    assert!(successful(Outcome::Exited(3), Some("ok")));
    assert!(!successful(Outcome::Exited(0), Some("ok")));
    assert!(!successful(Outcome::Exited(3), Some("bad")));
    assert!(!successful(Outcome::Exited(3), None));
    assert!(!successful(Outcome::TimedOut, None));
    let native = make::native("tcp=db:5432");
    let native = |value| is_successful(&make::receipt(&native, Outcome::Checked, Some(value)));
    assert!(native("reachable"));
    for value in ["refused", "timeout", "unresolved", "tls", "status"] {
        assert!(!native(value), "{value}");
    }
}

#[test]
fn rule_1_the_probe_digest_covers_the_whole_definition() {
    let base = make::command(&["x"], &["value=ok"]);
    let definition = base.definition().clone();
    let changed = |change: &dyn Fn(&mut Definition)| {
        let mut definition = definition.clone();
        change(&mut definition);
        Probe::new(definition).unwrap().digest()
    };
    let mut digests = vec![base.digest()];
    digests.push(changed(&|d| d.argv = Some(vec!["y".into()])));
    digests.push(changed(&|d| d.shell = true));
    digests.push(changed(&|d| d.cwd = "sub".into()));
    digests.push(changed(&|d| d.env = vec!["CI".parse().unwrap()]));
    digests.push(changed(&|d| d.extract = "line:1".parse().unwrap()));
    digests.push(changed(&|d| d.expect = Vec::new()));
    digests.push(changed(&|d| d.exit_only = true));
    digests.push(changed(&|d| d.timeout_ms = 1));
    digests.push(changed(&|d| d.redact = true));
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[test]
fn rule_1_failed_receipts_are_lawful() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let probe = make::proof_probe("c");
    for (outcome, value) in [
        (Outcome::Exited(1), Some("ok")),
        (Outcome::Exited(0), Some("bad")),
        (Outcome::Exited(0), None),
        (Outcome::Signaled(9), None),
        (Outcome::TimedOut, None),
        (Outcome::NotFound, None),
        (Outcome::NotExecutable, None),
        (Outcome::Interrupted, None),
    ] {
        h.run_ended(session, &probe, outcome, value);
    }
    h.run_ended(session, &make::native("os"), Outcome::Failed, None);
}

#[test]
fn rule_1_a_receipt_contradicts_itself_in_no_way() {
    type Spoil = fn(&mut ProbeReceipt);
    let spoilt: &[(&str, Spoil)] = &[
        ("a command that failed as a check", |r| {
            r.outcome = Outcome::Failed
        }),
        ("no value though one is extracted", |r| r.value = None),
        ("an expectation met by another value", |r| {
            r.value = Some(make::value("bad"))
        }),
        ("an expectation unmet by its value", |r| {
            r.expectations[0].met = false
        }),
        ("an expectation met by empty output", |r| {
            r.expectations[0].met_by_empty = true
        }),
    ];
    for (what, spoil) in spoilt {
        let mut h = History::new();
        let session = h.open(Who::Alice);
        let mut receipt = make::receipt(&make::proof_probe("c"), Outcome::Exited(0), Some("ok"));
        spoil(&mut receipt);
        assert_eq!(
            h.say_refused(session, receipt),
            Rule::ReceiptShape,
            "{what}"
        );
    }
}

#[test]
fn rule_1_a_receipt_of_its_session_in_another_place() {
    let mut h = History::new();
    let place = Digest([8; 32]);
    let session = h.open_in(Who::Alice, &[], place);
    let mut receipt = make::receipt(&make::axis_probe("a"), Outcome::Exited(0), Some("1"));
    assert_eq!(h.say_refused(session, receipt.clone()), Rule::Scope);
    receipt.scope = place;
    h.say(session, receipt);
}

#[test]
fn rule_2_a_name_may_be_recorded_again() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    h.axis(session, "a", "1");
    h.axis(session, "a", "1");
    let last = h.axis(session, "a", "2");
    assert_eq!(resolve(&h.state, session, &name("a")), Resolved::One(last));
}

#[test]
fn rule_2_a_redacted_axis_has_a_value() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let probe = Probe::new(Definition {
        extract: "none".parse().unwrap(),
        redact: true,
        ..Definition::command(["token".to_owned()])
    })
    .unwrap();
    let mut receipt = make::receipt(&probe, Outcome::Exited(0), None);
    receipt.extracted = true;
    let receipt = h.say(session, receipt);
    assert_eq!(
        h.say_refused(session, make::axis("a", receipt)),
        Rule::Comparator
    );
    let receipt = h.run(session, &make::redacted_probe(&["token"]), "secret");
    h.say(session, make::axis("a", receipt));
}

#[test]
fn rule_3_a_proof_is_bracketed_by_observations_at_or_around_it() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let first = h.run(session, &make::proof_probe("c"), "ok");
    let second = h.run(
        session,
        &make::command(&["prove", "more"], &["value=ok"]),
        "ok",
    );
    h.observe(session, "a", "1");
    h.say(session, make::verified("c", &[first, second], &[axis], &[]));
}

#[test]
fn rule_3_an_observation_between_the_proofs_does_not_bracket() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let first = h.run(session, &make::proof_probe("c"), "ok");
    h.observe(session, "a", "1");
    let second = h.run(
        session,
        &make::command(&["prove", "more"], &["value=ok"]),
        "ok",
    );
    let claim = make::verified("c", &[first, second], &[axis], &[]);
    assert_eq!(h.say_refused(session, claim), Rule::NotBracketed);
}

#[test]
fn rule_3_a_proof_that_is_the_axis_own_probe_serves_as_both() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let receipt = h.run(session, &make::native("os"), "linux");
    let axis = h.say(session, make::axis("os", receipt));
    h.say(session, make::verified("c", &[receipt], &[axis], &[]));
    assert!(h.admits(session, "c"));
}

#[test]
fn rule_3_asserted_values_do_not_bracket() {
    let mut h = History::with_policy(handoff_ledger::event::Policy {
        asserted_values: true,
        four_eyes: false,
    });
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.say(bob, make::reverified(vec![make::asserted(axis, "1")]));
    let receipt = h.run(bob, &make::proof_probe("c"), "ok");
    h.say(bob, make::reverified(vec![make::asserted(axis, "1")]));
    let claim = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(h.say_refused(bob, claim), Rule::NotBracketed);
}

#[test]
fn rule_3_an_observation_too_old_does_not_bracket() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.now = handoff_ledger::types::Time::from_ms(h.now.ms() + 13 * 3_600_000);
    let receipt = h.run(session, &make::proof_probe("c"), "ok");
    h.observe(session, "a", "1");
    let claim = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(h.say_refused(session, claim), Rule::NotBracketed);
}

#[test]
fn rule_3_exit_only_and_independence_are_shown_as_weak() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let marked = Probe::new(Definition {
        exit_only: true,
        ..Definition::command(["make".to_owned(), "test".to_owned()])
    })
    .unwrap();
    let receipt = h.run(session, &marked, "");
    h.say(session, make::independent("c", &[receipt]));
    let verdict = h.claim(session, "c");
    assert!(verdict.admissible);
    assert_eq!(
        verdict.weak,
        [Weak::ExitOnly, Weak::EnvironmentIndependent].into()
    );
    let axis = h.axis(session, "a", "1");
    h.verify(session, "d", &[axis]);
    assert_eq!(h.claim(session, "d").weak, [].into());
}

#[test]
fn rule_3_every_receipt_of_a_claim_is_no_constant_command() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let good = h.run(session, &make::proof_probe("c"), "ok");
    let constant = h.run(
        session,
        &make::command(&["sh", "-c", "echo ok"], &["value=ok"]),
        "ok",
    );
    let claim = make::independent("c", &[good, constant]);
    assert_eq!(h.say_refused(session, claim), Rule::Vacuous);
}

/// Two sealed sessions that record `a` at a value each, and one that inherits both.
fn two_records(values: [&str; 2]) -> (History, [Seq; 2], Seq) {
    let mut h = History::new();
    let sessions: Vec<Seq> = values.map(|_| h.open(Who::Alice)).to_vec();
    let mut axes = [Seq::ZERO; 2];
    for (at, value) in values.into_iter().enumerate() {
        axes[at] = h.axis(sessions[at], "a", value);
        h.seal(sessions[at]);
    }
    let session = h.open_on(Who::Bob, &sessions);
    (h, axes, session)
}

#[test]
fn rule_4_several_records_that_differ_are_ambiguous() {
    let (h, axes, session) = two_records(["1", "2"]);
    assert_eq!(
        resolve(&h.state, session, &name("a")),
        Resolved::Ambiguous(axes.to_vec())
    );
    assert_eq!(resolve(&h.state, session, &name("b")), Resolved::Unknown);
    let (h, axes, session) = two_records(["1", "1"]);
    assert_eq!(
        resolve(&h.state, session, &name("a")),
        Resolved::One(axes[1])
    );
}

#[test]
fn rule_4_an_own_record_shadows_the_inherited() {
    let (mut h, _, session) = two_records(["1", "2"]);
    let own = h.axis(session, "a", "3");
    assert_eq!(resolve(&h.state, session, &name("a")), Resolved::One(own));
    h.seal(session);
    let next = h.open_on(Who::Carol, &[session]);
    assert_eq!(resolve(&h.state, next, &name("a")), Resolved::One(own));
}

#[test]
fn rule_4_a_void_record_is_no_record() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let first = h.axis(alice, "a", "1");
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    let second = h.axis(bob, "a", "2");
    h.seal(bob);
    let carol = h.open_on(Who::Carol, &[bob]);
    assert_eq!(resolve(&h.state, carol, &name("a")), Resolved::One(second));
    h.revoke(Who::Bob, Some(second));
    assert_eq!(resolve(&h.state, carol, &name("a")), Resolved::One(first));
    h.revoke(Who::Alice, Some(alice));
    assert_eq!(resolve(&h.state, carol, &name("a")), Resolved::Unknown);
}

#[test]
fn rule_5_an_axis_its_own_session_lets_drift_is_not_needed_by_a_successor() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.say(alice, make::ambient(&["a"]));
    let seal = h.sealed(alice);
    h.say(alice, seal);
    let bob = h.open_on(Who::Bob, &[alice]);
    let receipt = h.prove(bob, &make::proof_probe("c"), &[axis]);
    let claim = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(h.say_refused(bob, claim), Rule::AxisAmbient);
    let own = h.axis(bob, "a", "1");
    h.verify(bob, "c", &[own]);
}
