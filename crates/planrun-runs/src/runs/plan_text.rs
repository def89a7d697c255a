//! Reads the text of a plan from a file, a stream or bytes, and checks its size and encoding.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use planrun_lang::diag::render::FileReport;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile, Span};

/// The start and end of a code fence.
const FENCE: &str = "```";

/// The file name of a text that has no file.
const HANDED_IN: &str = "<plan>";

/// The file name of the plan of a single call, which nobody has written.
pub const CALL: &str = "the call";

/// The text of a plan, or the report of what is wrong with its bytes.
pub enum PlanText {
    Text(SourceFile),
    Broken(FileReport),
}

impl PlanText {
    /// Creates a text. Files that it uses are resolved relative to its name, which is a path.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        Self::from_bytes(name.to_owned(), text.as_bytes().to_vec())
    }

    /// Creates a text that is run once, such as one from a model: it has no file, and may be in short form. Files that
    /// it uses are resolved relative to this folder. A code fence around it is removed.
    #[must_use]
    pub fn handed_in(folder: &Path, text: &str) -> Self {
        Self::new(
            &folder.join(HANDED_IN).to_string_lossy(),
            without_fence(text),
        )
    }

    /// Reads a file. Bytes that are not a plan text are reported as a finding, not as an error.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        Ok(Self::from_bytes(file_name(path), read_file(path)?))
    }

    /// Reads a stream to its end, or up to the maximum size of a plan.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read.
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

/// Returns the text without a code fence around the whole of it. No plan begins with three back quotes.
fn without_fence(text: &str) -> &str {
    let inner = text.trim().strip_prefix(FENCE);
    let inner = inner.and_then(|rest| rest.strip_suffix(FENCE));
    // The word after the opening fence names a language.
    let inner = inner.and_then(|inner| inner.split_once('\n'));
    match inner {
        Some((word, plan)) if !word.trim().contains(char::is_whitespace) => plan,
        Some(_) | None => text,
    }
}

/// Returns true if the text was created with [`PlanText::handed_in`].
pub(super) fn is_handed_in(source: &SourceFile) -> bool {
    Path::new(source.name()).file_name() == Some(HANDED_IN.as_ref())
}

/// Returns the name of a file in reports: with `/` between folders, and without a leading `./`.
#[must_use]
pub fn file_name(path: &Path) -> String {
    tidy(path)
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

/// Returns the path without a leading `./`, so that one file has one name.
#[must_use]
pub fn tidy(path: &Path) -> &Path {
    let own = path.strip_prefix(".").unwrap_or(path);
    if own.as_os_str().is_empty() {
        path
    } else {
        own
    }
}

/// Resolves `path`, as written after `use` in a plan file, relative to that file.
#[must_use]
pub fn beside(from: &str, path: &str) -> PathBuf {
    let folder = Path::new(from).parent().unwrap_or_else(|| Path::new(""));
    normal(&folder.join(path))
}

/// Returns the path without `.` and `..` components, as far as they can be resolved by name, so that one file has one
/// name.
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

/// Reads a file. Pipes and devices are refused: a pipe would wait for a writer, and a device may never end.
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
        // One byte above the limit is enough for the error.
        return Ok(vec![0; MAX_FILE_BYTES + 1]);
    }
    fs::File::open(path).and_then(read_bounded)
}

/// Returns true if the path is a stream of this process, as created by a shell for `<(…)`.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd", "/proc/self/fd"]
        .iter()
        .any(|streams| path.starts_with(streams))
}

/// Reads to the end, but at most one byte more than the maximum size of a plan.
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
    // The text before the first invalid byte is unchanged, and the replacement character is at its position.
    let span = Span::new(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
    let finding = Diagnostic::new(
        &codes::text::NOT_UTF8,
        span,
        format!("the byte 0x{byte:02x} is not valid UTF-8"),
    )
    .note("invalid UTF-8 starts here")
    .help("save the file as UTF-8");
    FileReport::new(SourceFile::new(name, text), vec![finding])
}
