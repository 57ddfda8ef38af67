//! The only holder of standard output and standard error.

use super::quote::{json_line, visible};
use super::report::{ERROR_SCHEMA, Exit, Failure};
use crate::types::Head;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;
use std::time::Duration;

/// How long work goes on before its progress is shown.
const PROGRESS_DELAY: Duration = Duration::from_millis(500);

/// What stands on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines for a person.
    Text,
    /// One document for a program.
    Json,
}

/// Standard output and standard error, and what the caller wants on them.
///
/// A command says both what a person reads ([`line`](Output::line)) and what a program reads
/// ([`document`](Output::document)); only what was asked for is printed. A reader that leaves (a
/// closed pipe) ends the printing, not the command; any other fault of standard output makes the
/// exit 5, so that no answer passes on a full disk, or 6 if something was recorded, so that nobody
/// records it twice.
pub struct Output {
    format: Format,
    style: Style,
    state: State,
    recorded: Option<Head>,
    line: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Bold,
}

enum State {
    /// A descriptor of our own: the standard library's stream would keep what could not be
    /// written, and write it after all when the process ends with another exit.
    Open(BufWriter<File>),
    Closed,
    Broken(io::Error),
}

impl State {
    fn of(stream: BorrowedFd<'_>) -> State {
        match stream.try_clone_to_owned() {
            Ok(stream) => State::Open(BufWriter::new(File::from(stream))),
            Err(error) => State::Broken(error),
        }
    }
}

impl Output {
    /// The process's streams. Bold is used on a terminal only, unless `NO_COLOR` is set and not
    /// empty (no-color.org) or `TERM` is `dumb`.
    pub fn new(format: Format) -> Output {
        let named = |name| std::env::var_os(name).unwrap_or_default();
        let plain = !named("NO_COLOR").is_empty() || named("TERM") == "dumb";
        let style = if io::stdout().is_terminal() && !plain {
            Style::Bold
        } else {
            Style::Plain
        };
        Output {
            format,
            style,
            state: State::of(io::stdout().as_fd()),
            recorded: None,
            line: None,
        }
    }

    /// An output that leaves standard output to somebody else: everything goes to standard error.
    pub fn aside(format: Format) -> Output {
        Output {
            style: Style::Plain,
            state: State::of(io::stderr().as_fd()),
            ..Output::new(format)
        }
    }

    /// An output that nobody reads.
    pub fn mute() -> Output {
        Output {
            state: State::Closed,
            ..Output::new(Format::Text)
        }
    }

    /// What was asked for.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether nobody reads standard output any more: long printing may stop.
    pub fn is_closed(&self) -> bool {
        !matches!(self.state, State::Open(_))
    }

    /// Whether what is printed reaches nobody, and not because the reader left.
    pub fn is_broken(&self) -> bool {
        matches!(self.state, State::Broken(_))
    }

    /// From now on documents alone are printed, whatever was asked for, each the answer to this
    /// line of the input.
    pub fn answer_line(&mut self, line: u64) {
        self.format = Format::Json;
        self.line = Some(line);
    }

    /// Notes what was recorded: to be told should the answer not reach standard output.
    pub fn recorded(&mut self, head: &Head) {
        self.recorded = Some(*head);
    }

    /// A line for a person; characters that are not plainly visible are made so.
    pub fn line(&mut self, line: &str) {
        if self.format == Format::Text {
            self.write(visible(line).as_bytes());
            self.write(b"\n");
        }
    }

    /// A line for a person that starts with a verdict, in bold where that is possible.
    pub fn verdict(&mut self, verdict: &str, rest: &str) {
        let (verdict, rest) = (visible(verdict), visible(rest));
        let line = match self.style {
            Style::Plain => format!("{verdict} {rest}"),
            Style::Bold => format!("\x1b[1m{verdict}\x1b[0m {rest}"),
        };
        if self.format == Format::Text {
            self.write(line.trim_end().as_bytes());
            self.write(b"\n");
        }
    }

    /// The one document for a program: `schema` and `exit`, then the members of `body`, or, if it
    /// is no object, `body` as `result`.
    pub fn document(&mut self, schema: &str, exit: Exit, body: Value) {
        if self.format == Format::Json {
            let mut document = Map::new();
            document.insert("schema".to_owned(), schema.into());
            document.insert("exit".to_owned(), exit.code().into());
            if let Some(line) = self.line {
                document.insert("line".to_owned(), line.into());
            }
            if let Value::Object(members) = body {
                document.extend(members);
            } else {
                document.insert("result".to_owned(), body);
            }
            self.json_line(&Value::Object(document));
        }
    }

    /// One value of JSON Lines, whatever was asked for.
    pub fn json_line(&mut self, value: &Value) {
        self.write(json_line(value).as_bytes());
        self.write(b"\n");
    }

    /// Bytes to standard output as they are, whatever was asked for.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }

    /// A line to standard error; characters that are not plainly visible are made so.
    pub fn note(&mut self, line: &str) {
        self.flush();
        // Nobody can be told that standard error is broken.
        let _ = writeln!(io::stderr(), "{}", visible(line));
    }

    /// A failure, where it belongs: text on standard error, a document on standard output.
    pub fn failure(&mut self, failure: &Failure) {
        match self.format {
            Format::Text => failure.lines().iter().for_each(|line| self.note(line)),
            Format::Json => self.document(ERROR_SCHEMA, failure.exit, failure.body()),
        }
    }

    /// Progress of `total` steps of work on standard error, if that is a terminal and the work
    /// takes long.
    pub fn progress(&mut self, what: &str, total: u64) -> Progress {
        self.flush();
        if !io::stderr().is_terminal() {
            return Progress { bar: None };
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {pos}/{len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(visible(what).into_owned());
        Progress { bar: Some(bar) }
    }

    /// Ends the printing. The exit is `exit`, unless a yes or no did not reach standard output:
    /// then it is 6 if something was recorded, else 5.
    pub fn finish(mut self, exit: Exit) -> ExitCode {
        self.flush();
        let State::Broken(error) = self.state else {
            return exit.into();
        };
        let (told, exit) = match (self.recorded, exit) {
            (Some(head), Exit::Yes | Exit::No) => {
                let Head { seq, leaf, .. } = head;
                let told = format!("; recorded up to event {seq}, leaf {leaf}\nnext: handoff log");
                (told, Exit::Indeterminate)
            }
            (None, Exit::Yes | Exit::No) => (String::new(), Exit::Environment),
            (
                _,
                Exit::Usage
                | Exit::CannotJudge
                | Exit::Integrity
                | Exit::Environment
                | Exit::Indeterminate
                | Exit::NotRun
                | Exit::Action(_)
                | Exit::Blocked,
            ) => (String::new(), exit),
        };
        // Nobody can be told that standard error is broken too.
        let _ = writeln!(io::stderr(), "error: standard output: {error}{told}");
        exit.into()
    }

    fn write(&mut self, bytes: &[u8]) {
        if let State::Open(stdout) = &mut self.state {
            let written = stdout.write_all(bytes);
            self.settle(written);
        }
    }

    /// Hands what was printed on to the reader.
    pub fn flush(&mut self) {
        if let State::Open(stdout) = &mut self.state {
            let flushed = stdout.flush();
            self.settle(flushed);
        }
    }

    fn settle(&mut self, result: io::Result<()>) {
        let Err(error) = result else {
            return;
        };
        let after = if error.kind() == io::ErrorKind::BrokenPipe {
            State::Closed
        } else {
            State::Broken(error)
        };
        if let State::Open(stdout) = std::mem::replace(&mut self.state, after) {
            // What is left of the answer is dropped, not written later by halves.
            drop(stdout.into_parts());
        }
    }
}

/// Progress of one piece of work; it is wiped when dropped.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// One more step is done.
    pub fn advance(&self) {
        if let Some(bar) = &self.bar {
            if bar.is_hidden() && bar.elapsed() > PROGRESS_DELAY {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
