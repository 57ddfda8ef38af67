//! `append`: many commands in one process, one a line, each answered by the document of its own.

use super::super::answer;
use super::super::args::{Append, Command, Common, Inner, Session};
use super::super::observe;
use super::super::output::Output;
use super::super::report::{Exit, Failure};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Longest line, in bytes, without its end.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How many lines are read ahead of the one that is carried out.
const AHEAD: usize = 16;
/// How often a wait for the next line looks whether a signal came.
const POLL: Duration = Duration::from_millis(50);
/// The word before those of a line.
const PROGRAM: &str = "handoff";
/// What stands for standard input.
const STANDARD_INPUT: &str = "-";
/// How many lines that failed are named at the end.
const FAILED_NAMED_MAX: usize = 10;

/// A line as it was read.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// What comes next.
enum Next {
    Line(Line),
    End,
    Interrupted,
    Unreadable(io::Error),
}

/// How far it got.
struct Tally {
    done: u64,
    failed: Vec<u64>,
    /// The line after which no more was begun.
    stopped: Option<u64>,
    /// That of the first line that failed.
    exit: Exit,
}

/// Carries out each line, up to the first that fails unless it is to go on. The exit is that of the
/// first that failed.
pub(super) fn run(common: &Common, asked: &Append, output: &mut Output) -> Result<Exit, Failure> {
    let source = open(&asked.file)?;
    let interrupted = observe::listen()?;
    let lines = read_ahead(source).map_err(|error| {
        Failure::environment("io", format!("a thread cannot be started: {error}")).retryable()
    })?;
    let mut inner = Inner::new(common);
    let mut tally = Tally {
        done: 0,
        failed: Vec::new(),
        stopped: None,
        exit: Exit::Yes,
    };
    for number in 1.. {
        let next = next(&lines, &interrupted);
        output.answer_line(number);
        let exit = match next {
            Next::End => break,
            Next::Line(line) => carry_out(number, line, &mut inner, output),
            Next::Interrupted => {
                let message = format!("interrupted before line {number} was begun");
                stop(Failure::environment("interrupted", message), number, output)
            }
            Next::Unreadable(error) => {
                let message = format!("line {number} cannot be read: {error}");
                stop(Failure::environment("io", message), number, output)
            }
        };
        output.flush();
        tally.count(number, exit);
        let goes_on = match exit {
            Exit::Yes => true,
            Exit::No | Exit::Usage => asked.keep_going,
            // It is not the line that is at fault.
            Exit::CannotJudge
            | Exit::Integrity
            | Exit::Environment
            | Exit::Indeterminate
            | Exit::NotRun
            | Exit::Action(_)
            | Exit::Blocked => false,
        };
        if !goes_on || output.is_broken() {
            tally.stopped = Some(number);
            break;
        }
    }
    tally.tell(output);
    Ok(tally.exit)
}

/// Says on the stream of answers why no further line is begun.
fn stop(failure: Failure, number: u64, output: &mut Output) -> Exit {
    let failure = failure.next(from(number)).retryable();
    output.failure(&failure);
    failure.exit
}

/// How to go on from a line.
fn from(number: u64) -> String {
    format!("the lines from {number} on, to handoff append")
}

fn open(file: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let refused = || {
        Failure::usage("append reads nothing from a terminal: lines come from a file or a pipe")
            .next("handoff append FILE")
    };
    if file == Path::new(STANDARD_INPUT) {
        let input = io::stdin();
        return match input.is_terminal() {
            true => Err(refused()),
            false => Ok(Box::new(input)),
        };
    }
    let opened = File::open(file).map_err(|error| {
        let file = file.display();
        Failure::environment("io", format!("{file} cannot be opened: {error}"))
            .next("handoff append FILE")
    })?;
    match opened.is_terminal() {
        true => Err(refused()),
        false => Ok(Box::new(opened)),
    }
}

/// Reads lines in a thread of its own: a read waits for ever, through any signal.
fn read_ahead(source: Box<dyn Read + Send>) -> io::Result<Receiver<io::Result<Line>>> {
    let (lines, ahead) = sync_channel(AHEAD);
    thread::Builder::new().spawn(move || read_all(&mut BufReader::new(source), &lines))?;
    Ok(ahead)
}

fn read_all(source: &mut impl BufRead, lines: &SyncSender<io::Result<Line>>) {
    loop {
        let line = read_line(source).transpose();
        let is_last = !matches!(line, Some(Ok(_)));
        // Nobody listens any more once a line has failed.
        let is_heard = line.is_some_and(|line| lines.send(line).is_ok());
        if is_last || !is_heard {
            return;
        }
    }
}

/// The next line without its end, if there is one.
fn read_line(source: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let limit = u64::try_from(LINE_BYTES_MAX + 1).unwrap_or(u64::MAX);
    source.take(limit).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => {
            line.pop();
            Ok(Some(Line::Whole(line)))
        }
        Some(_) if line.len() <= LINE_BYTES_MAX => Ok(Some(Line::Whole(line))),
        Some(_) => {
            source.skip_until(b'\n')?;
            Ok(Some(Line::TooLong))
        }
    }
}

fn next(lines: &Receiver<io::Result<Line>>, interrupted: &AtomicBool) -> Next {
    loop {
        if interrupted.load(Ordering::Relaxed) {
            return Next::Interrupted;
        }
        match lines.recv_timeout(POLL) {
            Ok(Ok(line)) => return Next::Line(line),
            Ok(Err(error)) => return Next::Unreadable(error),
            Err(RecvTimeoutError::Disconnected) => return Next::End,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn carry_out(number: u64, line: Line, inner: &mut Inner<'_>, output: &mut Output) -> Exit {
    let argv = match words(number, line) {
        Ok(words) => words,
        Err(failure) => {
            output.failure(&failure);
            return failure.exit;
        }
    };
    let request = inner.parse(&argv).and_then(|request| {
        if records(&request.command) {
            return Ok(request);
        }
        let message = format!("line {number}: no command by which a session records");
        Err(Failure::usage(message).next("handoff help append"))
    });
    let argv: Vec<OsString> = argv.into_iter().map(OsString::from).collect();
    answer(&argv, request, output)
}

/// The program's name and the words of a line.
fn words(number: u64, line: Line) -> Result<Vec<String>, Failure> {
    let refused =
        |what: String| Failure::usage(format!("line {number}: {what}")).next("handoff help append");
    let bytes = match line {
        Line::Whole(bytes) => bytes,
        Line::TooLong => return Err(refused(format!("longer than {LINE_BYTES_MAX} bytes"))),
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(refused("blank".to_owned()));
    }
    let words: Vec<String> = serde_json::from_slice(&bytes).map_err(|error| {
        let column = error.column();
        refused(format!("no JSON array of strings, from column {column} on"))
    })?;
    if words.is_empty() {
        return Err(refused("no command".to_owned()));
    }
    // As in the words of a process.
    if words.iter().any(|word| word.contains('\0')) {
        return Err(refused("a word holds a NUL".to_owned()));
    }
    Ok([PROGRAM.to_owned()].into_iter().chain(words).collect())
}

/// Whether a session records by it.
fn records(command: &Command) -> bool {
    match command {
        Command::Session(session) => match session {
            Session::Open(_) | Session::Abandon { .. } => true,
            Session::List => false,
        },
        Command::Probe(_)
        | Command::Axis(_)
        | Command::Ambient(_)
        | Command::Claim(_)
        | Command::Flag(_)
        | Command::Promote(_)
        | Command::Retract(_)
        | Command::Discard(_)
        | Command::Erase(_)
        | Command::Seal
        | Command::Resume(_)
        | Command::Reverify(_) => true,
        Command::Init(_)
        | Command::Key(_)
        | Command::Trust(_)
        | Command::Append(_)
        | Command::Gate(_)
        | Command::Acknowledge(_)
        | Command::Upgrade
        | Command::Brief(_)
        | Command::Can(_)
        | Command::Verify(_)
        | Command::Compare(_)
        | Command::Log(_)
        | Command::Show(_)
        | Command::State(_)
        | Command::Head
        | Command::Checkpoint(_)
        | Command::Prove(_)
        | Command::VerifyProof(_)
        | Command::Witness(_)
        | Command::Export(_)
        | Command::Import(_)
        | Command::Hook(_)
        | Command::Hooks(_)
        | Command::Guide
        | Command::Doctor
        | Command::Demo(_)
        | Command::Mcp
        | Command::Completions(_)
        | Command::Man(_)
        | Command::InstallDocs(_)
        | Command::Help(_)
        | Command::Version => false,
    }
}

impl Tally {
    fn count(&mut self, number: u64, exit: Exit) {
        if exit == Exit::Yes {
            self.done = self.done.saturating_add(1);
            return;
        }
        if self.exit == Exit::Yes {
            self.exit = exit;
        }
        self.failed.push(number);
    }

    /// How it ended, for a person; nothing if all went well. Programs read it from the answers.
    fn tell(&self, output: &mut Output) {
        if self.failed.is_empty() {
            return;
        }
        let named = self.failed.iter().take(FAILED_NAMED_MAX);
        let mut named: Vec<String> = named.map(u64::to_string).collect();
        let left = self.failed.len().saturating_sub(FAILED_NAMED_MAX);
        if left > 0 {
            named.push(format!("and {left} more"));
        }
        let (done, named) = (self.done, named.join(", "));
        output.note(&format!("append: {done} lines done, not done: {named}"));
        let next = match (self.stopped, self.exit, self.failed.len()) {
            (Some(line), Exit::Indeterminate, 1) => {
                format!("see whether line {line} was recorded, then go on from it or after it")
            }
            (Some(line), _, 1) => from(line),
            (Some(line), _, _) => {
                format!("the lines that failed and those from {line} on, to handoff append")
            }
            (None, _, _) => "the lines that failed, to handoff append".to_owned(),
        };
        output.note(&format!("next: {next}"));
    }
}
