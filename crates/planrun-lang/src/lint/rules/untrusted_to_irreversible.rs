//! `untrusted-to-irreversible`: untrusted text determines the target of an irreversible call.

use std::sync::Arc;

use super::Subject;
use super::subject::{steps_in_flow, tool_call};
use crate::diag::{Diagnostic, codes};
use crate::lint::gate::{conditions, is_gated};
use crate::lint::passed::{Places, PlanCall, Sinks, Visit, with_called};
use crate::origin::{
    InputPart, Origin, Origins, Passed, Reached, Traced, gives_free_text, is_free_text,
};
use crate::sema::expr::{CheckedExpr, Link, LinkOp, Node, Op, Operator};
use crate::sema::{BlockId, Nesting, Node as Statement};
use crate::types::{Effect, Signature};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // Without an untrusted source there is nothing to trace.
    if !with_called(subject.plan)
        .iter()
        .any(|plan| plan.tool_calls().any(|signature| signature.open_world))
    {
        return;
    }
    let rule = Targets {
        origins: &subject.origins,
    };
    rule.visit(&subject.nesting, &mut |block, node, value, target| {
        let traced = rule.origins.of_node(&subject.nesting, block, value);
        if let Some(origin) = rule.stranger(&subject.nesting, (block, node), traced) {
            found.push(finding(&target.to_string(), value, &origin));
        }
    });
    let mut sinks = Sinks::new(&rule, &subject.origins);
    for call in rule.calls(&subject.nesting) {
        let sinks = sinks.of(call.called);
        for (name, code) in &call.call.arguments {
            let own = sinks.iter().filter(|sink| sink.parameter == *name);
            let mut reached = own.filter(|_| is_free_text(&code.ty)).filter_map(|sink| {
                let traced =
                    rule.origins
                        .of_path(&subject.nesting, call.block, &code.root, &[], &sink.path);
                let site = (call.block, call.node);
                Some((&sink.place, rule.stranger(&subject.nesting, site, traced)?))
            });
            if let Some((target, origin)) = reached.next() {
                let target = format!("{target}, which `{}` calls and", call.call.path());
                found.push(finding(&target, &code.root, &origin));
            }
        }
    }
}

fn finding(target: &str, value: &Node, origin: &Origin<'_>) -> Diagnostic {
    let comma = if target.ends_with(" and") { "" } else { "," };
    let message = format!("untrusted text determines the {target}{comma} which cannot be undone");
    let read = origin.read_in(value.span);
    let mut finding = codes::safety::UNTRUSTED_TO_IRREVERSIBLE.at(read, message)
        .note(format!("free text from {}", origin.describe()))
        .help("ask for confirmation with `confirm`, or accept only known values: an enum in the tool's contract, `ensure x in […]` or `ensure x.matches(…)`");
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("through `{name}`"));
    }
    finding.label(origin.call.span, "this returns untrusted text")
}

/// The targets of irreversible calls that no person decides about.
struct Targets<'s, 'a> {
    origins: &'s Origins<'a>,
}

/// An argument that determines whom or what a call reaches.
#[derive(Clone, PartialEq)]
struct Target {
    argument: Arc<str>,
    tool: String,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` of `{}`", self.argument, self.tool)
    }
}

impl<'a> Places<'a> for Targets<'_, 'a> {
    type Place = Target;

    fn visit(&self, nesting: &Nesting<'a>, visit: &mut Visit<'_, 'a, Target>) {
        for site in steps_in_flow(nesting) {
            let Some((call, signature)) = tool_call(site.step) else {
                continue;
            };
            if call.effect != Effect::Irreversible || is_gated(nesting, site.block, site.node) {
                continue;
            }
            let targets = call.arguments.iter();
            let targets = targets.filter(|(name, code)| is_target(signature, name, code));
            for (argument, code) in targets {
                let target = Target {
                    argument: argument.clone(),
                    tool: signature.path(),
                };
                visit(site.block, site.node, &code.root, target);
            }
        }
    }

    fn calls(&self, nesting: &Nesting<'a>) -> Vec<PlanCall<'a>> {
        steps_in_flow(nesting)
            .into_iter()
            .filter_map(|site| PlanCall::of(nesting, site.block, site.node))
            .filter(|call| !is_gated(nesting, call.block, call.node))
            .collect()
    }

    fn passes(
        &self,
        nesting: &Nesting<'a>,
        block: BlockId,
        node: &'a Statement,
        source: &Reached<'a>,
    ) -> bool {
        !self.is_tested(nesting, (block, node), source)
    }
}

fn is_target(signature: &Signature, name: &str, code: &CheckedExpr) -> bool {
    let mut targets = signature.target.iter();
    targets.any(|target| target.split(['.', '[']).next() == Some(name)) && is_free_text(&code.ty)
}

impl<'a> Targets<'_, 'a> {
    /// Returns the first untrusted text among the sources of a value that nothing tests before a statement uses it.
    fn stranger(
        &self,
        nesting: &Nesting<'a>,
        (block, node): (BlockId, &'a Statement),
        traced: Traced<'a>,
    ) -> Option<Origin<'a>> {
        let strangers = traced.origins.into_iter();
        let mut strangers =
            strangers.filter(|origin| origin.signature.open_world && gives_free_text(origin));
        strangers.find(|origin| {
            !self.is_tested(nesting, (block, node), &Reached::Result(origin.clone()))
        })
    }

    /// Returns true if a condition of a statement tests this text, or a called plan does before it replies with it.
    fn is_tested(
        &self,
        nesting: &Nesting<'a>,
        (block, node): (BlockId, &'a Statement),
        source: &Reached<'a>,
    ) -> bool {
        let passed = match source {
            Reached::Result(Origin { passed, .. }) | Reached::Input(InputPart { passed, .. }) => {
                passed
            }
        };
        let in_called = |passed: &Passed<'a>| {
            let Passed {
                nesting,
                block,
                reply,
                reached,
            } = passed;
            is_gated(nesting, *block, reply) || self.is_tested(nesting, (*block, reply), reached)
        };
        let tested = nesting.outwards(block, node).any(|(block, node)| {
            conditions(nesting, block, node)
                .any(|code| self.tests(nesting, block, &code.root, source))
        });
        tested || passed.iter().any(|passed| in_called(passed))
    }

    /// Returns true if a condition compares this text with a pattern, a list of known values or a known value.
    fn tests(
        &self,
        nesting: &Nesting<'a>,
        block: BlockId,
        node: &'a Node,
        source: &Reached<'a>,
    ) -> bool {
        let is_it = |node: &'a Node, links: &'a [Link]| {
            let traced = self.origins.of_path(nesting, block, node, links, &[]);
            traced.reaches(source)
        };
        match &node.op {
            Op::And(nodes) | Op::Or(nodes) => nodes
                .iter()
                .any(|node| self.tests(nesting, block, node, source)),
            Op::Not(node) => self.tests(nesting, block, node, source),
            Op::Matches { subject: text, .. } => is_it(text, &[]),
            Op::Path { base, links } => match links.split_last() {
                Some((
                    Link {
                        op: LinkOp::Matches(_),
                        ..
                    },
                    before,
                )) => is_it(base, before),
                _ => false,
            },
            Op::Chain { first, rest } => {
                let known = [Operator::Equal, Operator::NotEqual, Operator::In];
                rest.iter().all(|(operator, _)| known.contains(operator))
                    && std::iter::once(&**first)
                        .chain(rest.iter().map(|(_, node)| node))
                        .any(|node| is_it(node, &[]))
            }
            _ => false,
        }
    }
}
