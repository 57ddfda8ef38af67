//! Histories that keep every rule, or whose refused events are known, and what they come to.

use crate::builder::Who::{Alice, Bob, Root};
use crate::builder::*;
use crate::vector::{Outcomes, Vector};
use handoff_ledger::event::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::rules::Rule;
use handoff_ledger::types::{Seq, Time};

/// Twelve hours and a second.
const STALE_MS: i64 = 12 * 60 * 60 * 1000 + 1_000;

pub(crate) fn vectors() -> Vec<Vector> {
    vec![
        one_event(),
        every_kind(),
        strings(),
        key_rotation(),
        admin_key(),
        acknowledged_refusal(),
        clock_back(),
        handoff(),
        not_reverified(),
        drift(),
        ambient_drift(),
        circle(),
        counter_evidence(),
        promotion(),
        promotion_refused(),
        retraction(),
        compromised_since(),
        compromised_lowered(),
        redacted(),
        asserted(true),
        asserted(false),
        verdicts(),
        upgraded(),
        newer_rules(),
    ]
}

fn vector(name: &str, comment: &str, history: &History, outcomes: Outcomes) -> Vector {
    Vector::judged(name, comment, history, outcomes)
}

fn one_event() -> Vector {
    let mut h = History::empty();
    h.add(Root, 0, opening(false, false, 1));
    let comment = "a ledger is opened, and nothing else; the worked example of ledger-format.md";
    vector("verified-one-event", comment, &h, Outcomes::default())
}

/// A lawful history of one session after another that holds every kind but `ledger.upgraded`.
fn every_kind() -> Vector {
    let mut h = History::opened();
    h.authorize(Bob, "bob", &[Role::Recorder]);
    let s = h.open(Alice, &[]);
    let (_, _, claim) = h.proven(Alice, s, "db-safe");
    let mut flag = flagged("db-full");
    flag.statement = of("All rows were migrated.");
    let flag_seq = h.add(Alice, s, flag.clone());
    let discarded = ClaimDiscarded {
        claim: of("db-guess"),
        flag: None,
        reason: None,
        statement: of("It will hold."),
        why: DiscardWhy::NoDerivation,
    };
    h.add(Alice, s, discarded);
    h.seal(Alice, s);
    let t = h.open(Bob, &[s]);
    let receipt = h.probe(Bob, t, &host(), "stage-1");
    h.add(Bob, t, reverified(claim - 1, receipt));
    let begun = ProbeBegun {
        claim: of("db-full"),
        flag: Seq(flag_seq),
        probe_digest: flag.step_digest,
    };
    let begun = h.add(Bob, t, begun.clone());
    let mut failed = h.ended(&proof(), Outcome::Exited(2));
    failed.begun = Some(Seq(begun));
    let failed = h.add(Bob, t, failed);
    let refusal = ClaimPromotionRefused {
        claim: of("db-full"),
        flag: Seq(flag_seq),
        receipt: Seq(failed),
        why: PromotionRefusedWhy::ProbeFailed,
    };
    h.add(Bob, t, refusal);
    let step = h.probe(Bob, t, &proof(), "ok");
    h.probe(Bob, t, &host(), "stage-1");
    h.add(Bob, t, promoted("db-full", flag_seq, step, &[claim - 1]));
    let gate = h.add(Bob, t, gated("db-full", GateDecision::Allowed));
    let finished = ActionFinished {
        gate: Seq(gate),
        outcome: Outcome::Exited(0),
    };
    h.add(Bob, t, finished);
    h.add(Bob, t, retracted("db-safe"));
    h.seal(Bob, t);
    let u = h.open(Alice, &[t]);
    h.add(Alice, 0, abandoned(u));
    h.add(Root, 0, revocation(Bob, None));
    let erased = CaptureErased {
        commitments: set([hash::bytes(b"nothing kept")]),
        reason: of("it held a name"),
    };
    h.add(Root, 0, erased);
    h.add(Root, 0, acknowledged(0));
    let outcomes = Outcomes {
        claims: vec![
            (u, "db-safe", "retracted"),
            (u, "db-full", "verified_invariant"),
            (u, "db-guess", "discarded"),
            (u, "db-ghost", "unknown"),
        ],
        admissible: vec![(u, vec![])],
        ..Outcomes::default()
    };
    let comment = "each kind of version 1 except ledger.upgraded, lawfully";
    vector("verified-every-kind", comment, &h, outcomes)
}

fn strings() -> Vector {
    let mut h = History::opened();
    let mut opening = h.opening_of(&[]);
    let controls: String = (0u8..0x20).map(char::from).collect();
    let text = format!("{controls}\"\\/\u{7f}\u{80}é\u{2028}\u{feff}\u{ffff}\u{1f600}");
    opening.purpose = Some(of(&text));
    h.add(Alice, 0, opening);
    let comment = "a text with every character that is escaped, and some that are not";
    vector("verified-strings", comment, &h, Outcomes::default())
}

fn key_rotation() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    h.proven(Alice, s, "db-safe");
    h.seal(Alice, s);
    h.authorize(Bob, "alice-2026", &[Role::Recorder]);
    h.add(Root, 0, revocation(Alice, None));
    let t = h.open(Bob, &[s]);
    let receipt = h.probe(Bob, t, &host(), "stage-1");
    h.add(Bob, t, reverified(s + 2, receipt));
    let outcomes = Outcomes {
        admissible: vec![(s, vec![]), (t, vec!["db-safe"])],
        ..Outcomes::default()
    };
    let comment =
        "a key is replaced; what it signed stays, and nothing is admissible to its session";
    vector("verified-key-rotation", comment, &h, outcomes)
}

fn admin_key() -> Vector {
    let mut h = History::opened();
    h.authorize(Bob, "bob", &[Role::Admin]);
    let s = h.open(Alice, &[]);
    let flag = h.add(Alice, s, flagged("db-safe"));
    h.add(Bob, 0, withdrawn("db-safe", flag));
    h.proven(Alice, s, "db-sure");
    h.add(Bob, 0, abandoned(s));
    let outcomes = Outcomes {
        claims: vec![
            (s, "db-safe", "discarded"),
            (s, "db-sure", "verified_invariant"),
        ],
        admissible: vec![(s, vec!["db-sure"])],
        ..Outcomes::default()
    };
    let comment =
        "an admin withdraws the flag of a session, which frees its statement, and abandons it";
    vector("verified-admin", comment, &h, outcomes)
}

fn acknowledged_refusal() -> Vector {
    let mut h = History::opened();
    let refused = h.refuse(Bob, 0, h.opening_of(&[]), Rule::KeyNotAuthorized);
    h.add(Root, 0, acknowledged(refused));
    let comment = "a refused event that the root knows of";
    vector("verified-acknowledged", comment, &h, Outcomes::default())
}

fn clock_back() -> Vector {
    let mut h = History::opened();
    h.wait(-60_000);
    h.open(Alice, &[]);
    let comment = "a clock that went back is a warning";
    vector("verified-clock-back", comment, &h, Outcomes::default())
}

/// A sealed session, and one that inherits it.
fn inherited() -> (History, u64, u64) {
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
    vector("verified-handoff", comment, &h, outcomes)
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
    vector("verified-not-reverified", comment, &h, outcomes)
}

fn drift() -> Vector {
    let (mut h, axis, t) = inherited();
    let receipt = h.probe(Bob, t, &host(), "prod-1");
    h.add(Bob, t, reverified(axis, receipt));
    let outcomes = Outcomes {
        axes: vec![(t, axis, "drifted_load_bearing changed")],
        claims: vec![(t, "db-safe", "verified_invariant")],
        admissible: vec![(t, vec![])],
        ..Outcomes::default()
    };
    let comment = "the axis drifted, so the claim that needs it is not admissible";
    vector("verified-drift", comment, &h, outcomes)
}

fn ambient_drift() -> Vector {
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    let (_, first) = h.host_axis(Alice, s);
    let (receipt, _) = h.host_axis(Alice, s);
    let other = h.add(Alice, s, axis("db.peer", receipt));
    h.add(Alice, s, verified("db-safe", &[receipt], &[other]));
    h.declare(Alice, s, &["db.host"]);
    h.add(Alice, s, h.sealing(s));
    let t = h.open(Alice, &[s]);
    h.probe(Alice, t, &host(), "prod-1");
    let outcomes = Outcomes {
        axes: vec![
            (t, first, "drifted_ambient changed"),
            (t, other, "drifted_load_bearing changed"),
        ],
        ..Outcomes::default()
    };
    let comment = "of two axes that drifted alike, one was declared ambient";
    vector("verified-ambient-drift", comment, &h, outcomes)
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
    vector("verified-circle", comment, &h, outcomes)
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
    vector("verified-counter-evidence", comment, &h, outcomes)
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
    vector("verified-promotion", comment, &h, outcomes)
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
    vector("verified-promotion-refused", comment, &h, outcomes)
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
    vector("verified-retraction", comment, &h, outcomes)
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
        voided: vec![receipt, axis, claim, declared, seal],
        claims: vec![(t, "db-safe", "verified_invariant"), (t, "db-sure", "void")],
        admissible: vec![(t, vec!["db-safe"])],
        ..Outcomes::default()
    };
    let comment =
        "a compromised key's events are void from a seq on; its earlier ones and the lineage stay";
    vector("verified-compromised-since", comment, &h, outcomes)
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
        voided,
        claims: vec![(t, "db-near", "void")],
        admissible: vec![(t, vec![])],
        ..Outcomes::default()
    };
    let comment =
        "the last revocation governs, and voidness passes to another key's claim by its axis";
    vector("verified-compromised-lowered", comment, &h, outcomes)
}

fn redacted() -> Vector {
    let definition = Definition {
        redact: true,
        ..command(&["./token"], &["value~^t-"])
    };
    let token = Probe::new(definition).unwrap();
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    let receipt = h.probe(Alice, s, &token, "t-1");
    let recorded = h.add(Alice, s, axis("db.token", receipt));
    h.seal(Alice, s);
    let mut verdicts = Vec::new();
    for (result, verdict) in [
        (Some(Comparison::Same), "held"),
        (Some(Comparison::Different), "drifted_load_bearing changed"),
        (None, "unverifiable salt_missing"),
    ] {
        let t = h.open(Alice, &[s]);
        let mut receipt = h.ran(&token, "t-1");
        receipt.compared = result
            .map(|result| Compared {
                axis: Seq(recorded),
                result,
            })
            .into_iter()
            .collect();
        h.add(Alice, t, receipt);
        verdicts.push((t, recorded, verdict));
    }
    let outcomes = Outcomes {
        axes: verdicts,
        ..Outcomes::default()
    };
    let comment = "a redacted axis is compared by the tool, which signs the result";
    vector("verified-redacted", comment, &h, outcomes)
}

fn asserted(counts: bool) -> Vector {
    let mut h = History::with_policy(counts, false);
    let s = h.open(Alice, &[]);
    let (_, axis, _) = h.proven(Alice, s, "db-safe");
    h.seal(Alice, s);
    let t = h.open(Alice, &[s]);
    let entry = ReverifiedEntry {
        asserted: Some(of("stage-1")),
        axis: Seq(axis),
        receipt: None,
        unverifiable: None,
    };
    h.add(
        Alice,
        t,
        BoundaryReverified {
            entries: vec![entry],
        },
    );
    let (name, verdict, admissible) = if counts {
        ("verified-asserted", "held", vec!["db-safe"])
    } else {
        (
            "verified-asserted-only",
            "unverifiable asserted_only",
            vec![],
        )
    };
    let outcomes = Outcomes {
        axes: vec![(t, axis, verdict)],
        admissible: vec![(t, admissible)],
        ..Outcomes::default()
    };
    let comment = "an asserted value counts if, and only if, the ledger's policy says so";
    vector(name, comment, &h, outcomes)
}

/// One axis by a command and one by a native check, seen by a session each way there is.
fn verdicts() -> Vector {
    let tcp = Probe::new(Definition::check(of("tcp=db.example:5432"))).unwrap();
    let mut h = History::opened();
    let s = h.open(Alice, &[]);
    let (_, by_command) = h.host_axis(Alice, s);
    let mut checked = h.ran(&tcp, "reachable");
    checked.outcome = Outcome::Checked;
    let receipt = h.add(Alice, s, checked.clone());
    let by_check = h.add(Alice, s, axis("db.tcp", receipt));
    h.seal(Alice, s);
    let mut axes = Vec::new();
    for (outcome, verdict) in [
        (Outcome::NotFound, "unverifiable not_found"),
        (Outcome::NotExecutable, "unverifiable not_executable"),
        (Outcome::Signaled(9), "unverifiable signaled"),
        (Outcome::TimedOut, "unverifiable timed_out"),
        (Outcome::Interrupted, "unverifiable interrupted"),
        (Outcome::Exited(0), "unverifiable unparsable"),
    ] {
        let t = h.open(Alice, &[s]);
        let body = h.ended(&host(), outcome);
        h.add(Alice, t, body);
        axes.push((t, by_command, verdict));
    }
    let mut unexpected = h.ran(&host(), "stage-1");
    unexpected.outcome = Outcome::Exited(3);
    let mut unmet = h.ran(&host(), "stage-1");
    unmet.expectations[0].met = false;
    let mut refused = checked.clone();
    refused.value = Some(of("refused"));
    let mut failed = h.ended(&tcp, Outcome::Failed);
    failed.outputs = None;
    for (receipt, axis, verdict) in [
        (unexpected, by_command, "unverifiable unexpected_exit"),
        (unmet, by_command, "drifted_load_bearing expectation_unmet"),
        (refused, by_check, "drifted_load_bearing unreachable"),
        (failed, by_check, "unverifiable failed"),
        (checked, by_check, "held"),
    ] {
        let t = h.open(Alice, &[s]);
        h.add(Alice, t, receipt);
        axes.push((t, axis, verdict));
    }
    let t = h.open(Alice, &[s]);
    axes.push((t, by_command, "unverifiable not_probed"));
    for (why, verdict) in [
        (NotProbedWhy::NotRun, "unverifiable not_run"),
        (NotProbedWhy::NoExec, "unverifiable no_exec"),
        (NotProbedWhy::Untrusted, "unverifiable untrusted"),
        (NotProbedWhy::SaltMissing, "unverifiable salt_missing"),
    ] {
        let t = h.open(Alice, &[s]);
        let entry = ReverifiedEntry {
            asserted: None,
            axis: Seq(by_command),
            receipt: None,
            unverifiable: Some(why),
        };
        h.add(
            Alice,
            t,
            BoundaryReverified {
                entries: vec![entry],
            },
        );
        axes.push((t, by_command, verdict));
    }
    let stale = h.open(Alice, &[s]);
    h.wait(-STALE_MS);
    h.probe(Alice, stale, &host(), "stage-1");
    h.wait(STALE_MS);
    axes.push((stale, by_command, "unverifiable stale"));
    let ahead = h.open(Alice, &[s]);
    h.wait(600_000);
    h.probe(Alice, ahead, &host(), "stage-1");
    h.wait(-600_000);
    h.open(Alice, &[s]);
    axes.push((ahead, by_command, "unverifiable future"));
    let outcomes = Outcomes {
        axes,
        ..Outcomes::default()
    };
    let comment =
        "every reason of an axis verdict but those of other vectors: changed, void, asserted_only";
    vector("verified-verdicts", comment, &h, outcomes)
}

fn upgraded() -> Vector {
    let mut h = History::opened();
    h.add(Root, 0, LedgerUpgraded { rules: 2, v: 1 });
    h.add(Bob, 0, h.opening_of(&[]));
    let comment = "past an upgrade to rules that version 1 does not know, no event is judged";
    vector("undetermined-upgraded", comment, &h, Outcomes::default())
}

fn newer_rules() -> Vector {
    let mut h = History::empty();
    h.add(Root, 0, opening(false, false, 2));
    let comment = "a ledger that was opened with rules that version 1 does not know";
    vector("undetermined-opened", comment, &h, Outcomes::default())
}

#[test]
fn histories_start_at_a_time_that_prints() {
    let h = History::opened();
    let time = Time::from_ms(h.state.head_time().unwrap().ms());
    assert_eq!(time.to_string(), "2026-01-05T09:00:01.000Z");
}
