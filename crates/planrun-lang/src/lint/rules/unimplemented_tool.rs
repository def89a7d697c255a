//! `unimplemented-tool`: a call of a tool that nothing in the project implements, or a prompt that none of its models
//! answers.

use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::Project;
use crate::sema::{Call, Plan, StepKind, Target, Tools};
use crate::source::Span;
use crate::types::Signature;

/// The missing part of a call.
#[derive(PartialEq)]
enum Gap {
    /// The implementation of this tool.
    Tool(String),
    /// A model: the prompt, and the reason.
    Model(String, String),
}

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // A plan without a project may be meant for any.
    let Some(tools) = subject.project.tools else {
        return;
    };
    let mut calls = Vec::new();
    let project = (tools, subject.project);
    missing(subject.plan, project, None, &mut calls);
    for (index, (span, gap, within)) in calls.iter().enumerate() {
        if calls.iter().take(index).any(|(_, known, _)| known == gap) {
            continue;
        }
        found.push(gap.finding(*span, within.as_deref()));
    }
}

impl Gap {
    fn of(
        call: &Call,
        signature: &Signature,
        (tools, project): (&Tools, &Project<'_>),
    ) -> Option<Self> {
        if signature.kind.word().is_none() {
            let known = tools.find(&signature.namespace, &signature.name);
            return known.is_none().then(|| Self::Tool(signature.path()));
        }
        let model = match call.argument("model") {
            None => None,
            // The name of the model may be computed.
            Some(code) => Some(code.constant()?.as_str()?),
        };
        let why = project.calls?.lacks_model(signature, model)?;
        Some(Self::Model(signature.written(), why))
    }

    /// Returns the finding about the gap. `within` is the called plan that makes the call.
    fn finding(&self, span: Span, within: Option<&str>) -> Diagnostic {
        let message = match (self, within) {
            (Self::Tool(tool), Some(plan)) => {
                format!("`{plan}` calls `{tool}`, but nothing in this project implements it")
            }
            (Self::Tool(tool), None) => format!("nothing in this project implements `{tool}`"),
            (Self::Model(prompt, why), Some(plan)) => {
                format!("`{plan}` calls `{prompt}`, which cannot be answered: {why}")
            }
            (Self::Model(prompt, why), None) => format!("`{prompt}` cannot be answered: {why}"),
        };
        let finding = codes::contracts::UNIMPLEMENTED_TOOL.at(span, message);
        match self {
            Self::Tool(_) => finding.help(
                "add the app file that implements it to `apps` in planrun.yaml, or mock it in tests",
            ),
            Self::Model(..) => finding,
        }
    }
}

/// Collects the calls that lack something: the span, what they lack, and the called plan that makes the call.
fn missing(
    plan: &Plan,
    project: (&Tools, &Project<'_>),
    through: Option<(Span, &Arc<str>)>,
    found: &mut Vec<(Span, Gap, Option<Arc<str>>)>,
) {
    for node in plan.nodes() {
        let Some(StepKind::Call(call)) = node.step().map(|step| &step.kind) else {
            continue;
        };
        let span = call.span;
        let through = through.unwrap_or((span, &plan.name));
        match &call.target {
            Target::Tool(signature) => {
                if let Some(gap) = Gap::of(call, signature, project) {
                    let within = (through.0 != span).then(|| through.1.clone());
                    found.push((through.0, gap, within));
                }
            }
            Target::Plan(index, name) => {
                if let Some(called) = plan.plans.get(*index) {
                    missing(called, project, Some((through.0, name)), found);
                }
            }
        }
    }
}
