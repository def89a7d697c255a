//! Renders diagnostics as workflow commands of GitHub Actions, which displays them as annotations.

use super::plain::sentences;
use super::{FileReport, Report, visible_text};
use crate::diag::{Diagnostic, Severity};

/// Returns one command per line: `::error file=…,line=…,col=…,endLine=…,endColumn=…,title=CODE::text`.
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

/// Returns one command with its line break. The caller has to escape control characters in the text.
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
    // The runner ignores columns if an annotation spans several lines.
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

/// Escapes the text after the second `::`, in which only line breaks and the escape character are special.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
