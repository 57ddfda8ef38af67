//! The tools: what each takes, and the command that it stands for.

use super::catalogue::TOOLS;
use super::parameters::{ArgumentError, Parameter, schema, words};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It records nothing and runs nothing.
    Asks,
    /// It records an event and runs nothing.
    Records,
    /// It runs a command that the caller or a predecessor gave, and records what was seen.
    Runs,
}

/// Which command tells what an answer had no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// The same one: it changes nothing.
    Same,
    /// `handoff state`.
    State,
}

/// A tool, named like the command that it stands for.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) effect: Effect,
    pub(super) rest: Rest,
    pub(super) description: &'static str,
    pub(super) parameters: &'static [&'static [Parameter]],
}

impl Definition {
    /// The tool of that name.
    pub(super) fn named(name: &str) -> Option<&'static Definition> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The names of all tools.
    pub(super) fn names() -> Vec<&'static str> {
        TOOLS.iter().map(|tool| tool.name).collect()
    }

    /// The command that a call stands for, word by word, without the program's name.
    ///
    /// # Errors
    /// Arguments that are none of the tool's.
    pub(super) fn command(&self, arguments: &JsonObject) -> Result<Vec<String>, ArgumentError> {
        let mut command = vec![self.name.to_owned()];
        command.extend(words(self.parameters, arguments)?);
        Ok(command)
    }
}

/// The tools as a client is told of them.
pub(super) fn listed() -> Vec<Tool> {
    let tool = |tool: &Definition| {
        let input = Arc::new(schema(tool.parameters));
        let mut listed = Tool::new(tool.name, tool.description, input);
        listed.annotations = Some(annotations(tool));
        listed.output_schema = output(tool.name).map(Arc::new);
        listed
    };
    TOOLS.iter().map(tool).collect()
}

/// What a client may tell a person before a call. A tool that runs a command may do whatever the
/// command does.
fn annotations(tool: &Definition) -> ToolAnnotations {
    let hints = ToolAnnotations::new();
    match tool.effect {
        Effect::Asks => hints.read_only(true).open_world(false),
        Effect::Records => hints.read_only(false).destructive(false).open_world(false),
        Effect::Runs => hints.read_only(false).destructive(true).open_world(true),
    }
}

/// The schema of answers that programs act on.
fn output(name: &str) -> Option<JsonObject> {
    let properties = match name {
        "can" => json!({
            "exit": { "type": "integer" },
            "claims": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "claim": { "type": "string" },
                    "admissible": { "type": "boolean" },
                    "next": { "type": ["string", "null"] },
                },
                "required": ["claim", "admissible"],
            }},
        }),
        "verify" => json!({
            "exit": { "type": "integer" },
            "result": { "type": "string" },
        }),
        _ => return None,
    };
    let schema = json!({ "type": "object", "properties": properties, "required": ["exit"] });
    match schema {
        Value::Object(schema) => Some(schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}
