//! For each rule a history that keeps all others and breaks it with its last event.

use crate::builder::Who::{Alice, Bob, Carol, Root};
use crate::builder::*;
use handoff_ledger::event::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::rules::Rule;
use handoff_ledger::types::{PublicKey, Seq};

/// A history whose last event breaks `rule`, and what it does, in words.
pub(crate) fn history(rule: Rule) -> (History, &'static str) {
    let mut h = match rule {
        Rule::FourEyes => History::with_policy(false, true),
        _ => History::opened(),
    };
    let comment = match rule {
        Rule::KeyNotAuthorized
        | Rule::KeyRevoked
        | Rule::Role
        | Rule::KindNotAllowed
        | Rule::AlreadyOpened
        | Rule::UpgradeLowers
        | Rule::KeyAlreadyAuthorized
        | Rule::KeyWeak
        | Rule::LabelInUse
        | Rule::KeyUnknown
        | Rule::RootIrrevocable
        | Rule::RootOnly
        | Rule::CompromisedSince
        | Rule::AcknowledgesAhead => of_keys(&mut h, rule),
        Rule::Session
        | Rule::SessionUnknown
        | Rule::SessionEnded
        | Rule::SessionKey
        | Rule::InheritsUnsealed
        | Rule::AmbientUndeclared
        | Rule::NothingToSeal
        | Rule::Boundary => of_sessions(&mut h, rule),
        Rule::DanglingReference
        | Rule::ProbeDigest
        | Rule::Scope
        | Rule::ReceiptShape
        | Rule::ReceiptSession
        | Rule::ReceiptFailed
        | Rule::Vacuous
        | Rule::Comparator
        | Rule::RedactedComparator
        | Rule::AmbientLoadBearing
        | Rule::ReverifiedReceipt
        | Rule::GateDecision
        | Rule::GateFinished => of_evidence(&mut h, rule),
        Rule::Void
        | Rule::NoExpectation
        | Rule::ReceiptNotLatest
        | Rule::ReceiptBeforeRetraction
        | Rule::AxisAmbient
        | Rule::NeedsMissing
        | Rule::NeedsContradict
        | Rule::AxisNotInLineage
        | Rule::NotBracketed
        | Rule::FromNotAdmissible
        | Rule::StatementChanged
        | Rule::OpenFlag
        | Rule::ClaimUnknown => of_supports(&mut h, rule),
        Rule::ReceiptBeforeFlag
        | Rule::AlreadyAdmissible
        | Rule::NoDerivation
        | Rule::Directive
        | Rule::FlagNeeds
        | Rule::FlagNotOpen
        | Rule::FlagOwner
        | Rule::FlagStatement
        | Rule::FlagNeedsMissing
        | Rule::IndependenceNotFlagged
        | Rule::FourEyes
        | Rule::PromotionRefusedWhy => of_flags(&mut h, rule),
    };
    (h, comment)
}

fn of_keys(h: &mut History, rule: Rule) -> &'static str {
    let recorder = &[Role::Recorder];
    match rule {
        Rule::KeyNotAuthorized => {
            h.refuse(Bob, 0, h.opening_of(&[]), rule);
            "a key that was never authorised opens a session"
        }
        Rule::KeyRevoked => {
            h.add(Root, 0, revocation(Alice, None));
            h.refuse(Alice, 0, h.opening_of(&[]), rule);
            "a revoked key opens a session"
        }
        Rule::Role => {
            h.refuse(Alice, 0, authorization(Bob, "bob", recorder), rule);
            "a recorder authorises a key"
        }
        Rule::KindNotAllowed => {
            let unknown = Unknown {
                kind: "claim.blessed".into(),
                v: 1,
                body: "{\"claim\":\"db-safe\"}".into(),
            };
            h.refuse(Root, 0, Body::Unknown(unknown), rule);
            "a kind that version 1 does not have"
        }
        Rule::AlreadyOpened => {
            h.refuse(Root, 0, opening(false, false, 1), rule);
            "the ledger is opened a second time"
        }
        Rule::UpgradeLowers => {
            h.refuse(Root, 0, LedgerUpgraded { rules: 1, v: 1 }, rule);
            "an upgrade to the versions in force"
        }
        Rule::KeyAlreadyAuthorized => {
            h.refuse(Root, 0, authorization(Alice, "alice-2", recorder), rule);
            "a key is authorised a second time"
        }
        Rule::KeyWeak => {
            let mut small_order = authorization(Bob, "bob", recorder);
            small_order.key = PublicKey([0; 32]);
            h.refuse(Root, 0, small_order, rule);
            "a key of small order is authorised"
        }
        Rule::LabelInUse => {
            h.refuse(Root, 0, authorization(Bob, "alice", recorder), rule);
            "a key is given the label of another"
        }
        Rule::KeyUnknown => {
            h.refuse(Root, 0, revocation(Bob, None), rule);
            "a key is revoked that was never authorised"
        }
        Rule::RootIrrevocable => {
            h.refuse(Root, 0, revocation(Root, None), rule);
            "the root revokes itself"
        }
        Rule::RootOnly => {
            h.authorize(Bob, "bob", &[Role::Admin]);
            h.refuse(Bob, 0, authorization(Carol, "carol", &[Role::Admin]), rule);
            "an admin who is not the root makes an admin"
        }
        Rule::CompromisedSince => {
            h.authorize(Bob, "bob", &[Role::Admin]);
            h.add(Bob, 0, revocation(Alice, Some(2)));
            h.refuse(Bob, 0, revocation(Alice, Some(3)), rule);
            "an admin raises compromised_since"
        }
        Rule::AcknowledgesAhead => {
            h.refuse(Root, 0, acknowledged(h.next()), rule);
            "an acknowledgement up to itself"
        }
        other => panic!("{other} is no rule of keys"),
    }
}

fn of_sessions(h: &mut History, rule: Rule) -> &'static str {
    let s = h.open(Alice, &[]);
    match rule {
        Rule::Session => {
            h.refuse(Alice, 0, h.ran(&host(), "stage-1"), rule);
            "a receipt in no session"
        }
        Rule::SessionUnknown => {
            h.refuse(Alice, s - 1, h.ran(&host(), "stage-1"), rule);
            "a receipt in a session that is none"
        }
        Rule::SessionEnded => {
            h.add(Alice, 0, abandoned(s));
            h.refuse(Alice, s, h.ran(&host(), "stage-1"), rule);
            "a receipt in an abandoned session"
        }
        Rule::SessionKey => {
            h.authorize(Bob, "bob", &[Role::Recorder]);
            h.refuse(Bob, s, h.ran(&host(), "stage-1"), rule);
            "a receipt by another key than the one that opened the session"
        }
        Rule::InheritsUnsealed => {
            h.refuse(Alice, 0, h.opening_of(&[s]), rule);
            "a session inherits one that is not sealed"
        }
        Rule::AmbientUndeclared => {
            h.proven(Alice, s, "db-safe");
            h.refuse(Alice, s, h.sealing(s), rule);
            "a seal without an ambient declaration"
        }
        Rule::NothingToSeal => {
            h.declare(Alice, s, &[]);
            h.refuse(Alice, s, h.sealing(s), rule);
            "a seal of a session that did nothing and inherits nothing"
        }
        Rule::Boundary => {
            h.proven(Alice, s, "db-safe");
            h.declare(Alice, s, &[]);
            let mut seal = h.sealing(s);
            seal.counts.receipts += 1;
            h.refuse(Alice, s, seal, rule);
            "a seal that counts a receipt too many"
        }
        other => panic!("{other} is no rule of sessions"),
    }
}

fn of_evidence(h: &mut History, rule: Rule) -> &'static str {
    let s = h.open(Alice, &[]);
    match rule {
        Rule::DanglingReference => {
            h.refuse(Alice, s, axis("db.host", s), rule);
            "an axis whose receipt is a session"
        }
        Rule::ProbeDigest => {
            let mut receipt = h.ran(&host(), "stage-1");
            receipt.probe_digest = proof().digest();
            h.refuse(Alice, s, receipt, rule);
            "a receipt with the digest of another probe"
        }
        Rule::Scope => {
            let mut receipt = h.ran(&host(), "stage-1");
            receipt.scope = hash::scope(b"{\"host\":\"other\"}");
            h.refuse(Alice, s, receipt, rule);
            "a receipt of another scope than its session's"
        }
        Rule::ReceiptShape => {
            let mut receipt = h.ran(&proof(), "not ok");
            receipt.expectations[0].met = true;
            h.refuse(Alice, s, receipt, rule);
            "a receipt that says an expectation met that its value does not meet"
        }
        Rule::ReceiptSession => {
            let receipt = h.probe(Alice, s, &host(), "stage-1");
            let other = h.open(Alice, &[]);
            h.refuse(Alice, other, axis("db.host", receipt), rule);
            "an axis on a receipt of another session"
        }
        Rule::ReceiptFailed => {
            let mut failed = h.ran(&host(), "stage-1");
            failed.outcome = Outcome::Exited(1);
            let receipt = h.add(Alice, s, failed);
            h.refuse(Alice, s, axis("db.host", receipt), rule);
            "an axis on a receipt with an unexpected exit"
        }
        Rule::Vacuous => {
            let receipt = h.probe(Alice, s, &probe(&["echo", "stage-1"], &[]), "stage-1");
            h.refuse(Alice, s, axis("db.host", receipt), rule);
            "an axis on a constant command"
        }
        Rule::Comparator => {
            let receipt = h.probe(Alice, s, &host(), "stage-1");
            let mut axis = axis("db.host", receipt);
            axis.comparator = of("one-of=stage-2,stage-3");
            h.refuse(Alice, s, axis, rule);
            "an axis whose value does not satisfy its own comparator"
        }
        Rule::RedactedComparator => {
            let definition = Definition {
                redact: true,
                ..command(&["./token"], &[])
            };
            let receipt = h.probe(Alice, s, &Probe::new(definition).unwrap(), "secret");
            let mut axis = axis("db.token", receipt);
            axis.comparator = of("present");
            h.refuse(Alice, s, axis, rule);
            "a redacted axis that is not compared exactly"
        }
        Rule::AmbientLoadBearing => {
            h.proven(Alice, s, "db-safe");
            h.refuse(Alice, s, declaration(&["db.host"]), rule);
            "an axis that a claim needs is let drift"
        }
        Rule::ReverifiedReceipt => {
            let (_, axis) = h.host_axis(Alice, s);
            let receipt = h.probe(Alice, s, &proof(), "ok");
            h.refuse(Alice, s, reverified(axis, receipt), rule);
            "a reverification of an axis by a receipt of another probe"
        }
        Rule::GateDecision => {
            h.refuse(Alice, s, gated("db-safe", GateDecision::Allowed), rule);
            "a gate lets an action run that relies on an unknown claim"
        }
        Rule::GateFinished => {
            h.proven(Alice, s, "db-safe");
            let gate = h.add(Alice, s, gated("db-safe", GateDecision::Allowed));
            let finished = ActionFinished {
                gate: Seq(gate),
                outcome: Outcome::Exited(0),
            };
            h.add(Alice, s, finished.clone());
            h.refuse(Alice, s, finished, rule);
            "an action is finished twice"
        }
        other => panic!("{other} is no rule of evidence"),
    }
}

fn of_supports(h: &mut History, rule: Rule) -> &'static str {
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

fn of_flags(h: &mut History, rule: Rule) -> &'static str {
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
