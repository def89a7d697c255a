//! Specialization of a plan: some of its inputs become values in its body, and it gets a new name.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::format;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::spelling::value_text;
use planrun_lang::syntax::{ast, canonical_name, json, parse, parse_expression};

use super::{Failure, Result};
use planrun_runs::runs::{CheckedPlan, parse_input};

/// A file with some inputs of one of its plans fixed.
pub struct Instance {
    /// Its canonical text.
    pub text: String,
    /// Names of the plans that were removed from it.
    pub removed: BTreeSet<Arc<str>>,
}

/// Returns the file with these inputs of the plan fixed and the plan renamed. Tests, and with fixed inputs the plans
/// that call it, are removed: they are about the original plan. Returns an error if an input is unknown, has a value of
/// the wrong type, or is secret, or if the plan is nested too deeply.
pub fn of(
    checked: &CheckedPlan,
    inputs: &[(String, String)],
    name: Option<&str>,
) -> Result<Instance> {
    let parsed = parse(&checked.source);
    let deep = || Failure::Environment("the plan is nested too deeply".to_owned());
    let file = checked.source.name().replace(json::ENDING, ".plan");
    let written = if json::is_json(&checked.source) {
        SourceFile::new(&*file, format::print(&parsed.file).ok_or_else(deep)?)
    } else {
        SourceFile::new(&*file, checked.source.text())
    };
    let fixed = fixed(checked, inputs)?;
    let removed = if fixed.is_empty() {
        BTreeSet::new()
    } else {
        callers(&parsed.file, &checked.plan.name)
    };
    let plan = &checked.plan.name;
    let made = SourceFile::new(&*file, edited(&written, plan, &fixed, name, &removed));
    let text = format::print(&parse(&made).file).ok_or_else(deep)?;
    Ok(Instance { text, removed })
}

/// Returns the names of the plans that call a plan, themselves or through another one.
fn callers(file: &ast::File, plan: &str) -> BTreeSet<Arc<str>> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<Arc<str>> = vec![plan.into()];
    while let Some(called) = waiting.pop() {
        for item in &file.items {
            let ast::ItemKind::Plan(other) = &item.kind else {
                continue;
            };
            let mut places = Vec::new();
            calls(&other.body, &called, &mut places);
            if !places.is_empty() && found.insert(other.name.text.clone()) {
                waiting.push(other.name.text.clone());
            }
        }
    }
    found
}

/// Parses the given inputs, and returns them as literals of the language.
fn fixed(checked: &CheckedPlan, inputs: &[(String, String)]) -> Result<Vec<(String, String)>> {
    let mut fixed: Vec<(String, String)> = Vec::new();
    for (name, text) in inputs {
        let (parameter, value) = parse_input(&checked.plan, name, text)?;
        if !parameter.sensitive.is_empty() {
            return Err(Failure::Usage(format!(
                "the input `{name}` is secret, and a plan must not contain secrets; omit it"
            )));
        }
        let text = value_text(&value);
        let (_, faults) = parse_expression(&SourceFile::new("<input>", &*text));
        if !faults.is_empty() {
            return Err(Failure::Usage(format!(
                "the input `{name}` cannot be written in a plan: it has a number that no literal expresses; omit it"
            )));
        }
        fixed.retain(|(known, _)| known != name);
        fixed.push((name.clone(), text));
    }
    Ok(fixed)
}

/// Returns the text of a file with these inputs of the plan fixed and the plan renamed, also where other plans of the
/// file call it, without tests and without the plans to remove.
fn edited(
    source: &SourceFile,
    plan: &str,
    fixed: &[(String, String)],
    name: Option<&str>,
    removed: &BTreeSet<Arc<str>>,
) -> String {
    let parsed = parse(source);
    let mut edits: Vec<(Span, String)> = Vec::new();
    for item in &parsed.file.items {
        match &item.kind {
            ast::ItemKind::Test(_) => edits.push((item.span, String::new())),
            ast::ItemKind::Plan(other) if removed.contains(&other.name.text) => {
                edits.push((item.span, String::new()));
            }
            ast::ItemKind::Plan(found) if *found.name.text == *plan => {
                edits.push((
                    Span::new(
                        found.name.span.start as usize,
                        found.body.span.start as usize,
                    ),
                    head(source, found, fixed, name),
                ));
                // After the opening brace.
                let inside = Span::at(found.body.span.start as usize + 1);
                edits.push((inside, values(source, found, fixed)));
            }
            ast::ItemKind::Plan(other) => {
                let mut places = Vec::new();
                calls(&other.body, plan, &mut places);
                let name = name.map_or_else(|| canonical_name(plan), canonical_name);
                edits.extend(places.into_iter().map(|place| (place, name.clone())));
            }
            ast::ItemKind::Use(_)
            | ast::ItemKind::Type(_)
            | ast::ItemKind::Tool(_)
            | ast::ItemKind::Error => {}
        }
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut text = source.text().to_owned();
    for (span, with) in edits.iter().rev() {
        text.replace_range(span.start as usize..span.end as usize, with);
    }
    text
}

/// Collects the places of the name of a plan where the statements of a block call it. A function of that name takes its
/// arguments by position.
fn calls(block: &ast::Block, plan: &str, places: &mut Vec<Span>) {
    for statement in &block.statements {
        statement.inner(&mut |inner| match inner {
            ast::Inner::Block(block) => calls(block, plan, places),
            ast::Inner::Call(call) => {
                if let ast::ExprKind::Call {
                    function,
                    arguments,
                } = &call.kind
                    && *function.text == *plan
                    && arguments.iter().all(|argument| argument.name.is_some())
                {
                    places.push(function.span);
                }
            }
        });
    }
}

fn head(
    source: &SourceFile,
    plan: &ast::Plan,
    fixed: &[(String, String)],
    name: Option<&str>,
) -> String {
    let open =
        |parameter: &&ast::Parameter| !fixed.iter().any(|(name, _)| **name == *parameter.name.text);
    let open = plan
        .parameters
        .iter()
        .filter(open)
        .map(|parameter| declared(source, parameter, fixed))
        .collect::<Vec<_>>();
    let name = name.map_or_else(|| source.slice(plan.name.span).to_owned(), canonical_name);
    let returns = plan
        .returns
        .as_ref()
        .map(|returns| format!("-> {} ", source.slice(returns.span)));
    format!(
        "{name}({}) {}",
        open.join(", "),
        returns.unwrap_or_default()
    )
}

/// Returns an open parameter as declared. Its default may read fixed inputs, whose values replace them: what is declared
/// in the body cannot be read there.
fn declared(source: &SourceFile, parameter: &ast::Parameter, fixed: &[(String, String)]) -> String {
    let mut reads = Vec::new();
    if let Some(default) = &parameter.default {
        names(default, &mut reads);
    }
    let mut text = source.slice(parameter.span).to_owned();
    for (name, span) in reads.iter().rev() {
        if let Some((_, value)) = fixed.iter().find(|(known, _)| **known == **name) {
            let [start, end] =
                [span.start, span.end].map(|at| (at - parameter.span.start) as usize);
            text.replace_range(start..end, &format!("({value})"));
        }
    }
    text
}

/// Collects the names that an expression reads, in source order.
fn names<'e>(expression: &'e ast::Expr, found: &mut Vec<(&'e str, Span)>) {
    if let ast::ExprKind::Name(name) = &expression.kind {
        found.push((name, expression.span));
    }
    expression.parts(&mut |part| names(part, found));
}

/// Declares the fixed inputs as values in the body of the plan, with the types of the parameters.
fn values(source: &SourceFile, plan: &ast::Plan, fixed: &[(String, String)]) -> String {
    let one = |parameter: &ast::Parameter| {
        let (_, value) = fixed
            .iter()
            .find(|(name, _)| **name == *parameter.name.text)?;
        let (name, ty) = (
            source.slice(parameter.name.span),
            source.slice(parameter.ty.span),
        );
        let ty = if parameter.optional {
            format!("({ty})?")
        } else {
            ty.to_owned()
        };
        Some(format!("\n    let {name}: {ty} = {value}"))
    };
    plan.parameters.iter().filter_map(one).collect::<String>() + "\n"
}
