//! `trust`: the root keys that this user believes.

use crate::append::LedgerError;
use crate::cli::args::{Common, KeySource, Trust};
use crate::cli::context::{self, Context, public_key};
use crate::cli::examined::Answers;
use crate::cli::output::Output;
use crate::cli::quote::quoted;
use crate::cli::report::{Exit, Failure};
use crate::home::paths::{self, PathError};
use crate::home::pins::{self, Added, Pin, PinnedLedger, Pins};
use crate::slice::Question;
use crate::types::{Name, PublicKey};
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA: &str = "handoff.trust.v1";

pub(super) fn run(common: &Common, request: &Trust, output: &mut Output) -> Result<Exit, Failure> {
    let path = context::folders(common).pins()?;
    match request {
        Trust::Add { root, label, id } => {
            let root = public_key(root)?;
            let ledger = match id {
                Some(id) => PinnedLedger::One(*id),
                None => pinned(common, &root)?,
            };
            let comment = label.as_ref().map_or(String::new(), Name::to_string);
            let pin = Pin {
                ledger,
                root,
                comment,
            };
            add(&path, pin, output)
        }
        Trust::List => list(&path, output),
        Trust::Remove { root } => remove(&path, root, output),
    }
}

fn add(path: &Path, pin: Pin, output: &mut Output) -> Result<Exit, Failure> {
    let is_new = match pins::add(path, pin.clone())? {
        Added::New => true,
        Added::Present => false,
    };
    let what = match pin.ledger {
        PinnedLedger::One(id) => format!("for ledger {}", id.short()),
        PinnedLedger::Any => "for every ledger of that root".to_owned(),
    };
    let done = if is_new { "pinned" } else { "pinned already:" };
    output.verdict(done, &format!("{} {what}", pin.root));
    let told = json!({ "pin": pin_json(&pin), "added": is_new });
    output.document(SCHEMA, Exit::Yes, told);
    Ok(Exit::Yes)
}

/// For which ledger to pin: the one at hand, if that is its root; else every one of that root.
fn pinned(common: &Common, root: &PublicKey) -> Result<PinnedLedger, Failure> {
    let named = common.ledger.as_deref().map(Path::as_os_str);
    let cwd = context::current_folder(common)?;
    match paths::find_ledger(named, &cwd, paths::user()) {
        Err(PathError::NoLedger { .. }) => return Ok(PinnedLedger::Any),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    let ledger = Context::examine(common, &mut Output::mute())?.ledger;
    let state = ledger.ask(&Question::default())?;
    let Some(ledger) = state.ledger() else {
        return Err(LedgerError::Empty.into());
    };
    if ledger.root == *root {
        return Ok(PinnedLedger::One(ledger.id));
    }
    Ok(PinnedLedger::Any)
}

fn list(path: &Path, output: &mut Output) -> Result<Exit, Failure> {
    let pins = Pins::read(path)?;
    let mut told = Vec::new();
    for pin in pins.list() {
        let comment = match pin.comment.as_str() {
            "" => String::new(),
            comment => format!(" {}", quoted(comment)),
        };
        output.line(&format!("{} {}{comment}", pin.ledger, pin.root));
        told.push(pin_json(pin));
    }
    if told.is_empty() {
        output.line("no root key is pinned");
    }
    output.document(SCHEMA, Exit::Yes, json!({ "pins": told }));
    Ok(Exit::Yes)
}

fn remove(path: &Path, root: &KeySource, output: &mut Output) -> Result<Exit, Failure> {
    let root = public_key(root)?;
    let removed = pins::remove(path, |pin| pin.root == root)?;
    if removed.is_empty() {
        let message = format!("root key {root} is not pinned");
        return Err(Failure::no("not_pinned", message).next("handoff trust list"));
    }
    for pin in &removed {
        output.verdict("removed", &format!("{} {}", pin.ledger, pin.root));
    }
    let removed: Vec<Value> = removed.iter().map(pin_json).collect();
    output.document(SCHEMA, Exit::Yes, json!({ "removed": removed }));
    Ok(Exit::Yes)
}

fn pin_json(pin: &Pin) -> Value {
    json!({ "ledger": pin.ledger.to_string(), "root": pin.root, "label": pin.comment })
}
