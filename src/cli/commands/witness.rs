//! `witness`: this machine's word that other people's ledgers only ever grew.

use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::cli::args::{Common, WitnessCommand};
use crate::cli::context;
use crate::cli::output::{Format, Output};
use crate::cli::quote::quoted;
use crate::cli::report::{Exit, Failure};
use crate::cli::trust::typed_keys;
use crate::home::clock;
use crate::home::folders::Folders;
use crate::home::keys::{self, KeyFileError};
use crate::home::pins::{PinnedLedger, Pins};
use crate::home::witness::{self, Seen, Witnessed};
use crate::home::{self, FileError};
use crate::key::{self, SigningKey};
use crate::note::{SignatureType, VerifierKey};
use crate::proof::{ConsistencyProof, PROOF_BYTES_MAX, Proof};
use crate::types::{LedgerId, PublicKey, Time};
use crate::witness::{WitnessRefusal, authenticate, judge};
use serde_json::{Value, json};
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

const SCHEMA_KEY: &str = "handoff.witness_key.v1";
const SCHEMA_ADD: &str = "handoff.witness.v1";
const SCHEMA_LIST: &str = "handoff.witness_list.v1";
/// What the name of a witness begins with; the start of its public key follows.
const NAME_PREFIX: &str = "handoff-witness/";

pub(super) fn run(
    common: &Common,
    request: &WitnessCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let folders = context::folders(common);
    match request {
        WitnessCommand::Key => {
            let (witness, _) = own_key(&folders)?;
            output.line(&witness.to_string());
            let told = json!({ "witness": witness.to_string(), "name": witness.name() });
            output.document(SCHEMA_KEY, Exit::Yes, told);
            Ok(Exit::Yes)
        }
        WitnessCommand::Add { file } => add(common, &folders, file.as_deref(), output),
        WitnessCommand::List => list(&folders, output),
    }
}

/// The key that this machine cosigns with, made if there is none, under a name that it makes.
fn own_key(folders: &Folders) -> Result<(VerifierKey, SigningKey), Failure> {
    let (path, seen) = (folders.witness_key()?, folders.witnessed()?);
    let made = match path.symlink_metadata() {
        Ok(_) => {
            witness::check(&seen)?;
            keys::read(&path)
        }
        Err(_) => {
            // Before the key: one that is there without it has forgotten what it cosigned.
            witness::make(&seen)?;
            keys::create(&path, clock::random()?)
        }
    };
    let signer = match made {
        // Another process made it at this moment.
        Err(KeyFileError::File(FileError::Exists { .. })) => keys::read(&path)?,
        made => made?,
    };
    let public = signer.public();
    let fit = key::check(&public).map_err(|fault| {
        Failure::environment("key_file", format!("{}: {fault}", path.display()))
    })?;
    let name = format!("{NAME_PREFIX}{}", public.short());
    let witness = VerifierKey::new(&name, SignatureType::Cosignature, fit)?;
    Ok((witness, signer))
}

/// Cosigns the checkpoint of a request, once it is kept for good.
fn add(
    common: &Common,
    folders: &Folders,
    file: Option<&Path>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let request = request(file)?;
    let Checkpoint { ledger, tree } = *request.checkpoint.checkpoint();
    // Nothing is made on this machine for a ledger that nobody here asked about.
    authenticate(&request, &trusted(common, folders, &ledger)?)
        .map_err(|refusal| refused(&refusal, None, None))?;
    let (witness, signer) = own_key(folders)?;
    let seen = Seen::of(&folders.witnessed()?, &ledger)?;
    let known = seen.checkpoint().map(SignedCheckpoint::checkpoint);
    if let Err(refusal) = judge(&request, known) {
        let evidence = match refusal.is_evidence() {
            true => seen.keep_evidence(&request)?,
            false => None,
        };
        return Err(refused(&refusal, known, evidence.as_deref()));
    }
    let time = cosigning_time(clock::now())?;
    seen.keep(&request.checkpoint)?;
    let line = request
        .checkpoint
        .cosign(&witness, &signer, time)
        .to_string();
    if output.format() == Format::Text {
        output.raw(format!("{line}\n").as_bytes());
    }
    let told = json!({
        "ledger": ledger, "size": tree.size, "root": tree.root,
        "witness": witness.to_string(), "cosignature": line,
    });
    output.document(SCHEMA_ADD, Exit::Yes, told);
    Ok(Exit::Yes)
}

/// In seconds since 1970. A cosignature at a time that was not is worse than none.
fn cosigning_time(now: Time) -> Result<u64, Failure> {
    match u64::try_from(now.ms().div_euclid(1000)) {
        Ok(time) if !clock::was_never_set(now) => Ok(time),
        _ => {
            let message = format!("the clock says {now}: it was never set");
            Err(Failure::environment("clock", message).next("set the clock"))
        }
    }
}

/// The request in a file or on standard input.
fn request(file: Option<&Path>) -> Result<ConsistencyProof, Failure> {
    let bytes = match file.filter(|file| *file != Path::new("-")) {
        Some(path) => home::read_given(path, PROOF_BYTES_MAX)?,
        None => read_input()?,
    };
    let bad = |message: String| {
        Failure::no("bad_request", message)
            .next("where the ledger is: handoff prove --from SIZE")
            .details(json!({ "status": 400 }))
    };
    match Proof::parse(&bytes) {
        Ok(Proof::Consistency(request)) => Ok(request),
        Ok(Proof::Inclusion(_)) => Err(bad("a proof of an event is no request".to_owned())),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn read_input() -> Result<Vec<u8>, Failure> {
    let input = io::stdin();
    if input.is_terminal() {
        let message = "a request is read from a file or a pipe, not from a terminal";
        return Err(Failure::usage(message).next("handoff witness add FILE"));
    }
    let mut bytes = Vec::new();
    let read = input
        .lock()
        .take(PROOF_BYTES_MAX.saturating_add(1))
        .read_to_end(&mut bytes);
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::environment(
            "io",
            format!("standard input cannot be read: {error}"),
        )),
    }
}

/// The keys that are believed to sign checkpoints of a ledger: the root pinned for it, and those
/// typed with this command. One that holds for every ledger of that root, pinned or named by the
/// environment, says nothing here, where the event that would show whose root it is cannot be
/// seen: it would speak for any id there is.
fn trusted(
    common: &Common,
    folders: &Folders,
    ledger: &LedgerId,
) -> Result<Vec<PublicKey>, Failure> {
    let mut keys = typed_keys(common)?;
    let pins = Pins::read(&folders.pins()?)?;
    let of_it = |pin: PinnedLedger| match pin {
        PinnedLedger::Any => false,
        PinnedLedger::One(id) => id == *ledger,
    };
    let pinned = pins.list().filter(|pin| of_it(pin.ledger));
    keys.extend(pinned.map(|pin| pin.root));
    Ok(keys)
}

fn refused(
    refusal: &WitnessRefusal,
    known: Option<&Checkpoint>,
    evidence: Option<&Path>,
) -> Failure {
    let message = match evidence {
        Some(path) => format!("{refusal}; both are kept in {}", path.display()),
        None => refusal.to_string(),
    };
    let (code, size) = (refusal.code(), known.map_or(0, |known| known.tree.size));
    let failure = match refusal {
        WitnessRefusal::UnknownOrigin { ledger } => Failure::cannot_judge(code, message)
            .next(format!("handoff trust add KEY --id {ledger}")),
        WitnessRefusal::Untrusted { .. } => Failure::cannot_judge(code, message).next(
            "the same command with --trust KEY, the key that signed it, as its owner gave it",
        ),
        WitnessRefusal::OldSize { .. }
        | WitnessRefusal::Conflict { .. }
        | WitnessRefusal::BadProof { .. } => Failure::no(code, message)
            .next(format!("where the ledger is: handoff prove --from {size}")),
        WitnessRefusal::Fork { .. } => Failure::integrity(code, message)
            .next("where the ledger is: handoff verify --expect FILE, the older checkpoint"),
    };
    failure.details(json!({
        "status": refusal.status(),
        "size": size,
        "evidence": evidence.map(Path::to_string_lossy),
    }))
}

fn list(folders: &Folders, output: &mut Output) -> Result<Exit, Failure> {
    let mut told: Vec<Value> = Vec::new();
    let (key, seen) = (folders.witness_key()?, folders.witnessed()?);
    if key.symlink_metadata().is_ok() {
        witness::check(&seen)?;
    }
    for Witnessed {
        checkpoint: Checkpoint { ledger, tree },
        evidence,
    } in witness::all(&seen)?
    {
        output.line(&format!(
            "{ledger} {} events, root {}",
            tree.size, tree.root
        ));
        let evidence: Vec<_> = evidence.iter().map(|path| path.to_string_lossy()).collect();
        for path in &evidence {
            output.line(&format!(
                "  forked: both histories are kept in {}",
                quoted(path)
            ));
        }
        told.push(json!({
            "ledger": ledger, "size": tree.size, "root": tree.root, "evidence": evidence,
        }));
    }
    if told.is_empty() {
        output.line("no ledger was seen");
    }
    output.document(SCHEMA_LIST, Exit::Yes, json!({ "ledgers": told }));
    Ok(Exit::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_dates_no_cosignature() {
        for unset in ["1969-12-31T23:59:59.000Z", "2019-12-31T23:59:59.999Z"] {
            let now: Time = unset.parse().unwrap_or(Time::from_ms(-1000));
            assert!(cosigning_time(now).is_err(), "{unset}");
        }
        let set = "2026-01-06T00:00:00.999Z".parse().unwrap();
        assert_eq!(cosigning_time(set).unwrap(), 1_767_657_600);
    }
}
