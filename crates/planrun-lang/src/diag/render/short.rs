//! Renders diagnostics one per line: `file:line:column: severity[code] message`.

use super::{FileReport, visible_line};
use crate::diag::Diagnostic;

/// Returns each diagnostic on a line of its own.
#[must_use]
pub fn short(reports: &[FileReport]) -> String {
    reports
        .iter()
        .flat_map(|report| {
            report
                .diagnostics
                .iter()
                .map(|diagnostic| line(report, diagnostic))
        })
        .collect()
}

fn line(report: &FileReport, diagnostic: &Diagnostic) -> String {
    let name = visible_line(report.source.name());
    let at = report.source.position(diagnostic.span.start);
    let message = visible_line(&diagnostic.message);
    format!(
        "{name}:{}:{}: {}[{}] {message}\n",
        at.line, at.column, diagnostic.severity, diagnostic.code.name
    )
}
