//! Checks steps: what they call or contain, and the type of their value.

use std::sync::Arc;

use super::agent_check::check_agent;
use super::arm::{check_match, check_race, check_recover_arms};
use super::auxiliary::{check_undo_call, close_undo, open_undo, push_undo_step, refuse_in_undo};
use super::block::check_statements;
use super::blocks::BlockKind;
use super::body::{CheckedBody, close_body};
use super::call::{check_call_step, is_call};
use super::checker::PlanChecker;
use super::clause::{
    Subject, after_steps, check_applicable, check_bounds, check_clause, check_until,
    check_verify_of, places, reads_own_value,
};
use super::expr::CheckedExpr;
use super::plan::{Clauses, Each, NodeKind, OrderClass, Repeat, Step, StepKind, Target, Undo};
use super::scope::NameKind;
use super::step_path::refuse_same_paths;
use super::waiting::{check_ask, check_infer, check_input, check_wait};
use super::widened::widened;
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// Namespace of built-in tools, whose contracts cannot be declared: `sys.echo` returns its argument.
const BUILT_IN: &str = "sys";

/// Checks one step with its clauses and adds its node.
pub(super) fn check_step(checker: &mut PlanChecker<'_>, step: &ast::Step, span: Span) {
    checker.claim("step", &step.name, NameKind::Step);
    refuse_in_undo(checker, step);
    let when = step.clauses.iter().find_map(|clause| match &clause.kind {
        ast::ClauseKind::When(condition) => Some(condition),
        _ => None,
    });
    let mark = when.map(|condition| checker.guard(condition));
    let after = after_steps(checker, &step.clauses);
    let body = check_step_body(checker, step);
    let (slot, recover, clauses) = checker.conditionally(|checker| {
        let mut clauses = Clauses::default();
        let recover = check_recover_arms(checker, step, &body.ty);
        let every = check_clauses_before(checker, step, &body, &mut clauses);
        let slot = checker.introduce(&step.name, NameKind::Step, body.ty.clone());
        note_call(checker, step, &body);
        check_clauses_after(checker, step, &body, every, &mut clauses);
        (slot, recover, clauses)
    });
    let mut types = vec![body.ty];
    let mut arms = Vec::with_capacity(recover.len());
    // An arm that fails leaves no value whose winner could be asked for.
    let recovered = recover.iter().any(|arm| arm.ty != Type::Never);
    // The effects of an arm count for the order of the step and for its block.
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
    let seen = checker.seen_type(&step.name.text, ty.clone());
    let winner = body.winner.map(|winner| {
        let none = recovered.then_some(Type::Null);
        Type::union([winner].into_iter().chain(none))
    });
    checker.names.retype(&step.name.text, seen, winner);
    checker.blocks.add_footprint(&does);
    let step_node = Step {
        span: step.name.span,
        kind: body.kind,
        ty,
        effect: body.does.effect,
        order: does.order,
        touches: body.does.touches.into(),
        places: places(&step.clauses),
        clauses: (!clauses.is_empty()).then(|| Box::new(clauses)),
        recover: arms.into(),
    };
    let (name, kind) = (step.name.text.clone(), NodeKind::Step(step_node));
    let named = Some((name.clone(), slot));
    let node = checker.blocks.push_node(span, named, after, kind);
    if let Some(block) = checker.blocks.innermost_mut() {
        block.steps.entry(name).or_default().push(node);
    }
    checker.unguard(mark);
}

/// Checks the clauses that are evaluated before the step has a value. Returns the pause between two polls.
fn check_clauses_before(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    body: &CheckedBody,
    outcome: &mut Clauses,
) -> Option<CheckedExpr> {
    let subject = Subject::of(&step.body, body);
    let mut pause = None;
    for clause in &step.clauses {
        if let ast::ClauseKind::Until { every, .. } = &clause.kind {
            pause = Some(checker.time_limit(every, "`every`"));
        } else if !reads_own_value(&clause.kind) && check_applicable(checker, step, clause, subject)
        {
            check_clause(checker, clause, body, outcome);
        }
    }
    pause
}

/// Checks the clauses that may read the value of the step, whose name is visible now.
fn check_clauses_after(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    body: &CheckedBody,
    mut every: Option<CheckedExpr>,
    outcome: &mut Clauses,
) {
    let subject = Subject::of(&step.body, body);
    for clause in &step.clauses {
        if !reads_own_value(&clause.kind) || !check_applicable(checker, step, clause, subject) {
            continue;
        }
        if let ast::ClauseKind::Undo(undo) = &clause.kind {
            outcome.undo = check_undo(checker, step, undo, body);
        } else if let ast::ClauseKind::Until { condition, .. } = &clause.kind {
            let polls = |every| check_until(checker, clause.span, condition, every, body);
            outcome.until = every.take().map(polls);
        } else {
            outcome.verify = check_verify_of(checker, step, clause, body);
        }
    }
    check_bounds(checker, step, outcome);
    if outcome.verify.is_none() {
        outcome.agent_check = check_agent(checker, &step.name.text, body);
    }
    refuse_same_paths(checker, step, &body.kind, outcome);
}

/// Checks `undo CALL` or `undo do { … }`.
fn check_undo(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    undo: &ast::Undo,
    body: &CheckedBody,
) -> Option<Undo> {
    let open = open_undo(checker, &step.name, &body.ty);
    match undo {
        ast::Undo::Call(call) => check_undo_call(checker, call),
        ast::Undo::Do(block) => {
            let done = check_do(checker, block);
            push_undo_step(checker, block.span, done);
        }
    }
    close_undo(checker, &step.name, open, &body.ty)
}

/// Records a call whose result should be read.
fn note_call(checker: &mut PlanChecker<'_>, step: &ast::Step, body: &CheckedBody) {
    let StepKind::Call(call) = &body.kind else {
        return;
    };
    let name = &step.name;
    let called = call.path();
    if let Target::Tool(signature) = &call.target
        && signature.returns == Type::Any
        && &*signature.namespace != BUILT_IN
    {
        checker
            .candidates
            .unknown_results
            .push((checker.origin(name), called.clone(), call.span));
    }
    if body.does.effect.is_read_only() && !matches!(body.ty, Type::Null | Type::Never) {
        checker
            .candidates
            .results
            .push((checker.origin(name), name.span, called));
    }
}

/// Changes the fix for a call inside the value of a step: once the call is a step of its own, the rest is a `let`.
fn let_the_rest(found: &mut Diagnostic, step: &ast::Step) {
    if *found.code != codes::names::CALL_IN_EXPRESSION {
        return;
    }
    if !step.clauses.is_empty() {
        found.fix = None;
    }
    let edits = found.fix.as_mut().map(|fix| &mut fix.edits);
    if let Some(first) = edits.and_then(|edits| edits.first_mut()) {
        let start = first.span.start as usize;
        first.span = Span::new(start, start + "step".len());
        first.text.push_str("let");
    }
}

fn check_step_body(checker: &mut PlanChecker<'_>, step: &ast::Step) -> CheckedBody {
    match &step.body {
        ast::StepBody::Call(call) => {
            let before = checker.diagnostics.len();
            let body = check_call_step(checker, call);
            if !is_call(checker, call) {
                let found = checker.diagnostics.iter_mut().skip(before);
                found.for_each(|found| let_the_rest(found, step));
            }
            body
        }
        ast::StepBody::Do(block) => check_do(checker, block),
        ast::StepBody::Each { .. } => check_each(checker, &step.body),
        ast::StepBody::Repeat {
            state,
            initial,
            max,
            body,
        } => check_repeat(checker, state, initial, max.as_deref(), body),
        ast::StepBody::Race(branches) => check_race(checker, step.name.span, branches),
        ast::StepBody::Match { subject, arms } => check_match(checker, subject, arms),
        ast::StepBody::Ask(ask) => check_ask(checker, step.name.span, ask),
        ast::StepBody::Infer { arguments, returns } => {
            check_infer(checker, step.name.span, arguments, returns)
        }
        ast::StepBody::Input {
            prompt,
            form: _,
            fields,
        } => check_input(checker, prompt, fields, &step.clauses),
        ast::StepBody::Wait(wait) => check_wait(checker, wait),
        ast::StepBody::Error => CheckedBody::damaged(Type::Invalid),
    }
}

fn check_do(checker: &mut PlanChecker<'_>, block: &ast::Block) -> CheckedBody {
    let id = checker.open_block(BlockKind::Do, None, &block.statements);
    check_statements(checker, &block.statements);
    close_body(checker, &block.statements, BlockKind::Do, |_| {
        StepKind::Do(id)
    })
}

fn check_each(checker: &mut PlanChecker<'_>, body: &ast::StepBody) -> CheckedBody {
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
    let list_code = checker.value(list);
    let element_type = element_type(checker, &list_code, list.span);
    report_unbounded(checker, "each", max.as_deref(), list.span);
    let max = max
        .as_ref()
        .map(|max| checker.count_from(0, max, "`max` of `each`"));
    let parallel = parallel
        .as_ref()
        .map(|parallel| checker.count_from(1, parallel, "`parallel` of `each`"));
    let id = checker.open_block(BlockKind::Each, None, &block.statements);
    checker.introduce_local(element, element_type);
    match index {
        Some(index) => {
            checker.introduce_local(index, Type::Int);
        }
        None => {
            checker.names.slot();
        }
    }
    let by = by.as_ref().map(|by| checker.value(by));
    check_statements(checker, &block.statements);
    let mut outcome = close_body(checker, &block.statements, BlockKind::Each, |body| {
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
        outcome.ty = Type::Result(Arc::new(outcome.ty));
    }
    // The unread part of a damaged head may contain `settle`.
    outcome.ty = match list.kind {
        ast::ExprKind::Error => Type::Invalid,
        _ => Type::List(Arc::new(outcome.ty)),
    };
    outcome
}

/// Returns the type of an element of the list that `each` iterates over.
fn element_type(checker: &mut PlanChecker<'_>, list: &CheckedExpr, span: Span) -> Type {
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
                codes::types::MAYBE_ABSENT
                    .at(span, "this list may be absent")
                    .help("add a default: `… ?? []`")
                    .unsafe_fix("add `?? []`", vec![Edit::new(span.after(), " ?? []")])
            } else {
                codes::types::NOT_A_LIST
                    .at(
                        span,
                        format!("`each` iterates over a list, but this is {other}"),
                    )
                    .help("use `entries(m)` to get the entries of a map as a list")
                    .expected("a list", other)
            };
            checker.report(diagnostic);
            Type::Invalid
        }
    }
}

/// Reports a loop without `max`; the fix adds one after the expression before it.
fn report_unbounded(
    checker: &mut PlanChecker<'_>,
    word: &str,
    max: Option<&ast::Expr>,
    before: Span,
) {
    if max.is_some() {
        return;
    }
    let rest = checker
        .shared
        .source
        .text()
        .get(before.end as usize..)
        .unwrap_or("");
    // The span of an expression excludes its own parentheses.
    let inside = rest.len() - rest.trim_start_matches(')').len();
    let edit = Edit::new(Span::at(before.end as usize + inside), " max 100");
    let message = format!("`{word}` needs a maximum number of iterations");
    let diagnostic = codes::order::UNBOUNDED_LOOP
        .at(before, message)
        .note("no `max` after this")
        .help("write `max 100`, or another limit; exceeding it is a failure")
        .unsafe_fix("add `max 100`", vec![edit]);
    checker.report(diagnostic);
}

fn check_repeat(
    checker: &mut PlanChecker<'_>,
    state: &ast::Name,
    initial: &ast::Expr,
    max: Option<&ast::Expr>,
    block: &ast::Block,
) -> CheckedBody {
    let initial_code = checker.value(initial);
    report_unbounded(checker, "repeat", max, initial.span);
    let max = max.map(|max| checker.count_from(0, max, "`max` of `repeat`"));
    checker.names.known.enter_unsettled(block.span);
    let id = checker.open_block(BlockKind::Repeat, None, &block.statements);
    let state_type = widened(&initial_code.ty);
    checker.introduce_local(state, state_type);
    check_statements(checker, &block.statements);
    let mut outcome = close_body(checker, &block.statements, BlockKind::Repeat, |_| {
        StepKind::Repeat(Box::new(Repeat {
            initial: initial_code,
            max,
            body: id,
        }))
    });
    outcome.ty = Type::List(Arc::new(outcome.ty));
    outcome
}
