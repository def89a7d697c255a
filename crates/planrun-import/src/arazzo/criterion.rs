//! Success criteria: comparisons of runtime expressions.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::Expr;
use planrun_lang::yaml::Node;

use super::Workflow;
use crate::draft::excerpt;
use crate::expression::condition;
use crate::tree;

/// What a criterion asks for.
pub enum Criterion {
    /// That the answer is a good one, which every call asks for.
    Answered,
    Holds(Expr),
}

impl Workflow<'_, '_, '_> {
    /// A criterion over what a step gives. What has no counterpart is a hole.
    pub fn criterion(&mut self, node: &Node, response: &Expr) -> Criterion {
        let condition = node
            .get("condition")
            .and_then(Node::text)
            .unwrap_or_default();
        let kind = node.get("type").map_or(Some("simple"), Node::text);
        let context = node.get("context").and_then(Node::text);
        match (kind, context) {
            (Some("simple"), _) if asks_for_success(condition) => Criterion::Answered,
            (Some("simple"), _) => Criterion::Holds(self.simple(condition, node.span, response)),
            (Some("regex"), Some(context)) => {
                let value = self.expression(context, node.span, Some(response));
                Criterion::Holds(tree::method(value, "matches", vec![tree::text(condition)]))
            }
            _ => {
                let what = format!("the criterion `{}`", excerpt(condition));
                Criterion::Holds(self.draft.hole(
                    node.span,
                    what,
                    "this kind of criterion has no counterpart",
                ))
            }
        }
    }

    fn simple(&mut self, text: &str, span: Span, response: &Expr) -> Expr {
        let read = condition::read(text, |words| {
            let left = self.operand(words.take()?, span, response)?;
            Ok(match words.comparison() {
                Some(operator) => {
                    let right = self.operand(words.take()?, span, response)?;
                    tree::binary(left, operator, right)
                }
                None => tree::truth(left),
            })
        });
        read.unwrap_or_else(|why| {
            let what = format!("the criterion `{}`", excerpt(text));
            self.draft.hole(span, what, why)
        })
    }

    fn operand(&mut self, word: &str, span: Span, response: &Expr) -> Result<Expr, String> {
        if word.starts_with('$') {
            return Ok(self.expression(word, span, Some(response)));
        }
        if let Some(text) = word.strip_prefix(['"', '\'']) {
            return Ok(tree::text(text.trim_end_matches(['"', '\''])));
        }
        match word {
            "true" | "false" => Ok(tree::boolean(word == "true")),
            "null" => Ok(tree::null()),
            _ => tree::number(word).ok_or_else(|| format!("`{}` is no value", excerpt(word))),
        }
    }
}

/// Whether a condition only says that the status is one of success.
pub fn asks_for_success(condition: &str) -> bool {
    let squeezed: String = condition.chars().filter(|c| !c.is_whitespace()).collect();
    let parts = squeezed.split("||").flat_map(|part| part.split("&&"));
    let mut parts = parts.map(|part| part.strip_prefix("$statusCode"));
    parts.all(|part| {
        part.is_some_and(|rest| {
            let number = rest.trim_start_matches(['=', '<', '>']);
            (rest.starts_with("==") && number.len() == 3 && number.starts_with('2'))
                || matches!(rest, ">=200" | "<300" | "<=299")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_statuses_are_what_every_call_asks_for() {
        for text in [
            "$statusCode == 200",
            "$statusCode >= 200 && $statusCode < 300",
            "$statusCode==201 || $statusCode==204",
        ] {
            assert!(asks_for_success(text), "{text}");
        }
        for text in [
            "$statusCode == 404",
            "$statusCode == 200 && $response.body#/ok == true",
            "",
        ] {
            assert!(!asks_for_success(text), "{text}");
        }
    }
}
