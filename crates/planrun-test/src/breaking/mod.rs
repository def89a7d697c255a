//! Differences between two versions of a plan file, and whom each of them breaks.
//!
//! [`compare`] is a pure function of two checked files. Its caller supplies them: `cli` reads one from the disk and
//! one from a git revision. Findings have a span in the new file if the plan still exists there.

mod allow;
mod called;
mod constraints;
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
use planrun_lang::types::Type;

pub use finding::Finding;
pub use kind::{Class, Concern, Kind};

use difference::{Difference, differences};
use survey::Survey;

/// One version of a file.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub source: &'a SourceFile,
    pub checked: &'a CheckedFile,
}

/// The result of comparing two versions of a file.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The findings, in the order of the plans in the new file with removed plans last, and by class within each
    /// plan.
    pub findings: Vec<Finding>,
    /// Number of plans in either version, including those in `left_out`.
    pub plans: usize,
    /// Plans that were not compared, because a version has errors.
    pub left_out: Vec<Arc<str>>,
}

/// One plan in one version of its file.
#[derive(Clone, Copy)]
struct Side<'a> {
    source: &'a SourceFile,
    plan: &'a Plan,
    written: &'a ast::Plan,
}

/// The changes of a plan, which is in both versions.
struct Changes<'a> {
    then: Side<'a>,
    now: Side<'a>,
    found: Vec<Finding>,
}

/// Compares two versions of a file. `None` means that the file does not exist in that version.
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
        // If part of the text could not be parsed, the plan may still be declared in that part.
        let damaged = (old.is_none() && was.damaged) || (new.is_none() && is.damaged);
        match (old, new) {
            (Some(Some(then)), Some(Some(now))) => {
                comparison.findings.append(&mut changes(*then, *now));
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

/// Returns the changes of one plan, ordered by class.
fn changes(then: Side<'_>, now: Side<'_>) -> Vec<Finding> {
    let (before, after) = (Survey::of(then.plan), Survey::of(now.plan));
    let found = Vec::new();
    let mut changes = Changes { then, now, found };
    inputs::inspect(&mut changes);
    reply::inspect(&mut changes);
    called::inspect(&mut changes, &before, &after);
    allow::inspect(&mut changes);
    forms::inspect(&mut changes, &before, &after);
    outside::inspect(&mut changes, &before, &after);
    // Types that differ in two ways at one path give duplicates.
    let mut found = changes.found;
    found.sort_by(|one, other| one.order().cmp(&other.order()));
    found.dedup_by(|one, other| one.order() == other.order());
    found
}

/// The plans of a file by name; `None` for a plan with errors.
#[derive(Default)]
struct Sides<'a> {
    by_name: BTreeMap<Arc<str>, Option<Side<'a>>>,
    order: Vec<Arc<str>>,
    /// Whether part of the text could not be parsed, so that it may contain further plans.
    damaged: bool,
}

fn sides(version: Version<'_>) -> Sides<'_> {
    // Tests are not part of the interface of a file.
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
    // An error outside of all plans is in a name, a type or a file that they may share.
    if within_plans < errors.len() {
        sides.by_name.values_mut().for_each(|side| *side = None);
    }
    sides
}

impl Changes<'_> {
    /// Adds a finding. A span that is `None` is replaced by the head of the plan in that version.
    fn note(
        &mut self,
        kind: &'static Kind,
        subject: impl Into<String>,
        message: String,
        (then, now): (Option<Span>, Option<Span>),
    ) {
        self.found.push(Finding {
            kind,
            plan: self.now.plan.name.clone(),
            subject: subject.into(),
            message,
            now: Some(now.unwrap_or(self.now.plan.span)),
            then: Some(then.unwrap_or(self.then.plan.span)),
        });
    }

    /// Adds a finding for each difference between two types whose values others provide: of the first kind where
    /// values may now be refused, else of the second. `of` describes the whole.
    fn note_types(
        &mut self,
        (was, is): (&Type, &Type),
        (name, of): (&str, &str),
        [refuses, takes]: [&'static Kind; 2],
        places: (Option<Span>, Option<Span>),
    ) {
        for Difference { path, change } in differences(was, is, name) {
            let message = format!("`{path}` of the {of} {}", change.describe());
            self.note(change.select_kind(refuses, takes), path, message, places);
        }
    }
}

/// Returns the entries whose keys the other map does not have.
fn only_in<'m, K: Ord, V>(
    map: &'m BTreeMap<K, V>,
    other: &BTreeMap<K, V>,
) -> impl Iterator<Item = (&'m K, &'m V)> {
    map.iter().filter(|(key, _)| !other.contains_key(*key))
}
