//! Starting a program and seeing it end. The only file that starts a process.
//!
//! The program runs in a session and process group of its own, without a terminal, its standard
//! input empty. At the timeout and at an interrupt the group is told to end, then killed; after its
//! end whatever is left of it is killed too. Two threads read its output, and nothing waits for
//! them longer than a moment: an output that something holds open is left behind.

use super::descendants::{self, Family};
use super::files::find_program;
use super::loadable::{is_loadable, speaks_of_program};
use super::output::{Captured, Sink, drain, lock};
use super::relay::Relay;
use super::{Seen, Surroundings, milliseconds_since};
use crate::probe_spec::{Outcome, Probe};
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::Pid;
use std::convert::Infallible;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running program's end, its timeout and an interrupt are looked at.
const TICK: Duration = Duration::from_millis(10);
/// The same, once its output is closed and the end is near.
const LAST_TICK: Duration = Duration::from_millis(1);
/// How long a group that was told to end may take over it.
const TERMINATION_GRACE: Duration = Duration::from_millis(500);
/// How long output may stay open after the end, and again after what held it was killed.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// How long a killed program may take to vanish; the system can hold it longer.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// Where programs are looked for if the environment does not say.
pub(super) const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
/// The shell of `--shell`.
pub(super) const SHELL: &str = "/bin/sh";

/// Runs the program of `argv` in `directory`.
pub(super) fn observe(
    argv: &[String],
    directory: &Path,
    probe: &Probe,
    surroundings: &Surroundings<'_>,
) -> Seen {
    if surroundings.is_interrupted() {
        return Seen::nothing(Outcome::Interrupted);
    }
    if !probe.shell() {
        let Some(name) = argv.first() else {
            return Seen::nothing(Outcome::NotFound);
        };
        match find_program(name, directory) {
            Ok(Some(program)) => match is_loadable(&program, directory) {
                Ok(true) => {}
                Ok(false) => return Seen::nothing(Outcome::NotExecutable),
                Err(error) => return Seen::failed(&error),
            },
            // A device, a folder, a named pipe: it is there, and no program.
            Ok(None) if name.contains('/') && directory.join(name).exists() => {
                return Seen::nothing(Outcome::NotExecutable);
            }
            Ok(None) => return Seen::nothing(Outcome::NotFound),
            Err(error) => return Seen::failed(&error),
        }
    }
    let family = Family::enter();
    let start = Instant::now();
    let mut running = match Running::start(argv, directory, probe) {
        Ok(running) => running,
        // It is there yet does not start: no permission, no such directory, no interpreter.
        Err(error) if speaks_of_program(&error) => return Seen::nothing(Outcome::NotExecutable),
        Err(error) => return Seen::failed(&error),
    };
    let deadline = start + Duration::from_millis(probe.timeout_ms());
    let end = running.wait(deadline, surroundings);
    let duration_ms = milliseconds_since(start);
    let (status, pipe_held) = match end {
        End::Itself => running.clean_up(),
        End::TimedOut | End::Interrupted => running.terminate(),
    };
    let outcome = match end {
        End::TimedOut => Outcome::TimedOut,
        End::Interrupted => Outcome::Interrupted,
        End::Itself => status.map_or(Outcome::Failed, outcome_of),
    };
    let outputs = running.captured();
    drop(family);
    Seen {
        outcome,
        duration_ms,
        outputs: Some(outputs),
        answer: None,
        pipe_held,
        failure: None,
    }
}

/// Runs `argv` attached: its streams, environment, folder and terminal are those of this process,
/// and the signals that would end this process are handed on to it. Returns how it ended, which is
/// [`Outcome::Failed`] if the system does not tell.
///
/// # Errors
/// What kept it from being started; then it was not.
pub fn attached(argv: &[String], relay: Relay) -> io::Result<Outcome> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        relay.accompany(pid);
    }
    Ok(child.wait().map_or(Outcome::Failed, outcome_of))
}

/// The outcome of a program that could not be started.
pub fn not_started(error: &io::Error) -> Outcome {
    if error.kind() == io::ErrorKind::NotFound {
        Outcome::NotFound
    } else if speaks_of_program(error) {
        Outcome::NotExecutable
    } else {
        Outcome::Failed
    }
}

#[derive(Clone, Copy)]
enum End {
    Itself,
    TimedOut,
    Interrupted,
}

fn outcome_of(status: ExitStatus) -> Outcome {
    let exit = status.code().and_then(|code| u8::try_from(code).ok());
    let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
    match (exit, signal) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(number)) => Outcome::Signaled(number),
        (None, None) => Outcome::Failed,
    }
}

/// A program that was started, and the readers of its output.
struct Running {
    child: Box<dyn ChildWrapper>,
    pid: Pid,
    stdout: Arc<Mutex<Sink>>,
    stderr: Arc<Mutex<Sink>>,
    /// Each reader holds a sender and never sends: both outputs are closed once all are dropped.
    readers: Receiver<Infallible>,
    closed: bool,
    /// Tells the readers to stop at the next piece.
    enough: Arc<AtomicBool>,
}

impl Running {
    fn start(argv: &[String], directory: &Path, probe: &Probe) -> io::Result<Self> {
        let (sender, readers) = channel();
        let enough = Arc::new(AtomicBool::new(false));
        let (stdout, stdout_end) = reader(&sender, &enough)?;
        let (stderr, stderr_end) = reader(&sender, &enough)?;
        drop(sender);
        let mut command = command(argv, probe)?;
        command
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(stdout_end)
            .stderr(stderr_end);
        // The wrapper around the child is not kept: where orphans come back to us, its way of
        // waiting for a whole group loses the program's own status.
        let child = CommandWrap::from(command)
            .wrap(ProcessSession)
            .spawn()?
            .into_inner();
        let pid = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidData)?;
        Ok(Running {
            child,
            pid,
            stdout,
            stderr,
            readers,
            closed: false,
            enough,
        })
    }

    /// Waits for the program's own end, but no longer than to `deadline` or an interrupt.
    fn wait(&mut self, deadline: Instant, surroundings: &Surroundings<'_>) -> End {
        loop {
            if descendants::has_ended(self.pid) {
                return End::Itself;
            }
            if surroundings.is_interrupted() {
                return End::Interrupted;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return End::TimedOut;
            }
            self.pause(TICK.min(left));
        }
    }

    /// Lets time pass until the outputs close, at most as long as `tick`.
    fn pause(&mut self, tick: Duration) {
        if self.closed {
            thread::sleep(tick.min(LAST_TICK));
            return;
        }
        match self.readers.recv_timeout(tick) {
            Ok(never) => match never {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.closed = true,
        }
    }

    /// Tells the group to end, gives it a moment, and cleans up.
    fn terminate(&mut self) -> (Option<ExitStatus>, bool) {
        descendants::ask_to_end(self.pid);
        let until = Instant::now() + TERMINATION_GRACE;
        while Instant::now() < until && !(descendants::has_ended(self.pid) && self.closed) {
            self.pause(TICK);
        }
        let (status, _) = self.clean_up();
        // That the output was open is no news of a program that was cut short.
        (status, false)
    }

    /// Kills what is left of the group, and says how the program ended and whether something
    /// still held its output open after that.
    fn clean_up(&mut self) -> (Option<ExitStatus>, bool) {
        if descendants::has_ended(self.pid) {
            self.drain(DRAIN_GRACE);
        }
        let pipe_held = !self.closed;
        // The program is not waited for before this: until then no other can get its number.
        descendants::kill_group(self.pid);
        if pipe_held {
            descendants::kill_session(self.pid);
            self.drain(DRAIN_GRACE);
        }
        self.enough.store(true, Ordering::Relaxed);
        (self.reap(), pipe_held)
    }

    fn drain(&mut self, grace: Duration) {
        let until = Instant::now() + grace;
        while !self.closed && Instant::now() < until {
            self.pause(TICK);
        }
    }

    fn reap(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + KILL_GRACE;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(LAST_TICK),
                Ok(None) | Err(_) => break None,
            }
        };
        descendants::reap_group(self.pid);
        status
    }

    fn captured(&self) -> Captured {
        Captured {
            stderr: lock(&self.stderr).captured(),
            stdout: lock(&self.stdout).captured(),
        }
    }
}

/// Starts a thread that reads one stream; gives its sink and the end that the program writes to.
fn reader(
    sender: &Sender<Infallible>,
    enough: &Arc<AtomicBool>,
) -> io::Result<(Arc<Mutex<Sink>>, io::PipeWriter)> {
    let (from, to) = io::pipe()?;
    let sink = Arc::new(Mutex::new(Sink::new().map_err(io::Error::other)?));
    let (sender, enough, filled) = (sender.clone(), Arc::clone(enough), Arc::clone(&sink));
    thread::Builder::new().spawn(move || {
        drain(from, &filled, &enough);
        drop(sender);
    })?;
    Ok((sink, to))
}

/// The command with its whole environment.
fn command(argv: &[String], probe: &Probe) -> io::Result<Command> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = if probe.shell() {
        let mut shell = Command::new(SHELL);
        shell.arg("-c").arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.args(arguments).env_clear();
    command.env(
        "PATH",
        std::env::var_os("PATH").unwrap_or_else(|| PATH_DEFAULT.into()),
    );
    for name in probe.env().iter().map(|name| name.as_str()).chain(["HOME"]) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs([
        ("LC_ALL", "C.UTF-8"),
        ("TZ", "UTC"),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
    ]);
    Ok(command)
}
