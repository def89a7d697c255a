//! Converts types to JSON Schema.

use serde_json::{Map, Value as Json, json};

use super::TYPE_KEYWORD;
use crate::types::{MapType, ObjectType, Rest, Type, result_union};

/// Returns a schema that allows the JSON form of the values of a type. A type without a JSON Schema counterpart is
/// recorded in the keyword `x-planrun-type`; one that cannot be expressed at all is unconstrained.
#[must_use]
pub fn to_schema(ty: &Type) -> Json {
    match ty {
        Type::Never => Json::Bool(false),
        Type::Any | Type::Invalid | Type::Type => json!({}),
        Type::Null => json!({"type": "null"}),
        Type::Bool => json!({"type": "boolean"}),
        Type::Int => json!({"type": "integer"}),
        Type::Uint => json!({"type": "integer", "minimum": 0, TYPE_KEYWORD: "uint"}),
        Type::Double => json!({"type": "number"}),
        Type::String => json!({"type": "string"}),
        Type::Bytes => {
            json!({"type": "string", "contentEncoding": "base64", TYPE_KEYWORD: "bytes"})
        }
        Type::Timestamp => {
            json!({"type": "string", "format": "date-time", TYPE_KEYWORD: "timestamp"})
        }
        Type::Duration => json!({"type": "string", TYPE_KEYWORD: "duration"}),
        Type::Error => {
            json!({"type": "object", "required": ["class", "message"], TYPE_KEYWORD: "error"})
        }
        Type::Literal(literal) => json!({"const": literal.to_json()}),
        Type::List(element) => json!({"type": "array", "items": to_schema(element)}),
        Type::Map(map) => map_schema(map),
        Type::Object(object) => object_schema(object),
        Type::Union(members) => union_schema(members),
        Type::Result(value) => to_schema(&result_union(value)),
    }
}

/// The key type is not written: keys in JSON are always strings.
fn map_schema(map: &MapType) -> Json {
    match map.value {
        Type::Any => json!({"type": "object"}),
        _ => json!({"type": "object", "additionalProperties": to_schema(&map.value)}),
    }
}

fn object_schema(object: &ObjectType) -> Json {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    let property = |field: &crate::types::Field| (field.name.to_string(), to_schema(&field.ty));
    schema.insert(
        "properties".into(),
        Json::Object(object.fields.iter().map(property).collect()),
    );
    let required: Vec<Json> = object
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| json!(&*field.name))
        .collect();
    if !required.is_empty() {
        schema.insert("required".into(), Json::Array(required));
    }
    match &object.rest {
        Rest::Open => None,
        Rest::Closed => schema.insert("additionalProperties".into(), Json::Bool(false)),
        Rest::Typed(ty) => schema.insert("additionalProperties".into(), to_schema(ty)),
    };
    Json::Object(schema)
}

fn union_schema(members: &[Type]) -> Json {
    let listed = members.iter().map(|member| match member {
        Type::Literal(literal) => Some(literal.to_json()),
        Type::Null => Some(Json::Null),
        _ => None,
    });
    if let Some(listed) = listed.collect::<Option<Vec<Json>>>() {
        return json!({"enum": listed});
    }
    let name = |ty: &Type| match ty {
        Type::Bool => Some("boolean"),
        Type::Int => Some("integer"),
        Type::Double => Some("number"),
        Type::String => Some("string"),
        _ => None,
    };
    if let [one, Type::Null] = members
        && let Some(name) = name(one)
    {
        return json!({"type": [name, "null"]});
    }
    json!({"anyOf": members.iter().map(to_schema).collect::<Vec<Json>>()})
}

#[cfg(test)]
mod tests {
    use super::super::from_schema;
    use super::*;

    #[test]
    fn what_json_has_no_word_for_survives() {
        for ty in [
            Type::Uint,
            Type::Bytes,
            Type::Timestamp,
            Type::Duration,
            Type::Error,
            Type::Never,
            Type::Any,
        ] {
            assert_eq!(from_schema(&to_schema(&ty)), ty);
        }
    }

    #[test]
    fn optional_scalars_are_short() {
        assert_eq!(
            to_schema(&Type::String.optional()),
            json!({"type": ["string", "null"]})
        );
        let level = Type::union([Type::text("a"), Type::Null]);
        assert_eq!(to_schema(&level), json!({"enum": ["a", null]}));
    }
}
