//! Infers which fields of a task's context are set: none at first, later those that the `set`s give.
//!
//! A listener may be written above the `set`s that fire it, so they are first read from the tree and trusted: a field
//! that is written there is taken as given. If types then show that a value may be null, the plan is checked again
//! without that assumption. This is sound because events are ordered in time: the values of a `set` depend only on
//! earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context_facts::{Changes, ContextFacts};
use super::plan::{FAILED, Status, Task};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Field, Type};

/// Maximum number of rounds; after these no field is assumed to be given.
const MAX_ROUNDS: usize = 8;

/// The `set`s of a plan.
#[derive(Default)]
pub(super) struct Contexts {
    sets: BTreeMap<Arc<str>, Vec<Written>>,
    /// Fields that may be null in the value of a `set`, by the start of its statement.
    unsure: BTreeSet<(u32, Arc<str>)>,
    /// The external tasks, each with the fields that may be set to null from outside.
    external: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    rounds: usize,
    changed: bool,
    around: Around,
}

/// The constructs around the statements being read.
#[derive(Clone, Copy, Default)]
struct Around {
    in_listener: bool,
    /// The outermost `parallel` or `race`.
    concurrent: Option<Span>,
    /// The outermost `repeat`.
    repeated: Option<Span>,
}

/// One `set` as written.
struct Written {
    span: Span,
    status: Arc<str>,
    around: Around,
    /// The fields that it names; `None` if the context is not an object literal, so that only its type shows them.
    fields: Option<BTreeSet<Arc<str>>>,
}

impl Contexts {
    /// Reads every `set` of a plan, including those in inner blocks.
    pub(super) fn of_plan(body: &ast::Block) -> Self {
        let mut contexts = Self::default();
        contexts.collect(&body.statements);
        contexts
    }

    /// Starts another round if the last one has found something new; returns false otherwise.
    pub(super) fn next_round(&mut self) -> bool {
        self.rounds += 1;
        std::mem::take(&mut self.changed) && self.rounds <= MAX_ROUNDS
    }

    /// Returns where and how the plan changes the contexts of its tasks.
    pub(super) fn facts(&self) -> ContextFacts {
        let changes = |task: &Arc<str>| {
            let sets = self.sets.get(task).map_or(&[][..], Vec::as_slice);
            let external = self.external.get(task);
            let unsure = self.unsure.iter();
            let starts: BTreeSet<u32> = sets.iter().map(|set| set.span.start).collect();
            let unsure = unsure.filter(|(set, _)| starts.contains(set));
            Changes {
                last_bytes: sets.iter().map(|set| set.span.end - 1).collect(),
                at_any_time: external.is_some() || sets.iter().any(|set| set.around.in_listener),
                concurrent: sets
                    .iter()
                    .filter_map(|set| set.around.concurrent)
                    .collect(),
                repeated: sets.iter().filter_map(|set| set.around.repeated).collect(),
                emptied: unsure
                    .map(|(_, field)| field)
                    .chain(external.into_iter().flatten())
                    .cloned()
                    .collect(),
            }
        };
        let tasks: BTreeSet<&Arc<str>> = self.sets.keys().chain(self.external.keys()).collect();
        let sets = tasks.into_iter().map(|task| (task.clone(), changes(task)));
        ContextFacts::new(sets.collect())
    }

    /// Returns the type of a context of which nothing is known.
    pub(super) fn initial_type(task: &Task) -> Type {
        fields(&task.context, optional)
    }

    /// Returns the type of the context in a snapshot in which the task has one of these statuses.
    pub(super) fn snapshot_type(&self, task: &Task, statuses: &BTreeSet<Status>) -> Type {
        // No context is set at the start, nor when the task is changed from outside.
        if task.external || statuses.contains(&Status(0)) || self.fails_by_itself(task, statuses) {
            return Self::initial_type(task);
        }
        let leads = |written: &&Written| {
            task.status(&written.status)
                .is_some_and(|status| statuses.contains(&status))
        };
        let sets = self.sets.get(&task.name).map_or(&[][..], Vec::as_slice);
        let sets = sets.iter().filter(leads).collect::<Vec<_>>();
        fields(&task.context, |field| {
            if sets
                .iter()
                .all(|written| self.sets_field(written, &field.name))
            {
                field.clone()
            } else {
                optional(field)
            }
        })
    }

    /// Returns true if one of these statuses is set by a failed firing: see
    /// [`Plan::fails_with`](super::Plan::fails_with).
    fn fails_by_itself(&self, task: &Task, statuses: &BTreeSet<Status>) -> bool {
        let sets = self.sets.get(&task.name).map_or(&[][..], Vec::as_slice);
        task.status(FAILED)
            .is_some_and(|failed| statuses.contains(&failed))
            && sets.iter().any(|written| written.around.in_listener)
            && sets.iter().all(|written| &*written.status != FAILED)
    }

    /// Returns the type of the context below a `set` that always happens, from the type above it.
    pub(super) fn type_after(&self, task: &Task, set: Span, above: &Type) -> Type {
        let sets = self.sets.get(&task.name).map_or(&[][..], Vec::as_slice);
        let own = sets.iter().find(|written| written.span == set);
        fields(above, |field| {
            let given = own.is_some_and(|own| self.sets_field(own, &field.name));
            // A later `set` may run before the reader does.
            let taken = sets.iter().any(|other| {
                self.unsure
                    .contains(&(other.span.start, field.name.clone()))
            });
            let declared = declared(task, &field.name);
            match declared {
                Some(declared) if given && !taken => declared.clone(),
                Some(_) | None => field.clone(),
            }
        })
    }

    /// Records which fields of an external task may be set to null from outside.
    pub(super) fn record_external(&mut self, task: &Task) {
        let Type::Object(context) = &task.context else {
            return;
        };
        let fields = context.fields.iter().filter(|field| field.may_be_null());
        let fields = fields.map(|field| field.name.clone()).collect();
        let known = self.external.insert(task.name.clone(), fields);
        self.changed |= known.is_none();
    }

    /// Records which fields the value of a `set` may leave null.
    pub(super) fn record(&mut self, task: &Task, set: Span, given: Option<&Type>) {
        let Type::Object(context) = &task.context else {
            return;
        };
        let sets = self.sets.get(&task.name).map_or(&[][..], Vec::as_slice);
        let Some(written) = sets.iter().find(|written| written.span == set) else {
            return;
        };
        for field in &context.fields {
            let named = written
                .fields
                .as_ref()
                .is_none_or(|names| names.contains(&field.name));
            if !named || given.is_some_and(|given| is_sure(given, &field.name)) {
                continue;
            }
            self.changed |= self.unsure.insert((set.start, field.name.clone()));
        }
    }

    fn sets_field(&self, written: &Written, field: &Arc<str>) -> bool {
        let named = written
            .fields
            .as_ref()
            .is_none_or(|names| names.contains(field));
        named
            && self.rounds < MAX_ROUNDS
            && !self.unsure.contains(&(written.span.start, field.clone()))
    }

    fn collect(&mut self, statements: &[ast::Statement]) {
        for statement in statements {
            if let ast::StatementKind::Set {
                task,
                status,
                context,
                ..
            } = &statement.kind
            {
                let fields = match context.as_ref().map(|context| &context.kind) {
                    None => Some(BTreeSet::new()),
                    Some(ast::ExprKind::Object(entries)) => named(entries),
                    Some(_) => None,
                };
                let written = Written {
                    span: statement.span,
                    status: status.text.clone(),
                    around: self.around,
                    fields,
                };
                let sets = self.sets.entry(task.text.clone()).or_default();
                sets.push(written);
            }
            let around = self.around;
            self.around = around.of(statement);
            statement.inner(&mut |inner| {
                if let ast::Inner::Block(block) = inner {
                    self.collect(&block.statements);
                }
            });
            self.around = around;
        }
    }
}

impl Around {
    /// Returns what is around the statements inside one.
    fn of(self, statement: &ast::Statement) -> Self {
        let here = |holds: bool| holds.then_some(statement.span);
        let body = match &statement.kind {
            ast::StatementKind::Step(step) => Some(&step.body),
            _ => None,
        };
        let concurrent = matches!(statement.kind, ast::StatementKind::Parallel(_))
            || matches!(body, Some(ast::StepBody::Race(_)));
        let repeated = matches!(body, Some(ast::StepBody::Repeat { .. }));
        let listens = matches!(statement.kind, ast::StatementKind::Listener { .. });
        Self {
            in_listener: self.in_listener || listens,
            concurrent: self.concurrent.or_else(|| here(concurrent)),
            repeated: self.repeated.or_else(|| here(repeated)),
        }
    }
}

/// Returns the fields of an object literal if all its keys are names.
fn named(entries: &[ast::Entry]) -> Option<BTreeSet<Arc<str>>> {
    let name = |entry: &ast::Entry| match &entry.key {
        ast::EntryKey::Name(name) => Some(name.text.clone()),
        ast::EntryKey::Expr(_) => None,
    };
    entries.iter().map(name).collect()
}

/// Returns true if every value of this type has the field, and it is not null.
fn is_sure(given: &Type, field: &str) -> bool {
    match given {
        Type::Object(object) => object
            .field(field)
            .is_some_and(|known| !known.may_be_null()),
        // Already reported.
        Type::Invalid => true,
        _ => false,
    }
}

fn declared<'a>(task: &'a Task, name: &str) -> Option<&'a Field> {
    if let Type::Object(object) = &task.context {
        object.field(name)
    } else {
        None
    }
}

/// Returns the field as present and nullable: contexts store null and never remove a field.
fn optional(field: &Field) -> Field {
    Field {
        ty: field.ty.clone().optional(),
        required: true,
        ..field.clone()
    }
}

fn fields(context: &Type, change: impl Fn(&Field) -> Field) -> Type {
    let Type::Object(object) = context else {
        return context.clone();
    };
    Type::object(
        object.fields.iter().map(change).collect(),
        object.rest.clone(),
    )
}
