//! Lists of calls with references between them: payloads, step arrays, tool calls of models, numbered plans.

mod literals;
mod model;
pub mod numbered;
pub mod openai;
mod order;
pub mod payload;
pub mod sage;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    self, ClauseKind, Expr, ExprKind, File, Name, Statement, StatementKind, StepBody, TemplatePart,
};
use planrun_lang::types::{Literal, Type};
use planrun_lang::yaml::{Content, Node};

use crate::control_flow::inputs::INPUT;
use crate::document::Refused;
use crate::draft::{Draft, Made, excerpt, identifier, is_writable, one_line};
use crate::expression::quote::plan;
use crate::tree;
pub use model::documents as documents_in_prose;
use order::{Order, ordered};

/// The namespace of tools that are not in the project and have no namespace in the document.
const TOOLS: &str = "tools";

/// The tool of a call whose tool cannot be read.
const UNKNOWN: &str = "unknown";

/// The most calls of a document.
const MAX_CALLS: usize = 2000;

/// A value in the arguments of a call.
#[derive(Clone, Debug)]
pub enum Value {
    Plain(Expr),
    /// A part of the output of another step.
    Read {
        step: usize,
        path: Vec<String>,
        span: Span,
        written: String,
    },
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
    /// A text with outputs of other steps in it.
    Text(Vec<Value>),
    /// An invalid reference, with the reason.
    Lost {
        span: Span,
        written: String,
        why: String,
    },
}

impl Value {
    /// Converts a value of a document. `read` parses texts that may be references.
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

    /// Adds the steps that it reads to `found`.
    fn reads(&self, found: &mut Vec<usize>) {
        match self {
            Self::Read { step, .. } => found.push(*step),
            Self::List(values) | Self::Text(values) => {
                for value in values {
                    value.reads(found);
                }
            }
            Self::Object(fields) => {
                for (_, value) in fields {
                    value.reads(found);
                }
            }
            Self::Plain(_) | Self::Lost { .. } => {}
        }
    }
}

/// A call of the document.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id of the step in the document.
    pub id: String,
    pub span: Span,
    /// The tool as written; empty if there is none, so that nothing is called.
    pub tool: String,
    pub tool_span: Span,
    pub arguments: Vec<(String, Value)>,
    /// The steps that it waits for, in addition to those that it reads.
    pub after: Vec<usize>,
    /// Its guard.
    pub when: Option<Expr>,
    /// Documentation of the step.
    pub doc: Option<String>,
    /// The round of a conversation in which it was made. Calls of one round do not wait for each other.
    pub round: Option<usize>,
}

impl Call {
    /// Returns a call that cannot be read, or whose arguments cannot. A hole is its argument, so that the plan does not
    /// run without them.
    fn unread(id: &str, span: Span, tool: Option<&str>, hole: Expr) -> Self {
        Self {
            id: id.to_owned(),
            span,
            tool: tool.unwrap_or(UNKNOWN).to_owned(),
            tool_span: span,
            arguments: vec![(INPUT.to_owned(), Value::Plain(hole))],
            after: Vec::new(),
            when: None,
            doc: None,
            round: None,
        }
    }
}

/// The reply of the plan.
pub enum Answer {
    /// The output of the last step.
    Last,
    /// The outputs of all steps.
    All,
    Value(Value),
}

/// The calls of a document.
pub struct Listing {
    pub doc: Option<String>,
    pub calls: Vec<Call>,
    pub answer: Answer,
    /// Whether all calls wait only for what they depend on.
    pub is_parallel: bool,
    /// Whether other steps continue after a step fails.
    pub settles: bool,
}

impl Listing {
    /// Returns the plan that makes these calls. Returns an error if there are more than [`MAX_CALLS`] calls.
    pub fn file(mut self, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
        if self.calls.len() > MAX_CALLS {
            let count = self.calls.len();
            let message =
                format!("the plan has {count} calls, but at most {MAX_CALLS} are supported");
            let help = "split it into several plans";
            return Err(Refused::new(Span::at(0), message, help));
        }
        let tools: Vec<(String, String)> =
            self.calls.iter().map(|call| tool(call, draft)).collect();
        self.report(&tools, draft);
        for (namespace, _) in &tools {
            draft.reserve(namespace);
        }
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
            let policy = tree::object([("on_failure", tree::variable("settle"))]);
            body.push(tree::statement(StatementKind::Policy(policy)));
        }
        for number in &order {
            let parts = (
                self.calls.get(*number),
                names.get(*number),
                tools.get(*number),
            );
            let (Some(call), Some(name), Some(tool)) = parts else {
                continue;
            };
            if call.tool.is_empty() {
                continue;
            }
            let before = Steps::new(&names, &tools, &done);
            let step = self.step(call, name, tool, before, draft);
            steps.push((call.round, step));
            done.get_mut(*number)
                .into_iter()
                .for_each(|done| *done = true);
        }
        body.extend(self.arranged(steps));
        let steps = Steps::new(&names, &tools, &done);
        body.push(tree::reply(self.reply(&order, steps, draft)));
        let made = Made {
            doc: self.doc,
            parameters: Vec::new(),
            returns: Some(tree::type_named("any")),
            body,
        };
        Ok(draft.file(plan, made))
    }

    /// Reports a document without calls, and tools of the document that are one tool in the plan.
    fn report(&self, tools: &[(String, String)], draft: &mut Draft<'_>) {
        if self.calls.is_empty() && !matches!(self.answer, Answer::Value(_)) {
            draft.lost(Span::at(0), "the document", "contains no calls");
        }
        let mut known: BTreeMap<&(String, String), &str> = BTreeMap::new();
        for (call, tool) in self.calls.iter().zip(tools) {
            let written = call.tool.as_str();
            let first = *known.entry(tool).or_insert(written);
            let is_in_project = draft.signature(&tool.0, &tool.1).is_some();
            if first != written && !is_in_project {
                let what = format!("the tool `{}`", excerpt(written));
                let path = format!("{}.{}", tool.0, tool.1);
                let first = excerpt(first);
                let why = format!("is `{path}` in the plan, as is `{first}`: rename one of them");
                draft.lost(call.tool_span, what, why);
            }
        }
    }

    /// Returns the statements for steps, each given with its round.
    fn arranged(&self, steps: Vec<(Option<usize>, Statement)>) -> Vec<Statement> {
        let side_by_side = |mut steps: Vec<Statement>| match steps.len() {
            0 | 1 => steps.pop(),
            _ => Some(tree::statement(StatementKind::Parallel(tree::block(steps)))),
        };
        if self.is_parallel {
            let steps = steps.into_iter().map(|(_, step)| step);
            return side_by_side(steps.collect()).into_iter().collect();
        }
        let mut rounds: Vec<(Option<usize>, Vec<Statement>)> = Vec::new();
        for (round, step) in steps {
            match rounds.last_mut() {
                Some((last, steps)) if round.is_some() && *last == round => steps.push(step),
                _ => rounds.push((round, vec![step])),
            }
        }
        let rounds = rounds.into_iter();
        rounds
            .filter_map(|(_, steps)| side_by_side(steps))
            .collect()
    }

    fn reply(&self, order: &[usize], steps: Steps<'_>, draft: &mut Draft<'_>) -> Expr {
        let Steps { names, done, .. } = steps;
        let given = |step: &usize| names.get(*step).map(|name| tree::variable(name));
        let is_done = |step: &&usize| done.get(**step) == Some(&true);
        match &self.answer {
            Answer::Last => order
                .iter()
                .rfind(is_done)
                .and_then(given)
                .unwrap_or_else(tree::null),
            Answer::All => {
                let mut steps: Vec<usize> = order.iter().filter(is_done).copied().collect();
                steps.sort_unstable();
                tree::list(steps.iter().filter_map(given).collect())
            }
            Answer::Value(value) => lowered(value, steps, draft),
        }
    }

    /// Reports a cycle, and guards the call that closes it with a hole.
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
        let why = "each of these waits for the next: remove one of the dependencies";
        let hole = draft.hole(call.span, format!("the cycle {path}"), why);
        call.when.get_or_insert(hole);
    }

    fn step(
        &self,
        call: &Call,
        name: &str,
        (namespace, tool): &(String, String),
        before: Steps<'_>,
        draft: &mut Draft<'_>,
    ) -> Statement {
        let Steps { names, done, .. } = before;
        let mut arguments = Vec::new();
        for (key, value) in &call.arguments {
            let value = lowered(value, before, draft);
            if is_writable(key) {
                arguments.push((key.clone(), value));
            } else {
                let what = format!("the argument `{}` of step `{}`", excerpt(key), call.id);
                draft.lost(call.span, what, "this is not a valid name of an argument");
            }
        }
        let mut clauses: Vec<ClauseKind> = call
            .when
            .clone()
            .map(ClauseKind::When)
            .into_iter()
            .collect();
        let mut read = Vec::new();
        call.arguments
            .iter()
            .for_each(|(_, value)| value.reads(&mut read));
        // A step waits for the steps that it reads anyway.
        let is_open = |step: &&usize| !read.contains(step) && done.get(**step) == Some(&true);
        let after = call
            .after
            .iter()
            .filter(is_open)
            .filter_map(|step| names.get(*step));
        let after: Vec<Name> = after.map(|name| tree::name(name)).collect();
        if !after.is_empty() {
            clauses.push(ClauseKind::After(after));
            if !self.is_parallel {
                let what = format!("the place of step `{}`", call.id);
                draft.changed(call.span, what, "waits only for its dependencies");
            }
        }
        let why = format!("`{name}`, a call of `{namespace}.{tool}`");
        draft.carried(call.span, format!("step `{}`", call.id), why);
        let called = draft.call(namespace, tool, arguments, &BTreeSet::new());
        let mut step = tree::step(name, StepBody::Call(called), clauses);
        let doc = call.doc.as_deref().map(one_line);
        step.doc = doc.filter(|doc| !doc.is_empty()).map(Into::into);
        step
    }
}

/// The steps of a plan that is being written.
#[derive(Clone, Copy)]
struct Steps<'s> {
    names: &'s [String],
    tools: &'s [(String, String)],
    /// Which of them are already in the plan.
    done: &'s [bool],
}

impl<'s> Steps<'s> {
    fn new(names: &'s [String], tools: &'s [(String, String)], done: &'s [bool]) -> Self {
        Self { names, tools, done }
    }
}

/// Returns a value in a text: a string as it is, anything else as JSON. `ty` is its type.
fn as_text(value: &Expr, ty: &Type) -> Expr {
    match is_text(ty) {
        _ if matches!(ty, Type::Any | Type::Invalid) => {
            plan!("type(value) == string ? string(value) : json(value)", value)
        }
        Some(true) => value.clone(),
        Some(false) | None => plan!("json(value)", value),
    }
}

/// Returns whether the values of a type are texts; `None` if only some are.
fn is_text(ty: &Type) -> Option<bool> {
    let Type::Union(members) = ty else {
        return Some(matches!(
            ty,
            Type::String | Type::Literal(Literal::String(_))
        ));
    };
    let mut members = members.iter().map(is_text);
    let first = members.next()?;
    members.all(|member| member == first).then_some(first?)
}

/// Returns the type of the output of a step as far as it is known.
fn type_of(value: &Value, steps: Steps<'_>, draft: &Draft<'_>) -> Type {
    let Value::Read { step, path, .. } = value else {
        return Type::Any;
    };
    let tool = steps.tools.get(*step).filter(|_| path.is_empty());
    let known = tool.and_then(|(namespace, tool)| draft.signature(namespace, tool));
    known.map_or(Type::Any, |known| known.returns.clone())
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

fn lowered(value: &Value, steps: Steps<'_>, draft: &mut Draft<'_>) -> Expr {
    let Steps { names, done, .. } = steps;
    match value {
        Value::Plain(expression) => expression.clone(),
        Value::Read {
            step,
            path,
            span,
            written,
        } => {
            let Some(name) = names.get(*step).filter(|_| done.get(*step) == Some(&true)) else {
                let why = "the step that it reads is part of a cycle, or is missing";
                return draft.hole(*span, format!("the reference `{}`", excerpt(written)), why);
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
                .map(|value| lowered(value, steps, draft))
                .collect(),
        ),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (key.clone(), lowered(value, steps, draft)));
            tree::object(fields)
        }
        Value::Text(parts) => {
            let parts = parts.iter().map(|part| part_of_text(part, steps, draft));
            tree::template(parts.collect())
        }
        Value::Lost { span, written, why } => {
            draft.hole(*span, format!("the reference `{}`", excerpt(written)), why)
        }
    }
}

fn part_of_text(part: &Value, steps: Steps<'_>, draft: &mut Draft<'_>) -> TemplatePart {
    if let Value::Plain(plain) = part {
        return match &plain.kind {
            ExprKind::Literal(ast::Literal::String(text)) => TemplatePart::Text(text.clone()),
            _ => TemplatePart::Expr(plain.clone()),
        };
    }
    let value = lowered(part, steps, draft);
    if matches!(part, Value::Lost { .. }) {
        return TemplatePart::Expr(tree::function("json", vec![value]));
    }
    let ty = type_of(part, steps, draft);
    if let (Value::Read { span, written, .. }, None) = (part, is_text(&ty)) {
        let what = format!("the reference `{}`", excerpt(written));
        draft.changed(*span, what, "is written as JSON, so a text is in quotes");
    }
    // A template takes only strings, numbers and booleans, but an output may be any value.
    TemplatePart::Expr(as_text(&value, &ty))
}

/// Resolves the tool of a call: a tool of the project if there is one, else one that the plan declares.
fn tool(call: &Call, draft: &mut Draft<'_>) -> (String, String) {
    let written = call.tool.as_str();
    if written.is_empty() {
        return (TOOLS.to_owned(), String::new());
    }
    let placed = written.split_once('.').or_else(|| written.split_once("__"));
    if let Some((namespace, name)) = placed
        && draft.signature(namespace, name).is_some()
    {
        return (namespace.to_owned(), name.to_owned());
    }
    let what = format!("the tool `{}`", excerpt(written));
    let mut found = draft.tools_named(written);
    if found.len() > 1 {
        let all: Vec<String> = found
            .iter()
            .map(|(namespace, name)| format!("`{namespace}.{name}`"))
            .collect();
        let why = format!(
            "several tools of the project have this name: {}; specify one",
            all.join(", ")
        );
        draft.lost(call.tool_span, what, why);
        return (TOOLS.to_owned(), identifier(written));
    }
    if let Some(found) = found.pop() {
        return found;
    }
    if let Some(near) = draft.near_tool(written) {
        draft.changed(
            call.tool_span,
            what,
            format!("is not a tool of the project; did you mean `{near}`?"),
        );
    }
    match placed {
        Some((namespace, name)) => (identifier(namespace), identifier(name)),
        None => (TOOLS.to_owned(), identifier(written)),
    }
}
