//! Checkpoints: where a ledger stood, in a small text that a key signed (C2SP tlog-checkpoint).
//!
//! ```text
//! handoff-ledger/<ledger id, 64 hex>        the origin
//! <number of events>
//! <root over their leaves, base64>
//!
//! — handoff-ledger/<ledger id> <base64>     a key of the ledger
//! — <name of a witness> <base64>            perhaps: somebody who saw it, and when
//! ```

use crate::key::{self, CheckpointText, KeyFault, ORIGIN_PREFIX, SigningKey};
use crate::merkle::TreeHead;
use crate::note::{
    self, Note, NoteError, Signature, SignatureType, VerifierKey, from_base64, to_base64,
};
use crate::types::{Digest, HeadLine, INTEGER_MAX, LedgerId, ParseError, PublicKey};
use std::fmt;

/// Why a text is no checkpoint, or none of a known key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// It is no note, or a known key's signature is wrong.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The note's text is none of a checkpoint of a ledger.
    #[error("expected the three lines of a checkpoint of a ledger, found {found:?}")]
    Text {
        /// How the text begins.
        found: String,
    },
    /// A key that cannot be one of a ledger.
    #[error(transparent)]
    Key(#[from] KeyFault),
}

/// Where a ledger stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The ledger.
    pub ledger: LedgerId,
    /// The tree over its events so far, of which there is one at least.
    pub tree: TreeHead,
}

impl Checkpoint {
    /// The text that is signed.
    pub fn text(&self) -> CheckpointText {
        let TreeHead { size, root } = self.tree;
        CheckpointText::new(&self.ledger, size, &to_base64(&root.0))
    }
}

/// Prints the text that is signed.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl std::str::FromStr for Checkpoint {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        parse_text(text).ok_or_else(|| CheckpointError::Text {
            found: text.chars().take(TOLD_CHARACTERS_MAX).collect(),
        })
    }
}

/// How much of a text that is no checkpoint an error tells.
const TOLD_CHARACTERS_MAX: usize = 64;

/// Exactly three lines: a ledger's own checkpoint has no extension lines.
fn parse_text(text: &str) -> Option<Checkpoint> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let (Some(origin), Some(size), Some(root), None) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return None;
    };
    let ledger: LedgerId = origin.strip_prefix(ORIGIN_PREFIX)?.parse().ok()?;
    let root = Digest(from_base64(root)?.try_into().ok()?);
    let size = parse_size(size).filter(|size| *size > 0)?;
    // The id of a ledger is its first leaf.
    if size == 1 && root.0 != ledger.0 {
        return None;
    }
    let tree = TreeHead { size, root };
    Some(Checkpoint { ledger, tree })
}

/// The size that `text` spells: decimal without leading zeros, at most 2^53 - 1.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let size = text.parse::<u64>().ok()?;
    (size <= INTEGER_MAX && size.to_string() == text).then_some(size)
}

/// The origin line of a ledger's checkpoints, and the name that its keys sign them under.
pub fn origin(ledger: &LedgerId) -> String {
    format!("{ORIGIN_PREFIX}{ledger}")
}

/// A key as the signer of a ledger's checkpoints.
///
/// # Errors
///
/// A key that is not fit to verify with.
pub fn log_key(ledger: &LedgerId, key: &PublicKey) -> Result<VerifierKey, CheckpointError> {
    let fit = key::check(key)?;
    let named = VerifierKey::new(&origin(ledger), SignatureType::Ed25519, fit);
    named.map_err(|refused| CheckpointError::Text {
        found: refused.found,
    })
}

/// Who is known to have signed a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vouched {
    /// Keys of the ledger.
    pub keys: Vec<PublicKey>,
    /// Witnesses, each with the latest time at which it cosigned, in seconds since 1970.
    pub witnesses: Vec<(VerifierKey, u64)>,
}

impl Vouched {
    /// Whether a witness cosigned.
    pub fn has(&self, witness: &VerifierKey) -> bool {
        self.witnesses.iter().any(|(known, _)| known == witness)
    }

    /// What is to be said of each of these witnesses that did not cosign.
    pub fn missing(&self, demanded: &[VerifierKey]) -> impl Iterator<Item = String> {
        let missing = demanded.iter().filter(|witness| !self.has(witness));
        missing.map(|witness| {
            let name = witness.name();
            format!("expected a cosignature by {name}, found none")
        })
    }
}

/// A checkpoint with its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    note: Note,
}

impl SignedCheckpoint {
    /// A checkpoint, signed by a key of the ledger.
    ///
    /// # Errors
    ///
    /// None that can come about with a key made by [`SigningKey`].
    pub fn sign(
        checkpoint: Checkpoint,
        signer: &SigningKey,
    ) -> Result<SignedCheckpoint, CheckpointError> {
        let text = checkpoint.text();
        let signature = signer.sign_checkpoint(&text);
        let line = log_key(&checkpoint.ledger, &signer.public())?.line(None, &signature);
        let note = Note::new(text.as_str().to_owned(), line);
        Ok(SignedCheckpoint { checkpoint, note })
    }

    /// Reads a checkpoint with its signatures, at which nobody has looked yet.
    ///
    /// # Errors
    ///
    /// What keeps it from being one.
    pub fn parse(bytes: &[u8]) -> Result<SignedCheckpoint, CheckpointError> {
        let note = Note::parse(bytes)?;
        let checkpoint = note.text().parse()?;
        Ok(SignedCheckpoint { checkpoint, note })
    }

    /// What it says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The note it stands in.
    pub fn note(&self) -> &Note {
        &self.note
    }

    /// A cosignature of it by the witness whose key `signer` is, at a time in seconds since 1970.
    pub fn cosign(&self, witness: &VerifierKey, signer: &SigningKey, time: u64) -> Signature {
        witness.line(Some(time), &signer.cosign(time, &self.checkpoint.text()))
    }

    /// Adds a signature line.
    pub fn add(&mut self, signature: Signature) {
        self.note.add(signature);
    }

    /// Which of these keys of the ledger, and of these witnesses, signed it.
    ///
    /// # Errors
    ///
    /// A line that names one of them and is not its signature; a key that is none.
    pub fn vouched(
        &self,
        keys: impl IntoIterator<Item = PublicKey>,
        witnesses: &[VerifierKey],
    ) -> Result<Vouched, CheckpointError> {
        let log_keys = keys
            .into_iter()
            .map(|key| log_key(&self.checkpoint.ledger, &key));
        let mut known: Vec<VerifierKey> = log_keys.collect::<Result<_, _>>()?;
        known.extend_from_slice(witnesses);
        let mut vouched = Vouched::default();
        for note::Signed { key, time } in self.note.signed(&known)? {
            match time {
                None if vouched.keys.contains(&key.public()) => {}
                None => vouched.keys.push(key.public()),
                Some(time) => {
                    let before = vouched.witnesses.iter_mut().find(|(known, _)| known == key);
                    match before {
                        Some((_, latest)) => *latest = time.max(*latest),
                        None => vouched.witnesses.push((key.clone(), time)),
                    }
                }
            }
        }
        Ok(vouched)
    }
}

/// Prints the note.
impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

/// Where somebody outside wrote down that a ledger stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// As a head line.
    Head(HeadLine),
    /// As a checkpoint.
    Checkpoint(SignedCheckpoint),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Head(line) => line.fmt(f),
            Expected::Checkpoint(checkpoint) => checkpoint.fmt(f),
        }
    }
}

impl std::str::FromStr for Expected {
    type Err = ParseError;

    /// Either text, a head line with or without the end of the line.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Ok(line) = text.strip_suffix('\n').unwrap_or(text).parse() {
            return Ok(Expected::Head(line));
        }
        match SignedCheckpoint::parse(text.as_bytes()) {
            Ok(checkpoint) => Ok(Expected::Checkpoint(checkpoint)),
            Err(_) => {
                let start: String = text.chars().take(TOLD_CHARACTERS_MAX).collect();
                Err(ParseError::new("a head line or a checkpoint", start))
            }
        }
    }
}
