//! One change: its kind, what it is about, and where it stands.

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
    /// The input, field, tool, pattern or signal that it is about; the plan where it is about that.
    pub subject: String,
    /// One sentence without a full stop.
    pub message: String,
    /// Where to look today; `None` where the plan is gone.
    pub now: Option<Span>,
    /// Where it stood; `None` where there was no such plan.
    pub then: Option<Span>,
}

impl Finding {
    /// A plan that is gone.
    pub(super) fn removed(plan: &Plan) -> Self {
        let message = format!("the plan `{}` is gone", plan.name);
        let (kind, plan, then) = (&kind::PLAN_REMOVED, &plan.name, Some(plan.span));
        Self {
            kind,
            plan: plan.clone(),
            subject: plan.to_string(),
            message,
            now: None,
            then,
        }
    }

    /// A plan that was not there.
    pub(super) fn added(plan: &Plan) -> Self {
        let message = format!("the plan `{}` is new", plan.name);
        let (kind, plan, now) = (&kind::PLAN_ADDED, &plan.name, Some(plan.span));
        Self {
            kind,
            plan: plan.clone(),
            subject: plan.to_string(),
            message,
            now,
            then: None,
        }
    }

    /// The finding as something to draw in the file of today; `None` where there is no place in it.
    #[must_use]
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        Some(Diagnostic::new(
            &self.kind.code,
            self.now?,
            self.message.clone(),
        ))
    }

    /// By class, then by what it is about; two that are equal in this say the same.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (
            self.kind.class,
            self.subject.as_str(),
            self.kind.name(),
            self.message.as_str(),
        )
    }
}
