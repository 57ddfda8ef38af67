//! `hook`: a client's question, answered in its own words and by its own exits.
//!
//! Before a tool call nothing is opened or probed unless a guard matches. A question that is not
//! understood is answered as the guards say of errors; the start of a session and a stop are never
//! kept up by one.

mod guard;
mod start;
mod stop;

use crate::cli::args::{Common, Hook, Place};
use crate::cli::context;
use crate::cli::output::Output;
use crate::cli::quote::quoted_within;
use crate::cli::report::{Exit, Failure};
use crate::home::clock;
use crate::hooks::answer::{Answer, HookExit};
use crate::hooks::client::{Client, Moment};
use crate::hooks::fired::{self, Fired};
use crate::hooks::payload::{self, Event, PAYLOAD_BYTES_MAX, Payload, PayloadError, ToolCall};
use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// How long a hook waits for a lock: clients let a call go on whose hook takes too long.
const WAIT: Duration = Duration::from_secs(2);
/// How long it waits for the whole question.
const PAYLOAD_WAIT: Duration = Duration::from_secs(5);
/// Most characters of a call that a message shows.
const CALL_CHARACTERS_MAX: usize = 120;
/// The variables in which clients name the folder of the project, whatever the current one is.
const PROJECT_VARIABLES: [&str; 3] = [
    "CLAUDE_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "CURSOR_PROJECT_DIR",
];

/// Why a question cannot be answered as it is.
#[derive(Debug, thiserror::Error)]
enum Misunderstood {
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error("expected a payload on standard input, found a terminal")]
    Terminal,
    #[error("expected the whole payload within {} s, found no end of it", PAYLOAD_WAIT.as_secs())]
    NoEnd,
    #[error("expected to read standard input, found: {0}")]
    Io(std::io::Error),
    #[error("{0}")]
    Event(String),
    #[error("asked as {asked}, and the client speaks of {found}")]
    Other { asked: Moment, found: Moment },
}

/// A question.
struct Question<'a> {
    common: &'a Common,
    asked: &'a Hook,
    moment: Moment,
    /// Where to look: what the client names, then what the command line and the environment do.
    folders: Vec<PathBuf>,
    conversation: Option<String>,
}

/// What is asked, as far as it is understood.
type Understood = Result<Event, Misunderstood>;

/// Answers a client. There is no failure: each is an answer.
///
/// # Errors
/// None.
pub(super) fn run(common: &Common, asked: &Hook, output: &mut Output) -> Result<Exit, Failure> {
    let read = read();
    let client = client(&read, asked);
    let (question, event) = understand(common, asked, read);
    let answer = answer(&question, event, client, output);
    note(&question, client, &answer);
    Ok(print(&answer, client, question.moment, output))
}

/// Whether a failed command line still has a client that waits: its exit must keep up neither a
/// start nor a stop, and must not let a tool call through.
pub fn misused(words: &[OsString], failure: Failure) -> Failure {
    let is_moment = |moment: &Moment| words.iter().any(|word| word == moment.as_str());
    match [Moment::SessionStart, Moment::Stop].iter().any(is_moment) {
        true => Failure {
            exit: Exit::No,
            ..failure
        },
        false => failure,
    }
}

fn read() -> Result<Payload, Misunderstood> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Misunderstood::Terminal);
    }
    let (send, receive) = mpsc::channel();
    let limit = u64::try_from(PAYLOAD_BYTES_MAX).unwrap_or(u64::MAX);
    let reading = std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = stdin.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        // Nobody waits any more if this fails.
        let _ = send.send(read.map(|_| bytes));
    });
    reading.map_err(Misunderstood::Io)?;
    let bytes = receive.recv_timeout(PAYLOAD_WAIT);
    let bytes = bytes.map_err(|_| Misunderstood::NoEnd)?;
    Ok(payload::parse(&bytes.map_err(Misunderstood::Io)?)?)
}

fn client(read: &Result<Payload, Misunderstood>, asked: &Hook) -> Client {
    let told = read.as_ref().ok().and_then(|payload| payload.client);
    let named = || asked.client.as_deref().and_then(|name| name.parse().ok());
    // Claude Code's exits are those that all of them read alike.
    told.or_else(named).unwrap_or(Client::Claude)
}

fn understand<'a>(
    common: &'a Common,
    asked: &'a Hook,
    read: Result<Payload, Misunderstood>,
) -> (Question<'a>, Understood) {
    let named = asked.event.parse::<Moment>();
    let spoken = read.as_ref().ok().map(|payload| payload.event.moment());
    // What nobody can name is taken for what has most to lose.
    let moment = (named.as_ref().ok().copied().or(spoken)).unwrap_or(Moment::PreTool);
    let (folders, conversation) = match &read {
        Ok(payload) => (payload.folders.clone(), payload.conversation.clone()),
        Err(_) => (Vec::new(), None),
    };
    let question = Question {
        common,
        asked,
        moment,
        folders: everywhere(folders, common, asked),
        conversation,
    };
    let event = match (named, read) {
        (Err(unknown), _) => Err(Misunderstood::Event(unknown.to_string())),
        (Ok(_), Err(error)) => Err(error),
        (Ok(asked), Ok(payload)) if payload.event.moment() != asked => Err(Misunderstood::Other {
            asked,
            found: payload.event.moment(),
        }),
        (Ok(_), Ok(payload)) => Ok(payload.event),
    };
    (question, event)
}

fn everywhere(mut folders: Vec<PathBuf>, common: &Common, asked: &Hook) -> Vec<PathBuf> {
    let cwd = context::current_folder(common).ok();
    let project = asked.project.clone();
    let project = project.map(|folder| cwd.as_deref().unwrap_or(Path::new("/")).join(folder));
    let variables = PROJECT_VARIABLES.iter().filter_map(std::env::var_os);
    let variables = variables
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    for folder in project.into_iter().chain(variables).chain(cwd) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

fn answer(
    question: &Question<'_>,
    event: Understood,
    client: Client,
    output: &mut Output,
) -> Answer {
    match (question.moment, event) {
        (Moment::PreTool, Ok(Event::PreTool(call))) => guard::before(question, Ok(&call), output),
        (Moment::PreTool, Err(error)) => guard::before(question, Err(error.to_string()), output),
        (Moment::SessionStart, Ok(Event::SessionStart)) => start::begin(question, client, output),
        (Moment::Stop, Ok(Event::Stop(stop))) => stop::end(question, stop, client, output),
        (Moment::SessionStart | Moment::Stop, Err(error)) => {
            output.note(&format!("handoff hook: nothing is done: {error}"));
            Answer::Silent
        }
        // An event of another moment was turned into an error.
        (Moment::PreTool | Moment::SessionStart | Moment::Stop, Ok(_)) => Answer::Silent,
    }
}

impl Question<'_> {
    /// The options of a command in a folder.
    fn common_in(&self, folder: &Path) -> Common {
        let mut common = self.common.clone();
        common.place = Some(Place {
            cwd: folder.to_owned(),
            folders: context::folders(self.common),
        });
        common.wait = common.wait.or(Some(WAIT));
        common
    }
}

fn note(question: &Question<'_>, client: Client, answer: &Answer) {
    let folder = question.folders.first();
    let fired = Fired {
        time: clock::now().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        folder: folder.map_or(String::new(), |folder| {
            folder.to_string_lossy().into_owned()
        }),
        answer: answer.name().to_owned(),
        detail: answer.text().map(str::to_owned),
    };
    let folders = context::folders(question.common);
    fired::note(&folders, client, question.moment, &fired);
}

fn print(answer: &Answer, client: Client, moment: Moment, output: &mut Output) -> Exit {
    let rendered = answer.render(client, moment);
    if let Some(stdout) = &rendered.stdout {
        output.json_line(stdout);
    }
    for line in rendered.stderr.iter().flat_map(|text| text.lines()) {
        output.note(line);
    }
    let is_refusal = matches!(answer, Answer::Refuse(_));
    match rendered.exit {
        HookExit::Block => Exit::Blocked,
        // A refusal that did not reach standard output is one all the same.
        HookExit::Answered if is_refusal && output.is_closed() => Exit::Blocked,
        HookExit::Answered => Exit::Yes,
    }
}

/// What a call is called in a message.
fn shown(call: &ToolCall) -> String {
    quoted_within(&call.text(), CALL_CHARACTERS_MAX)
}
