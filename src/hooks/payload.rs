//! What a client says on standard input: one JSON object, of which only what is needed is read.

use super::client::{Client, Moment, is_shell};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Largest payload, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// What a client says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Who speaks, as far as its words tell.
    pub client: Option<Client>,
    /// What it asks.
    pub event: Event,
    /// The folders it works in: the current one, then the roots of its workspace.
    pub folders: Vec<PathBuf>,
    /// What it calls its conversation with the agent.
    pub conversation: Option<String>,
}

/// What it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A session begins, or goes on.
    SessionStart,
    /// A tool is about to be called.
    PreTool(ToolCall),
    /// The agent is about to stop.
    Stop(Stop),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool, as the client names it.
    pub tool: String,
    /// What it is called with.
    pub input: Input,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A command line for a shell.
    Line(String),
    /// Anything else, as compact JSON.
    Arguments(String),
}

/// Whether a stop may be answered with work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It may.
    First,
    /// The agent works already because a hook said so, or did not end by itself.
    Again,
}

/// Why a payload is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Too large.
    #[error("expected a payload of at most {PAYLOAD_BYTES_MAX} bytes, found more")]
    TooLarge,
    /// No JSON.
    #[error("expected a payload in JSON, found: {0}")]
    NotJson(String),
    /// Another value than an object.
    #[error("expected a payload that is a JSON object, found {0}")]
    NotObject(&'static str),
    /// A member is missing or of another type.
    #[error("expected a text as the payload's member {0:?}, found none")]
    Member(&'static str),
    /// An event that no hook of this program is asked at.
    #[error("expected an event that this hook knows, found {0:?}")]
    Event(String),
}

/// Most characters of an unknown event's name that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 64;

impl Event {
    /// The moment it is asked at.
    pub fn moment(&self) -> Moment {
        match self {
            Event::SessionStart => Moment::SessionStart,
            Event::PreTool(_) => Moment::PreTool,
            Event::Stop(_) => Moment::Stop,
        }
    }
}

impl ToolCall {
    /// All that a guard's expression is matched on: the command line, or the tool's name and its
    /// arguments.
    pub fn text(&self) -> String {
        match &self.input {
            Input::Line(line) => line.clone(),
            Input::Arguments(arguments) => format!("{} {arguments}", self.tool),
        }
    }
}

/// Reads a payload.
///
/// # Errors
/// What keeps it from being understood. Members that are not needed may be anything.
pub fn parse(bytes: &[u8]) -> Result<Payload, PayloadError> {
    if bytes.len() > PAYLOAD_BYTES_MAX {
        return Err(PayloadError::TooLarge);
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| PayloadError::NotJson(error.to_string()))?;
    let members = match &value {
        Value::Object(members) => members,
        Value::Null => return Err(PayloadError::NotObject("null")),
        Value::Bool(_) => return Err(PayloadError::NotObject("a boolean")),
        Value::Number(_) => return Err(PayloadError::NotObject("a number")),
        Value::String(_) => return Err(PayloadError::NotObject("a text")),
        Value::Array(_) => return Err(PayloadError::NotObject("an array")),
    };
    let name = text(members, "hook_event_name")?;
    Ok(Payload {
        client: client(members, name),
        event: event(members, name)?,
        folders: folders(members),
        conversation: (members.get("session_id").or(members.get("conversation_id")))
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

fn text<'a>(members: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, PayloadError> {
    let found = members.get(name).and_then(Value::as_str);
    found.ok_or(PayloadError::Member(name))
}

/// Who speaks so. Names of events in camel case are Cursor's alone, and two of Gemini CLI's are its
/// own. Of names that are shared: only Gemini CLI dates its payloads, and only Codex has turns.
fn client(members: &Map<String, Value>, name: &str) -> Option<Client> {
    match name {
        "sessionStart" | "preToolUse" | "beforeShellExecution" | "beforeMCPExecution" | "stop" => {
            Some(Client::Cursor)
        }
        "BeforeTool" | "AfterAgent" => Some(Client::Gemini),
        "SessionStart" if members.contains_key("timestamp") => Some(Client::Gemini),
        "PreToolUse" | "Stop" if members.contains_key("turn_id") => Some(Client::Codex),
        _ => None,
    }
}

fn event(members: &Map<String, Value>, name: &str) -> Result<Event, PayloadError> {
    Ok(match name {
        "SessionStart" | "sessionStart" => Event::SessionStart,
        "PreToolUse" | "BeforeTool" | "preToolUse" | "beforeMCPExecution" => {
            let tool = text(members, "tool_name")?.to_owned();
            Event::PreTool(ToolCall {
                input: input(&tool, members.get("tool_input"))?,
                tool,
            })
        }
        "beforeShellExecution" => Event::PreTool(ToolCall {
            tool: "Shell".to_owned(),
            input: Input::Line(text(members, "command")?.to_owned()),
        }),
        "Stop" | "AfterAgent" => {
            let again = members.get("stop_hook_active").and_then(Value::as_bool);
            Event::Stop(match again {
                Some(true) => Stop::Again,
                Some(false) | None => Stop::First,
            })
        }
        "stop" => {
            let count = members.get("loop_count").and_then(Value::as_u64);
            let completed = members.get("status").and_then(Value::as_str) == Some("completed");
            Event::Stop(match (completed, count.unwrap_or(0)) {
                (true, 0) => Stop::First,
                (true, _) | (false, _) => Stop::Again,
            })
        }
        other => {
            let shown = other.chars().take(SHOWN_CHARACTERS_MAX).collect();
            return Err(PayloadError::Event(shown));
        }
    })
}

/// A shell's tool is called with a `command`; what else it is called with decides nothing. Cursor
/// hands the arguments of an MCP tool as a text.
fn input(tool: &str, input: Option<&Value>) -> Result<Input, PayloadError> {
    if is_shell(tool) {
        let line = input.and_then(|input| input.get("command"));
        let line = line.and_then(Value::as_str);
        return match line {
            Some(line) => Ok(Input::Line(line.to_owned())),
            None => Err(PayloadError::Member("tool_input.command")),
        };
    }
    Ok(Input::Arguments(match input {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }))
}

fn folders(members: &Map<String, Value>) -> Vec<PathBuf> {
    let cwd = members.get("cwd").into_iter();
    let roots = members.get("workspace_roots").and_then(Value::as_array);
    let texts = cwd.chain(roots.into_iter().flatten());
    let folders = texts.filter_map(Value::as_str).map(PathBuf::from);
    folders.filter(|folder| folder.is_absolute()).collect()
}
