//! What changed between two versions of a file of plans, and for whom that breaks something.
//!
//! [`compare`] is a function of two checked files. It knows nothing of where they come from: `cli` brings one from the
//! disk and one from a revision of git. Findings have a place in the file of today where there is one to show.

mod allow;
mod called;
mod difference;
mod finding;
mod forms;
mod inputs;
pub mod kind;
mod outside;
mod reply;
mod survey;

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::{CheckedFile, Plan};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast;

pub use finding::Finding;
pub use kind::{Class, Concern, Kind};

use survey::Survey;

/// A file as it is, or was.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub source: &'a SourceFile,
    pub checked: &'a CheckedFile,
}

/// The result of comparing two versions of a file.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Plan by plan in the order of today's file, those that are gone behind them; class by class in each.
    pub findings: Vec<Finding>,
    /// How many plans were compared.
    pub plans: usize,
    /// Plans in which a version has errors: what they promise is not known.
    pub left_out: Vec<Arc<str>>,
}

/// One plan in one version of its file.
#[derive(Clone, Copy)]
struct Side<'a> {
    source: &'a SourceFile,
    plan: &'a Plan,
    written: &'a ast::Plan,
}

/// A plan in both versions.
struct Pair<'a> {
    then: Side<'a>,
    now: Side<'a>,
}

/// Compares a file with what it was; `None` where there was none, or is none any more.
#[must_use]
pub fn compare(then: Option<Version<'_>>, now: Option<Version<'_>>) -> Comparison {
    let (was, is) = (
        then.map(sides).unwrap_or_default(),
        now.map(sides).unwrap_or_default(),
    );
    let names = is.order.iter().chain(
        was.order
            .iter()
            .filter(|name| !is.by_name.contains_key(*name)),
    );
    let mut comparison = Comparison::default();
    for name in names {
        let (old, new) = (was.by_name.get(name), is.by_name.get(name));
        comparison.plans += 1;
        // What a damaged text still promises, nobody can tell.
        let damaged = (old.is_none() && was.damaged) || (new.is_none() && is.damaged);
        match (old, new) {
            (Some(Some(then)), Some(Some(now))) => {
                comparison.findings.append(&mut changes(&Pair {
                    then: *then,
                    now: *now,
                }));
            }
            (Some(Some(then)), None) if !damaged => {
                comparison.findings.push(Finding::removed(then.plan));
            }
            (None, Some(Some(now))) if !damaged => {
                comparison.findings.push(Finding::added(now.plan));
            }
            (Some(_) | None, Some(_) | None) => comparison.left_out.push(name.clone()),
        }
    }
    comparison
}

/// What changed in one plan, class by class.
fn changes(pair: &Pair<'_>) -> Vec<Finding> {
    let (then, now) = (Survey::of(pair.then.plan), Survey::of(pair.now.plan));
    let mut found = Vec::new();
    inputs::inspect(pair, &mut found);
    reply::inspect(pair, &mut found);
    called::inspect(pair, &then, &now, &mut found);
    allow::inspect(pair, &mut found);
    forms::inspect(pair, &then, &now, &mut found);
    outside::inspect(pair, &then, &now, &mut found);
    // Equal ones come from types that differ in two ways at one place.
    found.sort_by(|one, other| one.order().cmp(&other.order()));
    found.dedup_by(|one, other| one.order() == other.order());
    found
}

/// The plans of a file, by name; `None` for one with errors.
#[derive(Default)]
struct Sides<'a> {
    by_name: BTreeMap<Arc<str>, Option<Side<'a>>>,
    order: Vec<Arc<str>>,
    /// Whether part of the text could not be read, so that a plan may stand in it.
    damaged: bool,
}

fn sides(version: Version<'_>) -> Sides<'_> {
    // A test promises nothing to anybody.
    let tests = version
        .checked
        .tree
        .items
        .iter()
        .filter(|item| matches!(item.kind, ast::ItemKind::Test(_)));
    let tests = tests.map(|item| item.span).collect::<Vec<_>>();
    let tested = |span: &Span| {
        tests
            .iter()
            .any(|test| span.start >= test.start && span.start < test.end)
    };
    let errors = version
        .checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.span);
    let errors = errors.filter(|span| !tested(span)).collect::<Vec<Span>>();
    let mut sides = Sides {
        damaged: !version.checked.whole,
        ..Sides::default()
    };
    let mut within_plans = 0;
    for (plan, written) in version.checked.plans_as_written() {
        let inside = |span: &Span| {
            span.start >= written.name.span.start && span.start < written.body.span.end
        };
        let sound = version.checked.whole && !errors.iter().any(inside);
        let side = Side {
            source: version.source,
            plan,
            written,
        };
        sides.order.push(plan.name.clone());
        sides
            .by_name
            .insert(plan.name.clone(), sound.then_some(side));
        within_plans += errors.iter().filter(|span| inside(span)).count();
    }
    // What plans share is wrong: a name, a type or a file that they use.
    if within_plans < errors.len() {
        sides.by_name.values_mut().for_each(|side| *side = None);
    }
    sides
}

impl Pair<'_> {
    /// A finding at a place of today, which is the head of the plan where there is none, and at one of then.
    fn finding(
        &self,
        kind: &'static Kind,
        subject: impl Into<String>,
        message: impl Into<String>,
        (then, now): (Option<Span>, Option<Span>),
    ) -> Finding {
        Finding {
            kind,
            plan: self.now.plan.name.clone(),
            subject: subject.into(),
            message: message.into(),
            now: Some(now.unwrap_or(self.now.plan.span)),
            then: Some(then.unwrap_or(self.then.plan.span)),
        }
    }
}
