//! Workflows in the DSL 1.0 of Serverless Workflow.

mod call;
mod data;
mod duration;
mod errors;
mod events;
mod jq;
mod keys;
mod parts;
mod request;
mod task;
mod tasks;

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{ClauseKind, Expr, File, Statement, StatementKind};
use planrun_lang::yaml::{Content, Node};

use crate::control_flow::inputs::{Inputs, Missing, inputs_of};
use crate::control_flow::{Flow, Written};
use crate::document::Refused;
use crate::draft::{Draft, Made, excerpt};
use crate::expression::value::Value;
use crate::tree;
use data::{Data, Reading};
use tasks::{CONTEXT, Tasks};

/// Returns true if a document looks like a workflow.
pub fn recognizes(root: &Node) -> bool {
    root.get("do").is_some()
        && root
            .get("document")
            .is_some_and(|document| document.get("dsl").is_some())
}

/// Writes a workflow as a plan.
pub struct Writer<'x, 'd, 't> {
    pub draft: &'x mut Draft<'t>,
    root: &'d Node,
    reading: Reading,
    /// Number of enclosing blocks of the plan.
    blocks: usize,
    written: Written,
    /// The statuses of answers that the enclosing `try` tasks catch.
    statuses: BTreeSet<i64>,
    /// The clauses for the only call of the enclosing `try`.
    retry: Option<Vec<ClauseKind>>,
    /// The functions that are being written, for detecting recursion.
    functions: Vec<&'d str>,
    /// The functions that were written.
    called: BTreeSet<&'d str>,
    /// The hosts that are called.
    hosts: BTreeSet<String>,
    /// Whether a call would be retried by default.
    repeats: bool,
}

/// Returns the plan for a workflow. Returns an error if the workflow is invalid, such as one without tasks or with an
/// unknown target.
pub fn import(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let what = "the input of the workflow";
    inputs_of(
        draft,
        root.span,
        what,
        Missing::Optional,
        |draft, inputs| attempt(root, plan, inputs, draft),
    )
}

fn attempt(
    root: &Node,
    plan: &str,
    inputs: &Inputs,
    draft: &mut Draft<'_>,
) -> Result<File, Refused> {
    reserve_namespaces(root, draft);
    let language = root
        .get("evaluate")
        .and_then(|node| node.get("language")?.text());
    let mut workflow = Writer {
        draft,
        root,
        reading: Reading {
            language: language.filter(|name| *name != "jq").map(excerpt),
            ..Reading::default()
        },
        blocks: 0,
        written: Written::default(),
        statuses: BTreeSet::new(),
        retry: None,
        functions: Vec::new(),
        called: BTreeSet::new(),
        hosts: BTreeSet::new(),
        repeats: false,
    };
    let body = workflow.body(inputs.value())?;
    let text = |field: &str| root.get("document")?.get(field)?.text();
    let texts = ["title", "summary"].into_iter().filter_map(text);
    let made = Made {
        doc: Some(texts.collect::<Vec<_>>().join(": ")),
        parameters: inputs.parameters(),
        returns: Some(tree::type_named("any")),
        body,
    };
    Ok(draft.file(plan, made))
}

impl<'d> Writer<'_, 'd, '_> {
    fn body(&mut self, input: Value) -> Result<Vec<Statement>, Refused> {
        keys::report_workflow(self.root, self.draft);
        self.report_left_out();
        let mut flow = Flow::of(input.clone());
        let document = self.root.get("document").map(Value::constant);
        let definition = Value::object(vec![(
            "document".to_owned(),
            document.unwrap_or_else(|| Value::object(Vec::new())),
        )]);
        let described = Value::object(vec![
            ("input".to_owned(), input),
            ("definition".to_owned(), definition),
        ]);
        flow.variables.insert("workflow".to_owned(), described);
        flow.variables
            .insert(CONTEXT.to_owned(), Value::object(Vec::new()));
        if let Some(from) = self.root.get("input").and_then(|node| node.get("from")) {
            flow.value = Data::of_workflow(&self.reading, &flow).expression(from, self.draft);
        }
        let mut body = Vec::new();
        let Some(list) = self.root.get("do") else {
            let help = "add them under `do`";
            return Err(Refused::new(
                self.root.span,
                "the workflow has no tasks",
                help,
            ));
        };
        if let Some(flow) = self.tasks(&Tasks::read(list)?, flow, &mut body)? {
            self.reply(&flow, &mut body);
        }
        keys::report_functions(self.root, &self.called, self.draft);
        let settings = self.settings();
        body.splice(0..0, settings);
        Ok(body)
    }

    /// Writes the end of the workflow.
    fn reply(&mut self, flow: &Flow, out: &mut Vec<Statement>) {
        let value = match self.root.get("output").and_then(|node| node.get("as")) {
            Some(node) => Data::of_workflow(&self.reading, flow).expression(node, self.draft),
            None => flow.value.clone(),
        };
        out.push(tree::reply(value.expr()));
    }

    /// Returns the `policy` and the `allow` of the plan.
    fn settings(&mut self) -> Vec<Statement> {
        let mut policy: Vec<(&str, Expr)> = Vec::new();
        if self.repeats {
            let once = tree::object([("attempts", tree::int(1))]);
            policy.push(("retry", once));
        }
        if let Some(deadline) = self.root.get("timeout").and_then(|node| self.timeout(node)) {
            policy.push(("deadline", deadline));
        }
        let mut settings = Vec::new();
        if !policy.is_empty() {
            settings.push(tree::statement(StatementKind::Policy(tree::object(policy))));
        }
        if !self.hosts.is_empty() {
            let hosts = self.hosts.iter().map(|host| tree::text(host)).collect();
            let net = tree::object([("net", tree::list(hosts))]);
            settings.push(tree::statement(StatementKind::Allow(net)));
        }
        settings
    }

    /// Translates a timeout, which may be a reference into `use`.
    pub fn timeout(&mut self, node: &'d Node) -> Option<Expr> {
        let timeout = self.used("timeouts", node);
        let after = timeout.get("after").unwrap_or(timeout);
        self.duration(after, "a timeout")
    }

    /// Translates a duration; one that is invalid or computed is reported.
    pub fn duration(&mut self, node: &Node, what: &str) -> Option<Expr> {
        if let Some(nanoseconds) = duration::nanoseconds(node) {
            return Some(tree::nanoseconds(nanoseconds));
        }
        self.draft.lost(node.span, what, duration::EXPECTED);
        None
    }

    /// Returns a part of the document, resolving a reference into `use`.
    pub fn used(&self, kind: &str, node: &'d Node) -> &'d Node {
        let named = node
            .text()
            .and_then(|name| self.root.get("use")?.get(kind)?.get(name));
        named.unwrap_or(node)
    }

    /// Reports parts of a workflow that have no counterpart.
    fn report_left_out(&mut self) {
        let parts = [("schedule", "a plan does not contain its own schedule")];
        for (part, why) in parts {
            if let Some(node) = self.root.get(part) {
                self.draft.lost(node.span, format!("`{part}`"), why);
            }
        }
        let uses = [
            (
                "extensions",
                "a plan cannot wrap tasks in other tasks: write them where they run",
            ),
            ("catalogs", "tools belong to the project"),
        ];
        for (part, why) in uses {
            if let Some(node) = self.root.get("use").and_then(|node| node.get(part)) {
                self.draft
                    .lost(node.span, format!("`{part}` of `use`"), why);
            }
        }
        for (part, node) in [("input", self.root), ("output", self.root)] {
            self.report_schema(node, part);
        }
        let mode = self.root.get("evaluate").and_then(|node| node.get("mode"));
        if let Some(node) = mode.filter(|node| node.text() == Some("loose")) {
            let why = "only text in `${ }` is an expression";
            self.draft.lost(node.span, "`mode: loose`", why);
        }
    }

    /// Reports a schema, which has no counterpart.
    pub fn report_schema(&mut self, holder: &Node, part: &str) {
        if let Some(node) = holder.get(part).and_then(|node| node.get("schema")) {
            let why = "is omitted: declare types on the inputs, and on the tools that are called";
            self.draft
                .changed(node.span, format!("`{part}.schema`"), why);
        }
    }
}

/// Reserves the namespaces of all calls, so that no value gets their names.
fn reserve_namespaces(node: &Node, draft: &mut Draft<'_>) {
    match &node.content {
        Content::List(items) => {
            for item in items {
                reserve_namespaces(item, draft);
            }
        }
        Content::Map(entries) => {
            if let Some(namespace) = call::namespace_of(node) {
                draft.reserve(&namespace);
            }
            for entry in entries {
                reserve_namespaces(&entry.value, draft);
            }
        }
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {}
    }
}
