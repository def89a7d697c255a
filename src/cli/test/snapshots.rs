//! The snapshots of a run: compared in source order, and what differs told with the case that it belongs to.

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::{Diagnostic, codes};
use planrun_tools::host::Host;

use super::FileRun;
use super::files::Tested;
use crate::cli::{Failure, Terminal};
use planrun_test::plantest::snapshot::{Kept, Mode, Place, Settled, SnapshotError, Store, Verdict};
use planrun_test::plantest::suite::Ran;

/// What came of the snapshots of all files.
#[derive(Default)]
pub(super) struct Snapshots {
    pub accepted: usize,
    /// Those that somebody has to look at.
    pub pending: usize,
    /// Those that no test names, told from the project's folder.
    pub unreferenced: Vec<String>,
    pub removed: usize,
}

/// What is wanted of snapshots.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub mode: Mode,
    /// Those that no test names are removed.
    pub removes: bool,
    /// Whether every test was run, so that what is not named is not needed.
    pub complete: bool,
}

/// Compares every snapshot; what is not as it was becomes a fault of its case.
///
/// # Errors
/// When snapshots cannot be read or written.
pub(super) fn settle(
    host: &dyn Host,
    tested: &Tested,
    runs: &mut [FileRun<'_>],
    wanted: Wanted,
    terminal: Terminal,
) -> Result<Snapshots, Failure> {
    let mut sum = Snapshots::default();
    for (project, workspace) in tested.workspaces.iter().enumerate() {
        let store = Store::new(host, &workspace.project.root, wanted.mode);
        for run in runs.iter_mut().filter(|run| run.file.project == project) {
            one_file(&store, run, &mut sum, terminal)
                .map_err(|error| Failure::Environment(error.to_string()))?;
        }
        if wanted.complete {
            let left = if wanted.removes {
                store.remove_unreferenced()
            } else {
                store.unreferenced()
            };
            let left = left.map_err(|error| Failure::Environment(error.to_string()))?;
            if wanted.removes {
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
    // What a test that fails came to is not worth keeping.
    for ran in run.ran.iter_mut().filter(|ran| ran.faults.is_empty()) {
        for kept in &ran.kept {
            let position = suite.source.position(kept.snapshot.span.start);
            let place = Place {
                test: &ran.test.name,
                row: ran.row,
                kind: kept.snapshot.of,
                line: position.line,
            };
            let settled = shelf.settle(&place, &kept.text)?;
            sum.accepted += usize::from(settled.kept == Kept::Accepted);
            sum.pending += usize::from(settled.kept == Kept::Pending);
            if !settled.passes() {
                ran.faults.push(fault(kept.snapshot.span, &settled));
                ran.differences.push(settled.difference(terminal.look));
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
            ran.faults
                .iter()
                .all(|fault| fault.code == &codes::tests::SNAPSHOT)
        };
        if rows.peek().is_some() && rows.all(compared) {
            shelf.finished(&test.name);
        }
    }
    Ok(())
}

fn fault(span: planrun_lang::source::Span, settled: &Settled) -> Diagnostic {
    let message = match &settled.verdict {
        Verdict::New => "there is no snapshot of this yet",
        Verdict::Same | Verdict::Differs { .. } => "this is not as the snapshot has it",
    };
    let finding = Diagnostic::new(&codes::tests::SNAPSHOT, span, message);
    match settled.kept {
        Kept::Pending => {
            finding.help("look at it with `planrun test --review`, or take it with `--accept`")
        }
        Kept::No | Kept::Accepted => {
            finding.help("nothing is written here; run `planrun test --review` on your own machine")
        }
    }
}
