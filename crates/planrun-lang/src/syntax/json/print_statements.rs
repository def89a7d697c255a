//! Statements and clauses as JSON.

use serde_json::Value;

use super::print::{Encoder, Object, documented, named, tool_call};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Block, Clause, ClauseKind, ErrorPattern, Expr, Guarded, InputField,
    Name, Statement, StatementKind, Step, StepBody, TypeExpr, Undo, WaitFor,
};
use crate::syntax::{canonical_pattern, canonical_type};

pub(super) fn write_block(encoder: &mut Encoder, block: &Block) -> Value {
    block
        .statements
        .iter()
        .map(|statement| write_statement(encoder, statement))
        .collect::<Vec<_>>()
        .into()
}

fn write_statement(encoder: &mut Encoder, statement: &Statement) -> Value {
    let doc = encoder.documentation(statement.doc.as_ref());
    let object = match &statement.kind {
        StatementKind::Policy(settings) => write_setting(encoder, "policy", doc, settings),
        StatementKind::Allow(settings) => write_setting(encoder, "allow", doc, settings),
        StatementKind::Step(step) => write_step(encoder, step, doc, statement.span),
        StatementKind::Let { name, ty, value } => {
            write_let_value(encoder, doc, name, ty.as_deref(), value)
        }
        StatementKind::If { arms, otherwise } => {
            write_branches(encoder, doc, arms, otherwise.as_ref())
        }
        StatementKind::Parallel(body) => {
            let mut object = documented("parallel", doc);
            object.put("body", write_block(encoder, body));
            object
        }
        StatementKind::Task { .. } | StatementKind::Set { .. } => {
            write_milestone(encoder, &statement.kind, doc)
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
            object.put("on", encoder.value(on));
            object.text("payload", payload.as_deref().map(canonical_type).as_deref());
            object.name("as", binding.as_ref());
            encoder.optional(&mut object, "when", when.as_deref());
            encoder.optional(&mut object, "max", max.as_deref());
            object.put("body", write_block(encoder, body));
            object
        }
        StatementKind::Ensure { condition, message } => {
            write_ensure(encoder, doc, condition, message)
        }
        StatementKind::Fail {
            class,
            message,
            when,
        } => write_fail(encoder, doc, class, message.as_deref(), when.as_deref()),
        StatementKind::Reply(guarded) => write_guarded(encoder, "reply", doc, guarded),
        StatementKind::Yield(guarded) => write_guarded(encoder, "yield", doc, guarded),
        StatementKind::Next(guarded) => write_guarded(encoder, "next", doc, guarded),
        StatementKind::Error => encoder.unread(statement.span),
    };
    object.done()
}

fn write_fail(
    encoder: &mut Encoder,
    doc: Option<&str>,
    class: &Name,
    message: Option<&Expr>,
    when: Option<&Expr>,
) -> Object {
    let mut object = documented("fail", doc);
    object.name("class", Some(class));
    encoder.optional(&mut object, "message", message);
    encoder.optional(&mut object, "when", when);
    object
}

fn write_let_value(
    encoder: &mut Encoder,
    doc: Option<&str>,
    name: &Name,
    ty: Option<&TypeExpr>,
    value: &Expr,
) -> Object {
    let mut object = documented("let", doc);
    object.name("name", Some(name));
    object.text("type", ty.map(canonical_type).as_deref());
    object.put("value", encoder.value(value));
    object
}

fn write_ensure(
    encoder: &mut Encoder,
    doc: Option<&str>,
    condition: &Expr,
    message: &Expr,
) -> Object {
    let mut object = documented("ensure", doc);
    object.put("condition", encoder.value(condition));
    object.put("message", encoder.value(message));
    object
}

/// A `task` or a `set`.
fn write_milestone(encoder: &mut Encoder, kind: &StatementKind, doc: Option<&str>) -> Object {
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
        encoder.optional(&mut object, "context", context.as_deref());
        encoder.optional(&mut object, "when", when.as_deref());
        after_key(&mut object, after.as_deref());
    }
    object
}

fn write_setting(encoder: &mut Encoder, kind: &str, doc: Option<&str>, settings: &Expr) -> Object {
    let mut object = documented(kind, doc);
    object.put("settings", encoder.settings(settings));
    object
}

fn write_guarded(
    encoder: &mut Encoder,
    kind: &str,
    doc: Option<&str>,
    guarded: &Guarded,
) -> Object {
    let mut object = documented(kind, doc);
    object.put("value", encoder.value(&guarded.value));
    encoder.optional(&mut object, "when", guarded.when.as_deref());
    object
}

fn write_branches(
    encoder: &mut Encoder,
    doc: Option<&str>,
    arms: &[(Expr, Block)],
    otherwise: Option<&Block>,
) -> Object {
    let mut object = documented("if", doc);
    let mut further = Vec::new();
    for (index, (condition, block)) in arms.iter().enumerate() {
        let (condition, block) = (encoder.value(condition), write_block(encoder, block));
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
        object.put("else", write_block(encoder, block));
    }
    object
}

fn write_step(encoder: &mut Encoder, step: &Step, doc: Option<&str>, span: Span) -> Object {
    let mut object = documented(step_kind(&step.body), doc);
    object.name("name", Some(&step.name));
    write_step_body(encoder, &mut object, &step.body, span);
    write_clauses(encoder, &mut object, &step.clauses);
    object
}

fn write_step_body(encoder: &mut Encoder, object: &mut Object, body: &StepBody, span: Span) {
    match body {
        StepBody::Call(call) => object.put("call", encoder.call(call)),
        StepBody::Ask {
            agent,
            arguments,
            returns,
        } => {
            object.name("agent", Some(agent));
            write_prompted(encoder, object, arguments, returns, span);
        }
        StepBody::Infer { arguments, returns } => {
            write_prompted(encoder, object, arguments, returns, span);
        }
        StepBody::Do(block) => object.put("body", write_block(encoder, block)),
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
            object.put("list", encoder.value(list));
            encoder.optional(object, "max", max.as_deref());
            encoder.optional(object, "parallel", parallel.as_deref());
            encoder.optional(object, "by", by.as_deref());
            object.flag("settle", *settle);
            object.put("body", write_block(encoder, body));
        }
        StepBody::Repeat {
            state,
            initial,
            max,
            body,
        } => {
            object.name("state", Some(state));
            object.put("initial", encoder.value(initial));
            encoder.optional(object, "max", max.as_deref());
            object.put("body", write_block(encoder, body));
        }
        StepBody::Race(arms) => object.put("arms", write_race(encoder, arms)),
        StepBody::Match { subject, arms } => {
            object.put("subject", encoder.value(subject));
            object.put("arms", write_match_arms(encoder, arms));
        }
        StepBody::Input { prompt, fields, .. } => {
            object.put("prompt", encoder.value(prompt));
            object.put("fields", write_input_fields(encoder, fields));
        }
        StepBody::Wait(wait) => write_wait(encoder, object, wait),
        StepBody::Error => *object = encoder.unread(span),
    }
}

fn write_race(encoder: &mut Encoder, arms: &[(Name, ArmBody)]) -> Vec<Value> {
    let arms = arms.iter();
    arms.map(|(name, body)| write_arm(encoder, "name", &name.text, body))
        .collect()
}

fn write_match_arms(encoder: &mut Encoder, arms: &[Arm]) -> Vec<Value> {
    let arms = arms.iter();
    arms.map(|arm| {
        write_arm(
            encoder,
            "pattern",
            &canonical_pattern(&arm.pattern),
            &arm.body,
        )
    })
    .collect()
}

fn write_input_fields(encoder: &mut Encoder, fields: &[InputField]) -> Vec<Value> {
    let fields = fields.iter();
    fields
        .map(|field| write_input_field(encoder, field))
        .collect()
}

fn write_wait(encoder: &mut Encoder, object: &mut Object, wait: &WaitFor) {
    match wait {
        WaitFor::Duration(duration) => object.put("duration", encoder.value(duration)),
        WaitFor::Until(time) => object.put("time", encoder.value(time)),
        WaitFor::Condition { on, payload } => {
            object.put("on", encoder.value(on));
            object.text("payload", payload.as_deref().map(canonical_type).as_deref());
        }
    }
}

/// An arm of a `match` or a `race`: what chooses it, and what it does.
fn write_arm(encoder: &mut Encoder, key: &str, chosen_by: &str, body: &ArmBody) -> Value {
    let mut arm = Object::new();
    arm.put(key, chosen_by);
    arm.put("then", write_action(encoder, body));
    arm.done()
}

fn write_prompted(
    encoder: &mut Encoder,
    object: &mut Object,
    arguments: &[Argument],
    returns: &TypeExpr,
    span: Span,
) {
    let (prompt, rest) = match arguments {
        [first, rest @ ..] if first.name.is_none() => (Some(&first.value), rest),
        all => (None, all),
    };
    encoder.optional(object, "prompt", prompt);
    match named(rest) {
        Some(rest) if rest.is_empty() => {}
        Some(rest) => object.put("arguments", encoder.arguments(&rest)),
        None => {
            encoder.refuse(
                span,
                "arguments that are given twice or without a name have no JSON form",
            );
        }
    }
    object.put("returns", canonical_type(returns));
}

fn write_input_field(encoder: &mut Encoder, field: &InputField) -> Value {
    let mut object = Object::new();
    object.name("name", Some(&field.name));
    object.put("type", canonical_type(&field.ty));
    encoder.optional(&mut object, "prefill", field.prefill.as_deref());
    encoder.optional(&mut object, "known", field.known.as_deref());
    encoder.optional(&mut object, "options", field.options.as_deref());
    object.done()
}

fn write_action(encoder: &mut Encoder, body: &ArmBody) -> Value {
    let object = match body {
        ArmBody::Expr(expr) if tool_call(expr).is_some() => {
            let mut object = Object::kind("call");
            object.put("call", encoder.call(expr));
            object
        }
        ArmBody::Expr(value) => encoder.only("value", "value", value),
        ArmBody::Do(block) => {
            let mut object = Object::kind("do");
            object.put("body", write_block(encoder, block));
            object
        }
        ArmBody::Ask {
            agent,
            arguments,
            returns,
        } => {
            let mut object = Object::kind("ask");
            object.name("agent", Some(agent));
            write_prompted(encoder, &mut object, arguments, returns, agent.span);
            object
        }
        ArmBody::Infer {
            span,
            arguments,
            returns,
        } => {
            let mut object = Object::kind("infer");
            write_prompted(encoder, &mut object, arguments, returns, *span);
            object
        }
        ArmBody::Fail { class, message } => encoder.failure(class, message.as_deref()),
    };
    object.done()
}

/// Clauses in the order in which the language prints them, whatever order they were written in.
fn write_clauses(encoder: &mut Encoder, object: &mut Object, clauses: &[Clause]) {
    let mut sorted: Vec<&Clause> = clauses.iter().collect();
    sorted.sort_by_key(|clause| clause.kind.rank());
    let mut recovers = Vec::new();
    let mut undo = None;
    for clause in sorted {
        match &clause.kind {
            ClauseKind::When(condition) => object.put("when", encoder.value(condition)),
            ClauseKind::After(after) => after_key(object, Some(after)),
            ClauseKind::Confirm { text, by, expires } => {
                object.put(
                    "confirm",
                    write_confirm(encoder, text, by.as_deref(), expires.as_deref()),
                );
            }
            ClauseKind::By(role) => object.put("by", encoder.value(role)),
            ClauseKind::Timeout(duration) => object.put("timeout", encoder.value(duration)),
            // Elsewhere than at a form the check refuses it.
            ClauseKind::Within(duration) | ClauseKind::Expires(duration) => {
                object.put("within", encoder.value(duration));
            }
            ClauseKind::Retry(settings) => object.put("retry", encoder.settings(settings)),
            ClauseKind::Until { condition, every } => {
                let mut until = Object::new();
                until.put("condition", encoder.value(condition));
                until.put("every", encoder.value(every));
                object.put("until", until.done());
            }
            ClauseKind::Cache(duration) => object.put("cache", encoder.value(duration)),
            ClauseKind::Verify { .. } => object.put("verify", write_verify(encoder, &clause.kind)),
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
                recover.put("then", write_action(encoder, body));
                recovers.push(recover.done());
            }
            ClauseKind::Undo(body) => undo = Some(write_undo(encoder, body)),
            ClauseKind::Error => {
                encoder.unread(clause.span);
            }
        }
    }
    object.list("recover", recovers);
    if let Some(undo) = undo {
        object.put("undo", undo);
    }
}

fn write_undo(encoder: &mut Encoder, undo: &Undo) -> Value {
    let object = match undo {
        Undo::Call(call) => {
            let mut object = Object::kind("call");
            object.put("call", encoder.call(call));
            object
        }
        Undo::Do(block) => {
            let mut object = Object::kind("do");
            object.put("body", write_block(encoder, block));
            object
        }
    };
    object.done()
}

fn write_confirm(
    encoder: &mut Encoder,
    text: &Expr,
    by: Option<&Expr>,
    expires: Option<&Expr>,
) -> Value {
    let mut confirm = Object::new();
    confirm.put("message", encoder.value(text));
    encoder.optional(&mut confirm, "by", by);
    encoder.optional(&mut confirm, "expires", expires);
    confirm.done()
}

fn write_verify(encoder: &mut Encoder, kind: &ClauseKind) -> Value {
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
    verify.put("call", encoder.call(call));
    encoder.optional(&mut verify, "every", every.as_deref());
    encoder.optional(&mut verify, "within", within.as_deref());
    verify.name("as", Some(binding));
    verify.put("check", encoder.value(check));
    encoder.optional(&mut verify, "gives", gives.as_deref());
    verify.done()
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
