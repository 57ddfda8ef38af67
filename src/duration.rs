//! Durations as people type them, on the command line and in the file of guards.

use crate::types::ParseError;
use std::time::Duration;

/// Most characters of a refused text that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// Longest duration that is taken: 365 days.
pub const DURATION_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The duration that `text` spells: a whole number above 0 and its unit, `ms`, `s`, `m`, `h` or
/// `d`; at most [`DURATION_MAX`].
///
/// # Errors
/// Any other text, be it 0, signed, with a fraction, a leading zero or no unit.
pub fn duration(text: &str) -> Result<Duration, ParseError> {
    let wanted = "a duration such as 250ms, 10s, 5m, 12h or 7d, at least 1ms and at most 365d";
    let refused = || {
        ParseError::new(
            wanted,
            text.chars().take(SHOWN_CHARACTERS_MAX).collect::<String>(),
        )
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(refused)?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(refused()),
    };
    if number.starts_with('0') {
        return Err(refused());
    }
    number
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(unit_ms))
        .map(Duration::from_millis)
        .filter(|duration| *duration <= DURATION_MAX)
        .ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_and_bounds() {
        for (text, ms) in [
            ("1ms", 1),
            ("250ms", 250),
            ("10s", 10_000),
            ("5m", 300_000),
            ("12h", 43_200_000),
            ("7d", 604_800_000),
            ("365d", 31_536_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "0s",
            "0",
            "10",
            "-1s",
            "+1s",
            "1.5s",
            "01s",
            "1 s",
            "1S",
            "1w",
            "s",
            "366d",
            "1e3s",
            "99999999999999999999s",
            "18446744073709551615d",
            "١s",
            "1s ",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
