//! `ledger-format.md` against the program: it names all there is, and its example runs.

/// The names of the faults, in the order in which they are checked.
pub(crate) fn faults() -> Vec<&'static str> {
    let all = crate::one_of_each_fault();
    all.iter()
        .map(handoff_ledger::chain::FaultKind::name)
        .collect()
}
