//! What a value of a call may be, and the one word it becomes.

use crate::cli::args::AxisReference;
use crate::types::{AxisName, ClaimId, Name, Seq};
use serde_json::{Value, json};

/// Longest text of a call, in bytes: more than any that the ledger takes (a record's bytes).
pub(super) const TEXT_BYTES_MAX: usize = 65_535;
/// Ids and names, as `types.rs` parses them.
pub(super) const ID: &str = "^[a-z0-9][a-z0-9._/-]{0,63}$";
/// An axis, maybe of one session.
const REFERENCE: &str = "^[a-z0-9][a-z0-9._/-]{0,63}(@[0-9]+)?$";

/// What a value is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Any text.
    Text,
    /// A claim's id.
    Claim,
    /// The name of an axis.
    Axis,
    /// `NAME` or `NAME@SESSION`.
    AxisReference,
    /// The name of an agent.
    Agent,
    /// The position of an event, 1 at least.
    Seq,
    /// A whole number of a range.
    Number(u64, u64),
    /// One of these.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// Its JSON Schema.
    pub(super) fn schema(self) -> Value {
        match self {
            Kind::Text => json!({ "type": "string" }),
            Kind::Claim | Kind::Axis | Kind::Agent => json!({ "type": "string", "pattern": ID }),
            Kind::AxisReference => json!({ "type": "string", "pattern": REFERENCE }),
            Kind::Seq => json!({ "type": "integer", "minimum": 1 }),
            Kind::Number(min, max) => {
                json!({ "type": "integer", "minimum": min, "maximum": max })
            }
            Kind::Choice(choices) => json!({ "type": "string", "enum": choices }),
        }
    }

    /// What is expected of a value, for a person.
    pub(super) fn expected(self) -> String {
        match self {
            Kind::Text => format!("a text of at most {TEXT_BYTES_MAX} bytes, none of them 0"),
            Kind::Claim => "a claim's id".to_owned(),
            Kind::Axis => "the name of an axis".to_owned(),
            Kind::AxisReference => "NAME or NAME@SESSION of an axis".to_owned(),
            Kind::Agent => "the name of an agent".to_owned(),
            Kind::Seq => "a whole number above 0".to_owned(),
            Kind::Number(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
        }
    }

    /// The value as a word, if it is of this kind.
    pub(super) fn text(self, value: &Value) -> Option<String> {
        let number = || value.as_u64();
        let text = || {
            let text = value.as_str()?;
            (text.len() <= TEXT_BYTES_MAX && !text.contains('\0')).then(|| text.to_owned())
        };
        match self {
            Kind::Text => text(),
            Kind::Claim => text()?.parse::<ClaimId>().ok().map(|id| id.to_string()),
            Kind::Axis => text()?.parse::<AxisName>().ok().map(|id| id.to_string()),
            Kind::Agent => text()?.parse::<Name>().ok().map(|id| id.to_string()),
            Kind::AxisReference => text().filter(|text| text.parse::<AxisReference>().is_ok()),
            Kind::Seq => {
                let number = number()?.to_string();
                let seq: Seq = number.parse().ok()?;
                (seq > Seq::ZERO).then_some(number)
            }
            Kind::Number(min, max) => {
                let number = number().filter(|number| (min..=max).contains(number))?;
                Some(number.to_string())
            }
            Kind::Choice(choices) => text().filter(|text| choices.contains(&text.as_str())),
        }
    }
}
