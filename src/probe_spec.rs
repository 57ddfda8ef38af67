//! What a probe is: its definition, the rules a definition obeys, and its digest.
//!
//! The JSON of these types is the wire format: members in alphabetical order, none of them null,
//! absent where there is nothing to say.

pub use crate::check::{Check, Endpoint, FilePath, Url};
pub use crate::comparator::Comparator;
pub use crate::env_name::EnvName;
pub use crate::expectation::{Expectation, Extraction, Pattern, Pointer, met_by_empty};
pub use crate::outcome::{Committed, FileDigest, Judgement, Outcome, OutputCommitment, Outputs};
pub use crate::success::{
    Strength, best_strength, expected_exit, is_successful, recomputable, strength,
};
pub use crate::vacuous::is_constant;
pub use crate::version::Requirement;

use crate::hash;
use crate::types::Digest;
use serde::{Deserialize, Serialize};

/// Most items of an argv.
pub const ARGV_ITEMS_MAX: usize = 256;
/// Longest item of an argv, in bytes.
pub const ARGV_ITEM_BYTES_MAX: usize = 4096;
/// Longest working directory, in bytes.
pub const CWD_BYTES_MAX: usize = 4096;
/// Most expectations of a probe.
pub const EXPECTATIONS_MAX: usize = 32;
/// Most variables passed to a probe.
pub const ENV_NAMES_MAX: usize = 64;
/// Longest timeout, in milliseconds: one hour.
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// Timeout of a probe that names none, in milliseconds.
pub const TIMEOUT_MS_DEFAULT: u64 = 10_000;
/// Timeout of a flag's step that names none, in milliseconds.
pub const STEP_TIMEOUT_MS_DEFAULT: u64 = 600_000;
/// Variables that every probe is given, which it therefore cannot name.
pub const ALWAYS_PASSED: [&str; 6] = ["HOME", "LC_ALL", "NO_COLOR", "PATH", "TERM", "TZ"];

/// All that a probe is made of, not yet known to obey the rules.
///
/// A command line fills this in by functional update over one of the constructors and hands it
/// to [`Probe::new`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The program and its arguments, or, with `shell`, the one script; exactly one of this and
    /// `check`.
    #[serde(default, with = "present", skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// A native check instead of a program.
    #[serde(default, with = "present", skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Working directory: `.` or a relative path under the session's root, or an absolute path.
    pub cwd: String,
    /// Variables passed on beside [`ALWAYS_PASSED`], sorted, none twice.
    pub env: Vec<EnvName>,
    /// That the exit code is enough, which is shown as weak.
    pub exit_only: bool,
    /// What must be seen.
    pub expect: Vec<Expectation>,
    /// How the value is taken.
    pub extract: Extraction,
    /// That the value must not stand in the chain.
    pub redact: bool,
    /// That `argv` is a script for `/bin/sh -c`.
    pub shell: bool,
    /// Milliseconds after which it is killed, 1 to 3,600,000.
    pub timeout_ms: u64,
}

impl Definition {
    /// A program and its arguments, with the defaults for all else.
    pub fn command(argv: impl IntoIterator<Item = String>) -> Self {
        Definition {
            argv: Some(argv.into_iter().collect()),
            check: None,
            cwd: ".".to_owned(),
            env: Vec::new(),
            exit_only: false,
            expect: Vec::new(),
            extract: Extraction::Trim,
            redact: false,
            shell: false,
            timeout_ms: TIMEOUT_MS_DEFAULT,
        }
    }

    /// A script for `/bin/sh -c`, with the defaults for all else.
    pub fn script(text: impl Into<String>) -> Self {
        Definition {
            shell: true,
            ..Self::command([text.into()])
        }
    }

    /// A native check, with the defaults for all else.
    pub fn check(check: Check) -> Self {
        Definition {
            argv: None,
            check: Some(check),
            ..Self::command([])
        }
    }

    /// The same, passing these variables too, in whatever order they come.
    #[must_use]
    pub fn passing(mut self, names: impl IntoIterator<Item = EnvName>) -> Self {
        self.env.extend(names);
        self.env.sort();
        self.env.dedup();
        self
    }
}

/// A probe: a definition that obeys every rule of [`ProbeError`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Definition")]
pub struct Probe(Definition);

impl Probe {
    /// The probe of a definition, if it obeys the rules.
    pub fn new(definition: Definition) -> Result<Self, ProbeError> {
        match (&definition.argv, &definition.check) {
            (Some(argv), None) => check_argv(argv, definition.shell)?,
            (None, Some(check)) => check_native(&definition, check)?,
            (Some(_), Some(_)) | (None, None) => return Err(ProbeError::CommandOrCheck),
        }
        check_cwd(&definition.cwd)?;
        check_env(&definition.env)?;
        check_expectations(&definition)?;
        match definition.timeout_ms {
            1..=TIMEOUT_MS_MAX => Ok(Probe(definition)),
            found => Err(ProbeError::Timeout { found }),
        }
    }

    /// Digest of the whole definition: [`hash::probe`] of its canonical JSON.
    pub fn digest(&self) -> Digest {
        // Texts, integers and booleans alone: there is nothing in it that could not be written.
        let canonical = serde_json::to_vec(&self.0).unwrap_or_default();
        hash::probe(&canonical)
    }

    /// The program and its arguments, or the script if [`shell`](Probe::shell).
    pub fn argv(&self) -> Option<&[String]> {
        self.0.argv.as_deref()
    }

    /// The native check.
    pub fn check(&self) -> Option<&Check> {
        self.0.check.as_ref()
    }

    /// The working directory, as it was given.
    pub fn cwd(&self) -> &str {
        &self.0.cwd
    }

    /// Variables passed on beside [`ALWAYS_PASSED`].
    pub fn env(&self) -> &[EnvName] {
        &self.0.env
    }

    /// Whether the exit code is enough.
    pub fn exit_only(&self) -> bool {
        self.0.exit_only
    }

    /// What must be seen.
    pub fn expect(&self) -> &[Expectation] {
        &self.0.expect
    }

    /// How the value is taken.
    pub fn extract(&self) -> &Extraction {
        &self.0.extract
    }

    /// Whether the value must not stand in the chain.
    pub fn redact(&self) -> bool {
        self.0.redact
    }

    /// Whether the argv is a script for `/bin/sh -c`.
    pub fn shell(&self) -> bool {
        self.0.shell
    }

    /// Milliseconds after which it is killed.
    pub fn timeout_ms(&self) -> u64 {
        self.0.timeout_ms
    }

    /// All of it, to start another definition from.
    pub fn definition(&self) -> &Definition {
        &self.0
    }
}

impl TryFrom<Definition> for Probe {
    type Error = ProbeError;

    fn try_from(definition: Definition) -> Result<Self, ProbeError> {
        Probe::new(definition)
    }
}

fn check_argv(argv: &[String], shell: bool) -> Result<(), ProbeError> {
    if argv.is_empty() || argv.len() > ARGV_ITEMS_MAX {
        return Err(ProbeError::ArgvItems { found: argv.len() });
    }
    if shell && argv.len() != 1 {
        return Err(ProbeError::ShellScript { found: argv.len() });
    }
    if argv.first().is_some_and(String::is_empty) {
        return Err(ProbeError::NoProgram);
    }
    for (item, text) in argv.iter().enumerate() {
        if text.len() > ARGV_ITEM_BYTES_MAX || text.contains('\0') {
            return Err(ProbeError::ArgvItem { item });
        }
    }
    Ok(())
}

fn check_native(definition: &Definition, check: &Check) -> Result<(), ProbeError> {
    let option = if definition.shell {
        Some("--shell")
    } else if definition.exit_only {
        Some("--exit-only")
    } else if !definition.env.is_empty() {
        Some("--env")
    } else if definition.extract != Extraction::Trim {
        Some("--extract")
    } else if definition.redact && check.required_value().is_some() {
        Some("--redact")
    } else {
        None
    };
    if let Some(option) = option {
        return Err(ProbeError::NotWithCheck { option });
    }
    match definition.expect.iter().find(|each| !each.is_of_value()) {
        Some(other) => Err(ProbeError::ExpectationOfCheck {
            found: other.to_string(),
        }),
        None => Ok(()),
    }
}

fn check_cwd(cwd: &str) -> Result<(), ProbeError> {
    let relative = cwd.strip_prefix('/').unwrap_or(cwd);
    let normal = cwd == "."
        || cwd == "/"
        || relative
            .split('/')
            .all(|component| !matches!(component, "" | "." | ".."));
    if normal && cwd.len() <= CWD_BYTES_MAX && !cwd.contains('\0') {
        Ok(())
    } else {
        Err(ProbeError::Cwd {
            found: cwd.to_owned(),
        })
    }
}

fn check_env(names: &[EnvName]) -> Result<(), ProbeError> {
    if let Some(name) = names
        .iter()
        .find(|name| ALWAYS_PASSED.contains(&name.as_str()))
    {
        return Err(ProbeError::AlwaysPassed { name: name.clone() });
    }
    if names.len() > ENV_NAMES_MAX || !names.is_sorted_by(|earlier, later| earlier < later) {
        return Err(ProbeError::EnvOrder);
    }
    Ok(())
}

fn check_expectations(definition: &Definition) -> Result<(), ProbeError> {
    let expect = &definition.expect;
    if expect.len() > EXPECTATIONS_MAX {
        return Err(ProbeError::Expectations {
            found: expect.len(),
        });
    }
    let exits = expect
        .iter()
        .filter(|each| matches!(each, Expectation::Exit(_)));
    if exits.count() > 1 {
        return Err(ProbeError::TwoExits);
    }
    if definition.extract == Extraction::None
        && let Some(each) = expect.iter().find(|each| each.is_of_value())
    {
        return Err(ProbeError::NoValue {
            found: each.to_string(),
        });
    }
    Ok(())
}

/// The rule that a definition breaks, and what to type instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// Neither a command nor a check, or both.
    #[error("give a command after -- or a check with --check, one of the two")]
    CommandOrCheck,
    /// Too few or too many arguments.
    #[error(
        "a command has 1 to {ARGV_ITEMS_MAX} words, found {found}: put a long one in a script file"
    )]
    ArgvItems {
        /// How many there are.
        found: usize,
    },
    /// An argument that is too long or holds a NUL.
    #[error(
        "word {item} of the command is over {ARGV_ITEM_BYTES_MAX} bytes or holds a NUL byte: put it in a file"
    )]
    ArgvItem {
        /// Its position; 0 is the program.
        item: usize,
    },
    /// The program's name is empty.
    #[error("the command's first word is empty: name a program after --")]
    NoProgram,
    /// More than a script with `--shell`.
    #[error("--shell takes one script, found {found} words: quote it, as --shell -- 'a | b'")]
    ShellScript {
        /// How many words there are.
        found: usize,
    },
    /// A working directory that is not in normal form.
    #[error(
        "--cwd takes . or a relative path without .. . or empty parts, or such an absolute path, found {found:?}"
    )]
    Cwd {
        /// The path that was given.
        found: String,
    },
    /// A variable that is passed anyway.
    #[error("{name} is always passed: leave out --env {name}")]
    AlwaysPassed {
        /// The variable.
        name: EnvName,
    },
    /// Variables unsorted, repeated, or too many.
    #[error("the named variables must be sorted, each once, at most {ENV_NAMES_MAX}")]
    EnvOrder,
    /// A timeout out of range.
    #[error("--timeout takes 1 ms to 1 h, found {found} ms")]
    Timeout {
        /// Milliseconds that were given.
        found: u64,
    },
    /// Too many expectations.
    #[error(
        "a probe has at most {EXPECTATIONS_MAX} expectations, found {found}: split it into several probes"
    )]
    Expectations {
        /// How many there are.
        found: usize,
    },
    /// Two `exit=` expectations.
    #[error("a probe expects one exit code: give exit=N once")]
    TwoExits,
    /// An expectation about a value that is never taken.
    #[error("{found} needs a value and --extract none takes none: leave out --extract none")]
    NoValue {
        /// The expectation.
        found: String,
    },
    /// An option that a native check does not have.
    #[error("{option} does not go with this --check: leave it out")]
    NotWithCheck {
        /// The option.
        option: &'static str,
    },
    /// An expectation that a native check cannot meet.
    #[error("a --check takes value=TEXT, value~RE or semver=REQ, found {found}")]
    ExpectationOfCheck {
        /// The expectation.
        found: String,
    },
}

/// A member that is there with a value or not there at all, never null.
pub(crate) mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        member: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        member.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        T::deserialize(deserializer).map(Some)
    }
}
