//! Generates the JSON Schema of plans that call given tools, in the subset that structured output of models supports.
//!
//! The published restrictions of providers: every object is closed, every key is required, `anyOf` occurs below the
//! root only, and there is no `oneOf`, `allOf`, `if`, pattern, range, key next to a `$ref`, or recursion.
//! `docs/json-form.md` names the sources.

use serde_json::{Map, Value, json};

use super::schema::choice_name;
use super::shapes::{ASKED, CALL, Choice, FILE, Key, Shape, Slot, Word};
use super::values::TEXT;
use crate::syntax::canonical_name;
use crate::syntax::settings::{Setting, Settings, Takes};
use crate::types::{Parameter, Signature};

/// Maximum nesting depth of bodies. The schema repeats the definitions of each level, since it may not be recursive.
const LEVELS: usize = 2;

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

/// Converts a file written by `encode` to the narrowed schema: every key is present, with null for those left out, and
/// values are strings or texts.
#[must_use]
pub fn complete<'s>(file: &Value, tools: impl IntoIterator<Item = &'s Signature>) -> Value {
    let completion = Completion {
        tools: tools.into_iter().collect(),
    };
    completion.object(file, &FILE)
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
                .filter(|shape| self.offers(choice, shape, inner))
                .collect();
            let shapes = offered
                .into_iter()
                .map(|shape| self.object(shape, inner))
                .collect::<Vec<_>>();
            self.defs.insert(name.clone(), json!({ "anyOf": shapes }));
        }
        Some(json!({ "$ref": format!("#/$defs/{name}") }))
    }

    /// Returns true if the schema offers a shape at this level: the level has to allow its bodies, and a lean schema
    /// leaves out shapes with settings.
    fn offers(&self, choice: Choice, shape: &Shape, level: usize) -> bool {
        let deep = shape
            .all_keys()
            .any(|key| key.required && matches!(key.slot, Slot::Choices(Choice::Statement)));
        let free = self.breadth == Breadth::Lean
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
}

impl Completion<'_> {
    fn object(&self, value: &Value, shape: &'static Shape) -> Value {
        let mut object = Map::new();
        if shape.one_of {
            object.insert("kind".to_owned(), shape.kind.into());
        }
        for key in shape.all_keys().filter(|key| offered(key)) {
            let value = match value.get(key.name) {
                Some(value) => self.slot(value, key),
                None => Value::Null,
            };
            object.insert(key.name.to_owned(), value);
        }
        Value::Object(object)
    }

    fn slot(&self, value: &Value, key: &Key) -> Value {
        let list = |write: &dyn Fn(&Value) -> Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .map(write)
                .collect::<Vec<_>>()
        };
        match key.slot {
            Slot::Value | Slot::Message | Slot::Members => expression(value),
            Slot::Settings(settings) => complete_settings(value, settings),
            Slot::Probe if value.get("agent").is_some() => self.object(value, &ASKED),
            Slot::Call | Slot::Probe => self.call(value),
            Slot::Object(inner) => self.object(value, inner),
            Slot::Objects(inner) => list(&|value| self.object(value, inner)).into(),
            Slot::Choice(choice) => self.chosen(value, choice),
            Slot::Choices(choice) => list(&|value| self.chosen(value, choice)).into(),
            Slot::Name
            | Slot::Names(_)
            | Slot::Text
            | Slot::Flag
            | Slot::Word(_)
            | Slot::Type
            | Slot::ObjectType
            | Slot::Pattern
            | Slot::Tool
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

    fn chosen(&self, value: &Value, choice: Choice) -> Value {
        let kind = value.get("kind").and_then(Value::as_str);
        let shape = choice
            .shapes()
            .iter()
            .find(|shape| Some(shape.kind) == kind);
        shape.map_or_else(|| value.clone(), |shape| self.object(value, shape))
    }

    fn call(&self, value: &Value) -> Value {
        let tool = value.get("tool").and_then(Value::as_str);
        let Some(tool) = self
            .tools
            .iter()
            .find(|known| Some(dotted(known).as_str()) == tool)
        else {
            return value.clone();
        };
        let given = value.get("arguments");
        let mut arguments = Map::new();
        for parameter in &tool.parameters {
            let value = given
                .and_then(|given| given.get(&*parameter.name))
                .map_or(Value::Null, expression);
            arguments.insert(parameter.name.to_string(), value);
        }
        // Arguments that the tool does not have are kept, so that they are reported.
        for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
            arguments
                .entry(name.clone())
                .or_insert_with(|| expression(value));
        }
        json!({ "tool": dotted(tool), "arguments": arguments })
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
