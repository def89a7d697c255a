//! Errors as classes: those that a workflow raises, catches and retries.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{BinaryOp, ClauseKind, Expr, Statement};
use planrun_lang::yaml::{Content, Node};

use super::data::Data;
use super::tasks::{Task, Tasks};
use super::{Writer, duration, keys};
use crate::control_flow::retry::Retry;
use crate::control_flow::status::{of_status, reason};
use crate::draft::{Draft, error_name, excerpt};
use crate::expression::quote::plan;
use crate::tree;

/// The number of attempts of a retry without a limit.
const MAX_ATTEMPTS: i64 = 100;
/// The host of the standard error types.
const STANDARD: &str = "serverlessworkflow.io";

/// The errors that a `catch` catches.
pub struct Caught {
    /// Empty for all errors.
    pub classes: Vec<String>,
    /// The statuses of answers that have no class of their own.
    pub statuses: BTreeSet<i64>,
}

/// Returns the classes of an error with this type and status.
fn classes(kind: Option<&str>, status: Option<i64>) -> Vec<String> {
    let Some(kind) = kind else {
        return status.map(of_status).unwrap_or_default();
    };
    let last = kind.trim_end_matches('/').rsplit(['/', '#']).next();
    let last = last.unwrap_or(kind);
    let standard: &[&str] = match last {
        "communication" => {
            if let Some(status) = status {
                return of_status(status);
            }
            &["transient", "tool", "auth", "unknown_outcome"]
        }
        "timeout" => &["transient.timeout"],
        "authentication" => &["auth.authentication"],
        "authorization" => &["auth.authorization"],
        "validation" | "configuration" => &["validation"],
        "expression" => &["validation.expression"],
        _ => &[],
    };
    if standard.is_empty() || !kind.contains(STANDARD) {
        return vec![format!("tool.{}", error_name(last))];
    }
    standard.iter().map(|class| (*class).to_owned()).collect()
}

/// Collects the types of errors that a document names: under `type`, and in expressions that compare one.
fn types(node: &Node, key: &str, found: &mut BTreeSet<String>) {
    match &node.content {
        Content::Map(entries) => {
            for entry in entries {
                types(&entry.value, &entry.name, found);
            }
        }
        Content::List(items) => items.iter().for_each(|item| types(item, "", found)),
        Content::Text(text) => {
            let is_expression = text.contains(".type");
            let parts = text.split('"').filter(|_| is_expression || key == "type");
            let is_type = |part: &&str| part.contains("://") && !part.contains("${");
            found.extend(parts.filter(is_type).map(str::to_owned));
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => {}
    }
}

/// Returns the type of a caught error, from its class: a type that the document names, or else a standard one.
pub fn type_of(root: &Node, error: &str) -> Expr {
    let mut named = BTreeSet::new();
    types(root, "", &mut named);
    let (standard, own): (Vec<&String>, Vec<&String>) =
        named.iter().partition(|kind| kind.contains(STANDARD));
    let standard = |name: &str| {
        let spelled = standard.iter().find(|kind| kind.ends_with(name));
        tree::text(&spelled.map_or_else(
            || format!("https://{STANDARD}/spec/1.0.0/errors/{name}"),
            |kind| (*kind).clone(),
        ))
    };
    let class = tree::field(tree::variable(error), "class");
    let of_class = plan!(
        r#"class == "transient.timeout" ? timeout : class == "auth.authentication" ? authentication
            : class == "auth.authorization" ? authorization : class == "validation.expression" ? expression
            : class.startsWith("validation") ? validation : communication"#,
        class,
        timeout = standard("timeout"),
        authentication = standard("authentication"),
        authorization = standard("authorization"),
        expression = standard("expression"),
        validation = standard("validation"),
        communication = standard("communication"),
    );
    own.into_iter().rev().fold(of_class, |otherwise, kind| {
        let own = tree::text(&raised_class(kind, None));
        let is_it = tree::binary(class.clone(), BinaryOp::Equal, own);
        tree::conditional(is_it, tree::text(kind), otherwise)
    })
}

impl<'d> Writer<'_, 'd, '_> {
    /// Translates a `raise` to a failure.
    pub fn raised(&mut self, task: &Task<'d>, data: &Data) -> Statement {
        let error = task.body().get("error").unwrap_or(task.body());
        let error = self.used("errors", error);
        let kind = error.get("type").and_then(Node::text);
        let what = format!("the error of task `{}`", excerpt(task.name));
        if let Some(name) = error.text() {
            let why = format!("there is no error `{}` in `use.errors`", excerpt(name));
            self.draft.lost(error.span, &*what, why);
        }
        self.report_error(error, &what);
        let class = match kind {
            Some(kind) if !kind.contains("${") => raised_class(kind, status_of(error)),
            _ => {
                let why = "fails with `tool.failed`: the class of a failure must be a constant, so that the check knows where it is caught";
                self.draft.changed(error.span, &*what, why);
                "tool.failed".to_owned()
            }
        };
        if let Some(status) = status_of(error) {
            let why = format!("is `{class}` in the plan, without its status {status}");
            self.draft.changed(error.span, what, why);
        }
        let message = ["detail", "title", "type"]
            .into_iter()
            .find_map(|field| error.get(field));
        let message = message.map_or_else(
            || tree::text(task.name),
            |node| data.template(node, self.draft).expr(),
        );
        tree::fail(&class, message)
    }

    /// Reports the parts of an error that a failure does not have.
    fn report_error(&mut self, error: &Node, what: &str) {
        let known = match error.get("detail") {
            Some(_) => "type status detail",
            None => "type status detail title",
        };
        let omitted = [
            ("title", "the detail of the error is its message"),
            ("instance", "an error has only a class and a message"),
        ];
        self.draft.report_keys(error, what, known, &omitted);
    }

    /// Translates the errors that a `catch` catches.
    pub fn caught(&mut self, catch: &Node) -> Caught {
        let filter = catch.get("errors").and_then(|node| node.get("with"));
        let Some(filter) = filter else {
            if let Some(node) = catch.get("errors") {
                let why = "have no `with`, so all errors are caught";
                self.draft
                    .lost(node.span, "the errors that are caught", why);
            }
            return Caught {
                classes: Vec::new(),
                statuses: BTreeSet::new(),
            };
        };
        for entry in filter.entries().unwrap_or_default() {
            let is_constant = match entry.name.as_str() {
                "type" => entry.value.text().is_some_and(|kind| !kind.contains("${")),
                "status" => whole(&entry.value).is_some(),
                _ => false,
            };
            if is_constant {
                continue;
            }
            let what = format!("`{}` of the errors that are caught", excerpt(&entry.name));
            let why = "in a plan, an error can be matched only by its class, which is constant";
            self.draft.lost(entry.span, what, why);
        }
        let kind = filter.get("type").and_then(Node::text);
        let kind = kind.filter(|kind| !kind.contains("${"));
        let classes = classes(kind, status_of(filter));
        let why = match classes.as_slice() {
            [] => "are all errors in the plan".to_owned(),
            classes => format!("are `{}` in the plan", classes.join("`, `")),
        };
        self.draft
            .changed(filter.span, "the errors that are caught", why);
        let statuses = status_of(filter).into_iter();
        let is_own = |status: &i64| classes.contains(&format!("tool.{}", reason(*status)));
        Caught {
            statuses: statuses.filter(is_own).collect(),
            classes,
        }
    }

    /// Translates a retry policy to clauses of the only call of a `try`; `None` if the `try` contains anything else or
    /// the call has a condition, which is reported.
    pub fn retry(
        &mut self,
        policy: &'d Node,
        tasks: &Tasks<'d>,
        classes: &[String],
    ) -> Option<Vec<ClauseKind>> {
        let mut inside = tasks.by_name.values();
        let (only, None) = (inside.next(), inside.next()) else {
            return no_retry(policy, self.draft);
        };
        if only.is_none_or(|task| task.kind != "call" || task.get("if").is_some()) {
            return no_retry(policy, self.draft);
        }
        let policy = self.used("retries", policy);
        if let Some(name) = policy.text() {
            let why = format!(
                "there is no retry policy `{}` in `use.retries`",
                excerpt(name)
            );
            self.draft.lost(policy.span, "`retry`", why);
            return None;
        }
        keys::report_retry(policy, self.draft);
        for part in ["when", "exceptWhen"] {
            if let Some(node) = policy.get(part) {
                let why = "retries are selected only by error class";
                self.draft
                    .lost(node.span, format!("`{part}` of `retry`"), why);
            }
        }
        let limit = policy.get("limit");
        let attempt = limit.and_then(|node| node.get("attempt"));
        let mut settings = vec![self.attempts(policy, attempt, classes).clause()];
        let duration = |node: Option<&'d Node>| node.and_then(|node| node.get("duration"));
        if let Some(node) = duration(attempt) {
            let time = self.duration(node, "the time of an attempt");
            settings.extend(time.map(ClauseKind::Timeout));
        }
        if let Some(node) = duration(limit) {
            let time = self.duration(node, "the time of all attempts");
            settings.extend(time.map(ClauseKind::Within));
        }
        Some(settings)
    }

    fn attempts(&mut self, policy: &Node, attempt: Option<&Node>, classes: &[String]) -> Retry {
        let count = attempt.and_then(|node| node.get("count"));
        if let Some(node) = count.filter(|node| whole(node).is_none()) {
            let why = "is not a constant number";
            self.draft
                .lost(node.span, "the number of attempts of a `retry`", why);
        }
        let count = count.and_then(whole);
        if count.is_none() {
            let why =
                format!("has at most {MAX_ATTEMPTS} attempts: every loop of a plan has a bound");
            self.draft
                .changed(policy.span, "a `retry` without a limit", why);
        }
        let attempts = count.map_or(MAX_ATTEMPTS, |count| count.clamp(0, 1_000_000) + 1);
        #[expect(clippy::cast_precision_loss, reason = "a delay needs no precision")]
        let (delay, waits) = {
            let delay = policy.get("delay");
            let invalid = delay.filter(|node| duration::nanoseconds(node).is_none());
            if let Some(node) = invalid {
                self.draft
                    .lost(node.span, "the wait of a `retry`", duration::EXPECTED);
            }
            let delay = delay.and_then(duration::nanoseconds);
            (delay.unwrap_or(0) as f64, (attempts - 1) as f64)
        };
        let backoff = policy.get("backoff");
        let has = |kind: &str| backoff.is_some_and(|node| node.get(kind).is_some());
        if has("linear") {
            let why = "doubles up to the longest wait, instead of growing linearly";
            self.draft
                .changed(policy.span, "the wait of a `retry`", why);
        }
        let jitter = policy.get("jitter");
        if let Some(node) = jitter {
            let why = "is `full`: each wait is random, between zero and its normal length";
            self.draft
                .changed(node.span, "the jitter of a `retry`", why);
        }
        let known = classes.iter().filter(|class| *class != "unknown_outcome");
        let mut on: Vec<String> = known.cloned().collect();
        if classes.is_empty() {
            on = vec!["transient".to_owned(), "tool".to_owned()];
        }
        Retry {
            attempts,
            delay,
            factor: if has("exponential") || has("linear") {
                2.0
            } else {
                1.0
            },
            max_delay: has("linear").then_some(delay * waits),
            jitter: jitter.is_some(),
            on,
        }
    }
}

fn whole(node: &Node) -> Option<i64> {
    node.scalar()?.parse().ok()
}

fn status_of(error: &Node) -> Option<i64> {
    error.get("status").and_then(whole)
}

/// Returns the single class with which an error is raised.
fn raised_class(kind: &str, status: Option<i64>) -> String {
    let classes = classes(Some(kind), status);
    match classes.first().map(String::as_str) {
        Some("transient") => "transient.unavailable".to_owned(),
        Some("validation") => "validation.ensure".to_owned(),
        Some(class) => class.to_owned(),
        None => "tool.failed".to_owned(),
    }
}

/// Reports a retry of several tasks, which has no counterpart.
fn no_retry(policy: &Node, draft: &mut Draft<'_>) -> Option<Vec<ClauseKind>> {
    let why = "only calls can have a `retry`: restarting a block would repeat its effects";
    draft.lost(policy.span, "`retry` of several tasks", why);
    None
}
