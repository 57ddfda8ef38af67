//! What a program leaves behind: its process group, its session, and orphans that left both.
//!
//! A process that starts a session of its own and outlives its parent belongs to nobody that can be
//! named. On Linux this process asks to be made the parent of such orphans while probes run, and
//! kills and reaps them when the last running probe has ended; not sooner, for it cannot tell
//! which probe they came from. Elsewhere they live on.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid,
};

/// Whether the program has ended; it is not reaped by asking.
pub(super) fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // An error means that it is not our child any more, so that there is nothing to wait for.
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// Waits until the program has ended; it is not reaped by that.
pub(super) fn wait_for_end(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
}

/// Sends SIGTERM to the group, and SIGCONT so that a stopped member can act on it.
pub(super) fn ask_to_end(leader: Pid) {
    // A group that is gone already is what is wanted; so in the functions below.
    let _ = kill_process_group(leader, Signal::TERM);
    let _ = kill_process_group(leader, Signal::CONT);
}

/// Sends SIGKILL to the group.
pub(super) fn kill_group(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
}

/// Reaps members of the group that became our children.
pub(super) fn reap_group(leader: Pid) {
    while let Ok(Some(_)) = waitpgid(leader, WaitOptions::NOHANG) {}
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{Family, kill_session};
#[cfg(target_os = "linux")]
pub(super) use linux::{Family, kill_session};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use rustix::process::Pid;

    pub(in super::super) struct Family;

    impl Family {
        pub(in super::super) fn enter() -> Self {
            Family
        }
    }

    pub(in super::super) fn kill_session(_leader: Pid) {}
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{
        Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
    };
    use std::collections::BTreeSet;
    use std::fs;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::{Duration, Instant};

    /// How long orphans are hunted, a killed one leaving its own children to us each time.
    const SWEEP_MAX: Duration = Duration::from_secs(1);
    const SWEEP_TICK: Duration = Duration::from_millis(1);

    static RUNNING: Mutex<Running> = Mutex::new(Running {
        probes: 0,
        children_before: BTreeSet::new(),
    });

    struct Running {
        probes: usize,
        /// Children of this process when the first of the probes started: none of their orphans.
        children_before: BTreeSet<i32>,
    }

    fn running() -> MutexGuard<'static, Running> {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while a probe runs.
    pub(in super::super) struct Family(());

    impl Family {
        pub(in super::super) fn enter() -> Self {
            let mut running = running();
            if running.probes == 0 {
                // Where this is refused, orphans go to init as they always did.
                let _ = set_child_subreaper(Some(getpid()));
                running.children_before = children();
            }
            running.probes = running.probes.saturating_add(1);
            Family(())
        }
    }

    impl Drop for Family {
        fn drop(&mut self) {
            let mut running = running();
            running.probes = running.probes.saturating_sub(1);
            if running.probes == 0 {
                sweep(&running.children_before);
                let _ = set_child_subreaper(None);
            }
        }
    }

    /// Kills and reaps the orphans of probes: children that were not there before and are in
    /// another session than ours. A child that other code started meanwhile shares our session.
    fn sweep(children_before: &BTreeSet<i32>) {
        let own_session = session("self");
        let until = Instant::now() + SWEEP_MAX;
        loop {
            let orphans: Vec<Pid> = children()
                .difference(children_before)
                .filter(|pid| session(&pid.to_string()) != own_session)
                .filter_map(|pid| Pid::from_raw(*pid))
                .collect();
            if orphans.is_empty() || Instant::now() > until {
                return;
            }
            for orphan in orphans {
                let _ = kill_process(orphan, Signal::KILL);
                let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
            }
            std::thread::sleep(SWEEP_TICK);
        }
    }

    /// The children of this process, by number; empty on a kernel that does not list them.
    fn children() -> BTreeSet<i32> {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
        tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|list| {
                let numbers = list.split_ascii_whitespace();
                numbers
                    .filter_map(|pid| pid.parse().ok())
                    .collect::<Vec<i32>>()
            })
            .collect()
    }

    /// Sends SIGKILL to every process of the leader's session, whatever its group.
    pub(in super::super) fn kill_session(leader: Pid) {
        let leader = leader.as_raw_nonzero().get();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let members = processes.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let pid = name.parse().ok().filter(|pid| *pid != leader)?;
            Pid::from_raw(pid).filter(|_| session(&name) == Some(leader))
        });
        for member in members {
            let _ = kill_process(member, Signal::KILL);
        }
    }

    /// The session of a process, which is 0 if its leader is outside our view: the sixth field of
    /// proc_pid_stat(5), the second being in parentheses and free to hold any character.
    fn session(pid: &str) -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, after_name) = stat.rsplit_once(") ")?;
        after_name.split(' ').nth(3)?.parse().ok()
    }
}
