//! Every SHA-256 of the product, one named function per purpose.

use crate::types::{Digest, Leaf};
use sha2::{Digest as _, Sha256};

/// Length of the salt of every salted commitment, in bytes.
pub const SALT_BYTES: usize = 16;

/// leaf = SHA-256(0x00 || signature || event bytes): the RFC 6962 section 2.1 leaf hash of the
/// record.
pub fn leaf(record: &[u8]) -> Leaf {
    Leaf(digest(&[&[0x00], record]))
}

/// node = SHA-256(0x01 || left || right): the inner hash of the tree, RFC 6962 section 2.1.
pub fn node(left: &Digest, right: &Digest) -> Digest {
    Digest(digest(&[&[0x01], &left.0, &right.0]))
}

/// Digest of a probe's definition: SHA-256("handoff-ledger/probe/v1" || 0x0a || canonical JSON).
pub fn probe(canonical: &[u8]) -> Digest {
    Digest(digest(&[b"handoff-ledger/probe/v1\n", canonical]))
}

/// Digest of a boundary record: SHA-256("handoff-ledger/boundary/v1" || 0x0a || canonical JSON).
pub fn boundary(canonical: &[u8]) -> Digest {
    Digest(digest(&[b"handoff-ledger/boundary/v1\n", canonical]))
}

/// Digest of what a scope is made of: SHA-256("handoff-ledger/scope/v1" || 0x0a || canonical JSON).
pub fn scope(canonical: &[u8]) -> Digest {
    Digest(digest(&[b"handoff-ledger/scope/v1\n", canonical]))
}

/// Salted commitment to bytes: SHA-256(salt || bytes).
pub fn commitment(salt: &[u8; SALT_BYTES], bytes: &[u8]) -> Digest {
    Digest(digest(&[salt, bytes]))
}

/// Commitment to a salt itself: SHA-256(salt), by which a kept salt is recognised.
pub fn salt(salt: &[u8; SALT_BYTES]) -> Digest {
    Digest(digest(&[salt]))
}

/// Digest of a file's bytes, of an output asked for as `sha256`, and of an evidence file.
pub fn bytes(bytes: &[u8]) -> Digest {
    Digest(digest(&[bytes]))
}

/// Id of a key in a signed note (C2SP signed-note): the first 4 bytes of
/// SHA-256(name || 0x0a || type || public key).
pub fn note_key_id(name: &str, signature_type: u8, public_key: &[u8; 32]) -> [u8; 4] {
    let whole = digest(&[name.as_bytes(), b"\n", &[signature_type], public_key]);
    let [a, b, c, d, ..] = whole;
    [a, b, c, d]
}

/// Key of a subject in the index: the first 16 bytes of SHA-256(text).
pub fn subject(text: &str) -> [u8; 16] {
    let whole = digest(&[text.as_bytes()]);
    let mut key = [0; 16];
    for (to, from) in key.iter_mut().zip(whole) {
        *to = from;
    }
    key
}

/// A digest of bytes that arrive in pieces.
#[derive(Clone)]
pub struct Running(Sha256);

impl Running {
    /// A digest of what will be [added](Running::add).
    pub fn new() -> Self {
        Running(Sha256::new())
    }

    /// A running [`commitment`].
    pub fn committed(salt: &[u8; SALT_BYTES]) -> Self {
        let mut running = Self::new();
        running.add(salt);
        running
    }

    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl Default for Running {
    fn default() -> Self {
        Self::new()
    }
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}
