//! The command to type next, as a text.
//!
//! It is either one or more commands of this program, joined by [`THEN`] and read by a POSIX shell
//! as they stand, in which words in capitals are blanks that only the person can fill in; or it is
//! plain words, and then it does not begin with the program's name.

use crate::types::Seq;

/// Between two commands of which the second is worth typing only if the first succeeded.
pub const THEN: &str = " && ";
/// What each command begins with.
const PROGRAM: &str = "handoff ";

/// The commands that speak for a session.
const SESSION_COMMANDS: [&str; 13] = [
    "ambient", "axis", "brief", "can", "claim", "discard", "flag", "gate", "probe", "promote",
    "reverify", "seal", "state",
];
/// The commands that use neither a ledger nor a key that could be named.
const BARE_COMMANDS: [&str; 6] = [
    "completions",
    "demo",
    "help",
    "man",
    "verify-proof",
    "version",
];

/// `next` with `--session` at each command that speaks for a session and names none.
pub fn in_session(next: &str, session: Seq) -> String {
    each(next, |rest| {
        let verb = verb(rest);
        match SESSION_COMMANDS.contains(&verb) && !rest.contains("--session") {
            true => rest.replacen(verb, &format!("{verb} --session {session}"), 1),
            false => rest.to_owned(),
        }
    })
}

/// `next` with the options that this command was typed with (`--ledger`, `--key`, each with its
/// value, quoted for a shell), at each command that heeds them and does not have them.
pub fn carrying(next: &str, options: &[(String, String)]) -> String {
    each(next, |rest| {
        let new_key = rest.starts_with("key new");
        let mut carried: Vec<&str> = Vec::new();
        for (name, value) in options {
            if !BARE_COMMANDS.contains(&verb(rest)) && !new_key && !rest.contains(name.as_str()) {
                carried.extend([name.as_str(), value.as_str()]);
            }
        }
        carried.push(rest);
        carried.join(" ")
    })
}

fn verb(rest: &str) -> &str {
    rest.split(' ').next().unwrap_or_default()
}

/// `next` with each command's words after the program's name changed; plain words as they are.
fn each(next: &str, change: impl Fn(&str) -> String) -> String {
    let changed = commands(next).into_iter().map(|command| {
        let rest = command.strip_prefix(PROGRAM);
        rest.map_or(command.to_owned(), |rest| {
            format!("{PROGRAM}{}", change(rest))
        })
    });
    changed.collect::<Vec<_>>().join(THEN)
}

/// The commands of `next`: parted where [`THEN`] stands outside of a shell's quotes.
fn commands(next: &str) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (place, character) in next.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if !quoted => escaped = true,
            '\'' => quoted = !quoted,
            ' ' if !quoted && next.get(place..).is_some_and(|rest| rest.starts_with(THEN)) => {
                parts.extend(next.get(begin..place));
                begin = place.saturating_add(THEN.len());
            }
            _ => {}
        }
    }
    parts.extend(next.get(begin..));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_speaks_for_a_session_names_the_one_that_was_named() {
        for (next, named) in [
            (
                "handoff ambient --none",
                "handoff ambient --session 7 --none",
            ),
            (
                "handoff axis a -- b && handoff claim c --session 3",
                "handoff axis --session 7 a -- b && handoff claim c --session 3",
            ),
            ("handoff resume --agent NAME", "handoff resume --agent NAME"),
            ("rm file", "rm file"),
            ("the same command again", "the same command again"),
        ] {
            assert_eq!(in_session(next, Seq(7)), named);
        }
    }

    #[test]
    fn what_was_typed_is_carried_to_each_command_and_into_no_quotes() {
        let options = [("--ledger", "'a b.db'"), ("--key", "ci")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (next, carried) in [
            (
                "handoff axis a -- 'x && handoff y' && handoff can b",
                "handoff --ledger 'a b.db' --key ci axis a -- 'x && handoff y' && \
                 handoff --ledger 'a b.db' --key ci can b",
            ),
            (
                "handoff axis a -- 'it'\\''s && handoff y'",
                "handoff --ledger 'a b.db' --key ci axis a -- 'it'\\''s && handoff y'",
            ),
            (
                "handoff --key ANOTHER promote a",
                "handoff --ledger 'a b.db' --key ANOTHER promote a",
            ),
            ("handoff help all", "handoff help all"),
            ("handoff key new --label x", "handoff key new --label x"),
            ("chmod 600 x", "chmod 600 x"),
        ] {
            assert_eq!(carrying(next, &options), carried);
        }
        assert_eq!(carrying("handoff can a", &[]), "handoff can a");
    }
}
