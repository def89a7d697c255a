//! Transforms data in a state: paths, templates and variables.

use planrun_lang::syntax::ast::{Expr, Statement};
use planrun_lang::yaml::{Content, Node};

use super::data::{Scope, jsonata_of};
use super::flow::{Translator, scope_of};
use super::machine::State;
use crate::control_flow::{Flow, Walk as _};
use crate::draft::error_name;
use crate::expression::path::Path;
use crate::expression::value::Value;
use crate::tree;

impl Translator<'_, '_> {
    /// Applies `InputPath` or a similar field to a value: unchanged if the field is missing, `{}` if it is null.
    pub fn through(&mut self, state: &State<'_>, field: &str, value: Value, flow: &Flow) -> Value {
        let Some(node) = state.get(field).filter(|_| !state.is_jsonata) else {
            return value;
        };
        match node.text() {
            Some("$") => value,
            Some(path) => {
                let scope = Scope {
                    is_jsonata: false,
                    ..scope_of(&self.input, state, value, flow)
                };
                scope.value(path, node, self.draft)
            }
            None => Value::object(Vec::new()),
        }
    }

    /// Translates a template in the language of the state.
    pub fn templated(
        &mut self,
        state: &State<'_>,
        node: &Node,
        root: Value,
        result: Option<Value>,
        flow: &Flow,
    ) -> Value {
        let scope = Scope {
            result,
            ..scope_of(&self.input, state, root, flow)
        };
        scope.template(node, self.draft)
    }

    /// Sets variables; their templates read the values from before the assignment.
    #[expect(
        clippy::too_many_arguments,
        reason = "the data that assignments read and write"
    )]
    pub fn assign(
        &mut self,
        state: &State<'_>,
        node: &Node,
        root: Value,
        result: Option<Value>,
        before: &Flow,
        after: &mut Flow,
        out: &mut Vec<Statement>,
    ) {
        let Value::Object { fields, .. } = self.templated(state, node, root, result, before) else {
            return;
        };
        for (name, value) in fields {
            let value = self.name_if_large(&name, value, out);
            after.variables.insert(name, value);
        }
    }

    pub fn pass(&mut self, state: &State<'_>, flow: &Flow, out: &mut Vec<Statement>) -> Flow {
        if state.is_jsonata {
            return self.after(state, None, flow, out);
        }
        let input = self.through(state, "InputPath", flow.value.clone(), flow);
        let result = match (state.get("Result"), state.get("Parameters")) {
            (Some(result), _) => Value::constant(result),
            (None, Some(template)) => self.templated(state, template, input, None, flow),
            (None, None) => input,
        };
        let result = self.name_if_large(state.name, result, out);
        self.after(state, Some(result), flow, out)
    }

    /// Returns the data after a state; `result` is its result, if it has one.
    pub fn after(
        &mut self,
        state: &State<'_>,
        result: Option<Value>,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let mut after = flow.clone();
        let input = flow.value.clone();
        if state.is_jsonata {
            if let Some(node) = state.get("Assign") {
                self.assign(
                    state,
                    node,
                    input.clone(),
                    result.clone(),
                    flow,
                    &mut after,
                    out,
                );
            }
            after.value = match state.get("Output") {
                Some(node) => {
                    let value = self.templated(state, node, input, result, flow);
                    self.name_if_large(state.name, value, out)
                }
                None => result.unwrap_or(input),
            };
            return after;
        }
        let has_result = result.is_some();
        let result = match result {
            Some(result) => result,
            None => self.through(state, "InputPath", input.clone(), flow),
        };
        let result = match state.get("ResultSelector") {
            Some(node) => {
                let value = self.templated(state, node, result, None, flow);
                self.name_if_large(state.name, value, out)
            }
            None => result,
        };
        if let Some(node) = state.get("Assign") {
            self.assign(state, node, result.clone(), None, flow, &mut after, out);
        }
        let value = if has_result {
            self.placed(state, &input, result)
        } else {
            result
        };
        let value = self.through(state, "OutputPath", value, flow);
        after.value = self.name_if_large(state.name, value, out);
        after
    }

    /// Places the result at `ResultPath` in the input.
    fn placed(&mut self, state: &State<'_>, input: &Value, result: Value) -> Value {
        let Some(node) = state.get("ResultPath") else {
            return result;
        };
        self.placed_at(node, state.name, input, result)
    }

    pub fn placed_at(&mut self, node: &Node, state: &str, input: &Value, result: Value) -> Value {
        let Some(text) = node.text() else {
            return if matches!(node.content, Content::Null) {
                input.clone()
            } else {
                result
            };
        };
        match Path::read(text).map(|path| path.only_keys()) {
            Ok(Some(keys)) => input.with(&keys, result),
            Ok(None) => {
                let why = "a result can be placed only under names";
                Value::Opaque(self.draft.hole(
                    node.span,
                    format!("state `{state}`: `{}`", super::short(text)),
                    why,
                ))
            }
            Err(why) => Value::Opaque(self.draft.hole(node.span, format!("state `{state}`"), why)),
        }
    }

    /// Returns the class and the message of a `Fail`.
    pub fn failure(&mut self, state: &State<'_>, flow: &Flow) -> (String, Expr) {
        let class = match (state.text("Error"), state.get("ErrorPath")) {
            (Some(error), _) if jsonata_of(error).is_none() => error_class(error),
            (None, None) => "tool.failed".to_owned(),
            (Some(_), _) | (None, Some(_)) => {
                let why = "fails with `tool.failed`: the class of a failure must be a constant, so that the check knows where it is caught";
                let what = format!("the computed error of state `{}`", state.name);
                self.draft.changed(state.entry.span, what, why);
                "tool.failed".to_owned()
            }
        };
        let message = ["Cause", "CausePath"]
            .into_iter()
            .find_map(|field| Some((field, state.get(field)?)));
        let message = match message {
            None => tree::text(""),
            Some((field, node)) => {
                let value = self.computed(state, field, node, flow);
                tree::as_text(value)
            }
        };
        (class, message)
    }
}

/// Returns the class of a failure with this name.
pub fn error_class(name: &str) -> String {
    match name {
        "States.Timeout" | "States.HeartbeatTimeout" => "transient.timeout".to_owned(),
        "States.TaskFailed" | "States.BranchFailed" => "tool".to_owned(),
        "States.Permissions" => "auth".to_owned(),
        "States.ExceedToleratedFailureThreshold" => "validation.ensure".to_owned(),
        _ if name.starts_with("States.") => "validation.expression".to_owned(),
        _ => format!("tool.{}", error_name(name)),
    }
}
