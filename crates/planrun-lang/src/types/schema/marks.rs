//! Finds the parts that JSON Schemas mark as sensitive: with `writeOnly`, `format: password` or `x-sensitive`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::read::decode_percent;
use crate::value::path_below;

/// Maximum number of schemas around a part; a deeper part is sensitive as a whole if anything in it is marked.
const MAX_DEPTH: usize = 64;
/// Maximum number of schemas that are read; the parts of further ones are sensitive as a whole. A schema counts each
/// time that a reference leads to it.
const MAX_WORK: usize = 10_000;
/// Maximum number of levels at which a schema that contains itself is followed.
const MAX_LEVELS: usize = 3;
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
        find(schema, path, false, &mut paths);
    }
    paths
}

/// As [`sensitive_paths`] of a result, but only the paths of the marked parts themselves: nothing around a part whose
/// path cannot be stated. A schema that contains itself is followed for a few levels.
#[must_use]
pub fn marked_paths(result: Option<&Json>) -> Vec<Arc<str>> {
    let mut paths = Vec::new();
    find(result, RESULT, true, &mut paths);
    paths
}

fn find(schema: Option<&Json>, path: &str, is_exact: bool, paths: &mut Vec<Arc<str>>) {
    let Some(schema) = schema.filter(|schema| mentions_mark(schema)) else {
        return;
    };
    let mut finder = Finder {
        document: schema,
        sensitive: sensitive_schemas(schema, schema),
        is_exact,
        open: Vec::new(),
        work: 0,
        paths,
    };
    finder.find(schema, path);
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

struct Finder<'a, 'p> {
    document: &'a Json,
    /// The schemas of the document that are marked or have a marked part.
    sensitive: BTreeSet<usize>,
    /// Whether only the paths of marked parts are added.
    is_exact: bool,
    /// The schemas around the current one, with the lengths of their paths.
    open: Vec<(usize, usize)>,
    /// Number of schemas read so far.
    work: usize,
    paths: &'p mut Vec<Arc<str>>,
}

impl<'a> Finder<'a, '_> {
    /// Adds the sensitive paths in the value that a schema describes, which is at `path`.
    fn find(&mut self, schema: &'a Json, path: &str) {
        let own = address(schema);
        if !self.sensitive.contains(&own) {
            return;
        }
        match self.open.iter().rev().find(|(open, _)| *open == own) {
            // A schema that contains itself is read once for each value.
            Some((_, length)) if *length == path.len() => return,
            Some(_) if self.is_exact => {
                let levels = self.open.iter().filter(|(open, _)| *open == own);
                if levels.count() > MAX_LEVELS {
                    return;
                }
            }
            Some(_) => return self.add(path),
            None => {}
        }
        if is_marked(schema) {
            return self.add(path);
        }
        if self.open.len() == MAX_DEPTH || self.work == MAX_WORK {
            return self.add_around(path);
        }
        self.work += 1;
        self.open.push((own, path.len()));
        for (part, inner) in parts(schema, self.document) {
            match part {
                Part::Same => self.find(inner, path),
                Part::Field(name) if has_path(name, path) => {
                    let separator = if path.is_empty() { "" } else { "." };
                    self.find(inner, &format!("{path}{separator}{}", path_below(name, "")));
                }
                Part::Field(_) | Part::UnlistedFields => {
                    if self.sensitive.contains(&address(inner)) {
                        self.add_around(path);
                    }
                }
            }
        }
        self.open.pop();
    }

    /// Adds the path of a part that contains a marked one whose path cannot be stated.
    fn add_around(&mut self, path: &str) {
        if !self.is_exact {
            self.add(path);
        }
    }

    fn add(&mut self, path: &str) {
        if !self.paths.iter().any(|known| **known == *path) {
            self.paths.push(path.into());
        }
    }
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
        let exact = marked_paths(Some(&tree)).join(" ");
        let levels = "result.root.key result.root.next.key result.root.next.next.key";
        assert!(exact.starts_with(levels), "{exact}");
        assert!(exact.ends_with("next.next.key"), "{exact}");
        let same = json!({ "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#" }] } },
            "$ref": "#/$defs/a", "properties": { "b": { "writeOnly": true } } });
        assert_eq!(found(&same), "b");
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
