//! `planrun breaking`: reports what changed in plans since a git revision, and for whom it is a breaking change.

mod show;
mod versions;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use planrun_lang::diag::closest;
use planrun_lang::diag::render::human;
use planrun_lang::value::counted;

use self::versions::Versions;
use super::{Exit, Failure, Result, Terminal};
use planrun_test::breaking::{Comparison, Kind, kind};

const EXAMPLES: &str = "\
Examples:
  planrun breaking --against main                      every plan below this folder
  planrun breaking --against v1.4.0 plans/order.plan   one plan
  planrun breaking --against HEAD~3 --allow plan-removed,input-removed
  planrun breaking --against origin/main --format github   for CI: annotate the changed lines
  planrun breaking --against HEAD --format json        uncommitted changes, for programs";

/// Report changes of plans since a git revision, and which of them are breaking
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Git revision to compare with: a branch, a tag or a commit
    #[arg(long, value_name = "REV")]
    pub against: String,
    /// Files and folders to compare, in the working tree or in the revision. Folders are searched for *.plan,
    /// *.plan.json and *.plantest files, except those that git ignores
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Accept a kind of change and do not report it (repeatable)
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Text grouped by plan, with the current source lines
    Human,
    /// One JSON document, described in docs/cli.md
    Json,
    /// Workflow commands of GitHub Actions
    Github,
}

/// The changes of all files.
struct Changes {
    revision: String,
    commit: String,
    /// In path order.
    files: Vec<ChangedFile>,
    /// Number of changes accepted with `--allow`.
    accepted: usize,
}

/// One file and its changes.
struct ChangedFile {
    name: String,
    versions: versions::Both,
    comparison: Comparison,
}

/// Compares the plans and prints the changes. Returns an error if git, the repository or the revision does not exist,
/// or there is no such plan or kind of change.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let accepted = kinds(&arguments.allow)?;
    let mut versions = Versions::open(&arguments.against, &arguments.paths, project)?;
    let mut changes = Changes {
        revision: arguments.against.clone(),
        commit: versions.commit().to_owned(),
        files: Vec::new(),
        accepted: 0,
    };
    let mut broken = false;
    for path in versions.files(&arguments.paths)? {
        let both = versions.both(&path)?;
        broken |= both.now.as_ref().is_some_and(versions::Checked::is_broken);
        let mut comparison = both.compare();
        let all = comparison.findings.len();
        comparison
            .findings
            .retain(|found| !accepted.iter().any(|kind| kind.name() == found.kind.name()));
        changes.accepted += all - comparison.findings.len();
        changes.files.push(ChangedFile {
            name: versions::display_name(&path),
            versions: both,
            comparison,
        });
    }
    let findings = versions.findings();
    broken |= findings
        .iter()
        .flat_map(|file| &file.diagnostics)
        .any(planrun_lang::diag::Diagnostic::is_error);
    let errors = changes
        .files
        .iter()
        .filter_map(|file| file.versions.now.as_ref())
        .filter_map(versions::Checked::errors);
    let errors = findings.into_iter().chain(errors).collect::<Vec<_>>();
    if errors.iter().any(|file| !file.diagnostics.is_empty()) {
        terminal.eprint(&human(&errors, terminal.style));
    }
    match arguments.format {
        Format::Human => terminal.print(&show::people(&changes, terminal.style))?,
        Format::Json => terminal.print_document(&show::document(&changes))?,
        Format::Github => terminal.print_exactly(&show::commands(&changes))?,
    }
    for left_out in changes.left_out() {
        terminal.note(&left_out.message(&changes.revision));
    }
    terminal.note(&changes.sentence());
    Ok(Exit::fine_if(!(broken || changes.count(true) > 0)))
}

fn kinds(names: &[String]) -> Result<Vec<&'static Kind>> {
    let known = |name: &String| {
        kind::find(name).ok_or_else(|| {
            let near = closest(name, kind::ALL.iter().map(|kind| kind.name()));
            let hint = near.map_or("; docs/breaking.md lists all".to_owned(), |near| {
                format!("; did you mean `{near}`?")
            });
            Failure::Usage(format!("there is no kind of change `{name}`{hint}"))
        })
    };
    names.iter().map(known).collect()
}

/// A plan that was not compared.
struct LeftOut<'a> {
    file: &'a str,
    plan: &'a str,
    /// Whether it is the current version that has errors.
    today: bool,
}

impl LeftOut<'_> {
    fn message(&self, revision: &str) -> String {
        let Self { file, plan, today } = self;
        let when = if *today {
            "in the working tree".to_owned()
        } else {
            format!("at {revision}")
        };
        format!("`{plan}` in {file} is not compared: the file has errors {when}")
    }
}

impl Changes {
    /// Returns the number of breaking changes, or of compatible ones.
    fn count(&self, breaking: bool) -> usize {
        self.files.iter().map(|file| file.count(breaking)).sum()
    }

    fn left_out(&self) -> impl Iterator<Item = LeftOut<'_>> {
        self.files.iter().flat_map(|file| {
            let today = file
                .versions
                .now
                .as_ref()
                .is_some_and(versions::Checked::is_broken);
            file.comparison.left_out.iter().map(move |plan| LeftOut {
                file: &file.name,
                plan,
                today,
            })
        })
    }

    fn plans(&self) -> usize {
        self.files.iter().map(|file| file.comparison.plans).sum()
    }

    /// Returns the summary line: the number of changes and of plans.
    fn sentence(&self) -> String {
        let (breaking, compatible) = (self.count(true), self.count(false));
        let since = format!(
            "in {} since {}",
            counted(self.plans(), "plan"),
            self.revision
        );
        let accepted = if self.accepted > 0 {
            format!(", {} accepted", self.accepted)
        } else {
            String::new()
        };
        if breaking + compatible == 0 {
            return format!("no relevant changes {since}{accepted}");
        }
        format!(
            "{breaking} breaking and {} {since}{accepted}",
            counted(compatible, "compatible change")
        )
    }
}

impl ChangedFile {
    fn count(&self, breaking: bool) -> usize {
        self.comparison
            .findings
            .iter()
            .filter(|found| found.kind.is_breaking() == breaking)
            .count()
    }
}
