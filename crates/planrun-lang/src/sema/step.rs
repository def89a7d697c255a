//! Steps: what they call or hold, and the type of their value.

use std::sync::Arc;

use super::block::{arc, block_type};
use super::checker::{BlockKind, OpenBlock, PlanChecker};
use super::expr::{Code, Expectation};
use super::plan::{BlockId, Each, Footprint, NodeKind, OrderClass, Repeat, Step, StepKind, Target};
use super::scope::{NameKind, Place};
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Effect, Field, Literal, Type};
use crate::value::Value;

/// The namespace whose contracts nobody can change: what `sys.echo` gives is what it was given.
const BUILT_IN: &str = "sys";

/// What the body of a step came out as.
pub(super) struct CheckedBody {
    pub kind: StepKind,
    pub ty: Type,
    pub does: Footprint,
    /// The type of `winner(x)` for a `race`.
    pub winner: Option<Type>,
}

impl CheckedBody {
    /// A body that has been reported.
    pub(super) fn damaged(ty: Type) -> Self {
        Self::new(StepKind::Damaged, ty, Footprint::none())
    }

    pub(super) fn new(kind: StepKind, ty: Type, does: Footprint) -> Self {
        Self {
            kind,
            ty,
            does,
            winner: None,
        }
    }
}

impl PlanChecker<'_> {
    /// Checks one step with its clauses and adds its node.
    pub(super) fn step(&mut self, step: &ast::Step, span: Span) {
        self.claim("step", &step.name, NameKind::Step);
        self.refuse_in_undo(step);
        let when = step.clauses.iter().find_map(|clause| match &clause.kind {
            ast::ClauseKind::When(condition) => Some(condition),
            _ => None,
        });
        let mark = when.map(|condition| self.guard(condition));
        let after = self.named_after(&step.clauses);
        let body = self.step_body(step);
        let recover = self.recover_arms(step, &body.ty);
        let slot = self.introduce(&step.name, NameKind::Step, body.ty.clone());
        self.note_call(step, &body);
        let clauses = self.clauses(step, &body);
        let mut types = vec![body.ty];
        let mut arms = Vec::with_capacity(recover.len());
        // What an arm does counts for the order of the step, and for what its block does.
        let mut does = body.does.clone();
        for arm in recover {
            does.merge(&arm.does);
            types.push(arm.ty);
            arms.push(arm.arm);
        }
        if clauses.until.is_some() || clauses.confirm.is_some() {
            does.order = OrderClass::Barrier;
        }
        let ty = Type::union(types);
        let seen = self.seen_type(&step.name.text, ty.clone());
        let recovered = (!arms.is_empty()).then_some(Type::Null);
        let winner = body
            .winner
            .map(|winner| Type::union([winner].into_iter().chain(recovered)));
        self.names.retype(&step.name.text, seen, winner);
        self.note_does(&does);
        let step_node = Step {
            span: step.name.span,
            kind: body.kind,
            ty,
            effect: body.does.effect,
            order: does.order,
            touches: body.does.touches,
            clauses: (!clauses.is_empty()).then(|| Box::new(clauses)),
            recover: arms,
        };
        let named = Some((step.name.text.clone(), slot));
        let node = self.push_node(span, named, after, NodeKind::Step(Box::new(step_node)));
        if let Some(block) = self.open.last_mut() {
            block
                .steps
                .entry(step.name.text.clone())
                .or_default()
                .push(node);
        }
        self.unguard(mark);
    }

    /// Remembers a call whose result somebody should read.
    fn note_call(&mut self, step: &ast::Step, body: &CheckedBody) {
        let StepKind::Call(call) = &body.kind else {
            return;
        };
        let name = &step.name;
        let called = match &call.target {
            Target::Tool(signature) => signature.path(),
            Target::Plan(_, path) => path.to_string(),
        };
        if let Target::Tool(signature) = &call.target
            && signature.returns == Type::Any
            && &*signature.namespace != BUILT_IN
        {
            self.made
                .riddles
                .push((self.origin(name), called.clone(), call.span));
        }
        if body.does.effect.floats() && body.ty != Type::Null {
            self.made.looks.push((self.origin(name), name.span, called));
        }
    }

    fn step_body(&mut self, step: &ast::Step) -> CheckedBody {
        match &step.body {
            ast::StepBody::Call(call) => self.called(call),
            ast::StepBody::Do(block) => self.do_block(block),
            ast::StepBody::Each { .. } => self.each(&step.body),
            ast::StepBody::Repeat {
                state,
                initial,
                max,
                body,
            } => self.repeat(state, initial, max.as_deref(), body),
            ast::StepBody::Race(branches) => self.race(step.name.span, branches),
            ast::StepBody::Match { subject, arms } => self.match_arms(subject, arms),
            ast::StepBody::Ask {
                agent,
                arguments,
                returns,
            } => self.ask(step.name.span, agent, arguments, returns),
            ast::StepBody::Infer { arguments, returns } => {
                self.infer(step.name.span, arguments, returns)
            }
            ast::StepBody::Input {
                prompt,
                form: _,
                fields,
            } => self.input(prompt, fields, &step.clauses),
            ast::StepBody::Wait(wait) => self.wait(wait),
            ast::StepBody::Error => CheckedBody::damaged(Type::Invalid),
        }
    }

    fn called(&mut self, expression: &ast::Expr) -> CheckedBody {
        let Some((call, ty, does)) = self.call(expression) else {
            return CheckedBody::damaged(Type::Invalid);
        };
        CheckedBody::new(StepKind::Call(call), ty, does)
    }

    pub(super) fn do_block(&mut self, block: &ast::Block) -> CheckedBody {
        let id = self.open_block(BlockKind::Do, None, &block.statements);
        self.statements(&block.statements);
        self.closed(&block.statements, BlockKind::Do, |_| StepKind::Do(id))
    }

    /// Closes the innermost block and makes the body of the step that owns it.
    fn closed(
        &mut self,
        statements: &[ast::Statement],
        kind: BlockKind,
        make: impl FnOnce(&OpenBlock) -> StepKind,
    ) -> CheckedBody {
        let Some(mut block) = self.close_block() else {
            return CheckedBody::damaged(Type::Invalid);
        };
        let step = make(&block);
        let ty = block_type(std::mem::take(&mut block.yields), statements, kind);
        CheckedBody::new(step, ty, block.does)
    }

    fn each(&mut self, body: &ast::StepBody) -> CheckedBody {
        let ast::StepBody::Each {
            element,
            index,
            list,
            max,
            parallel,
            by,
            settle,
            body: block,
        } = body
        else {
            return CheckedBody::damaged(Type::Invalid);
        };
        let list_code = self.value(list);
        let element_type = self.element_type(&list_code, list.span);
        self.unbounded("each", max.as_deref(), list.span);
        let max = self.bound(max.as_deref(), "`max` of `each`");
        let parallel = self.bound(parallel.as_deref(), "`parallel` of `each`");
        let id = self.open_block(BlockKind::Each, None, &block.statements);
        self.introduce_local(element, element_type);
        match index {
            Some(index) => {
                self.introduce_local(index, Type::Int);
            }
            None => {
                self.names.slot();
            }
        }
        let by = by.as_ref().map(|by| self.value(by));
        self.statements(&block.statements);
        let mut checked = self.closed(&block.statements, BlockKind::Each, |body| {
            let in_turn = body.does.order == OrderClass::Barrier;
            StepKind::Each(Box::new(Each {
                list: list_code,
                max,
                parallel,
                in_turn,
                by,
                settle: *settle,
                body: id,
            }))
        });
        if *settle {
            checked.ty = Type::Result(Arc::new(checked.ty));
        }
        checked.ty = Type::List(Arc::new(checked.ty));
        checked
    }

    /// The type of an element of what `each` runs over.
    fn element_type(&mut self, list: &Code, span: Span) -> Type {
        let elements = list.ty.members().iter().map(|member| match member {
            Type::List(element) => Some((**element).clone()),
            _ => None,
        });
        if let Some(elements) = elements.collect::<Option<Vec<_>>>() {
            return Type::union(elements);
        }
        match &list.ty {
            Type::Any => Type::Any,
            Type::Invalid | Type::Never => Type::Invalid,
            other => {
                let present = other.without_null();
                let lists = present
                    .members()
                    .iter()
                    .all(|member| matches!(member, Type::List(_)));
                let absent = other.is_optional() && lists;
                let diagnostic = if absent {
                    Diagnostic::new(&codes::types::MAYBE_ABSENT, span, "this list may be absent")
                        .help("give a list for that case: `… ?? []`")
                        .unsafe_fix(
                            "add `?? []`",
                            vec![Edit {
                                span: Span::at(span.end as usize),
                                text: " ?? []".to_owned(),
                            }],
                        )
                } else {
                    Diagnostic::new(
                        &codes::types::NOT_A_LIST,
                        span,
                        format!("`each` runs over a list, and this is {other}"),
                    )
                    .help("`entries(m)` makes a list of a map's entries")
                    .expected("a list", other)
                };
                self.diagnostics.push(diagnostic);
                Type::Invalid
            }
        }
    }

    /// A loop without `max`; the fix writes one behind the expression that comes before it.
    fn unbounded(&mut self, word: &str, max: Option<&ast::Expr>, before: Span) {
        if max.is_some() {
            return;
        }
        let rest = self
            .shared
            .source
            .text()
            .get(before.end as usize..)
            .unwrap_or("");
        // The span of an expression leaves its own parentheses out.
        let inside = rest.len() - rest.trim_start_matches(')').len();
        let edit = Edit {
            span: Span::at(before.end as usize + inside),
            text: " max 100".to_owned(),
        };
        let message = format!("`{word}` needs a bound: how often may it go round at most?");
        let diagnostic = Diagnostic::new(&codes::order::UNBOUNDED_LOOP, before, message)
            .note("no `max` behind this")
            .help(
                "write `max 100`, or what is enough; more than that fails instead of running away",
            )
            .unsafe_fix("add `max 100`", vec![edit]);
        self.diagnostics.push(diagnostic);
    }

    /// A whole number that bounds something.
    fn bound(&mut self, expression: Option<&ast::Expr>, what: &str) -> Option<Code> {
        let expression = expression?;
        let code = self.value_of(expression, &Type::Int, Expectation::of(&what));
        if let Some(Value::Int(count)) = code.constant()
            && *count < 0
        {
            let message = format!("{what} is {count}, and a bound cannot be negative");
            let diagnostic =
                Diagnostic::new(&codes::types::SCHEMA_VIOLATION, expression.span, message);
            self.diagnostics.push(
                diagnostic
                    .expected("0 or more", count)
                    .help("write how many there may be at most"),
            );
        }
        Some(code)
    }

    fn repeat(
        &mut self,
        state: &ast::Name,
        initial: &ast::Expr,
        max: Option<&ast::Expr>,
        block: &ast::Block,
    ) -> CheckedBody {
        let initial_code = self.value(initial);
        self.unbounded("repeat", max, initial.span);
        let max = self.bound(max, "`max` of `repeat`");
        let id = self.open_block(BlockKind::Repeat, None, &block.statements);
        let state_type = widened(&initial_code.ty);
        self.introduce_local(state, state_type);
        self.statements(&block.statements);
        let mut checked = self.closed(&block.statements, BlockKind::Repeat, |_| {
            StepKind::Repeat(Box::new(Repeat {
                initial: initial_code,
                max,
                body: id,
            }))
        });
        // A round whose guarded `yield` was not taken adds nothing, so the list never holds its absence.
        let element = if checked.ty == Type::Null {
            Type::Null
        } else {
            checked.ty.clone()
        };
        checked.ty = Type::List(Arc::new(element));
        checked
    }

    /// The type of the state of the innermost `repeat`: that of slot 0.
    pub(super) fn repeat_state(&self) -> Type {
        self.names.first_type().unwrap_or(Type::Any)
    }

    fn race(&mut self, span: Span, branches: &[(ast::Name, ast::ArmBody)]) -> CheckedBody {
        let mut arms = Vec::new();
        let mut types = Vec::new();
        let mut does = Footprint::none();
        if branches.len() < 2 {
            let diagnostic = Diagnostic::new(
                &codes::types::MISSING_ARGUMENT,
                span,
                "a race needs two branches at least",
            );
            self.diagnostics
                .push(diagnostic.help("add a branch, `name: call`, or call the one tool directly"));
        }
        for (name, body) in branches {
            let arm = self.arm(&name.text, body, None, None);
            if !arm.does.effect.floats() {
                let message = format!(
                    "the branch `{}` is {}, and only reads may race",
                    name.text,
                    with_article(arm.does.effect)
                );
                let help = "the losers are cancelled in mid-call, so an effect could happen and be lost; race reads, then act";
                self.diagnostics.push(
                    Diagnostic::new(&codes::effects::RACE_WITH_EFFECT, name.span, message)
                        .help(help),
                );
            }
            does.merge(&arm.does);
            if arms
                .iter()
                .any(|(known, _): &(Arc<str>, BlockId)| *known == name.text)
            {
                self.diagnostics
                    .push(super::finding::duplicate_name("branch", name, span));
            }
            types.push(arm.ty);
            arms.push((name.text.clone(), arm.id));
        }
        let winner = Type::union(
            arms.iter()
                .map(|(name, _)| Type::Literal(Literal::String(name.clone()))),
        );
        let body = CheckedBody::new(StepKind::Race(arms), Type::union(types), does);
        CheckedBody {
            winner: Some(winner),
            ..body
        }
    }

    fn match_arms(&mut self, subject: &ast::Expr, arms: &[ast::Arm]) -> CheckedBody {
        let subject_code = self.value(subject);
        let patterns = arms
            .iter()
            .map(|arm| (&arm.pattern, arm.span))
            .collect::<Vec<_>>();
        let patterns = self.expressions().check_patterns(
            (subject, &subject_code.ty),
            &patterns,
            subject.span,
            true,
        );
        let (mut checked, mut types, mut does) = (Vec::new(), Vec::new(), Footprint::none());
        for (arm, pattern) in arms.iter().zip(patterns) {
            let before = self.names.assume(pattern.facts);
            let body = self.arm("match", &arm.body, None, None);
            self.names.forget(before);
            does.merge(&body.does);
            types.push(body.ty);
            checked.push((pattern.matcher, body.id));
        }
        let kind = StepKind::Match {
            subject: Box::new(subject_code),
            arms: checked,
        };
        CheckedBody::new(kind, Type::union(types), does)
    }

    /// An arm of `race`, `match` or `recover` as a block. A call in it is a step with the path `x.label`. Values that
    /// fit the type that the arm stands in for become values of it.
    pub(super) fn arm(
        &mut self,
        label: &str,
        body: &ast::ArmBody,
        binding: Option<(Option<&ast::Name>, Type)>,
        stands_for: Option<&Type>,
    ) -> ArmBlock {
        let statements: &[ast::Statement] = match body {
            ast::ArmBody::Do(block) => &block.statements,
            ast::ArmBody::Expr(_)
            | ast::ArmBody::Ask { .. }
            | ast::ArmBody::Infer { .. }
            | ast::ArmBody::Fail { .. } => &[],
        };
        let own_label = matches!(body, ast::ArmBody::Do(_)).then(|| arc(label));
        let id = self.open_block(BlockKind::Do, own_label, statements);
        if let Some(block) = self.open.last_mut() {
            block.stands_for = stands_for.cloned();
        }
        match binding {
            Some((Some(name), ty)) => {
                self.introduce_local(name, ty);
            }
            Some((None, _)) => {
                self.names.slot();
            }
            None => {}
        }
        self.arm_body(label, body);
        let kind = BlockKind::Do;
        let Some(mut block) = self.close_block() else {
            return ArmBlock {
                id,
                ty: Type::Invalid,
                does: Footprint::none(),
            };
        };
        let yields = std::mem::take(&mut block.yields);
        let ty = match body {
            ast::ArmBody::Do(own) => block_type(yields, &own.statements, kind),
            ast::ArmBody::Fail { .. } => Type::Never,
            ast::ArmBody::Expr(_) | ast::ArmBody::Ask { .. } | ast::ArmBody::Infer { .. } => {
                Type::union(yields)
            }
        };
        ArmBlock {
            id,
            ty,
            does: block.does,
        }
    }

    /// What an arm does, in the block that was opened for it.
    fn arm_body(&mut self, label: &str, body: &ast::ArmBody) {
        match body {
            ast::ArmBody::Do(block) => self.statements(&block.statements),
            ast::ArmBody::Fail { class, message } => {
                if let Some(failing) = self.failing(class, message.as_deref()) {
                    self.push(class.span, NodeKind::Fail(failing));
                }
            }
            ast::ArmBody::Expr(expression) => self.arm_expression(label, expression),
            ast::ArmBody::Ask {
                agent,
                arguments,
                returns,
            } => {
                let asked = self.ask(agent.span, agent, arguments, returns);
                self.arm_step(label, agent.span.to(returns.span), asked);
            }
            ast::ArmBody::Infer {
                span,
                arguments,
                returns,
            } => {
                let inferred = self.infer(*span, arguments, returns);
                self.arm_step(label, *span, inferred);
            }
        }
    }

    fn arm_expression(&mut self, label: &str, expression: &ast::Expr) {
        if !self.is_call(expression) {
            let code = self.value(expression);
            let code = self.yielded(code);
            self.push(expression.span, NodeKind::Yield(code));
            return;
        }
        let body = self.called(expression);
        self.arm_step(label, expression.span, body);
    }

    /// An arm that is one step, whose value is that of the arm.
    fn arm_step(&mut self, label: &str, span: Span, body: CheckedBody) {
        self.note_does(&body.does);
        let slot = self.names.slot();
        let step = Step::bare(span, body.kind, body.ty.clone(), body.does);
        self.push_node(
            span,
            Some((arc(label), slot)),
            Vec::new(),
            NodeKind::Step(Box::new(step)),
        );
        let value = self.yielded(Code::place(
            Place { up: 0, slot },
            arc(label),
            body.ty,
            span,
        ));
        self.push(span, NodeKind::Yield(value));
    }
}

/// What an arm came out as.
pub(super) struct ArmBlock {
    pub id: BlockId,
    pub ty: Type,
    pub does: Footprint,
}

/// The type that carried state has: that of its first value, literals widened at every depth, since later values differ.
pub(super) fn widened(initial: &Type) -> Type {
    match initial {
        Type::Literal(literal) => literal.base(),
        Type::Null | Type::Never => Type::Any,
        Type::List(element) => widened(element).list(),
        Type::Object(object) => {
            let field = |field: &Field| Field {
                ty: widened(&field.ty),
                ..field.clone()
            };
            Type::object(
                object.fields.iter().map(field).collect(),
                object.rest.clone(),
            )
        }
        Type::Union(members) => Type::union(members.iter().map(|member| match member {
            Type::Null => Type::Null,
            other => widened(other),
        })),
        other => other.clone(),
    }
}

fn with_article(effect: Effect) -> String {
    match effect {
        Effect::Idempotent | Effect::Effect | Effect::Irreversible => format!("an `{effect}`"),
        Effect::Pure | Effect::Read => format!("a `{effect}`"),
    }
}
