//! Lists of tasks as control-flow graphs.

use std::collections::BTreeMap;

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::yaml::{Content, Entry, Node};

use crate::control_flow::graph::{Graph, GraphNode, Termination};
use crate::document::{Refused, items};
use crate::draft::excerpt;

/// The node after a list of tasks; no task has this name.
pub const EXIT: &str = "";
/// The variable for the exported context.
pub const CONTEXT: &str = "context";
/// The most tasks of a list.
const MAX_TASKS: usize = 500;

/// The kinds of tasks, by their distinguishing fields, with their further fields. `for` comes before `do`, which it
/// contains.
const KINDS: [(&str, &[&str]); 12] = [
    ("for", &["while", "do"]),
    ("try", &["catch"]),
    ("call", &["with"]),
    ("do", &[]),
    ("emit", &[]),
    ("fork", &[]),
    ("listen", &["foreach"]),
    ("raise", &[]),
    ("run", &[]),
    ("set", &[]),
    ("switch", &[]),
    ("wait", &[]),
];
/// Fields of every task.
const FIELDS: [&str; 7] = [
    "if", "input", "output", "export", "timeout", "then", "metadata",
];

/// The successor of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'d> {
    Task(&'d str),
    /// The end of the whole workflow.
    End,
}

#[derive(Debug)]
pub struct Task<'d> {
    pub name: &'d str,
    pub span: Span,
    pub node: &'d Node,
    pub kind: &'static str,
    /// The next task in the list, or [`EXIT`].
    pub below: &'d str,
    /// Its successor by default.
    pub next: Next<'d>,
    /// The cases of a `switch`, each with its condition; the last has none.
    pub cases: Vec<(Option<&'d Node>, Next<'d>)>,
}

impl<'d> Task<'d> {
    pub fn get(&self, field: &str) -> Option<&'d Node> {
        self.node.get(field)
    }

    /// Returns the value of the field that determines its kind.
    pub fn body(&self) -> &'d Node {
        self.node.get(self.kind).unwrap_or(self.node)
    }

    pub fn unknown_fields(&self) -> impl Iterator<Item = &'d Entry> {
        let known = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        let further = known.map_or(&[] as &[&str], |(_, further)| further);
        let kind = self.kind;
        let entries = self.node.entries().unwrap_or_default().iter();
        entries.filter(move |entry| {
            let name = entry.name.as_str();
            name != kind && !FIELDS.contains(&name) && !further.contains(&name)
        })
    }
}

/// Tasks that follow each other.
#[derive(Debug)]
pub struct Tasks<'d> {
    pub start: &'d str,
    pub by_name: BTreeMap<&'d str, Task<'d>>,
    pub graph: Graph<'d>,
}

impl<'d> Tasks<'d> {
    /// Reads a list of tasks. Returns an error if it is not a list of tasks, if it is too long, if a task has no kind,
    /// if two tasks have the same name, or if a target does not exist.
    pub fn read(list: &'d Node) -> Result<Self, Refused> {
        let Some(items) = list.items() else {
            let help = "write each task as `- name: { … }`";
            return Err(Refused::new(list.span, "this is not a list of tasks", help));
        };
        if items.len() > MAX_TASKS {
            let message = format!("a list may have at most {MAX_TASKS} tasks");
            return Err(Refused::new(list.span, message, "split it"));
        }
        let entries = items
            .iter()
            .map(only_entry)
            .collect::<Result<Vec<_>, _>>()?;
        Self::of(&entries)
    }

    /// Returns a list of a single task. Returns an error if the task has no kind or its target does not exist.
    pub fn single(entry: &'d Entry) -> Result<Self, Refused> {
        Self::of(&[entry])
    }

    fn of(entries: &[&'d Entry]) -> Result<Self, Refused> {
        let mut by_name: BTreeMap<&str, Task<'d>> = BTreeMap::new();
        for (number, entry) in entries.iter().enumerate() {
            let below = entries.get(number + 1).map_or(EXIT, |entry| &*entry.name);
            let task = task(entry, below, entries)?;
            if by_name.insert(task.name, task).is_some() {
                let message = format!("two tasks of this list are called `{}`", entry.name);
                return Err(Refused::new(entry.span, message, "rename one of them"));
            }
        }
        Ok(Self {
            start: entries.first().map_or(EXIT, |entry| &*entry.name),
            graph: by_name.values().map(graph_node).collect(),
            by_name,
        })
    }
}

/// Returns the only entry of an element: a name and its value. Returns an error if the element has any other form.
pub fn only_entry(item: &Node) -> Result<&Entry, Refused> {
    match item.entries() {
        Some([entry]) if !entry.name.is_empty() => Ok(entry),
        _ => Err(Refused::new(
            item.span,
            "an element of this list must be a mapping with one name",
            "write it as `- name: { … }`",
        )),
    }
}

fn task<'d>(entry: &'d Entry, below: &'d str, entries: &[&'d Entry]) -> Result<Task<'d>, Refused> {
    let kinds = KINDS.iter().map(|(kind, _)| *kind);
    let Some(kind) = kinds
        .into_iter()
        .find(|kind| entry.value.get(kind).is_some())
    else {
        let message = format!("the task `{}` does nothing", excerpt(&entry.name));
        let help = "add an action such as `call`";
        return Err(Refused::new(entry.span, message, help));
    };
    let next = match entry.value.get("then") {
        Some(then) => directive(then, below, entries)?,
        None => Next::Task(below),
    };
    Ok(Task {
        name: &entry.name,
        span: entry.span,
        node: &entry.value,
        kind,
        below,
        next,
        cases: cases(&entry.value, below, next, entries)?,
    })
}

/// Returns the target of a `then`. Returns an error if there is no such task in the same list.
fn directive<'d>(
    then: &'d Node,
    below: &'d str,
    entries: &[&'d Entry],
) -> Result<Next<'d>, Refused> {
    match then.text() {
        Some("continue") => return Ok(Next::Task(below)),
        Some("exit") => return Ok(Next::Task(EXIT)),
        Some("end") => return Ok(Next::End),
        _ => {}
    }
    let target = then.text().unwrap_or_default();
    if let Some(entry) = entries.iter().find(|entry| entry.name == target) {
        return Ok(Next::Task(&entry.name));
    }
    let names = entries.iter().map(|entry| entry.name.as_str());
    let help = match closest(target, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "use the name of a task of the same list".to_owned(),
    };
    let message = format!("there is no task `{}` in this list", excerpt(target));
    Err(Refused::new(then.span, message, help))
}

/// Returns the cases of a `switch`, each with its successor; empty if the task is not a `switch`. Returns an error if a
/// case has an invalid target.
fn cases<'d>(
    task: &'d Node,
    below: &'d str,
    next: Next<'d>,
    entries: &[&'d Entry],
) -> Result<Vec<(Option<&'d Node>, Next<'d>)>, Refused> {
    let mut cases = Vec::new();
    if task.get("switch").is_none() {
        return Ok(cases);
    }
    for item in items(task, "switch") {
        let case = &only_entry(item)?.value;
        let next = match case.get("then") {
            Some(then) => directive(then, below, entries)?,
            None => next,
        };
        cases.push((case.get("when"), next));
    }
    // A case without a condition is the default, wherever it is listed.
    cases.push((None, next));
    cases.sort_by_key(|(when, _)| when.is_none());
    let conditions = cases.iter().take_while(|(when, _)| when.is_some()).count();
    cases.truncate(conditions + 1);
    Ok(cases)
}

fn graph_node<'d>(task: &Task<'d>) -> GraphNode<'d> {
    let mut successors = match task.kind {
        "switch" => task.cases.iter().map(|case| case.1).collect(),
        "raise" => Vec::new(),
        _ => vec![task.next],
    };
    if task.get("if").is_some() {
        successors.push(Next::Task(task.below));
    }
    let mut targets = Vec::new();
    for successor in &successors {
        if let Next::Task(name) = successor
            && !targets.contains(name)
        {
            targets.push(*name);
        }
    }
    let kind = match (task.kind, task.body().text()) {
        ("call", Some(called)) => format!("call: {}", excerpt(called)),
        (kind, _) => kind.to_owned(),
    };
    GraphNode {
        name: task.name,
        span: task.span,
        kind,
        termination: if successors.contains(&Next::End) {
            Termination::Success
        } else if targets.is_empty() {
            Termination::Failure
        } else {
            Termination::Never
        },
        targets,
        sets: if exports(task.node) {
            vec![CONTEXT.to_owned()]
        } else {
            Vec::new()
        },
    }
}

/// Returns true if a task or one inside it exports something.
pub fn exports(node: &Node) -> bool {
    match &node.content {
        Content::Map(entries) => entries
            .iter()
            .any(|entry| entry.name == "export" || exports(&entry.value)),
        Content::List(items) => items.iter().any(exports),
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => false,
    }
}
