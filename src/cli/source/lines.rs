//! The lines of an export, read one by one.

use super::unreadable;
use crate::cli::report::Failure;
use crate::export::{ExportError, ExportedCapture, LINE_BYTES_MAX, Line, Reader};
use crate::hash::Running;
use crate::store::Capture;
use crate::types::Digest;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek};

/// Reads an export's lines, its digest and length.
pub struct Lines {
    file: BufReader<File>,
    reader: Reader,
    digest: Running,
    bytes: u64,
}

/// Why the next line of an export could not be read.
pub enum LineFault {
    /// The system refused.
    Io(Failure),
    /// It breaks off in the middle of a line.
    BrokenOff,
    /// It is not what may stand there.
    Export(ExportError),
}

impl Lines {
    /// The lines of a file, from its beginning.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(file: &File) -> Result<Lines, Failure> {
        let mut file = file.try_clone().map_err(unreadable)?;
        file.rewind().map_err(unreadable)?;
        Ok(Lines {
            file: BufReader::new(file),
            reader: Reader::new(),
            digest: Running::new(),
            bytes: 0,
        })
    }

    /// The next line, or nothing at the end.
    ///
    /// # Errors
    /// Why there is none.
    pub fn next_line(&mut self) -> Result<Option<Line>, LineFault> {
        let mut line = Vec::new();
        let limit = u64::try_from(LINE_BYTES_MAX)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let read = (&mut self.file).take(limit).read_until(b'\n', &mut line);
        read.map_err(|error| LineFault::Io(unreadable(error)))?;
        if line.is_empty() {
            return Ok(None);
        }
        self.digest.add(&line);
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(length);
        if line.last() != Some(&b'\n') && length < limit {
            return Err(LineFault::BrokenOff);
        }
        self.reader.line(&line).map(Some).map_err(LineFault::Export)
    }

    /// SHA-256 of all lines, and their length.
    pub fn file(&self) -> (Digest, u64) {
        (self.digest.clone().finish(), self.bytes)
    }

    /// Holds the header to what was read.
    ///
    /// # Errors
    /// What the header says and the lines do not.
    pub fn finish(self) -> Result<(), ExportError> {
        self.reader.finish().map(drop)
    }
}

/// What the store keeps, of what a line holds.
pub fn capture_of(line: ExportedCapture) -> Capture {
    let ExportedCapture {
        commitment,
        bytes,
        salt,
    } = line;
    Capture {
        commitment,
        salt,
        bytes,
    }
}
