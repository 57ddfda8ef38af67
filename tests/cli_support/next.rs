//! Whether what is to be typed next can be typed as it stands.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use handoff_ledger::cli::args;
use serde_json::Value;
use std::ffi::OsString;
use std::process::Command;

/// Ends the words of one command among those of several.
const END: &str = "\u{1}";
/// Stands in for the program: prints the words that a shell hands it.
const STAND_IN: &str = "handoff() { printf '%s\\0' \"$@\"; printf '\\1\\0'; }\n";

/// Asserts it of every `next` of a document.
pub fn check_document(document: &Value) {
    match document {
        Value::Object(members) => {
            for (name, member) in members {
                if let ("next", Some(next)) = (name.as_str(), member.as_str()) {
                    assert_eq!(fault(next), None, "{document}");
                }
                check_document(member);
            }
        }
        Value::Array(items) => items.iter().for_each(check_document),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Asserts it of every line of a text that says what to type next.
pub fn check_text(text: &str) {
    for line in text.lines() {
        if let Some((before, next)) = line.split_once("next: ")
            && before.chars().all(|it| " -".contains(it))
        {
            assert_eq!(fault(next), None, "{text}");
        }
    }
}

/// What is wrong with a `next`: if it begins with the program's name, a shell must read commands
/// from it that the program takes, and nothing else. Words in capitals are blanks to be filled in.
pub fn fault(next: &str) -> Option<String> {
    if !next.starts_with("handoff") {
        return None;
    }
    let commands = match commands(next) {
        Ok(commands) => commands,
        Err(said) => return Some(format!("no shell takes {next:?}: {said}")),
    };
    for words in commands {
        let prose = |word: &&String| {
            ["handoff", "then:", "or"].contains(&word.as_str()) || word.ends_with([',', ':', ';'])
        };
        if let Some(word) = words.iter().find(prose) {
            return Some(format!("{word:?} of {next:?} is no word of a command"));
        }
        let argv: Vec<OsString> = ["handoff".to_owned()]
            .into_iter()
            .chain(words.iter().map(|word| filled(word)))
            .map(OsString::from)
            .collect();
        if let Err(failure) = args::parse(&argv) {
            return Some(format!("{next:?}: {failure}"));
        }
    }
    None
}

/// The words of each command of a `next`, as a shell reads them.
pub fn commands(next: &str) -> Result<Vec<Vec<String>>, String> {
    let scratch = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{STAND_IN}{next}")])
        .current_dir(scratch.path())
        .env("HOME", scratch.path())
        .output()
        .unwrap();
    if !output.status.success() || !output.stderr.is_empty() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<String> = printed.split_terminator('\0').map(str::to_owned).collect();
    let commands = words.split(|word| word == END).map(<[String]>::to_vec);
    Ok(commands.filter(|words| !words.is_empty()).collect())
}

/// A word, or what may stand in its place if it is a blank.
fn filled(word: &str) -> String {
    let capital = |it: u8| it.is_ascii_uppercase() || it == b'-';
    let is_blank =
        word.starts_with(|it: char| it.is_ascii_uppercase()) && word.bytes().all(capital);
    let value = match word {
        "N" | "SEQ" | "SIZE" => "1",
        "CLASS" => "reachability",
        "KIND" => "claim.verified",
        _ if is_blank => "filled",
        other => other,
    };
    value.to_owned()
}
