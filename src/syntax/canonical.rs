//! One text for each meaning of an expression, however it was written: to compare guards, and to name values.

use std::fmt::Write as _;

use super::ast::{
    Argument, BinaryOp, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal, MatchArm, Pattern,
    PatternKind, TemplatePart, UnaryOp,
};
use super::lower::{is_reserved, spelled_duration};
use crate::source::Span;

/// The expression on one line, without spans, comments and needless parentheses; it reads back as the same expression.
#[must_use]
pub fn canonical(expr: &Expr) -> String {
    let mut text = String::new();
    write_expr(&mut text, expr, Level::Conditional);
    text
}

/// The pattern on one line; it reads back as the same pattern.
#[must_use]
pub fn canonical_pattern(pattern: &Pattern) -> String {
    let mut text = String::new();
    write_pattern(&mut text, pattern);
    text
}

/// The name as it is written where any word may stand: in back quotes where it is no plain word.
#[must_use]
pub fn canonical_name(name: &str) -> String {
    let mut text = String::new();
    write_word(&mut text, name);
    text
}

/// How tightly an expression binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Conditional,
    Or,
    And,
    Comparison,
    Coalesce,
    Add,
    Multiply,
    Unary,
    Is,
    Postfix,
    /// Nothing binds so tightly.
    Parenthesised,
}

impl Level {
    fn tighter(self) -> Self {
        match self {
            Self::Conditional => Self::Or,
            Self::Or => Self::And,
            Self::And => Self::Comparison,
            Self::Comparison => Self::Coalesce,
            Self::Coalesce => Self::Add,
            Self::Add => Self::Multiply,
            Self::Multiply => Self::Unary,
            Self::Unary => Self::Is,
            Self::Is | Self::Postfix | Self::Parenthesised => Self::Postfix,
        }
    }
}

fn level(expr: &Expr) -> Level {
    match &expr.kind {
        ExprKind::Conditional { .. } => Level::Conditional,
        ExprKind::Chain { rest, .. } => rest.first().map_or(Level::Postfix, |link| operator_level(link.operator)),
        ExprKind::Coalesce(_) => Level::Coalesce,
        ExprKind::Unary { .. } => Level::Unary,
        ExprKind::Literal(literal) if is_negative(literal) => Level::Unary,
        ExprKind::Is { .. } => Level::Is,
        ExprKind::Literal(_)
        | ExprKind::Template(_)
        | ExprKind::Name(_)
        | ExprKind::Call { .. }
        | ExprKind::Path { .. }
        | ExprKind::List(_)
        | ExprKind::Object(_)
        | ExprKind::Match { .. }
        | ExprKind::Signal(_)
        | ExprKind::Error => Level::Postfix,
    }
}

fn is_negative(literal: &Literal) -> bool {
    match literal {
        Literal::Int(value) => *value < 0,
        Literal::Double(value) => value.is_sign_negative(),
        Literal::Duration(nanoseconds) => *nanoseconds < 0,
        Literal::Null | Literal::Bool(_) | Literal::Uint(_) | Literal::String(_) | Literal::Bytes(_) => false,
    }
}

fn operator_level(operator: BinaryOp) -> Level {
    match operator {
        BinaryOp::Or => Level::Or,
        BinaryOp::And => Level::And,
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::In => Level::Comparison,
        BinaryOp::Add | BinaryOp::Subtract => Level::Add,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => Level::Multiply,
    }
}

/// The operator as it is written.
fn operator_text(operator: BinaryOp) -> &'static str {
    match operator {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::In => "in",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
    }
}

/// Writes the expression where something that binds at least as tightly as `wanted` is needed.
fn write_expr(out: &mut String, expr: &Expr, wanted: Level) {
    if level(expr) < wanted {
        out.push('(');
        write_kind(out, &expr.kind);
        out.push(')');
    } else {
        write_kind(out, &expr.kind);
    }
}

fn write_kind(out: &mut String, kind: &ExprKind) {
    match kind {
        ExprKind::Literal(literal) => write_literal(out, literal),
        ExprKind::Template(parts) => write_template(out, parts),
        ExprKind::Name(name) => write_variable(out, name),
        ExprKind::Call { function, arguments } => {
            write_variable(out, &function.text);
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
            separated(out, elements, |out, element| write_expr(out, element, Level::Conditional));
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

fn write_unary(out: &mut String, operators: &[(UnaryOp, Span)], operand: &Expr) {
    for (operator, _) in operators {
        out.push(match operator {
            UnaryOp::Not => '!',
            UnaryOp::Negate => '-',
        });
    }
    let number = matches!(&operand.kind, ExprKind::Literal(literal) if !is_negative(literal));
    let folds = number && operators.last().is_some_and(|(operator, _)| *operator == UnaryOp::Negate);
    write_expr(out, operand, if folds { Level::Parenthesised } else { Level::Unary });
}

fn write_chain(out: &mut String, first: &Expr, rest: &[ChainLink]) {
    let level = rest.first().map_or(Level::Postfix, |link| operator_level(link.operator));
    write_expr(out, first, level);
    for link in rest {
        let _ = write!(out, " {} ", operator_text(link.operator));
        write_expr(out, &link.operand, level.tighter());
    }
}

fn write_coalesce(out: &mut String, operands: &[Expr]) {
    for (index, operand) in operands.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { " ?? " });
        let last = index + 1 == operands.len();
        write_expr(out, operand, if last { Level::Coalesce } else { Level::Add });
    }
}

fn write_match(out: &mut String, subject: &Expr, arms: &[MatchArm]) {
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

fn write_arguments(out: &mut String, arguments: &[Argument]) {
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

fn write_link(out: &mut String, link: &Link) {
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
        LinkKind::Call { name, safe, arguments } => {
            out.push_str(dot(*safe));
            write_word(out, &name.text);
            write_arguments(out, arguments);
        }
    }
}

fn write_entry(out: &mut String, entry: &Entry) {
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

fn write_pattern(out: &mut String, pattern: &Pattern) {
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

pub(super) fn write_literal(out: &mut String, literal: &Literal) {
    let _ = match literal {
        Literal::Null => write!(out, "null"),
        Literal::Bool(value) => write!(out, "{value}"),
        Literal::Int(value) => write!(out, "{value}"),
        Literal::Uint(value) => write!(out, "{value}u"),
        Literal::Double(value) => write!(out, "{value:?}"),
        Literal::Duration(nanoseconds) => write!(out, "{}", spelled_duration(*nanoseconds)),
        Literal::String(text) => {
            write_text(out, text);
            Ok(())
        }
        Literal::Bytes(bytes) => {
            out.push_str("b\"");
            bytes.iter().for_each(|byte| {
                let _ = write!(out, "\\x{byte:02x}");
            });
            write!(out, "\"")
        }
    };
}

fn write_template(out: &mut String, parts: &[TemplatePart]) {
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

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    write_escaped(out, text);
    out.push('"');
}

fn write_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' => out.push_str("\\$"),
            c if c.is_control() => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
            c => out.push(c),
        }
    }
}

/// A name that is read: reserved words need back quotes.
pub(super) fn write_variable(out: &mut String, name: &str) {
    if is_reserved(name) || matches!(name, "match" | "signal") {
        let _ = write!(out, "`{name}`");
    } else {
        write_word(out, name);
    }
}

/// A field, argument or state: any word may stand bare.
pub(super) fn write_word(out: &mut String, name: &str) {
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c));
    if starts && characters.all(unicode_ident::is_xid_continue) {
        out.push_str(name);
    } else {
        let _ = write!(out, "`{name}`");
    }
}

pub(super) fn separated<T>(out: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
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
        assert_eq!(text("!(x is failed) && !(y)"), "!x is failed && !y");
        assert_eq!(text("a ?? (b ?? c)"), "a ?? b ?? c");
        assert_eq!(text("(a ?? b) ?? c"), "(a ?? b) ?? c");
        assert_eq!(text("(a ? b : c) ? d : e"), "(a ? b : c) ? d : e");
        assert_eq!(text(r#"'it' + r"\d${x}" + "a ${b} \${c}""#), r#""it" + "\\d\${x}" + "a ${b} \${c}""#);
        assert_eq!(
            text("{a: 1, 'b c': -2, (d): 90m, true: b'x', if: [1u, .5]}"),
            r#"{a: 1, "b c": -2, (d): 1h30m, true: b"\x78", if: [1u, 0.5]}"#
        );
        assert_eq!(
            text("(-1).abs() + x?.[`odd name`]?.`odd name`(a: 1)"),
            "(-1).abs() + x?.[`odd name`]?.`odd name`(a: 1)"
        );
        assert_eq!(text("match x{1|2=>3,{a:_}=>4}+1"), "match x {1 | 2 => 3, {a: _} => 4} + 1");
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
