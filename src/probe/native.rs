//! Native checks: what the tool looks at itself.
//!
//! Each is made in a thread of its own, because resolving a name or reading a file can block for
//! longer than anyone waits; at the timeout the thread is left to end by itself.

use super::files::sha256;
use super::{Seen, Surroundings, milliseconds_since, network, schema};
use crate::probe_spec::{Check, Outcome, Probe};
use rustix::process::geteuid;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often an interrupt is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Makes a check: `checked` with an answer, or `failed`, or `timed_out` if it took too long. A
/// reachability check that takes too long has an answer all the same, `timeout`. Without a thread
/// to make it in, nothing is known of what it asks about.
pub(super) fn observe(
    check: &Check,
    directory: &Path,
    probe: &Probe,
    surroundings: &Surroundings<'_>,
) -> Seen {
    let start = Instant::now();
    let deadline = start + Duration::from_millis(probe.timeout_ms());
    match wait(check, directory, deadline, surroundings) {
        Ok((outcome, answer)) => Seen {
            duration_ms: milliseconds_since(start),
            answer,
            ..Seen::nothing(outcome)
        },
        Err(error) => Seen::failed(&error),
    }
}

fn wait(
    check: &Check,
    directory: &Path,
    deadline: Instant,
    surroundings: &Surroundings<'_>,
) -> io::Result<(Outcome, Option<String>)> {
    let (sender, answers) = channel();
    let (asked, folder) = (check.clone(), directory.to_owned());
    thread::Builder::new().spawn(move || {
        // Nobody listens any more once the timeout is over.
        let _ = sender.send(answer(&asked, &folder, deadline));
    })?;
    loop {
        if surroundings.is_interrupted() {
            return Ok((Outcome::Interrupted, None));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match answers.recv_timeout(TICK.min(left)) {
            Ok(Some(answer)) => return Ok((Outcome::Checked, Some(answer))),
            Ok(None) if Instant::now() >= deadline && !check.is_reachability() => {
                return Ok(overdue(check));
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return Ok((Outcome::Failed, None)),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(overdue(check)),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn overdue(check: &Check) -> (Outcome, Option<String>) {
    if check.is_reachability() {
        let timeout = network::Reach::Timeout.as_str().to_owned();
        (Outcome::Checked, Some(timeout))
    } else {
        (Outcome::TimedOut, None)
    }
}

/// The check's answer, if it could be made.
fn answer(check: &Check, directory: &Path, deadline: Instant) -> Option<String> {
    match check {
        Check::Os => Some(std::env::consts::OS.to_owned()),
        Check::Arch => Some(std::env::consts::ARCH.to_owned()),
        Check::User => Some(geteuid().as_raw().to_string()),
        Check::Privileges => privileges(),
        Check::MountRoot => mount_root(),
        Check::NetworkNamespace => link("/proc/self/ns/net"),
        Check::Env(name) => std::env::var(name.as_str()).ok(),
        Check::EnvSet(name) => {
            let is_set = std::env::var_os(name.as_str()).is_some();
            Some(if is_set { "set" } else { "unset" }.to_owned())
        }
        Check::FileSha256(path) => {
            let in_time = || Instant::now() < deadline;
            let digest = sha256(&directory.join(path.as_str()), in_time).ok()?;
            Some(digest.to_string())
        }
        Check::Tcp(endpoint) => Some(network::tcp(endpoint, deadline)?.as_str().to_owned()),
        Check::Http(url) => Some(network::http(url, deadline)?.as_str().to_owned()),
        Check::Schema { document, schema } => {
            let at = |path: &str| -> PathBuf { directory.join(path) };
            let is_valid = schema::is_valid(&at(document.as_str()), &at(schema.as_str()))?;
            Some(if is_valid { "valid" } else { "invalid" }.to_owned())
        }
    }
}

/// `root` or `user` by the effective user id, and on Linux the effective capabilities (`CapEff`,
/// proc_pid_status(5)).
fn privileges() -> Option<String> {
    let name = if geteuid().is_root() { "root" } else { "user" };
    if !cfg!(target_os = "linux") {
        return Some(name.to_owned());
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let capabilities = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    Some(format!("{name} {}", capabilities.trim()))
}

/// Type, source and root of the topmost mount at `/`, separated by spaces, spelled as in
/// proc_pid_mountinfo(5). There is no such file but on Linux.
fn mount_root() -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().rev().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, mount_point) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let (kind, source) = (file_system.next()?, file_system.next()?);
        (mount_point == "/").then(|| format!("{kind} {source} {root}"))
    })
}

fn link(path: &str) -> Option<String> {
    std::fs::read_link(path)
        .ok()?
        .into_os_string()
        .into_string()
        .ok()
}
