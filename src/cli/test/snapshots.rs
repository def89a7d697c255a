//! Compares snapshots in source order, and reports differences with the case they belong to.

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::{Diagnostic, codes};
use planrun_tools::host::Host;

use super::FileRun;
use super::files::Tested;
use crate::cli::{Failure, Terminal};
use planrun_test::plantest::snapshot::{Kept, Mode, Place, Settled, SnapshotError, Store, Verdict};
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

/// Compares every snapshot; a difference becomes a failure of its case.
///
/// # Errors
/// Returns an error if snapshots cannot be read or written.
pub(super) fn settle(
    host: &dyn Host,
    tested: &Tested,
    runs: &mut [FileRun<'_>],
    options: SnapshotOptions,
    terminal: Terminal,
) -> Result<Snapshots, Failure> {
    let mut sum = Snapshots::default();
    for (project, workspace) in tested.workspaces.iter().enumerate() {
        let store = Store::new(host, &workspace.project.root, options.mode);
        for run in runs.iter_mut().filter(|run| run.file.project == project) {
            one_file(&store, run, &mut sum, terminal)
                .map_err(|error| Failure::Environment(error.to_string()))?;
        }
        if options.complete {
            let left = if options.removes {
                store.remove_unreferenced()
            } else {
                store.unreferenced()
            };
            let left = left.map_err(|error| Failure::Environment(error.to_string()))?;
            if options.removes {
                sum.removed += left.len();
            } else {
                sum.unreferenced
                    .extend(left.iter().map(|path| path.display().to_string()));
            }
        }
    }
    Ok(sum)
}

fn one_file(
    store: &Store<'_>,
    run: &mut FileRun<'_>,
    sum: &mut Snapshots,
    terminal: Terminal,
) -> Result<(), SnapshotError> {
    let suite = &run.file.suite;
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

fn fault(span: planrun_lang::source::Span, settled: &Settled) -> Diagnostic {
    let message = match &settled.verdict {
        Verdict::New => "there is no snapshot for this yet",
        Verdict::Same | Verdict::Differs { .. } => "this differs from the snapshot",
    };
    let finding = Diagnostic::new(&codes::tests::SNAPSHOT, span, message);
    match settled.kept {
        Kept::Pending => {
            finding.help("review it with `planrun test --review`, or accept it with `--accept`")
        }
        Kept::No | Kept::Accepted => {
            finding.help("nothing is written here; run `planrun test --review` on your own machine")
        }
    }
}
