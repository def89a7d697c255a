//! The inputs of a run, by their declared types.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::sema::{Plan, PlanParameter};
use planrun_lang::types::{Literal, Type, decode};
use planrun_lang::value::Value;
use serde_json::{Map, Value as Json};

use super::Error;
use super::error::MissingInput;

/// The inputs of a run: every input that its plan requires, each of its declared type.
#[derive(Clone, Debug, Default)]
pub struct Inputs(pub(super) BTreeMap<Arc<str>, Value>);

impl Inputs {
    #[must_use]
    pub fn values(&self) -> &BTreeMap<Arc<str>, Value> {
        &self.0
    }
}

/// Collects the inputs of a plan. Later values take precedence over earlier ones.
pub struct InputReader<'p> {
    plan: &'p Plan,
    inputs: BTreeMap<Arc<str>, Value>,
}

impl<'p> InputReader<'p> {
    #[must_use]
    pub fn new(plan: &'p Plan) -> Self {
        Self {
            plan,
            inputs: BTreeMap::new(),
        }
    }

    /// Copies the inputs of another run that the plan has, too.
    pub fn take_over(&mut self, known: &Inputs) {
        let has = |name: &Arc<str>| {
            self.plan
                .parameters
                .iter()
                .any(|parameter| parameter.name == *name)
        };
        self.inputs.extend(
            known
                .0
                .iter()
                .filter(|(name, _)| has(name))
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }

    /// Adds the fields of a JSON object.
    ///
    /// # Errors
    /// Returns an error if a field is unknown or has the wrong type.
    pub fn take_object(&mut self, fields: Map<String, Json>) -> Result<(), Error> {
        for (name, json) in fields {
            let parameter = parameter(self.plan, &name)?;
            if json.is_null() && may_be_left_out(parameter) {
                self.inputs.remove(&parameter.name);
                continue;
            }
            let value = decode(&json, &parameter.ty)
                .map_err(|mismatch| unfit(&name, &parameter.ty, &mismatch))?;
            self.inputs.insert(parameter.name.clone(), value);
        }
        Ok(())
    }

    /// Adds an input from text; see [`parse_input`].
    ///
    /// # Errors
    /// Returns an error if the input is unknown or has the wrong type.
    pub fn take_text(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let (parameter, value) = parse_input(self.plan, name, text)?;
        if value.is_null() && may_be_left_out(parameter) {
            self.inputs.remove(&parameter.name);
            return Ok(());
        }
        self.inputs.insert(parameter.name.clone(), value);
        Ok(())
    }

    /// Returns the inputs, if none is missing.
    ///
    /// # Errors
    /// [`Error::MissingInputs`].
    pub fn finish(self) -> Result<Inputs, Error> {
        let is_missing = |parameter: &&PlanParameter| {
            parameter.required && !self.inputs.contains_key(&parameter.name)
        };
        let missing = self
            .plan
            .parameters
            .iter()
            .filter(is_missing)
            .map(|parameter| MissingInput {
                name: parameter.name.to_string(),
                example: placeholder(&parameter.ty),
            });
        let missing = missing.collect::<Vec<_>>();
        if missing.is_empty() {
            return Ok(Inputs(self.inputs));
        }
        Err(Error::MissingInputs {
            plan: self.plan.name.to_string(),
            missing,
        })
    }
}

/// Returns true if null stands for an input that is not given.
fn may_be_left_out(parameter: &PlanParameter) -> bool {
    !parameter.required && parameter.default.is_none()
}

fn parameter<'p>(plan: &'p Plan, name: &str) -> Result<&'p PlanParameter, Error> {
    let found = plan
        .parameters
        .iter()
        .find(|parameter| &*parameter.name == name);
    found.ok_or_else(|| {
        let names = plan
            .parameters
            .iter()
            .map(|parameter| &*parameter.name)
            .collect::<Vec<_>>();
        let hint = match closest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "it has no inputs".to_owned(),
            None => format!("its inputs are {}", names.join(", ")),
        };
        Error::Invalid(format!("`{}` has no input `{name}`; {hint}", plan.name))
    })
}

/// Parses an input from text, for example from a command line: text stays text if the type admits it, and is JSON
/// otherwise.
///
/// # Errors
/// Returns an error if the plan has no such input, or if the type is wrong.
pub fn parse_input<'p>(
    plan: &'p Plan,
    name: &str,
    text: &str,
) -> Result<(&'p PlanParameter, Value), Error> {
    let parameter = parameter(plan, name)?;
    Ok((parameter, value_of(parameter, text)?))
}

fn value_of(parameter: &PlanParameter, text: &str) -> Result<Value, Error> {
    let plain = serde_json::Value::String(text.to_owned());
    let parsed = serde_json::from_str::<serde_json::Value>(text);
    let as_text = decode(&plain, &parameter.ty);
    let takes_text = parameter
        .ty
        .members()
        .iter()
        .any(|member| matches!(member, Type::String | Type::Literal(Literal::String(_))));
    if takes_text && let Ok(value) = as_text {
        return Ok(value);
    }
    match parsed {
        Ok(json) if json.is_null() && may_be_left_out(parameter) => Ok(Value::Null),
        Ok(json) => decode(&json, &parameter.ty)
            .map_err(|mismatch| unfit(&parameter.name, &parameter.ty, &mismatch)),
        Err(_) => as_text.map_err(|mismatch| match form_of(&parameter.ty) {
            Some(form) => Error::Invalid(format!(
                "the input `{}` must be of type {}: `{text}` is not {form}",
                parameter.name, parameter.ty
            )),
            None => unfit(&parameter.name, &parameter.ty, &mismatch),
        }),
    }
}

/// Returns how a text must be written to be a value of a type that is not text itself.
fn form_of(ty: &Type) -> Option<&'static str> {
    match ty.without_null() {
        Type::Timestamp => Some("a timestamp such as 2026-01-31T09:00:00Z"),
        Type::Duration => Some("a duration such as 1h30m"),
        Type::Bytes => Some("base64"),
        _ => None,
    }
}

fn unfit(name: &str, ty: &Type, mismatch: &dyn std::fmt::Display) -> Error {
    Error::Invalid(format!(
        "the input `{name}` must be of type {ty}: {mismatch}"
    ))
}

/// Returns an example that a user could type for an input of this type.
fn placeholder(ty: &Type) -> String {
    match ty.members().first() {
        Some(Type::Literal(Literal::String(text))) => text.to_string(),
        Some(Type::Literal(Literal::Int(number))) => number.to_string(),
        Some(Type::Int | Type::Uint) => "1".to_owned(),
        Some(Type::Bool) => "true".to_owned(),
        _ => "…".to_owned(),
    }
}
