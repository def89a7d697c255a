//! `--record`: runs cases with the real tools, one after the other, before all cases are tested with the recordings.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use planrun_lang::diag::render::visible_line;
use planrun_lang::value::counted;
use planrun_tools::host::RealHost;
use planrun_tools::mock::MockServer;
use tokio::runtime::Runtime;

use super::files::Tested;
use super::{Arguments, is_selected};
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::{Workspace, new_run_id};
use planrun_test::plantest::case::Case;
use planrun_test::plantest::play::Live;
use planrun_test::plantest::recording::{Session, record};

/// The tests that are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Record {
    /// Nothing; no real tool is called
    None,
    /// Every test that has no recording yet
    Once,
    /// Calls that are not recorded, or are recorded differently; matching recordings are kept
    New,
    /// Every test, replacing its recording
    All,
}

/// Records the selected tests. A recording that cannot be stored ends the command, so that no further calls are made
/// whose answers might be lost.
///
/// Returns the exit code unless a test fails: the environment is unsuitable if a selected test could not be recorded.
/// Returns an error if a recording cannot be written, or the mock of the apps cannot start.
pub(super) fn record_all(
    tested: &mut Tested,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Exit> {
    let mut complete = true;
    if arguments.record == Record::None {
        return Ok(Exit::Fine);
    }
    for project in 0..tested.workspaces.len() {
        let doubles = if arguments.mock {
            Some(Doubles::start(&tested.workspaces[project])?)
        } else {
            None
        };
        for file in 0..tested.files.len() {
            if tested.files[file].project == project && tested.files[file].suite.broken.is_empty() {
                complete &= record_file(tested, file, (arguments, doubles.as_ref()), terminal)?;
            }
        }
        if let Some(doubles) = doubles {
            doubles.stop();
        }
    }
    Ok(if complete {
        Exit::Fine
    } else {
        Exit::Environment
    })
}

fn record_file(
    tested: &mut Tested,
    index: usize,
    (arguments, doubles): (&Arguments, Option<&Doubles>),
    terminal: Terminal,
) -> Result<bool> {
    let mut complete = true;
    let file = &tested.files[index];
    let selected = file
        .suite
        .cases()
        .into_iter()
        .filter(|case| is_selected(file, case, &arguments.filter));
    let selected: Vec<Case> = selected.filter_map(|prepared| prepared.case.ok()).collect();
    for case in selected {
        let file = &tested.files[index];
        let suite = &file.suite;
        let Some(program) = suite.program(&case.test) else {
            continue;
        };
        let is_readable = suite.recordings.of(&case).map(Result::is_ok);
        let Some(case) = to_record(case, is_readable, arguments.record) else {
            continue;
        };
        let workspace = &tested.workspaces[file.project];
        let tools = match doubles {
            Some(doubles) => workspace.catalog(Some(&|app| doubles.server.endpoint(app))),
            None => workspace.catalog(None),
        };
        let (recorder, host, run) = (
            Arc::default(),
            workspace.host.clone(),
            new_run_id(&RealHost),
        );
        let live = Live {
            recorder,
            tools,
            host,
            run,
        };
        let played = record(
            &tested.environments[file.project],
            &suite.source,
            program,
            &case,
            live,
        );
        complete &= keep(tested, index, &case, played, terminal)?;
    }
    Ok(complete)
}

/// Returns the case with the recording that is to be kept; `None` if the case is not to be recorded. `recorded` is
/// `None` if there is no recording, and `Some(false)` if it cannot be read.
fn to_record(case: Case, recorded: Option<bool>, record: Record) -> Option<Case> {
    match (record, recorded) {
        (Record::All, _) | (Record::Once, None) => Some(Case {
            recording: None,
            ..case
        }),
        (Record::New, None | Some(true)) => Some(case),
        (Record::None, _) | (Record::Once, Some(_)) | (Record::New, Some(false)) => None,
    }
}

/// Saves what was recorded. Returns false if there is nothing to save, because no tool could be reached.
fn keep(
    tested: &mut Tested,
    index: usize,
    case: &Case,
    session: Session,
    terminal: Terminal,
) -> Result<bool> {
    let suite = &mut tested.files[index].suite;
    let path = suite.recordings.path(case);
    let display = visible_line(&path.to_string_lossy()).into_owned();
    let title = visible_line(&case.title()).into_owned();
    if let Some(why) = &session.unreachable {
        terminal.error(&format!(
            "{title}: no tool could be reached, so nothing is recorded in `{display}`: {}",
            visible_line(why)
        ));
        return Ok(false);
    }
    let about = about(suite.source.name(), case);
    suite
        .recordings
        .keep(&RealHost, case, session.recording, &about)
        .map_err(|error| Failure::Environment(format!("{error}; {}", error.remedy)))?;
    if session.calls > 0 {
        terminal.note(&format!(
            "{title}: {} recorded in `{display}`",
            counted(session.calls, "call")
        ));
    }
    Ok(true)
}

fn about(plan_file: &str, case: &Case) -> Vec<String> {
    let file = Path::new(plan_file)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    vec![
        format!("Answers of the tools in the test {:?} of {file}.", case.title()),
        "`planrun test` replays these answers and calls no tool; `planrun test --record all` records them again."
            .to_owned(),
    ]
}

/// The mock of a project's apps, in a runtime of its own.
struct Doubles {
    runtime: Runtime,
    server: MockServer,
}

impl Doubles {
    fn start(workspace: &Workspace) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime
            .map_err(|error| Failure::Environment(format!("cannot start the runtime: {error}")))?;
        let server = runtime.block_on(workspace.start_mock())?;
        Ok(Self { runtime, server })
    }

    fn stop(self) {
        self.runtime.block_on(self.server.shutdown());
    }
}
