//! What a probe is: its definition and digest, and what is seen when it runs.
