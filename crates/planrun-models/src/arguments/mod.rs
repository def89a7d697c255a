//! The arguments of calls of tools and the values of answers, from the text that a model writes them as.

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

/// The value of an answer: all of it, or what stands between its words. A guess is none.
///
/// # Errors
/// Why there is none, for the model that has written it.
pub fn value(answer: &str) -> Result<Json, String> {
    let error = match serde_json::from_str(answer.trim()) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let fenced = answer.rsplit("```").nth(1);
    let brackets = answer.find(['{', '[']).zip(answer.rfind(['}', ']']));
    let bracketed = brackets.and_then(|(first, last)| answer.get(first..=last));
    // The first of them that can be read decides, so that no end which was cut off is taken for words around a value.
    let mut parts = [Some(answer), fenced, bracketed].into_iter().flatten();
    let read = parts.find_map(|part| repair(part).ok().filter(|read| !read.values.is_empty()));
    let Repaired { values, is_guess } =
        read.ok_or_else(|| format!("the answer is no JSON: {error}"))?;
    match <[Json; 1]>::try_from(values) {
        Ok([value]) if !is_guess => Ok(value),
        Ok(_) => Err(format!(
            "the answer is no JSON: {error}, and what was meant can only be guessed"
        )),
        Err(values) => Err(format!(
            "the answer is {} values, and one is wanted",
            values.len()
        )),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn anything() -> Contract {
        Contract::of_arguments(json!(true))
    }

    /// The arguments in a text, written anew.
    fn texts(text: &str) -> Result<Vec<String>, Fault> {
        let read = read(text, Some(&anything()))?;
        Ok(read
            .calls
            .into_iter()
            .map(|call| Json::Object(call).to_string())
            .collect())
    }

    #[test]
    fn s4_8_no_text_is_an_object_without_fields() {
        for nothing in ["", " \n", "{}"] {
            assert_eq!(texts(nothing), Ok(vec!["{}".to_owned()]), "{nothing:?}");
        }
    }

    #[test]
    fn s4_8_objects_that_follow_each_other_are_calls_of_their_own() {
        for (text, expected) in [
            (r#"{"a":1}{"a":2}"#, [r#"{"a":1}"#, r#"{"a":2}"#]),
            (
                "{\"a\":1} \n{\"a\":2}{\"a\":1}",
                [r#"{"a":1}"#, r#"{"a":2}"#],
            ),
            ("{\"a\":1,}, {'a':2}", [r#"{"a":1}"#, r#"{"a":2}"#]),
            (r#"{"a":"x}{y"}{"a":2}"#, [r#"{"a":"x}{y"}"#, r#"{"a":2}"#]),
        ] {
            let expected = expected.map(str::to_owned).to_vec();
            assert_eq!(texts(text), Ok(expected), "{text}");
        }
        let many = (0..=MAX_CALLS).map(|n| json!({ "n": n }).to_string());
        let many = many.collect::<Vec<_>>().concat();
        assert_eq!(texts(&many), Err(Fault::TooMany));
    }

    #[test]
    fn s4_8_the_first_call_keeps_its_id_and_the_others_get_one() {
        let call = |arguments: &str| ToolCall {
            id: "own".to_owned(),
            name: "t".to_owned(),
            arguments: arguments.to_owned(),
        };
        let mut number = 0;
        let two = calls(call("{\"a\": 1} {\"a\": 2}"), None, true, || {
            number += 1;
            format!("new{number}")
        });
        let ids: Vec<_> = two
            .iter()
            .map(|one| (&*one.call.id, &*one.call.arguments))
            .collect();
        assert_eq!(ids, [("own", "{\"a\":1}"), ("new1", "{\"a\":2}")]);
        let [broken] = &calls(call("[1]"), None, true, String::new)[..] else {
            panic!("one call")
        };
        assert_eq!((&*broken.call.id, &*broken.call.arguments), ("own", "{}"));
        assert_eq!(broken.arguments, Err(Fault::NotAnObject("a list")));
    }

    #[test]
    fn s4_9_arguments_are_written_again_without_a_change_of_values() {
        let text = "{ \"z\": 12345678901234567890.10,\n \"b\": [ true ], \"a\": 1e400 }";
        let expected = r#"{"z":12345678901234567890.10,"b":[true],"a":1e400}"#;
        for text in [text.to_owned(), text.replace(" }", ", }")] {
            let read = texts(&text).map(|read| read.concat().replace("1e+400", "1e400"));
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn json_that_is_no_object_is_refused() {
        for (text, kind) in [
            ("[1]", "a list"),
            ("null", "null"),
            ("\"x\"", "a string"),
            ("{}[1]", "a list"),
            ("{} 7", "a number"),
            ("true", "a boolean"),
        ] {
            assert_eq!(texts(text), Err(Fault::NotAnObject(kind)), "{text}");
        }
    }

    #[test]
    fn what_models_do_to_json_is_undone() {
        let object = r#"{"a":1,"b":["x",null]}"#;
        for text in [
            "```json\n{\"a\": 1, \"b\": [\"x\", null]}\n```",
            "Here they are: {\"a\": 1, \"b\": [\"x\", null]} as you wished.",
            "{\"a\": 1, \"b\": [\"x\", null,],}",
            "{\"a\": 1 \"b\": [\"x\"\nnull]}",
            "{'a': 1, 'b': ['x', None]}",
            "{a: 1, b: [x, undefined]}",
            "{\"a\": 1, // one\n \"b\": [\"x\", /* none */ null]} # all",
            "{\"a\": +1, \"b\": [\"x\", ..., null]}",
            "{\"a\": 0x1, \"b\": [\"\" + \"x\", null]}",
            "{{\"a\": 1, \"b\": (\"x\", null)}}",
            "\"{\\\"a\\\": 1, \\\"b\\\": [\\\"x\\\", null]}\"",
            "{\\\"a\\\": 1, \\\"b\\\": [\\\"x\\\", null]}",
            "call({\u{201c}a\u{201d}: 1, \u{201c}b\u{201d}: [`x`, NULL]});",
        ] {
            let read = read(text, Some(&anything())).unwrap();
            assert_eq!(Json::Object(read.calls[0].clone()).to_string(), object);
            assert_eq!((read.calls.len(), read.doubt), (1, None), "{text}");
        }
        let told = texts("{\"a\": \"one\ntwo \\u2605 \\ud83d\\ude00 C:\\dir\",}").unwrap();
        assert_eq!(told, ["{\"a\":\"one\\ntwo ★ 😀 C:\\\\dir\"}"]);
    }

    #[test]
    fn what_may_be_missing_is_in_doubt() {
        for (text, expected) in [
            ("{\"a\": \"/home/us", r#"{"a":"/home/us"}"#),
            ("{\"a\": [1, {\"b\": tr", r#"{"a":[1,{"b":true}]}"#),
            ("{\"a\": 1, \"b\"", r#"{"a":1}"#),
            ("{\"a\": 1", r#"{"a":1}"#),
            ("{\"a\": \"x, \"b\": 2}", r#"{"a":"x","b":2}"#),
            ("{\"a\": \"the \"x\" of it\"}", r#"{"a":"the \"x\" of it"}"#),
            ("{\"a\": [1, 2}", r#"{"a":[1,2]}"#),
            ("{'a': 1, 'a': 2}", r#"{"a":2}"#),
        ] {
            let call = |changes_something| {
                let call = ToolCall {
                    arguments: text.to_owned(),
                    ..ToolCall::default()
                };
                calls(call, Some(&anything()), changes_something, String::new).remove(0)
            };
            let read = call(false);
            assert_eq!(read.call.arguments, expected, "{text}");
            assert!(read.arguments.is_ok(), "{text}");
            let refused = call(true).arguments.unwrap_err();
            assert!(matches!(refused, Fault::Doubtful { .. }), "{refused}");
        }
    }

    #[test]
    fn a_repair_fits_the_schema_and_a_fault_has_a_place() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let schema = Contract::of_arguments(schema);
        let told = |text: &str, schema| read(text, schema).unwrap_err().to_string();
        assert!(read("{n: 1}", Some(&schema)).is_ok());
        // JSON is not repaired, and whoever calls says what does not fit.
        assert!(read("{\"n\": \"1\"}", Some(&schema)).is_ok());
        assert_eq!(
            told("{\"n\": one,\n}", Some(&schema)),
            "the arguments are no JSON: expected value at line 1 column 7, at \"{\\\"n\\\": one,\\n}\". They were not \
             repaired, since what can be read of them does not fit: n must be of type integer; write one JSON object"
        );
        for (text, why) in [
            ("{\"n\": NaN}", "JSON has no such number"),
            ("{\"n\": }", "a field has no value"),
            ("{\"n\": 1}, \"m\": 2}", "they go on after the end"),
            ("{n: 1}, m: 2}", "they go on after the end"),
            ("{'n': 1} or {'n': 2}", "text between two objects"),
            ("I cannot", "there is no object"),
            ("[{n: 1}]", "what can be read of them is a list"),
            (&"{'n':".repeat(1000), "nested too deep"),
            (&"[\"a b\" c] ".repeat(200_000), "too long"),
        ] {
            let told = told(text, Some(&schema));
            assert!(told.contains(why) && told.contains("line 1"), "{told}");
        }
        assert!(told("{n: 1}", None).contains("no schema"));
    }

    #[test]
    fn the_value_of_an_answer_is_found_between_words_and_never_guessed() {
        for (text, expected) in [
            (
                "Here it is:\n```\n[1, 2]\n```\nAnything else?",
                json!([1, 2]),
            ),
            (
                "In the form {n}:\n```json\n{\"n\": 1}\n```",
                json!({ "n": 1 }),
            ),
            ("It is {'n': None,}, as \"you\" said.", json!({ "n": null })),
            ("```json\n5\n```", json!(5)),
            ("True", json!(true)),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        for (text, why) in [
            (
                "It is 5",
                "the answer is no JSON: expected value at line 1 column 1",
            ),
            ("", "the answer is no JSON: EOF"),
            (
                "{\"n\": 1}{\"n\": 2}",
                "the answer is 2 values, and one is wanted",
            ),
            (
                "{\"n\": 1}, {\"n\":",
                "the answer is 2 values, and one is wanted",
            ),
            ("[{\"n\": 1}, {\"n\":", "can only be guessed"),
            ("```json\n{\"n\": [1\n```", "can only be guessed"),
            ("{\"n\": 1, \"n\": 2,}", "can only be guessed"),
        ] {
            let told = value(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    fn json_value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            any::<String>().prop_map(Json::from),
            "[a-z ,:{}\\[\\]\"'\\\\/]{0,12}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let field = (any::<String>(), inner.clone());
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Json::from),
                prop::collection::vec(field, 0..4)
                    .prop_map(|fields| Json::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// What is whole is read as it is, also by the reader of damaged texts.
        #[test]
        fn json_is_read_as_it_is(value in json_value()) {
            let text = value.to_string();
            prop_assert_eq!(repair(&text).map(|read| read.values), Ok(vec![value.clone()]));
            if let Json::Object(object) = value {
                let expected = Arguments { calls: vec![object], doubt: None };
                prop_assert_eq!(read(&text, None), Ok(expected));
            }
        }

        /// Whatever is damaged: no panic, and what comes out is JSON that reads as itself, or an error.
        #[test]
        fn damage_never_stops_the_program(
            value in json_value(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, "[\\PC\n\"'`\\\\{}\\[\\](),:+/*#.0-9euNT-]{0,3}"), 1..6),
        ) {
            let mut text: Vec<char> = value.to_string().chars().collect();
            for (place, removed, put) in edits {
                let place = place.index(text.len() + 1);
                let end = (place + removed).min(text.len());
                text.splice(place..end, put.chars());
            }
            let text = String::from_iter(text);
            for call in read(&text, Some(&anything())).map(|read| read.calls).unwrap_or_default() {
                let written = Json::Object(call.clone()).to_string();
                let again = read(&written, None).map(|read| read.calls);
                prop_assert_eq!(again, Ok(vec![call]), "{}", text);
            }
        }
    }
}
