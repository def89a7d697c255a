//! Finds and reads the plan files that a command works on.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::WalkBuilder;
use planrun_lang::diag::closest;
use planrun_lang::diag::render::{Problem, human, visible_line};
use planrun_lang::syntax::json;

use super::{Failure, Result, Terminal};
use planrun_runs::runs::{CheckedPlan, Choice, Error, PlanText, Workspace, file_name, tidy};

/// Suffix of plan files; those in the JSON form end in [`json::ENDING`].
const ENDING: &str = ".plan";
/// Suffix of files that contain only tests.
const TESTS: &str = ".plantest";
/// The path that means standard input.
const STDIN: &str = "-";
/// The name of standard input in reports.
pub const STDIN_NAME: &str = "<stdin>";

/// The source of a plan's text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlanFile {
    Stdin,
    Path(PathBuf),
}

/// The plan files found for a set of paths.
#[derive(Debug, Default)]
pub struct PlanFiles {
    /// In path order, each file once.
    pub files: Vec<PlanFile>,
    /// The folders that were searched, the current one as an empty path.
    pub folders: BTreeSet<PathBuf>,
    /// Folders that could not be read.
    pub problems: Vec<Problem>,
}

/// Returns the plan files that the paths name: a file as it is, a folder with every `*.plan`, `*.plan.json` and
/// `*.plantest` below it that git does not ignore, and `-` for standard input. Returns an error if a path does not
/// exist.
pub fn find(paths: &[PathBuf]) -> Result<PlanFiles> {
    let mut found = PlanFiles::default();
    for path in paths {
        let kind = if path.as_os_str() == STDIN {
            None
        } else {
            Some(fs::metadata(path).map_err(|error| cannot_open(path, &error))?)
        };
        if kind.is_some_and(|kind| kind.is_dir()) {
            walk(path, &mut found);
        } else {
            found.files.push(PlanFile::of(path));
        }
    }
    if paths.len() > 1 {
        let mut known = BTreeSet::new();
        found.files.retain(|file| known.insert(file.identity()));
    }
    found.files.sort();
    Ok(found)
}

/// Returns the paths of a command for a message.
pub(super) fn listed(paths: &[PathBuf]) -> String {
    let displayed = paths.iter().map(|path| format!("`{}`", path.display()));
    displayed.collect::<Vec<_>>().join(", ")
}

/// Reads one plan. Bytes that are not a plan text are a diagnostic, not an error. Returns an error if the file cannot
/// be read.
pub fn load(file: &PlanFile) -> Result<PlanText, Problem> {
    let text = match file {
        PlanFile::Stdin => PlanText::from_reader(file.name(), io::stdin().lock()),
        PlanFile::Path(path) => PlanText::from_file(path),
    };
    text.map_err(|error| {
        let near = match file {
            // A link whose file is missing has the right name.
            PlanFile::Path(path) if path.symlink_metadata().is_err() => did_you_mean(path),
            PlanFile::Path(_) | PlanFile::Stdin => String::new(),
        };
        let name = file.name();
        let shown = visible_line(&name);
        Problem {
            message: format!("cannot read `{shown}`: {}{near}", reason(&error)),
            file: Some(name),
        }
    })
}

/// Reads and checks the plan of a command, and prints the diagnostics. Returns `None` if there are errors, including
/// those in the project's own files. Returns an error if the file cannot be read, or has no such plan.
pub fn checked_plan(
    workspace: &Arc<Workspace>,
    path: &Path,
    name: Option<&str>,
    terminal: Terminal,
) -> Result<Option<CheckedPlan>> {
    let source = match load(&PlanFile::of(path))? {
        PlanText::Text(source) => source,
        PlanText::Broken(report) => {
            terminal.eprint(&human(&[report], terminal.style));
            return Ok(None);
        }
    };
    let checked = workspace.clone().checked(source);
    if checked
        .project_findings()
        .iter()
        .any(|file| !file.diagnostics.is_empty())
    {
        terminal.eprint(&human(checked.project_findings(), terminal.style));
    }
    let Choice { report, plan } = checked
        .choose(name)
        .map_err(|error| not_chosen(path, error))?;
    if !report.diagnostics.is_empty() {
        terminal.eprint(&human(&[report], terminal.style));
    }
    Ok(plan)
}

/// Describes why no plan of a file was selected.
fn not_chosen(path: &Path, error: Error) -> Failure {
    let Error::PlanChoice { requested, plans } = error else {
        return error.into();
    };
    let names = plans
        .iter()
        .map(|plan| format!("`{plan}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let display = path.display();
    Failure::Usage(match (requested, plans.is_empty()) {
        (Some(requested), empty) => {
            let known = if empty { "no plans" } else { &names };
            format!("`{display}` has no plan `{requested}`; it has {known}")
        }
        (None, true) => format!("`{display}` has no plan"),
        (None, false) => {
            format!("`{display}` has several plans: {names}; choose one with `--plan NAME`")
        }
    })
}

impl PlanFile {
    /// Returns the file at a path, or standard input for `-`.
    pub fn of(path: &Path) -> Self {
        if path.as_os_str() == STDIN {
            Self::Stdin
        } else {
            Self::Path(tidy(path).to_owned())
        }
    }

    /// Returns the path of the file; `-` for standard input.
    pub fn path(&self) -> &Path {
        match self {
            Self::Stdin => Path::new(STDIN),
            Self::Path(path) => path,
        }
    }

    /// Returns the same path for all spellings of the file's path. A link to a file is a file of its own, since its
    /// folder decides about its project.
    pub fn identity(&self) -> PathBuf {
        let Self::Path(path) = self else {
            return PathBuf::new();
        };
        let Some(name) = path.file_name() else {
            return path.clone();
        };
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        fs::canonicalize(folder).map_or_else(|_| path.clone(), |folder| folder.join(name))
    }

    /// Returns the name for reports, with `/` between folders.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => STDIN_NAME.to_owned(),
            Self::Path(path) => file_name(path),
        }
    }
}

fn walk(folder: &Path, found: &mut PlanFiles) {
    for entry in WalkBuilder::new(folder).require_git(false).build() {
        match entry {
            Ok(entry) => {
                // A link is followed when it is read. Pipes and devices are not plans, whatever their names.
                let is_file = entry
                    .file_type()
                    .is_some_and(|kind| kind.is_file() || kind.is_symlink());
                if is_file && is_plan(entry.path()) {
                    found.files.push(PlanFile::of(entry.path()));
                } else if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    let folder = entry.path();
                    let folder = folder.strip_prefix(".").unwrap_or(folder);
                    found.folders.insert(folder.to_owned());
                }
            }
            Err(error) => {
                found.problems.push(Problem {
                    file: None,
                    message: format!("cannot read a folder: {error}"),
                });
            }
        }
    }
}

/// Returns true if the name is that of a plan file, in either form.
pub(super) fn is_plan(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    ends(ENDING) || ends(TESTS) || name.ends_with(json::ENDING)
}

fn cannot_open(path: &Path, error: &io::Error) -> Failure {
    let display = path.display();
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::Environment(format!("cannot open `{display}`: {}", reason(error)));
    }
    let hint = did_you_mean(path);
    Failure::Environment(format!("there is no file or folder `{display}`{hint}"))
}

/// Suggests a path in place of one that does not exist: the file of a plan that was named without its folder or its
/// ending, or the most similar name in the same folder.
fn did_you_mean(path: &Path) -> String {
    let near = plan_of_name(path).or_else(|| similar_path(path));
    let near = near.map(|near| format!("; did you mean `{}`?", visible_line(&near)));
    near.unwrap_or_default()
}

/// Returns the file of the plan with this name, in the same folder or in `plans`.
fn plan_of_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(ENDING).unwrap_or(name);
    let folder = path.parent()?;
    let folders = [folder.to_owned(), folder.join("plans")];
    let mut files = folders.iter().flat_map(|folder| {
        [ENDING, json::ENDING].map(|ending| folder.join(format!("{name}{ending}")))
    });
    let found = files.find(|file| file.is_file())?;
    Some(found.display().to_string())
}

/// Returns the path in the same folder whose name is most similar; `None` if none is similar.
fn similar_path(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut names: Vec<_> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    // The endings are alike and would make every name similar.
    let stem = |name: &str| {
        name.split_once('.')
            .map_or(name, |(stem, _)| stem)
            .to_owned()
    };
    let stems: Vec<String> = names.iter().map(|name| stem(name)).collect();
    let near = closest(&stem(name), stems.iter().map(String::as_str))?.to_owned();
    let near = names.iter().find(|name| stem(name) == near)?;
    Some(path.with_file_name(near).display().to_string())
}

/// Describes a system error without its number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}
