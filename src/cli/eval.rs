//! `planrun eval`: evaluates one expression.

use indexmap::IndexMap;
use planrun_lang::eval::eval_text;
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use super::arguments::EvalArguments;
use super::{Exit, Failure, Result, Terminal};

/// Output of the command.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// One line for standard output: the value, or an object with `error`.
    pub text: String,
    /// Whether the expression has a value. If not, the exit code is 1.
    pub is_value: bool,
}

/// Evaluates the expression given on the command line. Returns an error if the bindings cannot be read or are invalid.
pub fn command(arguments: &EvalArguments, terminal: Terminal) -> Result<Exit> {
    let bindings = arguments.bindings.as_ref().map(|path| {
        std::fs::read_to_string(path).map_err(|error| Failure::cannot_read(path, &error))
    });
    let answer = run(
        &arguments.expression,
        bindings.transpose()?.as_deref(),
        arguments.typed,
    )
    .map_err(Failure::Usage)?;
    terminal.print_json(&format!("{}\n", answer.text))?;
    Ok(Exit::fine_if(answer.is_value))
}

/// Evaluates an expression over a JSON object of bindings. If `typed` is true, input and output are typed JSON. Fails
/// with a message if the bindings are not a JSON object, or `typed` is true and they are not typed JSON.
pub fn run(expression: &str, bindings: Option<&str>, typed: bool) -> Result<Answer, String> {
    let bindings = bindings.map_or_else(|| Ok(IndexMap::new()), |text| read(text, typed))?;
    Ok(match eval_text(expression, &bindings) {
        Ok(value) if typed => Answer {
            text: value.to_typed_json().to_string(),
            is_value: true,
        },
        Ok(value) => Answer {
            text: value.to_json_text(),
            is_value: true,
        },
        Err(error) => {
            let body =
                json!({"error": {"class": "validation.expression", "message": error.message}});
            Answer {
                text: body.to_string(),
                is_value: false,
            }
        }
    })
}

fn read(text: &str, typed: bool) -> Result<IndexMap<String, Value>, String> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| format!("the bindings are not JSON: {error}"))?;
    let Json::Object(fields) = json else {
        return Err("the bindings must be a JSON object of names and values".to_owned());
    };
    let value = |name: &str, json: &Json| {
        if !typed {
            return Ok(Value::from_json(json));
        }
        Value::from_typed_json(json).map_err(|error| format!("the binding `{name}`: {error}"))
    };
    fields
        .iter()
        .map(|(name, json)| Ok((name.clone(), value(name, json)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(expression: &str, bindings: Option<&str>, typed: bool) -> String {
        run(expression, bindings, typed).unwrap().text
    }

    #[test]
    fn values_and_errors_are_one_line_of_json() {
        assert_eq!(
            answer("a.map(x, x * 2)", Some(r#"{"a": [1, 2.5]}"#), false),
            "[2,5]"
        );
        let typed = r#"{"a": {"type": "int", "value": "3"}}"#;
        assert_eq!(
            answer("a + 1", Some(typed), true),
            r#"{"type":"int","value":"4"}"#
        );
        let error = run("1 / 0", None, false).unwrap();
        assert!(!error.is_value);
        assert_eq!(
            error.text,
            r#"{"error":{"class":"validation.expression","message":"divide by zero"}}"#
        );
        assert!(!run("1 +", None, false).unwrap().is_value);
        assert_eq!(
            run("true and\nfalse", None, false).unwrap().text,
            r#"{"error":{"class":"validation.expression","message":"line 1, column 6: `and` is not an operator here; write `&&`"}}"#
        );
        assert!(
            run("1 if true else 2", None, false)
                .unwrap()
                .text
                .contains("`condition ? one : other`")
        );
        assert!(
            run("nme", Some(r#"{"name": 1}"#), false)
                .unwrap()
                .text
                .contains("did you mean `name`?")
        );
    }

    #[test]
    fn bindings_must_be_an_object() {
        assert!(run("1", Some("[1]"), false).is_err());
        assert!(run("1", Some("{"), false).is_err());
        assert!(run("a", Some(r#"{"a": 1}"#), true).is_err());
    }
}
