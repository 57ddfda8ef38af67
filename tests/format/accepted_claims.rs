//! Histories that keep every rule, and which claims they make admissible.

use crate::builder::Who::{Alice, Bob, Root};
use crate::builder::*;
use crate::vector::{Outcomes, Vector};
use handoff_ledger::event::*;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::Seq;

pub(crate) fn vectors() -> Vec<Vector> {
    vec![
        handoff(),
        not_reverified(),
        circle(),
        counter_evidence(),
        promotion(),
        promotion_refused(),
        retraction(),
        compromised_since(),
        compromised_lowered(),
        compromised_withdrawn(),
        newest_supports(),
        too_large(),
        ninth_seal(),
    ]
}

/// A sealed session, and one that inherits it.
pub(crate) fn inherited() -> (History, u64, u64) {
    let mut h = History::opened();
    h.authorize(Bob, "bob", &[Role::Recorder]);
    let s = h.open(Alice, &[]);
    let (_, axis, _) = h.proven(Alice, s, "db-safe");
    h.seal(Alice, s);
    let t = h.open(Bob, &[s]);
    (h, axis, t)
}

fn handoff() -> Vector {
    let (mut h, axis, t) = inherited();
    let receipt = h.probe(Bob, t, &host(), "stage-1");
    h.add(Bob, t, reverified(axis, receipt));
    let outcomes = Outcomes {
        axes: vec![(t, axis, "held")],
        claims: vec![(t, "db-safe", "verified_invariant")],
        admissible: vec![(t, vec!["db-safe"])],
        ..Outcomes::default()
    };
    let comment = "a successor reverifies what it inherits, and may act on it";
    Vector::judged("verified-handoff", comment, &h, outcomes)
}

fn not_reverified() -> Vector {
    let (mut h, axis, t) = inherited();
    h.probe(Bob, t, &host(), "stage-1");
    let outcomes = Outcomes {
        axes: vec![(t, axis, "held")],
        claims: vec![(t, "db-safe", "verified_invariant")],
        admissible: vec![(t, vec![])],
        ..Outcomes::default()
    };
    let comment =
        "without a reverification nothing inherited is admissible, even with its axis held";
    Vector::judged("verified-not-reverified", comment, &h, outcomes)
}

/// Two claims, each derived from the other by one of its supports.
fn circle() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    h.proven(Alice, s, "db-safe");
    let receipt = h.probe(Alice, s, &probe(&["./lag"], &["value=0"]), "0");
    let lag = h.add(Alice, s, axis("db.lag", receipt));
    for (claim, from) in [("db-fresh", "db-safe"), ("db-safe", "db-fresh")] {
        let mut derived = verified(claim, &[receipt], &[lag]);
        derived.from = set([of(from)]);
        h.add(Alice, s, derived);
    }
    h.probe(Alice, s, &host(), "prod-1");
    let outcomes = Outcomes {
        claims: vec![
            (s, "db-fresh", "verified_invariant"),
            (s, "db-safe", "verified_invariant"),
        ],
        admissible: vec![(s, vec![])],
        ..Outcomes::default()
    };
    let comment =
        "once the axis drifts on which both rested, a circle of two claims supports nothing";
    Vector::judged("verified-circle", comment, &h, outcomes)
}

fn counter_evidence() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    let (_, axis) = h.host_axis(Alice, s);
    let receipt = h.probe(Alice, s, &proof(), "ok");
    h.probe(Alice, s, &host(), "stage-1");
    h.add(Alice, s, verified("db-safe", &[receipt], &[axis]));
    h.probe(Alice, s, &proof(), "not ok");
    let outcomes = Outcomes {
        axes: vec![(s, axis, "held")],
        claims: vec![(s, "db-safe", "verified_invariant")],
        admissible: vec![(s, vec![])],
        ..Outcomes::default()
    };
    let comment = "the proof ran again, with its axis held, and failed";
    Vector::judged("verified-counter-evidence", comment, &h, outcomes)
}

/// A sealed session that flagged, and one of Bob's that observed the axis the flag needs.
fn flagged_before() -> (History, u64, u64, u64) {
    let mut h = History::opened();
    h.authorize(Bob, "bob", &[Role::Recorder]);
    let s = h.open(Alice, &[]);
    let (_, axis) = h.host_axis(Alice, s);
    let mut flag = flagged("db-safe");
    flag.needs = vec![FlagNeed {
        axis: of("db.host"),
        comparator: Some(of("exact")),
        probe_digest: Some(host().digest()),
    }];
    let flag = h.add(Alice, s, flag);
    h.seal(Alice, s);
    let t = h.open(Bob, &[s]);
    h.probe(Bob, t, &host(), "stage-1");
    (h, axis, flag, t)
}

fn promotion() -> Vector {
    let (mut h, axis, flag, t) = flagged_before();
    let receipt = h.probe(Bob, t, &proof(), "ok");
    h.probe(Bob, t, &host(), "stage-1");
    h.add(Bob, t, promoted("db-safe", flag, receipt, &[axis]));
    let outcomes = Outcomes {
        claims: vec![(t, "db-safe", "verified_invariant")],
        admissible: vec![(t, vec!["db-safe"])],
        ..Outcomes::default()
    };
    let comment = "a successor runs the promised step, with its axis held around it, and promotes";
    Vector::judged("verified-promotion", comment, &h, outcomes)
}

fn promotion_refused() -> Vector {
    let (mut h, _, flag, t) = flagged_before();
    let receipt = h.probe(Bob, t, &proof(), "not ok");
    let refusal = ClaimPromotionRefused {
        claim: of("db-safe"),
        flag: Seq(flag),
        receipt: Seq(receipt),
        why: PromotionRefusedWhy::ProbeFailed,
    };
    h.add(Bob, t, refusal);
    let outcomes = Outcomes {
        claims: vec![(t, "db-safe", "provisional_unverified")],
        admissible: vec![(t, vec![])],
        ..Outcomes::default()
    };
    let comment = "the promised step failed, so the claim stays provisional";
    Vector::judged("verified-promotion-refused", comment, &h, outcomes)
}

fn retraction() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    h.proven(Alice, s, "db-safe");
    h.proven(Alice, s, "db-sure");
    h.add(
        Alice,
        s,
        ClaimRetracted {
            claims: set([of("db-safe"), of("db-sure")]),
            ..retracted("db-safe")
        },
    );
    h.proven(Alice, s, "db-sure");
    let outcomes = Outcomes {
        claims: vec![
            (s, "db-safe", "retracted"),
            (s, "db-sure", "verified_invariant"),
        ],
        admissible: vec![(s, vec!["db-sure"])],
        ..Outcomes::default()
    };
    let comment = "two claims are retracted, and one of them is verified anew";
    Vector::judged("verified-retraction", comment, &h, outcomes)
}

fn compromised_since() -> Vector {
    let mut h = History::opened();
    h.authorize(Bob, "bob", &[Role::Recorder]);
    let s = h.open(Alice, &[]);
    h.proven(Alice, s, "db-safe");
    let (receipt, axis, claim) = h.proven(Alice, s, "db-sure");
    let declared = h.declare(Alice, s, &[]);
    let seal = h.add(Alice, s, h.sealing(s));
    let t = h.open(Bob, &[s]);
    let now = h.probe(Bob, t, &host(), "stage-1");
    let both = BoundaryReverified {
        entries: [axis - 3, axis]
            .map(|axis| reverified(axis, now).entries.remove(0))
            .to_vec(),
    };
    h.add(Bob, t, both);
    h.add(Root, 0, revocation(Alice, Some(receipt)));
    let outcomes = Outcomes {
        voided: Some(vec![receipt, axis, claim, declared, seal]),
        claims: vec![(t, "db-safe", "verified_invariant"), (t, "db-sure", "void")],
        admissible: vec![(t, vec!["db-safe"])],
        ..Outcomes::default()
    };
    let comment =
        "a compromised key's events are void from a seq on; its earlier ones and the lineage stay";
    Vector::judged("verified-compromised-since", comment, &h, outcomes)
}

fn compromised_lowered() -> Vector {
    let (mut h, axis, t) = inherited();
    let receipt = h.probe(Bob, t, &host(), "stage-1");
    let claim = h.add(Bob, t, verified("db-near", &[receipt], &[axis]));
    let ended = h.next();
    h.add(Root, 0, revocation(Alice, Some(ended)));
    h.add(Root, 0, revocation(Alice, Some(axis)));
    let mut voided: Vec<u64> = (axis..=axis + 3).collect();
    voided.push(claim);
    let outcomes = Outcomes {
        voided: Some(voided),
        claims: vec![(t, "db-near", "void")],
        admissible: vec![(t, vec![])],
        ..Outcomes::default()
    };
    let comment =
        "the last revocation governs, and voidness passes to another key's claim by its axis";
    Vector::judged("verified-compromised-lowered", comment, &h, outcomes)
}

/// An id that was given another statement while what bound it was void.
fn compromised_withdrawn() -> Vector {
    let (mut h, axis, t) = inherited();
    h.add(Root, 0, revocation(Alice, Some(axis)));
    let alone = h.open(Bob, &[]);
    for (session, near) in [(t, "db-near"), (alone, "db-far")] {
        let (receipt, own) = h.host_axis(Bob, session);
        if session == t {
            h.add(Bob, t, reverified(axis, receipt));
        }
        let mut restated = verified("db-safe", &[receipt], &[own]);
        restated.statement = of("The migration ran on every database.");
        h.add(Bob, session, restated);
        let mut derived = verified(near, &[receipt], &[own]);
        derived.statement = of(&format!("So {near} holds."));
        derived.from = set([of("db-safe")]);
        h.add(Bob, session, derived);
    }
    h.add(Root, 0, revocation(Alice, None));
    let outcomes = Outcomes {
        voided: Some(vec![]),
        claims: vec![
            (t, "db-safe", "verified_invariant"),
            (t, "db-near", "verified_invariant"),
            (alone, "db-safe", "void"),
            (alone, "db-far", "verified_invariant"),
        ],
        admissible: vec![(t, vec!["db-safe"]), (alone, vec![])],
        ..Outcomes::default()
    };
    let comment = "what was said under an id while it had another statement supports nothing";
    Vector::judged("verified-compromised-withdrawn", comment, &h, outcomes)
}

/// A support on the axis of the host, and newer ones on another, which then drifts.
fn newest_supports() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    for claim in ["db-safe", "db-sure"] {
        h.proven(Alice, s, claim);
    }
    let lag = probe(&["./lag"], &["value=0"]);
    let receipt = h.probe(Alice, s, &lag, "0");
    let axis = h.add(Alice, s, axis("db.lag", receipt));
    for (claim, times) in [("db-safe", 8), ("db-sure", 7)] {
        for _ in 0..times {
            h.add(Alice, s, verified(claim, &[receipt], &[axis]));
        }
    }
    h.probe(Alice, s, &lag, "1");
    let outcomes = Outcomes {
        claims: vec![
            (s, "db-safe", "verified_invariant"),
            (s, "db-sure", "verified_invariant"),
        ],
        admissible: vec![(s, vec!["db-sure"])],
        ..Outcomes::default()
    };
    let comment = "the newest 8 supports of a claim count, and not a ninth on an axis that is held";
    Vector::judged("verified-newest-supports", comment, &h, outcomes)
}

/// A claim that rests on as much as it may, and one that rests on more.
fn too_large() -> Vector {
    // Supports weigh 1, their axis 1, their receipts 22, and the derived ones' `from` 1 each:
    // 58 * 24 + 8 * (24 + 58) is 2,048.
    const MANY: usize = 58;
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    let (_, axis) = h.host_axis(Alice, s);
    let run = |number: usize| probe(&["./check", &number.to_string()], &["value=ok"]);
    let receipts: Vec<u64> = (0..22)
        .map(|number| h.probe(Alice, s, &run(number), "ok"))
        .collect();
    h.probe(Alice, s, &host(), "stage-1");
    let short = |claim: &str| ClaimVerified {
        statement: of(claim),
        ..verified(claim, &receipts, &[axis])
    };
    let ids: Vec<&'static str> = (0..=MANY)
        .map(|number| &*format!("c{number:02}").leak())
        .collect();
    for id in &ids {
        h.add(Alice, s, short(id));
    }
    for (claim, from) in [("above", &ids[..]), ("at", &ids[..MANY])] {
        let mut derived = short(claim);
        derived.from = set(from.iter().map(|id| of(id)));
        for _ in 0..8 {
            h.add(Alice, s, derived.clone());
        }
    }
    let outcomes = Outcomes {
        claims: vec![(s, "above", "verified_invariant")],
        admissible: vec![(s, [&["at"], &ids[..]].concat())],
        ..Outcomes::default()
    };
    let comment = "what a claim rests on weighs 2,048 and no more";
    Vector::judged("verified-too-large", comment, &h, outcomes)
}

/// Eight seals of something else, and then the right one.
fn ninth_seal() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    h.proven(Alice, s, "db-safe");
    h.declare(Alice, s, &[]);
    let mut wrong = h.sealing(s);
    wrong.counts.receipts += 1;
    for _ in 0..8 {
        h.refuse(Alice, s, wrong.clone(), Rule::Boundary);
    }
    h.refuse(Alice, s, h.sealing(s), Rule::Boundary);
    h.add(Alice, 0, abandoned(s));
    let comment = "a session is not sealed after eight wrong seals, and can be abandoned";
    Vector::judged("unlawful-ninth-seal", comment, &h, Outcomes::default())
}
