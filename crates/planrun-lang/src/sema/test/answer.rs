//! Checks `answer` and `signal` lines of tests: answers of people and signals from other systems.

use std::sync::Arc;

use super::TestChecker;
use super::item::{Reaction, TestAnswer, TestSignal};
use crate::diag::{Diagnostic, codes};
use crate::sema::expr::CheckedExpr;
use crate::sema::finding::{listed, quoted_path, unknown_as};
use crate::sema::plan::{
    BlockId, Call, Event, EventKind, Input, NodeKind, Plan, Step, StepKind, Target, Wait,
};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Denied, ErrorClass, Field, ObjectType, Rest, Type};

/// Last segment of the path of an approval.
const GATE: &str = "confirm";

/// The question at the path of an answer.
enum Question<'p> {
    Gate(&'p Step),
    Form(&'p Step, &'p Input),
    /// A call whose outcome may be unknown.
    UnknownOutcome(&'p Step),
}

impl TestChecker<'_> {
    pub(super) fn answer(
        &mut self,
        path: &ast::Expr,
        outcome: &ast::MockOutcome,
    ) -> Option<TestAnswer> {
        let plan = self.plan.clone();
        let Some((text, place)) = path_of(path) else {
            if path.kind != ast::ExprKind::Error {
                let message = "an answer must name the step that asks: `step`, `step.confirm`, `steps[0].inner`";
                let finding = codes::tests::TEST_PATH.at(path.span, message);
                self.diagnostics.push(
                    finding.help(
                        "use a number or a string as an index; without one, the answer is for every element",
                    ),
                );
            }
            return None;
        };
        let Some(question) = question(&plan, &place) else {
            let known = questions(&plan);
            let known = known.iter().map(String::as_str);
            let code = &codes::tests::TEST_PATH;
            self.diagnostics.push(unknown_as(
                code,
                "question at",
                &text,
                path.span,
                known,
                quoted_path,
            ));
            return None;
        };
        let reaction = self.answer_reaction(&text, outcome, &question)?;
        let times = outcome.times.as_ref().map(|times| self.times(times));
        Some(TestAnswer {
            span: outcome.span,
            path: text.into(),
            reaction,
            times,
            delay: self.delay(outcome),
        })
    }

    /// Checks the answer to a question.
    fn answer_reaction(
        &mut self,
        text: &str,
        outcome: &ast::MockOutcome,
        question: &Question<'_>,
    ) -> Option<Reaction> {
        match &outcome.kind {
            ast::MockOutcomeKind::Value(value) => {
                let what = format_args!("the answer to `{text}`");
                Some(Reaction::Value(self.constant_of(
                    value,
                    &question.ty(),
                    &what,
                )))
            }
            ast::MockOutcomeKind::Fail {
                class,
                message,
                details,
            } => {
                if let Some(details) = details {
                    self.no_details(details.span);
                }
                let class = self.refusal(class, question)?;
                let message = message
                    .as_ref()
                    .map(|message| self.constant_of(message, &Type::String, &"the note"));
                Some(Reaction::Fail {
                    class,
                    message,
                    details: None,
                })
            }
            ast::MockOutcomeKind::Generated | ast::MockOutcomeKind::Crash { .. } => {
                self.no_answer(outcome.span, question);
                None
            }
        }
    }

    /// Reports an outcome that only tools can have.
    fn no_answer(&mut self, span: Span, question: &Question<'_>) {
        let message = "a person answers with a value, or does not answer";
        let finding = codes::tests::TEST_OUTCOME.at(span, message);
        let refusals = question.refusals();
        let refusals = refusals.iter().map(|way| format!("`fail {way}`"));
        let ways = std::iter::once("write the answer".to_owned()).chain(refusals);
        let ways = ways.collect::<Vec<_>>().join(", or ");
        self.diagnostics.push(finding.help(ways));
    }

    /// Reports failure details, which only tools have.
    fn no_details(&mut self, span: Span) {
        let message = "only failures of tools have details";
        let finding = codes::tests::TEST_OUTCOME.at(span, message);
        self.diagnostics
            .push(finding.help("remove them, and put the reason for the refusal in its message"));
    }

    /// Checks the error class with which a person refuses.
    fn refusal(&mut self, name: &ast::Name, question: &Question<'_>) -> Option<ErrorClass> {
        let class = ErrorClass::find(&name.text);
        match (&class, question) {
            (Some(ErrorClass::Denied(Denied::Human)), Question::Gate(_)) => return class,
            (Some(ErrorClass::Expired), question) if question.expires() => return class,
            (Some(ErrorClass::Expired), _) => {
                let message = "this question never expires";
                let finding = codes::tests::TEST_OUTCOME.at(name.span, message);
                let end = match question {
                    Question::Form(..) => "`within 1d`",
                    Question::Gate(_) | Question::UnknownOutcome(_) => "`expires 1d`",
                };
                self.diagnostics
                    .push(finding.help(format!("add {end} in the plan")));
                return None;
            }
            _ => {}
        }
        let can = question.refusals();
        let message = format!("this question cannot be answered with `{}`", name.text);
        let finding = codes::tests::TEST_OUTCOME.at(name.span, message);
        let otherwise = if can.is_empty() {
            "write the answer: this question cannot be refused and never expires".to_owned()
        } else {
            format!("write an answer, or fail with {}", listed(can))
        };
        let finding = finding.suggest(&name.text, can.iter().copied(), otherwise);
        self.diagnostics.push(finding.available(can.to_vec()));
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
        let types = match name.text.split_once('=') {
            Some((task, status)) => {
                vec![self.task_context_type(&plan, task, status, name.span)?]
            }
            None => self.signal_types(&plan, name)?,
        };
        let payload = if let Some(payload) = payload {
            self.payload(payload, &types, &name.text)
        } else {
            self.check_no_payload(&types, name);
            None
        };
        Some(TestSignal {
            span: name.span,
            name: name.text.clone(),
            payload,
            at,
        })
    }

    /// Checks a payload against each of these types: a run takes it only if all receivers can.
    fn payload(
        &mut self,
        payload: &ast::Expr,
        types: &[Type],
        signal: &str,
    ) -> Option<CheckedExpr> {
        let what = format_args!("the payload of the signal `{signal}`");
        let before = self.diagnostics.len();
        let mut first = None;
        for ty in types {
            let code = self.constant_of(payload, ty, &what);
            first.get_or_insert(code);
            if self.diagnostics.len() > before {
                break;
            }
        }
        first
    }

    /// Reports a signal without a payload, which a run takes for null, if a receiver has a type without null.
    fn check_no_payload(&mut self, types: &[Type], name: &ast::Text) {
        let is_move = name.text.contains('=');
        let Some(ty) = types.iter().find(|ty| !is_move && !ty.admits_null()) else {
            return;
        };
        let message = format!("the signal `{}` needs a payload: {ty}", name.text);
        let finding = Diagnostic::new(&codes::types::WRONG_TYPE, name.span, message)
            .help("write it before `at`: `=> { … }`");
        self.diagnostics.push(finding);
    }

    /// Returns the types that the receivers of a signal declare for its payload, each once.
    fn signal_types(&mut self, plan: &Plan, name: &ast::Text) -> Option<Vec<Type>> {
        let signals = signals(plan);
        let mut types = Vec::new();
        for (known, ty) in &signals {
            if *known == name.text && !types.contains(ty) {
                types.push(ty.clone());
            }
        }
        if types.is_empty() {
            let mut names = signals.iter().map(|(name, _)| &**name).collect::<Vec<_>>();
            names.sort_unstable();
            let (code, what) = (&codes::tests::TEST_PATH, "signal in this plan named");
            let finding = unknown_as(code, what, &name.text, name.span, names.into_iter(), text);
            self.diagnostics.push(finding);
            return None;
        }
        Some(types)
    }

    /// Returns the context type for a change of a task from outside.
    fn task_context_type(
        &mut self,
        plan: &Plan,
        task: &str,
        status: &str,
        span: Span,
    ) -> Option<Type> {
        let external = || plan.tasks.iter().filter(|task| task.external);
        let Some(found) = external().find(|known| &*known.name == task) else {
            if let Some(owner) = owner_of_task(plan, task) {
                let message = format!(
                    "`{task}` is a task of the called plan `{}`, and nothing outside moves such a task",
                    owner.name
                );
                let finding = codes::tests::TEST_PATH.at(span, message);
                let help = format!("move it in a test of `{}`", owner.name);
                self.diagnostics.push(finding.help(help));
                return None;
            }
            let names = external().map(|task| &*task.name);
            let written = |near: &str| text(&format!("{near}={status}"));
            let code = &codes::tests::TEST_PATH;
            self.diagnostics.push(unknown_as(
                code,
                "external task",
                task,
                span,
                names,
                written,
            ));
            return None;
        };
        if !found.statuses.iter().any(|known| &**known == status) {
            let names = found.statuses.iter().map(|status| &**status);
            let written = |near: &str| text(&format!("{task}={near}"));
            let code = &codes::names::UNKNOWN_STATUS;
            self.diagnostics
                .push(unknown_as(code, "status", status, span, names, written));
            return None;
        }
        Some(partial(&found.context))
    }
}

impl Question<'_> {
    /// Returns the type of the answer.
    fn ty(&self) -> Type {
        match self {
            Self::Gate(_) => {
                let fields = [
                    ("approve", Type::Bool, true),
                    ("by", Type::String, false),
                    ("note", Type::String, false),
                ];
                Type::union([Type::Bool, object(fields)])
            }
            Self::Form(_, input) => {
                let fields = input.fields.iter().map(|field| {
                    let required = field.must_be_given();
                    Field {
                        name: field.name.clone(),
                        ty: field.ty.clone(),
                        required,
                    }
                });
                Type::Object(Arc::new(ObjectType {
                    fields: fields.collect(),
                    rest: Rest::Closed,
                }))
            }
            Self::UnknownOutcome(step) => object([
                ("happened", Type::Bool, true),
                ("value", step.ty.clone(), false),
            ]),
        }
    }

    /// Returns the error classes that are possible instead of an answer.
    fn refusals(&self) -> &'static [&'static str] {
        match (self, self.expires()) {
            (Self::Gate(_), true) => &["denied.human", "expired"],
            (Self::Gate(_), false) => &["denied.human"],
            (Self::Form(..), true) => &["expired"],
            (Self::Form(..) | Self::UnknownOutcome(_), _) => &[],
        }
    }

    fn expires(&self) -> bool {
        match self {
            Self::Gate(step) => {
                let confirm = step.confirm();
                confirm.is_some_and(|confirm| confirm.expires.is_some())
            }
            Self::Form(step, _) => step.within().is_some(),
            Self::UnknownOutcome(_) => false,
        }
    }
}

/// Returns a text as a plan writes it.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn object<const N: usize>(fields: [(&str, Type, bool); N]) -> Type {
    let fields = fields.into_iter().map(|(name, ty, required)| Field {
        name: name.into(),
        ty,
        required,
    });
    Type::Object(Arc::new(ObjectType {
        fields: fields.collect(),
        rest: Rest::Closed,
    }))
}

/// Returns a context type in which every field is optional.
fn partial(context: &Type) -> Type {
    let Type::Object(object) = context else {
        return context.clone();
    };
    let fields = object
        .fields
        .iter()
        .map(|field| Field {
            required: false,
            ..field.clone()
        })
        .collect();
    Type::Object(Arc::new(ObjectType {
        fields,
        rest: object.rest.clone(),
    }))
}

/// Returns the path that an expression spells, and the same path without element indices.
fn path_of(expression: &ast::Expr) -> Option<(String, String)> {
    match &expression.kind {
        ast::ExprKind::Name(name) => Some((name.to_string(), name.to_string())),
        ast::ExprKind::Path { base, links } => {
            let (mut text, mut place) = path_of(base)?;
            for link in links {
                match &link.kind {
                    ast::LinkKind::Field { name, safe: false } => {
                        for path in [&mut text, &mut place] {
                            path.push('.');
                            path.push_str(&name.text);
                        }
                    }
                    ast::LinkKind::Index { index, safe: false } => match &index.kind {
                        ast::ExprKind::Literal(ast::Literal::Int(index)) => {
                            text.extend(["[", &index.to_string(), "]"]);
                        }
                        ast::ExprKind::Literal(ast::Literal::String(key)) => {
                            text.extend(["[", &serde_json::Value::from(&**key).to_string(), "]"]);
                        }
                        _ => return None,
                    },
                    _ => return None,
                }
            }
            Some((text, place))
        }
        _ => None,
    }
}

/// Returns the question at a path without indices.
fn question<'p>(plan: &'p Plan, place: &str) -> Option<Question<'p>> {
    let mut found = None;
    each_step((plan, true), BlockId(0), "", &mut |path, step, _| {
        let rest = place.strip_prefix(path);
        let asks = match (rest, &step.kind) {
            (Some(rest), _) if rest.strip_prefix('.') == Some(GATE) => {
                has_gate(step).then_some(Question::Gate(step))
            }
            (Some(""), StepKind::Input(input)) => Some(Question::Form(step, input)),
            (Some(""), StepKind::Call(call)) if may_ask_outcome(step, call) => {
                Some(Question::UnknownOutcome(step))
            }
            _ => None,
        };
        found = found.take().or(asks);
    });
    found
}

/// Returns true if a person may be asked for the outcome of a call: if it cannot be sent again, or if its undo reads
/// its value.
fn may_ask_outcome(step: &Step, call: &Call) -> bool {
    let stays_unknown = match &call.target {
        Target::Tool(signature) => signature.can_stay_unknown(),
        Target::Plan(..) => false,
    };
    stays_unknown || !step.effect.repeatable() || step.undo().is_some_and(|undo| undo.reads)
}

fn has_gate(step: &Step) -> bool {
    step.confirm().is_some()
}

/// Returns the paths of the approvals and forms of a plan, without element indices, for suggestions.
fn questions(plan: &Plan) -> Vec<String> {
    let mut known = Vec::new();
    each_step((plan, true), BlockId(0), "", &mut |path, step, _| {
        if has_gate(step) {
            known.push(format!("{path}.{GATE}"));
        }
        if matches!(step.kind, StepKind::Input(_)) {
            known.push(path.to_owned());
        }
    });
    known.sort();
    known
}

/// Returns the steps at a path without indices, each with whether it belongs to the plan itself and not to a called
/// plan. There may be one in each branch of an `if`.
#[must_use]
pub fn steps_at<'p>(plan: &'p Plan, place: &str) -> Vec<(&'p Step, bool)> {
    let mut found = Vec::new();
    each_step(
        (plan, true),
        BlockId(0),
        "",
        &mut |path, step, (own, named)| {
            // The step of an `undo` or `verify` has no name of its own.
            if path == place && named {
                found.push((step, own));
            }
        },
    );
    found
}

/// Visits every step of a plan and of those that it calls, with its path without element indices, whether it belongs to
/// the plan itself, and whether it has a name.
#[expect(clippy::type_complexity, reason = "the type of a single callback")]
fn each_step<'p>(
    (plan, own): (&'p Plan, bool),
    block: BlockId,
    before: &str,
    visit: &mut dyn FnMut(&str, &'p Step, (bool, bool)),
) {
    for node in &plan.block(block).nodes {
        let name = node.name.as_deref().unwrap_or_default();
        let path = if before.is_empty() || name.is_empty() {
            format!("{before}{name}")
        } else {
            format!("{before}.{name}")
        };
        if let Some(step) = node.step() {
            visit(&path, step, (own, node.name.is_some()));
            if let StepKind::Call(Call {
                target: Target::Plan(index, _),
                ..
            }) = &step.kind
                && let Some(called) = plan.plans.get(*index)
            {
                each_step((called, false), BlockId(0), &path, visit);
            }
        }
        node.inner(&mut |inner| {
            let label = plan.block(inner).label.as_deref();
            let path = label.map_or_else(|| path.clone(), |label| format!("{path}.{label}"));
            each_step((plan, own), inner, &path, visit);
        });
    }
}

/// Returns the called plan with an external task of this name, which may be given with the path of the call.
fn owner_of_task<'p>(plan: &'p Plan, task: &str) -> Option<&'p Plan> {
    let name = task.rsplit('.').next().unwrap_or(task);
    let called = plan.with_called().into_iter().skip(1);
    let mut owners = called.filter(|called| {
        let mut tasks = called.tasks.iter().filter(|task| task.external);
        tasks.any(|task| *task.name == *name)
    });
    owners.next()
}

/// Returns the signals that a plan listens to or waits for, with the types of their payloads.
fn signals(plan: &Plan) -> Vec<(Arc<str>, Type)> {
    let mut found = Vec::new();
    for node in plan.with_called().into_iter().flat_map(Plan::nodes) {
        let (on, ty): (&Event, Type) = match &node.kind {
            NodeKind::Listener(listener) => {
                (&listener.on, listener.payload.clone().unwrap_or(Type::Any))
            }
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
                found.push((name.clone(), if only { ty.clone() } else { Type::Any }));
            }
        });
    }
    found
}

/// Returns a path without the parts in brackets.
#[must_use]
pub fn without_indices(path: &str) -> String {
    let names = path_parts(path).map(path_name);
    names.collect::<Vec<_>>().join(".")
}

/// Returns the parts of a path between its dots, each with its indices: the steps from the outside in.
pub fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    let (mut inside, mut quoted, mut escaped) = (false, false, false);
    path.split(move |character| {
        match character {
            '[' if !inside => inside = true,
            ']' if inside && !quoted => inside = false,
            '"' if inside && !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = inside && character == '\\' && !escaped;
        character == '.' && !inside
    })
}

/// Returns the name of a part of a path, without its indices.
#[must_use]
pub fn path_name(part: &str) -> &str {
    part.split('[').next().unwrap_or_default()
}
