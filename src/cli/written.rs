//! How a command that writes says what it wrote.

use super::output::Output;
use super::render::head_json;
use super::report::{Exit, Failure};
use crate::append::Appended;
use crate::refusal::{Refusal, Rule};
use crate::types::{Head, Seq};
use serde_json::{Map, Value, json};

/// Says that a command was carried out: one line for a person, one document for a program.
pub fn wrote(output: &mut Output, command: &str, head: &Head, line: &str, body: Value) -> Exit {
    said(output, command, Exit::Yes, head, line, body)
}

/// Says what a command wrote, and with which exit code.
pub fn said(
    output: &mut Output,
    command: &str,
    exit: Exit,
    head: &Head,
    line: &str,
    body: Value,
) -> Exit {
    said_lines(output, command, exit, head, &[line.to_owned()], body)
}

/// As [`said`], in as many lines for a person as there is something to say.
pub fn said_lines(
    output: &mut Output,
    command: &str,
    exit: Exit,
    head: &Head,
    lines: &[String],
    body: Value,
) -> Exit {
    output.recorded(head);
    lines.iter().for_each(|line| output.line(line));
    let mut document = Map::new();
    document.insert("head".to_owned(), head_json(head));
    if let Value::Object(members) = body {
        document.extend(members);
    }
    output.document(
        &format!("handoff.{command}.v1"),
        exit,
        Value::Object(document),
    );
    exit
}

/// A failure that came after the events were recorded: the same command again would record them
/// twice.
pub fn not_told(failure: Failure, head: &Head) -> Failure {
    let Head { seq, leaf, .. } = head;
    let message = format!("recorded up to event {seq}, leaf {leaf}, but then: {failure}");
    let next = format!("handoff show {seq}");
    Failure::indeterminate(failure.code, message)
        .next(next)
        .details(json!({ "seq": seq, "leaf": leaf }))
}

/// The failure of something that the rules refused although its receipts were recorded; what to
/// type next is the rule's, or to look at the receipt that failed.
pub fn refused_with<T>(
    output: &mut Output,
    refusal: Refusal,
    receipt: Seq,
    appended: &Appended<T>,
    details: Value,
) -> Failure {
    output.recorded(&appended.head);
    let failed = matches!(refusal.rule, Rule::ReceiptFailed | Rule::Comparator);
    let mut body = json!({ "head": head_json(&appended.head) });
    if let (Some(body), Value::Object(details)) = (body.as_object_mut(), details) {
        body.extend(details);
    }
    let failure = Failure::from(refusal).details(body);
    match failed {
        true => failure.next(format!("handoff show {receipt}")),
        false => failure,
    }
}
