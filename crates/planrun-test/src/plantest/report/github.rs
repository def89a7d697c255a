//! Test failures as workflow commands of GitHub Actions, which displays them at their lines.

use planrun_lang::diag::render::{visible_text, workflow_command};

use super::{BARE, FileReport, Report, Status, TestReport};

/// Returns one command per failure: `::error file=…,line=…,col=…,title=TEST::text`, or `::warning` for flaky tests.
/// Passed tests are left out.
#[must_use]
pub fn github(report: &Report) -> String {
    report
        .files
        .iter()
        .flat_map(|file| file.tests.iter().map(move |test| commands(file, test)))
        .collect()
}

fn commands(file: &FileReport, test: &TestReport) -> String {
    let command = match test.status {
        Status::Failed | Status::Errored => "error",
        Status::Flaky => "warning",
        Status::Passed => return String::new(),
    };
    let (path, title) = (visible_text(&file.path), test.title());
    let title = visible_text(&title);
    let at = |line: u32, column: Option<u32>, text: &str| {
        let (line, column) = (line.to_string(), column.map(|column| column.to_string()));
        let mut properties = vec![("file", &*path), ("line", &*line)];
        properties.extend(column.as_deref().map(|column| ("col", column)));
        properties.push(("title", &title));
        workflow_command(command, &properties, text)
    };
    if test.failures.is_empty() {
        return at(test.line, None, BARE);
    }
    test.failures
        .iter()
        .map(|failure| at(failure.line, Some(failure.column), &failure.sentences()))
        .collect()
}
