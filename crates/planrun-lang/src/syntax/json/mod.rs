//! The JSON form of plans, for programs and for models with structured output.

mod definitions;
mod document;
mod elements;
mod fixes;
mod key_value;
mod layout;
mod narrow;
mod print;
mod reader;
mod reference;
mod relocate;
mod schema;
mod shapes;
mod strings;
mod trees;
mod type_names;
mod values;

use std::path::Path;

use jsonc_parser::ast::Value;

use super::{Parsed, ast, canonical, clamp, stack, stack_exhausted};
use crate::source::SourceFile;
use reader::Reader;
use shapes::FILE;
use values::read_expression;

pub use definitions::{PlanTexts, canonical_json};
pub use fixes::fit_fixes;
pub use layout::text;
pub use narrow::{Breadth, complete, narrowed};
pub use print::encode;
pub use reference::reference;
pub use schema::schema;

/// File name extension of plans in JSON form.
pub const ENDING: &str = ".plan.json";

/// Returns true if the file is a plan in JSON form: by its name or, if the name does not decide, by a first character
/// of `{`, with which no plan text begins.
#[must_use]
pub fn is_json(source: &SourceFile) -> bool {
    let name = source.name();
    let is_text = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "plan");
    name.ends_with(ENDING) || (!is_text && source.text().trim_start().starts_with('{'))
}

/// Parses a file in JSON form. Never fails: invalid parts are reported and leave error nodes.
pub(super) fn decode(source: &SourceFile) -> Parsed {
    let depth = document::depth(source.text());
    let read = stack::with_stack(depth, || read(source));
    let (file, mut diagnostics) =
        read.unwrap_or_else(|| (ast::File::default(), vec![stack_exhausted(source)]));
    clamp(&mut diagnostics, source.text());
    Parsed { file, diagnostics }
}

fn read(source: &SourceFile) -> (ast::File, Vec<crate::diag::Diagnostic>) {
    let value = match document::value(source.text()) {
        Ok(value) => value,
        Err(finding) => return (ast::File::default(), vec![*finding]),
    };
    let mut reader = Reader::new(source.text());
    let file = read_tree(&mut reader, &value);
    (file, reader.diagnostics)
}

/// Formats a value of the JSON form as an expression of the language.
fn expression_text(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match document::value(&text) {
        Ok(value) => canonical(&read_expression(&mut Reader::new(&text), &value, false, 0)),
        Err(_) => text,
    }
}

fn read_tree(reader: &mut Reader<'_>, value: &Value<'_>) -> ast::File {
    let Some(fields) = reader.fields(value, &FILE) else {
        return ast::File::default();
    };
    ast::File {
        doc: fields.read(reader, "doc"),
        items: fields.read(reader, "items"),
        comments: Vec::new(),
        is_short: false,
        damaged: Vec::new(),
    }
}
