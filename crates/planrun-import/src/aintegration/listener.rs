//! Listeners: their triggers, the tools that they call, and the outputs that they set.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    ArmBody, BinaryOp, ClauseKind, Expr, ExprKind, Literal, Statement, StatementKind, StepBody,
};
use planrun_lang::types::Signature;
use planrun_lang::yaml::Node;

use super::output::Given;
use super::{Importer, keys};
use crate::calls::{Value, literals};
use crate::draft::{excerpt, one_line};
use crate::tree;

/// The firing limit of a listener that triggers itself.
const MAX_FIRINGS: i64 = 100;

/// A listener of the document.
pub struct Listener<'d> {
    pub id: String,
    pub node: &'d Node,
    triggers: Vec<String>,
}

/// The action of a listener before it sets its outputs.
enum Action {
    /// Calls a tool.
    Call(Expr),
    /// Only sets an output: that of a success if `true`, else that of a failure.
    Nothing(bool),
    /// Has no counterpart.
    Lost(Expr),
}

impl Importer<'_, '_> {
    pub fn read_listener<'d>(&mut self, node: &'d Node) -> Option<Listener<'d>> {
        self.draft
            .report_keys(node, "a listener", keys::LISTENER, &[]);
        if let Some(config) = node.get("action_config") {
            let of = "the `action_config` of a listener";
            self.draft.report_keys(config, of, &["code"], &[]);
        }
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
        Some(Listener {
            id,
            node,
            triggers: known,
        })
    }

    /// Records the fields that the outputs of a listener set on tasks.
    pub fn note_outputs(&mut self, listener: &Listener<'_>) {
        for field in ["success_output", "failure_output"] {
            if let Some(node) = listener
                .node
                .get(field)
                .filter(|node| node.entries().is_some())
            {
                self.note_output(node);
            }
        }
    }

    pub fn listener(&mut self, listener: &Listener<'_>) -> Option<Statement> {
        let node = listener.node;
        let what = format!("listener `{}`", excerpt(&listener.id));
        let Some((on, again)) = self.triggered(listener) else {
            self.draft.lost(node.span, what, "nothing can trigger it");
            return None;
        };
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

    /// Returns the condition that triggers a listener, and whether the listener triggers itself.
    fn triggered(&mut self, listener: &Listener<'_>) -> Option<(Expr, bool)> {
        let node = listener.node;
        let (text, span) = self.trigger(listener);
        let mut condition = self.condition(&text, &listener.triggers, span)?;
        let is_any = text.trim().eq_ignore_ascii_case("any");
        let guard = node
            .get("action_condition")
            .and_then(|node| Some((node.scalar()?, node.span)));
        if let Some((guard, span)) =
            guard.filter(|(guard, _)| !matches!(guard.trim(), "" | "true" | "True" | "execute"))
        {
            let inner = self.condition(&guard, &listener.triggers, span)?;
            let why = "is now part of the trigger of the listener; in the original, it was parsed but never evaluated";
            self.draft.changed(span, "`action_condition`", why);
            // Every task in a condition triggers the listener, so `Any` adds nothing.
            condition.on = if is_any {
                inner.on
            } else {
                tree::binary(condition.on, BinaryOp::And, inner.on)
            };
            if is_any {
                condition.names.clear();
            }
            condition.names.extend(inner.names);
        }
        if condition.names.iter().any(|(_, status)| status.is_none()) {
            let why = "may also hold at the start of a run, which is an event of every task";
            let what = format!("the condition of listener `{}`", excerpt(&listener.id));
            self.draft.changed(span, what, why);
        }
        for (id, status) in &condition.names {
            if let Some(task) = self.tasks.get_mut(id) {
                task.is_awaited = true;
                task.statuses.extend(*status);
            }
            if !listener.triggers.contains(id) {
                let what = format!(
                    "task `{}` in the condition of listener `{}`",
                    excerpt(id),
                    excerpt(&listener.id)
                );
                let why =
                    "also triggers the listener, since every task that a condition names does";
                self.draft.changed(span, what, why);
            }
        }
        let outputs = ["success_output", "failure_output"]
            .into_iter()
            .filter_map(|field| node.get(field));
        let sets: BTreeSet<_> = outputs.filter_map(|output| self.target(output)).collect();
        let again = condition.names.iter().any(|(id, status)| {
            sets.iter()
                .any(|(target, set)| target == id && status.is_none_or(|status| status == *set))
        });
        Some((condition.on, again))
    }

    /// Returns the written condition of a listener.
    fn trigger(&mut self, listener: &Listener<'_>) -> (String, Span) {
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
        let written = status.or(condition);
        let written = written.and_then(|node| Some((node.scalar()?, node.span)));
        written.unwrap_or_else(|| ("Done".to_owned(), node.span))
    }

    fn done_by(&mut self, listener: &Listener<'_>, action: Action, body: &mut Vec<Statement>) {
        let output = |field: &str| {
            listener
                .node
                .get(field)
                .filter(|node| node.entries().is_some())
        };
        let (success, failure) = (output("success_output"), output("failure_output"));
        match action {
            Action::Lost(hole) => {
                // The outputs would depend on a result that does not exist.
                body.push(tree::fail("tool.not_carried", hole));
            }
            Action::Nothing(succeeds) => {
                let output = if succeeds { success } else { failure };
                body.extend(output.and_then(|node| self.output(node, &Given::Nothing)));
            }
            Action::Call(call) => {
                let name = self.draft.name(&format!("{}_result", listener.id));
                let clauses = vec![retry()];
                let Some(failure) = failure else {
                    body.push(tree::step(&name, StepBody::Call(call), clauses));
                    let given = Given::Step(tree::variable(&name));
                    body.extend(success.and_then(|node| self.output(node, &given)));
                    return;
                };
                self.caught(&name, call, clauses, (success, failure), body);
            }
        }
    }

    /// Writes a call whose failure sets an output as well.
    fn caught(
        &mut self,
        name: &str,
        call: Expr,
        clauses: Vec<ClauseKind>,
        (success, failure): (Option<&Node>, &Node),
        body: &mut Vec<Statement>,
    ) {
        let inner = self.draft.name(&format!("{name}_call"));
        let error = self.draft.name("e");
        let tagged = |ok: bool, value: Expr| {
            tree::object(vec![
                ("ok".to_owned(), tree::boolean(ok)),
                ("value".to_owned(), value),
            ])
        };
        let message = tree::field(tree::variable(&error), "message");
        let arm = tree::recover(&[], Some(&error), ArmBody::Expr(tagged(false, message)));
        let steps = vec![
            tree::step(&inner, StepBody::Call(call), clauses),
            tree::yields(tagged(true, tree::variable(&inner))),
        ];
        body.push(tree::step(
            name,
            StepBody::Do(tree::block(steps)),
            vec![arm],
        ));
        let value = tree::field(tree::variable(name), "value");
        let well = success.and_then(|node| self.output(node, &Given::Step(value.clone())));
        let badly = self.output(failure, &Given::Error(value));
        let ok = tree::field(tree::variable(name), "ok");
        let arms = vec![(ok, tree::block(well.into_iter().collect()))];
        let otherwise = Some(tree::block(badly.into_iter().collect()));
        body.push(tree::statement(StatementKind::If { arms, otherwise }));
    }

    fn action(&mut self, listener: &Listener<'_>, what: &str) -> Action {
        let node = listener.node;
        let kind = node
            .get("listener_type")
            .or(node.get("action_type"))
            .and_then(Node::scalar);
        match kind.as_deref().unwrap_or("agent") {
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

    /// Takes each argument from a context field of that name (see [`Self::known`]). Without one, a required argument
    /// becomes an input of the plan, and an optional one is omitted.
    fn arguments(
        &mut self,
        tool: &Signature,
        prompt: &str,
        listener: &Listener<'_>,
        what: &str,
    ) -> Vec<(String, Expr)> {
        let mut arguments = Vec::new();
        for parameter in &tool.parameters {
            let name = &*parameter.name;
            let known = self.known(name, prompt, &listener.triggers);
            if let Some(value) = known {
                arguments.push((name.to_owned(), value));
            } else if parameter.required {
                let value = self.input(name);
                let why =
                    "is now an input of the plan; in the original, a model took it from its prompt";
                self.draft.changed(
                    listener.node.span,
                    format!("the argument `{name}` of {what}"),
                    why,
                );

                arguments.push((name.to_owned(), value));
            }
        }
        arguments
    }

    /// Returns the context field with this name of a task that triggers the listener or precedes it; a field that the
    /// prompt names is preferred. `None` if no such task has the field.
    fn known(&self, name: &str, prompt: &str, triggers: &[String]) -> Option<Expr> {
        let before = triggers
            .iter()
            .filter_map(|id| self.tasks.get(id))
            .flat_map(|task| &task.before);
        let there: Vec<&String> = triggers.iter().chain(before).collect();
        let is_named = |id: &&&String| prompt.contains(&format!("{{{id}.context.{name}}}"));
        let ids = there.iter().filter(is_named).chain(&there);
        let holder = ids
            .filter_map(|id| self.tasks.get(*id))
            .find(|task| task.fields.contains(name))?;
        Some(tree::field(tree::variable(&holder.name), name))
    }

    /// Records for each task the tasks that precede it. Listeners that set the main task are ignored, because they
    /// end the run.
    pub fn note_before(&mut self, listeners: &[Listener<'_>], main: Option<&str>) {
        let mut sources: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
        for listener in listeners {
            let output = listener.node.get("success_output");
            let Some((target, _)) = output.and_then(|output| self.target(output)) else {
                continue;
            };
            if main != Some(target.as_str()) {
                sources
                    .entry(target)
                    .or_default()
                    .extend(&listener.triggers);
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

/// Returns the code of a listener.
fn code_of(listener: &Node) -> Option<&Node> {
    let config = listener.get("action_config");
    let config = config.and_then(|config| config.get("code"));
    let snippet = listener.get("code_snippet").or(config);
    snippet.or_else(|| listener.get("code"))
}

/// Returns the success that code reports; `None` if it does anything else than to assign a constant result with it.
fn verdict(code: &str) -> Option<bool> {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let lines: Vec<&str> = code.lines().filter(is_code).collect();
    let assigned = lines.join("\n");
    let value = assigned.trim().strip_prefix("result")?.trim_start();
    let Ok(Value::Object(fields)) = literals::literal(value.strip_prefix('=')?) else {
        return None;
    };
    // The last of several fields with one name counts in Python.
    let (_, success) = fields.iter().rfind(|(name, _)| name == "success")?;
    match success {
        Value::Plain(Expr {
            kind: ExprKind::Literal(Literal::Bool(success)),
            ..
        }) => Some(*success),
        _ => None,
    }
}

/// An agent of AIntegration makes up to three attempts at a call.
fn retry() -> ClauseKind {
    let classes = ["transient", "tool"].map(tree::variable);
    ClauseKind::Retry(tree::object(vec![
        ("attempts".to_owned(), tree::int(3)),
        ("on".to_owned(), tree::list(classes.to_vec())),
    ]))
}
