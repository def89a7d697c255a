//! Events: `emit` as a call, `listen` as a wait for signals.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Statement, StepBody, Text, WaitFor};
use planrun_lang::yaml::Node;

use super::Workflow;
use super::data::Data;
use super::jq;
use super::tasks::Task;
use crate::document::items;
use crate::draft::{excerpt, is_writable};
use crate::tree;
use crate::ways::repetition::{last_of, rounds_of};
use crate::ways::value::Value;

/// The namespace of the tool that publishes events.
pub const EVENTS: &str = "events";
/// How many events are passed over at most that a filter does not let through.
const MAX_PASSED: i64 = 1000;

impl<'d> Workflow<'_, 'd, '_> {
    /// `emit`: a call, whose result is the event.
    pub fn emitted(&mut self, task: &Task<'d>, data: &Data, out: &mut Vec<Statement>) -> Value {
        let event = task.body().get("event").and_then(|node| node.get("with"));
        let mut arguments = Vec::new();
        for entry in event.and_then(Node::entries).unwrap_or_default() {
            if is_writable(&entry.name) {
                let value = self.template(&entry.value, data).expr();
                arguments.push((entry.name.clone(), value));
            }
        }
        let call = self.draft.call(EVENTS, "emit", arguments, &BTreeSet::new());
        self.calls(task, call, out)
    }

    /// `listen`: a step for each event that is waited for, and the list of what they bring.
    pub fn listened(&mut self, task: &Task<'d>, data: &Data, out: &mut Vec<Statement>) -> Value {
        let to = task.body().get("to").unwrap_or(task.body());
        let what = format!("`listen` of task `{}`", excerpt(task.name));
        let more = to.get("until").or(task.get("foreach"));
        let (any, all) = (items(to, "any"), items(to, "all"));
        if let Some(node) = more {
            let why = "a step waits for one event; go through several with a `repeat` around it, or a listener";
            return Value::Opaque(self.draft.hole(node.span, what, why));
        }
        if any.is_empty() && all.is_empty() && to.get("one").is_none() {
            let why = "a step waits for events that have a name, and not for any event";
            return Value::Opaque(self.draft.hole(to.span, what, why));
        }
        let envelope = task.body().get("read").and_then(Node::text);
        let is_bare = matches!(envelope, None | Some("data"));
        if let Some(node) = task.body().get("read").filter(|_| !is_bare) {
            let why = "a signal has a name and data, and no more of an envelope";
            self.draft.changed(node.span, &*what, why);
        }
        let brought = if let [_, _, ..] = any {
            vec![self.any_of(task, any, out)]
        } else {
            let one = to.get("one").into_iter().chain(any).chain(all);
            let one: Vec<&'d Node> = one.collect();
            if one.len() > 1 {
                let why = "the events stand in the order of the document, and not of their arrival";
                self.draft.changed(to.span, what, why);
            }
            let mut brought = Vec::new();
            for (number, filter) in one.into_iter().enumerate() {
                let name = match number {
                    0 => self.step_name(task),
                    _ => self.draft.name(task.name),
                };
                brought.push(self.one_of(task, name, filter, data, out));
            }
            brought
        };
        let events = brought.into_iter().map(|(kind, value)| {
            if is_bare {
                return value;
            }
            let kind = kind.map_or_else(tree::null, |kind| tree::text(&kind));
            tree::object(vec![("type".to_owned(), kind), ("data".to_owned(), value)])
        });
        Value::Opaque(tree::list(events.collect()))
    }

    /// A wait for the first of several events.
    fn any_of(
        &mut self,
        task: &Task<'d>,
        filters: &'d [Node],
        out: &mut Vec<Statement>,
    ) -> (Option<String>, Expr) {
        let mut signals = Vec::new();
        for filter in filters {
            let (kind, condition) = self.filter(task, filter);
            if let Some(node) = condition {
                let what = format!("a filter of task `{}`", excerpt(task.name));
                let why =
                    "a wait for one of several events takes what comes; ask its data behind it";
                self.draft.lost(node.span, what, why);
            }
            signals.extend(kind.map(|kind| signal(&kind)));
        }
        let on = tree::joined(signals, BinaryOp::Or).unwrap_or_else(tree::null);
        let name = self.step_name(task);
        let clauses = self.clauses(task);
        out.push(tree::step(&name, wait(on), clauses));
        (None, tree::variable(&name))
    }

    /// A wait for one event; what a filter does not let through is passed over.
    fn one_of(
        &mut self,
        task: &Task<'d>,
        name: String,
        filter: &'d Node,
        data: &Data,
        out: &mut Vec<Statement>,
    ) -> (Option<String>, Expr) {
        let (kind, condition) = self.filter(task, filter);
        let on = kind.as_deref().map_or_else(tree::null, signal);
        let clauses = self.clauses(task);
        let Some(condition) = condition else {
            out.push(tree::step(&name, wait(on), clauses));
            return (kind, tree::variable(&name));
        };
        let got = self.draft.name(&format!("{}_event", task.name));
        let round = self.draft.name("round");
        let event = data.on(Value::Opaque(tree::variable(&got)));
        let holds = jq::truth(self.expression(condition, &event).expr());
        let following = tree::binary(tree::variable(&round), BinaryOp::Add, tree::int(1));
        let body = vec![
            tree::step(&got, wait(on), Vec::new()),
            tree::yields(tree::variable(&got)),
            tree::next(tree::conditional(holds, tree::null(), following)),
        ];
        let body = rounds_of(&round, tree::int(0), MAX_PASSED, body);
        out.push(tree::step(&name, body, clauses));
        (kind, last_of(tree::variable(&name)))
    }

    /// The type of the events that a filter lets through, and what it asks of their data.
    fn filter(&mut self, task: &Task<'d>, filter: &'d Node) -> (Option<String>, Option<&'d Node>) {
        let what = format!("a filter of task `{}`", excerpt(task.name));
        let with = filter.get("with").unwrap_or(filter);
        for entry in with.entries().unwrap_or_default() {
            if !["type", "data", "with", "correlate"].contains(&entry.name.as_str()) {
                let why = format!(
                    "`{}` is left out: a signal has a name and data",
                    excerpt(&entry.name)
                );
                self.draft.changed(entry.span, &*what, why);
            }
        }
        if let Some(node) = filter.get("correlate") {
            let why = "signals go to one run, whose name says for whom they are";
            self.draft.lost(node.span, &*what, why);
        }
        let kind = with.get("type").and_then(Node::text);
        if kind.is_none_or(|kind| kind.contains("${")) {
            let why = "has no type that is written down, and a signal has a name";
            self.draft.lost(filter.span, what, why);
        }
        (kind.map(str::to_owned), with.get("data"))
    }
}

fn signal(kind: &str) -> Expr {
    tree::expr(ExprKind::Signal(Text {
        text: kind.into(),
        span: tree::NOWHERE,
    }))
}

fn wait(on: Expr) -> StepBody {
    StepBody::Wait(WaitFor::Condition {
        on,
        payload: Some(Box::new(tree::type_named("any"))),
    })
}
