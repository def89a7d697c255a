//! Lowers steps: one function for each kind of body.

use super::clauses::Attributes;
use super::expressions::SeenNames;
use super::{Children, DamageKind, Lowering, Node, is_reserved, missing, name};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Clause, Expr, ExprKind, InputField, Step, StepBody, TypeExpr, WaitFor,
};
use crate::syntax::grammar::quiet::Rule;
use crate::syntax::place::Place;

impl Lowering<'_> {
    pub(super) fn step(&mut self, mut parts: Children<'_>) -> Step {
        let word = parts.take(Rule::name);
        let name = self.variable(word);
        let mut head = Vec::new();
        let body = parts.next().map_or(StepBody::Error, |node| {
            self.step_body(node, name.span, &mut head)
        });
        Step {
            name,
            body,
            clauses: self.clauses(&mut parts, head),
        }
    }

    /// A step whose text could not be read: its name, its clauses, and what its body reports are kept.
    pub(super) fn damaged_step(&mut self, mut parts: Children<'_>, whole: Span) -> Step {
        let word = parts.take(Rule::name);
        let mut end = word
            .as_ref()
            .map_or(whole.start + 4, |node| self.span(node).end);
        let name = name(word.filter(|word| !is_reserved(word.text())));
        if let Some(junk) = parts.take(Rule::junk_run) {
            end = self.span(&junk).end;
        }
        self.damaged(Span::from(whole.start..end), DamageKind::Statement);
        self.next_block(&mut parts, Place::Unknown);
        Step {
            name,
            body: StepBody::Error,
            clauses: self.clauses(&mut parts, Vec::new()),
        }
    }

    /// Clauses that stand in the body go to `head`.
    fn step_body(&mut self, node: Node<'_>, step: Span, head: &mut Vec<Clause>) -> StepBody {
        let whole = self.span(&node);
        let rule = node.rule();
        let mut parts = Children::of(node);
        match rule {
            Rule::call_body => StepBody::Call(self.next_expression(&mut parts)),
            Rule::ask_body => {
                let agent = name(parts.take(Rule::name));
                let (arguments, returns) = self.prompted(&mut parts);
                StepBody::Ask {
                    agent,
                    arguments,
                    returns,
                }
            }
            Rule::infer_body => {
                let (arguments, returns) = self.prompted(&mut parts);
                StepBody::Infer { arguments, returns }
            }
            Rule::do_body => StepBody::Do(self.next_block(&mut parts, Place::Value)),
            Rule::each_body | Rule::damaged_each => self.each(parts, step),
            Rule::repeat_body | Rule::damaged_repeat => self.repeat(parts, step),
            Rule::race_body => self.race(parts),
            Rule::match_body => self.match_body(parts),
            Rule::input_body => self.input(parts, head),
            Rule::wait_body => self.wait(parts),
            _ => {
                self.damaged(whole, DamageKind::Statement);
                StepBody::Error
            }
        }
    }

    /// What `ask` and `infer` are given, and what they answer with.
    fn prompted(&mut self, parts: &mut Children<'_>) -> (Vec<Argument>, TypeExpr) {
        let arguments = parts
            .take(Rule::call_arguments)
            .map(|node| self.arguments(node))
            .unwrap_or_default();
        (arguments, self.next_type(parts))
    }

    fn each(&mut self, mut parts: Children<'_>, step: Span) -> StepBody {
        let element = parts.take(Rule::name);
        let element = self.variable(element);
        let index = parts.take(Rule::name).map(|node| self.variable(Some(node)));
        let list = self.head_value(&mut parts, step);
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes, &mut parts);
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
            body: self.next_block(&mut parts, Place::Value),
        }
    }

    fn repeat(&mut self, mut parts: Children<'_>, step: Span) -> StepBody {
        let state = parts.take(Rule::name);
        let state = self.variable(state);
        let initial = self.head_value(&mut parts, step);
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes, &mut parts);
        let damaged = matches!(initial.kind, ExprKind::Error);
        StepBody::Repeat {
            state,
            max: attributes
                .max
                .or_else(|| damaged.then(|| Box::new(missing(initial.span)))),
            initial: Box::new(initial),
            body: self.next_block(&mut parts, Place::Repeat),
        }
    }

    /// The list of an `each` or the first state of a `repeat`; an error node where the head is damaged.
    fn head_value(&mut self, parts: &mut Children<'_>, step: Span) -> Expr {
        let Some(junk) = parts.take(Rule::junk_head) else {
            return self.next_expression(parts);
        };
        let start = self.statement_start(step);
        self.damaged_head(start, &junk)
    }

    /// The place of the word `step` before the step's name.
    fn statement_start(&self, step: Span) -> Span {
        let before = self.text.get(..step.start as usize).unwrap_or("");
        before
            .rfind("step")
            .map_or(step, |start| Span::new(start, step.end as usize))
    }

    fn race(&mut self, mut parts: Children<'_>) -> StepBody {
        let mut arms = Vec::new();
        let mut seen = SeenNames::default();
        let mut sound = true;
        while let Some(node) = parts.next() {
            let place = self.span(&node);
            if node.rule() != Rule::race_arm {
                self.damaged(self.trim(place), DamageKind::RaceArm);
                sound = false;
                continue;
            }
            let mut arm = Children::of(node);
            let name = name(arm.take(Rule::name));
            if let Some(first) = seen.before(&name) {
                self.given_twice("arm", &name, first);
            }
            let body = self.arm_body(&mut arm);
            arms.push((name, body));
        }
        if sound {
            StepBody::Race(arms)
        } else {
            StepBody::Error
        }
    }

    fn match_body(&mut self, mut parts: Children<'_>) -> StepBody {
        let subject = self.next_expression(&mut parts);
        let mut arms = Vec::new();
        let mut sound = true;
        while let Some(node) = parts.next() {
            let place = self.span(&node);
            if node.rule() != Rule::step_arm {
                self.damaged(self.trim(place), DamageKind::StepArm);
                sound = false;
                continue;
            }
            let mut arm = Children::of(node);
            let pattern = self.next_pattern(&mut arm);
            arms.push(Arm {
                span: place,
                pattern,
                body: self.arm_body(&mut arm),
            });
        }
        if sound {
            StepBody::Match { subject, arms }
        } else {
            StepBody::Error
        }
    }

    /// What an arm of `match`, `race` or `recover` does.
    pub(super) fn arm_body(&mut self, parts: &mut Children<'_>) -> ArmBody {
        if let Some(node) = parts.take(Rule::do_body) {
            return ArmBody::Do(self.next_block(&mut Children::of(node), Place::Value));
        }
        if let Some(node) = parts.take(Rule::ask_body) {
            let mut parts = Children::of(node);
            let agent = name(parts.take(Rule::name));
            let (arguments, returns) = self.prompted(&mut parts);
            return ArmBody::Ask {
                agent,
                arguments,
                returns,
            };
        }
        if let Some(node) = parts.take(Rule::infer_body) {
            let span = self.span(&node);
            let (arguments, returns) = self.prompted(&mut Children::of(node));
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
                message: self.optional_expression(&mut parts).map(Box::new),
            };
        }
        ArmBody::Expr(self.next_expression(parts))
    }

    fn input(&mut self, mut parts: Children<'_>, head: &mut Vec<Clause>) -> StepBody {
        let prompt = self.next_expression(&mut parts);
        let mut form = Span::at(prompt.span.end as usize);
        let mut fields = Vec::new();
        while let Some(node) = parts.next() {
            if node.rule() == Rule::input_form {
                form = self.span(&node);
                fields = self.input_fields(Children::of(node));
            } else {
                self.add_clause(node, head);
            }
        }
        StepBody::Input {
            prompt,
            form,
            fields,
        }
    }

    fn input_fields(&mut self, mut parts: Children<'_>) -> Vec<InputField> {
        let mut fields = Vec::new();
        let mut seen = SeenNames::default();
        while let Some(node) = parts.take(Rule::input_field) {
            let mut field = Children::of(node);
            let name = name(field.take(Rule::name));
            let ty = self.next_type(&mut field);
            let (mut prefill, mut known, mut options) = (None, None, None);
            while let Some(node) = field.next() {
                let place = self.span(&node);
                let (word, slot) = match node.rule() {
                    Rule::input_prefill => ("the value behind `=`", &mut prefill),
                    Rule::input_known => ("`known`", &mut known),
                    _ => ("`in`", &mut options),
                };
                let value = self.next_expression(&mut Children::of(node));
                if slot.replace(Box::new(value)).is_some() {
                    self.written_twice(word, place);
                }
            }
            if let Some(first) = seen.before(&name) {
                self.given_twice("field", &name, first);
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

    fn wait(&mut self, mut parts: Children<'_>) -> StepBody {
        if let Some(node) = parts.take(Rule::wait_until) {
            return StepBody::Wait(WaitFor::Until(
                self.next_expression(&mut Children::of(node)),
            ));
        }
        let Some(node) = parts.take(Rule::wait_for) else {
            return StepBody::Wait(WaitFor::Duration(self.next_expression(&mut parts)));
        };
        let mut parts = Children::of(node);
        let on = self.next_expression(&mut parts);
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes, &mut parts);
        StepBody::Wait(WaitFor::Condition {
            on,
            payload: attributes.payload,
        })
    }
}
