//! Tasks, `set`, listeners, and the events that fire them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{BlockId, NodeKind, Plan};
use crate::sema::Place;
use crate::sema::expr::{CheckedExpr, StateTest};
use crate::source::Span;
use crate::types::Type;

/// The number of a task within its plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TaskId(pub u32);

/// The number of a status within its task; the first is the initial status.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Status(pub u32);

/// `task t "title" [statuses [a, b]] [{ field: T }] [external]`
#[derive(Debug)]
pub struct Task {
    /// Span of its name.
    pub span: Span,
    pub name: Arc<str>,
    pub title: Arc<str>,
    /// At least one; the first is the initial status.
    pub statuses: Vec<Arc<str>>,
    /// Declared type of the context. Initially every field is null; a `set` merges its fields.
    pub context: Type,
    /// Whether `runs signal` may change it.
    pub external: bool,
    /// The block that declares it.
    pub block: BlockId,
    /// Slot of its context in the frame of `block`.
    pub slot: u32,
}

/// `set t status { … }`: changes status and context in one event. Its `when` and `after` are those of its node.
#[derive(Debug)]
pub struct Set {
    /// From the name of the task to the name of the status.
    pub span: Span,
    pub task: TaskId,
    pub status: Status,
    /// An object that is merged into the context of the task.
    pub context: Option<CheckedExpr>,
}

/// `listener l on EVENT [-> T] [as e] [when e] [max N] { … }`: a block that runs once for each event that fires it.
#[derive(Debug)]
pub struct Listener {
    /// Span of its name.
    pub span: Span,
    pub on: Event,
    /// Declared type of signal payloads.
    pub payload: Option<Type>,
    /// Type of slot 0 of a firing's frame, if `as` names it. The slot holds the value of the event, by kind: the
    /// payload of a signal, the context of a task in the snapshot, the error or the value of a step.
    pub brings: Option<Type>,
    /// Evaluated on the snapshot, in the frame of a firing.
    pub when: Option<CheckedExpr>,
    /// Maximum number of firings; 1 if absent.
    pub max: Option<CheckedExpr>,
    pub body: BlockId,
    /// The contexts that a firing reads, as they were right after the event, with their slots in its frame.
    pub snapshot: Vec<(TaskId, u32)>,
}

/// The condition of a listener or a `wait for`.
#[derive(Debug)]
pub struct Event {
    pub span: Span,
    pub kind: EventKind,
}

#[derive(Debug)]
pub enum EventKind {
    /// A step, or a listener as a whole, seen from the statement that waits; any of its events if there is no test.
    Step {
        place: Place,
        name: Arc<str>,
        test: Option<StateTest>,
    },
    Task {
        task: TaskId,
        test: TaskTest,
    },
    Plan(PlanTest),
    Signal(Arc<str>),
    Not(Box<Event>),
    All(Vec<Event>),
    Any(Vec<Event>),
    /// Already reported.
    Damaged,
}

/// Test of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskTest {
    /// Any event of the task.
    Any,
    /// An end status: see [`Task::ends`].
    Settled,
    Is(Status),
}

/// Test of the plan itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanTest {
    /// Any event of the plan.
    Any,
    Completed,
    Failed,
    Cancelled,
    Stalled,
    Settled,
}

impl PlanTest {
    /// The tests that have a word.
    pub const WORDS: [(&str, Self); 5] = [
        ("completed", Self::Completed),
        ("failed", Self::Failed),
        ("cancelled", Self::Cancelled),
        ("stalled", Self::Stalled),
        ("settled", Self::Settled),
    ];

    /// Returns the test with this word.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, test)| *test)
    }
}

/// The statuses of a task that declares none.
const STATUSES: [&str; 4] = ["pending", "running", "done", "failed"];

/// The status of a task whose work has failed, if it declares this status.
pub const FAILED: &str = "failed";

/// The statuses that are end statuses wherever they are declared.
const ENDS: [&str; 3] = ["done", "failed", "cancelled"];

impl Plan {
    /// Returns the tasks that fail with a listener, by its body: those that the body `set`s. A task that some `set` of
    /// the plan changes to `failed` is excluded, since the plan decides when it fails, and so is an `external` one.
    #[must_use]
    pub fn fails_with(&self, body: BlockId) -> Vec<(TaskId, Status)> {
        let own = self.tasks_set_in(body).into_iter().filter_map(|id| {
            let task = self.task(id);
            let failed = task.status(FAILED).filter(|_| !task.external)?;
            let all = self.blocks.iter().flat_map(|block| &block.nodes);
            let mut sets = all.filter_map(|node| {
                if let NodeKind::Set(set) = &node.kind {
                    Some(set)
                } else {
                    None
                }
            });
            (!sets.any(|set| set.task == id && set.status == failed)).then_some((id, failed))
        });
        own.collect()
    }

    /// Returns the tasks that a block sets, including those that its inner blocks set.
    #[must_use]
    pub fn tasks_set_in(&self, body: BlockId) -> BTreeSet<TaskId> {
        let nodes = self.nodes_inside(body).into_iter();
        let sets = nodes.filter_map(|node| match &node.kind {
            NodeKind::Set(set) => Some(set.task),
            _ => None,
        });
        sets.collect()
    }
}

impl Task {
    /// Returns the statuses of a task that declares none.
    #[must_use]
    pub fn default_statuses() -> Vec<Arc<str>> {
        STATUSES.iter().map(|status| Arc::from(*status)).collect()
    }

    /// Returns the status with this name.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<Status> {
        let index = self.statuses.iter().position(|status| &**status == name)?;
        u32::try_from(index).ok().map(Status)
    }

    /// Returns the name of a status.
    #[must_use]
    pub fn status_name(&self, status: Status) -> &str {
        self.statuses.get(status.0 as usize).map_or("", |name| name)
    }

    /// Returns every status, the initial one first.
    pub fn all_statuses(&self) -> impl Iterator<Item = Status> + use<> {
        (0..u32::try_from(self.statuses.len()).unwrap_or(u32::MAX)).map(Status)
    }

    /// Returns true if a status is an end: `done`, `failed` or `cancelled`, or the last status if the task has none of
    /// these.
    #[must_use]
    pub fn ends(&self, status: Status) -> bool {
        let is_end = |name: &Arc<str>| ENDS.contains(&&**name);
        if self.statuses.iter().any(is_end) {
            return self.statuses.get(status.0 as usize).is_some_and(is_end);
        }
        status.0 as usize + 1 == self.statuses.len()
    }
}

impl TaskTest {
    /// Returns true if a task in this status passes.
    #[must_use]
    pub fn holds(self, task: &Task, status: Status) -> bool {
        match self {
            Self::Any => true,
            Self::Settled => task.ends(status),
            Self::Is(expected) => expected == status,
        }
    }
}

impl Event {
    /// Visits the leaves of the condition in source order.
    pub fn leaves<'a>(&'a self, visit: &mut dyn FnMut(&'a Event)) {
        match &self.kind {
            EventKind::Not(inner) => inner.leaves(visit),
            EventKind::All(parts) | EventKind::Any(parts) => {
                for part in parts {
                    part.leaves(visit);
                }
            }
            EventKind::Step { .. }
            | EventKind::Task { .. }
            | EventKind::Plan(_)
            | EventKind::Signal(_)
            | EventKind::Damaged => visit(self),
        }
    }

    /// Returns the statuses that a task may have if this holds, whatever else is true.
    #[must_use]
    pub fn statuses(&self, id: TaskId, task: &Task) -> BTreeSet<Status> {
        self.statuses_if(true, id, task)
    }

    /// Returns the statuses that a task may have if this evaluates to `holds`.
    fn statuses_if(&self, holds: bool, id: TaskId, task: &Task) -> BTreeSet<Status> {
        let parts = |parts: &[Self], meet: bool| {
            let mut sets = parts.iter().map(|part| part.statuses_if(holds, id, task));
            let first = sets.next().unwrap_or_default();
            sets.fold(
                first,
                |known, next| if meet { &known & &next } else { &known | &next },
            )
        };
        match &self.kind {
            EventKind::Not(inner) => inner.statuses_if(!holds, id, task),
            EventKind::All(all) => parts(all, holds),
            EventKind::Any(any) => parts(any, !holds),
            EventKind::Task { task: own, test } if *own == id && *test != TaskTest::Any => task
                .all_statuses()
                .filter(|status| test.holds(task, *status) == holds)
                .collect(),
            EventKind::Task { .. }
            | EventKind::Step { .. }
            | EventKind::Plan(_)
            | EventKind::Signal(_)
            | EventKind::Damaged => task.all_statuses().collect(),
        }
    }
}
