//! Milestones and what happens because of them: tasks, `set`, listeners, and the events that they speak of.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{BlockId, NodeKind, Plan};
use crate::sema::Place;
use crate::sema::expr::{Code, StateTest};
use crate::source::Span;
use crate::types::Type;

/// The number of a task within its plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TaskId(pub u32);

/// The number of a status within its task; the first is the one that the task begins with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Status(pub u32);

/// `task t "title" [statuses [a, b]] [{ field: T }] [external]`
#[derive(Debug)]
pub struct Task {
    /// Of its name.
    pub span: Span,
    pub name: Arc<str>,
    pub title: Arc<str>,
    /// One at least; the first is the one that the task begins with.
    pub statuses: Vec<Arc<str>>,
    /// The declared context. At first every field is null; a `set` merges what it gives.
    pub context: Type,
    /// Whether `runs signal` may move it.
    pub external: bool,
    /// The block that declares it.
    pub block: BlockId,
    /// Where statements of that block and the blocks in it find its context.
    pub slot: u32,
}

/// `set t status { … }`: status and context change in one event. Its `when` and `after` belong to its node.
#[derive(Debug)]
pub struct Set {
    /// From the name of the task to that of the status.
    pub span: Span,
    pub task: TaskId,
    pub status: Status,
    /// An object; what it gives is merged into the context of the task.
    pub context: Option<Code>,
}

/// `listener l on EVENT [-> T] [as e] [when e] [max N] { … }`: a block that runs once for each event that fires it.
#[derive(Debug)]
pub struct Listener {
    /// Of its name.
    pub span: Span,
    pub on: Event,
    /// The declared type of what signals bring.
    pub payload: Option<Type>,
    /// The type of slot 0 of a firing's frame, where `as` names it. It holds what the event brings, by its kind: the payload
    /// of a signal, the context of a task in the snapshot, the error or the value of a step.
    pub brings: Option<Type>,
    /// Tested on the snapshot, in the frame of a firing.
    pub when: Option<Code>,
    /// How often it may fire; once where it says nothing.
    pub max: Option<Code>,
    pub body: BlockId,
    /// The contexts that a firing reads, as they were right after the event, and their slots in its frame.
    pub snapshot: Vec<(TaskId, u32)>,
}

/// What a listener or a `wait for` waits for.
#[derive(Debug)]
pub struct Event {
    pub span: Span,
    pub kind: EventKind,
}

#[derive(Debug)]
pub enum EventKind {
    /// A step, or a listener as a whole, as seen from the statement that waits; any event of it without a test.
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

/// What is asked of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskTest {
    /// Anything that happens to it.
    Any,
    /// An end: see [`Task::ends`].
    Settled,
    Is(Status),
}

/// What is asked of the plan itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanTest {
    /// Anything that happens to it.
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

    /// The test that this word stands for.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, test)| *test)
    }
}

/// The statuses of a task that names none.
const STATUSES: [&str; 4] = ["pending", "running", "done", "failed"];

/// The status of a task whose work has failed, where it has such a one.
pub const FAILED: &str = "failed";

/// The statuses in which a task has ended, whatever else it may have.
const ENDS: [&str; 3] = ["done", "failed", "cancelled"];

impl Plan {
    /// The tasks that fail with a listener, by its body: those whose `set` stands there. Where a `set` of the plan moves
    /// one to `failed`, its author has said when that is; an `external` one is as those outside say.
    #[must_use]
    pub fn fails_with(&self, body: BlockId) -> Vec<(TaskId, Status)> {
        let mut found = BTreeSet::new();
        let mut open = vec![body];
        while let Some(block) = open.pop() {
            for node in &self.block(block).nodes {
                if let NodeKind::Set(set) = &node.kind {
                    found.insert(set.task);
                }
                node.inner(&mut |inner| open.push(inner));
            }
        }
        let own = found.into_iter().filter_map(|id| {
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
}

impl Task {
    /// The statuses of a task that names none.
    #[must_use]
    pub fn default_statuses() -> Vec<Arc<str>> {
        STATUSES.iter().map(|status| Arc::from(*status)).collect()
    }

    /// The status with this name.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<Status> {
        let index = self.statuses.iter().position(|status| &**status == name)?;
        u32::try_from(index).ok().map(Status)
    }

    /// The name of a status.
    #[must_use]
    pub fn status_name(&self, status: Status) -> &str {
        self.statuses.get(status.0 as usize).map_or("", |name| name)
    }

    /// Every status, the first one first.
    pub fn all_statuses(&self) -> impl Iterator<Item = Status> + use<> {
        (0..u32::try_from(self.statuses.len()).unwrap_or(u32::MAX)).map(Status)
    }

    /// Whether a task in this status has ended: `done`, `failed` and `cancelled`, and the last one where it has none
    /// of these.
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
    /// Whether a task in this status passes.
    #[must_use]
    pub fn holds(self, task: &Task, status: Status) -> bool {
        match self {
            Self::Any => true,
            Self::Settled => task.ends(status),
            Self::Is(wanted) => wanted == status,
        }
    }
}

impl Event {
    /// The parts that speak of one thing each, in source order.
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

    /// The statuses that a task may have where this holds, whatever is true of everything else.
    #[must_use]
    pub fn statuses(&self, id: TaskId, task: &Task) -> BTreeSet<Status> {
        self.statuses_if(true, id, task)
    }

    /// The same where it comes out as `wanted`.
    fn statuses_if(&self, wanted: bool, id: TaskId, task: &Task) -> BTreeSet<Status> {
        let parts = |parts: &[Self], meet: bool| {
            let mut sets = parts.iter().map(|part| part.statuses_if(wanted, id, task));
            let first = sets.next().unwrap_or_default();
            sets.fold(
                first,
                |known, next| if meet { &known & &next } else { &known | &next },
            )
        };
        match &self.kind {
            EventKind::Not(inner) => inner.statuses_if(!wanted, id, task),
            EventKind::All(all) => parts(all, wanted),
            EventKind::Any(any) => parts(any, !wanted),
            EventKind::Task { task: own, test } if *own == id && *test != TaskTest::Any => task
                .all_statuses()
                .filter(|status| test.holds(task, *status) == wanted)
                .collect(),
            EventKind::Task { .. }
            | EventKind::Step { .. }
            | EventKind::Plan(_)
            | EventKind::Signal(_)
            | EventKind::Damaged => task.all_statuses().collect(),
        }
    }
}
