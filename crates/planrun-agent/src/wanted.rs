//! What calls a model wants: their arguments read, several in one taken apart, and an id for each.

use std::collections::BTreeSet;

use planrun_models::model::ToolCall;
use serde_json::{Map, Value as Json};

/// Bytes of arguments that are no JSON which are told.
const MAX_TOLD: usize = 200;

/// A call that a model wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// As it goes into the conversation: its arguments are JSON in any case.
    pub call: ToolCall,
    /// Its arguments, or what is wrong with them.
    pub arguments: Result<Map<String, Json>, String>,
}

/// The calls of a turn in their order. Objects that follow each other in one call are calls of their own, equal ones only once.
/// An id that is missing, or taken by another call of `known`, is replaced by one of `new_id`.
pub fn wanted(
    calls: Vec<ToolCall>,
    known: impl IntoIterator<Item = String>,
    mut new_id: impl FnMut() -> String,
) -> Vec<Wanted> {
    let mut ids: BTreeSet<String> = known.into_iter().collect();
    let mut all = Vec::new();
    for ToolCall {
        id,
        name,
        arguments,
    } in calls
    {
        let mut id = Some(id);
        for arguments in read(&arguments) {
            let mut own = id.take().unwrap_or_default();
            while own.is_empty() || ids.contains(&own) {
                own = new_id();
            }
            ids.insert(own.clone());
            let written = arguments.clone().unwrap_or_default();
            let call = ToolCall {
                id: own,
                name: name.clone(),
                arguments: Json::Object(written).to_string(),
            };
            all.push(Wanted { call, arguments });
        }
    }
    all
}

/// The objects of a text, at least one. Nothing at all is an object without fields, as calls without arguments are written.
fn read(text: &str) -> Vec<Result<Map<String, Json>, String>> {
    let mut objects: Vec<Map<String, Json>> = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Json>() {
        match value {
            Ok(Json::Object(object)) if objects.contains(&object) => {}
            Ok(Json::Object(object)) => objects.push(object),
            Ok(_) => return vec![Err(wrong("are no JSON object", text))],
            Err(error) => return vec![Err(wrong(&format!("are no JSON: {error}"), text))],
        }
    }
    if objects.is_empty() {
        objects.push(Map::new());
    }
    objects.into_iter().map(Ok).collect()
}

fn wrong(what: &str, text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TOLD);
    let told = text.get(..end).unwrap_or_default();
    let more = if end < text.len() { "…" } else { "" };
    format!("Nothing was called: the arguments {what}. They were: {told}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(arguments: &str) -> Vec<(String, Result<String, ()>)> {
        let call = ToolCall {
            id: "own".to_owned(),
            name: "t".to_owned(),
            arguments: arguments.to_owned(),
        };
        let mut number = 0;
        let wanted = wanted(vec![call], [], || {
            number += 1;
            format!("new{number}")
        });
        let told = wanted.into_iter().map(|one| {
            assert!(serde_json::from_str::<Map<String, Json>>(&one.call.arguments).is_ok());
            let read = one.arguments.map(|_| one.call.arguments).map_err(drop);
            (one.call.id, read)
        });
        told.collect()
    }

    #[test]
    fn s4_8_objects_that_follow_each_other_are_calls_of_their_own() {
        let one = |id: &str, text: &str| (id.to_owned(), Ok(text.to_owned()));
        assert_eq!(texts(r#"{"a":1}"#), [one("own", r#"{"a":1}"#)]);
        for text in [r#"{"a":1}{"a":2}"#, "{\"a\":1} \n{\"a\":2}{\"a\":1}"] {
            let expected = [one("own", r#"{"a":1}"#), one("new1", r#"{"a":2}"#)];
            assert_eq!(texts(text), expected, "{text}");
        }
        // Braces in texts are texts.
        let expected = [one("own", r#"{"a":"x}{y"}"#), one("new1", r#"{"a":2}"#)];
        assert_eq!(texts(r#"{"a":"x}{y"}{"a":2}"#), expected);
    }

    #[test]
    fn s4_8_no_arguments_are_none_and_broken_ones_are_told() {
        for nothing in ["", " \n", "{}"] {
            assert_eq!(texts(nothing), [("own".to_owned(), Ok("{}".to_owned()))]);
        }
        for broken in ["{\"a\":", "{\"a\":1,}", "[1]", "null", "\"x\"", "{}[1]"] {
            assert_eq!(texts(broken), [("own".to_owned(), Err(()))], "{broken}");
        }
    }

    #[test]
    fn s4_9_arguments_are_written_again_without_a_change_of_values() {
        let text = "{ \"n\": 12345678901234567890.10,\n \"b\": [ true ] }";
        let expected = r#"{"n":12345678901234567890.10,"b":[true]}"#;
        assert_eq!(texts(text)[0].1.as_deref(), Ok(expected));
    }

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let call = |id: &str| ToolCall {
            id: id.to_owned(),
            ..ToolCall::default()
        };
        let calls = vec![call("a"), call("a"), call(""), call("old")];
        let mut number = 0;
        let wanted = wanted(calls, ["old".to_owned(), "new1".to_owned()], || {
            number += 1;
            format!("new{number}")
        });
        let ids: Vec<_> = wanted.iter().map(|one| &*one.call.id).collect();
        assert_eq!(ids, ["a", "new2", "new3", "new4"]);
    }
}
