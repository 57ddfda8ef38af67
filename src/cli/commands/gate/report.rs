//! The file of `gate --report`.

use crate::cli::output::Output;
use crate::cli::quote::json_line;
use crate::cli::report::{Exit, Failure};
use crate::home::{FileError, Replaceable};
use crate::probe_spec::Outcome;
use crate::types::Seq;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Schema of the report, and of what a dry run answers.
pub(super) const SCHEMA: &str = "handoff.gate.v1";

/// The report of one gate. It is written when the command was let run, with `exit` null, and in
/// place of that when it ended: one that stays without an `outcome` is of a command that runs
/// still, or never came back. What was refused or failed is written once.
pub(super) struct Report {
    file: Option<Replaceable>,
    decision: Value,
}

impl Report {
    /// Opened before anything is probed or recorded: who asked for it shall not be told too late
    /// that it cannot be had.
    pub(super) fn at(path: Option<&Path>) -> Result<Report, Failure> {
        let file = path.map(Replaceable::at).transpose()?;
        let decision = json!({});
        Ok(Report { file, decision })
    }

    /// What was decided.
    pub(super) fn decided(&mut self, decision: Value) {
        self.decision = decision;
    }

    /// What was decided; an empty object if nothing was.
    pub(super) fn decision(&self) -> Value {
        self.decision.clone()
    }

    /// Writes what was decided.
    pub(super) fn begin(&self) -> Result<(), FileError> {
        self.write(Value::Null, Map::new())
    }

    /// Writes how the command ended, and as which event that is recorded.
    pub(super) fn finished(
        &self,
        exit: Exit,
        outcome: Outcome,
        finished: Option<Seq>,
        output: &mut Output,
    ) {
        let mut ended = Map::new();
        ended.insert("outcome".to_owned(), json!(outcome));
        ended.insert("finished".to_owned(), json!(finished));
        tell(self.write(json!(exit.code()), ended), output);
    }

    /// Writes why the command was not run.
    pub(super) fn failed(&self, failure: &Failure, output: &mut Output) {
        let error = match failure.body() {
            Value::Object(members) => members,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        tell(self.write(json!(failure.exit.code()), error), output);
    }

    fn write(&self, exit: Value, more: Map<String, Value>) -> Result<(), FileError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut document = json!({ "schema": SCHEMA, "exit": exit });
        if let (Some(document), Some(decision)) =
            (document.as_object_mut(), self.decision.as_object())
        {
            document.extend(decision.clone());
            document.extend(more);
        }
        file.write(format!("{}\n", json_line(&document)).as_bytes())
    }
}

/// That the last word of a report is missing changes nothing of what happened.
fn tell(written: Result<(), FileError>, output: &mut Output) {
    if let Err(error) = written {
        output.note(&format!("warning: --report: {error}"));
    }
}
