//! Lowers pest's flat nodes to the syntax tree: spans, operator precedence, literals, documentation.

mod clauses;
mod escapes;
mod expressions;
mod items;
mod numbers;
mod patterns;
mod statements;
mod steps;
mod strays;
mod test_items;
mod texts;
mod type_expressions;

use std::sync::Arc;

use expressions::lower_expression;
use items::lower_item;
pub(super) use numbers::spelled as spelled_duration;
use patterns::next_pattern;
use statements::lower_statement;
use type_expressions::next_type;

use super::ast::{
    Comment, CommentKind, Expr, ExprKind, File, Item, Name, Pattern, Statement, TypeExpr,
    TypeExprKind,
};
use super::given_twice;
use super::grammar::parse::Rule;
use super::place::Place;
use super::tree::{Node, Nodes, Tree};
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;

/// A text that could not be parsed. It is explained after the whole file has been lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damage {
    pub span: Span,
    pub kind: DamageKind,
}

/// The syntax expected in a damaged text, which determines the rule it is parsed with to find the error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DamageKind {
    Item,
    /// A statement, or the part of one before its body.
    Statement,
    TestStatement,
    Clause,
    Parameter,
    RaceArm,
    StepArm,
    /// A whole text that should be one expression.
    Expression,
    /// A whole text that should be one type.
    Type,
    /// A whole text that should be one pattern.
    Pattern,
}

/// A reserved word used as the name of a step or variable.
pub(super) struct ReservedName {
    pub word: Arc<str>,
    /// Index of the diagnostic about it; the fix is extended to the uses of the name.
    pub diagnostic: usize,
}

/// The state of lowering one text, including everything it yields in addition to the tree.
pub(super) struct Lowering<'a> {
    text: &'a str,
    /// The text that the author wrote, if it differs from `text`.
    author: Option<&'a str>,
    comments: &'a [Comment],
    pub diagnostics: Vec<Diagnostic>,
    pub damage: Vec<Damage>,
    pub reserved: Vec<ReservedName>,
}

impl<'a> Lowering<'a> {
    /// Creates the state for `text`, which was parsed, and `author`, which was written; `comments` are in source order.
    pub fn new(text: &'a str, author: &'a str, comments: &'a [Comment]) -> Self {
        let author = (text.as_ptr() != author.as_ptr()).then_some(author);
        Self {
            text,
            author,
            comments,
            diagnostics: Vec::new(),
            damage: Vec::new(),
            reserved: Vec::new(),
        }
    }

    /// Returns the file without its items.
    pub fn file(&self) -> File {
        File {
            doc: self.file_doc(),
            items: Vec::new(),
            comments: self.comments.to_vec(),
            is_short: false,
            damaged: Vec::new(),
        }
    }

    /// Lowers the items of a file or of a part of one.
    pub fn items(&mut self, tree: &Tree<'_>) -> Vec<Item> {
        tree.roots()
            .flat_map(Node::inner)
            .filter_map(|node| lower_item(self, node))
            .collect()
    }

    /// Lowers the items and statements of a text in short form.
    pub fn short(&mut self, tree: &Tree<'_>) -> (Vec<Item>, Vec<Statement>) {
        let (mut items, mut statements) = (Vec::new(), Vec::new());
        for node in tree.roots().flat_map(Node::inner) {
            match node.rule() {
                Rule::use_item
                | Rule::type_item
                | Rule::tool_item
                | Rule::damaged_use
                | Rule::junk_item
                | Rule::EOI => items.extend(lower_item(self, node)),
                _ => lower_statement(self, node, Place::Plan, &mut statements),
            }
        }
        (items, statements)
    }

    /// Lowers a text that is one expression.
    pub fn whole_expression(&mut self, tree: &Tree<'_>) -> Expr {
        let mut inner = tree.roots().flat_map(Node::inner);
        inner
            .find(|node| node.rule() == Rule::expression)
            .map_or_else(|| missing(Span::at(0)), |node| lower_expression(self, node))
    }

    /// Lowers a text that is one type.
    pub fn whole_type(&mut self, tree: &Tree<'_>) -> TypeExpr {
        let root = tree.roots().next().map(Children::of);
        root.map_or_else(missing_type, |mut children| next_type(self, &mut children))
    }

    /// Lowers a text that is one pattern.
    pub fn whole_pattern(&mut self, tree: &Tree<'_>) -> Pattern {
        let root = tree.roots().next().map(Children::of);
        root.map_or_else(missing_pattern, |mut children| {
            next_pattern(self, &mut children)
        })
    }

    /// Returns the span of a node in the author's text.
    fn span(&self, node: &Node<'_>) -> Span {
        let span = node.span();
        self.author.map_or(span, |author| within(author, span))
    }

    /// Returns the span without the white space at its ends.
    fn trim(&self, span: Span) -> Span {
        let slice = self.text.get(span.range()).unwrap_or("");
        let start = span.start as usize + (slice.len() - slice.trim_start().len());
        let span = Span::new(start, start + slice.trim().len());
        self.author.map_or(span, |author| within(author, span))
    }

    fn report(&mut self, finding: Diagnostic) {
        self.diagnostics.push(finding);
    }

    fn damaged(&mut self, span: Span, kind: DamageKind) {
        let span = self.trim(span);
        self.damage.push(Damage { span, kind });
    }

    /// Lowers the name of a step or variable, which expressions use without back quotes, and reports a reserved word.
    fn variable(&mut self, node: Option<Node<'_>>) -> Name {
        let bare = node
            .as_ref()
            .is_some_and(|node| !node.text().starts_with('`'));
        let name = name(node);
        if bare && is_reserved(&name.text) {
            let quoted = format!("`{}`", name.text);
            self.reserved.push(ReservedName {
                word: name.text.clone(),
                diagnostic: self.diagnostics.len(),
            });
            self.report(
                codes::RESERVED_NAME.at(name.span, format!(
                        "`{}` is a reserved word and cannot be the name of a step or a variable",
                        name.text
                    ))
                .help(format!(
                    "rename it to `{}_`, or put it in back quotes wherever it is used",
                    name.text
                ))
                .fix_all(
                    "put the name in back quotes",
                    vec![Edit::new(name.span, quoted)],
                ),
            );
        }
        name
    }

    /// Reports a repeated part of a head.
    fn written_twice(&mut self, word: &str, place: Span) {
        self.report(
            codes::DUPLICATE_CLAUSE
                .at(place, format!("{word} is written twice"))
                .help("keep one of the two")
                .unsafe_fix("remove the second", vec![Edit::removal(place)]),
        );
    }

    /// Reports a repeated field, argument or key.
    fn given_twice(&mut self, what: &str, name: &Name, first: Span) {
        self.report(given_twice(what, name, first));
    }

    /// Reports a text with `${` where only a constant is allowed.
    fn not_constant(&mut self, span: Span) {
        self.report(
            codes::UNEXPECTED_TOKEN
                .at(span, "this string must be constant")
                .help("write a string without `${`"),
        );
    }

    /// Returns the `//!` lines of the file.
    fn file_doc(&self) -> Option<Arc<str>> {
        let lines = self
            .comments
            .iter()
            .filter(|comment| comment.kind == CommentKind::File);
        joined(lines.map(|comment| self.comment_text(comment, "//!")))
    }

    /// Returns the `///` lines directly above the start of an item or statement.
    fn doc_above(&self, start: u32) -> Option<Arc<str>> {
        let behind = self
            .comments
            .partition_point(|comment| comment.span.start < start);
        let mut first = behind;
        let mut below = start as usize;
        while let Some(comment) = first
            .checked_sub(1)
            .and_then(|index| self.comments.get(index))
        {
            let between = self
                .text
                .get(comment.span.end as usize..below)
                .unwrap_or("x");
            if comment.kind != CommentKind::Doc || !between.trim().is_empty() {
                break;
            }
            below = comment.span.start as usize;
            first -= 1;
        }
        let lines = self.comments.get(first..behind).unwrap_or_default();
        joined(
            lines
                .iter()
                .map(|comment| self.comment_text(comment, "///")),
        )
    }

    fn comment_text(&self, comment: &Comment, marker: &str) -> &'a str {
        let text = self.text.get(comment.span.range()).unwrap_or("");
        let text = text.strip_prefix(marker).unwrap_or(text);
        text.strip_prefix(' ').unwrap_or(text).trim_end()
    }
}

/// Words that cannot name a step or variable without back quotes.
const RESERVED: [&str; 18] = [
    "step", "let", "if", "else", "task", "set", "listener", "ensure", "fail", "reply", "yield",
    "next", "do", "true", "false", "null", "in", "is",
];

/// Returns true if the word cannot name a step or variable without back quotes.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// A cursor over the children of a node, consumed by rule.
struct Children<'t> {
    nodes: Nodes<'t>,
}

impl<'t> Children<'t> {
    fn of(node: Node<'t>) -> Self {
        Self {
            nodes: node.inner(),
        }
    }

    fn peek(&self) -> Option<Rule> {
        self.nodes.peek().map(Node::rule)
    }

    fn next(&mut self) -> Option<Node<'t>> {
        self.nodes.next()
    }

    /// Consumes the next child if it matched this rule.
    fn take(&mut self, rule: Rule) -> Option<Node<'t>> {
        if self.peek() == Some(rule) {
            self.nodes.next()
        } else {
            None
        }
    }
}

/// Returns a name without its back quotes; an empty one if there is no node.
fn name(node: Option<Node<'_>>) -> Name {
    let Some(node) = node else {
        return Name::new(Arc::from(""), Span::default());
    };
    Name::new(node.shared(unquoted(node.text())), node.span())
}

/// Extends a span to character boundaries of the text and clamps it to the text's end.
pub(super) fn within(text: &str, span: Span) -> Span {
    let mut start = (span.start as usize).min(text.len());
    let mut end = (span.end as usize).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    Span::new(start, end)
}

fn unquoted(word: &str) -> &str {
    word.strip_prefix('`')
        .and_then(|word| word.strip_suffix('`'))
        .unwrap_or(word)
}

fn missing_type() -> TypeExpr {
    TypeExpr {
        span: Span::at(0),
        kind: TypeExprKind::Error,
    }
}

fn missing_pattern() -> Pattern {
    patterns::unreadable(Span::at(0))
}

/// Returns the placeholder for a missing value, whose absence has been or will be reported.
fn missing(span: Span) -> Expr {
    Expr::new(span, ExprKind::Error)
}

fn joined<'t>(lines: impl Iterator<Item = &'t str>) -> Option<Arc<str>> {
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| Arc::from(lines.join("\n")))
}
