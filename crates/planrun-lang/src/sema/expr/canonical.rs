//! One text for every way of writing the same condition: without spacing, with parentheses only where they count.

use super::literal;
use super::report::written;
use crate::syntax::ast;
use crate::types;
use crate::value::duration_text;

/// The text of an expression, whatever spacing, quotes and parentheses it was written with.
pub(super) fn canonical(expression: &ast::Expr) -> String {
    match &expression.kind {
        ast::ExprKind::Literal(literal) => literal_text(literal),
        ast::ExprKind::Template(parts) => template(parts),
        ast::ExprKind::Name(name) => written(name),
        ast::ExprKind::Call {
            function,
            arguments,
        } => format!("{}({})", written(&function.text), list(arguments)),
        ast::ExprKind::Path { base, links } => links
            .iter()
            .fold(operand(base, POSTFIX), |text, link| text + &link_text(link)),
        ast::ExprKind::List(elements) => format!("[{}]", joined(elements.iter().map(canonical))),
        ast::ExprKind::Object(entries) => format!("{{{}}}", joined(entries.iter().map(entry))),
        ast::ExprKind::Unary {
            operators,
            operand: inner,
        } => {
            let signs: String = operators
                .iter()
                .map(|(operator, _)| sign(*operator))
                .collect();
            signs + &operand(inner, UNARY)
        }
        ast::ExprKind::Chain { first, rest } => {
            let level = rest.first().map_or(POSTFIX, |link| level_of(link.operator));
            rest.iter().fold(operand(first, level), |text, link| {
                text + " " + symbol(link.operator) + " " + &operand(&link.operand, level)
            })
        }
        ast::ExprKind::Coalesce(operands) => operands
            .iter()
            .map(|one| operand(one, COALESCE))
            .collect::<Vec<_>>()
            .join(" ?? "),
        ast::ExprKind::Conditional { arms, otherwise } => {
            let arm = |(condition, value): &(ast::Expr, ast::Expr)| {
                format!(
                    "{} ? {} : ",
                    operand(condition, CHOICE),
                    operand(value, CHOICE)
                )
            };
            arms.iter().map(arm).collect::<String>() + &operand(otherwise, CHOICE)
        }
        ast::ExprKind::Match { subject, arms } => {
            let arms = arms
                .iter()
                .map(|arm| format!("{} => {}", pattern(&arm.pattern), canonical(&arm.value)));
            format!("match {} {{{}}}", canonical(subject), joined(arms))
        }
        ast::ExprKind::Is { subject, state } => {
            format!("{} is {}", operand(subject, STATE), state.text)
        }
        ast::ExprKind::Signal(name) => format!("signal {}", quoted(&name.text)),
        ast::ExprKind::Error => "…".to_owned(),
    }
}

/// How tightly an expression holds together; larger is tighter.
const CHOICE: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const COMPARISON: u8 = 3;
const COALESCE: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const UNARY: u8 = 7;
const STATE: u8 = 8;
const POSTFIX: u8 = 9;

fn level(expression: &ast::Expr) -> u8 {
    match &expression.kind {
        ast::ExprKind::Conditional { .. } => CHOICE,
        ast::ExprKind::Chain { rest, .. } => {
            rest.first().map_or(POSTFIX, |link| level_of(link.operator))
        }
        ast::ExprKind::Coalesce(_) => COALESCE,
        ast::ExprKind::Unary { .. } => UNARY,
        ast::ExprKind::Is { .. } => STATE,
        ast::ExprKind::Literal(_)
        | ast::ExprKind::Template(_)
        | ast::ExprKind::Name(_)
        | ast::ExprKind::Call { .. }
        | ast::ExprKind::Path { .. }
        | ast::ExprKind::List(_)
        | ast::ExprKind::Object(_)
        | ast::ExprKind::Match { .. }
        | ast::ExprKind::Signal(_)
        | ast::ExprKind::Error => POSTFIX,
    }
}

fn level_of(operator: ast::BinaryOp) -> u8 {
    match operator {
        ast::BinaryOp::Or => OR,
        ast::BinaryOp::And => AND,
        ast::BinaryOp::Equal
        | ast::BinaryOp::NotEqual
        | ast::BinaryOp::Less
        | ast::BinaryOp::LessEqual
        | ast::BinaryOp::Greater
        | ast::BinaryOp::GreaterEqual
        | ast::BinaryOp::In => COMPARISON,
        ast::BinaryOp::Add | ast::BinaryOp::Subtract => SUM,
        ast::BinaryOp::Multiply | ast::BinaryOp::Divide | ast::BinaryOp::Remainder => PRODUCT,
    }
}

/// An operand of something that holds together so tightly.
fn operand(expression: &ast::Expr, outer: u8) -> String {
    let text = canonical(expression);
    if level(expression) > outer || level(expression) == POSTFIX {
        text
    } else {
        format!("({text})")
    }
}

fn literal_text(literal: &ast::Literal) -> String {
    match literal {
        ast::Literal::String(text) => quoted(text),
        ast::Literal::Uint(number) => format!("{number}u"),
        ast::Literal::Double(number) => format!("{number:?}"),
        ast::Literal::Duration(length) => duration_text(*length),
        ast::Literal::Bytes(_) => format!("b{}", literal::value(literal).0),
        ast::Literal::Null | ast::Literal::Bool(_) | ast::Literal::Int(_) => {
            literal::value(literal).0.to_string()
        }
    }
}

fn quoted(text: &str) -> String {
    types::Literal::String(text.into()).to_string()
}

fn template(parts: &[ast::TemplatePart]) -> String {
    let part = |part: &ast::TemplatePart| match part {
        ast::TemplatePart::Text(text) => quoted(text).trim_matches('"').to_owned(),
        ast::TemplatePart::Expr(expression) => format!("${{{}}}", canonical(expression)),
    };
    format!("\"{}\"", parts.iter().map(part).collect::<String>())
}

fn entry(entry: &ast::Entry) -> String {
    let key = match &entry.key {
        ast::EntryKey::Name(name) => written(&name.text),
        ast::EntryKey::Expr(expression) => format!("({})", canonical(expression)),
    };
    format!("{key}: {}", canonical(&entry.value))
}

fn link_text(link: &ast::Link) -> String {
    let dot = |safe: bool| if safe { "?." } else { "." };
    match &link.kind {
        ast::LinkKind::Field { name, safe } => format!("{}{}", dot(*safe), written(&name.text)),
        ast::LinkKind::Index { index, safe: false } => format!("[{}]", canonical(index)),
        ast::LinkKind::Index { index, safe: true } => format!("?.[{}]", canonical(index)),
        ast::LinkKind::Call {
            name,
            safe,
            arguments,
        } => {
            format!("{}{}({})", dot(*safe), written(&name.text), list(arguments))
        }
    }
}

fn list(arguments: &[ast::Argument]) -> String {
    joined(arguments.iter().map(|argument| match &argument.name {
        Some(name) => format!("{}: {}", written(&name.text), canonical(&argument.value)),
        None => canonical(&argument.value),
    }))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn pattern(written_pattern: &ast::Pattern) -> String {
    match &written_pattern.kind {
        ast::PatternKind::Any => "_".to_owned(),
        ast::PatternKind::Literal(literal) => literal_text(literal),
        ast::PatternKind::Or(alternatives) => alternatives
            .iter()
            .map(pattern)
            .collect::<Vec<_>>()
            .join(" | "),
        ast::PatternKind::Object(fields) => {
            let field = |(name, inner): &(ast::Name, ast::Pattern)| {
                format!("{}: {}", written(&name.text), pattern(inner))
            };
            format!("{{{}}}", joined(fields.iter().map(field)))
        }
    }
}

fn sign(operator: ast::UnaryOp) -> char {
    match operator {
        ast::UnaryOp::Not => '!',
        ast::UnaryOp::Negate => '-',
    }
}

fn symbol(operator: ast::BinaryOp) -> &'static str {
    match operator {
        ast::BinaryOp::Or => "||",
        ast::BinaryOp::And => "&&",
        ast::BinaryOp::Equal => "==",
        ast::BinaryOp::NotEqual => "!=",
        ast::BinaryOp::Less => "<",
        ast::BinaryOp::LessEqual => "<=",
        ast::BinaryOp::Greater => ">",
        ast::BinaryOp::GreaterEqual => ">=",
        ast::BinaryOp::In => "in",
        ast::BinaryOp::Add => "+",
        ast::BinaryOp::Subtract => "-",
        ast::BinaryOp::Multiply => "*",
        ast::BinaryOp::Divide => "/",
        ast::BinaryOp::Remainder => "%",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::syntax::parse_expression;

    #[test]
    fn every_way_of_writing_gives_one_text() {
        for (text, one) in [
            ("( a  &&(b) ) ||!c", "a && b || !c"),
            ("a && (b || c)", "a && (b || c)"),
            ("a - (b - c)", "a - (b - c)"),
            ("x [ 0 ] ?. y", "x[0]?.y"),
            ("'a' == \"a\"", "\"a\" == \"a\""),
            ("{ a : 1, 'b': [ 2u ] }", "{a: 1, (\"b\"): [2u]}"),
            ("a ?? (b ? c : d)", "a ?? (b ? c : d)"),
            ("!(x is failed)", "!x is failed"),
            ("\"a${ b }c\"", "\"a${b}c\""),
            ("60s < 1m", "60s < 60s"),
        ] {
            let (tree, diagnostics) = parse_expression(&SourceFile::new("test", text));
            assert!(diagnostics.is_empty(), "{text}");
            assert_eq!(canonical(&tree), one);
        }
    }
}
