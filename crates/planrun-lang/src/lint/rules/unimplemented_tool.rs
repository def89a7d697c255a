//! `unimplemented-tool`: a call of a tool that nothing in the project implements.

use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{Call, Plan, StepKind, Target, Tools};
use crate::source::Span;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // A plan without a project may be meant for any.
    let Some(tools) = subject.project.tools else {
        return;
    };
    let mut calls = Vec::new();
    missing(subject.plan, tools, None, &mut calls);
    for (index, (span, tool, within)) in calls.iter().enumerate() {
        if calls.iter().take(index).any(|(_, known, _)| known == tool) {
            continue;
        }
        let message = match within {
            Some(plan) => {
                format!("`{plan}` calls `{tool}`, but nothing in this project implements it")
            }
            None => format!("nothing in this project implements `{tool}`"),
        };
        let finding = Diagnostic::new(&codes::contracts::UNIMPLEMENTED_TOOL, *span, message);
        found.push(finding.help(
            "add the app file that implements it to `apps` in planrun.yaml, or mock it in tests",
        ));
    }
}

/// Collects the calls of tools that are not among these: the span, the tool, and the called plan that makes the call.
fn missing(
    plan: &Plan,
    tools: &Tools,
    through: Option<(Span, &Arc<str>)>,
    found: &mut Vec<(Span, String, Option<Arc<str>>)>,
) {
    for node in plan.nodes() {
        let Some(StepKind::Call(Call { span, target, .. })) = node.step().map(|step| &step.kind)
        else {
            continue;
        };
        let through = through.unwrap_or((*span, &plan.name));
        match target {
            Target::Tool(signature)
                // Whether a prompt has a model is only known when it runs.
                if signature.kind.word().is_none()
                    && tools.find(&signature.namespace, &signature.name).is_none() =>
            {
                let within = (through.0 != *span).then(|| through.1.clone());
                found.push((through.0, signature.path(), within));
            }
            Target::Tool(_) => {}
            Target::Plan(index, name) => {
                if let Some(called) = plan.plans.get(*index) {
                    missing(called, tools, Some((through.0, name)), found);
                }
            }
        }
    }
}
