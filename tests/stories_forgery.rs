//! A holder of a key who keeps no rule: what he signs is refused, told, and stops nobody.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

mod cli_support;

use cli_support::forge::{Forger, NOWHERE, signed};
use cli_support::{Agent, Machine, admissible, code, verdict};
use handoff_ledger::event::{
    ActionGated, AmbientDeclared, AmbientEntry, AxisRecorded, Body, BoundaryReverified,
    ClaimFlagged, ClaimPromoted, ClaimRetracted, ClaimVerified, EventAcknowledged, GateDecision,
    KeyAuthorized, KeyRevoked, LedgerUpgraded, ProbeReceipt, ReverifiedEntry, Role, SessionOpened,
    SessionSealed, Unknown,
};
use handoff_ledger::key::SigningKey;
use handoff_ledger::types::{Ascending, AxisName, Digest, Seq};
use serde_json::{Value, json};

/// A ledger with a sealed session of the root, and an open one of a recorder who will forge.
struct Scene {
    machine: Machine,
    root: Agent,
    mallory: Agent,
    sealed: Seq,
    open: Seq,
}

fn scene() -> Scene {
    let machine = Machine::new();
    machine.write("ready.txt", "no\n");
    let root = machine.root("");
    let sealed = Seq(root.open("first"));
    root.ok("axis os --class execution_topology --check os");
    root.ok("claim c 'a claim' --needs os --expect value=4 -- cat four.txt");
    root.ok("flag f 'a guess' --because 'a hunch' --needs os --expect value=yes -- cat ready.txt");
    root.seal();
    let mallory = machine.recorder(&root, "mallory");
    let open = Seq(mallory.ok("resume --agent mallory")["session"]
        .as_u64()
        .unwrap());
    mallory.ok("axis arch --class execution_topology --check arch");
    mallory.ok("claim d 'another' --needs arch --expect value=5 -- cat five.txt");
    mallory.no("probe --expect value=9 -- cat five.txt");
    Scene {
        machine,
        root,
        mallory,
        sealed,
        open,
    }
}

macro_rules! body {
    ($forger:expr, $kind:literal, $variant:ident) => {
        match $forger.newest($kind).body {
            Body::$variant(body) => body,
            other => panic!("{other:?}"),
        }
    };
}

/// One forgery: the rule that it breaks, who signs, for which session, and what.
type Forgery = (&'static str, SigningKey, Seq, Body);

/// One of every family of rules.
fn forgeries(scene: &Scene, forger: &Forger) -> Vec<Forgery> {
    let stranger = SigningKey::from_seed([7; 32]);
    let other = SigningKey::from_seed([8; 32]).public();
    let mallory = || scene.mallory.key();
    let open: SessionOpened = body!(forger, "session.opened", SessionOpened);
    let receipt: ProbeReceipt = body!(forger, "probe.receipt", ProbeReceipt);
    let failed = forger.newest("probe.receipt").seq;
    let claim: ClaimVerified = body!(forger, "claim.verified", ClaimVerified);
    let flag: ClaimFlagged = body!(forger, "claim.flagged", ClaimFlagged);
    let flagged = forger.newest("claim.flagged").seq;
    let axis = body!(forger, "axis.recorded", AxisRecorded);
    let seal: SessionSealed = body!(forger, "session.sealed", SessionSealed);
    let text = |text: &str| text.parse().unwrap();
    let reason = "because".parse::<handoff_ledger::types::Text>().unwrap();
    let ids = |id: &str| Ascending::from_unordered([id.parse().unwrap()]);
    let mut list: Vec<Forgery> = Vec::new();
    let mut add = |rule, key, session, body| list.push((rule, key, session, body));
    add(
        "key_not_authorized",
        stranger,
        Seq::ZERO,
        open.clone().into(),
    );
    let label = "friend".parse().unwrap();
    let roles = Ascending::from_unordered([Role::Admin]);
    add(
        "role",
        mallory(),
        Seq::ZERO,
        KeyAuthorized {
            key: other,
            label,
            roles,
        }
        .into(),
    );
    let revoked = KeyRevoked {
        compromised_since: None,
        key: scene.root.public(),
        reason: reason.clone(),
    };
    add("role", mallory(), Seq::ZERO, revoked.into());
    add(
        "role",
        mallory(),
        Seq::ZERO,
        LedgerUpgraded { rules: 99, v: 99 }.into(),
    );
    add(
        "role",
        mallory(),
        Seq::ZERO,
        EventAcknowledged {
            reason: reason.clone(),
            up_to: Seq(1),
        }
        .into(),
    );
    let unknown = Unknown {
        kind: "claim.blessed".to_owned(),
        v: 1,
        body: "{}".to_owned(),
    };
    add(
        "kind_not_allowed",
        mallory(),
        scene.open,
        Body::Unknown(unknown),
    );
    add(
        "inherits_unsealed",
        mallory(),
        Seq::ZERO,
        SessionOpened {
            inherits: Ascending::from_unordered([scene.open]),
            ..open
        }
        .into(),
    );
    add("session_unknown", mallory(), Seq(2), receipt.clone().into());
    add(
        "session_ended",
        scene.root.key(),
        scene.sealed,
        receipt.clone().into(),
    );
    add(
        "session_key",
        scene.root.key(),
        scene.open,
        receipt.clone().into(),
    );
    add("ambient_undeclared", mallory(), scene.open, seal.into());
    add(
        "scope",
        mallory(),
        scene.open,
        ProbeReceipt {
            scope: Digest([1; 32]),
            ..receipt.clone()
        }
        .into(),
    );
    add(
        "probe_digest",
        mallory(),
        scene.open,
        ProbeReceipt {
            probe_digest: Digest([1; 32]),
            ..receipt.clone()
        }
        .into(),
    );
    let lie = receipt
        .expectations
        .iter()
        .map(|_| handoff_ledger::probe_spec::Judgement {
            met: true,
            met_by_empty: false,
        });
    add(
        "receipt_shape",
        mallory(),
        scene.open,
        ProbeReceipt {
            expectations: lie.collect(),
            ..receipt
        }
        .into(),
    );
    let earlier = AxisRecorded {
        receipt: Seq(3),
        ..axis.clone()
    };
    add("dangling_reference", mallory(), scene.open, earlier.into());
    let unsuccessful = AxisRecorded {
        receipt: failed,
        ..axis
    };
    add("receipt_failed", mallory(), scene.open, unsuccessful.into());
    add(
        "needs_missing",
        mallory(),
        scene.open,
        ClaimVerified {
            needs: Ascending::from_unordered([]),
            ..claim.clone()
        }
        .into(),
    );
    add(
        "statement_changed",
        mallory(),
        scene.open,
        ClaimVerified {
            statement: text("something else"),
            ..claim.clone()
        }
        .into(),
    );
    add(
        "open_flag",
        mallory(),
        scene.open,
        ClaimVerified {
            claim: "f".parse().unwrap(),
            statement: flag.statement.clone(),
            ..claim.clone()
        }
        .into(),
    );
    add(
        "from_not_admissible",
        mallory(),
        scene.open,
        ClaimVerified {
            from: ids("f"),
            ..claim.clone()
        }
        .into(),
    );
    let promoted = ClaimPromoted {
        claim: "f".parse().unwrap(),
        flag: flagged,
        from: Ascending::from_unordered([]),
        independent: None,
        needs: claim.needs.clone(),
        receipt: failed,
    };
    add("receipt_failed", mallory(), scene.open, promoted.into());
    let mut directive = flag.directive.clone();
    directive.do_not_act_on = "c".parse().unwrap();
    add(
        "directive",
        mallory(),
        scene.open,
        ClaimFlagged {
            claim: "g".parse().unwrap(),
            statement: text("a new guess"),
            directive,
            ..flag
        }
        .into(),
    );
    add(
        "claim_unknown",
        mallory(),
        scene.open,
        ClaimRetracted {
            claims: ids("nobody-said"),
            reason,
            receipt: None,
        }
        .into(),
    );
    let entry = ReverifiedEntry {
        asserted: None,
        axis: Seq(3),
        receipt: Some(failed),
        unverifiable: None,
    };
    add(
        "reverified_receipt",
        mallory(),
        scene.open,
        BoundaryReverified {
            entries: vec![entry],
        }
        .into(),
    );
    let gated = ActionGated {
        argv: vec!["rm".parse().unwrap()],
        claims: ids("f"),
        decision: GateDecision::Allowed,
    };
    add("gate_decision", mallory(), scene.open, gated.into());
    list
}

#[test]
fn every_unlawful_event_is_told_has_no_effect_and_stops_nobody() {
    let scene = scene();
    let before = scene.mallory.ok("can c d");
    let forger = Forger::of(&scene.machine.ledger());
    let mut expected = Vec::new();
    for (rule, key, session, body) in forgeries(&scene, &forger) {
        let kind = body.kind().to_owned();
        let seq = forger.append(&key, session, body);
        expected.push((seq.0, rule.to_owned(), kind));
    }
    drop(forger);

    let verified = scene.root.ends(4, "verify");
    assert_eq!(verified["result"], "unlawful");
    let refused = verified["refused"].as_array().unwrap();
    let told: Vec<(u64, String)> = refused
        .iter()
        .map(|entry| {
            (
                entry["seq"].as_u64().unwrap(),
                entry["rule"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let wanted: Vec<(u64, String)> = expected
        .iter()
        .map(|(seq, rule, _)| (*seq, rule.clone()))
        .collect();
    for ((told, wanted), (_, _, kind)) in told.iter().zip(&wanted).zip(&expected) {
        assert_eq!(told, wanted, "{kind}");
    }
    assert_eq!(told.len(), wanted.len());

    let after = scene.mallory.ok("can c d");
    assert_eq!(after["claims"], before["claims"]);
    let bob = scene.machine.recorder(&scene.root, "bob");
    let resumed = bob.ok("resume --agent bob");
    assert_eq!(admissible(&resumed), ["c"]);
    scene.machine.write("ready.txt", "yes\n");
    bob.ok("promote f");
    bob.seal();
    scene.mallory.seal();

    let head = scene.root.ok("head")["head"]["seq"].clone();
    scene
        .root
        .ok(&format!("acknowledge {head} --reason 'a bad client'"));
    let verified = scene.root.ok("verify");
    assert_eq!(verified["result"], "verified");
    let refused = verified["refused"].as_array().unwrap();
    assert_eq!(refused.len(), expected.len());
    assert!(refused.iter().all(|entry| entry["acknowledged"] == true));
    assert_eq!(
        admissible(&scene.root.ok("resume --agent last")),
        ["c", "d", "f"]
    );
}

#[test]
fn an_acknowledgement_is_the_roots_alone() {
    let scene = scene();
    assert_eq!(
        scene.mallory.refused("acknowledge 1 --reason 'mine'"),
        "role"
    );
    let head = scene.root.ok("head")["head"]["seq"].as_u64().unwrap();
    let ahead = scene
        .root
        .no(&format!("acknowledge {} --reason 'all to come'", head + 5));
    assert_eq!(code(&ahead), "acknowledges_ahead");
}

/// What a broken record does: the ledger ends before it, for everyone, with exit 4.
fn assert_tampered(machine: &Machine, root: &Agent, seq: Seq, kind: &str) {
    let verified = root.ends(4, "verify");
    assert_eq!(verified["result"], "tampered", "{verified}");
    assert_eq!(verified["faults"][0]["seq"], json!(seq), "{verified}");
    assert_eq!(verified["faults"][0]["kind"], kind, "{verified}");
    let before = machine.bytes();
    for line in [
        "resume --agent x",
        "can c",
        "seal",
        "claim x 'y' --needs os --check os",
    ] {
        let ended: Value = root.ends(4, line);
        assert_eq!(code(&ended), kind, "{line}");
        assert!(
            ended["error"]["next"]
                .as_str()
                .unwrap()
                .starts_with("handoff verify")
        );
    }
    assert_eq!(machine.bytes(), before);
}

#[test]
fn a_record_whose_signature_is_not_of_its_key_ends_the_ledger() {
    let scene = scene();
    let forger = Forger::of(&scene.machine.ledger());
    let mut draft = forger.newest("session.opened");
    draft = forger.draft(&scene.mallory.key(), Seq::ZERO, draft.body);
    draft.key = scene.root.public();
    let record = signed(&scene.mallory.key(), &draft);
    forger.insert(draft.seq, &record);
    drop(forger);
    assert_tampered(&scene.machine, &scene.root, draft.seq, "signature");
}

#[test]
fn a_record_that_does_not_follow_its_predecessor_ends_the_ledger() {
    let scene = scene();
    let forger = Forger::of(&scene.machine.ledger());
    let opened = forger.newest("session.opened").body;
    let mut draft = forger.draft(&scene.mallory.key(), Seq::ZERO, opened);
    draft.prev = NOWHERE;
    forger.insert(draft.seq, &signed(&scene.mallory.key(), &draft));
    drop(forger);
    assert_tampered(&scene.machine, &scene.root, draft.seq, "link");
}

#[test]
fn a_ledger_cut_short_is_a_rollback_until_it_is_acknowledged() {
    let scene = scene();
    let copy = scene.machine.path("older.db");
    std::fs::copy(scene.machine.ledger(), &copy).unwrap();
    scene.root.ok("resume --agent later");
    std::fs::copy(&copy, scene.machine.ledger()).unwrap();
    for line in ["verify", "resume --agent x", "session list"] {
        assert_eq!(scene.root.run(line).code, 4, "{line}");
    }
    assert_eq!(code(&scene.root.ends(4, "can c")), "rollback");
    scene
        .root
        .ok("acknowledge --rollback --reason 'restored from a backup'");
    assert_eq!(admissible(&scene.root.ok("resume --agent x")), ["c"]);
    scene.root.ok("verify");
}

#[test]
fn a_comparison_with_too_many_redacted_axes_stops_no_successor() {
    let scene = scene();
    scene.machine.write("token.txt", "hunter2\n");
    scene
        .machine
        .program("token.sh", "#!/bin/sh\ncat token.txt\n");
    let words = format!(" {}", "x".repeat(4000)).repeat(14);
    scene.mallory.ok(&format!(
        "axis t --class reachability --redact -- ./token.sh{words}"
    ));
    let forger = Forger::of(&scene.machine.ledger());
    let axis = body!(forger, "axis.recorded", AxisRecorded);
    forger.together(|| {
        for block in 0..2 {
            let mut entries = Vec::new();
            for number in 0..150 {
                let name: AxisName = format!("t{}", block * 150 + number).parse().unwrap();
                let body = AxisRecorded {
                    axis: name.clone(),
                    ..axis.clone()
                };
                forger.append(&scene.mallory.key(), scene.open, body);
                let reason = "it may".parse().unwrap();
                entries.push(AmbientEntry {
                    name,
                    observed: Vec::new(),
                    reason,
                });
            }
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            forger.append(
                &scene.mallory.key(),
                scene.open,
                AmbientDeclared { entries },
            );
        }
    });
    drop(forger);
    scene.mallory.ok("seal");
    scene.machine.write("token.txt", "hunter3\n");
    let resumed = scene.root.ok("resume --agent next");
    assert_eq!(admissible(&resumed), ["c", "d"]);
    assert_eq!(verdict(&resumed, "t7"), ("unverifiable", "not_run"));
    scene.root.ok("verify");
}
