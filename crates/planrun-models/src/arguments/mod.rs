//! Parses the arguments of tool calls and the values of answers from the text that a model writes.

mod repair;
mod scalar;

use planrun_lang::types::Contract;
use serde_json::{Deserializer, Map, Value as Json};

use crate::model::{MAX_CALLS, ToolCall};

pub use repair::{Repaired, Unreadable, repair};

/// Number of bytes quoted on each side of an error.
const EXCERPT_BYTES: usize = 24;

/// The arguments parsed from the text of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// The arguments of each call, without duplicates.
    pub calls: Vec<Map<String, Json>>,
    /// Set if something may be missing from the arguments or differ from what was meant: no tool that changes
    /// something may be called with them.
    pub doubt: Option<Fault>,
}

/// Why no tool can be called with the arguments, as a message for the model that wrote them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the arguments are {0}, not a JSON object; write them as {{\"name\": value}}")]
    NotAnObject(&'static str),
    #[error(
        "the arguments are not valid JSON: {error}, at {excerpt:?}. They were not repaired, since {why}; write one JSON object"
    )]
    Broken {
        /// The error of a strict JSON parser, with line and column.
        error: String,
        /// The text around the error.
        excerpt: String,
        /// Why the arguments were not repaired.
        why: String,
    },
    #[error(
        "the arguments are not valid JSON: {error}, at {excerpt:?}. Their meaning is ambiguous, so nothing was called; write \
         them again in full"
    )]
    Doubtful { error: String, excerpt: String },
    #[error("the arguments are more than {MAX_CALLS} objects; make fewer calls at once")]
    TooMany,
}

/// A tool call of a model, with its arguments parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadCall {
    /// The call to store in the conversation. Its arguments are always a JSON object, since servers refuse anything
    /// else.
    pub call: ToolCall,
    pub arguments: Result<Map<String, Json>, Fault>,
}

/// Parses the arguments in a text. Valid JSON is taken as it is, whether or not it matches the schema, except that a
/// JSON string is replaced by its content if that can be read. An empty text is an object without fields. Consecutive
/// objects are the arguments of one call each; duplicates are dropped. Any other text is repaired if the result matches
/// the schema; without a schema, nothing is repaired. Fails with the reason why no tool can be called with them.
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
    let excerpt = around(text, error.line(), error.column()).to_owned();
    let error = error.to_string();
    match repaired(text, schema) {
        Ok(Repaired { values, is_guess }) => {
            let doubt = is_guess.then_some(Fault::Doubtful { error, excerpt });
            arguments(values, doubt)
        }
        Err(why) => Err(Fault::Broken {
            error,
            excerpt,
            why,
        }),
    }
}

/// Parses the value of an answer: the whole text, or the part in a code fence or in brackets. A value that can only be
/// guessed is rejected. Fails with the reason why there is no value, as a message for the model.
pub fn value(answer: &str) -> Result<Json, String> {
    let error = match serde_json::from_str(answer.trim()) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let fenced = answer.rsplit("```").nth(1);
    let brackets = answer.find(['{', '[']).zip(answer.rfind(['}', ']']));
    let bracketed = brackets.and_then(|(first, last)| answer.get(first..=last));
    // The first readable part decides, so that a truncated end is not mistaken for words around a value.
    let mut parts = [Some(answer), fenced, bracketed].into_iter().flatten();
    let read = parts.find_map(|part| repair(part).ok().filter(|read| !read.values.is_empty()));
    let Repaired { values, is_guess } =
        read.ok_or_else(|| format!("the answer is not valid JSON: {error}"))?;
    match <[Json; 1]>::try_from(values) {
        Ok([value]) if !is_guess => Ok(value),
        Ok(_) => Err(format!(
            "the answer is not valid JSON: {error}, and its meaning is ambiguous"
        )),
        Err(values) => Err(format!(
            "the answer has {} values, but one is expected",
            values.len()
        )),
    }
}

/// Returns the calls that a model's tool call contains. The first one keeps its id; the arguments stored in the
/// conversation are serialized again.
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

/// Repairs a damaged text if the result matches the schema; otherwise returns why it is rejected.
fn repaired(text: &str, schema: Option<&Contract>) -> Result<Repaired, String> {
    let schema = schema.ok_or("there is no schema for them")?;
    let mut repaired = repair(text)?;
    if let [Json::String(inner)] = repaired.values.as_slice() {
        let is_guess = repaired.is_guess;
        repaired = repair(inner)?;
        repaired.is_guess |= is_guess;
    }
    for value in &repaired.values {
        if !value.is_object() {
            return Err(format!("their readable part is {}", kind(value)));
        }
        if let Some(violation) = schema.violations(value).first() {
            return Err(format!("their readable part does not fit: {violation}"));
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

/// Returns the text around a position given by line and column, both starting at 1.
fn around(text: &str, line: usize, column: usize) -> &str {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let place = before.map(str::len).sum::<usize>() + column.saturating_sub(1);
    let from = text.floor_char_boundary(place.saturating_sub(EXCERPT_BYTES));
    let to = text.floor_char_boundary(place.saturating_add(EXCERPT_BYTES));
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

    /// Returns the arguments in a text, serialized again.
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
        let written = texts("{\"a\": \"one\ntwo \\u2605 \\ud83d\\ude00 C:\\dir\",}").unwrap();
        assert_eq!(written, ["{\"a\":\"one\\ntwo ★ 😀 C:\\\\dir\"}"]);
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
        let message = |text: &str, schema| read(text, schema).unwrap_err().to_string();
        assert!(read("{n: 1}", Some(&schema)).is_ok());
        // Valid JSON is not repaired; the caller reports what does not match the schema.
        assert!(read("{\"n\": \"1\"}", Some(&schema)).is_ok());
        assert_eq!(
            message("{\"n\": one,\n}", Some(&schema)),
            "the arguments are not valid JSON: expected value at line 1 column 7, at \"{\\\"n\\\": one,\\n}\". They were not \
             repaired, since their readable part does not fit: n must be of type integer; write one JSON object"
        );
        for (text, why) in [
            ("{\"n\": NaN}", "JSON has no such number"),
            ("{\"n\": }", "a field has no value"),
            ("{\"n\": 1}, \"m\": 2}", "they continue after the end"),
            ("{n: 1}, m: 2}", "they continue after the end"),
            ("{'n': 1} or {'n': 2}", "text between two objects"),
            ("I cannot", "they contain no object"),
            ("[{n: 1}]", "their readable part is a list"),
            (&"{'n':".repeat(1000), "nested too deeply"),
            (&"[\"a b\" c] ".repeat(200_000), "too long"),
        ] {
            let message = message(text, Some(&schema));
            assert!(
                message.contains(why) && message.contains("line 1"),
                "{message}"
            );
        }
        assert!(message("{n: 1}", None).contains("there is no schema for them"));
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
                "the answer is not valid JSON: expected value at line 1 column 1",
            ),
            ("", "the answer is not valid JSON: EOF"),
            (
                "{\"n\": 1}{\"n\": 2}",
                "the answer has 2 values, but one is expected",
            ),
            (
                "{\"n\": 1}, {\"n\":",
                "the answer has 2 values, but one is expected",
            ),
            ("[{\"n\": 1}, {\"n\":", "its meaning is ambiguous"),
            ("```json\n{\"n\": [1\n```", "its meaning is ambiguous"),
            ("{\"n\": 1, \"n\": 2,}", "its meaning is ambiguous"),
        ] {
            let message = value(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
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
        /// Valid JSON is read unchanged, also by the repairing parser.
        #[test]
        fn json_is_read_as_it_is(value in json_value()) {
            let text = value.to_string();
            prop_assert_eq!(repair(&text).map(|read| read.values), Ok(vec![value.clone()]));
            if let Json::Object(object) = value {
                let expected = Arguments { calls: vec![object], doubt: None };
                prop_assert_eq!(read(&text, None), Ok(expected));
            }
        }

        /// Damaged text never causes a panic, and the result is an error or JSON that parses to itself.
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
