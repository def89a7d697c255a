//! Compares snapshots in source order, and reports differences with the case they belong to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::render::command;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_tools::host::Host;

use super::FileRun;
use super::files::{Tested, TestedFile};
use crate::cli::plan_files::STDIN_NAME;
use crate::cli::{Failure, Result, Terminal};
use planrun_runs::runs::file_name;
use planrun_test::plantest::snapshot::{
    Kept, LeftBehind, Mode, Place, Settled, SnapshotError, Store, Verdict, left_behind,
};
use planrun_test::plantest::suite::Ran;

/// The results of the snapshots of all files.
#[derive(Default)]
pub(super) struct Snapshots {
    pub accepted: usize,
    /// Snapshots that have to be reviewed.
    pub pending: usize,
    /// Snapshots that no test references, relative to the folder of the project.
    pub unreferenced: Vec<String>,
    pub removed: usize,
}

/// How to handle snapshots.
#[derive(Clone, Copy)]
pub(super) struct SnapshotOptions {
    pub mode: Mode,
    /// Whether to remove snapshots that no test references.
    pub removes: bool,
    /// Whether every test is run, so that an unreferenced snapshot is known to be unused.
    pub complete: bool,
}

/// Compares every snapshot; a difference becomes a failure of its case. Returns an error if snapshots cannot be read or
/// written.
pub(super) fn settle(
    host: &dyn Host,
    tested: &Tested,
    runs: &mut [FileRun<'_>],
    options: SnapshotOptions,
    terminal: Terminal,
) -> Result<Snapshots> {
    let failure = |error: SnapshotError| Failure::Environment(error.to_string());
    let mut sum = Snapshots::default();
    for (project, workspace) in tested.workspaces.iter().enumerate() {
        let store = Store::new(host, &workspace.project.root, options.mode);
        // The tests of a file with errors are not all known.
        let has_tests = |file: &TestedFile| {
            let name = file.suite.source.name();
            file.suite.broken.is_empty() && !tested.without_tests.contains(name)
        };
        let is_settled =
            |run: &&mut FileRun<'_>| run.file.project == project && has_tests(run.file);
        for run in runs.iter_mut().filter(is_settled) {
            one_file(&store, run, &mut sum, terminal).map_err(failure)?;
        }
        if options.complete {
            let left = if options.removes {
                store.remove_unreferenced()
            } else {
                store.unreferenced()
            };
            sum.unused(&left.map_err(failure)?, options);
        }
    }
    if options.complete {
        let left = left_behind_in(host, tested).map_err(failure)?;
        if options.removes {
            for snapshot in &left {
                snapshot.remove(host).map_err(failure)?;
            }
        }
        let paths: Vec<PathBuf> = left.into_iter().map(|snapshot| snapshot.path).collect();
        sum.unused(&paths, options);
    }
    Ok(sum)
}

impl Snapshots {
    /// Adds snapshots that no test references.
    fn unused(&mut self, paths: &[PathBuf], options: SnapshotOptions) {
        if options.removes {
            self.removed += paths.len();
        } else {
            let paths = paths.iter().map(|path| path.display().to_string());
            self.unreferenced.extend(paths);
        }
    }
}

/// Returns the snapshots in the searched folders whose plan file was moved or removed, or has lost its last test.
fn left_behind_in(host: &dyn Host, tested: &Tested) -> Result<Vec<LeftBehind>, SnapshotError> {
    let has_tests = |plan_file: &Path| {
        let without = tested.without_tests.contains(&file_name(plan_file));
        !without && host.kind(plan_file).is_ok()
    };
    let mut left = Vec::new();
    for folder in &tested.folders {
        left.extend(left_behind(host, folder, &has_tests)?);
    }
    Ok(left)
}

fn one_file(
    store: &Store<'_>,
    run: &mut FileRun<'_>,
    sum: &mut Snapshots,
    terminal: Terminal,
) -> Result<(), SnapshotError> {
    let suite = &run.file.suite;
    if suite.source.name() == STDIN_NAME {
        refuse_all(run);
        return Ok(());
    }
    let tests = suite.checked.tests.iter().map(|test| &*test.name);
    let shelf = store.open(Path::new(suite.source.name()), tests)?;
    // The snapshots of a failed test are neither compared nor stored.
    for ran in run.ran.iter_mut().filter(|ran| ran.faults.is_empty()) {
        for text in &ran.snapshots {
            let position = suite.source.position(text.snapshot.span.start);
            let place = Place {
                test: &ran.test.name,
                row: ran.row,
                kind: text.snapshot.of,
                line: position.line,
            };
            let settled = shelf.settle(&place, &text.text)?;
            sum.accepted += usize::from(settled.kept == Kept::Accepted);
            sum.pending += usize::from(settled.kept == Kept::Pending);
            if !settled.passes() {
                ran.faults.push(fault(text.snapshot.span, &settled));
                ran.differences.push(settled.difference(terminal.style));
            }
        }
    }
    for test in &suite.checked.tests {
        let mut rows = run
            .ran
            .iter()
            .filter(|ran| Arc::ptr_eq(&ran.test, test))
            .peekable();
        let compared = |ran: &Ran| {
            let is_difference = |fault: &Diagnostic| fault.code == &codes::tests::SNAPSHOT;
            !ran.is_flaky && ran.faults.iter().all(is_difference)
        };
        if rows.peek().is_some() && rows.all(compared) {
            shelf.finished(&test.name);
        }
    }
    Ok(())
}

/// Fails every test with a snapshot: a snapshot is found by the name of the file with its test, which standard input does
/// not have.
fn refuse_all(run: &mut FileRun<'_>) {
    for ran in run.ran.iter_mut().filter(|ran| ran.faults.is_empty()) {
        ran.faults.extend(ran.snapshots.first().map(|text| {
            let message = "a test on standard input has no snapshots";
            Diagnostic::new(&codes::tests::SNAPSHOT, text.snapshot.span, message)
                .help("save the plan in a file, and test that")
        }));
    }
}

fn fault(span: planrun_lang::source::Span, settled: &Settled) -> Diagnostic {
    let message = match &settled.verdict {
        Verdict::New => "there is no snapshot for this yet",
        Verdict::Same | Verdict::Differs { .. } => "this differs from the snapshot",
    };
    let finding = Diagnostic::new(&codes::tests::SNAPSHOT, span, message);
    match settled.kept {
        Kept::Pending => {
            let review = command("test --review");
            finding.help(format!(
                "review it with `{review}`, or accept it with `--accept`"
            ))
        }
        Kept::No | Kept::Accepted => {
            let review = command("test --review");
            finding.help(format!(
                "nothing is written here; run `{review}` on your own machine"
            ))
        }
    }
}
