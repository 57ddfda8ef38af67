//! The ledger at hand: verified whole, against what this machine saw of it before.

use super::super::verify::{self, Verified};
use super::{Check, Found, Name, custody};
use crate::cli::args::{Common, Verify};
use crate::cli::context::Whose;
use crate::cli::examine::Examination;
use crate::cli::known::{Against, RESTORE};
use crate::cli::output::Output;
use crate::cli::report::Failure;
use crate::home::clock;
use crate::home::folders::Folders;
use crate::home::memory::MemoryError;
use crate::home::own_files::OwnFiles;
use crate::home::pins::Pins;
use crate::home::view::{self, Seen};
use crate::observation::AHEAD_MS_MAX;
use crate::store::index::IndexFile;
use crate::store::positions::Positions as _;
use crate::types::{LedgerId, PublicKey, Time};
use crate::verify::{Basis, By, Report, Verification};
use std::io::ErrorKind;
use std::path::Path;

/// The checks of a ledger, and whose it is taken for. It is opened once, and all that is looked at
/// is what was then verified.
pub(super) fn checks(
    common: &Common,
    folders: &Folders,
    path: &Path,
    signer: Option<&PublicKey>,
) -> (Vec<Check>, Whose) {
    // Its lines are the report's, which is told here in other words.
    let (asked, witnesses) = (Verify::default(), Vec::new());
    let (found, whose) = match verify::verify(common, &asked, witnesses, &mut Output::mute()) {
        Ok(Verified { found, evidence }) => match evidence {
            Some(_) => (found, Whose::Unknown),
            None => (found, Whose::Own),
        },
        Err(failure) => {
            let failed = Check::failed(Name::Ledger, failure);
            let memory = memory(folders, path, None);
            return (vec![failed, memory, clock_alone()], Whose::Unknown);
        }
    };
    let report = &found.report;
    let checks = vec![
        ledger(report, path),
        memory(folders, path, report.ledger.as_ref()),
        rollback(report),
        match whose {
            Whose::Own => view(&found, folders),
            Whose::Unknown => Check::skipped(
                Name::View,
                "it is not this machine's own: nothing is kept of it",
            ),
        },
        pins(report, folders),
        custody::authority(signer, &found.state),
        clock(&found),
    ];
    (checks, whose)
}

/// What is remembered should the view be lost, and which ledger files are this machine's own.
fn memory(folders: &Folders, path: &Path, ledger: Option<&LedgerId>) -> Check {
    let listed = || -> Result<(), MemoryError> {
        OwnFiles::of(folders)?.ledger_at(path)?;
        Ok(())
    };
    if let Err(error) = listed() {
        return Check::failed(Name::Memory, error.into());
    }
    let Some(ledger) = ledger else {
        return Check::skipped(Name::Memory, "there is no intact event");
    };
    match view::seen(folders, ledger) {
        Ok(Seen {
            doubt: Some(error), ..
        }) => Check::failed(Name::Memory, error.into()),
        Ok(Seen {
            head: Some(head), ..
        }) => Check::ok(
            Name::Memory,
            format!("the ledger was verified here up to event {}", head.seq),
        ),
        Ok(Seen { head: None, .. }) => {
            let detail = "nothing is remembered of the ledger: it may have been cut back";
            Check::warn(Name::Memory, detail, "handoff head")
        }
        Err(error) => Check::failed(Name::Memory, error.into()),
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
    let mut faults = report.faults.items().iter();
    if let Some(fault) = faults.find(|fault| Against::of(fault) == Against::Memory) {
        let failure = Failure::integrity(fault.kind, fault.detail.clone());
        return Check::failed(Name::Rollback, failure.next(RESTORE));
    }
    match (report.end.by, report.end.seq) {
        (By::None, _) | (_, None) => Check::warn(
            Name::Rollback,
            "nothing outside the ledger says where it ended: it may have been cut back; keep \
             its head on another machine",
            "handoff head >> HEADS",
        ),
        (_, Some(seq)) => Check::ok(
            Name::Rollback,
            format!("all that was known of it is there, up to event {seq}"),
        ),
    }
}

fn view(found: &Examination, folders: &Folders) -> Check {
    let report = &found.report;
    let (Some(id), Some(head)) = (report.ledger, report.head) else {
        return Check::skipped(Name::View, "there is no intact event");
    };
    let path = match folders.view(&id) {
        Ok(path) => path,
        Err(error) => return Check::failed(Name::View, error.into()),
    };
    if let Err(error) = path.symlink_metadata()
        && error.kind() == ErrorKind::NotFound
    {
        let detail = "there is none yet: the next command makes it, by verifying everything";
        return Check::warn(Name::View, detail, "handoff head");
    }
    let anew = "handoff head";
    let known = IndexFile::peek(&path).and_then(|index| index.map_or(Ok(None), |it| it.head()));
    let (seq, leaf) = match known {
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
    let mut own = None;
    let read = (found.opened).records(seq, seq, |_, record| own = Some(record.leaf()));
    match (read, own) {
        (Ok(()), Some(own)) if own == leaf => {
            let detail = match seq < head.seq {
                true => format!(
                    "it is at event {seq}, and is brought to {} when used",
                    head.seq
                ),
                false => format!("{} is at the ledger's head, {seq}", path.display()),
            };
            Check::ok(Name::View, detail)
        }
        (Ok(()), _) => {
            let message = format!("event {seq}, up to which it was verified, is gone or another");
            let failure = Failure::integrity("rollback", message);
            Check::failed(Name::View, failure.next("handoff verify"))
        }
        (Err(failure), _) => Check::failed(Name::View, failure),
    }
}

fn pins(report: &Report, folders: &Folders) -> Check {
    let read = folders.pins().map_err(Failure::from);
    let read = read.and_then(|path| Ok(Pins::read(&path)?));
    if let Err(failure) = read {
        return Check::failed(Name::Pins, failure);
    }
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

fn clock(found: &Examination) -> Check {
    let now = clock::now();
    if let Some(check) = never_set(now) {
        return check;
    }
    let ahead = found
        .state
        .head_time()
        .filter(|last| last.ms().saturating_sub(now.ms()) > AHEAD_MS_MAX);
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
    match found.report.clock_went_back.items().first() {
        Some(first) => {
            let detail = format!("{now}; a signer's clock went back, first at event {first}");
            Check::warn(Name::Clock, detail, format!("handoff show {first}"))
        }
        None => Check::ok(Name::Clock, now.to_string()),
    }
}
