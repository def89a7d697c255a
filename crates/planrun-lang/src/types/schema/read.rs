//! Converts JSON Schema to types. Constraints that types cannot express are left to the validator.

use foldhash::HashMap;
use jsonschema::Draft;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json};

use super::intersect::{intersect, refined};
use super::{TYPE_KEYWORD, dialect};
use crate::types::{Field, Literal, Rest, Type};

/// Maximum nesting depth of schemas; a deeper schema is read as `any`.
const MAX_DEPTH: usize = 48;
/// Maximum number of parts of a type. A larger type becomes `any`; references can produce such types from short
/// documents.
const MAX_PARTS: usize = 20_000;
/// Maximum number of schemas that are read; the rest become `any`. A schema in a reference cycle counts each time it is
/// read.
const MAX_WORK: usize = 500_000;

/// Returns the type of the values that a schema allows, or a slightly wider type. References within the document are
/// followed; a recursive reference and a reference to another document become `any`.
#[must_use]
pub fn from_schema(schema: &Json) -> Type {
    let mut reader = SchemaReader {
        document: schema,
        references_stand_alone: matches!(
            Draft::default().detect(schema),
            Draft::Draft4 | Draft::Draft6 | Draft::Draft7
        ),
        open: Vec::new(),
        done: HashMap::default(),
        outermost: usize::MAX,
        depth: 0,
        work: 0,
    };
    reader.value(schema).ty
}

/// A type and the number of parts it consists of.
#[derive(Clone)]
struct Sized {
    ty: Type,
    parts: usize,
    /// Whether the type constrains only values of its kind: `properties` without `type` does not constrain strings.
    conditional: bool,
}

impl Sized {
    fn one(ty: Type) -> Self {
        Self {
            ty,
            parts: 1,
            conditional: false,
        }
    }

    /// Returns the union of the types.
    fn union(all: Vec<Self>) -> Self {
        let parts = all.iter().map(|sized| sized.parts).sum();
        Self::of(Type::union(all.into_iter().map(|sized| sized.ty)), parts)
    }

    /// Returns `ty` with a size computed from `parts`, the sizes of its parts; `any` if that is too large.
    fn of(ty: Type, parts: usize) -> Self {
        if parts > MAX_PARTS {
            Self::one(Type::Any)
        } else {
            Self {
                ty,
                parts: parts + 1,
                conditional: false,
            }
        }
    }
}

struct SchemaReader<'a> {
    document: &'a Json,
    /// Whether keywords next to a `$ref` are ignored, as in drafts up to 7.
    references_stand_alone: bool,
    /// References that are being followed, to detect cycles.
    open: Vec<&'a str>,
    done: HashMap<&'a str, Sized>,
    /// Index of the outermost open reference that a cycle has returned to. Results within such a cycle depend on where
    /// it was entered.
    outermost: usize,
    depth: usize,
    /// Number of schemas read so far.
    work: usize,
}

impl<'a> SchemaReader<'a> {
    fn schema(&mut self, schema: &'a Json) -> Sized {
        let object = match schema {
            Json::Bool(false) => return Sized::one(Type::Never),
            Json::Object(object) if self.depth < MAX_DEPTH && self.work < MAX_WORK => object,
            _ => return Sized::one(Type::Any),
        };
        self.work += 1;
        self.depth += 1;
        let sized = self.object(object);
        self.depth -= 1;
        sized
    }

    fn object(&mut self, schema: &'a Map<String, Json>) -> Sized {
        if let Some(special) = schema
            .get(TYPE_KEYWORD)
            .and_then(Json::as_str)
            .and_then(special)
        {
            return Sized::one(special);
        }
        if let Some(reference) = schema
            .get("$ref")
            .and_then(Json::as_str)
            .filter(|_| self.references_stand_alone)
        {
            return self.reference(reference);
        }
        let mut all = vec![self.own(schema)];
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            all.push(self.reference(reference));
        }
        for part in list(schema, "allOf") {
            all.push(self.schema(part));
        }
        for keyword in ["anyOf", "oneOf"] {
            if schema.contains_key(keyword) {
                all.push(self.alternatives(list(schema, keyword)));
            }
        }
        let parts = all.iter().map(|sized| sized.parts).sum();
        let (conditional, sure): (Vec<Sized>, Vec<Sized>) =
            all.into_iter().partition(|sized| sized.conditional);
        let nullable = schema.get("nullable") == Some(&Json::Bool(true));
        let only_conditional = sure.iter().all(|sized| sized.ty == Type::Any);
        let mut ty = sure
            .iter()
            .fold(Type::Any, |left, right| intersect(&left, &right.ty));
        if only_conditional && !conditional.is_empty() {
            let ty = conditional
                .iter()
                .fold(Type::Any, |left, right| intersect(&left, &right.ty));
            let ty = if nullable { ty.optional() } else { ty };
            return Sized {
                conditional: true,
                ..Sized::of(ty, parts)
            };
        }
        ty = conditional
            .iter()
            .fold(ty, |left, right| refined(&left, &right.ty));
        if schema.get("unevaluatedProperties") == Some(&Json::Bool(false)) && is_plain(schema) {
            ty = closed(ty);
        }
        if nullable {
            ty = ty.optional();
        }
        Sized::of(ty, parts)
    }

    fn alternatives(&mut self, schemas: &'a [Json]) -> Sized {
        let all: Vec<Sized> = schemas.iter().map(|schema| self.value(schema)).collect();
        Sized::union(all)
    }

    /// Returns the type of a value that is constrained by this schema alone.
    fn value(&mut self, schema: &'a Json) -> Sized {
        let sized = self.schema(schema);
        match schema {
            _ if !sized.conditional => sized,
            Json::Object(object) if dialect::implied(object).is_some() => Sized {
                conditional: false,
                ..sized
            },
            _ => Sized::one(Type::Any),
        }
    }

    fn reference(&mut self, reference: &'a str) -> Sized {
        if let Some(done) = self.done.get(reference) {
            return done.clone();
        }
        if let Some(place) = self.open.iter().position(|open| *open == reference) {
            self.outermost = self.outermost.min(place);
            return Sized::one(Type::Any);
        }
        let pointer = reference.strip_prefix('#').map(decode_percent);
        let Some(target) = pointer.and_then(|pointer| self.document.pointer(&pointer)) else {
            return Sized::one(Type::Any);
        };
        let (place, around) = (
            self.open.len(),
            std::mem::replace(&mut self.outermost, usize::MAX),
        );
        self.open.push(reference);
        let sized = self.schema(target);
        self.open.pop();
        if self.outermost >= place {
            self.done.insert(reference, sized.clone());
            self.outermost = around;
        } else {
            self.outermost = self.outermost.min(around);
        }
        sized
    }

    /// Returns the type that the schema's own keywords describe, without combinators and references.
    fn own(&mut self, schema: &'a Map<String, Json>) -> Sized {
        let typed = match schema.get("type") {
            Some(Json::String(name)) => self.named(name, schema),
            Some(Json::Array(names)) => {
                let all: Vec<Sized> = names
                    .iter()
                    .filter_map(Json::as_str)
                    .map(|name| self.named(name, schema))
                    .collect();
                Sized::union(all)
            }
            _ if schema.contains_key("properties") => conditional(self.named("object", schema)),
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                conditional(self.named("array", schema))
            }
            _ => Sized::one(Type::Any),
        };
        let listed = match (
            schema.get("const"),
            schema.get("enum").and_then(Json::as_array),
        ) {
            (Some(value), _) => constant(value),
            (None, Some(values)) => Type::union(values.iter().map(constant)),
            (None, None) => return typed,
        };
        let typed = if typed.conditional {
            Sized::one(refined(&listed, &typed.ty))
        } else {
            typed
        };
        let parts = typed.parts + listed.members().len();
        Sized::of(intersect(&listed, &typed.ty), parts)
    }

    fn named(&mut self, name: &str, schema: &'a Map<String, Json>) -> Sized {
        match name {
            "null" => Sized::one(Type::Null),
            "boolean" => Sized::one(Type::Bool),
            "integer" => Sized::one(Type::Int),
            "number" => Sized::one(Type::Double),
            "string" => Sized::one(Type::String),
            "array" => self.array(schema),
            "object" => self.properties(schema),
            _ => Sized::one(Type::Any),
        }
    }

    fn array(&mut self, schema: &'a Map<String, Json>) -> Sized {
        let mut places: Vec<&Json> = list(schema, "prefixItems").iter().collect();
        let rest = match schema.get("items") {
            // Drafts before 2020-12: a list of schemas, one per position.
            Some(Json::Array(items)) => {
                places.extend(items);
                schema.get("additionalItems")
            }
            items => items,
        };
        let mut all: Vec<Sized> = places.into_iter().map(|place| self.value(place)).collect();
        all.push(rest.map_or(Sized::one(Type::Any), |rest| self.value(rest)));
        let parts = all.iter().map(|sized| sized.parts).sum();
        Sized::of(
            Type::union(all.into_iter().map(|sized| sized.ty)).list(),
            parts,
        )
    }

    fn properties(&mut self, schema: &'a Map<String, Json>) -> Sized {
        let required: Vec<&str> = list(schema, "required")
            .iter()
            .filter_map(Json::as_str)
            .collect();
        let mut fields = Vec::new();
        let mut parts = 0;
        for (name, property) in schema
            .get("properties")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
        {
            let sized = self.value(property);
            parts += sized.parts;
            fields.push(Field {
                name: name.as_str().into(),
                ty: sized.ty,
                required: required.contains(&name.as_str()),
            });
        }
        for name in required {
            if fields.iter().all(|field| &*field.name != name) {
                fields.push(Field {
                    name: name.into(),
                    ty: Type::Any,
                    required: true,
                });
            }
        }
        let patterns = schema.contains_key("patternProperties");
        let rest = match schema.get("additionalProperties") {
            Some(Json::Bool(false)) if !patterns => Rest::Closed,
            Some(typed @ Json::Object(_)) if !patterns => {
                let sized = self.value(typed);
                parts += sized.parts;
                Rest::Typed(sized.ty)
            }
            _ => Rest::Open,
        };
        let ty = match (fields.is_empty(), rest) {
            (true, Rest::Open) => Type::Any.map(),
            (true, Rest::Typed(ty)) => ty.map(),
            (_, rest) => Type::object(fields, rest),
        };
        Sized::of(ty, parts)
    }
}

/// Marks the type as holding only for values of its kind.
fn conditional(sized: Sized) -> Sized {
    Sized {
        conditional: true,
        ..sized
    }
}

/// Returns the type for a name in [`TYPE_KEYWORD`], which JSON Schema has no keyword for.
fn special(name: &str) -> Option<Type> {
    match name {
        "uint" => Some(Type::Uint),
        "bytes" => Some(Type::Bytes),
        "timestamp" => Some(Type::Timestamp),
        "duration" => Some(Type::Duration),
        "error" => Some(Type::Error),
        _ => None,
    }
}

fn constant(value: &Json) -> Type {
    match value {
        Json::Null => Type::Null,
        Json::Bool(truth) => Type::Literal(Literal::Bool(*truth)),
        Json::String(text) => Type::text(text),
        Json::Number(number) => match crate::types::number::integer(number) {
            Some(number) => Type::Literal(Literal::Int(number)),
            None => Type::Double,
        },
        Json::Array(items) => Type::union(items.iter().map(constant)).list(),
        Json::Object(entries) => {
            let field = |(name, value): (&String, &Json)| Field {
                name: name.as_str().into(),
                ty: constant(value),
                required: true,
            };
            Type::object(entries.iter().map(field).collect(), Rest::Closed)
        }
    }
}

fn list<'a>(schema: &'a Map<String, Json>, keyword: &str) -> &'a [Json] {
    schema
        .get(keyword)
        .and_then(Json::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns true if all properties that the schema evaluates are listed in its own `properties`.
fn is_plain(schema: &Map<String, Json>) -> bool {
    const OTHERS: [&str; 12] = [
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "patternProperties",
        "additionalProperties",
    ];
    OTHERS.iter().all(|word| !schema.contains_key(*word))
}

fn closed(ty: Type) -> Type {
    match ty {
        Type::Object(object) if object.rest == Rest::Open => {
            Type::object(object.fields.clone(), Rest::Closed)
        }
        other => other,
    }
}

/// Decodes percent-encoding, such as `%25` for `%`, in a reference. An invalid escape is kept unchanged.
pub(super) fn decode_percent(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn display(schema: &Json) -> String {
        from_schema(schema).to_string()
    }

    #[test]
    fn plain_objects() {
        let schema = json!({"type": "object", "required": ["id"], "properties": {
            "id": {"type": "string", "format": "date-time"}, "n": {"type": "integer"}, "x": {"type": ["number", "null"]},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}});
        assert_eq!(
            display(&schema),
            r#"{ id: string, n?: int, x: double?, tags?: ("a" | "b")[] }"#
        );
        assert_eq!(display(&json!({"type": "object"})), "map<string, any>");
        assert_eq!(
            display(&json!({"type": "object", "additionalProperties": {"type": "integer"}})),
            "map<string, int>"
        );
    }

    #[test]
    fn references_merge_and_cycles_end() {
        let schema = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}}});
        assert_eq!(display(&schema), "{ name: string, next?: any }");
        let escaped =
            json!({"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": {"type": "boolean"}}});
        assert_eq!(display(&escaped), "bool");
        assert_eq!(display(&json!({"$ref": "http://example.com/x"})), "any");
        assert_eq!(display(&json!({"$ref": "#"})), "any");
    }

    #[test]
    fn combinations() {
        let merged = json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "required": ["a", "b"], "properties": {"b": {"type": "number"}}}]});
        assert_eq!(display(&merged), "{ a: string, b: double }");
        assert_eq!(
            display(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
            "string?"
        );
        let required = json!({"type": "object", "properties": {"a": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(display(&required), "{ a?: string }");
        assert_eq!(
            display(&json!({"type": "string", "enum": ["a", 3]})),
            r#""a""#
        );
        assert_eq!(
            display(&json!({"type": "string", "nullable": true})),
            "string?"
        );
        assert_eq!(display(&json!({"type": "string", "const": 1})), "never");
    }

    #[test]
    fn references_that_double_stay_small() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(
                format!("d{level}"),
                json!({"type": "object", "properties": {"a": next, "b": next}}),
            );
        }
        definitions.insert("d40".into(), json!({"type": "string"}));
        let ty = from_schema(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
        assert!(ty.to_string().len() < 1_000_000);
    }
}
