//! Success criteria: comparisons of runtime expressions, joined by `&&`, `||` and `!`.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{BinaryOp, Expr};
use planrun_lang::yaml::Node;

use super::Workflow;
use crate::draft::excerpt;
use crate::tree;

/// Conditions that nest deeper are refused.
const MAX_DEPTH: usize = 30;

/// What a criterion asks for.
pub enum Criterion {
    /// That the answer is a good one, which every call asks for.
    Answered,
    Holds(Expr),
}

struct Parser<'c> {
    words: Vec<&'c str>,
    at: usize,
    depth: usize,
    span: Span,
    response: &'c Expr,
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
        let mut parser = Parser {
            words: words(text),
            at: 0,
            depth: 0,
            span,
            response,
        };
        let read = parser.either(self);
        match read {
            Ok(condition) if parser.at >= parser.words.len() && parser.words.len() < 500 => {
                condition
            }
            other => {
                let why = other
                    .err()
                    .unwrap_or_else(|| "it goes on where it should end".to_owned());
                self.draft
                    .hole(span, format!("the criterion `{}`", excerpt(text)), why)
            }
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

fn words(text: &str) -> Vec<&str> {
    let signs = ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")"];
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let sign = signs.into_iter().find(|sign| rest.starts_with(sign));
        let length = match (sign, c) {
            (Some(sign), _) => sign.len(),
            (None, '"' | '\'') => rest
                .get(1..)
                .and_then(|inner| inner.find(c))
                .map_or(rest.len(), |end| end + 2),
            (None, _) => {
                let end = rest.find(|c: char| c.is_whitespace() || "&|=!<>()".contains(c));
                end.unwrap_or(rest.len()).max(c.len_utf8())
            }
        };
        let (word, behind) = rest.split_at(length);
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

impl Parser<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.words.get(self.at) == Some(&sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err("it nests too deeply".into())
        } else {
            Ok(())
        }
    }

    fn either(&mut self, workflow: &mut Workflow<'_, '_, '_>) -> Result<Expr, String> {
        self.deeper()?;
        let mut parts = vec![self.all(workflow)?];
        while self.eat("||") {
            parts.push(self.all(workflow)?);
        }
        self.depth -= 1;
        tree::joined(parts, BinaryOp::Or).ok_or_else(String::new)
    }

    fn all(&mut self, workflow: &mut Workflow<'_, '_, '_>) -> Result<Expr, String> {
        let mut parts = vec![self.one(workflow)?];
        while self.eat("&&") {
            parts.push(self.one(workflow)?);
        }
        tree::joined(parts, BinaryOp::And).ok_or_else(String::new)
    }

    fn one(&mut self, workflow: &mut Workflow<'_, '_, '_>) -> Result<Expr, String> {
        if self.eat("!") {
            self.deeper()?;
            let inner = self.one(workflow)?;
            self.depth -= 1;
            return Ok(tree::not(inner));
        }
        if self.eat("(") {
            let inner = self.either(workflow)?;
            return if self.eat(")") {
                Ok(inner)
            } else {
                Err("a `)` is missing".into())
            };
        }
        let left = self.operand(workflow)?;
        let operator = match self.words.get(self.at).copied() {
            Some("==") => BinaryOp::Equal,
            Some("!=") => BinaryOp::NotEqual,
            Some("<") => BinaryOp::Less,
            Some("<=") => BinaryOp::LessEqual,
            Some(">") => BinaryOp::Greater,
            Some(">=") => BinaryOp::GreaterEqual,
            _ => return Ok(tree::truth(left)),
        };
        self.at += 1;
        Ok(tree::binary(left, operator, self.operand(workflow)?))
    }

    fn operand(&mut self, workflow: &mut Workflow<'_, '_, '_>) -> Result<Expr, String> {
        let word = self
            .words
            .get(self.at)
            .copied()
            .ok_or("it is not finished")?;
        self.at += 1;
        if word.starts_with('$') {
            return Ok(workflow.expression(word, self.span, Some(self.response)));
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
