//! `Task`: its tool, its retries and its error handlers.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{ArmBody, BinaryOp, ClauseKind, Expr, Statement, StepBody};
use planrun_lang::yaml::{Content, Node};

use super::data::Scope;
use super::flow::{At, Translator, duration, proceed, scope_of};
use super::machine::{Machine, State};
use super::output::error_class;
use super::{fields, retry, short};
use crate::control_flow::inputs::INPUT;
use crate::control_flow::outcome;
use crate::control_flow::repetition::bind_any;
use crate::control_flow::{Branch, Continued, Flow, Target, Walk as _};
use crate::document::items;
use crate::draft::{Draft, identifier, is_writable};
use crate::expression::value::Value;
use crate::tree;

/// The namespace of tasks whose resource names no service.
const TASKS: &str = "tasks";

/// One entry of `Catch`.
struct Catcher<'d> {
    /// Empty for all errors.
    classes: Vec<String>,
    target: &'d str,
    node: &'d Node,
}

impl Translator<'_, '_> {
    pub fn task<'d>(&mut self, at: At<'_, 'd>, out: &mut Vec<Statement>) -> Continued<'d> {
        let At { state, flow, .. } = at;
        let (namespace, tool) = self.tool_of(state);
        let input = self.through(state, "InputPath", flow.value.clone(), flow);
        let template = state.get(if state.is_jsonata {
            "Arguments"
        } else {
            "Parameters"
        });
        let arguments = match template {
            Some(node) => self.templated(state, node, input, None, flow),
            None => input,
        };
        let arguments = arguments_of(state, &arguments, self.draft);
        let mut fails = BTreeSet::new();
        for field in ["Catch", "Retry"] {
            for entry in state.items(field) {
                let names = classes(entry).into_iter().flatten();
                fails.extend(
                    names.filter_map(|class| Some(class.strip_prefix("tool.")?.to_owned())),
                );
            }
        }
        let call = self.draft.call(&namespace, &tool, arguments, &fails);
        let mut clauses: Vec<ClauseKind> = self.timeout(state, flow).into_iter().collect();
        clauses.extend(retry::clause(state, &namespace, &tool, self.draft));
        self.report_unanswered(state, &namespace, &tool);
        report_left_out(state, self.draft);
        let name = self.draft.name_of(state.name, state.entry.span, "state");
        let run = Run {
            name,
            body: StepBody::Call(call),
            clauses,
        };
        self.run(at, run, out)
    }

    /// Returns the namespace and the name of the tool for the resource of a task.
    fn tool_of(&mut self, state: &State<'_>) -> (String, String) {
        let resource = state.text("Resource").unwrap_or_default();
        let span = state
            .get("Resource")
            .map_or(state.entry.span, |node| node.span);
        let (namespace, tool) = called(resource, state.name);
        let pattern = resource.rsplit('.').next().unwrap_or_default();
        if matches!(pattern, "sync" | "sync:2" | "waitForTaskToken") {
            let why = "a call lasts until its tool has answered; a tool that answers later gives a deferred answer";
            let what = format!("`.{pattern}` of state `{}`", state.name);
            self.draft.changed(state.entry.span, what, why);
        }
        let path = format!("{namespace}.{tool}");
        let what = format!("the resource `{}`", short(resource));
        let first = self.resources.entry(path.clone());
        let first = first.or_insert_with(|| resource.to_owned()).clone();
        let (first_written, written) = (written(&first), written(resource));
        if resource.is_empty() {
            let why = format!("has no `Resource`, and calls `{path}`");
            let what = format!("state `{}`", short(state.name));
            self.draft.lost(state.entry.span, what, why);
        } else if first_written != written {
            let why = format!("is `{path}` in the plan, as is `{}`", short(first_written));
            self.draft.lost(span, what, why);
        } else if is_owned(resource) && first != resource {
            let why = format!(
                "is `{path}` in the plan, as is `{}` of another account or region",
                short(&first)
            );
            self.draft.lost(span, what, why);
        } else if written != tool {
            self.draft
                .changed(span, what, format!("is the tool `{path}` in the plan"));
        }
        (namespace, tool)
    }

    /// Reports a `Retry` or `Catch` of a timeout that never applies, since the call may have changed something.
    fn report_unanswered(&mut self, state: &State<'_>, namespace: &str, tool: &str) {
        let signature = self.draft.signature(namespace, tool);
        if signature.is_some_and(|signature| signature.effect.repeatable()) {
            return;
        }
        let sees_timeouts = |entry: &Node| {
            classes(entry).is_none_or(|classes| classes.iter().any(|class| class == TIMEOUT))
        };
        let mut entries = state.items("Retry").iter().chain(state.items("Catch"));
        if let Some(entry) = entries.find(|entry| sees_timeouts(entry)) {
            let why = "is not that of a call that changes something: such a call fails with `unknown_outcome` if it gets \
                       no answer, which no `Retry` and no `Catch` of a timeout sees";
            self.changed_once(entry.span, "the error of a timeout", why);
        }
    }

    fn timeout(&mut self, state: &State<'_>, flow: &Flow) -> Option<ClauseKind> {
        let fields = ["TimeoutSeconds", "TimeoutSecondsPath"];
        let given = fields
            .into_iter()
            .find_map(|field| Some((field, state.get(field)?)));
        let Some((field, node)) = given else {
            let why = "has no time limit in the machine; in the plan a call takes at most five minutes, unless `timeout` \
                       or `policy { timeout: … }` says otherwise";
            self.changed_once(state.entry.span, "a task without `TimeoutSeconds`", why);
            return None;
        };
        let seconds = match node.scalar().and_then(|text| text.parse::<i64>().ok()) {
            Some(seconds) => tree::seconds(seconds),
            None => duration(&self.computed(state, field, node, flow)),
        };
        Some(ClauseKind::Timeout(seconds))
    }
}

/// Returns the arguments of a call: the fields of an object if all are known and can be argument names; otherwise, the
/// value as a single argument.
fn arguments_of(state: &State<'_>, value: &Value, draft: &mut Draft<'_>) -> Vec<(String, Expr)> {
    if let Value::Object {
        base: None, fields, ..
    } = value
        && fields.iter().all(|(key, _)| is_writable(key))
    {
        let fields = fields.iter();
        return fields
            .map(|(key, value)| (key.clone(), value.expr()))
            .collect();
    }
    let what = format!("the input of state `{}`", state.name);
    draft.changed(
        state.entry.span,
        what,
        "is the argument `input` of the tool",
    );
    vec![(INPUT.to_owned(), value.expr())]
}

fn report_left_out(state: &State<'_>, draft: &mut Draft<'_>) {
    let left_out = [
        (
            "HeartbeatSeconds",
            "the progress reports of a tool have no timeout",
        ),
        (
            "HeartbeatSecondsPath",
            "the progress reports of a tool have no timeout",
        ),
        (
            "Credentials",
            "credentials belong to the project, not to a plan",
        ),
    ];
    for (field, why) in left_out {
        if let Some(node) = state.get(field) {
            let what = format!("`{field}` of state `{}`", state.name);
            draft.changed(node.span, what, format!("is omitted: {why}"));
        }
    }
}

/// The class of a timeout.
const TIMEOUT: &str = "transient.timeout";

/// The classes of `States.TaskFailed`: all failures of a task except those of its time limit.
const TASK_FAILED: [&str; 5] = [
    "tool",
    "auth",
    "transient.network",
    "transient.rate_limited",
    "transient.unavailable",
];

/// Returns the classes that an entry of `Catch` or `Retry` names; `None` for all.
pub fn classes(entry: &Node) -> Option<Vec<String>> {
    let names = items(entry, "ErrorEquals");
    let mut classes = Vec::new();
    for name in names.iter().filter_map(Node::text) {
        if name == "States.ALL" {
            return None;
        }
        let group = match name {
            "States.TaskFailed" => TASK_FAILED.map(str::to_owned).to_vec(),
            name => vec![error_class(name)],
        };
        for class in group {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
    }
    (!classes.is_empty()).then_some(classes)
}

/// Returns the part of a resource that gives its tool a name: the name of a function with its version, the name of an
/// activity, or an action without its pattern; else the resource itself.
fn written(resource: &str) -> &str {
    let behind = |marker: &str| resource.split_once(marker).map(|(_, name)| name);
    if let Some(action) = behind(":states:::") {
        let action = action
            .rsplit(':')
            .find(|part| !part.is_empty() && *part != "2");
        return action.map_or(resource, |action| {
            action.split('.').next().unwrap_or(action)
        });
    }
    behind(":function:")
        .or(behind(":activity:"))
        .unwrap_or(resource)
}

/// Returns true if the resource belongs to an account and a region: a function or an activity.
fn is_owned(resource: &str) -> bool {
    [":function:", ":activity:"]
        .iter()
        .any(|marker| resource.contains(marker))
}

/// Returns the namespace and the name of the tool for a resource: `arn:aws:states:::lambda:invoke` is
/// `lambda.invoke`.
#[must_use]
pub fn called(resource: &str, state: &str) -> (String, String) {
    let parts: Vec<&str> = resource.split(':').collect();
    let plain = |name: &str| identifier(name.split('.').next().unwrap_or(name));
    match parts.as_slice() {
        ["arn", _, "states", "", "", "aws-sdk", service, action, ..]
        | ["arn", _, "states", "", "", service, action, ..] => (identifier(service), plain(action)),
        ["arn", _, "states", _, _, "activity", name, ..] => ("activity".to_owned(), plain(name)),
        ["arn", _, "lambda", _, _, "function", name, ..] => ("lambda".to_owned(), plain(name)),
        _ => (TASKS.to_owned(), identifier(state)),
    }
}

/// Reserves the namespaces of all tasks, so that no value gets their names.
pub fn reserve_namespaces(node: &Node, draft: &mut Draft<'_>) {
    match &node.content {
        Content::List(items) => {
            for item in items {
                reserve_namespaces(item, draft);
            }
        }
        Content::Map(entries) => {
            if node.get("Type").and_then(Node::text) == Some("Task") {
                let resource = node.get("Resource").and_then(Node::text);
                draft.reserve(&called(resource.unwrap_or_default(), TASKS).0);
            }
            for entry in entries {
                reserve_namespaces(&entry.value, draft);
            }
        }
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {}
    }
}

/// The action of a state as a step.
pub struct Run {
    pub name: String,
    pub body: StepBody,
    pub clauses: Vec<ClauseKind>,
}

impl Translator<'_, '_> {
    /// Writes a step with the arms that catch its errors, and continues after it.
    pub fn run<'d>(&mut self, at: At<'_, 'd>, run: Run, out: &mut Vec<Statement>) -> Continued<'d> {
        let At { state, flow, .. } = at;
        let Run {
            name,
            body,
            mut clauses,
        } = run;
        let catchers = catchers(state);
        let fails = |catcher: &Catcher<'_>| {
            at.machine
                .states
                .get(catcher.target)
                .is_some_and(is_plain_failure)
        };
        if catchers.iter().all(fails) {
            clauses.extend(self.failing_arms(at.machine, &catchers, flow));
            let step = tree::step(&name, body, clauses);
            out.push(fields::documented(step, state));
            let result = Value::Opaque(tree::variable(&name));
            let flow = self.after(state, Some(result), flow, out);
            return Ok(proceed(state, flow, at.region, out));
        }
        let is_call = matches!(body, StepBody::Call(_));
        let step = self.tagged_step(state, &name, body, clauses, &catchers);
        out.push(fields::documented(step, state));
        let mut given = outcome::value_of(&name);
        if !is_call {
            // Without `any`, it could still be the value of an error.
            let whole = self.draft.name(&format!("{}_result", state.name));
            out.push(bind_any(&whole, given));
            given = tree::variable(&whole);
        }
        let mut branches = self.caught(state, &catchers, &name, flow, out);
        let after = self.after(state, Some(Value::Opaque(given)), flow, out);
        branches.push(Branch::new(
            None,
            state.text("Next").map_or(Target::End, Target::Node),
            after,
        ));
        self.write_branches(at.machine, state.name, branches, at.region, out)
    }

    /// Returns the arms of errors that lead to states which only fail.
    fn failing_arms(
        &mut self,
        machine: &Machine<'_>,
        catchers: &[Catcher<'_>],
        flow: &Flow,
    ) -> Vec<ClauseKind> {
        let mut arms = Vec::new();
        for catcher in catchers {
            let Some(target) = machine.states.get(catcher.target) else {
                continue;
            };
            if let Some(node) = machine.graph.get(catcher.target) {
                self.report_node(node);
            }
            fields::report_state(target, self.draft);
            let (class, message) = self.failure(target, flow);
            let body = ArmBody::Fail {
                class: tree::name(&class),
                message: Some(Box::new(message)),
            };
            arms.push(tree::recover(&catcher.classes, None, body));
        }
        arms
    }

    /// Returns a step whose value has a tag for the branch after it, and the data of that branch.
    fn tagged_step(
        &mut self,
        state: &State<'_>,
        name: &str,
        body: StepBody,
        clauses: Vec<ClauseKind>,
        catchers: &[Catcher<'_>],
    ) -> Statement {
        let why = "is its error class in the plan, such as `transient.timeout`, unless `ErrorEquals` of the state lists its \
                   name";
        self.changed_once(state.entry.span, "the name of an error", why);
        let inner = self.draft.name(&format!("{}_done", state.name));
        let error = |field: &str| tree::field(tree::variable(&self.error), field);
        let names = state.items("Catch").iter().chain(state.items("Retry"));
        let names = names.flat_map(|entry| items(entry, "ErrorEquals"));
        let error_name = names
            .filter_map(Node::text)
            .fold(error("class"), |otherwise, name| {
                let is_it = tree::binary(
                    error("class"),
                    BinaryOp::Equal,
                    tree::text(&error_class(name)),
                );
                match name {
                    "States.ALL" | "States.TaskFailed" => otherwise,
                    _ => tree::conditional(is_it, tree::text(name), otherwise),
                }
            });
        let arms = catchers.iter().enumerate().map(|(number, catcher)| {
            let error_value =
                tree::object([("Error", error_name.clone()), ("Cause", error("message"))]);
            let body = outcome::tagged(tree::text(&tag(catchers, number)), error_value);
            tree::recover(&catcher.classes, Some(&self.error), ArmBody::Expr(body))
        });
        let arms = arms.collect();
        let value = tree::variable(&inner);
        outcome::step(name, vec![tree::step(&inner, body, clauses)], value, arms)
    }

    /// Returns the branches of caught errors.
    fn caught<'d>(
        &mut self,
        state: &State<'d>,
        catchers: &[Catcher<'d>],
        step: &str,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Vec<Branch<'d>> {
        let mut branches = Vec::new();
        for (number, catcher) in catchers.iter().enumerate() {
            let place = outcome::value_of(step);
            let after = self.after_error(state, catcher, &place, flow, out);
            branches.push(Branch::new(
                Some(outcome::has_tag(step, &tag(catchers, number))),
                Target::Node(catcher.target),
                after,
            ));
        }
        branches
    }

    /// Returns the data after a state whose error was caught; `place` is the expression of the error.
    fn after_error(
        &mut self,
        state: &State<'_>,
        catcher: &Catcher<'_>,
        place: &Expr,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let part = |field: &str| {
            (
                field.to_owned(),
                Value::Opaque(tree::field(place.clone(), field)),
            )
        };
        let error = Value::Object {
            base: None,
            fields: vec![part("Error"), part("Cause")],
            bound: Some(place.clone()),
        };
        let root = if state.is_jsonata {
            flow.value.clone()
        } else {
            error.clone()
        };
        let scope = Scope {
            error: Some(error.clone()),
            ..scope_of(&self.input, state, root, flow)
        };
        let assigned = catcher
            .node
            .get("Assign")
            .map(|node| scope.template(node, self.draft));
        let output = catcher.node.get("Output").filter(|_| state.is_jsonata);
        let output = output.map(|node| scope.template(node, self.draft));
        let place = catcher.node.get("ResultPath").filter(|_| !state.is_jsonata);
        let value = match (output, place) {
            (Some(output), _) => output,
            (None, Some(node)) => self.placed_at(node, state.name, &flow.value, error),
            (None, None) => error,
        };
        let mut after = flow.clone();
        after.value = self.name_if_large(state.name, value, out);
        if let Some(Value::Object { fields, .. }) = assigned {
            for (name, value) in fields {
                let value = self.name_if_large(&name, value, out);
                after.variables.insert(name, value);
            }
        }
        after
    }
}

fn catchers<'d>(state: &State<'d>) -> Vec<Catcher<'d>> {
    let entries = state.items("Catch");
    let catchers = entries.iter().filter_map(|node| {
        let target = node.get("Next").and_then(Node::text)?;
        Some(Catcher {
            classes: classes(node).unwrap_or_default(),
            target,
            node,
        })
    });
    catchers.collect()
}

/// Returns the tag of an arm: the name of its target, followed by its number if the name alone would be ambiguous.
fn tag(catchers: &[Catcher<'_>], number: usize) -> String {
    let target = catchers.get(number).map_or("", |catcher| catcher.target);
    let same = |catcher: &&Catcher<'_>| catcher.target == target;
    if target != outcome::NEXT && catchers.iter().filter(same).count() == 1 {
        target.to_owned()
    } else {
        format!("{target} {}", number + 1)
    }
}

/// Returns true if it is a `Fail` whose error and cause are constant.
fn is_plain_failure(state: &State<'_>) -> bool {
    let is_code = |field: &str| {
        state
            .text(field)
            .is_some_and(|text| super::data::jsonata_of(text).is_some())
    };
    state.kind == "Fail"
        && state.get("ErrorPath").is_none()
        && state.get("CausePath").is_none()
        && !is_code("Error")
        && !is_code("Cause")
}
