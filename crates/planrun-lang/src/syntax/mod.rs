//! Text to tree: grammar, tree, lowering, comments and recovery.

pub mod ast;
mod decode;
mod explain;
mod grammar;
pub mod json;
mod large;
mod lower;
mod part;
mod pieces;
mod place;
pub mod precedence;
pub mod print;
mod scan;
pub mod settings;
mod short;
pub mod spelling;
mod stack;
mod tree;
mod unfinished;

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::{MAX_FILE_BYTES, SourceFile, Span};
use grammar::parse::Rule;
use lower::{Damage, DamageKind, Lowering, within};
use scan::Scan;
use tree::Tree;

pub use decode::decode;
pub use large::map_parts;
pub use lower::is_reserved;
pub use print::{canonical, canonical_name, canonical_pattern, canonical_told, canonical_type};
pub use scan::{MAX_BLOCKS, MAX_EXPRESSION_DEPTH, begins_plan};
pub use short::full_text;
pub use stack::with_room;
pub use unfinished::so_far;

/// A file's tree with what its text made to report.
#[derive(Debug)]
pub struct Parsed {
    pub file: ast::File,
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tree of a whole file, of text or of its JSON form. Never fails: what cannot be read is reported and leaves an error node.
#[must_use]
pub fn parse(source: &SourceFile) -> Parsed {
    if let Some(diagnostic) = too_large(source) {
        return Parsed {
            file: ast::File::default(),
            diagnostics: vec![diagnostic],
        };
    }
    if json::is_json(source) {
        return json::decode(source);
    }
    let scan = scan::scan(source.text());
    let read = if scan.is_short() {
        stack::with_room(scan.depth, || short::read(&scan, source.is_handed_in()))
    } else {
        pieces::read(&scan).or_else(|| stack::with_room(scan.depth, || read_file(&scan)))
    };
    let (file, mut diagnostics) =
        read.unwrap_or_else(|| (ast::File::default(), vec![no_room(source)]));
    clamp(&mut diagnostics, source.text());
    Parsed { file, diagnostics }
}

/// The tree of a text that is one expression.
#[must_use]
pub fn parse_expression(source: &SourceFile) -> (ast::Expr, Vec<Diagnostic>) {
    part::parse(source)
}

fn read_file(scan: &Scan<'_>) -> (ast::File, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(&scan.text, scan.author, &scan.comments);
    let mut file = lowering.file();
    match Tree::read(Rule::file, &scan.text, 0..scan.text.len()) {
        Ok(tree) => file.items = lowering.items(&tree),
        // Only where the native stack runs out: every text has a reading as a file.
        Err(at) => lowering.damage.push(Damage {
            span: Span::at(at),
            kind: DamageKind::Item,
        }),
    }
    (file, explained(scan, lowering))
}

/// What was found in a text, with what is to say of the parts that could not be read.
fn explained(scan: &Scan<'_>, lowering: Lowering<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = lowering.diagnostics;
    let explained = explain::explain(scan, &lowering.damage, &lowering.reserved, &mut diagnostics);
    let known = |found: &&Diagnostic| {
        scan.strays.contains(&found.span) && beside(scan, found.span, &explained)
    };
    diagnostics.extend(
        scan.diagnostics
            .iter()
            .filter(|found| !known(found))
            .cloned(),
    );
    diagnostics
}

/// Whether the closing delimiter stands in a damaged text or directly behind one.
fn beside(scan: &Scan<'_>, delimiter: Span, explained: &[Span]) -> bool {
    explained.iter().any(|damage| {
        let between = scan.text.get(damage.end as usize..delimiter.start as usize);
        damage.start <= delimiter.start
            && (delimiter.start < damage.end
                || between.is_some_and(|between| between.trim().is_empty()))
    })
}

fn too_large(source: &SourceFile) -> Option<Diagnostic> {
    let length = source.text().len();
    (length > MAX_FILE_BYTES).then(|| {
        Diagnostic::new(
            &codes::FILE_TOO_LARGE,
            Span::at(0),
            format!("the file has {length} bytes, and plans may have {MAX_FILE_BYTES}"),
        )
        .help("split it into several plans, and keep data in files of their own")
    })
}

/// The finding where the system refuses the room that the nesting of a text needs.
#[must_use]
pub fn no_room(source: &SourceFile) -> Diagnostic {
    let span = Span::new(0, source.text().chars().next().map_or(0, char::len_utf8));
    Diagnostic::new(
        &codes::TOO_DEEP,
        span,
        "the system has no memory left to read so deeply nested a text",
    )
    .help("nest less deeply, or free memory")
}

/// The finding about a name that stands in a list twice: a field, an argument, an arm.
fn given_twice(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    let message = format!("{what} `{}` is given twice", name.text);
    Diagnostic::new(&codes::DUPLICATE_FIELD, name.span, message)
        .label(first, "first given here")
        .help(format!("keep one `{}`", name.text))
}

/// Orders the findings, and keeps their places inside the author's text, which may have been mended.
fn clamp(diagnostics: &mut [Diagnostic], text: &str) {
    let clamp = |span: &mut Span| *span = within(text, *span);
    for diagnostic in diagnostics.iter_mut() {
        clamp(&mut diagnostic.span);
        diagnostic
            .labels
            .iter_mut()
            .for_each(|label| clamp(&mut label.span));
        let edits = diagnostic
            .fix
            .iter_mut()
            .flat_map(|fix| fix.edits.iter_mut());
        edits.for_each(|edit| clamp(&mut edit.span));
    }
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code.name));
}
