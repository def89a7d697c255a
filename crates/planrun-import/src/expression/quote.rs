//! Expressions of plans as patterns: plan text with names that stand for other expressions.

use planrun_lang::source::SourceFile;
use planrun_lang::syntax::ast::{Argument, EntryKey, Expr, ExprKind, LinkKind, TemplatePart};
use planrun_lang::syntax::parse_expression;

use crate::tree;

/// Returns the expression of a pattern: `plan!("size(list) > least", list, least = tree::int(2))`. Each name that is
/// listed stands for the expression of the variable with this name, or for the one that is given. Only literals of the
/// import are parsed, so text from outside cannot become code.
macro_rules! plan {
    (@part $name:ident) => { $name.clone() };
    (@part $name:ident $value:expr) => { $value };
    ($pattern:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::expression::quote::filled_pattern(
            $pattern,
            &[$((stringify!($name), $crate::expression::quote::plan!(@part $name $($value)?))),*],
        )
    };
}
pub(crate) use plan;

/// Returns the expression of a pattern, with expressions in place of some names.
pub fn filled_pattern(pattern: &'static str, parts: &[(&str, Expr)]) -> Expr {
    let (expression, errors) = parse_expression(&SourceFile::new("", pattern));
    debug_assert!(errors.is_empty(), "{pattern}: {errors:?}");
    filled(&expression, parts)
}

fn filled(pattern: &Expr, parts: &[(&str, Expr)]) -> Expr {
    let fill = |part: &Expr| filled(part, parts);
    let all = |values: &[Expr]| values.iter().map(fill).collect();
    match &pattern.kind {
        ExprKind::Name(name) => match parts.iter().find(|(part, _)| *part == &**name) {
            Some((_, part)) => part.clone(),
            None => tree::variable(name),
        },
        ExprKind::Call {
            function,
            arguments,
        } => tree::function(&function.text, values(arguments, parts)),
        ExprKind::Path { base, links } => {
            let base = fill(base);
            links
                .iter()
                .fold(base, |base, link| linked(base, &link.kind, parts))
        }
        ExprKind::Template(pieces) => {
            let pieces = pieces.iter().map(|piece| match piece {
                TemplatePart::Text(text) => TemplatePart::Text(text.clone()),
                TemplatePart::Expr(part) => TemplatePart::Expr(fill(part)),
            });
            tree::template(pieces.collect())
        }
        ExprKind::List(elements) => tree::list(all(elements)),
        ExprKind::Object(entries) => {
            let fields = entries.iter().filter_map(|entry| match &entry.key {
                EntryKey::Name(name) => Some((&*name.text, fill(&entry.value))),
                EntryKey::Expr(_) => None,
            });
            tree::object(fields)
        }
        ExprKind::Unary { operators, operand } => {
            let operators = operators.iter().rev();
            operators.fold(fill(operand), |operand, (operator, _)| {
                tree::unary(*operator, operand)
            })
        }
        ExprKind::Chain { first, rest } => {
            let rest = rest.iter().map(|link| (link.operator, fill(&link.operand)));
            tree::chain(fill(first), rest)
        }
        ExprKind::Coalesce(values) => tree::expr(ExprKind::Coalesce(all(values))),
        ExprKind::Conditional { arms, otherwise } => tree::expr(ExprKind::Conditional {
            arms: arms
                .iter()
                .map(|(on, value)| (fill(on), fill(value)))
                .collect(),
            otherwise: Box::new(fill(otherwise)),
        }),
        ExprKind::Literal(literal) => tree::literal(literal.clone()),
        // No pattern contains these.
        ExprKind::Match { .. } | ExprKind::Is { .. } | ExprKind::Signal(_) | ExprKind::Error => {
            pattern.clone()
        }
    }
}

fn linked(base: Expr, link: &LinkKind, parts: &[(&str, Expr)]) -> Expr {
    match link {
        LinkKind::Field { name, .. } => tree::field(base, &name.text),
        LinkKind::Index { index, .. } => tree::index(base, filled(index, parts)),
        LinkKind::Call {
            name, arguments, ..
        } => tree::method(base, &name.text, values(arguments, parts)),
    }
}

fn values(arguments: &[Argument], parts: &[(&str, Expr)]) -> Vec<Expr> {
    let values = arguments.iter().map(|argument| &argument.value);
    values.map(|value| filled(value, parts)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_a_pattern_stand_for_expressions() {
        let (list, least) = (plan!("a.b"), plan!("1 + 2"));
        let several = plan!(
            "size(list) * least > 0 ? list.c[least] : {d: one}",
            list,
            least
        );
        let expected = plan!("size(a.b) * (1 + 2) > 0 ? a.b.c[1 + 2] : {d: one}");
        assert_eq!(several, expected);
    }
}
