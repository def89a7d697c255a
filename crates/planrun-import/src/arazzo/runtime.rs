//! Runtime expressions: `$inputs.id`, `$steps.find.outputs.name`, `$response.body#/items/0`.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, TemplatePart};
use planrun_lang::types::Type;
use planrun_lang::yaml::{Content, Node};

use super::steps::{END, Steps};
use super::{Workflow, near};
use crate::control_flow::Flow;
use crate::draft::excerpt;
use crate::expression::path::Path;
use crate::expression::value::Value;
use crate::expression::within_bounds;
use crate::tree;

/// The values that a runtime expression can read.
pub struct View<'v, 'd> {
    pub steps: &'v Steps<'d>,
    /// The reading step, or [`END`].
    pub at: &'d str,
    pub flow: &'v Flow,
    /// The body of the answer, if there is one.
    pub body: Option<Expr>,
    /// The type of the body, if it is known.
    pub gives: Option<&'v Type>,
}

impl<'v, 'd> View<'v, 'd> {
    /// Returns the values that are known before a step, or at the end.
    pub fn before(steps: &'v Steps<'d>, at: &'d str, flow: &'v Flow) -> Self {
        Self {
            steps,
            at,
            flow,
            body: None,
            gives: None,
        }
    }

    /// Returns the same values with an answer.
    pub fn behind(&self, body: Expr, gives: Option<&'v Type>) -> Self {
        Self {
            body: Some(body),
            gives,
            ..Self::before(self.steps, self.at, self.flow)
        }
    }
}

impl Workflow<'_, '_, '_> {
    /// Translates a value with runtime expressions in its texts.
    pub fn value(&mut self, node: &Node, view: &View<'_, '_>) -> Expr {
        match &node.content {
            Content::Text(text) => self.text(text, node.span, view),
            Content::List(items) => {
                let items = items.iter().map(|item| self.value(item, view));
                tree::list(items.collect())
            }
            Content::Map(entries) => {
                let fields = entries.iter();
                tree::object(fields.map(|entry| (&entry.name, self.value(&entry.value, view))))
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => tree::constant(node),
        }
    }

    /// Translates a text: to an expression if all of it is one, to a template if it contains `{$…}`, else to itself.
    fn text(&mut self, text: &str, span: Span, view: &View<'_, '_>) -> Expr {
        if text.starts_with('$') {
            return self.expression(text, span, view);
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(open) = rest.find("{$") {
            let inner = rest.get(open + 1..).unwrap_or("");
            let Some(close) = inner.find('}') else { break };
            parts.push(TemplatePart::Text(rest.get(..open).unwrap_or("").into()));
            let value = self.expression(inner.get(..close).unwrap_or(""), span, view);
            parts.push(TemplatePart::Expr(value));
            rest = inner.get(close + 1..).unwrap_or("");
        }
        parts.push(TemplatePart::Text(rest.into()));
        tree::template(parts)
    }

    /// Translates one expression; it becomes a hole if it has no counterpart.
    pub fn expression(&mut self, text: &str, span: Span, view: &View<'_, '_>) -> Expr {
        let text = text.trim();
        self.counterpart(text, view)
            .unwrap_or_else(|why| self.hole(span, format!("`{}`", excerpt(text)), why))
    }

    /// Returns the hole for a part without a counterpart; the same hole each time that the part is read.
    pub fn hole(&mut self, span: Span, what: String, why: impl AsRef<str>) -> Expr {
        let key = (span.start, what);
        if let Some(hole) = self.holes.get(&key) {
            return hole.clone();
        }
        let hole = self.draft.hole(span, &*key.1, why);
        self.holes.insert(key, hole.clone());
        hole
    }

    fn counterpart(&self, text: &str, view: &View<'_, '_>) -> Result<Expr, String> {
        within_bounds(text)?;
        let (path, pointer) = match text.split_once('#') {
            Some((path, pointer)) => (path, Some(pointer)),
            None => (text, None),
        };
        let (value, rest) = self.begun(path.trim_start_matches('$'), view)?;
        let value = Path::read(&format!("${rest}"))?.apply(Value::Opaque(value))?;
        let value = value.expr();
        Ok(match pointer {
            Some(pointer) => pointed(value, pointer),
            None => value,
        })
    }

    /// Translates the beginning of an expression. Returns its value and the rest of the text.
    fn begun<'p>(&self, path: &'p str, view: &View<'_, '_>) -> Result<(Expr, &'p str), String> {
        let (root, behind) = path.split_once(['.', '[']).unwrap_or((path, ""));
        match (root, behind, &view.body) {
            ("inputs", ..) => {
                let (name, rest) = split(behind);
                Ok((self.input(name)?, rest))
            }
            ("steps", ..) => {
                let (id, name) = behind
                    .split_once(".outputs.")
                    .ok_or("only the outputs of a step can be read")?;
                let (name, rest) = split(name);
                Ok((output(id, name, view)?, rest))
            }
            ("workflows", ..) => {
                let (id, name) = behind
                    .split_once(".outputs.")
                    .ok_or("only the outputs of a workflow can be read")?;
                let done = self.before.get(id).ok_or_else(|| {
                    format!("the workflow `{}` has not run before this one", excerpt(id))
                })?;
                let (name, rest) = split(name);
                Ok((tree::field(tree::variable(done), name), rest))
            }
            // The outputs of a called workflow are the reply of its plan.
            ("outputs", _, Some(body)) => {
                let (name, rest) = split(behind);
                Ok((tree::field(body.clone(), name), rest))
            }
            ("response", _, Some(body)) if split(behind).0 == "body" => {
                Ok((body.clone(), split(behind).1))
            }
            ("response", _, _) if behind.starts_with("header.") => {
                Err("a tool returns the body of a response, but not its headers".into())
            }
            ("statusCode", ..) => Err(
                "a tool returns the body of a response, and its status only as the class of a failure"
                    .into(),
            ),
            ("method" | "url" | "request", ..) => {
                Err("a tool returns the body of a response, but nothing of the request".into())
            }
            _ => Err("it has no counterpart in a plan".into()),
        }
    }

    fn input(&self, name: &str) -> Result<Expr, String> {
        let own = self.inputs.get(name).map(|own| tree::variable(own));
        own.ok_or_else(|| {
            format!(
                "there is no input `{}`{}",
                excerpt(name),
                near(name, self.inputs.keys().map(String::as_str))
            )
        })
    }
}

/// Splits a name from the accessors after it.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(['.', '[']).unwrap_or(text.len()))
}

/// Returns an output of a step that has run; null if the step may have run on another path.
fn output(id: &str, name: &str, view: &View<'_, '_>) -> Result<Expr, String> {
    let Some(outputs) = view.steps.outputs(id) else {
        let near = near(id, view.steps.ids());
        return Err(format!("there is no step `{}`{near}", excerpt(id)));
    };
    let Some(variable) = outputs.get(name) else {
        let near = near(name, outputs.keys().copied());
        let (id, name) = (excerpt(id), excerpt(name));
        return Err(format!("the step `{id}` has no output `{name}`{near}"));
    };
    match view.flow.variables.get(variable) {
        Some(value) => Ok(value.expr()),
        None if view.at == END || view.steps.graph.reaches(id, view.at) => Ok(tree::null()),
        None => Err(format!("the step `{}` has not run yet", excerpt(id))),
    }
}

/// Applies a JSON pointer to a value.
fn pointed(value: Expr, pointer: &str) -> Expr {
    let parts = pointer.split('/').skip(1);
    parts.fold(value, |value, part| match part.parse::<i64>() {
        Ok(number) if number >= 0 => tree::index(value, tree::int(number)),
        _ => tree::field(value, &part.replace("~1", "/").replace("~0", "~")),
    })
}
