//! Histories that keep every rule, or whose refused events are known: ledgers, keys, versions.

use crate::builder::Who::{Alice, Bob, Root};
use crate::builder::*;
use crate::vector::{Outcomes, Vector};
use handoff_ledger::event::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::Outcome;
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Seq, Time};

pub(crate) fn vectors() -> Vec<Vector> {
    vec![
        one_event(),
        every_kind(),
        strings(),
        key_rotation(),
        admin_key(),
        acknowledged_refusal(),
        clock_back(),
        upgraded(),
        newer_rules(),
    ]
}

fn one_event() -> Vector {
    let mut h = History::empty();
    h.add(Root, 0, opening(false, false, 1));
    let comment = "a ledger is opened, and nothing else; the worked example of ledger-format.md";
    Vector::judged("verified-one-event", comment, &h, Outcomes::default())
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
    Vector::judged("verified-every-kind", comment, &h, outcomes)
}

fn strings() -> Vector {
    let mut h = History::opened();
    let mut opening = h.opening_of(&[]);
    let controls: String = (0u8..0x20).map(char::from).collect();
    let text = format!("{controls}\"\\/\u{7f}\u{80}é\u{2028}\u{feff}\u{ffff}\u{1f600}");
    opening.purpose = Some(of(&text));
    h.add(Alice, 0, opening);
    let comment = "a text with every character that is escaped, and some that are not";
    Vector::judged("verified-strings", comment, &h, Outcomes::default())
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
    Vector::judged("verified-key-rotation", comment, &h, outcomes)
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
    Vector::judged("verified-admin", comment, &h, outcomes)
}

fn acknowledged_refusal() -> Vector {
    let mut h = History::opened();
    let refused = h.refuse(Bob, 0, h.opening_of(&[]), Rule::KeyNotAuthorized);
    h.add(Root, 0, acknowledged(refused));
    let comment = "a refused event that the root knows of";
    Vector::judged("verified-acknowledged", comment, &h, Outcomes::default())
}

fn clock_back() -> Vector {
    let mut h = History::opened();
    h.wait(-60_000);
    h.open(Alice, &[]);
    let comment = "a clock that went back is a warning";
    Vector::judged("verified-clock-back", comment, &h, Outcomes::default())
}

fn upgraded() -> Vector {
    let mut h = History::opened();
    h.add(Root, 0, LedgerUpgraded { rules: 2, v: 1 });
    h.add(Bob, 0, h.opening_of(&[]));
    let comment = "past an upgrade to rules that version 1 does not know, no event is judged";
    Vector::judged("undetermined-upgraded", comment, &h, Outcomes::default())
}

fn newer_rules() -> Vector {
    let mut h = History::empty();
    h.add(Root, 0, opening(false, false, 2));
    let comment = "a ledger that was opened with rules that version 1 does not know";
    Vector::judged("undetermined-opened", comment, &h, Outcomes::default())
}

#[test]
fn histories_start_at_a_time_that_prints() {
    let h = History::opened();
    let time = Time::from_ms(h.state.head_time().unwrap().ms());
    assert_eq!(time.to_string(), "2026-01-05T09:00:01.000Z");
}
