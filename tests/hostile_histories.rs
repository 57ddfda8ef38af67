//! Histories that are made to be slow, by who may write or made the ledger: judged in a time that
//! their number explains, and the same by who verifies the file and by who works with it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cli_support;

use cli_support::forge::{Forger, signed};
use cli_support::{Agent, Machine, Ran};
use handoff_ledger::event::{
    ActionGated, AmbientDeclared, Body, CaptureErased, ClaimDiscarded, ClaimVerified, Counts,
    DiscardWhy, Event, GateDecision, KeyAuthorized, KeyRevoked, ProbeReceipt, Role, SessionSealed,
};
use handoff_ledger::key::SigningKey;
use handoff_ledger::outcome::Outcome;
use handoff_ledger::store::Record;
use handoff_ledger::types::{Ascending, Digest, Seq};
use std::path::PathBuf;

/// How many events are added, unless `HANDOFF_HOSTILE` says how many.
const MANY: usize = 1_500;

fn many() -> usize {
    let said = std::env::var("HANDOFF_HOSTILE").ok();
    said.map_or(MANY, |said| said.parse().unwrap())
}

/// A session with an axis, a claim and a flag, and the bodies of each, to be signed again.
struct Scene {
    machine: Machine,
    root: Agent,
    session: Seq,
    file: PathBuf,
    /// The axis's receipt.
    receipt_body: Body,
}

impl Scene {
    fn new() -> Scene {
        let machine = Machine::new();
        let root = machine.root("");
        let session = Seq(root.open("hostile"));
        root.ok("axis os --class execution_topology --check os");
        let receipt_body = Forger::of(&machine.ledger()).newest("probe.receipt").body;
        root.ok("claim good 'it is good' --needs os --expect value=4 -- cat four.txt");
        root.ok(
            "flag maybe 'it may be' --because guessed --needs os --expect value=4 -- cat five.txt",
        );
        let file = machine.project().join("hostile.db");
        std::fs::copy(machine.ledger(), &file).unwrap();
        Scene {
            machine,
            root,
            session,
            receipt_body,
            file,
        }
    }

    fn claim(&self) -> ClaimVerified {
        let Body::ClaimVerified(claim) = self.newest("claim.verified").body else {
            panic!("no claim");
        };
        claim
    }

    fn receipt(&self) -> Body {
        self.receipt_body.clone()
    }

    /// The receipt of the claim's proof.
    fn proof(&self) -> ProbeReceipt {
        let cited = self.claim().receipts.iter().next().copied().unwrap();
        let Body::ProbeReceipt(receipt) = Forger::of(&self.file).at(cited).body else {
            panic!("no receipt");
        };
        receipt
    }

    /// A gate that the claim lets pass.
    fn gate(&self) -> Body {
        let gated = ActionGated {
            argv: vec!["true".parse().unwrap()],
            claims: Ascending::from_unordered(["good".parse().unwrap()]),
            decision: GateDecision::Allowed,
        };
        gated.into()
    }

    /// Adds events of the session, each made of its number and its seq, in one transaction.
    fn add(&self, mut body: impl FnMut(usize, Seq) -> Body) {
        self.add_anywhere(|number, seq| (self.session, body(number, seq)));
    }

    /// The same of events that stand in any session.
    fn add_anywhere(&self, mut body: impl FnMut(usize, Seq) -> (Seq, Body)) {
        let forger = Forger::of(&self.file);
        let key = self.root.key();
        forger.together(|| {
            let erased = CaptureErased {
                commitments: Ascending::from_unordered([]),
                reason: "none".parse().unwrap(),
            };
            let mut last: Event = forger.draft(&key, Seq::ZERO, erased.into());
            for number in 0..many() {
                let (session, body) = body(number, last.seq);
                let event = Event {
                    session,
                    body,
                    ..last.clone()
                };
                let record = signed(&key, &event);
                forger.insert(event.seq, &record);
                last = Event {
                    seq: event.seq.next(),
                    prev: Record(record).leaf(),
                    ..event
                };
            }
        });
    }

    fn newest(&self, kind: &str) -> Event {
        Forger::of(&self.file).newest(kind)
    }

    /// What the file is found to be, by who is handed it and by who has it for his own; the harness
    /// says when it hangs.
    fn result(&self) -> String {
        let told = |ran: Ran| {
            let told = ran.json();
            let (result, refused) = (&told["result"], &told["refused_total"]);
            format!("{} {refused}", result.as_str().unwrap())
        };
        let (file, key) = (self.file.display(), self.root.public());
        // Of somebody who knows nothing of the ledger's own history.
        let auditor = self.machine.agent("auditor");
        let handed = told(auditor.run(&format!("--json verify {file} --trust {key}")));
        let asked = |from: &str| {
            let words = format!("--json can good --session {}{from}", self.session);
            self.root.run(&words).json()["claims"][0]["because"].clone()
        };
        let because = asked(&format!(" --ledger {file} --trust {key}"));
        std::fs::copy(&self.file, self.machine.ledger()).unwrap();
        assert_eq!(asked(""), because, "by the view");
        assert_eq!(told(self.root.run("--json verify")), handed);
        handed
    }
}

#[test]
fn many_supports_of_one_claim_each_derived_from_it() {
    let scene = Scene::new();
    let claim = scene.claim();
    scene.add(|_, _| {
        let mut again = claim.clone();
        again.from = Ascending::from_unordered(["good".parse().unwrap()]);
        again.into()
    });
    // The newest 8 count: then it is derived from itself alone.
    assert_eq!(scene.result(), format!("unlawful {}", many() - 8));
}

#[test]
fn many_flags_of_one_statement_each_discarded() {
    let scene = Scene::new();
    let Body::ClaimFlagged(flag) = scene.newest("claim.flagged").body else {
        panic!("no flag");
    };
    let first = scene.newest("claim.flagged").seq;
    let discard = ClaimDiscarded {
        claim: flag.claim.clone(),
        flag: Some(first),
        reason: "over".parse().ok(),
        statement: flag.statement.clone(),
        why: DiscardWhy::Withdrawn,
    };
    let mut open = first;
    scene.add(|number, seq| {
        if number % 2 == 0 {
            let mut again = discard.clone();
            again.flag = Some(open);
            again.into()
        } else {
            open = seq;
            flag.clone().into()
        }
    });
    assert_eq!(scene.result(), "verified 0");
}

#[test]
fn many_ids_of_one_statement() {
    let scene = Scene::new();
    let claim = scene.claim();
    scene.add(|number, _| {
        let mut another = claim.clone();
        another.claim = format!("id-{number}").parse().unwrap();
        another.into()
    });
    assert_eq!(scene.result(), "verified 0");
}

/// Such a claim of an id and a statement of its own.
fn numbered(claim: &ClaimVerified, number: usize) -> ClaimVerified {
    ClaimVerified {
        claim: format!("id-{number}").parse().unwrap(),
        statement: format!("statement {number}").parse().unwrap(),
        ..claim.clone()
    }
}

#[test]
fn many_claims_each_derived_from_the_one_before() {
    let scene = Scene::new();
    let claim = scene.claim();
    scene.add(|number, _| {
        let mut next = numbered(&claim, number);
        let before = match number {
            0 => "good".to_owned(),
            number => format!("id-{}", number - 1),
        };
        next.from = Ascending::from_unordered([before.parse().unwrap()]);
        next.into()
    });
    // The first weighs 3, each other 4: the 513th rests on too much for the next.
    let refused = many() - 512;
    assert_eq!(scene.result(), format!("unlawful {refused}"));
}

#[test]
fn many_claims_each_derived_from_many() {
    let scene = Scene::new();
    let claim = scene.claim();
    scene.add(|number, _| {
        let mut next = numbered(&claim, number);
        let before = (number.min(500) / 2..number.min(500)).map(|it| format!("id-{it}"));
        next.from = Ascending::from_unordered(before.map(|it| it.parse().unwrap()));
        next.into()
    });
    let result = scene.result();
    assert!(result.starts_with("unlawful"), "{result}");
}

#[test]
fn many_receipts_of_one_axis_and_of_a_proof() {
    let scene = Scene::new();
    let (receipt, gate) = (scene.receipt(), scene.gate());
    let proof: Body = scene.proof().into();
    scene.add(|number, _| match number % 3 {
        0 => receipt.clone(),
        1 => proof.clone(),
        _ => gate.clone(),
    });
    assert_eq!(scene.result(), "verified 0");
}

#[test]
fn many_sessions_in_which_the_proof_failed() {
    let scene = Scene::new();
    let gate = scene.gate();
    let mut failed = scene.proof();
    failed.outcome = Outcome::Exited(1);
    let opened = Forger::of(&scene.file).newest("session.opened").body;
    let mut session = Seq::ZERO;
    scene.add_anywhere(|number, seq| match number % 3 {
        0 => {
            session = seq;
            (Seq::ZERO, opened.clone())
        }
        1 => (session, failed.clone().into()),
        _ => (scene.session, gate.clone()),
    });
    assert_eq!(scene.result(), "verified 0");
}

#[test]
fn many_seals_that_are_not_the_boundary_of_their_session() {
    let scene = Scene::new();
    let receipt = scene.receipt();
    let ambient = AmbientDeclared {
        entries: Vec::new(),
    };
    let mut receipts = 2;
    scene.add(|number, _| match number {
        0 => ambient.clone().into(),
        number if number % 2 == 0 => {
            receipts += 1;
            receipt.clone()
        }
        _ => {
            let seal = SessionSealed {
                boundary_digest: Digest::ZERO,
                counts: Counts {
                    ambient: 1,
                    axes: 1,
                    claims: 1,
                    discards: 0,
                    flags: 1,
                    promotions: 0,
                    receipts,
                    retractions: 0,
                },
            };
            seal.into()
        }
    });
    assert_eq!(scene.result(), format!("unlawful {}", many() / 2));
}

#[test]
fn many_revocations_of_a_key() {
    let scene = Scene::new();
    let key = SigningKey::from_seed([9; 32]).public();
    let authorized = KeyAuthorized {
        key,
        label: "other".parse().unwrap(),
        roles: Ascending::from_unordered([Role::Recorder]),
    };
    scene.add_anywhere(|number, seq| match number {
        0 => (Seq::ZERO, authorized.clone().into()),
        number if number % 2 == 0 => (scene.session, scene.receipt_body.clone()),
        _ => {
            let revoked = KeyRevoked {
                compromised_since: Some(seq),
                key,
                reason: "over and over".parse().unwrap(),
            };
            (Seq::ZERO, revoked.into())
        }
    });
    assert_eq!(scene.result(), "verified 0");
}
