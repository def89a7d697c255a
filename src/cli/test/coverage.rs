//! `--coverage`: reports which parts of the plans the tests reached, as text and as files for other programs.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planrun_tools::host::{Host as _, RealHost};

use super::files::Tested;
use crate::cli::{Failure, Result, Terminal};
use planrun_test::plantest::coverage::{Coverage, Goals, Seen, Share, html, json, lcov, text};

/// The formats of coverage reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Report {
    /// Table with what no test reached, on standard output
    Text,
    /// JSON document, in coverage.json
    Json,
    /// Trace data for editors and CI services, in lcov.info
    Lcov,
    /// HTML page, in coverage.html
    Html,
}

impl Report {
    /// Returns the name of the file to write; `None` if the report is printed.
    const fn file(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Json => Some("coverage.json"),
            Self::Lcov => Some("lcov.info"),
            Self::Html => Some("coverage.html"),
        }
    }
}

/// Returns the coverage goals of every plan in the files.
pub(super) fn goals(tested: &Tested) -> Vec<Goals> {
    let sound = tested
        .files
        .iter()
        .filter(|file| file.suite.broken.is_empty());
    sound
        .flat_map(|file| {
            file.suite
                .checked
                .plans
                .iter()
                .map(|plan| Goals::of(&file.suite.source, plan))
        })
        .collect()
}

/// Prints the coverage reports. Files are written to `folder`; text is printed to standard error if standard output
/// holds a document for programs. Returns an error if a file cannot be written.
pub(super) fn print_reports(
    goals: &[Goals],
    seen: &Seen,
    reports: &[Report],
    folder: &Path,
    to_stderr: bool,
    terminal: Terminal,
) -> Result<Share> {
    let coverage = Coverage::of(goals, seen);
    for report in reports {
        let content = match report {
            Report::Text => text(&coverage),
            Report::Json => format!("{:#}\n", json(&coverage)),
            Report::Lcov => lcov(&coverage),
            Report::Html => html(&coverage),
        };
        let Some(name) = report.file() else {
            if to_stderr {
                terminal.eprint(&content);
            } else {
                match report {
                    Report::Text => terminal.print(&content)?,
                    Report::Json => terminal.print_json(&content)?,
                    Report::Lcov | Report::Html => terminal.print_exactly(&content)?,
                }
            }
            continue;
        };
        let path: PathBuf = folder.join(name);
        let cannot = |error| Failure::cannot_write(&path, &error);
        RealHost
            .make_folder(folder)
            .and_then(|()| RealHost.write_file(&path, content.as_bytes()))
            .map_err(cannot)?;
        terminal.note(&format!("coverage is in `{}`", path.display()));
    }
    Ok(coverage.share())
}
