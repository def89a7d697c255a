//! What a state makes of the data: its paths, templates and variables.

use planrun_lang::syntax::ast::{Expr, Statement};
use planrun_lang::yaml::{Content, Node};

use super::data::{Scope, jsonata_of};
use super::flow::{Translator, scope_of};
use super::machine::State;
use crate::draft::error_name;
use crate::expression::path::Path;
use crate::expression::value::Value;
use crate::tree;
use crate::ways::{Flow, Walk as _};

impl Translator<'_, '_> {
    /// A value through `InputPath` or its kin: as it is where the state does not name one, and `{}` where it names null.
    pub fn through(&mut self, state: &State<'_>, field: &str, value: Value, flow: &Flow) -> Value {
        let Some(node) = state.get(field) else {
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

    /// A template in the language of the state.
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

    /// Sets variables; what they are made of is what was there before.
    #[expect(clippy::too_many_arguments, reason = "what a variable may be made of")]
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
            let value = self.settle(&name, value, out);
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
        let result = self.settle(state.name, result, out);
        self.after(state, Some(result), flow, out)
    }

    /// What a state hands on, with what it has given where it gives something.
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
                    self.settle(state.name, value, out)
                }
                None => result.unwrap_or(input),
            };
            return after;
        }
        let has_result = result.is_some();
        let result = result.unwrap_or_else(|| input.clone());
        let result = match state.get("ResultSelector") {
            Some(node) => {
                let value = self.templated(state, node, result, None, flow);
                self.settle(state.name, value, out)
            }
            None => result,
        };
        if let Some(node) = state.get("Assign") {
            self.assign(state, node, result.clone(), None, flow, &mut after, out);
        }
        let value = if has_result {
            self.placed(state, &input, result)
        } else {
            input
        };
        let value = self.through(state, "OutputPath", value, flow);
        after.value = self.settle(state.name, value, out);
        after
    }

    /// The result at `ResultPath` of the input.
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
                let why = "a result is put under names only";
                Value::Opaque(self.draft.hole(
                    node.span,
                    format!("state `{state}`: `{}`", super::short(text)),
                    why,
                ))
            }
            Err(why) => Value::Opaque(self.draft.hole(node.span, format!("state `{state}`"), why)),
        }
    }

    /// The class and the message of a `Fail`.
    pub fn failure(&mut self, state: &State<'_>, flow: &Flow) -> (String, Expr) {
        let class = match (state.text("Error"), state.get("ErrorPath")) {
            (Some(error), _) if jsonata_of(error).is_none() => error_class(error),
            (None, None) => "tool.failed".to_owned(),
            (Some(_), _) | (None, Some(_)) => {
                let why = "fails with `tool.failed`: a class is written in the plan, so that a check can tell who catches it";
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

/// The class of a failure that has this name.
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
