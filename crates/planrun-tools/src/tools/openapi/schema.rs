//! Converts the schemas of a document to self-contained JSON Schemas, with the definitions that they refer to and only
//! the fields that are sent in one direction.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::types::{Type, to_schema};
use serde_json::{Map, Value as Json, json};

use super::document::{At, Document};

/// Maximum nesting depth of schemas. Deeper schemas accept any value.
const MAX_DEPTH: usize = 96;
/// Maximum number of schemas that are copied from one document. A schema counts for each operation that uses it; after
/// that, schemas accept any value.
pub(super) const MAX_SCHEMAS: usize = 1_000_000;

/// Keywords whose value is a schema.
const SCHEMA: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Keywords that do not constrain a value, or are expressed differently here.
const DROPPED: [&str; 16] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveRef",
    "$recursiveAnchor",
    "$comment",
    "$defs",
    "definitions",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "xml",
    "readOnly",
];

/// The direction in which values are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the server: `readOnly` fields are left out.
    Request,
    /// From the server: `writeOnly` fields are optional.
    Response,
    /// As [`Self::Response`], with all fields that a server may send although they are `writeOnly`.
    Received,
}

/// Copies schemas from a document.
pub(super) struct Schemas<'a> {
    pub document: &'a Document,
    /// Whether the document is `OpenAPI` 3.0, whose schemas are not JSON Schemas.
    pub is_3_0: bool,
    /// Number of schemas that may still be copied.
    pub left: Cell<usize>,
}

/// One schema that is being built, with the definitions that it needs.
pub(super) struct Bundle<'a, 'd> {
    schemas: &'a Schemas<'d>,
    direction: Direction,
    /// Whether binary texts are bytes, as in forms. In JSON they are ordinary texts.
    takes_bytes: bool,
    /// The names of definitions by their pointers in the document.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    pending: Vec<(String, At<'d>)>,
}

pub(super) fn bytes() -> Json {
    to_schema(&Type::Bytes)
}

impl<'d> Schemas<'d> {
    /// Starts a schema of values that are sent in this direction.
    pub(super) fn bundle(&self, direction: Direction) -> Bundle<'_, 'd> {
        Bundle {
            schemas: self,
            direction,
            takes_bytes: false,
            names: BTreeMap::new(),
            taken: BTreeSet::new(),
            pending: Vec::new(),
        }
    }

    /// Returns true if a schema, or the schema that it refers to, sets a flag.
    pub(super) fn flagged(&self, schema: &Json, flag: &str) -> bool {
        let has_flag = |schema: &Json| schema.get(flag) == Some(&Json::Bool(true));
        let referred = || {
            let reference = schema.get("$ref")?.as_str()?;
            let target = self.document.target(reference).ok()?;
            Some(has_flag(self.document.follow(target).ok()?.json))
        };
        has_flag(schema) || referred().unwrap_or(false)
    }
}

impl Bundle<'_, '_> {
    /// Sets whether binary texts are bytes.
    pub(super) fn of_bytes(mut self, takes_bytes: bool) -> Self {
        self.takes_bytes = takes_bytes;
        self
    }

    /// Converts a schema. The definitions that it refers to are added by [`Self::finish`].
    pub(super) fn add(&mut self, schema: &Json) -> Json {
        self.copy(schema, 0)
    }

    /// Returns the schema with the definitions that all added schemas need.
    pub(super) fn finish(mut self, mut schema: Json) -> Json {
        let mut definitions = Map::new();
        while let Some((name, target)) = self.pending.pop() {
            let copied = self.copy(target.json, 0);
            definitions.insert(name, copied);
        }
        definitions.sort_keys();
        for name in break_cycles(&mut definitions) {
            let pointer = self.names.iter().find(|(_, known)| **known == name);
            let pointer = pointer.map_or("", |(pointer, _)| pointer);
            let message = format!(
                "the schema `{name}` refers to itself without any constraint in between; it is treated as `any` there"
            );
            self.schemas
                .document
                .warn_of_reference(&format!("#{pointer}"), message);
        }
        if let (Json::Object(schema), false) = (&mut schema, definitions.is_empty()) {
            schema.insert("$defs".to_owned(), Json::Object(definitions));
        }
        schema
    }

    fn copy(&mut self, schema: &Json, depth: usize) -> Json {
        let Json::Object(object) = schema else {
            return schema.as_bool().map_or_else(|| json!({}), Json::Bool);
        };
        let left = self.schemas.left.get();
        if depth > MAX_DEPTH || left == 0 {
            return json!({});
        }
        self.schemas.left.set(left - 1);
        if self.takes_bytes && is_binary(object) {
            return described(bytes(), object);
        }
        let mut copied = Map::new();
        if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
            if let Some(reference) = self.reference(reference) {
                copied.insert("$ref".to_owned(), reference.into());
            }
            if self.schemas.is_3_0 {
                return Json::Object(copied);
            }
        }
        for (keyword, value) in object {
            let value = match keyword.as_str() {
                "$ref" => continue,
                "x-sensitive" => value.clone(),
                word if DROPPED.contains(&word) || word.starts_with("x-") => continue,
                "required" => self.required(object, value),
                word if NAMED.contains(&word) => self.named(object, value, depth),
                word if LIST.contains(&word) && value.is_array() => self.list(value, depth),
                "items" if value.is_array() => self.list(value, depth),
                word if SCHEMA.contains(&word) => self.copy(value, depth + 1),
                // In draft 4, this keyword is a boolean that makes the limit exclusive.
                "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => continue,
                "minimum" | "maximum" => {
                    let exclusive = if keyword == "minimum" {
                        "exclusiveMinimum"
                    } else {
                        "exclusiveMaximum"
                    };
                    if object.get(exclusive) == Some(&Json::Bool(true)) {
                        copied.insert(exclusive.to_owned(), value.clone());
                        continue;
                    }
                    value.clone()
                }
                _ => value.clone(),
            };
            copied.insert(keyword.clone(), value);
        }
        if let Some(kind) = implied_type(object) {
            copied.insert("type".to_owned(), kind.into());
        }
        self.discriminate(object, &mut copied);
        Json::Object(copied)
    }

    fn list(&mut self, schemas: &Json, depth: usize) -> Json {
        let schemas = schemas.as_array().into_iter().flatten();
        schemas.map(|schema| self.copy(schema, depth + 1)).collect()
    }

    fn named(&mut self, around: &Map<String, Json>, schemas: &Json, depth: usize) -> Json {
        let mut kept = Map::new();
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            if !self.is_left_out(around, schema) {
                kept.insert(name.clone(), self.copy(schema, depth + 1));
            }
        }
        Json::Object(kept)
    }

    /// Returns true if a property is not sent in this direction. A closed object keeps it, because the server may send
    /// it nevertheless.
    fn is_left_out(&self, around: &Map<String, Json>, property: &Json) -> bool {
        match self.direction {
            Direction::Request => self.schemas.flagged(property, "readOnly"),
            Direction::Response => {
                around.get("additionalProperties") != Some(&Json::Bool(false))
                    && self.schemas.flagged(property, "writeOnly")
            }
            Direction::Received => false,
        }
    }

    /// Returns the fields that are required in this direction.
    fn required(&self, around: &Map<String, Json>, names: &Json) -> Json {
        let flag = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response | Direction::Received => "writeOnly",
        };
        let names = names.as_array().into_iter().flatten();
        let kept = names.filter(|name| {
            let property = name
                .as_str()
                .and_then(|name| around.get("properties")?.get(name));
            !property.is_some_and(|property| self.schemas.flagged(property, flag))
        });
        kept.cloned().collect()
    }

    /// Returns the reference to a copied definition; `None` if the document has no such part.
    fn reference(&mut self, reference: &str) -> Option<String> {
        let target = match self.schemas.document.target(reference) {
            Ok(target) => target,
            Err(problem) => {
                let message = format!("{problem}; its values are treated as `any`");
                self.schemas.document.warn_of_reference(reference, message);
                return None;
            }
        };
        if let Some(name) = self.names.get(&target.pointer) {
            return Some(format!("#/$defs/{name}"));
        }
        let last = target.pointer.rsplit('/').next().unwrap_or_default();
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        };
        let base: String = last.chars().map(plain).collect();
        let mut name = base.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        self.names.insert(target.pointer.clone(), name.clone());
        self.pending.push((name.clone(), target));
        Some(format!("#/$defs/{name}"))
    }

    /// Adds the value of the `discriminator` to each alternative that does not constrain it itself.
    fn discriminate(&mut self, schema: &Map<String, Json>, copied: &mut Map<String, Json>) {
        let Some(discriminator) = schema.get("discriminator") else {
            return;
        };
        let Some(property) = discriminator.get("propertyName").and_then(Json::as_str) else {
            return;
        };
        let mapping = discriminator.get("mapping").and_then(Json::as_object);
        for keyword in ["oneOf", "anyOf"] {
            let written = schema.get(keyword).and_then(Json::as_array);
            let alternatives = copied.get_mut(keyword).and_then(Json::as_array_mut);
            let pairs = written.into_iter().flatten();
            for (written, alternative) in pairs.zip(alternatives.into_iter().flatten()) {
                let Some(reference) = written.get("$ref").and_then(Json::as_str) else {
                    continue;
                };
                let words = words(reference, mapping);
                if !words.is_empty() && !self.declares_values(reference, property) {
                    let known = json!({"type": "object", "properties": {property: {"enum": words}}, "required": [property]});
                    *alternative = json!({"allOf": [alternative.take(), known]});
                }
            }
        }
    }

    /// Returns true if an alternative itself declares the values of the property.
    fn declares_values(&self, reference: &str, property: &str) -> bool {
        let document = self.schemas.document;
        let target = document
            .target(reference)
            .and_then(|at| document.follow(at));
        target.is_ok_and(|target| {
            let schema = target.get("properties").and_then(|all| all.get(property));
            schema.is_some_and(|schema| {
                schema.json.get("const").is_some() || schema.json.get("enum").is_some()
            })
        })
    }
}

/// Returns true if a schema describes a file.
fn is_binary(schema: &Map<String, Json>) -> bool {
    let text = |key: &str| schema.get(key).and_then(Json::as_str);
    let is_text = text("type").is_none_or(|kind| kind == "string");
    let raw = text("contentMediaType").is_some() && text("contentEncoding").is_none();
    is_text && (text("format") == Some("binary") || raw)
}

fn described(mut schema: Json, by: &Map<String, Json>) -> Json {
    if let (Some(schema), Some(description)) = (schema.as_object_mut(), by.get("description")) {
        schema.insert("description".to_owned(), description.clone());
    }
    schema
}

/// Returns the implied type of a schema without one: an object if it has properties, a list if it has items.
fn implied_type(schema: &Map<String, Json>) -> Option<&'static str> {
    let typed_keywords = ["type", "enum", "const", "not", "if", "$ref"]
        .iter()
        .chain(&LIST);
    if typed_keywords
        .into_iter()
        .any(|keyword| schema.contains_key(*keyword))
    {
        return None;
    }
    match (schema.get("properties"), schema.get("items")) {
        (Some(Json::Object(_)), _) => Some("object"),
        (None, Some(Json::Object(_))) => Some("array"),
        (Some(_) | None, _) => None,
    }
}

/// Returns the `discriminator` values of the schema at this reference.
fn words(reference: &str, mapping: Option<&Map<String, Json>>) -> Vec<String> {
    let name = reference.rsplit('/').next().unwrap_or_default();
    let Some(mapping) = mapping else {
        return vec![name.to_owned()];
    };
    let meant = mapping.iter().filter(|(_, target)| {
        let target = target.as_str().unwrap_or_default();
        target == reference || target == name
    });
    meant.map(|(word, _)| word.clone()).collect()
}

/// Removes references by which a definition refers back to itself without entering the value, because nothing can be
/// validated against such a definition. Returns the names of the definitions that were referred to.
fn break_cycles(definitions: &mut Map<String, Json>) -> Vec<String> {
    let mut found = Vec::new();
    let names: Vec<String> = definitions.keys().cloned().collect();
    // The definitions that apply to the same value, without entering it.
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, schema) in definitions.iter() {
        let reached = edges.entry(name.clone()).or_default();
        direct_references(schema, &mut |target| {
            reached.insert(target.to_owned());
        });
    }
    let mut settled: BTreeSet<&str> = BTreeSet::new();
    for name in &names {
        // An explicit stack, because external documents determine the depth.
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut next = Some(name.as_str());
        loop {
            if let Some(entered) = next.take()
                && !settled.contains(entered)
            {
                if path.iter().any(|(one, _)| *one == entered) {
                    let from = path.last().map_or(entered, |(one, _)| *one);
                    found.push((from.to_owned(), entered.to_owned()));
                } else {
                    let targets = edges.get(entered).into_iter().flatten();
                    path.push((entered, targets.map(String::as_str).collect()));
                }
            }
            let Some((current, targets)) = path.last_mut() else {
                break;
            };
            if let Some(target) = targets.pop() {
                next = Some(target);
            } else {
                settled.insert(current);
                path.pop();
            }
        }
    }
    for (from, target) in &found {
        if let Some(schema) = definitions.get_mut(from) {
            remove_reference(schema, &format!("#/$defs/{target}"));
        }
    }
    found.into_iter().map(|(_, target)| target).collect()
}

/// Calls `visit` with every definition that a schema applies to the same value.
fn direct_references(schema: &Json, visit: &mut dyn FnMut(&str)) {
    if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
        visit(target.trim_start_matches("#/$defs/"));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(keyword).and_then(Json::as_array);
        parts
            .into_iter()
            .flatten()
            .for_each(|part| direct_references(part, visit));
    }
    for keyword in ["not", "if", "then", "else"] {
        if let Some(part) = schema.get(keyword) {
            direct_references(part, visit);
        }
    }
}

fn remove_reference(schema: &mut Json, reference: &str) {
    let Json::Object(object) = schema else { return };
    if object.get("$ref").and_then(Json::as_str) == Some(reference) {
        object.remove("$ref");
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = object.get_mut(keyword).and_then(Json::as_array_mut);
        parts
            .into_iter()
            .flatten()
            .for_each(|part| remove_reference(part, reference));
    }
    for keyword in ["not", "if", "then", "else"] {
        if let Some(part) = object.get_mut(keyword) {
            remove_reference(part, reference);
        }
    }
}
