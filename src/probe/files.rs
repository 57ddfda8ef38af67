//! The program that a probe starts and the files that its arguments name, by their digests.

use super::directory;
use super::loadable::speaks_of_program;
use super::run::{PATH_DEFAULT, SHELL};
use crate::hash::Running;
use crate::probe_spec::{FileDigest, Probe};
use crate::types::Digest;
use rustix::fs::{Access, access};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Largest program that is digested.
const PROGRAM_BYTES_MAX: u64 = 1 << 30;
/// Most bytes that are digested of all the files together that arguments name; a file beyond is
/// left out.
const FILES_BYTES_MAX: u64 = 64 << 20;
const PIECE_BYTES: usize = 64 * 1024;

/// Digests of the program that `probe` would start under `root`, symbolic links followed, and of
/// every regular file that another word of its argv names. A script of `--shell` names none.
///
/// What cannot be read is left out: whether a probe can run is told by running it. Of a redacted
/// probe no file is digested: the file may be the secret, and its digest would let it be guessed.
pub fn file_digests(probe: &Probe, root: &Path) -> (Option<FileDigest>, Vec<FileDigest>) {
    let Some((first, others)) = probe.argv().and_then(<[String]>::split_first) else {
        return (None, Vec::new());
    };
    let directory = directory(probe, root);
    let name = if probe.shell() { SHELL } else { first };
    let program = find_program(name, &directory).ok().flatten();
    let executable = program.and_then(|path| {
        let path = path.canonicalize().ok()?;
        Some(FileDigest {
            digest: digest(&path, PROGRAM_BYTES_MAX)?.0,
            path: path.to_str()?.to_owned(),
        })
    });
    if probe.redact() {
        return (executable, Vec::new());
    }
    let mut left = FILES_BYTES_MAX;
    let files = others.iter().filter_map(|word| {
        let (digest, length) = digest(&directory.join(word), left)?;
        left = left.saturating_sub(length);
        Some(FileDigest {
            digest,
            path: word.clone(),
        })
    });
    (executable, files.collect())
}

/// The file that running `name` in `directory` would start: itself if there is a slash in it, else
/// the first executable of that name in a folder of PATH (POSIX.1-2024, Base Definitions, 8.3), or
/// the first of that name if none is executable.
///
/// # Errors
/// If there is none, what kept a place from being looked at: it may be there.
pub(super) fn find_program(name: &str, directory: &Path) -> io::Result<Option<PathBuf>> {
    let candidates: Vec<PathBuf> = if name.contains('/') {
        vec![directory.join(name)]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| PATH_DEFAULT.into());
        path.into_vec()
            .split(|byte| *byte == b':')
            .map(|folder| {
                directory
                    .join(OsString::from_vec(folder.to_vec()))
                    .join(name)
            })
            .collect()
    };
    let (mut files, mut failed) = (Vec::new(), None);
    for path in candidates {
        match path.metadata() {
            Ok(found) if found.is_file() => files.push(path),
            Ok(_) => {}
            Err(error) if speaks_of_program(&error) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let executable = files
        .iter()
        .find(|path| access(*path, Access::EXEC_OK).is_ok());
    match (executable.or(files.first()), failed) {
        (None, Some(failed)) => Err(failed),
        (found, _) => Ok(found.cloned()),
    }
}

/// Digest and length of a regular file of at most `limit` bytes.
fn digest(path: &Path, limit: u64) -> Option<(Digest, u64)> {
    let length = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?
        .len();
    if length > limit {
        return None;
    }
    Some((sha256(path, || true).ok()?, length))
}

/// SHA-256 of a regular file, as long as `may_go_on` says so before each piece.
pub(super) fn sha256(path: &Path, may_go_on: impl Fn() -> bool) -> io::Result<Digest> {
    // A named pipe would block its opener, a device would never end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let mut running = Running::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        if !may_go_on() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match file.read(&mut piece) {
            Ok(0) => return Ok(running.finish()),
            Ok(length) => running.add(piece.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
