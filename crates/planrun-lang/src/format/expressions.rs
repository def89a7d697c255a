//! Prints expressions.

use super::document::{Break, INDENT, width};
use super::printer::{Brackets, Printer};
use super::texts::opens_block;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, BinaryOp, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal,
    MatchArm, Pattern, TypeExpr, UnaryOp,
};
use crate::syntax::precedence::{Level, is_negative, level, operator_level, operator_text};

/// What stands between the operators of a chain.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a> {
    Expr(&'a Expr, Level),
    Type(&'a TypeExpr),
    Pattern(&'a Pattern),
    /// What a test's plan replied, before `==` or `!=`.
    Reply(Span),
}

impl Operand<'_> {
    fn span(self) -> Span {
        match self {
            Self::Expr(expr, _) => expr.span,
            Self::Type(ty) => ty.span,
            Self::Pattern(pattern) => pattern.span,
            Self::Reply(span) => span,
        }
    }
}

/// Whether the expression, on several lines, ends with a bracket on a line of its own.
pub(super) fn closes_itself(printer: &Printer<'_>, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::List(_)
        | ExprKind::Object(_)
        | ExprKind::Call { .. }
        | ExprKind::Match { .. } => true,
        ExprKind::Path { links, .. } => links.iter().filter(|link| is_call(link)).count() == 1,
        ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_) => {
            printer.written(expr.span).is_some_and(opens_block)
        }
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Unary { .. }
        | ExprKind::Chain { .. }
        | ExprKind::Coalesce(_)
        | ExprKind::Conditional { .. }
        | ExprKind::Is { .. }
        | ExprKind::Signal(_)
        | ExprKind::Error => false,
    }
}

/// The word that an expression begins with, and whether it is read as a name wherever it stands.
pub(super) fn first_word(expr: &Expr) -> Option<(&str, bool)> {
    let mut expr = expr;
    let mut dotted = false;
    loop {
        expr = match &expr.kind {
            ExprKind::Name(name) => return Some((name, dotted)),
            ExprKind::Call { function, .. } => return Some((&function.text, false)),
            ExprKind::Match { .. } => return Some(("match", false)),
            ExprKind::Signal(_) => return Some(("signal", false)),
            ExprKind::Path { base, links } => {
                dotted = links.first().is_some_and(is_dotted);
                base
            }
            ExprKind::Chain { first, .. } => first,
            ExprKind::Coalesce(operands) => operands.first()?,
            ExprKind::Conditional { arms, .. } => &arms.first()?.0,
            ExprKind::Is { subject, .. } => subject,
            ExprKind::Literal(_)
            | ExprKind::Template(_)
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Unary { .. }
            | ExprKind::Error => return None,
        };
    }
}

impl<'a> Printer<'a> {
    /// An expression where something that binds at least as tightly as `wanted` is needed.
    pub fn expr(&mut self, expr: &'a Expr, wanted: Level) {
        if level(expr) < wanted {
            self.parenthesised(|this| this.kind(expr));
        } else {
            self.kind(expr);
        }
    }

    /// An expression where one of these words would be read as a word of the language.
    pub fn expr_not_beginning_with(&mut self, expr: &'a Expr, words: &[&str], dotted_too: bool) {
        let taken = |(word, dotted): (&str, bool)| words.contains(&word) && (dotted_too || !dotted);
        let wanted = if first_word(expr).is_some_and(taken) {
            Level::Parenthesised
        } else {
            Level::Conditional
        };
        self.expr(expr, wanted);
    }

    fn kind(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal, expr.span),
            ExprKind::Template(parts) => self.template(parts, expr.span),
            ExprKind::Name(name) => self.variable(name),
            ExprKind::Call {
                function,
                arguments,
            } => {
                self.variable(&function.text);
                self.arguments(
                    arguments,
                    Span {
                        start: function.span.end,
                        end: expr.span.end,
                    },
                );
            }
            ExprKind::Path { base, links } => self.path(base, links),
            ExprKind::List(elements) => self.elements(elements, expr.span),
            ExprKind::Object(entries) => {
                self.list(
                    Brackets::OBJECT,
                    expr.span,
                    entries,
                    |entry| entry.span,
                    Self::entry,
                );
            }
            ExprKind::Unary { operators, operand } => self.unary(operators, operand),
            ExprKind::Chain { first, rest } => self.operators(first, rest),
            ExprKind::Coalesce(operands) => self.coalesce(operands),
            ExprKind::Conditional { arms, otherwise } => self.conditional(arms, otherwise),
            ExprKind::Match { subject, arms } => self.match_value(subject, arms, expr.span.end),
            ExprKind::Is { subject, state } => {
                self.expr(subject, Level::Postfix);
                self.word(" is ");
                self.name(state);
            }
            ExprKind::Signal(text) => {
                self.word("signal ");
                self.plain_text(text);
            }
            ExprKind::Error => {}
        }
    }

    /// Operands between operators of one level.
    fn operators(&mut self, first: &'a Expr, rest: &'a [ChainLink]) {
        let level = rest
            .first()
            .map_or(Level::Postfix, |link| operator_level(link.operator));
        // Chains keep the parentheses around chains of the same operators, and `??` gets some for the reader.
        let within = if level == Level::Comparison {
            Level::Add
        } else {
            level.tighter()
        };
        let compared = rest
            .first()
            .is_some_and(|link| matches!(link.operator, BinaryOp::Equal | BinaryOp::NotEqual));
        let reply = compared && matches!(&first.kind, ExprKind::Name(name) if &**name == "reply");
        let first = if reply {
            Operand::Reply(first.span)
        } else {
            Operand::Expr(first, within)
        };
        let rest = rest.iter().map(|link| {
            let operand = Operand::Expr(&link.operand, within);
            (operator_text(link.operator), operand)
        });
        self.chain(std::iter::once(("", first)).chain(rest));
    }

    fn conditional(&mut self, arms: &'a [(Expr, Expr)], otherwise: &'a Expr) {
        let arms = arms
            .iter()
            .enumerate()
            .flat_map(|(index, (condition, value))| {
                let word = if index == 0 { "" } else { ":" };
                [
                    (word, Operand::Expr(condition, Level::Or)),
                    ("?", Operand::Expr(value, Level::Or)),
                ]
            });
        self.chain(arms.chain([(":", Operand::Expr(otherwise, Level::Or))]));
    }

    /// A `match` that ends at `end`.
    fn match_value(&mut self, subject: &'a Expr, arms: &'a [MatchArm], end: u32) {
        self.word("match ");
        self.value(subject);
        self.word(" ");
        let start = self.comments.seek(subject.span.end, b'{');
        self.list(
            Brackets::OBJECT,
            Span { start, end },
            arms,
            |arm| arm.span,
            Self::match_arm,
        );
    }

    fn coalesce(&mut self, operands: &'a [Expr]) {
        self.chain(operands.iter().enumerate().map(|(index, operand)| {
            let last = index + 1 == operands.len();
            let level = if last { Level::Coalesce } else { Level::Add };
            (
                if index == 0 { "" } else { "??" },
                Operand::Expr(operand, level),
            )
        }));
    }

    /// Operands with what joins them, each on a line of its own where they do not stand on one.
    pub fn chain(&mut self, operands: impl Iterator<Item = (&'static str, Operand<'a>)>) {
        self.begin();
        let mut behind: Option<u32> = None;
        for (word, operand) in operands {
            let span = operand.span();
            match behind {
                None => {
                    self.operand(operand);
                    self.indent();
                }
                Some(behind) => {
                    let slot = self.between(behind, span.start);
                    self.word(word);
                    if !word.ends_with(' ') {
                        self.word(" ");
                    }
                    self.operand(operand);
                    self.hoist(slot, span.start, span.end);
                }
            }
            behind = Some(span.end);
        }
        self.dedent();
        self.end();
    }

    fn operand(&mut self, operand: Operand<'a>) {
        match operand {
            Operand::Expr(expr, level) => self.expr(expr, level),
            Operand::Type(ty) => self.member_type(ty),
            Operand::Pattern(pattern) => self.pattern(pattern),
            Operand::Reply(_) => self.word("reply"),
        }
    }

    fn unary(&mut self, operators: &[(UnaryOp, Span)], operand: &'a Expr) {
        for (operator, _) in operators {
            self.word(match operator {
                UnaryOp::Not => "!",
                UnaryOp::Negate => "-",
            });
        }
        let number = matches!(&operand.kind, ExprKind::Literal(literal) if is_number(literal) && !is_negative(literal));
        let folds = number
            && operators
                .last()
                .is_some_and(|(operator, _)| *operator == UnaryOp::Negate);
        // Signs in parentheses keep them, so that the tree stays as it is.
        let apart = folds || matches!(operand.kind, ExprKind::Unary { .. });
        self.expr(
            operand,
            if apart {
                Level::Parenthesised
            } else {
                Level::Unary
            },
        );
    }

    fn elements(&mut self, elements: &'a [Expr], region: Span) {
        if let [only] = elements
            && self.hugs(only, region)
        {
            self.word("[");
            self.value(only);
            self.word("]");
            return;
        }
        self.list(
            Brackets::LIST,
            region,
            elements,
            |element| element.span,
            Self::value,
        );
    }

    /// The arguments of a call; `region` begins before its parenthesis.
    pub fn arguments(&mut self, arguments: &'a [Argument], region: Span) {
        if let [
            Argument {
                name: None, value, ..
            },
        ] = arguments
            && self.hugs(value, region)
        {
            self.word("(");
            self.value(value);
            self.word(")");
            return;
        }
        let region = Span {
            start: self.comments.seek(region.start, b'('),
            end: region.end,
        };
        self.list(
            Brackets::PARENTHESES,
            region,
            arguments,
            |argument| argument.span,
            Self::argument_value,
        );
    }

    /// Whether the only element of a list needs no lines of its own, since its brackets can do for both.
    fn hugs(&self, expr: &Expr, region: Span) -> bool {
        let bracketed = match &expr.kind {
            // One that does so itself would make a staircase of brackets.
            ExprKind::List(elements) => match elements.as_slice() {
                [] => false,
                [only] => !matches!(only.kind, ExprKind::List(_) | ExprKind::Object(_)),
                [_, ..] => true,
            },
            ExprKind::Object(entries) => !entries.is_empty(),
            ExprKind::Literal(_) | ExprKind::Template(_) => closes_itself(self, expr),
            ExprKind::Name(_)
            | ExprKind::Call { .. }
            | ExprKind::Path { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Chain { .. }
            | ExprKind::Coalesce(_)
            | ExprKind::Conditional { .. }
            | ExprKind::Match { .. }
            | ExprKind::Is { .. }
            | ExprKind::Signal(_)
            | ExprKind::Error => false,
        };
        let around = [(region.start, expr.span.start), (expr.span.end, region.end)];
        bracketed
            && !around
                .iter()
                .any(|(start, end)| self.comments.any(*start, *end))
    }

    fn argument_value(&mut self, argument: &'a Argument) {
        if let Some(name) = &argument.name {
            self.name(name);
            self.word(": ");
        }
        match &argument.value.kind {
            // A comma or the parenthesis follows, so that this is what a test's plan replied.
            ExprKind::Name(name) if &**name == "reply" => self.word("reply"),
            ExprKind::Name(_)
            | ExprKind::Literal(_)
            | ExprKind::Template(_)
            | ExprKind::Call { .. }
            | ExprKind::Path { .. }
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Unary { .. }
            | ExprKind::Chain { .. }
            | ExprKind::Coalesce(_)
            | ExprKind::Conditional { .. }
            | ExprKind::Match { .. }
            | ExprKind::Is { .. }
            | ExprKind::Signal(_)
            | ExprKind::Error => self.value(&argument.value),
        }
    }

    fn entry(&mut self, entry: &'a Entry) {
        match &entry.key {
            EntryKey::Name(name) if matches!(&*name.text, "true" | "false" | "null") => {
                self.word(format!("`{}`", name.text));
            }
            EntryKey::Name(name) => self.name(name),
            EntryKey::Expr(key)
                if matches!(key.kind, ExprKind::Literal(_) | ExprKind::Template(_)) =>
            {
                self.value(key);
            }
            EntryKey::Expr(key) => self.parenthesised(|this| this.value(key)),
        }
        self.word(": ");
        self.value(&entry.value);
    }

    fn match_arm(&mut self, arm: &'a MatchArm) {
        self.pattern(&arm.pattern);
        self.word(" => ");
        self.value(&arm.value);
    }

    fn path(&mut self, base: &'a Expr, links: &'a [Link]) {
        let breaks = self.breaks(base, links);
        if breaks {
            self.begin();
        }
        match &base.kind {
            ExprKind::Name(name) if links.first().is_some_and(is_dotted) => self.dotted_name(name),
            _ => self.expr(base, Level::Postfix),
        }
        let mut behind = base.span.end;
        let mut open: Option<(usize, u32)> = None;
        for (index, link) in links.iter().enumerate() {
            let attached =
                index == 0 && short_name(base) && !self.comments.any(behind, link_start(link));
            if breaks && is_call(link) && !attached {
                match open {
                    Some((slot, start)) => self.hoist(slot, start, behind),
                    None => self.indent(),
                }
                let gap = self.comments.gap(Some(behind), link_start(link), false);
                self.trailing(gap.trailing);
                self.line(Break::Soft);
                let slot = self.above(super::comments::Gap {
                    trailing: None,
                    blank: false,
                    ..gap
                });
                open = Some((slot, link.span.start));
            }
            self.link(link);
            behind = link.span.end;
        }
        if let Some((slot, start)) = open {
            self.hoist(slot, start, behind);
            self.dedent();
        }
        if breaks {
            self.end();
        }
    }

    /// Whether the path may stand on several lines: where it calls more than once, or where a comment wants it.
    fn breaks(&self, base: &Expr, links: &[Link]) -> bool {
        let calls = || links.iter().filter(|link| is_call(link));
        if calls().count() > 1 {
            return true;
        }
        let mut behind = base.span.end;
        links.iter().any(|link| {
            let commented = is_call(link) && self.comments.any(behind, link_start(link));
            behind = link.span.end;
            commented
        })
    }

    fn link(&mut self, link: &'a Link) {
        match &link.kind {
            LinkKind::Field { name, safe } => {
                self.word(if *safe { "?." } else { "." });
                self.name(name);
            }
            LinkKind::Index { index, safe } => self.grouped(|this| {
                this.word(if *safe { "?.[" } else { "[" });
                this.indented(|this| {
                    this.line(Break::Soft);
                    this.value(index);
                });
                this.line(Break::Soft);
                this.word("]");
            }),
            LinkKind::Call {
                name,
                safe,
                arguments,
            } => {
                self.word(if *safe { "?." } else { "." });
                self.name(name);
                self.arguments(
                    arguments,
                    Span {
                        start: name.span.end,
                        end: link.span.end,
                    },
                );
            }
        }
    }

    /// A name before a dot, where no word of expressions is mistaken.
    fn dotted_name(&mut self, name: &str) {
        match name {
            "reply" | "match" | "signal" => self.word(name.to_owned()),
            _ => self.variable(name),
        }
    }
}

fn is_call(link: &Link) -> bool {
    matches!(link.kind, LinkKind::Call { .. })
}

/// Whether the link begins with a dot.
fn is_dotted(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Field { .. } | LinkKind::Call { .. } => true,
        LinkKind::Index { safe, .. } => *safe,
    }
}

/// Where a link's name begins: comments before it stand above the link.
fn link_start(link: &Link) -> u32 {
    match &link.kind {
        LinkKind::Field { name, .. } | LinkKind::Call { name, .. } => name.span.start,
        LinkKind::Index { .. } => link.span.start,
    }
}

/// Whether the next line would be indented as far as the name reaches.
fn short_name(base: &Expr) -> bool {
    matches!(&base.kind, ExprKind::Name(name) if width(name) <= INDENT)
}

fn is_number(literal: &Literal) -> bool {
    match literal {
        Literal::Int(_) | Literal::Uint(_) | Literal::Double(_) | Literal::Duration(_) => true,
        Literal::Null | Literal::Bool(_) | Literal::String(_) | Literal::Bytes(_) => false,
    }
}
