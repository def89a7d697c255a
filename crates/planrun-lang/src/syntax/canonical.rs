//! One text for each meaning of an expression, however it was written: to compare guards, and to name values.

use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};

use super::ast::{
    Argument, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, MatchArm, Pattern,
    PatternKind, TemplatePart, UnaryOp,
};
use super::precedence::{Level, is_negative, level, operator_level, operator_text};
use super::spelling::{write_escaped, write_literal, write_text, write_variable, write_word};
use crate::source::Span;

/// The expression on one line, without spans, comments and needless parentheses; it reads back as the same expression.
#[must_use]
pub fn canonical(expr: &Expr) -> String {
    on_one_line(expr, write_variable)
}

/// As [`canonical`], with names as they are told: reserved words without back quotes.
#[must_use]
pub fn canonical_told(expr: &Expr) -> String {
    on_one_line(expr, write_word)
}

fn on_one_line(expr: &Expr, variable: fn(&mut String, &str)) -> String {
    let mut line = Line::new(variable);
    write_expr(&mut line, expr, Level::Conditional);
    line.text
}

/// A line in the making.
struct Line {
    text: String,
    /// How names are written that are read.
    variable: fn(&mut String, &str),
}

impl Line {
    fn new(variable: fn(&mut String, &str)) -> Self {
        Self {
            text: String::new(),
            variable,
        }
    }
}

impl Deref for Line {
    type Target = String;

    fn deref(&self) -> &String {
        &self.text
    }
}

impl DerefMut for Line {
    fn deref_mut(&mut self) -> &mut String {
        &mut self.text
    }
}

/// The pattern on one line; it reads back as the same pattern.
#[must_use]
pub fn canonical_pattern(pattern: &Pattern) -> String {
    let mut line = Line::new(write_word);
    write_pattern(&mut line, pattern);
    line.text
}

/// The name as it is written where any word may stand: in back quotes where it is no plain word.
#[must_use]
pub fn canonical_name(name: &str) -> String {
    let mut text = String::new();
    write_word(&mut text, name);
    text
}

/// Writes the expression where something that binds at least as tightly as `wanted` is needed.
fn write_expr(out: &mut Line, expr: &Expr, wanted: Level) {
    if level(expr) < wanted {
        out.push('(');
        write_kind(out, &expr.kind);
        out.push(')');
    } else {
        write_kind(out, &expr.kind);
    }
}

fn write_kind(out: &mut Line, kind: &ExprKind) {
    match kind {
        ExprKind::Literal(literal) => write_literal(out, literal),
        ExprKind::Template(parts) => write_template(out, parts),
        ExprKind::Name(name) => (out.variable)(out, name),
        ExprKind::Call {
            function,
            arguments,
        } => {
            (out.variable)(out, &function.text);
            write_arguments(out, arguments);
        }
        ExprKind::Path { base, links } => {
            write_expr(out, base, Level::Postfix);
            for link in links {
                write_link(out, link);
            }
        }
        ExprKind::List(elements) => {
            out.push('[');
            separated(out, elements, |out, element| {
                write_expr(out, element, Level::Conditional);
            });
            out.push(']');
        }
        ExprKind::Object(entries) => {
            out.push('{');
            separated(out, entries, write_entry);
            out.push('}');
        }
        ExprKind::Unary { operators, operand } => write_unary(out, operators, operand),
        ExprKind::Chain { first, rest } => write_chain(out, first, rest),
        ExprKind::Coalesce(operands) => write_coalesce(out, operands),
        ExprKind::Conditional { arms, otherwise } => {
            for (condition, value) in arms {
                write_expr(out, condition, Level::Or);
                out.push_str(" ? ");
                write_expr(out, value, Level::Or);
                out.push_str(" : ");
            }
            write_expr(out, otherwise, Level::Or);
        }
        ExprKind::Match { subject, arms } => write_match(out, subject, arms),
        ExprKind::Is { subject, state } => {
            write_expr(out, subject, Level::Postfix);
            out.push_str(" is ");
            write_word(out, &state.text);
        }
        ExprKind::Signal(text) => {
            out.push_str("signal ");
            write_text(out, &text.text);
        }
        ExprKind::Error => out.push_str("<error>"),
    }
}

fn write_unary(out: &mut Line, operators: &[(UnaryOp, Span)], operand: &Expr) {
    for (operator, _) in operators {
        out.push(match operator {
            UnaryOp::Not => '!',
            UnaryOp::Negate => '-',
        });
    }
    let number = matches!(&operand.kind, ExprKind::Literal(literal) if !is_negative(literal));
    let folds = number
        && operators
            .last()
            .is_some_and(|(operator, _)| *operator == UnaryOp::Negate);
    write_expr(
        out,
        operand,
        if folds {
            Level::Parenthesised
        } else {
            Level::Unary
        },
    );
}

fn write_chain(out: &mut Line, first: &Expr, rest: &[ChainLink]) {
    let level = rest
        .first()
        .map_or(Level::Postfix, |link| operator_level(link.operator));
    write_expr(out, first, level);
    for link in rest {
        let _ = write!(out, " {} ", operator_text(link.operator));
        write_expr(out, &link.operand, level.tighter());
    }
}

fn write_coalesce(out: &mut Line, operands: &[Expr]) {
    for (index, operand) in operands.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { " ?? " });
        let last = index + 1 == operands.len();
        write_expr(
            out,
            operand,
            if last { Level::Coalesce } else { Level::Add },
        );
    }
}

fn write_match(out: &mut Line, subject: &Expr, arms: &[MatchArm]) {
    out.push_str("match ");
    write_expr(out, subject, Level::Conditional);
    out.push_str(" {");
    separated(out, arms, |out, arm| {
        write_pattern(out, &arm.pattern);
        out.push_str(" => ");
        write_expr(out, &arm.value, Level::Conditional);
    });
    out.push('}');
}

fn write_arguments(out: &mut Line, arguments: &[Argument]) {
    out.push('(');
    separated(out, arguments, |out, argument| {
        if let Some(name) = &argument.name {
            write_word(out, &name.text);
            out.push_str(": ");
        }
        write_expr(out, &argument.value, Level::Conditional);
    });
    out.push(')');
}

fn write_link(out: &mut Line, link: &Link) {
    let dot = |safe: bool| if safe { "?." } else { "." };
    match &link.kind {
        LinkKind::Field { name, safe } => {
            out.push_str(dot(*safe));
            write_word(out, &name.text);
        }
        LinkKind::Index { index, safe } => {
            out.push_str(if *safe { "?.[" } else { "[" });
            write_expr(out, index, Level::Conditional);
            out.push(']');
        }
        LinkKind::Call {
            name,
            safe,
            arguments,
        } => {
            out.push_str(dot(*safe));
            write_word(out, &name.text);
            write_arguments(out, arguments);
        }
    }
}

fn write_entry(out: &mut Line, entry: &Entry) {
    match &entry.key {
        EntryKey::Name(name) if matches!(&*name.text, "true" | "false" | "null") => {
            let _ = write!(out, "`{}`", name.text);
        }
        EntryKey::Name(name) => write_word(out, &name.text),
        EntryKey::Expr(key) => match &key.kind {
            ExprKind::Literal(literal) => write_literal(out, literal),
            ExprKind::Template(parts) => write_template(out, parts),
            ExprKind::Name(_)
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
            | ExprKind::Error => {
                out.push('(');
                write_kind(out, &key.kind);
                out.push(')');
            }
        },
    }
    out.push_str(": ");
    write_expr(out, &entry.value, Level::Conditional);
}

fn write_pattern(out: &mut Line, pattern: &Pattern) {
    match &pattern.kind {
        PatternKind::Any => out.push('_'),
        PatternKind::Literal(literal) => write_literal(out, literal),
        PatternKind::Or(alternatives) => {
            for (index, alternative) in alternatives.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { " | " });
                write_pattern(out, alternative);
            }
        }
        PatternKind::Object(fields) => {
            out.push('{');
            separated(out, fields, |out, (name, pattern)| {
                write_word(out, &name.text);
                out.push_str(": ");
                write_pattern(out, pattern);
            });
            out.push('}');
        }
    }
}

fn write_template(out: &mut Line, parts: &[TemplatePart]) {
    out.push('"');
    for part in parts {
        match part {
            TemplatePart::Text(text) => write_escaped(out, text),
            TemplatePart::Expr(value) => {
                out.push_str("${");
                write_expr(out, value, Level::Conditional);
                out.push('}');
            }
        }
    }
    out.push('"');
}

fn separated<T>(out: &mut Line, items: &[T], mut write: impl FnMut(&mut Line, &T)) {
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        write(out, item);
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use crate::source::SourceFile;
    use crate::syntax::parse_expression;

    fn text(source: &str) -> String {
        let (expr, diagnostics) = parse_expression(&SourceFile::new("test", source));
        assert!(diagnostics.is_empty(), "{source}: {diagnostics:?}");
        canonical(&expr)
    }

    #[test]
    fn the_same_condition_has_one_text() {
        assert_eq!(text("(( a.b==1 )) // why"), "a.b == 1");
        assert_eq!(text("(a+b)*c - (d-e)"), "(a + b) * c - (d - e)");
        assert_eq!(text("( a  &&(b) ) ||!c"), "a && b || !c");
        assert_eq!(text("a && (b || c)"), "a && (b || c)");
        assert_eq!(text("x [ 0 ] ?. y"), "x[0]?.y");
        assert_eq!(text("'a' == \"a\""), "\"a\" == \"a\"");
        assert_eq!(text("a ?? (b ? c : d)"), "a ?? (b ? c : d)");
        assert_eq!(text("60s < 1m"), "1m < 1m");
        assert_eq!(text("!(x is failed) && !(y)"), "!x is failed && !y");
        assert_eq!(text("a ?? (b ?? c)"), "a ?? b ?? c");
        assert_eq!(text("(a ?? b) ?? c"), "(a ?? b) ?? c");
        assert_eq!(text("(a ? b : c) ? d : e"), "(a ? b : c) ? d : e");
        assert_eq!(
            text(r#"'it' + r"\d${x}" + "a ${b} \${c}""#),
            r#""it" + "\\d\${x}" + "a ${b} \${c}""#
        );
        assert_eq!(
            text("{a: 1, 'b c': -2, (d): 90m, true: b'x', if: [1u, .5]}"),
            r#"{a: 1, "b c": -2, (d): 1h30m, true: b"\x78", if: [1u, 0.5]}"#
        );
        assert_eq!(
            text("(-1).abs() + x?.[`odd name`]?.`odd name`(a: 1)"),
            "(-1).abs() + x?.[`odd name`]?.`odd name`(a: 1)"
        );
        assert_eq!(
            text("match x{1|2=>3,{a:_}=>4}+1"),
            "match x {1 | 2 => 3, {a: _} => 4} + 1"
        );
    }

    #[test]
    fn the_text_reads_back_as_itself() {
        for source in [
            "-(-x)",
            "-(1)",
            "-(-1)",
            "-1.abs()",
            "(-1).abs()",
            "-(1.5)",
            "!(-(2s))",
            "--1",
            "-(1 + 2)",
            "1 - (2 - 3) - 4",
            "(a in b) in c",
            "a in (b in c)",
            "signal \"x\"",
            "!x is failed",
        ] {
            let once = text(source);
            assert_eq!(text(&once), once, "{source}");
        }
    }
}
