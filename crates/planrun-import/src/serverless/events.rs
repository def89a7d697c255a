//! Events: `emit` becomes a call, `listen` becomes a wait for signals.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, StepBody, Text, WaitFor};
use planrun_lang::yaml::Node;

use super::call::Action;
use super::jq;
use crate::control_flow::repetition::{last_element, repeat_with};
use crate::document::items;
use crate::draft::{excerpt, is_writable};
use crate::expression::quote::plan;
use crate::expression::value::Value;
use crate::tree;

/// The namespace of the tool that publishes events.
pub const EVENTS: &str = "events";
/// The most events that a wait with a filter skips.
const MAX_PASSED: i64 = 1000;

impl<'d> Action<'_, '_, 'd, '_> {
    /// Writes an `emit` as a call, whose result is the event.
    pub fn emitted(&mut self) -> Value {
        let event = self
            .task
            .body()
            .get("event")
            .and_then(|node| node.get("with"));
        let mut arguments = Vec::new();
        for entry in event.and_then(Node::entries).unwrap_or_default() {
            if is_writable(&entry.name) {
                let value = self.template(&entry.value).expr();
                arguments.push((entry.name.clone(), value));
            } else {
                let what = format!("the attribute `{}` of an event", excerpt(&entry.name));
                let why = "this is not a valid name of an argument";
                self.workflow.draft.lost(entry.span, what, why);
            }
        }
        let call = self
            .workflow
            .draft
            .call(EVENTS, "emit", arguments, &BTreeSet::new());
        self.calls(call)
    }

    /// Writes a `listen` as one step per event, or as one step that waits for any of them. Returns the list of their
    /// payloads.
    pub fn listened(&mut self) -> Value {
        let to = self.task.body().get("to").unwrap_or(self.task.body());
        let what = format!("`listen` of task `{}`", excerpt(self.task.name));
        if let Some(node) = to.get("until").or(self.task.get("foreach")) {
            let why =
                "a step waits for one event: for several, use a `repeat` around it, or a listener";
            return self.not_called(node.span, why);
        }
        let (any, all) = (items(to, "any"), items(to, "all"));
        let filters = to.get("one").into_iter().chain(any).chain(all);
        let filters = filters.map(|filter| self.filter(filter));
        let Some(filters) = filters.collect::<Option<Vec<Filter<'d>>>>() else {
            let why = "an event without a constant type cannot become a signal, which needs a name";
            return self.not_called(to.span, why);
        };
        let is_one_of_several = any.len() > 1;
        if filters.is_empty() {
            let why = "a step can wait only for named events, not for any event";
            return self.not_called(to.span, why);
        }
        if is_one_of_several && filters.iter().any(|filter| filter.holds.is_some()) {
            let why = "a wait for one of several events cannot filter by their data";
            return self.not_called(to.span, why);
        }
        if filters.len() > 1 && !is_one_of_several {
            let why = "the events are in the order of the document, not of their arrival";
            self.workflow.draft.changed(to.span, &*what, why);
        }
        let read = self.task.body().get("read");
        let enveloped = read.filter(|node| node.text() != Some("data"));
        if let Some(node) = enveloped {
            let why = "a signal has only a name and data, and no other part of an envelope";
            self.workflow.draft.changed(node.span, what, why);
        }
        let brought = if is_one_of_several {
            vec![(None, self.any_of(&filters))]
        } else {
            let mut brought = Vec::new();
            for (number, filter) in filters.iter().enumerate() {
                let name = match number {
                    0 => self.workflow.step_name(self.task),
                    _ => self.workflow.draft.name(self.task.name),
                };
                let event = self.one_of(&name, filter);
                brought.push((Some(filter.kind), event));
            }
            brought
        };
        let events = brought.into_iter().map(|(kind, value)| {
            if enveloped.is_none() {
                return value;
            }
            let kind = kind.map_or_else(tree::null, tree::text);
            tree::object([("type", kind), ("data", value)])
        });
        Value::Opaque(tree::list(events.collect()))
    }

    /// Writes a wait for the first of several events.
    fn any_of(&mut self, filters: &[Filter<'d>]) -> Expr {
        let signals = filters.iter().map(|filter| signal(filter.kind)).collect();
        let on = tree::joined(signals, BinaryOp::Or).unwrap_or_else(tree::null);
        let name = self.workflow.step_name(self.task);
        let clauses = self.clauses();
        self.out.push(tree::step(&name, wait(on), clauses));
        tree::variable(&name)
    }

    /// Writes a wait for one event; events that do not match the filter are skipped.
    fn one_of(&mut self, name: &str, filter: &Filter<'d>) -> Expr {
        let on = wait(signal(filter.kind));
        let clauses = self.clauses();
        let Some(condition) = filter.holds else {
            self.out.push(tree::step(name, on, clauses));
            return tree::variable(name);
        };
        let got = self
            .workflow
            .draft
            .name(&format!("{}_event", self.task.name));
        let round = self.workflow.draft.name("round");
        let event = self.data.on(Value::Opaque(tree::variable(&got)));
        let holds = jq::truth(event.expression(condition, self.workflow.draft).expr());
        let number = tree::variable(&round);
        let body = vec![
            tree::step(&got, on, Vec::new()),
            tree::yields(tree::variable(&got)),
            tree::next(plan!("holds ? null : number + 1", holds, number)),
        ];
        let body = repeat_with(&round, tree::int(0), MAX_PASSED, body);
        self.out.push(tree::step(name, body, clauses));
        last_element(&tree::variable(name))
    }

    /// Translates a filter of events; `None` if it has no constant type.
    fn filter(&mut self, filter: &'d Node) -> Option<Filter<'d>> {
        let with = filter.get("with").unwrap_or(filter);
        let parts = with.entries().unwrap_or_default().iter();
        let parts = parts.chain(filter.entries().unwrap_or_default());
        let known = ["type", "data", "with"];
        for entry in parts.filter(|entry| !known.contains(&entry.name.as_str())) {
            let what = format!("a filter of task `{}`", excerpt(self.task.name));
            let name = excerpt(&entry.name);
            let why = format!(
                "`{name}` is omitted: a signal has only a name and data, and is sent to one run"
            );
            self.workflow.draft.changed(entry.span, what, why);
        }
        let kind = with.get("type").and_then(Node::text)?;
        (!kind.contains("${")).then_some(Filter {
            kind,
            holds: with.get("data"),
        })
    }
}

struct Filter<'d> {
    /// The type of the event.
    kind: &'d str,
    /// The condition on its data.
    holds: Option<&'d Node>,
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
