//! Which rule an event breaks, and how: the closed list of what [`crate::rules`] can refuse.
//!
//! Numbers in the comments are those of the rules in `ledger-format.md`.

use crate::lists::closed;

closed! {
    /// The rule that a refused event breaks.
    Rule {
        /// 13: the signer was never authorised.
        KeyNotAuthorized = "key_not_authorized",
        /// 13: the signer is revoked.
        KeyRevoked = "key_revoked",
        /// 13: the signer's roles do not cover the kind.
        Role = "role",
        /// The kind or version is not allowed in this ledger.
        KindNotAllowed = "kind_not_allowed",
        /// The ledger is opened once, by its first event.
        AlreadyOpened = "already_opened",
        /// An upgrade raises a version and lowers none.
        UpgradeLowers = "upgrade_lowers",
        /// 13: one authorisation per key.
        KeyAlreadyAuthorized = "key_already_authorized",
        /// 13: a key that is not fit to be trusted.
        KeyWeak = "key_weak",
        /// 13: another key has the label.
        LabelInUse = "label_in_use",
        /// 13: the key to revoke was never authorised.
        KeyUnknown = "key_unknown",
        /// 13: the root is never revoked.
        RootIrrevocable = "root_irrevocable",
        /// 13: only the root makes or unmakes admins.
        RootOnly = "root_only",
        /// 13: an admin may only lower `compromised_since`, to a seq before the event.
        CompromisedSince = "compromised_since",
        /// The envelope's session is 0 for this kind, or must not be.
        Session = "session",
        /// There is no such session.
        SessionUnknown = "session_unknown",
        /// 12: the session has ended.
        SessionEnded = "session_ended",
        /// 12: the session was opened by another key.
        SessionKey = "session_key",
        /// 15: only sealed sessions are inherited.
        InheritsUnsealed = "inherits_unsealed",
        /// 11: the ambient list was not declared.
        AmbientUndeclared = "ambient_undeclared",
        /// 11: there is nothing to seal.
        NothingToSeal = "nothing_to_seal",
        /// 11: the boundary digest or a count is another.
        Boundary = "boundary",
        /// The acknowledgement reaches itself or beyond.
        AcknowledgesAhead = "acknowledges_ahead",
        /// What is cited is not there, or is of another kind.
        DanglingReference = "dangling_reference",
        /// 14: what is cited is void.
        Void = "void",
        /// The probe's digest is not that of its definition, or not the one promised.
        ProbeDigest = "probe_digest",
        /// 1: the receipt's scope is not its session's.
        Scope = "scope",
        /// 1: what the receipt says contradicts itself.
        ReceiptShape = "receipt_shape",
        /// 2, 3: the receipt is of another session.
        ReceiptSession = "receipt_session",
        /// 2, 3, 9: the receipt is not successful.
        ReceiptFailed = "receipt_failed",
        /// 3: a constant command is never evidence.
        Vacuous = "vacuous",
        /// 3: no receipt expects more than an exit code.
        NoExpectation = "no_expectation",
        /// 12: the session has a later receipt of the probe.
        ReceiptNotLatest = "receipt_not_latest",
        /// 9: the receipt is older than the flag.
        ReceiptBeforeFlag = "receipt_before_flag",
        /// 10: the receipt is older than the claim's latest retraction.
        ReceiptBeforeRetraction = "receipt_before_retraction",
        /// 2: the receipt's value does not satisfy the comparator.
        Comparator = "comparator",
        /// 2: a redacted axis is compared exactly.
        RedactedComparator = "redacted_comparator",
        /// 5: a support of the session needed the axis.
        AmbientLoadBearing = "ambient_load_bearing",
        /// 5: the axis is allowlisted.
        AxisAmbient = "axis_ambient",
        /// 3: neither axes nor a reason to need none.
        NeedsMissing = "needs_missing",
        /// 3: both axes and a reason to need none.
        NeedsContradict = "needs_contradict",
        /// 4: the axis is not of the session's lineage.
        AxisNotInLineage = "axis_not_in_lineage",
        /// 3: the axis was not held before and after the proof.
        NotBracketed = "not_bracketed",
        /// 4: a claim it is derived from is not admissible.
        FromNotAdmissible = "from_not_admissible",
        /// 6: the id keeps its statement.
        StatementChanged = "statement_changed",
        /// 6: an open flag binds the id or the statement.
        OpenFlag = "open_flag",
        /// 6, 7: the id or the statement is admissible already.
        AlreadyAdmissible = "already_admissible",
        /// 7: a flag without derivation.
        NoDerivation = "no_derivation",
        /// 8: the directive is not the one built from the id and the step.
        Directive = "directive",
        /// 9: the flag's needs are not those of the axes it names.
        FlagNeeds = "flag_needs",
        /// 6, 9: the flag is not open.
        FlagNotOpen = "flag_not_open",
        /// 6: the flag is another session's.
        FlagOwner = "flag_owner",
        /// 9: the statement is not the flag's.
        FlagStatement = "flag_statement",
        /// 9: an axis that the flag names is not needed.
        FlagNeedsMissing = "flag_needs_missing",
        /// 9: the flag does not say that it needs no axis.
        IndependenceNotFlagged = "independence_not_flagged",
        /// 9: the promoting key signed a flag of the claim.
        FourEyes = "four_eyes",
        /// 9: the promotion was refused for another reason than the one given.
        PromotionRefusedWhy = "promotion_refused_why",
        /// 10: a claim that nobody spoke of.
        ClaimUnknown = "claim_unknown",
        /// 18: an entry cites a receipt of another session or probe.
        ReverifiedReceipt = "reverified_receipt",
        /// 12: the decision is not the one that the state gives.
        GateDecision = "gate_decision",
        /// The gate is finished already, or did not let the action run.
        GateFinished = "gate_finished",
    }
}

/// Why an event is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {detail}")]
pub struct Refusal {
    /// The rule it breaks.
    pub rule: Rule,
    /// How, in words.
    pub detail: String,
}

pub(crate) fn refuse<T>(rule: Rule, detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        rule,
        detail: detail.into(),
    })
}

pub(crate) fn require(
    lawful: bool,
    rule: Rule,
    detail: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    if lawful {
        Ok(())
    } else {
        refuse(rule, detail())
    }
}
