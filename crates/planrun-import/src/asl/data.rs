//! The data that states hand on: what is known of it while the plan is made, and the templates that make new data of it.

use std::collections::BTreeMap;

use planrun_lang::yaml::{Content, Node};

use super::{intrinsic, jsonata};
use crate::draft::Draft;
use crate::expression::path::{self, Path};
use crate::expression::value::Value;
use crate::tree;
use crate::ways::Element;

/// What a state can read.
pub struct Scope<'s> {
    /// What `$` is.
    pub root: Value,
    pub variables: &'s BTreeMap<String, Value>,
    pub element: Option<&'s Element>,
    /// What the machine was given.
    pub input: &'s Value,
    pub state: &'s str,
    /// What `$states` has in JSONata beside the input.
    pub result: Option<Value>,
    pub error: Option<Value>,
    pub is_jsonata: bool,
}

impl Scope<'_> {
    /// An expression as JSONPath states write it: a path or an intrinsic function.
    ///
    /// # Errors
    /// Why there is no counterpart.
    pub fn path(&self, text: &str) -> Result<Value, String> {
        if text.starts_with("States.") {
            return intrinsic::read(text, self).map(Value::Opaque);
        }
        self.follow(&Path::read(text)?)
    }

    /// # Errors
    /// Why there is no counterpart.
    pub fn follow(&self, path: &Path) -> Result<Value, String> {
        match &path.root {
            path::Root::Input => path.apply(self.root.clone()),
            path::Root::Variable(name) => match self.variables.get(name) {
                Some(value) => path.apply(value.clone()),
                None => Err(format!("there is no variable `${name}` at this state")),
            },
            path::Root::Context => self.context(&path.keys(), path),
        }
    }

    /// A part of the context object.
    ///
    /// # Errors
    /// Why there is no counterpart.
    pub fn context(&self, keys: &[&str], path: &Path) -> Result<Value, String> {
        match (keys, self.element) {
            (["Map", "Item", "Value", ..], Some(element)) => {
                path.skip(3).apply(Value::Opaque(element.value.clone()))
            }
            (["Map", "Item", "Index"], Some(element)) => Ok(Value::Opaque(element.index.clone())),
            (["Execution", "Input", ..], _) => path.skip(2).apply(self.input.clone()),
            (["State", "Name"], _) => Ok(Value::Opaque(tree::text(self.state))),
            _ => Err(
                "a plan does not read what runs it, and so has no such part of the context object"
                    .to_owned(),
            ),
        }
    }

    /// An expression in the language of the state.
    ///
    /// # Errors
    /// Why there is no counterpart.
    fn expression(&self, text: &str) -> Result<Value, String> {
        if self.is_jsonata {
            jsonata::read(text, self)
        } else {
            self.path(text)
        }
    }

    /// Data with expressions in it. What has no counterpart is a hole and in the report.
    pub fn template(&self, node: &Node, draft: &mut Draft<'_>) -> Value {
        match &node.content {
            Content::Map(entries) => {
                let mut fields: Vec<(String, Value)> = Vec::new();
                for entry in entries {
                    let computed = entry.name.strip_suffix(".$").filter(|_| !self.is_jsonata);
                    let text = entry.value.text();
                    if text.is_some_and(is_token) {
                        let why = "is left out: there are no task tokens, since an answer that comes later is a deferred answer of its tool";
                        draft.changed(entry.span, format!("the field `{}`", entry.name), why);
                        continue;
                    }
                    let (name, value) = match (computed, text) {
                        (Some(name), Some(text)) => (name, self.value(text, &entry.value, draft)),
                        _ => (entry.name.as_str(), self.template(&entry.value, draft)),
                    };
                    if fields.iter().any(|(there, _)| there == name) {
                        let what = format!("the field `{}`", super::short(&entry.name));
                        let why = "stands there twice, once computed: the last one counts";
                        draft.changed(entry.span, what, why);
                        fields.retain(|(there, _)| there != name);
                    }
                    fields.push((name.to_owned(), value));
                }
                Value::object(fields)
            }
            Content::List(items) => {
                let items = items.iter().map(|item| self.template(item, draft).expr());
                Value::Opaque(tree::list(items.collect()))
            }
            Content::Text(text) if self.is_jsonata => match jsonata_of(text) {
                Some(code) => self.value(code, node, draft),
                None => Value::Opaque(tree::text(text)),
            },
            Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {
                Value::constant(node)
            }
        }
    }

    /// The value of an expression, or a hole.
    pub fn value(&self, text: &str, node: &Node, draft: &mut Draft<'_>) -> Value {
        self.expression(text).unwrap_or_else(|why| {
            let what = format!("state `{}`: `{}`", self.state, super::short(text));
            Value::Opaque(draft.hole(node.span, what, why))
        })
    }
}

/// The code between `{%` and `%}`.
pub fn jsonata_of(text: &str) -> Option<&str> {
    Some(text.strip_prefix("{%")?.strip_suffix("%}")?.trim())
}

fn is_token(text: &str) -> bool {
    let text = jsonata_of(text).unwrap_or(text);
    matches!(text, "$$.Task.Token" | "$states.context.Task.Token")
}
