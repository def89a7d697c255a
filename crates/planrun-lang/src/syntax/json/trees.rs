//! Maps the fields of syntax trees to keys; reading and writing are both generated from this mapping.

use std::sync::Arc;

use super::print::{Encoder, Head, Object, dotted, tool_call};
use super::reader::{Fields, Reader, missing, opening};
use super::shapes::{CLAUSES, Choice, Shape};
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmBody, Ask, Block, CLAUSE_WORDS, Clause, ClauseKind, Expr, Guarded,
    InputField, ItemKind, MockOutcomeKind, Name, Parameter, Plan, StatementKind, Step, StepBody,
    Test, TestStatementKind, Tool, TypeItem, Undo, Use, UseNamespace, WaitFor,
};
use crate::syntax::given_twice;

/// A tree whose fields are the keys of one object.
pub(super) trait Keyed: Sized {
    fn read_keys(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self;
    fn write_keys(&self, encoder: &mut Encoder, object: &mut Object);
}

/// A tree that is one of several objects, depending on its `kind`.
pub(super) trait Kinds: Sized {
    fn read_kind(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self;
    /// Returns the object of its kind; `None` if the tree has none.
    fn write_kind(&self, encoder: &mut Encoder, head: Head<'_>) -> Option<Object>;
}

/// Reads a field from its key, or from several for `..`; `@` is the span of the object, `(key)` that of a key.
macro_rules! read_key {
    ($reader:ident, $fields:ident, ..) => {
        Keyed::read_keys($reader, $fields)
    };
    ($reader:ident, $fields:ident, @) => {
        $fields.span
    };
    ($reader:ident, $fields:ident, ($key:literal)) => {
        $fields.place($key)
    };
    ($reader:ident, $fields:ident, $key:literal) => {
        $fields.read($reader, $key)
    };
}

/// Writes a field to its key. Spans are not written.
macro_rules! put {
    ($encoder:ident, $object:ident, .., $field:ident) => {
        Keyed::write_keys($field, $encoder, $object)
    };
    ($encoder:ident, $object:ident, @, $field:ident) => {
        let _: &Span = $field;
    };
    ($encoder:ident, $object:ident, ($key:literal), $field:ident) => {
        let _: &Span = $field;
    };
    ($encoder:ident, $object:ident, $key:literal, $field:ident) => {
        $object.write($encoder, $key, $field)
    };
}

/// Maps the keys of one object: in brackets the tree, both as a pattern and as an expression, then its fields with
/// their keys.
macro_rules! keys {
    ($tree:ty: [$($form:tt)*] $($field:ident $key:tt),*) => {
        impl Keyed for $tree {
            fn read_keys(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
                $(let $field = read_key!(reader, fields, $key);)*
                $($form)*
            }

            fn write_keys(&self, encoder: &mut Encoder, object: &mut Object) {
                let $($form)* = self;
                $(put!(encoder, object, $key, $field);)*
            }
        }
    };
}

/// Maps the keys of several objects by their kinds. Any other kind is read by the given function and written elsewhere.
macro_rules! kinds {
    (
        $tree:ty, $shape:expr, else $other:path $([$($rest:tt)+])?;
        $($kind:literal: [$($form:tt)*] $($field:ident $key:tt),*;)*
    ) => {
        impl Kinds for $tree {
            fn read_kind(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
                match fields.shape.kind {
                    $($kind => {
                        $(let $field = read_key!(reader, fields, $key);)*
                        $($form)*
                    })*
                    _ => $other(reader, fields),
                }
            }

            fn write_kind(&self, encoder: &mut Encoder, head: Head<'_>) -> Option<Object> {
                match self {
                    $($($form)* => {
                        let mut object = Object::of($shape($kind)?, encoder, head);
                        let into = &mut object;
                        $(put!(encoder, into, $key, $field);)*
                        Some(object)
                    })*
                    $($($rest)+ => None,)?
                }
            }
        }
    };
}

keys! { TypeItem: [Self { name, definition }] name "name", definition "type" }
keys! { UseNamespace: [Self { name, alias }] name "name", alias "as" }
keys! { Ask: [Self { agent, arguments, returns }]
agent "agent", arguments .., returns "returns" }
keys! { Plan: [Self { name, parameters, returns, body }]
name "name", parameters "parameters", returns "returns", body "body" }
keys! { Test: [Self { name, namespace, plan, body }]
name "name", namespace "namespace", plan "plan", body "body" }
keys! { Parameter: [Self { span, name, optional, ty, default }]
span @, name "name", ty "type", optional "optional", default "default" }
keys! { Guarded: [Self { value, when }] value "value", when "when" }
keys! { Arm: [Self { span, pattern, body }] span @, pattern "pattern", body "then" }
keys! { (Name, ArmBody): [(name, body)] name "name", body "then" }
keys! { (Expr, Block): [(condition, then)] condition "condition", then "then" }
keys! { InputField: [Self { name, ty, prefill, known, options }]
name "name", ty "type", prefill "prefill", known "known", options "options" }

kinds! {
    ItemKind, |kind| Choice::Item.shape(kind), else no_item [Self::Error];
    "use": [Self::Use(Use::Namespaces(namespaces))] namespaces "namespaces";
    "use_file": [Self::Use(Use::File { path, alias })] path "path", alias "as";
    "type": [Self::Type(item)] item ..;
    "tool": [Self::Tool(item)] item ..;
    "plan": [Self::Plan(item)] item ..;
    "test": [Self::Test(item)] item ..;
}

kinds! {
    StatementKind, |kind| Choice::Statement.shape(kind), else step [Self::Step(_) | Self::Error];
    "policy": [Self::Policy(settings)] settings "settings";
    "allow": [Self::Allow(settings)] settings "settings";
    "let": [Self::Let { name, ty, value }] name "name", ty "type", value "value";
    "if": [Self::If { arms, otherwise }] arms .., otherwise "else";
    "parallel": [Self::Parallel(body)] body "body";
    "task": [Self::Task { name, title, statuses, context, external }]
        name "name", title "title", statuses "statuses", context "context", external "external";
    "set": [Self::Set { task, status, context, when, after }]
        task "task", status "status", context "context", when "when", after "after";
    "listener": [Self::Listener { name, on, payload, binding, when, max, body }]
        name "name", on "on", payload "payload", binding "as", when "when", max "max", body "body";
    "ensure": [Self::Ensure { condition, message }] condition "condition", message "message";
    "fail": [Self::Fail { class, message, when }] class "class", message "message", when "when";
    "reply": [Self::Reply(guarded)] guarded ..;
    "yield": [Self::Yield(guarded)] guarded ..;
    "next": [Self::Next(guarded)] guarded ..;
}

kinds! {
    StepBody, |kind| Choice::Statement.shape(kind), else no_step [Self::Error];
    "step": [Self::Call(call)] call "call";
    "ask": [Self::Ask(ask)] ask ..;
    "infer": [Self::Infer { arguments, returns }] arguments .., returns "returns";
    "do": [Self::Do(body)] body "body";
    "each": [Self::Each { element, index, list, max, parallel, by, settle, body }]
        element "element", index "index", list "list", max "max", parallel "parallel", by "by",
        settle "settle", body "body";
    "repeat": [Self::Repeat { state, initial, max, body }]
        state "state", initial "initial", max "max", body "body";
    "race": [Self::Race(arms)] arms "arms";
    "match": [Self::Match { subject, arms }] subject "subject", arms "arms";
    "input": [Self::Input { prompt, form, fields }]
        prompt "prompt", form ("fields"), fields "fields";
    "wait": [Self::Wait(WaitFor::Duration(duration))] duration "duration";
    "wait_until": [Self::Wait(WaitFor::Until(time))] time "time";
    "wait_for": [Self::Wait(WaitFor::Condition { on, payload })] on "on", payload "payload";
}

kinds! {
    ClauseKind, clause_shape, else no_clause [
        Self::When(_) | Self::After(_) | Self::By(_) | Self::Timeout(_) | Self::Within(_)
        | Self::Expires(_) | Self::Retry(_) | Self::Cache(_) | Self::Undo(_) | Self::Error
    ];
    "confirm": [Self::Confirm { text, by, expires }] text "message", by "by", expires "expires";
    "until": [Self::Until { condition, every }] condition "condition", every "every";
    "verify": [Self::Verify { probe, every, within, binding, check, gives }]
        probe "call", every "every", within "within", binding "as", check "check", gives "gives";
    "recover": [Self::Recover { pattern, binding, body }]
        pattern "classes", binding "as", body "then";
}

kinds! {
    ArmBody, |kind| Choice::Action.shape(kind), else call_or_value [Self::Expr(_)];
    "do": [Self::Do(body)] body "body";
    "ask": [Self::Ask(ask)] ask ..;
    "infer": [Self::Infer { span, arguments, returns }]
        span @, arguments .., returns "returns";
    "fail": [Self::Fail { class, message }] class "class", message "message";
}

kinds! {
    TestStatementKind, |kind| Choice::TestStatement.shape(kind), else no_test_line [Self::Error];
    "given": [Self::Given(value)] value "value";
    "mock": [Self::Mock { target, arguments, outcomes }]
        target "tool", arguments "arguments", outcomes "outcomes";
    "answer": [Self::Answer { path, outcome }] path "path", outcome "outcome";
    "signal": [Self::Signal { name, payload, at }] name "name", payload "payload", at "at";
    "expect": [Self::Expect(condition)] condition "condition";
    "expect_diagnostics": [Self::ExpectDiagnostics(codes)] codes "codes";
    "snapshot": [Self::Snapshot(of)] of "of";
}

kinds! {
    MockOutcomeKind, |kind| Choice::Outcome.shape(kind), else generated [Self::Generated];
    "value": [Self::Value(value)] value "value";
    "fail": [Self::Fail { class, message, details }]
        class "class", message "message", details "details";
    "crash": [Self::Crash { after }] after "moment";
}

/// Namespace and name are one key.
impl Keyed for Tool {
    fn read_keys(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        let (namespace, name) = reader.tool(fields, "tool");
        Self {
            namespace,
            name,
            parameters: fields.read(reader, "parameters"),
            returns: fields.read(reader, "returns"),
            effect: fields.read(reader, "effect"),
            fails: fields.read(reader, "fails"),
            key: fields.read(reader, "key"),
        }
    }

    fn write_keys(&self, encoder: &mut Encoder, object: &mut Object) {
        object.put("tool", dotted(&self.namespace.text, &self.name.text));
        object.write(encoder, "parameters", &self.parameters);
        object.write(encoder, "returns", &self.returns);
        object.write(encoder, "effect", &self.effect);
        object.write(encoder, "fails", &self.fails);
        object.write(encoder, "key", &self.key);
    }
}

/// The arms of an `if`: the first uses keys of the object itself, the others are a list in it.
impl Keyed for Vec<(Expr, Block)> {
    fn read_keys(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        let first = Keyed::read_keys(reader, fields);
        let further: Self = fields.read(reader, "else_if");
        std::iter::once(first).chain(further).collect()
    }

    fn write_keys(&self, encoder: &mut Encoder, object: &mut Object) {
        if let Some((first, further)) = self.split_first() {
            first.write_keys(encoder, object);
            object.write_list(encoder, "else_if", further);
        }
    }
}

/// The prompt, which has no name in the language, and the named arguments.
impl Keyed for Vec<Argument> {
    fn read_keys(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        let prompt = fields.read::<Option<Expr>>(reader, "prompt");
        let prompt = prompt.map(|value| Argument {
            span: value.span,
            name: None,
            value,
        });
        let named: Self = fields.read(reader, "arguments");
        prompt.into_iter().chain(named).collect()
    }

    fn write_keys(&self, encoder: &mut Encoder, object: &mut Object) {
        let (prompt, named) = match self.as_slice() {
            [first, rest @ ..] if first.name.is_none() => (Some(&first.value), rest),
            all => (None, all),
        };
        if let Some(prompt) = prompt {
            object.write(encoder, "prompt", prompt);
        }
        if let Some(arguments) = encoder.arguments(named).filter(|_| !named.is_empty()) {
            object.put("arguments", arguments);
        }
    }
}

fn no_item(_: &mut Reader<'_>, _: &Fields<'_>) -> ItemKind {
    ItemKind::Error
}

fn no_step(_: &mut Reader<'_>, _: &Fields<'_>) -> StepBody {
    StepBody::Error
}

fn no_clause(_: &mut Reader<'_>, _: &Fields<'_>) -> ClauseKind {
    ClauseKind::Error
}

fn no_test_line(_: &mut Reader<'_>, _: &Fields<'_>) -> TestStatementKind {
    TestStatementKind::Error
}

fn generated(_: &mut Reader<'_>, _: &Fields<'_>) -> MockOutcomeKind {
    MockOutcomeKind::Generated
}

fn call_or_value(reader: &mut Reader<'_>, fields: &Fields<'_>) -> ArmBody {
    let key = if fields.shape.kind == "call" {
        "call"
    } else {
        "value"
    };
    ArmBody::Expr(fields.read(reader, key))
}

/// Writes the body of an arm as an object.
pub(super) fn write_action(encoder: &mut Encoder, body: &ArmBody) -> Option<Object> {
    let ArmBody::Expr(value) = body else {
        return body.write_kind(encoder, Head::default());
    };
    let key = if tool_call(value).is_some() {
        "call"
    } else {
        "value"
    };
    let mut object = Object::of(Choice::Action.shape(key)?, encoder, Head::default());
    object.write(encoder, key, value);
    Some(object)
}

kinds! {
    Undo, |kind| Choice::Undo.shape(kind), else no_undo;
    "call": [Self::Call(call)] call "call";
    "do": [Self::Do(body)] body "body";
}

fn no_undo(_: &mut Reader<'_>, fields: &Fields<'_>) -> Undo {
    Undo::Call(missing(fields.span))
}

fn step(reader: &mut Reader<'_>, fields: &Fields<'_>) -> StatementKind {
    let name = fields.read(reader, "name");
    let body = Kinds::read_kind(reader, fields);
    match &body {
        StepBody::Race(arms) => each_once(reader, "arm", &arms.iter().map(|(name, _)| name)),
        StepBody::Input { fields, .. } => {
            each_once(reader, "field", &fields.iter().map(|field| &field.name));
        }
        _ => {}
    }
    StatementKind::Step(Box::new(Step {
        name,
        body,
        clauses: clauses(reader, fields),
    }))
}

fn each_once<'n>(
    reader: &mut Reader<'_>,
    what: &str,
    names: &(impl Iterator<Item = &'n Name> + Clone),
) {
    for (index, name) in names.clone().enumerate() {
        let mut before = names.clone().take(index);
        if let Some(first) = before.find(|other| other.text == name.text) {
            reader.report(given_twice(what, name, first.span));
        }
    }
}

/// Writes the step as an object, its clauses in the order of canonical text.
pub(super) fn write_step(
    encoder: &mut Encoder,
    step: &Step,
    doc: Option<&Arc<str>>,
) -> Option<Object> {
    let name = Some(&step.name);
    let mut object = step.body.write_kind(encoder, Head { doc, name })?;
    let mut sorted: Vec<&Clause> = step.clauses.iter().collect();
    sorted.sort_by_key(|clause| clause.kind.rank());
    for clause in sorted {
        write_clause(encoder, &mut object, clause);
    }
    Some(object)
}

/// Reads the clauses of a step, in the order of canonical text.
fn clauses(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Clause> {
    let mut clauses = Vec::new();
    // The `by` of an `each` is not a clause.
    let form = fields.shape.kind == "input";
    for word in CLAUSE_WORDS
        .into_iter()
        .filter(|word| form || *word != "by")
    {
        let place = fields.place(word);
        let kind = match word {
            "when" => fields.read::<Option<_>>(reader, word).map(ClauseKind::When),
            "after" => fields
                .read::<Option<_>>(reader, word)
                .map(ClauseKind::After),
            "by" => fields.read::<Option<_>>(reader, word).map(ClauseKind::By),
            "timeout" => fields
                .read::<Option<_>>(reader, word)
                .map(ClauseKind::Timeout),
            "within" => fields
                .read::<Option<_>>(reader, word)
                .map(ClauseKind::Within),
            "retry" => fields
                .read::<Option<_>>(reader, word)
                .map(ClauseKind::Retry),
            "cache" => fields
                .read::<Option<_>>(reader, word)
                .map(ClauseKind::Cache),
            "undo" => fields.read::<Option<_>>(reader, word).map(ClauseKind::Undo),
            "recover" => {
                clauses.extend(fields.read::<Vec<Clause>>(reader, word));
                continue;
            }
            _ => fields
                .get(word)
                .zip(clause_shape(word))
                .and_then(|(value, shape)| reader.fields(value, shape))
                .map(|inner| Kinds::read_kind(reader, &inner)),
        };
        clauses.extend(kind.map(|kind| Clause { span: place, kind }));
    }
    clauses
}

fn write_clause(encoder: &mut Encoder, object: &mut Object, clause: &Clause) {
    match &clause.kind {
        ClauseKind::When(value)
        | ClauseKind::By(value)
        | ClauseKind::Timeout(value)
        | ClauseKind::Within(value)
        | ClauseKind::Retry(value)
        | ClauseKind::Cache(value) => object.write(encoder, clause.kind.word(), value),
        // The checker rejects it on anything but an `input`.
        ClauseKind::Expires(value) => object.write(encoder, "within", value),
        ClauseKind::After(names) => object.write(encoder, "after", names),
        ClauseKind::Undo(undo) => object.write(encoder, "undo", undo),
        ClauseKind::Recover { .. } => {
            let recover = clause.kind.write_kind(encoder, Head::default());
            object.add("recover", recover);
        }
        ClauseKind::Confirm { .. } | ClauseKind::Until { .. } | ClauseKind::Verify { .. } => {
            if let Some(inner) = clause.kind.write_kind(encoder, Head::default()) {
                object.put(clause.kind.word(), inner.done());
            }
        }
        ClauseKind::Error => {
            encoder.unread(clause.span);
        }
    }
}

/// Returns the shape of a clause that is an object.
fn clause_shape(word: &str) -> Option<&'static Shape> {
    let key = CLAUSES.iter().find(|key| key.name == word)?;
    key.slot.shape()
}

/// Reports what is wrong with an item whose keys are each valid.
pub(super) fn check_item(reader: &mut Reader<'_>, item: &ItemKind, fields: &Fields<'_>) {
    match item {
        ItemKind::Plan(plan) if plan.body.statements.is_empty() && fields.get("body").is_some() => {
            let message = format!("plan `{}` does nothing", plan.name.text);
            reader.report(
                codes::EMPTY_PLAN
                    .at(plan.name.span, message)
                    .label(opening(plan.body.span), "its body is empty")
                    .help("write its steps into `body`, or remove the plan"),
            );
        }
        _ => {}
    }
}
