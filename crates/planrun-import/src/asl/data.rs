//! The data of states: the values that are known during the import, and the templates that transform them.

use std::collections::BTreeMap;

use planrun_lang::yaml::{Content, Node};

use super::{intrinsic, jsonata};
use crate::control_flow::Element;
use crate::draft::Draft;
use crate::expression::Caveats;
use crate::expression::path::{self, Path};
use crate::expression::value::Value;
use crate::tree;

/// The values that a state can read.
pub struct Scope<'s> {
    /// The value of `$`.
    pub root: Value,
    pub variables: &'s BTreeMap<String, Value>,
    pub element: Option<&'s Element>,
    /// The input of the machine.
    pub input: &'s Value,
    pub state: &'s str,
    /// The further parts of `$states` in JSONata.
    pub result: Option<Value>,
    pub error: Option<Value>,
    pub is_jsonata: bool,
    pub caveats: Caveats,
}

impl Scope<'_> {
    /// Translates an expression of a JSONPath state: a path or an intrinsic function.
    pub fn path(&self, text: &str) -> Result<Value, String> {
        if text.starts_with("States.") {
            return intrinsic::read(text, self).map(Value::Opaque);
        }
        self.follow(&Path::read(text)?)
    }

    pub fn follow(&self, path: &Path) -> Result<Value, String> {
        match &path.root {
            path::Root::Input => path.apply(self.root.clone()),
            path::Root::Variable(name) => match self.variables.get(name) {
                Some(value) => path.apply(value.clone()),
                None => Err(format!("there is no variable `${name}` in this state")),
            },
            path::Root::Context => self.context(&path.keys(), path),
        }
    }

    /// Translates a part of the context object.
    pub fn context(&self, keys: &[&str], path: &Path) -> Result<Value, String> {
        match (keys, self.element) {
            (["Map", "Item", "Value", ..], Some(element)) => {
                path.skip(3).apply(Value::Opaque(element.value.clone()))
            }
            (["Map", "Item", "Index"], Some(element)) => Ok(Value::Opaque(element.index.clone())),
            (["Execution", "Input", ..], _) => path.skip(2).apply(self.input.clone()),
            (["State", "Name"], _) => Ok(Value::Opaque(tree::text(self.state))),
            _ => Err(
                "a plan cannot read information about its run, so this part of the context object has no counterpart"
                    .to_owned(),
            ),
        }
    }

    /// Translates an expression in the language of the state.
    fn expression(&self, text: &str) -> Result<Value, String> {
        if self.is_jsonata {
            jsonata::read(text, self)
        } else {
            self.path(text)
        }
    }

    /// Translates data with expressions in it. Parts without a counterpart become holes and are reported.
    pub fn template(&self, node: &Node, draft: &mut Draft<'_>) -> Value {
        match &node.content {
            Content::Map(entries) => {
                let mut fields: Vec<(String, Value)> = Vec::new();
                for entry in entries {
                    let computed = entry.name.strip_suffix(".$").filter(|_| !self.is_jsonata);
                    let text = entry.value.text();
                    if text.is_some_and(is_token) {
                        let why = "is omitted: there are no task tokens; a tool that answers later gives a deferred answer";
                        draft.changed(entry.span, format!("the field `{}`", entry.name), why);
                        continue;
                    }
                    let (name, value) = match (computed, text) {
                        (Some(name), Some(text)) => (name, self.value(text, &entry.value, draft)),
                        _ => (entry.name.as_str(), self.template(&entry.value, draft)),
                    };
                    if fields.iter().any(|(there, _)| there == name) {
                        let what = format!("the field `{}`", super::short(&entry.name));
                        let why = "occurs twice, once computed: the last one is used";
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

    /// Translates an expression; it becomes a hole if it has no counterpart.
    pub fn value(&self, text: &str, node: &Node, draft: &mut Draft<'_>) -> Value {
        let what = || format!("state `{}`: `{}`", self.state, super::short(text));
        let read = self.expression(text);
        self.report_caveats(node, &what(), draft);
        read.unwrap_or_else(|why| Value::Opaque(draft.hole(node.span, what(), why)))
    }

    /// Reports where the expression that was translated last may have another value.
    pub fn report_caveats(&self, node: &Node, what: &str, draft: &mut Draft<'_>) {
        for why in self.caveats.take() {
            draft.changed(node.span, what, why);
        }
    }
}

/// Returns the code between `{%` and `%}`.
pub fn jsonata_of(text: &str) -> Option<&str> {
    Some(text.strip_prefix("{%")?.strip_suffix("%}")?.trim())
}

fn is_token(text: &str) -> bool {
    let text = jsonata_of(text).unwrap_or(text);
    matches!(text, "$$.Task.Token" | "$states.context.Task.Token")
}
