//! `key authorize` and `key revoke`: who may write.

use super::super::args::KeySource;
use super::super::context::{self, Context};
use super::super::output::Output;
use super::super::report::{Exit, Failure};
use super::super::written::wrote;
use crate::event::{KeyAuthorized, KeyRevoked, Role};
use crate::home::clock;
use crate::slice::Question;
use crate::types::{Ascending, Name, Seq, Text};
use serde_json::json;

/// Lets a key write.
pub(super) fn authorize(
    context: &mut Context<'_>,
    public: &KeySource,
    label: &Name,
    roles: Vec<Role>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let key = context::new_key(&context.folders, public)?;
    let signer = context.signer()?;
    let question = Question::default();
    context.ask(&question)?;
    let roles = Ascending::from_unordered(roles);
    let named: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let body = KeyAuthorized {
        key,
        label: label.clone(),
        roles: roles.clone(),
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(Seq::ZERO, body).map_err(Failure::from)
        })?;
    let alone = match roles.contains(&Role::Recorder) {
        true => "",
        false => "; it cannot record, for good: roles are given once",
    };
    let line = format!(
        "key {} authorised as {label}, {}{alone}",
        key.short(),
        named.join(" and ")
    );
    let body = json!({ "seq": appended.outcome, "key": key, "label": label, "roles": named });
    Ok(wrote(output, "key_authorize", &appended.head, &line, body))
}

/// Lets a new key write with the roles of an old one, which may not any more: both or neither.
pub(super) fn rotate(
    context: &mut Context<'_>,
    keys: [&KeySource; 2],
    label: &Name,
    reason: &Text,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let [old, new] = keys;
    let new = context::new_key(&context.folders, new)?;
    let signer = context.signer()?;
    let question = Question {
        sessions: true,
        ..Question::default()
    };
    let state = context.ask(&question)?;
    let old = context::known_key(&state, old)?;
    if state.root() == Some(old) {
        let message = format!(
            "{} is the root key: it names the ledger, for good",
            old.short()
        );
        let next = "keep the root key offline, with an admin at hand; if it was stolen, make a \
                    ledger anew";
        return Err(Failure::no("root_irrevocable", message).next(next));
    }
    let roles = state.keys().get(&old).map(|known| known.roles.clone());
    let Some(roles) = roles else {
        let message = format!("the ledger does not know key {}", old.short());
        return Err(Failure::no("key_unknown", message).next("handoff key list"));
    };
    let open: Vec<Seq> = (state.sessions().iter())
        .filter(|(_, session)| session.is_open() && session.opened.key == old)
        .map(|(seq, _)| *seq)
        .collect();
    let authorised = KeyAuthorized {
        key: new,
        label: label.clone(),
        roles: Ascending::from_unordered(roles.iter().copied()),
    };
    let revoked = KeyRevoked {
        compromised_since: None,
        key: old,
        reason: reason.clone(),
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(Seq::ZERO, authorised)?;
            pen.write(Seq::ZERO, revoked).map_err(Failure::from)
        })?;
    let line = format!("key {} writes in place of {}", new.short(), old.short());
    let body = json!({
        "seq": appended.outcome, "key": new, "label": label, "roles": roles, "revoked": old,
        "open_sessions": open,
    });
    let exit = wrote(output, "key_rotate", &appended.head, &line, body);
    for session in &open {
        let next = format!("handoff session abandon {session} --reason WHY");
        output.line(&format!(
            "session {session} is still open, and its key may not write any more"
        ));
        output.line(&format!("next: {}", context.common().carried(&next)));
    }
    Ok(exit)
}

/// Ends a key's authority.
pub(super) fn revoke(
    context: &mut Context<'_>,
    public: &KeySource,
    reason: &Text,
    compromised_since: Option<Seq>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signer = context.signer()?;
    let question = Question::default();
    let state = context.ask(&question)?;
    let key = context::known_key(&state, public)?;
    let body = KeyRevoked {
        compromised_since,
        key,
        reason: reason.clone(),
    };
    let appended = context
        .ledger
        .append(&signer, clock::now, &question, |pen| {
            pen.write(Seq::ZERO, body).map_err(Failure::from)
        })?;
    let line = match compromised_since {
        Some(since) => format!("key {} revoked; void from {since} on", key.short()),
        None => format!("key {} revoked; what it wrote stands", key.short()),
    };
    let body = json!({
        "seq": appended.outcome, "key": key, "compromised_since": compromised_since,
    });
    Ok(wrote(output, "key_revoke", &appended.head, &line, body))
}
