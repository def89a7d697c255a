//! Changes of conditions, arguments and values.

use super::{Kind, Mutants};
use crate::syntax::ast::{BinaryOp, ChainLink, Expr, ExprKind, LinkKind, Literal, TemplatePart, UnaryOp};

impl Mutants<'_> {
    /// A condition is its opposite, and each of its comparisons another one.
    pub(super) fn condition(&mut self, condition: &Expr) {
        let text = self.text(condition.span).to_owned();
        self.replace(Kind::Guard, condition.span, "the condition is its opposite", format!("!({text})"));
        self.operators(condition);
    }

    fn operators(&mut self, expression: &Expr) {
        match &expression.kind {
            ExprKind::Chain { first, rest } => {
                self.operators(first);
                for ChainLink { operator, operator_span, operand } in rest {
                    let other = match operator {
                        BinaryOp::And => "||",
                        BinaryOp::Or => "&&",
                        BinaryOp::Less => "<=",
                        BinaryOp::LessEqual => "<",
                        BinaryOp::Greater => ">=",
                        BinaryOp::GreaterEqual => ">",
                        // The opposite of an equality is the opposite of all of it.
                        BinaryOp::Equal
                        | BinaryOp::NotEqual
                        | BinaryOp::In
                        | BinaryOp::Add
                        | BinaryOp::Subtract
                        | BinaryOp::Multiply
                        | BinaryOp::Divide
                        | BinaryOp::Remainder => "",
                    };
                    // One operator of a chain alone would need parentheses around it.
                    if !other.is_empty() && (rest.len() == 1 || !matches!(operator, BinaryOp::And | BinaryOp::Or)) {
                        let written = self.text(*operator_span).to_owned();
                        self.replace(Kind::Guard, *operator_span, format!("`{written}` is `{other}`"), other);
                    }
                    self.operators(operand);
                }
            }
            ExprKind::Unary { operators, operand }
                if operators.iter().all(|(operator, _)| *operator == UnaryOp::Not) =>
            {
                self.operators(operand);
            }
            _ => {}
        }
    }

    /// The arguments of a call, each another one.
    pub(super) fn call(&mut self, call: &Expr) {
        let ExprKind::Path { links, .. } = &call.kind else { return };
        for link in links {
            let LinkKind::Call { arguments, .. } = &link.kind else { continue };
            for argument in arguments {
                let name = argument.name.as_ref().map(|name| name.text.to_string()).unwrap_or_default();
                self.value(&argument.value, &format!("the argument `{name}`"));
            }
        }
    }

    pub(super) fn call_or_value(&mut self, expression: &Expr) {
        let is_call = matches!(&expression.kind, ExprKind::Path { links, .. }
            if links.iter().any(|link| matches!(link.kind, LinkKind::Call { .. })));
        if is_call { self.call(expression) } else { self.values(expression) }
    }

    /// The fields of an object, each another one; a value that is no object is another one.
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

    /// A value is another one of its type, where the text tells which type it has.
    fn value(&mut self, value: &Expr, what: &str) {
        let changed = match &value.kind {
            ExprKind::Literal(Literal::String(text)) => Some(
                serde_json::Value::from(if text.is_empty() { "?".to_owned() } else { format!("{text}?") }).to_string(),
            ),
            ExprKind::Literal(Literal::Int(number)) => Some(number.saturating_add(1).to_string()),
            ExprKind::Literal(Literal::Bool(truth)) => Some((!truth).to_string()),
            ExprKind::Template(parts) => {
                let fixed =
                    parts.iter().any(|part| matches!(part, TemplatePart::Text(text) if !text.trim().is_empty()));
                fixed.then(|| format!("({}) + \"?\"", self.text(value.span)))
            }
            ExprKind::Chain { rest, .. } => rest
                .iter()
                .all(|link| link.operator == BinaryOp::Add)
                .then(|| format!("({}) + {}", self.text(value.span), self.text(value.span))),
            ExprKind::Coalesce(operands) => operands.last().map(|last| self.text(last.span).to_owned()),
            ExprKind::Conditional { arms, otherwise } => match arms.as_slice() {
                [(condition, yes)] => Some(format!(
                    "{} ? {} : {}",
                    self.text(condition.span),
                    self.text(otherwise.span),
                    self.text(yes.span)
                )),
                _ => None,
            },
            ExprKind::Object(_) => {
                self.values(value);
                None
            }
            _ => None,
        };
        if let Some(changed) = changed {
            self.replace(Kind::Argument, value.span, format!("{what} is another one"), changed);
        }
    }
}
