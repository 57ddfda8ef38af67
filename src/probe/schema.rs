//! Judging a JSON document by a JSON Schema.

use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest document, and largest schema.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;

/// Whether the document is valid; absent if one of the two cannot be read, or if the schema is
/// none or refers to anything outside itself, which is never fetched.
pub(super) fn is_valid(document: &Path, schema: &Path) -> Option<bool> {
    let (document, schema) = (read(document)?, read(schema)?);
    let validator = jsonschema::options().offline().build(&schema).ok()?;
    Some(validator.is_valid(&document))
}

fn read(path: &Path) -> Option<Value> {
    // A named pipe would block its opener.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut file = File::open(path).ok()?.take(DOCUMENT_BYTES_MAX + 1);
    let length = u64::try_from(file.read_to_end(&mut bytes).ok()?).ok()?;
    if length > DOCUMENT_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&bytes).ok()
}
