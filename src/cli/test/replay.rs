//! `--replay`: replays a run of the journal against the current plan, and reports where they differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::render::{FileReport, human, visible_line};
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::protocol::RunState;
use planrun_lang::sema::Plan;
use planrun_lang::sema::test::called;
use planrun_lang::source::SourceFile;
use planrun_lang::types::decode;
use planrun_lang::value::{Value, counted};
use planrun_tools::project::Location;
use serde_json::{Value as Json, json};

use super::{Arguments, Format, files};
use crate::cli::journals::journal_of;
use crate::cli::plan_files::checked_plan;
use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_core::run::Outcome;
use planrun_core::run::{Defaults, Program};
use planrun_runs::runs::{CheckedPlan, Error, Loaded, RecordedRun, Workspace};
use planrun_test::plantest::play::TestEnvironment;
use planrun_test::plantest::replay::{
    Difference, History, Kind, OriginalRun, Redaction, differences, replay_run,
};

/// Maximum number of differences printed for people.
const MAX_PRINTED: usize = 10;

/// Replays a run, and reports the differences. Returns an error if there is no such run, its plan cannot be found, or
/// its record cannot be used.
pub(super) fn replay(
    run: &str,
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit> {
    if matches!(arguments.format, Format::Junit | Format::Github) {
        return Err(Failure::Usage(
            "`--replay` supports only the formats `human` and `json`".to_owned(),
        ));
    }
    let given_file = given_file(&arguments.paths)?;
    let planrun = journal_of(given_file, project)?;
    let location = planrun.location();
    let recorded = planrun.recorded(run)?;
    let row = recorded.summary();
    if !row.ended && row.driven {
        return Err(Failure::Usage(format!(
            "the run `{}` is still running; replay it when it has ended",
            row.run
        )));
    }
    let file = plan_file(given_file, recorded.file(), location)?;
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
    let report = Report {
        run: &row.run,
        checked: &checked,
        steps: again.steps,
        ended: again.ended,
        found: &again.found,
    };
    match arguments.format {
        Format::Json => terminal.print_document(&report.document())?,
        Format::Human | Format::Junit | Format::Github => report.print(terminal)?,
    }
    Ok(Exit::fine_if(again.found.is_empty()))
}

/// Opens the project of a plan file, which must be that of the run.
fn workspace_of(
    file: &Path,
    project: Option<&Path>,
    location: &Location,
) -> Result<Arc<Workspace>> {
    let workspace = Workspace::open(file, project)?;
    if workspace.location.folder == location.folder {
        return Ok(Arc::new(workspace));
    }
    Err(Failure::Usage(format!(
        "`{}` belongs to a different project than the run, which is recorded in {}",
        file.display(),
        location.folder.display()
    )))
}

struct ReplayOutcome {
    found: Vec<Difference>,
    /// Number of steps of the replayed run.
    steps: usize,
    ended: RunState,
}

fn run_again(
    workspace: &Workspace,
    checked: &CheckedPlan,
    loaded: &Loaded,
    (then, outcome): (&OriginalRun, &Outcome),
) -> Result<ReplayOutcome> {
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
    let redaction = Redaction::of(outcome, replayed);
    Ok(ReplayOutcome {
        steps: replayed.map_or(0, |outcome| outcome.steps().len()),
        ended: now.played.state,
        found: differences(&program, then, &now, &redaction),
    })
}

/// Returns the plan file given on the command line; `None` if none is given.
fn given_file(paths: &[PathBuf]) -> Result<Option<&Path>> {
    match paths {
        [one] if one.as_os_str() == "." => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(Failure::Usage("`--replay` takes one plan file".to_owned())),
    }
}

/// Returns the file of the plan: the given one, or the one that the run was started with, relative to the current
/// folder or to the project.
fn plan_file(given_file: Option<&Path>, file: &str, location: &Location) -> Result<PathBuf> {
    if let Some(given_file) = given_file {
        return Ok(given_file.to_owned());
    }
    let places = [PathBuf::from(file), location.folder.join(file)];
    places
        .into_iter()
        .find(|plan_file| file != "-" && plan_file.is_file())
        .ok_or_else(|| {
            let display = visible_line(file);
            Failure::Environment(format!(
                "the plan file of the run, `{display}`, does not exist; name the plan file to compare it with"
            ))
        })
}

/// Returns the run as the journal has recorded it.
fn then(recorded: &RecordedRun, run: &str, loaded: &Loaded) -> Result<OriginalRun> {
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
    // The contracts as the recorded plan had them: a `tool` item in the plan overrides the contract of the catalog.
    let called = called(&loaded.program.plan);
    let contracts = called
        .iter()
        .map(|signature| (signature.path(), signature.digest().into()));
    let (inputs, contracts) = (loaded.inputs.values().clone(), contracts.collect());
    Ok(OriginalRun {
        run: run.into(),
        inputs,
        contracts,
        history: history.finish(),
    })
}

/// Returns a difference for each input of the run that the plan no longer accepts, and for each required input that
/// the run does not have.
fn inputs(plan: &Plan, given: &BTreeMap<Arc<str>, Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |message: String| {
        let finding = Diagnostic::new(&codes::tests::REPLAY_PARTS, plan.span, message);
        let finding = finding.help("the run cannot be replayed with these inputs");
        found.push(Difference {
            kind: Kind::Inputs,
            path: Arc::default(),
            finding,
        });
    };
    for parameter in &plan.parameters {
        match given.get(&parameter.name) {
            None if parameter.required => {
                add(format!(
                    "the run has no input `{}`, which is required now",
                    parameter.name
                ));
            }
            Some(value) if decode(&value.to_json(), &parameter.ty).is_err() => {
                add(format!(
                    "the input `{}` of the run is not of type {}",
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
        add(format!(
            "the run has an input `{name}`, which `{}` does not declare",
            plan.name
        ));
    }
    found
}

/// The result of a replay.
struct Report<'a> {
    run: &'a str,
    checked: &'a CheckedPlan,
    /// Number of compared steps.
    steps: usize,
    /// State in which the run ends now.
    ended: RunState,
    found: &'a [Difference],
}

impl Report<'_> {
    fn print(&self, terminal: Terminal) -> Result<()> {
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
            .take(MAX_PRINTED)
            .map(|one| one.finding.clone())
            .collect();
        let left = self.found.len() - first.len();
        terminal.print(&human(
            &[FileReport::new(self.checked.source.clone(), first)],
            terminal.style,
        ))?;
        let places = counted(self.found.len(), "place");
        let rest = if left > 0 {
            format!("; `--format json` lists {left} more")
        } else {
            String::new()
        };
        terminal.print(&format!(
            "the run {run} and `{plan}` differ at {places}{rest}\n"
        ))
    }

    /// Returns the JSON document. Its version is incremented when a key is removed or changes its meaning.
    fn document(&self) -> Json {
        let source: &SourceFile = &self.checked.source;
        let one = |difference: &Difference| {
            let finding = &difference.finding;
            let place = source.position(finding.span.start);
            let mut one = json!({
                "kind": difference.kind.name(),
                // The step; empty for the run.
                "path": difference.path,
                "line": place.line,
                "column": place.column,
                "message": finding.message,
            });
            for (key, value) in [("expected", &finding.expected), ("actual", &finding.actual)] {
                if let Some(value) = value {
                    one[key] = value.as_str().into();
                }
            }
            one
        };
        json!({
            "version": 1,
            "run": self.run,
            "plan": self.checked.plan.name,
            "file": source.name(),
            "agree": self.found.is_empty(),
            "steps": self.steps,
            "differences": self.found.iter().map(one).collect::<Json>(),
        })
    }
}
