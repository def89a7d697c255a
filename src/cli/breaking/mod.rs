//! `planrun breaking`: what changed in plans since a revision of git, and for whom that breaks something.

mod show;
mod versions;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use planrun_lang::diag::closest;
use planrun_lang::diag::render::human;

use self::versions::Versions;
use super::check::counted;
use super::{Exit, Failure, Terminal};
use planrun_test::breaking::{Comparison, Kind, kind};

const EXAMPLES: &str = "\
Examples:
  planrun breaking --against main                      every plan below this folder
  planrun breaking --against v1.4.0 plans/order.plan   one plan
  planrun breaking --against HEAD~3 --allow plan-removed,input-removed
  planrun breaking --against origin/main --format github   for CI: told at the lines of a pull request
  planrun breaking --against HEAD --format json        what is not committed yet, for programs";

/// Tell what changed in plans since a revision, and whether it breaks something for those who use them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The revision of git to compare with: a branch, a tag, a commit.
    #[arg(long, value_name = "REV")]
    pub against: String,
    /// Files and folders, of today or of then. Folders are searched for *.plan and *.plan.json, except what git ignores.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Accept a kind of change: it is not reported. May be repeated.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// How changes are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// How changes are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people, plan by plan, with the lines of today.
    Human,
    /// One document, described in docs/cli.md.
    Json,
    /// Workflow commands of GitHub Actions.
    Github,
}

/// What came of all files.
struct Changes {
    revision: String,
    commit: String,
    /// In path order.
    files: Vec<ChangedFile>,
    /// How many changes were accepted.
    accepted: usize,
}

/// One file and what changed in it.
struct ChangedFile {
    name: String,
    versions: versions::Both,
    comparison: Comparison,
}

/// Compares and tells.
///
/// # Errors
/// When there is no git, no repository, no such revision, no plan or no such kind.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
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
            name: versions::shown(&path),
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
        terminal.say_plainly(&human(&errors, terminal.look));
    }
    match arguments.format {
        Format::Human => terminal.print(&show::people(&changes, terminal.look))?,
        Format::Json => terminal.print_json(&show::document(&changes))?,
        Format::Github => terminal.print_exactly(&show::commands(&changes))?,
    }
    for left_out in changes.left_out() {
        terminal.say(&left_out.told(&changes.revision));
    }
    terminal.say(&changes.sentence());
    Ok(if broken || changes.count(true) > 0 {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// The kinds with these names.
fn kinds(names: &[String]) -> Result<Vec<&'static Kind>, Failure> {
    let known = |name: &String| {
        kind::find(name).ok_or_else(|| {
            let near = closest(name, kind::ALL.iter().map(|kind| kind.name()));
            let hint = near.map_or("; docs/breaking.md lists all".to_owned(), |near| {
                format!(", did you mean `{near}`?")
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
    /// Whether it is the version of today that has errors.
    today: bool,
}

impl LeftOut<'_> {
    fn told(&self, revision: &str) -> String {
        let Self { file, plan, today } = self;
        let when = if *today {
            "today".to_owned()
        } else {
            format!("at {revision}")
        };
        format!("`{plan}` in {file} is not compared: the file has errors {when}")
    }
}

impl Changes {
    /// How many changes break something, or do not.
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

    /// The last line: how much changed in how much.
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
            return format!("nothing changed for anybody {since}{accepted}");
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
