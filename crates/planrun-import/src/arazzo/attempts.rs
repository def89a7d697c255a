//! Failures of calls: retries, polls, and failure actions.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{ArmBody, BinaryOp, ClauseKind, Expr};
use planrun_lang::types::Effect;
use planrun_lang::yaml::Node;

use super::Workflow;
use super::call::Called;
use super::runtime::View;
use super::steps::{Action, Retry, Step};
use crate::control_flow::outcome;
use crate::control_flow::retry::Retry as Clause;
use crate::draft::{Draft, excerpt};
use crate::tree;

/// The shortest poll interval, in seconds.
const SHORTEST: f64 = 1.0;

/// The class of calls with unknown outcomes. An arm for all classes does not catch it.
const UNKNOWN: &str = "unknown_outcome";

/// The retry behavior of a step.
#[derive(Default)]
pub struct Attempts {
    pub clauses: Vec<ClauseKind>,
    /// Whether the call is repeated until its answer satisfies the criteria.
    pub polls: bool,
    /// Whether the step cannot complete before all its criteria hold.
    pub suffices: bool,
}

/// Error classes, and the actions that may follow them, in order.
struct Caught<'s, 'd> {
    classes: Vec<String>,
    actions: Vec<&'s Action<'d>>,
}

impl<'d> Workflow<'_, 'd, '_> {
    /// Translates the retry actions of a step. `promises` are the conditions that its answer has to satisfy.
    pub fn attempts(
        &mut self,
        step: &Step<'d>,
        promises: &[(Expr, Expr)],
        answered: &View<'_, 'd>,
    ) -> Attempts {
        let mut attempts = Attempts::default();
        let Some((action, others)) = step.retries.split_first() else {
            return attempts;
        };
        let what = format!("`retry` of {}", step.what());
        for other in others {
            let why = "a step has only one `retry`; the first one is used";
            self.draft.lost(other.node.span, &*what, why);
        }
        let conditions = promises.iter().map(|(condition, _)| condition.clone());
        let good = tree::joined(conditions.collect(), BinaryOp::And);
        if let Some(good) = good.filter(|_| step.answers_with(&action.criteria) != Some(false)) {
            if only_reads(step, self.draft) {
                let over = self.all_hold(&action.criteria.others, answered);
                attempts.polls = true;
                attempts.suffices = over.is_none();
                // Answers that no retry rule covers end the poll.
                let until = match over {
                    Some(again) => tree::binary(good, BinaryOp::Or, tree::not(again)),
                    None => good,
                };
                attempts.clauses = self.polling(action, until, what);
                return attempts;
            }
            let why = "a call that may change something is not repeated because of its answer: write a `repeat`";
            self.draft.lost(action.node.span, &*what, why);
        }
        let classes = match &action.criteria.statuses {
            None => Some(Vec::new()),
            Some(statuses) => statuses.classes(),
        };
        let retry = classes.map(|classes| self.retry(action, classes, what));
        attempts.clauses.extend(retry);
        attempts
    }

    fn retry(&mut self, action: &Retry<'d>, classes: Vec<String>, what: String) -> ClauseKind {
        let is_sure = |class: &String| class != UNKNOWN;
        let mut on: Vec<String> = classes.into_iter().filter(is_sure).collect();
        if on.is_empty() {
            on = vec!["transient".to_owned(), "tool".to_owned()];
        } else {
            let why = format!("is on `{}` in the plan", on.join("`, `"));
            self.draft.changed(action.node.span, &*what, why);
        }
        if !action.criteria.others.is_empty() {
            let why = "checks only the class of a failure, not its other details";
            self.draft.changed(action.node.span, what, why);
        }
        let retry = Clause {
            attempts: limit(action).saturating_add(1),
            delay: pause(action) * 1e9,
            factor: 1.0,
            max_delay: None,
            jitter: false,
            on,
        };
        retry.clause()
    }

    /// Returns the clauses of a read that is repeated until its criteria hold.
    fn polling(&mut self, action: &Retry<'d>, until: Expr, what: String) -> Vec<ClauseKind> {
        let every = nanoseconds(pause(action).max(SHORTEST));
        let within = every.saturating_mul(i128::from(limit(action)).saturating_add(1));
        let why = "is a poll until the criteria hold, for as long as its attempts would take";
        self.draft.changed(action.node.span, what, why);
        vec![
            ClauseKind::Within(tree::nanoseconds(within)),
            ClauseKind::Until {
                condition: until,
                every: Box::new(tree::nanoseconds(every)),
            },
        ]
    }

    /// Returns the arms of a step whose failures have actions, and the names of these actions.
    pub fn arms(
        &mut self,
        step: &Step<'d>,
        view: &View<'_, 'd>,
    ) -> (Vec<ClauseKind>, BTreeSet<String>) {
        let failed = tree::field(tree::variable(&self.error), "details");
        let view = view.behind(failed.clone(), None);
        let mut tags = BTreeSet::new();
        let mut arms = Vec::new();
        for caught in caught(&step.on_failure) {
            let why = match caught.classes.as_slice() {
                [] => "applies to all failures, except those with an unknown outcome".to_owned(),
                classes => format!("applies to the failures `{}`", classes.join("`, `")),
            };
            let mut branches = Vec::new();
            for action in caught.actions {
                let what = format!("`{}` of {}", excerpt(&action.name), step.what());
                self.draft.changed(action.node.span, what, &*why);
                tags.insert(action.name.clone());
                let condition = self.all_hold(&action.criteria.others, &view);
                branches.push((condition, tree::text(&action.name)));
            }
            let body = self.arm(&caught.classes, branches, failed.clone());
            arms.push(tree::recover(&caught.classes, Some(&self.error), body));
        }
        (arms, tags)
    }

    /// Returns an arm: it selects the first action whose condition holds, and fails if there is none.
    fn arm(&self, classes: &[String], branches: Vec<(Option<Expr>, Expr)>, value: Expr) -> ArmBody {
        let conditions: Option<Vec<Expr>> = branches.iter().map(|(open, _)| open.clone()).collect();
        let closed = conditions.and_then(|open| {
            let any = tree::joined(open, BinaryOp::Or)?;
            Some(tree::not(any))
        });
        let mut branches = branches.into_iter().rev();
        let last = branches.next().map_or_else(tree::null, |(_, tag)| tag);
        let tag = branches.fold(last, |otherwise, (open, tag)| match open {
            Some(open) => tree::conditional(open, tag, otherwise),
            None => tag,
        });
        let ended = outcome::tagged(tag, value);
        let Some(closed) = closed else {
            return ArmBody::Expr(ended);
        };
        let class = match classes {
            [class] if class.contains('.') => class,
            _ => "tool.failed",
        };
        let message = tree::field(tree::variable(&self.error), "message");
        let fails = tree::fail_when(class, message, closed);
        ArmBody::Do(tree::block(vec![fails, tree::yields(ended)]))
    }
}

/// Groups actions by error class: single classes before their families, and all other errors last.
fn caught<'s, 'd>(actions: &'s [Action<'d>]) -> Vec<Caught<'s, 'd>> {
    let branches: Vec<(&Action<'d>, Vec<String>)> = actions
        .iter()
        .filter_map(|action| match &action.criteria.statuses {
            None => Some((action, Vec::new())),
            Some(statuses) => Some((action, statuses.classes()?)),
        })
        .collect();
    let mut classes: Vec<&str> = Vec::new();
    for class in branches.iter().flat_map(|(_, classes)| classes) {
        if !classes.contains(&class.as_str()) {
            classes.push(class);
        }
    }
    classes.sort_by_key(|class| !class.contains('.'));
    let mut arms: Vec<Caught<'s, 'd>> = Vec::new();
    let all = branches.iter().any(|(_, classes)| classes.is_empty());
    for class in classes.into_iter().map(Some).chain(all.then_some(None)) {
        let is_taken = |taken: &[String]| match class {
            Some(class) => {
                let family = class.split('.').next().unwrap_or(class);
                taken.is_empty() || taken.iter().any(|one| one == class || one == family)
            }
            None => taken.is_empty(),
        };
        let open = branches.iter().filter(|(_, taken)| is_taken(taken));
        let mut actions: Vec<&Action<'_>> = open.map(|(action, _)| *action).collect();
        let always = actions
            .iter()
            .position(|action| action.criteria.others.is_empty());
        actions.truncate(always.map_or(actions.len(), |last| last + 1));
        if class.is_none() {
            // The arm for all other errors covers these as well, except for unknown outcomes.
            let is_apart = |arm: &Caught<'_, '_>| {
                !same(&arm.actions, &actions) || arm.classes.iter().any(|class| class == UNKNOWN)
            };
            arms.retain(is_apart);
        }
        let class = class.map(str::to_owned);
        match arms.last_mut() {
            Some(last) if class.is_some() && same(&last.actions, &actions) => {
                last.classes.extend(class);
            }
            _ => arms.push(Caught {
                classes: class.into_iter().collect(),
                actions,
            }),
        }
    }
    arms
}

fn same(one: &[&Action<'_>], other: &[&Action<'_>]) -> bool {
    one.iter()
        .map(|action| &action.name)
        .eq(other.iter().map(|action| &action.name))
}

fn only_reads(step: &Step<'_>, draft: &Draft<'_>) -> bool {
    let Called::Tool(namespace, tool) = &step.called else {
        return false;
    };
    let signature = draft.signature(namespace, tool);
    signature.is_some_and(|signature| matches!(signature.effect, Effect::Pure | Effect::Read))
}

fn number(action: &Retry<'_>, field: &str) -> Option<f64> {
    action.node.get(field).and_then(Node::scalar)?.parse().ok()
}

/// Returns the number of retries.
fn limit(action: &Retry<'_>) -> i64 {
    let limit = number(action, "retryLimit").unwrap_or(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to the range of a retry"
    )]
    let whole = limit.clamp(0.0, 1.0e6).ceil() as i64;
    whole
}

/// Returns the delay before a retry, in seconds.
fn pause(action: &Retry<'_>) -> f64 {
    number(action, "retryAfter").unwrap_or(0.0).clamp(0.0, 1e7)
}

fn nanoseconds(seconds: f64) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "clamped by the callers")]
    let whole = (seconds * 1e9).round() as i128;
    whole
}
