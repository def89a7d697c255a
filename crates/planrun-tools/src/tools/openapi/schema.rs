//! Schemas of a document as JSON Schemas that stand alone: what they refer to comes along, and only what travels that way.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::types::{Type, to_schema};
use serde_json::{Map, Value as Json, json};

use super::document::{At, Document};

/// Schemas nested deeper are taken for anything.
const MAX_DEPTH: usize = 96;
/// So many schemas are copied out of one document, each as often as operations use it; the rest is taken for anything.
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
/// What says nothing of a value, or is said otherwise here.
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

/// Which way values travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the server: what is `readOnly` is left out.
    Request,
    /// From the server: what is `writeOnly` need not be there.
    Response,
}

/// Copies schemas out of a document.
pub(super) struct Schemas<'a> {
    pub document: &'a Document,
    /// Whether the document is `OpenAPI` 3.0, whose schemas are no JSON Schemas.
    pub is_3_0: bool,
    /// So many schemas may still be copied.
    pub left: Cell<usize>,
}

/// One schema that is being put together, with the definitions that it needs.
pub(super) struct Bundle<'a, 'd> {
    schemas: &'a Schemas<'d>,
    direction: Direction,
    /// Whether binary texts are bytes, as in forms; in JSON they are text like any other.
    takes_bytes: bool,
    /// By their pointers in the document.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    pending: Vec<(String, At<'d>)>,
}

/// The schema of bytes.
pub(super) fn bytes() -> Json {
    to_schema(&Type::Bytes)
}

impl<'d> Schemas<'d> {
    /// Begins a schema of values that travel this way.
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

    /// Whether a schema, or what it refers to, says this of itself.
    pub(super) fn flagged(&self, schema: &Json, flag: &str) -> bool {
        let says = |schema: &Json| schema.get(flag) == Some(&Json::Bool(true));
        let referred = || {
            let reference = schema.get("$ref")?.as_str()?;
            let target = self.document.target(reference).ok()?;
            Some(says(self.document.follow(target).ok()?.json))
        };
        says(schema) || referred().unwrap_or(false)
    }
}

impl Bundle<'_, '_> {
    /// The same, in which binary texts are bytes.
    pub(super) fn of_bytes(mut self, takes_bytes: bool) -> Self {
        self.takes_bytes = takes_bytes;
        self
    }

    /// A schema as it is written here. What it refers to is taken along with [`Self::finish`].
    pub(super) fn add(&mut self, schema: &Json) -> Json {
        self.copy(schema, 0)
    }

    /// The schema with the definitions that everything added so far needs.
    pub(super) fn finish(mut self, mut schema: Json) -> Json {
        let mut definitions = Map::new();
        while let Some((name, target)) = self.pending.pop() {
            let copied = self.copy(target.json, 0);
            definitions.insert(name, copied);
        }
        definitions.sort_keys();
        for name in without_end(&mut definitions) {
            let pointer = self.names.iter().find(|(_, known)| **known == name);
            let pointer = pointer.map_or("", |(pointer, _)| pointer);
            let message = format!(
                "the schema `{name}` leads back to itself without saying anything in between; there it is taken for anything"
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
                word if DROPPED.contains(&word) || word.starts_with("x-") => continue,
                "required" => self.required(object, value),
                word if NAMED.contains(&word) => self.named(object, value, depth),
                word if LIST.contains(&word) && value.is_array() => self.list(value, depth),
                "items" if value.is_array() => self.list(value, depth),
                word if SCHEMA.contains(&word) => self.copy(value, depth + 1),
                // The limit of draft 4 says whether it counts itself.
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
        if let Some(kind) = implied(object) {
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
            if !self.leaves_out(around, schema) {
                kept.insert(name.clone(), self.copy(schema, depth + 1));
            }
        }
        Json::Object(kept)
    }

    /// Whether a property does not travel this way at all. A closed object keeps it, so that it may come back all the same.
    fn leaves_out(&self, around: &Map<String, Json>, property: &Json) -> bool {
        match self.direction {
            Direction::Request => self.schemas.flagged(property, "readOnly"),
            Direction::Response => {
                around.get("additionalProperties") != Some(&Json::Bool(false))
                    && self.schemas.flagged(property, "writeOnly")
            }
        }
    }

    /// The fields that have to be there on this way.
    fn required(&self, around: &Map<String, Json>, names: &Json) -> Json {
        let flag = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
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

    /// The reference to a definition that comes along; nothing where the document has no such part.
    fn reference(&mut self, reference: &str) -> Option<String> {
        let target = match self.schemas.document.target(reference) {
            Ok(target) => target,
            Err(problem) => {
                let message = format!("{problem}; its values are taken for anything");
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

    /// Writes into each alternative by which word of the `discriminator` it is known, where it does not say so itself.
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
                if !words.is_empty() && !self.says_constant(reference, property) {
                    let known = json!({"type": "object", "properties": {property: {"enum": words}}, "required": [property]});
                    *alternative = json!({"allOf": [alternative.take(), known]});
                }
            }
        }
    }

    /// Whether an alternative itself says which values its property can have.
    fn says_constant(&self, reference: &str, property: &str) -> bool {
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

/// Whether a schema is that of a file.
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

/// Who lists fields means an object, and who says what elements are a list, unless something else says the kind.
fn implied(schema: &Map<String, Json>) -> Option<&'static str> {
    let says_kind = ["type", "enum", "const", "not", "if", "$ref"]
        .iter()
        .chain(&LIST);
    if says_kind
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

/// The words by which a `discriminator` knows the schema at this reference.
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

/// Takes out the references by which definitions lead back to themselves without a step into the value: nothing can be held
/// against those. The names of the definitions that had one.
fn without_end(definitions: &mut Map<String, Json>) -> Vec<String> {
    let mut found = Vec::new();
    let names: Vec<String> = definitions.keys().cloned().collect();
    // What a definition says of a value at once, without entering it.
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, schema) in definitions.iter() {
        let reached = edges.entry(name.clone()).or_default();
        at_once(schema, &mut |target| {
            reached.insert(target.to_owned());
        });
    }
    let mut settled: BTreeSet<&str> = BTreeSet::new();
    for name in &names {
        // A walk of our own, since documents from outside decide how deep it goes.
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
            forget(schema, &format!("#/$defs/{target}"));
        }
    }
    found.into_iter().map(|(_, target)| target).collect()
}

/// Tells every definition that a schema asks of the same value.
fn at_once(schema: &Json, tell: &mut dyn FnMut(&str)) {
    if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
        tell(target.trim_start_matches("#/$defs/"));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(keyword).and_then(Json::as_array);
        parts
            .into_iter()
            .flatten()
            .for_each(|part| at_once(part, tell));
    }
    for keyword in ["not", "if", "then", "else"] {
        if let Some(part) = schema.get(keyword) {
            at_once(part, tell);
        }
    }
}

fn forget(schema: &mut Json, reference: &str) {
    let Json::Object(object) = schema else { return };
    if object.get("$ref").and_then(Json::as_str) == Some(reference) {
        object.remove("$ref");
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = object.get_mut(keyword).and_then(Json::as_array_mut);
        parts
            .into_iter()
            .flatten()
            .for_each(|part| forget(part, reference));
    }
    for keyword in ["not", "if", "then", "else"] {
        if let Some(part) = object.get_mut(keyword) {
            forget(part, reference);
        }
    }
}
