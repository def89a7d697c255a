//! Renders diagnostics as a JSON document.

use serde::Serialize;

use super::{FileReport, Report, Summary, escape_json};
use crate::diag::{Diagnostic, Fix, Severity};
use crate::source::{SourceFile, Span};

/// Returns the document that `check --format json` prints.
#[must_use]
pub fn json(report: &Report) -> String {
    let counts = Summary::of(&report.files);
    let diagnostics = findings(&report.files).collect();
    let document = Document {
        version: 1,
        summary: Counts {
            files: report.plan_files,
            errors: counts.errors,
            warnings: counts.warnings,
            unknown: counts.unknown,
        },
        diagnostics,
    };
    // Cannot fail: the document consists of text, numbers and lists.
    escape_json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

/// Returns only the diagnostics of that document, to embed in other documents.
#[must_use]
pub fn json_findings(files: &[FileReport]) -> serde_json::Value {
    let findings: Vec<Finding> = findings(files).collect();
    // Cannot fail, as above.
    serde_json::to_value(findings).unwrap_or_default()
}

fn findings(files: &[FileReport]) -> impl Iterator<Item = Finding<'_>> {
    files.iter().flat_map(|file| {
        let found = file.diagnostics.iter();
        found.map(|diagnostic| finding(&file.source, diagnostic))
    })
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    summary: Counts,
    diagnostics: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Counts {
    files: usize,
    errors: usize,
    warnings: usize,
    unknown: usize,
}

#[derive(Serialize)]
struct Finding<'a> {
    code: &'static str,
    severity: Severity,
    message: &'a str,
    file: &'a str,
    span: Range,
    labels: Vec<Marked<'a>>,
    help: Option<&'a str>,
    expected: Option<&'a str>,
    actual: Option<&'a str>,
    available: &'a [String],
    fix: Option<Remedy<'a>>,
}

/// A half-open range of a text.
#[derive(Serialize)]
pub struct Range {
    start: Point,
    end: Point,
}

#[derive(Serialize)]
struct Point {
    line: u32,
    column: u32,
    offset: u32,
}

#[derive(Serialize)]
struct Marked<'a> {
    span: Range,
    message: &'a str,
}

#[derive(Serialize)]
struct Remedy<'a> {
    safe: bool,
    title: &'a str,
    edits: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
struct Replacement<'a> {
    span: Range,
    text: &'a str,
}

fn finding<'a>(source: &'a SourceFile, diagnostic: &'a Diagnostic) -> Finding<'a> {
    let own = (!diagnostic.note.is_empty()).then(|| Marked {
        span: range(source, diagnostic.span),
        message: diagnostic.note.as_str(),
    });
    let further = diagnostic.labels.iter().map(|label| Marked {
        span: range(source, label.span),
        message: &label.message,
    });
    Finding {
        code: diagnostic.code.name,
        severity: diagnostic.severity,
        message: &diagnostic.message,
        file: source.name(),
        span: range(source, diagnostic.span),
        labels: own.into_iter().chain(further).collect(),
        help: diagnostic.help.as_deref(),
        expected: diagnostic.expected.as_deref(),
        actual: diagnostic.actual.as_deref(),
        available: &diagnostic.available,
        fix: diagnostic.fix.as_ref().map(|fix| remedy(source, fix)),
    }
}

fn remedy<'a>(source: &SourceFile, fix: &'a Fix) -> Remedy<'a> {
    let edits = fix.edits.iter().map(|edit| Replacement {
        span: range(source, edit.span),
        text: &edit.text,
    });
    Remedy {
        safe: fix.safe,
        title: &fix.title,
        edits: edits.collect(),
    }
}

/// Converts a span to a range of lines and columns.
#[must_use]
pub fn range(source: &SourceFile, span: Span) -> Range {
    let point = |offset| {
        let place = source.position(offset);
        Point {
            line: place.line,
            column: place.column,
            offset,
        }
    };
    Range {
        start: point(span.start),
        end: point(span.end),
    }
}
