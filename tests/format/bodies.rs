//! Bodies of events, with what a vector does not care about filled in.

use crate::builder::{STATEMENT, Who, of, set};
use handoff_ledger::event::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::{
    Committed, Definition, Judgement, Outcome, OutputCommitment, Outputs, Probe, met_by_empty,
    recomputable,
};
use handoff_ledger::types::{Digest, Seq};

pub(crate) fn opening(asserted_values: bool, four_eyes: bool, rules: u64) -> LedgerOpened {
    LedgerOpened {
        name: of("vectors"),
        nonce: hash::bytes(b"handoff-ledger vectors"),
        policy: Policy {
            asserted_values,
            four_eyes,
        },
        rules,
    }
}

pub(crate) fn authorization(who: Who, label: &str, roles: &[Role]) -> KeyAuthorized {
    KeyAuthorized {
        key: who.key().public(),
        label: of(label),
        roles: set(roles.iter().copied()),
    }
}

pub(crate) fn revocation(who: Who, compromised_since: Option<u64>) -> KeyRevoked {
    KeyRevoked {
        compromised_since: compromised_since.map(Seq),
        key: who.key().public(),
        reason: of("lost"),
    }
}

/// A command with expectations.
pub(crate) fn command(argv: &[&str], expect: &[&str]) -> Definition {
    Definition {
        expect: expect.iter().copied().map(of).collect(),
        ..Definition::command(argv.iter().map(|word| (*word).to_owned()))
    }
}

pub(crate) fn probe(argv: &[&str], expect: &[&str]) -> Probe {
    Probe::new(command(argv, expect)).unwrap()
}

/// The probe of the axis `db.host`; it expects more than an exit code.
pub(crate) fn host() -> Probe {
    probe(&["./db-host"], &["value~^[a-z]+-[0-9]+$"])
}

/// The probe of a proof.
pub(crate) fn proof() -> Probe {
    probe(&["./check", "migration"], &["value=ok"])
}

/// A run of a probe.
pub(crate) fn receipt(
    probe: &Probe,
    value: Option<&str>,
    outcome: Outcome,
    scope: Digest,
) -> ProbeReceipt {
    let redact = probe.redact();
    let shown = value.filter(|_| !redact);
    let judged = probe.expect().iter().map(|expectation| {
        let met = recomputable(probe, expectation, shown, &outcome);
        let empty = met_by_empty(probe.extract(), expectation);
        Judgement {
            met: met.unwrap_or(value.is_some()),
            met_by_empty: empty.unwrap_or(false),
        }
    });
    let salt = [0x5a; hash::SALT_BYTES];
    let committed = |bytes: &[u8]| {
        let commitment = Committed {
            commitment: hash::commitment(&salt, bytes),
            length: u64::try_from(bytes.len()).unwrap(),
        };
        OutputCommitment {
            kept: commitment,
            whole: commitment,
        }
    };
    let printed = value.map_or(String::new(), |value| format!("{value}\n"));
    let redacted = value.filter(|_| redact).map(|value| Redacted {
        commitment: hash::commitment(&salt, value.as_bytes()),
        salt_digest: hash::salt(&salt),
    });
    let started =
        probe.check().is_none() && !matches!(outcome, Outcome::NotFound | Outcome::NotExecutable);
    ProbeReceipt {
        begun: None,
        compared: Vec::new(),
        duration_ms: 12,
        executable: None,
        expectations: judged.collect(),
        extracted: value.is_some(),
        files: Vec::new(),
        outcome,
        outputs: started.then(|| Outputs {
            stderr: committed(b""),
            stdout: committed(printed.as_bytes()),
        }),
        pipe_held: false,
        probe: probe.clone(),
        probe_digest: probe.digest(),
        redacted,
        scope,
        value: shown.map(of),
    }
}

pub(crate) fn axis(name: &str, receipt: u64) -> AxisRecorded {
    AxisRecorded {
        axis: of(name),
        class: AxisClass::Reachability,
        comparator: of("exact"),
        max_age_ms: None,
        receipt: Seq(receipt),
    }
}

pub(crate) fn declaration(names: &[&str]) -> AmbientDeclared {
    let entries = names.iter().map(|name| AmbientEntry {
        name: of(name),
        observed: Vec::new(),
        reason: of("differs from host to host"),
    });
    AmbientDeclared {
        entries: entries.collect(),
    }
}

pub(crate) fn verified(claim: &str, receipts: &[u64], needs: &[u64]) -> ClaimVerified {
    ClaimVerified {
        claim: of(claim),
        from: set([]),
        independent: None,
        needs: set(needs.iter().copied().map(Seq)),
        receipts: set(receipts.iter().copied().map(Seq)),
        statement: of(STATEMENT),
    }
}

/// A flag whose step is [`proof`].
pub(crate) fn flagged(claim: &str) -> ClaimFlagged {
    let step = proof();
    ClaimFlagged {
        claim: of(claim),
        derivation: of("The log says so."),
        directive: Directive {
            do_not_act_on: of(claim),
            until_probe: step.digest(),
        },
        executable: None,
        files: Vec::new(),
        independent: None,
        met_by_empty: vec![false],
        needs: Vec::new(),
        statement: of(STATEMENT),
        step_digest: step.digest(),
        step,
    }
}

pub(crate) fn need(name: &str) -> FlagNeed {
    FlagNeed {
        axis: of(name),
        comparator: None,
        probe_digest: None,
    }
}

pub(crate) fn promoted(claim: &str, flag: u64, receipt: u64, needs: &[u64]) -> ClaimPromoted {
    ClaimPromoted {
        claim: of(claim),
        flag: Seq(flag),
        from: set([]),
        independent: None,
        needs: set(needs.iter().copied().map(Seq)),
        receipt: Seq(receipt),
    }
}

pub(crate) fn withdrawn(claim: &str, flag: u64) -> ClaimDiscarded {
    ClaimDiscarded {
        claim: of(claim),
        flag: Some(Seq(flag)),
        reason: Some(of("not wanted any more")),
        statement: of(STATEMENT),
        why: DiscardWhy::Withdrawn,
    }
}

pub(crate) fn retracted(claim: &str) -> ClaimRetracted {
    ClaimRetracted {
        claims: set([of(claim)]),
        reason: of("it was not so"),
        receipt: None,
    }
}

pub(crate) fn gated(claim: &str, decision: GateDecision) -> ActionGated {
    ActionGated {
        argv: vec![of("./deploy"), of("staging")],
        claims: set([of(claim)]),
        decision,
    }
}

pub(crate) fn reverified(axis: u64, receipt: u64) -> BoundaryReverified {
    BoundaryReverified {
        entries: vec![ReverifiedEntry {
            asserted: None,
            axis: Seq(axis),
            receipt: Some(Seq(receipt)),
            unverifiable: None,
        }],
    }
}

pub(crate) fn abandoned(session: u64) -> SessionAbandoned {
    SessionAbandoned {
        reason: of("it went nowhere"),
        session: Seq(session),
    }
}

pub(crate) fn acknowledged(up_to: u64) -> EventAcknowledged {
    EventAcknowledged {
        reason: of("looked into"),
        up_to: Seq(up_to),
    }
}
