//! `// allow(code): reason`: warnings and notes that the author has looked at and wants to keep quiet.

mod comment;
mod scope;

use crate::diag::codes::suppression::{ALLOW_WITHOUT_REASON, UNKNOWN_ALLOW, UNUSED_ALLOW};
use crate::diag::{Diagnostic, Severity, codes, nearest};
use crate::sema::CheckedFile;
use crate::source::{SourceFile, Span};
use comment::{Allow, Named};

/// Drops what the comments of a file allow, and reports comments that allow nothing. An error stays: a plan with one does
/// not run.
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
            // What could not be read may hold what is meant.
            if checked.diagnostics.len() == before && (checked.whole || error.is_some()) {
                found.push(unused(source, allow, named, error));
            }
        }
        if allow.reason.is_empty() {
            let message = "this comment allows something and does not say why";
            let finding = Diagnostic::new(&ALLOW_WITHOUT_REASON, allow.span, message);
            found.push(finding.help("write the reason behind a colon: `// allow(code): reason`"));
        }
    }
    checked.diagnostics.extend(found);
}

fn unknown(named: &Named<'_>) -> Diagnostic {
    let finding = Diagnostic::new(
        &UNKNOWN_ALLOW,
        named.span,
        format!("there is no code `{}`", named.text),
    );
    match nearest(named.text, codes::all().map(|code| code.name)) {
        Some(near) => finding.did_you_mean(near, named.span, near.name),
        None => finding.help("`planrun explain` lists all codes"),
    }
}

/// `error` is the place of an error that the comment wants to allow.
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
            "mend the error: a plan with one does not run",
        ),
        None => ("is not found in what this comment speaks of", "take it out"),
    };
    let mut finding = Diagnostic::new(
        &UNUSED_ALLOW,
        named.span,
        format!("`{}` {message}", named.text),
    )
    .help(help);
    if let Some(error) = error {
        finding = finding.label(error, "this error");
    }
    finding.fix("take it out", removal, "")
}

/// What goes with one code: itself and a comma, or all of the comment with the only one.
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
        // The whole line, with its end.
        let rest = source.text().get(line.end as usize..).unwrap_or("");
        let end = rest.find('\n').map_or(0, |line_break| line_break + 1);
        return Span::new(line.start as usize, line.end as usize + end);
    }
    Span::new(
        line.start as usize + before.trim_end().len(),
        allow.span.end as usize,
    )
}
