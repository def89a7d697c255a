//! Prints steps: one function for each kind of body.

use super::clauses::print_clauses;
use super::expressions::print_expr_not_beginning_with;
use super::parts::{Part, present, print_value_with};
use super::printer::{Brackets, Printer};
use super::statements::{print_block, print_head};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Ask, Block, Expr, InputField, Name, Step, StepBody, TypeExpr, WaitFor,
};
use crate::syntax::print::{
    Style, print_arguments, print_pattern, print_subject, print_type, print_value,
};

/// Keywords of bodies other than calls.
const BODY_WORDS: [&str; 8] = [
    "each", "repeat", "race", "match", "input", "wait", "ask", "infer",
];

pub(super) fn print_step<'a>(out: &mut Printer<'a>, step: &'a Step) {
    out.keyword("step");
    out.variable(&step.name.text);
    out.word(" = ");
    let end = print_body(out, &step.body, step.name.span.end);
    let block = matches!(
        step.body,
        StepBody::Do(_)
            | StepBody::Each { .. }
            | StepBody::Repeat { .. }
            | StepBody::Race(_)
            | StepBody::Match { .. }
    );
    let form = matches!(step.body, StepBody::Input { .. });
    print_clauses(out, &step.clauses, end, (block, form));
}

/// Prints a body that begins after `from`; returns its end.
fn print_body<'a>(out: &mut Printer<'a>, body: &'a StepBody, from: u32) -> u32 {
    match body {
        StepBody::Call(call) => {
            print_expr_not_beginning_with(out, call, &BODY_WORDS, false);
            call.span.end
        }
        StepBody::Ask(ask) => print_ask(out, ask),
        StepBody::Infer { arguments, returns } => print_infer(out, arguments, returns, from),
        StepBody::Do(block) => print_do_block(out, block),
        StepBody::Each {
            element,
            index,
            list,
            max,
            parallel,
            by,
            settle,
            body,
        } => {
            let parts = present([
                max.as_ref().map(|max| Part::Expr("max ", max)),
                parallel
                    .as_ref()
                    .map(|parallel| Part::Expr("parallel ", parallel)),
                by.as_ref().map(|by| Part::Expr("by ", by)),
                settle.then_some(Part::Word("settle")),
            ]);
            print_each(out, element, index.as_ref(), list, &parts);
            print_block(out, body);
            body.span.end
        }
        StepBody::Repeat {
            state,
            initial,
            max,
            body,
        } => {
            let max = max.as_ref().map(|max| Part::Expr("max ", max));
            print_repeat(out, state, initial, &present([max]));
            print_block(out, body);
            body.span.end
        }
        StepBody::Race(arms) => print_race(out, arms, from),
        StepBody::Match { subject, arms } => print_match_step(out, subject, arms),
        StepBody::Input {
            prompt,
            form,
            fields,
        } => print_input(out, prompt, *form, fields),
        StepBody::Wait(wait) => print_wait(out, wait),
        StepBody::Error => from,
    }
}

fn print_do_block<'a>(out: &mut Printer<'a>, block: &'a Block) -> u32 {
    out.word("do ");
    print_block(out, block);
    block.span.end
}

pub(super) fn print_ask<'a>(out: &mut Printer<'a>, ask: &'a Ask) -> u32 {
    let Ask {
        agent,
        arguments,
        returns,
    } = ask;
    out.word("ask ");
    out.name(agent);
    print_arguments(
        out,
        arguments,
        Span::from(agent.span.end..returns.span.start),
    );
    out.word(" -> ");
    print_type(out, returns);
    returns.span.end
}

/// Prints an `infer`; `from` is an offset before its parentheses.
fn print_infer<'a>(
    out: &mut Printer<'a>,
    arguments: &'a [Argument],
    returns: &'a TypeExpr,
    from: u32,
) -> u32 {
    out.word("infer");
    print_arguments(out, arguments, Span::from(from..returns.span.start));
    out.word(" -> ");
    print_type(out, returns);
    returns.span.end
}

fn print_each<'a>(
    out: &mut Printer<'a>,
    element: &'a Name,
    index: Option<&'a Name>,
    list: &'a Expr,
    parts: &[Part<'a>],
) {
    print_head(
        out,
        |out| {
            out.word("each ");
            out.variable(&element.text);
            if let Some(index) = index {
                out.word(", ");
                out.variable(&index.text);
            }
            out.word(" in ");
            print_value(out, list);
        },
        list.span.end,
        parts,
    );
}

fn print_repeat<'a>(out: &mut Printer<'a>, state: &'a Name, initial: &'a Expr, parts: &[Part<'a>]) {
    print_head(
        out,
        |out| {
            out.word("repeat ");
            out.variable(&state.text);
            out.word(" = ");
            print_value(out, initial);
        },
        initial.span.end,
        parts,
    );
}

fn print_race<'a>(out: &mut Printer<'a>, arms: &'a [(Name, ArmBody)], from: u32) -> u32 {
    out.word("race ");
    let span = |(name, body): &(Name, ArmBody)| Span::from(name.span.start..arm_end(body));
    let region = braces(out, from, arms.last().map(|arm| span(arm).end));
    out.list(Brackets::ARMS, region, arms, span, |out, (name, body)| {
        out.name(name);
        out.word(": ");
        print_arm_body(out, body);
    });
    region.end
}

fn print_match_step<'a>(out: &mut Printer<'a>, subject: &'a Expr, arms: &'a [Arm]) -> u32 {
    print_head(
        out,
        |out| {
            out.word("match ");
            print_subject(out, subject);
        },
        subject.span.end,
        &[],
    );
    let region = braces(out, subject.span.end, arms.last().map(|arm| arm.span.end));
    out.list(
        Brackets::ARMS,
        region,
        arms,
        |arm| arm.span,
        |out, arm| {
            print_pattern(out, &arm.pattern);
            out.word(" => ");
            print_arm_body(out, &arm.body);
        },
    );
    region.end
}

/// Returns the span of the braces that open after `from` and close after their last element.
fn braces(out: &Printer<'_>, from: u32, last: Option<u32>) -> Span {
    let start = out.comments.seek(from, b'{');
    Span::from(start..out.comments.seek(last.unwrap_or(start), b'}') + 1)
}

pub(super) fn print_arm_body<'a>(out: &mut Printer<'a>, body: &'a ArmBody) {
    match body {
        ArmBody::Expr(expr) => print_value(out, expr),
        ArmBody::Do(block) => {
            out.word("do ");
            print_block(out, block);
        }
        ArmBody::Ask(ask) => {
            print_ask(out, ask);
        }
        ArmBody::Infer {
            span,
            arguments,
            returns,
        } => {
            print_infer(out, arguments, returns, span.start);
        }
        ArmBody::Fail { class, message } => print_failure(out, class, message.as_deref()),
    }
}

pub(super) fn print_failure<'a>(out: &mut Printer<'a>, class: &'a Name, message: Option<&'a Expr>) {
    out.word("fail ");
    out.word(&*class.text);
    if let Some(message) = message {
        out.word(" ");
        print_value(out, message);
    }
}

fn print_input<'a>(
    out: &mut Printer<'a>,
    prompt: &'a Expr,
    form: Span,
    fields: &'a [InputField],
) -> u32 {
    out.word("input ");
    print_value(out, prompt);
    out.word(" -> ");
    out.list(Brackets::OBJECT, form, fields, field_span, |out, field| {
        out.name(&field.name);
        out.word(": ");
        print_type(out, &field.ty);
        // `in` comes first: after a value it would be an operator.
        let parts = [
            (" in ", &field.options),
            (" known ", &field.known),
            (" = ", &field.prefill),
        ];
        for (word, value) in parts {
            if let Some(value) = value {
                out.word(word);
                print_value(out, value);
            }
        }
    });
    form.end
}

fn print_wait<'a>(out: &mut Printer<'a>, wait: &'a WaitFor) -> u32 {
    out.word("wait ");
    match wait {
        WaitFor::Duration(duration) => {
            print_expr_not_beginning_with(out, duration, &["until", "for"], true);
            duration.span.end
        }
        WaitFor::Until(moment) => {
            out.word("until ");
            print_value(out, moment);
            moment.span.end
        }
        WaitFor::Condition { on, payload } => {
            out.word("for ");
            let parts = present([payload.as_ref().map(|ty| Part::Type("-> ", ty))]);
            print_value_with(out, on, &parts);
            payload.as_ref().map_or(on.span.end, |ty| ty.span.end)
        }
    }
}

fn arm_end(body: &ArmBody) -> u32 {
    match body {
        ArmBody::Expr(expr) => expr.span.end,
        ArmBody::Do(Block { span, .. }) => span.end,
        ArmBody::Ask(ask) => ask.returns.span.end,
        ArmBody::Infer { returns, .. } => returns.span.end,
        ArmBody::Fail { class, message } => message
            .as_ref()
            .map_or(class.span.end, |message| message.span.end),
    }
}

fn field_span(field: &InputField) -> Span {
    let values = [&field.prefill, &field.known, &field.options]
        .into_iter()
        .flatten()
        .map(|expr| expr.span.end);
    Span::from(field.name.span.start..values.fold(field.ty.span.end, u32::max))
}
