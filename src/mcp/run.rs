//! Running this very program for a call, and seeing it end. Beside `probe/run.rs` the only file
//! that starts a process, and it starts no other program.
//!
//! A call that is cancelled, and every call when the server ends, is told to end (SIGTERM): it
//! ends its probes and records nothing that it did not record yet. One that does not is killed.

use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// How many calls that run probes are under way at once; others wait.
const PROBING_MAX: u32 = 6;
/// How many others are: they are quick, and wait for no probe.
const ASKING_MAX: u32 = 2;
/// How long a call that was told to end may take over it.
const TERMINATION_GRACE: Duration = Duration::from_secs(4);
/// Longest document that is read, in bytes.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How much is kept of what stands on standard error, in bytes.
const NOTES_BYTES_MAX: usize = 4096;
/// How much is read at a time, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// What runs the program.
pub(super) struct Runner {
    program: PathBuf,
    options: Vec<OsString>,
    probing: Semaphore,
    asking: Semaphore,
    ending: watch::Receiver<bool>,
}

/// Whom a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    /// Those that run probes.
    Probing,
    /// The others.
    Asking,
}

/// How a run ended.
pub(super) struct Ended {
    /// Standard output.
    pub(super) document: Vec<u8>,
    /// The beginning of standard error.
    pub(super) notes: Vec<u8>,
    /// The exit, unless a signal ended it.
    pub(super) exit: Option<i32>,
    /// Whether it was told to end before it did.
    pub(super) was_given_up: bool,
}

/// Why nothing, or not all, of an answer is there.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("the call was given up before it began")]
    GivenUp,
    #[error("the program cannot be run: {0}")]
    Io(#[from] io::Error),
    #[error("the answer is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong,
}

impl Runner {
    /// What runs this program with `options` until `ending` holds true.
    ///
    /// # Errors
    /// If it cannot be found out where the program is.
    pub(super) fn new(options: Vec<OsString>, ending: watch::Receiver<bool>) -> io::Result<Runner> {
        Ok(Runner {
            program: std::env::current_exe()?,
            options,
            probing: Semaphore::new(usize::try_from(PROBING_MAX).map_err(io::Error::other)?),
            asking: Semaphore::new(usize::try_from(ASKING_MAX).map_err(io::Error::other)?),
            ending,
        })
    }

    /// Runs `words` to its end, or to that of a call that is `cancelled`.
    ///
    /// # Errors
    /// If it was not run, or printed too much.
    pub(super) async fn run(
        &self,
        queue: Queue,
        words: &[String],
        cancelled: impl Future<Output = ()>,
    ) -> Result<Ended, RunError> {
        let mut ending = self.ending.clone();
        let given_up = async {
            tokio::select! {
                () = cancelled => {}
                // A server that is no more ends its calls too.
                _ = ending.wait_for(|ending| *ending) => {}
            }
        };
        tokio::pin!(given_up);
        let places = match queue {
            Queue::Probing => &self.probing,
            Queue::Asking => &self.asking,
        };
        let _place = tokio::select! {
            biased;
            () = &mut given_up => return Err(RunError::GivenUp),
            place = places.acquire() => place.map_err(|_| RunError::GivenUp)?,
        };
        let mut child = self.start(words)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reading = async {
            tokio::join!(
                read(stdout, DOCUMENT_BYTES_MAX),
                read(stderr, NOTES_BYTES_MAX)
            )
        };
        tokio::pin!(reading);
        let read = tokio::select! {
            read = &mut reading => Some(read),
            () = &mut given_up => None,
        };
        let was_given_up = read.is_none();
        let (document, notes) = match read {
            Some(read) => read,
            None => {
                tell_to_end(&child);
                match timeout(TERMINATION_GRACE, &mut reading).await {
                    Ok(read) => read,
                    Err(_) => {
                        child.start_kill()?;
                        reading.await
                    }
                }
            }
        };
        // Its output is closed: it has ended, or is about to.
        let status = match timeout(TERMINATION_GRACE, child.wait()).await {
            Ok(status) => status?,
            Err(_) => {
                child.start_kill()?;
                child.wait().await?
            }
        };
        if document.length > DOCUMENT_BYTES_MAX {
            return Err(RunError::TooLong);
        }
        Ok(Ended {
            document: document.kept,
            notes: notes.kept,
            exit: status.code(),
            was_given_up,
        })
    }

    /// Waits until no call is under way any more.
    pub(super) async fn all_ended(&self) {
        // That it fails if the semaphores are closed is no matter: they never are.
        let _ = tokio::join!(
            self.probing.acquire_many(PROBING_MAX),
            self.asking.acquire_many(ASKING_MAX)
        );
    }

    fn start(&self, words: &[String]) -> io::Result<Child> {
        Command::new(&self.program)
            .arg("--json")
            .args(&self.options)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }
}

/// It is not waited for before its output is closed, so its number is still its own.
fn tell_to_end(child: &Child) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        // One that cannot be told is killed a little later.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The beginning of a stream, and its whole length.
struct Stream {
    kept: Vec<u8>,
    length: usize,
}

/// Reads to the end, keeping at most `bytes_max`: a program that is not read would never end.
async fn read(from: Option<impl AsyncRead + Unpin>, bytes_max: usize) -> Stream {
    let mut stream = Stream {
        kept: Vec::new(),
        length: 0,
    };
    let Some(mut from) = from else {
        return stream;
    };
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(length) = from.read(&mut piece).await {
        if length == 0 {
            break;
        }
        let room = bytes_max.saturating_sub(stream.kept.len());
        let kept = piece.get(..length.min(room)).unwrap_or_default();
        stream.kept.extend_from_slice(kept);
        stream.length = stream.length.saturating_add(length);
    }
    stream
}
