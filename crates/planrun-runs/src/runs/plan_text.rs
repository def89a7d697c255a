//! The text of a plan: read from a file or taken from bytes, and held against what a plan text may be.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use planrun_lang::diag::render::FileReport;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile, Span};

/// A plan's text, or what is wrong with its bytes.
pub enum PlanText {
    Text(SourceFile),
    Broken(FileReport),
}

impl PlanText {
    /// A text that is at hand. Files that it uses are looked for beside its name, which is a path.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        Self::from_bytes(name.to_owned(), text.as_bytes().to_vec())
    }

    /// A text that is handed in to be run once, such as a model's: it has no file, and may be in short form. Files that it
    /// uses are looked for in this folder.
    #[must_use]
    pub fn handed_in(folder: &Path, text: &str) -> Self {
        Self::new(&folder.join("<plan>").to_string_lossy(), text)
    }

    /// Reads a file. Bytes that are no plan text are a finding, not a failure.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        Ok(Self::from_bytes(file_name(path), read_file(path)?))
    }

    /// Reads a stream to its end, or as far as it may be a plan.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_reader(name: String, reader: impl Read) -> io::Result<Self> {
        Ok(Self::from_bytes(name, read_bounded(reader)?))
    }

    fn from_bytes(name: String, bytes: Vec<u8>) -> Self {
        if bytes.len() > MAX_FILE_BYTES {
            let limit = MAX_FILE_BYTES / (1024 * 1024);
            let finding = Diagnostic::new(
                &codes::text::FILE_TOO_LARGE,
                Span::at(0),
                "the file is too large for a plan",
            )
            .expected(format!("at most {limit} MiB"), "more")
            .help("split it into several plans and join them with `use \"./other.plan\" as other`");
            return Self::Broken(FileReport::new(SourceFile::new(name, ""), vec![finding]));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(SourceFile::new(name, text)),
            Err(error) => Self::Broken(not_utf8(name, &error)),
        }
    }
}

/// The name that reports show of a file: with `/` between folders, and without `./` at its front.
#[must_use]
pub fn file_name(path: &Path) -> String {
    tidy(path)
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

/// The path without `./` at its front, so that one file has one name.
#[must_use]
pub fn tidy(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// Where `path`, as a plan file writes it behind `use`, leads from that file.
#[must_use]
pub fn beside(from: &str, path: &str) -> PathBuf {
    let folder = Path::new(from).parent().unwrap_or_else(|| Path::new(""));
    normal(&folder.join(path))
}

/// The path without `.` and `..` where they can be resolved by name, so that one file has one name.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(normal.components().next_back(), Some(Component::Normal(_))) =>
            {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// The bytes of a file. A pipe would wait for a writer and a device may never end, so they are not opened.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() && !is_stream(path) {
        return Err(io::Error::other(
            "it is a pipe or a device; `-` reads from standard input",
        ));
    }
    if kind.len() > MAX_FILE_BYTES as u64 {
        // One byte too many is all that has to be known.
        return Ok(vec![0; MAX_FILE_BYTES + 1]);
    }
    fs::File::open(path).and_then(read_bounded)
}

/// Whether a shell made the path from a stream of this process, as for `<(…)`.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd", "/proc/self/fd"]
        .iter()
        .any(|streams| path.starts_with(streams))
}

/// Everything that a reader has, up to one byte more than a plan may have.
fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_FILE_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_utf8(name: String, error: &std::string::FromUtf8Error) -> FileReport {
    let start = error.utf8_error().valid_up_to();
    let byte = error.as_bytes().get(start).copied().unwrap_or_default();
    let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
    // The text before the first bad byte is as it was, and the replacement character stands in its place.
    let span = Span::new(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
    let finding = Diagnostic::new(
        &codes::text::NOT_UTF8,
        span,
        format!("the byte 0x{byte:02x} here is not UTF-8"),
    )
    .note("not UTF-8 from here")
    .help("save the file as UTF-8");
    FileReport::new(SourceFile::new(name, text), vec![finding])
}
