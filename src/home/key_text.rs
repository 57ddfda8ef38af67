//! A key as text: PKCS#8 PEM and OpenSSH's formats, read strictly, one key to a text.

use crate::key::{self, KeyFault, SigningKey};
use crate::types::PublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::spki::der::zeroize::Zeroize as _;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _};
use ed25519_dalek::pkcs8::{Error as Pkcs8Error, KeypairBytes, PublicKeyBytes};
use std::fmt;

pub(super) use ed25519_dalek::pkcs8::spki::der::zeroize::Zeroizing;

/// How many characters of base64 OpenSSH writes to a line.
const OPENSSH_WIDTH: usize = 70;
/// How many there may be.
const OPENSSH_WIDTHS: [usize; 3] = [64, OPENSSH_WIDTH, 76];

/// What a text that should be a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// A secret key, as PKCS#8 PEM.
    Pkcs8,
    /// A secret key in OpenSSH's format.
    OpenSsh,
    /// A secret key under a passphrase.
    Encrypted,
    /// A secret key of another algorithm, or in another format.
    OtherSecret,
    /// A public key as SubjectPublicKeyInfo PEM.
    PublicPem,
    /// A public key as one line of OpenSSH.
    PublicSsh,
    /// 64 hexadecimal digits: a public key, or a seed, which looks the same.
    Hex,
    /// None of these.
    Unknown,
}

impl KeyKind {
    /// What a text is, by how it begins.
    pub fn of(text: &str) -> KeyKind {
        let line = text.strip_suffix('\n').unwrap_or(text);
        let label = line
            .strip_prefix("-----BEGIN ")
            .and_then(|rest| rest.split_once("-----"));
        match label {
            Some(("PRIVATE KEY", _)) => KeyKind::Pkcs8,
            Some(("OPENSSH PRIVATE KEY", _)) => KeyKind::OpenSsh,
            Some(("ENCRYPTED PRIVATE KEY", _)) => KeyKind::Encrypted,
            Some(("PUBLIC KEY", _)) => KeyKind::PublicPem,
            Some((label, _)) if label.ends_with("PRIVATE KEY") => KeyKind::OtherSecret,
            Some(_) => KeyKind::Unknown,
            None if line.starts_with("ssh-") => KeyKind::PublicSsh,
            None if line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                KeyKind::Hex
            }
            None => KeyKind::Unknown,
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyKind::Pkcs8 => "a secret key (PKCS#8)",
            KeyKind::OpenSsh => "a secret key (OpenSSH)",
            KeyKind::Encrypted => "an encrypted secret key",
            KeyKind::OtherSecret => "a secret key of another algorithm or format",
            KeyKind::PublicPem => "a public key (PEM)",
            KeyKind::PublicSsh => "a public key (OpenSSH)",
            KeyKind::Hex => "64 hexadecimal digits",
            KeyKind::Unknown => "no key",
        })
    }
}

/// Which half of a key was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The one that signs.
    Secret,
    /// The one that verifies.
    Public,
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Half::Secret => {
                "an Ed25519 secret key, not encrypted, as PKCS#8 PEM or in OpenSSH's format"
            }
            Half::Public => {
                "an Ed25519 public key: 64 lower-case hexadecimal digits, PEM or ssh-ed25519"
            }
        })
    }
}

/// Why a text is not the key that was wanted. It never quotes the text, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyTextError {
    /// It is something else.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// What was wanted.
        expected: Half,
        /// What it is.
        found: KeyKind,
    },
    /// A byte order mark, a carriage return, a control, or no UTF-8.
    #[error("expected printable ASCII and line feeds, found other bytes (a BOM, CRLF?)")]
    NotPlain,
    /// A line with a space at its end.
    #[error("expected no space at the end of a line, found one")]
    TrailingSpace,
    /// Something after the key.
    #[error("expected nothing after the key, found more text")]
    Surplus,
    /// The encoding inside, or a length in it.
    #[error("expected a whole key, found an encoding that is cut short or broken")]
    Broken,
    /// More keys than one.
    #[error("expected one key, found {found}")]
    Several {
        /// How many.
        found: usize,
    },
    /// The public half beside the secret half is another one.
    #[error("expected public half {derived}, found {stored}")]
    Halves {
        /// The public half of the secret half.
        derived: PublicKey,
        /// The public half that the text claims.
        stored: PublicKey,
    },
    /// A public key that nobody should verify with; or, as hexadecimal digits, a seed.
    #[error(transparent)]
    Unfit(#[from] KeyFault),
}

/// The secret key of a seed as PKCS#8 PEM version 1, without the public half, which is what the
/// most tools read.
pub(super) fn to_pem(seed: [u8; 32]) -> Result<Zeroizing<String>, KeyTextError> {
    let mut pair = KeypairBytes {
        secret_key: seed,
        public_key: None,
    };
    let pem = pair.to_pkcs8_pem(LineEnding::LF);
    pair.secret_key.zeroize();
    pem.map_err(|_| KeyTextError::Broken)
}

/// Reads a secret key: PKCS#8 PEM (RFC 5958, version 1 or 2), or OpenSSH's format.
///
/// # Errors
///
/// Any of [`KeyTextError`] but the last.
pub fn secret(bytes: &[u8]) -> Result<SigningKey, KeyTextError> {
    let text = plain(bytes)?;
    match KeyKind::of(text) {
        KeyKind::Pkcs8 => from_pkcs8(one_block(text)?),
        KeyKind::OpenSsh => from_openssh(one_block(text)?),
        found @ (KeyKind::Encrypted
        | KeyKind::OtherSecret
        | KeyKind::PublicPem
        | KeyKind::PublicSsh
        | KeyKind::Hex
        | KeyKind::Unknown) => Err(not_secret(found)),
    }
}

/// Reads a public key: 64 hexadecimal digits, SubjectPublicKeyInfo PEM (RFC 8410 section 4), or a
/// line of OpenSSH. It is found fit ([`key::check`]) before it is returned.
///
/// # Errors
///
/// Any of [`KeyTextError`].
pub fn public(bytes: &[u8]) -> Result<PublicKey, KeyTextError> {
    let text = plain(bytes)?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let kind = KeyKind::of(text);
    let key = match kind {
        KeyKind::Hex => line.parse().map_err(|_| not_public(kind))?,
        KeyKind::PublicSsh => ssh_public(line)?,
        KeyKind::PublicPem => {
            let read = PublicKeyBytes::from_public_key_pem(one_block(text)?);
            PublicKey(read.map_err(|_| not_public(kind))?.to_bytes())
        }
        KeyKind::Pkcs8
        | KeyKind::OpenSsh
        | KeyKind::Encrypted
        | KeyKind::OtherSecret
        | KeyKind::Unknown => return Err(not_public(kind)),
    };
    key::check(&key)?;
    Ok(key)
}

fn ssh_public(line: &str) -> Result<PublicKey, KeyTextError> {
    let lines = line.split('\n');
    match lines.filter(|line| line.starts_with("ssh-")).count() {
        1 if line.contains('\n') => return Err(KeyTextError::Surplus),
        1 => {}
        found => return Err(KeyTextError::Several { found }),
    }
    let read = ssh_key::PublicKey::from_openssh(line).map_err(|_| KeyTextError::Broken)?;
    match read.key_data().ed25519() {
        Some(key) => Ok(PublicKey(key.0)),
        None => Err(not_public(KeyKind::PublicSsh)),
    }
}

fn from_pkcs8(text: &str) -> Result<SigningKey, KeyTextError> {
    let mut pair = KeypairBytes::from_pkcs8_pem(text).map_err(|error| {
        if matches!(error, Pkcs8Error::PublicKey(_)) {
            not_secret(KeyKind::OtherSecret)
        } else {
            KeyTextError::Broken
        }
    })?;
    let signing = SigningKey::from_seed(pair.secret_key);
    pair.secret_key.zeroize();
    match &pair.public_key {
        Some(half) => with_half(signing, half.to_bytes()),
        None => Ok(signing),
    }
}

fn from_openssh(text: &str) -> Result<SigningKey, KeyTextError> {
    use ssh_key::Error::{AlgorithmUnknown, AlgorithmUnsupported};
    let text = wrapped(text)?;
    let read = ssh_key::PrivateKey::from_openssh(text.as_str()).map_err(|error| {
        if matches!(error, AlgorithmUnknown | AlgorithmUnsupported { .. }) {
            not_secret(KeyKind::OtherSecret)
        } else {
            KeyTextError::Broken
        }
    })?;
    if read.is_encrypted() {
        return Err(not_secret(KeyKind::Encrypted));
    }
    let outer = read.public_key().key_data().ed25519();
    let (Some(pair), Some(outer)) = (read.key_data().ed25519(), outer) else {
        return Err(not_secret(KeyKind::OtherSecret));
    };
    let signing = SigningKey::from_seed(pair.private.to_bytes());
    with_half(with_half(signing, outer.0)?, pair.public.0)
}

/// The text with its base64 in lines of 70, as OpenSSH writes it and the library demands. Other
/// tools write lines of 64 (RFC 7468 section 2) or 76 (RFC 2045 section 6.8). All have one length
/// but the last.
fn wrapped(text: &str) -> Result<Zeroizing<String>, KeyTextError> {
    let mut lines: Vec<&str> = text.lines().collect();
    let (Some(last), first) = (lines.pop(), lines.first().copied()) else {
        return Err(KeyTextError::Broken);
    };
    let body = lines.get(1..).unwrap_or_default();
    let width = body.first().map_or(0, |line| line.len());
    let (short, full) = body.split_last().ok_or(KeyTextError::Broken)?;
    let is_even = full.iter().all(|line| line.len() == width) && short.len() <= width;
    if !is_even || !OPENSSH_WIDTHS.contains(&width) && !full.is_empty() {
        return Err(KeyTextError::Broken);
    }
    let mut wrapped = Zeroizing::new(String::with_capacity(text.len() * 2));
    wrapped.push_str(first.unwrap_or_default());
    for (place, character) in body.iter().flat_map(|line| line.chars()).enumerate() {
        if place % OPENSSH_WIDTH == 0 {
            wrapped.push('\n');
        }
        wrapped.push(character);
    }
    wrapped.push('\n');
    wrapped.push_str(last);
    wrapped.push('\n');
    Ok(wrapped)
}

/// The key, if this is its public half. One that signed under another's public half would give
/// its secret away (RUSTSEC-2022-0093).
fn with_half(signing: SigningKey, half: [u8; 32]) -> Result<SigningKey, KeyTextError> {
    let (derived, stored) = (signing.public(), PublicKey(half));
    if stored == derived {
        Ok(signing)
    } else {
        Err(KeyTextError::Halves { derived, stored })
    }
}

/// The text, if it is printable ASCII in lines without trailing spaces. The comment after a
/// public key of OpenSSH may have other letters.
fn plain(bytes: &[u8]) -> Result<&str, KeyTextError> {
    let text = std::str::from_utf8(bytes).map_err(|_| KeyTextError::NotPlain)?;
    let letters = text.starts_with("ssh-");
    let allowed = |c: char| match c {
        ' '..='~' | '\n' => true,
        other => letters && !other.is_ascii() && !other.is_control(),
    };
    if !text.chars().all(allowed) {
        Err(KeyTextError::NotPlain)
    } else if text.split('\n').any(|line| line.ends_with(' ')) {
        Err(KeyTextError::TrailingSpace)
    } else {
        Ok(text)
    }
}

/// Refuses a second armoured block, and anything after the first but one line feed.
fn one_block(text: &str) -> Result<&str, KeyTextError> {
    let found = text.matches("-----BEGIN ").count();
    if found > 1 {
        return Err(KeyTextError::Several { found });
    }
    let after = text
        .split_once("-----END ")
        .and_then(|(_, end)| end.split_once("-----"));
    match after {
        Some((_, "" | "\n")) => Ok(text),
        Some(_) => Err(KeyTextError::Surplus),
        None => Err(KeyTextError::Broken),
    }
}

fn not_secret(found: KeyKind) -> KeyTextError {
    let expected = Half::Secret;
    KeyTextError::Kind { expected, found }
}

fn not_public(found: KeyKind) -> KeyTextError {
    let expected = Half::Public;
    KeyTextError::Kind { expected, found }
}
