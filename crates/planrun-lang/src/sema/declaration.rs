//! The contract of a tool as a plan file would declare it.

use crate::types::{Parameter, Signature, Type};

use super::finding::quoted;

/// The text of a `tool` item with this contract and its documentation, as one line that is to be formatted. What only a JSON
/// Schema can say is left out.
#[must_use]
pub fn declaration(tool: &Signature) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let doc = description.trim().lines().fold(String::new(), |doc, line| {
        format!("{doc}/// {}\n", line.trim_end())
    });
    let parameters: Vec<String> = tool.parameters.iter().map(parameter).collect();
    let fails: Vec<String> = tool.raises.iter().map(|name| quoted(name)).collect();
    let mut clauses = String::new();
    if tool.effect_declared {
        clauses = format!(" {}", tool.effect.name());
    }
    if !fails.is_empty() {
        clauses = format!("{clauses} fails {}", fails.join(", "));
    }
    if let Some(key) = &tool.key_argument {
        clauses = format!("{clauses} key {}", quoted(key));
    }
    format!(
        "{doc}tool {}.{}({}) -> {}{clauses}\n",
        quoted(&tool.namespace),
        quoted(&tool.name),
        parameters.join(", "),
        writable(&tool.returns),
    )
}

/// The text of a plan that makes one call and gives what that gives. Its inputs are the arguments with these names, typed as
/// the tool takes them; what is no argument of it is one all the same, for the check to tell.
#[must_use]
pub fn plan_of_call(tool: &Signature, given: &[&str]) -> String {
    let input = |name: &&str| {
        let known = tool
            .parameters
            .iter()
            .find(|parameter| *parameter.name == **name);
        let ty = known.map_or_else(|| Type::Any.to_string(), |known| writable(&known.ty));
        format!("{}: {ty}", quoted(name))
    };
    let argument = |name: &&str| format!("{0}: {0}", quoted(name));
    let join = |parts: Vec<String>| parts.join(", ");
    format!(
        "use {}\n\nplan call({}) -> any {{\n    step result = {}.{}({})\n    reply result\n}}\n",
        quoted(&tool.namespace),
        join(given.iter().map(input).collect()),
        quoted(&tool.namespace),
        quoted(&tool.name),
        join(given.iter().map(argument).collect()),
    )
}

fn parameter(parameter: &Parameter) -> String {
    let mark = if parameter.required { "" } else { "?" };
    format!(
        "{}{mark}: {}",
        quoted(&parameter.name),
        writable(&parameter.ty)
    )
}

/// A type that a plan can write; what a finding has spoken of is any.
fn writable(ty: &Type) -> String {
    match ty {
        Type::Invalid => Type::Any.to_string(),
        ty => ty.to_string(),
    }
}
