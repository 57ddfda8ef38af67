//! Rules 6 to 10: claims, flags, promotions and retractions.

use crate::support::{History, Who, make};
use handoff_ledger::event::{Policy, PromotionRefusedWhy};
use handoff_ledger::probe_spec::{FileDigest, Outcome};
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Digest, Seq};
use handoff_ledger::verdict::{ClaimState, Weak};

#[test]
fn rule_6_an_id_keeps_its_statement_after_a_retraction_too() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    h.say(session, make::retracted(&["c"]));
    let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
    let mut claim = make::verified("c", &[receipt], &[axis], &[]);
    claim.statement = make::text("something else");
    assert_eq!(h.say_refused(session, claim), Rule::StatementChanged);
    h.verify(session, "c", &[axis]);
}

#[test]
fn rule_6_void_and_discarding_events_bind_no_statement() {
    let mut h = History::new();
    let bob = h.open(Who::Bob);
    let own = h.axis(bob, "a", "1");
    h.verify(bob, "c", &[own]);
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    let receipt = h.prove(alice, &make::proof_probe("c"), &[axis]);
    let mut claim = make::verified("c", &[receipt], &[axis], &[]);
    claim.statement = make::text("something else");
    assert_eq!(h.say_refused(alice, claim.clone()), Rule::StatementChanged);
    h.revoke(Who::Bob, Some(bob));
    h.say(alice, claim);
    let why = handoff_ledger::event::DiscardWhy::NoStep;
    h.say(alice, make::discarded("d", why));
    let receipt = h.prove(alice, &make::proof_probe("d"), &[axis]);
    let mut claim = make::verified("d", &[receipt], &[axis], &[]);
    claim.statement = make::text("anything");
    h.say(alice, claim);
}

#[test]
fn rule_6_a_later_proof_adds_a_support() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let first = h.axis(session, "a", "1");
    let second = h.axis(session, "b", "1");
    h.verify(session, "c", &[first]);
    let support = h.verify(session, "c", &[second]);
    h.observe(session, "a", "2");
    assert!(h.admits(session, "c"));
    assert_eq!(h.claim(session, "c").support, Some(support));
}

#[test]
fn rule_6_the_flagging_session_replaces_and_withdraws_its_flag() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let first = h.flag(session, "c");
    let other = make::flagged_step("c", make::command(&["better"], &["value=ok"]));
    let second = h.say(session, other);
    assert!(!h.state.is_open(first) && h.state.is_open(second));
    h.say(session, make::withdrawn("c", second));
    assert!(!h.state.is_open(first), "what was replaced stays closed");
    h.verify(session, "c", &[axis]);
}

#[test]
fn rule_6_a_withdrawn_flag_frees_id_and_statement_and_supports_stay() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let flag = h.flag(session, "c");
    h.promote(session, "c", flag, &[axis]);
    h.say(session, make::withdrawn("c", flag));
    assert!(h.admits(session, "c"));
    let mut free = h.flag(session, "d");
    h.say(session, make::withdrawn("d", free));
    let mut flag = make::flagged("d");
    flag.statement = make::text("something else");
    free = h.say(session, flag);
    assert!(h.state.is_open(free));
}

#[test]
fn rule_6_after_the_seal_only_an_admin_withdraws_a_flag() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let flag = h.flag(alice, "c");
    h.seal(alice);
    assert_eq!(
        h.say_refused(alice, make::withdrawn("c", flag)),
        Rule::SessionEnded
    );
    let heir = h.open_on(Who::Alice, &[alice]);
    assert_eq!(
        h.say_refused(heir, make::withdrawn("c", flag)),
        Rule::FlagOwner
    );
    assert_eq!(h.say_refused(heir, make::flagged("c")), Rule::OpenFlag);
    h.ok(Who::Admin, Seq::ZERO, make::withdrawn("c", flag));
    h.flag(heir, "c");
}

#[test]
fn rule_6_a_flag_binds_after_a_retraction_too() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let flag = h.flag(session, "c");
    h.promote(session, "c", flag, &[axis]);
    h.say(session, make::retracted(&["c"]));
    assert!(h.state.is_open(flag), "a retraction leaves open flags open");
    assert_eq!(
        h.claim(session, "c").state,
        ClaimState::ProvisionalUnverified
    );
    let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
    let claim = make::verified("c", &[receipt], &[axis], &[]);
    assert_eq!(h.say_refused(session, claim), Rule::OpenFlag);
    h.promote(session, "c", flag, &[axis]);
    assert!(h.admits(session, "c"));
}

#[test]
fn rule_7_what_another_lineage_verified_may_be_flagged() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open(Who::Bob);
    h.flag(bob, "c");
    assert_eq!(h.claim(bob, "c").state, ClaimState::ProvisionalUnverified);
    assert!(h.admits(alice, "c"), "a flag takes no support away");
}

#[test]
fn rule_9_another_session_promotes_by_the_promised_step() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let flag = h.flag(alice, "c");
    h.seal(alice);
    let bob = h.open(Who::Bob);
    let axis = h.axis(bob, "b", "1");
    h.promote(bob, "c", flag, &[axis]);
    h.promote(bob, "c", flag, &[axis]);
    assert_eq!(h.state.claims()[&"c".parse().unwrap()].supports.len(), 2);
    assert!(h.admits(bob, "c"));
}

#[test]
fn rule_9_a_flag_names_known_axes_by_probe_and_comparator() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    h.axis(alice, "a", "1");
    let mut flag = make::flagged("c");
    flag.needs = vec![make::flag_need("a")];
    let flag = h.say(alice, flag);
    h.seal(alice);
    let bob = h.open(Who::Bob);
    let receipt = h.run(bob, &make::command(&["observe", "elsewhere"], &[]), "1");
    let lookalike = h.say(bob, make::axis("a", receipt));
    let receipt = h.prove(bob, &make::step_probe("c"), &[lookalike]);
    let promotion = make::promoted("c", flag, receipt, &[lookalike]);
    assert_eq!(h.say_refused(bob, promotion), Rule::FlagNeedsMissing);
    let receipt = h.observe(bob, "a", "1");
    let mut looser = make::axis("a", receipt);
    looser.comparator = "present".parse().unwrap();
    let looser = h.say(bob, looser);
    let receipt = h.prove(bob, &make::step_probe("c"), &[looser]);
    let promotion = make::promoted("c", flag, receipt, &[looser]);
    assert_eq!(h.say_refused(bob, promotion), Rule::FlagNeedsMissing);
    let same = h.axis(bob, "a", "1");
    h.promote(bob, "c", flag, &[same]);
}

#[test]
fn rule_9_a_flag_names_unknown_axes_by_name() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let mut flag = make::flagged("c");
    flag.needs = vec![make::flag_need_unknown("a")];
    let flag = h.say(alice, flag);
    let receipt = h.run(alice, &make::native("os"), "linux");
    let axis = h.say(alice, make::axis("a", receipt));
    h.promote(alice, "c", flag, &[axis]);
}

#[test]
fn rule_9_independent_only_if_the_flag_says_so() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let mut flag = make::flagged("c");
    flag.independent = Some(make::text("it is arithmetic"));
    let flag = h.say(session, flag);
    let receipt = h.run(session, &make::step_probe("c"), "ok");
    let mut promotion = make::promoted("c", flag, receipt, &[]);
    promotion.independent = Some(make::text("it is arithmetic"));
    h.say(session, promotion);
    assert_eq!(
        h.claim(session, "c").weak,
        [Weak::EnvironmentIndependent].into()
    );
}

#[test]
fn rule_9_a_failed_step_leaves_the_claim_provisional() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let flag = h.flag(session, "c");
    let step = make::step_probe("c");
    let receipt = h.run_ended(session, &step, Outcome::Exited(0), Some("bad"));
    let why = PromotionRefusedWhy::ProbeFailed;
    h.say(session, make::promotion_refused("c", flag, receipt, why));
    assert_eq!(
        h.claim(session, "c").state,
        ClaimState::ProvisionalUnverified
    );
    let axis = h.axis(session, "a", "1");
    h.promote(session, "c", flag, &[axis]);
    assert!(h.admits(session, "c"));
}

#[test]
fn rule_9_a_step_that_shows_nothing_is_refused_as_failed() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let step = make::command(&["step"], &["value~o*"]);
    let flag = h.say(session, make::flagged_step("c", step.clone()));
    let mut receipt = make::receipt(&step, Outcome::Exited(0), Some("ok"));
    receipt.expectations[0].met_by_empty = true;
    let receipt = h.say(session, receipt);
    let why = PromotionRefusedWhy::AxisNotHeld;
    let refused = make::promotion_refused("c", flag, receipt, why);
    assert_eq!(h.say_refused(session, refused), Rule::PromotionRefusedWhy);
    let why = PromotionRefusedWhy::ProbeFailed;
    h.say(session, make::promotion_refused("c", flag, receipt, why));
}

#[test]
fn rule_9_a_step_is_announced_and_its_receipt_says_by_what() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let flag = h.flag(session, "c");
    let step = make::step_probe("c");
    let begun = h.say(session, make::begun("c", flag, step.digest()));
    let mut receipt = make::receipt(&step, Outcome::Exited(0), Some("ok"));
    receipt.begun = Some(begun);
    h.say(session, receipt.clone());
    let other = h.open(Who::Bob);
    assert_eq!(h.say_refused(other, receipt), Rule::DanglingReference);
}

#[test]
fn rule_9_a_changed_script_is_shown_as_weak() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let script = |byte| FileDigest {
        digest: Digest([byte; 32]),
        path: "check.sh".into(),
    };
    let mut flag = make::flagged("c");
    flag.files = vec![script(1)];
    let flag = h.say(session, flag);
    for (byte, weak) in [(1, [].into()), (2, [Weak::ScriptChanged].into())] {
        let mut receipt = make::receipt(&make::step_probe("c"), Outcome::Exited(0), Some("ok"));
        receipt.files = vec![script(byte)];
        let receipt = h.say(session, receipt);
        h.observe(session, "a", "1");
        let support = h.say(session, make::promoted("c", flag, receipt, &[axis]));
        let fact = &h.state.supports()[&support];
        assert_eq!(handoff_ledger::judge::weaknesses(&h.state, fact), weak);
    }
}

#[test]
fn rule_9_under_four_eyes_another_key_promotes() {
    let mut h = History::with_policy(Policy {
        asserted_values: false,
        four_eyes: true,
    });
    let alice = h.open(Who::Alice);
    let flag = h.flag(alice, "c");
    let mut same = make::flagged("d");
    same.statement = make::statement("c");
    h.say(alice, same);
    h.seal(alice);
    let bob = h.open(Who::Bob);
    let axis = h.axis(bob, "a", "1");
    h.promote(bob, "c", flag, &[axis]);
    let heir = h.open(Who::Alice);
    let axis = h.axis(heir, "a", "1");
    let receipt = h.prove(heir, &make::step_probe("c"), &[axis]);
    let promotion = make::promoted("d", flag, receipt, &[axis]);
    assert_eq!(h.say_refused(heir, promotion), Rule::FourEyes);
}

#[test]
fn rule_10_a_retraction_withdraws_what_was_before_it_ledger_wide() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    let bob = h.open(Who::Bob);
    h.say(bob, make::retracted(&["c"]));
    assert_eq!(h.claim(alice, "c").state, ClaimState::Retracted);
    assert!(!h.admits(alice, "c"));
    h.verify(alice, "c", &[axis]);
    assert!(h.admits(alice, "c"), "not what came after it");
}

#[test]
fn rule_10_a_promotion_after_a_retraction_needs_a_new_run() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    let flag = h.flag(session, "c");
    let old = h.prove(session, &make::step_probe("c"), &[axis]);
    h.say(session, make::retracted(&["c"]));
    let promotion = make::promoted("c", flag, old, &[axis]);
    assert_eq!(
        h.say_refused(session, promotion),
        Rule::ReceiptBeforeRetraction
    );
    h.promote(session, "c", flag, &[axis]);
}

#[test]
fn rule_10_a_retraction_cites_its_own_session_receipts_only() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    h.flag(alice, "c");
    let receipt = h.run(alice, &make::proof_probe("c"), "bad");
    let bob = h.open(Who::Bob);
    let mut retraction = make::retracted(&["c"]);
    retraction.receipt = Some(receipt);
    assert_eq!(h.say_refused(bob, retraction.clone()), Rule::ReceiptSession);
    h.say(alice, retraction);
}
