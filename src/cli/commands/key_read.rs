//! `key new`, `key show` and `key list`: keys outside the ledger, and those that it knows.

use crate::cli::args::Common;
use crate::cli::context::{self, Context};
use crate::cli::examined::Answers;
use crate::cli::output::Output;
use crate::cli::report::{Exit, Failure};
use crate::home::clock;
use crate::home::keys;
use crate::home::paths::{self, PathError};
use crate::slice::Question;
use crate::state::State;
use crate::types::Name;
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA: &str = "handoff.key.v1";
const SCHEMA_LIST: &str = "handoff.keys.v1";

/// Makes a key pair.
pub(super) fn new(
    common: &Common,
    out: Option<&Path>,
    label: Option<&Name>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let folder = || context::folders(common).keys();
    let path = match (out, label) {
        (Some(path), _) => path.to_owned(),
        (None, None) => keys::default_path(&folder()?),
        (None, Some(label)) => keys::path_of(&folder()?, label).ok_or_else(|| {
            let message = format!("{label} has a / in it, and is no name of a file");
            Failure::usage(message).next("handoff key new --label ANOTHER")
        })?,
    };
    let public = keys::create(&path, clock::random()?)?.public();
    output.line(&public.to_string());
    output.note(&format!("written to {}", path.display()));
    let told = json!({ "key": public, "path": path.to_string_lossy() });
    output.document(SCHEMA, Exit::Yes, told);
    Ok(Exit::Yes)
}

/// Prints the public half of the key that signs.
pub(super) fn show(common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let path = context::key_path(common, &context::folders(common))?;
    let public = keys::read(&path)?.public();
    output.line(&public.to_string());
    let told = json!({ "key": public, "path": path.to_string_lossy() });
    output.document(SCHEMA, Exit::Yes, told);
    Ok(Exit::Yes)
}

/// Lists the keys that the ledger at hand knows, if there is one, and this user's own.
pub(super) fn list(common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let named = common.ledger.as_deref().map(Path::as_os_str);
    let cwd = context::current_folder(common)?;
    let mut exit = Exit::Yes;
    let mut integrity = None;
    let known = match paths::find_ledger(named, &cwd, paths::user()) {
        Err(PathError::NoLedger { .. }) => None,
        Err(error) => return Err(error.into()),
        Ok(_) => {
            let ledger = Context::examine(common, output)?.ledger;
            exit = ledger.exit(Exit::Yes);
            integrity = ledger.integrity();
            Some(ledger.ask(&Question::default())?)
        }
    };
    let known = known.map(|state| of_ledger(&state, output));
    let folder = context::folders(common).keys()?;
    let mut own: Vec<Value> = Vec::new();
    for listed in keys::list(&folder)? {
        let (label, path) = (&listed.label, listed.path.to_string_lossy());
        let (key, fault) = match &listed.public {
            Ok(key) => (Some(*key), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let shown = match (&key, &fault) {
            (Some(key), _) => key.to_string(),
            (None, fault) => format!("cannot be used: {}", fault.as_deref().unwrap_or_default()),
        };
        output.line(&format!("yours: {label} {shown}"));
        own.push(json!({ "label": label, "path": path, "key": key, "fault": fault }));
    }
    if own.is_empty() {
        output.line("no key of yours; next: handoff key new");
    }
    let mut told = json!({ "keys": known, "own": own });
    if let (Some(members), Some(integrity)) = (told.as_object_mut(), integrity) {
        members.insert("integrity".to_owned(), integrity);
    }
    output.document(SCHEMA_LIST, exit, told);
    Ok(exit)
}

fn of_ledger(state: &State, output: &mut Output) -> Vec<Value> {
    let root = state.root();
    let mut told = Vec::new();
    for (id, key) in state.keys() {
        let mut roles: Vec<&str> = key.roles.iter().map(|role| role.as_str()).collect();
        if root == Some(*id) {
            roles.insert(0, "root");
        }
        let revoked = match key.revoked {
            Some(revocation) => {
                let since = revocation.compromised_since;
                let since = since.map_or(String::new(), |since| format!(", void from {since} on"));
                format!(", revoked at event {}{since}", revocation.seq)
            }
            None => String::new(),
        };
        output.line(&format!("{} {id} {}{revoked}", key.label, roles.join(", ")));
        told.push(json!({
            "key": id,
            "label": key.label,
            "roles": key.roles,
            "root": root == Some(*id),
            "authorized": key.authorized,
            "by": key.by,
            "revoked": key.revoked.map(|revocation| json!({
                "seq": revocation.seq,
                "compromised_since": revocation.compromised_since,
            })),
        }));
    }
    told
}
