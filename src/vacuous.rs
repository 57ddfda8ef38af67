//! Commands that say nothing: the closed list of constant commands.

use crate::probe_spec::Probe;

/// Whether the probe's command is constant.
pub fn is_constant(probe: &Probe) -> bool {
    match probe.argv() {
        Some([script]) if probe.shell() => script.is_empty(),
        Some(_) | None => false,
    }
}
