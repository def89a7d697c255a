//! Checks tasks, `set` and listeners.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::blocks::BlockKind;
use super::checker::PlanChecker;
use super::clause::steps_above;
use super::context::Contexts;
use super::context_facts::is_word;
use super::event::check_event;
use super::event_value::event_value_type;
use super::expr::{CheckedExpr, Expectation};
use super::finding::{duplicate_name, unknown};
use super::knowledge::{Mark, OuterKnown};
use super::names::NewName;
use super::plan::{
    After, Event, Footprint, Listener, NodeKind, OrderClass, Set, Status, Task, TaskId,
};
use super::scope::{Lookup, NameKind, Scope as _};
use crate::diag::codes;
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{Effect, Field, ObjectType, Rest, Type};

/// Checks `task t "title" [statuses […]] [{ field: T }] [external]`.
pub(super) fn check_task(checker: &mut PlanChecker<'_>, statement: &ast::Statement) {
    let ast::StatementKind::Task {
        name,
        title,
        statuses,
        context,
        external,
    } = &statement.kind
    else {
        return;
    };
    checker.claim("task", name, NameKind::Task);
    for (position, status) in statuses.iter().enumerate() {
        let mut earlier = statuses.iter().take(position);
        if let Some(first) = earlier.find(|first| first.text == status.text) {
            checker.report(duplicate_name("status", status, first.span));
        }
    }
    let context = match context {
        Some(context) => checker.types.resolve(context, checker.diagnostics),
        None => Type::object(Vec::new(), Rest::Closed),
    };
    let statuses = if statuses.is_empty() {
        Task::default_statuses()
    } else {
        statuses.iter().map(|status| status.text.clone()).collect()
    };
    let mut task = Task {
        span: name.span,
        name: name.text.clone(),
        title: title.text.clone(),
        statuses,
        context,
        external: *external,
        block: checker.blocks.block(),
        slot: 0,
    };
    task.slot = checker.introduce(name, NameKind::Task, Contexts::initial_type(&task));
    let id = TaskId(u32::try_from(checker.tasks.len()).unwrap_or(u32::MAX));
    if *external {
        checker.contexts.record_external(&task);
    } else {
        checker
            .candidates
            .tasks
            .push((name.text.clone(), name.span));
    }
    checker.blocks.push_node(
        statement.span,
        Some((name.text.clone(), task.slot)),
        Vec::new(),
        NodeKind::Task(id),
    );
    checker.tasks.push(task);
}

/// Checks `set t status { … } [when e] [after a]`.
pub(super) fn check_set(checker: &mut PlanChecker<'_>, statement: &ast::Statement) {
    let ast::StatementKind::Set {
        task,
        status,
        context,
        when,
        after,
    } = &statement.kind
    else {
        return;
    };
    let mark = when.as_ref().map(|when| checker.guard(when));
    let steps: Vec<After> = match after {
        Some(names) => names
            .iter()
            .flat_map(|name| steps_above(checker, name))
            .collect(),
        None => Vec::new(),
    };
    let declared = checker.task_named(&task.text);
    let declared = declared.and_then(|id| checker.tasks.get(id.0 as usize));
    let declared = declared.map(|task| task.block);
    let inside = checker.blocks.outwards();
    let mut kinds = inside
        .take_while(|block| Some(block.id) != declared)
        .map(|block| block.kind);
    let in_each = kinds.any(|kind| kind == BlockKind::Each);
    drop(kinds);
    if in_each {
        let message = "elements of an `each` run concurrently, so none of them can set a task";
        let diagnostic = codes::order::SET_IN_EACH.at(statement.span, message);
        checker
            .report(diagnostic.help("set the task after the `each`, from the list that it yields"));
    }
    let found = task_status(checker, task, status);
    let code = context
        .as_ref()
        .map(|context| check_set_context(checker, context, task));
    if let Some((id, status_id)) = found {
        note_context(checker, statement.span, id, code.as_ref(), mark.is_some());
        let set = Set {
            span: task.span.to(status.span),
            task: id,
            status: status_id,
            context: code,
        };
        checker
            .blocks
            .add_footprint(&Footprint::of(Effect::Pure, OrderClass::Barrier));
        checker
            .blocks
            .push_node(statement.span, None, steps, NodeKind::Set(Box::new(set)));
    }
    checker.unguard(mark);
    checker.names.known.change_context(&task.text);
}

fn check_set_context(
    checker: &mut PlanChecker<'_>,
    context: &ast::Expr,
    task: &ast::Name,
) -> CheckedExpr {
    let declared = checker
        .task_named(&task.text)
        .and_then(|id| checker.tasks.get(id.0 as usize));
    match declared.map(|task| partial(&task.context)) {
        Some(ty) => checker.value_of(context, &ty, Expectation::of(&"the context")),
        None => checker.value(context),
    }
}

/// Updates the type of a context below a `set`.
fn note_context(
    checker: &mut PlanChecker<'_>,
    span: Span,
    id: TaskId,
    context: Option<&CheckedExpr>,
    guarded: bool,
) {
    let Some(task) = checker.tasks.get(id.0 as usize) else {
        return;
    };
    checker
        .contexts
        .record(task, span, context.map(|context| &context.ty));
    let open = checker
        .blocks
        .innermost()
        .map(|block| (block.id, block.guard.is_empty()));
    let surely = !guarded && open == Some((task.block, true));
    let binding = if let Lookup::Found(binding) = checker.names.lookup(&task.name) {
        Some(binding)
    } else {
        None
    };
    let above = binding
        .as_ref()
        .and_then(|binding| binding.definitions.last())
        .filter(|_| surely);
    if let Some(above) = above {
        let ty = checker.contexts.type_after(task, span, &above.ty);
        let name = task.name.clone();
        let ty = checker.seen_type(&name, ty);
        checker.names.retype(&name, ty, None);
    }
}

fn task_status(
    checker: &mut PlanChecker<'_>,
    task: &ast::Name,
    status: &ast::Name,
) -> Option<(TaskId, Status)> {
    checker.note_read(&task.text);
    let Some(id) = checker.task_named(&task.text) else {
        let known = checker
            .tasks
            .iter()
            .filter(|known| checker.task_named(&known.name).is_some());
        let known = known
            .map(|known| known.name.clone())
            .collect::<BTreeSet<_>>();
        let known = known.iter().map(|name| &**name);
        let code = &codes::names::UNKNOWN_NAME;
        checker.report(unknown(code, "task", &task.text, task.span, known));
        return None;
    };
    let declared = checker.tasks.get(id.0 as usize)?;
    let found = declared.status(&status.text);
    if found.is_none() {
        let what = format!("status of `{}` named", task.text);
        let known = declared.statuses.iter().map(|status| &**status);
        let code = &codes::names::UNKNOWN_STATUS;
        checker.report(unknown(code, &what, &status.text, status.span, known));
    }
    found.map(|status| (id, status))
}

/// A listener whose body is being checked.
pub(super) struct OpenListener<'a> {
    statement: Span,
    name: &'a ast::Name,
    slot: u32,
    /// The facts that hold around it.
    outer: OuterKnown,
    /// The facts that hold at the start of its body.
    known: Mark,
    listener: Listener,
}

/// Checks the head of `listener l on COND [-> T] [as e] [when e] [max N] { … }`, and opens the block of its body.
pub(super) fn open_listener<'a>(
    checker: &mut PlanChecker<'_>,
    statement: &'a ast::Statement,
) -> Option<OpenListener<'a>> {
    let ast::StatementKind::Listener {
        name,
        on,
        payload,
        binding,
        when,
        max,
        body,
    } = &statement.kind
    else {
        return None;
    };
    checker.claim("listener", name, NameKind::Task);
    let slot = checker.introduce(name, NameKind::Step, Type::Null);
    let on = check_event(checker, on);
    let max = max
        .as_ref()
        .map(|max| checker.value_of(max, &Type::Int, Expectation::of(&"`max` of a listener")));
    let payload = payload
        .as_ref()
        .map(|payload| checker.types.resolve(payload, checker.diagnostics));
    let outer = checker.names.known.enter_listener(statement.span);
    let id = checker.open_block(BlockKind::Listener, None, &body.statements);
    let brings = binding
        .as_ref()
        .map(|_| event_value_type(checker, &on, payload.as_ref()));
    match (binding, &brings) {
        (Some(binding), Some(ty)) => drop(checker.introduce_local(binding, ty.clone())),
        _ => drop(checker.names.slot()),
    }
    let snapshot = snapshot_contexts(checker, statement.span, &on);
    let facts = when.as_deref();
    let facts = facts.map_or_else(Vec::new, |when| checker.facts_of(when, true));
    let when = when.as_ref().map(|when| checker.condition(when));
    let known = checker.names.known.assume(facts);
    Some(OpenListener {
        statement: statement.span,
        name,
        slot,
        outer,
        known,
        listener: Listener {
            span: name.span,
            on,
            payload,
            brings,
            when,
            max,
            body: id,
            snapshot,
        },
    })
}

/// Closes the block of a listener and adds its node.
pub(super) fn close_listener(checker: &mut PlanChecker<'_>, open: OpenListener<'_>) {
    checker.names.known.forget(open.known);
    if let Some(block) = checker.close_block() {
        checker.blocks.add_footprint(&block.does);
    }
    checker.names.known.leave_listener(open.outer);
    let named = Some((open.name.text.clone(), open.slot));
    checker.blocks.push_node(
        open.statement,
        named,
        Vec::new(),
        NodeKind::Listener(Box::new(open.listener)),
    );
}

/// Introduces the contexts that a firing may read, each in its own slot: they do not change during the firing.
fn snapshot_contexts(
    checker: &mut PlanChecker<'_>,
    statement: Span,
    on: &Event,
) -> Vec<(TaskId, u32)> {
    let text = checker.shared.source.slice(statement);
    let words = text
        .split(|character: char| !unicode_ident::is_xid_continue(character))
        .collect::<BTreeSet<_>>();
    let tasks = checker.tasks.iter().map(|task| &*task.name);
    let quoted = tasks.filter(|name| !is_word(name) && text.contains(&canonical_name(name)));
    let named = words
        .into_iter()
        .chain(quoted)
        .filter_map(|word| checker.task_named(word))
        .collect::<BTreeSet<_>>();
    let mut snapshot = Vec::new();
    for id in named {
        let Some(task) = checker.tasks.get(id.0 as usize) else {
            continue;
        };
        let Lookup::Found(binding) = checker.names.lookup(&task.name) else {
            continue;
        };
        if binding.kind == NameKind::Task {
            let ty = checker.contexts.snapshot_type(task, &on.statuses(id, task));
            let (name, span) = (task.name.clone(), task.span);
            let ty = checker.seen_type(&name, ty);
            let new = NewName {
                name: &name,
                span,
                kind: NameKind::Task,
                ty,
            };
            snapshot.push((id, checker.names.introduce(new)));
        }
    }
    snapshot
}

/// Returns a context type in which every field is optional, since a `set` merges its fields.
fn partial(ty: &Type) -> Type {
    let Type::Object(object) = ty else {
        return ty.clone();
    };
    let fields = object.fields.iter().map(|field| Field {
        required: false,
        ..field.clone()
    });
    Type::Object(Arc::new(ObjectType {
        fields: fields.collect(),
        rest: object.rest.clone(),
    }))
}
