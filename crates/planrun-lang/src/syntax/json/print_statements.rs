//! Statements and clauses as JSON.

use serde_json::Value;

use super::print::{Encoder, Object, documented, named, tool_call};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Block, Clause, ClauseKind, ErrorPattern, Expr, Guarded, InputField,
    Name, Statement, StatementKind, Step, StepBody, TypeExpr, Undo, WaitFor,
};
use crate::syntax::{canonical_pattern, canonical_type};

impl Encoder {
    pub fn block(&mut self, block: &Block) -> Value {
        block
            .statements
            .iter()
            .map(|statement| self.statement(statement))
            .collect::<Vec<_>>()
            .into()
    }

    fn statement(&mut self, statement: &Statement) -> Value {
        let doc = self.told(statement.doc.as_ref());
        let object = match &statement.kind {
            StatementKind::Policy(settings) => self.setting("policy", doc, settings),
            StatementKind::Allow(settings) => self.setting("allow", doc, settings),
            StatementKind::Step(step) => self.step(step, doc, statement.span),
            StatementKind::Let { name, ty, value } => {
                self.let_value(doc, name, ty.as_deref(), value)
            }
            StatementKind::If { arms, otherwise } => self.branches(doc, arms, otherwise.as_ref()),
            StatementKind::Parallel(body) => {
                let mut object = documented("parallel", doc);
                object.put("body", self.block(body));
                object
            }
            StatementKind::Task { .. } | StatementKind::Set { .. } => {
                self.milestone(&statement.kind, doc)
            }
            StatementKind::Listener {
                name,
                on,
                payload,
                binding,
                when,
                max,
                body,
            } => {
                let mut object = documented("listener", doc);
                object.name("name", Some(name));
                object.put("on", self.value(on));
                object.text("payload", payload.as_deref().map(canonical_type).as_deref());
                object.name("as", binding.as_ref());
                self.optional(&mut object, "when", when.as_deref());
                self.optional(&mut object, "max", max.as_deref());
                object.put("body", self.block(body));
                object
            }
            StatementKind::Ensure { condition, message } => self.ensure(doc, condition, message),
            StatementKind::Fail {
                class,
                message,
                when,
            } => {
                let mut object = documented("fail", doc);
                object.name("class", Some(class));
                self.optional(&mut object, "message", message.as_deref());
                self.optional(&mut object, "when", when.as_deref());
                object
            }
            StatementKind::Reply(guarded) => self.guarded("reply", doc, guarded),
            StatementKind::Yield(guarded) => self.guarded("yield", doc, guarded),
            StatementKind::Next(guarded) => self.guarded("next", doc, guarded),
            StatementKind::Error => self.refuse(
                statement.span,
                "this text could not be read, so it has no JSON form",
            ),
        };
        object.done()
    }

    fn let_value(
        &mut self,
        doc: Option<&str>,
        name: &Name,
        ty: Option<&TypeExpr>,
        value: &Expr,
    ) -> Object {
        let mut object = documented("let", doc);
        object.name("name", Some(name));
        object.text("type", ty.map(canonical_type).as_deref());
        object.put("value", self.value(value));
        object
    }

    fn ensure(&mut self, doc: Option<&str>, condition: &Expr, message: &Expr) -> Object {
        let mut object = documented("ensure", doc);
        object.put("condition", self.value(condition));
        object.put("message", self.value(message));
        object
    }

    /// A `task` or a `set`.
    fn milestone(&mut self, kind: &StatementKind, doc: Option<&str>) -> Object {
        let mut object = documented("task", doc);
        if let StatementKind::Task {
            name,
            title,
            statuses,
            context,
            external,
        } = kind
        {
            object.name("name", Some(name));
            object.put("title", &*title.text);
            object.names("statuses", statuses);
            object.text("context", context.as_deref().map(canonical_type).as_deref());
            object.flag("external", *external);
        } else if let StatementKind::Set {
            task,
            status,
            context,
            when,
            after,
        } = kind
        {
            object = documented("set", doc);
            object.name("task", Some(task));
            object.name("status", Some(status));
            self.optional(&mut object, "context", context.as_deref());
            self.optional(&mut object, "when", when.as_deref());
            after_key(&mut object, after.as_deref());
        }
        object
    }

    fn setting(&mut self, kind: &str, doc: Option<&str>, settings: &Expr) -> Object {
        let mut object = documented(kind, doc);
        object.put("settings", self.settings(settings));
        object
    }

    fn guarded(&mut self, kind: &str, doc: Option<&str>, guarded: &Guarded) -> Object {
        let mut object = documented(kind, doc);
        object.put("value", self.value(&guarded.value));
        self.optional(&mut object, "when", guarded.when.as_deref());
        object
    }

    fn branches(
        &mut self,
        doc: Option<&str>,
        arms: &[(Expr, Block)],
        otherwise: Option<&Block>,
    ) -> Object {
        let mut object = documented("if", doc);
        let mut further = Vec::new();
        for (index, (condition, block)) in arms.iter().enumerate() {
            let (condition, block) = (self.value(condition), self.block(block));
            if index == 0 {
                object.put("condition", condition);
                object.put("then", block);
            } else {
                let mut arm = Object::new();
                arm.put("condition", condition);
                arm.put("then", block);
                further.push(arm.done());
            }
        }
        object.list("else_if", further);
        if let Some(block) = otherwise {
            object.put("else", self.block(block));
        }
        object
    }

    fn step(&mut self, step: &Step, doc: Option<&str>, span: Span) -> Object {
        let mut object = documented(step_kind(&step.body), doc);
        object.name("name", Some(&step.name));
        self.step_body(&mut object, &step.body, span);
        self.clauses(&mut object, &step.clauses);
        object
    }

    fn step_body(&mut self, object: &mut Object, body: &StepBody, span: Span) {
        match body {
            StepBody::Call(call) => object.put("call", self.call(call)),
            StepBody::Ask {
                agent,
                arguments,
                returns,
            } => {
                object.name("agent", Some(agent));
                self.prompted(object, arguments, returns, span);
            }
            StepBody::Infer { arguments, returns } => {
                self.prompted(object, arguments, returns, span);
            }
            StepBody::Do(block) => object.put("body", self.block(block)),
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
                object.name("element", Some(element));
                object.name("index", index.as_ref());
                object.put("list", self.value(list));
                self.optional(object, "max", max.as_deref());
                self.optional(object, "parallel", parallel.as_deref());
                self.optional(object, "by", by.as_deref());
                object.flag("settle", *settle);
                object.put("body", self.block(body));
            }
            StepBody::Repeat {
                state,
                initial,
                max,
                body,
            } => {
                object.name("state", Some(state));
                object.put("initial", self.value(initial));
                self.optional(object, "max", max.as_deref());
                object.put("body", self.block(body));
            }
            StepBody::Race(arms) => object.put("arms", self.race(arms)),
            StepBody::Match { subject, arms } => {
                object.put("subject", self.value(subject));
                object.put("arms", self.match_arms(arms));
            }
            StepBody::Input { prompt, fields, .. } => {
                object.put("prompt", self.value(prompt));
                object.put("fields", self.input_fields(fields));
            }
            StepBody::Wait(wait) => self.wait(object, wait),
            StepBody::Error => {
                *object = self.refuse(span, "this text could not be read, so it has no JSON form");
            }
        }
    }

    fn race(&mut self, arms: &[(Name, ArmBody)]) -> Vec<Value> {
        let arms = arms.iter();
        arms.map(|(name, body)| self.arm("name", &name.text, body))
            .collect()
    }

    fn match_arms(&mut self, arms: &[Arm]) -> Vec<Value> {
        let arms = arms.iter();
        arms.map(|arm| self.arm("pattern", &canonical_pattern(&arm.pattern), &arm.body))
            .collect()
    }

    fn input_fields(&mut self, fields: &[InputField]) -> Vec<Value> {
        let fields = fields.iter();
        fields.map(|field| self.input_field(field)).collect()
    }

    fn wait(&mut self, object: &mut Object, wait: &WaitFor) {
        match wait {
            WaitFor::Duration(duration) => object.put("duration", self.value(duration)),
            WaitFor::Until(time) => object.put("time", self.value(time)),
            WaitFor::Condition { on, payload } => {
                object.put("on", self.value(on));
                object.text("payload", payload.as_deref().map(canonical_type).as_deref());
            }
        }
    }

    /// An arm of a `match` or a `race`: what chooses it, and what it does.
    fn arm(&mut self, key: &str, chosen_by: &str, body: &ArmBody) -> Value {
        let mut arm = Object::new();
        arm.put(key, chosen_by);
        arm.put("then", self.action(body));
        arm.done()
    }

    fn prompted(
        &mut self,
        object: &mut Object,
        arguments: &[Argument],
        returns: &TypeExpr,
        span: Span,
    ) {
        let (prompt, rest) = match arguments {
            [first, rest @ ..] if first.name.is_none() => (Some(&first.value), rest),
            all => (None, all),
        };
        self.optional(object, "prompt", prompt);
        match named(rest) {
            Some(rest) if rest.is_empty() => {}
            Some(rest) => object.put("arguments", self.arguments(&rest)),
            None => {
                self.refuse(
                    span,
                    "arguments that are given twice or without a name have no JSON form",
                );
            }
        }
        object.put("returns", canonical_type(returns));
    }

    fn input_field(&mut self, field: &InputField) -> Value {
        let mut object = Object::new();
        object.name("name", Some(&field.name));
        object.put("type", canonical_type(&field.ty));
        self.optional(&mut object, "prefill", field.prefill.as_deref());
        self.optional(&mut object, "known", field.known.as_deref());
        self.optional(&mut object, "options", field.options.as_deref());
        object.done()
    }

    fn action(&mut self, body: &ArmBody) -> Value {
        let object = match body {
            ArmBody::Expr(expr) if tool_call(expr).is_some() => {
                let mut object = Object::kind("call");
                object.put("call", self.call(expr));
                object
            }
            ArmBody::Expr(value) => self.only("value", "value", value),
            ArmBody::Do(block) => {
                let mut object = Object::kind("do");
                object.put("body", self.block(block));
                object
            }
            ArmBody::Ask {
                agent,
                arguments,
                returns,
            } => {
                let mut object = Object::kind("ask");
                object.name("agent", Some(agent));
                self.prompted(&mut object, arguments, returns, agent.span);
                object
            }
            ArmBody::Infer {
                span,
                arguments,
                returns,
            } => {
                let mut object = Object::kind("infer");
                self.prompted(&mut object, arguments, returns, *span);
                object
            }
            ArmBody::Fail { class, message } => self.failure(class, message.as_deref()),
        };
        object.done()
    }

    /// Clauses in the order in which the language prints them, whatever order they were written in.
    fn clauses(&mut self, object: &mut Object, clauses: &[Clause]) {
        let mut sorted: Vec<&Clause> = clauses.iter().collect();
        sorted.sort_by_key(|clause| clause.kind.rank());
        let mut recovers = Vec::new();
        let mut undo = None;
        for clause in sorted {
            match &clause.kind {
                ClauseKind::When(condition) => object.put("when", self.value(condition)),
                ClauseKind::After(after) => after_key(object, Some(after)),
                ClauseKind::Confirm { text, by, expires } => {
                    object.put(
                        "confirm",
                        self.confirm(text, by.as_deref(), expires.as_deref()),
                    );
                }
                ClauseKind::By(role) => object.put("by", self.value(role)),
                ClauseKind::Timeout(duration) => object.put("timeout", self.value(duration)),
                // Elsewhere than at a form the check refuses it.
                ClauseKind::Within(duration) | ClauseKind::Expires(duration) => {
                    object.put("within", self.value(duration));
                }
                ClauseKind::Retry(settings) => object.put("retry", self.settings(settings)),
                ClauseKind::Until { condition, every } => {
                    let mut until = Object::new();
                    until.put("condition", self.value(condition));
                    until.put("every", self.value(every));
                    object.put("until", until.done());
                }
                ClauseKind::Cache(duration) => object.put("cache", self.value(duration)),
                ClauseKind::Verify { .. } => object.put("verify", self.verify(&clause.kind)),
                ClauseKind::Recover {
                    pattern,
                    binding,
                    body,
                } => {
                    let mut recover = Object::new();
                    if let ErrorPattern::Classes(classes) = pattern {
                        recover.names("classes", classes);
                    }
                    recover.name("as", binding.as_ref());
                    recover.put("then", self.action(body));
                    recovers.push(recover.done());
                }
                ClauseKind::Undo(body) => undo = Some(self.undo(body)),
                ClauseKind::Error => {
                    self.refuse(
                        clause.span,
                        "this text could not be read, so it has no JSON form",
                    );
                }
            }
        }
        object.list("recover", recovers);
        if let Some(undo) = undo {
            object.put("undo", undo);
        }
    }

    fn undo(&mut self, undo: &Undo) -> Value {
        let object = match undo {
            Undo::Call(call) => {
                let mut object = Object::kind("call");
                object.put("call", self.call(call));
                object
            }
            Undo::Do(block) => {
                let mut object = Object::kind("do");
                object.put("body", self.block(block));
                object
            }
        };
        object.done()
    }

    fn confirm(&mut self, text: &Expr, by: Option<&Expr>, expires: Option<&Expr>) -> Value {
        let mut confirm = Object::new();
        confirm.put("message", self.value(text));
        self.optional(&mut confirm, "by", by);
        self.optional(&mut confirm, "expires", expires);
        confirm.done()
    }

    fn verify(&mut self, kind: &ClauseKind) -> Value {
        let ClauseKind::Verify {
            call,
            every,
            within,
            binding,
            check,
            gives,
        } = kind
        else {
            return Value::Null;
        };
        let mut verify = Object::new();
        verify.put("call", self.call(call));
        self.optional(&mut verify, "every", every.as_deref());
        self.optional(&mut verify, "within", within.as_deref());
        verify.name("as", Some(binding));
        verify.put("check", self.value(check));
        self.optional(&mut verify, "gives", gives.as_deref());
        verify.done()
    }
}

fn step_kind(body: &StepBody) -> &'static str {
    match body {
        StepBody::Call(_) | StepBody::Error => "step",
        StepBody::Ask { .. } => "ask",
        StepBody::Infer { .. } => "infer",
        StepBody::Do(_) => "do",
        StepBody::Each { .. } => "each",
        StepBody::Repeat { .. } => "repeat",
        StepBody::Race(_) => "race",
        StepBody::Match { .. } => "match",
        StepBody::Input { .. } => "input",
        StepBody::Wait(WaitFor::Duration(_)) => "wait",
        StepBody::Wait(WaitFor::Until(_)) => "wait_until",
        StepBody::Wait(WaitFor::Condition { .. }) => "wait_for",
    }
}

fn after_key(object: &mut Object, after: Option<&[Name]>) {
    if let Some(names) = after {
        object.names("after", names);
    }
}
