//! The statements of a listener: its call, and the outputs that it sets.

use planrun_lang::syntax::ast::{
    ArmBody, BinaryOp, ClauseKind, Expr, ExprKind, Statement, StatementKind, StepBody,
};
use planrun_lang::yaml::Node;

use super::flow::AfterFailure;
use super::listener::{Action, Listener, OUTPUTS};
use super::output::Given;
use super::{Importer, Task};
use crate::draft::excerpt;
use crate::tree;

impl Importer<'_, '_> {
    pub fn done_by(&mut self, listener: &Listener<'_>, action: Action, body: &mut Vec<Statement>) {
        let outputs = OUTPUTS.map(|(field, _)| listener.output(field));
        let [success, failure] = outputs;
        match action {
            Action::Lost(hole) => {
                // The outputs would depend on a result that does not exist.
                body.push(tree::fail("tool.not_carried", hole));
            }
            Action::Nothing(true) => {
                body.extend(success.map(|node| self.output(node, &Given::Nothing)));
            }
            Action::Nothing(false) => {
                let pauses = listener.after_failure == Some(AfterFailure::Pause);
                body.extend(failure.map(|node| self.output(node, &Given::Nothing)));
                if failure.is_none() || pauses {
                    let what = format!("the code of listener `{}`", excerpt(&listener.id));
                    let message = tree::text(&format!("{what} reports a failure"));
                    body.push(tree::fail("tool.failed", message));
                    let why = "always fails, and no listener reacts to it: the run fails, too";
                    self.draft.changed(listener.node.span, what, why);
                }
            }
            Action::Call(call) => {
                let name = self.draft.name(&format!("{}_result", listener.id));
                let value = match failure {
                    None => {
                        let step = tree::step(&name, StepBody::Call(call), vec![retry()]);
                        body.push(step);
                        tree::variable(&name)
                    }
                    Some(failure) if listener.after_failure == Some(AfterFailure::Pause) => {
                        self.paused(&name, call, failure, body);
                        tree::variable(&name)
                    }
                    Some(failure) => return self.caught(&name, call, (listener, failure), body),
                };
                body.extend(success.map(|node| self.output(node, &Given::Step(value))));
            }
        }
    }

    /// Writes a call after whose failure an output is set, and the run pauses: when it is resumed, the call is repeated.
    fn paused(&mut self, name: &str, call: Expr, failure: &Node, body: &mut Vec<Statement>) {
        let error = self.draft.name("e");
        let message = tree::field(tree::variable(&error), "message");
        let set = self.output(failure, &Given::Error(message.clone()));
        let fail = tree::fail("tool.failed", message);
        let arm = ArmBody::Do(tree::block(vec![set, fail]));
        let clauses = vec![retry(), tree::recover(&[], Some(&error), arm)];
        body.push(tree::step(name, StepBody::Call(call), clauses));
        let why = "also pauses the run, since no listener reacts to it: `planrun runs resume` repeats the call";
        self.draft.changed(failure.span, "a `failure_output`", why);
    }

    /// Writes a call after whose failure an output is set, and the run continues. If this triggers the listener again,
    /// the run pauses after the last time.
    fn caught(
        &mut self,
        name: &str,
        call: Expr,
        (listener, failure): (&Listener<'_>, &Node),
        body: &mut Vec<Statement>,
    ) {
        let inner = self.draft.name(&format!("{name}_call"));
        let error = self.draft.name("e");
        let tagged = |ok: bool, value: Expr| {
            tree::object(vec![
                ("ok".to_owned(), tree::boolean(ok)),
                ("value".to_owned(), value),
            ])
        };
        let message = tree::field(tree::variable(&error), "message");
        let value = tree::field(tree::variable(name), "value");
        let mut badly = self.output(failure, &Given::Error(value.clone()));
        let failed = tagged(false, message.clone());
        let arm = match listener.after_failure {
            Some(AfterFailure::Again(times)) => {
                let set = listener.sets.iter().find(|set| set.is_failure);
                let task = set.and_then(|set| self.tasks.get_mut(&set.task));
                let rounds = counted(task, &mut badly);
                let is_last = tree::binary(rounds, BinaryOp::GreaterEqual, tree::int(times));
                let last = tree::fail_when("tool.failed", message, is_last);
                ArmBody::Do(tree::block(vec![last, tree::yields(failed)]))
            }
            Some(AfterFailure::Pause | AfterFailure::Continue) | None => ArmBody::Expr(failed),
        };
        let arm = tree::recover(&[], Some(&error), arm);
        let steps = vec![
            tree::step(&inner, StepBody::Call(call), vec![retry()]),
            tree::yields(tagged(true, tree::variable(&inner))),
        ];
        let steps = StepBody::Do(tree::block(steps));
        body.push(tree::step(name, steps, vec![arm]));
        let success = listener.output("success_output");
        let well = success.map(|node| self.output(node, &Given::Step(value)));
        let ok = tree::field(tree::variable(name), "ok");
        let arms = vec![(ok, tree::block(well.into_iter().collect()))];
        let otherwise = Some(tree::block(vec![badly]));
        body.push(tree::statement(StatementKind::If { arms, otherwise }));
    }
}

/// Makes a `set` count how often it has triggered its listener again. Returns the number so far.
fn counted(task: Option<&mut Task>, set: &mut Statement) -> Expr {
    let (Some(task), StatementKind::Set { context, .. }) = (task, &mut set.kind) else {
        return tree::int(0);
    };
    let mut counter = "rounds".to_owned();
    while task.fields.contains(&counter) || task.counters.contains(&counter) {
        counter.push('_');
    }
    task.counters.insert(counter.clone());
    let read = tree::field(tree::variable(&task.name), &counter);
    let rounds = tree::coalesce(read, tree::int(0));
    let next = tree::binary(rounds.clone(), BinaryOp::Add, tree::int(1));
    let entry = tree::object(vec![(counter, next)]);
    match (
        context.as_deref_mut().map(|context| &mut context.kind),
        entry.kind,
    ) {
        (Some(ExprKind::Object(entries)), ExprKind::Object(more)) => entries.extend(more),
        (_, kind) => *context = Some(Box::new(tree::expr(kind))),
    }
    rounds
}

/// An agent of AIntegration makes up to three attempts at a call.
fn retry() -> ClauseKind {
    let classes = ["transient", "tool"].map(tree::variable);
    ClauseKind::Retry(tree::object(vec![
        ("attempts".to_owned(), tree::int(3)),
        ("on".to_owned(), tree::list(classes.to_vec())),
    ]))
}
