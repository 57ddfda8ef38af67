//! The negative control: whether a check is to be left out.

use std::sync::LazyLock;

/// Whether `HANDOFF_FUZZ_BROKEN` is set.
pub static BROKEN: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("HANDOFF_FUZZ_BROKEN").is_some());
