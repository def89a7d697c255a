//! Tasks and listeners of AIntegration.

mod condition;
mod keys;
mod listener;
mod output;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    Expr, ExprKind, FieldType, File, Name, Statement, StatementKind, StepBody, Text, TypeExpr,
    TypeExprKind, WaitFor,
};
use planrun_lang::yaml::{Content, Node};

use crate::document::{Refused, items};
use crate::draft::{Draft, Made, excerpt, one_line, parameter};
use crate::tree::{self, NOWHERE};
use listener::Listener;

/// More tasks, or more listeners, are refused.
const MAX_PARTS: usize = 1000;
/// How long a plan waits for its main task.
const PATIENCE: i64 = 30 * 24 * 60 * 60;
/// The statuses of the format, each as it is called here.
const STATUSES: [(&str, &str); 6] = [
    ("NotStarted", "not_started"),
    ("Running", "running"),
    ("Pending", "pending"),
    ("Retrying", "retrying"),
    ("Done", "done"),
    ("Error", "failed"),
];

/// Whether a document looks like a plan with tasks and listeners.
pub fn recognizes(root: &Node) -> bool {
    root.get("plan_id").is_some()
        || (root.get("listeners").is_some() && root.get("tasks").is_some())
}

/// One task.
struct Task {
    /// What it is called in the plan.
    name: String,
    title: String,
    span: Span,
    /// The fields of its context, as far as outputs give them.
    fields: BTreeSet<String>,
    statuses: BTreeSet<&'static str>,
    /// Whether a listener moves it, and whether one waits for it.
    is_set: bool,
    is_heard: bool,
    /// The tasks that have led to it, nearest first.
    before: Vec<String>,
}

/// What is known of the document while its plan is made.
pub struct Board<'x, 't> {
    draft: &'x mut Draft<'t>,
    text: &'x str,
    tasks: BTreeMap<String, Task>,
    order: Vec<String>,
    /// The inputs of the plan: what an agent took from its prompt.
    inputs: BTreeSet<String>,
}

/// The plan that a board of tasks and listeners is.
///
/// # Errors
/// Where it has more of them than are read.
pub fn import(root: &Node, text: &str, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    for part in ["tasks", "listeners"] {
        let count = items(root, part).len();
        if count > MAX_PARTS {
            let message = format!("the plan has {count} {part}, and at most {MAX_PARTS} are read");
            return Err(Refused::new(
                root.span,
                message,
                "split it into several plans",
            ));
        }
    }
    keys::unknown(root, &keys::PLAN, "the plan", draft);
    let id = root.get("plan_id").and_then(Node::scalar);
    if id.is_none_or(|id| id.is_empty()) {
        draft.lost(root.span, "the plan", "plan_id is required");
    }
    let mut board = Board {
        draft,
        text,
        tasks: BTreeMap::new(),
        order: Vec::new(),
        inputs: BTreeSet::new(),
    };
    let body = board.body(root);
    let inputs = std::mem::take(&mut board.inputs);
    let title = |field: &str| root.get(field).and_then(Node::text).map(one_line);
    let doc = [
        title("name"),
        title("description").or_else(|| title("prompt")),
    ];
    let made = Made {
        doc: Some(doc.into_iter().flatten().collect::<Vec<_>>().join(": ")),
        parameters: inputs.iter().map(|input| parameter(input, false)).collect(),
        returns: Some(tree::type_named("any")),
        body,
    };
    Ok(draft.file(plan, made))
}

/// What fails waits for somebody, as there.
fn policy() -> Statement {
    let pause = tree::object(vec![("on_failure".to_owned(), tree::variable("pause"))]);
    tree::statement(StatementKind::Policy(pause))
}

impl Board<'_, '_> {
    /// The tasks, the listeners, and what begins and ends a run.
    fn body(&mut self, root: &Node) -> Vec<Statement> {
        self.read_tasks(root);
        let nodes = items(root, "listeners").iter();
        let listeners: Vec<Listener<'_>> =
            nodes.filter_map(|node| self.read_listener(node)).collect();
        let main = self.main_task(root);
        if let Some(task) = main.as_ref().and_then(|main| self.tasks.get_mut(main)) {
            task.statuses.extend(["running", "done"]);
        }
        for listener in &listeners {
            self.note_outputs(listener);
        }
        self.note_before(&listeners, main.as_deref());
        let (mut told, mut made) = (BTreeSet::new(), Vec::new());
        for listener in &listeners {
            if !told.insert(listener.id.clone()) {
                let what = format!("listener `{}`", listener.id);
                self.draft
                    .lost(listener.node.span, what, "another listener has this id");
            }
            made.extend(self.listener(listener));
        }
        let mut body = vec![policy()];
        body.extend(self.declared(main.as_deref()));
        body.append(&mut made);
        body.extend(self.run_of(main.as_deref()));
        body
    }

    /// An id as it is written: `001` is a number in YAML, and the text `001` is meant.
    fn id(&mut self, node: &Node) -> Option<String> {
        match &node.content {
            Content::Text(text) => Some(text.trim().to_owned()),
            Content::Number(number) => {
                let written = self.text.get(node.span.range()).unwrap_or("").trim();
                let id = if written.is_empty() {
                    number.to_string()
                } else {
                    written.to_owned()
                };
                let why = format!("is a number in YAML; `\"{id}\"` is what is meant");
                self.draft.changed(node.span, format!("the id `{id}`"), why);
                Some(id)
            }
            Content::Null | Content::Bool(_) | Content::List(_) | Content::Map(_) => None,
        }
    }

    fn read_tasks(&mut self, root: &Node) {
        for node in items(root, "tasks") {
            keys::unknown(node, &keys::TASK, "a task", self.draft);
            let Some(id) = node.get("task_id").and_then(|id| self.id(id)) else {
                self.draft.lost(node.span, "a task", "task_id is required");
                continue;
            };
            let title = node.get("name").and_then(Node::scalar).unwrap_or_default();
            if title.is_empty() {
                self.draft.changed(
                    node.span,
                    format!("task `{id}`"),
                    "has no name, which there only a run would find",
                );
            }
            let wanted = if id.starts_with(|c: char| c.is_alphabetic()) {
                id.clone()
            } else {
                format!("task_{id}")
            };
            let name = self.draft.name(&wanted);
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
                statuses: BTreeSet::new(),
                is_set: false,
                is_heard: false,
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

    /// The task with which a run begins and ends.
    fn main_task(&mut self, root: &Node) -> Option<String> {
        let named = root
            .get("main_task_id")
            .and_then(|id| Some((self.id(id)?, id.span)));
        if let Some((id, span)) = named {
            if self.tasks.contains_key(&id) {
                return Some(id);
            }
            self.unknown_task(&id, span);
        }
        let nodes = items(root, "tasks");
        let marked = nodes.iter().find(|node| {
            matches!(
                node.get("is_main_task").map(|main| &main.content),
                Some(Content::Bool(true))
            )
        });
        let marked = marked.and_then(|node| node.get("task_id")?.scalar());
        marked
            .filter(|id| self.tasks.contains_key(id))
            .or_else(|| self.order.first().cloned())
    }

    fn unknown_task(&mut self, id: &str, span: Span) {
        let near = closest(id, self.tasks.keys().map(String::as_str));
        let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let what = format!("task `{}`", excerpt(id));
        self.draft
            .lost(span, what, format!("there is no such task{help}"));
    }

    /// The name that a status has here.
    fn status(&mut self, written: &str, span: Span) -> Option<&'static str> {
        let found = STATUSES
            .into_iter()
            .find(|(theirs, own)| theirs.eq_ignore_ascii_case(written) || *own == written);
        if found.is_none() {
            let near = closest(written, STATUSES.into_iter().map(|(theirs, _)| theirs));
            let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let what = format!("the status `{}`", excerpt(written));
            self.draft
                .lost(span, what, format!("there is no such status{help}"));
        }
        found.map(|(_, own)| own)
    }

    /// The tasks, with the statuses and the fields that the listeners know.
    fn declared(&mut self, main: Option<&str>) -> Vec<Statement> {
        let mut statements = Vec::new();
        for id in &self.order {
            let Some(task) = self.tasks.get(id) else {
                continue;
            };
            let external = !task.is_set && (task.is_heard || main == Some(id.as_str()));
            let what = format!("task `{}`", excerpt(id));
            if !task.is_set {
                let why = if external {
                    "is `external`: no listener moves it, so somebody outside has to"
                } else {
                    "stays as it is: no listener moves it, and none waits for it"
                };
                self.draft.changed(task.span, &*what, why);
            }
            // The first status is the one with which a task begins; that it begins would set off who listens for that.
            let is_asked_for = task.statuses.contains("not_started");
            if is_asked_for {
                let why = "begins as `created`, since a listener waits for `not_started`";
                self.draft.changed(task.span, &*what, why);
            }
            let first: &[&str] = if is_asked_for {
                &["created", "not_started"]
            } else {
                &["not_started"]
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
                context: context_of(&task.fields),
                external,
            }));
        }
        statements
    }

    /// The beginning and the end of a run.
    fn run_of(&mut self, main: Option<&str>) -> Vec<Statement> {
        let Some(task) = main.and_then(|main| self.tasks.get(main)) else {
            self.draft
                .lost(Span::at(0), "the plan", "has no task, so nothing begins it");
            return vec![tree::reply(tree::null())];
        };
        let (name, fields) = (task.name.clone(), task.fields.clone());
        let finished = self.draft.name("finished");
        let fields = fields.into_iter().map(|field| {
            let value = tree::field(tree::variable(&name), &field);
            (field, value)
        });
        let wait = StepBody::Wait(WaitFor::Condition {
            on: is(&name, "done"),
            payload: None,
        });
        let within = planrun_lang::syntax::ast::ClauseKind::Within(tree::seconds(PATIENCE));
        vec![
            set(&name, "running", Vec::new()),
            tree::step(&finished, wait, vec![within]),
            tree::reply(tree::object(fields.collect())),
        ]
    }
}

/// `task is status`
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

fn context_of(fields: &BTreeSet<String>) -> Option<Box<TypeExpr>> {
    let fields = fields.iter().map(|field| FieldType {
        span: NOWHERE,
        name: tree::name(field),
        optional: false,
        ty: tree::type_named("any"),
    });
    let fields: Vec<FieldType> = fields.collect();
    (!fields.is_empty()).then(|| {
        Box::new(TypeExpr {
            span: NOWHERE,
            kind: TypeExprKind::Object(fields),
        })
    })
}
