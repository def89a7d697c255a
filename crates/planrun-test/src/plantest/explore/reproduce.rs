//! Renders a discovery as a `test` item that reproduces it, ready to be pasted into the file.

use std::fmt::Write as _;

use planrun_lang::sema::test::Test;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::spelling::value_text;
use planrun_lang::syntax::{ast, canonical_name};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::super::responder::Replacement;
use super::super::suite::Suite;
use super::{Discovery, Fault};

/// Returns the smallest test that reproduces a discovery: the lines of the original test without those that do not
/// matter, and the fault. `shows` reports whether a text reproduces it.
#[must_use]
pub fn reproducer(suite: &Suite, discovery: &Discovery, shows: &dyn Fn(&str) -> bool) -> String {
    let mut lines = lines(suite, &discovery.case.test, discovery);
    let text = |lines: &[String]| written(suite, discovery, lines);
    if !shows(&text(&lines)) {
        return text(&lines);
    }
    let mut index = lines.len();
    while index > 0 {
        index -= 1;
        let mut fewer = lines.clone();
        fewer.remove(index);
        if shows(&text(&fewer)) {
            lines = fewer;
        }
    }
    text(&lines)
}

/// Returns the lines of a test that determine the run, including the fault.
fn lines(suite: &Suite, test: &Test, discovery: &Discovery) -> Vec<String> {
    let source: &SourceFile = &suite.source;
    let items = suite.checked.tree.items.iter();
    let written = items.filter_map(|item| match &item.kind {
        ast::ItemKind::Test(written) if written.name.text == test.name => Some(written),
        _ => None,
    });
    let mut lines = Vec::new();
    if !discovery.case.inputs.is_empty() {
        let inputs = discovery
            .case
            .inputs
            .iter()
            .map(|(name, value)| format!("{}: {}", canonical_name(name), value_text(value)));
        lines.push(format!(
            "given {{ {} }}",
            inputs.collect::<Vec<_>>().join(", ")
        ));
    }
    // Among equally specific mocks the first one answers, so that the fault comes before the mocks of the test.
    lines.extend(fault_line(discovery));
    for statement in written.flat_map(|test| &test.body) {
        let keeps = match &statement.kind {
            // Generated results have lines of their own.
            ast::TestStatementKind::Mock { outcomes, .. } => {
                let is_generated = |outcome: &ast::MockOutcome| {
                    matches!(outcome.kind, ast::MockOutcomeKind::Generated)
                };
                discovery.answers.is_empty() || !outcomes.iter().all(is_generated)
            }
            ast::TestStatementKind::Signal { .. } => true,
            ast::TestStatementKind::Answer { path, .. } => {
                !source.slice(path.span).eq(discovery.fault.path())
            }
            ast::TestStatementKind::Given(_)
            | ast::TestStatementKind::Expect(_)
            | ast::TestStatementKind::ExpectDiagnostics(_)
            | ast::TestStatementKind::Snapshot(_)
            | ast::TestStatementKind::Error => false,
        };
        if keeps {
            lines.push(source.slice(statement.span).to_owned());
        }
    }
    lines.extend(order_line(discovery));
    lines.extend(discovery.answers.iter().cloned());
    lines.extend(discovery.extra_lines.iter().cloned());
    lines
}

/// Returns the line that causes the fault; `None` if no line is needed.
fn fault_line(discovery: &Discovery) -> Option<String> {
    let call = || {
        let (signature, given) = discovery.called.as_ref()?;
        Some(format!(
            "mock {}.{}{}",
            canonical_name(&signature.namespace),
            canonical_name(&signature.name),
            arguments(given)
        ))
    };
    Some(match &discovery.fault {
        Fault::Fails { class, always, .. } => {
            let times = if *always { "" } else { " times 1" };
            format!("{} => fail {}{times}", call()?, class_name(class))
        }
        Fault::Crashes { after, .. } => {
            format!(
                "{} => crash {} times 1",
                call()?,
                if *after { "after" } else { "before" }
            )
        }
        Fault::Gate { path, replacement } => {
            let class = if *replacement == Replacement::Refuse {
                "denied.human"
            } else {
                "expired"
            };
            format!("answer {path} => fail {class}")
        }
        // The order and generated results have lines of their own.
        Fault::Order(_) | Fault::Edge(_) => return None,
    })
}

/// Returns the comment that names the seeds with which a test fails whose steps start in another order.
fn order_line(discovery: &Discovery) -> Option<String> {
    let Fault::Order(seed) = discovery.fault else {
        return None;
    };
    Some(format!("// it fails with --seeds {}", seed + 1))
}

/// Returns the arguments of a call in the syntax of a `mock`.
pub(super) fn arguments(given: &Value) -> String {
    let named = given.as_map().into_iter().flat_map(|map| map.iter());
    let named = named
        .map(|(name, value)| {
            format!(
                "{}: {}",
                canonical_name(&name.to_string()),
                value_text(value)
            )
        })
        .collect::<Vec<_>>();
    if named.is_empty() {
        String::new()
    } else {
        format!("({})", named.join(", "))
    }
}

fn class_name(class: &ErrorClass) -> String {
    class.to_string()
}

fn written(suite: &Suite, discovery: &Discovery, lines: &[String]) -> String {
    let source: &SourceFile = &suite.source;
    let items = suite.checked.tree.items.iter();
    let plan = items.filter_map(|item| match &item.kind {
        ast::ItemKind::Test(written) if written.name.text == discovery.case.test.name => {
            let namespace = written
                .namespace
                .as_ref()
                .map(|name| format!("{}.", source.slice(name.span)));
            Some(format!(
                "{}{}",
                namespace.unwrap_or_default(),
                source.slice(written.plan.span)
            ))
        }
        _ => None,
    });
    let plan = plan
        .into_iter()
        .next()
        .unwrap_or_else(|| discovery.case.test.plan.name.to_string());
    let title = format!("explored: {}", discovery.fault).replace('`', "");
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "test {} for {plan} {{",
        serde_json::Value::from(title)
    );
    for line in lines {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("}\n");
    text
}
