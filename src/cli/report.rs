//! How a command ends: its exit, and a failure's message, evidence and next command.

use super::args::Common;
use super::next;
use crate::credential;
use crate::types::Seq;
use crate::verify::Verification;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Schema of the document that a failure prints under `--json`.
pub const ERROR_SCHEMA: &str = "handoff.error.v1";

/// The exits of the program; every command means the same by each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: recorded, verified, held, admissible; all of what was asked.
    Yes,
    /// 1: drifted, unverifiable, blocked, unknown, refused by a rule, expectation not met.
    No,
    /// 2: the command line itself is wrong.
    Usage,
    /// 3: the ledger cannot be judged: root not pinned, incomplete copy, undetermined, empty.
    CannotJudge,
    /// 4: integrity failure, rollback or fork.
    Integrity,
    /// 5: locked too long, disk full, I/O, not a ledger, newer than this program.
    Environment,
    /// 6: may or may not have been recorded.
    Indeterminate,
    /// 125: the gated command was not run.
    NotRun,
    /// What the gated command itself exited with.
    Action(u8),
    /// 2, as clients read it of a hook: what was about to happen is not to happen.
    Blocked,
}

impl Exit {
    /// The number the process exits with.
    pub fn code(self) -> u8 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::CannotJudge => 3,
            Exit::Integrity => 4,
            Exit::Environment => 5,
            Exit::Indeterminate => 6,
            Exit::NotRun => 125,
            Exit::Action(code) => code,
            Exit::Blocked => 2,
        }
    }
}

/// What a command that verifies ends with.
impl From<Verification> for Exit {
    fn from(result: Verification) -> Exit {
        match result {
            Verification::Verified => Exit::Yes,
            Verification::Tampered | Verification::Unlawful => Exit::Integrity,
            Verification::Error => Exit::Environment,
            Verification::Undetermined
            | Verification::Incomplete
            | Verification::Empty
            | Verification::SelfConsistent => Exit::CannotJudge,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command did not do what was asked.
///
/// The message is lower case: what happened, then the evidence. Text that somebody else wrote
/// stands in it only as [`quoted`](super::quote::quoted).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// How the process exits.
    pub exit: Exit,
    /// The failure's stable name, `[a-z_]+`.
    pub code: &'static str,
    /// One sentence for a person.
    pub message: String,
    /// The command to type next.
    pub next: Option<String>,
    /// Whether the same command may succeed if only time passes.
    pub retryable: bool,
    /// Evidence for a program, shown under `--json` alone.
    pub details: Option<Value>,
}

impl Failure {
    fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            code,
            message: message.into(),
            next: None,
            retryable: false,
            details: None,
        }
    }

    /// Exit 1: a rule, an axis or an expectation says no.
    pub fn no(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::No, code, message)
    }

    /// Exit 2, code `usage`: the command line is wrong.
    ///
    /// Such messages show what was typed, but no credential.
    pub fn usage(message: impl Into<String>) -> Failure {
        let message = message.into();
        let message = match credential::find(message.as_bytes()) {
            Some(rule) => format!(
                "what was typed is not understood, and not shown: it looks like a credential \
                 (rule {rule})"
            ),
            None => message,
        };
        Failure::new(Exit::Usage, "usage", message)
    }

    /// Exit 3: the ledger cannot be judged.
    pub fn cannot_judge(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::CannotJudge, code, message)
    }

    /// Exit 4: the ledger is not the one that was signed.
    pub fn integrity(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::Integrity, code, message)
    }

    /// Exit 5: the machine is in the way.
    pub fn environment(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::Environment, code, message)
    }

    /// Exit 6: whether it was recorded is not known.
    pub fn indeterminate(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::Indeterminate, code, message)
    }

    /// The same failure as one of a gate: exit 125, for every other is the gated command's own.
    pub fn not_run(self) -> Failure {
        Failure {
            exit: Exit::NotRun,
            ..self
        }
    }

    /// The same failure with the command to type next.
    pub fn next(self, command: impl Into<String>) -> Failure {
        Failure {
            next: Some(command.into()),
            ..self
        }
    }

    /// The same failure where a session was named: a command to type next that is of a session,
    /// and names none, names that one.
    pub fn in_session(self, session: Option<Seq>) -> Failure {
        let named = |command: String| match session {
            Some(session) => next::in_session(&command, session),
            None => command,
        };
        Failure {
            next: self.next.map(named),
            ..self
        }
    }

    /// The same failure, whose command to type next is of the ledger and by the key that were
    /// named.
    pub fn carrying(self, common: &Common) -> Failure {
        Failure {
            next: self.next.map(|command| common.carried(&command)),
            ..self
        }
    }

    /// The same failure, said to pass with time.
    pub fn retryable(self) -> Failure {
        Failure {
            retryable: true,
            ..self
        }
    }

    /// The same failure with evidence for a program.
    pub fn details(self, details: Value) -> Failure {
        Failure {
            details: Some(details),
            ..self
        }
    }

    /// What a person reads, line by line: `error: …`, and `next: …` if there is a command to type.
    pub fn lines(&self) -> Vec<String> {
        let next = self.next.iter().map(|next| format!("next: {next}"));
        std::iter::once(format!("error: {}", self.message))
            .chain(next)
            .collect()
    }

    /// The body of the document a program reads.
    pub fn body(&self) -> Value {
        json!({ "error": self.error() })
    }

    /// What a program is told; `next` is null if there is no command to type.
    pub fn error(&self) -> Value {
        let mut error = json!({
            "code": self.code,
            "message": self.message,
            "next": self.next,
            "retryable": self.retryable,
        });
        if let (Some(error), Some(details)) = (error.as_object_mut(), &self.details) {
            error.insert("details".to_owned(), details.clone());
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_the_same_to_a_person_and_to_a_program() {
        let failure = Failure::environment("locked", "another process has held the lock for 5s")
            .next("handoff seal --wait 30s")
            .retryable()
            .details(json!({ "waited_ms": 5000 }));
        let lines = [
            "error: another process has held the lock for 5s",
            "next: handoff seal --wait 30s",
        ];
        assert_eq!(failure.lines(), lines);
        let body = json!({ "error": {
            "code": "locked",
            "message": "another process has held the lock for 5s",
            "next": "handoff seal --wait 30s",
            "retryable": true,
            "details": { "waited_ms": 5000 },
        }});
        assert_eq!(failure.body(), body);
    }

    #[test]
    fn a_failure_without_a_command_to_type_says_null() {
        let failure = Failure::no("blocked", "db.host drifted");
        assert_eq!(failure.lines(), ["error: db.host drifted"]);
        let error = json!({
            "code": "blocked", "message": "db.host drifted", "next": null, "retryable": false
        });
        assert_eq!(failure.body(), json!({ "error": error }));
    }
}
