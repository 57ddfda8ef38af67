//! What a client is answered: bytes on standard output, text on standard error, an exit.
//!
//! Where there is nothing against a call there is no output at all: an "allow" would skip what the
//! client itself asks its user. Cursor alone is told "allow", since it takes an answer without a
//! `permission`, an empty one too, for a fault, and blocks (tokensave issue 187, orca pull request
//! 15651, both of 2026).

use super::client::{Client, Moment};
use serde_json::{Value, json};

/// What there is to say, whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Silent,
    /// At the start of a session: text for the agent's context.
    Context(String),
    /// Before a tool call: it goes on, and that is to be known.
    Warn(String),
    /// Before a tool call: it does not.
    Refuse(String),
    /// At any other moment: something that is to be known, and changes nothing.
    Tell(String),
    /// Before a stop: the agent is to go on, once, with this.
    Remind(String),
}

/// How the process ends, as each client reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookExit {
    /// 0: what stands on standard output is the answer.
    Answered,
    /// 2: what was about to happen is not to happen.
    Block,
}

/// An answer in a client's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The one JSON object on standard output.
    pub stdout: Option<Value>,
    /// Text on standard error.
    pub stderr: Option<String>,
    /// The exit.
    pub exit: HookExit,
}

impl Answer {
    /// Its stable name, for the record of what fired.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Silent => "silent",
            Answer::Context(_) => "context",
            Answer::Warn(_) => "warned",
            Answer::Refuse(_) => "refused",
            Answer::Tell(_) => "told",
            Answer::Remind(_) => "reminded",
        }
    }

    /// Its text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Answer::Silent => None,
            Answer::Context(text)
            | Answer::Warn(text)
            | Answer::Refuse(text)
            | Answer::Tell(text)
            | Answer::Remind(text) => Some(text),
        }
    }

    /// The answer in the words of `client`.
    ///
    /// A refusal is said three times over, so that no version of a client that knows only one of
    /// the ways takes it for silence: as a decision on standard output, as text on standard error,
    /// and by exit 2. Cursor alone takes the text for the agent only with exit 0 ("Exit code 0:
    /// use the JSON output"), where its `permission` refuses.
    pub fn render(&self, client: Client, moment: Moment) -> Rendered {
        let event = |moment| client.event(moment);
        let answered = |stdout: Value| Rendered {
            stdout: Some(stdout),
            stderr: None,
            exit: HookExit::Answered,
        };
        match (self, client) {
            (Answer::Silent, Client::Cursor) => answered(match moment {
                Moment::PreTool => json!({ "permission": "allow" }),
                Moment::SessionStart | Moment::Stop => json!({}),
            }),
            (Answer::Silent, Client::Claude | Client::Codex | Client::Gemini) => Rendered {
                stdout: None,
                stderr: None,
                exit: HookExit::Answered,
            },
            (Answer::Context(text), Client::Claude | Client::Codex | Client::Gemini) => {
                answered(json!({ "hookSpecificOutput": {
                    "hookEventName": event(Moment::SessionStart),
                    "additionalContext": text,
                }}))
            }
            (Answer::Context(text), Client::Cursor) => {
                answered(json!({ "additional_context": text }))
            }
            (Answer::Warn(text), _) => Rendered {
                stdout: Some(warning(client, text)),
                stderr: Some(text.clone()),
                exit: HookExit::Answered,
            },
            (Answer::Refuse(text), _) => Rendered {
                stdout: Some(refusal(client, text)),
                stderr: Some(text.clone()),
                exit: match client {
                    Client::Claude | Client::Codex | Client::Gemini => HookExit::Block,
                    Client::Cursor => HookExit::Answered,
                },
            },
            (Answer::Tell(text), Client::Claude | Client::Codex | Client::Gemini) => {
                answered(json!({ "systemMessage": text }))
            }
            // Its stop has no message for the user.
            (Answer::Tell(_), Client::Cursor) => answered(json!({})),
            (Answer::Remind(text), Client::Claude | Client::Codex) => {
                answered(json!({ "decision": "block", "reason": text }))
            }
            (Answer::Remind(text), Client::Gemini) => {
                answered(json!({ "decision": "deny", "reason": text }))
            }
            (Answer::Remind(text), Client::Cursor) => answered(json!({ "followup_message": text })),
        }
    }
}

fn warning(client: Client, text: &str) -> Value {
    match client {
        Client::Claude | Client::Codex => json!({
            "systemMessage": text,
            "hookSpecificOutput": {
                "hookEventName": client.event(Moment::PreTool),
                "additionalContext": text,
            },
        }),
        Client::Gemini => json!({ "systemMessage": text }),
        Client::Cursor => json!({
            "permission": "allow", "user_message": text, "agent_message": text,
        }),
    }
}

fn refusal(client: Client, text: &str) -> Value {
    match client {
        Client::Claude | Client::Codex => json!({ "hookSpecificOutput": {
            "hookEventName": client.event(Moment::PreTool),
            "permissionDecision": "deny",
            "permissionDecisionReason": text,
        }}),
        Client::Gemini => json!({ "decision": "deny", "reason": text }),
        Client::Cursor => json!({
            "permission": "deny", "user_message": text, "agent_message": text,
        }),
    }
}
