//! Lowers items: `use`, `type`, `tool`, `plan` and `test`.

use super::expressions::lower_plain_text;
use super::statements::next_block;
use super::strays::leading_bar;
use super::test_items::lower_test_item;
use super::type_expressions::{lower_parameters, next_type, optional_type};
use super::{Children, DamageKind, Lowering, Node, name};
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{Block, Item, ItemKind, Plan, Tool, TypeItem, Use, UseNamespace};
use crate::syntax::grammar::parse::Rule;
use crate::syntax::place::Place;

/// Lowers one child of a `file` node; `None` for the end of input.
pub(super) fn lower_item(cx: &mut Lowering<'_>, node: Node<'_>) -> Option<Item> {
    let span = cx.trim(cx.span(&node));
    let doc = cx.doc_above(span.start);
    let kind = match node.rule() {
        Rule::use_item => ItemKind::Use(lower_use_item(cx, node)),
        // The namespaces stay known, so that calls of their tools are not reported as well.
        Rule::damaged_use => {
            cx.damaged(span, DamageKind::Item);
            ItemKind::Use(lower_use_item(cx, node))
        }
        Rule::type_item => {
            let mut parts = Children::of(node);
            let name = name(parts.take(Rule::name));
            if let Some(bar) = parts.take(Rule::stray_bar) {
                leading_bar(cx, cx.span(&bar));
            }
            ItemKind::Type(TypeItem {
                name,
                definition: next_type(cx, &mut parts),
            })
        }
        Rule::tool_item => ItemKind::Tool(lower_tool_item(cx, node)),
        Rule::plan_item => ItemKind::Plan(lower_plan_item(cx, node, span)),
        Rule::damaged_plan => lower_damaged_plan(cx, node, span),
        Rule::test_item => ItemKind::Test(lower_test_item(cx, node)),
        Rule::EOI => return None,
        _ => {
            cx.damaged(span, DamageKind::Item);
            ItemKind::Error
        }
    };
    Some(Item { span, doc, kind })
}

fn lower_use_item(cx: &mut Lowering<'_>, node: Node<'_>) -> Use {
    let mut parts = Children::of(node);
    if let Some(path) = parts.take(Rule::text) {
        let path = lower_plain_text(cx, Some(path));
        return Use::File {
            path,
            alias: name(parts.take(Rule::name)),
        };
    }
    let mut namespaces = Vec::new();
    while let Some(node) = parts.take(Rule::use_namespace) {
        let mut names = Children::of(node);
        let name = name(names.take(Rule::name));
        let alias = names.take(Rule::name).map(|node| super::name(Some(node)));
        namespaces.push(UseNamespace { name, alias });
    }
    Use::Namespaces(namespaces)
}

fn lower_tool_item(cx: &mut Lowering<'_>, node: Node<'_>) -> Tool {
    let mut parts = Children::of(node);
    let namespace = name(parts.take(Rule::name));
    let tool = name(parts.take(Rule::name));
    let parameters = lower_parameters(cx, parts.take(Rule::parameters), false);
    let returns = next_type(cx, &mut parts);
    let mut item = Tool {
        namespace,
        name: tool,
        parameters,
        returns,
        effect: None,
        fails: Vec::new(),
        key: None,
    };
    while let Some(node) = parts.next() {
        let place = cx.span(&node);
        let (word, twice) = match node.rule() {
            Rule::tool_effect => (
                "effect class",
                item.effect.replace(name(Some(node))).is_some(),
            ),
            Rule::tool_fails => {
                let twice = !item.fails.is_empty();
                item.fails.extend(node.inner().map(|node| name(Some(node))));
                ("`fails`", twice)
            }
            _ => (
                "`key`",
                item.key.replace(name(node.inner().next())).is_some(),
            ),
        };
        if twice {
            cx.written_twice(word, place);
        }
    }
    item
}

fn lower_plan_item(cx: &mut Lowering<'_>, node: Node<'_>, span: Span) -> Plan {
    let mut parts = Children::of(node);
    let name = name(parts.take(Rule::name));
    let parameters = lower_parameters(cx, parts.take(Rule::parameters), true);
    let returns = optional_type(cx, &mut parts);
    let body = next_block(cx, &mut parts, Place::Plan);
    if body.statements.is_empty() {
        let end = Span::from(span.end.saturating_sub(1)..span.end);
        cx.report(
            codes::EMPTY_PLAN
                .at(name.span, format!("plan `{}` does nothing", name.text))
                .label(end, "its block ends here without a statement")
                .help("write its steps between the braces, or remove the plan"),
        );
    }
    Plan {
        name,
        parameters,
        returns,
        body,
    }
}

fn lower_damaged_plan(cx: &mut Lowering<'_>, node: Node<'_>, whole: Span) -> ItemKind {
    let mut parts = Children::of(node);
    let word = parts.take(Rule::name);
    while parts.take(Rule::name).is_some() {}
    let parameters = lower_parameters(cx, parts.take(Rule::parameters), true);
    parts.take(Rule::junk_run);
    let body_start = parts.nodes.peek().map_or(whole, |node| cx.span(&node));
    cx.damaged(Span::from(whole.start..body_start.start), DamageKind::Item);
    let body: Block = next_block(cx, &mut parts, Place::Plan);
    match word {
        Some(word) => ItemKind::Plan(Plan {
            name: name(Some(word)),
            parameters,
            returns: None,
            body,
        }),
        None => ItemKind::Error,
    }
}
