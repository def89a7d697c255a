//! Lowers steps: one function for each kind of body.

use super::clauses::{Attributes, add_clause, lower_clauses, read_attributes};
use super::expressions::{SeenNames, lower_arguments, next_expression};
use super::patterns::next_pattern;
use super::statements::{block_without_do, damaged_head, next_block};
use super::strays::{block_in_arm, optional_field, optional_message, with_clauses};
use super::type_expressions::next_type;
use super::{Children, DamageKind, Lowering, Node, is_reserved, missing, name};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Ask, Clause, Expr, ExprKind, InputField, Step, StepBody, TypeExpr,
    WaitFor,
};
use crate::syntax::grammar::parse::Rule;
use crate::syntax::place::Place;

pub(super) fn lower_step(cx: &mut Lowering<'_>, mut parts: Children<'_>, statement: Span) -> Step {
    let word = parts.take(Rule::name);
    let name = cx.variable(word);
    let mut head = Vec::new();
    let body = parts.next().map_or(StepBody::Error, |node| {
        lower_step_body(cx, node, statement, &mut head)
    });
    Step {
        name,
        body,
        clauses: lower_clauses(cx, &mut parts, head),
    }
}

/// Lowers a step that could not be parsed, keeping its name, its clauses and the diagnostics of its body.
pub(super) fn lower_damaged_step(
    cx: &mut Lowering<'_>,
    mut parts: Children<'_>,
    whole: Span,
) -> Step {
    let word = parts.take(Rule::name);
    let mut end = word
        .as_ref()
        .map_or(whole.start + 4, |node| cx.span(node).end);
    let name = name(word.filter(|word| !is_reserved(word.text())));
    if let Some(junk) = parts.take(Rule::junk_run) {
        end = cx.span(&junk).end;
    }
    cx.damaged(Span::from(whole.start..end), DamageKind::Statement);
    next_block(cx, &mut parts, Place::Unknown);
    Step {
        name,
        body: StepBody::Error,
        clauses: lower_clauses(cx, &mut parts, Vec::new()),
    }
}

/// Lowers the body of a step. Clauses inside the body are appended to `head`.
pub(super) fn lower_step_body(
    cx: &mut Lowering<'_>,
    node: Node<'_>,
    statement: Span,
    head: &mut Vec<Clause>,
) -> StepBody {
    let whole = cx.span(&node);
    let rule = node.rule();
    let mut parts = Children::of(node);
    match rule {
        Rule::call_body => StepBody::Call(next_expression(cx, &mut parts)),
        Rule::ask_body => StepBody::Ask(lower_ask(cx, parts)),
        Rule::infer_body => {
            let (arguments, returns) = lower_prompted(cx, &mut parts);
            StepBody::Infer { arguments, returns }
        }
        Rule::do_body => StepBody::Do(next_block(cx, &mut parts, Place::Value)),
        Rule::each_body | Rule::damaged_each => lower_each(cx, parts, statement),
        Rule::repeat_body | Rule::damaged_repeat => lower_repeat(cx, parts, statement),
        Rule::race_body => lower_race(cx, parts),
        Rule::match_body => lower_match_body(cx, parts),
        Rule::input_body => lower_input(cx, parts, head),
        Rule::wait_body => lower_wait(cx, parts),
        _ => {
            cx.damaged(whole, DamageKind::Statement);
            StepBody::Error
        }
    }
}

/// `ask agent(…) -> T`
pub(super) fn lower_ask(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> Ask {
    let agent = name(parts.take(Rule::name));
    let (arguments, returns) = lower_prompted(cx, &mut parts);
    Ask {
        agent,
        arguments,
        returns,
    }
}

/// Lowers the arguments and the result type of `ask` and `infer`.
fn lower_prompted(cx: &mut Lowering<'_>, parts: &mut Children<'_>) -> (Vec<Argument>, TypeExpr) {
    let arguments = parts
        .take(Rule::call_arguments)
        .map(|node| lower_arguments(cx, node))
        .unwrap_or_default();
    (arguments, next_type(cx, parts))
}

fn lower_each(cx: &mut Lowering<'_>, mut parts: Children<'_>, statement: Span) -> StepBody {
    let element = parts.take(Rule::name);
    let element = cx.variable(element);
    let index = parts.take(Rule::name).map(|node| cx.variable(Some(node)));
    let list = head_value(cx, &mut parts, statement);
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    let damaged = matches!(list.kind, ExprKind::Error);
    StepBody::Each {
        element,
        index,
        max: attributes
            .max
            .or_else(|| damaged.then(|| Box::new(missing(list.span)))),
        list: Box::new(list),
        parallel: attributes.parallel,
        by: attributes.by,
        settle: attributes.settle,
        body: next_block(cx, &mut parts, Place::Value),
    }
}

fn lower_repeat(cx: &mut Lowering<'_>, mut parts: Children<'_>, statement: Span) -> StepBody {
    let state = parts.take(Rule::name);
    let state = cx.variable(state);
    let initial = head_value(cx, &mut parts, statement);
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    let damaged = matches!(initial.kind, ExprKind::Error);
    StepBody::Repeat {
        state,
        max: attributes
            .max
            .or_else(|| damaged.then(|| Box::new(missing(initial.span)))),
        initial: Box::new(initial),
        body: next_block(cx, &mut parts, Place::Repeat),
    }
}

/// Lowers the list of an `each` or the initial state of a `repeat`; an error node if the head is damaged.
fn head_value(cx: &mut Lowering<'_>, parts: &mut Children<'_>, statement: Span) -> Expr {
    let Some(junk) = parts.take(Rule::junk_head) else {
        return next_expression(cx, parts);
    };
    damaged_head(cx, statement, &junk)
}

fn lower_race(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> StepBody {
    let mut arms = Vec::new();
    let mut seen = SeenNames::default();
    let mut sound = true;
    while let Some(node) = parts.next() {
        let place = cx.span(&node);
        if node.rule() != Rule::race_arm {
            cx.damaged(cx.trim(place), DamageKind::RaceArm);
            sound = false;
            continue;
        }
        let mut arm = Children::of(node);
        let name = name(arm.take(Rule::name));
        if let Some(first) = seen.before(&name) {
            cx.given_twice("arm", &name, first);
        }
        let body = lower_arm(cx, &mut arm, "race");
        arms.push((name, body));
    }
    if sound {
        StepBody::Race(arms)
    } else {
        StepBody::Error
    }
}

fn lower_match_body(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> StepBody {
    let subject = next_expression(cx, &mut parts);
    let mut arms = Vec::new();
    let mut sound = true;
    while let Some(node) = parts.next() {
        let place = cx.span(&node);
        if node.rule() != Rule::step_arm {
            cx.damaged(cx.trim(place), DamageKind::StepArm);
            sound = false;
            continue;
        }
        let mut arm = Children::of(node);
        let pattern = next_pattern(cx, &mut arm);
        arms.push(Arm {
            span: place,
            pattern,
            body: lower_arm(cx, &mut arm, "match"),
        });
    }
    if sound {
        StepBody::Match { subject, arms }
    } else {
        StepBody::Error
    }
}

/// Lowers the arm of a `match` or `race`. A block, and a call with clauses, become a step of a `do`.
fn lower_arm(cx: &mut Lowering<'_>, arm: &mut Children<'_>, kind: &str) -> ArmBody {
    let Some(first) = arm.nodes.peek() else {
        return lower_arm_body(cx, arm);
    };
    let place = cx.span(&first);
    if !is_block(first.rule()) {
        let body = lower_arm_body(cx, arm);
        let clauses = lower_clauses(cx, arm, Vec::new());
        return if clauses.is_empty() {
            body
        } else {
            with_clauses(cx, body, place, clauses, kind)
        };
    }
    arm.next();
    let mut clauses = Vec::new();
    let body = lower_step_body(cx, first, place, &mut clauses);
    let clauses = lower_clauses(cx, arm, clauses);
    block_in_arm(cx, cx.trim(place), body, clauses, kind)
}

/// Returns true for the blocks that only steps have.
fn is_block(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::race_body | Rule::each_body | Rule::repeat_body | Rule::input_body | Rule::wait_body
    )
}

/// Lowers the body of an arm of `match`, `race` or `recover`.
pub(super) fn lower_arm_body(cx: &mut Lowering<'_>, parts: &mut Children<'_>) -> ArmBody {
    if let Some(node) = parts.take(Rule::do_body) {
        return ArmBody::Do(next_block(cx, &mut Children::of(node), Place::Value));
    }
    if let Some(block) = block_without_do(cx, parts) {
        return ArmBody::Do(block);
    }
    if let Some(node) = parts.take(Rule::ask_body) {
        return ArmBody::Ask(lower_ask(cx, Children::of(node)));
    }
    if let Some(node) = parts.take(Rule::infer_body) {
        let span = cx.span(&node);
        let (arguments, returns) = lower_prompted(cx, &mut Children::of(node));
        return ArmBody::Infer {
            span,
            arguments,
            returns,
        };
    }
    if let Some(node) = parts.take(Rule::fail_body) {
        let mut parts = Children::of(node);
        let class = name(parts.take(Rule::class_name));
        return ArmBody::Fail {
            class,
            message: optional_message(cx, &mut parts).map(Box::new),
        };
    }
    ArmBody::Expr(next_expression(cx, parts))
}

fn lower_input(cx: &mut Lowering<'_>, mut parts: Children<'_>, head: &mut Vec<Clause>) -> StepBody {
    let prompt = next_expression(cx, &mut parts);
    let mut form = prompt.span.after();
    let mut fields = Vec::new();
    while let Some(node) = parts.next() {
        if node.rule() == Rule::input_form {
            form = cx.span(&node);
            fields = lower_input_fields(cx, Children::of(node));
        } else {
            add_clause(cx, node, head);
        }
    }
    StepBody::Input {
        prompt,
        form,
        fields,
    }
}

fn lower_input_fields(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> Vec<InputField> {
    let mut fields = Vec::new();
    let mut seen = SeenNames::default();
    while let Some(node) = parts.take(Rule::input_field) {
        let mut field = Children::of(node);
        let name = name(field.take(Rule::name));
        let mark = field.take(Rule::stray_mark).map(|node| cx.span(&node));
        let ty = next_type(cx, &mut field);
        let ty = match mark {
            Some(mark) => optional_field(cx, mark, &name, ty),
            None => ty,
        };
        let (mut prefill, mut known, mut options) = (None, None, None);
        while let Some(node) = field.next() {
            let place = cx.span(&node);
            let (word, slot) = match node.rule() {
                Rule::input_prefill => ("the value after `=`", &mut prefill),
                Rule::input_known => ("`known`", &mut known),
                _ => ("`in`", &mut options),
            };
            let value = next_expression(cx, &mut Children::of(node));
            if slot.replace(Box::new(value)).is_some() {
                cx.written_twice(word, place);
            }
        }
        if let Some(first) = seen.before(&name) {
            cx.given_twice("field", &name, first);
        }
        fields.push(InputField {
            name,
            ty,
            prefill,
            known,
            options,
        });
    }
    fields
}

fn lower_wait(cx: &mut Lowering<'_>, mut parts: Children<'_>) -> StepBody {
    if let Some(node) = parts.take(Rule::wait_until) {
        return StepBody::Wait(WaitFor::Until(next_expression(cx, &mut Children::of(node))));
    }
    let Some(node) = parts.take(Rule::wait_for) else {
        return StepBody::Wait(WaitFor::Duration(next_expression(cx, &mut parts)));
    };
    let mut parts = Children::of(node);
    let on = next_expression(cx, &mut parts);
    let mut attributes = Attributes::default();
    read_attributes(cx, &mut attributes, &mut parts);
    StepBody::Wait(WaitFor::Condition {
        on,
        payload: attributes.payload,
    })
}
