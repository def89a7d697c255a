//! Finds the parts that JSON Schemas mark as sensitive: with `writeOnly`, `format: password` or `x-sensitive`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::read::decode_percent;
use crate::value::{Value, path_below, path_in};

/// Maximum number of schemas around a part; a deeper part is sensitive as a whole if anything in it is marked.
const MAX_DEPTH: usize = 64;
/// Maximum number of schemas that are read; the parts of further ones are sensitive as a whole. A schema counts each
/// time that a reference leads to it.
const MAX_WORK: usize = 10_000;
/// Maximum number of fields of an object whose names its schema does not list; with more, it is sensitive as a whole.
const MAX_UNLISTED: usize = 100;
/// The path of the result, which other paths into it begin with.
const RESULT: &str = "result";
/// Keywords whose schemas apply to the same value, or to the elements of a list, which have the path of the list.
const SAME: [&str; 11] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];

/// Returns the paths that the schemas of the arguments and of the result mark as sensitive.
///
/// Elements of a list have the path of the list. If the path of a marked part cannot be stated, the object that
/// contains it is sensitive as a whole; the empty path means all arguments. That is the case for fields whose names the
/// schema does not list, for a field whose name is empty, and for parts of a schema that contains itself.
#[must_use]
pub fn sensitive_paths(arguments: Option<&Json>, result: Option<&Json>) -> Vec<Arc<str>> {
    let mut paths = Vec::new();
    for (schema, path) in [(arguments, ""), (result, RESULT)] {
        if let Some(schema) = schema {
            paths.extend(find(schema, path, None));
        }
    }
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    paths
}

/// Returns the paths of the parts of a value that its schema marks as sensitive, however often the schema repeats in it.
/// Unlike [`sensitive_paths`], it finds the marked parts themselves, since all fields of the value are known.
#[must_use]
pub fn marked_paths(schema: &Json, value: &Value) -> Vec<Arc<str>> {
    let paths = find(schema, RESULT, Some(&[value]));
    let paths = paths.iter().filter_map(|path| path_in(RESULT, path));
    paths.map(Arc::from).collect()
}

/// Returns the sensitive paths in the values that a schema describes, which are at `path`; in any values if they are
/// not given.
fn find(schema: &Json, path: &str, values: Option<&[&Value]>) -> Vec<Arc<str>> {
    if !mentions_mark(schema) {
        return Vec::new();
    }
    let mut finder = Finder {
        document: schema,
        sensitive: sensitive_schemas(schema, schema),
        open: Vec::new(),
        work: 0,
        paths: Vec::new(),
    };
    finder.find(schema, path, values);
    finder.paths
}

/// Returns true if a schema, or any part of it, is marked as sensitive. `document` contains what it refers to.
#[must_use]
pub fn is_sensitive(schema: &Json, document: &Json) -> bool {
    (mentions_mark(schema) || mentions_mark(document))
        && sensitive_schemas(schema, document).contains(&address(schema))
}

/// The relation of a schema to the one that contains it.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// It describes the same value, or the elements of the same list.
    Same,
    Field(&'a str),
    /// It describes fields whose names are not listed.
    UnlistedFields,
}

struct Finder<'a> {
    document: &'a Json,
    /// The schemas of the document that are marked or have a marked part.
    sensitive: BTreeSet<usize>,
    /// The schemas around the current one, with the lengths of their paths.
    open: Vec<(usize, usize)>,
    /// Number of schemas read so far.
    work: usize,
    paths: Vec<Arc<str>>,
}

impl<'a> Finder<'a> {
    /// Adds the sensitive paths in the values that a schema describes, which are at `path`.
    fn find(&mut self, schema: &'a Json, path: &str, values: Option<&[&Value]>) {
        let own = address(schema);
        if !self.sensitive.contains(&own) {
            return;
        }
        match self.open.iter().rev().find(|(open, _)| *open == own) {
            // A schema that contains itself is read once for each value.
            Some((_, length)) if *length == path.len() => return,
            // A given value ends somewhere.
            Some(_) if values.is_none() => return self.add(path),
            Some(_) | None => {}
        }
        if is_marked(schema) || self.open.len() == MAX_DEPTH || self.work == MAX_WORK {
            return self.add(path);
        }
        self.work += 1;
        self.open.push((own, path.len()));
        for (part, inner) in parts(schema, self.document) {
            match part {
                Part::Same => self.find(inner, path, values),
                Part::Field(name) => self.find_in_field(inner, (path, name), values),
                Part::UnlistedFields if self.sensitive.contains(&address(inner)) => {
                    match values.map(|values| unlisted(schema, values)) {
                        Some(names) if names.len() <= MAX_UNLISTED => {
                            for name in names {
                                self.find_in_field(inner, (path, name), values);
                            }
                        }
                        Some(_) | None => self.add(path),
                    }
                }
                Part::UnlistedFields => {}
            }
        }
        self.open.pop();
    }

    /// Adds the sensitive paths in a field of the values at `path`, if it is there.
    fn find_in_field(
        &mut self,
        schema: &'a Json,
        (path, name): (&str, &str),
        values: Option<&[&Value]>,
    ) {
        let values = values.map(|values| {
            let objects = objects(values).into_iter();
            objects.filter_map(|one| one.get(name)).collect::<Vec<_>>()
        });
        if values.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        if has_path(name, path) {
            let separator = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{separator}{}", path_below(name, ""));
            self.find(schema, &path, values.as_deref());
        } else if self.sensitive.contains(&address(schema)) {
            self.add(path);
        }
    }

    fn add(&mut self, path: &str) {
        if !self.paths.iter().any(|known| **known == *path) {
            self.paths.push(path.into());
        }
    }
}

/// Returns the values themselves, and the elements of those that are lists.
fn objects<'v>(values: &[&'v Value]) -> Vec<&'v Value> {
    let (mut found, mut pending) = (Vec::new(), values.to_vec());
    while let Some(value) = pending.pop() {
        match value.as_list() {
            Some(items) => pending.extend(items),
            None => found.push(value),
        }
    }
    found
}

/// Returns the names of the fields of values that their schema does not list.
fn unlisted<'v>(schema: &Json, values: &[&'v Value]) -> BTreeSet<&'v str> {
    let listed = schema.get("properties").and_then(Json::as_object);
    let maps = objects(values).into_iter().filter_map(Value::as_map);
    let names = maps
        .flat_map(|map| map.keys())
        .filter_map(|name| name.as_str());
    names
        .filter(|name| !listed.is_some_and(|listed| listed.contains_key(*name)))
        .collect()
}

/// Returns true if the field with this name can be named in a path. An argument named `result` cannot be distinguished
/// from the result.
fn has_path(name: &str, path: &str) -> bool {
    let is_argument = path.is_empty();
    !name.is_empty() && (name != RESULT || !is_argument)
}

/// Returns the addresses of all schemas that are marked or have a marked part, among `schema` and everything that it
/// contains or refers to.
fn sensitive_schemas(schema: &Json, document: &Json) -> BTreeSet<usize> {
    let mut containing: Vec<(usize, usize)> = Vec::new();
    let (mut seen, mut marked) = (BTreeSet::from([address(schema)]), Vec::new());
    let mut pending = vec![schema];
    while let Some(schema) = pending.pop() {
        if is_marked(schema) {
            marked.push(address(schema));
        }
        for (_, inner) in parts(schema, document) {
            containing.push((address(inner), address(schema)));
            if seen.insert(address(inner)) {
                pending.push(inner);
            }
        }
    }
    containing.sort_unstable();
    let mut sensitive = BTreeSet::new();
    while let Some(schema) = marked.pop() {
        if sensitive.insert(schema) {
            let first = containing.partition_point(|(inner, _)| *inner < schema);
            let around = containing.iter().skip(first);
            marked.extend(
                around
                    .take_while(|(inner, _)| *inner == schema)
                    .map(|(_, outer)| outer),
            );
        }
    }
    sensitive
}

/// Returns the schemas that a schema consists of, and the one that it refers to.
fn parts<'a>(schema: &'a Json, document: &'a Json) -> Vec<(Part<'a>, &'a Json)> {
    let mut parts = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            ("properties", Json::Object(fields)) => {
                let fields = fields.iter();
                parts.extend(fields.map(|(name, inner)| (Part::Field(name), inner)));
            }
            ("patternProperties", Json::Object(patterns)) => {
                parts.extend(patterns.values().map(|inner| (Part::UnlistedFields, inner)));
            }
            ("additionalProperties" | "unevaluatedProperties", inner) => {
                parts.push((Part::UnlistedFields, inner));
            }
            ("dependentSchemas" | "dependencies", Json::Object(dependent)) => {
                parts.extend(dependent.values().map(|inner| (Part::Same, inner)));
            }
            ("$ref" | "$dynamicRef", Json::String(reference)) => {
                parts.extend(target(reference, document).map(|inner| (Part::Same, inner)));
            }
            (keyword, Json::Array(all)) if SAME.contains(&keyword) => {
                parts.extend(all.iter().map(|inner| (Part::Same, inner)));
            }
            (keyword, inner) if SAME.contains(&keyword) => parts.push((Part::Same, inner)),
            _ => {}
        }
    }
    parts
}

fn target<'a>(reference: &str, document: &'a Json) -> Option<&'a Json> {
    document.pointer(&decode_percent(reference.strip_prefix('#')?))
}

/// Returns true if the schema itself is marked.
fn is_marked(schema: &Json) -> bool {
    schema.as_object().is_some_and(has_mark)
}

fn has_mark(schema: &Map<String, Json>) -> bool {
    let flag = |name: &str| schema.get(name) == Some(&Json::Bool(true));
    let format = schema.get("format").and_then(Json::as_str);
    format == Some("password") || flag("writeOnly") || flag("x-sensitive")
}

/// Returns true if anything in a document looks like a mark. Most documents contain none.
fn mentions_mark(json: &Json) -> bool {
    match json {
        Json::Object(object) => has_mark(object) || object.values().any(mentions_mark),
        Json::Array(items) => items.iter().any(mentions_mark),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// Identifies a schema of a document.
fn address(schema: &Json) -> usize {
    std::ptr::from_ref(schema).addr()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(arguments: &Json) -> String {
        sensitive_paths(Some(arguments), None).join(" ")
    }

    /// Returns the paths in the value of the argument `a` with this schema. `$defs/pin` is marked.
    fn of(schema: &Json) -> String {
        found(&json!({
            "properties": { "a": schema },
            "$defs": { "pin": { "type": "integer", "x-sensitive": true } },
        }))
    }

    #[test]
    fn marks_are_found_wherever_a_schema_describes_a_value() {
        let password = json!({ "type": "string", "format": "password" });
        let fields = json!({ "properties": { "b": password } });
        let cases = [
            (password.clone(), "a"),
            (json!({ "writeOnly": true }), "a"),
            (json!({ "writeOnly": false, "format": "date" }), ""),
            (fields.clone(), "a.b"),
            (json!({ "$ref": "#/$defs/pin" }), "a"),
            (json!({ "$ref": "#/%24defs/pin", "title": "the pin" }), "a"),
            (json!({ "anyOf": [password, { "type": "null" }] }), "a"),
            (json!({ "oneOf": [{ "type": "null" }, fields] }), "a.b"),
            (json!({ "allOf": [{ "type": "object" }, fields] }), "a.b"),
            (json!({ "if": {}, "then": fields, "else": {} }), "a.b"),
            (json!({ "dependentSchemas": { "c": fields } }), "a.b"),
            (json!({ "type": "array", "items": password }), "a"),
            (json!({ "items": { "items": fields } }), "a.b"),
            (json!({ "prefixItems": [{}, fields] }), "a.b"),
            (json!({ "items": [{}, password] }), "a"),
            (json!({ "additionalItems": password }), "a"),
            (json!({ "additionalProperties": password }), "a"),
            (
                json!({ "additionalProperties": { "$ref": "#/$defs/pin" } }),
                "a",
            ),
            (json!({ "patternProperties": { "^x": fields } }), "a"),
            (
                json!({ "properties": { "b.c": password, "d": {} } }),
                r"a.b\.c",
            ),
            (json!({ "properties": { "": password, "d": {} } }), "a"),
            (json!({ "default": password, "examples": [password] }), ""),
            (
                json!({ "properties": { "format": { "const": "password" } } }),
                "",
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(of(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn results_have_paths_of_their_own() {
        let schema = json!({ "items": { "properties": { "token": { "writeOnly": true } } } });
        let paths = sensitive_paths(Some(&json!({})), Some(&schema));
        assert_eq!(paths.join(" "), "result.token");
        // Such an argument has no path of its own.
        let arguments = json!({ "properties": { "result": { "writeOnly": true } } });
        assert_eq!(
            sensitive_paths(Some(&arguments), None),
            [Arc::<str>::from("")]
        );
    }

    #[test]
    fn a_schema_that_contains_itself_is_sensitive_where_it_repeats() {
        let node = json!({ "properties": {
            "key": { "writeOnly": true },
            "name": { "type": "string" },
            "next": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }] },
        } });
        let tree = json!({
            "properties": { "root": { "$ref": "#/$defs/node" } },
            "$defs": { "node": node },
        });
        assert_eq!(found(&tree), "root.key root.next");
        let same = json!({ "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#" }] } },
            "$ref": "#/$defs/a", "properties": { "b": { "writeOnly": true } } });
        assert_eq!(found(&same), "b");
    }

    #[test]
    fn a_value_shows_every_place_of_a_marked_part() {
        let node = json!({ "properties": {
            "key": { "writeOnly": true },
            "next": { "items": { "$ref": "#/$defs/node" } },
            "by.name": { "additionalProperties": { "$ref": "#/$defs/node" } },
        } });
        let schema = json!({ "$ref": "#/$defs/node", "$defs": { "node": node } });
        let marked = |value: &Json| marked_paths(&schema, &Value::from_json(value)).join(" ");
        let (mut value, mut path) = (json!({ "key": 1, "other": 2 }), "key".to_owned());
        for _ in 0..20 {
            value = json!({ "next": [{ "other": 3 }, value] });
            path = format!("next.{path}");
        }
        assert_eq!(marked(&value), path);
        assert_eq!(marked(&json!({ "next": [], "other": { "key": 1 } })), "");
        let named = json!({ "by.name": { "a": { "key": 1 }, "b": { "next": { "key": null } } } });
        assert_eq!(marked(&named), r"by\.name.a.key by\.name.b.next.key");
        let many: Map<String, Json> = (0..=MAX_UNLISTED)
            .map(|number| (number.to_string(), json!({ "key": 1 })))
            .collect();
        assert_eq!(marked(&json!({ "by.name": many })), r"by\.name");
        // A value that is nested too deep to be searched is redacted as a whole.
        for _ in 0..MAX_DEPTH {
            value = json!({ "next": value });
        }
        let found = marked(&value);
        assert!(
            found.ends_with("next") && found.len() < path.len() + 5 * MAX_DEPTH,
            "{found}"
        );
    }

    /// Each level refers to the next one twice, so there are 2^40 paths.
    #[test]
    fn many_paths_become_few() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
            let schema = json!({ "properties": { "l": next, "r": next } });
            definitions.insert(level.to_string(), schema);
        }
        definitions.insert("40".to_owned(), json!({ "writeOnly": true }));
        let schema = json!({ "$ref": "#/$defs/0", "$defs": definitions });
        let paths = sensitive_paths(Some(&schema), None);
        assert!((1..MAX_WORK).contains(&paths.len()), "{}", paths.len());
        // Every marked value is at or below one of the paths.
        let deepest = "r.".repeat(40);
        assert!(paths.iter().any(|path| deepest.starts_with(&**path)));
    }

    #[test]
    fn a_part_is_sensitive_with_the_document_that_it_refers_to() {
        let document = json!({ "$defs": { "pin": { "x-sensitive": true } } });
        let reference = json!({ "anyOf": [{ "$ref": "#/$defs/pin" }, { "type": "null" }] });
        assert!(is_sensitive(&reference, &document));
        assert!(is_sensitive(&json!({ "format": "password" }), &json!({})));
        assert!(!is_sensitive(&json!({ "type": "string" }), &document));
    }
}
