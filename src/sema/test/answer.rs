//! `answer` and `signal`: what people and other systems say to the run.

use std::sync::Arc;

use super::TestChecker;
use super::item::{Reaction, TestAnswer, TestSignal};
use crate::diag::{Diagnostic, codes};
use crate::sema::finding::unknown;
use crate::sema::plan::{Event, EventKind, Input, NodeKind, Plan, Step, StepKind, Wait};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Denied, ErrorClass, Field, ObjectType, Rest, Type};

/// The last part of the path of a gate.
const GATE: &str = "confirm";

/// What stands at the path of an answer.
enum Question<'p> {
    Gate(&'p Step),
    Form(&'p Input),
    /// A call of which nobody knows whether it happened.
    Doubt(&'p Step),
}

impl TestChecker<'_> {
    pub(super) fn answer(&mut self, path: &ast::Expr, outcome: &ast::MockOutcome) -> Option<TestAnswer> {
        let plan = self.plan.clone();
        let Some((text, names)) = path_of(path) else {
            if path.kind != ast::ExprKind::Error {
                let message = "an answer names the step that asks: `step`, `step.confirm`, `steps[0].inner`";
                self.diagnostics.push(Diagnostic::new(&codes::tests::TEST_PATH, path.span, message));
            }
            return None;
        };
        let Some(question) = question(&plan, &names) else {
            let mut known = Vec::new();
            questions(&plan, "", &mut known);
            let known = known.iter().map(String::as_str);
            self.diagnostics.push(unknown(&codes::tests::TEST_PATH, "question at", &text, path.span, known));
            return None;
        };
        let reaction = match &outcome.kind {
            ast::MockOutcomeKind::Value(value) => {
                let what = format_args!("the answer to `{text}`");
                Reaction::Value(self.constant_of(value, &question.ty(), &what))
            }
            ast::MockOutcomeKind::Fail { class, message } => {
                let class = self.refusal(class, &question)?;
                let message = message.as_ref().map(|message| self.constant_of(message, &Type::String, &"the note"));
                Reaction::Fail { class, message }
            }
            ast::MockOutcomeKind::Generated | ast::MockOutcomeKind::Crash { .. } => {
                let message = "people answer with a value, or not at all";
                let finding = Diagnostic::new(&codes::tests::TEST_OUTCOME, outcome.span, message);
                self.diagnostics
                    .push(finding.help("write the answer, or `fail denied.human`, or `fail denied.expired`"));
                return None;
            }
        };
        let times = outcome.times.as_ref().map(|times| self.times(times));
        Some(TestAnswer { span: outcome.span, path: text.into(), reaction, times, delay: self.delay(outcome) })
    }

    /// How people refuse.
    fn refusal(&mut self, name: &ast::Name, question: &Question<'_>) -> Option<ErrorClass> {
        let class = ErrorClass::find(&name.text);
        match (&class, question) {
            (Some(ErrorClass::Denied(Denied::Human)), Question::Gate(_)) => return class,
            (Some(ErrorClass::Denied(Denied::Expired)), question) if question.expires() => return class,
            (Some(ErrorClass::Denied(Denied::Expired)), _) => {
                let message = "this question never expires";
                let finding = Diagnostic::new(&codes::tests::TEST_OUTCOME, name.span, message);
                self.diagnostics.push(finding.help("give it an end with `expires 1d` in the plan"));
                return None;
            }
            _ => {}
        }
        let can = match question {
            Question::Gate(_) => ["denied.human", "denied.expired"].as_slice(),
            Question::Form(_) | Question::Doubt(_) => &["denied.expired"],
        };
        let message = format!("nobody answers with `{}`", name.text);
        let finding = Diagnostic::new(&codes::tests::TEST_OUTCOME, name.span, message);
        self.diagnostics.push(finding.help(format!("write {}", can.join(" or "))).available(can.to_vec()));
        None
    }

    pub(super) fn signal(
        &mut self,
        name: &ast::Text,
        payload: Option<&ast::Expr>,
        at: &ast::Expr,
    ) -> Option<TestSignal> {
        let at = self.duration(at, "the time of a signal");
        let plan = self.plan.clone();
        let ty = match name.text.split_once('=') {
            Some((task, status)) => self.moved(&plan, task, status, name.span)?,
            None => self.signalled(&plan, name)?,
        };
        let what = format_args!("what the signal `{}` brings", name.text);
        let payload = payload.map(|payload| self.constant_of(payload, &ty, &what));
        Some(TestSignal { span: name.span, name: name.text.clone(), payload, at })
    }

    /// The type of what a signal brings.
    fn signalled(&mut self, plan: &Plan, name: &ast::Text) -> Option<Type> {
        let mut heard: Vec<(Arc<str>, Type)> = Vec::new();
        signals(plan, &mut heard);
        let types: Vec<Type> =
            heard.iter().filter(|(known, _)| *known == name.text).map(|(_, ty)| ty.clone()).collect();
        let Some(first) = types.first() else {
            let mut names = heard.iter().map(|(name, _)| &**name).collect::<Vec<_>>();
            names.sort_unstable();
            let code = &codes::tests::TEST_PATH;
            let what = "signal that the plan listens to called";
            let finding = unknown(code, what, &name.text, name.span, names.into_iter());
            // The name stands in quotes.
            self.diagnostics.push(Diagnostic { fix: None, ..finding });
            return None;
        };
        Some(first.clone())
    }

    /// The context that a move from outside may bring.
    fn moved(&mut self, plan: &Plan, task: &str, status: &str, span: Span) -> Option<Type> {
        let external = || plan.tasks.iter().filter(|task| task.external);
        let Some(found) = external().find(|known| &*known.name == task) else {
            let names = external().map(|task| &*task.name);
            let finding = unknown(&codes::tests::TEST_PATH, "external task", task, span, names);
            self.diagnostics.push(Diagnostic { fix: None, ..finding });
            return None;
        };
        if !found.statuses.iter().any(|known| &**known == status) {
            let names = found.statuses.iter().map(|status| &**status);
            let finding = unknown(&codes::names::UNKNOWN_STATUS, "status", status, span, names);
            self.diagnostics.push(Diagnostic { fix: None, ..finding });
            return None;
        }
        Some(partial(&found.context))
    }
}

impl Question<'_> {
    /// What is taken as an answer.
    fn ty(&self) -> Type {
        match self {
            Self::Gate(_) => {
                let fields =
                    [("approve", Type::Bool, true), ("by", Type::String, false), ("note", Type::String, false)];
                Type::union([Type::Bool, object(fields)])
            }
            Self::Form(input) => {
                let fields = input.fields.iter().map(|field| {
                    let required = field.default.is_none() && !field.ty.admits_null();
                    Field { name: field.name.clone(), ty: field.ty.clone(), required }
                });
                Type::Object(Arc::new(ObjectType { fields: fields.collect(), rest: Rest::Closed }))
            }
            Self::Doubt(step) => object([("happened", Type::Bool, true), ("value", step.ty.clone(), false)]),
        }
    }

    fn expires(&self) -> bool {
        match self {
            Self::Gate(step) => {
                let confirm = step.clauses.as_ref().and_then(|clauses| clauses.confirm.as_ref());
                confirm.is_some_and(|confirm| confirm.expires.is_some())
            }
            Self::Form(input) => input.expires.is_some(),
            Self::Doubt(_) => false,
        }
    }
}

fn object<const N: usize>(fields: [(&str, Type, bool); N]) -> Type {
    let fields = fields.into_iter().map(|(name, ty, required)| Field { name: name.into(), ty, required });
    Type::Object(Arc::new(ObjectType { fields: fields.collect(), rest: Rest::Closed }))
}

/// A context of which only a part need be given.
fn partial(context: &Type) -> Type {
    let Type::Object(object) = context else { return context.clone() };
    let fields = object.fields.iter().map(|field| Field { required: false, ..field.clone() }).collect();
    Type::Object(Arc::new(ObjectType { fields, rest: object.rest.clone() }))
}

/// The path that an expression spells, and the names in it.
fn path_of(expression: &ast::Expr) -> Option<(String, Vec<Arc<str>>)> {
    match &expression.kind {
        ast::ExprKind::Name(name) => Some((name.to_string(), vec![name.clone()])),
        ast::ExprKind::Path { base, links } => {
            let (mut text, mut names) = path_of(base)?;
            for link in links {
                match &link.kind {
                    ast::LinkKind::Field { name, safe: false } => {
                        text.push('.');
                        text.push_str(&name.text);
                        names.push(name.text.clone());
                    }
                    ast::LinkKind::Index { index, safe: false } => match &index.kind {
                        ast::ExprKind::Literal(ast::Literal::Int(index)) => text.extend(["[", &index.to_string(), "]"]),
                        ast::ExprKind::Literal(ast::Literal::String(key)) => {
                            text.extend(["[", &serde_json::Value::from(&**key).to_string(), "]"]);
                        }
                        _ => return None,
                    },
                    _ => return None,
                }
            }
            Some((text, names))
        }
        _ => None,
    }
}

/// What stands at a path: the last name is that of a step, which is unique in its plan.
fn question<'p>(plan: &'p Plan, names: &[Arc<str>]) -> Option<Question<'p>> {
    let gate = names.len() > 1 && names.last().is_some_and(|name| **name == *GATE);
    let names = if gate { &names[..names.len() - 1] } else { names };
    let name = names.iter().rev().find(|name| !["recover", "undo", "verify"].contains(&&***name))?;
    let steps = plan.blocks.iter().flat_map(|block| &block.nodes);
    let own = steps.filter(|node| node.name.as_ref() == Some(name)).find_map(|node| node.step());
    let Some(step) = own else { return plan.plans.iter().find_map(|plan| question_with(plan, name, gate)) };
    as_question(step, gate)
}

fn question_with<'p>(plan: &'p Plan, name: &Arc<str>, gate: bool) -> Option<Question<'p>> {
    let own = plan.blocks.iter().flat_map(|block| &block.nodes).find(|node| node.name.as_ref() == Some(name));
    match own.and_then(|node| node.step()) {
        Some(step) => as_question(step, gate),
        None => plan.plans.iter().find_map(|plan| question_with(plan, name, gate)),
    }
}

fn as_question(step: &Step, gate: bool) -> Option<Question<'_>> {
    let confirms = step.clauses.as_ref().is_some_and(|clauses| clauses.confirm.is_some());
    match &step.kind {
        _ if gate => confirms.then_some(Question::Gate(step)),
        StepKind::Input(input) => Some(Question::Form(input)),
        StepKind::Call(_) if !step.effect.repeatable() => Some(Question::Doubt(step)),
        _ => None,
    }
}

/// Every path at which a plan asks people, without the indices of elements.
fn questions(plan: &Plan, before: &str, known: &mut Vec<String>) {
    for node in plan.blocks.iter().flat_map(|block| &block.nodes) {
        let (Some(step), Some(name)) = (node.step(), &node.name) else { continue };
        if step.clauses.as_ref().is_some_and(|clauses| clauses.confirm.is_some()) {
            known.push(format!("{before}{name}.{GATE}"));
        }
        if matches!(step.kind, StepKind::Input(_)) {
            known.push(format!("{before}{name}"));
        }
    }
    known.sort();
}

/// The signals that a plan listens to or waits for, with what they bring.
fn signals(plan: &Plan, heard: &mut Vec<(Arc<str>, Type)>) {
    for node in plan.blocks.iter().flat_map(|block| &block.nodes) {
        let (on, ty): (&Event, Type) = match &node.kind {
            NodeKind::Listener(listener) => (&listener.on, listener.brings.clone().unwrap_or(Type::Any)),
            NodeKind::Step(step) => match &step.kind {
                StepKind::Wait(wait) => match &**wait {
                    Wait::Event { on, payload } => (on, payload.clone().unwrap_or(Type::Any)),
                    Wait::For(_) | Wait::Until(_) => continue,
                },
                _ => continue,
            },
            _ => continue,
        };
        let only = matches!(on.kind, EventKind::Signal(_));
        on.leaves(&mut |leaf| {
            if let EventKind::Signal(name) = &leaf.kind {
                heard.push((name.clone(), if only { ty.clone() } else { Type::Any }));
            }
        });
    }
    plan.plans.iter().for_each(|plan| signals(plan, heard));
}

/// A path without what stands in brackets.
#[must_use]
pub fn without_indices(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let (mut inside, mut quoted, mut escaped) = (false, false, false);
    for character in path.chars() {
        match character {
            '[' if !inside => inside = true,
            ']' if inside && !quoted => inside = false,
            '"' if inside && !escaped => quoted = !quoted,
            _ if !inside => text.push(character),
            _ => {}
        }
        escaped = inside && character == '\\' && !escaped;
    }
    text
}
