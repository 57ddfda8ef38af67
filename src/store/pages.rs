//! A look at a ledger's pages, without their rows, for no longer than a writer can wait.

use super::StoreError;
use super::evidence::DAMAGE_MAX;
use super::rows::{fault, quick_check};
use rusqlite::Connection;
use std::time::{Duration, Instant};

/// For how long the pages are looked at while writers wait, who do so for [`super::sqlite::WAIT`].
pub(super) const LOOK_TIME: Duration = Duration::from_secs(2);
/// For how long before something is written.
const FREE_LOOK_TIME: Duration = Duration::from_millis(250);
/// How many instructions SQLite runs between two looks at the clock.
const INSTRUCTIONS_PER_LOOK: i32 = 1_000;

/// What a look at a ledger's pages brought to light.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pages {
    /// Nothing is wrong with them.
    Whole,
    /// What is wrong with them, at most [`DAMAGE_MAX`] lines.
    Damaged(Vec<String>),
    /// It would have taken longer than a writer waits.
    NotLookedAt,
}

/// Looks at the pages for at most so long.
pub(super) fn look(
    connection: &mut Connection,
    wait: Duration,
    time: Duration,
) -> Result<Pages, StoreError> {
    let fault = |error| fault(error, wait);
    let deadline = Instant::now() + time;
    let passed = move || Instant::now() > deadline;
    connection
        .progress_handler(INSTRUCTIONS_PER_LOOK, Some(passed))
        .map_err(fault)?;
    let found = quick_check(connection, DAMAGE_MAX);
    connection
        .progress_handler(0, None::<fn() -> bool>)
        .map_err(fault)?;
    match found {
        Ok(lines) if lines.is_empty() => Ok(Pages::Whole),
        Ok(lines) => Ok(Pages::Damaged(lines)),
        Err(_) if Instant::now() > deadline => Ok(Pages::NotLookedAt),
        Err(error) => {
            let error = fault(error);
            if let StoreError::Storage { detail } = error {
                return Ok(Pages::Damaged(vec![detail]));
            }
            Err(error)
        }
    }
}

/// Refuses to write while a page that is said to be free may hold events: SQLite would write over
/// it. Free pages there are only after an erasure, until they are used.
pub(super) fn check_free_pages(
    connection: &mut Connection,
    wait: Duration,
) -> Result<(), StoreError> {
    let free = connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    if free.map_err(|error| fault(error, wait))? == 0 {
        return Ok(());
    }
    match look(connection, wait, FREE_LOOK_TIME)? {
        Pages::Whole | Pages::NotLookedAt => Ok(()),
        Pages::Damaged(lines) => Err(StoreError::Storage {
            detail: lines.join("; "),
        }),
    }
}
