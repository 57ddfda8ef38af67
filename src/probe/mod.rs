//! Running probes.
