//! The ledger at hand: verified whole, against what this machine saw of it before.

use super::super::verify;
use super::{Check, Found, Name, custody};
use crate::append::LedgerError;
use crate::cli::args::{Common, Verify};
use crate::cli::context::Context;
use crate::cli::examined::Answers;
use crate::cli::output::Output;
use crate::cli::report::Failure;
use crate::home::clock;
use crate::home::paths::Folders;
use crate::observation::AHEAD_MS_MAX;
use crate::slice::Question;
use crate::store::Read;
use crate::store::index::IndexFile;
use crate::store::sqlite::{SqliteLedger, WAIT};
use crate::types::{Head, PublicKey, Time};
use crate::verify::{Basis, By, Report, Verification};
use std::path::Path;

pub(super) fn checks(
    common: &Common,
    folders: &Folders,
    path: &Path,
    signer: Option<&PublicKey>,
) -> Vec<Check> {
    // Its lines are the report's, which is told here in other words.
    let (asked, witnesses) = (Verify::default(), Vec::new());
    let report = match verify::verify(common, &asked, witnesses, &mut Output::mute()) {
        Ok(verified) => verified.report,
        Err(failure) => return vec![Check::failed(Name::Ledger, failure), clock_alone()],
    };
    let view = view(&report, folders, path);
    let authority = match view.found {
        Found::Ok => authority(common, signer),
        Found::Warn | Found::Failed(_) | Found::Skipped => {
            Check::skipped(Name::KeyAuthority, "it is read by the view")
        }
    };
    vec![
        ledger(&report, path),
        rollback(&report),
        view,
        pins(&report),
        authority,
        clock(&report, path),
    ]
}

fn authority(common: &Common, signer: Option<&PublicKey>) -> Check {
    let state = Context::examine(common, &mut Output::mute())
        .and_then(|context| context.ledger.ask(&Question::default()));
    match state {
        Ok(state) => custody::authority(signer, &state),
        Err(failure) => Check::failed(Name::KeyAuthority, failure),
    }
}

fn ledger(report: &Report, path: &Path) -> Check {
    let told = format!("{}: {} events, ", path.display(), report.events);
    let first = report.faults.items().first();
    let why = match (first, report.refused.items().first()) {
        (Some(fault), _) => format!(": {}", fault.detail),
        (None, Some(refused)) => format!(": event {} by {}", refused.seq, refused.rule),
        (None, None) => String::new(),
    };
    let told = format!("{told}{}{why}", report.result.as_str());
    match report.result {
        Verification::Verified | Verification::SelfConsistent => Check::ok(Name::Ledger, told),
        Verification::Tampered
        | Verification::Unlawful
        | Verification::Undetermined
        | Verification::Incomplete
        | Verification::Empty
        | Verification::Error => {
            let failed = Found::Failed(report.result.into());
            Check::new(Name::Ledger, failed, told).next("handoff verify")
        }
    }
}

fn rollback(report: &Report) -> Check {
    let is_other = |kind: &str| ["rollback", "fork"].contains(&kind);
    let mut faults = report.faults.items().iter();
    if let Some(fault) = faults.find(|fault| is_other(fault.kind)) {
        let failure = Failure::integrity("rollback", fault.detail.clone());
        let next = "restore the newer file, or: handoff acknowledge --rollback --reason WHY";
        return Check::failed(Name::Rollback, failure.next(next));
    }
    match (report.end.by, report.end.seq) {
        (By::None, _) | (_, None) => Check::warn(
            Name::Rollback,
            "nothing outside the ledger says where it ended: it may have been cut back; keep its head on another machine",
            "handoff head >> HEADS",
        ),
        (_, Some(seq)) => Check::ok(
            Name::Rollback,
            format!("all that was known of it is there, up to event {seq}"),
        ),
    }
}

fn view(report: &Report, folders: &Folders, file: &Path) -> Check {
    let (Some(id), Some(head)) = (report.ledger, report.head) else {
        return Check::skipped(Name::View, "there is no intact event");
    };
    let path = match folders.view(&id) {
        Ok(path) => path,
        Err(error) => return Check::failed(Name::View, error.into()),
    };
    if !path.exists() {
        let detail = "there is none yet: a rollback before now would not be noticed";
        return Check::warn(Name::View, detail, "handoff head");
    }
    let anew = "handoff head";
    let (seq, leaf) = match IndexFile::peek(&path) {
        Ok(Some(known)) => known,
        Ok(None) => {
            return Check::warn(
                Name::View,
                "it is empty, or of another version: the next command builds it anew",
                anew,
            );
        }
        Err(error) => return Check::warn(Name::View, error.to_string(), anew),
    };
    // The ledger's own word: it may have grown since the report.
    let own = SqliteLedger::open(file, WAIT).and_then(|store| store.get(seq));
    match own {
        Ok(Some(record)) if record.leaf() == leaf => {
            let detail = match seq < head.seq {
                true => format!(
                    "it is at event {seq}, and is brought to {} when used",
                    head.seq
                ),
                false => format!("{} is at the ledger's head, {seq}", path.display()),
            };
            Check::ok(Name::View, detail)
        }
        Ok(_) => {
            let message = format!("event {seq}, up to which it was verified, is gone or another");
            let failure = Failure::integrity("rollback", message);
            Check::failed(Name::View, failure.next("handoff verify"))
        }
        Err(error) => Check::failed(Name::View, LedgerError::from(error).into()),
    }
}

fn pins(report: &Report) -> Check {
    let Some(root) = report.signer.root_key else {
        return Check::skipped(Name::Pins, "there is no root key to pin");
    };
    match report.signer.basis {
        Basis::Pinned => Check::ok(Name::Pins, format!("root key {root} is pinned here")),
        Basis::Given => Check::ok(Name::Pins, format!("root key {root} was given")),
        Basis::Unpinned => {
            let message = format!(
                "root key {root} is not pinned: whose ledger is it? Take the key from its owner"
            );
            let next = "handoff trust add KEY";
            let failure = Failure::cannot_judge("unpinned_root", message);
            Check::failed(Name::Pins, failure.next(next))
        }
    }
}

/// The clock against itself, where there is no event to compare it with.
pub(super) fn clock_alone() -> Check {
    let now = clock::now();
    match never_set(now) {
        Some(check) => check,
        None => Check::ok(Name::Clock, now.to_string()),
    }
}

fn never_set(now: Time) -> Option<Check> {
    clock::was_never_set(now).then(|| {
        let message = format!("it says {now}: it was never set, and events would be dated by it");
        let failure = Failure::environment("clock", message);
        Check::failed(Name::Clock, failure.next("set the clock"))
    })
}

fn clock(report: &Report, path: &Path) -> Check {
    let now = clock::now();
    if let Some(check) = never_set(now) {
        return check;
    }
    let last = report.head.and_then(|head| dated(path, &head));
    let ahead = last.filter(|last| last.ms().saturating_sub(now.ms()) > AHEAD_MS_MAX);
    if let Some(ahead) = ahead {
        let detail = format!(
            "it says {now}, and the last event is dated {ahead}: what is dated ahead is unverifiable \
             until then"
        );
        return Check::warn(
            Name::Clock,
            detail,
            "set the clock, here or where that was signed",
        );
    }
    match report.clock_went_back.items().first() {
        Some(first) => {
            let detail = format!("{now}; a signer's clock went back, first at event {first}");
            Check::warn(Name::Clock, detail, format!("handoff show {first}"))
        }
        None => Check::ok(Name::Clock, now.to_string()),
    }
}

/// The time of the last event.
fn dated(path: &Path, head: &Head) -> Option<Time> {
    let store = SqliteLedger::open(path, WAIT).ok()?;
    let record = store.get(head.seq).ok()??;
    let event = crate::format::decode(record.event_bytes()?).ok()?;
    Some(event.time)
}
