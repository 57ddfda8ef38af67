//! Errors of the command line in this program's words, with what was typed shown as data.

use crate::cli::quote::{quoted_within, visible};
use crate::cli::report::Failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::ffi::OsString;

/// Longest word of the command line shown in an error, in characters.
const WORD_CHARACTERS_MAX: usize = 80;

/// The words of `argv`.
pub(super) fn texts(argv: &[OsString]) -> Result<Vec<String>, Failure> {
    let text = |(place, word): (usize, &OsString)| match word.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => {
            let shown = quoted_within(&word.to_string_lossy(), WORD_CHARACTERS_MAX);
            let message = format!("argument {place} is not UTF-8: {shown}");
            Err(Failure::usage(message).next("handoff help"))
        }
    };
    argv.iter().enumerate().map(text).collect()
}

/// The command that `words` get to, such as `key new`, as far as there is one.
pub(super) fn path(words: &[String]) -> Vec<String> {
    parted(words).0
}

/// The command that `words` get to, and the options before, within and after its name, each with
/// its value, as far as there is nothing else.
pub(super) fn parted(words: &[String]) -> (Vec<String>, Vec<String>) {
    let mut command = super::command();
    let (mut path, mut options) = (Vec::new(), Vec::new());
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            options.push(word.clone());
            let takes_value = command.get_arguments().any(|option| {
                option.get_long() == Some(long) && option.get_action().takes_values()
            });
            if takes_value {
                options.extend(words.next().cloned());
            }
        } else if let Some(below) = command.find_subcommand(word) {
            path.push(word.clone());
            command = below.clone();
        } else {
            break;
        }
    }
    (path, options)
}

/// `error` as a failure that ends with the command to type next.
pub(super) fn failure(error: &clap::Error, words: &[String]) -> Failure {
    let mut next = vec!["handoff".to_owned()];
    let path = path(words);
    // The likeliest comes last.
    let suggested = texts_of(error, ContextKind::SuggestedSubcommand);
    match (path.as_slice(), suggested.last()) {
        ([], None) => next.push("help".to_owned()),
        (path, suggested) => {
            next.extend(path.iter().cloned().chain(suggested.cloned()));
            next.push("--help".to_owned());
        }
    }
    let message = format!("{}{}", message(error, words), origin(error, words));
    Failure::usage(message).next(next.join(" "))
}

/// Where a wrong value stands if it was not typed.
fn origin(error: &clap::Error, words: &[String]) -> String {
    let argument = argument(error).unwrap_or_default();
    let long = argument.split(' ').next().unwrap_or_default();
    let is_typed = words.iter().any(|word| word.starts_with(long));
    let command = super::command();
    let mut options = command.get_arguments();
    let variable = options
        .find(|option| Some(long) == option.get_long().map(|name| format!("--{name}")).as_deref())
        .and_then(clap::Arg::get_env);
    match variable {
        Some(variable) if !is_typed => format!(" (from {})", variable.display()),
        Some(_) | None => String::new(),
    }
}

fn message(error: &clap::Error, words: &[String]) -> String {
    let said = match error.kind() {
        ErrorKind::InvalidSubcommand => Some(unknown_command(error)),
        ErrorKind::UnknownArgument => Some(unknown_argument(error, words)),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Some("one of its own commands has to follow".to_owned())
        }
        ErrorKind::MissingRequiredArgument => missing(error, words),
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => bad_value(error),
        ErrorKind::NoEquals
        | ErrorKind::TooManyValues
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues
        | ErrorKind::InvalidUtf8
        | ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::Io
        | ErrorKind::Format
        | _ => None,
    };
    said.unwrap_or_else(|| visible(first_line(&error.to_string())).into_owned())
}

fn unknown_command(error: &clap::Error) -> String {
    let given = texts_of(error, ContextKind::InvalidSubcommand).join(" ");
    let meant = meant(error, ContextKind::SuggestedSubcommand);
    format!("there is no command {}{meant}", word(&given))
}

fn unknown_argument(error: &clap::Error, words: &[String]) -> String {
    let given = texts_of(error, ContextKind::InvalidArg).join(" ");
    let meant = meant(error, ContextKind::SuggestedArg);
    let path = path(words);
    let hint = match path.first().map(String::as_str) {
        _ if given.starts_with('-') => "",
        Some("probe" | "axis") => "; a program and its arguments go after --",
        Some("claim" | "flag" | "gate") => {
            "; a text of several words stands in quotes, a program and its arguments go after --"
        }
        Some(_) | None => "",
    };
    format!("unexpected argument {}{meant}{hint}", word(&given))
}

fn missing(error: &clap::Error, words: &[String]) -> Option<String> {
    let argument = argument(error)?;
    let values = values_of(&argument, words).unwrap_or_default();
    Some(format!("missing {argument}{values}"))
}

/// What an option takes, if that is a closed list.
fn values_of(argument: &str, words: &[String]) -> Option<String> {
    let mut command = super::command();
    for name in path(words) {
        command = command.find_subcommand(name)?.clone();
    }
    let long = argument.split(' ').next()?.strip_prefix("--")?;
    let option = command
        .get_arguments()
        .find(|it| it.get_long() == Some(long))?;
    let values = option.get_possible_values();
    let names: Vec<&str> = values
        .iter()
        .map(clap::builder::PossibleValue::get_name)
        .collect();
    (!names.is_empty()).then(|| format!(", one of {}", names.join(", ")))
}

fn conflict(error: &clap::Error) -> Option<String> {
    let argument = argument(error)?;
    let others = texts_of(error, ContextKind::PriorArg).join(", ");
    if others.is_empty() || others == argument {
        Some(format!("{argument} is given more than once"))
    } else {
        Some(format!("{argument} cannot be used with {others}"))
    }
}

fn bad_value(error: &clap::Error) -> Option<String> {
    let argument = argument(error)?;
    let value = texts_of(error, ContextKind::InvalidValue).join(" ");
    let valid = texts_of(error, ContextKind::ValidValue).join(", ");
    let found = word(&value);
    Some(match error.source() {
        Some(source) => format!("{argument}: {}", visible(&source.to_string())),
        None if value.is_empty() => format!("{argument} takes a value"),
        None if valid.is_empty() => format!("{argument}: unexpected {found}"),
        None => format!("{argument}: expected one of {valid}, found {found}"),
    })
}

/// The argument that the error is about, as the definition of the command line names it.
fn argument(error: &clap::Error) -> Option<String> {
    let arguments = texts_of(error, ContextKind::InvalidArg);
    (!arguments.is_empty()).then(|| arguments.join(", "))
}

fn meant(error: &clap::Error, kind: ContextKind) -> String {
    let words = texts_of(error, kind);
    if words.is_empty() {
        String::new()
    } else {
        format!("; is {} meant?", words.join(" or "))
    }
}

fn word(text: &str) -> String {
    quoted_within(text, WORD_CHARACTERS_MAX)
}

fn texts_of(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(_) | None => Vec::new(),
    }
}

fn first_line(rendered: &str) -> &str {
    let line = rendered.lines().next().unwrap_or(rendered);
    line.strip_prefix("error: ").unwrap_or(line)
}
