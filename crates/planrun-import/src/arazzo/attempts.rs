//! What follows where a call fails: it is tried again, or another way is taken.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{ArmBody, BinaryOp, ClauseKind, Expr};
use planrun_lang::types::Effect;
use planrun_lang::yaml::Node;

use super::Workflow;
use super::call::Called;
use super::runtime::View;
use super::steps::{Action, Retry, Step};
use crate::draft::{Draft, excerpt};
use crate::tree;
use crate::ways::retry::Retry as Clause;
use crate::ways::telling;

/// The shortest time between two looks, in seconds.
const SHORTEST: f64 = 1.0;

/// The class of a call of which nobody knows whether it has happened. An arm for all classes does not catch it.
const UNKNOWN: &str = "unknown_outcome";

/// What of a step is tried again.
#[derive(Default)]
pub struct Attempts {
    pub clauses: Vec<ClauseKind>,
    /// Whether an answer that is not as it has to be is looked for again.
    pub polls: bool,
    /// Whether the step lasts until all of its criteria hold.
    pub suffices: bool,
}

/// Classes of errors, and the actions that may follow them, in order.
struct Caught<'s, 'd> {
    classes: Vec<String>,
    takers: Vec<&'s Action<'d>>,
}

impl<'d> Workflow<'_, 'd, '_> {
    /// How often a step is tried; `promises` is what has to hold of its answer.
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
            let why = "a step has one `retry`, and the first one is it";
            self.draft.lost(other.node.span, &*what, why);
        }
        let conditions = promises.iter().map(|(condition, _)| condition.clone());
        let good = tree::joined(conditions.collect(), BinaryOp::And);
        if let Some(good) = good.filter(|_| step.answers_with(&action.criteria) != Some(false)) {
            if only_reads(step, self.draft) {
                let over = self.all_hold(&action.criteria.others, answered);
                attempts.polls = true;
                attempts.suffices = over.is_none();
                // What is not to be tried again is over.
                let until = match over {
                    Some(again) => tree::binary(good, BinaryOp::Or, tree::not(again)),
                    None => good,
                };
                attempts.clauses = self.polling(action, until, what);
                return attempts;
            }
            let why = "a call that may change something is not made again because of what it has answered: write a `repeat`";
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
            let why = format!("is on `{}` here", on.join("`, `"));
            self.draft.changed(action.node.span, &*what, why);
        }
        if !action.criteria.others.is_empty() {
            let why = "asks for the class of a failure only, and not for what else is known of it";
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

    /// A read that is made until its criteria hold.
    fn polling(&mut self, action: &Retry<'d>, until: Expr, what: String) -> Vec<ClauseKind> {
        let every = nanoseconds(pause(action).max(SHORTEST));
        let within = every.saturating_mul(i128::from(limit(action)).saturating_add(1));
        let why = "is a poll until the criteria hold, as long as its attempts would take";
        self.draft.changed(action.node.span, what, why);
        vec![
            ClauseKind::Within(tree::nanoseconds(within)),
            ClauseKind::Until {
                condition: until,
                every: Box::new(tree::nanoseconds(every)),
            },
        ]
    }

    /// The arms of a step whose failures lead elsewhere, and the names of the actions that they lead to.
    pub fn arms(
        &mut self,
        step: &Step<'d>,
        view: &View<'_, 'd>,
    ) -> (Vec<ClauseKind>, BTreeSet<String>) {
        let failed = tree::field(tree::variable(&self.error), "details");
        let view = view.behind(failed.clone(), None);
        let mut led = BTreeSet::new();
        let mut arms = Vec::new();
        for caught in caught(&step.on_failure) {
            let why = match caught.classes.as_slice() {
                [] => "follows failures, but for those of which nobody knows whether the call has happened".to_owned(),
                classes => format!("follows the failures `{}`", classes.join("`, `")),
            };
            let mut ways = Vec::new();
            for action in caught.takers {
                let what = format!("`{}` of {}", excerpt(&action.name), step.what());
                self.draft.changed(action.node.span, what, &*why);
                led.insert(action.name.clone());
                let condition = self.all_hold(&action.criteria.others, &view);
                ways.push((condition, tree::text(&action.name)));
            }
            let body = self.arm(&caught.classes, ways, failed.clone());
            arms.push(tree::recover(&caught.classes, Some(&self.error), body));
        }
        (arms, led)
    }

    /// An arm: the first way that is open, or the failure itself.
    fn arm(&self, classes: &[String], ways: Vec<(Option<Expr>, Expr)>, value: Expr) -> ArmBody {
        let conditions: Option<Vec<Expr>> = ways.iter().map(|(open, _)| open.clone()).collect();
        let closed = conditions.and_then(|open| {
            let any = tree::joined(open, BinaryOp::Or)?;
            Some(tree::not(any))
        });
        let mut ways = ways.into_iter().rev();
        let last = ways.next().map_or_else(tree::null, |(_, way)| way);
        let way = ways.fold(last, |otherwise, (open, way)| match open {
            Some(open) => tree::conditional(open, way, otherwise),
            None => way,
        });
        let ended = telling::ended(way, value);
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

/// Which classes lead to which actions: single classes before their families, and all others at the end.
fn caught<'s, 'd>(actions: &'s [Action<'d>]) -> Vec<Caught<'s, 'd>> {
    let ways: Vec<(&Action<'d>, Vec<String>)> = actions
        .iter()
        .filter_map(|action| match &action.criteria.statuses {
            None => Some((action, Vec::new())),
            Some(statuses) => Some((action, statuses.classes()?)),
        })
        .collect();
    let mut classes: Vec<&str> = Vec::new();
    for class in ways.iter().flat_map(|(_, classes)| classes) {
        if !classes.contains(&class.as_str()) {
            classes.push(class);
        }
    }
    classes.sort_by_key(|class| !class.contains('.'));
    let mut arms: Vec<Caught<'s, 'd>> = Vec::new();
    let all = ways.iter().any(|(_, classes)| classes.is_empty());
    for class in classes.into_iter().map(Some).chain(all.then_some(None)) {
        let is_taken = |taken: &[String]| match class {
            Some(class) => {
                let family = class.split('.').next().unwrap_or(class);
                taken.is_empty() || taken.iter().any(|one| one == class || one == family)
            }
            None => taken.is_empty(),
        };
        let open = ways.iter().filter(|(_, taken)| is_taken(taken));
        let mut takers: Vec<&Action<'_>> = open.map(|(action, _)| *action).collect();
        let always = takers
            .iter()
            .position(|action| action.criteria.others.is_empty());
        takers.truncate(always.map_or(takers.len(), |last| last + 1));
        if class.is_none() {
            // An arm for all others takes these along, but for what nobody knows of.
            let is_apart = |arm: &Caught<'_, '_>| {
                !same(&arm.takers, &takers) || arm.classes.iter().any(|class| class == UNKNOWN)
            };
            arms.retain(is_apart);
        }
        let class = class.map(str::to_owned);
        match arms.last_mut() {
            Some(last) if class.is_some() && same(&last.takers, &takers) => {
                last.classes.extend(class);
            }
            _ => arms.push(Caught {
                classes: class.into_iter().collect(),
                takers,
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

/// How often it is tried again.
fn limit(action: &Retry<'_>) -> i64 {
    let limit = number(action, "retryLimit").unwrap_or(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to what a retry may have"
    )]
    let whole = limit.clamp(0.0, 1.0e6).ceil() as i64;
    whole
}

/// How long it waits before that, in seconds.
fn pause(action: &Retry<'_>) -> f64 {
    number(action, "retryAfter").unwrap_or(0.0).clamp(0.0, 1e7)
}

fn nanoseconds(seconds: f64) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "clamped before")]
    let whole = (seconds * 1e9).round() as i128;
    whole
}
