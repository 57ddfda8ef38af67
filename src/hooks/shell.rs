//! A shell's command line, as far as it can be told without a shell. It is a heuristic, and errs
//! on the side of seeing too much: what a variable, an alias, a script or an interpreter makes of a
//! text no reader of the text knows.

/// What parts a command line in commands, wherever it stands: within quotes too, since `sh -c "…"`
/// runs what is in them.
const BETWEEN: [char; 10] = ['|', '&', ';', '\n', '(', ')', '`', '{', '}', '\r'];
/// What may stand before a command within quotes.
const BEFORE: [char; 5] = ['"', '\'', ' ', '\t', '!'];

/// The whole line without its line continuations, then each of its parts as a command begins:
/// without the variables that are set for it. What one of `programs` is given to run, after `--`,
/// is a part too.
pub fn candidates(line: &str, programs: &[&str]) -> Vec<String> {
    let whole = line.replace("\\\r\n", "").replace("\\\n", "");
    let mut parts = Vec::new();
    for part in whole.split(BETWEEN).map(begin) {
        parts.push(part);
        let is_ours = |program: &&str| part.split([' ', '\t']).next() == Some(*program);
        if programs.iter().any(is_ours) {
            parts.extend(part.split_once(" -- ").map(|(_, given)| begin(given)));
        }
    }
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts
        .filter(|part| *part != whole)
        .map(str::to_owned)
        .collect();
    std::iter::once(whole).chain(parts).collect()
}

/// A part from its command's name on.
fn begin(part: &str) -> &str {
    let mut rest = part.trim_start_matches(BEFORE).trim_end();
    while let Some((word, after)) = rest.split_once([' ', '\t']) {
        if !is_assignment(word) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
        !name.is_empty()
            && name.chars().all(plain)
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The commands of a line in which nothing is left to a shell but to run one after the other:
/// words, plain or in quotes, joined by `&&`, `;` or the end of a line. None if there is anything
/// else in it: a variable, a substitution, a redirection, a pattern, a pipe.
pub fn plain_commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' | '$' | '`' => return None,
                        other => word.push(other),
                    }
                }
            }
            '\\' => match characters.next()? {
                '\n' => {}
                other => word.get_or_insert_default().push(other),
            },
            ' ' | '\t' => commands.last_mut()?.extend(word.take()),
            '&' if characters.peek() == Some(&'&') => {
                characters.next();
                commands.last_mut()?.extend(word.take());
                commands.push(Vec::new());
            }
            ';' | '\n' => {
                commands.last_mut()?.extend(word.take());
                commands.push(Vec::new());
            }
            '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '*' | '?' | '[' | ']'
            | '#' | '~' | '!' | '\r' => return None,
            other => word.get_or_insert_default().push(other),
        }
    }
    commands.last_mut()?.extend(word);
    commands.retain(|command| !command.is_empty());
    Some(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_line_is_seen_as_it_begins() {
        for (line, part) in [
            ("cd a && psql -c 1", "psql -c 1"),
            ("cat x | psql", "psql"),
            ("true; PGHOST=a PGUSER=b psql", "psql"),
            ("bash -c \"cd a && psql\"", "psql\""),
            ("x=$(psql -c 1)", "psql -c 1"),
            ("echo `psql`", "psql"),
            ("if a\nthen\npsql\nfi", "psql"),
            ("nohup x & psql", "psql"),
            ("! psql", "psql"),
            ("handoff gate a -- psql -c 1", "psql -c 1"),
        ] {
            let found = candidates(line, &["handoff"]);
            assert!(found.iter().any(|found| found == part), "{line}: {found:?}");
        }
        assert_eq!(candidates("ps\\\nql -c 1", &[]), ["psql -c 1"]);
        assert_eq!(candidates("ls -l", &[]), ["ls -l"]);
    }

    #[test]
    fn only_a_line_that_leaves_nothing_to_a_shell_has_plain_commands() {
        let plain = plain_commands("handoff gate a -- sh -c 'cd b && psql | cat' && echo \"x y\"");
        let expected = [
            vec![
                "handoff",
                "gate",
                "a",
                "--",
                "sh",
                "-c",
                "cd b && psql | cat",
            ],
            vec!["echo", "x y"],
        ];
        assert_eq!(plain.unwrap(), expected);
        assert_eq!(plain_commands("a ''").unwrap(), [vec!["a", ""]]);
        for line in [
            "a | b", "a > b", "a $X", "a \"$X\"", "a `b`", "a $(b)", "(a)", "a *", "a & b", "a 'b",
            "a \"b", "a \\", "a <(b)", "a ~", "a || b", "{ a; }", "a # b",
        ] {
            assert_eq!(plain_commands(line), None, "{line}");
        }
    }
}
