//! Calls of tasks: HTTP requests, operations of described services, MCP tools, agents, functions and other workflows.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{ClauseKind, Expr, Statement, StepBody};
use planrun_lang::types::Effect;
use planrun_lang::yaml::{Entry, Node};

use super::Writer;
use super::data::Data;
use super::events::EVENTS;
use super::tasks::{Task, Tasks};
use crate::control_flow::Flow;
use crate::control_flow::status::reason;
use crate::document::{Refused, entries, items};
use crate::draft::{excerpt, identifier, is_writable};
use crate::expression::concatenated;
use crate::expression::value::Value;
use crate::tree;

/// The namespace of the built-in tool that sends requests.
const HTTP: &str = "http";
/// The namespace of functions that are defined elsewhere.
const FUNCTIONS: &str = "functions";

/// Returns the namespace of the tool that a node calls; `None` if it calls nothing.
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

/// Returns the address of a resource or an endpoint.
fn address(node: &Node) -> Option<&str> {
    let endpoint = node.get("endpoint").unwrap_or(node);
    endpoint.get("uri").unwrap_or(endpoint).text()
}

/// Returns the distinctive word of a host: `shop` of `https://api.shop.example/v1`.
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

impl<'d> Writer<'_, 'd, '_> {
    /// Writes a `call`. Returns the data after it.
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
        let mut action = Action {
            workflow: self,
            task,
            data,
            out,
        };
        flow.value = match kind {
            "http" => action.http_request(),
            "openapi" => {
                action.report_output();
                action.tool("operationId", "parameters")
            }
            "grpc" => action.tool("method", "arguments"),
            "asyncapi" => action.published(),
            "mcp" => action.server_tool(),
            "a2a" => action.message_to_agent(),
            _ => {
                let arguments = action.arguments(task.get("with"));
                let (_, tool) = function_path(kind);
                action.call(&tool, arguments)
            }
        };
        Ok(flow)
    }

    /// Writes a function of the document inline, at its call.
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
            let why = "a function cannot call itself";
            let mut action = Action {
                workflow: self,
                task,
                data,
                out,
            };
            within.value = action.not_called(task.span, why);
            return Ok(within);
        }
        if let Some(node) = task.get("with") {
            within.value = data.template(node, self.draft);
        }
        if let Some(node) = task.get("timeout") {
            let what = format!("`timeout` of task `{}`", excerpt(task.name));
            let why = "write it on the task of the function";
            self.draft.lost(node.span, what, why);
        }
        self.functions.push(&function.name);
        self.called.insert(&function.name);
        let after = self.tasks(&Tasks::single(function)?, within.clone(), out)?;
        self.functions.pop();
        Ok(after.unwrap_or(within))
    }
}

/// A task that becomes one step: the task, its data, and the statements to which the step is added.
pub struct Action<'a, 'x, 'd, 't> {
    pub workflow: &'a mut Writer<'x, 'd, 't>,
    pub task: &'a Task<'d>,
    pub data: &'a Data,
    pub out: &'a mut Vec<Statement>,
}

impl<'d> Action<'_, '_, 'd, '_> {
    /// Returns a parameter of a call.
    pub fn with(&self, field: &str) -> Option<&'d Node> {
        self.task.get("with").and_then(|with| with.get(field))
    }

    pub fn template(&mut self, node: &Node) -> Value {
        self.data.template(node, self.workflow.draft)
    }

    /// Writes a call of a tool whose name and arguments are in two fields.
    fn tool(&mut self, name: &str, arguments: &str) -> Value {
        let Some(tool) = self
            .with(name)
            .and_then(Node::text)
            .filter(|tool| is_writable(tool))
        else {
            return self.not_called(self.task.span, &format!("it has no `{name}`"));
        };
        self.report_credentials();
        let arguments = self.arguments(self.with(arguments));
        self.call(tool, arguments)
    }

    /// Writes the publication of a message (`asyncapi`).
    fn published(&mut self) -> Value {
        let Some(message) = self.with("message") else {
            let why = "a plan cannot subscribe to messages; another system can send it signals";
            return self.not_called(self.task.span, why);
        };
        self.report_credentials();
        let operation = self
            .with("operation")
            .or(self.with("channel"))
            .and_then(Node::text);
        let tool = identifier(operation.unwrap_or("publish").trim_matches('/'));
        let arguments = self.arguments(message.get("payload"));
        if let Some(node) = message.get("headers") {
            self.workflow.draft.lost(
                node.span,
                "the headers of a message",
                "a tool takes only arguments",
            );
        }
        self.call(&tool, arguments)
    }

    /// Writes a call of a server's tool (`mcp`).
    fn server_tool(&mut self) -> Value {
        if self.with("method").and_then(Node::text) != Some("tools/call") {
            let why = "a plan can call only the tools of a server";
            return self.not_called(self.task.span, why);
        }
        let parameters = self.with("parameters");
        let name = parameters.and_then(|node| node.get("name")?.text());
        let Some(name) = name.filter(|name| is_writable(name) && !name.contains("${")) else {
            return self.not_called(self.task.span, "it has no tool name");
        };
        if let Some(node) = self.with("transport") {
            let why = "is omitted: the address of a server is in `planrun.yaml`";
            self.workflow
                .draft
                .changed(node.span, "`transport` of a server", why);
        }
        let arguments = parameters.and_then(|node| node.get("arguments"));
        let arguments = self.arguments(arguments);
        self.call(name, arguments)
    }

    /// Writes a message to an agent (`a2a`).
    fn message_to_agent(&mut self) -> Value {
        let method = self.with("method").and_then(Node::text).unwrap_or_default();
        let message = self.with("parameters").and_then(|node| node.get("message"));
        let Some(message) = message.filter(|_| method.starts_with("message/")) else {
            let why = "a message to an agent is a call, and its tasks are followed automatically";
            return self.not_called(self.task.span, why);
        };
        let (mut texts, mut arguments) = (Vec::new(), Vec::new());
        for part in items(message, "parts") {
            if let Some(text) = part.get("text") {
                if !texts.is_empty() {
                    texts.push(tree::text("\n"));
                }
                texts.push(self.template(text).expr());
            } else if let Some(value) = part.get("data")
                && arguments.is_empty()
            {
                arguments.push(("data".to_owned(), self.template(value).expr()));
            } else {
                let why = "a message to an agent has only texts and one data part in a plan";
                self.workflow
                    .draft
                    .lost(part.span, "a part of a message", why);
            }
        }
        if !texts.is_empty() {
            arguments.insert(0, ("text".to_owned(), concatenated(texts)));
        }
        self.call("send", arguments)
    }

    /// Writes a `run` of another workflow. Programs are not supported.
    pub fn process(&mut self) -> Value {
        let Some(workflow) = self.task.body().get("workflow") else {
            let why = "a plan cannot contain code or commands: move them into a program or a server, and call that as a tool";
            return self.not_called(self.task.body().span, why);
        };
        if let Some(node) = workflow.get("version") {
            let why = "is omitted: the project specifies the version of its tool";
            self.workflow
                .draft
                .changed(node.span, "the version of a workflow", why);
        }
        if let Some(node) = self
            .task
            .body()
            .get("await")
            .filter(|node| node.scalar().as_deref() == Some("false"))
        {
            let why = "a plan always waits for its calls";
            self.workflow.draft.lost(node.span, "`await: false`", why);
        }
        let name = workflow.get("name").and_then(Node::text).unwrap_or("run");
        let arguments = self.arguments(workflow.get("input"));
        self.call(&identifier(name), arguments)
    }

    /// Returns the arguments of a call: the fields of an object, or a single argument `input` for any other value.
    fn arguments(&mut self, node: Option<&Node>) -> Vec<(String, Expr)> {
        let Some(node) = node else { return Vec::new() };
        match self.template(node) {
            Value::Object {
                base: None, fields, ..
            } if fields.iter().all(|(name, _)| is_writable(name)) => {
                let fields = fields.into_iter();
                fields.map(|(name, value)| (name, value.expr())).collect()
            }
            value => {
                let why = "is the argument `input` of the tool";
                self.workflow
                    .draft
                    .changed(node.span, "the input of a call", why);
                vec![("input".to_owned(), value.expr())]
            }
        }
    }

    /// Writes a call of a tool in the namespace of a task, or of the only tool of the project with this name.
    fn call(&mut self, tool: &str, arguments: Vec<(String, Expr)>) -> Value {
        let mut namespace = namespace_of(self.task.node).unwrap_or_else(|| FUNCTIONS.to_owned());
        let is_described = matches!(self.task.body().text(), Some("openapi" | "mcp" | "grpc"));
        if is_described
            && self.workflow.draft.signature(&namespace, tool).is_none()
            && let Some(system) = self.workflow.draft.system_with(tool)
        {
            namespace = system;
        }
        let call = Call {
            namespace,
            tool: tool.to_owned(),
            arguments,
        };
        let call = self.call_of(call);
        self.calls(call)
    }

    fn call_of(&mut self, call: Call) -> Expr {
        let signature = self.workflow.draft.signature(&call.namespace, &call.tool);
        let is_repeatable = signature.is_some_and(|signature| Effect::repeatable(signature.effect));
        self.workflow.repeats |= is_repeatable && self.workflow.retry.is_none();
        let fails: BTreeSet<String> = self
            .workflow
            .statuses
            .iter()
            .filter(|_| signature.is_none())
            .map(|status| reason(*status))
            .collect();
        self.workflow
            .draft
            .call(&call.namespace, &call.tool, call.arguments, &fails)
    }

    /// Writes a call as a step. Returns its value.
    pub fn calls(&mut self, call: Expr) -> Value {
        let name = self.workflow.step_name(self.task);
        let clauses = self.clauses();
        self.out
            .push(tree::step(&name, StepBody::Call(call), clauses));
        Value::Opaque(tree::variable(&name))
    }

    /// Returns the clauses of a step that calls or waits: its time limit, and the retry of the enclosing `try`.
    pub fn clauses(&mut self) -> Vec<ClauseKind> {
        let mut clauses = self.workflow.retry.take().unwrap_or_default();
        if let Some(time) = self
            .task
            .get("timeout")
            .and_then(|node| self.workflow.timeout(node))
        {
            clauses.push(match self.task.kind {
                "listen" => ClauseKind::Within(time),
                _ => ClauseKind::Timeout(time),
            });
        }
        clauses
    }

    /// Writes a step with a hole for something that cannot be called.
    pub fn not_called(&mut self, span: Span, why: &str) -> Value {
        let what = format!("task `{}`", excerpt(self.task.name));
        let hole = self.workflow.draft.hole(span, what, why);
        self.calls(hole)
    }

    fn report_credentials(&mut self) {
        let nested = |field: &str| self.with(field).and_then(|node| node.get("authentication"));
        if let Some(node) = self.with("authentication").or(nested("service")) {
            let why = "is omitted: credentials belong to the project, not to a plan";
            self.workflow
                .draft
                .changed(node.span, "`authentication` of a call", why);
        }
    }

    /// Reports options of an operation's answer that have no counterpart.
    fn report_output(&mut self) {
        if let Some(node) = self
            .with("output")
            .filter(|node| node.text() != Some("content"))
        {
            let why = "a tool returns the content of a response";
            self.workflow
                .draft
                .lost(node.span, "`output` of an operation", why);
        }
        if let Some(node) = self.with("redirect") {
            let why = "is omitted: the tool decides what a response means";
            self.workflow
                .draft
                .changed(node.span, "`redirect` of an operation", why);
        }
    }
}

/// Returns the namespace and the name of the tool for a function: `functions.log` for `log:1.0.0@catalog` and for an
/// address that ends in `/functions/log/1.0.0/function.yaml`, and `desk.close` for `desk.close`.
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
