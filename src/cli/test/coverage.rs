//! `--coverage`: what of the plans the tests reached, as text and as files for other programs.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planrun_tools::host::{Host as _, RealHost};

use super::files::Tested;
use crate::cli::{Failure, Terminal};
use planrun_test::plantest::coverage::{Coverage, Goals, Seen, Share, html, json, lcov, text};

/// How coverage is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Report {
    /// A table, and what no test reached, for people.
    Text,
    /// One JSON document: coverage.json.
    Json,
    /// Trace data for editors and CI services: lcov.info.
    Lcov,
    /// A page: coverage.html.
    Html,
}

impl Report {
    /// The file that it is written to; nothing for what is printed.
    const fn file(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Json => Some("coverage.json"),
            Self::Lcov => Some("lcov.info"),
            Self::Html => Some("coverage.html"),
        }
    }
}

/// The goals of every plan that stands in the files.
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

/// Tells what was reached; files go into `folder`, text beside a document for programs to the messages.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn tell(
    goals: &[Goals],
    seen: &Seen,
    reports: &[Report],
    folder: &Path,
    beside: bool,
    terminal: Terminal,
) -> Result<Share, Failure> {
    let coverage = Coverage::of(goals, seen);
    for report in reports {
        let content = match report {
            Report::Text => text(&coverage),
            Report::Json => format!("{:#}\n", json(&coverage)),
            Report::Lcov => lcov(&coverage),
            Report::Html => html(&coverage),
        };
        let Some(name) = report.file() else {
            if beside {
                terminal.say_plainly(&content);
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
        let cannot =
            |error| Failure::Environment(format!("cannot write `{}`: {error}", path.display()));
        RealHost
            .make_folder(folder)
            .and_then(|()| RealHost.write_file(&path, content.as_bytes()))
            .map_err(cannot)?;
        terminal.say(&format!("coverage is in `{}`", path.display()));
    }
    Ok(coverage.share())
}
