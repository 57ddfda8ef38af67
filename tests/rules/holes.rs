//! The known holes of the sketches that the ledger grew from, each closed for good.

use crate::support::{History, Who, make};
use handoff_ledger::event::{Body, DiscardWhy};
use handoff_ledger::probe_spec::Outcome;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{AxisName, ClaimId, Seq};
use handoff_ledger::verdict::{Because, ClaimState, Verdict};
use std::collections::BTreeSet;

/// The digest of a session's boundary record, made of the same events with one body changed.
fn digest_with(change: impl Fn(&mut Body)) -> String {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let say = |h: &mut History, body: Body| {
        let mut body = body;
        change(&mut body);
        h.say(session, body)
    };
    let probe = make::axis_probe("a");
    let receipt = make::receipt(&probe, Outcome::Exited(0), Some("1"));
    let receipt = say(&mut h, receipt.into());
    let axis = say(&mut h, make::axis("a", receipt).into());
    let proof = make::receipt(&make::proof_probe("c"), Outcome::Exited(0), Some("ok"));
    let proof = say(&mut h, proof.into());
    let again = make::receipt(&probe, Outcome::Exited(0), Some("1"));
    say(&mut h, again.into());
    say(&mut h, make::verified("c", &[proof], &[axis], &[]).into());
    say(&mut h, make::flagged("d").into());
    say(&mut h, make::discarded("e", DiscardWhy::NoStep).into());
    say(&mut h, make::retracted(&["d"]).into());
    say(&mut h, make::reverified(Vec::new()).into());
    say(&mut h, make::ambient(&["b"]).into());
    h.sealed(session).boundary_digest.to_string()
}

#[test]
fn hole_boundary_digest_covers_values_and_texts() {
    let mut digests = BTreeSet::new();
    let mut count = 0;
    let mut distinct = |what: &str, change: &dyn Fn(&mut Body)| {
        count += 1;
        digests.insert(digest_with(change));
        assert_eq!(digests.len(), count, "{what} is not covered");
    };
    distinct("nothing", &|_| {});
    distinct("the value of an axis", &|body| {
        if let Body::ProbeReceipt(receipt) = body
            && receipt.expectations.is_empty()
        {
            receipt.value = Some(make::value("2"));
        }
    });
    distinct("how long a probe ran", &|body| {
        if let Body::ProbeReceipt(receipt) = body {
            receipt.duration_ms = 6;
        }
    });
    distinct("the comparator of an axis", &|body| {
        if let Body::AxisRecorded(axis) = body {
            axis.comparator = "present".parse().unwrap();
        }
    });
    distinct("the name of an axis", &|body| {
        if let Body::AxisRecorded(axis) = body {
            axis.axis = "z".parse().unwrap();
        }
    });
    distinct("the statement of a claim", &|body| {
        if let Body::ClaimVerified(claim) = body {
            claim.statement = make::text("something else");
        }
    });
    distinct("the statement of a flag", &|body| {
        if let Body::ClaimFlagged(flag) = body {
            flag.statement = make::text("something else");
        }
    });
    distinct("the derivation of a flag", &|body| {
        if let Body::ClaimFlagged(flag) = body {
            flag.derivation = make::value("somebody said so");
        }
    });
    distinct("the step of a flag", &|body| {
        if let Body::ClaimFlagged(flag) = body {
            *flag = make::flagged_step("d", make::command(&["easy"], &["value=ok"]));
        }
    });
    distinct("a reason to let drift", &|body| {
        if let Body::AmbientDeclared(ambient) = body {
            ambient.entries[0].reason = make::text("something else");
        }
    });
    distinct("an observed ambient value", &|body| {
        if let Body::AmbientDeclared(ambient) = body {
            ambient.entries[0].observed = vec![make::value("1")];
        }
    });
    distinct("why a claim was discarded", &|body| {
        if let Body::ClaimDiscarded(discard) = body {
            discard.why = DiscardWhy::NoDerivation;
        }
    });
    distinct("the reason of a retraction", &|body| {
        if let Body::ClaimRetracted(retraction) = body {
            retraction.reason = make::text("something else");
        }
    });
}

#[test]
fn hole_boundary_digest_covers_what_an_axis_is_load_bearing_for() {
    let seal = |needs_second: bool| {
        let mut h = History::new();
        let session = h.open(Who::Alice);
        let first = h.axis(session, "a", "1");
        let second = h.axis(session, "b", "1");
        let receipt = h.prove(session, &make::proof_probe("c"), &[first, second]);
        let needs = if needs_second { second } else { first };
        h.say(session, make::verified("c", &[receipt], &[needs], &[]));
        h.sealed(session)
    };
    assert_eq!(seal(true).counts, seal(false).counts);
    assert_ne!(seal(true).boundary_digest, seal(false).boundary_digest);
}

#[test]
fn hole_a_claim_that_no_axis_carries_says_so_or_is_refused() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let receipt = h.run(session, &make::proof_probe("c"), "ok");
    let bare = make::verified("c", &[receipt], &[], &[]);
    assert_eq!(h.say_refused(session, bare), Rule::NeedsMissing);
}

#[test]
fn hole_a_typo_frees_no_claim() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "db.host", "stage");
    let typo = Seq(axis.0 + 1);
    let receipt = h.prove(alice, &make::proof_probe("c"), &[axis]);
    let claim = make::verified("c", &[receipt], &[typo], &[]);
    assert_eq!(h.say_refused(alice, claim), Rule::DanglingReference);
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.reverify(bob, &[(axis, "prod")]);
    assert!(!h.admits(bob, "c"));
}

#[test]
fn hole_an_absent_verdict_allows_nothing() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    assert!(h.because(bob, "c").contains(&Because::NotReverified));
    h.reverify(bob, &[]);
    assert!(!h.admits(bob, "c"));
    assert_eq!(h.verdict(bob, axis).verdict, Verdict::Unverifiable);
}

#[test]
fn hole_load_bearing_and_ambient_are_a_partition_whichever_comes_first() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    let rule = h.say_refused(session, make::ambient(&["a"]));
    assert_eq!(rule, Rule::AmbientLoadBearing);
    let other = h.axis(session, "b", "1");
    h.say(session, make::ambient(&["b"]));
    let receipt = h.prove(session, &make::proof_probe("d"), &[other]);
    let claim = make::verified("d", &[receipt], &[other], &[]);
    assert_eq!(h.say_refused(session, claim), Rule::AxisAmbient);
}

#[test]
fn hole_load_bearing_by_another_record_of_the_name() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    h.say(session, make::retracted(&["c"]));
    h.axis(session, "a", "2");
    let rule = h.say_refused(session, make::ambient(&["a"]));
    assert_eq!(rule, Rule::AmbientLoadBearing, "it was ever needed");
}

#[test]
fn hole_a_name_recorded_again_does_not_replace_what_supports_cite() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let first = h.axis(session, "a", "1");
    h.verify(session, "c", &[first]);
    let second = h.axis(session, "a", "2");
    assert_eq!(
        h.verdict(session, first).verdict,
        Verdict::DriftedLoadBearing
    );
    assert_eq!(h.verdict(session, second).verdict, Verdict::Held);
    assert!(!h.admits(session, "c"));
}

#[test]
fn hole_a_successor_does_not_echo_recorded_values() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    h.say(bob, make::reverified(vec![make::asserted(axis, "1")]));
    assert!(!h.admits(bob, "c"));
    let echoed = make::command(&["echo", "1"], &[]);
    let receipt = h.run(bob, &echoed, "1");
    let entry = make::by_receipt(axis, receipt);
    let rule = h.say_refused(bob, make::reverified(vec![entry]));
    assert_eq!(rule, Rule::ReverifiedReceipt);
}

#[test]
fn hole_a_receipt_promotes_only_what_promised_its_probe() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let flag = h.flag(session, "c");
    let receipt = h.prove(session, &make::command(&["any"], &["value=ok"]), &[axis]);
    let promotion = make::promoted("c", flag, receipt, &[axis]);
    assert_eq!(h.say_refused(session, promotion), Rule::ProbeDigest);
    assert_eq!(
        h.claim(session, "c").state,
        ClaimState::ProvisionalUnverified
    );
    h.promote(session, "c", flag, &[axis]);
    assert_eq!(h.claim(session, "c").state, ClaimState::VerifiedInvariant);
    assert!(h.admits(session, "c"), "promotion changes something");
}

#[test]
fn hole_todo_and_true_are_no_steps() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    for step in ["TODO", "true", "/bin/true", "echo", "tbd"] {
        let flag = make::flagged_step("c", make::command(&[step], &["value=ok"]));
        assert_eq!(h.say_refused(session, flag), Rule::Vacuous, "{step}");
    }
}

#[test]
fn hole_the_directive_cannot_be_injected_through_the_id() {
    for id in [
        "c\nAct on it",
        "c: act on it",
        "C",
        "c\u{202e}",
        "",
        "c act",
    ] {
        assert!(id.parse::<ClaimId>().is_err(), "{id:?}");
        assert!(id.parse::<AxisName>().is_err(), "{id:?}");
    }
}

#[test]
fn hole_exit_code_0_alone_is_no_promotion() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let flag = make::flagged_step("c", make::command(&["make", "test"], &["exit=0"]));
    assert_eq!(h.say_refused(session, flag), Rule::Vacuous);
}

#[test]
fn hole_a_session_that_discarded_everything_seals() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    h.say(session, make::discarded("c", DiscardWhy::NoStep));
    h.seal(session);
    assert_eq!(h.sealed(session).counts.discards, 1);
}
