//! Lists of calls with references between them: payloads, step arrays, tool calls of models, numbered plans.

mod literals;
mod model;
pub mod numbered;
pub mod openai;
mod order;
pub mod payload;
pub mod sage;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    ClauseKind, Expr, File, Statement, StatementKind, StepBody, TemplatePart,
};
use planrun_lang::yaml::{Content, Node};

use crate::draft::{Draft, Made, identifier};
use crate::report::Fate;
use crate::tree;
pub use model::json as json_in_prose;
use order::{Order, ordered};

/// The namespace of tools that the project does not have and the document does not place.
const TOOLS: &str = "tools";

/// A value among the arguments of a call.
#[derive(Clone, Debug)]
pub enum Value {
    Plain(Expr),
    /// A part of what another step gives.
    Read {
        step: usize,
        path: Vec<String>,
        span: Span,
        written: String,
    },
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
    /// A text with what others give in it.
    Text(Vec<Value>),
    /// A reference that leads nowhere, and why.
    Lost {
        span: Span,
        written: String,
        why: String,
    },
}

impl Value {
    /// A value of a document, whose texts may be references.
    pub fn of(node: &Node, read: &mut dyn FnMut(&str, Span) -> Option<Self>) -> Self {
        match &node.content {
            Content::Text(text) => {
                read(text, node.span).unwrap_or_else(|| Self::Plain(tree::text(text)))
            }
            Content::List(items) => {
                Self::List(items.iter().map(|item| Self::of(item, read)).collect())
            }
            Content::Map(entries) => Self::Object(
                entries
                    .iter()
                    .map(|entry| (entry.name.clone(), Self::of(&entry.value, read)))
                    .collect(),
            ),
            Content::Null | Content::Bool(_) | Content::Number(_) => {
                Self::Plain(tree::constant(node))
            }
        }
    }

    /// The steps that it reads.
    fn reads(&self, found: &mut Vec<usize>) {
        match self {
            Self::Read { step, .. } => found.push(*step),
            Self::List(values) | Self::Text(values) => {
                values.iter().for_each(|value| value.reads(found))
            }
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.reads(found)),
            Self::Plain(_) | Self::Lost { .. } => {}
        }
    }
}

/// One call of the document.
#[derive(Clone, Debug)]
pub struct Call {
    /// What the document calls the step.
    pub id: String,
    pub span: Span,
    /// The tool, as it is written; empty where none is, so that nothing is called.
    pub tool: String,
    pub tool_span: Span,
    pub arguments: Vec<(String, Value)>,
    /// The steps that it waits for beside those that it reads.
    pub after: Vec<usize>,
    /// What has to hold for it.
    pub when: Option<Expr>,
    /// What the step is for.
    pub doc: Option<String>,
}

/// What the plan gives.
pub enum Answer {
    /// What the step gives that comes last.
    Last,
    /// What all steps give.
    All,
    Value(Value),
}

/// The calls of a document.
pub struct Listing {
    pub doc: Option<String>,
    pub calls: Vec<Call>,
    pub answer: Answer,
    /// Whether calls wait only for what they need.
    pub is_parallel: bool,
    /// Whether the rest goes on where a step fails.
    pub settles: bool,
}

impl Listing {
    /// The plan that makes these calls.
    pub fn file(mut self, plan: &str, draft: &mut Draft<'_>) -> File {
        let tools: Vec<(String, String)> =
            self.calls.iter().map(|call| tool(call, draft)).collect();
        tools
            .iter()
            .for_each(|(namespace, _)| draft.reserve(namespace));
        let names = self
            .calls
            .iter()
            .map(|call| draft.name_of(&call.id, call.span, "step"));
        let names: Vec<String> = names.collect();
        let needs: Vec<Vec<usize>> = self.calls.iter().map(needed).collect();
        let Order { order, cycles } = ordered(&needs);
        for cycle in &cycles {
            self.cut(cycle, draft);
        }
        let mut done = vec![false; self.calls.len()];
        let (mut body, mut steps) = (Vec::new(), Vec::new());
        if self.settles {
            let policy = tree::object(vec![("on_failure".to_owned(), tree::variable("settle"))]);
            body.push(tree::statement(StatementKind::Policy(policy)));
        }
        for number in &order {
            let (Some(call), Some(name), Some(tool)) = (
                self.calls.get(*number),
                names.get(*number),
                tools.get(*number),
            ) else {
                continue;
            };
            steps.push(self.step(call, name, tool, &names, &done, draft));
            if let Some(done) = done.get_mut(*number) {
                *done = true;
            }
        }
        let count = steps.len();
        if self.is_parallel && count > 1 {
            body.push(tree::statement(StatementKind::Parallel(tree::block(steps))));
        } else {
            body.append(&mut steps);
        }
        let given = |step: &usize| names.get(*step).map(|name| tree::variable(name));
        let is_done = |step: &&usize| done.get(**step) == Some(&true);
        let reply = match &self.answer {
            Answer::Last => order.iter().rfind(|step| is_done(step)).and_then(given),
            Answer::All => Some(tree::list(
                (0..names.len())
                    .filter(|step| is_done(&step))
                    .filter_map(|step| given(&step))
                    .collect(),
            )),
            Answer::Value(value) => Some(lowered(value, &names, &done, draft)),
        };
        body.push(tree::reply(reply.unwrap_or_else(tree::null)));
        let made = Made {
            doc: self.doc,
            parameters: Vec::new(),
            returns: Some(tree::type_named("any")),
            body,
        };
        draft.file(plan, made)
    }

    /// Tells a circle, and keeps the call that closes it from being made.
    fn cut(&mut self, cycle: &[usize], draft: &mut Draft<'_>) {
        let ids = cycle
            .iter()
            .filter_map(|step| Some(self.calls.get(*step)?.id.as_str()));
        let path = ids.collect::<Vec<_>>().join(" -> ");
        let last = cycle
            .len()
            .checked_sub(2)
            .and_then(|place| cycle.get(place))
            .copied();
        let Some(call) = last.and_then(|last| self.calls.get_mut(last)) else {
            return;
        };
        let why = "each of these waits for the next; take one of the dependencies away";
        let hole = draft.hole(call.span, format!("the cycle {path}"), why);
        call.when.get_or_insert(hole);
    }

    fn step(
        &self,
        call: &Call,
        name: &str,
        (namespace, tool): &(String, String),
        names: &[String],
        done: &[bool],
        draft: &mut Draft<'_>,
    ) -> Statement {
        let mut arguments = Vec::new();
        for (key, value) in &call.arguments {
            let value = lowered(value, names, done, draft);
            if !crate::draft::is_writable(key) {
                let why = "no argument can be called so";
                draft.report.add(
                    Fate::NotCarried,
                    call.span,
                    format!("an argument of step `{}`", call.id),
                    why,
                );
                continue;
            }
            arguments.push((key.clone(), value));
        }
        let mut read = Vec::new();
        call.arguments
            .iter()
            .for_each(|(_, value)| value.reads(&mut read));
        let is_open = |step: &&usize| !read.contains(step) && done.get(**step) == Some(&true);
        let after: Vec<usize> = call.after.iter().filter(is_open).copied().collect();
        let mut clauses: Vec<ClauseKind> = call
            .when
            .clone()
            .map(ClauseKind::When)
            .into_iter()
            .collect();
        if !after.is_empty() {
            // What stands in `after` takes the place of the place on the page: what is read is waited for anyway.
            let named = after.iter().filter_map(|step| names.get(*step));
            clauses.push(ClauseKind::After(
                named.map(|name| tree::name(name)).collect(),
            ));
            if !self.is_parallel {
                let why = "waits for what it depends on, and for no other step";
                draft.report.add(
                    Fate::Changed,
                    call.span,
                    format!("the place of step `{}`", call.id),
                    why,
                );
            }
        }
        let what = format!("step `{}`", call.id);
        draft.report.add(
            Fate::Carried,
            call.span,
            what,
            format!("`{name}`, a call of `{namespace}.{tool}`"),
        );
        let called = draft.call(
            namespace,
            tool,
            arguments,
            &std::collections::BTreeSet::new(),
        );
        let mut step = tree::step(name, StepBody::Call(called), clauses);
        let doc = call.doc.as_deref().map(crate::draft::one_line);
        step.doc = doc.filter(|doc| !doc.is_empty()).map(Into::into);
        step
    }
}

fn needed(call: &Call) -> Vec<usize> {
    let mut needed = call.after.clone();
    call.arguments
        .iter()
        .for_each(|(_, value)| value.reads(&mut needed));
    needed.sort_unstable();
    needed.dedup();
    needed
}

fn lowered(value: &Value, names: &[String], done: &[bool], draft: &mut Draft<'_>) -> Expr {
    match value {
        Value::Plain(expression) => expression.clone(),
        Value::Read {
            step,
            path,
            span,
            written,
        } => {
            let Some(name) = names.get(*step).filter(|_| done.get(*step) == Some(&true)) else {
                let why = "what it reads comes in a circle, or not at all";
                return draft.hole(
                    *span,
                    format!("the reference `{}`", crate::draft::excerpt(written)),
                    why,
                );
            };
            path.iter().fold(tree::variable(name), |value, part| {
                match part.parse::<i64>() {
                    Ok(number) if number >= 0 => tree::index(value, tree::int(number)),
                    _ => tree::field(value, part),
                }
            })
        }
        Value::List(values) => tree::list(
            values
                .iter()
                .map(|value| lowered(value, names, done, draft))
                .collect(),
        ),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (key.clone(), lowered(value, names, done, draft)));
            tree::object(fields.collect())
        }
        Value::Text(parts) => {
            let parts = parts.iter().map(|part| match part {
                Value::Plain(plain) => match &plain.kind {
                    planrun_lang::syntax::ast::ExprKind::Literal(
                        planrun_lang::syntax::ast::Literal::String(text),
                    ) => TemplatePart::Text(text.clone()),
                    _ => TemplatePart::Expr(plain.clone()),
                },
                // A text takes texts, numbers and truth values; anything becomes JSON.
                other => TemplatePart::Expr(tree::function(
                    "json",
                    vec![lowered(other, names, done, draft)],
                )),
            });
            tree::template(parts.collect())
        }
        Value::Lost { span, written, why } => draft.hole(
            *span,
            format!("the reference `{}`", crate::draft::excerpt(written)),
            why,
        ),
    }
}

/// The tool that is meant: one of the project where one is called so, else one that the plan declares.
fn tool(call: &Call, draft: &mut Draft<'_>) -> (String, String) {
    let written = call.tool.as_str();
    let placed = written.split_once('.').or_else(|| written.split_once("__"));
    if let Some((namespace, name)) = placed
        && draft.signature(namespace, name).is_some()
    {
        return (namespace.to_owned(), name.to_owned());
    }
    let what = format!("the tool `{}`", crate::draft::excerpt(written));
    let mut found = draft.tools_named(written);
    if found.len() > 1 {
        let all: Vec<String> = found
            .iter()
            .map(|(namespace, name)| format!("`{namespace}.{name}`"))
            .collect();
        let why = format!(
            "several tools of the project are called so: {}; say which one",
            all.join(", ")
        );
        draft
            .report
            .add(Fate::NotCarried, call.tool_span, what, why);
        return (TOOLS.to_owned(), identifier(written));
    }
    if let Some(found) = found.pop() {
        return found;
    }
    if let Some(near) = draft.near_tool(written) {
        draft.report.add(
            Fate::Changed,
            call.tool_span,
            what,
            format!("is no tool of the project; did you mean `{near}`?"),
        );
    }
    match placed {
        Some((namespace, name)) => (identifier(namespace), identifier(name)),
        None => (TOOLS.to_owned(), identifier(written)),
    }
}
