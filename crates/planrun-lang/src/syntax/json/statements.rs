//! The statements of a file in JSON, as trees.

use jsonc_parser::ast::Value;

use super::document::span;
use super::reader::{Fields, Reader, opening};
use super::shapes::{
    CONFIRM, Choice, ELSE_IF, INPUT_FIELD, MATCH_ARM, RACE_ARM, RECOVER, UNTIL, VERIFY, Word,
};
use super::values::missing;
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Block, Clause, ClauseKind, ErrorPattern, Guarded, InputField, Name,
    Statement, StatementKind, Step, StepBody, Undo, WaitFor,
};
use crate::syntax::place::Place;
use crate::syntax::{MAX_BLOCKS, given_twice};

/// The statements under a key; none where it is left out.
pub(super) fn read_block(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
    place: Place,
) -> Block {
    let whole = fields.get(key).map_or_else(|| opening(fields.span), span);
    if reader.blocks >= MAX_BLOCKS {
        let message = format!("bodies nest at most {MAX_BLOCKS} deep");
        let finding = Diagnostic::new(&codes::TOO_DEEP, opening(whole), message);
        reader.report(finding.help("split the plan into several that call each other"));
        return Block {
            span: whole,
            statements: Vec::new(),
        };
    }
    reader.blocks += 1;
    let elements = reader.elements(fields, key).iter();
    let statements = elements
        .map(|element| read_statement(reader, element, place))
        .collect();
    reader.blocks -= 1;
    Block {
        span: whole,
        statements,
    }
}

fn read_statement(reader: &mut Reader<'_>, value: &Value<'_>, place: Place) -> Statement {
    let whole = span(value);
    let Some((kind, fields)) = reader.choice(value, Choice::Statement) else {
        return Statement {
            span: whole,
            doc: None,
            kind: StatementKind::Error,
        };
    };
    let doc = reader.doc(&fields);
    if let Some(misplaced) = place.refuses(kind, fields.kind) {
        reader.report(misplaced);
    }
    let kind = read_statement_kind(reader, kind, &fields, place);
    Statement {
        span: whole,
        doc,
        kind,
    }
}

fn read_statement_kind(
    reader: &mut Reader<'_>,
    kind: &str,
    fields: &Fields<'_>,
    place: Place,
) -> StatementKind {
    match kind {
        "let" => StatementKind::Let {
            name: reader.name(fields, "name"),
            ty: reader.optional_type(fields, "type").map(Box::new),
            value: reader.value(fields, "value"),
        },
        "if" => read_if_statement(reader, fields, place.inner()),
        "parallel" => StatementKind::Parallel(read_block(reader, fields, "body", Place::Parallel)),
        "ensure" => StatementKind::Ensure {
            condition: reader.value(fields, "condition"),
            message: Box::new(reader.value(fields, "message")),
        },
        "fail" => StatementKind::Fail {
            class: reader.class(fields),
            message: reader.message(fields, "message").map(Box::new),
            when: reader.optional_value(fields, "when").map(Box::new),
        },
        "reply" => StatementKind::Reply(read_guarded(reader, fields)),
        "yield" => StatementKind::Yield(read_guarded(reader, fields)),
        "next" => StatementKind::Next(read_guarded(reader, fields)),
        "task" => StatementKind::Task {
            name: reader.name(fields, "name"),
            title: reader.plain_text(fields, "title"),
            statuses: reader.names(fields, "statuses", Word::Name),
            context: reader.context_type(fields).map(Box::new),
            external: reader.flag(fields, "external"),
        },
        "set" => StatementKind::Set {
            task: reader.name(fields, "task"),
            status: reader.name(fields, "status"),
            context: reader.optional_object(fields, "context").map(Box::new),
            when: reader.optional_value(fields, "when").map(Box::new),
            after: read_after(reader, fields),
        },
        "listener" => StatementKind::Listener {
            name: reader.name(fields, "name"),
            on: Box::new(reader.value(fields, "on")),
            payload: reader.optional_type(fields, "payload").map(Box::new),
            binding: reader.optional_name(fields, "as"),
            when: reader.optional_value(fields, "when").map(Box::new),
            max: reader.optional_value(fields, "max").map(Box::new),
            body: read_block(reader, fields, "body", Place::Listener),
        },
        "policy" => StatementKind::Policy(reader.settings(fields, "settings")),
        "allow" => StatementKind::Allow(reader.settings(fields, "settings")),
        step => StatementKind::Step(Box::new(Step {
            name: reader.name(fields, "name"),
            body: read_step_body(reader, step, fields),
            clauses: read_clauses(reader, step, fields),
        })),
    }
}

fn read_if_statement(reader: &mut Reader<'_>, fields: &Fields<'_>, place: Place) -> StatementKind {
    let condition = reader.value(fields, "condition");
    let mut arms = vec![(condition, read_block(reader, fields, "then", place))];
    for element in reader.elements(fields, "else_if") {
        if let Some(fields) = reader.fields(element, &ELSE_IF) {
            let condition = reader.value(&fields, "condition");
            arms.push((condition, read_block(reader, &fields, "then", place)));
        }
    }
    let otherwise = fields
        .get("else")
        .map(|_| read_block(reader, fields, "else", place));
    StatementKind::If { arms, otherwise }
}

fn read_guarded(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Guarded {
    Guarded {
        value: reader.value(fields, "value"),
        when: reader.optional_value(fields, "when").map(Box::new),
    }
}

fn read_after(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Vec<Name>> {
    fields.get("after")?;
    let names = reader.names(fields, "after", Word::Name);
    (!names.is_empty()).then_some(names)
}

fn read_step_body(reader: &mut Reader<'_>, kind: &str, fields: &Fields<'_>) -> StepBody {
    match kind {
        "step" => StepBody::Call(reader.call(fields, "call")),
        "ask" => StepBody::Ask {
            agent: reader.name(fields, "agent"),
            arguments: read_prompted(reader, fields),
            returns: reader.ty(fields, "returns"),
        },
        "infer" => StepBody::Infer {
            arguments: read_prompted(reader, fields),
            returns: reader.ty(fields, "returns"),
        },
        "do" => StepBody::Do(read_block(reader, fields, "body", Place::Value)),
        "each" => read_each(reader, fields),
        "repeat" => StepBody::Repeat {
            state: reader.name(fields, "state"),
            initial: Box::new(reader.value(fields, "initial")),
            max: reader.optional_value(fields, "max").map(Box::new),
            body: read_block(reader, fields, "body", Place::Repeat),
        },
        "race" => StepBody::Race(read_race_arms(reader, fields)),
        "match" => StepBody::Match {
            subject: reader.value(fields, "subject"),
            arms: read_match_arms(reader, fields),
        },
        "input" => StepBody::Input {
            prompt: reader
                .message(fields, "prompt")
                .unwrap_or_else(|| missing(fields.span)),
            form: fields.get("fields").map_or(fields.span, span),
            fields: read_input_fields(reader, fields),
        },
        "wait" => StepBody::Wait(WaitFor::Duration(reader.value(fields, "duration"))),
        "wait_until" => StepBody::Wait(WaitFor::Until(reader.value(fields, "time"))),
        "wait_for" => StepBody::Wait(WaitFor::Condition {
            on: reader.value(fields, "on"),
            payload: reader.optional_type(fields, "payload").map(Box::new),
        }),
        _ => StepBody::Error,
    }
}

fn read_each(reader: &mut Reader<'_>, fields: &Fields<'_>) -> StepBody {
    StepBody::Each {
        element: reader.name(fields, "element"),
        index: reader.optional_name(fields, "index"),
        list: Box::new(reader.value(fields, "list")),
        max: reader.optional_value(fields, "max").map(Box::new),
        parallel: reader.optional_value(fields, "parallel").map(Box::new),
        by: reader.optional_value(fields, "by").map(Box::new),
        settle: reader.flag(fields, "settle"),
        body: read_block(reader, fields, "body", Place::Value),
    }
}

/// The prompt, which has no name in the language, and the named arguments.
fn read_prompted(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Argument> {
    let prompt = reader.optional_value(fields, "prompt");
    let prompt = prompt.map(|value| Argument {
        span: value.span,
        name: None,
        value,
    });
    prompt
        .into_iter()
        .chain(reader.arguments(fields, "arguments").unwrap_or_default())
        .collect()
}

fn read_race_arms(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<(Name, ArmBody)> {
    let mut arms: Vec<(Name, ArmBody)> = Vec::new();
    for element in reader.elements(fields, "arms") {
        let Some(fields) = reader.fields(element, &RACE_ARM) else {
            continue;
        };
        let name = reader.name(&fields, "name");
        if let Some((first, _)) = arms
            .iter()
            .find(|(other, _)| other.text == name.text && !name.text.is_empty())
        {
            let first = first.span;
            reader.report(given_twice("arm", &name, first));
        }
        arms.push((name, read_action(reader, &fields)));
    }
    arms
}

fn read_match_arms(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for element in reader.elements(fields, "arms") {
        if let Some(fields) = reader.fields(element, &MATCH_ARM) {
            let pattern = reader.pattern(&fields, "pattern");
            arms.push(Arm {
                span: fields.span,
                pattern,
                body: read_action(reader, &fields),
            });
        }
    }
    arms
}

/// What an arm does: its key `then`.
fn read_action(reader: &mut Reader<'_>, fields: &Fields<'_>) -> ArmBody {
    let Some(value) = fields.get("then") else {
        return ArmBody::Expr(missing(fields.span));
    };
    let Some((kind, fields)) = reader.choice(value, Choice::Action) else {
        return ArmBody::Expr(missing(span(value)));
    };
    match kind {
        "call" => ArmBody::Expr(reader.call(&fields, "call")),
        "do" => ArmBody::Do(read_block(reader, &fields, "body", Place::Value)),
        "ask" => ArmBody::Ask {
            agent: reader.name(&fields, "agent"),
            arguments: read_prompted(reader, &fields),
            returns: reader.ty(&fields, "returns"),
        },
        "infer" => ArmBody::Infer {
            span: fields.span,
            arguments: read_prompted(reader, &fields),
            returns: reader.ty(&fields, "returns"),
        },
        "fail" => {
            let class = reader.class(&fields);
            ArmBody::Fail {
                class,
                message: reader.message(&fields, "message").map(Box::new),
            }
        }
        _ => ArmBody::Expr(reader.value(&fields, "value")),
    }
}

fn read_input_fields(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<InputField> {
    let mut form: Vec<InputField> = Vec::new();
    for element in reader.elements(fields, "fields") {
        let Some(fields) = reader.fields(element, &INPUT_FIELD) else {
            continue;
        };
        let name = reader.name(&fields, "name");
        let first = form
            .iter()
            .find(|field| field.name.text == name.text)
            .map(|field| field.name.span);
        if let Some(first) = first {
            reader.report(given_twice("field", &name, first));
        }
        form.push(InputField {
            name,
            ty: reader.ty(&fields, "type"),
            prefill: reader.optional_value(&fields, "prefill").map(Box::new),
            known: reader.optional_value(&fields, "known").map(Box::new),
            options: reader.optional_value(&fields, "options").map(Box::new),
        });
    }
    form
}

/// The clauses of a step, in the order in which the language prints them.
fn read_clauses(reader: &mut Reader<'_>, kind: &str, fields: &Fields<'_>) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut push = |key: &str, kind: Option<ClauseKind>| {
        let place = fields.get(key).map_or(fields.span, span);
        clauses.extend(kind.map(|kind| Clause { span: place, kind }));
    };
    push(
        "when",
        reader.optional_value(fields, "when").map(ClauseKind::When),
    );
    push("after", read_after(reader, fields).map(ClauseKind::After));
    if kind == "input" {
        // That of an `each` is no clause.
        push(
            "by",
            reader.optional_value(fields, "by").map(ClauseKind::By),
        );
    }
    push("confirm", read_confirm(reader, fields));
    push(
        "timeout",
        reader
            .optional_value(fields, "timeout")
            .map(ClauseKind::Timeout),
    );
    push(
        "within",
        reader
            .optional_value(fields, "within")
            .map(ClauseKind::Within),
    );
    push(
        "retry",
        reader
            .optional_settings(fields, "retry")
            .map(ClauseKind::Retry),
    );
    push("until", read_until(reader, fields));
    push(
        "cache",
        reader
            .optional_value(fields, "cache")
            .map(ClauseKind::Cache),
    );
    push("verify", read_verify(reader, fields));
    for element in reader.elements(fields, "recover") {
        let recover = read_recover(reader, element);
        clauses.extend(recover.map(|kind| Clause {
            span: span(element),
            kind,
        }));
    }
    if let Some(value) = fields.get("undo") {
        clauses.push(Clause {
            span: span(value),
            kind: ClauseKind::Undo(read_undo(reader, value)),
        });
    }
    clauses
}

fn read_undo(reader: &mut Reader<'_>, value: &Value<'_>) -> Undo {
    match reader.choice(value, Choice::Undo) {
        None => Undo::Call(missing(span(value))),
        Some(("do", fields)) => Undo::Do(read_block(reader, &fields, "body", Place::Value)),
        Some((_, fields)) => Undo::Call(reader.call(&fields, "call")),
    }
}

fn read_confirm(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<ClauseKind> {
    let fields = reader.fields(fields.get("confirm")?, &CONFIRM)?;
    Some(ClauseKind::Confirm {
        text: reader.value(&fields, "message"),
        by: reader.optional_value(&fields, "by").map(Box::new),
        expires: reader.optional_value(&fields, "expires").map(Box::new),
    })
}

fn read_until(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<ClauseKind> {
    let fields = reader.fields(fields.get("until")?, &UNTIL)?;
    let condition = reader.value(&fields, "condition");
    Some(ClauseKind::Until {
        condition,
        every: Box::new(reader.value(&fields, "every")),
    })
}

fn read_verify(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<ClauseKind> {
    let fields = reader.fields(fields.get("verify")?, &VERIFY)?;
    Some(ClauseKind::Verify {
        call: reader.call(&fields, "call"),
        every: reader.optional_value(&fields, "every").map(Box::new),
        within: reader.optional_value(&fields, "within").map(Box::new),
        binding: reader.name(&fields, "as"),
        check: Box::new(reader.value(&fields, "check")),
        gives: reader.optional_value(&fields, "gives").map(Box::new),
    })
}

fn read_recover(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<ClauseKind> {
    let fields = reader.fields(value, &RECOVER)?;
    let classes = reader.names(&fields, "classes", Word::Class);
    let pattern = if classes.is_empty() {
        ErrorPattern::Any
    } else {
        ErrorPattern::Classes(classes)
    };
    let binding = reader.optional_name(&fields, "as");
    Some(ClauseKind::Recover {
        pattern,
        binding,
        body: read_action(reader, &fields),
    })
}
