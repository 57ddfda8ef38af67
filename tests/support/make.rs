//! Bodies of events that are right in themselves; tests spoil what they are about.

use super::{SCOPE, seqs};
use handoff_ledger::event::{
    ActionFinished, ActionGated, AmbientDeclared, AmbientEntry, AxisClass, AxisRecorded,
    BoundaryReverified, CaptureErased, ClaimDiscarded, ClaimFlagged, ClaimPromoted,
    ClaimPromotionRefused, ClaimRetracted, ClaimVerified, Directive, DiscardWhy, EventAcknowledged,
    FlagNeed, GateDecision, KeyAuthorized, KeyRevoked, LedgerUpgraded, NotProbedWhy, ProbeBegun,
    ProbeReceipt, PromotionRefusedWhy, Redacted, ReverifiedEntry, Role, SessionAbandoned,
    SessionOpened, Unknown,
};
use handoff_ledger::hash;
use handoff_ledger::probe_spec::{
    self, Committed, Comparator, Definition, Judgement, Outcome, OutputCommitment, Outputs, Probe,
};
use handoff_ledger::types::{Ascending, Digest, PublicKey, Seq, Text, Value};

/// A text.
pub fn text(text: &str) -> Text {
    text.parse().unwrap()
}

/// A value.
pub fn value(text: &str) -> Value {
    text.parse().unwrap()
}

/// A command with expectations.
pub fn command(argv: &[&str], expect: &[&str]) -> Probe {
    Probe::new(Definition {
        expect: expect.iter().map(|each| each.parse().unwrap()).collect(),
        ..Definition::command(argv.iter().map(|word| (*word).to_owned()))
    })
    .unwrap()
}

/// A native check.
pub fn native(check: &str) -> Probe {
    Probe::new(Definition::check(check.parse().unwrap())).unwrap()
}

/// The probe by which an axis of this name is observed.
pub fn axis_probe(name: &str) -> Probe {
    command(&["observe", name], &[])
}

/// The probe that shows a claim.
pub fn proof_probe(claim: &str) -> Probe {
    command(&["prove", claim], &["value=ok"])
}

/// The step of a flag.
pub fn step_probe(claim: &str) -> Probe {
    command(&["step", claim], &["value=ok"])
}

/// A command whose value is redacted.
pub fn redacted_probe(argv: &[&str]) -> Probe {
    Probe::new(Definition {
        redact: true,
        ..command(argv, &[]).definition().clone()
    })
    .unwrap()
}

/// How a probe ends when it succeeds.
pub fn success(probe: &Probe) -> Outcome {
    match probe.check() {
        Some(_) => Outcome::Checked,
        None => Outcome::Exited(probe_spec::expected_exit(probe)),
    }
}

/// A receipt of a run, each expectation judged as it must be; of a redacted probe, with a commitment
/// to the value.
pub fn receipt(probe: &Probe, outcome: Outcome, found: Option<&str>) -> ProbeReceipt {
    let finished = outcome.is_finished();
    let shown = found.filter(|_| !probe.redact());
    let judge = |expectation| Judgement {
        met: probe_spec::recomputable(probe, expectation, shown, &outcome).unwrap_or(finished),
        met_by_empty: probe_spec::met_by_empty(probe.extract(), expectation).unwrap_or(false),
    };
    let salt = [3; hash::SALT_BYTES];
    let redacted = found.filter(|_| probe.redact()).map(|found| Redacted {
        commitment: hash::commitment(&salt, found.as_bytes()),
        salt_digest: hash::salt(&salt),
    });
    let started =
        probe.check().is_none() && !matches!(outcome, Outcome::NotFound | Outcome::NotExecutable);
    ProbeReceipt {
        begun: None,
        compared: Vec::new(),
        duration_ms: 5,
        executable: None,
        expectations: probe.expect().iter().map(judge).collect(),
        extracted: finished && found.is_some(),
        files: Vec::new(),
        outcome,
        outputs: started.then(outputs),
        pipe_held: false,
        probe: probe.clone(),
        probe_digest: probe.digest(),
        redacted,
        scope: SCOPE,
        value: shown.map(value),
    }
}

fn outputs() -> Outputs {
    let committed = Committed {
        commitment: Digest([5; 32]),
        length: 2,
    };
    let stream = OutputCommitment {
        kept: committed,
        whole: committed,
    };
    Outputs {
        stderr: stream,
        stdout: stream,
    }
}

/// `key.authorized`
pub fn authorized(key: PublicKey, label: &str, roles: &[Role]) -> KeyAuthorized {
    KeyAuthorized {
        key,
        label: label.parse().unwrap(),
        roles: Ascending::from_unordered(roles.iter().copied()),
    }
}

/// `key.revoked`
pub fn revoked(key: PublicKey, compromised_since: Option<Seq>) -> KeyRevoked {
    KeyRevoked {
        compromised_since,
        key,
        reason: text("it leaked"),
    }
}

/// `ledger.upgraded`
pub fn upgraded(rules: u64, v: u64) -> LedgerUpgraded {
    LedgerUpgraded { rules, v }
}

/// `session.opened`
pub fn opened(inherits: &[Seq]) -> SessionOpened {
    SessionOpened {
        agent: "agent".parse().unwrap(),
        inherits: seqs(inherits),
        purpose: None,
        scope: SCOPE,
    }
}

/// `session.abandoned`
pub fn abandoned(session: Seq) -> SessionAbandoned {
    SessionAbandoned {
        reason: text("it hangs"),
        session,
    }
}

/// `axis.recorded`, compared exactly.
pub fn axis(name: &str, receipt: Seq) -> AxisRecorded {
    AxisRecorded {
        axis: name.parse().unwrap(),
        class: AxisClass::DependencyVersion,
        comparator: Comparator::Exact,
        max_age_ms: None,
        receipt,
    }
}

/// `ambient.declared`
pub fn ambient(names: &[&str]) -> AmbientDeclared {
    let entry = |name: &&str| AmbientEntry {
        name: name.parse().unwrap(),
        observed: Vec::new(),
        reason: text("it does not matter"),
    };
    let mut entries: Vec<AmbientEntry> = names.iter().map(entry).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    AmbientDeclared { entries }
}

/// What a claim of this id states.
pub fn statement(claim: &str) -> Text {
    text(&format!("{claim} is so"))
}

/// `claim.verified`
pub fn verified(claim: &str, receipts: &[Seq], needs: &[Seq], from: &[&str]) -> ClaimVerified {
    ClaimVerified {
        claim: claim.parse().unwrap(),
        from: Ascending::from_unordered(from.iter().map(|claim| claim.parse().unwrap())),
        independent: None,
        needs: seqs(needs),
        receipts: seqs(receipts),
        statement: statement(claim),
    }
}

/// `claim.verified` of a claim that needs no axis.
pub fn independent(claim: &str, receipts: &[Seq]) -> ClaimVerified {
    ClaimVerified {
        independent: Some(text("it is arithmetic")),
        ..verified(claim, receipts, &[], &[])
    }
}

/// `claim.flagged`, with a step of the claim's own and no needs.
pub fn flagged(claim: &str) -> ClaimFlagged {
    flagged_step(claim, step_probe(claim))
}

/// `claim.flagged` with a given step.
pub fn flagged_step(claim: &str, step: Probe) -> ClaimFlagged {
    let met_by_empty = step
        .expect()
        .iter()
        .map(|expect| probe_spec::met_by_empty(step.extract(), expect).unwrap_or(false))
        .collect();
    ClaimFlagged {
        claim: claim.parse().unwrap(),
        derivation: value("the code reads so"),
        directive: Directive {
            do_not_act_on: claim.parse().unwrap(),
            until_probe: step.digest(),
        },
        executable: None,
        files: Vec::new(),
        independent: None,
        met_by_empty,
        needs: Vec::new(),
        statement: statement(claim),
        step_digest: step.digest(),
        step,
    }
}

/// What a flag says of an axis that was recorded when flagged.
pub fn flag_need(name: &str) -> FlagNeed {
    FlagNeed {
        axis: name.parse().unwrap(),
        comparator: Some(Comparator::Exact),
        probe_digest: Some(axis_probe(name).digest()),
    }
}

/// What a flag says of an axis that was not recorded when flagged.
pub fn flag_need_unknown(name: &str) -> FlagNeed {
    FlagNeed {
        axis: name.parse().unwrap(),
        comparator: None,
        probe_digest: None,
    }
}

/// `claim.discarded` that withdraws a flag.
pub fn withdrawn(claim: &str, flag: Seq) -> ClaimDiscarded {
    ClaimDiscarded {
        claim: claim.parse().unwrap(),
        flag: Some(flag),
        reason: Some(text("it was wrong")),
        statement: statement(claim),
        why: DiscardWhy::Withdrawn,
    }
}

/// `claim.discarded` of what was never flagged.
pub fn discarded(claim: &str, why: DiscardWhy) -> ClaimDiscarded {
    ClaimDiscarded {
        claim: claim.parse().unwrap(),
        flag: None,
        reason: None,
        statement: statement(claim),
        why,
    }
}

/// `probe.begun`
pub fn begun(claim: &str, flag: Seq, probe_digest: Digest) -> ProbeBegun {
    ProbeBegun {
        claim: claim.parse().unwrap(),
        flag,
        probe_digest,
    }
}

/// `claim.promoted`
pub fn promoted(claim: &str, flag: Seq, receipt: Seq, needs: &[Seq]) -> ClaimPromoted {
    ClaimPromoted {
        claim: claim.parse().unwrap(),
        flag,
        from: Ascending::default(),
        independent: None,
        needs: seqs(needs),
        receipt,
    }
}

/// `claim.promotion_refused`
pub fn promotion_refused(
    claim: &str,
    flag: Seq,
    receipt: Seq,
    why: PromotionRefusedWhy,
) -> ClaimPromotionRefused {
    ClaimPromotionRefused {
        claim: claim.parse().unwrap(),
        flag,
        receipt,
        why,
    }
}

/// `claim.retracted`
pub fn retracted(claims: &[&str]) -> ClaimRetracted {
    ClaimRetracted {
        claims: Ascending::from_unordered(claims.iter().map(|claim| claim.parse().unwrap())),
        reason: text("it is not so"),
        receipt: None,
    }
}

/// `boundary.reverified`
pub fn reverified(mut entries: Vec<ReverifiedEntry>) -> BoundaryReverified {
    entries.sort_by_key(|entry| entry.axis);
    BoundaryReverified { entries }
}

/// An entry that cites a receipt.
pub fn by_receipt(axis: Seq, receipt: Seq) -> ReverifiedEntry {
    ReverifiedEntry {
        asserted: None,
        axis,
        receipt: Some(receipt),
        unverifiable: None,
    }
}

/// An entry of an asserted value.
pub fn asserted(axis: Seq, text: &str) -> ReverifiedEntry {
    ReverifiedEntry {
        asserted: Some(value(text)),
        axis,
        receipt: None,
        unverifiable: None,
    }
}

/// An entry that says why there is no receipt.
pub fn not_probed(axis: Seq, why: NotProbedWhy) -> ReverifiedEntry {
    ReverifiedEntry {
        asserted: None,
        axis,
        receipt: None,
        unverifiable: Some(why),
    }
}

/// `action.gated`
pub fn gated(claims: &[&str], decision: GateDecision) -> ActionGated {
    ActionGated {
        argv: vec![value("deploy")],
        claims: Ascending::from_unordered(claims.iter().map(|claim| claim.parse().unwrap())),
        decision,
    }
}

/// `action.finished`
pub fn finished(gate: Seq) -> ActionFinished {
    ActionFinished {
        gate,
        outcome: Outcome::Exited(0),
    }
}

/// `capture.erased`
pub fn erased() -> CaptureErased {
    CaptureErased {
        commitments: Ascending::from_unordered([Digest([5; 32])]),
        reason: text("it holds a name"),
    }
}

/// `event.acknowledged`
pub fn acknowledged(up_to: Seq) -> EventAcknowledged {
    EventAcknowledged {
        reason: text("we know"),
        up_to,
    }
}

/// An event of a kind that this program does not know.
pub fn unknown(kind: &str, v: u64) -> handoff_ledger::event::Body {
    handoff_ledger::event::Body::Unknown(Unknown {
        kind: kind.to_owned(),
        v,
        body: r#"{"a":1}"#.to_owned(),
    })
}
