//! Which plan files a command speaks of, and their text.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;

use super::Failure;
use crate::diag::render::{FileReport, Problem, visible_line};
use crate::diag::{Diagnostic, closest, codes};
use crate::source::{MAX_FILE_BYTES, SourceFile, Span};
use crate::syntax::json;

/// The ending of plan files; those in the JSON form end in [`json::ENDING`].
const ENDING: &str = ".plan";
/// The ending of files that hold tests only.
const TESTS: &str = ".plantest";
/// The path that stands for standard input.
const STDIN: &str = "-";

/// Where the text of a plan comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlanFile {
    Stdin,
    Path(PathBuf),
}

/// What a set of paths leads to.
#[derive(Debug, Default)]
pub struct PlanFiles {
    /// In path order, each once.
    pub files: Vec<PlanFile>,
    /// Folders that could not be read.
    pub problems: Vec<Problem>,
}

/// A plan's text, or what is wrong with its bytes.
pub enum Loaded {
    Text(SourceFile),
    Broken(FileReport),
}

/// The plan files that the paths name: files as they are, folders with every `*.plan`, `*.plan.json` and `*.plantest` below them that
/// git does not ignore, and `-` for standard input.
///
/// # Errors
/// When a path does not exist.
pub fn find(paths: &[PathBuf]) -> Result<PlanFiles, Failure> {
    let mut found = BTreeSet::new();
    let mut problems = Vec::new();
    for path in paths {
        if path.as_os_str() == STDIN {
            found.insert(PlanFile::Stdin);
            continue;
        }
        let kind = fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
        if kind.is_dir() {
            walk(path, &mut found, &mut problems);
        } else {
            found.insert(PlanFile::Path(tidy(path)));
        }
    }
    Ok(PlanFiles { files: found.into_iter().collect(), problems })
}

/// Reads one plan. Bytes that are no plan text are a finding, not a failure.
///
/// # Errors
/// When it cannot be read.
pub fn load(file: &PlanFile) -> Result<Loaded, Problem> {
    let name = file.name();
    let bytes = match file {
        PlanFile::Stdin => read_bounded(io::stdin().lock()),
        PlanFile::Path(path) => read_file(path),
    };
    let bytes = bytes.map_err(|error| Problem {
        message: format!("cannot read `{}`: {}", visible_line(&name), reason(&error)),
        file: Some(name.clone()),
    })?;
    if bytes.len() > MAX_FILE_BYTES {
        let limit = MAX_FILE_BYTES / (1024 * 1024);
        let finding = Diagnostic::new(&codes::text::FILE_TOO_LARGE, Span::at(0), "the file is too large for a plan")
            .expected(format!("at most {limit} MiB"), "more")
            .help("split it into several plans and join them with `use \"./other.plan\" as other`");
        return Ok(Loaded::Broken(FileReport::new(SourceFile::new(name, ""), vec![finding])));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Loaded::Text(SourceFile::new(name, text)),
        Err(error) => Loaded::Broken(not_utf8(name, &error)),
    })
}

impl PlanFile {
    /// The file at a path, or standard input for `-`.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        if path.as_os_str() == STDIN { Self::Stdin } else { Self::Path(tidy(path)) }
    }

    /// Where it is; `-` for standard input.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Stdin => Path::new(STDIN),
            Self::Path(path) => path,
        }
    }

    /// The name that reports show, with `/` between folders.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".to_owned(),
            Self::Path(path) => path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
        }
    }
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
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

fn walk(folder: &Path, found: &mut BTreeSet<PlanFile>, problems: &mut Vec<Problem>) {
    for entry in WalkBuilder::new(folder).require_git(false).build() {
        match entry {
            Ok(entry) => {
                // A link is followed when it is read; pipes and devices are no plans, whatever they are called.
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
                if is_file && is_plan(entry.path()) {
                    found.insert(PlanFile::Path(tidy(entry.path())));
                }
            }
            Err(error) => {
                problems.push(Problem { file: None, message: format!("cannot look into a folder: {error}") });
            }
        }
    }
}

/// Whether the name is one of a plan file, in either form.
pub(super) fn is_plan(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    ends(ENDING) || ends(TESTS) || name.ends_with(json::ENDING)
}

/// The path without `./` at its front, so that one file has one name.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

/// The bytes of a file. A pipe would wait for a writer and a device may never end, so they are not opened.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() && !is_stream(path) {
        return Err(io::Error::other("it is a pipe or a device; `-` reads from standard input"));
    }
    if kind.len() > MAX_FILE_BYTES as u64 {
        // One byte too many is all that has to be known.
        return Ok(vec![0; MAX_FILE_BYTES + 1]);
    }
    fs::File::open(path).and_then(read_bounded)
}

/// Whether a shell made the path from a stream of this process, as for `<(…)`.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|streams| path.starts_with(streams))
}

/// Everything that a reader has, up to one byte more than a plan may have.
fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_utf8(name: String, error: &std::string::FromUtf8Error) -> FileReport {
    let start = error.utf8_error().valid_up_to();
    let byte = error.as_bytes().get(start).copied().unwrap_or_default();
    let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
    // The text before the first bad byte is as it was, and the replacement character stands in its place.
    let span = Span::new(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
    let finding = Diagnostic::new(&codes::text::NOT_UTF8, span, format!("the byte 0x{byte:02x} here is not UTF-8"))
        .note("not UTF-8 from here")
        .help("save the file as UTF-8");
    FileReport::new(SourceFile::new(name, text), vec![finding])
}

fn cannot_open(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::Environment(format!("cannot open `{shown}`: {}", reason(error)));
    }
    let hint = neighbour(path).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
    Failure::Environment(format!("there is no file or folder `{shown}`{hint}"))
}

/// The path beside `path` whose name is nearest.
fn neighbour(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<_> =
        fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let near = closest(wanted, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// An error of the system in plain words, without its number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}
