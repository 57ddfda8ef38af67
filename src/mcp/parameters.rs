//! The parameters of a tool: their JSON Schema, and the words of the command line that the values
//! of a call stand for. Both come from one table, so that neither can promise what the other lacks.
//!
//! Nothing that a client sends can be read as an option: a value is joined to its option by `=`,
//! stands after `--`, or is of a grammar that no option is of.

use super::kind::{ID, Kind};
use crate::cli::quote::quoted_within;
use serde_json::{Map, Value, json};

/// Most values of a list.
const LIST_MAX: usize = 256;
/// Most characters of a wrong value that are shown.
const SHOWN_CHARACTERS_MAX: usize = 80;
/// Where the words of a parameter stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// A word by itself, after the options; its kind is one that begins with no dash.
    Word,
    /// After `--`, where no word is an option.
    AfterDashes,
    /// `--option=VALUE`, for each value.
    Option(&'static str),
    /// `--option` if true.
    Switch(&'static str),
    /// `--allow=NAME=REASON`, each with its `--observed=VALUE`.
    Allowance,
}

/// How many values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Optional,
    Required,
    /// A list that may be left out.
    Many,
    /// A list that may not.
    RequiredMany,
}

/// A parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) count: Count,
    pub(super) kind: Kind,
    pub(super) place: Place,
    /// What the client is told of it; nothing if the name says it all.
    pub(super) help: &'static str,
}

/// Why the arguments of a call are none of the tool's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("there is no parameter {0}; there are: {1}")]
    Unknown(String, String),
    #[error("the parameter {0} is missing")]
    Missing(&'static str),
    #[error("{name}: expected {expected}, found {found}")]
    Wrong {
        name: &'static str,
        expected: String,
        found: String,
    },
}

/// The JSON Schema of the parameters of a tool.
pub(super) fn schema(parameters: &[&[Parameter]]) -> Map<String, Value> {
    let all = || parameters.iter().copied().flatten();
    let properties: Map<String, Value> = all()
        .map(|parameter| (parameter.name.to_owned(), parameter.schema()))
        .collect();
    let required: Vec<&str> = all()
        .filter(|parameter| parameter.count.is_required())
        .map(|parameter| parameter.name)
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// The words that the arguments of a call stand for, without the command's own.
///
/// # Errors
/// An argument that is missing, unknown, or of another type than its parameter.
pub(super) fn words(
    parameters: &[&[Parameter]],
    arguments: &Map<String, Value>,
) -> Result<Vec<String>, ArgumentError> {
    let all = || parameters.iter().copied().flatten();
    if let Some(name) = arguments
        .keys()
        .find(|name| all().all(|parameter| parameter.name != *name))
    {
        let known: Vec<&str> = all().map(|parameter| parameter.name).collect();
        return Err(ArgumentError::Unknown(shown(name), known.join(", ")));
    }
    let mut words = Words::default();
    for parameter in all() {
        match arguments.get(parameter.name) {
            // Clients that fill in every parameter send null for one that is not given.
            None | Some(Value::Null) if parameter.count.is_required() => {
                return Err(ArgumentError::Missing(parameter.name));
            }
            None | Some(Value::Null) => {}
            Some(value) => parameter.write(value, &mut words)?,
        }
    }
    let Words {
        mut options,
        plain,
        last,
    } = words;
    options.extend(plain);
    if !last.is_empty() {
        options.push("--".to_owned());
        options.extend(last);
    }
    Ok(options)
}

/// Words by where they stand.
#[derive(Default)]
struct Words {
    options: Vec<String>,
    plain: Vec<String>,
    last: Vec<String>,
}

impl Count {
    fn is_required(self) -> bool {
        matches!(self, Count::Required | Count::RequiredMany)
    }

    fn is_list(self) -> bool {
        matches!(self, Count::Many | Count::RequiredMany)
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let one = match self.place {
            Place::Switch(_) => json!({ "type": "boolean" }),
            Place::Allowance => json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "pattern": ID },
                    "reason": { "type": "string" },
                    "observed": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["name", "reason"],
            }),
            Place::Word | Place::AfterDashes | Place::Option(_) => self.kind.schema(),
        };
        let mut schema = match self.count.is_list() {
            true => json!({ "type": "array", "items": one }),
            false => one,
        };
        if let Some(members) = schema.as_object_mut() {
            if self.count == Count::RequiredMany {
                members.insert("minItems".to_owned(), json!(1));
            }
            if !self.help.is_empty() {
                members.insert("description".to_owned(), json!(self.help));
            }
        }
        schema
    }

    fn write(&self, value: &Value, words: &mut Words) -> Result<(), ArgumentError> {
        if let Place::Switch(option) = self.place {
            let is_on = value.as_bool();
            if is_on.ok_or_else(|| self.wrong("true or false", value))? {
                words.options.push(option.to_owned());
            }
            return Ok(());
        }
        let one = [value.clone()];
        let values = match (self.count.is_list(), value) {
            (false, _) => &one[..],
            (true, Value::Array(values)) if values.len() <= LIST_MAX => values,
            (true, other) => {
                return Err(self.wrong(&format!("a list of at most {LIST_MAX}"), other));
            }
        };
        if values.is_empty() && self.count == Count::RequiredMany {
            return Err(ArgumentError::Missing(self.name));
        }
        for value in values {
            match self.place {
                Place::Word => words.plain.push(self.text(value)?),
                Place::AfterDashes => words.last.push(self.text(value)?),
                Place::Option(option) => {
                    words
                        .options
                        .push(format!("{option}={}", self.text(value)?));
                }
                Place::Allowance => self.allowance(value, words)?,
                Place::Switch(_) => {}
            }
        }
        Ok(())
    }

    fn allowance(&self, value: &Value, words: &mut Words) -> Result<(), ArgumentError> {
        let expected = "{name, reason, observed?}";
        let wrong = || self.wrong(expected, value);
        let members = value.as_object().ok_or_else(wrong)?;
        let known = ["name", "reason", "observed"];
        if members.keys().any(|name| !known.contains(&name.as_str())) {
            return Err(wrong());
        }
        let member = |name| members.get(name).ok_or_else(wrong);
        let name = self.of_kind(Kind::Axis, member("name")?)?;
        let reason = self.of_kind(Kind::Text, member("reason")?)?;
        words.options.push(format!("--allow={name}={reason}"));
        let observed = match members.get("observed") {
            None => &[][..],
            Some(Value::Array(values)) if values.len() <= LIST_MAX => values,
            Some(_) => return Err(wrong()),
        };
        for value in observed {
            let value = self.of_kind(Kind::Text, value)?;
            words.options.push(format!("--observed={value}"));
        }
        Ok(())
    }

    fn text(&self, value: &Value) -> Result<String, ArgumentError> {
        self.of_kind(self.kind, value)
    }

    fn of_kind(&self, kind: Kind, value: &Value) -> Result<String, ArgumentError> {
        kind.text(value)
            .ok_or_else(|| self.wrong(&kind.expected(), value))
    }

    fn wrong(&self, expected: &str, value: &Value) -> ArgumentError {
        ArgumentError::Wrong {
            name: self.name,
            expected: expected.to_owned(),
            found: match value {
                Value::String(text) => shown(text),
                Value::Array(values) => format!("a list of {}", values.len()),
                Value::Object(_) => "an object".to_owned(),
                Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
            },
        }
    }
}

fn shown(text: &str) -> String {
    quoted_within(text, SHOWN_CHARACTERS_MAX)
}

#[cfg(test)]
mod tests {
    use super::super::kind::TEXT_BYTES_MAX;
    use super::*;

    const fn parameter(name: &'static str, count: Count, kind: Kind, place: Place) -> Parameter {
        Parameter {
            name,
            count,
            kind,
            place,
            help: "",
        }
    }

    const ALL: &[Parameter] = &[
        parameter("id", Count::Required, Kind::Claim, Place::Word),
        parameter("argv", Count::Many, Kind::Text, Place::AfterDashes),
        parameter("expect", Count::Many, Kind::Text, Place::Option("--expect")),
        parameter(
            "needs",
            Count::Many,
            Kind::AxisReference,
            Place::Option("--needs"),
        ),
        parameter(
            "session",
            Count::Optional,
            Kind::Seq,
            Place::Option("--session"),
        ),
        parameter(
            "shell",
            Count::Optional,
            Kind::Text,
            Place::Switch("--shell"),
        ),
        parameter(
            "size",
            Count::Optional,
            Kind::Number(5, 9),
            Place::Option("--size"),
        ),
        parameter(
            "class",
            Count::Optional,
            Kind::Choice(&["a", "b"]),
            Place::Option("--class"),
        ),
        parameter("allow", Count::Many, Kind::Text, Place::Allowance),
    ];

    fn made(arguments: Value) -> Result<Vec<String>, ArgumentError> {
        words(&[ALL], arguments.as_object().unwrap())
    }

    #[test]
    fn options_come_first_then_words_then_what_follows_the_dashes() {
        let made = made(json!({
            "argv": ["-x", "--json"], "id": "a", "shell": true, "session": 3, "size": 5,
            "expect": ["", "-1"], "needs": ["os", "os@4"], "class": null,
            "allow": [{ "name": "zone", "reason": "=", "observed": ["--"] }],
        }));
        let expected = [
            "--expect=",
            "--expect=-1",
            "--needs=os",
            "--needs=os@4",
            "--session=3",
            "--shell",
            "--size=5",
            "--allow=zone==",
            "--observed=--",
            "a",
            "--",
            "-x",
            "--json",
        ];
        assert_eq!(made.unwrap(), expected);
        assert_eq!(
            super::tests::made(json!({ "id": "a", "shell": false, "argv": [] })).unwrap(),
            ["a"]
        );
    }

    #[test]
    fn what_is_missing_unknown_or_of_another_type_is_told_by_name() {
        assert_eq!(made(json!({})), Err(ArgumentError::Missing("id")));
        assert_eq!(
            made(json!({ "id": null })),
            Err(ArgumentError::Missing("id"))
        );
        let unknown = made(json!({ "id": "a", "Session": 3 })).unwrap_err();
        assert!(matches!(unknown, ArgumentError::Unknown(..)), "{unknown}");
        for (name, value) in [
            ("id", json!("-a")),
            ("id", json!(7)),
            ("argv", json!("a")),
            ("argv", json!([7])),
            ("argv", json!(vec!["a"; LIST_MAX + 1])),
            ("argv", json!(["a\0"])),
            ("argv", json!(["a".repeat(TEXT_BYTES_MAX + 1)])),
            ("needs", json!(["a,b"])),
            ("needs", json!(["--x"])),
            ("session", json!(0)),
            ("session", json!("3")),
            ("session", json!(-3)),
            ("session", json!(3.5)),
            ("session", json!(1u64 << 60)),
            ("shell", json!("true")),
            ("size", json!(4)),
            ("size", json!(10)),
            ("class", json!("c")),
            ("allow", json!([{ "name": "a" }])),
            ("allow", json!(["a=b"])),
            ("allow", json!([{ "name": "-a", "reason": "r" }])),
        ] {
            let arguments =
                Map::from_iter([("id".to_owned(), json!("a")), (name.to_owned(), value)]);
            let told = words(&[ALL], &arguments).unwrap_err();
            assert!(
                matches!(told, ArgumentError::Wrong { name: found, .. } if found == name),
                "{told}"
            );
        }
    }

    #[test]
    fn the_schema_lets_through_what_is_taken_and_nothing_else() {
        let schema = Value::Object(schema(&[ALL]));
        let is_valid = |arguments: &Value| jsonschema::is_valid(&schema, arguments);
        for arguments in [
            json!({ "id": "a" }),
            json!({ "id": "a", "session": 1, "size": 9, "class": "b" }),
            json!({ "id": "a", "allow": [{ "name": "z", "reason": "r", "observed": ["v"] }] }),
            json!({ "id": "a", "needs": ["os@4"], "argv": ["-x"], "shell": false }),
        ] {
            assert!(
                is_valid(&arguments) && made(arguments.clone()).is_ok(),
                "{arguments}"
            );
        }
        for arguments in [
            json!({}),
            json!({ "id": "-a" }),
            json!({ "id": "a", "x": 1 }),
            json!({ "id": "a", "session": 0 }),
            json!({ "id": "a", "size": 4 }),
            json!({ "id": "a", "class": "c" }),
            json!({ "id": "a", "needs": ["a,b"] }),
            json!({ "id": "a", "argv": "x" }),
            json!({ "id": "a", "shell": "yes" }),
            json!({ "id": "a", "allow": [{ "name": "z" }] }),
        ] {
            assert!(
                !is_valid(&arguments) && made(arguments.clone()).is_err(),
                "{arguments}"
            );
        }
    }
}
