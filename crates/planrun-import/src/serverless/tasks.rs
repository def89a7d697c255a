//! Lists of tasks as places: what each does, and where it leads.

use std::collections::BTreeMap;

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::yaml::{Content, Entry, Node};

use crate::document::{Refused, items};
use crate::draft::excerpt;
use crate::ways::graph::{Ends, Graph, Place};

/// The place behind a list of tasks; no task is called so.
pub const EXIT: &str = "";
/// The variable that tasks export to.
pub const CONTEXT: &str = "context";
/// Lists of more tasks are refused.
const MAX_TASKS: usize = 500;

/// What a task does, by the field that says so, and the further fields that it has then. `for` and `try` come before what
/// is inside of them.
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
/// What every task may have.
const FIELDS: [&str; 7] = [
    "if", "input", "output", "export", "timeout", "then", "metadata",
];

/// Where it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'d> {
    Task(&'d str),
    /// The whole workflow ends.
    End,
}

/// One task.
#[derive(Debug)]
pub struct Task<'d> {
    pub name: &'d str,
    pub span: Span,
    pub node: &'d Node,
    pub kind: &'static str,
    /// The task below it, or the end of the list.
    pub below: &'d str,
    /// What follows it where nothing else is said.
    pub next: Next<'d>,
    /// Of a `switch`, each case with its condition; the last one has none.
    pub cases: Vec<(Option<&'d Node>, Next<'d>)>,
}

impl<'d> Task<'d> {
    pub fn get(&self, field: &str) -> Option<&'d Node> {
        self.node.get(field)
    }

    /// What says what it does.
    pub fn body(&self) -> &'d Node {
        self.node.get(self.kind).unwrap_or(self.node)
    }

    /// The fields of which nothing is known.
    pub fn strangers(&self) -> impl Iterator<Item = &'d Entry> {
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
    /// # Errors
    /// Where it is no list of tasks, a task has no kind, or a way leads nowhere.
    pub fn read(list: &'d Node) -> Result<Self, Refused> {
        let Some(items) = list.items() else {
            let help = "write each task as `- name: { … }`";
            return Err(Refused::new(list.span, "this is no list of tasks", help));
        };
        if items.len() > MAX_TASKS {
            let message = format!("a list has at most {MAX_TASKS} tasks");
            return Err(Refused::new(list.span, message, "split it"));
        }
        let entries = items
            .iter()
            .map(only_entry)
            .collect::<Result<Vec<_>, _>>()?;
        Self::of(&entries)
    }

    /// One task alone.
    ///
    /// # Errors
    /// Where it has no kind.
    pub fn single(entry: &'d Entry) -> Result<Self, Refused> {
        Self::of(&[entry])
    }

    fn of(entries: &[&'d Entry]) -> Result<Self, Refused> {
        let mut by_name: BTreeMap<&str, Task<'d>> = BTreeMap::new();
        for (number, entry) in entries.iter().enumerate() {
            let below = entries.get(number + 1).map_or(EXIT, |entry| &*entry.name);
            let task = task(entry, below, entries)?;
            if by_name.insert(task.name, task).is_some() {
                let message = format!("two tasks of one list are called `{}`", entry.name);
                return Err(Refused::new(entry.span, message, "rename one of them"));
            }
        }
        Ok(Self {
            start: entries.first().map_or(EXIT, |entry| &*entry.name),
            graph: by_name.values().map(place).collect(),
            by_name,
        })
    }
}

/// The one entry of an element: a name, and what stands under it.
///
/// # Errors
/// Where the element is something else.
pub fn only_entry(item: &Node) -> Result<&Entry, Refused> {
    match item.entries() {
        Some([entry]) if !entry.name.is_empty() => Ok(entry),
        _ => Err(Refused::new(
            item.span,
            "an element of this list is one name with what stands under it",
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
        let help = "say what it does, such as `call`";
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

/// Where a `then` leads.
///
/// # Errors
/// Where there is no task of this name in the same list.
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
    let wanted = then.text().unwrap_or_default();
    if let Some(entry) = entries.iter().find(|entry| entry.name == wanted) {
        return Ok(Next::Task(&entry.name));
    }
    let names = entries.iter().map(|entry| entry.name.as_str());
    let help = match closest(wanted, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a task of the same list".to_owned(),
    };
    let message = format!("there is no task `{}` in this list", excerpt(wanted));
    Err(Refused::new(then.span, message, help))
}

/// The cases of a `switch`, each with where it leads; none where there is no `switch`.
///
/// # Errors
/// Where a case leads nowhere.
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
    // A case without a condition is taken where no other is, wherever it stands.
    cases.push((None, next));
    cases.sort_by_key(|(when, _)| when.is_none());
    let conditions = cases.iter().take_while(|(when, _)| when.is_some()).count();
    cases.truncate(conditions + 1);
    Ok(cases)
}

fn place<'d>(task: &Task<'d>) -> Place<'d> {
    let mut ways = match task.kind {
        "switch" => task.cases.iter().map(|case| case.1).collect(),
        "raise" => Vec::new(),
        _ => vec![task.next],
    };
    if task.get("if").is_some() {
        ways.push(Next::Task(task.below));
    }
    let mut targets = Vec::new();
    for way in &ways {
        if let Next::Task(name) = way
            && !targets.contains(name)
        {
            targets.push(*name);
        }
    }
    let kind = match (task.kind, task.body().text()) {
        ("call", Some(called)) => format!("call: {}", excerpt(called)),
        (kind, _) => kind.to_owned(),
    };
    Place {
        name: task.name,
        span: task.span,
        kind,
        ends: if ways.contains(&Next::End) {
            Ends::Well
        } else if targets.is_empty() {
            Ends::Badly
        } else {
            Ends::No
        },
        targets,
        sets: if exports(task.node) {
            vec![CONTEXT.to_owned()]
        } else {
            Vec::new()
        },
    }
}

/// Whether a task, or one inside of it, exports something.
pub fn exports(node: &Node) -> bool {
    match &node.content {
        Content::Map(entries) => entries
            .iter()
            .any(|entry| entry.name == "export" || exports(&entry.value)),
        Content::List(items) => items.iter().any(exports),
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => false,
    }
}
