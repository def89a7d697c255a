//! Generates the JSON Schema of the form from its table.

use serde_json::{Map, Value, json};

use super::shapes::{ASKED, CALL, Choice, FILE, Key, Shape, Slot, Word};

/// The dialect of the generated schema.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// A name: no back quotes, and no control characters or others that nobody can see.
const NAME: &str =
    "^[^`\\u0000-\\u001f\\u007f-\\u009f\\u200b\\u202a-\\u202e\\u2060\\u2066-\\u2069\\ufeff]+$";
/// Words separated by dots. A word is described by the ASCII characters that it does not have: validators of some
/// languages do not know the classes of Unicode, such as `\p{L}`.
const CLASS: &str = concat!(
    r"^[^\s!-/:-@\[-^`{-~0-9][^\s!-/:-@\[-^`{-~]*",
    r"(\.[^\s!-/:-@\[-^`{-~0-9][^\s!-/:-@\[-^`{-~]*)*$"
);
/// An expression that begins with a text.
const MESSAGE: &str = r#"^[\s(]*[rRbB]*["']"#;
/// Words separated by hyphens.
const CODE: &str = concat!(
    r"^[^\s!-/:-@\[-^`{-~0-9][^\s!-/:-@\[-^`{-~]*",
    r"(-[^\s!-/:-@\[-^`{-~0-9][^\s!-/:-@\[-^`{-~]*)*$"
);

/// Returns the JSON Schema (2020-12) of plan files in JSON form.
#[must_use]
pub fn schema() -> Value {
    let mut defs = Map::new();
    defs.insert("value".to_owned(), value());
    defs.insert("message".to_owned(), message());
    defs.insert(
        "inner".to_owned(),
        json!({ "anyOf": [{ "$ref": "#/$defs/value" }, { "type": "null" }] }),
    );
    defs.insert(
        "arguments".to_owned(),
        json!({
            "description": "Values by argument name. Null counts as omitted.",
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/inner" },
        }),
    );
    for choice in Choice::ALL {
        let shapes = choice
            .shapes()
            .iter()
            .map(|shape| object(shape, &mut Vec::new()));
        defs.insert(
            choice_name(choice).to_owned(),
            json!({ "anyOf": shapes.collect::<Vec<_>>() }),
        );
    }
    let mut shared = Vec::new();
    for choice in Choice::ALL {
        choice
            .shapes()
            .iter()
            .for_each(|shape| drop(object(shape, &mut shared)));
    }
    let mut next = 0;
    while let Some(shape) = shared.get(next).copied() {
        next += 1;
        let written = object(shape, &mut shared);
        defs.insert(shape.kind.to_owned(), written);
    }
    let mut root = Map::new();
    root.insert("$schema".to_owned(), DIALECT.into());
    root.insert("title".to_owned(), "A planrun plan in its JSON form".into());
    if let Value::Object(file) = object(&FILE, &mut Vec::new()) {
        root.extend(file);
    }
    root.insert("$defs".to_owned(), Value::Object(defs));
    Value::Object(root)
}

/// Returns the schema of a value: an expression of the language in a string, a text, or literal JSON.
fn value() -> Value {
    json!({
        "description": "An expression in a string (\"order.total > 5\"), a text ({\"text\": \"Hello ${name}\"}), a number, true, false, \
                        or a list or object of values.",
        "anyOf": [
            { "type": ["string", "number", "boolean"] },
            { "type": "array", "items": { "$ref": "#/$defs/inner" } },
            { "type": "object", "additionalProperties": { "$ref": "#/$defs/inner" } },
        ],
    })
}

/// Returns the schema of a message for people: a text, or an expression in a string that begins with one.
fn message() -> Value {
    json!({
        "description": "A text ({\"text\": \"Hello ${name}\"}), or an expression in a string that begins with one.",
        "anyOf": [
            { "type": "string", "pattern": MESSAGE },
            {
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
                "additionalProperties": false,
            },
        ],
    })
}

/// Returns the schema of an object and adds the shapes that its keys refer to to `shared`, each once.
fn object(shape: &'static Shape, shared: &mut Vec<&'static Shape>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if shape.one_of {
        properties.insert("kind".to_owned(), json!({ "const": shape.kind }));
        required.push(Value::from("kind"));
    }
    for key in shape.all_keys() {
        properties.insert(key.name.to_owned(), property(key, shared));
        if key.required {
            required.push(key.name.into());
        }
    }
    json!({
        "description": shape.about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns the schema of a key's value. An optional key may also be null.
fn property(key: &Key, shared: &mut Vec<&'static Shape>) -> Value {
    let mut value = slot(key.slot, shared);
    if let Value::Object(map) = &mut value
        && key.has_elements()
    {
        map.insert("minItems".to_owned(), 1.into());
    }
    let mut property = if key.required {
        value
    } else {
        json!({ "anyOf": [value, { "type": "null" }] })
    };
    if let Value::Object(map) = &mut property {
        map.insert("description".to_owned(), key.about().into());
    }
    property
}

fn slot(slot: Slot, shared: &mut Vec<&'static Shape>) -> Value {
    match slot {
        Slot::Name => word(Word::Name),
        Slot::Names(kind) => json!({ "type": "array", "items": word(kind) }),
        Slot::Word(kind) => word(kind),
        Slot::Text | Slot::Type | Slot::ObjectType | Slot::Pattern | Slot::Callee => {
            json!({ "type": "string" })
        }
        Slot::Flag => json!({ "type": "boolean" }),
        Slot::Value | Slot::Members | Slot::Settings(_) => json!({ "$ref": "#/$defs/value" }),
        Slot::Message => json!({ "$ref": "#/$defs/message" }),
        Slot::Tool => json!({ "type": "string", "pattern": "^.+\\..+$" }),
        Slot::Arguments => json!({ "$ref": "#/$defs/arguments" }),
        Slot::Call => json!({ "anyOf": [refer(&CALL, shared), { "type": "string" }] }),
        Slot::Probe => json!({ "anyOf": [
            refer(&CALL, shared), refer(&ASKED, shared), { "type": "string" },
        ] }),
        Slot::Object(shape) => refer(shape, shared),
        Slot::Objects(shape) => json!({ "type": "array", "items": refer(shape, shared) }),
        Slot::Choice(choice) => chosen(choice),
        Slot::Choices(choice) => json!({ "type": "array", "items": chosen(choice) }),
    }
}

fn word(kind: Word) -> Value {
    match kind {
        Word::Name => json!({ "type": "string", "pattern": NAME }),
        Word::Class => json!({ "type": "string", "pattern": CLASS }),
        Word::Code => json!({ "type": "string", "pattern": CODE }),
        Word::Effect | Word::Moment => json!({ "enum": kind.known() }),
    }
}

fn chosen(choice: Choice) -> Value {
    json!({ "$ref": format!("#/$defs/{}", choice_name(choice)) })
}

fn refer(shape: &'static Shape, shared: &mut Vec<&'static Shape>) -> Value {
    if !shared.iter().any(|other| std::ptr::eq(*other, shape)) {
        shared.push(shape);
    }
    json!({ "$ref": format!("#/$defs/{}", shape.kind) })
}

pub(super) fn choice_name(choice: Choice) -> &'static str {
    match choice {
        Choice::Item => "item",
        Choice::Statement => "statement",
        Choice::Action => "action",
        Choice::Undo => "undo",
        Choice::TestStatement => "test_statement",
        Choice::Outcome => "outcome",
    }
}
