//! Findings drawn for people: the place in its lines, what was expected, the remedy, the edit.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, ThemeCharacters, ThemeStyles};
use owo_colors::OwoColorize;

use super::excerpt::Excerpt;
use super::{FileReport, Look, plain, visible_line, visible_text, wrap};
use crate::diag::{Diagnostic, Edit, Fix, Severity};
use crate::source::SourceFile;

/// Findings that are drawn: nobody reads on, and a terminal keeps no more.
const MAX_DRAWN: usize = 200;
/// Edits listed behind `fix`.
const LISTED_EDITS: usize = 4;
/// Characters of an edit's text that are shown.
const EDIT_CHARACTERS: usize = 60;
/// Columns of a source line that are shown at least, however narrow the terminal.
const MIN_COLUMNS: usize = 40;

/// Every finding as a drawing, and where to read more.
#[must_use]
pub fn human(reports: &[FileReport], look: Look) -> String {
    let handler = handler(look);
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
            facts(&report.source, found, look),
            look,
        )
    });
    let left_out = (left_out > 0).then(|| {
        format!(
            "{left_out} more findings are not drawn: --format short has them all, a line each\n"
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

/// One drawing with a heading of its own, and words of its own below it.
#[must_use]
pub fn drawn(
    source: &SourceFile,
    found: &Diagnostic,
    heading: String,
    below: &[(&str, String)],
    look: Look,
) -> String {
    let below = below
        .iter()
        .map(|(word, fact)| (*word, wrap(&visible_text(fact), fact_width(look))));
    drawing(
        &handler(look),
        source,
        found,
        heading,
        below.collect(),
        look,
    )
}

fn handler(look: Look) -> GraphicalReportHandler {
    let characters = if look.unicode {
        ThemeCharacters::unicode()
    } else {
        ThemeCharacters::ascii()
    };
    let styles = if look.color {
        ThemeStyles::ansi()
    } else {
        ThemeStyles::none()
    };
    GraphicalReportHandler::new_themed(GraphicalTheme { characters, styles })
        .with_width(look.width)
        .with_context_lines(1)
        .without_syntax_highlighting()
}

/// A word and the lines of text beside it.
type Fact<'a> = (&'a str, Vec<String>);

/// One finding under a heading, with facts below it and an empty line behind it.
fn drawing(
    handler: &GraphicalReportHandler,
    source: &SourceFile,
    diagnostic: &Diagnostic,
    heading: String,
    facts: Vec<Fact<'_>>,
    look: Look,
) -> String {
    // The gutter with the line number and the ellipses take their share.
    let columns = look.width.saturating_sub(14).max(MIN_COLUMNS);
    let finding = Finding {
        code: heading,
        severity: diagnostic.severity,
        message: visible_line(&diagnostic.message).into_owned(),
        excerpt: Excerpt::new(source, diagnostic, columns),
    };
    let mut out = String::new();
    // Writing to a string does not fail, and every mark lies within the excerpt.
    if handler.render_report(&mut out, &finding).is_err() {
        out = format!("{}: {}\n", finding.code, finding.message);
    }
    for line in lines(facts, look) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
    out
}

/// What is told below the drawing.
fn facts<'a>(source: &SourceFile, diagnostic: &'a Diagnostic, look: Look) -> Vec<Fact<'a>> {
    let width = fact_width(look);
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

/// The columns for what stands beside a word.
fn fact_width(look: Look) -> usize {
    look.width.saturating_sub(14)
}

/// The words below each other, each with its text beside it.
fn lines(facts: Vec<Fact<'_>>, look: Look) -> Vec<String> {
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
            lines.push(if look.color {
                format!("  {} {text}", word.cyan())
            } else {
                format!("  {word} {text}")
            });
        }
    }
    lines
}

/// The title of a fix and what it would change, a line each.
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

/// The beginning of a text on one line.
fn excerpt_of(text: &str) -> String {
    let text = text.trim_matches(['\n', '\r', ' ']);
    match text.char_indices().nth(EDIT_CHARACTERS) {
        Some((end, _)) => visible_line(text.get(..end).unwrap_or("")).into_owned() + "…",
        None => visible_line(text).into_owned(),
    }
}

/// A diagnostic in the form that the drawing library asks for.
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
