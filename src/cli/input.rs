//! Reads files that the user names; `-` is standard input.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the file up to this number of bytes.
pub(super) fn read_bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Reads the file up to this number of bytes as text.
pub(super) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    io::read_to_string(&*read_bytes(path, limit)?)
}
