//! Parses plans, in text or JSON form, into syntax trees, and explains text that cannot be parsed.

pub mod ast;
mod explain;
mod grammar;
mod indent;
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

pub use indent::indent_lines;
pub use large::map_parts;
pub use lower::is_reserved;
pub use print::{
    canonical, canonical_display, canonical_name, canonical_pattern, canonical_place,
    canonical_type,
};
pub use scan::{MAX_BLOCKS, MAX_EXPRESSION_DEPTH, begins_plan};
pub use short::full_text;
pub use stack::with_stack;
pub use unfinished::complete_prefix;

/// The syntax tree of a file, with diagnostics.
#[derive(Debug)]
pub struct Parsed {
    pub file: ast::File,
    /// In source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a whole file, in text or JSON form. Never fails: invalid parts are reported and leave error nodes.
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
        stack::with_stack(scan.depth, || short::read(&scan, source.is_inline()))
    } else {
        pieces::read(&scan).or_else(|| stack::with_stack(scan.depth, || read_file(&scan)))
    };
    let (file, mut diagnostics) =
        read.unwrap_or_else(|| (ast::File::default(), vec![stack_exhausted(source)]));
    clamp(&mut diagnostics, source.text());
    Parsed { file, diagnostics }
}

/// Parses a text that is one expression.
#[must_use]
pub fn parse_expression(source: &SourceFile) -> (ast::Expr, Vec<Diagnostic>) {
    part::parse(source)
}

fn read_file(scan: &Scan<'_>) -> (ast::File, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(&scan.text, scan.author, &scan.comments);
    let mut file = lowering.file();
    match Tree::read(Rule::file, &scan.text, 0..scan.text.len()) {
        Ok(tree) => file.items = lowering.items(&tree),
        // Does not happen: the grammar accepts every text as a file.
        Err(at) => lowering.damage.push(Damage {
            span: Span::at(at),
            kind: DamageKind::Item,
        }),
    }
    file.damaged = damaged(scan, &lowering);
    (file, explained(scan, lowering))
}

/// Returns the spans of all text that could not be parsed as it was written.
fn damaged(scan: &Scan<'_>, lowering: &Lowering<'_>) -> Vec<Span> {
    let skipped = lowering.damage.iter().map(|damage| damage.span);
    let all = skipped.chain(scan.reported.iter().copied());
    all.map(|span| within(scan.author, span)).collect()
}

/// Returns the diagnostics of scanning and lowering, with an explanation for each part that could not be parsed.
fn explained(scan: &Scan<'_>, lowering: Lowering<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = lowering.diagnostics;
    let explained = explain::explain(scan, &lowering.damage, &lowering.reserved, &mut diagnostics);
    let known = |found: &&Diagnostic| {
        scan.surplus_closers.contains(&found.span) && adjoins(scan, found.span, &explained)
    };
    diagnostics.extend(
        scan.diagnostics
            .iter()
            .filter(|found| !known(found))
            .cloned(),
    );
    // A file with text that was not understood is never without an error, whatever the explanations leave out.
    let unexplained = || !diagnostics.iter().any(Diagnostic::is_error);
    if let Some(damage) = lowering.damage.first().filter(|_| unexplained()) {
        let message = "this text cannot be understood";
        diagnostics.push(
            codes::UNEXPECTED_TOKEN
                .at(damage.span, message)
                .help("compare it with the examples of `planrun explain unexpected-token`"),
        );
    }
    diagnostics
}

/// Returns true if the closing delimiter is in an explained damaged text or directly after one.
fn adjoins(scan: &Scan<'_>, delimiter: Span, explained: &[Span]) -> bool {
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
        codes::FILE_TOO_LARGE
            .at(
                Span::at(0),
                format!(
                    "the file has {length} bytes, but a plan may have at most {MAX_FILE_BYTES}"
                ),
            )
            .help("split it into several plans, and move data to separate files")
    })
}

/// Returns the diagnostic for a text that nests so deeply that the system refuses the stack to parse it.
#[must_use]
pub fn stack_exhausted(source: &SourceFile) -> Diagnostic {
    let span = Span::new(0, source.text().chars().next().map_or(0, char::len_utf8));
    codes::TOO_DEEP
        .at(
            span,
            "there is not enough memory to parse text that is nested this deeply",
        )
        .help("reduce the nesting, or free memory")
}

/// Returns the diagnostic for a repeated name in a list of fields, arguments or arms.
fn given_twice(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    let message = format!("{what} `{}` is given twice", name.text);
    codes::DUPLICATE_FIELD
        .at(name.span, message)
        .label(first, "first given here")
        .help(format!("keep one `{}`", name.text))
}

/// Sorts the diagnostics and clamps their spans to the author's text, since the parsed text may be longer.
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
