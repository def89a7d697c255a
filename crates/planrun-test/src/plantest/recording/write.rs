//! Formats recordings as YAML. Written by hand instead of with a library, because strings must be read back exactly
//! and numbers must keep the digits that were sent, while the numbers that serde writes are not valid YAML.

use std::fmt::Write as _;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::characters::is_hidden;
use planrun_lang::yaml;
use serde_json::Value as Json;

use super::model::{Entry, Recorded, Recording, VERSION};

/// Words that YAML does not read as strings when they are unquoted.
const WORDS: [&str; 12] = [
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan", "infinity",
];

pub(super) fn write(recording: &Recording, about: &[String]) -> String {
    let mut text = String::new();
    for line in about {
        let _ = writeln!(text, "# {}", planrun_lang::diag::render::visible_line(line));
    }
    let _ = writeln!(text, "version: {VERSION}");
    if recording.calls.is_empty() {
        text.push_str("calls: []\n");
        return text;
    }
    text.push_str("calls:\n");
    for entry in &recording.calls {
        call(&mut text, entry);
    }
    text
}

fn call(text: &mut String, entry: &Entry) {
    let _ = writeln!(text, "  - path: {}", quoted(&entry.path));
    let _ = writeln!(text, "    call: {}", entry.call);
    let _ = writeln!(text, "    tool: {}", quoted(&entry.tool));
    let _ = writeln!(text, "    contract: {}", quoted(&entry.contract));
    field(text, "arguments", &entry.arguments, 4);
    match &entry.outcome {
        Recorded::Value(value) => field(text, "value", value, 4),
        Recorded::Failure(error) => failure(text, error),
        Recorded::Unanswered => text.push_str("    unanswered: true\n"),
    }
}

fn failure(text: &mut String, error: &CallError) {
    let sent = error.sent.name();
    let _ = writeln!(
        text,
        "    failure:\n      class: {}",
        quoted(&error.class.to_string())
    );
    let _ = writeln!(
        text,
        "      message: {}\n      sent: {}",
        quoted(&error.message),
        quoted(sent)
    );
    if let Some(Ok(after)) = error
        .retry_after
        .map(|after: Duration| u64::try_from(after.as_millis()))
    {
        let _ = writeln!(text, "      retry_after_ms: {after}");
    }
    if let Some(details) = &error.details {
        field(text, "details", details.json(), 6);
    }
}

/// Writes a value as a YAML block; as JSON in a string if the block would not be read back as the same value.
fn field(text: &mut String, name: &str, value: &Json, indent: usize) {
    let mut block = format!("{:indent$}{name}:", "");
    node(&mut block, value, indent + 2);
    let read = yaml::parse(&block)
        .ok()
        .and_then(|read| read.get(name).map(yaml::Node::to_json));
    if read.as_ref() == Some(value) {
        text.push_str(&block);
    } else {
        let _ = writeln!(
            text,
            "{:indent$}{name}_json: {}",
            "",
            quoted(&value.to_string())
        );
    }
}

/// Writes a value after a colon or hyphen, including the end of the line.
fn node(text: &mut String, value: &Json, indent: usize) {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            for (name, inner) in fields {
                let _ = write!(text, "{:indent$}{}:", "", key(name));
                node(text, inner, indent + 2);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            text.push('\n');
            for item in items {
                let _ = write!(text, "{:indent$}-", "");
                node(text, item, indent + 2);
            }
        }
        Json::String(inner) => {
            let _ = writeln!(text, " {}", quoted(inner));
        }
        Json::Object(_) => text.push_str(" {}\n"),
        Json::Array(_) => text.push_str(" []\n"),
        Json::Null | Json::Bool(_) | Json::Number(_) => {
            let _ = writeln!(text, " {value}");
        }
    }
}

/// Writes a key, unquoted if it can only be read as this key.
fn key(name: &str) -> String {
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_');
    let plain = begins
        && characters
            .all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'));
    let is_word = WORDS.iter().any(|word| word.eq_ignore_ascii_case(name));
    if plain && !is_word {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// Formats a string in double quotes on one line. Hidden characters and those that YAML does not allow are
/// escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if is_escaped(character) => {
                let code = u32::from(character);
                let _ = if code > 0xffff {
                    write!(quoted, "\\U{code:08x}")
                } else {
                    write!(quoted, "\\u{code:04x}")
                };
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns true for hidden characters, for others that do not look like what they are, and for those that YAML does not
/// allow.
fn is_escaped(character: char) -> bool {
    is_hidden(character)
        || matches!(character, '\u{e000}'..='\u{f8ff}')
        || u32::from(character) & 0xfffe == 0xfffe
        || (character.is_whitespace() && character != ' ')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use planrun_lang::call::Details;
    use planrun_lang::protocol::Sent;
    use planrun_lang::types::ErrorClass;

    fn entry(path: &str, call: u32, outcome: Recorded) -> Entry {
        let (tool, contract) = ("hr.query".into(), "ab12".into());
        Entry {
            path: path.into(),
            call,
            tool,
            contract,
            arguments: json!({"emp_id": "007"}),
            outcome,
        }
    }

    fn back(recording: &Recording) -> Recording {
        let text = recording.to_text(&["as it was".to_owned()]);
        Recording::read(Path::new("x.yaml"), &text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_recording_reads_well() {
        let value = json!({"name": "王伟", "no": "no", "zip": "01234", "lines": "a\nb", "price": 47.84, "tags": ["x", []], "up": null});
        let failure = CallError {
            class: ErrorClass::Tool("failed".into()),
            message: "the \"desk\" is closed".to_owned(),
            sent: Sent::Answered,
            retry_after: Some(Duration::from_millis(1500)),
            details: Details::new(&json!({"open_at": "9:00", "no": [1.50]})).unwrap(),
        };
        let recording = Recording::new(vec![
            entry("mail", 2, Recorded::Value(value)),
            entry("mail", 1, Recorded::Failure(failure)),
            entry("load", 1, Recorded::Unanswered),
        ]);
        let text = recording.to_text(&["Answers of real tools.".to_owned()]);
        let expected = "\
# Answers of real tools.
version: 1
calls:
  - path: \"load\"
    call: 1
    tool: \"hr.query\"
    contract: \"ab12\"
    arguments:
      emp_id: \"007\"
    unanswered: true
  - path: \"mail\"
    call: 1
    tool: \"hr.query\"
    contract: \"ab12\"
    arguments:
      emp_id: \"007\"
    failure:
      class: \"tool.failed\"
      message: \"the \\\"desk\\\" is closed\"
      sent: \"answered\"
      retry_after_ms: 1500
      details:
        open_at: \"9:00\"
        \"no\":
          - 1.5
  - path: \"mail\"
    call: 2
    tool: \"hr.query\"
    contract: \"ab12\"
    arguments:
      emp_id: \"007\"
    value:
      name: \"王伟\"
      \"no\": \"no\"
      zip: \"01234\"
      lines: \"a\\nb\"
      price: 47.84
      tags:
        - \"x\"
        - []
      up: null
";
        assert_eq!(text, expected);
        assert_eq!(
            back(&recording).to_text(&["Answers of real tools.".to_owned()]),
            expected
        );
        assert_eq!(Recording::default().to_text(&[]), "version: 1\ncalls: []\n");
    }

    #[test]
    fn numbers_keep_their_digits() {
        for number in [
            "1.50",
            "0.1234567890123456789",
            "123456789012345678901234567890",
            "1e400",
            "-0",
            "-0.0",
            "18446744073709551615",
        ] {
            let value: Json = serde_json::from_str(number).unwrap();
            let read = back(&Recording::new(vec![entry(
                "a",
                1,
                Recorded::Value(json!([value])),
            )]));
            let Recorded::Value(read) = &read.calls[0].outcome else {
                panic!()
            };
            assert_eq!(read.to_string(), json!([value]).to_string());
        }
    }

    fn json() -> impl Strategy<Value = Json> {
        let text = prop_oneof![
            any::<String>(),
            "(no|yes|on|~|null|true|1e3|0x10|0o7|1_000|12:30|2020-01-01|- a|a: b|#|&a|\\*a|!t|%|@|`|\\||>|\\?|\\{|\\[|<<|=|---|\\.\\.\\.)",
            "[ \\t\\n\\r\u{85}\u{2028}\u{feff}:#'\"\\\\a中文]{0,8}",
        ];
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_filter_map("JSON has no such number", |number| {
                serde_json::Number::from_f64(number).map(Json::Number)
            }),
            text.clone().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
                prop::collection::vec((text.clone(), inner), 0..5)
                    .prop_map(|fields| Json::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_recorded_is_read_as_it_was(value in json(), arguments in json(), path in any::<String>(), message in any::<String>(), error_details in json()) {
            let failure = CallError::new(ErrorClass::Internal, message.clone(), Sent::No).with_details(&error_details);
            let details = failure.details.clone();
            let outcomes = [Recorded::Value(value.clone()), Recorded::Failure(failure)];
            let calls = outcomes.into_iter().zip(1..).map(|(outcome, call)| Entry { arguments: arguments.clone(), ..entry(&path, call, outcome) });
            let recording = Recording::new(calls.collect());
            let read = back(&recording);
            prop_assert_eq!(&*read.calls[0].path, &*path);
            prop_assert_eq!(&read.calls[0].arguments, &arguments);
            prop_assert!(matches!(&read.calls[0].outcome, Recorded::Value(other) if *other == value));
            prop_assert!(matches!(&read.calls[1].outcome, Recorded::Failure(error) if error.message == message && error.details == details));
            prop_assert_eq!(read.to_text(&[]), recording.to_text(&[]));
        }
    }
}
