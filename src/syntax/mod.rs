//! Text to tree: grammar, tree, lowering, comments and recovery.

pub mod ast;
mod grammar;
mod lower;

use pest::Parser as _;

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::{SourceFile, Span};
use grammar::quiet::{PlanParser, Rule};
use lower::Lowering;

/// A file's tree with what its text made to report.
#[derive(Debug)]
pub struct Parsed {
    pub file: ast::File,
    pub diagnostics: Vec<Diagnostic>,
}

/// The tree of a whole file. Never fails: what cannot be read is reported and leaves an error node.
#[must_use]
pub fn parse(source: &SourceFile) -> Parsed {
    let mut lowering = Lowering::new(source.text(), &[]);
    let file = match PlanParser::parse(Rule::file, source.text()) {
        Ok(pairs) => lowering.file(pairs),
        Err(_) => ast::File::default(),
    };
    let mut diagnostics = lowering.diagnostics;
    let damage = lowering.damage.iter();
    diagnostics
        .extend(damage.map(|damage| Diagnostic::new(&codes::UNEXPECTED_TOKEN, damage.span, "this cannot be read")));
    Parsed { file, diagnostics }
}

/// The tree of a text that is one expression.
#[must_use]
pub fn parse_expression(source: &SourceFile) -> (ast::Expr, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(source.text(), &[]);
    let expr = match PlanParser::parse(Rule::one_expression, source.text()) {
        Ok(pairs) => lowering.whole_expression(pairs),
        Err(_) => {
            let span = Span::new(0, source.text().len());
            lowering.diagnostics.push(Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, "this is not an expression"));
            ast::Expr { span, kind: ast::ExprKind::Error }
        }
    };
    (expr, lowering.diagnostics)
}
