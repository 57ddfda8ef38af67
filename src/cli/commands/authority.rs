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
    let key = context::public_key(public)?;
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
    let line = format!(
        "key {} authorised as {label}, {}",
        key.short(),
        named.join(" and ")
    );
    let body = json!({ "seq": appended.outcome, "key": key, "label": label, "roles": named });
    Ok(wrote(output, "key_authorize", &appended.head, &line, body))
}

/// Ends a key's authority.
pub(super) fn revoke(
    context: &mut Context<'_>,
    public: &KeySource,
    reason: &Text,
    compromised_since: Option<Seq>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let key = context::public_key(public)?;
    let signer = context.signer()?;
    let question = Question::default();
    context.ask(&question)?;
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
