//! Workflows in the DSL 1.0 of Serverless Workflow.

mod call;
mod data;
mod duration;
mod errors;
mod events;
mod jq;
mod parts;
mod request;
mod task;
mod tasks;

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{ClauseKind, Expr, File, Statement, StatementKind};
use planrun_lang::yaml::{Content, Node};

use crate::document::Refused;
use crate::draft::{Draft, Made, excerpt};
use crate::expression::value::Value;
use crate::tree;
use crate::ways::inputs::{Inputs, Missing, inputs_of};
use crate::ways::{Flow, Written};
use data::{Data, Reading};
use tasks::{CONTEXT, Tasks};

/// Whether a document looks like a workflow.
pub fn recognizes(root: &Node) -> bool {
    root.get("do").is_some()
        && root
            .get("document")
            .is_some_and(|document| document.get("dsl").is_some())
}

/// Writes a workflow down as a plan.
pub struct Writer<'x, 'd, 't> {
    pub draft: &'x mut Draft<'t>,
    root: &'d Node,
    reading: Reading,
    /// How many blocks of the plan are around.
    blocks: usize,
    written: Written,
    /// The statuses of answers that the `try` around catch.
    statuses: BTreeSet<i64>,
    /// What the one call of the `try` around gets.
    retry: Option<Vec<ClauseKind>>,
    /// The functions that are written down at present.
    functions: Vec<&'d str>,
    /// The hosts that are called.
    hosts: BTreeSet<String>,
    /// Whether something is called that is tried again where nobody says so.
    repeats: bool,
}

/// The plan that a workflow is.
///
/// # Errors
/// Where the workflow is none: there are no tasks, or a way leads nowhere.
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
        hosts: BTreeSet::new(),
        repeats: false,
    };
    let body = workflow.body(inputs.value())?;
    let text = |field: &str| root.get("document")?.get(field)?.text();
    let doc = text("summary").or_else(|| text("title")).map(str::to_owned);
    let made = Made {
        doc,
        parameters: inputs.parameters(),
        returns: Some(tree::type_named("any")),
        body,
    };
    Ok(draft.file(plan, made))
}

impl<'d> Writer<'_, 'd, '_> {
    fn body(&mut self, input: Value) -> Result<Vec<Statement>, Refused> {
        self.tell_left_out();
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
            let help = "give them under `do`";
            return Err(Refused::new(self.root.span, "it has no tasks", help));
        };
        if let Some(flow) = self.tasks(&Tasks::read(list)?, flow, &mut body)? {
            self.reply(&flow, &mut body);
        }
        let settings = self.settings();
        body.splice(0..0, settings);
        Ok(body)
    }

    /// The end of the workflow.
    fn reply(&mut self, flow: &Flow, out: &mut Vec<Statement>) {
        let value = match self.root.get("output").and_then(|node| node.get("as")) {
            Some(node) => Data::of_workflow(&self.reading, flow).expression(node, self.draft),
            None => flow.value.clone(),
        };
        out.push(tree::reply(value.expr()));
    }

    /// What holds for all calls of the plan.
    fn settings(&mut self) -> Vec<Statement> {
        let mut policy: Vec<(String, Expr)> = Vec::new();
        if self.repeats {
            let once = tree::object(vec![("attempts".to_owned(), tree::int(1))]);
            policy.push(("retry".to_owned(), once));
        }
        if let Some(deadline) = self.root.get("timeout").and_then(|node| self.timeout(node)) {
            policy.push(("deadline".to_owned(), deadline));
        }
        let mut settings = Vec::new();
        if !policy.is_empty() {
            settings.push(tree::statement(StatementKind::Policy(tree::object(policy))));
        }
        if !self.hosts.is_empty() {
            let hosts = self.hosts.iter().map(|host| tree::text(host)).collect();
            let net = tree::object(vec![("net".to_owned(), tree::list(hosts))]);
            settings.push(tree::statement(StatementKind::Allow(net)));
        }
        settings
    }

    /// A timeout, or the one of `use` that is named.
    pub fn timeout(&mut self, node: &'d Node) -> Option<Expr> {
        let timeout = self.used("timeouts", node);
        let after = timeout.get("after").unwrap_or(timeout);
        self.duration(after, "a timeout")
    }

    /// A duration that bounds something; one that is computed is told.
    pub fn duration(&mut self, node: &Node, what: &str) -> Option<Expr> {
        if let Some(nanoseconds) = duration::nanoseconds(node) {
            return Some(tree::nanoseconds(nanoseconds));
        }
        self.draft.lost(node.span, what, duration::WANTED);
        None
    }

    /// A part of the document, or that part of `use` whose name it is.
    pub fn used(&self, kind: &str, node: &'d Node) -> &'d Node {
        let named = node
            .text()
            .and_then(|name| self.root.get("use")?.get(kind)?.get(name));
        named.unwrap_or(node)
    }

    /// What a plan does not say of a workflow.
    fn tell_left_out(&mut self) {
        let parts = [("schedule", "when a plan runs is said outside of it")];
        for (part, why) in parts {
            if let Some(node) = self.root.get(part) {
                self.draft.lost(node.span, format!("`{part}`"), why);
            }
        }
        let uses = [
            (
                "extensions",
                "a plan has no tasks around tasks; write them where they belong",
            ),
            ("catalogs", "tools are those of the project"),
        ];
        for (part, why) in uses {
            if let Some(node) = self.root.get("use").and_then(|node| node.get(part)) {
                self.draft
                    .lost(node.span, format!("`{part}` of `use`"), why);
            }
        }
        for (part, node) in [("input", self.root), ("output", self.root)] {
            self.tell_schema(node, part);
        }
        let mode = self.root.get("evaluate").and_then(|node| node.get("mode"));
        if let Some(node) = mode.filter(|node| node.text() == Some("loose")) {
            let why = "expressions are those in `${ }`";
            self.draft.lost(node.span, "`mode: loose`", why);
        }
    }

    /// Tells that a schema is not in the plan.
    pub fn tell_schema(&mut self, holder: &Node, part: &str) {
        if let Some(node) = holder.get(part).and_then(|node| node.get("schema")) {
            let why = "is left out: write types at the inputs, and at the tools that are called";
            self.draft
                .changed(node.span, format!("`{part}.schema`"), why);
        }
    }
}

/// Keeps the namespaces of all calls from becoming names of values.
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
