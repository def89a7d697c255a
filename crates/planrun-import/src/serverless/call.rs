//! Calls: of addresses, of operations that a document describes, of servers, agents, functions and other workflows.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{ClauseKind, Expr, Statement, StepBody};
use planrun_lang::types::Effect;
use planrun_lang::yaml::{Entry, Node};

use super::Workflow;
use super::data::Data;
use super::events::EVENTS;
use super::tasks::{Task, Tasks};
use crate::document::{Refused, entries, items};
use crate::draft::{excerpt, identifier, is_writable};
use crate::expression::concatenated;
use crate::tree;
use crate::ways::Flow;
use crate::ways::status::reason;
use crate::ways::value::Value;

/// The namespace of the built-in tool that sends requests.
const HTTP: &str = "http";
/// The namespace of functions that are defined elsewhere.
const FUNCTIONS: &str = "functions";

/// The namespace of what a node calls, where it calls something.
pub fn namespace_of(node: &Node) -> Option<String> {
    if node.get("emit").is_some() {
        return Some(EVENTS.to_owned());
    }
    if let Some(workflow) = node.get("run").and_then(|run| run.get("workflow")) {
        let namespace = workflow.get("namespace").and_then(Node::text);
        return Some(identifier(namespace.unwrap_or("workflows")));
    }
    let with = |field: &str| node.get("with").and_then(|with| with.get(field));
    let resource = match node.get("call")?.text()? {
        "http" => return Some(HTTP.to_owned()),
        "openapi" | "asyncapi" => with("document"),
        "grpc" => {
            let service = with("service").and_then(|service| service.get("name")?.text());
            let last = service.and_then(|name| name.rsplit('.').next());
            return Some(identifier(last.unwrap_or("grpc")));
        }
        "a2a" => with("agentCard").or(with("server")),
        "mcp" => with("transport").and_then(|transport| transport.get("http")),
        function => return Some(function_path(function).0),
    };
    let named = resource.and_then(|resource| resource.get("name")?.text());
    let host = || resource.and_then(address).and_then(host_word);
    Some(identifier(named.or_else(host).unwrap_or("api")))
}

/// The address of a resource or of an endpoint.
fn address(node: &Node) -> Option<&str> {
    let endpoint = node.get("endpoint").unwrap_or(node);
    endpoint.get("uri").unwrap_or(endpoint).text()
}

/// The word that tells a host from others: `shop` of `https://api.shop.example/v1`.
fn host_word(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let host = rest.split(['/', ':', '?', '#']).next()?;
    host.split('.').find(|word| !["www", "api"].contains(word))
}

/// A tool with its arguments.
struct Call {
    namespace: String,
    tool: String,
    arguments: Vec<(String, Expr)>,
}

impl<'d> Workflow<'_, 'd, '_> {
    /// `call`. Gives what is called there.
    pub fn called(
        &mut self,
        task: &Task<'d>,
        mut flow: Flow,
        data: &Data,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let kind = task.body().text().unwrap_or_default();
        let functions = self
            .root
            .get("use")
            .map_or(&[] as &[Entry], |node| entries(node, "functions"));
        if let Some(function) = functions.iter().find(|entry| entry.name == kind) {
            return self.function(task, function, flow, data, out);
        }
        flow.value = match kind {
            "http" => self.fetched(task, data, out),
            "openapi" => {
                self.tell_output(task);
                self.tool(task, "operationId", "parameters", data, out)
            }
            "grpc" => self.tool(task, "method", "arguments", data, out),
            "asyncapi" => self.published(task, data, out),
            "mcp" => self.server_tool(task, data, out),
            "a2a" => self.told(task, data, out),
            _ => {
                let arguments = self.arguments(task.get("with"), data);
                let (_, tool) = function_path(kind);
                self.call(task, &tool, arguments, out)
            }
        };
        Ok(flow)
    }

    /// A function of the document, written down where it is called.
    fn function(
        &mut self,
        task: &Task<'d>,
        function: &'d Entry,
        flow: Flow,
        data: &Data,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let mut within = flow;
        if self.functions.contains(&function.name.as_str()) {
            let why = "a function that calls itself has no end here";
            within.value = self.not_called(task, task.span, why, out);
            return Ok(within);
        }
        if let Some(node) = task.get("with") {
            within.value = self.template(node, data);
        }
        if let Some(node) = task.get("timeout") {
            let what = format!("`timeout` of task `{}`", excerpt(task.name));
            let why = "write it at the task of the function";
            self.draft.lost(node.span, what, why);
        }
        self.functions.push(&function.name);
        let after = self.tasks(&Tasks::single(function)?, within.clone(), out)?;
        self.functions.pop();
        Ok(after.unwrap_or(within))
    }

    /// A call of a tool whose name and arguments stand in two fields.
    fn tool(
        &mut self,
        task: &Task<'d>,
        name: &str,
        arguments: &str,
        data: &Data,
        out: &mut Vec<Statement>,
    ) -> Value {
        let with = |field: &str| task.get("with").and_then(|with| with.get(field));
        let Some(tool) = with(name)
            .and_then(Node::text)
            .filter(|tool| is_writable(tool))
        else {
            return self.not_called(task, task.span, &format!("it has no `{name}`"), out);
        };
        self.tell_credentials(task);
        let arguments = self.arguments(with(arguments), data);
        self.call(task, tool, arguments, out)
    }

    /// `asyncapi`: a message that is published.
    fn published(&mut self, task: &Task<'d>, data: &Data, out: &mut Vec<Statement>) -> Value {
        let with = |field: &str| task.get("with").and_then(|with| with.get(field));
        let Some(message) = with("message") else {
            let why =
                "a plan does not subscribe to messages; a system that does can send it signals";
            return self.not_called(task, task.span, why, out);
        };
        self.tell_credentials(task);
        let operation = with("operation").or(with("channel")).and_then(Node::text);
        let tool = identifier(operation.unwrap_or("publish").trim_matches('/'));
        let arguments = self.arguments(message.get("payload"), data);
        if let Some(node) = message.get("headers") {
            self.draft.lost(
                node.span,
                "the headers of a message",
                "a tool takes arguments only",
            );
        }
        self.call(task, &tool, arguments, out)
    }

    /// `mcp`: a tool of a server.
    fn server_tool(&mut self, task: &Task<'d>, data: &Data, out: &mut Vec<Statement>) -> Value {
        let with = |field: &str| task.get("with").and_then(|with| with.get(field));
        if with("method").and_then(Node::text) != Some("tools/call") {
            let why = "a plan calls the tools of a server, and nothing else of it";
            return self.not_called(task, task.span, why, out);
        }
        let parameters = with("parameters");
        let name = parameters.and_then(|node| node.get("name")?.text());
        let Some(name) = name.filter(|name| is_writable(name) && !name.contains("${")) else {
            return self.not_called(task, task.span, "it names no tool", out);
        };
        if let Some(node) = with("transport") {
            let why = "is left out: where a server is stands in `planrun.yaml`";
            self.draft
                .changed(node.span, "`transport` of a server", why);
        }
        let arguments = parameters.and_then(|node| node.get("arguments"));
        let arguments = self.arguments(arguments, data);
        self.call(task, name, arguments, out)
    }

    /// `a2a`: a message to an agent.
    fn told(&mut self, task: &Task<'d>, data: &Data, out: &mut Vec<Statement>) -> Value {
        let with = |field: &str| task.get("with").and_then(|with| with.get(field));
        let method = with("method").and_then(Node::text).unwrap_or_default();
        let message = with("parameters").and_then(|node| node.get("message"));
        let Some(message) = message.filter(|_| method.starts_with("message/")) else {
            let why = "an agent is told something by a call, and its tasks are followed by itself";
            return self.not_called(task, task.span, why, out);
        };
        let (mut texts, mut arguments) = (Vec::new(), Vec::new());
        for part in items(message, "parts") {
            if let Some(text) = part.get("text") {
                if !texts.is_empty() {
                    texts.push(tree::text("\n"));
                }
                texts.push(self.template(text, data).expr());
            } else if let Some(value) = part.get("data") {
                arguments.push(("data".to_owned(), self.template(value, data).expr()));
            } else {
                let why = "an agent is told texts and data here";
                self.draft.lost(part.span, "a part of a message", why);
            }
        }
        if !texts.is_empty() {
            arguments.insert(0, ("text".to_owned(), concatenated(texts)));
        }
        self.call(task, "send", arguments, out)
    }

    /// `run`: another workflow. Programs are no tools.
    pub fn process(&mut self, task: &Task<'d>, data: &Data, out: &mut Vec<Statement>) -> Value {
        let Some(workflow) = task.body().get("workflow") else {
            let why = "code and commands are no part of a plan; make a program or a server of it, and call that as a tool";
            return self.not_called(task, task.body().span, why, out);
        };
        if let Some(node) = workflow.get("version") {
            let why = "is left out: the project says which one its tool is";
            self.draft
                .changed(node.span, "the version of a workflow", why);
        }
        if let Some(node) = task
            .body()
            .get("await")
            .filter(|node| node.scalar().as_deref() == Some("false"))
        {
            let why = "a plan waits for what it calls";
            self.draft.lost(node.span, "`await: false`", why);
        }
        let name = workflow.get("name").and_then(Node::text).unwrap_or("run");
        let arguments = self.arguments(workflow.get("input"), data);
        self.call(task, &identifier(name), arguments, out)
    }

    /// The arguments that an object is; anything else is one that is called `input`.
    fn arguments(&mut self, node: Option<&Node>, data: &Data) -> Vec<(String, Expr)> {
        let Some(node) = node else { return Vec::new() };
        match self.template(node, data) {
            Value::Object {
                base: None, fields, ..
            } if fields.iter().all(|(name, _)| is_writable(name)) => {
                let fields = fields.into_iter();
                fields.map(|(name, value)| (name, value.expr())).collect()
            }
            value => {
                let why = "is the argument `input` of the tool";
                self.draft
                    .changed(node.span, "what is handed to a call", why);
                vec![("input".to_owned(), value.expr())]
            }
        }
    }

    /// A call of a tool of the namespace of a task, or of the one tool of the project that is called so.
    fn call(
        &mut self,
        task: &Task<'d>,
        tool: &str,
        arguments: Vec<(String, Expr)>,
        out: &mut Vec<Statement>,
    ) -> Value {
        let mut namespace = namespace_of(task.node).unwrap_or_else(|| FUNCTIONS.to_owned());
        let is_described = matches!(task.body().text(), Some("openapi" | "mcp" | "grpc"));
        if is_described
            && self.draft.signature(&namespace, tool).is_none()
            && let Some(system) = self.draft.system_with(tool)
        {
            namespace = system;
        }
        let call = Call {
            namespace,
            tool: tool.to_owned(),
            arguments,
        };
        let call = self.call_of(call);
        self.calls(task, call, out)
    }

    fn call_of(&mut self, call: Call) -> Expr {
        let signature = self.draft.signature(&call.namespace, &call.tool);
        let is_repeatable = signature.is_some_and(|signature| Effect::repeatable(signature.effect));
        self.repeats |= is_repeatable && self.retry.is_none();
        let fails: BTreeSet<String> = self
            .statuses
            .iter()
            .filter(|_| signature.is_none())
            .map(|status| reason(*status))
            .collect();
        self.draft
            .call(&call.namespace, &call.tool, call.arguments, &fails)
    }

    /// Writes down a call as a step. Gives its value.
    pub fn calls(&mut self, task: &Task<'d>, call: Expr, out: &mut Vec<Statement>) -> Value {
        let name = self.step_name(task);
        let clauses = self.clauses(task);
        out.push(tree::step(&name, StepBody::Call(call), clauses));
        Value::Opaque(tree::variable(&name))
    }

    /// The clauses of a step that calls or waits: the time that it may take, and those of the `try` around.
    pub fn clauses(&mut self, task: &Task<'d>) -> Vec<ClauseKind> {
        let mut clauses = self.retry.take().unwrap_or_default();
        if let Some(time) = task.get("timeout").and_then(|node| self.timeout(node)) {
            clauses.push(match task.kind {
                "listen" => ClauseKind::Within(time),
                _ => ClauseKind::Timeout(time),
            });
        }
        clauses
    }

    /// A step that stands where something cannot be called.
    pub fn not_called(
        &mut self,
        task: &Task<'d>,
        span: Span,
        why: &str,
        out: &mut Vec<Statement>,
    ) -> Value {
        let what = format!("task `{}`", excerpt(task.name));
        let hole = self.draft.hole(span, what, why);
        self.calls(task, hole, out)
    }

    fn tell_credentials(&mut self, task: &Task<'d>) {
        let with = |field: &str| task.get("with").and_then(|with| with.get(field));
        let nested = |field: &str| with(field).and_then(|node| node.get("authentication"));
        if let Some(node) = with("authentication").or(nested("service")) {
            let why = "is left out: credentials are those of the project, and never in a plan";
            self.draft
                .changed(node.span, "`authentication` of a call", why);
        }
    }

    /// Tells what of the answer of an operation is not in the plan.
    fn tell_output(&mut self, task: &Task<'d>) {
        let with = |field: &str| task.get("with").and_then(|with| with.get(field));
        if let Some(node) = with("output").filter(|node| node.text() != Some("content")) {
            let why = "a tool gives the content of an answer";
            self.draft.lost(node.span, "`output` of an operation", why);
        }
        if let Some(node) = with("redirect") {
            let why = "is left out: what an answer means is said by the tool";
            self.draft
                .changed(node.span, "`redirect` of an operation", why);
        }
    }
}

/// The namespace and the name of the tool that a function is: `functions.log` of `log:1.0.0@catalog` and of an address
/// that ends in `/functions/log/1.0.0/function.yaml`, and `desk.close` of `desk.close`.
fn function_path(called: &str) -> (String, String) {
    let path: Vec<&str> = called.split('/').collect();
    let behind = path.iter().position(|part| *part == "functions");
    let named = behind.and_then(|at| path.get(at + 1)).or(path.last());
    let named = named.copied().unwrap_or(called);
    let name = named.split([':', '@']).next().unwrap_or(named);
    match name.split_once('.') {
        Some((namespace, tool)) if tree::is_word(namespace) && tree::is_word(tool) => {
            (namespace.to_owned(), tool.to_owned())
        }
        _ => (FUNCTIONS.to_owned(), identifier(name)),
    }
}
