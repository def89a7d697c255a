//! The snapshots of one test run: compares and stores them, and finds those that no test uses any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use parking_lot::Mutex;
use planrun_lang::diag::render::{Appearance, numbered_diff};
use planrun_lang::sema::test::SnapshotOf;
use planrun_tools::host::Host;

use super::file::{Parts, normal, same, written};
use super::folder::{Folder, PENDING, SNAPSHOTS};
use super::metadata::Metadata;
use super::name::{self, Named};
use super::pending::own_name;
use super::{Mode, SnapshotError};

/// The snapshots of one test run. Tests may be settled from several threads.
pub struct Store<'h> {
    host: &'h dyn Host,
    /// The folder to which `source` in the files is relative.
    root: PathBuf,
    mode: Mode,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    plans: Vec<Opened>,
    /// By path in lower case, since some file systems ignore case.
    settled: BTreeMap<String, Earlier>,
}

/// A plan file of this run.
struct Opened {
    folder: Folder,
    part: String,
    /// The name parts of its tests.
    tests: BTreeSet<String>,
    /// The name parts of the tests that were completed.
    finished: BTreeSet<String>,
}

struct Earlier {
    /// The test and the file, for messages.
    of: String,
    /// `None` if the comparison failed.
    settled: Option<Settled>,
}

/// The snapshots of one plan file.
pub struct FileSnapshots<'s> {
    store: &'s Store<'s>,
    /// Index of the plan file in the state.
    index: usize,
    plan_file: PathBuf,
    folder: Folder,
    part: String,
    source: String,
    tests: BTreeMap<String, String>,
}

/// Identifies a snapshot of a plan file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place<'a> {
    /// The name of the test as written in the file.
    pub test: &'a str,
    /// Number of its row, from 1; `None` if there is only one.
    pub row: Option<usize>,
    pub kind: SnapshotOf,
    /// Line of the statement, from 1.
    pub line: u32,
}

/// The result of comparing a text with the stored snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Same,
    /// No snapshot is stored.
    New,
    /// Another text is stored, or was settled earlier in this run.
    Differs {
        old: String,
    },
}

/// The file that was written for a text that differs from the stored one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Nothing was written.
    No,
    /// It was written as `.snap.new`.
    Pending,
    /// It was written as the snapshot.
    Accepted,
}

/// The outcome of settling a snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// Path of the `.snap` file, whether or not it exists.
    pub path: PathBuf,
    pub verdict: Verdict,
    pub kept: Kept,
    /// The text that was compared, normalized.
    pub new: String,
}

/// A snapshot of a plan file that has no tests any more.
#[derive(Clone, Debug)]
pub struct LeftBehind {
    pub path: PathBuf,
    folder: Folder,
}

impl<'h> Store<'h> {
    /// Returns a store that writes snapshots according to `mode`. `root` is the folder of the project, to which the
    /// paths of plans in snapshot files are relative.
    #[must_use]
    pub fn new(host: &'h dyn Host, root: &Path, mode: Mode) -> Self {
        Self {
            host,
            root: root.to_owned(),
            mode,
            state: Mutex::default(),
        }
    }

    /// Opens the snapshots of a plan file. `tests` are the names of all its tests, including those that are not run
    /// now: file names depend on all of them, and snapshots of tests that did not run are never unreferenced.
    ///
    /// # Errors
    /// Returns an error if another file of this run would have snapshots of the same names.
    pub fn open<'a>(
        &self,
        plan_file: &Path,
        tests: impl IntoIterator<Item = &'a str>,
    ) -> Result<FileSnapshots<'_>, SnapshotError> {
        let (folder, part) = (
            Folder::next_to(plan_file, SNAPSHOTS),
            name::plan_part(plan_file),
        );
        let tests = name::test_parts(tests);
        let mut state = self.state.lock();
        let clash = |opened: &&Opened| {
            opened.folder == folder && opened.part.to_lowercase() == part.to_lowercase()
        };
        if let Some(other) = state.plans.iter().find(clash) {
            let (first, second) = (
                format!("`{}`", other.part),
                format!("`{}`", plan_file.display()),
            );
            return Err(SnapshotError::Clash {
                path: folder.snapshot(&part),
                first,
                second,
            });
        }
        let opened = Opened {
            folder: folder.clone(),
            part: part.clone(),
            tests: tests.values().cloned().collect(),
            finished: BTreeSet::new(),
        };
        state.plans.push(opened);
        let index = state.plans.len() - 1;
        drop(state);
        let source = self.source(plan_file);
        Ok(FileSnapshots {
            store: self,
            index,
            plan_file: plan_file.to_owned(),
            folder,
            part,
            source,
            tests,
        })
    }

    /// Returns snapshots of the opened plan files that no test uses any more, ordered by path: those of removed
    /// tests, and those that a completed test did not settle. Pending snapshots are included.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read or is outside the folder of the plan.
    pub fn unreferenced(&self) -> Result<Vec<PathBuf>, SnapshotError> {
        Ok(self.stray()?.into_iter().map(|(_, path)| path).collect())
    }

    /// Removes the files that [`Store::unreferenced`] returns, whatever the mode, because it is only called on
    /// request.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read, or if a file cannot be removed.
    pub fn remove_unreferenced(&self) -> Result<Vec<PathBuf>, SnapshotError> {
        let stray = self.stray()?;
        for (folder, path) in &stray {
            folder.remove(self.host, path)?;
        }
        Ok(stray.into_iter().map(|(_, path)| path).collect())
    }

    fn stray(&self) -> Result<BTreeSet<(Folder, PathBuf)>, SnapshotError> {
        let state = self.state.lock();
        let mut stray = BTreeSet::new();
        let folders: BTreeSet<&Folder> = state.plans.iter().map(|opened| &opened.folder).collect();
        for folder in folders {
            for path in folder.list(self.host)? {
                let Some(name) = own_name(&path, "").or_else(|| own_name(&path, PENDING)) else {
                    continue;
                };
                let named = state.settled.contains_key(&key(&folder.snapshot(name)));
                // If both `a` and `a__b` match, the longer one is the owner.
                let of = state.plans.iter().filter(|opened| opened.folder == *folder);
                let of = of.filter_map(|opened| Some((opened, name::split(name, &opened.part)?)));
                let owner = of.max_by_key(|(opened, _)| opened.part.len());
                let gone = owner.is_some_and(|(opened, named)| {
                    !opened.tests.contains(named.test) || opened.finished.contains(named.test)
                });
                if gone && !named {
                    stray.insert((folder.clone(), path));
                }
            }
        }
        Ok(stray)
    }

    /// Returns the path relative to the root, in the form that insta writes.
    fn source(&self, plan_file: &Path) -> String {
        let real = |path: &Path| {
            let path = if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                path
            };
            self.host
                .canonical(path)
                .unwrap_or_else(|_| path.to_owned())
        };
        let (file, root) = (real(plan_file), real(&self.root));
        let common = file
            .components()
            .zip(root.components())
            .take_while(|(one, other)| one == other)
            .count();
        let up = root.components().skip(common).map(|_| Component::ParentDir);
        let parts = up
            .chain(file.components().skip(common))
            .map(|part| part.as_os_str().to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    }
}

impl FileSnapshots<'_> {
    /// Compares a text with the stored snapshot, and writes it according to the mode. A test that runs several times
    /// must give the same text each time: later texts are compared with the first, and only the first is written.
    ///
    /// # Errors
    /// Returns an error if the snapshot cannot be read or written, if it is outside its folder, or if another test
    /// has the same file.
    pub fn settle(&self, place: &Place<'_>, content: &str) -> Result<Settled, SnapshotError> {
        let name = self.name(place);
        let (path, new) = (self.folder.snapshot(&name), normal(content));
        let mut state = self.store.state.lock();
        let of = self.description(place);
        let earlier = state.settled.entry(key(&path)).or_insert_with(|| Earlier {
            of: of.clone(),
            settled: None,
        });
        if earlier.of != of {
            return Err(SnapshotError::Clash {
                path,
                first: earlier.of.clone(),
                second: of,
            });
        }
        match &earlier.settled {
            Some(first) if same(&first.new, &new) => return Ok(first.clone()),
            Some(first) => {
                let verdict = Verdict::Differs {
                    old: first.new.clone(),
                };
                return Ok(Settled {
                    path,
                    verdict,
                    kept: Kept::No,
                    new,
                });
            }
            None => {}
        }
        let verdict = self.compare(&path, &new)?;
        let kept = self.keep(&name, place, &verdict, &new)?;
        let settled = Settled {
            path,
            verdict,
            kept,
            new,
        };
        earlier.settled = Some(settled.clone());
        Ok(settled)
    }

    /// Records that a test was completed in all its rows: its snapshots that were not settled are unreferenced.
    pub fn finished(&self, test: &str) {
        let mut state = self.store.state.lock();
        if let (Some(part), Some(opened)) = (self.tests.get(test), state.plans.get_mut(self.index))
        {
            opened.finished.insert(part.clone());
        }
    }

    /// Returns the path of the `.snap` file of a snapshot, whether or not it exists.
    #[must_use]
    pub fn path(&self, place: &Place<'_>) -> PathBuf {
        self.folder.snapshot(&self.name(place))
    }

    fn name(&self, place: &Place<'_>) -> String {
        // A test that was not given to `open` gets the name that it would have as the only test.
        let alone = || {
            name::test_parts([place.test])
                .into_values()
                .next()
                .unwrap_or_default()
        };
        let test = self.tests.get(place.test).cloned().unwrap_or_else(alone);
        name::join(
            &self.part,
            Named {
                test: &test,
                row: place.row,
                kind: place.kind,
            },
        )
    }

    fn compare(&self, path: &Path, new: &str) -> Result<Verdict, SnapshotError> {
        let unreadable = |why| SnapshotError::Unreadable {
            path: path.to_owned(),
            why,
        };
        let stored = self.folder.read(self.store.host, path).and_then(|text| {
            let parts = text.as_deref().map(Parts::of);
            if parts.as_ref().is_some_and(Parts::is_binary) {
                return Err(unreadable("is not text"));
            }
            Ok(parts.map(|parts| parts.content))
        });
        match stored {
            Ok(None) => Ok(Verdict::New),
            Ok(Some(old)) if same(&old, new) => Ok(Verdict::Same),
            Ok(Some(old)) => Ok(Verdict::Differs { old }),
            Err(SnapshotError::Unreadable { .. }) if self.store.mode.replaces() => {
                Ok(Verdict::Differs { old: String::new() })
            }
            Err(error) => Err(error),
        }
    }

    fn keep(
        &self,
        name: &str,
        place: &Place<'_>,
        verdict: &Verdict,
        new: &str,
    ) -> Result<Kept, SnapshotError> {
        let (host, mode) = (self.store.host, self.store.mode);
        let (snapshot, pending) = (self.folder.snapshot(name), self.folder.pending(name));
        let kept = match (verdict, mode) {
            (_, Mode::Check) | (Verdict::Same, Mode::Pending | Mode::Unseen | Mode::Accept) => {
                Kept::No
            }
            (Verdict::New | Verdict::Differs { .. }, Mode::Pending)
            | (Verdict::Differs { .. }, Mode::Unseen) => Kept::Pending,
            (Verdict::New, Mode::Unseen | Mode::Accept)
            | (Verdict::Differs { .. }, Mode::Accept)
            | (_, Mode::Force) => Kept::Accepted,
        };
        match kept {
            Kept::Pending => {
                self.folder
                    .write(host, &pending, &written(&self.metadata(place, true), new))?;
            }
            Kept::Accepted => {
                self.folder
                    .write(host, &snapshot, &written(&self.metadata(place, false), new))?;
                self.folder.remove(host, &pending)?;
            }
            // The pending snapshot is obsolete.
            Kept::No if mode.writes() => self.folder.remove(host, &pending)?,
            Kept::No => {}
        }
        Ok(kept)
    }

    fn metadata(&self, place: &Place<'_>, waits: bool) -> Metadata {
        let row = place
            .row
            .map(|row| format!(", row {row}"))
            .unwrap_or_default();
        Metadata {
            source: Some(self.source.clone()),
            assertion_line: waits.then_some(place.line),
            description: Some(format!("{}{row}", place.test)),
            expression: Some(format!("snapshot {}", place.kind.name())),
            ..Metadata::default()
        }
    }

    fn description(&self, place: &Place<'_>) -> String {
        let row = place
            .row
            .map(|row| format!(", row {row}"))
            .unwrap_or_default();
        format!(
            "test {:?}{row} in `{}`",
            place.test,
            self.plan_file.display()
        )
    }
}

impl Settled {
    /// Returns true if the snapshot lets the test pass: the text is unchanged, or was accepted.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.verdict == Verdict::Same || self.kept == Kept::Accepted
    }

    /// Formats the differences; for a new snapshot, the whole text.
    #[must_use]
    pub fn difference(&self, appearance: Appearance) -> String {
        match &self.verdict {
            Verdict::Same => String::new(),
            Verdict::New => numbered_diff("", &self.new, appearance),
            Verdict::Differs { old } => numbered_diff(old, &self.new, appearance),
        }
    }
}

/// Returns the snapshots next to the plan files of a folder whose own plan file has no tests any more, ordered by path.
/// `has_tests` decides about a plan file, which need not exist. Pending snapshots are included.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn left_behind(
    host: &dyn Host,
    around: &Path,
    has_tests: &dyn Fn(&Path) -> bool,
) -> Result<Vec<LeftBehind>, SnapshotError> {
    let folder = Folder::next_to(&around.join(SNAPSHOTS), SNAPSHOTS);
    let paths = match folder.list(host) {
        // Another folder, which is not that of these plan files.
        Err(SnapshotError::Outside { .. }) => Vec::new(),
        paths => paths?,
    };
    let mut found = Vec::new();
    for path in paths {
        let Some(name) = own_name(&path, "").or_else(|| own_name(&path, PENDING)) else {
            continue;
        };
        // Other programs keep snapshots in folders of this name, too.
        if !name::may_be_own(name) {
            continue;
        }
        let text = match folder.read(host, &path) {
            Err(SnapshotError::Outside { .. } | SnapshotError::Unreadable { .. }) => None,
            text => text?,
        };
        let source = text.and_then(|text| Parts::of(&text).metadata.source);
        let file = source
            .as_deref()
            .and_then(|source| source.rsplit('/').next());
        let is_left = file.is_some_and(|file| {
            let plan_file = around.join(file);
            name::split(name, &name::plan_part(&plan_file)).is_some() && !has_tests(&plan_file)
        });
        if is_left {
            let folder = folder.clone();
            found.push(LeftBehind { path, folder });
        }
    }
    Ok(found)
}

impl LeftBehind {
    /// Removes the file.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn remove(&self, host: &dyn Host) -> Result<(), SnapshotError> {
        self.folder.remove(host, &self.path)
    }
}

fn key(path: &Path) -> String {
    path.to_string_lossy().to_lowercase()
}
