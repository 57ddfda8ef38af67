//! Which tool calls need which claims: the file `guards.toml`.
//!
//! ```toml
//! on_error = "closed"            # what a guard does that cannot be judged; "open" lets through
//!
//! [[guard]]
//! match = '^(psql|pg_dump)\b'    # a regular expression: on the command line, and on its parts
//! tool = "Bash"                  # only of this tool; any name of a shell's tool means all of them
//! claims = ["db-is-staging"]     # all must be admissible
//! max_age = "10m"                # younger verdicts need no new probe
//! on_error = "open"              # of this guard alone
//! use_gate = true                # refuse, and tell to run it by `handoff gate`
//! ```
//!
//! An expression narrows; it does not confine. A script, an alias, a variable, an interpreter or a
//! tool that nobody thought of runs the same command under a text that does not match.

use super::client::is_shell;
use super::payload::{Input, ToolCall};
use super::shell::{candidates, plain_commands};
use crate::duration::duration;
use crate::types::ClaimId;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Most guards in a file.
pub const GUARDS_MAX: usize = 200;
/// Largest a compiled expression gets, in bytes: many of them are compiled before each tool call.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;

/// What happens if a guard cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The call goes on, with a warning.
    Open,
    /// The call is refused.
    #[default]
    Closed,
}

/// The guards of a file.
#[derive(Debug, Clone)]
pub struct Guards {
    /// What happens where no guard says otherwise.
    pub on_error: OnError,
    guards: Vec<Guard>,
}

/// One of them.
#[derive(Debug, Clone)]
struct Guard {
    expression: Regex,
    tool: Option<String>,
    claims: BTreeSet<ClaimId>,
    max_age: Option<Duration>,
    on_error: OnError,
    by: Way,
}

/// How a call that needs claims is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Hook,
    Gate,
}

/// What a tool call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// These must be admissible.
    pub claims: BTreeSet<ClaimId>,
    /// How old a verdict may be that is not probed again; none must be probed again.
    pub max_age: Option<Duration>,
    /// What happens if that cannot be judged.
    pub on_error: OnError,
    /// Whether it is to be run by `handoff gate` alone.
    pub by_gate: bool,
    /// The expressions that match, for the refusal.
    pub expressions: Vec<String>,
}

/// Why a file of guards is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardsError {
    /// No TOML, or not of this grammar.
    #[error("{0}")]
    Grammar(String),
    /// Too many.
    #[error("expected at most {GUARDS_MAX} guards, found {0}")]
    TooMany(usize),
    /// A guard that asks for nothing.
    #[error("guard {0}: expected at least one claim, found none")]
    NoClaims(usize),
    /// An expression that does not compile.
    #[error("guard {0}: match: {1}")]
    Expression(usize, String),
    /// An age that is no duration.
    #[error("guard {0}: max_age: {1}")]
    MaxAge(usize, String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    on_error: OnError,
    #[serde(default)]
    guard: Vec<GuardText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardText {
    #[serde(rename = "match")]
    expression: String,
    tool: Option<String>,
    claims: Vec<String>,
    max_age: Option<String>,
    on_error: Option<OnError>,
    #[serde(default)]
    use_gate: bool,
}

impl Guards {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first thing that is not of the grammar, with its place.
    pub fn parse(text: &str) -> Result<Guards, GuardsError> {
        let file: FileText = toml::from_str(text)
            .map_err(|error| GuardsError::Grammar(error.to_string().trim().replace('\n', " ")))?;
        if file.guard.len() > GUARDS_MAX {
            return Err(GuardsError::TooMany(file.guard.len()));
        }
        let guards = (1_usize..).zip(file.guard);
        let guards = guards.map(|(number, guard)| guard.checked(number, file.on_error));
        Ok(Guards {
            on_error: file.on_error,
            guards: guards.collect::<Result<_, _>>()?,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.guards.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// What a call needs; none if no guard matches it. `programs` are the names by which this
    /// program is run.
    pub fn needed(&self, call: &ToolCall, programs: &[&str]) -> Option<Needed> {
        let texts = match &call.input {
            Input::Line(line) => candidates(line, programs),
            Input::Arguments(_) => vec![call.text()],
        };
        let matching = self.guards.iter().filter(|guard| guard.is_of(&call.tool));
        let matching = matching.filter(|guard| {
            let expression = &guard.expression;
            texts.iter().any(|text| expression.is_match(text))
        });
        let needed = matching.map(Guard::needed).reduce(Needed::and)?;
        match &call.input {
            Input::Line(line) if is_of_this_program(line, programs, &needed.claims) => None,
            Input::Line(_) | Input::Arguments(_) => Some(needed),
        }
    }
}

impl GuardText {
    fn checked(self, number: usize, on_error: OnError) -> Result<Guard, GuardsError> {
        let expression = RegexBuilder::new(&self.expression)
            .size_limit(EXPRESSION_BYTES_MAX)
            .build()
            .map_err(|error| {
                let told = error.to_string();
                let last = told.lines().last().unwrap_or_default();
                GuardsError::Expression(number, last.trim().to_owned())
            })?;
        let claims = self.claims.iter().map(|claim| {
            let parsed = claim.parse::<ClaimId>();
            parsed.map_err(|error| GuardsError::Grammar(format!("guard {number}: claims: {error}")))
        });
        let claims: BTreeSet<ClaimId> = claims.collect::<Result<_, _>>()?;
        if claims.is_empty() {
            return Err(GuardsError::NoClaims(number));
        }
        let max_age = self.max_age.as_deref().map(duration).transpose();
        Ok(Guard {
            expression,
            tool: self.tool,
            claims,
            max_age: max_age.map_err(|error| GuardsError::MaxAge(number, error.to_string()))?,
            on_error: self.on_error.unwrap_or(on_error),
            by: if self.use_gate { Way::Gate } else { Way::Hook },
        })
    }
}

impl Guard {
    fn is_of(&self, tool: &str) -> bool {
        match self.tool.as_deref() {
            None => true,
            Some(named) => named == tool || (is_shell(named) && is_shell(tool)),
        }
    }

    fn needed(&self) -> Needed {
        Needed {
            claims: self.claims.clone(),
            max_age: self.max_age,
            on_error: self.on_error,
            by_gate: self.by == Way::Gate,
            expressions: vec![self.expression.to_string()],
        }
    }
}

impl Needed {
    /// What satisfies both.
    fn and(mut self, other: Needed) -> Needed {
        self.claims.extend(other.claims);
        self.expressions.extend(other.expressions);
        Needed {
            max_age: self.max_age.zip(other.max_age).map(|(a, b)| a.min(b)),
            on_error: self.on_error.max(other.on_error),
            by_gate: self.by_gate || other.by_gate,
            ..self
        }
    }
}

/// Whether a line is nothing but commands of this program: what they run it records, and it is by
/// them that a claim comes to hold. Its gate must be one of all the claims.
fn is_of_this_program(line: &str, programs: &[&str], claims: &BTreeSet<ClaimId>) -> bool {
    let Some(commands) = plain_commands(line) else {
        return false;
    };
    !commands.is_empty()
        && commands.iter().all(|command| {
            let Some((program, words)) = command.split_first() else {
                return false;
            };
            let own: Vec<&str> = (words.iter().map(String::as_str))
                .take_while(|word| *word != "--")
                .collect();
            let gated =
                !own.contains(&"gate") || claims.iter().all(|claim| own.contains(&claim.as_str()));
            programs.contains(&program.as_str()) && gated
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[guard]]
        match = '^(psql|pg_dump)\b'
        tool = "Bash"
        claims = ["db-is-staging"]
        max_age = "10m"
        on_error = "open"

        [[guard]]
        match = 'terraform apply'
        claims = ["infra-is-ours"]
        use_gate = true

        [[guard]]
        match = '^mcp__db__'
        claims = ["db-is-staging"]
    "#;

    fn line(tool: &str, line: &str) -> ToolCall {
        ToolCall {
            tool: tool.to_owned(),
            input: Input::Line(line.to_owned()),
        }
    }

    fn claims(needed: Option<Needed>) -> Vec<String> {
        let needed = needed.map(|needed| needed.claims).unwrap_or_default();
        needed.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_call_needs_the_claims_of_every_guard_that_matches() {
        let guards = Guards::parse(FILE).unwrap();
        for (call, expected) in [
            (line("Bash", "psql -c 1"), vec!["db-is-staging"]),
            (
                line("run_shell_command", "cd a && psql"),
                vec!["db-is-staging"],
            ),
            (line("Shell", "echo psql"), vec![]),
            (line("Bash", "ls"), vec![]),
            (
                line("Bash", "psql && terraform apply"),
                vec!["db-is-staging", "infra-is-ours"],
            ),
        ] {
            assert_eq!(
                claims(guards.needed(&call, &["handoff"])),
                expected,
                "{call:?}"
            );
        }
        let call = ToolCall {
            tool: "mcp__db__query".to_owned(),
            input: Input::Arguments("{\"sql\":\"select 1\"}".to_owned()),
        };
        assert_eq!(
            claims(guards.needed(&call, &["handoff"])),
            ["db-is-staging"]
        );
    }

    #[test]
    fn guards_that_match_together_are_as_strict_as_the_strictest() {
        let guards = Guards::parse(FILE).unwrap();
        let both = line("Bash", "psql; terraform apply");
        let needed = guards.needed(&both, &["handoff"]).unwrap();
        assert_eq!(needed.max_age, None);
        assert_eq!(needed.on_error, OnError::Closed);
        assert!(needed.by_gate);
        let one = guards.needed(&line("Bash", "psql"), &["handoff"]).unwrap();
        assert_eq!(one.max_age, Some(Duration::from_secs(600)));
        assert_eq!(one.on_error, OnError::Open);
        assert!(!one.by_gate);
    }

    #[test]
    fn only_what_is_this_programs_alone_is_let_by() {
        let guards = Guards::parse(FILE).unwrap();
        for through in [
            "handoff gate db-is-staging -- psql",
            "handoff gate db-is-staging infra-is-ours -- sh -c 'psql; terraform apply'",
            "handoff axis db.host --class reachability -- psql -c 'select 1'",
            "handoff axis a -- psql && handoff claim db-is-staging --needs a -- psql",
        ] {
            let call = line("Bash", through);
            assert_eq!(guards.needed(&call, &["handoff"]), None, "{through}");
        }
        for guarded in [
            "handoff gate other -- psql",
            "handoff gate other -- psql db-is-staging",
            "handoff gate db-is-staging -- true && psql",
            "handoff gate db-is-staging -- true; psql",
            "handoff gate db-is-staging -- $(psql)",
            "PATH=/tmp handoff gate db-is-staging -- psql; psql",
            "./handoff gate db-is-staging -- psql; psql",
            "handoff gate -- psql db-is-staging; psql",
        ] {
            let call = line("Bash", guarded);
            assert!(guards.needed(&call, &["handoff"]).is_some(), "{guarded}");
        }
    }

    #[test]
    fn what_is_not_of_the_grammar_is_refused_with_its_place() {
        for (text, told) in [
            ("guard = 1", "guard"),
            ("on_error = 'maybe'", "maybe"),
            ("onerror = 'open'", "onerror"),
            ("[[guard]]\nmatch = 'a'\nclaims = []", "guard 1"),
            ("[[guard]]\nmatch = 'a'", "claims"),
            ("[[guard]]\nmatch = '('\nclaims = ['a']", "guard 1: match"),
            ("[[guard]]\nmatch = 'a'\nclaims = ['A']", "guard 1: claims"),
            (
                "[[guard]]\nmatch = 'a'\nclaims = ['a']\nmax_age = '1w'",
                "max_age",
            ),
            (
                "[[guard]]\nmatch = '\\w{1000}{1000}'\nclaims = ['a']",
                "guard 1: match",
            ),
            ("[[guard]]\nmatch = 'a'\nclaims = ['a']\nnote = 'x'", "note"),
        ] {
            let error = Guards::parse(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        let many = "[[guard]]\nmatch = 'a'\nclaims = ['a']\n".repeat(GUARDS_MAX + 1);
        assert_eq!(
            Guards::parse(&many).unwrap_err(),
            GuardsError::TooMany(GUARDS_MAX + 1)
        );
        assert!(Guards::parse("").unwrap().is_empty());
    }
}
