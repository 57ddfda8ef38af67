//! `checkpoint` and `prove`: small texts for those who do not have the ledger.

use super::reading::no_event;
use crate::append::LedgerError;
use crate::checkpoint::{Checkpoint, CheckpointError, Expected, SignedCheckpoint};
use crate::cli::args::{CheckpointArgs, Common, Prove};
use crate::cli::context::Context;
use crate::cli::examined::{Answers, AnyLedger};
use crate::cli::output::{Format, Output};
use crate::cli::report::{Exit, Failure};
use crate::cli::tree::{hold, leaves};
use crate::home;
use crate::merkle::TreeHead;
use crate::note::NOTE_BYTES_MAX;
use crate::proof::{ConsistencyProof, InclusionProof};
use crate::slice::Question;
use crate::types::{Leaf, LedgerId, Seq};
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA_CHECKPOINT: &str = "handoff.checkpoint.v1";
const SCHEMA_PROVE: &str = "handoff.prove.v1";

/// Signs where the ledger stands.
pub(super) fn checkpoint(
    common: &Common,
    request: &CheckpointArgs,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    context.ledger.require_trusted()?;
    let signed = signed_now(&context)?;
    let told = told(&signed);
    let text = signed.to_string();
    write(
        SCHEMA_CHECKPOINT,
        "checkpoint",
        &text,
        request.out.as_deref(),
        told,
        output,
    )
}

/// Proves that the ledger holds an event, or continues an earlier size of it.
pub(super) fn prove(
    common: &Common,
    request: &Prove,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    context.ledger.require_trusted()?;
    context.ask(&Question::default())?;
    let given = request.checkpoint.as_deref();
    let given = given
        .map(|path| given_checkpoint(&context, path))
        .transpose()?;
    let last = match &given {
        Some(signed) => Seq(signed.checkpoint().tree.size.saturating_sub(1)),
        None => context.head()?.seq,
    };
    let leaves = leaves(&context, last)?;
    let signed = match given {
        Some(signed) => signed,
        None => sign(&context, context.head()?.ledger, &leaves)?,
    };
    let mut told = told(&signed);
    let text = match (request.what.seq, request.what.from) {
        (Some(seq), _) => {
            told.insert("seq".to_owned(), json!(seq));
            of_event(&context, seq, &leaves, signed)?
        }
        (None, from) => {
            let old = from.unwrap_or_default().0;
            told.insert("from".to_owned(), json!(old));
            let size = signed.checkpoint().tree.size;
            if old > size {
                return Err(shorter(old, size));
            }
            let proof = ConsistencyProof::new(old, &leaves, signed);
            proof.ok_or_else(changed)?.to_string()
        }
    };
    write(
        SCHEMA_PROVE,
        "proof",
        &text,
        request.out.as_deref(),
        told,
        output,
    )
}

fn of_event(
    context: &Context<'_, AnyLedger>,
    seq: Seq,
    leaves: &[Leaf],
    signed: SignedCheckpoint,
) -> Result<String, Failure> {
    let size = signed.checkpoint().tree.size;
    if seq > context.head()?.seq {
        return Err(no_event(seq, &context.head()?));
    }
    if seq.0 >= size {
        let message = format!("event {seq} came after the {size} events of that checkpoint");
        let next = format!("handoff prove {seq}");
        return Err(Failure::no("after_checkpoint", message).next(next));
    }
    let mut record = Vec::new();
    context.ledger.replay(seq, seq, &mut |_, _, found| {
        record.clone_from(&found.0);
    })?;
    let proof = InclusionProof::new(record, seq, leaves, signed).ok_or_else(changed)?;
    Ok(proof.to_string())
}

/// The ledger that a witness saw is longer than this one.
fn shorter(old: u64, size: u64) -> Failure {
    let message = format!(
        "there are {size} events, and {old} cannot have come before: whoever saw {old} saw another \
         ledger, or this one was cut back"
    );
    Failure::no("shorter", message).next("handoff verify")
}

fn changed() -> Failure {
    let message = "the ledger is not the one that was verified a moment ago";
    Failure::integrity("replaced", message).next("handoff verify")
}

/// Signs where the ledger stands now.
pub(super) fn signed_now(context: &Context<'_, AnyLedger>) -> Result<SignedCheckpoint, Failure> {
    let head = context.head()?;
    sign(context, head.ledger, &leaves(context, head.seq)?)
}

/// Signs the tree over `leaves` with the key at hand, if the ledger lets it write.
fn sign(
    context: &Context<'_, AnyLedger>,
    ledger: LedgerId,
    leaves: &[Leaf],
) -> Result<SignedCheckpoint, Failure> {
    let state = context.ask(&Question::default())?;
    if let Some(seq) = state.undetermined() {
        return Err(LedgerError::Undetermined(seq).into());
    }
    let signer = context.signer()?;
    let public = signer.public();
    if !state.may_write(&public) {
        let message = format!("key {} is not authorised, or is revoked", public.short());
        return Err(Failure::no("key_not_authorized", message).next("handoff key list"));
    }
    let tree = TreeHead::of(leaves);
    let signed = SignedCheckpoint::sign(Checkpoint { ledger, tree }, &signer);
    signed.map_err(|error| Failure::no("checkpoint", error.to_string()))
}

/// A checkpoint that was kept, which must be one of this ledger.
fn given_checkpoint(
    context: &Context<'_, AnyLedger>,
    path: &Path,
) -> Result<SignedCheckpoint, Failure> {
    let signed = read_checkpoint(path)?;
    hold(context, &Expected::Checkpoint(signed.clone()))?;
    Ok(signed)
}

/// The checkpoint in a file.
pub(super) fn read_checkpoint(path: &Path) -> Result<SignedCheckpoint, Failure> {
    let bytes = home::read_given(path, NOTE_BYTES_MAX)?;
    SignedCheckpoint::parse(&bytes).map_err(|error: CheckpointError| {
        let message = format!("{}: {error}", path.display());
        Failure::environment("not_a_checkpoint", message).next("handoff checkpoint -o FILE")
    })
}

fn told(signed: &SignedCheckpoint) -> serde_json::Map<String, Value> {
    let Checkpoint { ledger, tree } = signed.checkpoint();
    [
        ("ledger", json!(ledger)),
        ("size", json!(tree.size)),
        ("root", json!(tree.root)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect()
}

/// The text as it is, or into a new file, or as a member of the document.
fn write(
    schema: &str,
    name: &str,
    text: &str,
    out: Option<&Path>,
    mut told: serde_json::Map<String, Value>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match out {
        Some(path) => {
            home::write_new(path, text.as_bytes())?;
            output.line(&format!("written to {}", path.display()));
            told.insert("path".to_owned(), json!(path.to_string_lossy()));
        }
        None if output.format() == Format::Text => output.raw(text.as_bytes()),
        None => {}
    }
    told.insert(name.to_owned(), json!(text));
    output.document(schema, Exit::Yes, Value::Object(told));
    Ok(Exit::Yes)
}
