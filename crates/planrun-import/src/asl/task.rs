//! `Task`: which tool it calls, how often it is tried, and what follows where it fails.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{ArmBody, ClauseKind, Expr, Statement, StepBody};
use planrun_lang::types::Effect;
use planrun_lang::yaml::{Content, Node};

use super::data::Scope;
use super::flow::{Translator, duration, proceed, scope_of};
use super::machine::{Machine, State};
use super::output::error_class;
use crate::document::{Refused, items};
use crate::draft::{Draft, identifier, is_writable};
use crate::expression::value::Value;
use crate::tree;
use crate::ways::inputs::INPUT;
use crate::ways::retry::Retry;
use crate::ways::telling;
use crate::ways::{Flow, Going, Region, Target, Walk as _, Way};

/// The namespace of tasks whose resource names no service.
const TASKS: &str = "tasks";
/// One entry of `Catch`.
struct Catcher<'d> {
    /// Empty for all.
    classes: Vec<String>,
    target: &'d str,
    node: &'d Node,
}

impl Translator<'_, '_> {
    pub fn task<'d>(
        &mut self,
        machine: &Machine<'d>,
        state: &State<'d>,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        let (namespace, tool) = tool_of(state, self.draft);
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
        clauses.extend(retry(state, &namespace, &tool, self.draft));
        tell_left_out(state, self.draft);
        let name = self.draft.name_of(state.name, state.entry.span, "state");
        let run = Run {
            name,
            body: StepBody::Call(call),
            clauses,
        };
        self.run(machine, state, run, flow, region, out)
    }

    fn timeout(&mut self, state: &State<'_>, flow: &Flow) -> Option<ClauseKind> {
        let fields = ["TimeoutSeconds", "TimeoutSecondsPath"];
        let (field, node) = fields
            .into_iter()
            .find_map(|field| Some((field, state.get(field)?)))?;
        let seconds = match node.scalar().and_then(|text| text.parse::<i64>().ok()) {
            Some(seconds) => tree::seconds(seconds),
            None => duration(self.computed(state, field, node, flow)),
        };
        Some(ClauseKind::Timeout(seconds))
    }
}

/// The namespace and the name of the tool that the resource of a task is.
fn tool_of(state: &State<'_>, draft: &mut Draft<'_>) -> (String, String) {
    let resource = state.text("Resource").unwrap_or_default();
    let (namespace, tool) = called(resource, state.name);
    let pattern = resource.rsplit('.').next().unwrap_or_default();
    if matches!(pattern, "sync" | "sync:2" | "waitForTaskToken") {
        let why = "a call lasts until its tool has answered; an answer that comes later is a deferred answer of the tool";
        draft.changed(
            state.entry.span,
            format!("`.{pattern}` of state `{}`", state.name),
            why,
        );
    }
    (namespace, tool)
}

/// The arguments of a call: the fields of an object, else one that is all of it.
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

fn tell_left_out(state: &State<'_>, draft: &mut Draft<'_>) {
    let left_out = [
        (
            "HeartbeatSeconds",
            "a tool that tells of its progress is not timed by that",
        ),
        (
            "HeartbeatSecondsPath",
            "a tool that tells of its progress is not timed by that",
        ),
        (
            "Credentials",
            "credentials are those of the project, and never in a plan",
        ),
    ];
    for (field, why) in left_out {
        if let Some(node) = state.get(field) {
            let what = format!("`{field}` of state `{}`", state.name);
            draft.changed(node.span, what, format!("is left out: {why}"));
        }
    }
}

fn retry(
    state: &State<'_>,
    namespace: &str,
    tool: &str,
    draft: &mut Draft<'_>,
) -> Option<ClauseKind> {
    let rules = state.items("Retry");
    let Some(rule) = rules.first() else {
        // Without a word of it a machine tries once, and what only reads is tried three times here.
        let effect = draft
            .signature(namespace, tool)
            .map(|signature| signature.effect);
        let repeats = effect.is_some_and(Effect::repeatable);
        return repeats
            .then(|| ClauseKind::Retry(tree::object(vec![("attempts".to_owned(), tree::int(1))])));
    };
    for other in rules.iter().skip(1) {
        let what = format!("a further entry of `Retry` of state `{}`", state.name);
        let why = "a step has one `retry`, and the first entry is it";
        draft.lost(other.span, what, why);
    }
    let number = |field: &str| rule.get(field).and_then(Node::scalar)?.parse::<f64>().ok();
    let seconds = |field: &str| number(field).map(|seconds| seconds * 1e9);
    let retries = number("MaxAttempts").unwrap_or(3.0);
    let retry = Retry {
        attempts: whole(retries) + 1,
        delay: seconds("IntervalSeconds").unwrap_or(1e9),
        factor: number("BackoffRate").unwrap_or(2.0),
        max_delay: seconds("MaxDelaySeconds"),
        jitter: rule.get("JitterStrategy").and_then(Node::text) == Some("FULL"),
        on: classes(rule).unwrap_or_else(|| vec!["transient".to_owned(), "tool".to_owned()]),
    };
    Some(retry.clause())
}

fn whole(number: f64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to what a retry may have"
    )]
    let whole = number.clamp(0.0, 1.0e9).round() as i64;
    whole
}

/// The classes that an entry of `Catch` or `Retry` names; `None` for all.
fn classes(entry: &Node) -> Option<Vec<String>> {
    let names = items(entry, "ErrorEquals");
    let mut classes = Vec::new();
    for name in names.iter().filter_map(Node::text) {
        if name == "States.ALL" {
            return None;
        }
        let class = error_class(name);
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    (!classes.is_empty()).then_some(classes)
}

/// The namespace and the name of the tool that the resource of a task is: `arn:aws:states:::lambda:invoke` is `lambda.invoke`.
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

/// Keeps the namespaces of all tasks from becoming names of values.
pub fn reserve_namespaces(node: &Node, draft: &mut Draft<'_>) {
    match &node.content {
        Content::List(items) => {
            for item in items {
                reserve_namespaces(item, draft);
            }
        }
        Content::Map(entries) => {
            if let Some(resource) = node.get("Resource").and_then(Node::text) {
                draft.reserve(&called(resource, TASKS).0);
            }
            for entry in entries {
                reserve_namespaces(&entry.value, draft);
            }
        }
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {}
    }
}

/// What a state does, as a step.
pub struct Run {
    pub name: String,
    pub body: StepBody,
    pub clauses: Vec<ClauseKind>,
}

impl Translator<'_, '_> {
    /// Writes down a step with the arms that catch its failures, and goes on.
    pub fn run<'d>(
        &mut self,
        machine: &Machine<'d>,
        state: &State<'d>,
        run: Run,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        let Run {
            name,
            body,
            mut clauses,
        } = run;
        let catchers = catchers(state);
        let fails = |catcher: &Catcher<'_>| {
            machine
                .states
                .get(catcher.target)
                .is_some_and(is_plain_failure)
        };
        if catchers.iter().all(fails) {
            for catcher in &catchers {
                let Some(target) = machine.states.get(catcher.target) else {
                    continue;
                };
                let (class, message) = self.failure(target, flow);
                let body = ArmBody::Fail {
                    class: tree::name(&class),
                    message: Some(Box::new(message)),
                };
                clauses.push(tree::recover(&catcher.classes, None, body));
            }
            out.push(tree::step(&name, body, clauses));
            let result = Value::Opaque(tree::variable(&name));
            let flow = self.after(state, Some(result), flow, out);
            return Ok(proceed(state, flow, region, out));
        }
        out.push(self.telling(state, &name, body, clauses, &catchers));
        let given = telling::value_of(&name);
        let mut ways = self.caught(state, &catchers, &name, flow, out);
        let after = self.after(state, Some(Value::Opaque(given)), flow, out);
        ways.push(Way {
            condition: None,
            begun: Vec::new(),
            to: state.text("Next").map_or(Target::End, Target::Place),
            flow: after,
        });
        self.part(machine, state.name, ways, region, out)
    }

    /// A step that tells which way is taken behind it, and with what.
    fn telling(
        &mut self,
        state: &State<'_>,
        name: &str,
        body: StepBody,
        clauses: Vec<ClauseKind>,
        catchers: &[Catcher<'_>],
    ) -> Statement {
        let inner = self.draft.name(&format!("{}_done", state.name));
        let error = |field: &str| tree::field(tree::variable(&self.error), field);
        let arms = catchers.iter().enumerate().map(|(number, catcher)| {
            let told = tree::object(vec![
                ("Error".to_owned(), error("class")),
                ("Cause".to_owned(), error("message")),
            ]);
            let body = telling::ended(tree::text(&tag(catchers, number)), told);
            tree::recover(&catcher.classes, Some(&self.error), ArmBody::Expr(body))
        });
        let arms = arms.collect();
        let value = tree::variable(&inner);
        telling::step(name, vec![tree::step(&inner, body, clauses)], value, arms)
    }

    /// The ways of the errors that are caught.
    fn caught<'d>(
        &mut self,
        state: &State<'d>,
        catchers: &[Catcher<'d>],
        step: &str,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Vec<Way<'d>> {
        let mut ways = Vec::new();
        for (number, catcher) in catchers.iter().enumerate() {
            let place = telling::value_of(step);
            let after = self.after_error(state, catcher, &place, flow, out);
            ways.push(Way {
                condition: Some(telling::has_led(step, &tag(catchers, number))),
                begun: Vec::new(),
                to: Target::Place(catcher.target),
                flow: after,
            });
        }
        ways
    }

    /// What a state hands on whose error was caught; the error stands at `place`.
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
        after.value = self.settle(state.name, value, out);
        if let Some(Value::Object { fields, .. }) = assigned {
            for (name, value) in fields {
                let value = self.settle(&name, value, out);
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

/// The word that tells which arm was taken: where it leads, and its number where several lead there.
fn tag(catchers: &[Catcher<'_>], number: usize) -> String {
    let target = catchers.get(number).map_or("", |catcher| catcher.target);
    let same = |catcher: &&Catcher<'_>| catcher.target == target;
    if target != telling::NEXT && catchers.iter().filter(same).count() == 1 {
        target.to_owned()
    } else {
        format!("{target} {}", number + 1)
    }
}

/// Whether it is a `Fail` that computes nothing of its input.
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
