//! For each rule of claims a history that keeps all others and breaks it with its last event.

use crate::builder::Who::{Alice, Bob, Root};
use crate::builder::*;
use handoff_ledger::event::*;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::Seq;

pub(crate) fn of_supports(h: &mut History, rule: Rule) -> &'static str {
    let s = h.open(Alice, &[]);
    match rule {
        Rule::Void => {
            let (_, axis) = h.host_axis(Alice, s);
            h.seal(Alice, s);
            h.authorize(Bob, "bob", &[Role::Recorder]);
            h.add(Root, 0, revocation(Alice, Some(axis)));
            let other = h.open(Bob, &[s]);
            let receipt = h.probe(Bob, other, &host(), "stage-1");
            h.refuse(Bob, other, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim needs an axis that a compromised key recorded"
        }
        Rule::NoExpectation => {
            let bare = probe(&["./db-host"], &[]);
            let receipt = h.probe(Alice, s, &bare, "stage-1");
            let axis = h.add(Alice, s, axis("db.host", receipt));
            h.refuse(Alice, s, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim on a receipt that expects no more than an exit code"
        }
        Rule::ReceiptNotLatest => {
            let (receipt, axis) = h.host_axis(Alice, s);
            h.probe(Alice, s, &host(), "stage-1");
            h.refuse(Alice, s, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim on a receipt when the session has a later one of the probe"
        }
        Rule::ReceiptBeforeRetraction => {
            let (receipt, axis, _) = h.proven(Alice, s, "db-safe");
            h.add(Alice, s, retracted("db-safe"));
            h.refuse(Alice, s, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim is verified anew by a receipt older than its retraction"
        }
        Rule::AxisAmbient => {
            let (receipt, axis) = h.host_axis(Alice, s);
            h.declare(Alice, s, &["db.host"]);
            h.refuse(Alice, s, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim needs an axis that its session lets drift"
        }
        Rule::NeedsMissing => {
            let (receipt, _) = h.host_axis(Alice, s);
            h.refuse(Alice, s, verified("db-safe", &[receipt], &[]), rule);
            "a claim with neither axes nor a reason to need none"
        }
        Rule::NeedsContradict => {
            let (receipt, axis) = h.host_axis(Alice, s);
            let mut claim = verified("db-safe", &[receipt], &[axis]);
            claim.independent = Some(of("it holds everywhere"));
            h.refuse(Alice, s, claim, rule);
            "a claim with both axes and a reason to need none"
        }
        Rule::AxisNotInLineage => {
            let (_, axis) = h.host_axis(Alice, s);
            h.seal(Alice, s);
            let other = h.open(Alice, &[]);
            let receipt = h.probe(Alice, other, &host(), "stage-1");
            h.refuse(Alice, other, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim needs an axis of a session that is not inherited"
        }
        Rule::NotBracketed => {
            let (_, axis) = h.host_axis(Alice, s);
            let receipt = h.probe(Alice, s, &proof(), "ok");
            h.refuse(Alice, s, verified("db-safe", &[receipt], &[axis]), rule);
            "a claim whose axis was not observed after the proof"
        }
        Rule::FromNotAdmissible => {
            let (receipt, axis) = h.host_axis(Alice, s);
            let mut claim = verified("db-safe", &[receipt], &[axis]);
            claim.from = set([of("ghost")]);
            h.refuse(Alice, s, claim, rule);
            "a claim derived from one that is not admissible"
        }
        Rule::StatementChanged => {
            let (receipt, axis, _) = h.proven(Alice, s, "db-safe");
            let mut claim = verified("db-safe", &[receipt], &[axis]);
            claim.statement = of("Something else.");
            h.refuse(Alice, s, claim, rule);
            "a claim id is given another statement"
        }
        Rule::OpenFlag => {
            let (receipt, axis) = h.host_axis(Alice, s);
            h.add(Alice, s, flagged("db-safe"));
            h.refuse(Alice, s, verified("db-sure", &[receipt], &[axis]), rule);
            "a statement with an open flag is verified under another id"
        }
        Rule::ClaimUnknown => {
            h.refuse(Alice, s, retracted("ghost"), rule);
            "a claim is retracted that nobody spoke of"
        }
        other => panic!("{other} is no rule of supports"),
    }
}

pub(crate) fn of_flags(h: &mut History, rule: Rule) -> &'static str {
    let s = h.open(Alice, &[]);
    match rule {
        Rule::ReceiptBeforeFlag => {
            let receipt = h.probe(Alice, s, &proof(), "ok");
            let (_, axis) = h.host_axis(Alice, s);
            let flag = h.add(Alice, s, flagged("db-safe"));
            h.refuse(Alice, s, promoted("db-safe", flag, receipt, &[axis]), rule);
            "a promotion by a receipt older than the flag"
        }
        Rule::AlreadyAdmissible => {
            h.proven(Alice, s, "db-safe");
            h.refuse(Alice, s, flagged("db-safe"), rule);
            "a claim is flagged that is admissible"
        }
        Rule::NoDerivation => {
            let mut flag = flagged("db-safe");
            flag.derivation = of(" \t");
            h.refuse(Alice, s, flag, rule);
            "a flag with a blank derivation"
        }
        Rule::Directive => {
            let mut flag = flagged("db-safe");
            flag.directive.do_not_act_on = of("db-other");
            h.refuse(Alice, s, flag, rule);
            "a directive about another claim"
        }
        Rule::FlagNeeds => {
            h.host_axis(Alice, s);
            let mut flag = flagged("db-safe");
            flag.needs = vec![need("db.host")];
            h.refuse(Alice, s, flag, rule);
            "a flag names a known axis without its probe and comparator"
        }
        Rule::FlagNotOpen => {
            let (_, axis) = h.host_axis(Alice, s);
            let flag = h.add(Alice, s, flagged("db-safe"));
            h.add(Alice, s, withdrawn("db-safe", flag));
            let receipt = h.probe(Alice, s, &proof(), "ok");
            h.probe(Alice, s, &host(), "stage-1");
            h.refuse(Alice, s, promoted("db-safe", flag, receipt, &[axis]), rule);
            "a promotion of a flag that was withdrawn"
        }
        Rule::FlagOwner => {
            let flag = h.add(Alice, s, flagged("db-safe"));
            let other = h.open(Alice, &[]);
            h.refuse(Alice, other, withdrawn("db-safe", flag), rule);
            "a session withdraws the flag of another"
        }
        Rule::FlagStatement => {
            let (_, axis) = h.host_axis(Alice, s);
            let flag = h.add(Alice, s, flagged("db-safe"));
            let receipt = h.probe(Alice, s, &proof(), "ok");
            h.probe(Alice, s, &host(), "stage-1");
            h.refuse(Alice, s, promoted("db-sure", flag, receipt, &[axis]), rule);
            "a promotion of an id that the flag is not of"
        }
        Rule::FlagNeedsMissing => {
            let mut flag = flagged("db-safe");
            flag.needs = vec![need("db.name")];
            let flag = h.add(Alice, s, flag);
            let (_, axis) = h.host_axis(Alice, s);
            let receipt = h.probe(Alice, s, &proof(), "ok");
            h.probe(Alice, s, &host(), "stage-1");
            h.refuse(Alice, s, promoted("db-safe", flag, receipt, &[axis]), rule);
            "a promotion that does not need the axis that its flag names"
        }
        Rule::IndependenceNotFlagged => {
            let flag = h.add(Alice, s, flagged("db-safe"));
            let receipt = h.probe(Alice, s, &proof(), "ok");
            let mut promotion = promoted("db-safe", flag, receipt, &[]);
            promotion.independent = Some(of("it holds everywhere"));
            h.refuse(Alice, s, promotion, rule);
            "an environment-independent promotion of a flag that does not say so"
        }
        Rule::FourEyes => {
            let flag = h.add(Alice, s, flagged("db-safe"));
            let (_, axis) = h.host_axis(Alice, s);
            let receipt = h.probe(Alice, s, &proof(), "ok");
            h.probe(Alice, s, &host(), "stage-1");
            h.refuse(Alice, s, promoted("db-safe", flag, receipt, &[axis]), rule);
            "under four-eyes, the key that flagged promotes"
        }
        Rule::PromotionRefusedWhy => {
            let flag = h.add(Alice, s, flagged("db-safe"));
            let receipt = h.probe(Alice, s, &proof(), "ok");
            let refusal = ClaimPromotionRefused {
                claim: of("db-safe"),
                flag: Seq(flag),
                receipt: Seq(receipt),
                why: PromotionRefusedWhy::ProbeFailed,
            };
            h.refuse(Alice, s, refusal, rule);
            "a refused promotion says that a successful probe failed"
        }
        other => panic!("{other} is no rule of flags"),
    }
}
