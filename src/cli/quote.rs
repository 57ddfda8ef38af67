//! Showing text that somebody else wrote as data: nothing in it can move a cursor, hide, reverse
//! or pass for the program's own words.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// Letters and marks that are drawn as nothing, so that text can hide in them. The standard
/// library counts them as printable: combining joiners, Hangul and Khmer fillers, Mongolian and
/// other variation selectors, the blank Braille pattern (Unicode 16, Default_Ignorable_Code_Point).
const INVISIBLE: [(char, char); 9] = [
    ('\u{34f}', '\u{34f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Words that a POSIX shell, or a common one, takes for grammar at the start of a command.
const RESERVED: [&str; 19] = [
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "fi",
    "for",
    "function",
    "if",
    "in",
    "namespace",
    "repeat",
    "select",
    "then",
    "time",
    "until",
    "while",
];

/// `text` in double quotes, with `\"`, `\\`, `\n`, `\r`, `\t`, `\0` and `\u{…}` for all that is
/// not plainly visible: controls, escape sequences, bidi and zero-width characters, separators
/// other than the space, tags, unassigned and private code points.
pub fn quoted(text: &str) -> String {
    quoted_within(text, usize::MAX)
}

/// [`quoted`], cut so that at most `characters_max` characters stand between the quotes; a cut
/// text is followed by `…`, outside the quotes, where the text itself can put none.
pub fn quoted_within(text: &str, characters_max: usize) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    let mut before = Before::Edge;
    let mut length = 0usize;
    for character in text.chars() {
        let mut piece = String::new();
        before = match character {
            '"' | '\\' => {
                piece.extend(['\\', character]);
                Before::Character
            }
            _ => push(&mut piece, character, before),
        };
        length = length.saturating_add(piece.chars().count());
        if length > characters_max {
            shown.push_str("\"…");
            return shown;
        }
        shown.push_str(&piece);
    }
    shown.push('"');
    shown
}

/// A line of the program's own, in which whatever a caller forgot to quote is made visible, line
/// feeds too: it stays one line. Tabs stay.
pub fn visible(line: &str) -> Cow<'_, str> {
    let plain = |c: char| matches!(c, '\t' | ' '..='~');
    if line.chars().all(plain) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len());
    let mut before = Before::Edge;
    for character in line.chars() {
        if plain(character) {
            shown.push(character);
            before = Before::Character;
        } else {
            before = push(&mut shown, character, before);
        }
    }
    Cow::Owned(shown)
}

/// `argv` as one line that a shell reads back as exactly these words, and that is safe to show.
///
/// Words are single-quoted where they must be; `$'…'` (POSIX.1-2024) is used only for a word with
/// characters that are not plainly visible, whose bytes it gives in octal.
pub fn shell_quoted<S: AsRef<str>>(argv: &[S]) -> String {
    let mut line = String::new();
    for (index, word) in argv.iter().map(AsRef::as_ref).enumerate() {
        if index > 0 {
            line.push(' ');
        }
        let grammar = index == 0 && (RESERVED.contains(&word) || word.contains('='));
        shell_word(&mut line, word, grammar);
    }
    line
}

/// One line of JSON in printable ASCII: everything else is `\uXXXX`, so that a terminal that is
/// shown it obeys none of it.
pub fn json_line(value: &Value) -> String {
    let text = value.to_string();
    let mut line = String::with_capacity(text.len());
    let mut units = [0; 2];
    for character in text.chars() {
        if matches!(character, ' '..='~') {
            line.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut units) {
            // Writing to a String cannot fail.
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    line
}

/// What stands before a character: a combining mark is drawn over it, so a mark at an edge would
/// be drawn over a quote of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Edge,
    Character,
}

/// Adds `character` as it is if it is plainly visible, else escaped; quotes are the caller's.
fn push(shown: &mut String, character: char, before: Before) -> Before {
    if is_visible(character, before) {
        shown.push(character);
        Before::Character
    } else if matches!(character, '\n' | '\r' | '\t' | '\0') {
        shown.extend(character.escape_debug());
        Before::Edge
    } else {
        shown.extend(character.escape_unicode());
        Before::Edge
    }
}

fn is_visible(character: char, before: Before) -> bool {
    if matches!(character, ' '..='~') {
        return true;
    }
    if INVISIBLE
        .iter()
        .any(|&(first, last)| (first..=last).contains(&character))
    {
        return false;
    }
    // The library's Debug form escapes what it does not count as printable (controls, format
    // characters, separators, unassigned, private), and a combining mark that has no base.
    match before {
        Before::Edge => character.escape_debug().eq([character]),
        Before::Character => {
            let on_base: String = ['x', character].iter().collect();
            on_base.escape_debug().eq(on_base.chars())
        }
    }
}

fn is_shell_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    // `=word` is a path look-up to zsh.
    !word.is_empty() && !word.starts_with('=') && word.bytes().all(plain)
}

fn shell_word(line: &mut String, word: &str, grammar: bool) {
    if is_shell_plain(word) && !grammar {
        line.push_str(word);
    } else if is_all_visible(word) {
        line.push('\'');
        line.push_str(&word.replace('\'', "'\\''"));
        line.push('\'');
    } else {
        shell_escaped(line, word);
    }
}

fn shell_escaped(line: &mut String, word: &str) {
    line.push_str("$'");
    for byte in word.bytes() {
        match byte {
            b'\n' => line.push_str("\\n"),
            b'\t' => line.push_str("\\t"),
            b'\'' => line.push_str("\\'"),
            b'\\' => line.push_str("\\\\"),
            b' '..=b'~' => line.push(char::from(byte)),
            _ => {
                // Three octal digits end by themselves; hexadecimal ones go on in some shells.
                // Writing to a String cannot fail.
                let _ = write!(line, "\\{byte:03o}");
            }
        }
    }
    line.push('\'');
}

fn is_all_visible(word: &str) -> bool {
    let mut before = Before::Edge;
    word.chars()
        .all(|character| is_visible(character, std::mem::replace(&mut before, Before::Character)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hostile_text_is_shown_as_data() {
        for (text, shown) in [
            (
                "plain, can't \u{e9} \u{4e2d}",
                "\"plain, can't \u{e9} \u{4e2d}\"",
            ),
            ("", r#""""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("a\nb\rc\td\0", r#""a\nb\rc\td\0""#),
            ("\x1b[2J\x07\x7f", r#""\u{1b}[2J\u{7}\u{7f}""#),
            ("\u{9b}31m\u{85}", r#""\u{9b}31m\u{85}""#),
            (
                "\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}",
                r#""\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}""#,
            ),
            (
                "\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}",
                r#""\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}""#,
            ),
            (
                "\u{2028}\u{2029}\u{a0}\u{3000}",
                r#""\u{2028}\u{2029}\u{a0}\u{3000}""#,
            ),
            (
                "\u{e0041}\u{e007f}\u{e0100}\u{fe0f}",
                r#""\u{e0041}\u{e007f}\u{e0100}\u{fe0f}""#,
            ),
            (
                "\u{e000}\u{378}\u{10ffff}\u{fdd0}",
                r#""\u{e000}\u{378}\u{10ffff}\u{fdd0}""#,
            ),
            ("\u{3164}\u{115f}\u{34f}", r#""\u{3164}\u{115f}\u{34f}""#),
            ("\u{301}e\u{301}", "\"\\u{301}e\u{301}\""),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }

    #[test]
    fn a_cut_is_marked_where_the_text_cannot_reach() {
        assert_eq!(quoted_within("abc", 3), "\"abc\"");
        assert_eq!(quoted_within("abcd", 3), "\"abc\"…");
        assert_eq!(quoted_within("ab\x1b", 7), "\"ab\"…");
        assert_eq!(quoted_within("ab\x1b", 8), "\"ab\\u{1b}\"");
    }

    #[test]
    fn an_id_that_is_none_is_quoted() {}

    #[test]
    fn a_line_keeps_its_own_layout_only() {
        assert_eq!(visible("a\tb\nc \u{e9}"), "a\tb\\nc \u{e9}");
        assert_eq!(
            visible("\x1b]0;x\x07\u{202e}\r"),
            r"\u{1b}]0;x\u{7}\u{202e}\r"
        );
    }

    #[test]
    fn json_is_printable_ascii_and_reads_back() {
        let value = json!({"a": "\x1b\u{7f}\u{9b}\u{2028}\u{202e}\u{1f600}\u{e9}\"\\"});
        let line = json_line(&value);
        assert!(line.chars().all(|c| matches!(c, ' '..='~')), "{line}");
        assert!(
            line.contains(r"\u001b\u007f\u009b\u2028\u202e\ud83d\ude00\u00e9"),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn a_shell_word_is_quoted_only_as_far_as_needed() {
        for (word, shown) in [
            ("python3", "python3"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(x) `y` !z *", "'$(x) `y` !z *'"),
            ("~", "'~'"),
            ("=ls", "'=ls'"),
            ("\u{e9}", "'\u{e9}'"),
            ("a\n'\\\x1b7", r"$'a\n\'\\\0337'"),
            ("\u{202e}", r"$'\342\200\256'"),
        ] {
            assert_eq!(shell_quoted(&[word]), shown);
        }
        assert_eq!(shell_quoted(&["A=b", "A=b", "--a=b"]), "'A=b' A=b --a=b");
        assert_eq!(shell_quoted(&["if", "if"]), "'if' if");
    }
}
