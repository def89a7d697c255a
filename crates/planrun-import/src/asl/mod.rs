//! State machines of the Amazon States Language.

mod choice;
mod data;
mod flow;
mod intrinsic;
mod iteration;
mod jsonata;
mod machine;
mod output;
mod path;
mod repetition;
mod task;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::syntax::ast::{
    Expr, ExprKind, File, ItemKind, LinkKind, Statement, StatementKind,
};
use planrun_lang::yaml::Node;

pub use task::called;

use crate::document::Refused;
use crate::draft::{Draft, Made, excerpt as short, expressions, parameter};
use crate::tree;
use flow::{End, Flow, Region, Translator};
use machine::Machine;
use value::Value;

/// The parameter that is the whole input.
pub const INPUT: &str = "input";

/// Whether a document looks like a state machine.
#[must_use]
pub fn recognizes(root: &Node) -> bool {
    root.get("StartAt").is_some() && root.get("States").is_some()
}

/// The plan that a state machine is.
///
/// # Errors
/// Where the machine is none: a state is missing, or has no kind.
pub fn import(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let file = attempt(root, plan, None, draft)?;
    let Some(fields) = read_fields(&file, draft) else {
        let why = "is the input `input` of the plan";
        draft.changed(root.span, "the input of the machine", why);
        return Ok(file);
    };
    *draft = Draft::new(draft.catalog());
    let file = attempt(root, plan, Some(&fields), draft)?;
    if !fields.is_empty() {
        let why = "the fields that the machine reads are inputs of the plan";
        draft.changed(root.span, "the input of the machine", why);
    }
    Ok(file)
}

/// The plan with these fields of the machine's input as its inputs, or with the whole input as one.
fn attempt(
    root: &Node,
    plan: &str,
    fields: Option<&BTreeSet<String>>,
    draft: &mut Draft<'_>,
) -> Result<File, Refused> {
    let machine = Machine::read(root, false)?;
    draft.reserve(INPUT);
    fields
        .into_iter()
        .flatten()
        .for_each(|field| draft.reserve(field));
    task::reserve_namespaces(root, draft);
    let input = match fields {
        None => Value::Opaque(tree::variable(INPUT)),
        Some(fields) => Value::object(
            fields
                .iter()
                .map(|field| (field.clone(), Value::Opaque(tree::variable(field))))
                .collect(),
        ),
    };
    let flow = Flow {
        value: input.clone(),
        variables: BTreeMap::new(),
        element: None,
    };
    let mut body = Vec::new();
    let mut translator = Translator::new(draft, input);
    translator.walk(
        &machine,
        machine.start,
        flow,
        &Region::whole(End::Reply),
        &mut body,
    )?;
    if let Some(node) = root.get("TimeoutSeconds") {
        deadline(node, &mut body, draft);
    }
    let parameters = match fields {
        None => vec![parameter(INPUT, false)],
        Some(fields) => fields.iter().map(|field| parameter(field, false)).collect(),
    };
    let made = Made {
        doc: root.get("Comment").and_then(Node::text).map(str::to_owned),
        parameters,
        returns: Some(tree::type_named("any")),
        body,
    };
    Ok(draft.file(plan, made))
}

/// The time that a whole run may take.
fn deadline(node: &Node, body: &mut Vec<Statement>, draft: &mut Draft<'_>) {
    let Some(seconds) = node.scalar().and_then(|text| text.parse::<i64>().ok()) else {
        return;
    };
    let policy = tree::object(vec![("deadline".to_owned(), tree::seconds(seconds))]);
    body.insert(0, tree::statement(StatementKind::Policy(policy)));
    let what = "`TimeoutSeconds` of the machine";
    draft.carried(node.span, what, "`deadline` of the plan");
}

/// The fields of the input that a plan reads, where it reads nothing else of it and they can be inputs.
fn read_fields(file: &File, draft: &Draft<'_>) -> Option<BTreeSet<String>> {
    let mut fields = BTreeSet::new();
    let mut is_whole = false;
    let plans = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Plan(plan) => Some(plan),
        _ => None,
    });
    for plan in plans {
        expressions(&plan.body, &mut |one| {
            input_reads(one, &mut fields, &mut is_whole);
        });
    }
    let can_be = |field: &String| tree::is_word(field) && draft.can_be_named(field);
    (!is_whole && fields.iter().all(can_be)).then_some(fields)
}

fn input_reads(expression: &Expr, fields: &mut BTreeSet<String>, is_whole: &mut bool) {
    match &expression.kind {
        ExprKind::Name(name) if &**name == INPUT => *is_whole = true,
        // A field that may be missing is no input that must be given.
        ExprKind::Coalesce(parts) if parts.iter().any(is_of_input) => *is_whole = true,
        ExprKind::Call {
            function,
            arguments,
        } if &*function.text == "has" && arguments.iter().any(|one| is_of_input(&one.value)) => {
            *is_whole = true;
        }
        ExprKind::Path { base, links } if base.kind == ExprKind::Name(INPUT.into()) => {
            match links.first().map(|link| &link.kind) {
                Some(LinkKind::Field { name, safe: false }) => {
                    fields.insert(name.text.to_string());
                }
                _ => *is_whole = true,
            }
            // The links may hold expressions of their own; the base is not looked at again.
            let mut first = true;
            expression.parts(&mut |part| {
                if !std::mem::take(&mut first) {
                    input_reads(part, fields, is_whole);
                }
            });
        }
        _ => expression.parts(&mut |part| input_reads(part, fields, is_whole)),
    }
}

/// Whether it is a path into the input.
fn is_of_input(expression: &Expr) -> bool {
    matches!(&expression.kind, ExprKind::Path { base, .. } if base.kind == ExprKind::Name(INPUT.into()))
}
