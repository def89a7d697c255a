//! Tasks and listeners of AIntegration.

mod code;
mod condition;
mod firing;
mod flow;
mod listener;
mod output;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    ClauseKind, Expr, ExprKind, FieldType, File, Name, Statement, StatementKind, StepBody, Text,
    TypeExpr, TypeExprKind, WaitFor,
};
use planrun_lang::yaml::{Content, Node};

use crate::document::{Refused, items};
use crate::draft::{Draft, Made, excerpt, one_line, parameter};
use crate::tree::{self, NOWHERE};
use flow::{Field, Flow};
use listener::Listener;

/// The most tasks, and the most listeners, of a document.
const MAX_PARTS: usize = 1000;
/// How long a plan waits for its main task, in seconds.
const MAIN_TASK_TIMEOUT: i64 = 30 * 24 * 60 * 60;
/// The status in which a task starts.
const FIRST: &str = "not_started";
/// The statuses of the format, each with its name in plans.
const STATUSES: [(&str, &str); 6] = [
    ("NotStarted", FIRST),
    ("Running", "running"),
    ("Pending", "pending"),
    ("Retrying", "retrying"),
    ("Done", "done"),
    ("Error", "failed"),
];

/// The keys of a task that a plan does without, each with the reason.
const NOT_OF_TASK: [(&str, &str); 4] = [
    ("prompt", "only the prompts of listeners say what is called"),
    (
        "parent_task_id",
        "no status depends on the parent of a task",
    ),
    ("status", "a task starts in its first status"),
    ("metadata", "it does not change what runs"),
];

/// Returns true if a document looks like a plan with tasks and listeners.
pub fn recognizes(root: &Node) -> bool {
    root.get("plan_id").is_some()
        || (root.get("listeners").is_some() && root.get("tasks").is_some())
}

/// A task of the document.
struct Task {
    /// Its name in the plan.
    name: String,
    title: String,
    span: Span,
    /// The fields of its context that outputs set.
    fields: BTreeSet<String>,
    /// The fields of its context in which the plan counts how often a listener has triggered itself.
    counters: BTreeSet<String>,
    statuses: BTreeSet<&'static str>,
    /// The statuses that outputs set.
    set_to: BTreeSet<&'static str>,
    /// Whether a listener waits for it.
    is_awaited: bool,
    /// Whether it starts as `created`, so that its start triggers no listener that waits for `not_started`.
    starts_created: bool,
    /// The tasks that precede it, directly or indirectly.
    before: Vec<String>,
}

impl Task {
    fn is_set(&self) -> bool {
        !self.set_to.is_empty()
    }

    /// Returns true if it moves to `failed` with a listener that fails, which no output does.
    fn fails_with_work(&self) -> bool {
        self.is_set() && !self.set_to.contains("failed")
    }
}

/// What finishes the main task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Its listeners, in every run in which no call fails.
    Done,
    /// Its listeners, unless they come to a point where nothing triggers them any more.
    Stalled,
    /// Only a move from outside.
    Outside,
}

/// The state of an import.
pub struct Importer<'x, 't> {
    draft: &'x mut Draft<'t>,
    text: &'x str,
    tasks: BTreeMap<String, Task>,
    order: Vec<String>,
    /// The inputs of the plan, each with its name there: values that an agent took from its prompt.
    inputs: BTreeMap<String, String>,
    /// The context fields that may have been set before the present listener fires.
    fields: BTreeSet<Field>,
}

/// Returns the plan for a document of tasks and listeners. Returns an error if there are more than [`MAX_PARTS`] tasks
/// or listeners.
pub fn import(root: &Node, text: &str, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    for part in ["tasks", "listeners"] {
        let node = root.get(part).filter(|node| node.items().is_none());
        if let Some(node) = node.filter(|node| !matches!(node.content, Content::Null)) {
            draft.lost(node.span, format!("`{part}`"), "is not a list");
        }
        let count = items(root, part).len();
        if count > MAX_PARTS {
            let message =
                format!("the plan has {count} {part}, but at most {MAX_PARTS} are supported");
            return Err(Refused::new(
                root.span,
                message,
                "split it into several plans",
            ));
        }
    }
    let known = "plan_id name description prompt main_task_id tasks listeners";
    let omitted = [
        ("created_at", "a plan has no dates"),
        ("metadata", "it does not change what runs"),
    ];
    draft.report_keys(root, "the plan", known, &omitted);
    let id = root.get("plan_id").and_then(Node::scalar);
    if id.is_none_or(|id| id.is_empty()) {
        draft.lost(root.span, "the plan", "plan_id is required");
    }
    let mut importer = Importer {
        draft,
        text,
        tasks: BTreeMap::new(),
        order: Vec::new(),
        inputs: BTreeMap::new(),
        fields: BTreeSet::new(),
    };
    let body = importer.body(root);
    let inputs = std::mem::take(&mut importer.inputs);
    let title = |field: &str| root.get(field).and_then(Node::text).map(one_line);
    let doc = ["name", "description", "prompt"].map(title);
    let made = Made {
        doc: Some(doc.into_iter().flatten().collect::<Vec<_>>().join(": ")),
        parameters: inputs
            .values()
            .map(|input| parameter(input, false))
            .collect(),
        returns: Some(tree::type_named("any")),
        body,
    };
    Ok(draft.file(plan, made))
}

/// Records what precedes each listener and what follows it. Returns how a run may end.
fn follow(listeners: &mut [Listener<'_>], main: Option<&str>) -> End {
    let flow = Flow::new(listeners, main);
    let end = if !main.is_some_and(|main| flow.sets(main, "done")) {
        End::Outside
    } else if flow.may_stand_still() {
        End::Stalled
    } else {
        End::Done
    };
    let found = (0..listeners.len()).map(|number| {
        let after = flow.after_failure(number);
        (flow.fields_before(number), after)
    });
    let found: Vec<_> = found.collect();
    for (listener, (fields, after_failure)) in listeners.iter_mut().zip(found) {
        (listener.fields, listener.after_failure) = (fields, after_failure);
    }
    end
}

/// A failure pauses the run, as it does in AIntegration.
fn policy() -> Statement {
    let pause = tree::object([("on_failure", tree::variable("pause"))]);
    tree::statement(StatementKind::Policy(pause))
}

impl Importer<'_, '_> {
    /// Writes the tasks, the listeners, and the start and end of a run.
    fn body(&mut self, root: &Node) -> Vec<Statement> {
        self.read_tasks(root);
        let nodes = items(root, "listeners").iter();
        let mut listeners: Vec<Listener<'_>> =
            nodes.filter_map(|node| self.read_listener(node)).collect();
        let main = self.main_task(root);
        if let Some(task) = main.as_ref().and_then(|main| self.tasks.get_mut(main)) {
            task.statuses.extend(["running", "done"]);
        }
        self.note_created(&listeners);
        self.note_before(&listeners, main.as_deref());
        let end = follow(&mut listeners, main.as_deref());
        let (mut ids, mut made) = (BTreeSet::new(), Vec::new());
        for listener in &listeners {
            if !ids.insert(listener.id.clone()) {
                let what = format!("listener `{}`", listener.id);
                self.draft
                    .lost(listener.node.span, what, "another listener has this id");
            }
            made.extend(self.listener(listener));
        }
        if listeners.iter().any(|listener| !listener.is_code()) {
            self.report_verification(main.as_deref());
        }
        let mut body = vec![policy()];
        body.extend(self.declared(main.as_deref(), end));
        body.append(&mut made);
        body.extend(self.run_of(main.as_deref(), end));
        body
    }

    /// Reports that no agent verifies what was done: the plan would need a model for that.
    fn report_verification(&mut self, main: Option<&str>) {
        if let Some(task) = main.and_then(|main| self.tasks.get(main)) {
            let what = format!("task `{}`", excerpt(&task.title));
            let why = "starts no verification by agents when it is done: if a model is configured, write `policy { on_failure: pause, verify: agents }`";
            self.draft.changed(task.span, what, why);
        }
    }

    /// Records the tasks whose start must not trigger a listener that waits for their first status.
    fn note_created(&mut self, listeners: &[Listener<'_>]) {
        let conditions = listeners.iter().filter_map(|listener| listener.on.as_ref());
        for on in conditions.filter(|on| on.holds_at_start(&|_, status| status == FIRST)) {
            on.visit(&mut |id, status| {
                if let Some(task) = self.tasks.get_mut(id).filter(|_| status == Some(FIRST)) {
                    task.starts_created = true;
                }
            });
        }
    }

    /// Returns an id as written, and reports it if YAML reads it as a number.
    fn id(&mut self, node: &Node) -> Option<String> {
        let id = self.written_id(node)?;
        if matches!(node.content, Content::Number(_)) {
            let why = format!("is a number in YAML, and is read as `\"{id}\"`");
            self.draft.changed(node.span, format!("the id `{id}`"), why);
        }
        Some(id)
    }

    /// Returns an id as written: YAML reads `001` as a number, but the text `001` is meant.
    fn written_id(&self, node: &Node) -> Option<String> {
        match &node.content {
            Content::Text(text) => Some(text.trim().to_owned()),
            Content::Number(number) => {
                let written = self.text.get(node.span.range()).unwrap_or("").trim();
                Some(if written.is_empty() {
                    number.to_string()
                } else {
                    written.to_owned()
                })
            }
            Content::Null | Content::Bool(_) | Content::List(_) | Content::Map(_) => None,
        }
    }

    fn read_tasks(&mut self, root: &Node) {
        for node in items(root, "tasks") {
            let known = "task_id name is_main_task";
            self.draft.report_keys(node, "a task", known, &NOT_OF_TASK);
            let Some(id) = node.get("task_id").and_then(|id| self.id(id)) else {
                self.draft.lost(node.span, "a task", "task_id is required");
                continue;
            };
            let title = node.get("name").and_then(Node::scalar).unwrap_or_default();
            if title.is_empty() {
                self.draft.changed(
                    node.span,
                    format!("task `{id}`"),
                    "has no name, which the original system reports only during a run",
                );
            }
            let requested = if id.starts_with(|c: char| c.is_alphabetic()) {
                id.clone()
            } else {
                format!("task_{id}")
            };
            let name = self.draft.name(&requested);
            self.draft.carried(
                node.span,
                format!("task `{}`", excerpt(&id)),
                format!("`{name}`"),
            );
            let task = Task {
                name,
                title,
                span: node.span,
                fields: BTreeSet::new(),
                counters: BTreeSet::new(),
                statuses: BTreeSet::new(),
                set_to: BTreeSet::new(),
                is_awaited: false,
                starts_created: false,
                before: Vec::new(),
            };
            if self.tasks.insert(id.clone(), task).is_some() {
                self.draft.lost(
                    node.span,
                    format!("task `{id}`"),
                    "another task has this id",
                );
            } else {
                self.order.push(id);
            }
        }
    }

    /// Returns the task with which a run starts and ends.
    fn main_task(&mut self, root: &Node) -> Option<String> {
        let named = root
            .get("main_task_id")
            .and_then(|id| Some((self.id(id)?, id.span)));
        if let Some((id, span)) = named {
            if self.tasks.contains_key(&id) {
                return Some(id);
            }
            self.unknown_task(&id, span);
        } else if let Some(id) = root.get("main_task_id")
            && !matches!(id.content, Content::Null)
        {
            let why = "is not an id: the task that is marked or comes first is used";
            self.draft.lost(id.span, "`main_task_id`", why);
        }
        let nodes = items(root, "tasks");
        let marked = nodes.iter().find(|node| {
            matches!(
                node.get("is_main_task").map(|main| &main.content),
                Some(Content::Bool(true))
            )
        });
        let marked = marked.and_then(|node| self.written_id(node.get("task_id")?));
        marked
            .filter(|id| self.tasks.contains_key(id))
            .or_else(|| self.order.first().cloned())
    }

    fn unknown_task(&mut self, id: &str, span: Span) {
        let near = closest(id, self.tasks.keys().map(String::as_str));
        let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let what = format!("task `{}`", excerpt(id));
        self.draft.lost(span, what, format!("unknown task{help}"));
    }

    /// Returns the name of a status in plans; `None` if it is unknown, which is reported.
    fn status(&mut self, written: &str, span: Span) -> Option<&'static str> {
        let found = STATUSES
            .into_iter()
            .find(|(theirs, own)| theirs.eq_ignore_ascii_case(written) || *own == written);
        if found.is_none() {
            let near = closest(written, STATUSES.into_iter().map(|(theirs, _)| theirs));
            let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let what = format!("the status `{}`", excerpt(written));
            self.draft.lost(span, what, format!("unknown status{help}"));
        }
        found.map(|(_, own)| own)
    }

    /// Declares the tasks, with the statuses and fields that listeners use.
    fn declared(&mut self, main: Option<&str>, end: End) -> Vec<Statement> {
        let mut statements = Vec::new();
        for id in &self.order {
            let Some(task) = self.tasks.get(id) else {
                continue;
            };
            let is_main = main == Some(id.as_str());
            let external = self.is_external(id, is_main, end);
            let what = format!("task `{}`", excerpt(id));
            let why = if external && task.is_set() {
                Some("is `external`: no listener finishes it, so it must be moved from outside")
            } else if external {
                Some("is `external`: no listener moves it, so it must be moved from outside")
            } else {
                let why = "keeps its first status: no listener moves it or waits for it";
                (!task.is_set()).then_some(why)
            };
            if let Some(why) = why {
                self.draft.changed(task.span, &*what, why);
            }
            // A task starts in its first status, which would trigger listeners for that status.
            if task.starts_created {
                let why = "starts as `created`, since a listener waits for `not_started`";
                self.draft.changed(task.span, &*what, why);
            }
            let first: &[&str] = if task.starts_created {
                &["created", FIRST]
            } else {
                &[FIRST]
            };
            let rest = STATUSES.into_iter().map(|(_, own)| own).skip(1);
            let used =
                rest.filter(|own| task.statuses.contains(own) || matches!(*own, "done" | "failed"));
            let statuses = first.iter().copied().chain(used).map(tree::name);
            statements.push(tree::statement(StatementKind::Task {
                name: tree::name(&task.name),
                title: Text {
                    text: one_line(&task.title).into(),
                    span: NOWHERE,
                },
                statuses: statuses.collect(),
                context: context_of(&task.fields, &task.counters),
                external,
            }));
        }
        statements
    }

    /// Returns true if a task is moved from outside.
    fn is_external(&self, id: &str, is_main: bool, end: End) -> bool {
        let is_awaited = |task: &Task| !task.is_set() && task.is_awaited;
        (is_main && end == End::Outside) || self.tasks.get(id).is_some_and(is_awaited)
    }

    /// Writes the start and the end of a run.
    fn run_of(&mut self, main: Option<&str>, end: End) -> Vec<Statement> {
        let Some(task) = main.and_then(|main| self.tasks.get(main)) else {
            self.draft
                .lost(Span::at(0), "the plan", "has no task, so nothing starts it");
            return vec![tree::reply(tree::null())];
        };
        let (name, fields) = (task.name.clone(), task.fields.clone());
        let days = MAIN_TASK_TIMEOUT / (24 * 60 * 60);
        let mut ids = self.order.iter();
        // A run that only its time limit can wake is to end at once.
        let is_bounded = end != End::Stalled || ids.any(|id| self.is_external(id, false, end));
        let why = if is_bounded {
            format!("is waited for at most {days} days: every wait of a plan has a bound")
        } else {
            "is waited for without a bound: the run ends as `stalled` if nothing can finish it any more"
                .to_owned()
        };
        self.draft
            .changed(task.span, format!("task `{}`", excerpt(&task.title)), why);
        let finished = self.draft.name("finished");
        let fields = fields.into_iter().map(|field| {
            let value = tree::field(tree::variable(&name), &field);
            (field, value)
        });
        let wait = StepBody::Wait(WaitFor::Condition {
            on: is(&name, "done"),
            payload: None,
        });
        let within = is_bounded.then(|| ClauseKind::Within(tree::seconds(MAIN_TASK_TIMEOUT)));
        vec![
            set(&name, "running", Vec::new()),
            tree::step(&finished, wait, within.into_iter().collect()),
            tree::reply(tree::object(fields)),
        ]
    }
}

/// Returns `task is status`.
fn is(task: &str, status: &str) -> Expr {
    tree::expr(ExprKind::Is {
        subject: Box::new(tree::variable(task)),
        state: tree::name(status),
    })
}

fn set(task: &str, status: &str, context: Vec<(String, Expr)>) -> Statement {
    let context = (!context.is_empty()).then(|| Box::new(tree::object(context)));
    tree::statement(StatementKind::Set {
        task: tree::name(task),
        status: tree::name(status),
        context,
        when: None,
        after: None::<Vec<Name>>,
    })
}

/// Returns the type of a context with fields of any type, and fields that count.
fn context_of(fields: &BTreeSet<String>, counters: &BTreeSet<String>) -> Option<Box<TypeExpr>> {
    let fields = fields.iter().map(|field| (field, "any"));
    let counters = counters.iter().map(|field| (field, "int"));
    let fields = fields.chain(counters).map(|(field, ty)| FieldType {
        span: NOWHERE,
        name: tree::name(field),
        optional: false,
        ty: tree::type_named(ty),
    });
    let fields: Vec<FieldType> = fields.collect();
    (!fields.is_empty()).then(|| {
        Box::new(TypeExpr {
            span: NOWHERE,
            kind: TypeExprKind::Object(fields),
        })
    })
}
