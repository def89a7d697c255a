//! One change: its kind, its subject and its spans in both versions.

use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::sema::Plan;
use planrun_lang::source::Span;

use super::Kind;
use super::kind;

/// One change of a plan.
#[derive(Clone, Debug)]
pub struct Finding {
    pub kind: &'static Kind,
    pub plan: Arc<str>,
    /// The input, field, tool, pattern or signal that changed; the plan if it changed as a whole.
    pub subject: String,
    /// One sentence without a full stop.
    pub message: String,
    /// Span in the new version; `None` if the plan was removed.
    pub now: Option<Span>,
    /// Span in the old version; `None` if the plan was added.
    pub then: Option<Span>,
}

impl Finding {
    /// Returns the finding for a removed plan.
    pub(super) fn removed(plan: &Plan) -> Self {
        Self {
            now: None,
            then: Some(plan.span),
            ..Self::whole(&kind::PLAN_REMOVED, plan, "removed")
        }
    }

    /// Returns the finding for an added plan.
    pub(super) fn added(plan: &Plan) -> Self {
        Self::whole(&kind::PLAN_ADDED, plan, "added")
    }

    fn whole(kind: &'static Kind, plan: &Plan, change: &str) -> Self {
        Self {
            kind,
            plan: plan.name.clone(),
            subject: plan.name.to_string(),
            message: format!("the plan `{}` was {change}", plan.name),
            now: Some(plan.span),
            then: None,
        }
    }

    /// Returns the finding as a diagnostic in the new file; `None` if it has no span there.
    #[must_use]
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        Some(self.kind.code.at(self.now?, self.message.clone()))
    }

    /// Returns the sort key: class, subject, kind, message. Findings with equal keys are duplicates.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (
            self.kind.class,
            self.subject.as_str(),
            self.kind.name(),
            self.message.as_str(),
        )
    }
}
