//! For each rule a history that keeps all others and breaks it with its last event.

use crate::builder::Who::{Alice, Bob, Carol, Root};
use crate::builder::*;
use crate::refused_claims::{of_flags, of_supports};
use handoff_ledger::event::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::refusal::Rule;
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
