//! `untrusted-to-irreversible`: untrusted text determines the target of an irreversible call.

use super::Subject;
use super::subject::StepSite;
use crate::diag::{Diagnostic, codes};
use crate::lint::gate::{conditions, is_gated};
use crate::origin::{Origin, gives_free_text, is_free_text, of_node, of_path, origins};
use crate::sema::BlockId;
use crate::sema::expr::{Code, Link, LinkOp, Node, Op, Operator};
use crate::types::Effect;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // Without an untrusted source there is nothing to trace.
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
            let strangers = origins(&subject.nesting, site.block, code).into_iter();
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
    let message =
        format!("untrusted text determines the `{name}` of `{path}`, which cannot be undone");
    let read = origin.read_in(code.span);
    let mut finding = Diagnostic::new(&codes::safety::UNTRUSTED_TO_IRREVERSIBLE, read, message)
        .note(format!("free text from {}", origin.describe()))
        .help("ask for confirmation with `confirm`, or accept only known values: an enum in the tool's contract, `ensure x in […]` or `ensure x.matches(…)`");
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("through `{name}`"));
    }
    finding.label(origin.call.span, "this returns untrusted text")
}

/// Returns true if a condition of the call tests this text, against a pattern, a list of known values or a known value.
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
        Op::Matches { subject: text, .. } => is_it(of_node(&subject.nesting, block, text)),
        Op::Path { base, links } => match links.split_last() {
            Some((
                Link {
                    op: LinkOp::Matches(_),
                    ..
                },
                before,
            )) => is_it(of_path(&subject.nesting, block, base, before)),
            _ => false,
        },
        Op::Chain { first, rest } => {
            let known = [Operator::Equal, Operator::NotEqual, Operator::In];
            rest.iter().all(|(operator, _)| known.contains(operator))
                && std::iter::once(&**first)
                    .chain(rest.iter().map(|(_, node)| node))
                    .any(|node| is_it(of_node(&subject.nesting, block, node)))
        }
        _ => false,
    }
}
