//! The statements of a file in JSON, as trees.

use jsonc_parser::ast::Value;

use super::document::span;
use super::reader::{Fields, Reader, opening};
use super::shapes::{CONFIRM, UNTIL, VERIFY};
use super::shapes::{Choice, ELSE_IF, INPUT_FIELD, MATCH_ARM, RACE_ARM, RECOVER, Word};
use super::values::missing;
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::MAX_BLOCKS;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Block, Clause, ClauseKind, ErrorPattern, Guarded, InputField, Name,
    Statement, StatementKind, Step, StepBody, Undo, WaitFor,
};
use crate::syntax::place::Place;

impl Reader<'_> {
    /// The statements under a key; none where it is left out.
    pub fn block(&mut self, fields: &Fields<'_>, key: &str, place: Place) -> Block {
        let whole = fields.get(key).map_or_else(|| opening(fields.span), span);
        if self.blocks >= MAX_BLOCKS {
            let message = format!("bodies nest at most {MAX_BLOCKS} deep");
            let finding = Diagnostic::new(&codes::TOO_DEEP, opening(whole), message);
            self.diagnostics
                .push(finding.help("split the plan into several that call each other"));
            return Block {
                span: whole,
                statements: Vec::new(),
            };
        }
        self.blocks += 1;
        let elements = self.elements(fields, key).iter();
        let statements = elements
            .map(|element| self.statement(element, place))
            .collect();
        self.blocks -= 1;
        Block {
            span: whole,
            statements,
        }
    }

    fn statement(&mut self, value: &Value<'_>, place: Place) -> Statement {
        let whole = span(value);
        let Some((kind, fields)) = self.choice(value, Choice::Statement) else {
            return Statement {
                span: whole,
                doc: None,
                kind: StatementKind::Error,
            };
        };
        let doc = self.doc(&fields);
        if let Some(misplaced) = place.refuses(kind, fields.kind) {
            self.diagnostics.push(misplaced);
        }
        let kind = self.statement_kind(kind, &fields, place);
        Statement {
            span: whole,
            doc,
            kind,
        }
    }

    fn statement_kind(&mut self, kind: &str, fields: &Fields<'_>, place: Place) -> StatementKind {
        match kind {
            "let" => StatementKind::Let {
                name: self.name(fields, "name"),
                ty: self.optional_type(fields, "type").map(Box::new),
                value: self.value(fields, "value"),
            },
            "if" => self.if_statement(fields, place.inner()),
            "parallel" => StatementKind::Parallel(self.block(fields, "body", Place::Parallel)),
            "ensure" => StatementKind::Ensure {
                condition: self.value(fields, "condition"),
                message: Box::new(self.value(fields, "message")),
            },
            "fail" => StatementKind::Fail {
                class: self.class(fields),
                message: self.message(fields, "message").map(Box::new),
                when: self.optional_value(fields, "when").map(Box::new),
            },
            "reply" => StatementKind::Reply(self.guarded(fields)),
            "yield" => StatementKind::Yield(self.guarded(fields)),
            "next" => StatementKind::Next(self.guarded(fields)),
            "task" => StatementKind::Task {
                name: self.name(fields, "name"),
                title: self.plain_text(fields, "title"),
                statuses: self.names(fields, "statuses", Word::Name),
                context: self.context_type(fields).map(Box::new),
                external: self.flag(fields, "external"),
            },
            "set" => StatementKind::Set {
                task: self.name(fields, "task"),
                status: self.name(fields, "status"),
                context: self.optional_object(fields, "context").map(Box::new),
                when: self.optional_value(fields, "when").map(Box::new),
                after: self.after(fields),
            },
            "listener" => StatementKind::Listener {
                name: self.name(fields, "name"),
                on: Box::new(self.value(fields, "on")),
                payload: self.optional_type(fields, "payload").map(Box::new),
                binding: self.optional_name(fields, "as"),
                when: self.optional_value(fields, "when").map(Box::new),
                max: self.optional_value(fields, "max").map(Box::new),
                body: self.block(fields, "body", Place::Listener),
            },
            "policy" => StatementKind::Policy(self.settings(fields, "settings")),
            "allow" => StatementKind::Allow(self.settings(fields, "settings")),
            step => StatementKind::Step(Box::new(Step {
                name: self.name(fields, "name"),
                body: self.step_body(step, fields),
                clauses: self.clauses(step, fields),
            })),
        }
    }

    fn if_statement(&mut self, fields: &Fields<'_>, place: Place) -> StatementKind {
        let condition = self.value(fields, "condition");
        let mut arms = vec![(condition, self.block(fields, "then", place))];
        for element in self.elements(fields, "else_if") {
            if let Some(fields) = self.fields(element, &ELSE_IF) {
                let condition = self.value(&fields, "condition");
                arms.push((condition, self.block(&fields, "then", place)));
            }
        }
        let otherwise = fields
            .get("else")
            .map(|_| self.block(fields, "else", place));
        StatementKind::If { arms, otherwise }
    }

    fn guarded(&mut self, fields: &Fields<'_>) -> Guarded {
        Guarded {
            value: self.value(fields, "value"),
            when: self.optional_value(fields, "when").map(Box::new),
        }
    }

    fn after(&mut self, fields: &Fields<'_>) -> Option<Vec<Name>> {
        fields.get("after")?;
        let names = self.names(fields, "after", Word::Name);
        (!names.is_empty()).then_some(names)
    }

    fn step_body(&mut self, kind: &str, fields: &Fields<'_>) -> StepBody {
        match kind {
            "step" => StepBody::Call(self.call(fields, "call")),
            "ask" => StepBody::Ask {
                agent: self.name(fields, "agent"),
                arguments: self.prompted(fields),
                returns: self.ty(fields, "returns"),
            },
            "infer" => StepBody::Infer {
                arguments: self.prompted(fields),
                returns: self.ty(fields, "returns"),
            },
            "do" => StepBody::Do(self.block(fields, "body", Place::Value)),
            "each" => self.each(fields),
            "repeat" => StepBody::Repeat {
                state: self.name(fields, "state"),
                initial: Box::new(self.value(fields, "initial")),
                max: self.optional_value(fields, "max").map(Box::new),
                body: self.block(fields, "body", Place::Repeat),
            },
            "race" => StepBody::Race(self.race_arms(fields)),
            "match" => StepBody::Match {
                subject: self.value(fields, "subject"),
                arms: self.match_arms(fields),
            },
            "input" => StepBody::Input {
                prompt: self
                    .message(fields, "prompt")
                    .unwrap_or_else(|| missing(fields.span)),
                form: fields.get("fields").map_or(fields.span, span),
                fields: self.input_fields(fields),
            },
            "wait" => StepBody::Wait(WaitFor::Duration(self.value(fields, "duration"))),
            "wait_until" => StepBody::Wait(WaitFor::Until(self.value(fields, "time"))),
            "wait_for" => StepBody::Wait(WaitFor::Condition {
                on: self.value(fields, "on"),
                payload: self.optional_type(fields, "payload").map(Box::new),
            }),
            _ => StepBody::Error,
        }
    }

    fn each(&mut self, fields: &Fields<'_>) -> StepBody {
        StepBody::Each {
            element: self.name(fields, "element"),
            index: self.optional_name(fields, "index"),
            list: Box::new(self.value(fields, "list")),
            max: self.optional_value(fields, "max").map(Box::new),
            parallel: self.optional_value(fields, "parallel").map(Box::new),
            by: self.optional_value(fields, "by").map(Box::new),
            settle: self.flag(fields, "settle"),
            body: self.block(fields, "body", Place::Value),
        }
    }

    /// The prompt, which has no name in the language, and the named arguments.
    fn prompted(&mut self, fields: &Fields<'_>) -> Vec<Argument> {
        let prompt = self.optional_value(fields, "prompt");
        let prompt = prompt.map(|value| Argument {
            span: value.span,
            name: None,
            value,
        });
        prompt
            .into_iter()
            .chain(self.arguments(fields, "arguments").unwrap_or_default())
            .collect()
    }

    fn race_arms(&mut self, fields: &Fields<'_>) -> Vec<(Name, ArmBody)> {
        let mut arms: Vec<(Name, ArmBody)> = Vec::new();
        for element in self.elements(fields, "arms") {
            let Some(fields) = self.fields(element, &RACE_ARM) else {
                continue;
            };
            let name = self.name(&fields, "name");
            if let Some((first, _)) = arms
                .iter()
                .find(|(other, _)| other.text == name.text && !name.text.is_empty())
            {
                let first = first.span;
                self.given_twice("arm", &name, first);
            }
            arms.push((name, self.action(&fields)));
        }
        arms
    }

    fn match_arms(&mut self, fields: &Fields<'_>) -> Vec<Arm> {
        let mut arms = Vec::new();
        for element in self.elements(fields, "arms") {
            if let Some(fields) = self.fields(element, &MATCH_ARM) {
                let pattern = self.pattern(&fields, "pattern");
                arms.push(Arm {
                    span: fields.span,
                    pattern,
                    body: self.action(&fields),
                });
            }
        }
        arms
    }

    /// What an arm does: its key `then`.
    fn action(&mut self, fields: &Fields<'_>) -> ArmBody {
        let Some(value) = fields.get("then") else {
            return ArmBody::Expr(missing(fields.span));
        };
        let Some((kind, fields)) = self.choice(value, Choice::Action) else {
            return ArmBody::Expr(missing(span(value)));
        };
        match kind {
            "call" => ArmBody::Expr(self.call(&fields, "call")),
            "do" => ArmBody::Do(self.block(&fields, "body", Place::Value)),
            "ask" => ArmBody::Ask {
                agent: self.name(&fields, "agent"),
                arguments: self.prompted(&fields),
                returns: self.ty(&fields, "returns"),
            },
            "infer" => ArmBody::Infer {
                span: fields.span,
                arguments: self.prompted(&fields),
                returns: self.ty(&fields, "returns"),
            },
            "fail" => {
                let class = self.class(&fields);
                ArmBody::Fail {
                    class,
                    message: self.message(&fields, "message").map(Box::new),
                }
            }
            _ => ArmBody::Expr(self.value(&fields, "value")),
        }
    }

    fn input_fields(&mut self, fields: &Fields<'_>) -> Vec<InputField> {
        let mut form: Vec<InputField> = Vec::new();
        for element in self.elements(fields, "fields") {
            let Some(fields) = self.fields(element, &INPUT_FIELD) else {
                continue;
            };
            let name = self.name(&fields, "name");
            let first = form
                .iter()
                .find(|field| field.name.text == name.text)
                .map(|field| field.name.span);
            if let Some(first) = first {
                self.given_twice("field", &name, first);
            }
            form.push(InputField {
                name,
                ty: self.ty(&fields, "type"),
                prefill: self.optional_value(&fields, "prefill").map(Box::new),
                known: self.optional_value(&fields, "known").map(Box::new),
                options: self.optional_value(&fields, "options").map(Box::new),
            });
        }
        form
    }

    fn given_twice(&mut self, what: &str, name: &Name, first: Span) {
        let message = format!("{what} `{}` is given twice", name.text);
        let finding = Diagnostic::new(&codes::DUPLICATE_FIELD, name.span, message)
            .label(first, "first given here");
        self.diagnostics
            .push(finding.help(format!("keep one `{}`", name.text)));
    }

    /// The clauses of a step, in the order in which the language prints them.
    fn clauses(&mut self, kind: &str, fields: &Fields<'_>) -> Vec<Clause> {
        let mut clauses = Vec::new();
        let mut push = |key: &str, kind: Option<ClauseKind>| {
            let place = fields.get(key).map_or(fields.span, span);
            clauses.extend(kind.map(|kind| Clause { span: place, kind }));
        };
        push(
            "when",
            self.optional_value(fields, "when").map(ClauseKind::When),
        );
        push("after", self.after(fields).map(ClauseKind::After));
        if kind == "input" {
            // That of an `each` is no clause.
            push("by", self.optional_value(fields, "by").map(ClauseKind::By));
        }
        push("confirm", self.confirm(fields));
        push(
            "timeout",
            self.optional_value(fields, "timeout")
                .map(ClauseKind::Timeout),
        );
        push(
            "within",
            self.optional_value(fields, "within")
                .map(ClauseKind::Within),
        );
        push(
            "retry",
            self.optional_settings(fields, "retry")
                .map(ClauseKind::Retry),
        );
        push("until", self.until(fields));
        push(
            "cache",
            self.optional_value(fields, "cache").map(ClauseKind::Cache),
        );
        push("verify", self.verify(fields));
        for element in self.elements(fields, "recover") {
            let recover = self.recover(element);
            clauses.extend(recover.map(|kind| Clause {
                span: span(element),
                kind,
            }));
        }
        if let Some(value) = fields.get("undo") {
            clauses.push(Clause {
                span: span(value),
                kind: ClauseKind::Undo(self.undo(value)),
            });
        }
        clauses
    }

    fn undo(&mut self, value: &Value<'_>) -> Undo {
        match self.choice(value, Choice::Undo) {
            None => Undo::Call(missing(span(value))),
            Some(("do", fields)) => Undo::Do(self.block(&fields, "body", Place::Value)),
            Some((_, fields)) => Undo::Call(self.call(&fields, "call")),
        }
    }

    fn confirm(&mut self, fields: &Fields<'_>) -> Option<ClauseKind> {
        let fields = self.fields(fields.get("confirm")?, &CONFIRM)?;
        Some(ClauseKind::Confirm {
            text: self.value(&fields, "message"),
            by: self.optional_value(&fields, "by").map(Box::new),
            expires: self.optional_value(&fields, "expires").map(Box::new),
        })
    }

    fn until(&mut self, fields: &Fields<'_>) -> Option<ClauseKind> {
        let fields = self.fields(fields.get("until")?, &UNTIL)?;
        let condition = self.value(&fields, "condition");
        Some(ClauseKind::Until {
            condition,
            every: Box::new(self.value(&fields, "every")),
        })
    }

    fn verify(&mut self, fields: &Fields<'_>) -> Option<ClauseKind> {
        let fields = self.fields(fields.get("verify")?, &VERIFY)?;
        Some(ClauseKind::Verify {
            call: self.call(&fields, "call"),
            every: self.optional_value(&fields, "every").map(Box::new),
            within: self.optional_value(&fields, "within").map(Box::new),
            binding: self.name(&fields, "as"),
            check: Box::new(self.value(&fields, "check")),
            gives: self.optional_value(&fields, "gives").map(Box::new),
        })
    }

    fn recover(&mut self, value: &Value<'_>) -> Option<ClauseKind> {
        let fields = self.fields(value, &RECOVER)?;
        let classes = self.names(&fields, "classes", Word::Class);
        let pattern = if classes.is_empty() {
            ErrorPattern::Any
        } else {
            ErrorPattern::Classes(classes)
        };
        let binding = self.optional_name(&fields, "as");
        Some(ClauseKind::Recover {
            pattern,
            binding,
            body: self.action(&fields),
        })
    }
}
