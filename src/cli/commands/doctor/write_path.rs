//! The way that a record takes: made here, verified by another process, on the same file system.

use super::{Check, Name};
use crate::append::{self, Ledger};
use crate::cli::report::Failure;
use crate::command;
use crate::event::{FORMAT_VERSION, LedgerOpened, Policy, RULES_VERSION};
use crate::home::clock;
use crate::key::SigningKey;
use crate::probe::{self, Surroundings};
use crate::probe_spec::{Definition, Probe};
use crate::slice::Question;
use crate::store::index::IndexFile;
use crate::store::sqlite::{SqliteLedger, WAIT};
use crate::store::{Store, Transaction};
use crate::types::{Digest, Head, PublicKey};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// How long the other process may take, in milliseconds.
const VERIFY_MS_MAX: u64 = 30_000;

/// Makes a scratch ledger in `folder`, appends to it, has a second process verify it, removes it.
pub(super) fn check(folder: &Path) -> Check {
    match round_trip(folder) {
        Ok(head) => Check::ok(
            Name::WritePath,
            format!(
                "a scratch ledger was made, written to and verified by another process up to \
                 event {}, and removed",
                head.seq
            ),
        ),
        Err(failure) => Check::failed(Name::WritePath, failure),
    }
}

fn round_trip(folder: &Path) -> Result<Head, Failure> {
    let unusable = |error: std::io::Error| {
        let message = format!("{}: {error}", folder.display());
        Failure::environment("io", message)
            .next("the same command with --ledger PATH, where you may write")
    };
    let scratch = tempfile::Builder::new()
        .prefix(".handoff-doctor-")
        .tempdir_in(folder)
        .map_err(unusable)?;
    let (path, head, root) = written(scratch.path())?;
    verified_elsewhere(scratch.path(), &path, &head, &root)?;
    scratch.close().map_err(unusable)?;
    Ok(head)
}

/// A ledger of two events.
fn written(folder: &Path) -> Result<(PathBuf, Head, PublicKey), Failure> {
    let signer = SigningKey::from_seed(clock::random()?);
    let body = LedgerOpened {
        name: "scratch".parse()?,
        nonce: Digest(clock::random()?),
        policy: Policy {
            asserted_values: false,
            four_eyes: false,
        },
        rules: RULES_VERSION,
    };
    let (record, _) = append::genesis(&signer, clock::now(), body.into())?;
    let records = [record];
    let path = folder.join(format!("scratch-v{FORMAT_VERSION}.db"));
    let (store, ()) = SqliteLedger::create(&path, WAIT, |ledger| {
        ledger
            .transact(|tx: &mut dyn Transaction| tx.append(&records, &[]))
            .map_err(Failure::from)
    })?;
    let mut ledger = Ledger::open(store, IndexFile::open(&folder.join("view.db"))?)?;
    let question = Question::default();
    let agent = "doctor".parse()?;
    let appended = ledger.append(&signer, clock::now, &question, |pen| {
        command::open(pen, agent, None, Some(Vec::new()), Digest::ZERO).map_err(Failure::from)
    })?;
    Ok((path, appended.head, signer.public()))
}

/// Has this program's file, run anew, verify the ledger up to that head.
fn verified_elsewhere(
    folder: &Path,
    path: &Path,
    head: &Head,
    root: &PublicKey,
) -> Result<(), Failure> {
    let failed = |detail: &str| {
        let message = format!("another process did not verify what was written here: {detail}");
        Failure::environment("write_path", message).next("handoff verify")
    };
    let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| failed("no UTF-8"))
    };
    let (head, root) = (head.to_string(), root.to_string());
    let mut argv = vec![text(&program)?];
    argv.extend(["--json", "--trust", &root, "--expect", &head, "verify"].map(str::to_owned));
    argv.push(text(path)?);
    let mut definition = Definition::command(argv);
    definition.timeout_ms = VERIFY_MS_MAX;
    definition.extract = "json:/result".parse()?;
    definition.expect = vec!["value=verified".parse()?];
    let probe = Probe::new(definition)?;
    let interrupted = AtomicBool::new(false);
    let surroundings = Surroundings {
        root: folder,
        interrupted: &interrupted,
    };
    let seen = probe::run(&probe, &surroundings);
    match seen.expectations.iter().all(|judged| judged.met) {
        true => Ok(()),
        false => Err(failed(&format!(
            "{:?}, result {}",
            seen.outcome,
            seen.value.as_deref().unwrap_or("none")
        ))),
    }
}
