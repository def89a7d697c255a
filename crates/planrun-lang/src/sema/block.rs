//! Statements: one block after the other, `if`s flattened into guards.

use std::sync::Arc;

use super::checker::{BlockKind, GuardMark, PlanChecker};
use super::expr::Expectation;
use super::plan::{Failing, Footprint, NodeId, NodeKind, Parallel};
use super::scope::NameKind;
use super::unread::MadeLet;
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ErrorClass, Type};

impl PlanChecker<'_> {
    /// Checks statements into the innermost open block.
    pub(super) fn statements(&mut self, statements: &[ast::Statement]) {
        let first = self.diagnostics.len();
        let around = self.statement;
        let mut ended: Option<&ast::Statement> = None;
        for statement in statements {
            if let Some(end) = ended
                && !matches!(
                    statement.kind,
                    ast::StatementKind::Error | ast::StatementKind::Next(_)
                )
            {
                self.never_reached(end, statement.span);
                ended = None;
            }
            self.statement = Some(statement.span);
            self.statement(statement);
            let kind = self.open.last().map_or(BlockKind::Plan, |block| block.kind);
            if ends(statement, kind) {
                ended = Some(statement);
            }
        }
        self.statement = around;
        self.mend_order(first, statements);
    }

    /// A statement below one that ends everything.
    fn never_reached(&mut self, end: &ast::Statement, span: Span) {
        let diagnostic = if matches!(end.kind, ast::StatementKind::If { .. }) {
            Diagnostic::new(
                &codes::order::UNREACHABLE_STEP,
                span,
                "this can never run: every way to it has ended",
            )
            .label(end.span, "each branch of this ends everything")
            .help("move it above, or let one branch go on")
        } else {
            Diagnostic::new(&codes::order::AFTER_REPLY, span, "this can never run")
                .label(end.span, "everything ends here")
                .help("move it above, or put the end under a condition with `when`")
        };
        self.diagnostics.push(diagnostic);
    }

    fn statement(&mut self, statement: &ast::Statement) {
        let span = statement.span;
        match &statement.kind {
            ast::StatementKind::Policy(_) | ast::StatementKind::Allow(_) => {
                self.refuse_late_settings(span);
            }
            ast::StatementKind::Step(step) => self.step(step, span),
            ast::StatementKind::Let { name, ty, value } => {
                self.let_value(span, name, ty.as_deref(), value);
            }
            ast::StatementKind::If { arms, otherwise } => self.if_arms(arms, otherwise.as_ref()),
            ast::StatementKind::Parallel(block) => self.parallel(span, block),
            ast::StatementKind::Task { .. } => self.task(statement),
            ast::StatementKind::Set { .. } => self.set(statement),
            ast::StatementKind::Listener { .. } => self.listener(statement),
            ast::StatementKind::Ensure { condition, message } => {
                let code = self.condition(condition);
                let message = self.text(message, "the message of `ensure`");
                let node = self.push(
                    span,
                    NodeKind::Ensure {
                        condition: code,
                        message: Box::new(message),
                    },
                );
                self.survive(condition, node, false);
            }
            ast::StatementKind::Fail {
                class,
                message,
                when,
            } => {
                let mark = when.as_ref().map(|when| self.guard(when));
                if let Some(failing) = self.failing(class, message.as_deref()) {
                    self.push(span, NodeKind::Fail(failing));
                }
                self.end_guarded(when.as_deref(), mark);
            }
            ast::StatementKind::Reply(guarded) => self.reply(span, guarded),
            ast::StatementKind::Yield(guarded) => self.yield_value(span, guarded),
            ast::StatementKind::Next(guarded) => self.next_state(span, guarded),
            ast::StatementKind::Error => {}
        }
    }

    fn let_value(
        &mut self,
        span: Span,
        name: &ast::Name,
        ty: Option<&ast::TypeExpr>,
        value: &ast::Expr,
    ) {
        self.claim("value", name, NameKind::Let);
        let code = match ty {
            Some(annotation) => {
                let ty = self.types.resolve(annotation, self.diagnostics);
                let what = format_args!("the value of `{}`", name.text);
                let mut code = self.value_of(value, &ty, Expectation::of(&what));
                code.ty = ty;
                code
            }
            None => self.value(value),
        };
        let slot = self.introduce(name, NameKind::Let, code.ty.clone());
        self.made.lets.push(MadeLet {
            name: name.clone(),
            origin: self.origin(name),
            statement: span,
        });
        self.push_node(
            span,
            Some((name.text.clone(), slot)),
            Vec::new(),
            NodeKind::Let(code),
        );
    }

    /// `parallel { … }`: its statements stand in the surrounding block, as one statement of its order.
    fn parallel(&mut self, span: Span, block: &ast::Block) {
        let first = self.next_node();
        // What stands in it decides its place as a whole, so it is counted apart.
        let around = self
            .open
            .last_mut()
            .map(|open| std::mem::replace(&mut open.does, Footprint::none()));
        let mut sequences = Vec::new();
        for statement in &block.statements {
            let start = self.next_node();
            self.statements(std::slice::from_ref(statement));
            if matches!(statement.kind, ast::StatementKind::If { .. }) {
                sequences.push(start..self.next_node());
            }
        }
        let nodes = first..self.next_node();
        let (Some(open), Some(mut around)) = (self.open.last_mut(), around) else {
            return;
        };
        around.merge(&open.does);
        let order = std::mem::replace(&mut open.does, around).order;
        open.parallels.push(Parallel {
            span,
            nodes,
            order,
            sequences,
        });
    }

    /// The number of the node that is made next.
    fn next_node(&self) -> u32 {
        self.open.last().map_or(0, |block| {
            u32::try_from(block.nodes.len()).unwrap_or(u32::MAX)
        })
    }

    fn if_arms(&mut self, arms: &[(ast::Expr, ast::Block)], otherwise: Option<&ast::Block>) {
        let kind = self.open.last().map_or(BlockKind::Plan, |block| block.kind);
        let ended = |block: &ast::Block| {
            block
                .statements
                .iter()
                .any(|statement| ends(statement, kind))
        };
        let before = self.names.mark();
        let mut first = None;
        let mut left_behind = Vec::new();
        // What a `set` may change says nothing of what stands below.
        let mut lasting = true;
        self.names.begin_if();
        for (condition, block) in arms {
            let code = self.condition(condition);
            let node: NodeId = self.push(condition.span, NodeKind::Condition(code));
            let mark = self.guard_by(node, condition, false);
            self.statements(&block.statements);
            lasting &= !self.may_change(node);
            if lasting {
                left_behind.extend(self.names.left_behind(before, ended(block)));
            }
            self.unguard(mark);
            let mark = self.guard_by(node, condition, true);
            first.get_or_insert(mark);
            self.names.next_branch();
        }
        if let Some(block) = otherwise {
            self.statements(&block.statements);
            if lasting {
                left_behind.extend(self.names.left_behind(before, ended(block)));
            }
        }
        self.names.end_if();
        self.unguard(first);
        for conditions in left_behind {
            self.names.exclude(conditions);
        }
    }

    /// Takes the guard of an end away again: below it the condition does not hold, since everything ended otherwise.
    fn end_guarded(&mut self, when: Option<&ast::Expr>, mark: Option<GuardMark>) {
        let node = mark.and_then(|mark| self.condition_of(mark));
        self.unguard(mark);
        if let (Some(when), Some(node)) = (when, node) {
            self.survive(when, node, true);
        }
    }

    /// An expression that gives text.
    pub(super) fn text(&mut self, expression: &ast::Expr, what: &str) -> super::expr::Code {
        self.value_of(expression, &Type::String, Expectation::of(&what))
    }

    /// `fail class "…"`; nothing where the class is unknown.
    pub(super) fn failing(
        &mut self,
        class: &ast::Name,
        message: Option<&ast::Expr>,
    ) -> Option<Failing> {
        let message = message.map(|message| self.text(message, "the message of `fail`"));
        let found = match ErrorClass::find(&class.text) {
            Some(found) => found,
            None if &*class.text == "tool" => ErrorClass::Tool("failed".into()),
            None => {
                let known = ErrorClass::names().filter(|name| ErrorClass::find(name).is_some());
                let code = &codes::names::UNKNOWN_ERROR_CLASS;
                let diagnostic =
                    super::finding::unknown(code, "error class", &class.text, class.span, known);
                self.diagnostics.push(diagnostic);
                return None;
            }
        };
        Some(Failing {
            class: found,
            message: message.map(Box::new),
        })
    }

    fn reply(&mut self, span: Span, guarded: &ast::Guarded) {
        let kind = self.open.last().map_or(BlockKind::Plan, |block| block.kind);
        let mark = guarded.when.as_ref().map(|when| self.guard(when));
        if kind == BlockKind::Plan {
            let code = match self.declared.clone() {
                Some(ty) => {
                    let expectation = Expectation::reply();
                    self.value_of(&guarded.value, &ty, expectation)
                }
                None => self.value(&guarded.value),
            };
            self.replies.push(code.ty.clone());
            self.push(span, NodeKind::Reply(code));
        } else {
            self.value(&guarded.value);
            let help = "inside a block `yield` gives the value of the step; a listener sets a task";
            self.misplaced(
                span,
                "`reply` ends the whole plan and stands outside blocks",
                help,
            );
        }
        self.end_guarded(guarded.when.as_deref(), mark);
    }

    fn yield_value(&mut self, span: Span, guarded: &ast::Guarded) {
        let mark = guarded.when.as_ref().map(|when| self.guard(when));
        let code = self.value(&guarded.value);
        match self.open.last() {
            Some(block) if !matches!(block.kind, BlockKind::Plan | BlockKind::Listener) => {
                let code = self.yielded(code);
                self.push(span, NodeKind::Yield(code));
            }
            Some(_) | None => {
                let help = "the plan's own value is given with `reply`";
                self.misplaced(
                    span,
                    "`yield` gives the value of a block, and there is none around it",
                    help,
                );
            }
        }
        if self
            .open
            .last()
            .is_some_and(|block| block.kind == BlockKind::Repeat)
        {
            // A round goes on to its `next`.
            self.unguard(mark);
        } else {
            self.end_guarded(guarded.when.as_deref(), mark);
        }
    }

    fn next_state(&mut self, span: Span, guarded: &ast::Guarded) {
        let mark = guarded.when.as_ref().map(|when| self.guard(when));
        if self
            .open
            .last()
            .is_some_and(|block| block.kind == BlockKind::Repeat)
        {
            let state = self.repeat_state();
            let expectation = Expectation::of(&"the next state of the `repeat`");
            let code = self.value_of(
                &guarded.value,
                &Type::union([state, Type::Null]),
                expectation,
            );
            self.push(span, NodeKind::Next(code));
        } else {
            self.value(&guarded.value);
            self.misplaced(
                span,
                "`next` sets the state of a `repeat`, and there is none around it",
                "remove it",
            );
        }
        self.end_guarded(guarded.when.as_deref(), mark);
    }

    /// Where the text shows it already, the parser has said so.
    fn misplaced(&mut self, span: Span, message: &str, help: &str) {
        if self
            .shared
            .damage
            .iter()
            .any(|damage| damage.start == span.start)
        {
            return;
        }
        self.diagnostics
            .push(Diagnostic::new(&codes::text::MISPLACED_STATEMENT, span, message).help(help));
    }

    fn refuse_late_settings(&mut self, span: Span) {
        let nested = self.open.len() > 1
            || self
                .open
                .last()
                .is_some_and(|block| !block.guard.is_empty());
        if nested {
            self.misplaced(
                span,
                "settings hold for the whole plan",
                "move them to the head of the plan",
            );
        }
    }
}

/// Whether nothing below this statement can run.
pub(super) fn ends(statement: &ast::Statement, kind: BlockKind) -> bool {
    match &statement.kind {
        ast::StatementKind::Reply(guarded) | ast::StatementKind::Next(guarded) => {
            guarded.when.is_none()
        }
        ast::StatementKind::Yield(guarded) => guarded.when.is_none() && kind != BlockKind::Repeat,
        ast::StatementKind::Fail { when, .. } => when.is_none(),
        ast::StatementKind::If { arms, otherwise } => {
            let ended = |block: &ast::Block| {
                block
                    .statements
                    .iter()
                    .any(|statement| ends(statement, kind))
            };
            otherwise.as_ref().is_some_and(ended) && arms.iter().all(|(_, block)| ended(block))
        }
        ast::StatementKind::Policy(_)
        | ast::StatementKind::Allow(_)
        | ast::StatementKind::Step(_)
        | ast::StatementKind::Let { .. }
        | ast::StatementKind::Parallel(_)
        | ast::StatementKind::Task { .. }
        | ast::StatementKind::Set { .. }
        | ast::StatementKind::Listener { .. }
        | ast::StatementKind::Ensure { .. }
        | ast::StatementKind::Error => false,
    }
}

/// The type of a block's value: the union of its yields, with null where a path gives none.
pub(super) fn block_type(
    yields: Vec<Type>,
    statements: &[ast::Statement],
    kind: BlockKind,
) -> Type {
    let always = statements.iter().any(|statement| {
        ends(statement, kind)
            || (kind == BlockKind::Repeat
                && matches!(&statement.kind, ast::StatementKind::Yield(guarded) if guarded.when.is_none()))
    });
    let absent = if always { None } else { Some(Type::Null) };
    Type::union(yields.into_iter().chain(absent))
}

/// Text shared by what names a step.
pub(super) fn arc(text: &str) -> Arc<str> {
    text.into()
}
