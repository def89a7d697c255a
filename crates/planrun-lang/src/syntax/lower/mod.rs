//! From pest's flat nodes to the tree: spans, precedence, literals, documentation.

mod clauses;
mod escapes;
mod expressions;
mod items;
mod numbers;
mod patterns;
mod statements;
mod steps;
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
    Comment, CommentKind, Expr, ExprKind, File, Item, Name, Pattern, PatternKind, Statement,
    TypeExpr, TypeExprKind,
};
use super::given_twice;
use super::grammar::parse::Rule;
use super::place::Place;
use super::tree::{Node, Nodes, Tree};
use crate::diag::codes::text as codes;
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;

/// A text that could not be read; it is explained after the whole file has been lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damage {
    pub span: Span,
    pub kind: DamageKind,
}

/// What stood there, and so what it is read as to find the mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DamageKind {
    Item,
    /// A statement or the part of it before its body.
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

impl DamageKind {
    /// Whether the text is a part of a plan that stands alone, with no statement around it.
    pub fn is_part(self) -> bool {
        matches!(self, Self::Expression | Self::Type | Self::Pattern)
    }
}

/// A reserved word that was given to a step or variable, and where.
pub(super) struct ReservedName {
    pub word: Arc<str>,
    /// The diagnostic about it, to which its readers add their edits.
    pub diagnostic: usize,
}

/// The text being lowered, and what is found in it beside the tree.
pub(super) struct Lowering<'a> {
    text: &'a str,
    /// What the author wrote, where that is another text.
    author: Option<&'a str>,
    comments: &'a [Comment],
    pub diagnostics: Vec<Diagnostic>,
    pub damage: Vec<Damage>,
    pub reserved: Vec<ReservedName>,
}

impl<'a> Lowering<'a> {
    /// `text` is what was parsed, `author` what was written; `comments` are those of the file, in order.
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

    /// A file without its items.
    pub fn file(&self) -> File {
        File {
            doc: self.file_doc(),
            items: Vec::new(),
            comments: self.comments.to_vec(),
            is_short: false,
        }
    }

    /// The items of a file or of a part of it.
    pub fn items(&mut self, tree: &Tree<'_>) -> Vec<Item> {
        tree.roots()
            .flat_map(Node::inner)
            .filter_map(|node| lower_item(self, node))
            .collect()
    }

    /// The items and the statements of a text in short form.
    pub fn short(&mut self, tree: &Tree<'_>) -> (Vec<Item>, Vec<Statement>) {
        let (mut items, mut statements) = (Vec::new(), Vec::new());
        for node in tree.roots().flat_map(Node::inner) {
            match node.rule() {
                Rule::use_item
                | Rule::type_item
                | Rule::tool_item
                | Rule::junk_item
                | Rule::EOI => items.extend(lower_item(self, node)),
                _ => lower_statement(self, node, Place::Plan, &mut statements),
            }
        }
        (items, statements)
    }

    /// The tree of a text that is one expression.
    pub fn whole_expression(&mut self, tree: &Tree<'_>) -> Expr {
        let mut inner = tree.roots().flat_map(Node::inner);
        inner
            .find(|node| node.rule() == Rule::expression)
            .map_or_else(|| missing(Span::at(0)), |node| lower_expression(self, node))
    }

    /// The tree of a text that is one type.
    pub fn whole_type(&mut self, tree: &Tree<'_>) -> TypeExpr {
        let root = tree.roots().next().map(Children::of);
        root.map_or_else(missing_type, |mut children| next_type(self, &mut children))
    }

    /// The tree of a text that is one pattern.
    pub fn whole_pattern(&mut self, tree: &Tree<'_>) -> Pattern {
        let root = tree.roots().next().map(Children::of);
        root.map_or_else(any_pattern, |mut children| {
            next_pattern(self, &mut children)
        })
    }

    /// The place of a node in the author's text.
    fn span(&self, node: &Node<'_>) -> Span {
        let span = node.span();
        self.author.map_or(span, |author| within(author, span))
    }

    /// The range without the spaces at its ends.
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

    /// A name that readers use bare, so that reserved words do not serve.
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
                Diagnostic::new(
                    &codes::RESERVED_NAME,
                    name.span,
                    format!(
                        "`{}` is a word of the language and cannot name a step or a variable",
                        name.text
                    ),
                )
                .help(format!(
                    "call it `{}_`, or put it in back quotes wherever it is used",
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

    /// Reports a part of a head that was written before.
    fn written_twice(&mut self, word: &str, place: Span) {
        self.report(
            Diagnostic::new(
                &codes::DUPLICATE_CLAUSE,
                place,
                format!("{word} is written twice"),
            )
            .help("keep one of the two")
            .unsafe_fix("remove the second", vec![Edit::removal(place)]),
        );
    }

    /// Reports a field, argument or key that was written before.
    fn given_twice(&mut self, what: &str, name: &Name, first: Span) {
        self.report(given_twice(what, name, first));
    }

    /// Reports a text with `${` where only constants stand.
    fn not_constant(&mut self, span: Span) {
        self.report(
            Diagnostic::new(&codes::UNEXPECTED_TOKEN, span, "this text must be constant")
                .help("write the text out, without `${`"),
        );
    }

    /// The `//!` lines of the file.
    fn file_doc(&self) -> Option<Arc<str>> {
        let lines = self
            .comments
            .iter()
            .filter(|comment| comment.kind == CommentKind::File);
        joined(lines.map(|comment| self.comment_text(comment, "//!")))
    }

    /// The `///` lines directly above the place where an item or statement begins.
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

/// The words that neither a step nor a variable may be called without back quotes.
const RESERVED: [&str; 18] = [
    "step", "let", "if", "else", "task", "set", "listener", "ensure", "fail", "reply", "yield",
    "next", "do", "true", "false", "null", "in", "is",
];

/// Whether the word is kept from steps and variables.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// The children of a node, taken one after the other by what they are.
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

    /// The next child, if it is one of this kind.
    fn take(&mut self, rule: Rule) -> Option<Node<'t>> {
        if self.peek() == Some(rule) {
            self.nodes.next()
        } else {
            None
        }
    }
}

/// A name without its back quotes; empty where there is none.
fn name(node: Option<Node<'_>>) -> Name {
    let Some(node) = node else {
        return Name::new(Arc::from(""), Span::default());
    };
    Name::new(node.shared(unquoted(node.text())), node.span())
}

/// The smallest range of whole characters of the text that covers the given one, as far as the text goes.
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

fn any_pattern() -> Pattern {
    Pattern {
        span: Span::at(0),
        kind: PatternKind::Any,
    }
}

/// Stands where the text gave no value; the reason was or will be reported.
fn missing(span: Span) -> Expr {
    Expr::new(span, ExprKind::Error)
}

fn joined<'t>(lines: impl Iterator<Item = &'t str>) -> Option<Arc<str>> {
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| Arc::from(lines.join("\n")))
}
