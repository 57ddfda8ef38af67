//! What a body must satisfy beyond its shape: the members against each other.

use crate::bodies::{BoundaryReverified, Counts, ProbeReceipt};
use crate::probe_spec::Outcome;
use crate::types::INTEGER_MAX;

/// Most arguments of an action.
pub(crate) const ARGUMENTS_MAX: usize = 256;

impl ProbeReceipt {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        integers(&[self.duration_ms.saturating_add(1)])?;
        for stream in self.outputs.iter().flat_map(|it| [it.stderr, it.stdout]) {
            integers(&[stream.kept, stream.whole].map(|it| it.length.saturating_add(1)))?;
        }
        if self.expectations.len() != self.probe.expect().len() {
            return Err("expectations do not match the probe's");
        }
        let started = self.probe.check().is_none()
            && !matches!(self.outcome, Outcome::NotFound | Outcome::NotExecutable);
        if self.outputs.is_some() != started {
            return Err("outputs stand for a command that was started, and only for one");
        }
        if self.value.is_some() && self.redacted.is_some() {
            return Err("a value beside its redaction");
        }
        if self.probe.redact() && self.value.is_some() {
            return Err("a redacted probe shows its value");
        }
        if self.redacted.is_some() && !self.probe.redact() {
            return Err("a redaction that the probe does not ask for");
        }
        let has_value = self.value.is_some() || self.redacted.is_some();
        if has_value && !self.extracted {
            return Err("a value that was not extracted");
        }
        ascending(self.compared.iter().map(|compared| compared.axis))
    }
}

impl Counts {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let Counts {
            ambient,
            axes,
            claims,
            discards,
            flags,
            promotions,
            receipts,
            retractions,
        } = *self;
        let counts = [
            ambient,
            axes,
            claims,
            discards,
            flags,
            promotions,
            receipts,
            retractions,
        ];
        integers(&counts.map(|count| count.saturating_add(1)))
    }
}

impl BoundaryReverified {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        for entry in &self.entries {
            let found = [
                entry.asserted.is_some(),
                entry.receipt.is_some(),
                entry.unverifiable.is_some(),
            ];
            if found.into_iter().filter(|found| *found).count() != 1 {
                return Err("an entry holds exactly one of asserted, receipt and unverifiable");
            }
        }
        ascending(self.entries.iter().map(|entry| entry.axis))
    }
}

pub(crate) fn integers(values: &[u64]) -> Result<(), &'static str> {
    if values.iter().all(|value| (1..=INTEGER_MAX).contains(value)) {
        Ok(())
    } else {
        Err("an integer is out of its range")
    }
}

pub(crate) fn at_least_one<T>(list: &[T], otherwise: &'static str) -> Result<(), &'static str> {
    if list.is_empty() {
        Err(otherwise)
    } else {
        Ok(())
    }
}

pub(crate) fn ascending<T: PartialOrd>(names: impl Iterator<Item = T>) -> Result<(), &'static str> {
    if names.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err("a list is not in strictly ascending order")
    }
}
