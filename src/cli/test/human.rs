//! Prints the results of tests for people: the failures with their source lines, then the totals.

use std::time::Duration;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{FileReport, human, visible_line};
use planrun_lang::value::counted;

use super::FileRun;
use super::files::Tested;
use super::snapshots::Snapshots;
use crate::cli::{Result, Terminal};
use planrun_core::run::short_duration;

/// Prints the failures and the totals. Returns an error if the output cannot be written.
pub(super) fn print(
    tested: &Tested,
    runs: &[FileRun<'_>],
    snapshots: &Snapshots,
    took: Duration,
    terminal: Terminal,
) -> Result<()> {
    terminal.print(&human(&tested.reports, terminal.style))?;
    for problem in &tested.problems {
        terminal.error(&problem.message);
    }
    for file in tested
        .files
        .iter()
        .filter(|file| !file.suite.broken.is_empty())
    {
        terminal.print(&findings(
            file.suite.source.clone(),
            file.suite.broken.clone(),
            terminal,
        ))?;
    }
    let (passed, failed) = print_runs(runs, terminal)?;
    let untested = tested.untested();
    let mut parts = vec![format!("{passed} passed")];
    parts.extend((failed > 0).then(|| format!("{failed} failed")));
    parts.extend((untested > 0).then(|| format!("{} not tested", counted(untested, "file"))));
    for path in &snapshots.unreferenced {
        terminal.note(&format!(
            "no test uses the snapshot `{path}`; remove it with `--unreferenced delete`"
        ));
    }
    for (count, what) in [
        (snapshots.accepted, "accepted"),
        (snapshots.removed, "removed"),
        (snapshots.pending, "to review"),
    ] {
        parts.extend((count > 0).then(|| format!("{} {what}", counted(count, "snapshot"))));
    }
    terminal.print(&format!(
        "{} ({})\n",
        parts.join(", "),
        short_duration(took)
    ))
}

/// Prints the failures of each run, and returns the numbers of passed and failed tests.
fn print_runs(runs: &[FileRun<'_>], terminal: Terminal) -> Result<(u32, u32)> {
    let (mut passed, mut failed) = (0, 0);
    for run in runs {
        for ran in &run.ran {
            let name = format!(
                "{}: {}",
                visible_line(run.file.suite.source.name()),
                visible_line(&ran.title)
            );
            if ran.faults.is_empty() {
                passed += 1;
                if terminal.verbose > 0 {
                    terminal.print(&format!("ok    {name} ({})\n", short_duration(ran.took)))?;
                }
                continue;
            }
            failed += 1;
            terminal.print(&format!("FAIL  {name}\n"))?;
            terminal.print(&findings(
                run.file.suite.source.clone(),
                ran.faults.clone(),
                terminal,
            ))?;
            for difference in &ran.differences {
                terminal.print(&format!("{difference}\n"))?;
            }
        }
    }
    Ok((passed, failed))
}

fn findings(
    source: std::sync::Arc<planrun_lang::source::SourceFile>,
    diagnostics: Vec<Diagnostic>,
    terminal: Terminal,
) -> String {
    human(&[FileReport::new(source, diagnostics)], terminal.style)
}
