//! Collects what a plan does, including the plans that it calls: tools and their confirmations, forms, signals,
//! failures.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{
    BlockId, Call, Confirm, Event, EventKind, Input, InputField, Node, NodeKind, Plan, Recover,
    Step, StepKind, Target, Wait,
};
use planrun_lang::source::Span;
use planrun_lang::types::{Effect, ErrorClass, Literal, Signature, Type, Validation};
use planrun_lang::value::Value;

use super::difference::below;

/// The actions of a plan, with spans.
#[derive(Clone, Default)]
pub(super) struct Survey {
    /// Called tools, by dotted name.
    pub tools: BTreeMap<String, Called>,
    /// Forms, by the path of their step and their number among those with that path, such as in branches of an `if`.
    pub forms: BTreeMap<(String, usize), Form>,
    /// Signals that the plan listens to or waits for, by name.
    pub signals: BTreeMap<Arc<str>, Signal>,
    /// The error classes with which the plan is known to fail, by name: those in the contracts of its tools, and
    /// those of its own `ensure`, `fail`, `until` and `verify`.
    pub errors: BTreeMap<String, (ErrorClass, Span)>,
}

/// A tool and all its calls.
#[derive(Clone)]
pub(super) struct Called {
    pub signature: Arc<Signature>,
    /// The highest effect class of its calls.
    pub effect: Effect,
    /// Span of the first call.
    pub span: Span,
    /// Span of the first call that needs no confirmation.
    pub unconfirmed: Option<Span>,
    /// The roles that confirm the other calls, as written in the plan; an empty string means anybody.
    pub roles: BTreeSet<String>,
}

/// An `input` step.
#[derive(Clone)]
pub(super) struct Form {
    pub span: Span,
    /// The role that may answer; an empty string means anybody.
    pub role: String,
    /// An object type of its fields.
    pub takes: Type,
}

/// A signal that can be sent to the plan.
#[derive(Clone)]
pub(super) struct Signal {
    pub span: Span,
    /// The payload types that statements declare, by their text; a payload must match each of them.
    pub payloads: BTreeMap<String, Type>,
}

impl Survey {
    /// Returns what this plan does.
    pub(super) fn of(plan: &Plan) -> Rc<Self> {
        Surveyor::default().plan(plan)
    }

    fn join(&mut self, other: Self) {
        for (path, called) in other.tools {
            match self.tools.get_mut(&path) {
                Some(known) => known.join(called),
                None => drop(self.tools.insert(path, called)),
            }
        }
        for ((path, _), form) in other.forms {
            let same = self.forms.keys().filter(|(known, _)| *known == path);
            let number = same.count();
            self.forms.insert((path, number), form);
        }
        for (name, signal) in other.signals {
            match self.signals.get_mut(&name) {
                Some(known) => known.payloads.extend(signal.payloads),
                None => drop(self.signals.insert(name, signal)),
            }
        }
        for (name, error) in other.errors {
            self.errors.entry(name).or_insert(error);
        }
    }

    fn fails(&mut self, class: ErrorClass, span: Span) {
        self.errors
            .entry(class.to_string())
            .or_insert((class, span));
    }

    fn calls(&mut self, signature: &Arc<Signature>, effect: Effect, span: Span) {
        let (signature, roles, unconfirmed) = (signature.clone(), BTreeSet::new(), Some(span));
        self.tools.insert(
            signature.path(),
            Called {
                signature,
                effect,
                span,
                unconfirmed,
                roles,
            },
        );
    }

    /// Returns the survey of a called plan as part of the calling step: everything has the span of the call, and
    /// forms have paths below `name`.
    fn within(&self, name: &str, span: Span) -> Self {
        let mut moved = self.clone();
        moved.forms = self
            .forms
            .iter()
            .map(|((path, number), form)| ((below(name, path), *number), form.clone()))
            .collect();
        moved.forms.values_mut().for_each(|form| form.span = span);
        moved
            .signals
            .values_mut()
            .for_each(|signal| signal.span = span);
        moved
            .errors
            .values_mut()
            .for_each(|(_, place)| *place = span);
        for called in moved.tools.values_mut() {
            called.span = span;
            called.unconfirmed = called.unconfirmed.map(|_| span);
        }
        moved
    }

    /// Records that all calls are confirmed by these people.
    fn confirm(&mut self, confirm: &Confirm) {
        let role = role(confirm.by.as_ref());
        for called in self.tools.values_mut() {
            called.unconfirmed = None;
            called.roles.insert(role.clone());
        }
    }
}

impl Called {
    fn join(&mut self, other: Self) {
        self.effect = self.effect.max(other.effect);
        self.unconfirmed = self.unconfirmed.or(other.unconfirmed);
        self.roles.extend(other.roles);
    }
}

/// Surveys each plan only once, even if several plans call it.
#[derive(Default)]
struct Surveyor {
    known: HashMap<*const Plan, Rc<Survey>>,
}

impl Surveyor {
    fn plan(&mut self, plan: &Plan) -> Rc<Survey> {
        if let Some(known) = self.known.get(&std::ptr::from_ref(plan)) {
            return known.clone();
        }
        let survey = Rc::new(self.block(plan, BlockId(0), ""));
        self.known.insert(std::ptr::from_ref(plan), survey.clone());
        survey
    }

    fn block(&mut self, plan: &Plan, id: BlockId, path: &str) -> Survey {
        let block = plan.block(id);
        let path = block
            .label
            .as_ref()
            .map_or_else(|| path.to_owned(), |label| below(path, label));
        let mut survey = Survey::default();
        for node in &block.nodes {
            let path = node
                .name
                .as_ref()
                .map_or_else(|| path.clone(), |name| below(&path, name));
            survey.join(self.node(plan, node, &path));
        }
        survey
    }

    fn node(&mut self, plan: &Plan, node: &Node, path: &str) -> Survey {
        let mut survey = Survey::default();
        match &node.kind {
            NodeKind::Step(step) => return self.step(plan, node, step, path),
            NodeKind::Ensure { .. } => {
                survey.fails(ErrorClass::Validation(Validation::Ensure), node.span);
            }
            NodeKind::Fail(failing) => survey.fails(failing.class.clone(), node.span),
            NodeKind::Listener(listener) => {
                survey = self.block(plan, listener.body, path);
                listen(&listener.on, listener.brings.as_ref(), &mut survey);
            }
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_) => {}
        }
        survey
    }

    fn step(&mut self, plan: &Plan, node: &Node, step: &Step, path: &str) -> Survey {
        let mut survey = self.work(plan, node, step, path);
        if let Some(until) = step.until() {
            survey.fails(
                ErrorClass::Validation(Validation::Until),
                until.condition.span,
            );
        }
        if let Some(verify) = step.verify() {
            survey.join(self.without_errors(plan, verify.body, path));
            survey.fails(ErrorClass::Validation(Validation::Verify), verify.span);
        }
        if let Some(check) = step.agent_check() {
            if let Some(body) = check.body() {
                survey.join(self.without_errors(plan, body, path));
            }
            survey.fails(ErrorClass::Validation(Validation::Verify), check.span);
        }
        survey
            .errors
            .retain(|_, (class, _)| !step.recover.iter().any(|arm: &Recover| arm.catches(class)));
        for arm in &step.recover {
            survey.join(self.block(plan, arm.body, path));
        }
        if let Some(undo) = step.undo() {
            survey.join(self.without_errors(plan, undo.body, path));
        }
        if let Some(confirm) = step.confirm() {
            survey.confirm(confirm);
        }
        survey
    }

    /// Returns what a step does, without its clauses.
    fn work(&mut self, plan: &Plan, node: &Node, step: &Step, path: &str) -> Survey {
        let mut survey = Survey::default();
        match &step.kind {
            StepKind::Call(call) => return self.call(plan, call, path),
            StepKind::Do(body) => return self.block(plan, *body, path),
            StepKind::Repeat(repeat) => return self.block(plan, repeat.body, path),
            StepKind::Each(each) => {
                survey = self.block(plan, each.body, path);
                if each.settle {
                    survey.errors.clear();
                }
            }
            StepKind::Race(branches) => {
                for (name, body) in branches {
                    survey.join(self.block(plan, *body, &below(path, name)));
                }
            }
            StepKind::Match { arms, .. } => {
                for (_, body) in arms {
                    survey.join(self.block(plan, *body, path));
                }
            }
            StepKind::Input(input) => {
                survey
                    .forms
                    .insert((path.to_owned(), 0), form(input, node.span));
            }
            StepKind::Wait(wait) => {
                if let Wait::Event { on, payload } = &**wait {
                    listen(on, payload.as_ref(), &mut survey);
                }
            }
            StepKind::Damaged => {}
        }
        survey
    }

    fn call(&mut self, plan: &Plan, call: &Call, path: &str) -> Survey {
        match &call.target {
            Target::Plan(index, _) => {
                let inner = plan.plans.get(*index).map(|inner| self.plan(inner));
                inner
                    .map(|inner| inner.within(path, call.span))
                    .unwrap_or_default()
            }
            Target::Tool(signature) => {
                let (signature, span) = (signature.clone(), call.span);
                let mut survey = Survey::default();
                for name in &signature.raises {
                    survey.fails(ErrorClass::Tool(name.clone()), span);
                }
                survey.calls(&signature, call.effect, span);
                survey
            }
        }
    }

    /// Returns what a `verify` or `undo` block does, without its errors: they do not become errors of the step.
    fn without_errors(&mut self, plan: &Plan, body: BlockId, path: &str) -> Survey {
        Survey {
            errors: BTreeMap::new(),
            ..self.block(plan, body, path)
        }
    }
}

fn listen(on: &Event, payload: Option<&Type>, survey: &mut Survey) {
    on.leaves(&mut |leaf| {
        if let EventKind::Signal(name) = &leaf.kind {
            let payloads = payload
                .iter()
                .map(|ty| (ty.to_string(), (*ty).clone()))
                .collect();
            let signals = BTreeMap::from([(
                name.clone(),
                Signal {
                    span: leaf.span,
                    payloads,
                },
            )]);
            survey.join(Survey {
                signals,
                ..Survey::default()
            });
        }
    });
}

fn form(input: &Input, span: Span) -> Form {
    let field = |field: &InputField| planrun_lang::types::Field {
        name: field.name.clone(),
        ty: offered(field).unwrap_or_else(|| field.ty.clone()),
        required: field.must_be_given(),
    };
    let takes = Type::object(
        input.fields.iter().map(field).collect(),
        planrun_lang::types::Rest::Closed,
    );
    Form {
        span,
        role: role(input.by.as_ref()),
        takes,
    }
}

/// Returns the type of the values that a field offers, if they are known and types can express them.
fn offered(field: &InputField) -> Option<Type> {
    let choices = field.options.as_ref()?.constant()?.as_list()?;
    let choice = |value: &Value| match value {
        Value::String(text) => Some(Type::text(text)),
        Value::Int(number) => Some(Type::Literal(Literal::Int(*number))),
        _ => None,
    };
    let choices: Option<Vec<Type>> = choices.iter().map(choice).collect();
    let choice = Type::union(choices?);
    let present = match field.ty.without_null() {
        Type::List(_) => choice.list(),
        _ => choice,
    };
    Some(if field.ty.admits_null() {
        present.optional()
    } else {
        present
    })
}

/// The role of a question whose role is computed by the run.
pub(super) const COMPUTED_ROLE: &str = "a role chosen at run time";

/// Returns the role that may answer; empty for anyone.
fn role(by: Option<&CheckedExpr>) -> String {
    let known = by.map(|by| {
        by.constant()
            .and_then(|role| role.as_str())
            .unwrap_or(COMPUTED_ROLE)
    });
    known.unwrap_or_default().to_owned()
}
