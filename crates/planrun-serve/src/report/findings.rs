//! Formats the diagnostics of a plan: one line each, with the corrected line if there is a safe fix.

use std::fmt::Write as _;

use planrun_lang::diag::render::{FileReport, Summary, visible_line};
use planrun_lang::diag::{Diagnostic, Severity, fix};
use planrun_lang::source::SourceFile;
use planrun_lang::value::counted;
use planrun_runs::runs::CALL;

use crate::tokens::{bytes, cut};

/// Tells the model that a plan with errors has called nothing, unless parts of it began before it was complete.
pub const NOTHING_CALLED: &str = "Nothing was called";

/// Maximum number of reported diagnostics.
const MAX_FINDINGS: usize = 20;
/// Maximum size of the whole report, in tokens.
const MAX_TOKENS: usize = 600;
/// Maximum size of one diagnostic, and of a corrected line, in bytes.
const FINDING_BYTES: usize = 420;
const LINE_BYTES: usize = 160;
/// Size of the line with the number of further diagnostics, in bytes.
const MORE_BYTES: usize = 60;
/// Maximum number of listed names that would be valid.
const MAX_NAMES: usize = 8;

/// Reports the diagnostics that prevented plans from running, in at most 600 tokens: what was called nevertheless, then
/// errors first, at most 20 diagnostics, and the number of further ones.
pub fn findings(called: &str, reports: &[FileReport]) -> String {
    let Summary {
        errors,
        warnings,
        notes,
        ..
    } = Summary::of(reports);
    let counts = [(errors, "error"), (warnings, "warning"), (notes, "note")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| counted(count, what)).collect();
    let all_of_call = reports.iter().all(|report| report.source.name() == CALL);
    let whose = if all_of_call { "call" } else { "plan" };
    let mut text = format!("{called}. The {whose} has {}:\n", counts.join(", "));
    let mut found: Vec<(&FileReport, &Diagnostic)> = reports
        .iter()
        .flat_map(|report| report.diagnostics.iter().map(move |found| (report, found)))
        .collect();
    found.sort_by_key(|(_, found)| match found.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    });
    let several = reports
        .iter()
        .filter(|report| !report.diagnostics.is_empty())
        .count()
        > 1;
    let mut printed = 0;
    for (report, found) in found.iter().take(MAX_FINDINGS) {
        let has_file = several || !is_plan(&report.source);
        let line = line(&report.source, found, has_file);
        if text.len() + line.len() + MORE_BYTES > bytes(MAX_TOKENS) {
            break;
        }
        text.push_str(&line);
        printed += 1;
    }
    if let Some(more) = found.len().checked_sub(printed).filter(|more| *more > 0) {
        let _ = writeln!(text, "… {more} more; correct these first");
    }
    text
}

/// Returns true if the text is that of a plan, and not one of the project's other files.
fn is_plan(source: &SourceFile) -> bool {
    source.name().trim_end_matches('>').ends_with("plan")
}

/// Formats `line:col error[code] message; expected …; actual …; fix: …`, followed by the corrected line. A single call
/// has no text that its author could look at, so its findings have no place.
fn line(source: &SourceFile, found: &Diagnostic, has_file: bool) -> String {
    let is_call = source.name() == CALL;
    let at = source.position(found.span.start);
    let place = match (is_call, has_file) {
        (true, _) => String::new(),
        (false, true) => format!("{}:{}:{} ", source.name(), at.line, at.column),
        (false, false) => format!("{}:{} ", at.line, at.column),
    };
    let mut text = format!(
        "{place}{}[{}] {}",
        found.severity, found.code.name, found.message
    );
    let names = found.available.iter().take(MAX_NAMES).map(String::as_str);
    let names = names.collect::<Vec<_>>().join(", ");
    let title = found.fix.as_ref().map(|fix| fix.title.as_str());
    let facts = [
        ("expected ", found.expected.as_deref()),
        ("actual ", found.actual.as_deref()),
        (
            "available ",
            Some(&*names).filter(|names| !names.is_empty()),
        ),
        ("fix: ", title.or(found.help.as_deref())),
    ];
    for (word, fact) in facts {
        if let Some(fact) = fact {
            let _ = write!(text, "; {word}{fact}");
        }
    }
    let mut line = cut(&visible_line(&text), FINDING_BYTES).into_owned() + "\n";
    if let Some(corrected) = corrected(source, found).filter(|_| !is_call) {
        let _ = writeln!(
            line,
            "  {}",
            cut(&visible_line(corrected.trim()), LINE_BYTES)
        );
    }
    line
}

/// Returns the first line that a safe fix changes, after the change.
fn corrected(source: &SourceFile, found: &Diagnostic) -> Option<String> {
    let fix = found.fix.as_ref().filter(|fix| fix.safe)?;
    let first = fix.edits.iter().map(|edit| edit.span.start).min()?;
    let text = fix::apply(source.text(), &fix.edits)?;
    let fixed = SourceFile::new(source.name(), text);
    let line = fixed.line(fixed.position(first).line)?;
    Some(fixed.slice(line).to_owned()).filter(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use planrun_lang::diag::codes::names::UNKNOWN_NAME;
    use planrun_lang::source::Span;

    use super::*;
    use crate::tokens::tokens;

    fn report(text: &str, found: impl Fn(usize) -> Diagnostic, count: usize) -> FileReport {
        let source = SourceFile::new("a.plan", text.to_owned());
        FileReport::new(source, (0..count).map(found).collect())
    }

    #[test]
    fn the_findings_of_a_single_call_have_no_place_in_a_text() {
        let source = SourceFile::new(CALL, "use desk plan call() -> any {}".to_owned());
        let found = Diagnostic::new(&UNKNOWN_NAME, Span::at(4), "there is no such tool");
        let report = FileReport::new(source, vec![found.help("name another")]);
        assert_eq!(
            findings(NOTHING_CALLED, &[report]),
            "Nothing was called. The call has 1 error:\nerror[unknown-name] there is no such tool; fix: name another\n"
        );
    }

    #[test]
    fn a_finding_is_a_line_with_the_corrected_one_below() {
        let found = |_| {
            Diagnostic::new(&UNKNOWN_NAME, Span::new(14, 17), "there is no `foo`")
                .expected("int", "string")
                .available(["food", "bar"])
                .fix("write `food`", Span::new(14, 17), "food")
        };
        let text = findings(
            NOTHING_CALLED,
            &[report("plan p() {\nx\n foo }\n", found, 1)],
        );
        assert_eq!(
            text,
            "Nothing was called. The plan has 1 error:\n\
             3:2 error[unknown-name] there is no `foo`; expected int; actual string; available food, bar; fix: write `food`\n  \
             food }\n"
        );
    }

    #[test]
    fn there_are_never_too_many_and_errors_come_first() {
        let found = |index: usize| {
            let mut found = Diagnostic::new(
                &UNKNOWN_NAME,
                Span::at(index),
                "x\u{202e}\n".repeat(1 + index * 7),
            );
            if index.is_multiple_of(2) {
                found.severity = Severity::Note;
            }
            found
        };
        for count in [1, 5, 19, 60, 3000] {
            let text = findings(NOTHING_CALLED, &[report(&"y".repeat(5000), found, count)]);
            assert!(tokens(&text) <= MAX_TOKENS, "{text}");
            let lines = text.lines().count();
            assert!(lines > 1 && lines <= MAX_FINDINGS + 2, "{text}");
            assert!(!text.contains('\u{202e}'));
            if count > MAX_FINDINGS {
                let printed = lines - 2;
                assert!(
                    text.ends_with(&format!(
                        "… {} more; correct these first\n",
                        count - printed
                    )),
                    "{text}"
                );
                assert!(!text.contains("note["), "{text}");
            }
        }
    }
}
