//! Renders diagnostics for people: marked source lines, what was expected, the remedy and the edits.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, ThemeCharacters, ThemeStyles};
use owo_colors::OwoColorize;

use super::excerpt::Excerpt;
use super::{Appearance, FileReport, plain, visible_line, visible_text, wrap};
use crate::diag::{Diagnostic, Edit, Fix, Severity};
use crate::source::SourceFile;

/// Maximum number of diagnostics to render; a terminal does not keep more.
const MAX_DRAWN: usize = 200;
/// Maximum number of edits to list after `fix`.
const LISTED_EDITS: usize = 4;
/// Maximum number of characters of an edit's text to display.
const EDIT_CHARACTERS: usize = 60;
/// Minimum width of source lines in columns, however narrow the terminal.
const MIN_COLUMNS: usize = 40;

/// Renders the diagnostics graphically, followed by a pointer to the explanation of one code.
#[must_use]
pub fn human(reports: &[FileReport], appearance: Appearance) -> String {
    let handler = handler(appearance);
    let all = reports
        .iter()
        .flat_map(|report| report.diagnostics.iter().map(move |found| (report, found)));
    let left_out = all.clone().count().saturating_sub(MAX_DRAWN);
    let drawings = all.take(MAX_DRAWN).map(|(report, found)| {
        let heading = format!("{}[{}]", found.severity, found.code.name);
        drawing(
            &handler,
            &report.source,
            found,
            heading,
            facts(&report.source, found, appearance),
            appearance,
        )
    });
    let left_out = (left_out > 0).then(|| {
        format!(
            "{left_out} more diagnostics are not shown: --format short lists all of them, one per line\n"
        )
    });
    let explained = reports
        .iter()
        .flat_map(|report| &report.diagnostics)
        .filter(|found| !found.code.page.is_empty());
    let worst = explained.min_by_key(|diagnostic| diagnostic.severity);
    let more = worst.map(|diagnostic| {
        format!(
            "More about a code: planrun explain {}\n",
            diagnostic.code.name
        )
    });
    drawings.chain(left_out).chain(more).collect()
}

/// Renders one diagnostic with a custom heading and custom facts below it.
#[must_use]
pub fn drawn(
    source: &SourceFile,
    found: &Diagnostic,
    heading: String,
    below: &[(&str, String)],
    appearance: Appearance,
) -> String {
    let below = below
        .iter()
        .map(|(word, fact)| (*word, wrap(&visible_text(fact), fact_width(appearance))));
    drawing(
        &handler(appearance),
        source,
        found,
        heading,
        below.collect(),
        appearance,
    )
}

fn handler(appearance: Appearance) -> GraphicalReportHandler {
    let characters = if appearance.unicode {
        ThemeCharacters::unicode()
    } else {
        ThemeCharacters::ascii()
    };
    let styles = if appearance.color {
        ThemeStyles::ansi()
    } else {
        ThemeStyles::none()
    };
    GraphicalReportHandler::new_themed(GraphicalTheme { characters, styles })
        .with_width(appearance.width)
        .with_context_lines(1)
        .without_syntax_highlighting()
}

/// A label and the lines of text next to it.
type Fact<'a> = (&'a str, Vec<String>);

/// Renders one diagnostic under a heading, with facts below it and a final empty line.
fn drawing(
    handler: &GraphicalReportHandler,
    source: &SourceFile,
    diagnostic: &Diagnostic,
    heading: String,
    facts: Vec<Fact<'_>>,
    appearance: Appearance,
) -> String {
    // The gutter with the line number, and ellipses, need space too.
    let columns = appearance.width.saturating_sub(14).max(MIN_COLUMNS);
    let finding = Finding {
        code: heading,
        severity: diagnostic.severity,
        message: visible_line(&diagnostic.message).into_owned(),
        excerpt: Excerpt::new(source, diagnostic, columns),
    };
    let mut out = String::new();
    // Cannot fail: the output is a string, and every mark lies within the excerpt.
    if handler.render_report(&mut out, &finding).is_err() {
        out = format!("{}: {}\n", finding.code, finding.message);
    }
    for line in lines(facts, appearance) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
    out
}

/// Returns the facts to display below the excerpt.
fn facts<'a>(
    source: &SourceFile,
    diagnostic: &'a Diagnostic,
    appearance: Appearance,
) -> Vec<Fact<'a>> {
    let width = fact_width(appearance);
    let facts =
        plain::facts(diagnostic).map(|(word, fact)| (word, wrap(&visible_text(&fact), width)));
    let mut facts = facts.collect::<Vec<_>>();
    facts.extend(
        diagnostic
            .fix
            .as_ref()
            .map(|fix| ("fix", remedy(source, fix, width))),
    );
    facts
}

/// Returns the width of the text next to a label, in columns.
fn fact_width(appearance: Appearance) -> usize {
    appearance.width.saturating_sub(14)
}

/// Lays out the facts with aligned labels.
fn lines(facts: Vec<Fact<'_>>, appearance: Appearance) -> Vec<String> {
    let longest = facts.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (word, texts) in facts {
        for (index, text) in texts.iter().enumerate() {
            let word = if index == 0 {
                format!("{word}:")
            } else {
                String::new()
            };
            let word = format!("{word:<width$}", width = longest + 1);
            lines.push(if appearance.color {
                format!("  {} {text}", word.cyan())
            } else {
                format!("  {word} {text}")
            });
        }
    }
    lines
}

/// Returns the title of a fix and its edits, one per line.
fn remedy(source: &SourceFile, fix: &Fix, width: usize) -> Vec<String> {
    let caution = if fix.safe {
        ""
    } else {
        " (may change the meaning)"
    };
    let mut lines = wrap(&format!("{}{caution}", visible_text(&fix.title)), width);
    lines.extend(
        fix.edits
            .iter()
            .take(LISTED_EDITS)
            .map(|edit| change(source, edit)),
    );
    if fix.edits.len() > LISTED_EDITS {
        lines.push(format!("and {} more edits", fix.edits.len() - LISTED_EDITS));
    }
    lines
}

fn change(source: &SourceFile, edit: &Edit) -> String {
    let at = source.position(edit.span.start);
    let (old, new) = (excerpt_of(source.slice(edit.span)), excerpt_of(&edit.text));
    let what = match (edit.span.is_empty(), edit.text.is_empty()) {
        (true, _) => format!("insert `{new}`"),
        (false, true) => format!("remove `{old}`"),
        (false, false) => format!("`{old}` becomes `{new}`"),
    };
    format!("{}:{}: {what}", at.line, at.column)
}

/// Returns the beginning of a text, on one line.
fn excerpt_of(text: &str) -> String {
    let text = text.trim_matches(['\n', '\r', ' ']);
    match text.char_indices().nth(EDIT_CHARACTERS) {
        Some((end, _)) => visible_line(text.get(..end).unwrap_or("")).into_owned() + "…",
        None => visible_line(text).into_owned(),
    }
}

/// Adapts a diagnostic to miette.
#[derive(Debug)]
struct Finding {
    code: String,
    severity: Severity,
    message: String,
    excerpt: Excerpt,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Finding {}

impl miette::Diagnostic for Finding {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.excerpt.marks.iter().map(|mark| {
            let message = (!mark.message.is_empty()).then(|| mark.message.clone());
            if mark.primary {
                LabeledSpan::new_primary_with_span(message, mark.range.clone())
            } else {
                LabeledSpan::new_with_span(message, mark.range.clone())
            }
        })))
    }
}
