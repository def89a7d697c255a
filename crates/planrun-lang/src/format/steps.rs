//! Prints steps: one function for each kind of body.

use super::parts::{Part, present};
use super::printer::{Brackets, Printer};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Block, Expr, InputField, Name, Step, StepBody, TypeExpr, WaitFor,
};

/// Words that begin other bodies than calls.
const BODY_WORDS: [&str; 8] = [
    "each", "repeat", "race", "match", "input", "wait", "ask", "infer",
];

impl<'a> Printer<'a> {
    pub fn step(&mut self, step: &'a Step) {
        self.keyword("step");
        self.variable(&step.name.text);
        self.word(" = ");
        let end = self.body(&step.body, step.name.span.end);
        let block = match step.body {
            StepBody::Do(_)
            | StepBody::Each { .. }
            | StepBody::Repeat { .. }
            | StepBody::Race(_)
            | StepBody::Match { .. } => true,
            StepBody::Call(_)
            | StepBody::Ask { .. }
            | StepBody::Infer { .. }
            | StepBody::Input { .. }
            | StepBody::Wait(_)
            | StepBody::Error => false,
        };
        let form = matches!(step.body, StepBody::Input { .. });
        self.clauses(&step.clauses, end, (block, form));
    }

    /// The body, which begins behind the given place; gives the place behind it.
    fn body(&mut self, body: &'a StepBody, from: u32) -> u32 {
        match body {
            StepBody::Call(call) => {
                self.expr_not_beginning_with(call, &BODY_WORDS, false);
                call.span.end
            }
            StepBody::Ask {
                agent,
                arguments,
                returns,
            } => self.ask(agent, arguments, returns),
            StepBody::Infer { arguments, returns } => self.infer(arguments, returns, from),
            StepBody::Do(block) => self.do_block(block),
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
                self.each(element, index.as_ref(), list, &parts);
                self.block(body);
                body.span.end
            }
            StepBody::Repeat {
                state,
                initial,
                max,
                body,
            } => {
                let max = max.as_ref().map(|max| Part::Expr("max ", max));
                self.repeat(state, initial, &present([max]));
                self.block(body);
                body.span.end
            }
            StepBody::Race(arms) => self.race(arms, from),
            StepBody::Match { subject, arms } => self.match_step(subject, arms),
            StepBody::Input {
                prompt,
                form,
                fields,
            } => self.input(prompt, *form, fields),
            StepBody::Wait(wait) => self.wait(wait),
            StepBody::Error => from,
        }
    }

    fn do_block(&mut self, block: &'a Block) -> u32 {
        self.word("do ");
        self.block(block);
        block.span.end
    }

    fn ask(&mut self, agent: &'a Name, arguments: &'a [Argument], returns: &'a TypeExpr) -> u32 {
        self.word("ask ");
        self.name(agent);
        self.arguments(
            arguments,
            Span {
                start: agent.span.end,
                end: returns.span.start,
            },
        );
        self.word(" -> ");
        self.ty(returns);
        returns.span.end
    }

    /// `from` is a place before its parentheses.
    fn infer(&mut self, arguments: &'a [Argument], returns: &'a TypeExpr, from: u32) -> u32 {
        self.word("infer");
        self.arguments(
            arguments,
            Span {
                start: from,
                end: returns.span.start,
            },
        );
        self.word(" -> ");
        self.ty(returns);
        returns.span.end
    }

    fn each(
        &mut self,
        element: &'a Name,
        index: Option<&'a Name>,
        list: &'a Expr,
        parts: &[Part<'a>],
    ) {
        self.head(
            |this| {
                this.word("each ");
                this.variable(&element.text);
                if let Some(index) = index {
                    this.word(", ");
                    this.variable(&index.text);
                }
                this.word(" in ");
                this.value(list);
            },
            list.span.end,
            parts,
        );
    }

    fn repeat(&mut self, state: &'a Name, initial: &'a Expr, parts: &[Part<'a>]) {
        self.head(
            |this| {
                this.word("repeat ");
                this.variable(&state.text);
                this.word(" = ");
                this.value(initial);
            },
            initial.span.end,
            parts,
        );
    }

    fn race(&mut self, arms: &'a [(Name, ArmBody)], from: u32) -> u32 {
        self.word("race ");
        let span = |(name, body): &(Name, ArmBody)| Span {
            start: name.span.start,
            end: arm_end(body),
        };
        let region = self.braces(from, arms.last().map(|arm| span(arm).end));
        self.list(Brackets::ARMS, region, arms, span, |this, (name, body)| {
            this.name(name);
            this.word(": ");
            this.arm_body(body);
        });
        region.end
    }

    fn match_step(&mut self, subject: &'a Expr, arms: &'a [Arm]) -> u32 {
        self.head(
            |this| {
                this.word("match ");
                this.value(subject);
            },
            subject.span.end,
            &[],
        );
        let region = self.braces(subject.span.end, arms.last().map(|arm| arm.span.end));
        self.list(
            Brackets::ARMS,
            region,
            arms,
            |arm| arm.span,
            |this, arm| {
                this.pattern(&arm.pattern);
                this.word(" => ");
                this.arm_body(&arm.body);
            },
        );
        region.end
    }

    /// The braces that open behind `from` and close behind their last element.
    fn braces(&self, from: u32, last: Option<u32>) -> Span {
        let start = self.comments.seek(from, b'{');
        Span {
            start,
            end: self.comments.seek(last.unwrap_or(start), b'}') + 1,
        }
    }

    pub fn arm_body(&mut self, body: &'a ArmBody) {
        match body {
            ArmBody::Expr(expr) => self.value(expr),
            ArmBody::Do(block) => {
                self.word("do ");
                self.block(block);
            }
            ArmBody::Ask {
                agent,
                arguments,
                returns,
            } => {
                self.ask(agent, arguments, returns);
            }
            ArmBody::Infer {
                span,
                arguments,
                returns,
            } => {
                self.infer(arguments, returns, span.start);
            }
            ArmBody::Fail { class, message } => self.failure(class, message.as_deref()),
        }
    }

    pub fn failure(&mut self, class: &'a Name, message: Option<&'a Expr>) {
        self.word("fail ");
        self.word(&*class.text);
        if let Some(message) = message {
            self.word(" ");
            self.value(message);
        }
    }

    fn input(&mut self, prompt: &'a Expr, form: Span, fields: &'a [InputField]) -> u32 {
        self.word("input ");
        self.value(prompt);
        self.word(" -> ");
        self.list(Brackets::OBJECT, form, fields, field_span, |this, field| {
            this.name(&field.name);
            this.word(": ");
            this.ty(&field.ty);
            // `in` stands first: behind a value it would be an operator.
            let parts = [
                (" in ", &field.options),
                (" known ", &field.known),
                (" = ", &field.prefill),
            ];
            for (word, value) in parts {
                if let Some(value) = value {
                    this.word(word);
                    this.value(value);
                }
            }
        });
        form.end
    }

    fn wait(&mut self, wait: &'a WaitFor) -> u32 {
        self.word("wait ");
        match wait {
            WaitFor::Duration(duration) => {
                self.expr_not_beginning_with(duration, &["until", "for"], true);
                duration.span.end
            }
            WaitFor::Until(moment) => {
                self.word("until ");
                self.value(moment);
                moment.span.end
            }
            WaitFor::Condition { on, payload } => {
                self.word("for ");
                let parts = present([payload.as_ref().map(|ty| Part::Type("-> ", ty))]);
                self.value_with(on, &parts);
                payload.as_ref().map_or(on.span.end, |ty| ty.span.end)
            }
        }
    }
}

fn arm_end(body: &ArmBody) -> u32 {
    match body {
        ArmBody::Expr(expr) => expr.span.end,
        ArmBody::Do(Block { span, .. }) => span.end,
        ArmBody::Ask { returns, .. } | ArmBody::Infer { returns, .. } => returns.span.end,
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
    Span {
        start: field.name.span.start,
        end: values.fold(field.ty.span.end, u32::max),
    }
}
