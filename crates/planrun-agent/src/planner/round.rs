//! One round: checks a plan, applies the fixes that are certain, and reports the remaining errors to the model.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::fix::{Caution, apply_fixes};
use planrun_lang::diag::render::FileReport;
use planrun_lang::diag::{Code, Diagnostic};
use planrun_lang::source::SourceFile;
use planrun_runs::runs::{CheckedPlan, Error, PlanText, Workspace};
use planrun_serve::report;

use super::form::as_text;

/// Maximum number of code pages added when the number of errors does not decrease.
const MAX_PAGES: usize = 3;

/// The result of checking a plan.
pub(super) enum Round {
    /// The text with safe fixes applied, and its plan.
    Clean(String, Box<CheckedPlan>),
    Errors(Vec<FileReport>),
    /// The plan has no errors, but cannot be run as it is, for this reason.
    Refused(String),
}

/// Checks a text, after applying the fixes that do not change the outcome of any run.
pub(super) fn check(workspace: &Arc<Workspace>, text: &str) -> Result<Round, Error> {
    let folder = &workspace.location.folder;
    let source = match PlanText::handed_in(folder, text) {
        PlanText::Text(source) => as_text(source),
        PlanText::Broken(report) => return Ok(Round::Errors(vec![report])),
    };
    let found = |source: SourceFile| workspace.clone().checked(source).reports();
    let first = found(source.clone());
    if first.iter().any(has_error) {
        let own: Vec<Diagnostic> = of_file(&first, source.name());
        let mended = apply_fixes(&source, own, Caution::Safe, |source| {
            of_file(&found(source.clone()), source.name())
        });
        if mended.applied > 0 && *mended.text != *source.text() {
            let mended = SourceFile::new(source.name(), &*mended.text);
            return checked(workspace, mended);
        }
        return Ok(Round::Errors(first));
    }
    checked(workspace, source)
}

fn checked(workspace: &Arc<Workspace>, source: SourceFile) -> Result<Round, Error> {
    let text = source.text().to_owned();
    let plan = workspace.clone().checked(source).plan(None);
    let plan = plan.and_then(|plan| plan.ready().map(|()| plan));
    let plan = match plan {
        Ok(plan) => plan,
        Err(Error::Findings(reports)) => return Ok(Round::Errors(reports)),
        Err(Error::Obstacles(report)) => {
            return Ok(Round::Errors(vec![*report]));
        }
        Err(error @ Error::PlanChoice { .. }) => {
            return Ok(Round::Refused(format!("{error}. Hand in one plan.")));
        }
        Err(error) => return Err(error),
    };
    if plan
        .plan
        .parameters
        .iter()
        .any(|parameter| parameter.required)
    {
        let why = "the plan has inputs, but none are given. Write the values into it: statements alone, or \
                   `plan main() -> T { … }`.";
        return Ok(Round::Refused(why.to_owned()));
    }
    Ok(Round::Clean(text, Box::new(plan)))
}

pub(super) fn has_error(report: &FileReport) -> bool {
    report.diagnostics.iter().any(Diagnostic::is_error)
}

fn of_file(reports: &[FileReport], name: &str) -> Vec<Diagnostic> {
    let own = reports.iter().filter(|report| report.source.name() == name);
    own.flat_map(|report| report.diagnostics.iter().cloned())
        .collect()
}

/// Tracks whether the rounds make progress.
pub(super) struct Progress {
    left: usize,
    rounds: usize,
    fewest: Option<usize>,
    /// Whether the pages of codes were sent already.
    sent_pages: bool,
}

impl Progress {
    pub(super) fn new(rounds: usize) -> Self {
        Self {
            left: rounds,
            rounds: 0,
            fewest: None,
            sent_pages: false,
        }
    }

    /// Returns the number of rounds so far.
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns the report of errors for the model: what was called nevertheless, the diagnostics, and the pages of their codes if the number of
    /// errors does not decrease. Returns `None` to stop: no rounds are left, or the pages have not helped either.
    pub(super) fn findings(&mut self, called: &str, reports: &[FileReport]) -> Option<String> {
        self.rounds += 1;
        let errors = reports.iter().flat_map(|report| &report.diagnostics);
        let errors: Vec<&Diagnostic> = errors.filter(|found| found.is_error()).collect();
        self.left = self.left.checked_sub(1).filter(|left| *left > 0)?;
        let shrinks = self.fewest.is_none_or(|fewest| errors.len() < fewest);
        self.fewest = Some(
            self.fewest
                .map_or(errors.len(), |fewest| fewest.min(errors.len())),
        );
        let mut text = report::findings(called, reports);
        if !shrinks {
            if self.sent_pages {
                return None;
            }
            self.sent_pages = true;
            let codes: BTreeSet<&'static str> =
                errors.iter().map(|found| found.code.name).collect();
            let pages = errors.iter().map(|found| found.code).filter({
                let mut codes = codes;
                move |code| codes.remove(code.name)
            });
            for page in pages.take(MAX_PAGES).map(page) {
                text.push('\n');
                text.push_str(&page);
            }
        }
        Some(text)
    }
}

/// Returns the page of a code, as `planrun explain` prints it.
fn page(code: &'static Code) -> String {
    format!("About {}:\n{}", code.name, code.page.trim())
}
