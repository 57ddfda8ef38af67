//! `head`: the head line.

use crate::cli::args::Common;
use crate::cli::context::Context;
use crate::cli::output::Output;
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use serde_json::json;

const SCHEMA: &str = "handoff.head.v1";

pub(super) fn run(common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let context = Context::examine(common, output)?;
    let head = context.head()?;
    output.line(&head.to_string());
    let body = json!({ "head": head_json(&head) });
    Ok(context.answer(output, SCHEMA, Exit::Yes, body))
}
