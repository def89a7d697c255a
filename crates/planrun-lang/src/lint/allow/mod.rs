//! `// allow(code): reason`: suppresses warnings and notes that the author has reviewed.

mod comment;
mod scope;

use crate::diag::codes::suppression::{ALLOW_WITHOUT_REASON, UNKNOWN_ALLOW, UNUSED_ALLOW};
use crate::diag::{Diagnostic, Severity, codes};
use crate::sema::CheckedFile;
use crate::source::{SourceFile, Span};
use comment::{Allow, Named};

/// Drops the diagnostics that the comments of a file allow, and reports comments that allow nothing. Errors are kept: a
/// plan with one does not run.
pub(super) fn apply(source: &SourceFile, checked: &mut CheckedFile) {
    let allows = comment::all(source, &checked.tree);
    let mut found = Vec::new();
    for allow in &allows {
        let scope = scope::of(source, &checked.tree, allow.span);
        let within = |diagnostic: &Diagnostic| {
            scope.start <= diagnostic.span.start && diagnostic.span.start < scope.end
        };
        for named in &allow.codes {
            let Some(code) = codes::find(named.text) else {
                found.push(unknown(named));
                continue;
            };
            let before = checked.diagnostics.len();
            let mut error = None;
            checked.diagnostics.retain(|diagnostic| {
                let meant = diagnostic.code == code && within(diagnostic);
                if meant && diagnostic.severity == Severity::Error {
                    error = Some(diagnostic.span);
                }
                !meant || diagnostic.severity == Severity::Error
            });
            // If part of the file could not be parsed, it may contain what the comment allows.
            if checked.diagnostics.len() == before && (checked.whole || error.is_some()) {
                found.push(unused(source, allow, named, error));
            }
        }
        if allow.reason.is_empty() {
            let message = "this `allow` comment does not give a reason";
            let finding = ALLOW_WITHOUT_REASON.at(allow.span, message);
            found.push(finding.help("write the reason after a colon: `// allow(code): reason`"));
        }
    }
    checked.diagnostics.extend(found);
}

fn unknown(named: &Named<'_>) -> Diagnostic {
    let finding = UNKNOWN_ALLOW.at(named.span, format!("there is no code `{}`", named.text));
    let known = codes::all().map(|code| code.name);
    finding.suggest(named.text, known, "`planrun explain` lists all codes")
}

/// Reports a code that suppresses nothing; `error` is the span of an error with that code.
fn unused(
    source: &SourceFile,
    allow: &Allow<'_>,
    named: &Named<'_>,
    error: Option<Span>,
) -> Diagnostic {
    let removal = removal(source, allow, named);
    let (message, help) = match error {
        Some(_) => (
            "is an error here, and errors cannot be allowed",
            "fix the error: a plan with errors does not run",
        ),
        None => ("is not reported in the scope of this comment", "remove it"),
    };
    let mut finding = UNUSED_ALLOW
        .at(named.span, format!("`{}` {message}", named.text))
        .help(help);
    if let Some(error) = error {
        finding = finding.label(error, "this error");
    }
    finding.fix("remove it", removal, "")
}

/// Returns the span to remove with one code: the code and a comma, or the whole comment if it is the only code.
fn removal(source: &SourceFile, allow: &Allow<'_>, named: &Named<'_>) -> Span {
    let index = allow
        .codes
        .iter()
        .position(|other| other.span == named.span)
        .unwrap_or_default();
    let other = |index: Option<usize>| {
        index
            .and_then(|index| allow.codes.get(index))
            .map(|other| other.span)
    };
    if let Some(before) = other(index.checked_sub(1)) {
        return Span::from(before.end..named.span.end);
    }
    if let Some(after) = other(Some(index + 1)) {
        return Span::from(named.span.start..after.start);
    }
    let line = source
        .line(source.position(allow.span.start).line)
        .unwrap_or(allow.span);
    let before = source.slice(Span::from(line.start..allow.span.start));
    if before.trim().is_empty() {
        // The whole line, with its line break.
        let rest = source.text().get(line.end as usize..).unwrap_or("");
        let end = rest.find('\n').map_or(0, |line_break| line_break + 1);
        return Span::new(line.start as usize, line.end as usize + end);
    }
    Span::new(
        line.start as usize + before.trim_end().len(),
        allow.span.end as usize,
    )
}
