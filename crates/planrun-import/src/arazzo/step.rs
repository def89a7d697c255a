//! One step of a workflow: the operation or the workflow that it calls, what it is given, and what must come of it.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::syntax::ast::{
    Argument, ClauseKind, Expr, ExprKind, Statement, StatementKind, StepBody,
};
use planrun_lang::yaml::{Content, Node};

use super::criterion::{Criterion, asks_for_success};
use super::{Done, Head, Workflow};
use crate::document::{entries, items};
use crate::draft::{excerpt, identifier, is_writable};
use crate::tree::{self, NOWHERE};
use crate::ways::retry::Retry;

/// What a step calls.
enum Called {
    Tool(String, String),
    /// The plan that the workflow of this id is.
    Plan(String),
}

impl<'d> Workflow<'_, 'd, '_> {
    pub fn step(&mut self, step: &'d Node, workflow: &'d Node, body: &mut Vec<Statement>) {
        let id = step.get("stepId").and_then(Node::text).unwrap_or("step");
        let what = format!("step `{}`", excerpt(id));
        let Some(called) = self.called(step, &what) else {
            return;
        };
        let name = self.draft.name_of(id, step.span, "step");
        self.draft.carried(step.span, &*what, format!("`{name}`"));
        let arguments = self.arguments(step, workflow, &what);
        let call = match called {
            Called::Tool(namespace, tool) => {
                self.draft
                    .call(&namespace, &tool, arguments, &BTreeSet::new())
            }
            Called::Plan(id) => match self.heads.get(&id) {
                Some(head) => call_of_plan(head, arguments),
                None => return,
            },
        };
        let clauses = self.actions(step, &what);
        let mut statement = tree::step(&name, StepBody::Call(call), clauses);
        let doc = step
            .get("description")
            .and_then(Node::text)
            .map(crate::draft::one_line);
        statement.doc = doc.filter(|doc| !doc.is_empty()).map(Into::into);
        body.push(statement);
        let value = tree::variable(&name);
        for node in items(step, "successCriteria") {
            if let Criterion::Holds(condition) = self.criterion(node, &value) {
                let written = node
                    .get("condition")
                    .and_then(Node::text)
                    .unwrap_or_default();
                let message = tree::text(&format!("{id}: {}", excerpt(written)));
                body.push(tree::statement(StatementKind::Ensure {
                    condition,
                    message: Box::new(message),
                }));
            }
        }
        let outputs = entries(step, "outputs");
        let outputs: BTreeMap<String, Expr> = outputs
            .iter()
            .map(|entry| (entry.name.clone(), self.value(&entry.value, Some(&value))))
            .collect();
        self.done.insert(id.to_owned(), Done { outputs });
    }

    fn called(&mut self, step: &Node, what: &str) -> Option<Called> {
        if let Some(node) = step.get("workflowId") {
            let id = node.text().unwrap_or_default();
            if self.heads.contains_key(id) {
                return Some(Called::Plan(id.to_owned()));
            }
            let why = format!(
                "calls the workflow `{}`, which is not in this document{}",
                excerpt(id),
                Self::near(id, self.heads.keys())
            );
            self.draft.lost(node.span, what, why);
            return None;
        }
        if let Some(path) = step.get("operationPath").and_then(Node::text) {
            // `{$sourceDescriptions.shop.url}#/paths/~1orders~1{id}/get`
            let source = path
                .split("$sourceDescriptions.")
                .nth(1)
                .and_then(|rest| rest.split(['.', '}']).next());
            let pointer = path.split("#/paths/").nth(1)?;
            let (place, method) = pointer.rsplit_once('/')?;
            let words = place.replace("~1", "/").replace("~0", "~");
            let words: Vec<&str> = words
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty())
                .collect();
            let tool = format!("{}_{}", method.to_lowercase(), words.join("_"));
            let namespace = self.namespace(source);
            return Some(Called::Tool(namespace, identifier(&tool)));
        }
        let Some(operation) = step.get("operationId").and_then(Node::text) else {
            let why = "calls neither an operation nor a workflow";
            self.draft.lost(step.span, what, why);
            return None;
        };
        if let Some(rest) = operation.strip_prefix("$sourceDescriptions.")
            && let Some((source, operation)) = rest.split_once('.')
        {
            let namespace = self.namespace(Some(source));
            return Some(Called::Tool(namespace, operation_name(operation)));
        }
        if let Some(namespace) = self.draft.system_with(operation) {
            return Some(Called::Tool(namespace, operation.to_owned()));
        }
        Some(Called::Tool(
            self.namespace(None),
            operation_name(operation),
        ))
    }

    /// The namespace of a source; the first one where none is named.
    fn namespace(&self, source: Option<&str>) -> String {
        let sources = items(self.root, "sourceDescriptions");
        let first = sources
            .first()
            .and_then(|source| source.get("name")?.text());
        identifier(source.or(first).unwrap_or("api"))
    }

    fn arguments(&mut self, step: &'d Node, workflow: &'d Node, what: &str) -> Vec<(String, Expr)> {
        let mut arguments: Vec<(String, Expr)> = Vec::new();
        let listed = |node: &'d Node| items(node, "parameters");
        for node in listed(step).iter().chain(listed(workflow)) {
            let parameter = self.resolved(node);
            let (Some(name), Some(value)) = (
                parameter.get("name").and_then(Node::text),
                parameter.get("value").or(node.get("value")),
            ) else {
                self.draft.lost(
                    node.span,
                    format!("a parameter of {what}"),
                    "has no name or no value",
                );
                continue;
            };
            // What a step says comes before what its workflow says.
            if is_writable(name) && arguments.iter().all(|(there, _)| there != name) {
                let value = self.value(value, None);
                arguments.push((name.to_owned(), value));
            }
        }
        let Some(request) = step.get("requestBody") else {
            return arguments;
        };
        if let Some(node) = request.get("replacements") {
            let why = "write the values into the payload itself";
            self.draft
                .lost(node.span, format!("`replacements` of {what}"), why);
        }
        match request
            .get("payload")
            .map(|payload| (payload, &payload.content))
        {
            Some((_, Content::Map(entries))) => {
                for entry in entries.iter().filter(|entry| is_writable(&entry.name)) {
                    // A field that is called like a parameter has its place in its name.
                    let mut name = entry.name.clone();
                    while arguments.iter().any(|(there, _)| *there == name) {
                        name = format!("body_{name}");
                    }
                    arguments.push((name, self.value(&entry.value, None)));
                }
            }
            Some((payload, _)) => arguments.push(("body".to_owned(), self.value(payload, None))),
            None => {}
        }
        arguments
    }

    /// What follows a failure or a success: attempts are carried, ways to other steps are not.
    fn actions(&mut self, step: &'d Node, what: &str) -> Vec<ClauseKind> {
        let mut clauses = Vec::new();
        for (list, is_failure) in [("onFailure", true), ("onSuccess", false)] {
            for node in items(step, list) {
                let action = self.resolved(node);
                let kind = action.get("type").and_then(Node::text).unwrap_or_default();
                let criteria = items(action, "criteria");
                let of_status = |node: &Node| {
                    node.get("condition")
                        .and_then(Node::text)
                        .is_some_and(|text| text.contains("$statusCode") && !asks_for_success(text))
                };
                if is_failure
                    && kind == "retry"
                    && clauses.is_empty()
                    && action.get("stepId").is_none()
                {
                    if !criteria.iter().all(of_status) || !criteria.is_empty() {
                        let why =
                            "its criteria are left out: failures that may pass are tried again";
                        self.draft
                            .changed(action.span, format!("the retry of {what}"), why);
                    }
                    clauses.push(retry(action));
                    continue;
                }
                let why = format!(
                    "`{}` is not carried: a step that fails ends its plan, and the next step follows one that does not",
                    excerpt(kind)
                );
                self.draft
                    .lost(action.span, format!("an action of `{list}` of {what}"), why);
            }
        }
        clauses
    }
}

/// An operation is called by its id, in back quotes where that is no identifier.
fn operation_name(operation: &str) -> String {
    if is_writable(operation) {
        operation.to_owned()
    } else {
        identifier(operation)
    }
}

fn retry(action: &Node) -> ClauseKind {
    let number = |field: &str| {
        action
            .get(field)
            .and_then(Node::scalar)?
            .parse::<f64>()
            .ok()
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to what a retry may have"
    )]
    let whole = |number: f64| number.clamp(0.0, 1.0e6).ceil() as i64;
    let retry = Retry {
        attempts: whole(number("retryLimit").unwrap_or(1.0)) + 1,
        delay: number("retryAfter").unwrap_or(0.0) * 1e9,
        factor: 1.0,
        max_delay: None,
        jitter: false,
        on: vec!["transient".to_owned(), "tool".to_owned()],
    };
    retry.clause()
}

/// A call of a plan of the same file.
fn call_of_plan(head: &Head, arguments: Vec<(String, Expr)>) -> Expr {
    let arguments = arguments.into_iter().map(|(name, value)| Argument {
        span: NOWHERE,
        name: Some(tree::name(head.inputs.get(&name).unwrap_or(&name))),
        value,
    });
    tree::expr(ExprKind::Call {
        function: tree::name(&head.plan),
        arguments: arguments.collect(),
    })
}
