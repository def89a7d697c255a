//! Findings as workflow commands of GitHub Actions, which shows them at their lines.

use std::fmt::Write as _;

use super::plain::sentences;
use super::{FileReport, Report, visible_text};
use crate::diag::{Diagnostic, Severity};

/// A command a line: `::error file=…,line=…,col=…,endLine=…,endColumn=…,title=CODE::text`.
#[must_use]
pub fn github(report: &Report) -> String {
    let mut out = String::new();
    for file in &report.files {
        for diagnostic in &file.diagnostics {
            push_command(&mut out, file, diagnostic);
        }
    }
    for problem in &report.problems {
        // Writing to a string does not fail.
        let _ = writeln!(out, "::error title=planrun::{}", data(&visible_text(&problem.message)));
    }
    out
}

fn push_command(out: &mut String, file: &FileReport, diagnostic: &Diagnostic) {
    let command = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let start = file.source.position(diagnostic.span.start);
    let end = file.source.position(diagnostic.span.end);
    let name = property(&visible_text(file.source.name()));
    let _ = write!(out, "::{command} file={name},line={}", start.line);
    // The runner drops columns where an annotation goes over several lines.
    if start.line == end.line {
        let _ = write!(out, ",col={},endLine={},endColumn={}", start.column, end.line, end.column);
    } else {
        let _ = write!(out, ",endLine={}", end.line);
    }
    let _ = writeln!(out, ",title={}::{}", property(diagnostic.code.name), data(&sentences(diagnostic)));
}

/// Text behind the second `::`, where only the end of the line and the escape itself mean something.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text between the commas.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
