//! Mutants of statements and clauses.

use planrun_lang::diag::Edit;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    ArmBody, Block, Clause, ClauseKind, EntryKey, ErrorPattern, Expr, ExprKind, Guarded, Literal,
    Statement, StatementKind, Step, StepBody, Undo,
};
use planrun_lang::value::counted;

use super::{Kind, Mutants};

impl Mutants<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
        for pair in block.statements.windows(2) {
            if let [one, other] = pair {
                self.swap(one, other);
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Step(step) => self.step(step),
            StatementKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.condition(condition);
                    self.block(body);
                }
                if let Some(body) = otherwise {
                    self.block(body);
                }
            }
            StatementKind::Parallel(body) => body
                .statements
                .iter()
                .for_each(|statement| self.statement(statement)),
            StatementKind::Ensure { condition, .. } => {
                self.condition(condition);
                self.remove(Kind::Guard, statement.span, "the `ensure` is removed");
            }
            StatementKind::Fail { when, .. } => {
                self.guard(when.as_deref());
                if when.is_some() {
                    self.remove(Kind::Guard, statement.span, "the `fail` is removed");
                }
            }
            StatementKind::Reply(guarded) => self.guarded(guarded),
            StatementKind::Yield(guarded) | StatementKind::Next(guarded) => {
                self.guard(guarded.when.as_deref());
            }
            StatementKind::Set { when, context, .. } => {
                self.guard(when.as_deref());
                if let Some(context) = context {
                    self.values(context);
                }
            }
            StatementKind::Listener { when, body, .. } => {
                self.guard(when.as_deref());
                self.block(body);
            }
            StatementKind::Policy(settings) => self.policy(settings),
            StatementKind::Let { name, value, .. } => {
                self.value(value, &format!("`{}`", name.text));
            }
            StatementKind::Allow(_) | StatementKind::Task { .. } | StatementKind::Error => {}
        }
    }

    fn guard(&mut self, when: Option<&Expr>) {
        if let Some(when) = when {
            self.condition(when);
        }
    }

    fn guarded(&mut self, guarded: &Guarded) {
        self.guard(guarded.when.as_deref());
        self.values(&guarded.value);
    }

    fn step(&mut self, step: &Step) {
        match &step.body {
            StepBody::Call(call) => self.call(call),
            StepBody::Do(body) => self.block(body),
            StepBody::Each { list, body, .. } => {
                self.inside(list);
                self.block(body);
            }
            StepBody::Repeat { initial, body, .. } => {
                self.value(initial, "the initial state");
                self.block(body);
            }
            StepBody::Race(arms) => arms.iter().for_each(|(_, arm)| self.arm(arm)),
            StepBody::Match { subject, arms } => {
                self.inside(subject);
                for arm in arms {
                    self.arm(&arm.body);
                }
            }
            StepBody::Ask(_)
            | StepBody::Infer { .. }
            | StepBody::Input { .. }
            | StepBody::Wait(_)
            | StepBody::Error => {}
        }
        for clause in &step.clauses {
            self.clause(clause);
        }
    }

    fn arm(&mut self, arm: &ArmBody) {
        match arm {
            ArmBody::Expr(expression) => self.call_or_value(expression),
            ArmBody::Do(body) => self.block(body),
            ArmBody::Ask(_) | ArmBody::Infer { .. } | ArmBody::Fail { .. } => {}
        }
    }

    fn clause(&mut self, clause: &Clause) {
        match &clause.kind {
            ClauseKind::When(condition) => {
                self.condition(condition);
                self.remove(Kind::Guard, clause.span, "the `when` is removed");
            }
            ClauseKind::After(_) => self.remove(Kind::Order, clause.span, "the `after` is removed"),
            ClauseKind::Confirm { .. } => {
                self.remove(Kind::Safety, clause.span, "the `confirm` is removed");
            }
            ClauseKind::Retry(settings) => {
                self.retry(settings);
                self.remove(Kind::Retry, clause.span, "the `retry` is removed");
            }
            ClauseKind::Until { condition, .. } => self.condition(condition),
            ClauseKind::Verify { check, .. } => {
                self.condition(check);
                self.remove(Kind::Safety, clause.span, "the `verify` is removed");
            }
            ClauseKind::Recover { pattern, body, .. } => {
                self.arm(body);
                if let ErrorPattern::Classes(classes) = pattern
                    && let [first, .., last] = classes.as_slice()
                {
                    let rest = Span {
                        start: first.span.end,
                        end: last.span.end,
                    };
                    self.remove(Kind::Recover, rest, "the arm catches only its first class");
                }
                self.remove(Kind::Recover, clause.span, "the `recover` arm is removed");
            }
            ClauseKind::Undo(undo) => {
                if let Undo::Do(body) = undo {
                    self.block(body);
                }
                self.remove(Kind::Safety, clause.span, "the `undo` is removed");
            }
            ClauseKind::Timeout(_)
            | ClauseKind::By(_)
            | ClauseKind::Within(_)
            | ClauseKind::Expires(_)
            | ClauseKind::Cache(_)
            | ClauseKind::Error => {}
        }
    }

    fn policy(&mut self, settings: &Expr) {
        let ExprKind::Object(entries) = &settings.kind else {
            return;
        };
        for entry in entries {
            if let EntryKey::Name(name) = &entry.key
                && &*name.text == "retry"
            {
                self.retry(&entry.value);
            }
        }
    }

    /// Adds mutants with one attempt fewer, and with only the first of the retried classes.
    fn retry(&mut self, settings: &Expr) {
        let ExprKind::Object(entries) = &settings.kind else {
            return;
        };
        for entry in entries {
            let EntryKey::Name(name) = &entry.key else {
                continue;
            };
            match (&*name.text, &entry.value.kind) {
                ("attempts", ExprKind::Literal(Literal::Int(attempts))) if *attempts > 1 => {
                    let fewer = (attempts - 1).to_string();
                    self.replace(
                        Kind::Retry,
                        entry.value.span,
                        format!("{} instead of {attempts}", counted(attempts - 1, "attempt")),
                        fewer,
                    );
                }
                ("on", ExprKind::List(classes)) => {
                    if let [first, .., last] = classes.as_slice() {
                        let rest = Span {
                            start: first.span.end,
                            end: last.span.end,
                        };
                        self.remove(Kind::Retry, rest, "only the first class is retried");
                    }
                }
                _ => {}
            }
        }
    }

    /// Exchanges two consecutive calls, of any tools; if the later one reads the earlier one, the checker rejects the
    /// mutant.
    fn swap(&mut self, one: &Statement, other: &Statement) {
        let is_call = |statement: &Statement| match &statement.kind {
            StatementKind::Step(step) => matches!(step.body, StepBody::Call(_)),
            _ => false,
        };
        if !(is_call(one) && is_call(other)) {
            return;
        }
        let (above, below) = (
            self.text(one.span).to_owned(),
            self.text(other.span).to_owned(),
        );
        let edits = vec![
            Edit {
                span: one.span,
                text: below,
            },
            Edit {
                span: other.span,
                text: above,
            },
        ];
        self.add(Kind::Order, other.span, "two calls are swapped", edits);
    }
}
