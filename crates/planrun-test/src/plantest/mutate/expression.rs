//! Mutants of conditions, arguments and values.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    Argument, BinaryOp, ChainLink, Expr, ExprKind, Link, LinkKind, Literal, TemplatePart,
};

use super::{Kind, Mutants};

/// List methods whose second argument is a condition.
const PREDICATES: [&str; 4] = ["filter", "all", "exists", "exists_one"];

impl Mutants<'_> {
    /// Negates a condition, and mutates each of its parts.
    pub(super) fn condition(&mut self, condition: &Expr) {
        let text = self.text(condition.span).to_owned();
        self.replace(
            Kind::Guard,
            condition.span,
            "the condition is negated",
            format!("!({text})"),
        );
        self.inside(condition);
    }

    /// Mutates the comparisons and conditions inside an expression.
    pub(super) fn inside(&mut self, expression: &Expr) {
        match &expression.kind {
            ExprKind::Chain { first, rest } => {
                self.comparisons(rest);
                self.operands(first, rest);
                self.inside(first);
                for link in rest {
                    self.inside(&link.operand);
                }
            }
            ExprKind::Unary { operand, .. } => self.inside(operand),
            ExprKind::Path { base, links } => {
                self.inside(base);
                for link in links {
                    self.link(link);
                }
            }
            ExprKind::Call { arguments, .. } => self.arguments(arguments),
            ExprKind::List(items) | ExprKind::Coalesce(items) => {
                for item in items {
                    self.inside(item);
                }
            }
            ExprKind::Object(entries) => entries.iter().for_each(|entry| self.inside(&entry.value)),
            ExprKind::Conditional { arms, otherwise } => {
                for (condition, value) in arms {
                    self.inside(condition);
                    self.inside(value);
                }
                self.inside(otherwise);
            }
            ExprKind::Match { subject, arms } => {
                self.inside(subject);
                for arm in arms {
                    self.inside(&arm.value);
                }
            }
            ExprKind::Template(parts) => {
                for part in parts {
                    if let TemplatePart::Expr(part) = part {
                        self.inside(part);
                    }
                }
            }
            ExprKind::Literal(_)
            | ExprKind::Name(_)
            | ExprKind::Is { .. }
            | ExprKind::Signal(_)
            | ExprKind::Error => {}
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            self.inside(&argument.value);
        }
    }

    /// Mutates the predicate of a list method as a condition.
    fn link(&mut self, link: &Link) {
        match &link.kind {
            LinkKind::Call {
                name, arguments, ..
            } => match arguments.as_slice() {
                [element, condition] if PREDICATES.contains(&&*name.text) => {
                    self.inside(&element.value);
                    self.condition(&condition.value);
                }
                arguments => self.arguments(arguments),
            },
            LinkKind::Index { index, .. } => self.inside(index),
            LinkKind::Field { .. } => {}
        }
    }

    /// Replaces each comparison or logical operator with another one.
    fn comparisons(&mut self, rest: &[ChainLink]) {
        for ChainLink {
            operator,
            operator_span,
            ..
        } in rest
        {
            let other = match operator {
                BinaryOp::And => "||",
                BinaryOp::Or => "&&",
                BinaryOp::Less => "<=",
                BinaryOp::LessEqual => "<",
                BinaryOp::Greater => ">=",
                BinaryOp::GreaterEqual => ">",
                // Negating an equality is the same mutant as negating the whole condition.
                BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::In
                | BinaryOp::Add
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::Divide
                | BinaryOp::Remainder => "",
            };
            // Replacing one of several logical operators would need parentheses.
            if !other.is_empty()
                && (rest.len() == 1 || !matches!(operator, BinaryOp::And | BinaryOp::Or))
            {
                let written = self.text(*operator_span).to_owned();
                self.replace(
                    Kind::Guard,
                    *operator_span,
                    format!("`{written}` is replaced by `{other}`"),
                    other,
                );
            }
        }
    }

    /// Removes each operand of `&&` or `||` in turn.
    fn operands(&mut self, first: &Expr, rest: &[ChainLink]) {
        if !rest
            .iter()
            .all(|link| matches!(link.operator, BinaryOp::And | BinaryOp::Or))
        {
            return;
        }
        let spans: Vec<Span> = std::iter::once(first.span)
            .chain(rest.iter().map(|link| link.operand.span))
            .collect();
        for (index, span) in spans.iter().enumerate() {
            // Including the operator between the operand and its neighbor.
            let gone = match (
                index.checked_sub(1).and_then(|before| spans.get(before)),
                spans.get(index + 1),
            ) {
                (Some(before), _) => Span {
                    start: before.end,
                    end: span.end,
                },
                (None, Some(after)) => Span {
                    start: span.start,
                    end: after.start,
                },
                (None, None) => continue,
            };
            let what = format!("`{}` is removed", self.text(*span));
            self.remove(Kind::Guard, gone, what);
        }
    }

    /// Changes each argument of a call.
    pub(super) fn call(&mut self, call: &Expr) {
        let ExprKind::Path { links, .. } = &call.kind else {
            return;
        };
        for link in links {
            let LinkKind::Call { arguments, .. } = &link.kind else {
                continue;
            };
            for argument in arguments {
                let name = argument
                    .name
                    .as_ref()
                    .map(|name| name.text.to_string())
                    .unwrap_or_default();
                self.value(&argument.value, &format!("the argument `{name}`"));
            }
        }
    }

    pub(super) fn call_or_value(&mut self, expression: &Expr) {
        let is_call = matches!(&expression.kind, ExprKind::Path { links, .. }
            if links.iter().any(|link| matches!(link.kind, LinkKind::Call { .. })));
        if is_call {
            self.call(expression);
        } else {
            self.values(expression);
        }
    }

    /// Changes each field of an object; a value that is not an object is changed itself.
    pub(super) fn values(&mut self, expression: &Expr) {
        match &expression.kind {
            ExprKind::Object(entries) => {
                for entry in entries {
                    self.value(&entry.value, "a field");
                }
            }
            _ => self.value(expression, "the value"),
        }
    }

    /// Replaces a value with another one of its type, if the text shows which type it has.
    pub(super) fn value(&mut self, value: &Expr, what: &str) {
        let changed = match &value.kind {
            ExprKind::Literal(Literal::String(text)) => Some(
                serde_json::Value::from(if text.is_empty() {
                    "?".to_owned()
                } else {
                    format!("{text}?")
                })
                .to_string(),
            ),
            ExprKind::Literal(Literal::Int(number)) => Some(number.saturating_add(1).to_string()),
            ExprKind::Literal(Literal::Bool(truth)) => Some((!truth).to_string()),
            ExprKind::Template(parts) => {
                let fixed = parts.iter().any(
                    |part| matches!(part, TemplatePart::Text(text) if !text.trim().is_empty()),
                );
                fixed.then(|| format!("({}) + \"?\"", self.text(value.span)))
            }
            ExprKind::Chain { rest, .. } => rest
                .iter()
                .all(|link| link.operator == BinaryOp::Add)
                .then(|| format!("({}) + {}", self.text(value.span), self.text(value.span))),
            ExprKind::Coalesce(operands) => {
                operands.last().map(|last| self.text(last.span).to_owned())
            }
            ExprKind::Conditional { arms, otherwise } => match arms.as_slice() {
                [(condition, yes)] => Some(format!(
                    "{} ? {} : {}",
                    self.text(condition.span),
                    self.text(otherwise.span),
                    self.text(yes.span)
                )),
                _ => None,
            },
            _ => None,
        };
        if let Some(changed) = changed {
            self.replace(
                Kind::Argument,
                value.span,
                format!("{what} is changed"),
                changed,
            );
        }
        if matches!(value.kind, ExprKind::Object(_)) {
            self.values(value);
        } else {
            self.inside(value);
        }
    }
}
