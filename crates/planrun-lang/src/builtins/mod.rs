//! The function library: one descriptor per function.

mod failure;
mod function;
mod library;
mod macros;
pub mod operators;
pub mod pages;
mod tools;

pub use crate::types::FailureKind;
pub use failure::Failure;
pub use function::{Example, Form, Function, Given, Overload, Shape};
pub use library::{SUBJECTS, format_clauses, unknown_clause, unknown_time_clause};
pub use macros::{MACROS, Macro};
pub use tools::refused_argument;

/// Namespaces of built-in functions; `cel` holds the macro `cel.bind`.
pub const NAMESPACES: &[&str] = &["math", "lists", "strings", "base64", "cel"];

/// Maximum size of a compiled regular expression, in bytes; a pattern such as `(a{1000}){1000}` is refused.
const PATTERN_LIMIT: usize = 1 << 20;

/// Returns all functions.
pub fn all() -> impl Iterator<Item = &'static Function> {
    SUBJECTS.iter().flat_map(|(_, functions)| *functions)
}

/// Returns the function called as `name(…)`.
#[must_use]
pub fn global(name: &str) -> Option<&'static Function> {
    find(name, Form::Global)
}

/// Returns the function called as `x.name(…)`.
#[must_use]
pub fn method(name: &str) -> Option<&'static Function> {
    find(name, Form::Method)
}

/// Returns the function called as `namespace.name(…)`.
#[must_use]
pub fn namespaced(namespace: &str, name: &str) -> Option<&'static Function> {
    let namespace = NAMESPACES.iter().find(|known| **known == namespace)?;
    find(name, Form::Namespace(namespace))
}

/// Compiles a regular expression that matches in linear time.
///
/// # Errors
/// If the pattern is invalid, or too large when compiled.
pub fn compile_pattern(pattern: &str) -> Result<regex::Regex, Failure> {
    let built = regex::RegexBuilder::new(pattern)
        .size_limit(PATTERN_LIMIT)
        .nest_limit(100)
        .build();
    built.map_err(|error| {
        let reason = match error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            other => other
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned(),
        };
        Failure::argument(format!(
            "the pattern `{pattern}` is not a valid regular expression: {reason}"
        ))
    })
}

fn find(name: &str, form: Form) -> Option<&'static Function> {
    all().find(|function| function.name == name && function.forms.contains(&form))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_functions_are_called_alike() {
        let mut seen = BTreeSet::new();
        for function in all() {
            for form in function.forms {
                assert!(
                    seen.insert(format!("{form:?} {}", function.name)),
                    "{function:?} {form:?}"
                );
            }
        }
    }

    #[test]
    fn every_function_has_a_sentence_and_an_example() {
        for function in all() {
            assert!(function.description.ends_with('.'), "{function:?}");
            assert!(!function.examples.is_empty(), "{function:?}");
            assert!(!function.overloads.is_empty(), "{function:?}");
        }
    }

    #[test]
    fn no_function_panics_on_values_of_any_kind() {
        let numbers = [i64::MIN, -1, 0, 1, 2, 70, i64::MAX].map(Value::Int);
        let mut values = vec![
            Value::Null,
            Value::Bool(true),
            Value::Uint(u64::MAX),
            Value::Double(f64::NAN),
            Value::Double(1e300),
            Value::from("a名😀"),
            Value::from(""),
            Value::from("%s%d%f%.3e%x%%%"),
            Value::Bytes(vec![255, 0].into()),
            Value::list([]),
            Value::list([Value::Int(1), Value::Null, Value::from("a")]),
            Value::object([("a", Value::Int(1))]),
            Value::Timestamp(crate::value::MAX_TIMESTAMP),
            Value::Timestamp(crate::value::MIN_TIMESTAMP),
            Value::Duration(-crate::value::MAX_DURATION),
            Value::Type("int".into()),
        ];
        values.extend(numbers);
        for function in all() {
            let _ = (function.body)(&[]);
            for first in &values {
                let _ = (function.body)(std::slice::from_ref(first));
                for second in &values {
                    let _ = (function.body)(&[first.clone(), second.clone()]);
                    for third in &values {
                        let _ = (function.body)(&[first.clone(), second.clone(), third.clone()]);
                    }
                }
            }
        }
    }

    #[test]
    fn patterns_are_bounded() {
        assert!(compile_pattern("a(b|c)*").is_ok());
        for bad in ["(", "((a{1000}){1000}){1000}", "*"] {
            assert!(compile_pattern(bad).is_err(), "{bad}");
        }
    }

    use crate::value::Value;
}
