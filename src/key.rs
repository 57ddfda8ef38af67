//! Ed25519: signing, verification rule by rule, and which public keys are fit to be trusted.
//!
//! Verifiers of Ed25519 in the field differ on edge cases. Here there is one accept set. Write
//! `L` for the order of the base point `B`, `p` for 2^255 - 19, and a signature as `R || S`.
//! A signature over a message `M` under the key encoding `A` is valid if and only if:
//!
//! 1. `A` is canonical: `y < p`, and the sign bit of `x = 0` is clear (RFC 8032 section 5.1.3,
//!    which many implementations do not enforce).
//! 2. `A` decodes to a point of the curve.
//! 3. That point is not of small order: `[8]A` is not the identity.
//! 4. That point has no torsion component: `[L]A` is the identity.
//! 5. `S < L` (RFC 8032 section 5.1.7).
//! 6. `R` is canonical in the sense of rule 1, and decodes to a point of the curve.
//! 7. That point is not of small order.
//! 8. `[S]B = R + [k]A` with `k = SHA-512(R || A || M) mod L`, over the encodings as given: the
//!    cofactorless equation.
//!
//! [`check`] holds 1 to 4, once per key, and is the only maker of a [`VerifyingKey`]. Rule 5 is
//! tested here on the bytes, because a Cargo feature of the curve library can relax it. The
//! library's strict verification holds 2, 3, 7 and 8, and 6 because it compares the bytes of `R`
//! with the canonical encoding of `[S]B - [k]A`. From 4, 6 and 8 it follows that `R` has no
//! torsion component, so the equation with the cofactor would decide alike.

use crate::types::{LedgerId, PublicKey};
use curve25519_dalek::scalar::Scalar;
use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::spki::der::zeroize::Zeroize as _;
use std::fmt;

/// The payload type of every signature in a ledger (DSSE v1).
pub const PAYLOAD_TYPE: &str = "application/vnd.handoff-ledger.event.v1+json";

/// How the text of every checkpoint begins: its origin line is this and the ledger's id.
pub const ORIGIN_PREFIX: &str = "handoff-ledger/";
/// How every message of a cosignature begins (C2SP tlog-cosignature v1).
const COSIGNATURE_HEADER: &str = "cosignature/v1\n";

/// What an Ed25519 signature over an event covers, the DSSE v1 pre-authentication encoding:
/// `"DSSEv1" SP LEN(type) SP type SP LEN(body) SP body`, where `SP` is one space and `LEN` the
/// number of bytes in decimal without leading zeros.
pub fn pre_authentication_encoding(payload_type: &str, body: &[u8]) -> Vec<u8> {
    let mut encoding = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        body.len()
    )
    .into_bytes();
    encoding.extend_from_slice(body);
    encoding
}

/// Why the bytes of a public key are not fit to verify with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// The encoding has `y >= p`, or the sign bit of `x = 0` set.
    #[error("expected a canonical encoding of a public key, found another encoding of its point")]
    NotCanonical,
    /// No point of the curve has this encoding.
    #[error("expected the encoding of a point of the curve, found one of no point")]
    NotAPoint,
    /// The point's order divides 8, so that signatures can be valid for any message.
    #[error("expected a key of order L, found a point of small order")]
    SmallOrder,
    /// The point is the sum of one of order L and one of small order.
    #[error("expected a key of order L, found one with a torsion component")]
    Torsion,
}

impl KeyFault {
    /// The stable name of this fault.
    pub fn code(self) -> &'static str {
        match self {
            KeyFault::NotCanonical => "key_not_canonical",
            KeyFault::NotAPoint => "key_not_a_point",
            KeyFault::SmallOrder => "key_small_order",
            KeyFault::Torsion => "key_torsion",
        }
    }
}

/// Judges a public key by rules 1 to 4.
///
/// # Errors
///
/// The first that applies: no point, not canonical, of small order, with a torsion component.
pub fn check(key: &PublicKey) -> Result<VerifyingKey, KeyFault> {
    let decoded =
        ed25519_dalek::VerifyingKey::from_bytes(&key.0).map_err(|_| KeyFault::NotAPoint)?;
    let point = decoded.to_edwards();
    if point.compress().to_bytes() != key.0 {
        Err(KeyFault::NotCanonical)
    } else if point.is_small_order() {
        Err(KeyFault::SmallOrder)
    } else if !point.is_torsion_free() {
        Err(KeyFault::Torsion)
    } else {
        Ok(VerifyingKey(decoded))
    }
}

/// A public key that [`check`] found fit. Whether it has authority is a rule of the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl VerifyingKey {
    /// The key's encoding.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.to_bytes())
    }

    /// Whether `signature` over exactly `message` is valid by rules 5 to 8.
    ///
    /// An event's signature is not over its bytes but over their encoding: [`verify_event`].
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        let reduced = Scalar::from_canonical_bytes(*signature.s_bytes()).is_some();
        bool::from(reduced) && self.0.verify_strict(message, &signature).is_ok()
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({})", self.public())
    }
}

/// Whether `signature` is the valid signature of `key` over an event's bytes.
pub fn verify_event(key: &VerifyingKey, event_bytes: &[u8], signature: &[u8; 64]) -> bool {
    key.verify(
        &pre_authentication_encoding(PAYLOAD_TYPE, event_bytes),
        signature,
    )
}

/// What a cosignature covers (C2SP tlog-cosignature, "Ed25519 signed message"): two lines, with the
/// time in seconds since 1970, and the text of the checkpoint.
pub fn cosignature_message(time: u64, checkpoint_text: &str) -> Vec<u8> {
    format!("{COSIGNATURE_HEADER}time {time}\n{checkpoint_text}").into_bytes()
}

/// The text of a ledger's checkpoint (C2SP tlog-checkpoint), as it is signed. It begins with its
/// origin, and so is never the message of an event or of a cosignature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointText(String);

impl CheckpointText {
    /// The three lines of a ledger, the number of its events and the root over their leaves in
    /// base64.
    pub fn new(ledger: &LedgerId, size: u64, root: &str) -> CheckpointText {
        CheckpointText(format!("{ORIGIN_PREFIX}{ledger}\n{size}\n{root}\n"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A secret key. It signs three things, whose messages begin differently (`DSSEv1 `,
/// `handoff-ledger/`, `cosignature/v1`), so that no signature of one is ever one of another.
///
/// Its memory is overwritten when it is dropped, and it never prints itself.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of a 32-byte seed (the private key of RFC 8032 section 5.1.5). The public half is
    /// always computed from it, never taken from elsewhere.
    pub fn from_seed(mut seed: [u8; 32]) -> Self {
        let key = SigningKey(ed25519_dalek::SigningKey::from_bytes(&seed));
        seed.zeroize();
        key
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// The signature over an event's bytes, by way of their pre-authentication encoding.
    /// Deterministic (RFC 8032 section 5.1.6).
    pub fn sign(&self, event_bytes: &[u8]) -> [u8; 64] {
        self.0
            .sign(&pre_authentication_encoding(PAYLOAD_TYPE, event_bytes))
            .to_bytes()
    }

    /// The signature over a checkpoint's text, as a note is signed: over the text as it is.
    pub fn sign_checkpoint(&self, text: &CheckpointText) -> [u8; 64] {
        self.0.sign(text.0.as_bytes()).to_bytes()
    }

    /// The signature of a witness over a checkpoint's text and the time, in seconds since 1970. It
    /// vouches for ledgers alone.
    pub fn cosign(&self, time: u64, text: &CheckpointText) -> [u8; 64] {
        let message = cosignature_message(time, &text.0);
        self.0.sign(&message).to_bytes()
    }

    /// The same of any note: other programs cosign such.
    #[cfg(test)]
    pub(crate) fn cosign_note(&self, time: u64, text: &str) -> [u8; 64] {
        self.cosign(time, &CheckpointText(text.to_owned()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(public {})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
    use curve25519_dalek::traits::IsIdentity as _;

    #[test]
    fn every_torsion_component_is_told_from_small_order() {
        for torsion in EIGHT_TORSION {
            let small = PublicKey(torsion.compress().to_bytes());
            assert_eq!(check(&small), Err(KeyFault::SmallOrder), "{small}");
            let mixed = PublicKey((ED25519_BASEPOINT_POINT + torsion).compress().to_bytes());
            let expected = if torsion.is_identity() {
                None
            } else {
                Some(KeyFault::Torsion)
            };
            assert_eq!(check(&mixed).err(), expected, "{mixed}");
        }
    }

    #[test]
    fn a_key_made_here_is_fit() {
        for byte in 0..64 {
            let key = SigningKey::from_seed([byte; 32]);
            assert_eq!(
                check(&key.public()).map(|key| key.public()),
                Ok(key.public())
            );
        }
    }

    #[test]
    fn a_signature_over_one_thing_is_none_over_another() {
        let key = SigningKey::from_seed([7; 32]);
        let public = check(&key.public()).unwrap();
        let checkpoint = CheckpointText::new(&LedgerId::ZERO, 1, "root");
        let text = checkpoint.as_str();
        assert_eq!(
            text,
            format!("handoff-ledger/{}\n1\nroot\n", "0".repeat(64))
        );
        let messages = [
            pre_authentication_encoding(PAYLOAD_TYPE, text.as_bytes()),
            text.as_bytes().to_vec(),
            cosignature_message(5, text),
        ];
        let signatures = [
            key.sign(text.as_bytes()),
            key.sign_checkpoint(&checkpoint),
            key.cosign(5, &checkpoint),
        ];
        for (at, message) in messages.iter().enumerate() {
            for (by, signature) in signatures.iter().enumerate() {
                assert_eq!(public.verify(message, signature), at == by, "{at} by {by}");
            }
        }
    }

    #[test]
    fn a_signing_key_prints_its_public_half_only() {
        let seed = [0xab; 32];
        let key = SigningKey::from_seed(seed);
        let printed = format!("{key:?} {key:#?}");
        assert!(printed.contains(&key.public().to_string()));
        assert!(!printed.contains("ab".repeat(4).as_str()) && !printed.contains("171, 171"));
    }
}
