//! What came of tests, for people: what failed in its lines, then how many passed.

use std::time::Duration;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{FileReport, human, visible_line};

use super::FileRun;
use super::files::Tested;
use super::snapshots::Snapshots;
use crate::cli::check::counted;
use crate::cli::{Failure, Terminal};
use planrun_core::run::short_duration;

/// Prints what failed, and the counts.
///
/// # Errors
/// When the output cannot be written.
pub(super) fn tell(
    tested: &Tested,
    runs: &[FileRun<'_>],
    snapshots: &Snapshots,
    took: Duration,
    terminal: Terminal,
) -> Result<(), Failure> {
    terminal.print(&human(&tested.reports, terminal.look))?;
    for problem in &tested.problems {
        terminal.complain(&problem.message);
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
    let (passed, failed) = tell_runs(runs, terminal)?;
    let broken = tested
        .files
        .iter()
        .filter(|file| !file.suite.broken.is_empty())
        .count();
    let mut parts = vec![format!("{passed} passed")];
    parts.extend((failed > 0).then(|| format!("{failed} failed")));
    parts.extend((broken > 0).then(|| format!("{} not tested", counted(broken, "file"))));
    for path in &snapshots.unreferenced {
        terminal.say(&format!(
            "no test names the snapshot `{path}`; `--unreferenced delete` removes it"
        ));
    }
    for (count, what) in [
        (snapshots.accepted, "taken"),
        (snapshots.removed, "removed"),
        (snapshots.pending, "to look at"),
    ] {
        parts.extend((count > 0).then(|| format!("{} {what}", counted(count, "snapshot"))));
    }
    terminal.print(&format!(
        "{} ({})\n",
        parts.join(", "),
        short_duration(took)
    ))
}

/// Prints what failed in each run, and counts those that passed and those that did not.
fn tell_runs(runs: &[FileRun<'_>], terminal: Terminal) -> Result<(u32, u32), Failure> {
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
    human(&[FileReport::new(source, diagnostics)], terminal.look)
}
