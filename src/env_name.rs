//! Names of environment variables.

use crate::types::{NAME_BYTES_MAX, ParseError, text_serde};
use std::fmt;
use std::str::FromStr;

/// Name of an environment variable: `[A-Za-z_][A-Za-z0-9_]{0,63}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvName(String);

impl EnvName {
    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for EnvName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        if text.len() <= NAME_BYTES_MAX
            && text.bytes().next().is_some_and(letter)
            && text
                .bytes()
                .all(|byte| letter(byte) || byte.is_ascii_digit())
        {
            Ok(EnvName(text.to_owned()))
        } else {
            Err(ParseError::new(
                "the name of a variable: 1 to 64 of A-Z a-z 0-9 _, not starting with a digit",
                text,
            ))
        }
    }
}

text_serde!(EnvName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_grammar() {
        for good in ["A", "_", "a1_B", &"A".repeat(64)] {
            assert!(good.parse::<EnvName>().is_ok(), "{good}");
        }
        for bad in ["", "1A", "A-B", "A=B", "A B", "É", &"A".repeat(65)] {
            assert!(bad.parse::<EnvName>().is_err(), "{bad}");
        }
    }
}
