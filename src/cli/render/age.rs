//! How old what a claim rests on is.

use crate::judge::Judge;
use crate::state::State;
use crate::types::{ClaimId, Seq, Time};
use std::collections::BTreeSet;

/// The oldest of the observations that a claim rests on now, with its receipt: of the axes that its
/// support needs, and those of the claims that it derives from. `None` if it needs no axis.
pub fn oldest_observation(state: &State, judge: &Judge<'_>, id: &ClaimId) -> Option<(Seq, Time)> {
    let admissible = judge.admissible();
    let (mut left, mut seen) = (vec![id.clone()], BTreeSet::new());
    let mut oldest: Option<(Seq, Time)> = None;
    while let Some(claim) = left.pop() {
        if !seen.insert(claim.clone()) {
            continue;
        }
        let support = judge.claim(&claim, &admissible).support;
        let Some(support) = support.and_then(|seq| state.supports().get(&seq)) else {
            continue;
        };
        left.extend(support.body.from.iter().cloned());
        let receipts = (support.body.needs.iter()).filter_map(|axis| judge.axis(*axis).receipt);
        for receipt in receipts.filter_map(|receipt| state.receipts().get(&receipt)) {
            if oldest.is_none_or(|(_, time)| receipt.time < time) {
                oldest = Some((receipt.seq, receipt.time));
            }
        }
    }
    oldest
}

/// How long before `now` a time was, in its largest whole unit.
pub fn age_text(now: Time, then: Time) -> String {
    let seconds = now.ms().saturating_sub(then.ms()).max(0) / 1000;
    match seconds {
        ..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600.. => format!("{} h ago", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_whole_unit() {
        let now = Time::from_ms(100_000_000);
        for (ms, told) in [
            (-5, "0 s ago"),
            (999, "0 s ago"),
            (59_999, "59 s ago"),
            (60_000, "1 min ago"),
            (3_599_999, "59 min ago"),
            (3_600_000, "1 h ago"),
            (90_000_000, "25 h ago"),
        ] {
            assert_eq!(age_text(now, Time::from_ms(100_000_000 - ms)), told);
        }
    }
}
