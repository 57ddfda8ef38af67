//! This program's hooks in the text of a client's settings, into which they are put. Nothing of
//! what is there is taken out, moved or spelled anew, comments included.
//!
//! Claude Code, Codex and Gemini CLI keep groups of handlers under each event; Cursor keeps the
//! handlers themselves. What is ours is told by its command, `… hook MOMENT --client CLIENT …`.

use super::client::{Client, Moment};
use super::shell::plain_commands;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use similar::TextDiff;

/// How long a client waits for a hook, in seconds: longer than a hook takes, since all but Cursor
/// let a call go on whose hook ran out of time.
const TIMEOUT_S: u32 = 90;
/// Lines that a difference shows around what changes.
const DIFF_CONTEXT: usize = 3;

/// Why settings cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not JSON, comments and trailing commas let pass.
    #[error("expected JSON, found: {0}")]
    NotJson(String),
    /// A member is of another type than the client takes.
    #[error("expected {expected} as {member}, found something else")]
    Shape {
        /// The member.
        member: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A member stands twice, and only one counts.
    #[error("expected the member {0:?} once, found it twice")]
    Twice(String),
    /// The text that came out says something else than it should: a fault of this program.
    #[error("what would be written loses or changes what is there")]
    Lossy,
}

/// One of this program's hooks, as it stands in settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The moment that it names.
    pub moment: Moment,
    /// The client that it names.
    pub client: Client,
    /// The program.
    pub program: String,
    /// The event that it stands under.
    pub event: String,
    /// The whole command.
    pub command: String,
}

/// The events at which a client asks, each with its moment.
fn events(client: Client) -> Vec<(&'static str, Moment)> {
    let mut events: Vec<_> = Moment::ALL
        .map(|moment| (client.event(moment), moment))
        .into();
    if client == Client::Cursor {
        events.push(("beforeMCPExecution", Moment::PreTool));
    }
    events
}

/// The text with this program's hooks in it, each under the command that `command` gives for its
/// moment, quoted for a shell; the same text if they are there already.
///
/// # Errors
/// Anything in the way, before anything is changed.
pub fn installed(
    text: &str,
    client: Client,
    command: impl Fn(Moment) -> String,
) -> Result<String, SettingsError> {
    let root = parsed(text)?;
    let settings = object(root.object_value_or_create(), "the settings")?;
    once(&settings)?;
    if client == Client::Cursor && settings.get("version").is_none() {
        settings.append("version", CstInputValue::Number("1".to_owned()));
    }
    let hooks = object(settings.object_value_or_create("hooks"), "hooks")?;
    once(&hooks)?;
    for (event, moment) in events(client) {
        let member = format!("hooks.{event}");
        let list = hooks.array_value_or_create(event);
        let list = list.ok_or(SettingsError::Shape {
            member,
            expected: "an array",
        })?;
        let command = command(moment);
        let ours = handlers_in(&list);
        let mut ours = ours.iter().filter(|(_, hook)| hook.moment == moment);
        match ours.next() {
            Some((handler, _)) => {
                if let Some(property) = handler.get("command")
                    && command_of(handler).as_deref() != Some(&command)
                {
                    property.set_value(CstInputValue::String(command));
                }
            }
            None => {
                list.append(entry(client, event, command));
            }
        }
    }
    checked(text, &root)
}

/// The text without this program's hooks, and without what was left empty by that.
///
/// # Errors
/// As [`installed`].
pub fn removed(text: &str) -> Result<String, SettingsError> {
    let root = parsed(text)?;
    let Some(settings) = root.object_value() else {
        return Ok(text.to_owned());
    };
    once(&settings)?;
    let Some(hooks) = settings.object_value("hooks") else {
        return Ok(text.to_owned());
    };
    once(&hooks)?;
    let mut found = false;
    for property in hooks.properties() {
        let Some(list) = property.array_value() else {
            continue;
        };
        let ours = handlers_in(&list);
        if ours.is_empty() {
            continue;
        }
        found = true;
        for (handler, _) in ours {
            handler.remove();
        }
        for group in list.elements().iter().filter_map(CstNode::as_object) {
            if group
                .array_value("hooks")
                .is_some_and(|list| list.elements().is_empty())
            {
                group.remove();
            }
        }
        if list.elements().is_empty() {
            property.remove();
        }
    }
    if found && hooks.properties().is_empty() {
        settings.get("hooks").into_iter().for_each(|it| it.remove());
    }
    checked(text, &root)
}

/// This program's hooks in a text.
///
/// # Errors
/// If it is not JSON.
pub fn found(text: &str) -> Result<Vec<Installed>, SettingsError> {
    let root = parsed(text)?;
    let hooks = root
        .object_value()
        .and_then(|settings| settings.object_value("hooks"));
    let lists = hooks.map(|hooks| hooks.properties()).unwrap_or_default();
    let found = lists.iter().filter_map(|property| {
        let event = property.decoded_name()?;
        Some(
            handlers_in(&property.array_value()?)
                .into_iter()
                .map(move |(_, hook)| Installed {
                    event: event.clone(),
                    ..hook
                }),
        )
    });
    Ok(found.flatten().collect())
}

/// Whether a client is told to run no hooks at all.
pub fn says_disabled(text: &str) -> bool {
    let value = parsed(text).ok().and_then(|root| root.to_serde_value());
    let value = value.unwrap_or_default();
    let all_off = value.get("disableAllHooks").and_then(Value::as_bool) == Some(true);
    let config = value
        .get("hooksConfig")
        .and_then(|config| config.get("enabled"));
    all_off || config.and_then(Value::as_bool) == Some(false)
}

/// What would change, as a unified difference; empty if nothing would.
pub fn difference(before: &str, after: &str, name: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(DIFF_CONTEXT)
        .header(name, name)
        .to_string()
}

fn parsed(text: &str) -> Result<CstRootNode, SettingsError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| SettingsError::NotJson(error.to_string()))
}

fn object(found: Option<CstObject>, member: &str) -> Result<CstObject, SettingsError> {
    found.ok_or_else(|| SettingsError::Shape {
        member: member.to_owned(),
        expected: "an object",
    })
}

fn once(object: &CstObject) -> Result<(), SettingsError> {
    let mut names: Vec<String> = (object.properties().iter())
        .filter_map(|property| property.decoded_name())
        .collect();
    names.sort_unstable();
    let pairs = names.iter().zip(names.iter().skip(1));
    match pairs.into_iter().find(|(one, next)| one == next) {
        Some((twice, _)) => Err(SettingsError::Twice(twice.clone())),
        None => Ok(()),
    }
}

/// Our handlers among those under an event, which stand there or in groups.
fn handlers_in(list: &CstArray) -> Vec<(CstObject, Installed)> {
    let entries = list.elements();
    let entries = entries.iter().filter_map(CstNode::as_object);
    let handlers = entries.flat_map(|entry| match entry.array_value("hooks") {
        Some(group) => group
            .elements()
            .iter()
            .filter_map(CstNode::as_object)
            .collect(),
        None => vec![entry],
    });
    let ours = handlers.filter_map(|handler| {
        let hook = ours(&command_of(&handler)?)?;
        Some((handler, hook))
    });
    ours.collect()
}

fn command_of(handler: &CstObject) -> Option<String> {
    let value = handler.get("command")?.value()?;
    value.as_string_lit()?.decoded_value().ok()
}

/// The hook that a command is, if it is one of this program's.
fn ours(command: &str) -> Option<Installed> {
    let commands = plain_commands(command)?;
    let [words] = commands.as_slice() else {
        return None;
    };
    let [program, hook, moment, option, client, ..] = words.as_slice() else {
        return None;
    };
    (hook == "hook" && option == "--client").then_some(())?;
    Some(Installed {
        moment: moment.parse().ok()?,
        client: client.parse().ok()?,
        program: program.clone(),
        event: String::new(),
        command: command.to_owned(),
    })
}

/// What stands under an event of a client for one hook.
///
/// The member names and units are those of the clients' references: seconds, but for Gemini CLI's
/// milliseconds; without a `matcher` every tool is asked about.
fn entry(client: Client, event: &str, command: String) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let number = |number: u32| CstInputValue::Number(number.to_string());
    let named = |members: Vec<(&str, CstInputValue)>| {
        let members = members.into_iter();
        CstInputValue::Object(
            members
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    };
    let mut handler = vec![
        ("type", text("command")),
        ("command", CstInputValue::String(command)),
    ];
    match client {
        Client::Claude | Client::Codex => {
            handler.push(("timeout", number(TIMEOUT_S)));
        }
        Client::Gemini => {
            handler.insert(1, ("name", text("handoff")));
            // In milliseconds ("Hook configuration").
            handler.push(("timeout", number(TIMEOUT_S.saturating_mul(1000))));
        }
        Client::Cursor => {
            handler.push(("timeout", number(TIMEOUT_S)));
            match event {
                "stop" => handler.push(("loop_limit", number(1))),
                "sessionStart" => {}
                _ => handler.push(("failClosed", CstInputValue::Bool(true))),
            }
            return named(handler);
        }
    }
    named(vec![("hooks", CstInputValue::Array(vec![named(handler)]))])
}

/// The text of what was changed, if it says what it said before but for our hooks.
fn checked(before: &str, root: &CstRootNode) -> Result<String, SettingsError> {
    let after = root.to_string();
    let meaning = |text: &str| -> Result<Value, SettingsError> {
        let mut value = parsed(text)?.to_serde_value().unwrap_or_default();
        without_ours(&mut value);
        Ok(value)
    };
    match meaning(before)? == meaning(&after)? {
        true => Ok(after),
        false => Err(SettingsError::Lossy),
    }
}

/// Takes our hooks out of settings, and what is empty without them.
fn without_ours(settings: &mut Value) {
    let Value::Object(members) = settings else {
        *settings = Value::Object(serde_json::Map::new());
        return;
    };
    let is_ours = |handler: &Value| {
        let command = handler.get("command").and_then(Value::as_str);
        command.and_then(ours).is_some()
    };
    if let Some(Value::Object(hooks)) = members.get_mut("hooks") {
        for list in hooks.values_mut().filter_map(Value::as_array_mut) {
            for group in list.iter_mut().filter_map(|entry| entry.get_mut("hooks")) {
                if let Some(handlers) = group.as_array_mut() {
                    handlers.retain(|handler| !is_ours(handler));
                }
            }
            let is_empty = |entry: &Value| {
                let handlers = entry.get("hooks").and_then(Value::as_array);
                handlers.is_some_and(Vec::is_empty)
            };
            list.retain(|entry| !is_ours(entry) && !is_empty(entry));
        }
        hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
    }
    let hooks = members.get("hooks").and_then(Value::as_object);
    if hooks.is_none_or(serde_json::Map::is_empty) {
        members.remove("hooks");
        // Cursor's, which a file without hooks need not have.
        if members.get("version") == Some(&Value::from(1)) {
            members.remove("version");
        }
    }
}
