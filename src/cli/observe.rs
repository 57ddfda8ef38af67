//! Running probes for a command, and making receipts of what was seen.

use super::args::{Check as CheckArgument, ProbeArgs, ProbeOptions};
use super::context::Context;
use super::failures;
use super::report::Failure;
use crate::command::Run;
use crate::credential::{self, Found};
use crate::event::{Compared, Comparison, ProbeReceipt, Redacted};
use crate::hash::{self, SALT_BYTES};
use crate::home::clock;
use crate::home::paths;
use crate::probe::{self, Captured, CapturedStream, Observation, Surroundings};
use crate::probe_spec::{
    Committed, Definition, Expectation, Outcome, OutputCommitment, Outputs, Probe,
};
use crate::state::State;
use crate::store::{Capture, Read};
use crate::types::{Digest, Seq, Value};
use signal_hook::{SigId, flag};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The redacted value of a recorded axis: what a new value is compared with.
#[derive(Debug, Clone)]
pub struct Secret {
    axis: Seq,
    salt: [u8; SALT_BYTES],
    commitment: Digest,
}

/// What runs the probes of one command.
pub struct Observer {
    root: PathBuf,
    scope: Digest,
    interrupted: Arc<AtomicBool>,
}

impl Observer {
    /// An observer in the command's root and scope; the signals that would end this program end its
    /// probes.
    ///
    /// # Errors
    /// If the signals cannot be listened to.
    pub fn new(context: &Context<'_>) -> Result<Observer, Failure> {
        Ok(Observer {
            root: context.root.clone(),
            scope: context.scope,
            interrupted: listen()?,
        })
    }

    /// Another observer like this one that `interrupted` ends as well.
    pub fn until(&self, interrupted: Arc<AtomicBool>) -> Observer {
        Observer {
            root: self.root.clone(),
            scope: self.scope,
            interrupted,
        }
    }

    /// Whether a signal asked for an end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Runs a probe and makes a receipt of what was seen.
    ///
    /// # Errors
    /// If it was interrupted, or its value looks like a credential; then nothing is to be recorded.
    pub fn run(
        &self,
        probe: &Probe,
        begun: Option<Seq>,
        secrets: &[Secret],
    ) -> Result<Run, Failure> {
        let surroundings = Surroundings {
            root: &self.root,
            interrupted: &self.interrupted,
        };
        let seen = probe::run(probe, &surroundings);
        if seen.outcome == Outcome::Interrupted {
            return Err(Failure::environment(
                "interrupted",
                "interrupted; no receipt was recorded",
            )
            .next("the same command again"));
        }
        if seen.outcome == Outcome::Failed && (probe.check().is_none() || seen.failure.is_some()) {
            let said = seen.failure.as_deref();
            let message = format!(
                "the system failed at running the probe ({}), which says nothing of what it \
                 looks at; no receipt was recorded",
                said.unwrap_or("how it ended was not told")
            );
            return Err(Failure::environment("not_started", message)
                .retryable()
                .next("the same command again"));
        }
        if let Some(value) = seen.value.as_ref().filter(|_| !probe.redact())
            && let Some(rule) = credential::find(value.as_bytes())
        {
            let field = "value".to_owned();
            return Err(failures::credential(&Found { field, rule }));
        }
        self.receipt(probe, begun, secrets, seen)
    }

    fn receipt(
        &self,
        probe: &Probe,
        begun: Option<Seq>,
        secrets: &[Secret],
        seen: Observation,
    ) -> Result<Run, Failure> {
        let mut captures = Vec::new();
        let outputs = seen.outputs.as_ref().map(|outputs| match probe.redact() {
            true => forgotten(outputs),
            false => {
                let (stderr, stdout) = (keep(&outputs.stderr), keep(&outputs.stdout));
                captures.extend([stderr.1, stdout.1].into_iter().flatten());
                Outputs {
                    stderr: stderr.0,
                    stdout: stdout.0,
                }
            }
        });
        let (mut value, mut redacted, mut compared) = (None, None, Vec::new());
        if let Some(text) = seen.value {
            if probe.redact() {
                let salt = clock::random::<SALT_BYTES>()?;
                let commitment = hash::commitment(&salt, text.as_bytes());
                redacted = Some(Redacted {
                    commitment,
                    salt_digest: hash::salt(&salt),
                });
                captures.push(Capture {
                    commitment,
                    salt,
                    bytes: None,
                });
                compared = secrets
                    .iter()
                    .map(|secret| secret.against(text.as_bytes()))
                    .collect();
            } else {
                value = Some(text.parse::<Value>()?);
            }
        }
        let receipt = ProbeReceipt {
            begun,
            compared,
            duration_ms: seen.duration_ms,
            executable: seen.executable,
            expectations: seen.expectations,
            extracted: seen.extracted,
            files: seen.files,
            outcome: seen.outcome,
            outputs,
            pipe_held: seen.pipe_held,
            probe: probe.clone(),
            probe_digest: probe.digest(),
            redacted,
            scope: self.scope,
            value,
        };
        Ok(Run { receipt, captures })
    }
}

impl Secret {
    fn against(&self, value: &[u8]) -> Compared {
        let same = hash::commitment(&self.salt, value) == self.commitment;
        let result = if same {
            Comparison::Same
        } else {
            Comparison::Different
        };
        Compared {
            axis: self.axis,
            result,
        }
    }
}

/// How this process listens to the signals that end it.
struct Listening {
    interrupted: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

static LISTENING: Mutex<Option<Listening>> = Mutex::new(None);

fn listening() -> MutexGuard<'static, Option<Listening>> {
    LISTENING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the first signal that would end this program sets, from now on; the second ends it as if
/// nobody listened. A process listens once, however many commands it runs.
///
/// # Errors
/// If the signals cannot be listened to.
pub fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let mut listening = listening();
    if let Some(Listening { interrupted, .. }) = listening.as_ref() {
        return Ok(Arc::clone(interrupted));
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut handlers = Vec::new();
    for signal in probe::ending() {
        let conditional = flag::register_conditional_default(signal, Arc::clone(&interrupted));
        handlers.push(conditional.map_err(cannot_listen)?);
        let raised = flag::register(signal, Arc::clone(&interrupted));
        handlers.push(raised.map_err(cannot_listen)?);
    }
    // Where the parent ignores it, children would vanish before it is seen how they ended.
    let child_ended = Arc::new(AtomicBool::new(false));
    flag::register(signal_hook::consts::SIGCHLD, child_ended).map_err(cannot_listen)?;
    *listening = Some(Listening {
        interrupted: Arc::clone(&interrupted),
        handlers,
    });
    Ok(interrupted)
}

/// Listens no more to the signals that end probes: they are somebody else's to take now. Whether
/// one came before.
pub fn stop_listening() -> bool {
    let Some(Listening {
        interrupted,
        handlers,
    }) = listening().take()
    else {
        return false;
    };
    for handler in handlers {
        signal_hook::low_level::unregister(handler);
    }
    interrupted.load(Ordering::Relaxed)
}

/// Makes a write beyond the limit of a file's size an error, which is told, in place of the end of
/// this process. (A handler, not ignoring: what is ignored is ignored by probes too.)
pub fn outlive_file_size_limit() {
    let reached = Arc::new(AtomicBool::new(false));
    // Where it cannot be had, such a write ends the process as it always did.
    let _ = flag::register(signal_hook::consts::SIGXFSZ, reached);
}

fn cannot_listen(error: std::io::Error) -> Failure {
    Failure::environment("io", format!("cannot listen to signals: {error}"))
}

/// The secrets of those axes that a probe observes, that are redacted and whose salt is still kept,
/// ascending by axis.
///
/// # Errors
/// If the ledger cannot be read.
pub fn secrets(
    context: &Context<'_>,
    state: &State,
    axes: impl IntoIterator<Item = Seq>,
    probe: Digest,
) -> Result<Vec<Secret>, Failure> {
    let mut secrets = Vec::new();
    for axis in axes
        .into_iter()
        .filter(|axis| state.axis_probe(*axis) == Some(probe))
    {
        let receipt = state.axes().get(&axis).map(|record| record.body.receipt);
        let receipt = receipt.and_then(|receipt| state.receipts().get(&receipt));
        let Some(redacted) = receipt.and_then(|receipt| receipt.body.redacted.as_ref()) else {
            continue;
        };
        let Some(capture) = context.ledger.store().capture(&redacted.commitment)? else {
            continue;
        };
        if hash::salt(&capture.salt) == redacted.salt_digest {
            let commitment = redacted.commitment;
            secrets.push(Secret {
                axis,
                salt: capture.salt,
                commitment,
            });
        }
    }
    secrets.sort_by_key(|secret| secret.axis);
    Ok(secrets)
}

/// What is kept of a stream, under the commitment that the receipt holds: nothing, and a commitment
/// to nothing, if there is a credential in it.
fn keep(stream: &CapturedStream) -> (OutputCommitment, Option<Capture>) {
    if stream.kept.is_empty() {
        return (stream.commitment, None);
    }
    if credential::find(&stream.kept).is_some() {
        return (forget(stream), None);
    }
    let capture = Capture {
        commitment: stream.commitment.kept.commitment,
        salt: stream.salt,
        bytes: Some(stream.kept.clone()),
    };
    (stream.commitment, Some(capture))
}

/// Of a redacted probe's output nothing is kept.
fn forgotten(outputs: &Captured) -> Outputs {
    Outputs {
        stderr: forget(&outputs.stderr),
        stdout: forget(&outputs.stdout),
    }
}

/// That of a stream nothing was kept: what was kept is committed to as nothing.
fn forget(stream: &CapturedStream) -> OutputCommitment {
    OutputCommitment {
        kept: Committed {
            commitment: hash::commitment(&stream.salt, &[]),
            length: 0,
        },
        whole: stream.commitment.whole,
    }
}

/// The probe that the arguments define. Its folder is the current one unless `--cwd` says
/// otherwise.
///
/// # Errors
/// Usage, if they define none.
pub fn probe_of(
    context: &Context<'_>,
    arguments: &ProbeArgs,
    timeout_ms: u64,
) -> Result<Probe, Failure> {
    let options = &arguments.options;
    let mut definition = match &arguments.check {
        CheckArgument::Argv(argv) => Definition::command(argv.iter().cloned()),
        CheckArgument::Native(check) => Definition::check(check.parse()?),
    };
    definition.cwd = match &options.cwd {
        Some(folder) => folder.clone(),
        None => paths::relative_cwd(&context.root, &context.cwd)?,
    };
    definition.timeout_ms = match options.timeout {
        Some(timeout) => milliseconds(timeout),
        None => timeout_ms,
    };
    for name in &options.env {
        definition.env.push(name.parse()?);
    }
    definition.env.sort();
    definition.env.dedup();
    apply(options, &mut definition)?;
    let told = definition
        .expect
        .iter()
        .any(|it| matches!(it, Expectation::Value(_)));
    if definition.redact && told {
        return Err(
            Failure::usage("value=TEXT would put the value that is redacted in the chain")
                .next("the same command with another expectation, as value~RE"),
        );
    }
    let probe = Probe::new(definition)?;
    probe::check_expressions(&probe).map_err(|error| Failure::usage(error.to_string()))?;
    // Before it runs, not only before it is signed.
    let texts = serde_json::to_value(&probe).unwrap_or_default();
    match credential::find_in("probe", &texts) {
        Some(found) => Err(failures::credential(&found)),
        None => Ok(probe),
    }
}

fn apply(options: &ProbeOptions, definition: &mut Definition) -> Result<(), Failure> {
    if let Some(extract) = &options.extract {
        definition.extract = extract.parse()?;
    }
    for expectation in &options.expect {
        definition.expect.push(expectation.parse()?);
    }
    definition.exit_only = options.exit_only;
    definition.shell = options.shell;
    definition.redact = options.redact;
    Ok(())
}

/// A duration in whole milliseconds, at least one.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_listens_once_however_often_it_is_asked_to() {
        let first = listen().unwrap();
        assert!(Arc::ptr_eq(&first, &listen().unwrap()));
    }
}
