//! The clients, and what their documentation says of hooks.
//!
//! - Claude Code: code.claude.com/docs/en/hooks, "Exit code output", "JSON output", "Decision
//!   control".
//! - Codex: developers.openai.com/codex/hooks; openai/codex, `codex-rs/hooks/src`: `schema.rs`,
//!   `engine/output_parser.rs`, `output_spill.rs`.
//! - Gemini CLI: geminicli.com/docs/hooks/reference; google-gemini/gemini-cli,
//!   `packages/core/src/hooks/hookRunner.ts`.
//! - Cursor: cursor.com/docs/hooks, "Hook types", "Reference".
//!
//! All four run a command, hand it one JSON object on standard input, and read exit 2 before a tool
//! call as "do not run it". Any other exit than 0 and 2 lets the call go on, as does a hook that is
//! not there or that runs out of time; Cursor alone can be told to block then (`failClosed`).

use std::fmt;
use std::str::FromStr;

/// A command line of agents whose hooks are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Anthropic's Claude Code.
    Claude,
    /// OpenAI's Codex.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// Cursor, the editor and its command line.
    Cursor,
}

/// What a hook is asked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A session of the client begins, or goes on.
    SessionStart,
    /// A tool is about to be called.
    PreTool,
    /// The agent is about to stop.
    Stop,
}

/// A text that is none of those there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {expected}, found {found:?}")]
pub struct NotOneOf {
    /// Those there are.
    pub expected: String,
    /// The text, as much of it as is worth showing.
    pub found: String,
}

/// Most characters of a refused text that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// The names that shells' tools have: Claude Code and Codex call it `Bash`, Cursor `Shell`, Gemini
/// CLI `run_shell_command`.
const SHELL_TOOLS: [&str; 5] = ["Bash", "Shell", "bash", "run_shell_command", "shell"];

/// Whether a tool of this name runs a command line.
pub fn is_shell(tool: &str) -> bool {
    SHELL_TOOLS.contains(&tool)
}

/// How much text a client takes into an agent's context from one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimit {
    /// Most characters.
    pub characters: usize,
    /// Most bytes in UTF-8.
    pub bytes: usize,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 4] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::Cursor,
    ];

    /// How it is named on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Cursor => "cursor",
        }
    }

    /// What it takes into the context.
    ///
    /// Claude Code: above 10,000 characters it shows a preview and the path of a file instead
    /// ("JSON output"). Codex: above 2,500 tokens, counted as 4 bytes each, it cuts the middle out
    /// (`HOOK_OUTPUT_TOKEN_LIMIT`). The others document no limit, and are given no more than that.
    pub fn context_limit(self) -> ContextLimit {
        let (characters, bytes) = match self {
            Client::Claude => (10_000, 40_000),
            Client::Codex | Client::Gemini | Client::Cursor => (10_000, 10_000),
        };
        ContextLimit { characters, bytes }
    }

    /// The name its settings give to a moment. Of Cursor's several before a tool call, that of a
    /// shell's.
    pub fn event(self, moment: Moment) -> &'static str {
        match (self, moment) {
            (Client::Claude | Client::Codex | Client::Gemini, Moment::SessionStart) => {
                "SessionStart"
            }
            (Client::Claude | Client::Codex, Moment::PreTool) => "PreToolUse",
            (Client::Claude | Client::Codex, Moment::Stop) => "Stop",
            (Client::Gemini, Moment::PreTool) => "BeforeTool",
            (Client::Gemini, Moment::Stop) => "AfterAgent",
            (Client::Cursor, Moment::SessionStart) => "sessionStart",
            (Client::Cursor, Moment::PreTool) => "beforeShellExecution",
            (Client::Cursor, Moment::Stop) => "stop",
        }
    }
}

impl Moment {
    /// All of them.
    pub const ALL: [Moment; 3] = [Moment::SessionStart, Moment::PreTool, Moment::Stop];

    /// How it is named on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Moment::SessionStart => "session-start",
            Moment::PreTool => "pre-tool",
            Moment::Stop => "stop",
        }
    }
}

fn one_of<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, text: &str) -> Result<T, NotOneOf> {
    let found = all.iter().copied().find(|one| name(*one) == text);
    found.ok_or_else(|| NotOneOf {
        expected: (all.iter().map(|one| name(*one)))
            .collect::<Vec<_>>()
            .join(", "),
        found: text.chars().take(SHOWN_CHARACTERS_MAX).collect(),
    })
}

impl FromStr for Client {
    type Err = NotOneOf;

    fn from_str(text: &str) -> Result<Client, NotOneOf> {
        one_of(&Client::ALL, Client::as_str, text)
    }
}

impl FromStr for Moment {
    type Err = NotOneOf;

    fn from_str(text: &str) -> Result<Moment, NotOneOf> {
        one_of(&Moment::ALL, Moment::as_str, text)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
