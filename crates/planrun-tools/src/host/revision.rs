//! A host that serves the files of a git revision. They are read from the object store and never written to disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::permission::PathResolver;
use planrun_lang::source::MAX_FILE_BYTES;

use super::{FileKind, Host, forward};

/// Maximum number of symbolic links that are followed for one path.
const MAX_LINKS: usize = 16;
/// Maximum size of the target of a symbolic link, in bytes.
const MAX_TARGET_BYTES: u64 = 4096;
/// Maximum size of the list of files of a revision, in bytes: about a million files.
const MAX_LIST_BYTES: u64 = 128 * 1024 * 1024;
/// Maximum size of an error message of git, in bytes.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

/// The files of a revision. Paths outside of the repository have no history and are read from the inner host.
pub struct Revision {
    inner: Arc<dyn Host>,
    /// The canonical paths of the repository root and of the folder that relative paths start from.
    root: PathBuf,
    here: PathBuf,
    commit: String,
    /// By path relative to the repository root.
    files: BTreeMap<PathBuf, Entry>,
    folders: BTreeSet<PathBuf>,
    store: Mutex<Store>,
}

/// Why a revision cannot be read, as one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    #[error("the program `git` was not found; install it, then try `git --version`")]
    NoGit,
    #[error("`{0}` is not in a git repository, so its history is unknown; try `git -C {0} status`")]
    NoRepository(String),
    #[error(
        "there is no revision `{0}`; list revisions with `git branch --all` and `git tag`, or fetch what a shallow \
         clone lacks with `git fetch origin {0}`"
    )]
    Unknown(String),
    #[error("git failed: {0}; try `git status`")]
    Failed(String),
}

#[derive(Clone, Debug)]
struct Entry {
    /// The object id of the content.
    id: String,
    is_link: bool,
}

/// The `git cat-file` process that returns the content of objects.
struct Store {
    process: Child,
    /// Taken and closed before the process is awaited.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Revision {
    /// Opens the repository that contains `folder`, as it was at `revision`. Returns an error if git is not installed
    /// or fails, or if there is no such repository or revision.
    pub fn open(
        inner: Arc<dyn Host>,
        folder: &Path,
        revision: &str,
    ) -> Result<Self, RevisionError> {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let top = git(folder, &["rev-parse", "--show-toplevel"])?.map_err(|message| {
            let absent = message.contains("not a git repository");
            let path = folder.display().to_string();
            if absent {
                RevisionError::NoRepository(path)
            } else {
                RevisionError::Failed(message)
            }
        })?;
        let failed = |error: io::Error| RevisionError::Failed(error.to_string());
        let root = inner
            .canonical(Path::new(text(&top).trim_end_matches('\n')))
            .map_err(failed)?;
        let here = inner.canonical(Path::new(".")).map_err(failed)?;
        // After `--end-of-options`, git never parses the user's revision as a flag.
        let specification = format!("{revision}^{{commit}}");
        let found = git(
            &root,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &specification,
            ],
        )?;
        let commit = found.map_err(|_| RevisionError::Unknown(revision.to_owned()))?;
        let commit = text(&commit).trim().to_owned();
        let listed = git(&root, &["ls-tree", "-r", "-z", "--full-tree", &commit])?
            .map_err(RevisionError::Failed)?;
        let files = entries(&listed);
        let folders = files
            .keys()
            .flat_map(|file| file.ancestors().skip(1))
            .map(Path::to_owned)
            .collect();
        let store = Mutex::new(Store::open(&root)?);
        Ok(Self {
            inner,
            root,
            here,
            commit,
            files,
            folders,
            store,
        })
    }

    /// The id of the commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Reports whether a path is inside the repository.
    pub fn holds(&self, path: &Path) -> bool {
        self.inside(path).is_some()
    }

    /// Returns the file at a path, or all files below it. Their paths start with the given path.
    pub fn below(&self, path: &Path) -> Vec<PathBuf> {
        let Some(inside) = self.inside(path) else {
            return Vec::new();
        };
        let rest = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(&inside).ok());
        rest.map(|rest| {
            if rest.as_os_str().is_empty() {
                path.to_owned()
            } else {
                path.join(rest)
            }
        })
        .collect()
    }

    /// Returns the path relative to the repository root; `None` if it is outside of the repository.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let path = plain(&self.here.join(path));
        if let Ok(inside) = path.strip_prefix(&self.root) {
            return Some(inside.to_owned());
        }
        // A symbolic link outside may point into the repository. The target at the revision need not exist now, so the
        // nearest existing ancestor is resolved.
        path.ancestors().find_map(|ancestor| {
            let known = self.inner.canonical(ancestor).ok()?;
            let rest = path.strip_prefix(ancestor).ok()?;
            known
                .join(rest)
                .strip_prefix(&self.root)
                .ok()
                .map(Path::to_owned)
        })
    }

    /// Follows symbolic links of files and returns the final path.
    fn resolved(&self, mut path: PathBuf) -> io::Result<PathBuf> {
        for _ in 0..MAX_LINKS {
            let Some(entry) = self.files.get(&path).filter(|entry| entry.is_link) else {
                return Ok(path);
            };
            let target = String::from_utf8(self.content(&entry.id, MAX_TARGET_BYTES)?)
                .map_err(|_| io::ErrorKind::NotFound)?;
            path = plain(&path.parent().unwrap_or(Path::new("")).join(target));
        }
        Err(io::Error::other("the symbolic links form a cycle"))
    }

    fn content(&self, id: &str, max: u64) -> io::Result<Vec<u8>> {
        self.store.lock().content(id, max)
    }
}

impl PathResolver for Revision {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let Some(inside) = self.inside(path) else {
            return self.inner.canonical(path);
        };
        self.kind(path)?;
        Ok(self.root.join(self.resolved(inside)?))
    }
}

/// Refuses methods that would change files.
macro_rules! read_only {
    ($(fn $name:ident($($argument:ty),*);)*) => {
        $(fn $name(&self, $(_: $argument),*) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        })*
    };
}

impl Host for Revision {
    forward! { inner:
        fn now() -> i128;
        fn monotonic() -> Duration;
        fn variable(name: &str) -> Option<String>;
        fn random() -> u64;
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.read_bounded(path, MAX_FILE_BYTES as u64)
    }

    fn read_bounded(&self, path: &Path, max: u64) -> io::Result<String> {
        let Some(inside) = self.inside(path) else {
            return self.inner.read_bounded(path, max);
        };
        let inside = self.resolved(inside)?;
        if self.folders.contains(&inside) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let entry = self.files.get(&inside).ok_or(io::ErrorKind::NotFound)?;
        String::from_utf8(self.content(&entry.id, max)?)
            .map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        let Some(inside) = self.inside(path) else {
            return self.inner.kind(path);
        };
        let inside = self.resolved(inside)?;
        match (
            self.files.contains_key(&inside),
            self.folders.contains(&inside),
        ) {
            (true, _) => Ok(FileKind::File),
            (false, true) => Ok(FileKind::Folder),
            (false, false) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    read_only! {
        fn write_file(&Path, &[u8]);
        fn write_private_file(&Path, &[u8]);
        fn append_file(&Path, &[u8]);
        fn remove_file(&Path);
        fn make_folder(&Path);
        fn make_private_folder(&Path);
    }

    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(inside) = self.inside(path) else {
            return self.inner.list_folder(path);
        };
        if self.kind(path)? == FileKind::File {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let inside = self.resolved(inside)?;
        let names = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(&inside).ok()?.components().next());
        let names = names.map(|name| path.join(name)).collect::<BTreeSet<_>>();
        Ok(names.into_iter().collect())
    }
}

impl Store {
    fn open(root: &Path) -> Result<Self, RevisionError> {
        let mut command = command(root, &["cat-file", "--batch"]);
        let mut process = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(cannot_start)?;
        match (process.stdin.take(), process.stdout.take()) {
            (stdin, Some(stdout)) => Ok(Self {
                process,
                stdin,
                stdout: BufReader::new(stdout),
            }),
            (_, None) => Err(RevisionError::Failed("it does not answer".to_owned())),
        }
    }

    /// Returns the content of an object. Fails with the kind `FileTooLarge` if it has more than `max` bytes.
    fn content(&mut self, id: &str, max: u64) -> io::Result<Vec<u8>> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{id}")?;
        stdin.flush()?;
        let mut head = String::new();
        self.stdout.read_line(&mut head)?;
        // `NAME blob SIZE`, or `NAME missing` if a partial clone does not have the object.
        let size = head
            .trim_end()
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or_else(|| {
            io::Error::other("this clone lacks it; fetch it with `git fetch --refetch origin`")
        })?;
        let mut content = Vec::new();
        let mut answer = self.stdout.by_ref().take(size.saturating_add(1));
        if size > max {
            io::copy(&mut answer, &mut io::sink())?;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        answer.read_to_end(&mut content)?;
        // git writes a line break after the content.
        content.pop();
        Ok(content)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // git exits when its standard input is closed.
        self.stdin = None;
        let _ = self.process.wait();
    }
}

/// Runs git and returns its output, or the first line of its error message if it fails.
fn git(folder: &Path, arguments: &[&str]) -> Result<Result<Vec<u8>, String>, RevisionError> {
    let mut process = command(folder, arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot_start)?;
    let errors = process.stderr.take();
    let errors = std::thread::spawn(move || read_part(errors, MAX_MESSAGE_BYTES));
    let output = read_part(process.stdout.take(), MAX_LIST_BYTES);
    let failed = |problem: io::Error| RevisionError::Failed(problem.to_string());
    let status = process.wait().map_err(failed)?;
    let (output, is_whole) = output.map_err(failed)?;
    if status.success() {
        if !is_whole {
            let message = format!("its output has more than {MAX_LIST_BYTES} bytes");
            return Err(RevisionError::Failed(message));
        }
        return Ok(Ok(output));
    }
    let message = errors.join().ok().and_then(Result::ok);
    let message = text(&message.unwrap_or_default().0);
    let sentence = message
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("nothing");
    Ok(Err(sentence.trim_start_matches("fatal: ").to_owned()))
}

/// Reads at most `max` bytes of a stream and skips the rest, so that its writer does not wait. Returns whether that is
/// all of it.
fn read_part(stream: Option<impl Read>, max: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut part = Vec::new();
    let Some(mut stream) = stream else {
        return Ok((part, true));
    };
    stream.by_ref().take(max).read_to_end(&mut part)?;
    let skipped = io::copy(&mut stream, &mut io::sink())?;
    Ok((part, skipped == 0))
}

/// A git command in a folder. It never prompts and never fetches, and its messages are in English so that they can be
/// matched.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdout(Stdio::piped());
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0");
    command
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1");
    command
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes the error by value"
)]
fn cannot_start(error: io::Error) -> RevisionError {
    match error.kind() {
        io::ErrorKind::NotFound => RevisionError::NoGit,
        _ => RevisionError::Failed(format!("it cannot be started: {error}")),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses the output of `ls-tree -r -z`: `MODE TYPE NAME\tPATH` entries, each terminated by a zero byte. Submodules are
/// not files and are skipped, and so are paths that are not UTF-8, which a plan cannot name.
fn entries(listed: &[u8]) -> BTreeMap<PathBuf, Entry> {
    let lines = listed
        .split(|byte| *byte == 0)
        .filter_map(|line| std::str::from_utf8(line).ok());
    let entry = |line: &str| {
        let (head, path) = line.split_once('\t')?;
        let [mode, kind, id] = head.split(' ').collect::<Vec<_>>().try_into().ok()?;
        (kind == "blob").then(|| {
            (
                PathBuf::from(path),
                Entry {
                    id: id.to_owned(),
                    is_link: mode == "120000",
                },
            )
        })
    };
    lines.filter_map(entry).collect()
}

/// Removes `.` and `..` from a path lexically.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part @ (Component::Normal(_) | Component::RootDir | Component::Prefix(_)) => {
                plain.push(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::RealHost;

    #[test]
    fn a_part_of_a_stream_is_kept_and_the_rest_is_skipped() {
        let read = |max| read_part(Some(&b"abcd"[..]), max).unwrap();
        assert_eq!(read(3), (b"abc".to_vec(), false));
        assert_eq!(read(4), (b"abcd".to_vec(), true));
        assert_eq!(read(5), (b"abcd".to_vec(), true));
        let nothing = None::<&[u8]>;
        assert_eq!(read_part(nothing, 1).unwrap(), (Vec::new(), true));
    }

    #[test]
    fn files_of_a_revision_have_the_limit_of_other_files() {
        let place = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            let status = Command::new("git")
                .current_dir(place.path())
                .args(identity)
                .args(arguments)
                .stdout(Stdio::null())
                .status();
            assert!(status.unwrap().success(), "{arguments:?}");
        };
        for (name, bytes) in [("fits", MAX_FILE_BYTES), ("too-large", MAX_FILE_BYTES + 1)] {
            std::fs::write(place.path().join(name), "x".repeat(bytes)).unwrap();
        }
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "a"]);
        let revision = Revision::open(Arc::new(RealHost), place.path(), "HEAD").unwrap();
        let read = |name: &str| revision.read_file(&place.path().join(name));
        assert_eq!(read("fits").unwrap().len(), MAX_FILE_BYTES);
        let error = read("too-large").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
