//! Infers the type of results from observed results, for tools whose contract does not describe them.
//!
//! It records kinds and field names but no values, which say nothing about later results. A field that was missing once
//! is optional.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Field, ObjectType, Rest, Type};

/// Maximum depth; deeper parts of a value have the type `any`.
const MAX_DEPTH: usize = 12;
/// Maximum number of fields. An object with more is read as a map whose keys are data.
const MAX_FIELDS: usize = 100;

/// The type observed for the results of a tool whose contract does not describe them.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub returns: Type,
    /// Number of results that it was inferred from.
    pub results: u64,
}

/// The values observed at one position of the results.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Number of values.
    pub seen: u64,
    /// Types of the scalar values.
    kinds: Vec<Type>,
    elements: Option<Box<Shape>>,
    fields: Option<Fields>,
    /// Whether some values exceeded the depth limit.
    is_cut: bool,
}

/// The objects observed at one position.
#[derive(Clone, Debug, Default)]
struct Fields {
    objects: u64,
    by_name: BTreeMap<Arc<str>, Shape>,
}

impl Shape {
    /// Adds one value.
    pub fn add(&mut self, value: &Json) {
        self.add_at(value, 0);
    }

    fn add_at(&mut self, value: &Json, depth: usize) {
        self.seen += 1;
        self.is_cut |= depth > MAX_DEPTH;
        if self.is_cut {
            return;
        }
        let kind = match value {
            Json::Array(elements) => {
                let shape = self.elements.get_or_insert_default();
                for element in elements {
                    shape.add_at(element, depth + 1);
                }
                return;
            }
            Json::Object(object) => {
                let fields = self.fields.get_or_insert_default();
                fields.objects += 1;
                for (name, value) in object {
                    if fields.by_name.len() <= MAX_FIELDS || fields.by_name.contains_key(&**name) {
                        let shape = fields.by_name.entry(name.as_str().into()).or_default();
                        shape.add_at(value, depth + 1);
                    }
                }
                return;
            }
            Json::Null => Type::Null,
            Json::Bool(_) => Type::Bool,
            Json::Number(number) if number.is_i64() => Type::Int,
            Json::Number(_) => Type::Double,
            Json::String(_) => Type::String,
        };
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Returns the type that covers all values.
    #[must_use]
    pub fn ty(&self) -> Type {
        if self.is_cut || self.seen == 0 {
            return Type::Any;
        }
        let has_double = self.kinds.contains(&Type::Double);
        let kinds = self
            .kinds
            .iter()
            .filter(|kind| !(has_double && **kind == Type::Int));
        let elements = self.elements.as_ref().map(|elements| elements.ty().list());
        let fields = self.fields.as_ref().map(Fields::ty);
        Type::union(kinds.cloned().chain(elements).chain(fields))
    }
}

impl Fields {
    fn ty(&self) -> Type {
        if self.by_name.len() > MAX_FIELDS {
            return Type::union(self.by_name.values().map(Shape::ty)).map();
        }
        let fields = self.by_name.iter().map(|(name, shape)| Field {
            name: name.clone(),
            ty: shape.ty(),
            required: shape.seen == self.objects,
        });
        Type::Object(Arc::new(ObjectType {
            fields: fields.collect(),
            rest: Rest::Open,
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learned(values: &[Json]) -> String {
        let mut shape = Shape::default();
        for value in values {
            shape.add(value);
        }
        shape.ty().to_string()
    }

    #[test]
    fn kinds_are_joined_and_what_was_missing_once_is_optional() {
        let cases = [
            (
                vec![json!({ "id": 1 }), json!({ "id": 2, "note": "x" })],
                "{ id: int, note?: string }",
            ),
            (
                vec![json!([{ "a": 1 }, { "a": 2.5 }]), json!([])],
                "{ a: double }[]",
            ),
            (vec![json!("paid"), json!("open")], "string"),
            (
                vec![json!({ "a": null }), json!({ "a": true })],
                "{ a: null | bool }",
            ),
            (vec![json!([])], "any[]"),
            (vec![], "any"),
        ];
        for (values, expected) in cases {
            assert_eq!(learned(&values), expected, "{values:?}");
        }
    }

    #[test]
    fn names_that_are_data_make_a_map_and_depth_ends() {
        let object: serde_json::Map<String, Json> = (0..200)
            .map(|id| (format!("user-{id}"), json!(id)))
            .collect();
        assert_eq!(learned(&[Json::Object(object)]), "map<string, int>");
        let deep = (0..50).fold(json!(1), |inner, _| json!([inner]));
        assert!(learned(&[deep]).contains("any"));
    }
}
