//! The arguments of a tool, from the JSON Schema of all of them.

use std::sync::Arc;

use planrun_lang::types::{
    Contract, Field, FieldLookup, Parameter, Rest, Signature, Type, decode, field, field_names,
    from_schema,
};
use serde_json::Value as Json;

/// The arguments of a tool.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The schema of all of them; `None` where the contract has none.
    pub schema: Option<Json>,
    pub parameters: Vec<Parameter>,
    /// Whether further arguments are taken.
    pub extra: bool,
}

impl Arguments {
    /// The arguments that a JSON Schema of an object describes. What it does not list is not taken, unless it says so in so
    /// many words; a schema that lists nothing takes all.
    #[must_use]
    pub fn of(schema: Json) -> Self {
        let ty = from_schema(&schema);
        let parameters = field_names(&ty)
            .into_iter()
            .map(|name| parameter(&ty, &schema, name))
            .collect();
        let said = schema
            .get("additionalProperties")
            .or_else(|| schema.get("unevaluatedProperties"));
        let open = !matches!(&ty, Type::Object(object) if object.rest == Rest::Closed);
        let extra = open
            && (said.is_some_and(|said| *said != Json::Bool(false))
                || schema.get("properties").is_none());
        Self {
            schema: Some(schema),
            parameters,
            extra,
        }
    }
}

/// All parameters of a tool as the fields of one object, for leaving out nulls that the tool does not take.
#[must_use]
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
    // A default only describes, unless the argument has to be there: then it is what a call sends that does not name it.
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

/// The schema of one property with the definitions that it may refer to.
fn standing_alone(property: &Json, schema: &Json) -> Json {
    let Json::Object(property) = property else {
        return property.clone();
    };
    let mut property = property.clone();
    for name in ["$schema", "$defs", "definitions"] {
        if let Some(shared) = schema.get(name).filter(|_| !property.contains_key(name)) {
            property.insert(name.to_owned(), shared.clone());
        }
    }
    Json::Object(property)
}
