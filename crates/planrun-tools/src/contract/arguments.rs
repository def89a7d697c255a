//! Derives the arguments of a tool from the JSON Schema of its argument object.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::types::{
    Contract, Field, FieldLookup, Parameter, Rest, Signature, Type, decode, field, field_names,
    from_schema,
};
use serde_json::{Map, Value as Json};

/// The arguments of a tool.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The schema of the whole argument object; `None` if the contract has none.
    pub schema: Option<Json>,
    pub parameters: Vec<Parameter>,
    /// Whether arguments that are not listed are accepted.
    pub extra: bool,
}

impl Arguments {
    /// Reads the arguments from the JSON Schema of an object. Unlisted arguments are accepted only if the schema allows
    /// them explicitly, or if it lists no properties at all.
    pub fn of(schema: Json) -> Self {
        let ty = from_schema(&schema);
        let parameters = field_names(&ty)
            .into_iter()
            .map(|name| parameter(&ty, &schema, name))
            .collect();
        let declared = schema
            .get("additionalProperties")
            .or_else(|| schema.get("unevaluatedProperties"));
        let open = !matches!(&ty, Type::Object(object) if object.rest == Rest::Closed);
        let extra = open
            && (declared.is_some_and(|declared| *declared != Json::Bool(false))
                || schema.get("properties").is_none());
        Self {
            schema: Some(schema),
            parameters,
            extra,
        }
    }
}

/// Returns all parameters of a tool as the fields of one object type, which is used to leave out nulls that the tool
/// does not accept.
pub fn arguments_type(signature: &Signature) -> Type {
    let field = |parameter: &Parameter| Field {
        name: parameter.name.clone(),
        ty: parameter.ty.clone(),
        required: parameter.required,
    };
    Type::object(signature.parameters.iter().map(field).collect(), Rest::Open)
}

fn parameter(ty: &Type, schema: &Json, name: Arc<str>) -> Parameter {
    let (ty, required) = match field(ty, &name) {
        FieldLookup::Found { ty, required } => (ty, required),
        FieldLookup::Any | FieldLookup::Missing | FieldLookup::NotAnObject => (Type::Any, false),
    };
    let property = schema
        .get("properties")
        .and_then(|properties| properties.get(&*name));
    let description = property
        .and_then(|property| property.get("description"))
        .and_then(Json::as_str);
    // A default is only documentation, unless the argument is required: then it is sent by calls that omit the
    // argument.
    let default = property
        .and_then(|property| property.get("default"))
        .filter(|_| required);
    let default = default.and_then(|default| decode(default, &ty).ok());
    Parameter {
        ty,
        required: required && default.is_none(),
        description: description.map(Into::into),
        schema: property
            .map(|property| Arc::new(Contract::of_arguments(standing_alone(property, schema)))),
        default,
        name,
    }
}

/// Returns the schema of one property together with the definitions that it may refer to.
fn standing_alone(property: &Json, schema: &Json) -> Json {
    let Json::Object(property) = property else {
        return property.clone();
    };
    let mut alone = property.clone();
    let needed = needed(property, schema);
    for name in ["$schema", "$defs", "definitions"] {
        let Some(shared) = schema.get(name).filter(|_| !alone.contains_key(name)) else {
            continue;
        };
        let shared = match (&needed, shared) {
            (Some(needed), Json::Object(all)) => {
                let used = all.iter().filter(|(key, _)| needed.contains(key.as_str()));
                let used: Map<String, Json> = used
                    .map(|(key, definition)| (key.clone(), definition.clone()))
                    .collect();
                if used.is_empty() {
                    continue;
                }
                Json::Object(used)
            }
            (_, shared) => shared.clone(),
        };
        alone.insert(name.to_owned(), shared);
    }
    Json::Object(alone)
}

/// Returns the names of the definitions that a property uses, directly or through other definitions; `None` if it
/// refers to anything other than whole definitions.
fn needed<'a>(property: &'a Map<String, Json>, schema: &'a Json) -> Option<BTreeSet<&'a str>> {
    let mut names = BTreeSet::new();
    let mut pending: Vec<&Json> = property.values().collect();
    let mut references: Vec<&str> = property
        .get("$ref")
        .and_then(Json::as_str)
        .into_iter()
        .collect();
    loop {
        while let Some(part) = pending.pop() {
            match part {
                Json::Object(object) => {
                    for (keyword, value) in object {
                        match value {
                            Json::String(text)
                                if keyword.ends_with("ef") && keyword.starts_with('$') =>
                            {
                                references.push(text);
                            }
                            other => pending.push(other),
                        }
                    }
                }
                Json::Array(items) => pending.extend(items),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
            }
        }
        let Some(reference) = references.pop() else {
            return Some(names);
        };
        let (around, name) = reference.strip_prefix("#/")?.split_once('/')?;
        if !matches!(around, "$defs" | "definitions") || name.contains(['/', '~', '%']) {
            return None;
        }
        if names.insert(name) {
            pending.extend(schema.get(around)?.get(name));
        }
    }
}
