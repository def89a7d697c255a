//! Criteria for the answer of a call: comparisons of runtime expressions, patterns and paths.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal};
use planrun_lang::types::Type;
use planrun_lang::yaml::Node;

use super::Workflow;
use super::runtime::View;
use crate::draft::excerpt;
use crate::expression::condition;
use crate::expression::path::{Path, compared};
use crate::expression::value::Value;
use crate::tree;

/// Returns the condition of a criterion as written in the document.
pub fn written(criterion: &Node) -> &str {
    let condition = criterion.get("condition").and_then(Node::text);
    condition.unwrap_or_default()
}

impl Workflow<'_, '_, '_> {
    /// Returns a condition that all these criteria hold; `None` if there are none.
    pub fn all_hold(&mut self, criteria: &[&Node], view: &View<'_, '_>) -> Option<Expr> {
        let conditions = criteria.iter().map(|node| self.criterion(node, view));
        tree::joined(conditions.collect(), BinaryOp::And)
    }

    /// Translates a criterion. One without a counterpart becomes a hole.
    pub fn criterion(&mut self, node: &Node, view: &View<'_, '_>) -> Expr {
        let condition = written(node);
        let kind = match node.get("type") {
            Some(kind) => kind.text().or_else(|| kind.get("type")?.text()),
            None => Some("simple"),
        };
        let context = node.get("context").and_then(Node::text);
        let read = match (kind, context) {
            (Some("simple"), _) => self.simple(condition, node.span, view),
            (Some("regex"), Some(context)) => {
                let value = self.expression(context, node.span, view);
                Ok(tree::method(value, "matches", vec![tree::text(condition)]))
            }
            (Some("jsonpath"), Some(context)) => self.chosen(condition, context, node, view),
            _ => Err("this kind of criterion has no counterpart".to_owned()),
        };
        read.unwrap_or_else(|why| {
            let what = format!("the criterion `{}`", excerpt(condition));
            self.hole(node.span, what, why)
        })
    }

    /// Returns a message if the criterion has no counterpart.
    fn simple(&mut self, text: &str, span: Span, view: &View<'_, '_>) -> Result<Expr, String> {
        let read = condition::read(text, |words| {
            let left = self.operand(words.take()?, span, view)?;
            let Some(operator) = words.comparison() else {
                return Ok(tree::truth(left));
            };
            let right = self.operand(words.take()?, span, view)?;
            Ok(compared(left, operator, right))
        })?;
        if compares_letters(&read) {
            let what = format!("the criterion `{}`", excerpt(text));
            let why = "is case-sensitive in the plan; the criterion ignores case";
            self.draft.changed(span, what, why);
        }
        Ok(read)
    }

    fn operand(&mut self, word: &str, span: Span, view: &View<'_, '_>) -> Result<Expr, String> {
        if word.starts_with('$') {
            return Ok(self.expression(word, span, view));
        }
        if let Some(quote) = word.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let inner = word.get(1..).and_then(|rest| rest.strip_suffix(quote));
            let inner = inner.ok_or("unterminated string")?;
            let twice = format!("{quote}{quote}");
            return Ok(tree::text(&inner.replace(&twice, &quote.to_string())));
        }
        match word {
            "true" | "false" => Ok(tree::boolean(word == "true")),
            "null" => Ok(tree::null()),
            _ => tree::number(word).ok_or_else(|| format!("`{}` is not a value", excerpt(word))),
        }
    }

    /// Returns a condition that a JSONPath selects something. Returns a message if the path has no counterpart.
    fn chosen(
        &mut self,
        path: &str,
        context: &str,
        node: &Node,
        view: &View<'_, '_>,
    ) -> Result<Expr, String> {
        let path = Path::read(path)?;
        if path.is_into_members() {
            let members = "it selects members of an object, which have no order in a plan";
            if context.trim() == "$response.body" {
                match view.gives {
                    Some(Type::Object(_) | Type::Map(_)) => return Err(members.to_owned()),
                    Some(Type::List(_)) => {}
                    _ => {
                        let what = format!("`{}`", excerpt(context));
                        self.draft.changed(node.span, what, "is treated as a list");
                    }
                }
            }
        }
        let value = self.expression(context, node.span, view);
        path.leads_somewhere(Value::Opaque(value))
    }
}

/// Returns true if texts with letters are compared.
fn compares_letters(condition: &Expr) -> bool {
    let mut found = matches!(
        &condition.kind,
        ExprKind::Literal(Literal::String(text)) if text.chars().any(char::is_alphabetic)
    );
    condition.parts(&mut |part| found |= compares_letters(part));
    found
}
