//! Damaged JSON from collections of other projects, parsed as arguments of calls; and every prefix of the arguments of
//! recorded calls.

use std::collections::BTreeMap;

use planrun_lang::types::Contract;
use planrun_models::arguments::{Arguments, Fault, read, repair};
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::support::cases;

/// Returns the lines of a file of cases.
fn lines(name: &str) -> Option<Vec<Json>> {
    let text = std::fs::read_to_string(cases(name)?).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    Some(lines.collect())
}

/// Returns true if two values are equal, regardless of the notation of their numbers.
fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            let is_there = |(name, value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

/// Classifies the result of repairing a text with this expected value.
fn judged(input: &str, expected: Option<&Json>) -> &'static str {
    match (repair(input).map(|read| read.values), expected) {
        (Ok(values), None) if values.is_empty() => "as expected",
        (Ok(values), Some(expected)) if matches!(&*values, [value] if same(value, expected)) => {
            "as expected"
        }
        (Ok(_), _) => "read as something else",
        (Err(_), _) => "refused",
    }
}

#[test]
fn damaged_json_is_read_as_two_libraries_read_it_and_json_is_left_alone() {
    let mut counts: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in ["js", "py", "partial"] {
        let Some(lines) = lines(&format!("jsonrepair/{file}.jsonl")) else {
            return;
        };
        for case in lines {
            let input = case["input"].as_str().unwrap();
            // Some prefixes of a stream contain no value yet.
            let expected = match case.get("expected_text") {
                Some(text) => serde_json::from_str(text.as_str().unwrap()).ok(),
                None => Some(case["expected_value"].clone()),
            };
            let whole: Option<Json> = serde_json::from_str(input).ok();
            let kind = match (&whole, case.get("both_libraries_agree")) {
                (Some(_), _) => "JSON",
                (None, Some(Json::Bool(true))) => "agreed",
                (None, Some(_)) => "not agreed",
                (None, None) if file == "partial" => "beginnings",
                (None, None) => "of one library",
            };
            let verdict = judged(input, whole.as_ref().or(expected.as_ref()));
            *counts.entry((file, kind, verdict)).or_default() += 1;
            let is_open = ["not agreed", "of one library"].contains(&kind);
            if verdict != "as expected" && !is_open {
                wrong.push(format!("{file}, {kind}: {input:?} is {verdict}"));
            }
            let read = read(input, Some(&Contract::of_arguments(json!(true))));
            match (whole, read) {
                (Some(Json::Object(object)), read) => assert_eq!(
                    read,
                    Ok(Arguments {
                        calls: vec![object],
                        doubt: None
                    })
                ),
                (_, Ok(read)) => assert!(read.calls.iter().all(reads_as_itself), "{input:?}"),
                (_, Err(fault)) => assert!(!fault.to_string().is_empty()),
            }
        }
    }
    for ((file, kind, verdict), count) in counts {
        println!("jsonrepair/{file}: {kind}: {count} {verdict}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn reads_as_itself(call: &Map<String, Json>) -> bool {
    let text = Json::Object(call.clone()).to_string();
    read(&text, None).is_ok_and(|read| read.calls == [call.clone()])
}

#[test]
fn every_beginning_of_arguments_fits_the_schema_in_doubt_or_is_refused_with_its_place() {
    let Some(lines) = lines("bfcl/single-turn.jsonl") else {
        return;
    };
    let counts = lines.par_iter().map(beginnings).reduce(
        || [0; 3],
        |one, other| std::array::from_fn(|n| one[n] + other[n]),
    );
    let [all, fit, refused] = counts;
    println!("bfcl: {all} beginnings: {fit} fit their schema, in doubt; {refused} refused");
    assert!(fit > 0 && refused > 0);
}

/// Returns the number of prefixes of the arguments of a case, and how many of them fit the schema and are refused.
fn beginnings(case: &Json) -> [usize; 3] {
    let mut counts = [0; 3];
    for call in case["calls"].as_array().unwrap() {
        let tools = case["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == call["name"]);
        let contract = Contract::of_arguments(tool.unwrap()["input_schema"].clone());
        let text = call["arguments"].to_string();
        let whole = read(&text, Some(&contract)).unwrap();
        assert_eq!(Json::Object(whole.calls[0].clone()), call["arguments"]);
        for (end, _) in text.char_indices().skip(1) {
            let beginning = &text[..end];
            counts[0] += 1;
            match read(beginning, Some(&contract)) {
                Ok(Arguments { calls, doubt }) => {
                    let [call] = &*calls else {
                        panic!("{beginning}")
                    };
                    let violations = contract.violations(&Json::Object(call.clone()));
                    assert!(violations.is_empty(), "{beginning}: {violations:?}");
                    assert!(matches!(doubt, Some(Fault::Doubtful { .. })), "{beginning}");
                    counts[1] += 1;
                }
                Err(fault) => {
                    let message = fault.to_string();
                    assert!(message.contains("line 1 column"), "{beginning}: {message}");
                    counts[2] += 1;
                }
            }
        }
    }
    counts
}
