//! What a stream printed, bounded in memory however much it is.

use crate::hash::{self, Running, SALT_BYTES};
use crate::probe_spec::{Committed, OutputCommitment, Outputs};
use crate::types::{CAPTURE_BYTES_MAX, Digest};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of a stream that printed more than is kept, half of that is kept from its start and half from
/// its end.
const HALF_BYTES: usize = CAPTURE_BYTES_MAX / 2;
/// Bytes that are read at a time: what a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// Both streams of a probe.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Standard error.
    pub stderr: CapturedStream,
    /// Standard output.
    pub stdout: CapturedStream,
}

impl Captured {
    /// What a receipt says of them.
    pub fn commitments(&self) -> Outputs {
        Outputs {
            stderr: self.stderr.commitment,
            stdout: self.stdout.commitment,
        }
    }
}

/// What one stream printed.
#[derive(Debug, Clone)]
pub struct CapturedStream {
    /// The kept bytes: all, or if there were more than [`CAPTURE_BYTES_MAX`], the first half of
    /// that many followed by the last half.
    pub kept: Vec<u8>,
    /// The salt of both commitments.
    pub salt: [u8; SALT_BYTES],
    /// Commitments to the kept bytes and to the whole.
    pub commitment: OutputCommitment,
    /// SHA-256 of the whole, unsalted; it stands nowhere unless it is the value asked for.
    pub(super) whole_sha256: Digest,
}

impl CapturedStream {
    /// The whole output, if all of it was kept.
    pub fn whole(&self) -> Option<&[u8]> {
        let all_kept = self.commitment.kept.length == self.commitment.whole.length;
        all_kept.then_some(self.kept.as_slice())
    }
}

/// Takes in a stream piece by piece.
#[derive(Clone)]
pub(super) struct Sink {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    length: u64,
    salt: [u8; SALT_BYTES],
    committed: Running,
    plain: Running,
}

impl Sink {
    /// An empty sink with a fresh salt; fails if the system has no randomness to give.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)?;
        Ok(Sink {
            head: Vec::new(),
            tail: VecDeque::new(),
            length: 0,
            salt,
            committed: Running::committed(&salt),
            plain: Running::new(),
        })
    }

    fn add(&mut self, piece: &[u8]) {
        self.committed.add(piece);
        self.plain.add(piece);
        self.length = self.length.saturating_add(count(piece));
        let space = HALF_BYTES.saturating_sub(self.head.len());
        let (first, rest) = piece.split_at(space.min(piece.len()));
        self.head.extend_from_slice(first);
        let surplus = rest.len().saturating_sub(HALF_BYTES);
        self.tail.extend(rest.iter().skip(surplus));
        let excess = self.tail.len().saturating_sub(HALF_BYTES);
        self.tail.drain(..excess);
    }

    /// What was taken in so far.
    pub(super) fn captured(&self) -> CapturedStream {
        let mut kept = self.head.clone();
        kept.extend(&self.tail);
        CapturedStream {
            commitment: OutputCommitment {
                kept: Committed {
                    commitment: hash::commitment(&self.salt, &kept),
                    length: count(&kept),
                },
                whole: Committed {
                    commitment: self.committed.clone().finish(),
                    length: self.length,
                },
            },
            kept,
            salt: self.salt,
            whole_sha256: self.plain.clone().finish(),
        }
    }
}

fn count(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Reads a stream into its sink until it ends or `enough` is set.
pub(super) fn drain(mut stream: impl Read, sink: &Mutex<Sink>, enough: &AtomicBool) {
    let mut piece = vec![0; PIECE_BYTES];
    while !enough.load(Ordering::Relaxed) {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => lock(sink).add(piece.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The sink, also after a reader died: what it took in until then is whole pieces.
pub(super) fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&[u8]]) -> CapturedStream {
        let mut sink = Sink::new().unwrap();
        for piece in pieces {
            sink.add(piece);
        }
        sink.captured()
    }

    #[test]
    fn all_is_kept_up_to_the_limit() {
        let all: Vec<u8> = (0..=u8::MAX).cycle().take(CAPTURE_BYTES_MAX).collect();
        let (one, two) = all.split_at(40_000);
        let stream = captured(&[one, two]);
        assert_eq!(stream.whole(), Some(all.as_slice()));
        assert_eq!(stream.commitment.kept, stream.commitment.whole);
        assert_eq!(
            stream.commitment.whole.commitment,
            hash::commitment(&stream.salt, &all)
        );
    }

    #[test]
    fn beyond_the_limit_the_two_ends_are_kept_and_the_whole_is_counted() {
        let all: Vec<u8> = (0..200_001_u32).flat_map(u32::to_be_bytes).collect();
        for size in [1_000, 65_536, all.len()] {
            let pieces: Vec<&[u8]> = all.chunks(size).collect();
            let stream = captured(&pieces);
            assert_eq!(stream.whole(), None);
            assert_eq!(stream.kept[..HALF_BYTES], all[..HALF_BYTES]);
            assert_eq!(stream.kept[HALF_BYTES..], all[all.len() - HALF_BYTES..]);
            assert_eq!(stream.commitment.whole.length, 800_004);
            assert_eq!(
                stream.commitment.whole.commitment,
                hash::commitment(&stream.salt, &all)
            );
            let kept = hash::commitment(&stream.salt, &stream.kept);
            assert_eq!(stream.commitment.kept.commitment, kept);
            assert_eq!(stream.whole_sha256, hash::bytes(&all));
        }
    }

    #[test]
    fn every_stream_has_its_own_salt() {
        assert_ne!(captured(&[]).salt, captured(&[]).salt);
    }
}
