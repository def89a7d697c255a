//! Specialization of a plan: some of its inputs become values in its body, and it gets a new name.

use planrun_lang::format;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::{ast, json, parse};

use super::Failure;
use planrun_runs::runs::{CheckedPlan, parse_input};
use planrun_test::plantest::explore::{literal, word};

/// Returns the canonical text of the file with these inputs of the plan fixed and the plan renamed. Tests are
/// removed: they are about the original plan.
///
/// # Errors
/// Returns an error if an input is unknown, has a value of the wrong type, or is secret, or if the plan is nested too
/// deeply.
pub fn text(
    checked: &CheckedPlan,
    inputs: &[(String, String)],
    name: Option<&str>,
) -> Result<String, Failure> {
    let parsed = parse(&checked.source);
    let deep = || Failure::Environment("the plan is nested too deeply".to_owned());
    let file = checked.source.name().replace(json::ENDING, ".plan");
    let written = if json::is_json(&checked.source) {
        SourceFile::new(&*file, format::print(&parsed.file).ok_or_else(deep)?)
    } else {
        SourceFile::new(&*file, checked.source.text())
    };
    let fixed = fixed(checked, inputs)?;
    let made = SourceFile::new(&*file, edited(&written, &checked.plan.name, &fixed, name));
    format::print(&parse(&made).file).ok_or_else(deep)
}

/// Parses the given inputs, and returns them as literals of the language.
fn fixed(
    checked: &CheckedPlan,
    inputs: &[(String, String)],
) -> Result<Vec<(String, String)>, Failure> {
    let mut fixed: Vec<(String, String)> = Vec::new();
    for (name, text) in inputs {
        let (parameter, value) = parse_input(&checked.plan, name, text)?;
        if !parameter.sensitive.is_empty() {
            return Err(Failure::Usage(format!(
                "the input `{name}` is secret, and a plan must not contain secrets; omit it"
            )));
        }
        fixed.retain(|(known, _)| known != name);
        fixed.push((name.clone(), literal(&value)));
    }
    Ok(fixed)
}

/// Returns the text of a file with these inputs of the plan fixed and the plan renamed, also where other plans of the
/// file call it, and without tests.
fn edited(
    source: &SourceFile,
    plan: &str,
    fixed: &[(String, String)],
    name: Option<&str>,
) -> String {
    let parsed = parse(source);
    let mut edits: Vec<(Span, String)> = Vec::new();
    for item in &parsed.file.items {
        match &item.kind {
            ast::ItemKind::Test(_) => edits.push((item.span, String::new())),
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
                let name = name.map_or_else(|| word(plan), word);
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
        .map(|parameter| source.slice(parameter.span))
        .collect::<Vec<_>>();
    let name = name.map_or_else(|| source.slice(plan.name.span).to_owned(), word);
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
