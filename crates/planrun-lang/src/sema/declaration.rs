//! Renders the contract of a tool as a plan file would declare it.

use std::sync::Arc;

use crate::syntax::canonical_name;
use crate::types::{Parameter, Signature, Type, TypeNames};
use crate::value::Value;

use super::{Plan, PlanParameter};

/// The parts of a `tool` item, to be laid out by the caller.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Name with its namespace, in back quotes where needed.
    pub name: String,
    /// Each as `name: T` or `name?: T`.
    pub parameters: Vec<String>,
    pub returns: String,
    /// Effect class, errors and key, with a space before each; empty if nothing is declared.
    pub clauses: String,
}

impl Declaration {
    /// Returns the parts of a tool's declaration; types that have a name in `names` are written by name.
    #[must_use]
    pub fn new(tool: &Signature, names: &TypeNames) -> Self {
        let parameter = |parameter: &Parameter| {
            let mark = if parameter.required { "" } else { "?" };
            let name = canonical_name(&parameter.name);
            format!("{name}{mark}: {}", writable(&parameter.ty).named(names))
        };
        let mut clauses = String::new();
        if tool.effect_declared {
            clauses = format!(" {}", tool.effect.name());
        }
        if !tool.raises.is_empty() {
            let fails: Vec<String> = tool
                .raises
                .iter()
                .map(|name| canonical_name(name))
                .collect();
            clauses = format!("{clauses} fails {}", fails.join(", "));
        }
        if let Some(key) = &tool.key_argument {
            clauses = format!("{clauses} key {}", canonical_name(key));
        }
        Self {
            name: spelled_name(tool),
            parameters: tool.parameters.iter().map(parameter).collect(),
            returns: writable(&tool.returns).named(names).to_string(),
            clauses,
        }
    }
}

/// Returns the name of a tool as plans call it: with its namespace, in back quotes where needed.
#[must_use]
pub fn spelled_name(tool: &Signature) -> String {
    format!(
        "{}.{}",
        canonical_name(&tool.namespace),
        canonical_name(&tool.name)
    )
}

impl Plan {
    /// Returns the plan as a tool: its inputs, its reply type and its highest effect class.
    #[must_use]
    pub fn contract(&self, namespace: Arc<str>) -> Signature {
        let parameters = self.parameters.iter().map(|input| Parameter {
            name: input.name.clone(),
            ty: input.ty.clone(),
            required: input.required,
            description: None,
            schema: None,
            default: shown_default(input),
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

/// Returns the default of an input if it is constant and no secret.
fn shown_default(input: &PlanParameter) -> Option<Value> {
    let default = input
        .default
        .as_ref()
        .filter(|_| input.sensitive.is_empty());
    default.and_then(|default| default.constant()).cloned()
}

/// Returns the text of a `tool` item with this contract and its documentation, on one unformatted line. Constraints
/// that only JSON Schema can express are left out.
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

/// Returns the text of a plan that makes one call and replies with its result. The inputs are the arguments `given`,
/// with the types of the tool's parameters; an unknown argument becomes an input too, and the check reports it.
#[must_use]
pub fn plan_of_call(tool: &Signature, given: &[&str]) -> String {
    let input = |(number, name): (usize, &&str)| {
        let known = tool
            .parameters
            .iter()
            .find(|parameter| *parameter.name == **name);
        let ty = known.map_or(&Type::Any, |known| writable(&known.ty));
        format!(
            "{}: {ty}",
            canonical_name(&input_of_call(tool, number, name))
        )
    };
    let argument = |(number, name): (usize, &&str)| {
        format!(
            "{}: {}",
            canonical_name(name),
            canonical_name(&input_of_call(tool, number, name))
        )
    };
    let join = |parts: Vec<String>| parts.join(", ");
    format!(
        "use {}\n\nplan call({}) -> any {{\n    step {RESULT_OF_CALL} = {}.{}({})\n    reply {RESULT_OF_CALL}\n}}\n",
        canonical_name(&tool.namespace),
        join(given.iter().enumerate().map(input).collect()),
        canonical_name(&tool.namespace),
        canonical_name(&tool.name),
        join(given.iter().enumerate().map(argument).collect()),
    )
}

/// Returns the path of the tool that a plan of [`plan_of_call`] calls.
#[must_use]
pub fn tool_of_call(plan: &str) -> Option<&str> {
    let start = format!("    step {RESULT_OF_CALL} = ");
    let call = plan.lines().find_map(|line| line.strip_prefix(&start))?;
    call.split_once('(').map(|(tool, _)| tool)
}

/// The name of the step in the plan of [`plan_of_call`].
const RESULT_OF_CALL: &str = "result";

/// Returns the values of arguments under the names that they have as inputs of the plan of [`plan_of_call`].
pub fn inputs_of_call<V>(
    tool: &Signature,
    given: impl IntoIterator<Item = (String, V)>,
) -> impl Iterator<Item = (String, V)> {
    let given = given.into_iter().enumerate();
    given.map(|(number, (name, value))| (input_of_call(tool, number, &name), value))
}

/// Returns the name of an input. Arguments may have any name, while inputs share a scope with other names.
fn input_of_call(tool: &Signature, number: usize, argument: &str) -> String {
    let is_taken = argument == RESULT_OF_CALL || *tool.namespace == *argument;
    if is_taken || crate::syntax::is_reserved(argument) {
        return format!("argument {}", number + 1);
    }
    argument.to_owned()
}

/// Returns a type that can be written in a plan: an invalid type, which has been reported, becomes `any`.
fn writable(ty: &Type) -> &Type {
    match ty {
        Type::Invalid => &Type::Any,
        ty => ty,
    }
}
