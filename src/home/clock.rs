//! The clock and the source of randomness. Whoever needs a fixed time or fixed bytes takes them as
//! arguments; nothing here can be turned off from outside.

use crate::types::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// The system's source of random bytes failed.
#[derive(Debug, thiserror::Error)]
#[error("expected {wanted} random bytes from the system, found: {source}")]
pub struct RandomError {
    /// How many bytes were asked for.
    pub wanted: usize,
    /// What the system said.
    pub source: getrandom::Error,
}

/// This machine's time now, to the millisecond, cut off. It may go back.
pub fn now() -> Time {
    let whole = |ms: u128| i64::try_from(ms).unwrap_or(i64::MAX);
    Time::from_ms(match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => whole(after.as_millis()),
        Err(before) => -whole(before.duration().as_millis()),
    })
}

/// The first moment at which this program can have run: a clock before it was never set.
const EARLIEST: &str = "2020-01-01T00:00:00.000Z";

/// Whether a clock that says `now` was never set.
pub fn was_never_set(now: Time) -> bool {
    EARLIEST.parse().is_ok_and(|earliest: Time| now < earliest)
}

/// `N` bytes fit for keys, nonces and salts.
///
/// # Errors
///
/// When the system has no source of randomness, or it is not ready.
pub fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(source) => Err(RandomError { wanted: N, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_tells_a_time_that_prints() {
        let time = now();
        assert!(time > "2024-01-01T00:00:00.000Z".parse().unwrap());
        assert_eq!(time.to_string().parse(), Ok(time));
    }

    #[test]
    fn a_clock_before_2020_was_never_set() {
        assert!(was_never_set(Time::from_ms(-1)) && was_never_set(Time::from_ms(0)));
        assert!(was_never_set("2019-12-31T23:59:59.999Z".parse().unwrap()));
        assert!(!was_never_set(EARLIEST.parse().unwrap()) && !was_never_set(now()));
    }

    #[test]
    fn random_bytes_differ_each_time() {
        assert_ne!(random::<32>().unwrap(), random::<32>().unwrap());
    }
}
