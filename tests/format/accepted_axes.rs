//! Histories that keep every rule, and the verdicts on their axes.

use crate::accepted_claims::inherited;
use crate::builder::Who::{Alice, Bob};
use crate::builder::*;
use crate::vector::{Outcomes, Vector};
use handoff_ledger::event::*;
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::types::Seq;

/// Twelve hours and a second.
const STALE_MS: i64 = 12 * 60 * 60 * 1000 + 1_000;

pub(crate) fn vectors() -> Vec<Vector> {
    vec![
        drift(),
        ambient_drift(),
        redacted(),
        asserted(true),
        asserted(false),
        verdicts(),
    ]
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
    Vector::judged("verified-drift", comment, &h, outcomes)
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
    Vector::judged("verified-ambient-drift", comment, &h, outcomes)
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
    Vector::judged("verified-redacted", comment, &h, outcomes)
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
    Vector::judged(name, comment, &h, outcomes)
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
    Vector::judged("verified-verdicts", comment, &h, outcomes)
}
