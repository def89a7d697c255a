//! `call: http`, as a call of the built-in tool that sends requests.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal, StepBody, TemplatePart};
use planrun_lang::yaml::Node;

use super::call::Action;
use crate::control_flow::status::reason;
use crate::draft::excerpt;
use crate::expression::concatenated;
use crate::expression::value::Value;
use crate::tree;

/// The methods that the tool supports.
const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

impl<'d> Action<'_, '_, 'd, '_> {
    /// Writes a request. Answers without a success status fail, as they do in Serverless Workflow.
    pub fn http_request(&mut self) -> Value {
        let Some(endpoint) = self.with("endpoint") else {
            return self.not_called(self.task.span, "it has no `endpoint`");
        };
        let uri = endpoint.get("uri").unwrap_or(endpoint);
        let address = self.data.address(uri, self.workflow.draft);
        if matches!(address.kind, ExprKind::Template(_)) {
            let what = format!("the address of task `{}`", excerpt(self.task.name));
            let why = "contains values as they are: characters such as `/` and `?` in them are not percent-encoded";
            self.workflow.draft.changed(uri.span, what, why);
        }
        self.allow(&address, uri.span);
        let mut arguments = vec![("url".to_owned(), address)];
        let method = self
            .with("method")
            .and_then(Node::text)
            .unwrap_or("GET")
            .to_uppercase();
        if !METHODS.contains(&method.as_str()) {
            let node = self.with("method").unwrap_or(self.task.node);
            return self.not_called(node.span, "this HTTP method is not supported");
        }
        if method != "GET" {
            arguments.push(("method".to_owned(), tree::text(&method)));
        }
        if let Some(headers) = self.headers(self.with("headers"), endpoint) {
            arguments.push(("headers".to_owned(), headers));
        }
        for part in ["body", "query"] {
            if let Some(node) = self.with(part) {
                arguments.push((part.to_owned(), self.template(node).expr()));
            }
        }
        // A call without `retry` makes one attempt in Serverless Workflow, but in a plan a repeatable request makes
        // three by default.
        self.workflow.repeats |=
            self.workflow.retry.is_none() && !["POST", "PATCH"].contains(&method.as_str());
        let call = self
            .workflow
            .draft
            .call("http", "fetch", arguments, &BTreeSet::new());
        let step = self.workflow.step_name(self.task);
        let clauses = self.clauses();
        self.out
            .push(tree::step(&step, StepBody::Call(call), clauses));
        let is_lenient = self.with("redirect").and_then(Node::scalar).as_deref() == Some("true");
        self.refuse(&step, if is_lenient { 400 } else { 300 });
        self.answer(&step)
    }

    /// Writes failures for answers whose status is `least` or higher.
    fn refuse(&mut self, step: &str, least: i64) {
        let status = || tree::field(tree::variable(step), "status");
        let message = || {
            let text = format!("{}: the answer has the status ", excerpt(self.task.name));
            concatenated([tree::text(&text), status()])
        };
        for one in self.workflow.statuses.iter().filter(|one| **one >= least) {
            let is_it = tree::binary(status(), BinaryOp::Equal, tree::int(*one));
            self.out.push(tree::fail_when(
                &format!("tool.{}", reason(*one)),
                message(),
                is_it,
            ));
        }
        let is_bad = tree::binary(status(), BinaryOp::GreaterEqual, tree::int(least));
        self.out
            .push(tree::fail_when("tool.failed", message(), is_bad));
    }

    /// Returns the requested part of an answer.
    fn answer(&mut self, step: &str) -> Value {
        let output = self.task.get("with").and_then(|with| with.get("output"));
        let part = |field: &str| Value::Opaque(tree::field(tree::variable(step), field));
        match output.and_then(Node::text) {
            Some("response") => Value::object(vec![
                ("statusCode".to_owned(), part("status")),
                ("headers".to_owned(), part("headers")),
                ("content".to_owned(), part("body")),
            ]),
            Some("raw") => {
                let span = output.map_or(self.task.span, |node| node.span);
                let what = format!("`output` of task `{}`", excerpt(self.task.name));
                let why = "a response is always read as its content type";
                Value::Opaque(self.workflow.draft.hole(span, what, why))
            }
            _ => part("body"),
        }
    }

    fn headers(&mut self, headers: Option<&Node>, endpoint: &'d Node) -> Option<Expr> {
        let headers = headers.map(|node| self.template(node));
        let Some(authentication) = endpoint.get("authentication") else {
            return headers.map(|headers| headers.expr());
        };
        let authentication = match authentication.get("use") {
            Some(named) => self.workflow.used("authentications", named),
            None => authentication,
        };
        let token = authentication
            .get("bearer")
            .and_then(|node| node.get("token"));
        let computed = token.filter(|node| node.text().is_some_and(|text| text.contains("${")));
        let value = if let Some(node) = computed {
            let token = self.template(node).expr();
            concatenated([tree::text("Bearer "), token])
        } else {
            let why = "credentials belong to the project, not to a plan: describe the system in an app file with its credentials";
            let what = "`authentication` of a call";
            self.workflow.draft.hole(authentication.span, what, why)
        };
        let headers = headers.unwrap_or_else(|| Value::object(Vec::new()));
        let key = "authorization".to_owned();
        Some(headers.with(&[key], Value::Opaque(value)).expr())
    }

    /// Allows the host of an address if it is constant, else reports it.
    fn allow(&mut self, address: &Expr, span: Span) {
        let beginning = match &address.kind {
            ExprKind::Literal(Literal::String(text)) => Some((&**text, true)),
            ExprKind::Template(parts) => match parts.first() {
                Some(TemplatePart::Text(text)) => Some((&**text, false)),
                _ => None,
            },
            _ => None,
        };
        let host = beginning.and_then(|(text, is_all)| {
            let rest = ["https://", "http://"]
                .into_iter()
                .find_map(|scheme| text.strip_prefix(scheme))?;
            let end = rest.find(['/', '?', '#']);
            let end = end.or(is_all.then_some(rest.len()))?;
            let host = rest.get(..end)?;
            (!host.is_empty() && !host.contains(['@', '*', '\\'])).then(|| host.to_owned())
        });
        if let Some(host) = host {
            self.workflow.hosts.insert(host);
        } else {
            let why = "is computed: list the hosts that may be called in `allow { net: […] }`";
            let what = "the host of an address";
            self.workflow.draft.lost(span, what, why);
        }
    }
}
