//! What waits for people, models, signals and tasks: checked in full, executed later.

use std::sync::Arc;

use super::checker::{BlockKind, PlanChecker};
use super::expr::Expectation;
use super::finding::unknown;
use super::plan::NodeKind;
use super::scope::NameKind;
use super::step::CheckedBody;
use super::{Lookup, Scope};
use crate::diag::{Diagnostic, codes};
use crate::protocol::StepState;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Field, ObjectType, Rest, Type};

/// The statuses of a task that names none.
const STATUSES: [&str; 4] = ["pending", "running", "done", "failed"];

/// What `plan is …` can test.
const PLAN_STATES: [&str; 5] = ["completed", "failed", "cancelled", "stalled", "settled"];

impl PlanChecker<'_> {
    /// `task t "title" [statuses […]] [{ field: T }] [external]`
    pub(super) fn task(
        &mut self,
        span: Span,
        name: &ast::Name,
        statuses: &[ast::Name],
        context: Option<&ast::TypeExpr>,
        external: bool,
    ) {
        self.claim("task", name);
        let ty = match context {
            Some(context) => self.types.resolve(context, self.diagnostics),
            None => Type::Object(Arc::new(ObjectType { fields: Vec::new(), rest: Rest::Closed })),
        };
        self.introduce(name, NameKind::Task, ty);
        let statuses = if statuses.is_empty() {
            STATUSES.iter().map(|status| Arc::from(*status)).collect()
        } else {
            statuses.iter().map(|status| status.text.clone()).collect()
        };
        self.tasks.insert(name.text.clone(), statuses);
        if !external {
            self.made.tasks.push((name.text.clone(), name.span));
        }
        self.mark_not_yet(span, "`task`");
        self.push(span, NodeKind::NotYet("`task`"));
    }

    /// `set t status { … } [when e] [after a]`
    pub(super) fn set(
        &mut self,
        span: Span,
        task: &ast::Name,
        status: &ast::Name,
        context: Option<&ast::Expr>,
        when: Option<&ast::Expr>,
        after: Option<&ast::After>,
    ) {
        let mark = when.map(|when| self.guard(when));
        if let Some(ast::After::Names(names)) = after {
            for name in names {
                self.step_above(name);
            }
        }
        if self.open.iter().any(|block| block.kind == BlockKind::Each) {
            let message = "elements of an `each` run side by side, so none of them can move a task";
            let diagnostic = Diagnostic::new(&codes::order::SET_IN_EACH, span, message);
            self.diagnostics.push(diagnostic.help("set the task below the `each`, from the list that it gives"));
        }
        self.task_status(task, status);
        if let Some(context) = context {
            let expectation = Expectation::of("the context");
            match self.names.lookup(&task.text) {
                Lookup::Found(binding) if binding.kind == NameKind::Task => {
                    self.value_of(context, &partial(&binding.ty), &expectation);
                }
                _ => drop(self.value(context)),
            }
        }
        self.mark_not_yet(span, "`set`");
        self.push(span, NodeKind::NotYet("`set`"));
        self.unguard(mark);
    }

    fn task_status(&mut self, task: &ast::Name, status: &ast::Name) {
        self.read.insert(task.text.clone());
        let Some(statuses) = self.tasks.get(&task.text) else {
            let known = self.tasks.keys().map(|name| &**name);
            let code = &codes::names::UNKNOWN_NAME;
            self.diagnostics.push(unknown(code, "task", &task.text, task.span, known));
            return;
        };
        if !statuses.contains(&status.text) {
            let what = format!("status of `{}` named", task.text);
            let known = statuses.iter().map(|status| &**status);
            let code = &codes::names::UNKNOWN_STATUS;
            self.diagnostics.push(unknown(code, &what, &status.text, status.span, known));
        }
    }

    /// `listener l on COND [-> T] [as e] [when e] [max N] { … }`
    pub(super) fn listener(&mut self, statement: &ast::Statement) {
        let ast::StatementKind::Listener { name, on, payload, binding, when, max, body } = &statement.kind else {
            return;
        };
        self.claim("listener", name);
        self.introduce(name, NameKind::Step, Type::Null);
        self.event(on);
        if let Some(max) = max {
            self.value_of(max, &Type::Int, &Expectation::of("`max` of a listener"));
        }
        let payload = payload.as_ref().map(|payload| self.types.resolve(payload, self.diagnostics));
        self.open_block(BlockKind::Listener, None, &body.statements);
        if let Some(binding) = binding {
            let ty = payload.unwrap_or_else(|| self.snapshot_type(on));
            self.introduce_local(binding, ty);
        }
        if let Some(when) = when {
            self.condition(when);
        }
        self.statements(&body.statements);
        self.close_block();
        self.mark_not_yet(statement.span, "`listener`");
        self.push(statement.span, NodeKind::NotYet("`listener`"));
    }

    /// What `as e` is: the error for `is failed`, else the context of the task.
    fn snapshot_type(&self, on: &ast::Expr) -> Type {
        match &on.kind {
            ast::ExprKind::Is { state, .. } if &*state.text == "failed" => Type::Error,
            ast::ExprKind::Is { subject, .. } => self.snapshot_type(subject),
            ast::ExprKind::Name(name) => match self.names.lookup(name) {
                Lookup::Found(binding) if binding.kind == NameKind::Task => binding.ty,
                _ => Type::Any,
            },
            _ => Type::Any,
        }
    }

    /// The condition of a listener or a `wait for`: steps, tasks, the plan and signals.
    pub(super) fn event(&mut self, condition: &ast::Expr) {
        match &condition.kind {
            ast::ExprKind::Signal(_) | ast::ExprKind::Error => {}
            ast::ExprKind::Chain { first, rest }
                if rest.iter().all(|link| matches!(link.operator, ast::BinaryOp::And | ast::BinaryOp::Or)) =>
            {
                self.event(first);
                for link in rest {
                    self.event(&link.operand);
                }
            }
            ast::ExprKind::Unary { operators, operand }
                if operators.iter().all(|(operator, _)| *operator == ast::UnaryOp::Not) =>
            {
                self.event(operand);
            }
            ast::ExprKind::Is { subject, state } => self.event_state(subject, state),
            ast::ExprKind::Name(name) => self.event_subject(name, condition.span),
            _ => {
                let message = "an event speaks of steps, tasks, `plan` and signals";
                let help = "write `x is done`, `signal \"name\"`, or join such with `&&` and `||`; other conditions go behind `when`";
                self.diagnostics
                    .push(Diagnostic::new(&codes::text::UNEXPECTED_TOKEN, condition.span, message).help(help));
            }
        }
    }

    fn event_state(&mut self, subject: &ast::Expr, state: &ast::Name) {
        let ast::ExprKind::Name(name) = &subject.kind else { return self.event(subject) };
        self.read.insert(name.clone());
        let known: Vec<&str> = if &**name == "plan" {
            PLAN_STATES.to_vec()
        } else if let Some(statuses) = self.tasks.get(name) {
            statuses.iter().map(|status| &**status).chain(["settled"]).collect()
        } else {
            let before = self.diagnostics.len();
            self.event_subject(name, subject.span);
            if self.diagnostics.len() > before {
                return;
            }
            StepState::ALL.iter().map(|state| state.name()).chain(["settled"]).collect()
        };
        if !known.contains(&&*state.text) {
            let what = format!("status of `{name}` named");
            let code = &codes::names::UNKNOWN_STATUS;
            let diagnostic = unknown(code, &what, &state.text, state.span, known.into_iter());
            self.diagnostics.push(diagnostic);
        }
    }

    fn event_subject(&mut self, name: &Arc<str>, span: Span) {
        self.read.insert(name.clone());
        if &**name == "plan" || self.tasks.contains_key(name) {
            return;
        }
        match self.names.lookup(name) {
            Lookup::Found(binding) if binding.kind == NameKind::Step => {}
            Lookup::Found(_) | Lookup::Namespace => {
                let message = format!("`{name}` is neither a step nor a task, so nothing happens to it");
                self.diagnostics.push(Diagnostic::new(&codes::names::UNKNOWN_NAME, span, message));
            }
            Lookup::Later(later) => {
                let message = format!("`{name}` comes later");
                let diagnostic = Diagnostic::new(&codes::names::USE_BEFORE_DEFINITION, span, message);
                self.diagnostics.push(diagnostic.label(later, "it is introduced here").help("move this below"));
            }
            Lookup::Missing => {
                let visible = self.names.visible();
                let known = visible.iter().map(|name| &**name);
                let code = &codes::names::UNKNOWN_NAME;
                self.diagnostics.push(unknown(code, "step or task", name, span, known));
            }
        }
    }

    /// `ask agent(…) -> T` and `infer(…) -> T`
    pub(super) fn ask(
        &mut self,
        span: Span,
        agent: Option<&ast::Name>,
        arguments: &[ast::Argument],
        returns: &ast::TypeExpr,
    ) -> CheckedBody {
        let known: &[&str] = if agent.is_some() { &["with"] } else { &["model", "with"] };
        let what = agent.map_or_else(|| "infer".to_owned(), |agent| format!("ask {}", agent.text));
        let mut prompts = 0;
        for argument in arguments {
            match &argument.name {
                None => {
                    prompts += 1;
                    self.text(&argument.value, "the prompt");
                }
                Some(name) if known.contains(&&*name.text) => drop(self.value(&argument.value)),
                Some(name) => {
                    self.value(&argument.value);
                    let what = format!("argument of `{what}` named");
                    let code = &codes::names::UNKNOWN_ARGUMENT;
                    self.diagnostics.push(unknown(code, &what, &name.text, name.span, known.iter().copied()));
                }
            }
        }
        if prompts != 1 {
            let message = format!("`{what}` takes one prompt, the only argument without a name");
            let diagnostic = Diagnostic::new(&codes::types::MISSING_ARGUMENT, span, message);
            self.diagnostics.push(diagnostic.help(format!("write `{what}(\"…\")`")));
        }
        let word = if agent.is_some() { "`ask`" } else { "`infer`" };
        self.mark_not_yet(span, word);
        let ty = self.types.resolve(returns, self.diagnostics);
        CheckedBody::opaque(word, ty)
    }

    /// `input "…" [by "role"] [expires d] -> { … }`
    pub(super) fn input(
        &mut self,
        span: Span,
        prompt: &ast::Expr,
        by: Option<&ast::Expr>,
        expires: Option<&ast::Expr>,
        fields: &[ast::InputField],
    ) -> CheckedBody {
        self.text(prompt, "the text of `input`");
        self.role_and_expiry(by, expires);
        let mut checked = Vec::new();
        for field in fields {
            let ty = self.types.resolve(&field.ty, self.diagnostics);
            if let Some(default) = &field.default {
                let what = format!("the default of `{}`", field.name.text);
                let wanted = Type::union([ty.clone(), Type::Null]);
                self.value_of(default, &wanted, &Expectation::default(what));
            }
            if let Some(options) = &field.options {
                let what = format!("the choices of `{}`", field.name.text);
                let wanted = Type::List(Arc::new(ty.clone()));
                self.value_of(options, &wanted, &Expectation::of(what));
            }
            checked.push(Field { name: field.name.text.clone(), ty, required: true });
        }
        self.mark_not_yet(span, "`input`");
        CheckedBody::opaque("`input`", Type::Object(Arc::new(ObjectType { fields: checked, rest: Rest::Closed })))
    }

    /// `wait 5m`, `wait until t`, `wait for COND [-> T]`
    pub(super) fn wait(&mut self, span: Span, wait: &ast::WaitFor) -> CheckedBody {
        self.mark_not_yet(span, "`wait`");
        let ty = match wait {
            ast::WaitFor::Duration(duration) => {
                self.duration(duration, "`wait`");
                Type::Null
            }
            ast::WaitFor::Until(time) => {
                self.value_of(time, &Type::Timestamp, &Expectation::of("`wait until`"));
                Type::Null
            }
            ast::WaitFor::Condition { on, payload } => {
                self.event(on);
                match payload {
                    Some(payload) => self.types.resolve(payload, self.diagnostics),
                    None => self.snapshot_type(on),
                }
            }
        };
        CheckedBody::opaque("`wait`", ty)
    }
}

/// A context in which every field may be left out: a `set` merges what it gives.
fn partial(ty: &Type) -> Type {
    let Type::Object(object) = ty else { return ty.clone() };
    let fields = object.fields.iter().map(|field| Field { required: false, ..field.clone() });
    Type::Object(Arc::new(ObjectType { fields: fields.collect(), rest: object.rest.clone() }))
}
