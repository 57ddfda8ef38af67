//! Ed25519: signing, verification rule by rule, and which public keys are fit to be trusted.
