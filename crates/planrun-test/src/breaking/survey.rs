//! What a plan does, called plans included: tools and whether somebody is asked before them, forms, signals, failures.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{
    BlockId, Call, Confirm, Event, EventKind, Input, Node, NodeKind, Plan, Recover, Step, StepKind,
    Target, Wait,
};
use planrun_lang::source::Span;
use planrun_lang::types::{Effect, ErrorClass, Signature, Type, Validation};

use super::difference::below;

/// What a plan does, and where.
#[derive(Clone, Default)]
pub(super) struct Survey {
    /// By dotted name.
    pub tools: BTreeMap<String, Called>,
    /// By the path of their step.
    pub forms: BTreeMap<String, Form>,
    /// Those that something listens to or waits for, by name.
    pub signals: BTreeMap<Arc<str>, Signal>,
    /// The classes that the plan is known to fail with, by name: those of the tools' contracts and its own promises.
    pub errors: BTreeMap<String, (ErrorClass, Span)>,
}

/// A tool and all calls of it.
#[derive(Clone)]
pub(super) struct Called {
    pub signature: Arc<Signature>,
    /// The highest class of a call.
    pub effect: Effect,
    /// The first call.
    pub span: Span,
    /// The first call before which nobody is asked.
    pub unconfirmed: Option<Span>,
    /// Who is asked before the others; as the plan writes it, empty for anybody.
    pub roles: BTreeSet<String>,
}

/// A step that asks for something.
#[derive(Clone)]
pub(super) struct Form {
    pub span: Span,
    /// Who may answer; empty for anybody.
    pub role: String,
    /// An object of its fields.
    pub takes: Type,
}

/// A signal that somebody may send.
#[derive(Clone)]
pub(super) struct Signal {
    pub span: Span,
    /// The types that statements declare for its payload, by their text; it must be of each.
    pub payloads: BTreeMap<String, Type>,
}

impl Survey {
    /// What this plan does.
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
        for (path, form) in other.forms {
            self.forms.entry(path).or_insert(form);
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

    /// As seen from a step around it: all of it stands at one place, below a name.
    fn within(&self, name: &str, span: Span) -> Self {
        let mut moved = self.clone();
        moved.forms = self
            .forms
            .iter()
            .map(|(path, form)| (below(name, path), form.clone()))
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

    /// Behind a question.
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

/// Looks at each plan once, however many others call it.
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
            survey.join(self.aside(plan, verify.body, path));
            survey.fails(ErrorClass::Validation(Validation::Verify), verify.span);
        }
        if let Some(check) = step.agent_check() {
            if let Some(body) = check.body() {
                survey.join(self.aside(plan, body, path));
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
            survey.join(self.aside(plan, undo.body, path));
        }
        if let Some(confirm) = step
            .clauses
            .as_ref()
            .and_then(|clauses| clauses.confirm.as_ref())
        {
            survey.confirm(confirm);
        }
        survey
    }

    /// What a step does without its clauses.
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
                survey.forms.insert(path.to_owned(), form(input, node.span));
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

    /// What looks whether a step happened, or takes it back: it fails in a way of its own.
    fn aside(&mut self, plan: &Plan, body: BlockId, path: &str) -> Survey {
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
    let field = |field: &planrun_lang::sema::InputField| planrun_lang::types::Field {
        name: field.name.clone(),
        ty: field.ty.clone(),
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

/// The role that may answer, as far as it is known before the run.
fn role(by: Option<&Code>) -> String {
    let known = by.map(|by| {
        by.constant()
            .and_then(|role| role.as_str())
            .unwrap_or("whom the run decides")
    });
    known.unwrap_or_default().to_owned()
}
