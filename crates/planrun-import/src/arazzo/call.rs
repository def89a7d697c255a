//! The call of a step: its operation or workflow, and its arguments.

use planrun_lang::syntax::ast::{Argument, Expr, ExprKind};
use planrun_lang::yaml::{Content, Node};

use super::runtime::View;
use super::steps::Step;
use super::{Workflow, near, resolved};
use crate::document::items;
use crate::draft::{Draft, excerpt, identifier, is_writable};
use crate::tree::{self, NOWHERE};

/// The namespace of operations if the document has no sources.
pub const API: &str = "api";

/// The target of a step's call.
pub enum Called {
    Tool(String, String),
    /// The plan of the workflow with this id.
    Plan(String),
}

impl Called {
    /// Returns its name for reports.
    pub fn describe(&self) -> String {
        match self {
            Self::Tool(namespace, tool) => format!("{namespace}.{tool}"),
            Self::Plan(id) => excerpt(id),
        }
    }
}

impl<'d> Workflow<'_, 'd, '_> {
    pub fn call(&mut self, step: &Step<'d>, view: &View<'_, 'd>) -> Expr {
        let arguments = self.arguments(step, view);
        match &step.called {
            Called::Tool(namespace, tool) => {
                let fails = step.errors();
                self.draft.call(namespace, tool, arguments, &fails)
            }
            Called::Plan(id) => self.call_of_plan(id, arguments),
        }
    }

    /// Returns a call of the plan of a workflow in the same document.
    pub fn call_of_plan(&self, id: &str, arguments: Vec<(String, Expr)>) -> Expr {
        let head = self.heads.get(id);
        let own = |name: String| match head.and_then(|head| head.inputs.get(&name)) {
            Some(own) => tree::name(own),
            None => tree::name(&name),
        };
        let arguments = arguments.into_iter().map(|(name, value)| Argument {
            span: NOWHERE,
            name: Some(own(name)),
            value,
        });
        tree::expr(ExprKind::Call {
            function: tree::name(head.map_or(id, |head| &head.plan)),
            arguments: arguments.collect(),
        })
    }

    /// Resolves the target of a step; `None` if it is unknown, which is reported.
    pub fn called(&mut self, step: &Node, what: &str) -> Option<Called> {
        if let Some(node) = step.get("workflowId") {
            let id = node.text().unwrap_or_default();
            if self.heads.contains_key(id) {
                return Some(Called::Plan(id.to_owned()));
            }
            let why = format!(
                "calls the workflow `{}`, which is not in this document{}",
                excerpt(id),
                near(id, self.heads.keys().map(String::as_str))
            );
            self.draft.lost(node.span, what, why);
            return None;
        }
        if let Some(node) = step.get("operationPath") {
            return operation_at(self.root, node, what, self.draft);
        }
        let Some(operation) = step.get("operationId").and_then(Node::text) else {
            let why = "calls neither an operation nor a workflow";
            self.draft.lost(step.span, what, why);
            return None;
        };
        if let Some(rest) = operation.strip_prefix("$sourceDescriptions.")
            && let Some((source, operation)) = rest.split_once('.')
        {
            let namespace = namespace(self.root, Some(source));
            return Some(Called::Tool(namespace, operation_name(operation)));
        }
        if let Some(namespace) = self.draft.system_with(operation) {
            return Some(Called::Tool(namespace, operation.to_owned()));
        }
        let namespace = namespace(self.root, None);
        if items(self.root, "sourceDescriptions").len() > 1 {
            let why = format!("is assumed to be an operation of `{namespace}`, the first source");
            let what = format!("the operation `{}`", excerpt(operation));
            self.draft.changed(step.span, what, why);
        }
        Some(Called::Tool(namespace, operation_name(operation)))
    }

    fn arguments(&mut self, step: &Step<'d>, view: &View<'_, 'd>) -> Vec<(String, Expr)> {
        let mut arguments = self.parameters(step, view);
        if let Some(request) = step.node.get("requestBody") {
            self.body(request, step, view, &mut arguments);
        }
        arguments
    }

    /// Returns the parameters of a step, and those of its workflow that it does not override.
    fn parameters(&mut self, step: &Step<'d>, view: &View<'_, 'd>) -> Vec<(String, Expr)> {
        let mut arguments: Vec<(String, Expr)> = Vec::new();
        let own = items(step.node, "parameters");
        let shared = items(self.node, "parameters");
        for (number, node) in own.iter().chain(shared).enumerate() {
            let parameter = resolved(self.root, node);
            let (Some(name), Some(value)) = (
                parameter.get("name").and_then(Node::text),
                node.get("value").or(parameter.get("value")),
            ) else {
                self.draft.lost(
                    node.span,
                    format!("a parameter of {}", step.what()),
                    "has no name or no value",
                );
                continue;
            };
            if !is_writable(name) {
                let what = format!("the parameter `{}` of {}", excerpt(name), step.what());
                let why = "this is not a valid name of an argument";
                self.draft.lost(node.span, what, why);
            } else if arguments.iter().all(|(there, _)| there != name) {
                let value = self.value(value, view);
                arguments.push((name.to_owned(), value));
            } else if number < own.len() {
                // A parameter of the workflow that the step sets itself is replaced.
                let what = format!("the parameter `{}` of {}", excerpt(name), step.what());
                let why = "has the same name as another one, and a call takes each argument once";
                self.draft.lost(node.span, what, why);
            }
        }
        arguments
    }

    fn body(
        &mut self,
        request: &'d Node,
        step: &Step<'d>,
        view: &View<'_, 'd>,
        arguments: &mut Vec<(String, Expr)>,
    ) {
        if let Some(node) = request.get("replacements") {
            let why = "write the values into the payload itself";
            self.draft
                .lost(node.span, format!("`replacements` of {}", step.what()), why);
        }
        match request
            .get("payload")
            .map(|payload| (payload, &payload.content))
        {
            Some((_, Content::Map(entries))) => {
                for entry in entries {
                    if !is_writable(&entry.name) {
                        let name = excerpt(&entry.name);
                        let what = format!("the field `{name}` of the body of {}", step.what());
                        let why = "this is not a valid name of an argument";
                        self.draft.lost(entry.span, what, why);
                        continue;
                    }
                    // A body field with the name of a parameter gets a prefix.
                    let mut name = entry.name.clone();
                    while arguments.iter().any(|(there, _)| *there == name) {
                        name = format!("body_{name}");
                    }
                    arguments.push((name, self.value(&entry.value, view)));
                }
            }
            Some((payload, _)) => arguments.push(("body".to_owned(), self.value(payload, view))),
            None => {}
        }
    }
}

/// Resolves an operation by its path: `{$sourceDescriptions.shop.url}#/paths/~1orders~1{id}/get`.
fn operation_at(root: &Node, node: &Node, what: &str, draft: &mut Draft<'_>) -> Option<Called> {
    let path = node.text().unwrap_or_default();
    let (address, pointer) = path.split_once('#').unwrap_or((path, ""));
    let source = match address.split_once("$sourceDescriptions.") {
        Some((_, rest)) => rest.split(['.', '}']).next(),
        None => source_at(root, address),
    };
    let Some((place, method)) = pointer
        .strip_prefix("/paths/")
        .and_then(|pointer| pointer.rsplit_once('/'))
    else {
        let why = "its `operationPath` does not lead to an operation: expected a path and a method below `#/paths/`";
        draft.lost(node.span, what, why);
        return None;
    };
    let namespace = namespace(root, source);
    if source.is_none() {
        let why = format!("its `operationPath` names no source, so `{namespace}` is assumed");
        draft.lost(node.span, what, why);
    }
    let place = decoded(place).replace("~1", "/").replace("~0", "~");
    let words = place.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let tool = words.fold(method.to_lowercase(), |name, word| format!("{name}_{word}"));
    Some(Called::Tool(namespace, operation_name(&tool)))
}

/// Returns the tool name of an operation: its id where that can be written in backquotes, else an identifier.
fn operation_name(operation: &str) -> String {
    if is_writable(operation) {
        operation.to_owned()
    } else {
        identifier(operation)
    }
}

/// Returns the name of the source with an address.
fn source_at<'d>(root: &'d Node, address: &str) -> Option<&'d str> {
    let mut sources = items(root, "sourceDescriptions").iter();
    let found = sources.find(|source| source.get("url").and_then(Node::text) == Some(address));
    found.and_then(|source| source.get("name")?.text())
}

/// Resolves the percent signs of an address. Those that encode nothing stay.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        let code = behind
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(b'%'));
        rest = if code.is_some() {
            behind.get(2..).unwrap_or("")
        } else {
            behind
        };
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the namespace of a source; that of the first one if none is named.
fn namespace(root: &Node, source: Option<&str>) -> String {
    let sources = items(root, "sourceDescriptions");
    let first = sources
        .first()
        .and_then(|source| source.get("name")?.text());
    identifier(source.or(first).unwrap_or(API))
}
