//! The one canonical text of a plan: layout, spelling and order decided here, comments where the author put them.

mod clauses;
mod comments;
mod document;
mod expressions;
mod items;
mod parts;
mod printer;
mod statements;
mod steps;
mod test_items;
mod texts;

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::SourceFile;
use crate::syntax::{self, ast};
use items::print_file;
use printer::Printer;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The canonical text of a plan file. It means the same, has every comment once, and is its own canonical text.
///
/// # Errors
/// The findings of a text that cannot be read as a plan file.
pub fn format(source: &SourceFile) -> Result<String, Vec<Diagnostic>> {
    if let Some(text) = source.text().strip_prefix(BYTE_ORDER_MARK) {
        // The places of findings are those of the text with the mark.
        return format(&SourceFile::new(source.name(), text))
            .map_err(|_| syntax::parse(source).diagnostics);
    }
    let parsed = syntax::parse(source);
    if parsed.diagnostics.iter().any(hides_text) {
        return Err(parsed.diagnostics);
    }
    let text = source.text();
    if syntax::json::is_json(source) {
        // Programs write the JSON form, and how they lay it out is theirs.
        return Ok(text.to_owned());
    }
    if let Some(full) = syntax::full_text(source, &parsed.file) {
        return format(&SourceFile::new(source.name(), full)).map_err(|_| parsed.diagnostics);
    }
    let formatted = syntax::with_room(deepest(text), || {
        print_file(Printer::new(text, &parsed.file.comments), &parsed.file)
    });
    formatted.ok_or_else(|| vec![syntax::no_room(source)])
}

/// The canonical text of a tree that has no text of its own; `None` where the system has no memory for its nesting.
#[must_use]
pub fn print(file: &ast::File) -> Option<String> {
    syntax::with_room(usize::MAX, || print_file(Printer::without_text(), file))
}

/// Whether the finding is of a text that the tree does not show whole; the others are about what the plan means.
fn hides_text(finding: &Diagnostic) -> bool {
    let whole = [&codes::EMPTY_PLAN, &codes::DUPLICATE_FIELD];
    finding.is_error() && !whole.iter().any(|code| code.name == finding.code.name)
}

/// How deep the brackets of a text nest at most; those in texts and comments count, which only costs a thread.
fn deepest(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
