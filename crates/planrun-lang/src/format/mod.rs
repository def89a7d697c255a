//! Formats plans: determines layout, spelling and order, and keeps comments where the author put them.

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

/// Returns the canonical text of a plan file. It has the same meaning, contains each comment once, and formatting it
/// again changes nothing. A file in JSON form is returned unchanged.
///
/// # Errors
/// Returns the diagnostics of the file if it cannot be parsed.
pub fn format(source: &SourceFile) -> Result<String, Vec<Diagnostic>> {
    if let Some(text) = source.text().strip_prefix(BYTE_ORDER_MARK) {
        // The spans of diagnostics refer to the text with the mark.
        return format(&SourceFile::new(source.name(), text))
            .map_err(|_| syntax::parse(source).diagnostics);
    }
    let parsed = syntax::parse(source);
    if parsed.diagnostics.iter().any(hides_text) {
        return Err(parsed.diagnostics);
    }
    let text = source.text();
    if syntax::json::is_json(source) {
        // Programs write the JSON form and determine its layout.
        return Ok(text.to_owned());
    }
    if let Some(full) = syntax::full_text(source, &parsed.file) {
        return format(&SourceFile::new(source.name(), full)).map_err(|_| parsed.diagnostics);
    }
    let formatted = syntax::with_stack(deepest(text), || {
        print_file(Printer::new(text, &parsed.file.comments), &parsed.file)
    });
    formatted.ok_or_else(|| vec![syntax::stack_exhausted(source)])
}

/// Returns the canonical text of a tree that was not parsed from a text; `None` if the system cannot provide the stack.
#[must_use]
pub fn print(file: &ast::File) -> Option<String> {
    syntax::with_stack(usize::MAX, || print_file(Printer::without_text(), file))
}

/// Returns true if the tree may lack a part of the text because of this diagnostic.
fn hides_text(finding: &Diagnostic) -> bool {
    let whole = [&codes::EMPTY_PLAN, &codes::DUPLICATE_FIELD];
    finding.is_error() && !whole.iter().any(|code| code.name == finding.code.name)
}

/// Returns the maximum nesting depth of brackets in a text. Those in text literals and comments count too, which costs
/// no more than an unnecessary thread.
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
