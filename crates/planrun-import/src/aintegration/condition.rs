//! Conditions of listeners: a status, `Any`, or statuses of tasks joined by `&&`, `||` and `!`.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{BinaryOp, Expr};

use super::{FIRST, Importer, Task, is};
use crate::draft::excerpt;
use crate::expression::condition::{self, Truth, Words};
use crate::tree;

/// A condition over tasks, which are named by their ids.
#[derive(Clone)]
pub enum When {
    /// Any event of a task.
    Event(String),
    /// A task has a status.
    Is(String, &'static str),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Truth for When {
    fn every(parts: Vec<Self>) -> Option<Self> {
        if parts.len() > 1 {
            return Some(Self::All(parts));
        }
        parts.into_iter().next()
    }

    fn either(parts: Vec<Self>) -> Option<Self> {
        if parts.len() > 1 {
            return Some(Self::Any(parts));
        }
        parts.into_iter().next()
    }

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl When {
    /// Returns the condition for which both hold.
    pub fn and(self, other: Self) -> Self {
        let mut parts = Vec::new();
        for part in [self, other] {
            match part {
                Self::All(inner) => parts.extend(inner),
                part => parts.push(part),
            }
        }
        Self::All(parts)
    }

    /// Returns whether the condition holds; `None` if that is not known. `test` says it of its parts: of any event of a
    /// task, or of a status.
    pub fn holds(&self, test: &dyn Fn(&str, Option<&str>) -> Option<bool>) -> Option<bool> {
        // One part that has the value `decisive` decides, whatever the others are.
        let joined = |parts: &[Self], decisive: bool| {
            let values: Vec<Option<bool>> = parts.iter().map(|part| part.holds(test)).collect();
            if values.contains(&Some(decisive)) {
                return Some(decisive);
            }
            (!values.contains(&None)).then_some(!decisive)
        };
        match self {
            Self::Event(id) => test(id, None),
            Self::Is(id, status) => test(id, Some(status)),
            Self::Not(inner) => inner.holds(test).map(|holds| !holds),
            Self::All(parts) => joined(parts, false),
            Self::Any(parts) => joined(parts, true),
        }
    }

    /// Returns true if the condition may hold at an event that leaves a task in a status.
    pub fn may_hold_at(&self, task: &str, status: &str) -> bool {
        let holds = self.holds(&|id, asked| match asked {
            None => Some(id == task),
            Some(asked) => (id == task).then_some(asked == status),
        });
        self.names().contains(task) && holds != Some(false)
    }

    /// Returns true if the condition holds at the start of a run, which is an event of every task. `is_initial` says
    /// whether a task has a status then.
    pub fn holds_at_start(&self, is_initial: &dyn Fn(&str, &str) -> bool) -> bool {
        let holds =
            self.holds(&|id, status| Some(status.is_none_or(|status| is_initial(id, status))));
        holds == Some(true)
    }

    /// Returns true if the condition becomes true whatever the order of the events: it tests neither for the absence of a
    /// status nor for an event together with something else.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Event(_) | Self::Is(..) => true,
            Self::Not(_) => false,
            Self::Any(parts) => parts.iter().all(Self::is_plain),
            Self::All(parts) => parts.iter().all(Self::asks_for_statuses),
        }
    }

    fn asks_for_statuses(&self) -> bool {
        match self {
            Self::Is(..) => true,
            Self::Event(_) | Self::Not(_) => false,
            Self::All(parts) | Self::Any(parts) => parts.iter().all(Self::asks_for_statuses),
        }
    }

    /// Visits the tasks that the condition names, each with the status that it must have; `None` if it may have any.
    pub fn visit(&self, visit: &mut dyn FnMut(&str, Option<&'static str>)) {
        self.visit_as(true, visit);
    }

    fn visit_as(&self, wanted: bool, visit: &mut dyn FnMut(&str, Option<&'static str>)) {
        match self {
            Self::Event(id) => visit(id, None),
            Self::Is(id, status) => visit(id, wanted.then_some(status)),
            Self::Not(inner) => inner.visit_as(!wanted, visit),
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.visit_as(wanted, visit);
                }
            }
        }
    }

    /// Visits the statuses that the condition names, also those that a task must not have.
    pub fn statuses(&self, visit: &mut dyn FnMut(&str, &'static str)) {
        match self {
            Self::Event(_) => {}
            Self::Is(id, status) => visit(id, status),
            Self::Not(inner) => inner.statuses(visit),
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.statuses(visit);
                }
            }
        }
    }

    /// Returns the tasks that must not have some status.
    pub fn denied(&self) -> BTreeSet<String> {
        let (mut all, mut events) = (BTreeSet::new(), BTreeSet::new());
        self.visit(&mut |id, status| {
            if status.is_none() {
                all.insert(id.to_owned());
            }
        });
        self.events(&mut events);
        all.difference(&events).cloned().collect()
    }

    fn events(&self, found: &mut BTreeSet<String>) {
        match self {
            Self::Event(id) => {
                found.insert(id.clone());
            }
            Self::Is(..) => {}
            Self::Not(inner) => inner.events(found),
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.events(found);
                }
            }
        }
    }

    /// Returns the ids of the tasks that the condition names.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.visit(&mut |id, _| {
            names.insert(id.to_owned());
        });
        names
    }
}

impl Importer<'_, '_> {
    /// Translates a condition over the tasks that trigger a listener; `None` if it is invalid, which is reported, or
    /// if no known task triggers the listener.
    pub fn condition(&mut self, written: &str, triggers: &[String], span: Span) -> Option<When> {
        let text = written.trim();
        if text.eq_ignore_ascii_case("any") {
            return When::either(triggers.iter().cloned().map(When::Event).collect());
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if text.chars().all(is_word) {
            let status = self.status(text, span)?;
            let parts = triggers.iter().map(|id| When::Is(id.clone(), status));
            return When::either(parts.collect());
        }
        match condition::read(text, |words| self.comparison(words, span)) {
            Ok(on) => Some(on),
            Err(why) => {
                let what = format!("the condition `{}`", excerpt(text));
                self.draft.lost(span, what, why);
                None
            }
        }
    }

    /// Parses a comparison such as `002.status == 'done'`.
    fn comparison(&mut self, words: &mut Words<'_>, span: Span) -> Result<When, String> {
        let subject = words.take()?;
        let id = subject.strip_suffix(".status").ok_or_else(|| {
            format!(
                "`{}` is not a task status such as `002.status`",
                excerpt(subject)
            )
        })?;
        if !self.tasks.contains_key(id) {
            self.unknown_task(id, span);
            return Err(format!("there is no task `{}`", excerpt(id)));
        }
        let negated = match words.comparison() {
            Some(BinaryOp::Equal) => false,
            Some(BinaryOp::NotEqual) => true,
            _ => {
                return Err(format!(
                    "`{}` must be compared with `==` or `!=`",
                    excerpt(subject)
                ));
            }
        };
        let written = words.take()?.trim_matches(['"', '\'']);
        let status = self
            .status(written, span)
            .ok_or_else(|| format!("`{}` is not a status", excerpt(written)))?;
        let test = When::Is(id.to_owned(), status);
        Ok(if negated { test.not() } else { test })
    }

    /// Returns a condition as it is written in the plan. A task that starts as `created` counts as `not_started` until
    /// it is set, unless `waits` is true: then it must have been set.
    pub fn written(&self, on: &When, waits: bool) -> Expr {
        let joined =
            |parts: Vec<Expr>, operator| tree::joined(parts, operator).unwrap_or_else(tree::null);
        let events = |id: &str| self.tasks.get(id).map(event).unwrap_or_default();
        match on {
            When::Event(id) => joined(events(id), BinaryOp::And),
            When::Is(id, status) => {
                let Some(task) = self.tasks.get(id) else {
                    return tree::null();
                };
                let test = is(&task.name, status);
                if *status == FIRST && !waits && task.starts_created {
                    return joined(vec![is(&task.name, "created"), test], BinaryOp::Or);
                }
                test
            }
            When::Not(inner) => tree::not(self.written(inner, waits)),
            When::All(parts) => {
                let parts = parts.iter().flat_map(|part| match part {
                    When::Event(id) => events(id),
                    When::Is(..) | When::Not(_) | When::All(_) | When::Any(_) => {
                        vec![self.written(part, waits)]
                    }
                });
                joined(parts.collect(), BinaryOp::And)
            }
            When::Any(parts) => {
                let parts = parts.iter().map(|part| self.written(part, waits));
                joined(parts.collect(), BinaryOp::Or)
            }
        }
    }
}

/// Returns the tests for an event of a task that an output causes.
fn event(task: &Task) -> Vec<Expr> {
    let failed = tree::not(is(&task.name, "failed"));
    let mut tests = vec![tree::variable(&task.name)];
    tests.extend(task.fails_with_work().then_some(failed));
    tests
}
