//! Generates the JSON Schema of plans that call given tools, in the subset that structured output of models supports.
//!
//! The published restrictions of providers: every object is closed, every key is required, `anyOf` occurs below the
//! root only, and there is no `oneOf`, `allOf`, `if`, pattern, range, key next to a `$ref`, or recursion.
//! `docs/json-form.md` names the sources.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::schema::choice_name;
use super::shapes::{ASKED, CALL, Choice, FILE, Key, Shape, Slot, Word};
use super::values::TEXT;
use crate::syntax::canonical_name;
use crate::syntax::settings::{Setting, Settings, Takes};
use crate::types::{Parameter, Signature};

/// Maximum nesting depth of bodies. The schema repeats the definitions of each level, since it may not be recursive.
const LEVELS: usize = 2;
/// The objects that name a namespace, and their key for another name of it.
const NAMESPACE: &str = "namespace";
const ALIAS: &str = "as";

/// How much of the JSON form the schema covers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// All keys; optional keys may be null.
    Full,
    /// Only required keys, for providers that limit the number of nullable keys.
    Lean,
}

/// The schema under construction.
struct Writer {
    breadth: Breadth,
    defs: Map<String, Value>,
}

/// Returns the schema of plans that call only these tools.
#[must_use]
pub fn narrowed<'s>(tools: impl IntoIterator<Item = &'s Signature>, breadth: Breadth) -> Value {
    let mut tools: Vec<_> = tools.into_iter().collect();
    tools.sort_by_key(|tool| (tool.namespace.clone(), tool.name.clone()));
    let mut writer = Writer {
        breadth,
        defs: Map::new(),
    };
    let calls = tools
        .iter()
        .map(|tool| writer.tool_call(tool))
        .collect::<Vec<_>>();
    writer
        .defs
        .insert(CALL.kind.to_owned(), json!({ "anyOf": calls }));
    if breadth == Breadth::Full {
        writer.defs.insert(TEXT.to_owned(), text());
    }
    let mut root = writer.object(&FILE, 0);
    if let Value::Object(root) = &mut root {
        root.insert("$defs".to_owned(), Value::Object(writer.defs));
    }
    root
}

/// A file in the shape of the narrowed schema.
pub struct Completed {
    pub file: Value,
    /// The parts of it for which the schema has no place.
    pub misfits: BTreeSet<String>,
}

/// Converts a file written by `encode` to the narrowed schema: every key is present, with null for those left out, values
/// are strings or texts, and tools have their names of the catalog.
#[must_use]
pub fn complete<'s>(file: &Value, tools: impl IntoIterator<Item = &'s Signature>) -> Completed {
    let mut completion = Completion {
        tools: tools.into_iter().collect(),
        aliases: aliases(file),
        misfits: BTreeSet::new(),
    };
    Completed {
        file: completion.object(file, &FILE, 0),
        misfits: completion.misfits,
    }
}

/// Returns the other names that a file gives to namespaces, each with the namespace.
fn aliases(file: &Value) -> Vec<(String, String)> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned();
    let items = list(file, "items").unwrap_or_default();
    let namespaces = items.iter().filter_map(|item| list(item, "namespaces"));
    let name = |namespace: &Value, key: &str| {
        namespace
            .get(key)
            .and_then(Value::as_str)
            .map(canonical_name)
    };
    let aliases = namespaces
        .flatten()
        .filter_map(|namespace| Some((name(&namespace, ALIAS)?, name(&namespace, "name")?)));
    aliases.collect()
}

impl Writer {
    /// Returns the schema of an object inside `level` bodies.
    fn object(&mut self, shape: &'static Shape, level: usize) -> Value {
        let mut properties = Map::new();
        if shape.one_of {
            properties.insert(
                "kind".to_owned(),
                json!({ "type": "string", "enum": [shape.kind] }),
            );
        }
        let full = self.breadth == Breadth::Full;
        for key in shape
            .all_keys()
            .filter(|key| offered(key) && (key.required || full))
        {
            if let Some(written) = self.property(key, level) {
                properties.insert(key.name.to_owned(), written);
            }
        }
        closed(shape.about, &properties)
    }

    /// Returns the schema of a key's value; `None` if it contains bodies and the level allows no more.
    fn property(&mut self, key: &Key, level: usize) -> Option<Value> {
        let value = match key.slot {
            Slot::Name
            | Slot::Text
            | Slot::Type
            | Slot::ObjectType
            | Slot::Pattern
            | Slot::Tool
            | Slot::Callee => {
                json!({ "type": "string" })
            }
            Slot::Names(_) => names(),
            Slot::Word(word) => word_schema(word),
            Slot::Flag => json!({ "type": "boolean" }),
            Slot::Value | Slot::Message | Slot::Members => {
                return Some(self.value(&key.about(), key.required));
            }
            Slot::Settings(settings) => self.settings(settings),
            Slot::Arguments => {
                let value = self.value(&key.about(), false);
                closed(&key.about(), &prompt_arguments(|_| value.clone()))
            }
            Slot::Call => called(),
            Slot::Probe => json!({ "anyOf": [called(), self.object(&ASKED, level)] }),
            Slot::Object(inner) => self.object(inner, level),
            Slot::Objects(inner) => json!({ "type": "array", "items": self.object(inner, level) }),
            Slot::Choice(choice) => self.chosen(choice, level)?,
            Slot::Choices(choice) => {
                json!({ "type": "array", "items": self.chosen(choice, level)? })
            }
        };
        Some(if key.required {
            with_description(value, &key.about())
        } else {
            nullable(&value, &key.about())
        })
    }

    /// Returns the schema of a value: an expression, numbers and other literals included, or a text.
    fn value(&self, about: &str, required: bool) -> Value {
        let mut kinds = vec![json!({ "type": "string" })];
        if self.breadth == Breadth::Lean {
            return with_description(json!({ "type": "string" }), about);
        }
        kinds.push(json!({ "$ref": format!("#/$defs/{TEXT}") }));
        if !required {
            kinds.push(json!({ "type": "null" }));
        }
        json!({ "description": about, "anyOf": kinds })
    }

    /// Returns the schema of an object of settings, all of which may be null.
    fn settings(&self, settings: &Settings) -> Value {
        let property = |setting: &Setting| match setting.takes {
            Takes::Settings(inner) => nullable(&self.settings(inner), setting.about),
            Takes::Names => nullable(&names(), setting.about),
            Takes::Duration
            | Takes::TimeLimit
            | Takes::Count
            | Takes::Number(_)
            | Takes::Word(_)
            | Takes::Texts => self.value(setting.about, false),
        };
        let properties = settings
            .all
            .iter()
            .map(|setting| (setting.name.to_owned(), property(setting)));
        closed(settings.about, &properties.collect())
    }

    /// Returns a reference to the definition, for this level, of one of several shapes.
    fn chosen(&mut self, choice: Choice, level: usize) -> Option<Value> {
        let inner = level + usize::from(choice == Choice::Statement);
        if inner > LEVELS {
            return None;
        }
        let name = format!("{}_{inner}", choice_name(choice));
        if !self.defs.contains_key(&name) {
            let offered: Vec<_> = choice
                .shapes()
                .iter()
                .filter(|shape| offers(self.breadth, choice, shape, inner))
                .collect();
            let shapes = offered
                .into_iter()
                .map(|shape| self.object(shape, inner))
                .collect::<Vec<_>>();
            self.defs.insert(name.clone(), json!({ "anyOf": shapes }));
        }
        Some(json!({ "$ref": format!("#/$defs/{name}") }))
    }

    fn tool_call(&self, tool: &Signature) -> Value {
        let included = |parameter: &&Parameter| parameter.required || self.breadth == Breadth::Full;
        let arguments = tool.parameters.iter().filter(included).map(|parameter| {
            let about = match &parameter.description {
                Some(about) => format!("{}: {about}", parameter.ty),
                None => parameter.ty.to_string(),
            };
            let key = json!({ "description": about });
            let mut kinds = vec![json!({ "type": "string" })];
            if self.breadth == Breadth::Full {
                kinds.push(json!({ "$ref": format!("#/$defs/{TEXT}") }));
            }
            if !parameter.required {
                kinds.push(json!({ "type": "null" }));
            }
            (parameter.name.to_string(), merged(key, kinds))
        });
        let arguments = closed("Values by argument name.", &arguments.collect());
        let mut properties = Map::new();
        properties.insert(
            "tool".to_owned(),
            json!({ "type": "string", "enum": [dotted(tool)] }),
        );
        properties.insert("arguments".to_owned(), arguments);
        closed(
            tool.description.as_deref().unwrap_or("A tool."),
            &properties,
        )
    }
}

/// Returns true if the schema offers a shape at this level: the level has to allow its bodies, and a lean schema leaves out
/// shapes with settings.
fn offers(breadth: Breadth, choice: Choice, shape: &Shape, level: usize) -> bool {
    let deep = shape
        .all_keys()
        .any(|key| key.required && matches!(key.slot, Slot::Choices(Choice::Statement)));
    let free = breadth == Breadth::Lean
        && shape
            .all_keys()
            .any(|key| matches!(key.slot, Slot::Settings(_)));
    match choice {
        Choice::Item => shape.kind != "test",
        Choice::Statement => !(free || deep && level >= LEVELS),
        // A body in an action would nest eleven objects, and providers accept ten.
        Choice::Action | Choice::Undo => !deep,
        Choice::TestStatement | Choice::Outcome => false,
    }
}

/// Returns true if the schema includes the key. A model has no use for `$schema`.
fn offered(key: &Key) -> bool {
    key.name != "$schema"
}

/// Returns an object with the arguments of an `infer` or an `ask`. Those of calls depend on the tool.
fn prompt_arguments(value: impl Fn(&str) -> Value) -> Map<String, Value> {
    let entry = |name: &str| (name.to_owned(), value(name));
    ["model", "with"].map(entry).into_iter().collect()
}

fn dotted(tool: &Signature) -> String {
    format!(
        "{}.{}",
        canonical_name(&tool.namespace),
        canonical_name(&tool.name)
    )
}

/// Adds alternatives to a schema: a single one as keys of the schema, several as `anyOf`.
fn merged(mut object: Value, mut kinds: Vec<Value>) -> Value {
    if let Value::Object(map) = &mut object {
        match kinds.pop() {
            Some(Value::Object(only)) if kinds.is_empty() => map.extend(only),
            Some(last) => {
                kinds.push(last);
                map.insert("anyOf".to_owned(), kinds.into());
            }
            None => {}
        }
    }
    object
}

fn called() -> Value {
    json!({ "$ref": format!("#/$defs/{}", CALL.kind) })
}

fn names() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn text() -> Value {
    let mut properties = Map::new();
    properties.insert(TEXT.to_owned(), json!({ "type": "string" }));
    closed("Text in which only ${…} is code.", &properties)
}

/// Returns the schema of an object with exactly these keys.
fn closed(about: &str, properties: &Map<String, Value>) -> Value {
    let required: Vec<Value> = properties
        .keys()
        .map(|key| Value::from(key.as_str()))
        .collect();
    json!({
        "description": about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn word_schema(word: Word) -> Value {
    match word {
        Word::Effect | Word::Moment => json!({ "type": "string", "enum": word.known() }),
        Word::Name | Word::Class | Word::Code => json!({ "type": "string" }),
    }
}

/// Adds a description, unless the schema is a `$ref`, which allows no other keys next to it.
fn with_description(mut value: Value, about: &str) -> Value {
    if let Value::Object(map) = &mut value
        && !map.contains_key("$ref")
    {
        map.insert("description".to_owned(), about.into());
    }
    value
}

fn nullable(value: &Value, about: &str) -> Value {
    json!({ "description": about, "anyOf": [value, { "type": "null" }] })
}

/// Converts files to the narrowed schema.
struct Completion<'s> {
    tools: Vec<&'s Signature>,
    aliases: Vec<(String, String)>,
    misfits: BTreeSet<String>,
}

impl Completion<'_> {
    /// Converts an object inside `level` bodies.
    fn object(&mut self, value: &Value, shape: &'static Shape, level: usize) -> Value {
        let mut object = Map::new();
        if shape.one_of {
            object.insert("kind".to_owned(), shape.kind.into());
        }
        for key in shape.all_keys().filter(|key| offered(key)) {
            let value = match value.get(key.name) {
                // Tools have their names of the catalog.
                Some(_) if key.name == ALIAS && shape.kind == NAMESPACE => Value::Null,
                Some(value) => self.slot(value, key, level),
                None => Value::Null,
            };
            object.insert(key.name.to_owned(), value);
        }
        Value::Object(object)
    }

    fn slot(&mut self, value: &Value, key: &Key, level: usize) -> Value {
        let elements = value.as_array().into_iter().flatten();
        match key.slot {
            Slot::Value | Slot::Message | Slot::Members => expression(value),
            Slot::Settings(settings) => complete_settings(value, settings),
            Slot::Probe if value.get("agent").is_some() => self.object(value, &ASKED, level),
            Slot::Call | Slot::Probe => self.call(value),
            Slot::Object(inner) => self.object(value, inner, level),
            Slot::Objects(inner) => elements
                .map(|value| self.object(value, inner, level))
                .collect(),
            Slot::Choice(choice) => self.chosen(value, choice, level),
            Slot::Choices(choice) => elements
                .map(|value| self.chosen(value, choice, level))
                .collect(),
            Slot::Tool => value.as_str().map(|tool| self.catalog_name(tool)).into(),
            Slot::Name
            | Slot::Names(_)
            | Slot::Text
            | Slot::Flag
            | Slot::Word(_)
            | Slot::Type
            | Slot::ObjectType
            | Slot::Pattern
            | Slot::Callee => value.clone(),
            Slot::Arguments => {
                let given = |name: &str| value.get(name).map_or(Value::Null, expression);
                let mut arguments = prompt_arguments(given);
                // Others are kept, so that they are reported.
                for (name, value) in value.as_object().into_iter().flatten() {
                    let entry = arguments.entry(name.clone());
                    entry.or_insert_with(|| expression(value));
                }
                arguments.into()
            }
        }
    }

    fn chosen(&mut self, value: &Value, choice: Choice, level: usize) -> Value {
        let kind = value.get("kind").and_then(Value::as_str);
        let shapes = choice.shapes().iter();
        let Some(shape) = shapes.into_iter().find(|shape| Some(shape.kind) == kind) else {
            return value.clone();
        };
        let level = level + usize::from(choice == Choice::Statement);
        if !offers(Breadth::Full, choice, shape, level) {
            let misfit = match choice {
                Choice::Statement => format!("{} inside {LEVELS} bodies", shape.called),
                Choice::Action => format!("{} as an action", shape.called),
                Choice::Undo => format!("{} as an `undo`", shape.called),
                Choice::Item | Choice::TestStatement | Choice::Outcome => shape.called.to_owned(),
            };
            self.misfits.insert(misfit);
        }
        self.object(value, shape, level)
    }

    /// Returns the name of a tool with the name that its namespace has in the catalog.
    fn catalog_name(&self, tool: &str) -> String {
        let mut found = self.aliases.iter().filter_map(|(alias, namespace)| {
            let name = tool.strip_prefix(alias.as_str())?;
            name.starts_with('.').then(|| format!("{namespace}{name}"))
        });
        found.next().unwrap_or_else(|| tool.to_owned())
    }

    fn call(&mut self, value: &Value) -> Value {
        let written = value.get("tool").and_then(Value::as_str);
        let called = written.map(|tool| self.catalog_name(tool));
        let known = self
            .tools
            .iter()
            .find(|known| Some(dotted(known)) == called);
        let given = value.get("arguments");
        let mut arguments = Map::new();
        if let Some(tool) = known {
            for parameter in &tool.parameters {
                let value = given
                    .and_then(|given| given.get(&*parameter.name))
                    .map_or(Value::Null, expression);
                arguments.insert(parameter.name.to_string(), value);
            }
        } else {
            let misfit = called.as_ref().map_or_else(
                || "a call that is an expression".to_owned(),
                |called| format!("a call of `{called}`, which is no tool of the project"),
            );
            self.misfits.insert(misfit);
        }
        let Some(called) = called else {
            return value.clone();
        };
        // Arguments that the tool does not have are kept, so that they are reported.
        for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
            arguments
                .entry(name.clone())
                .or_insert_with(|| expression(value));
        }
        json!({ "tool": called, "arguments": arguments })
    }
}

fn complete_settings(value: &Value, settings: &Settings) -> Value {
    let entry = |setting: &Setting| {
        let value = match (value.get(setting.name), setting.takes) {
            (None, _) => Value::Null,
            (Some(value), Takes::Settings(inner)) => complete_settings(value, inner),
            (Some(value), Takes::Names) => value.clone(),
            (Some(value), _) => expression(value),
        };
        (setting.name.to_owned(), value)
    };
    Value::Object(settings.all.iter().map(entry).collect())
}

/// Converts a value to an expression in a string; texts stay texts.
fn expression(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        Value::Object(map) if map.len() == 1 && map.get(TEXT).is_some_and(Value::is_string) => {
            value.clone()
        }
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            super::expression_text(value).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Breadth, narrowed};
    use crate::syntax::json::shapes::CLAUSES;
    use crate::syntax::scan::clause_words;
    use crate::syntax::settings::{ALLOW, POLICY, Settings};

    /// Returns the keys under `settings` of the statement of this kind.
    fn offered(schema: &serde_json::Value, settings: &Settings) -> Vec<String> {
        let statements = schema["$defs"]["statement_1"]["anyOf"].as_array();
        let of_kind =
            |shape: &&serde_json::Value| shape["properties"]["kind"]["enum"][0] == settings.name;
        let shape = statements.unwrap().iter().find(of_kind).unwrap();
        let keys = shape["properties"]["settings"]["properties"].as_object();
        keys.unwrap().keys().cloned().collect()
    }

    #[test]
    fn every_setting_and_every_clause_has_a_key() {
        let schema = narrowed([], Breadth::Full);
        for settings in [&POLICY, &ALLOW] {
            let names: Vec<_> = settings.names().collect();
            assert_eq!(offered(&schema, settings), names);
        }
        let keys: Vec<_> = CLAUSES.iter().map(|key| key.name).collect();
        assert_eq!(keys, clause_words().collect::<Vec<_>>());
    }
}
