//! A host whose files are those of a revision of git, read from its store and never written to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planrun_lang::permission::PathResolver;

use super::{FileKind, Host};

/// How many links lead from one to the next at most.
const MAX_LINKS: usize = 16;

/// Files as they were. What lies outside of the repository has no history and is read as it is.
pub struct Revision {
    inner: Arc<dyn Host>,
    /// The folder of the repository, and the one that relative paths begin at; without links.
    root: PathBuf,
    here: PathBuf,
    commit: String,
    /// By their paths in the repository.
    files: BTreeMap<PathBuf, Entry>,
    folders: BTreeSet<PathBuf>,
    store: Mutex<Store>,
}

/// A revision that cannot be read, in one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    #[error("there is no program `git` here; install it, then try `git --version`")]
    NoGit,
    #[error(
        "`{0}` is in no git repository, so nothing is known of what it was; try `git -C {0} status`"
    )]
    NoRepository(String),
    #[error(
        "there is no revision `{0}` here; `git branch --all` and `git tag` list what there is, `git fetch origin {0}` \
         gets what a shallow clone lacks"
    )]
    Unknown(String),
    #[error("git says: {0}; try `git status`")]
    Failed(String),
}

#[derive(Clone, Debug)]
struct Entry {
    /// The name of its content.
    id: String,
    is_link: bool,
}

/// The process that hands out contents by their names.
struct Store {
    process: Child,
    /// Closed before the process is awaited.
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Revision {
    /// The repository around a folder as it was at a revision.
    ///
    /// # Errors
    /// When there is no git, no repository or no such revision.
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
        let top = git(folder, &["rev-parse", "--show-toplevel"])?.map_err(|told| {
            let absent = told.contains("not a git repository");
            let shown = folder.display().to_string();
            if absent {
                RevisionError::NoRepository(shown)
            } else {
                RevisionError::Failed(told)
            }
        })?;
        let place = |error: io::Error| RevisionError::Failed(error.to_string());
        let root = inner
            .canonical(Path::new(text(&top).trim_end_matches('\n')))
            .map_err(place)?;
        let here = inner.canonical(Path::new(".")).map_err(place)?;
        // Behind `--end-of-options` nothing that a user names is read as a flag.
        let meant = format!("{revision}^{{commit}}");
        let found = git(
            &root,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &meant,
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

    /// The name of the commit.
    #[must_use]
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Whether a path lies in the repository.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        self.inside(path).is_some()
    }

    /// The file at a path, or every file below it, by paths that begin as that one does.
    #[must_use]
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

    /// The path within the repository; `None` for what lies outside of it.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let path = plain(&self.here.join(path));
        if let Ok(inside) = path.strip_prefix(&self.root) {
            return Some(inside.to_owned());
        }
        // A link may lead into it. What was there then need not be there now.
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

    /// The path that a path leads to, links of files followed.
    fn resolved(&self, mut path: PathBuf) -> io::Result<PathBuf> {
        for _ in 0..MAX_LINKS {
            let Some(entry) = self.files.get(&path).filter(|entry| entry.is_link) else {
                return Ok(path);
            };
            let target = String::from_utf8(self.content(&entry.id, u64::MAX)?)
                .map_err(|_| io::ErrorKind::NotFound)?;
            path = plain(&path.parent().unwrap_or(Path::new("")).join(target));
        }
        Err(io::Error::other("links lead in a circle"))
    }

    fn content(&self, id: &str, most: u64) -> io::Result<Vec<u8>> {
        self.store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .content(id, most)
    }

    fn read_only<T>() -> io::Result<T> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
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

impl Host for Revision {
    fn now(&self) -> i128 {
        self.inner.now()
    }

    fn monotonic(&self) -> Duration {
        self.inner.monotonic()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.inner.variable(name)
    }

    fn random(&self) -> u64 {
        self.inner.random()
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.read_bounded(path, u64::MAX)
    }

    fn read_bounded(&self, path: &Path, most: u64) -> io::Result<String> {
        let Some(inside) = self.inside(path) else {
            return self.inner.read_bounded(path, most);
        };
        let inside = self.resolved(inside)?;
        if self.folders.contains(&inside) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let entry = self.files.get(&inside).ok_or(io::ErrorKind::NotFound)?;
        String::from_utf8(self.content(&entry.id, most)?)
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

    fn write_file(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Self::read_only()
    }

    fn write_private_file(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Self::read_only()
    }

    fn append_file(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Self::read_only()
    }

    fn remove_file(&self, _: &Path) -> io::Result<()> {
        Self::read_only()
    }

    fn make_folder(&self, _: &Path) -> io::Result<()> {
        Self::read_only()
    }

    fn make_private_folder(&self, _: &Path) -> io::Result<()> {
        Self::read_only()
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
            (asks, Some(answers)) => Ok(Self {
                process,
                asks,
                answers: BufReader::new(answers),
            }),
            (_, None) => Err(RevisionError::Failed("it does not answer".to_owned())),
        }
    }

    /// The content of this name; an error of kind `FileTooLarge` where it has more than `most` bytes.
    fn content(&mut self, id: &str, most: u64) -> io::Result<Vec<u8>> {
        let asks = self.asks.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(asks, "{id}")?;
        asks.flush()?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        // `NAME blob SIZE`, or `NAME missing` where a partial clone has not got it.
        let size = head
            .trim_end()
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or_else(|| {
            io::Error::other("this clone lacks it; `git fetch --refetch origin` gets it")
        })?;
        let mut content = Vec::new();
        let mut answer = self.answers.by_ref().take(size.saturating_add(1));
        if size > most {
            io::copy(&mut answer, &mut io::sink())?;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        answer.read_to_end(&mut content)?;
        // The line break behind it.
        content.pop();
        Ok(content)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // It ends when nobody asks any more.
        self.asks = None;
        let _ = self.process.wait();
    }
}

/// What git prints, or the sentence with which it refuses.
fn git(folder: &Path, arguments: &[&str]) -> Result<Result<Vec<u8>, String>, RevisionError> {
    let output = command(folder, arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    let output = output.map_err(cannot_start)?;
    if output.status.success() {
        return Ok(Ok(output.stdout));
    }
    let told = text(&output.stderr);
    let sentence = told
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("nothing");
    Ok(Err(sentence.trim_start_matches("fatal: ").to_owned()))
}

/// Git in a folder, that asks nobody and fetches nothing, and speaks the language in which it is understood.
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
    reason = "it is the last that is heard of the error"
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

/// The entries of `ls-tree -r -z`: `MODE TYPE NAME\tPATH`, each behind a zero byte. Those of submodules are no files, and a
/// path that is no text is none that a plan could name.
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

/// The path without `.` and `..`, by name alone.
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
