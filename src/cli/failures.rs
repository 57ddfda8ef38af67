//! What each of the library's errors is to the person at the terminal: an exit code, a stable name
//! and the command to type next.

use super::context::command;
use super::known::RESTORE;
use super::report::{Exit, Failure};
use crate::append::LedgerError;
use crate::credential::Found;
use crate::home::FileError;
use crate::home::clock::RandomError;
use crate::home::keys::KeyFileError;
use crate::home::memory::MemoryError;
use crate::home::paths::PathError;
use crate::home::pins::PinError;
use crate::home::scope::ScopeError;
use crate::home::view::ViewError;
use crate::home::witness::WitnessError;
use crate::probe_spec::ProbeError;
use crate::refusal::{Refusal, Rule};
use crate::store::{Oversized, StoreError};
use crate::types::ParseError;
use serde_json::json;
use std::path::Path;

/// The code of "there is no ledger here".
pub(super) const NO_LEDGER: &str = "no_ledger";
/// The code of "a ledger of this machine's own is not where it was".
pub(super) const LEDGER_GONE: &str = "ledger_gone";
/// The code of a view that turned out damaged.
pub(super) const VIEW_UNUSABLE: &str = "index_unusable";

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let (code, message) = (error.code(), error.to_string());
        match &error {
            StoreError::Busy { .. } => Failure::environment(code, message)
                .retryable()
                .next("the same command again, or with --wait 30s before it"),
            StoreError::Schema { .. }
            | StoreError::Storage { .. }
            | StoreError::Guarded { .. }
            | StoreError::NotNext { .. } => {
                Failure::integrity(code, message).next("handoff verify")
            }
            StoreError::Sidecar { path } => Failure::integrity(code, message).next(format!(
                "move {} elsewhere: no ledger has one; then: handoff verify",
                path.display()
            )),
            StoreError::Indeterminate {
                first, last, leaf, ..
            } => {
                let details = json!({ "first": first, "seq": last, "leaf": leaf });
                let message = format!("{message}; leaf {leaf} at event {last} means it was");
                Failure::indeterminate(code, message)
                    .next(format!("handoff show {last}"))
                    .details(details)
            }
            StoreError::Absent { .. } => Failure::environment(code, message)
                .next("the same command with the path of a ledger"),
            StoreError::AlreadyExists { .. } => {
                Failure::environment(code, message).next("handoff head")
            }
            StoreError::TooLarge { what, .. } => {
                Failure::environment(code, message).next(what_is_smaller(*what))
            }
            StoreError::Empty { .. } => Failure::environment(code, message).next("handoff head"),
            StoreError::Newer { .. } => {
                Failure::environment(code, message).next("cargo install handoff-ledger")
            }
            StoreError::NotALedger { .. } => {
                Failure::environment(code, message).next("handoff --ledger PATH head")
            }
            StoreError::Io { .. } | StoreError::Full { .. } => Failure::environment(code, message)
                .retryable()
                .next("handoff head"),
            StoreError::IndexUnusable { .. } => Failure::environment(VIEW_UNUSABLE, message)
                .retryable()
                .next("the same command again: the view is built anew"),
        }
    }
}

/// What to do about something too large.
fn what_is_smaller(what: Oversized) -> &'static str {
    match what {
        Oversized::Record | Oversized::Capture => "the same command with less in it",
        Oversized::File => {
            "where the ledger is: handoff export -o FILE, which leaves captures out; then here: \
             handoff verify FILE"
        }
        Oversized::Holes => "cp --sparse=never FILE COPY && handoff verify COPY",
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let remark = remark(refusal.rule);
        let message = format!("{}{remark}", refusal.detail);
        Failure::no(refusal.rule.as_str(), message).next(advice(refusal.rule))
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Failure {
        let message = error.to_string();
        match error {
            LedgerError::Store(error) => error.into(),
            LedgerError::Refused(refusal) => refusal.into(),
            LedgerError::Fault(fault) => {
                Failure::integrity(fault.kind.name(), message).next("handoff verify")
            }
            LedgerError::Rollback { .. } => Failure::integrity("rollback", message).next(RESTORE),
            LedgerError::Fork { .. } => Failure::integrity("fork", message).next(RESTORE),
            LedgerError::Unspeakable(_) => {
                Failure::no("out_of_bounds", message).next("the same command with a shorter text")
            }
            LedgerError::Content(_) => {
                Failure::integrity("capture", message).next("handoff verify")
            }
            LedgerError::Judgement(_) => Failure::environment(VIEW_UNUSABLE, message)
                .retryable()
                .next("the same command again: the view is built anew"),
            LedgerError::Credential(found) => credential(&found),
            LedgerError::Undetermined(_) => {
                Failure::cannot_judge("undetermined", message).next("cargo install handoff-ledger")
            }
            LedgerError::Empty => Failure::cannot_judge("empty", message).next("handoff init"),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Failure {
        let message = error.to_string();
        match error {
            ViewError::Path(error) => error.into(),
            ViewError::Memory(error) => error.into(),
            ViewError::Ledger(error) => error.into(),
            ViewError::Journal { journal, error } => forged(&journal, *error, message),
            ViewError::OtherLedger { .. } => {
                Failure::integrity("other_ledger", error.to_string()).next(RESTORE)
            }
            ViewError::Emptied { .. } => emptied(error.to_string()),
        }
    }
}

/// Exit 4: a journal would take away what was verified. It is named by what it would do.
fn forged(journal: &Path, error: ViewError, message: String) -> Failure {
    let code = match Failure::from(error) {
        failure if failure.exit == Exit::Integrity => failure.code,
        _ => "rollback",
    };
    let journal = journal.to_string_lossy();
    let aside = format!("{journal}.kept");
    let next = command(&["mv", &journal, &aside]);
    Failure::integrity(code, message).next(format!("{next} && handoff verify"))
}

/// Exit 4: of a ledger of this machine's own nothing is left, and nothing can be accepted.
pub(super) fn emptied(message: String) -> Failure {
    Failure::integrity("rollback", message)
        .next("restore the file; or remove it, and: handoff import FILE, of an export")
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Failure {
        let message = error.to_string();
        match error {
            MemoryError::Path(error) => error.into(),
            MemoryError::Exposed { .. } | MemoryError::Unreadable { .. } => {
                Failure::environment("memory", message)
                    .next("handoff acknowledge --rollback --reason WHY")
            }
            MemoryError::OwnFiles(inner) => {
                let failure = Failure::environment("memory", message);
                match *inner {
                    MemoryError::Exposed { path } | MemoryError::Unreadable { path, .. } => failure
                        .next(format!(
                            "look at what is in {}, then put it right (chmod go-w), or move it \
                             away: which files were yours is forgotten with it",
                            path.display()
                        )),
                    MemoryError::Path(_)
                    | MemoryError::OwnFiles(_)
                    | MemoryError::Lock(_)
                    | MemoryError::File(_) => failure.retryable().next("the same command again"),
                }
            }
            MemoryError::Lock(_) | MemoryError::File(_) => Failure::environment("memory", message)
                .retryable()
                .next("the same command again"),
        }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Failure {
        let code = match &error {
            PathError::NoLedger { .. } => NO_LEDGER,
            PathError::NoHome { .. }
            | PathError::NotYours { .. }
            | PathError::Empty
            | PathError::NotUtf8 { .. }
            | PathError::File(_) => "path",
        };
        Failure::environment(code, error.to_string()).next(error.next())
    }
}

impl From<KeyFileError> for Failure {
    fn from(error: KeyFileError) -> Failure {
        Failure::environment("key_file", error.to_string()).next(error.next())
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        let code = match error {
            FileError::Exists { .. } => "already_exists",
            FileError::Io { .. } | FileError::NotRegular { .. } | FileError::TooLarge { .. } => {
                "file"
            }
        };
        Failure::environment(code, error.to_string()).next("the same command with another FILE")
    }
}

impl From<WitnessError> for Failure {
    fn from(error: WitnessError) -> Failure {
        let failure = Failure::environment("witness", error.to_string()).next(error.next());
        match error {
            WitnessError::Lock(_) => failure.retryable(),
            WitnessError::File(_)
            | WitnessError::Forgotten { .. }
            | WitnessError::List { .. }
            | WitnessError::Exposed { .. }
            | WitnessError::Damaged { .. } => failure,
        }
    }
}

impl From<PinError> for Failure {
    fn from(error: PinError) -> Failure {
        Failure::environment("pins", error.to_string()).next(error.next())
    }
}

impl From<ScopeError> for Failure {
    fn from(error: ScopeError) -> Failure {
        let failure = Failure::environment("scope", error.to_string()).next(error.next());
        match error {
            ScopeError::Unread(_) => failure.retryable(),
            ScopeError::Root { .. } | ScopeError::NotUtf8 { .. } | ScopeError::Garbled { .. } => {
                failure
            }
        }
    }
}

impl From<RandomError> for Failure {
    fn from(error: RandomError) -> Failure {
        Failure::environment("random", error.to_string())
    }
}

impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Failure {
        Failure::usage(error.to_string())
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Failure {
        Failure::usage(error.to_string())
    }
}

/// The refusal of a credential that would have been signed. It does not show it.
pub(super) fn credential(found: &Found) -> Failure {
    let Found { field, rule } = found;
    let message = format!("{field} looks like a credential (rule {rule}); nothing was recorded");
    let next = match field.as_str() {
        "value" => "the same command with --redact, or with --extract sha256",
        field if field.contains("argv") => {
            "the same command with the credential in a variable: --env NAME --shell -- '… $NAME'"
        }
        _ => "the same command without it, in other words",
    };
    let details = json!({ "field": field, "rule": rule });
    Failure::no("credential", message)
        .next(next)
        .details(details)
}

/// What the newcomer to a rule has to know beside what broke it.
fn remark(rule: Rule) -> &'static str {
    if matches!(rule, Rule::Role | Rule::KeyAlreadyAuthorized) {
        " (roles are given to a key once, for good; others are given to a new key)"
    } else if rule == Rule::Scope {
        " (a session is of the folder, machine and namespaces that it was opened in)"
    } else {
        ""
    }
}

/// What to type after a refusal, by the rule.
fn advice(rule: Rule) -> &'static str {
    match rule {
        Rule::KeyNotAuthorized => {
            "let an admin type: handoff key authorize KEY --label NAME, with what handoff key show \
             prints here"
        }
        Rule::Role => "handoff key list",
        Rule::KeyRevoked => "handoff --key ANOTHER resume --agent NAME",
        Rule::KindNotAllowed
        | Rule::AlreadyOpened
        | Rule::UpgradeLowers
        | Rule::AcknowledgesAhead
        | Rule::DanglingReference
        | Rule::GateFinished => "handoff log",
        Rule::KeyAlreadyAuthorized => "handoff key new --label NAME",
        Rule::KeyWeak | Rule::KeyUnknown | Rule::LabelInUse => "handoff key list",
        Rule::RootIrrevocable => {
            "keep the root key offline, with an admin at hand; if it was stolen, make a ledger anew"
        }
        Rule::RootOnly => "the same command with --key ROOT",
        Rule::CompromisedSince => "the same command with another SEQ, or with --key ROOT",
        Rule::Session | Rule::SessionUnknown | Rule::SessionKey => "handoff session list",
        Rule::SessionEnded => "handoff resume --agent NAME",
        Rule::InheritsUnsealed => "handoff session list",
        Rule::AmbientUndeclared => "handoff ambient --none",
        Rule::NothingToSeal => "handoff session abandon N --reason WHY",
        Rule::Boundary | Rule::Directive | Rule::FlagNeeds => "the same command again",
        Rule::Void => "the same command with a probe run anew: what is cited is void",
        Rule::Scope => "handoff resume --agent NAME",
        Rule::ProbeDigest
        | Rule::ReceiptShape
        | Rule::ReceiptSession
        | Rule::ReceiptNotLatest
        | Rule::ReceiptBeforeFlag
        | Rule::ReceiptBeforeRetraction => "the same command with -- ARGV instead of --receipt",
        Rule::ReceiptFailed | Rule::Comparator => "handoff show SEQ",
        Rule::Vacuous => "the same command with a probe that can fail",
        Rule::NoExpectation => {
            "the same command with --expect (or --exit-only, which is shown as weak)"
        }
        Rule::RedactedComparator => "the same command without --holds-if",
        Rule::AmbientLoadBearing => "the same command without that name",
        Rule::AxisAmbient => "the same command without that axis: it may drift",
        Rule::NeedsMissing => "the same command with --needs AXIS or --environment-independent WHY",
        Rule::NeedsContradict => "the same command with --needs alone",
        Rule::AxisNotInLineage => "handoff axis NAME --class CLASS -- ARGV",
        Rule::NotBracketed => {
            "the same command again; where an axis differs from probe to probe, record what of it \
             holds still (--extract, --holds-if), or do not need it"
        }
        Rule::FromNotAdmissible => "handoff can ID",
        Rule::StatementChanged => "the same command under another id",
        Rule::OpenFlag | Rule::FlagStatement => "handoff promote ID",
        Rule::AlreadyAdmissible => "handoff can ID",
        Rule::NoDerivation => "the same command with --because HOW",
        Rule::FlagNotOpen | Rule::FlagOwner => "handoff state",
        Rule::FlagNeedsMissing => "the same command with the flag's axes in --needs",
        Rule::IndependenceNotFlagged => "the same command with --needs AXIS",
        Rule::FourEyes => "handoff --key ANOTHER promote ID",
        Rule::PromotionRefusedWhy => "handoff promote ID",
        Rule::ClaimUnknown => "handoff state",
        Rule::ReverifiedReceipt => "handoff reverify",
        Rule::GateDecision => "handoff can ID",
    }
}
