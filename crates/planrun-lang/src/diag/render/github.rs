//! Findings as workflow commands of GitHub Actions, which shows them at their lines.

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
        out.push_str(&workflow_command(
            "error",
            &[("title", "planrun")],
            &visible_text(&problem.message),
        ));
    }
    out
}

/// One command on its line: its properties, then its text. Whoever calls it has made the text harmless for terminals.
#[must_use]
pub fn workflow_command(command: &str, properties: &[(&str, &str)], text: &str) -> String {
    let properties: Vec<String> = properties
        .iter()
        .map(|(name, value)| format!("{name}={}", property(value)))
        .collect();
    format!("::{command} {}::{}\n", properties.join(","), data(text))
}

fn push_command(out: &mut String, file: &FileReport, diagnostic: &Diagnostic) {
    let command = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let start = file.source.position(diagnostic.span.start);
    let end = file.source.position(diagnostic.span.end);
    let name = visible_text(file.source.name());
    let [line, column, end_line, end_column] =
        [start.line, start.column, end.line, end.column].map(|number| number.to_string());
    let mut properties = vec![("file", &*name), ("line", line.as_str())];
    // The runner drops columns where an annotation goes over several lines.
    if start.line == end.line {
        properties.extend([
            ("col", &*column),
            ("endLine", &*end_line),
            ("endColumn", &*end_column),
        ]);
    } else {
        properties.push(("endLine", &end_line));
    }
    properties.push(("title", diagnostic.code.name));
    out.push_str(&workflow_command(
        command,
        &properties,
        &sentences(diagnostic),
    ));
}

/// Text behind the second `::`, where only the end of the line and the escape itself mean something.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Text between the commas.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
