//! The keys that notes are signed with, under the names that they sign with (C2SP signed-note,
//! "vkeys"), and whether a signature is theirs.

use crate::hash;
use crate::key::{self, KeyFault, VerifyingKey};
use crate::types::{ParseError, PublicKey, hex};
use base64ct::{Base64, Encoding};
use std::fmt;
use std::str::FromStr;

/// Length of a key's id, in bytes.
pub(crate) const KEY_ID_BYTES: usize = 4;
/// Latest time of a cosignature, in seconds since 1970: 2^63 - 1.
pub(crate) const COSIGNED_MAX: u64 = (1 << 63) - 1;

/// Bytes in padded base64 (RFC 4648 section 4).
pub fn to_base64(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

/// The bytes that `text` spells in padded base64 with zero trailing bits; of other spellings none.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text).ok()
}

/// How a key signs a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureType {
    /// Ed25519 over the text.
    Ed25519,
    /// Ed25519 over the text and a time, by a witness.
    Cosignature,
}

impl SignatureType {
    /// The byte that the specification assigns to it.
    pub fn byte(self) -> u8 {
        match self {
            SignatureType::Ed25519 => 0x01,
            SignatureType::Cosignature => 0x04,
        }
    }

    fn of(byte: u8) -> Option<SignatureType> {
        [SignatureType::Ed25519, SignatureType::Cosignature]
            .into_iter()
            .find(|known| known.byte() == byte)
    }
}

/// A key that a reader knows, under the name that it signs notes with: a "vkey".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    signature_type: SignatureType,
    key: VerifyingKey,
}

impl VerifierKey {
    /// A key under a name.
    ///
    /// # Errors
    ///
    /// A name that is empty or holds white space, control characters or `+`.
    pub fn new(
        name: &str,
        signature_type: SignatureType,
        key: VerifyingKey,
    ) -> Result<VerifierKey, ParseError> {
        if !is_key_name(name) {
            return Err(ParseError::new("a key name without spaces or +", name));
        }
        let name = name.to_owned();
        Ok(VerifierKey {
            name,
            signature_type,
            key,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it signs.
    pub fn signature_type(&self) -> SignatureType {
        self.signature_type
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        self.key.public()
    }

    /// Its id in signature lines.
    pub fn id(&self) -> [u8; KEY_ID_BYTES] {
        let byte = self.signature_type.byte();
        hash::note_key_id(&self.name, byte, &self.public().0)
    }

    /// The time, if it is a cosignature, of a valid signature by this key.
    pub(crate) fn check(&self, text: &str, bytes: &[u8]) -> Option<Option<u64>> {
        match self.signature_type {
            SignatureType::Ed25519 => {
                let signature = bytes.try_into().ok()?;
                let valid = self.key.verify(text.as_bytes(), signature);
                valid.then_some(None)
            }
            SignatureType::Cosignature => {
                let (time, signature) = bytes.split_first_chunk::<8>()?;
                let time = u64::from_be_bytes(*time);
                let message = key::cosignature_message(time, text);
                let signature = signature.try_into().ok()?;
                let valid = time <= COSIGNED_MAX && self.key.verify(&message, signature);
                valid.then_some(Some(time))
            }
        }
    }
}

/// Prints `<name>+<key id, 8 hex>+<base64 of type and public key>`.
impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let public = self.public();
        let material = [&[self.signature_type.byte()][..], &public.0].concat();
        let id = hex(&self.id());
        write!(f, "{}+{id}+{}", self.name, to_base64(&material))
    }
}

impl FromStr for VerifierKey {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new("a verifier key, NAME+ID+BASE64, of Ed25519", text);
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(_), Some(material)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(refused());
        };
        let material = from_base64(material).ok_or_else(refused)?;
        let (byte, public) = material.split_first().ok_or_else(refused)?;
        let signature_type = SignatureType::of(*byte).ok_or_else(refused)?;
        let public = PublicKey(public.try_into().map_err(|_| refused())?);
        let key = key::check(&public).map_err(|_: KeyFault| refused())?;
        let parsed = VerifierKey::new(name, signature_type, key)?;
        // The id is the one the name and the key make, in the one spelling.
        if parsed.to_string() != text {
            return Err(refused());
        }
        Ok(parsed)
    }
}

/// Whether a name may stand in a signature line. Control characters are none of a note's.
pub(crate) fn is_key_name(name: &str) -> bool {
    let lawful = |c: char| !c.is_whitespace() && !c.is_control() && c != '+';
    !name.is_empty() && name.chars().all(lawful)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verifier key of the example of C2SP signed-note.
    const EXAMPLE_KEY: &str =
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";

    fn key(text: &str) -> VerifierKey {
        text.parse().unwrap()
    }

    #[test]
    fn a_verifier_key_has_one_spelling_and_the_id_that_it_makes() {
        for other in [
            "TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6",
            "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
        ] {
            assert_eq!(key(other).to_string(), other, "of other programs");
        }
        for bad in [
            EXAMPLE_KEY.replace("530d903a", "530d903b"),
            EXAMPLE_KEY.replace("530d903a", "530D903A"),
            EXAMPLE_KEY.replace("example.com/foo", "example.com/fop"),
            EXAMPLE_KEY.replace("+Ae", "+Be"),
            EXAMPLE_KEY.replace("+Ae", "+Ce"),
            format!("{EXAMPLE_KEY}="),
            format!("{EXAMPLE_KEY} "),
            format!(" {EXAMPLE_KEY}"),
            EXAMPLE_KEY.replace("example.com/foo", ""),
            "example.com/foo+530d903a".to_owned(),
            String::new(),
        ] {
            assert!(bad.parse::<VerifierKey>().is_err(), "{bad:?}");
        }
    }
}
