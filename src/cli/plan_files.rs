//! Which plan files a command speaks of, and their text.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::WalkBuilder;
use planrun_lang::diag::closest;
use planrun_lang::diag::render::{Problem, human, visible_line};
use planrun_lang::syntax::json;

use super::{Failure, Terminal};
use planrun_runs::runs::{CheckedPlan, Choice, Error, PlanText, Workspace, file_name, tidy};

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
            found.insert(PlanFile::Path(tidy(path).to_owned()));
        }
    }
    Ok(PlanFiles {
        files: found.into_iter().collect(),
        problems,
    })
}

/// Reads one plan. Bytes that are no plan text are a finding, not a failure.
///
/// # Errors
/// When it cannot be read.
pub fn load(file: &PlanFile) -> Result<PlanText, Problem> {
    let text = match file {
        PlanFile::Stdin => PlanText::from_reader(file.name(), io::stdin().lock()),
        PlanFile::Path(path) => PlanText::from_file(path),
    };
    text.map_err(|error| Problem {
        message: format!(
            "cannot read `{}`: {}",
            visible_line(&file.name()),
            reason(&error)
        ),
        file: Some(file.name()),
    })
}

/// Reads and checks the plan that a command is about; findings are printed. `None` where there are errors, those in the
/// project's own files included.
///
/// # Errors
/// When the file cannot be read, or has no such plan.
pub fn checked_plan(
    workspace: &Arc<Workspace>,
    path: &Path,
    name: Option<&str>,
    terminal: Terminal,
) -> Result<Option<CheckedPlan>, Failure> {
    let source =
        match load(&PlanFile::of(path)).map_err(|problem| Failure::Environment(problem.message))? {
            PlanText::Text(source) => source,
            PlanText::Broken(report) => {
                terminal.say_plainly(&human(&[report], terminal.look));
                return Ok(None);
            }
        };
    let checked = workspace.clone().checked(source);
    if checked
        .project_findings()
        .iter()
        .any(|file| !file.diagnostics.is_empty())
    {
        terminal.say_plainly(&human(checked.project_findings(), terminal.look));
    }
    let Choice { report, plan } = checked
        .choose(name)
        .map_err(|error| not_chosen(path, error))?;
    if !report.diagnostics.is_empty() {
        terminal.say_plainly(&human(&[report], terminal.look));
    }
    Ok(plan)
}

/// Why none of the plans of a file is meant.
fn not_chosen(path: &Path, error: Error) -> Failure {
    let Error::PlanChoice { wanted, plans } = error else {
        return error.into();
    };
    let names = plans
        .iter()
        .map(|plan| format!("`{plan}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let shown = path.display();
    Failure::Usage(match (wanted, plans.is_empty()) {
        (Some(wanted), empty) => {
            let known = if empty { "no plan at all" } else { &names };
            format!("`{shown}` has no plan `{wanted}`; it has {known}")
        }
        (None, true) => format!("`{shown}` has no plan"),
        (None, false) => {
            format!("`{shown}` has several plans: {names}; choose one with `--plan NAME`")
        }
    })
}

impl PlanFile {
    /// The file at a path, or standard input for `-`.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        if path.as_os_str() == STDIN {
            Self::Stdin
        } else {
            Self::Path(tidy(path).to_owned())
        }
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
            Self::Path(path) => file_name(path),
        }
    }
}

fn walk(folder: &Path, found: &mut BTreeSet<PlanFile>, problems: &mut Vec<Problem>) {
    for entry in WalkBuilder::new(folder).require_git(false).build() {
        match entry {
            Ok(entry) => {
                // A link is followed when it is read; pipes and devices are no plans, whatever they are called.
                let is_file = entry
                    .file_type()
                    .is_some_and(|kind| kind.is_file() || kind.is_symlink());
                if is_file && is_plan(entry.path()) {
                    found.insert(PlanFile::Path(tidy(entry.path()).to_owned()));
                }
            }
            Err(error) => {
                problems.push(Problem {
                    file: None,
                    message: format!("cannot look into a folder: {error}"),
                });
            }
        }
    }
}

/// Whether the name is one of a plan file, in either form.
pub(super) fn is_plan(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    ends(ENDING) || ends(TESTS) || name.ends_with(json::ENDING)
}

fn cannot_open(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::Environment(format!("cannot open `{shown}`: {}", reason(error)));
    }
    let hint = neighbour(path)
        .map(|near| format!(", did you mean `{near}`?"))
        .unwrap_or_default();
    Failure::Environment(format!("there is no file or folder `{shown}`{hint}"))
}

/// The path beside `path` whose name is nearest.
fn neighbour(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut names: Vec<_> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
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
