//! The contract of a tool as a plan file would declare it.

use std::sync::Arc;

use crate::types::{Parameter, Signature, Type, TypeNames};

use super::Plan;
use super::finding::quoted;

/// The parts of a `tool` item, for whoever lays them out.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The name with its namespace, in back quotes where it needs them.
    pub name: String,
    /// Each as `name: T` or `name?: T`.
    pub parameters: Vec<String>,
    pub returns: String,
    /// The class, the errors and the key, with a space before each; empty where nothing is declared.
    pub clauses: String,
}

impl Declaration {
    /// The parts of a tool's declaration, with names in the place of the types that have one.
    #[must_use]
    pub fn new(tool: &Signature, names: &TypeNames) -> Self {
        let parameter = |parameter: &Parameter| {
            let mark = if parameter.required { "" } else { "?" };
            let name = quoted(&parameter.name);
            format!("{name}{mark}: {}", writable(&parameter.ty).named(names))
        };
        let mut clauses = String::new();
        if tool.effect_declared {
            clauses = format!(" {}", tool.effect.name());
        }
        if !tool.raises.is_empty() {
            let fails: Vec<String> = tool.raises.iter().map(|name| quoted(name)).collect();
            clauses = format!("{clauses} fails {}", fails.join(", "));
        }
        if let Some(key) = &tool.key_argument {
            clauses = format!("{clauses} key {}", quoted(key));
        }
        Self {
            name: spelled_name(tool),
            parameters: tool.parameters.iter().map(parameter).collect(),
            returns: writable(&tool.returns).named(names).to_string(),
            clauses,
        }
    }
}

/// The name of a tool as plans call it: with its namespace, in back quotes where it needs them.
#[must_use]
pub fn spelled_name(tool: &Signature) -> String {
    format!("{}.{}", quoted(&tool.namespace), quoted(&tool.name))
}

impl Plan {
    /// The plan as a tool: what it takes, what it replies, and what it changes at most.
    #[must_use]
    pub fn contract(&self, namespace: Arc<str>) -> Signature {
        let parameters = self.parameters.iter().map(|input| Parameter {
            name: input.name.clone(),
            ty: input.ty.clone(),
            required: input.required,
            description: None,
            schema: None,
            default: None,
        });
        Signature {
            description: self.doc.clone(),
            parameters: parameters.collect(),
            returns: self.returns.clone(),
            effect: self.does.effect,
            effect_declared: true,
            ..Signature::unknown(namespace, self.name.clone())
        }
    }
}

/// The text of a `tool` item with this contract and its documentation, as one line that is to be formatted. What only a JSON
/// Schema can say is left out.
#[must_use]
pub fn declaration(tool: &Signature) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let doc = description.trim().lines().fold(String::new(), |doc, line| {
        format!("{doc}/// {}\n", line.trim_end())
    });
    let parts = Declaration::new(tool, &TypeNames::default());
    format!(
        "{doc}tool {}({}) -> {}{}\n",
        parts.name,
        parts.parameters.join(", "),
        parts.returns,
        parts.clauses,
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
        let ty = known.map_or(&Type::Any, |known| writable(&known.ty));
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

/// A type that a plan can write; what a finding has spoken of is any.
fn writable(ty: &Type) -> &Type {
    match ty {
        Type::Invalid => &Type::Any,
        ty => ty,
    }
}
