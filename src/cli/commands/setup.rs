//! `init`, `upgrade` and `acknowledge`: what is done to the ledger itself.

use super::super::args::{Acknowledge, Common, Init};
use super::super::context::{self, Context, Gone, Whose};
use super::super::examine::{Examination, Subject, examine};
use super::super::failures::emptied;
use super::super::known::Against;
use super::super::output::Output;
use super::super::quote::quoted;
use super::super::render::head_json;
use super::super::report::{Exit, Failure};
use super::super::source::Source;
use super::super::written::{not_told, wrote};
use crate::append::{self, LedgerError};
use crate::event::{
    EventAcknowledged, FORMAT_VERSION, LedgerOpened, LedgerUpgraded, Policy, RULES_VERSION,
};
use crate::home::clock;
use crate::home::folders::{self, Folders};
use crate::home::keys;
use crate::home::memory::Point;
use crate::home::paths;
use crate::home::pins::{self, Pin, PinnedLedger};
use crate::home::view;
use crate::key::SigningKey;
use crate::slice::Question;
use crate::store::sqlite::SqliteLedger;
use crate::store::{Read, Store, Transaction};
use crate::types::{Digest, Head, LedgerId, Name, Seq};
use serde_json::json;
use std::path::Path;

/// Makes a ledger, a key if there is none yet, and pins the root.
pub(super) fn init(
    common: &Common,
    arguments: &Init,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let folders = context::folders(common);
    let cwd = context::current_folder(common)?;
    let path = match &common.ledger {
        Some(path) => cwd.join(path),
        None => paths::place_for_ledger(&cwd)?,
    };
    if path.symlink_metadata().is_ok() {
        let message = format!("{} exists already", path.display());
        return Err(Failure::environment("already_exists", message).next("handoff head"));
    }
    let gone = Gone::at(&path, &folders).filter(|_| !arguments.anew);
    if let Some(gone) = gone {
        return Err(gone.failure(common));
    }
    let key_path = context::key_path(common, &folders)?;
    let (signer, made) = key_or_new(&key_path)?;
    let body = LedgerOpened {
        name: ledger_name(arguments, &path)?,
        nonce: Digest(clock::random::<32>()?),
        policy: Policy {
            asserted_values: arguments.allow_asserted,
            four_eyes: arguments.four_eyes,
        },
        rules: RULES_VERSION,
    };
    let name = body.name.clone();
    let (record, id) = append::genesis(&signer, clock::now(), body.into())?;
    make_parent(&path)?;
    let head = Head {
        ledger: id,
        seq: Seq::ZERO,
        leaf: record.leaf(),
    };
    let records = [record];
    // First the pin: of a ledger that does not come to be it says nothing, and one that does is
    // trusted from the start.
    pin(&folders, id, &signer, &name)?;
    let (store, ()) = SqliteLedger::create(&path, context::wait(common), |ledger| {
        ledger
            .transact(|tx: &mut dyn Transaction| tx.append(&records, &[]))
            .map_err(Failure::from)
    })?;
    output.recorded(&head);
    view::own(&store, &folders).map_err(|error| not_told(error.into(), &head))?;
    view::over(store, &folders).map_err(|error| not_told(error.into(), &head))?;
    output.line(&format!("ledger {} made at {}", id.short(), path.display()));
    let (key, path_of_key) = (signer.public().short(), key_path.display());
    let custody = if made {
        "made, readable by you alone"
    } else {
        "as it was"
    };
    output.line(&format!("key {key} at {path_of_key} ({custody})"));
    output.line(&format!("head {head}"));
    let next = common.carried("handoff session open --agent NAME");
    output.line(&format!("next: {next}"));
    let body = json!({
        "head": head_json(&head), "seq": head.seq, "ledger": id, "path": path, "key": key_path,
        "root": signer.public(), "next": next,
    });
    output.document("handoff.init.v1", Exit::Yes, body);
    Ok(Exit::Yes)
}

fn key_or_new(path: &Path) -> Result<(SigningKey, bool), Failure> {
    if path.symlink_metadata().is_ok() {
        return Ok((keys::read(path)?, false));
    }
    if let Some(folder) = path.parent() {
        folders::make_folder(folder)?;
    }
    Ok((keys::create(path, clock::random::<32>()?)?, true))
}

/// The name given, else that of the folder, as far as it is one.
fn ledger_name(arguments: &Init, path: &Path) -> Result<Name, Failure> {
    if let Some(name) = &arguments.name {
        return Ok(name.clone());
    }
    let folder = path
        .parent()
        .and_then(Path::parent)
        .and_then(Path::file_name);
    let folder = folder
        .map(|name| name.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    Ok(folder.parse().or_else(|_| "ledger".parse())?)
}

/// Makes the ledger's folder, if it is not there, so that it outlives a power cut.
fn make_parent(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    let made = match std::fs::create_dir(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), |above| {
            std::fs::File::open(above).and_then(|above| above.sync_all())
        }),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    };
    made.map_err(|error| {
        let message = format!("cannot make {}: {error}", folder.display());
        Failure::environment("io", message)
    })
}

fn pin(folders: &Folders, id: LedgerId, signer: &SigningKey, name: &Name) -> Result<(), Failure> {
    let path = folders.pins()?;
    if let Some(folder) = path.parent() {
        folders::make_folder(folder)?;
    }
    let pin = Pin {
        ledger: PinnedLedger::One(id),
        root: signer.public(),
        comment: name.to_string(),
    };
    pins::add(&path, pin)?;
    Ok(())
}

/// Raises the versions to those of this program, if they are lower.
pub(super) fn upgrade(context: &mut Context<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let question = Question::default();
    let state = context.ask(&question)?;
    let Some(ledger) = state.ledger() else {
        return Err(LedgerError::Empty.into());
    };
    if state.undetermined().is_some() {
        return Err(Failure::cannot_judge(
            "undetermined",
            "the ledger was upgraded beyond this program",
        )
        .next("cargo install handoff-ledger"));
    }
    if ledger.rules == RULES_VERSION && ledger.v == FORMAT_VERSION {
        let head = context.head()?;
        let line = format!("rules {RULES_VERSION} and format {FORMAT_VERSION}: nothing to raise");
        let body = json!({ "rules": RULES_VERSION, "v": FORMAT_VERSION, "changed": false });
        return Ok(wrote(output, "upgrade", &head, &line, body));
    }
    let signer = context.signer()?;
    let body = LedgerUpgraded {
        rules: RULES_VERSION,
        v: FORMAT_VERSION,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(Seq::ZERO, body).map_err(Failure::from)
        })?;
    let line = format!("raised to rules {RULES_VERSION} and format {FORMAT_VERSION}");
    let body = json!({
        "seq": appended.outcome, "rules": RULES_VERSION, "v": FORMAT_VERSION, "changed": true,
    });
    Ok(wrote(output, "upgrade", &appended.head, &line, body))
}

/// Says that the root knows of every refused event up to a seq.
pub(super) fn acknowledge(
    context: &mut Context<'_>,
    up_to: Seq,
    arguments: &Acknowledge,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signer = context.signer()?;
    let question = Question::default();
    context.ask(&question)?;
    let whole = context.ledger.fold(context.head()?.seq)?;
    let known = whole.acknowledged();
    let is_new = |seq: &Seq| *seq <= up_to && known.is_none_or(|known| *seq > known);
    let is_needed = whole.refused().keys().any(is_new);
    let body = EventAcknowledged {
        reason: arguments.reason.clone(),
        up_to,
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            // Who may not acknowledge anything is told so first.
            pen.permits(Seq::ZERO, body.clone())?;
            if !is_needed {
                let message = format!("no event up to {up_to} is refused and not acknowledged");
                return Err(Failure::no("nothing_refused", message).next("handoff verify"));
            }
            pen.write(Seq::ZERO, body).map_err(Failure::from)
        })?;
    let line = format!(
        "refused events up to {up_to} acknowledged as {}",
        appended.outcome
    );
    let body = json!({ "seq": appended.outcome, "up_to": up_to });
    Ok(wrote(output, "acknowledge", &appended.head, &line, body))
}

/// Accepts the ledger as it is now in place of what this machine verified before. It must be whole
/// and its root trusted; why it is accepted is remembered, and told by `verify` from then on.
pub(super) fn acknowledge_rollback(
    common: &Common,
    arguments: &Acknowledge,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let folders = context::folders(common);
    let cwd = context::current_folder(common)?;
    let (path, whose) = context::whose(common, &cwd, &folders)?;
    if whose == Whose::Unknown {
        let message = format!("{} is not this machine's own ledger", path.display());
        let next = context::command(&["handoff", "verify", &path.to_string_lossy()]);
        return Err(Failure::no("not_own", message).next(next));
    }
    let found = examine(common, &folders, Subject::of(path.clone(), whose), output)?;
    if let (None, Some((_, detail))) = (found.report.head, &found.known.fault) {
        return Err(emptied(detail.clone()));
    }
    if common.key.is_some() {
        // None signs this, but one that is named must be one that may speak.
        let key = keys::read(&context::key_path(common, &folders)?)?.public();
        let revoked = found.state.keys().get(&key).and_then(|it| it.revoked);
        if let Some(revoked) = revoked {
            let message = format!("key {} was revoked at event {}", key.short(), revoked.seq);
            return Err(Failure::no("key_revoked", message).next("handoff key list"));
        }
    }
    let head = acceptable(&found, &path)?;
    let known = found.known;
    let store = match found.opened.source {
        Source::Own(store) => store,
        Source::Copy(_) | Source::Unreadable | Source::Export(_) => {
            let message = format!("{} can only be read by a copy", path.display());
            return Err(Failure::integrity("storage", message).next("handoff verify"));
        }
    };
    let seen = known
        .head
        .map(|(seq, _)| store.get(seq))
        .transpose()?
        .flatten();
    if known.is_met(seen.map(|record| record.leaf())) {
        let message = format!("{} goes on from what this machine saw", path.display());
        return Err(Failure::no("nothing_rolled_back", message).next("handoff verify"));
    }
    let head = Point {
        seq: head.seq,
        leaf: head.leaf,
    };
    let ledger = view::accept(store, &folders, head, clock::now(), &arguments.reason)?;
    let head = ledger.head()?;
    let line = format!(
        "accepted by this machine as it is now, which no event of the ledger says: {head} ({})",
        quoted(arguments.reason.as_str())
    );
    let body = json!({ "reason": arguments.reason });
    Ok(wrote(output, "acknowledge", &head, &line, body))
}

/// The head of a ledger that may take the place of what was verified before.
fn acceptable(found: &Examination, path: &Path) -> Result<Head, Failure> {
    let report = &found.report;
    let mut faults = report.faults.items().iter();
    if let Some(fault) = faults.find(|fault| Against::of(fault) != Against::Memory) {
        let at = (fault.seq).map_or(String::new(), |seq| format!(" at event {seq}"));
        let message = format!("{}{at}: {}", fault.kind, fault.detail);
        return Err(Failure::integrity(fault.kind, message).next("handoff verify"));
    }
    if !report.incomplete.is_empty() {
        let message = format!(
            "{} is incomplete: {}",
            path.display(),
            report.incomplete.join("; ")
        );
        return Err(Failure::cannot_judge("incomplete", message).next("handoff verify"));
    }
    let Some(head) = report.head else {
        return Err(LedgerError::Empty.into());
    };
    if report.is_trusted() {
        return Ok(head);
    }
    let failure = found.untrusted(&head);
    Err(match report.signer.root_key {
        Some(_) => {
            failure.next("the same command with --trust KEY, the root key as its owner gave it")
        }
        None => failure,
    })
}
