//! Checks the arguments of each call, and its result, against the contract of the tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::builtins::FailureKind;
use planrun_lang::call::{Answer, sensitive_arguments};
use planrun_lang::eval::EvalError;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Call, PlanParameter};
use planrun_lang::types::{
    ErrorClass, Signature, Type, Validation, check_value, convert, decode, encode, without_absent,
};
use planrun_lang::value::{Key, Value};
use serde_json::{Map, Value as Json};

use super::context::Context;
use super::frame::{FrameId, NodeRef};
use super::program::Program;
use super::result_size::{json_size, value_size};
use crate::journal::StepError;

/// A fault of the arguments of a call.
struct Fault {
    message: String,
    /// `None` if the types fit and the contract is violated otherwise.
    kind: Option<FailureKind>,
}

fn arguments_fault(signature: &Signature, arguments: &IndexMap<Key, Value>) -> Option<Fault> {
    let misfit = |message| {
        Some(Fault {
            message,
            kind: Some(FailureKind::Misfit),
        })
    };
    for parameter in &signature.parameters {
        let value = arguments.get(&Key::String(parameter.name.clone()));
        match value {
            None if parameter.required => {
                return misfit(format!("the argument `{}` is missing", parameter.name));
            }
            None => {}
            Some(value) => {
                if let Err(mismatch) = check_value(value, &parameter.ty) {
                    return misfit(format!(
                        "the argument `{}` does not fit: {mismatch}",
                        parameter.name
                    ));
                }
            }
        }
    }
    let contract = signature.input_schema.as_ref()?;
    let violations = contract.violations(&sent(signature, arguments));
    let message = |violation| format!("the arguments violate the tool's contract: {violation}");
    violations.first().map(|violation| Fault {
        message: message(violation),
        kind: None,
    })
}

/// Returns the arguments as JSON, as the tool receives them.
fn sent(signature: &Signature, arguments: &IndexMap<Key, Value>) -> Json {
    let argument = |(key, value): (&Key, &Value)| {
        let ty = key
            .as_str()
            .and_then(|name| signature.parameter(name))
            .map_or(&Type::Any, |known| &known.ty);
        (key.to_string(), encode(value, ty))
    };
    let mut sent: Map<String, Json> = arguments.iter().map(argument).collect();
    if let Some(name) = &signature.key_argument {
        // The key itself is only known when the attempt is sent.
        sent.entry(name.as_ref())
            .or_insert_with(|| KEY_STAND_IN.into());
    }
    Json::Object(sent)
}

/// Converts an answer to a value of the declared type. The error describes what is wrong with it.
pub(super) fn result(
    signature: &Signature,
    answer: Answer,
    max_bytes: u64,
) -> Result<Value, String> {
    match answer {
        Answer::Value(value) => {
            if value_size(&value) > max_bytes {
                return Err(too_large(max_bytes));
            }
            convert(value, &signature.returns).map_err(|mismatch| {
                format!("the result does not have the declared type: {mismatch}")
            })
        }
        Answer::Json(json) => {
            if json_size(&json) > max_bytes {
                return Err(too_large(max_bytes));
            }
            let contract = signature.output_schema.as_ref();
            if let Some(violation) =
                contract.and_then(|contract| contract.violations(&json).into_iter().next())
            {
                return Err(format!(
                    "the result violates the tool's contract: {violation}"
                ));
            }
            decode(&json, &signature.returns).map_err(|mismatch| {
                format!("the result does not have the declared type: {mismatch}")
            })
        }
    }
}

/// Returns the note for a result that violates its contract only in a `format`.
pub(super) fn format_note(signature: &Signature, answer: &Answer) -> Option<String> {
    let (Some(contract), Answer::Json(json)) = (&signature.output_schema, answer) else {
        return None;
    };
    contract
        .format_violations(json)
        .first()
        .map(ToString::to_string)
}

/// Replaces an idempotency key when arguments are checked against a contract: a text of the same form.
const KEY_STAND_IN: &str = "00000000000000000000000000000000";

fn too_large(max_bytes: u64) -> String {
    format!("the result is larger than {max_bytes} bytes, the limit of `max_result`")
}

impl Context {
    /// Evaluates the arguments of a call and checks them against its contract.
    pub(super) fn arguments(
        &mut self,
        at: NodeRef,
        call: &Call,
        signature: &Signature,
    ) -> Result<Value, Arc<StepError>> {
        let map = self.argument_map(at.0, call, |name| {
            signature
                .parameter(name)
                .map(|parameter| (parameter.required, &parameter.ty))
        });
        let mut map = map.map_err(|error| {
            Arc::new(StepError::expression(
                &error,
                &self.tree.program(at.0).plan,
                &self.tree.own_path(at),
            ))
        })?;
        for parameter in &signature.parameters {
            if let Some(default) = &parameter.default {
                map.entry(Key::String(parameter.name.clone()))
                    .or_insert_with(|| default.clone());
            }
        }
        let fault = arguments_fault(signature, &map);
        let arguments = if map.is_empty() {
            self.no_arguments.clone()
        } else {
            Value::Map(Arc::new(map))
        };
        let labels = sensitive_arguments(signature, &arguments);
        self.outbox.note_secrets(&arguments, &labels);
        let Some(fault) = fault else {
            return Ok(arguments);
        };
        // The report shows refused arguments together with the refusal.
        self.tree.record_mut(at).details_mut().arguments = Some(arguments);
        let class = ErrorClass::Validation(Validation::Arguments);
        let error = StepError::new(class, fault.message, &self.tree.own_path(at));
        Err(Arc::new(StepError {
            kind: fault.kind,
            ..error
        }))
    }

    /// Evaluates arguments. A null for an optional argument, or for an optional field in one, whose type does not admit
    /// null leaves it out. A value that does not fit the type of its parameter is kept, so that the check against the
    /// contract reports it.
    fn argument_map<'t>(
        &self,
        frame: FrameId,
        call: &Call,
        parameter: impl Fn(&str) -> Option<(bool, &'t Type)>,
    ) -> Result<IndexMap<Key, Value>, EvalError> {
        let mut map = IndexMap::with_capacity(call.arguments.len());
        for (name, code) in &call.arguments {
            let value = match self.tree.evaluate(frame, code) {
                Err(error) if error.kind == FailureKind::Misfit && error.span == code.span => {
                    self.tree.evaluate(
                        frame,
                        &CheckedExpr {
                            into: None,
                            ..code.clone()
                        },
                    )
                }
                outcome => outcome,
            }?;
            let value = match parameter(name) {
                Some((false, ty)) if value.is_null() && !ty.admits_null() => continue,
                Some((_, ty)) => without_absent(&value, ty),
                None => value,
            };
            map.insert(Key::String(name.clone()), value);
        }
        Ok(map)
    }

    /// Returns the inputs of a called plan, evaluated from the arguments of its call.
    pub(super) fn plan_inputs(
        &mut self,
        at: NodeRef,
        call: &Call,
        parameters: &[PlanParameter],
    ) -> Result<BTreeMap<Arc<str>, Value>, Arc<StepError>> {
        let program = self.tree.program(at.0);
        let path = self.tree.path(&program, at);
        let map = self.argument_map(at.0, call, |name| {
            let found = parameters.iter().find(|parameter| &*parameter.name == name);
            found.map(|parameter| (parameter.required, &parameter.ty))
        });
        let map =
            map.map_err(|error| Arc::new(StepError::expression(&error, &program.plan, &path)))?;
        let mut inputs = BTreeMap::new();
        for parameter in parameters {
            if let Some(value) = map.get(&Key::String(parameter.name.clone())) {
                if let Err(mismatch) = check_value(value, &parameter.ty) {
                    let message =
                        format!("the argument `{}` does not fit: {mismatch}", parameter.name);
                    let class = ErrorClass::Validation(Validation::Arguments);
                    let error = StepError::new(class, message, &path);
                    return Err(Arc::new(StepError {
                        kind: Some(FailureKind::Misfit),
                        ..error
                    }));
                }
                inputs.insert(parameter.name.clone(), value.clone());
            }
        }
        Ok(inputs)
    }

    /// Puts inputs and defaults into the first slots of a plan's frame. Returns the error of an input that does not fit
    /// or of a default that fails.
    pub(super) fn bind_inputs(
        &mut self,
        frame: FrameId,
        inputs: &BTreeMap<Arc<str>, Value>,
    ) -> Option<StepError> {
        let program: Arc<Program> = self.tree.program(frame);
        for (slot, parameter) in program.plan.parameters.iter().enumerate() {
            let value = match (inputs.get(&parameter.name), &parameter.default) {
                (Some(value), _) => match convert(value.clone(), &parameter.ty) {
                    Ok(value) => value,
                    Err(_) if value.is_null() && !parameter.required => Value::Null,
                    Err(mismatch) => {
                        let message =
                            format!("the input `{}` does not fit: {mismatch}", parameter.name);
                        let class = ErrorClass::Validation(Validation::Arguments);
                        return Some(StepError::new(class, message, &self.tree[frame].path));
                    }
                },
                (None, Some(default)) => match self.tree.evaluate(frame, default) {
                    Ok(value) => value,
                    Err(error) => {
                        return Some(StepError::expression(
                            &error,
                            &program.plan,
                            &self.tree[frame].path,
                        ));
                    }
                },
                (None, None) => Value::Null,
            };
            self.outbox.note_secrets(&value, &parameter.sensitive);
            if let Some(place) = self.tree[frame].slots.get_mut(slot) {
                *place = value;
            }
        }
        None
    }
}
