//! Listeners: their triggers, the tools that they call, and the outputs that they set.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, Statement, StatementKind};
use planrun_lang::types::Signature;
use planrun_lang::yaml::{Content, Node};

use super::code::verdict;
use super::condition::When;
use super::flow::{AfterFailure, Field, Set};
use super::{FIRST, Importer, Task};
use crate::draft::{excerpt, one_line};
use crate::expression::condition::Truth;
use crate::tree;

/// The firing limit of a listener that triggers itself.
pub const MAX_FIRINGS: i64 = 100;

/// The outputs of a listener, each with whether it is that after a failure.
pub const OUTPUTS: [(&str, bool); 2] = [("success_output", false), ("failure_output", true)];

const KEYS: &str = "listener_id trigger_task_id trigger_condition trigger_status action_condition \
                    listener_type action_type agent_id action_prompt code_snippet action_config \
                    success_output failure_output priority name description";

/// A listener of the document.
pub struct Listener<'d> {
    pub id: String,
    pub node: &'d Node,
    triggers: Vec<String>,
    /// Its condition; `None` if nothing can trigger it.
    pub on: Option<When>,
    /// What its outputs set.
    pub sets: Vec<Set>,
    pub after_failure: Option<AfterFailure>,
    /// The context fields that may have been set before it fires.
    pub fields: BTreeSet<Field>,
}

impl<'d> Listener<'d> {
    pub fn is_code(&self) -> bool {
        kind(self.node).as_deref() == Some("code")
    }

    /// Returns an output; `None` if there is none.
    pub fn output(&self, field: &str) -> Option<&'d Node> {
        self.node.get(field).filter(|node| match &node.content {
            Content::Null => false,
            Content::Map(entries) => !entries.is_empty(),
            Content::Bool(_) | Content::Number(_) | Content::Text(_) | Content::List(_) => true,
        })
    }
}

/// The action of a listener before it sets its outputs.
pub enum Action {
    /// Calls a tool.
    Call(Expr),
    /// Only sets an output: that of a success if `true`, else that of a failure.
    Nothing(bool),
    /// Has no counterpart.
    Lost(Expr),
}

impl Importer<'_, '_> {
    pub fn read_listener<'d>(&mut self, node: &'d Node) -> Option<Listener<'d>> {
        self.draft.report_keys(node, "a listener", KEYS, &[]);
        if let Some(config) = node.get("action_config") {
            let of = "the `action_config` of a listener";
            self.draft.report_keys(config, of, "code", &[]);
        }
        self.report_unread(node);
        let Some(id) = node.get("listener_id").and_then(|id| self.id(id)) else {
            self.draft
                .lost(node.span, "a listener", "listener_id is required");
            return None;
        };
        let mut triggers = Vec::new();
        if let Some(trigger) = node.get("trigger_task_id") {
            for item in trigger.items().unwrap_or(std::slice::from_ref(trigger)) {
                let written = self.id(item).unwrap_or_default();
                let ids = written
                    .split(',')
                    .map(|id| (id.trim().to_owned(), item.span));
                triggers.extend(ids);
            }
        }
        let mut known = Vec::new();
        for (id, span) in triggers {
            match self.tasks.get_mut(&id) {
                Some(task) => {
                    task.is_awaited = true;
                    known.push(id);
                }
                None => self.unknown_task(&id, span),
            }
        }
        let mut listener = Listener {
            id,
            node,
            triggers: known,
            on: None,
            sets: Vec::new(),
            after_failure: None,
            fields: BTreeSet::new(),
        };
        listener.on = self.triggered(&listener);
        self.note_outputs(&mut listener);
        Some(listener)
    }

    /// Reports values of a listener that are not read: those that are no text, those of the other type of listeners, and a
    /// second type.
    fn report_unread(&mut self, node: &Node) {
        let is_code = kind(node).as_deref() == Some("code");
        let omitted = [
            ("code_snippet", is_code),
            ("agent_id", !is_code),
            ("action_type", node.get("listener_type").is_none()),
        ];
        let used = [
            "listener_type",
            "action_condition",
            "action_prompt",
            "priority",
            "name",
            "description",
        ];
        for (field, is_used) in omitted.into_iter().chain(used.map(|field| (field, true))) {
            let Some(value) = node.get(field) else {
                continue;
            };
            let what = format!("`{field}` of a listener");
            if !is_used {
                let why = "is omitted: the type of the listener is another one";
                self.draft.changed(value.span, what, why);
            } else if value.scalar().is_none() && !matches!(value.content, Content::Null) {
                self.draft.lost(value.span, what, "is not a text");
            }
        }
        let config = node
            .get("action_config")
            .and_then(|config| config.get("code"));
        let is_read = is_code && node.get("code_snippet").is_none();
        if let Some(code) = config.filter(|_| !is_read) {
            let why = "is omitted: the listener has other code, or is of another type";
            self.draft
                .changed(code.span, "the code in an `action_config`", why);
        }
    }

    /// Records what the outputs of a listener set.
    fn note_outputs(&mut self, listener: &mut Listener<'_>) {
        let code = Some(listener.node).filter(|_| listener.is_code());
        let verdict = code
            .and_then(code_of)
            .and_then(Node::text)
            .and_then(verdict);
        for (field, is_failure) in OUTPUTS {
            let set = listener
                .output(field)
                .and_then(|node| self.note_output(node));
            // An output that is never used sets nothing, and the only other one is always used.
            if verdict.is_none_or(|succeeds| succeeds != is_failure) {
                listener
                    .sets
                    .extend(set.map(|set| Set { is_failure, ..set }));
            }
        }
    }

    pub fn listener(&mut self, listener: &Listener<'_>) -> Option<Statement> {
        let node = listener.node;
        let what = format!("listener `{}`", excerpt(&listener.id));
        let Some(on) = &listener.on else {
            self.draft.lost(node.span, what, "nothing can trigger it");
            return None;
        };
        let mut sets = listener.sets.iter();
        let again = sets.any(|set| on.may_hold_at(&set.task, set.status));
        let on = self.condition_of(listener, on);
        self.fields.clone_from(&listener.fields);
        let name = self.draft.name(&listener.id);
        let mut body = Vec::new();
        let action = self.action(listener, &what);
        self.done_by(listener, action, &mut body);
        if body.is_empty() {
            self.draft
                .lost(node.span, what, "does nothing and sets nothing");
            return None;
        }
        self.draft.carried(node.span, &*what, format!("`{name}`"));
        if again {
            let why = format!("triggers itself again, at most {MAX_FIRINGS} times");
            self.draft.changed(node.span, &*what, why);
        }
        if node
            .get("priority")
            .and_then(Node::scalar)
            .is_some_and(|priority| priority != "0")
        {
            let why =
                "is omitted: listeners that are triggered by the same event run at the same time";
            self.draft
                .changed(node.span, format!("the priority of {what}"), why);
        }
        let text = |field: &str| node.get(field).and_then(Node::text).map(one_line);
        let texts = ["name", "description", "action_prompt"].into_iter();
        let texts: Vec<String> = texts.filter_map(text).collect();
        let doc = texts.join(": ");
        let mut statement = tree::statement(StatementKind::Listener {
            name: tree::name(&name),
            on: Box::new(on),
            payload: None,
            binding: None,
            when: None,
            max: again.then(|| Box::new(tree::int(MAX_FIRINGS))),
            body: tree::block(body),
        });
        statement.doc = (!doc.is_empty()).then(|| doc.into());
        Some(statement)
    }

    /// Returns the condition that triggers a listener. As in the original, only events of its triggers do.
    fn triggered(&mut self, listener: &Listener<'_>) -> Option<When> {
        let node = listener.node;
        let triggers: BTreeSet<String> = listener.triggers.iter().cloned().collect();
        let events = When::either(triggers.iter().cloned().map(When::Event).collect())?;
        let (text, span) = self.trigger(listener)?;
        let mut on = self.condition(&text, &listener.triggers, span)?;
        let guard = node
            .get("action_condition")
            .and_then(|node| Some((node.scalar()?, node.span)));
        if let Some((guard, span)) =
            guard.filter(|(guard, _)| !matches!(guard.trim(), "" | "true" | "True" | "execute"))
        {
            let inner = self.condition(&guard, &listener.triggers, span)?;
            let why = "is now part of the trigger of the listener; in the original, it was parsed but never evaluated";
            self.draft.changed(span, "`action_condition`", why);
            on = if text.trim().eq_ignore_ascii_case("any") {
                inner
            } else {
                on.and(inner)
            };
        }
        // Every task that a condition names triggers a listener.
        if on.names() != triggers {
            on = events.and(on);
        }
        for id in on.names() {
            if let Some(task) = self.tasks.get_mut(&id) {
                task.is_awaited = true;
            }
        }
        on.statuses(&mut |id, status| {
            if let Some(task) = self.tasks.get_mut(id) {
                task.statuses.insert(status);
            }
        });
        Some(on)
    }

    /// Returns the condition of a listener as it is written in the plan.
    fn condition_of(&mut self, listener: &Listener<'_>, on: &When) -> Expr {
        let created = |id: &str| self.tasks.get(id).is_some_and(|task| task.starts_created);
        if on.holds_at_start(&|id, status| status == FIRST && !created(id)) {
            let why = "may also hold at the start of a run, which is an event of every task";
            let what = format!("the condition of listener `{}`", excerpt(&listener.id));
            self.draft.changed(listener.node.span, what, why);
        }
        let waits = on.holds_at_start(&|_, status| status == FIRST);
        // In the original, a task does not fail with its listener.
        let fails = |id: &String| self.tasks.get(id).is_some_and(Task::fails_with_work);
        let mut on = on.clone();
        for id in on.denied().into_iter().filter(fails) {
            on = on.and(When::Is(id, "failed").not());
        }
        self.written(&on, waits)
    }

    /// Returns the written condition of a listener; `None` if it is not a text, which is reported.
    fn trigger(&mut self, listener: &Listener<'_>) -> Option<(String, Span)> {
        let node = listener.node;
        let (status, condition) = (node.get("trigger_status"), node.get("trigger_condition"));
        if let (Some(_), Some(other)) = (status, condition) {
            let what = format!(
                "`trigger_condition` of listener `{}`",
                excerpt(&listener.id)
            );
            let why = "is omitted: the listener also has a `trigger_status`, which is used";
            self.draft.changed(other.span, what, why);
        }
        let Some(written) = status.or(condition) else {
            return Some(("Done".to_owned(), node.span));
        };
        let text = written.scalar();
        if text.is_none() {
            let what = format!("the condition of listener `{}`", excerpt(&listener.id));
            self.draft.lost(written.span, what, "is not a text");
        }
        Some((text?, written.span))
    }

    fn action(&mut self, listener: &Listener<'_>, what: &str) -> Action {
        let node = listener.node;
        match kind(node).as_deref().unwrap_or("agent") {
            "agent" => self.agent(listener, what),
            "code" => self.code(listener, what),
            other => {
                let near = closest(other, ["agent", "code"])
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let why = format!("`{}` is not a listener type{near}", excerpt(other));
                Action::Lost(self.draft.hole(node.span, what, why))
            }
        }
    }

    /// Code is not carried. If it only reports success or failure, the outputs represent it completely.
    fn code(&mut self, listener: &Listener<'_>, what: &str) -> Action {
        let node = listener.node;
        let Some(code) = code_of(node) else {
            let why = "a listener of type `code` has no `code_snippet`";
            return Action::Lost(self.draft.hole(node.span, what, why));
        };
        if let Some(succeeds) = code.text().and_then(verdict) {
            let why = "only reports success or failure, which its output also expresses";
            self.draft
                .changed(code.span, format!("the code of {what}"), why);
            return Action::Nothing(succeeds);
        }
        let why = "a plan cannot contain code in other languages: move it into a tool, or write it as expressions";
        Action::Lost(
            self.draft
                .hole(code.span, format!("the code of {what}"), why),
        )
    }

    /// In AIntegration, an agent chooses a tool of its app in every run; in a plan, the import chooses it once.
    fn agent(&mut self, listener: &Listener<'_>, what: &str) -> Action {
        let node = listener.node;
        let Some((agent, span)) = node
            .get("agent_id")
            .and_then(|agent| Some((agent.scalar()?, agent.span)))
        else {
            return Action::Lost(self.draft.hole(
                node.span,
                what,
                "a listener of type `agent` has no `agent_id`",
            ));
        };
        let catalog = self.draft.catalog();
        if !catalog.has_namespace(&agent) {
            let near = closest(&agent, catalog.namespaces())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let why = format!("the project has no app `{}`{near}", excerpt(&agent));
            return Action::Lost(self.draft.hole(span, what, why));
        }
        let prompt = node
            .get("action_prompt")
            .and_then(Node::text)
            .unwrap_or_default();
        let tools: Vec<&Signature> = catalog
            .names(&agent)
            .filter_map(|name| catalog.find(&agent, name).map(|found| &**found))
            .collect();
        let Some(tool) = select_tool(&tools, prompt) else {
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            let why = format!(
                "its prompt does not specify which tool of `{agent}` it calls: {}",
                names.join(", ")
            );
            return Action::Lost(self.draft.hole(node.span, what, why));
        };
        let why = format!(
            "calls `{}`: the tool is now fixed in the plan, not chosen by a model",
            tool.path()
        );
        self.draft
            .changed(node.span, format!("the agent of {what}"), why);
        let arguments = self.arguments(tool, prompt, listener, what);
        Action::Call(
            self.draft
                .call(&agent, &tool.name, arguments, &BTreeSet::new()),
        )
    }

    /// Takes each argument from a context field of that name (see [`Self::known`]). Without one, an argument becomes an
    /// input of the plan if it is required or the prompt reads it; any other is omitted.
    fn arguments(
        &mut self,
        tool: &Signature,
        prompt: &str,
        listener: &Listener<'_>,
        what: &str,
    ) -> Vec<(String, Expr)> {
        let read = read_by(prompt, &self.tasks);
        let (mut arguments, mut taken) = (Vec::new(), BTreeMap::new());
        for parameter in &tool.parameters {
            let name = &*parameter.name;
            let is_read = read.iter().any(|one| one.field.as_deref() == Some(name));
            if let Some(id) = self.known(name, &read, &listener.triggers) {
                let task = self.tasks.get(&id).map_or("", |task| &task.name);
                let value = tree::field(tree::variable(task), name);
                arguments.push((name.to_owned(), value));
                taken.insert(name, Some(id));
            } else if parameter.required || is_read {
                let value = self.input(name);
                let why =
                    "is now an input of the plan; in the original, a model took it from its prompt";
                self.draft.changed(
                    listener.node.span,
                    format!("the argument `{name}` of {what}"),
                    why,
                );
                arguments.push((name.to_owned(), value));
                taken.insert(name, None);
            }
        }
        for one in read {
            let field = one.field.as_deref().unwrap_or_default();
            let holder = taken.get(field);
            if holder.is_some_and(|holder| holder.as_ref().is_none_or(|id| *id == one.task)) {
                continue;
            }
            let why = if holder.is_some() {
                format!("the argument `{}` has another value", excerpt(field))
            } else {
                format!("no argument of `{}` has this name", tool.path())
            };
            let what = format!("`{}` in the prompt of {what}", excerpt(&one.written));
            self.draft.lost(listener.node.span, what, why);
        }
        arguments
    }

    /// Returns the id of a task that may have a context field with this name when the listener fires: one whose field the
    /// prompt reads, else one that triggers the listener or precedes it.
    fn known(&self, name: &str, read: &[Placeholder], triggers: &[String]) -> Option<String> {
        let before = triggers
            .iter()
            .filter_map(|id| self.tasks.get(id))
            .flat_map(|task| &task.before);
        let is_read = |one: &&Placeholder| one.field.as_deref() == Some(name);
        let read = read.iter().filter(is_read).map(|one| &one.task);
        let mut ids = read.chain(triggers).chain(before);
        let found = ids.find(|id| self.fields.contains(&((*id).clone(), name.to_owned())))?;
        Some(found.clone())
    }

    /// Records for each task the tasks that precede it. Listeners that set the main task are ignored, because they
    /// end the run.
    pub fn note_before(&mut self, listeners: &[Listener<'_>], main: Option<&str>) {
        let mut sources: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
        for listener in listeners {
            let sets = listener.sets.iter().filter(|set| !set.is_failure);
            for set in sets.filter(|set| main != Some(set.task.as_str())) {
                let sources = sources.entry(set.task.clone()).or_default();
                sources.extend(&listener.triggers);
            }
        }
        for (id, task) in &mut self.tasks {
            let mut seen = BTreeSet::from([id]);
            let mut open = vec![id];
            while let Some(next) = open.pop() {
                for source in sources.get(next).into_iter().flatten() {
                    if seen.insert(source) {
                        task.before.push((*source).clone());
                        open.push(source);
                    }
                }
            }
        }
    }
}

/// What a prompt reads from a task.
struct Placeholder {
    written: String,
    task: String,
    /// The field of its context; `None` if it reads anything else.
    field: Option<String>,
}

/// Returns what a prompt reads from the known tasks: `{002.context.email}`.
fn read_by(prompt: &str, tasks: &BTreeMap<String, Task>) -> Vec<Placeholder> {
    let parts = prompt.split('{').skip(1);
    let inside = parts.filter_map(|part| Some(part.split_once('}')?.0));
    let read = inside.filter_map(|inside| {
        let (task, rest) = inside.trim().split_once('.')?;
        tasks.contains_key(task).then(|| Placeholder {
            written: format!("{{{inside}}}"),
            task: task.to_owned(),
            field: rest.strip_prefix("context.").map(str::to_owned),
        })
    });
    read.collect()
}

/// Returns the only tool that a prompt names, else the only tool of the app, else its only tool with effects.
fn select_tool<'s>(tools: &[&'s Signature], prompt: &str) -> Option<&'s Signature> {
    let words: Vec<&str> = prompt
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .collect();
    let only = |chosen: Vec<&&'s Signature>| match chosen.as_slice() {
        [only] => Some(**only),
        _ => None,
    };
    let named = only(
        tools
            .iter()
            .filter(|tool| words.contains(&&*tool.name))
            .collect(),
    );
    let changing = || {
        only(
            tools
                .iter()
                .filter(|tool| !tool.effect.is_read_only())
                .collect(),
        )
    };
    named
        .or_else(|| only(tools.iter().collect()))
        .or_else(changing)
}

/// Returns the type of a listener.
fn kind(listener: &Node) -> Option<String> {
    let kind = listener.get("listener_type");
    kind.or(listener.get("action_type")).and_then(Node::scalar)
}

fn code_of(listener: &Node) -> Option<&Node> {
    let config = listener.get("action_config");
    let config = config.and_then(|config| config.get("code"));
    let snippet = listener.get("code_snippet").or(config);
    snippet.or_else(|| listener.get("code"))
}
