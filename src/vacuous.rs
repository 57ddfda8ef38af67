//! Commands that say nothing: the closed list of constant commands.
//!
//! This page is the text of the format; it can be implemented from here alone. All comparisons are
//! of bytes; "base name" is what follows the last `/` of a word.
//!
//! **A command** is a list of words. A probe's argv is one. It is constant by the first of these
//! rules that applies, `name` being the base name of the first word:
//!
//! 1. There are no words: constant.
//! 2. `name` with A-Z lowered is `todo`, `tbd`, `fixme`, `xxx` or `...`, or the first word begins
//!    with `#`: constant.
//! 3. `name` is `:`, `true`, `false`, `echo`, `printf`, `exit`, `return`, `yes`, `sleep`, `seq`,
//!    `expr`, `basename` or `dirname`: constant.
//! 4. `name` is `cat`: constant if every other word is `-` or `/dev/null`.
//! 5. `name` is `test`, `[` or `[[`: constant if every other word that begins with `-` and is
//!    longer is one of `-n -z -eq -ne -lt -le -gt -ge`.
//! 6. `name` is `set`: constant if there is another word.
//! 7. `name` is `env`, `nice`, `nohup`, `command`, `builtin`, `exec`, `eval`, `time`, `timeout`,
//!    `setsid`, `stdbuf` or `busybox`: drop it and every word after it that begins with `-`, is an
//!    assignment, or is a duration (digits and dots with at most one of `s m h d` behind), up to
//!    the first that is none of these. Constant if words are left and they are a constant command.
//! 8. `name` is `sh`, `bash`, `dash`, `zsh`, `ash` or `ksh`: constant if no other word is there.
//!    Else, the flag is the first other word that is `-` and then only ASCII letters, one of them
//!    `c`; each word before the flag must begin with `-` or `+` or follow a word that does so and
//!    ends in `o`; the word after the flag must be there: constant if that word is a constant
//!    script.
//! 9. Any other: not constant.
//!
//! An assignment is `[A-Za-z_][A-Za-z0-9_]*=` and anything.
//!
//! **A script** (that of `--shell`, or rule 8) is not constant if it holds one of ``$ ` < > * ?
//! ~``. Else delete every `'`, `"` and `\`, and split it at each of `; & | ( ) { }`, line feed and
//! carriage return. It is constant if each part is a constant command once it is split into words
//! at spaces and tabs and the leading words that are assignments or one of `! if then elif else fi
//! while until do done` are dropped.

use crate::probe_spec::Probe;

const PLACEHOLDERS: [&str; 5] = ["todo", "tbd", "fixme", "xxx", "..."];
const CONSTANTS: [&str; 13] = [
    ":", "true", "false", "echo", "printf", "exit", "return", "yes", "sleep", "seq", "expr",
    "basename", "dirname",
];
const LITERAL_TESTS: [&str; 8] = ["-n", "-z", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
const WRAPPERS: [&str; 12] = [
    "env", "nice", "nohup", "command", "builtin", "exec", "eval", "time", "timeout", "setsid",
    "stdbuf", "busybox",
];
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ash", "ksh"];
const RESERVED: [&str; 10] = [
    "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done",
];

/// Whether the probe's command is constant, and so never evidence; a native check is not.
pub fn is_constant(probe: &Probe) -> bool {
    match probe.argv() {
        Some([script]) if probe.shell() => is_constant_script(script),
        Some(argv) => {
            let words: Vec<&str> = argv.iter().map(String::as_str).collect();
            is_constant_command(&words)
        }
        None => false,
    }
}

fn is_constant_command(words: &[&str]) -> bool {
    let Some((first, others)) = words.split_first() else {
        return true;
    };
    let name = first.rsplit('/').next().unwrap_or(first);
    if PLACEHOLDERS.contains(&name.to_ascii_lowercase().as_str())
        || first.starts_with('#')
        || CONSTANTS.contains(&name)
    {
        return true;
    }
    match name {
        "cat" => others.iter().all(|word| ["-", "/dev/null"].contains(word)),
        "test" | "[" | "[[" => others
            .iter()
            .all(|word| !is_option(word) || LITERAL_TESTS.contains(word)),
        "set" => !others.is_empty(),
        _ if WRAPPERS.contains(&name) => is_constant_wrapped(others),
        _ if SHELLS.contains(&name) => is_constant_shell(others),
        _ => false,
    }
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

fn is_constant_wrapped(words: &[&str]) -> bool {
    let of_wrapper =
        |word: &&&str| word.starts_with('-') || is_assignment(word) || is_duration(word);
    let own = words.iter().take_while(of_wrapper).count();
    match words.get(own..) {
        None | Some([]) => false,
        Some(command) => is_constant_command(command),
    }
}

fn is_assignment(word: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    word.split_once('=').is_some_and(|(name, _)| {
        name.bytes().next().is_some_and(letter)
            && name
                .bytes()
                .all(|byte| letter(byte) || byte.is_ascii_digit())
    })
}

fn is_duration(word: &str) -> bool {
    let digits = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(word);
    !digits.is_empty()
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whether a shell with these words after its name runs a constant script.
fn is_constant_shell(words: &[&str]) -> bool {
    if words.is_empty() {
        return true;
    }
    let is_flag = |word: &&str| {
        word.strip_prefix('-').is_some_and(|letters| {
            letters.contains('c') && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
    };
    let Some(position) = words.iter().position(is_flag) else {
        return false;
    };
    let mut takes_operand = false;
    for word in words.iter().take(position) {
        let is_switch = word.starts_with(['-', '+']);
        if !is_switch && !takes_operand {
            return false;
        }
        takes_operand = is_switch && word.ends_with('o');
    }
    words
        .get(position + 1)
        .is_some_and(|script| is_constant_script(script))
}

fn is_constant_script(script: &str) -> bool {
    if script.contains(['$', '`', '<', '>', '*', '?', '~']) {
        return false;
    }
    let bare = script.replace(['\'', '"', '\\'], "");
    bare.split([';', '&', '|', '(', ')', '{', '}', '\n', '\r'])
        .all(|part| {
            let words: Vec<&str> = part
                .split([' ', '\t'])
                .filter(|word| !word.is_empty())
                .skip_while(|word| is_assignment(word) || RESERVED.contains(word))
                .collect();
            is_constant_command(&words)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe_spec::Definition;

    fn constant(argv: &[&str]) -> bool {
        let argv = argv.iter().map(|word| (*word).to_owned());
        is_constant(&Probe::new(Definition::command(argv)).unwrap())
    }

    fn constant_script(text: &str) -> bool {
        is_constant(&Probe::new(Definition::script(text)).unwrap())
    }

    #[test]
    fn constant_commands() {
        for argv in [
            &["true"][..],
            &["/bin/true"],
            &["false"],
            &["TODO"],
            &["Tbd", "later"],
            &["..."],
            &["echo", "ok"],
            &["printf", "%s\n", "Python 3.12"],
            &["env", "true"],
            &["env", "-i", "A=1", "/usr/bin/env", "true"],
            &["timeout", "5s", "true"],
            &["nice", "-n", "5", "echo", "ok"],
            &["timeout", "-k", "1", "0.5", "sh", "-c", "exit 0"],
            &["sh", "-c", "exit 0"],
            &["bash", "-c", "echo \"ok\""],
            &["bash", "-euo", "pipefail", "-c", "set -e; true && echo ok"],
            &["/bin/sh", "-ec", "sh -c 'exit 0'"],
            &["sh"],
            &["cat"],
            &["cat", "/dev/null"],
            &["test", "1", "-eq", "1"],
            &["[", "-n", "x", "]"],
            &["busybox", "true"],
        ] {
            assert!(constant(argv), "{argv:?}");
        }
    }

    #[test]
    fn commands_that_depend_on_the_environment() {
        for argv in [
            &["python3", "--version"][..],
            &["cat", "VERSION"],
            &["test", "-f", "x"],
            &["[", "-d", "src", "]"],
            &["env"],
            &["env", "-u", "X"],
            &["env", "python3", "--version"],
            &["timeout", "5", "curl", "http://localhost/"],
            &["sh", "-c", "test -f x"],
            &["sh", "-c"],
            &["sh", "check.sh"],
            &["bash", "run.sh", "-c", "true"],
            &["bash", "--version"],
            &["bash", "--rcfile", "x", "-c", "true"],
            &["sh", "-c", "echo $HOME"],
            &["sh", "-c", "echo `uname`"],
            &["sh", "-c", "echo *.txt"],
            &["sh", "-c", "true && uname"],
            &["sh", "-c", "cat <VERSION"],
            &["set"],
            &["truefoo"],
            &["True"],
        ] {
            assert!(!constant(argv), "{argv:?}");
        }
    }

    #[test]
    fn constant_scripts() {
        for text in [
            "true",
            " ",
            "# check the database",
            "if true; then echo ok; fi",
            "! false",
            "A=1 B=2 true",
            "(true) | cat; { exit 0; }",
            "true\necho ok\n",
            "'echo' \"ok\"",
        ] {
            assert!(constant_script(text), "{text:?}");
        }
        for text in [
            "make test",
            "true; make",
            "grep -q x y && echo ok",
            "pwd",
            "set",
        ] {
            assert!(!constant_script(text), "{text:?}");
        }
    }
}
