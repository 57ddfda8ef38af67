//! The signals that end a program: which of them are listened to, and their relay to a program
//! that runs in this one's place.

use super::descendants;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
};
use signal_hook::iterator::{Handle, Signals};
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Signals that would end this program and can be waited for: what it started would live on. Those
/// of a fault of its own are none of them.
const ENDING: [c_int; 10] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU,
];
/// Of these, what a terminal sends to everyone in its foreground, and so to the program too.
const OF_A_TERMINAL: [c_int; 2] = [SIGINT, SIGQUIT];

/// The signals that would end this program. One that it was started to ignore, as by nohup(1), is
/// none of them: to listen to it would undo that, for what this program starts too.
pub fn ending() -> Vec<c_int> {
    let ignored = ignored();
    let mut signals = ENDING.to_vec();
    signals.retain(|signal| {
        let place = u32::try_from(*signal).ok().and_then(|it| it.checked_sub(1));
        let bit = place.and_then(|place| 1u64.checked_shl(place));
        bit.is_none_or(|bit| ignored & bit == 0)
    });
    signals
}

/// The set of ignored signals, signal N at bit N - 1, as proc(5) tells it; empty where no one does.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or_default()
}

/// Hands the ending signals on to a program, from when it was made: those that come before the
/// program is there reach it once it is.
pub struct Relay {
    handle: Handle,
    program: Sender<Pid>,
    thread: thread::JoinHandle<()>,
}

impl Relay {
    /// Takes the signals: they end this program no more.
    ///
    /// # Errors
    /// If the system does not let them be listened to.
    pub fn listen() -> io::Result<Relay> {
        let signals = Signals::new(ending())?;
        let handle = signals.handle();
        let (program, told) = channel();
        let thread = thread::Builder::new().spawn(move || hand_on(signals, &told))?;
        Ok(Relay {
            handle,
            program,
            thread,
        })
    }

    /// Hands on to a program until it has ended. It is not reaped: it keeps its number until the
    /// last signal was handed on.
    pub(super) fn accompany(self, program: Pid) {
        // The thread takes it as long as the handle is open.
        let _ = self.program.send(program);
        descendants::wait_for_end(program);
        self.handle.close();
        let _ = self.thread.join();
    }
}

fn hand_on(mut signals: Signals, told: &Receiver<Pid>) {
    let Ok(program) = told.recv() else {
        return;
    };
    for signal in signals.forever() {
        if OF_A_TERMINAL.contains(&signal) && is_in_foreground() {
            continue;
        }
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It may just have ended.
            let _ = kill_process(program, signal);
        }
    }
}

/// Whether this process is in the foreground of a terminal.
fn is_in_foreground() -> bool {
    File::open("/dev/tty")
        .ok()
        .and_then(|terminal| tcgetpgrp(terminal).ok())
        .is_some_and(|foreground| foreground == getpgrp())
}
