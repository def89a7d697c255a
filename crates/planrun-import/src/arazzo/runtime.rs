//! Runtime expressions: `$inputs.id`, `$steps.find.outputs.name`, `$response.body#/items/0`.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, TemplatePart};

use super::Workflow;
use crate::draft::excerpt;
use crate::tree;

impl Workflow<'_, '_, '_> {
    /// A text: an expression where it is one as a whole, with `{$…}` in it a template, else itself.
    pub fn text(&mut self, text: &str, span: Span, response: Option<&Expr>) -> Expr {
        if text.starts_with('$') {
            return self.expression(text, span, response);
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(open) = rest.find("{$") {
            let inner = rest.get(open + 1..).unwrap_or("");
            let Some(close) = inner.find('}') else { break };
            parts.push(TemplatePart::Text(rest.get(..open).unwrap_or("").into()));
            let value = self.expression(inner.get(..close).unwrap_or(""), span, response);
            parts.push(TemplatePart::Expr(value));
            rest = inner.get(close + 1..).unwrap_or("");
        }
        parts.push(TemplatePart::Text(rest.into()));
        tree::template(parts)
    }

    /// One expression; a hole where it has no counterpart.
    pub fn expression(&mut self, text: &str, span: Span, response: Option<&Expr>) -> Expr {
        self.counterpart(text.trim(), response)
            .unwrap_or_else(|why| self.draft.hole(span, format!("`{}`", excerpt(text)), why))
    }

    fn counterpart(&self, text: &str, response: Option<&Expr>) -> Result<Expr, String> {
        if text.len() > 1000 {
            return Err("the expression is too long".into());
        }
        let (path, pointer) = text
            .split_once('#')
            .map_or((text, None), |(path, pointer)| (path, Some(pointer)));
        let parts: Vec<&str> = path.trim_start_matches('$').split('.').collect();
        let value = match (parts.as_slice(), response) {
            (["inputs", name, rest @ ..], _) => {
                let Some(own) = self.inputs.get(*name) else {
                    return Err(format!(
                        "there is no input `{name}`{}",
                        Self::near(name, self.inputs.keys())
                    ));
                };
                rest.iter()
                    .fold(tree::variable(own), |value, part| tree::field(value, part))
            }
            (["steps", id, "outputs", name, rest @ ..], _) => {
                let Some(done) = self.done.get(*id) else {
                    return Err(format!(
                        "no step above is called `{id}`{}",
                        Self::near(id, self.done.keys())
                    ));
                };
                let Some(value) = done.outputs.get(*name) else {
                    return Err(format!(
                        "the step `{id}` has no output `{name}`{}",
                        Self::near(name, done.outputs.keys())
                    ));
                };
                rest.iter()
                    .fold(value.clone(), |value, part| tree::field(value, part))
            }
            (["response", "body"], Some(response)) => response.clone(),
            // The outputs of a called workflow are what its plan gives.
            (["outputs", name], Some(response)) => tree::field(response.clone(), name),
            (["response", "header", ..], _) => {
                return Err("a tool gives the body of an answer, and none of its headers".into());
            }
            (["statusCode" | "method" | "url" | "request", ..], _) => {
                return Err(
                    "a tool gives the body of an answer, and nothing of the request".into(),
                );
            }
            _ => return Err("it has no counterpart here".into()),
        };
        Ok(pointer.map_or_else(|| value.clone(), |pointer| pointed(value.clone(), pointer)))
    }
}

/// What a JSON pointer leads to.
fn pointed(value: Expr, pointer: &str) -> Expr {
    let parts = pointer.split('/').skip(1);
    parts.fold(value, |value, part| match part.parse::<i64>() {
        Ok(number) if number >= 0 => tree::index(value, tree::int(number)),
        _ => tree::field(value, &part.replace("~1", "/").replace("~0", "~")),
    })
}
