//! `untrusted-to-irreversible`: a text that strangers write decides whom or what a call reaches that cannot be taken back.

use super::Subject;
use super::subject::StepSite;
use crate::diag::{Diagnostic, codes};
use crate::lint::gate::{conditions, is_gated};
use crate::lint::origin::{Origin, of_node, of_path, origins};
use crate::sema::BlockId;
use crate::sema::expr::{Code, Link, LinkOp, Node, Op, Operator};
use crate::types::{Effect, FieldLookup, Type, field};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // Without a stranger there is nothing to follow.
    if !subject
        .calls()
        .any(|(_, _, signature)| signature.open_world)
    {
        return;
    }
    for (site, call, signature) in subject.calls() {
        if call.effect != Effect::Irreversible || is_gated(subject, site) {
            continue;
        }
        for (name, code) in &call.arguments {
            let target = signature
                .target
                .iter()
                .any(|target| target.split(['.', '[']).next() == Some(name));
            if !target || !is_free_text(&code.ty) {
                continue;
            }
            let strangers = origins(subject, site.block, code).into_iter();
            let mut strangers =
                strangers.filter(|origin| origin.signature.open_world && gives_free_text(origin));
            let Some(origin) = strangers.find(|origin| !is_tested(subject, site, origin)) else {
                continue;
            };
            found.push(finding(&signature.path(), name, code, &origin));
        }
    }
}

fn finding(path: &str, name: &str, code: &Code, origin: &Origin<'_>) -> Diagnostic {
    let message = format!(
        "what strangers write decides the `{name}` of `{path}`, which cannot be taken back"
    );
    let read = origin.read_in(code.span);
    let mut finding = Diagnostic::new(&codes::safety::UNTRUSTED_TO_IRREVERSIBLE, read, message)
        .note(format!("free text from {}", origin.told()))
        .help("ask somebody with `confirm`, or let only known values through: an enum in the tool's contract, `ensure x in […]` or `ensure x.matches(…)`");
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("by way of `{name}`"));
    }
    finding.label(origin.call.span, "strangers write what this gives")
}

/// Whether a value of this type can be any text: choices, numbers and truth values cannot.
fn is_free_text(ty: &Type) -> bool {
    match ty {
        Type::String | Type::Any | Type::Bytes => true,
        Type::List(element) | Type::Result(element) => is_free_text(element),
        Type::Map(map) => is_free_text(&map.value),
        Type::Union(members) => members.iter().any(is_free_text),
        Type::Object(object) => object.fields.iter().any(|field| is_free_text(&field.ty)),
        _ => false,
    }
}

/// Whether the part of the answer is text without a pattern or a format that its contract checks.
fn gives_free_text(origin: &Origin<'_>) -> bool {
    let mut ty = without_lists(&origin.signature.returns);
    let mut schema = origin
        .signature
        .output_schema
        .as_ref()
        .map(|contract| contract.meant());
    for name in &origin.path {
        ty = match field(&ty, name) {
            FieldLookup::Found { ty, .. } => without_lists(&ty),
            FieldLookup::Any => Type::Any,
            FieldLookup::Missing | FieldLookup::NotAnObject => return false,
        };
        schema = schema
            .map(elements)
            .and_then(|schema| schema.get("properties")?.get(&**name));
    }
    let narrowed = schema.map(elements).is_some_and(|schema| {
        ["pattern", "enum", "const"]
            .iter()
            .any(|key| schema.get(key).is_some())
    });
    is_free_text(&ty) && !narrowed
}

fn without_lists(ty: &Type) -> Type {
    match ty.without_null() {
        Type::List(element) => without_lists(&element),
        other => other,
    }
}

fn elements(schema: &serde_json::Value) -> &serde_json::Value {
    let mut schema = schema;
    while let Some(items) = schema.get("items") {
        schema = items;
    }
    schema
}

/// Whether what decides about the call looks at this very text: a pattern, a list of known values, one known value.
fn is_tested<'a>(subject: &Subject<'a>, site: &StepSite<'a>, origin: &Origin<'_>) -> bool {
    subject.outwards(site).any(|(block, node)| {
        conditions(subject, block, node).any(|code| tests(subject, block, &code.root, origin))
    })
}

fn tests<'a>(subject: &Subject<'a>, block: BlockId, node: &'a Node, origin: &Origin<'_>) -> bool {
    let is_it = |found: Vec<Origin<'a>>| found.iter().any(|other| other.is(origin));
    match &node.op {
        Op::And(nodes) | Op::Or(nodes) => {
            nodes.iter().any(|node| tests(subject, block, node, origin))
        }
        Op::Not(node) => tests(subject, block, node, origin),
        Op::Matches { subject: text, .. } => is_it(of_node(subject, block, text)),
        Op::Path { base, links } => match links.split_last() {
            Some((
                Link {
                    op: LinkOp::Matches(_),
                    ..
                },
                before,
            )) => is_it(of_path(subject, block, base, before)),
            _ => false,
        },
        Op::Chain { first, rest } => {
            let known = [Operator::Equal, Operator::NotEqual, Operator::In];
            rest.iter().all(|(operator, _)| known.contains(operator))
                && std::iter::once(&**first)
                    .chain(rest.iter().map(|(_, node)| node))
                    .any(|node| is_it(of_node(subject, block, node)))
        }
        _ => false,
    }
}
