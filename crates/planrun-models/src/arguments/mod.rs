//! The arguments of calls of tools, from the text that a model writes them as.

mod repair;
mod scalar;

use planrun_lang::types::Contract;
use serde_json::{Deserializer, Map, Value as Json};

use crate::model::{MAX_CALLS, ToolCall};

pub use repair::{Repaired, Unreadable, repair};

/// How much of a text is shown on each side of a fault, in bytes.
const SHOWN: usize = 24;

/// What the text of the arguments of a call says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// One for each call, no two of them equal.
    pub calls: Vec<Map<String, Json>>,
    /// That something may be missing in them, or be another than what was meant: nothing that changes something is to be
    /// called with it.
    pub doubt: Option<Fault>,
}

/// Why there is nothing to call a tool with, in words for the model that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the arguments are {0}, not a JSON object; write them as {{\"name\": value}}")]
    NotAnObject(&'static str),
    #[error(
        "the arguments are no JSON: {error}, at {shown:?}. They were not repaired, since {why}; write one JSON object"
    )]
    Broken {
        /// What a strict reader says, with line and column.
        error: String,
        /// The text around that place.
        shown: String,
        /// Why they were not repaired.
        why: String,
    },
    #[error(
        "the arguments are no JSON: {error}, at {shown:?}. What was meant can only be guessed, so nothing was called; \
         write them again, whole"
    )]
    Doubtful { error: String, shown: String },
    #[error("the arguments are more than {MAX_CALLS} objects; make fewer calls at once")]
    TooMany,
}

/// A call that a model asks for, with its arguments read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadCall {
    /// As it goes into the conversation: its arguments are a JSON object in any case, since servers refuse others.
    pub call: ToolCall,
    pub arguments: Result<Map<String, Json>, Fault>,
}

/// The arguments in a text. JSON is taken as it is, whether or not it fits the schema; no text at all is an object without
/// fields; objects that follow each other are the arguments of one call each, equal ones of one. Anything else is repaired
/// where what comes out fits the schema, and never without one.
///
/// # Errors
/// Why nothing can be called with them.
pub fn read(text: &str, schema: Option<&Contract>) -> Result<Arguments, Fault> {
    let values: Result<Vec<Json>, _> = Deserializer::from_str(text).into_iter().collect();
    let error = match values {
        Ok(values) => match values.as_slice() {
            [] => return arguments(vec![Json::Object(Map::new())], None),
            [Json::String(inner)] => match repaired(inner, schema) {
                Ok(repaired) if !repaired.is_guess => return arguments(repaired.values, None),
                Ok(_) | Err(_) => return arguments(values, None),
            },
            _ => return arguments(values, None),
        },
        Err(error) => error,
    };
    let shown = around(text, error.line(), error.column()).to_owned();
    let error = error.to_string();
    match repaired(text, schema) {
        Ok(Repaired { values, is_guess }) => {
            let doubt = is_guess.then_some(Fault::Doubtful { error, shown });
            arguments(values, doubt)
        }
        Err(why) => Err(Fault::Broken { error, shown, why }),
    }
}

/// The calls in a call of a model. The first keeps its id; what goes into the conversation is written anew.
pub fn calls(
    call: ToolCall,
    schema: Option<&Contract>,
    changes_something: bool,
    mut new_id: impl FnMut() -> String,
) -> Vec<ReadCall> {
    let read = match read(&call.arguments, schema) {
        Ok(Arguments {
            doubt: Some(doubt), ..
        }) if changes_something => vec![Err(doubt)],
        Ok(read) => read.calls.into_iter().map(Ok).collect(),
        Err(fault) => vec![Err(fault)],
    };
    let (mut id, name) = (Some(call.id), call.name);
    let read = read.into_iter().map(|arguments| {
        let object = arguments.as_ref().cloned().unwrap_or_default();
        let call = ToolCall {
            id: id.take().unwrap_or_else(&mut new_id),
            name: name.clone(),
            arguments: Json::Object(object).to_string(),
        };
        ReadCall { call, arguments }
    });
    read.collect()
}

fn arguments(values: Vec<Json>, doubt: Option<Fault>) -> Result<Arguments, Fault> {
    let mut calls = Vec::new();
    for value in values {
        let kind = kind(&value);
        let Json::Object(object) = value else {
            return Err(Fault::NotAnObject(kind));
        };
        if calls.contains(&object) {
            continue;
        }
        if calls.len() == MAX_CALLS {
            return Err(Fault::TooMany);
        }
        calls.push(object);
    }
    Ok(Arguments { calls, doubt })
}

/// What a damaged text means, where that fits the schema; else why it is not taken.
fn repaired(text: &str, schema: Option<&Contract>) -> Result<Repaired, String> {
    let schema = schema.ok_or("no schema tells what they should be")?;
    let mut repaired = repair(text)?;
    if let [Json::String(inner)] = repaired.values.as_slice() {
        let is_guess = repaired.is_guess;
        repaired = repair(inner)?;
        repaired.is_guess |= is_guess;
    }
    for value in &repaired.values {
        if !value.is_object() {
            return Err(format!("what can be read of them is {}", kind(value)));
        }
        if let Some(violation) = schema.violations(value).first() {
            return Err(format!(
                "what can be read of them does not fit: {violation}"
            ));
        }
    }
    Ok(repaired)
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// The text around a place that is told by line and column, both from 1.
fn around(text: &str, line: usize, column: usize) -> &str {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let place = before.map(str::len).sum::<usize>() + column.saturating_sub(1);
    let from = text.floor_char_boundary(place.saturating_sub(SHOWN));
    let to = text.floor_char_boundary(place.saturating_add(SHOWN));
    text.get(from..to).unwrap_or_default()
}
