//! What lives outside the ledger: keys, pins, the view, the clock, randomness.
