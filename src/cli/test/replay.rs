//! `--replay`: a run of the journal against the plan as it is now, and where they part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::render::{FileReport, escape_json, human, visible_line};
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::protocol::RunState;
use planrun_lang::sema::Plan;
use planrun_lang::sema::test::called;
use planrun_lang::source::SourceFile;
use planrun_lang::types::decode;
use planrun_lang::value::Value;
use planrun_tools::project::Location;
use serde::Serialize;

use super::{Arguments, Format, files};
use crate::cli::check::counted;
use crate::cli::journals::journal_of;
use crate::cli::plan_files::checked_plan;
use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Terminal};
use planrun_core::run::Outcome;
use planrun_core::run::{Defaults, Program};
use planrun_runs::runs::{CheckedPlan, Error, Loaded, RecordedRun, Workspace};
use planrun_test::plantest::play::TestEnvironment;
use planrun_test::plantest::replay::{
    Difference, History, Kind, Then, Views, differences, replay_run,
};

/// So many differences are told to people.
const MAX_TOLD: usize = 10;

/// Replays a run, and reports where it goes another way.
///
/// # Errors
/// When there is no such run, its plan cannot be found, or what was written cannot be used.
pub(super) fn replay(
    run: &str,
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    if matches!(arguments.format, Format::Junit | Format::Github) {
        return Err(Failure::Usage(
            "`--replay` tells of a run as `human` or `json`".to_owned(),
        ));
    }
    let named = named(&arguments.paths)?;
    let planrun = journal_of(named, project)?;
    let location = planrun.location();
    let recorded = planrun.recorded(run)?;
    let row = recorded.summary();
    if !row.ended && row.driven {
        return Err(Failure::Usage(format!(
            "the run `{}` goes on just now; replay it when it has ended",
            row.run
        )));
    }
    let file = place(named, recorded.file(), location)?;
    let workspace = workspace_of(&file, project, location)?;
    let Some(checked) = checked_plan(&workspace, &file, Some(recorded.plan()), terminal)? else {
        return Ok(Exit::Findings);
    };
    let loaded = recorded.load()?;
    let then = then(&recorded, &row.run, &loaded)?;
    let outcome = wait(recorded.outcome())??;
    let mut again = ReplayOutcome {
        found: inputs(&checked.plan, &then.inputs),
        steps: 0,
        ended: RunState::Running,
    };
    if again.found.is_empty() {
        again = run_again(&workspace, &checked, &loaded, (&then, &outcome))?;
    }
    let told = Report {
        run: &row.run,
        checked: &checked,
        steps: again.steps,
        ended: again.ended,
        found: &again.found,
    };
    match arguments.format {
        Format::Json => terminal.print_json(&told.json())?,
        Format::Human | Format::Junit | Format::Github => told.tell(terminal)?,
    }
    Ok(if again.found.is_empty() {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// The project of a plan file, which is that of the run.
fn workspace_of(
    file: &Path,
    project: Option<&Path>,
    location: &Location,
) -> Result<Arc<Workspace>, Failure> {
    let workspace = Workspace::open(file, project)?;
    if workspace.location.folder == location.folder {
        return Ok(Arc::new(workspace));
    }
    Err(Failure::Usage(format!(
        "`{}` is of another project than the run, which is written down in {}",
        file.display(),
        location.folder.display()
    )))
}

/// The outcome of a replay.
struct ReplayOutcome {
    found: Vec<Difference>,
    /// How many steps it had.
    steps: usize,
    ended: RunState,
}

fn run_again(
    workspace: &Workspace,
    checked: &CheckedPlan,
    loaded: &Loaded,
    (then, outcome): (&Then, &Outcome),
) -> Result<ReplayOutcome, Failure> {
    let defaults = Defaults {
        max_steps: loaded.max_steps,
        strict: loaded.strict,
        ..workspace.defaults()
    };
    let environment = TestEnvironment {
        defaults,
        ..files::environment(workspace)
    };
    let program = Arc::new(Program::new(checked.plan.clone()));
    let now = replay_run(&environment, &program, then)
        .map_err(|error| Failure::Environment(error.to_string()))?;
    let replayed = now.played.outcome.as_ref();
    let views = Views::of(outcome, replayed);
    Ok(ReplayOutcome {
        steps: replayed.map_or(0, |outcome| outcome.steps().len()),
        ended: now.played.state,
        found: differences(&program, then, &now, &views),
    })
}

/// The plan file that somebody names, if one does.
fn named(paths: &[PathBuf]) -> Result<Option<&Path>, Failure> {
    match paths {
        [one] if one.as_os_str() == "." => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(Failure::Usage("`--replay` takes one plan file".to_owned())),
    }
}

/// The file of the plan: the one that is named, or the one that the run was started with, seen from here or from the project.
fn place(named: Option<&Path>, file: &str, location: &Location) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let places = [PathBuf::from(file), location.folder.join(file)];
    places
        .into_iter()
        .find(|place| file != "-" && place.is_file())
        .ok_or_else(|| {
            let shown = visible_line(file);
            Failure::Environment(format!(
                "the plan file of the run, `{shown}`, is not there; name the one to hold it against"
            ))
        })
}

/// The run as the journal has recorded it.
fn then(recorded: &RecordedRun, run: &str, loaded: &Loaded) -> Result<Then, Failure> {
    let mut history = History::default();
    recorded
        .read_events(|event| {
            history.take(event);
            Ok(())
        })
        .map_err(|error| match error {
            Error::Event { run, number, why } => {
                Failure::Environment(format!("event {number} of the run `{run}`: {why}"))
            }
            error => error.into(),
        })?;
    // Of the tools as the plan of then saw them: a `tool` item of its own stands over the catalog's contract.
    let called = called(&loaded.program.plan);
    let contracts = called
        .iter()
        .map(|signature| (signature.path(), signature.digest().into()));
    let (inputs, contracts) = (loaded.inputs.values().clone(), contracts.collect());
    Ok(Then {
        run: run.into(),
        inputs,
        contracts,
        history: history.finish(),
    })
}

/// Inputs of the run that the plan does not take any more, and those that it wants now.
fn inputs(plan: &Plan, given: &BTreeMap<Arc<str>, Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut tell = |message: String| {
        let finding = Diagnostic::new(&codes::tests::REPLAY_PARTS, plan.span, message);
        let finding = finding.help("nothing of the run can be lived through again with that");
        found.push(Difference {
            kind: Kind::Inputs,
            path: Arc::default(),
            finding,
        });
    };
    for parameter in &plan.parameters {
        match given.get(&parameter.name) {
            None if parameter.required => {
                tell(format!("the run was given no input `{}`", parameter.name));
            }
            Some(value) if decode(&value.to_json(), &parameter.ty).is_err() => {
                tell(format!(
                    "the input `{}` of the run does not fit {}",
                    parameter.name, parameter.ty
                ));
            }
            None | Some(_) => {}
        }
    }
    for name in given.keys().filter(|name| {
        plan.parameters
            .iter()
            .all(|parameter| parameter.name != **name)
    }) {
        tell(format!(
            "the run was given an input `{name}`, which `{}` does not take",
            plan.name
        ));
    }
    found
}

/// What came of it.
struct Report<'a> {
    run: &'a str,
    checked: &'a CheckedPlan,
    /// How many steps were held against each other.
    steps: usize,
    /// How the run ends now.
    ended: RunState,
    found: &'a [Difference],
}

impl Report<'_> {
    fn tell(&self, terminal: Terminal) -> Result<(), Failure> {
        let (run, plan) = (visible_line(self.run), &self.checked.plan.name);
        if self.found.is_empty() {
            let steps = counted(self.steps, "step");
            let end = match self.ended {
                RunState::Completed => "the same reply",
                RunState::Failed => "the same failure",
                RunState::Running | RunState::Paused | RunState::Stalled | RunState::Cancelled => {
                    "the same end"
                }
            };
            return terminal.print(&format!(
                "the run {run} and `{plan}` agree: {steps}, {end}\n"
            ));
        }
        let first: Vec<Diagnostic> = self
            .found
            .iter()
            .take(MAX_TOLD)
            .map(|one| one.finding.clone())
            .collect();
        let left = self.found.len() - first.len();
        terminal.print(&human(
            &[FileReport::new(self.checked.source.clone(), first)],
            terminal.look,
        ))?;
        let places = counted(self.found.len(), "place");
        let rest = if left > 0 {
            format!("; `--format json` has {left} more")
        } else {
            String::new()
        };
        terminal.print(&format!(
            "the run {run} and `{plan}` part at {places}{rest}\n"
        ))
    }

    /// The document for programs. Its version goes up when something that was there means another thing or goes.
    fn json(&self) -> String {
        let source: &SourceFile = &self.checked.source;
        let one = |difference: &Difference| {
            let (kind, path) = (difference.kind.name(), difference.path.clone());
            let position = source.position(difference.finding.span.start);
            let Diagnostic {
                message,
                expected,
                actual,
                ..
            } = difference.finding.clone();
            Shape {
                kind,
                path,
                line: position.line,
                column: position.column,
                message,
                expected,
                actual,
            }
        };
        let document = Document {
            version: 1,
            run: self.run,
            plan: &self.checked.plan.name,
            file: source.name(),
            agree: self.found.is_empty(),
            steps: self.steps,
            differences: self.found.iter().map(one).collect(),
        };
        // Text, numbers and lists only: nothing in the document can fail to become JSON.
        escape_json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
    }
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    run: &'a str,
    plan: &'a str,
    file: &'a str,
    agree: bool,
    steps: usize,
    differences: Vec<Shape>,
}

#[derive(Serialize)]
struct Shape {
    kind: &'static str,
    /// The step; empty for the run.
    path: Arc<str>,
    line: u32,
    column: u32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
}
