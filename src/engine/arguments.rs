//! Arguments on their way out, results on their way in: each is held against the tool's contract, on every call.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::Program;
use super::dispatcher::{Dispatcher, NodeRef};
use super::frame::FrameId;
use crate::journal::StepError;
use crate::sema::{Call, PlanParameter};
use crate::tools::{Answer, sensitive_arguments};
use crate::types::{ErrorClass, Signature, Type, Validation, Validator, check_value, decode};
use crate::value::{Key, Value};

/// The compiled schemas of the tools that a run has called.
#[derive(Default)]
pub(super) struct Contracts {
    validators: BTreeMap<(Arc<str>, Arc<str>), Schemas>,
}

#[derive(Default)]
struct Schemas {
    input: Option<Validator>,
    output: Option<Validator>,
}

impl Contracts {
    fn of(&mut self, signature: &Signature) -> &Schemas {
        let key = (signature.namespace.clone(), signature.name.clone());
        self.validators.entry(key).or_insert_with(|| {
            let compile = |schema: &Option<Arc<serde_json::Value>>| {
                schema.as_ref().and_then(|schema| Validator::new(schema).ok())
            };
            Schemas { input: compile(&signature.input_schema), output: compile(&signature.output_schema) }
        })
    }

    /// What is wrong with the arguments of a call, in one sentence.
    fn arguments_fault(&mut self, signature: &Signature, arguments: &IndexMap<Key, Value>) -> Option<String> {
        for parameter in &signature.parameters {
            let value = arguments.get(&Key::String(parameter.name.clone()));
            match value {
                None if parameter.required => return Some(format!("the argument `{}` is missing", parameter.name)),
                None => {}
                Some(value) => {
                    if let Err(mismatch) = check_value(value, &parameter.ty) {
                        return Some(format!("the argument `{}` does not fit: {mismatch}", parameter.name));
                    }
                }
            }
        }
        signature.input_schema.as_ref()?;
        let json = Value::Map(Arc::new(arguments.clone())).to_json();
        let violations = self.of(signature).input.as_ref()?.violations(&json);
        violations.first().map(|violation| format!("the arguments break the tool's contract: {violation}"))
    }

    /// The value in an answer, by the declared type; or what is wrong with it.
    pub(super) fn result(&mut self, signature: &Signature, answer: Answer, max_bytes: u64) -> Result<Value, String> {
        match answer {
            Answer::Value(value) => {
                let small = !matches!(value, Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_));
                if !small && serde_json::to_writer(Counter { left: max_bytes }, &value).is_err() {
                    return Err(too_large(max_bytes));
                }
                match check_value(&value, &signature.returns) {
                    Ok(()) => Ok(value),
                    Err(mismatch) => Err(format!("the result does not have the declared type: {mismatch}")),
                }
            }
            Answer::Json(json) => {
                if serde_json::to_writer(Counter { left: max_bytes }, &json).is_err() {
                    return Err(too_large(max_bytes));
                }
                let violation = signature.output_schema.as_ref().and_then(|_| {
                    let violations = self.of(signature).output.as_ref()?.violations(&json);
                    violations.into_iter().next()
                });
                if let Some(violation) = violation {
                    return Err(format!("the result breaks the tool's contract: {violation}"));
                }
                decode(&json, &signature.returns)
                    .map_err(|mismatch| format!("the result does not have the declared type: {mismatch}"))
            }
        }
    }
}

impl Dispatcher<'_> {
    /// Evaluates the arguments of a call and holds them against its contract.
    pub(super) fn arguments(
        &mut self,
        at: NodeRef,
        call: &Call,
        signature: &Signature,
    ) -> Result<Value, Arc<StepError>> {
        let map = self.argument_map(at.0, call, |name| {
            signature.parameter(name).map(|parameter| (parameter.required, parameter.ty.clone()))
        });
        let map =
            map.map_err(|error| Arc::new(StepError::expression(&error, &self.program(at.0).plan, &self.own_path(at))))?;
        let fault = self.contracts.arguments_fault(signature, &map);
        let arguments = if map.is_empty() { self.no_arguments.clone() } else { Value::Map(Arc::new(map)) };
        let labels = sensitive_arguments(signature, &arguments);
        self.note_secrets(&arguments, &labels);
        let Some(fault) = fault else { return Ok(arguments) };
        // What was refused is told with the refusal.
        self.record(at.0, at.1).details_mut().arguments = Some(arguments);
        let class = ErrorClass::Validation(Validation::Arguments);
        Err(Arc::new(StepError::new(class, fault, &self.own_path(at))))
    }

    /// A null for an argument that may be left out, and does not admit null, leaves it out.
    fn argument_map(
        &self,
        frame: FrameId,
        call: &Call,
        parameter: impl Fn(&str) -> Option<(bool, Type)>,
    ) -> Result<IndexMap<Key, Value>, crate::eval::EvalError> {
        let mut map = IndexMap::with_capacity(call.arguments.len());
        for (name, code) in &call.arguments {
            let value = self.evaluate(frame, code)?;
            if matches!(value, Value::Null)
                && parameter(name).is_some_and(|(required, ty)| !required && !ty.admits_null())
            {
                continue;
            }
            map.insert(Key::String(name.clone()), value);
        }
        Ok(map)
    }

    /// The inputs of a called plan, from the arguments of its call.
    pub(super) fn plan_inputs(
        &mut self,
        at: NodeRef,
        call: &Call,
        parameters: &[PlanParameter],
    ) -> Result<BTreeMap<Arc<str>, Value>, Arc<StepError>> {
        let program = self.program(at.0);
        let path = self.path(&program, at);
        let map = self.argument_map(at.0, call, |name| {
            let found = parameters.iter().find(|parameter| &*parameter.name == name);
            found.map(|parameter| (parameter.required, parameter.ty.clone()))
        });
        let map = map.map_err(|error| Arc::new(StepError::expression(&error, &program.plan, &path)))?;
        let mut inputs = BTreeMap::new();
        for parameter in parameters {
            if let Some(value) = map.get(&Key::String(parameter.name.clone())) {
                if let Err(mismatch) = check_value(value, &parameter.ty) {
                    let message = format!("the argument `{}` does not fit: {mismatch}", parameter.name);
                    let class = ErrorClass::Validation(Validation::Arguments);
                    return Err(Arc::new(StepError::new(class, message, &path)));
                }
                inputs.insert(parameter.name.clone(), value.clone());
            }
        }
        Ok(inputs)
    }

    /// Puts inputs and defaults into the first slots of a plan's frame; the error of a default that has no value.
    pub(super) fn bind_inputs(&mut self, frame: FrameId, inputs: &BTreeMap<Arc<str>, Value>) -> Option<StepError> {
        let program: Arc<Program> = self.program(frame);
        for (slot, parameter) in program.plan.parameters.iter().enumerate() {
            let value = match (inputs.get(&parameter.name), &parameter.default) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => match self.evaluate(frame, default) {
                    Ok(value) => value,
                    Err(error) => return Some(StepError::expression(&error, &program.plan, &self.frames[frame].path)),
                },
                (None, None) => Value::Null,
            };
            self.note_secrets(&value, &parameter.sensitive);
            if let Some(place) = self.frames[frame].slots.get_mut(slot) {
                *place = value;
            }
        }
        None
    }
}

fn too_large(max_bytes: u64) -> String {
    format!("the result is larger than {max_bytes} bytes, the limit of `max_result`")
}

/// Counts bytes instead of keeping them, and refuses more than a limit.
struct Counter {
    left: u64,
}

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => {
                self.left = left;
                Ok(bytes.len())
            }
            None => Err(std::io::Error::other("too large")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
