//! The one file that a target writes its inputs to, in memory where there is `/dev/shm`.

use crate::support::ledger::{LONGEST, Made};
use crate::broken::BROKEN;
use crate::judge::{Blind, Way};
use handoff_ledger::chain::Remembered;
use handoff_ledger::types::Leaf;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// Where inputs are put, and what is known beforehand.
pub struct Scratch {
    folder: TempDir,
    /// How they are judged.
    pub way: Way,
    /// The records that somebody signed.
    pub known: BTreeSet<Leaf>,
}

/// Made at the first input.
pub static SCRATCH: LazyLock<Scratch> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::env::override_temp_dir(memory).expect("nobody set it before");
    }
    Scratch {
        folder: tempfile::Builder::new()
            .prefix("handoff-fuzz-")
            .tempdir()
            .expect("a folder can be made"),
        way: Way {
            // The negative control looks at no signature.
            blind: match *BROKEN {
                true => Blind::Signatures,
                false => Blind::Nothing,
            },
            ..Way::remembering(&Remembered::default())
        },
        known: Made::of(LONGEST).leaves().into_iter().collect(),
    }
});

impl Scratch {
    /// Writes an input to the file.
    pub fn put(&self, data: &[u8]) -> PathBuf {
        let path = self.folder.path().join("input");
        std::fs::write(&path, data).expect("the file can be written");
        path
    }
}
