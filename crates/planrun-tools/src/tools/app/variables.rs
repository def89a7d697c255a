//! `${VAR}`, `${VAR:default}` and, as in a shell, `${VAR:-default}` in the texts of configuration files.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::CONFIG_VARIABLE;
use planrun_lang::diag::{Diagnostic, Severity};

use super::section::Mistakes;
use crate::host::Host;

use planrun_lang::source::Span;
use planrun_lang::yaml::Node;

/// An environment variable that was filled into a text.
pub(crate) struct Variable {
    /// The span of the text.
    pub span: Span,
    pub name: String,
    /// `None` if it is not set, or empty, and has no default.
    pub value: Option<String>,
}

/// Returns the first variable in a part of a file that is not set and has no default.
pub(crate) fn unset_in(node: &Node, filled: &[Variable]) -> Option<Arc<str>> {
    let mut unset = filled.iter().filter(|one| one.value.is_none());
    let unset = unset.find(|one| node.has_part_at(one.span));
    unset.map(|one| one.name.as_str().into())
}

/// Fills in the variables of every text of a file. A value in the environment takes precedence over the default, which
/// may be empty and may contain `:`. A variable that is not set, or empty, and has no default is reported and becomes an
/// empty text. `$${` is a literal `${`. Returns the variables that were looked up in the environment, without those that were
/// replaced by their defaults; a variable with a `refusal` is not looked up.
pub(crate) fn fill_in(
    node: &mut Node,
    host: &dyn Host,
    refusal: impl Fn(&str, Span) -> Option<Diagnostic>,
    found: &Mistakes,
) -> Vec<Variable> {
    let mut from_outside = Vec::new();
    node.rewrite(&mut |text, span| {
        filled(text, |name, default| {
            if let Some(refused) = refusal(name, span) {
                found.push(refused);
                return default.unwrap_or_default().to_owned();
            }
            let given = host.variable(name);
            if let (None, Some(default)) = (&given, default) {
                return default.to_owned();
            }
            let is_empty = given.as_ref().is_some_and(String::is_empty);
            let value = given.filter(|_| !is_empty || default.is_some());
            from_outside.push(Variable {
                span,
                name: name.to_owned(),
                value: value.clone(),
            });
            value.unwrap_or_else(|| {
                let state = if is_empty { "empty" } else { "not set" };
                let message =
                    format!("the environment variable {name} is {state} and has no default");
                let help = format!("set {name}, or add a default: `${{{name}:…}}`");
                found.push(Diagnostic::new(&CONFIG_VARIABLE, span, message).help(help));
                String::new()
            })
        })
    });
    from_outside
}

/// Reports a variable that is not listed in `env` of planrun.yaml.
pub(crate) fn not_listed(name: &str, span: Span) -> Diagnostic {
    let message =
        format!("{name} is read from the environment, but `env` in planrun.yaml does not list it");
    let help =
        format!("add `env: [{name}]` to planrun.yaml; its value is then treated as a credential");
    let mut finding = Diagnostic::new(&CONFIG_VARIABLE, span, message).help(help);
    finding.severity = Severity::Error;
    finding
}

/// Returns the name of the environment variable in this node, if configuration may read it.
pub(crate) fn variable_name(
    node: &Node,
    variables: &BTreeSet<String>,
    found: &Mistakes,
) -> Option<String> {
    let Some(name) = node.scalar().filter(|name| is_name(name)) else {
        // The text itself is left out, because it may be the secret.
        let message = "this must be the name of an environment variable";
        let help = "put the secret into an environment variable, list it in `env`, and write its name here";
        found.explain(node.span, message, help);
        return None;
    };
    if variables.contains(&name) {
        return Some(name);
    }
    found.push(not_listed(&name, node.span));
    None
}

fn filled(text: &str, mut value: impl FnMut(&str, Option<&str>) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = (&rest[..start], &rest[start + 2..]);
        if let Some(kept) = before.strip_suffix('$') {
            out.push_str(kept);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let inside = after.find('}').map(|end| &after[..end]);
        let parts = inside.map(|inside| {
            inside
                .split_once(':')
                .map_or((inside, None), |(name, default)| {
                    (name, Some(default.strip_prefix('-').unwrap_or(default)))
                })
        });
        match (inside, parts) {
            (Some(inside), Some((name, default))) if is_name(name) => {
                out.push_str(&value(name, default));
                rest = &after[inside.len() + 1..];
            }
            _ => {
                out.push_str("${");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns true if this can be the name of a variable; other text in braces is left as it is.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let value =
            |name: &str, default: Option<&str>| format!("<{name}|{}>", default.unwrap_or("none"));
        let cases = [
            (
                "${URL:http://127.0.0.1:8009}/tool",
                "<URL|http://127.0.0.1:8009>/tool",
            ),
            ("${A}${B:}", "<A|none><B|>"),
            ("$${A} and ${A", "${A} and ${A"),
            ("${not a name} ${x.y} $A {A}", "${not a name} ${x.y} $A {A}"),
            ("${甲} ${_1}", "${甲} <_1|none>"),
        ];
        for (text, expected) in cases {
            assert_eq!(filled(text, value), expected);
        }
    }
}
