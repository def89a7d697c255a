//! The inputs of a run, from the command line and from files, by their declared types.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::cli::Failure;
use crate::cli::arguments::RunArguments;
use crate::diag::closest;
use crate::sema::{Plan, PlanParameter};
use crate::types::{Literal, Type, decode};
use crate::value::Value;

/// The largest input document, in bytes.
const MOST_INPUT: u64 = 64 * 1024 * 1024;

/// The inputs that the command line gives, over those that are known already.
///
/// # Errors
/// When one is unknown, missing, or of another type.
pub fn inputs(
    plan: &Plan,
    arguments: &RunArguments,
    known: BTreeMap<Arc<str>, Value>,
) -> Result<BTreeMap<Arc<str>, Value>, Failure> {
    let mut inputs = known;
    inputs.retain(|name, _| plan.parameters.iter().any(|parameter| parameter.name == *name));
    if let Some(path) = &arguments.input {
        let text = read_input(path)?;
        let json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| Failure::Usage(format!("`{}` is not JSON: {error}", path.display())))?;
        let serde_json::Value::Object(fields) = json else {
            return Err(Failure::Usage(format!("`{}` is no JSON object of inputs", path.display())));
        };
        for (name, json) in fields {
            let parameter = parameter(plan, &name)?;
            let value = decode(&json, &parameter.ty).map_err(|mismatch| unfit(&name, &parameter.ty, &mismatch))?;
            inputs.insert(parameter.name.clone(), value);
        }
    }
    for (name, text) in &arguments.inputs {
        let (parameter, value) = parse_input(plan, name, text)?;
        inputs.insert(parameter.name.clone(), value);
    }
    let missing =
        plan.parameters.iter().filter(|parameter| parameter.required && !inputs.contains_key(&parameter.name));
    let missing = missing.map(|parameter| format!("-i {}={}", parameter.name, placeholder(&parameter.ty)));
    let missing = missing.collect::<Vec<_>>();
    if missing.is_empty() {
        return Ok(inputs);
    }
    Err(Failure::Usage(format!("`{}` needs more inputs; add {}", plan.name, missing.join(" "))))
}

fn read_input(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MOST_INPUT).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MOST_INPUT).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::Environment(format!("cannot read `{}`: {error}", path.display())))?;
    Ok(text)
}

fn parameter<'p>(plan: &'p Plan, name: &str) -> Result<&'p PlanParameter, Failure> {
    let found = plan.parameters.iter().find(|parameter| &*parameter.name == name);
    found.ok_or_else(|| {
        let names = plan.parameters.iter().map(|parameter| &*parameter.name).collect::<Vec<_>>();
        let hint = match closest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "it has none".to_owned(),
            None => format!("it has {}", names.join(", ")),
        };
        Failure::Usage(format!("`{}` has no input `{name}`; {hint}", plan.name))
    })
}

/// An input from the command line.
///
/// # Errors
/// When the plan has no such input, or it is of another type.
pub fn parse_input<'p>(plan: &'p Plan, name: &str, text: &str) -> Result<(&'p PlanParameter, Value), Failure> {
    let parameter = parameter(plan, name)?;
    Ok((parameter, value_of(parameter, text)?))
}

/// Text from the command line as a value of the declared type: text stays text where text is wanted.
fn value_of(parameter: &PlanParameter, text: &str) -> Result<Value, Failure> {
    let plain = serde_json::Value::String(text.to_owned());
    let parsed = serde_json::from_str::<serde_json::Value>(text);
    let as_text = decode(&plain, &parameter.ty);
    let takes_text =
        parameter.ty.members().iter().any(|member| matches!(member, Type::String | Type::Literal(Literal::String(_))));
    if takes_text && let Ok(value) = as_text {
        return Ok(value);
    }
    match parsed {
        Ok(json) => decode(&json, &parameter.ty).map_err(|mismatch| unfit(&parameter.name, &parameter.ty, &mismatch)),
        Err(_) => as_text.map_err(|mismatch| unfit(&parameter.name, &parameter.ty, &mismatch)),
    }
}

fn unfit(name: &str, ty: &Type, mismatch: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("the input `{name}` is of type {ty}: {mismatch}"))
}

/// What somebody would type for an input of this type.
fn placeholder(ty: &Type) -> String {
    match ty.members().first() {
        Some(Type::Literal(Literal::String(text))) => text.to_string(),
        Some(Type::Literal(Literal::Int(number))) => number.to_string(),
        Some(Type::Int | Type::Uint) => "1".to_owned(),
        Some(Type::Bool) => "true".to_owned(),
        _ => "…".to_owned(),
    }
}
