//! Every rule refuses something: a table of events, each with the rule that it breaks.

use crate::support::{History, SCOPE, Who, make};
use handoff_ledger::event::{
    ClaimFlagged, DiscardWhy, GateDecision, KeyAuthorized, LedgerOpened, Policy, ProbeReceipt,
    PromotionRefusedWhy, Role,
};
use handoff_ledger::probe_spec::Outcome;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Digest, PublicKey, Seq};
use std::collections::BTreeSet;

/// A history, made anew, to the event that must be refused; gives the rule it was refused by.
type Case = (Rule, &'static str, fn(&mut History) -> Rule);

const SMALL_ORDER: PublicKey = {
    let mut bytes = [0; 32];
    bytes[0] = 1;
    PublicKey(bytes)
};

const KEYS: &[Case] = &[
    (Rule::KeyNotAuthorized, "a stranger opens a session", |h| {
        h.refused(Who::Stranger, Seq::ZERO, make::opened(&[]))
    }),
    (
        Rule::KeyNotAuthorized,
        "a stranger writes an unknown kind",
        |h| h.refused(Who::Stranger, Seq::ZERO, make::unknown("x.y", 1)),
    ),
    (Rule::KeyRevoked, "a revoked key opens a session", |h| {
        h.revoke(Who::Alice, None);
        h.refused(Who::Alice, Seq::ZERO, make::opened(&[]))
    }),
    (
        Rule::KeyRevoked,
        "a key whose compromise was withdrawn stays revoked",
        |h| {
            let since = h.next();
            h.revoke(Who::Alice, Some(since));
            h.revoke(Who::Alice, None);
            h.refused(Who::Alice, Seq::ZERO, make::opened(&[]))
        },
    ),
    (Rule::Role, "an admin opens a session", |h| {
        h.refused(Who::Admin, Seq::ZERO, make::opened(&[]))
    }),
    (Rule::Role, "a recorder authorises a key", |h| {
        let body = make::authorized(Who::Stranger.key(), "new", &[Role::Recorder]);
        h.refused(Who::Alice, Seq::ZERO, body)
    }),
    (Rule::Role, "a recorder erases a capture", |h| {
        h.refused(Who::Alice, Seq::ZERO, make::erased())
    }),
    (Rule::Role, "a recorder discards another's flag", |h| {
        let session = h.open(Who::Bob);
        let flag = h.flag(session, "c");
        h.refused(Who::Alice, Seq::ZERO, make::withdrawn("c", flag))
    }),
    (Rule::KindNotAllowed, "an unknown kind", |h| {
        h.refused(Who::Alice, Seq::ZERO, make::unknown("x.y", 1))
    }),
    (Rule::KindNotAllowed, "a known kind of version 2", |h| {
        h.refused(Who::Root, Seq::ZERO, make::unknown("session.opened", 2))
    }),
    (Rule::AlreadyOpened, "the ledger is opened again", |h| {
        let opened = LedgerOpened {
            name: "again".parse().unwrap(),
            nonce: Digest([1; 32]),
            policy: Policy {
                asserted_values: true,
                four_eyes: false,
            },
            rules: 1,
        };
        h.refused(Who::Stranger, Seq::ZERO, opened)
    }),
    (
        Rule::UpgradeLowers,
        "an upgrade to the same versions",
        |h| h.refused(Who::Root, Seq::ZERO, make::upgraded(1, 1)),
    ),
    (Rule::KeyAlreadyAuthorized, "a key a second time", |h| {
        let body = make::authorized(Who::Alice.key(), "alice-2", &[Role::Recorder]);
        h.refused(Who::Admin, Seq::ZERO, body)
    }),
    (Rule::KeyAlreadyAuthorized, "a revoked key anew", |h| {
        h.revoke(Who::Alice, None);
        let body = make::authorized(Who::Alice.key(), "alice-2", &[Role::Recorder]);
        h.refused(Who::Root, Seq::ZERO, body)
    }),
    (Rule::KeyWeak, "a key of small order", |h| {
        h.refused(
            Who::Admin,
            Seq::ZERO,
            KeyAuthorized {
                key: SMALL_ORDER,
                ..make::authorized(Who::Stranger.key(), "new", &[Role::Recorder])
            },
        )
    }),
    (Rule::LabelInUse, "another key's label", |h| {
        let body = make::authorized(Who::Stranger.key(), "alice", &[Role::Recorder]);
        h.refused(Who::Admin, Seq::ZERO, body)
    }),
    (
        Rule::KeyUnknown,
        "a key that was never authorised is revoked",
        |h| {
            let body = make::revoked(Who::Stranger.key(), None);
            h.refused(Who::Root, Seq::ZERO, body)
        },
    ),
    (Rule::RootIrrevocable, "the root revokes itself", |h| {
        h.refused(Who::Root, Seq::ZERO, make::revoked(Who::Root.key(), None))
    }),
    (Rule::RootIrrevocable, "an admin revokes the root", |h| {
        h.refused(Who::Admin, Seq::ZERO, make::revoked(Who::Root.key(), None))
    }),
    (Rule::RootOnly, "an admin revokes an admin", |h| {
        let body = make::revoked(Who::OtherAdmin.key(), None);
        h.refused(Who::Admin, Seq::ZERO, body)
    }),
    (Rule::RootOnly, "an admin makes an admin", |h| {
        let body = make::authorized(Who::Stranger.key(), "new", &[Role::Admin]);
        h.refused(Who::Admin, Seq::ZERO, body)
    }),
    (Rule::RootOnly, "an admin upgrades", |h| {
        h.refused(Who::Admin, Seq::ZERO, make::upgraded(2, 1))
    }),
    (Rule::RootOnly, "an admin acknowledges", |h| {
        h.refused(Who::Admin, Seq::ZERO, make::acknowledged(Seq(1)))
    }),
    (
        Rule::CompromisedSince,
        "a compromise that lies ahead",
        |h| {
            let ahead = Seq(h.next().0 + 1);
            h.refused(
                Who::Root,
                Seq::ZERO,
                make::revoked(Who::Alice.key(), Some(ahead)),
            )
        },
    ),
    (
        Rule::CompromisedSince,
        "an admin withdraws a compromise",
        |h| {
            h.revoke(Who::Alice, Some(Seq(4)));
            h.refused(Who::Admin, Seq::ZERO, make::revoked(Who::Alice.key(), None))
        },
    ),
    (
        Rule::CompromisedSince,
        "an admin raises a compromise",
        |h| {
            h.revoke(Who::Alice, Some(Seq(4)));
            h.refused(
                Who::Admin,
                Seq::ZERO,
                make::revoked(Who::Alice.key(), Some(Seq(5))),
            )
        },
    ),
    (
        Rule::CompromisedSince,
        "an admin sets a compromise after a mere revocation",
        |h| {
            h.revoke(Who::Alice, None);
            h.refused(
                Who::Admin,
                Seq::ZERO,
                make::revoked(Who::Alice.key(), Some(Seq(5))),
            )
        },
    ),
];

const SESSIONS: &[Case] = &[
    (Rule::Session, "a session is opened in a session", |h| {
        let session = h.open(Who::Alice);
        h.say_refused(session, make::opened(&[]))
    }),
    (Rule::Session, "a receipt without a session", |h| {
        let probe = make::axis_probe("a");
        let receipt = make::receipt(&probe, Outcome::Exited(0), Some("1"));
        h.refused(Who::Alice, Seq::ZERO, receipt)
    }),
    (
        Rule::Session,
        "an admin discards what was never flagged",
        |h| {
            let body = make::discarded("c", DiscardWhy::NoStep);
            h.refused(Who::Admin, Seq::ZERO, body)
        },
    ),
    (
        Rule::SessionUnknown,
        "an event in no session there is",
        |h| h.refused(Who::Alice, Seq(3), make::ambient(&[])),
    ),
    (
        Rule::SessionUnknown,
        "a session that is not there is abandoned",
        |h| h.refused(Who::Alice, Seq::ZERO, make::abandoned(Seq(3))),
    ),
    (
        Rule::SessionUnknown,
        "a session that is not there is inherited",
        |h| h.refused(Who::Alice, Seq::ZERO, make::opened(&[Seq(3)])),
    ),
    (Rule::SessionEnded, "an event after the seal", |h| {
        let session = sealed(h);
        h.say_refused(session, make::ambient(&[]))
    }),
    (
        Rule::SessionEnded,
        "an event after the end without a seal",
        |h| {
            let session = h.open(Who::Alice);
            h.ok(Who::Alice, Seq::ZERO, make::abandoned(session));
            h.say_refused(session, make::ambient(&[]))
        },
    ),
    (Rule::SessionEnded, "a sealed session is abandoned", |h| {
        let session = sealed(h);
        h.refused(Who::Alice, Seq::ZERO, make::abandoned(session))
    }),
    (Rule::SessionKey, "another key writes in a session", |h| {
        let session = h.open(Who::Alice);
        h.refused(Who::Bob, session, make::ambient(&[]))
    }),
    (
        Rule::SessionKey,
        "a recorder abandons another's session",
        |h| {
            let session = h.open(Who::Alice);
            h.refused(Who::Bob, Seq::ZERO, make::abandoned(session))
        },
    ),
    (
        Rule::InheritsUnsealed,
        "an open session is inherited",
        |h| {
            let session = h.open(Who::Alice);
            h.refused(Who::Bob, Seq::ZERO, make::opened(&[session]))
        },
    ),
    (
        Rule::InheritsUnsealed,
        "an abandoned session is inherited",
        |h| {
            let session = h.open(Who::Alice);
            h.ok(Who::Admin, Seq::ZERO, make::abandoned(session));
            h.refused(Who::Bob, Seq::ZERO, make::opened(&[session]))
        },
    ),
    (
        Rule::AmbientUndeclared,
        "a seal without an ambient list",
        |h| {
            let session = h.open(Who::Alice);
            h.axis(session, "a", "1");
            let seal = h.sealed(session);
            h.say_refused(session, seal)
        },
    ),
    (Rule::NothingToSeal, "a seal of nothing", |h| {
        let session = h.open(Who::Alice);
        h.ambient_none(session);
        let seal = h.sealed(session);
        h.say_refused(session, seal)
    }),
    (Rule::Boundary, "another digest", |h| {
        let session = h.open(Who::Alice);
        h.axis(session, "a", "1");
        h.ambient_none(session);
        let mut seal = h.sealed(session);
        seal.boundary_digest = Digest([0; 32]);
        h.say_refused(session, seal)
    }),
    (Rule::Boundary, "another count", |h| {
        let session = h.open(Who::Alice);
        h.axis(session, "a", "1");
        h.ambient_none(session);
        let mut seal = h.sealed(session);
        seal.counts.axes = 2;
        h.say_refused(session, seal)
    }),
    (
        Rule::AcknowledgesAhead,
        "an acknowledgement of itself",
        |h| {
            let here = h.next();
            h.refused(Who::Root, Seq::ZERO, make::acknowledged(here))
        },
    ),
    (
        Rule::GateDecision,
        "an action is let run on an unknown claim",
        |h| {
            let session = h.open(Who::Alice);
            h.say_refused(session, make::gated(&["c"], GateDecision::Allowed))
        },
    ),
    (
        Rule::GateDecision,
        "an action is stopped though its claims are admissible",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            h.verify(session, "c", &[axis]);
            h.say_refused(session, make::gated(&["c"], GateDecision::Refused))
        },
    ),
    (
        Rule::GateFinished,
        "an action that was not let run finishes",
        |h| {
            let session = h.open(Who::Alice);
            let gate = h.say(session, make::gated(&["c"], GateDecision::Refused));
            h.say_refused(session, make::finished(gate))
        },
    ),
    (Rule::GateFinished, "an action finishes twice", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        h.verify(session, "c", &[axis]);
        let gate = h.say(session, make::gated(&["c"], GateDecision::Allowed));
        h.say(session, make::finished(gate));
        h.say_refused(session, make::finished(gate))
    }),
];

const EVIDENCE: &[Case] = &[
    (Rule::ProbeDigest, "a receipt with another digest", |h| {
        receipt_that(h, |receipt| receipt.probe_digest = Digest([0; 32]))
    }),
    (
        Rule::ProbeDigest,
        "another probe than the flag's is announced",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            h.say_refused(session, make::begun("c", flag, Digest([0; 32])))
        },
    ),
    (Rule::Scope, "a receipt of another place", |h| {
        receipt_that(h, |receipt| receipt.scope = Digest([0; 32]))
    }),
    (
        Rule::ReceiptShape,
        "a command that ended as a native check",
        |h| receipt_that(h, |receipt| receipt.outcome = Outcome::Checked),
    ),
    (Rule::ReceiptShape, "a value of a run that timed out", |h| {
        receipt_that(h, |receipt| receipt.outcome = Outcome::TimedOut)
    }),
    (
        Rule::ReceiptShape,
        "an expectation met that the value does not meet",
        |h| {
            receipt_that(h, |receipt| {
                *receipt = make::receipt(&make::proof_probe("c"), Outcome::Exited(0), Some("bad"));
                receipt.expectations[0].met = true;
            })
        },
    ),
    (
        Rule::ReceiptShape,
        "an expectation said to be more than empty output meets",
        |h| {
            receipt_that(h, |receipt| {
                let probe = make::command(&["prove"], &["value="]);
                *receipt = make::receipt(&probe, Outcome::Exited(0), Some(""));
                receipt.expectations[0].met_by_empty = false;
            })
        },
    ),
    (
        Rule::ReceiptShape,
        "a comparison without a redacted value",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let mut receipt = make::receipt(&make::axis_probe("a"), Outcome::Exited(0), Some("1"));
            receipt.compared = vec![handoff_ledger::event::Compared {
                axis,
                result: handoff_ledger::event::Comparison::Same,
            }];
            h.say_refused(session, receipt)
        },
    ),
    (
        Rule::DanglingReference,
        "a receipt that nothing announced",
        |h| receipt_that(h, |receipt| receipt.begun = Some(Seq(3))),
    ),
    (Rule::DanglingReference, "an axis of no receipt", |h| {
        let session = h.open(Who::Alice);
        h.say_refused(session, make::axis("a", Seq(9_999)))
    }),
    (Rule::DanglingReference, "an axis that cites itself", |h| {
        let session = h.open(Who::Alice);
        let here = h.next();
        h.say_refused(session, make::axis("a", here))
    }),
    (
        Rule::ReceiptSession,
        "an axis of another session's receipt",
        |h| {
            let other = h.open(Who::Alice);
            let receipt = h.observe(other, "a", "1");
            let session = h.open(Who::Alice);
            h.say_refused(session, make::axis("a", receipt))
        },
    ),
    (Rule::ReceiptFailed, "an axis of a failed receipt", |h| {
        let session = h.open(Who::Alice);
        let probe = make::axis_probe("a");
        let receipt = h.run_ended(session, &probe, Outcome::Exited(1), Some("1"));
        h.say_refused(session, make::axis("a", receipt))
    }),
    (Rule::Vacuous, "an axis of a constant command", |h| {
        let session = h.open(Who::Alice);
        let receipt = h.run(session, &make::command(&["echo", "1"], &[]), "1");
        h.say_refused(session, make::axis("a", receipt))
    }),
    (Rule::Vacuous, "a claim on a constant command", |h| {
        let session = h.open(Who::Alice);
        let receipt = h.run(session, &make::command(&["echo", "1"], &["value=1"]), "1");
        h.say_refused(session, make::independent("c", &[receipt]))
    }),
    (
        Rule::Comparator,
        "an axis that does not satisfy its own comparator",
        |h| {
            let session = h.open(Who::Alice);
            let receipt = h.observe(session, "a", "1");
            let mut axis = make::axis("a", receipt);
            axis.comparator = "one-of=2,3".parse().unwrap();
            h.say_refused(session, axis)
        },
    ),
    (
        Rule::RedactedComparator,
        "a redacted axis compared by presence",
        |h| {
            let session = h.open(Who::Alice);
            let receipt = h.run(session, &make::redacted_probe(&["token"]), "secret");
            let mut axis = make::axis("a", receipt);
            axis.comparator = "present".parse().unwrap();
            h.say_refused(session, axis)
        },
    ),
    (
        Rule::AmbientLoadBearing,
        "a needed axis is let drift",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            h.verify(session, "c", &[axis]);
            h.say_refused(session, make::ambient(&["a"]))
        },
    ),
    (Rule::AxisAmbient, "an axis that may drift is needed", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        h.say(session, make::ambient(&["a"]));
        let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
        h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
    }),
    (Rule::ReverifiedReceipt, "another axis's receipt", |h| {
        let (session, axis) = inherits_axis(h);
        let receipt = h.observe(session, "b", "1");
        let entry = make::by_receipt(axis, receipt);
        h.say_refused(session, make::reverified(vec![entry]))
    }),
    (Rule::ReverifiedReceipt, "another session's receipt", |h| {
        let (session, axis) = inherits_axis(h);
        let recorded = h.state.axes()[&axis].body.receipt;
        let entry = make::by_receipt(axis, recorded);
        h.say_refused(session, make::reverified(vec![entry]))
    }),
];

const CLAIMS: &[Case] = &[
    (Rule::ReceiptFailed, "a claim on a failed receipt", |h| {
        let session = h.open(Who::Alice);
        let proof = make::proof_probe("c");
        let receipt = h.run_ended(session, &proof, Outcome::Exited(0), Some("bad"));
        h.say_refused(session, make::independent("c", &[receipt]))
    }),
    (
        Rule::NoExpectation,
        "a claim on an exit code that is not marked so",
        |h| {
            let session = h.open(Who::Alice);
            let receipt = h.run(session, &make::command(&["prove"], &["exit=0"]), "ok");
            h.say_refused(session, make::independent("c", &[receipt]))
        },
    ),
    (
        Rule::NoExpectation,
        "a claim on what empty output meets",
        |h| {
            let session = h.open(Who::Alice);
            let receipt = h.run(session, &make::command(&["prove"], &["value="]), "");
            h.say_refused(session, make::independent("c", &[receipt]))
        },
    ),
    (Rule::NoExpectation, "a claim on a check of presence", |h| {
        let session = h.open(Who::Alice);
        let receipt = h.run(session, &make::native("env-set=CI"), "set");
        h.say_refused(session, make::independent("c", &[receipt]))
    }),
    (
        Rule::NoExpectation,
        "a promotion by a run that empty output would pass",
        |h| {
            let session = h.open(Who::Alice);
            let step = make::command(&["step"], &["value~o*"]);
            let flag = h.say(session, make::flagged_step("c", step.clone()));
            let mut receipt = make::receipt(&step, Outcome::Exited(0), Some("ok"));
            receipt.expectations[0].met_by_empty = true;
            let receipt = h.say(session, receipt);
            let axis = h.axis(session, "a", "1");
            h.say_refused(session, make::promoted("c", flag, receipt, &[axis]))
        },
    ),
    (Rule::ReceiptNotLatest, "a claim on an older receipt", |h| {
        let session = h.open(Who::Alice);
        let receipt = h.run(session, &make::proof_probe("c"), "ok");
        h.run(session, &make::proof_probe("c"), "ok");
        h.say_refused(session, make::independent("c", &[receipt]))
    }),
    (
        Rule::ReceiptBeforeRetraction,
        "a claim on a receipt from before its retraction",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            h.verify(session, "c", &[axis]);
            let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
            h.say(session, make::retracted(&["c"]));
            h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
        },
    ),
    (Rule::NeedsMissing, "neither axes nor a reason", |h| {
        let session = h.open(Who::Alice);
        let receipt = h.run(session, &make::proof_probe("c"), "ok");
        h.say_refused(session, make::verified("c", &[receipt], &[], &[]))
    }),
    (
        Rule::NeedsContradict,
        "axes and a reason to need none",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
            let mut claim = make::verified("c", &[receipt], &[axis], &[]);
            claim.independent = Some(make::text("and yet"));
            h.say_refused(session, claim)
        },
    ),
    (
        Rule::NeedsContradict,
        "a flag with axes and a reason to need none",
        |h| {
            flag_that(h, |flag| {
                flag.needs = vec![make::flag_need_unknown("a")];
                flag.independent = Some(make::text("and yet"));
            })
        },
    ),
    (Rule::AxisNotInLineage, "an axis of a stranger", |h| {
        let other = h.open(Who::Bob);
        let axis = h.axis(other, "a", "1");
        h.seal(other);
        let session = h.open(Who::Alice);
        let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
        h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
    }),
    (
        Rule::AxisNotInLineage,
        "a reverification of a stranger's axis",
        |h| {
            let other = h.open(Who::Bob);
            let axis = h.axis(other, "a", "1");
            let session = h.open(Who::Alice);
            let receipt = h.observe(session, "a", "1");
            let entry = make::by_receipt(axis, receipt);
            h.say_refused(session, make::reverified(vec![entry]))
        },
    ),
    (Rule::Void, "an inherited axis that is void", |h| {
        let (session, axis) = inherits_axis(h);
        let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
        h.revoke(Who::Bob, Some(Seq(1)));
        h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
    }),
    (
        Rule::NotBracketed,
        "an axis that was not observed after the proof",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let receipt = h.run(session, &make::proof_probe("c"), "ok");
            h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
        },
    ),
    (
        Rule::NotBracketed,
        "an axis that was not observed before the proof",
        |h| {
            let session = h.open(Who::Alice);
            let receipt = h.run(session, &make::proof_probe("c"), "ok");
            let axis = h.axis(session, "a", "1");
            h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
        },
    ),
    (
        Rule::NotBracketed,
        "an axis that had drifted after the proof",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let receipt = h.run(session, &make::proof_probe("c"), "ok");
            h.observe(session, "a", "2");
            h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
        },
    ),
    (
        Rule::FromNotAdmissible,
        "a claim derived from nothing known",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
            h.say_refused(session, make::verified("c", &[receipt], &[axis], &["d"]))
        },
    ),
    (
        Rule::FromNotAdmissible,
        "a claim derived from itself",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
            h.say_refused(session, make::verified("c", &[receipt], &[axis], &["c"]))
        },
    ),
    (Rule::StatementChanged, "another statement for an id", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        h.verify(session, "c", &[axis]);
        let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
        let mut claim = make::verified("c", &[receipt], &[axis], &[]);
        claim.statement = make::text("something else");
        h.say_refused(session, claim)
    }),
    (
        Rule::StatementChanged,
        "a flag of another statement for an id",
        |h| {
            let session = h.open(Who::Alice);
            h.flag(session, "c");
            let mut flag = make::flagged("c");
            flag.statement = make::text("something else");
            h.say_refused(session, flag)
        },
    ),
    (Rule::OpenFlag, "a claim under an open flag", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        h.flag(session, "c");
        let receipt = h.prove(session, &make::proof_probe("c"), &[axis]);
        h.say_refused(session, make::verified("c", &[receipt], &[axis], &[]))
    }),
    (
        Rule::OpenFlag,
        "a claim of a flagged statement under another id",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            h.flag(session, "c");
            let receipt = h.prove(session, &make::proof_probe("d"), &[axis]);
            let mut claim = make::verified("d", &[receipt], &[axis], &[]);
            claim.statement = make::statement("c");
            h.say_refused(session, claim)
        },
    ),
    (Rule::OpenFlag, "another session flags a flagged id", |h| {
        let session = h.open(Who::Alice);
        h.flag(session, "c");
        let other = h.open(Who::Bob);
        h.say_refused(other, make::flagged("c"))
    }),
    (Rule::AlreadyAdmissible, "a flag of an admissible id", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        h.verify(session, "c", &[axis]);
        h.say_refused(session, make::flagged("c"))
    }),
    (
        Rule::AlreadyAdmissible,
        "a flag of an admissible statement",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            h.verify(session, "c", &[axis]);
            let mut flag = make::flagged("d");
            flag.statement = make::statement("c");
            h.say_refused(session, flag)
        },
    ),
    (
        Rule::ClaimUnknown,
        "a retraction of what nobody spoke of",
        |h| {
            let session = h.open(Who::Alice);
            h.say_refused(session, make::retracted(&["c"]))
        },
    ),
];

const FLAGS: &[Case] = &[
    (Rule::NoDerivation, "a flag without derivation", |h| {
        flag_that(h, |flag| flag.derivation = make::value(" \n"))
    }),
    (
        Rule::Vacuous,
        "a flag whose step is a constant command",
        |h| {
            flag_that(h, |flag| {
                *flag = make::flagged_step("c", make::command(&["TODO"], &["value=ok"]));
            })
        },
    ),
    (Rule::Vacuous, "a flag whose step expects nothing", |h| {
        flag_that(h, |flag| {
            *flag = make::flagged_step("c", make::command(&["step"], &[]))
        })
    }),
    (
        Rule::Vacuous,
        "a flag whose step empty output passes",
        |h| {
            flag_that(h, |flag| {
                *flag = make::flagged_step("c", make::command(&["step"], &["value="]));
            })
        },
    ),
    (
        Rule::ReceiptShape,
        "a flag that says empty output would not pass",
        |h| {
            flag_that(h, |flag| {
                *flag = make::flagged_step("c", make::command(&["step"], &["value="]));
                flag.met_by_empty = vec![false];
            })
        },
    ),
    (Rule::ProbeDigest, "a flag with another digest", |h| {
        flag_that(h, |flag| flag.step_digest = Digest([0; 32]))
    }),
    (Rule::Directive, "a directive about another claim", |h| {
        flag_that(h, |flag| {
            flag.directive.do_not_act_on = "d".parse().unwrap()
        })
    }),
    (Rule::Directive, "a directive until another probe", |h| {
        flag_that(h, |flag| flag.directive.until_probe = Digest([0; 32]))
    }),
    (
        Rule::FlagNeeds,
        "an axis said to be known that is not",
        |h| flag_that(h, |flag| flag.needs = vec![make::flag_need("a")]),
    ),
    (
        Rule::FlagNeeds,
        "a known axis named by its name alone",
        |h| {
            let session = h.open(Who::Alice);
            h.axis(session, "a", "1");
            let mut flag = make::flagged("c");
            flag.needs = vec![make::flag_need_unknown("a")];
            h.say_refused(session, flag)
        },
    ),
    (
        Rule::FlagNotOpen,
        "a promotion by a flag that was withdrawn",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let flag = h.flag(session, "c");
            h.say(session, make::withdrawn("c", flag));
            let receipt = h.prove(session, &make::step_probe("c"), &[axis]);
            h.say_refused(session, make::promoted("c", flag, receipt, &[axis]))
        },
    ),
    (
        Rule::FlagNotOpen,
        "the step of a replaced flag is announced",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            h.flag(session, "c");
            let digest = make::step_probe("c").digest();
            h.say_refused(session, make::begun("c", flag, digest))
        },
    ),
    (Rule::FlagNotOpen, "a flag is withdrawn twice", |h| {
        let session = h.open(Who::Alice);
        let flag = h.flag(session, "c");
        h.say(session, make::withdrawn("c", flag));
        h.say_refused(session, make::withdrawn("c", flag))
    }),
    (Rule::FlagOwner, "another session withdraws a flag", |h| {
        let session = h.open(Who::Alice);
        let flag = h.flag(session, "c");
        let other = h.open(Who::Alice);
        h.say_refused(other, make::withdrawn("c", flag))
    }),
    (
        Rule::FlagStatement,
        "a flag is withdrawn under another statement",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            let mut discard = make::withdrawn("c", flag);
            discard.statement = make::text("something else");
            h.say_refused(session, discard)
        },
    ),
    (
        Rule::FlagStatement,
        "another claim is announced under the flag's step",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            let digest = make::step_probe("c").digest();
            h.say_refused(session, make::begun("d", flag, digest))
        },
    ),
    (
        Rule::FlagStatement,
        "a promotion of a claim by another claim's flag",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let flag = h.flag(session, "c");
            let receipt = h.prove(session, &make::step_probe("c"), &[axis]);
            h.say_refused(session, make::promoted("d", flag, receipt, &[axis]))
        },
    ),
    (
        Rule::FlagNeedsMissing,
        "a promotion without an axis that the flag names",
        |h| {
            let session = h.open(Who::Alice);
            h.axis(session, "a", "1");
            let other = h.axis(session, "b", "1");
            let mut flag = make::flagged("c");
            flag.needs = vec![make::flag_need("a")];
            let flag = h.say(session, flag);
            let receipt = h.prove(session, &make::step_probe("c"), &[other]);
            h.say_refused(session, make::promoted("c", flag, receipt, &[other]))
        },
    ),
    (
        Rule::IndependenceNotFlagged,
        "a promotion that needs nothing, unlike its flag",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            let receipt = h.run(session, &make::step_probe("c"), "ok");
            let mut promotion = make::promoted("c", flag, receipt, &[]);
            promotion.independent = Some(make::text("it is arithmetic"));
            h.say_refused(session, promotion)
        },
    ),
    (
        Rule::NeedsMissing,
        "a promotion with neither axes nor a reason",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            let receipt = h.run(session, &make::step_probe("c"), "ok");
            h.say_refused(session, make::promoted("c", flag, receipt, &[]))
        },
    ),
    (Rule::ProbeDigest, "a promotion by another probe", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        let flag = h.flag(session, "c");
        let receipt = h.prove(session, &make::step_probe("d"), &[axis]);
        h.say_refused(session, make::promoted("c", flag, receipt, &[axis]))
    }),
    (
        Rule::ReceiptBeforeFlag,
        "a promotion by a run from before the flag",
        |h| {
            let session = h.open(Who::Alice);
            let axis = h.axis(session, "a", "1");
            let receipt = h.prove(session, &make::step_probe("c"), &[axis]);
            let flag = h.flag(session, "c");
            h.say_refused(session, make::promoted("c", flag, receipt, &[axis]))
        },
    ),
    (Rule::ReceiptFailed, "a promotion by a failed run", |h| {
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        let flag = h.flag(session, "c");
        let step = make::step_probe("c");
        let receipt = h.run_ended(session, &step, Outcome::Exited(0), Some("bad"));
        h.say_refused(session, make::promoted("c", flag, receipt, &[axis]))
    }),
    (
        Rule::PromotionRefusedWhy,
        "a promotion refused for a failure that was none",
        |h| {
            let session = h.open(Who::Alice);
            let flag = h.flag(session, "c");
            let receipt = h.run(session, &make::step_probe("c"), "ok");
            let why = PromotionRefusedWhy::ProbeFailed;
            h.say_refused(session, make::promotion_refused("c", flag, receipt, why))
        },
    ),
    (Rule::FourEyes, "a key promotes what it flagged", |h| {
        *h = History::with_policy(Policy {
            asserted_values: false,
            four_eyes: true,
        });
        let session = h.open(Who::Alice);
        let axis = h.axis(session, "a", "1");
        let flag = h.flag(session, "c");
        let receipt = h.prove(session, &make::step_probe("c"), &[axis]);
        h.say_refused(session, make::promoted("c", flag, receipt, &[axis]))
    }),
];

fn sealed(h: &mut History) -> Seq {
    let session = h.open(Who::Alice);
    h.axis(session, "a", "1");
    h.seal(session);
    session
}

/// A session of Alice's that inherits an axis of Bob's.
fn inherits_axis(h: &mut History) -> (Seq, Seq) {
    let other = h.open(Who::Bob);
    let axis = h.axis(other, "a", "1");
    h.seal(other);
    (h.open_on(Who::Alice, &[other]), axis)
}

fn receipt_that(h: &mut History, spoil: impl Fn(&mut ProbeReceipt)) -> Rule {
    let session = h.open(Who::Alice);
    let mut receipt = make::receipt(&make::axis_probe("a"), Outcome::Exited(0), Some("1"));
    assert_eq!(receipt.scope, SCOPE);
    spoil(&mut receipt);
    h.say_refused(session, receipt)
}

fn flag_that(h: &mut History, spoil: impl Fn(&mut ClaimFlagged)) -> Rule {
    let session = h.open(Who::Alice);
    let mut flag = make::flagged("c");
    spoil(&mut flag);
    h.say_refused(session, flag)
}

#[test]
fn every_rule_refuses_what_breaks_it() {
    let mut refused_by = BTreeSet::new();
    for (expected, what, case) in [KEYS, SESSIONS, EVIDENCE, CLAIMS, FLAGS].concat() {
        let found = case(&mut History::new());
        assert_eq!(found, expected, "{what}");
        refused_by.insert(found);
    }
    let never: Vec<Rule> = Rule::ALL
        .iter()
        .copied()
        .filter(|rule| !refused_by.contains(rule))
        .collect();
    assert_eq!(never, [], "rules that no case breaks");
}

#[test]
fn a_refused_event_changes_nothing_but_the_list_of_the_refused() {
    for (_, what, case) in [KEYS, SESSIONS, EVIDENCE, CLAIMS, FLAGS].concat() {
        let mut history = History::new();
        case(&mut history);
        let before = history.state_after(history.events.len() - 1);
        let last = history.events.last().unwrap();
        let mut after = before.clone();
        assert!(after.apply(last).is_some(), "{what}");
        assert_eq!(after.voided(), before.voided(), "{what}");
        assert_eq!(after.keys(), before.keys(), "{what}");
        assert_eq!(after.sessions(), before.sessions(), "{what}");
        assert_eq!(after.receipts(), before.receipts(), "{what}");
        assert_eq!(after.axes(), before.axes(), "{what}");
        assert_eq!(after.supports(), before.supports(), "{what}");
        assert_eq!(after.flags(), before.flags(), "{what}");
        assert_eq!(after.discards(), before.discards(), "{what}");
        assert_eq!(after.retractions(), before.retractions(), "{what}");
        assert_eq!(after.claims(), before.claims(), "{what}");
        assert_eq!(after.refused().len(), before.refused().len() + 1, "{what}");
    }
}
