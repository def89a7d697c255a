//! The text in a drawing: excerpts of the plan's source, each on one line.

use crate::value::{counted, shortened};
use std::fmt::Write;
use std::time::Duration;

use crate::graph::draw::NodeKind as Shape;
use crate::sema::expr::{CheckedExpr, Matcher};
use crate::sema::{
    Block, BlockId, Call, Listener, Node, NodeKind, OnFailure, Plan, Recover, Step, StepKind,
    Target, Verify, Wait,
};
use crate::source::Span;
use crate::syntax::json;

/// Maximum length of a text in characters.
const MAX_CHARACTERS: usize = 200;

/// The text of one plan.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub plan: &'a Plan,
}

impl Words<'_> {
    /// Returns the source text of a span. Empty for a plan in JSON form, whose source text is not suitable for a
    /// drawing.
    fn written(self, span: Span) -> String {
        if json::is_json(&self.plan.source) {
            String::new()
        } else {
            one_line(self.plan.source.slice(span))
        }
    }

    pub fn code(self, code: &CheckedExpr) -> String {
        self.written(code.span)
    }

    /// Returns the shape, name and work of a statement.
    pub fn of(self, node: &Node) -> (Shape, String, String) {
        let name = || {
            node.name
                .as_ref()
                .map_or_else(String::new, ToString::to_string)
        };
        let (shape, label, detail) = match &node.kind {
            NodeKind::Condition(code) => (Shape::If, "if".to_owned(), self.code(code)),
            NodeKind::Step(step) => (shape(step), name(), self.work(step)),
            NodeKind::Let(_) => (Shape::Let, format!("let {}", name()), String::new()),
            NodeKind::Ensure { condition, .. } => {
                (Shape::Ensure, "ensure".to_owned(), self.code(condition))
            }
            NodeKind::Fail(failing) => (
                Shape::Fail,
                format!("fail {}", failing.class),
                String::new(),
            ),
            NodeKind::Reply(_) => (Shape::Reply, "reply".to_owned(), String::new()),
            NodeKind::Yield(code) => (Shape::Yield, "yield".to_owned(), self.code(code)),
            NodeKind::Next(code) => (Shape::Next, "next".to_owned(), self.code(code)),
            NodeKind::Task(id) => (
                Shape::Task,
                format!("task {}", name()),
                self.plan.task(*id).title.to_string(),
            ),
            NodeKind::Set(set) => {
                let task = self.plan.task(set.task);
                (
                    Shape::Set,
                    format!("set {} {}", task.name, task.status_name(set.status)),
                    String::new(),
                )
            }
            NodeKind::Listener(listener) => (
                Shape::Listener,
                format!("listener {}", name()),
                format!("on {}", self.written(listener.on.span)),
            ),
        };
        (shape, label, one_line(&detail))
    }

    fn work(self, step: &Step) -> String {
        match &step.kind {
            StepKind::Call(call) => call.written(),
            StepKind::Do(_) => "do".to_owned(),
            StepKind::Each(each) => format!("each of {}", self.code(&each.list)),
            StepKind::Repeat(repeat) => format!("repeat from {}", self.code(&repeat.initial)),
            StepKind::Race(_) => "race".to_owned(),
            StepKind::Match { subject, .. } => format!("match {}", self.code(subject)),
            StepKind::Input(input) => format!("input {}", self.code(&input.prompt)),
            StepKind::Wait(wait) => match &**wait {
                Wait::For(code) => format!("wait {}", self.code(code)),
                Wait::Until(code) => format!("wait until {}", self.code(code)),
                Wait::Event { on, .. } => format!("wait for {}", self.written(on.span)),
            },
            StepKind::Damaged => String::new(),
        }
    }

    /// Returns the clauses of a statement, one per entry.
    pub fn marks(self, block: &Block, node: &Node, when: Option<&CheckedExpr>) -> Vec<String> {
        let mut marks: Vec<String> = when
            .map(|when| format!("when {}", self.code(when)))
            .into_iter()
            .collect();
        if !node.after.is_empty() {
            let mut names: Vec<&str> = node
                .after
                .iter()
                .filter_map(|after| block.node(after.node).name.as_deref())
                .collect();
            names.dedup();
            marks.push(format!("after {}", names.join(", ")));
        }
        if let Some(step) = node.step() {
            self.clauses(step, &mut marks);
        } else if let Some(listener) = node.listener() {
            self.bounds(listener, &mut marks);
        }
        marks.retain(|mark| !mark.is_empty());
        marks
    }

    fn bounds(self, listener: &Listener, marks: &mut Vec<String>) {
        marks.extend(
            listener
                .when
                .as_ref()
                .map(|when| format!("when {}", self.code(when))),
        );
        marks.extend(
            listener
                .max
                .as_ref()
                .map(|max| format!("max {}", self.code(max))),
        );
    }

    fn clauses(self, step: &Step, marks: &mut Vec<String>) {
        match &step.kind {
            StepKind::Each(each) => {
                marks.extend(
                    each.max
                        .as_ref()
                        .map(|max| format!("max {}", self.code(max))),
                );
                marks.extend(
                    each.parallel
                        .as_ref()
                        .map(|width| format!("parallel {}", self.code(width))),
                );
                marks.extend(each.by.as_ref().map(|by| format!("by {}", self.code(by))));
                marks.extend(each.settle.then(|| "settle".to_owned()));
            }
            StepKind::Repeat(repeat) => marks.extend(
                repeat
                    .max
                    .as_ref()
                    .map(|max| format!("max {}", self.code(max))),
            ),
            StepKind::Input(input) => {
                marks.extend(input.by.as_ref().map(|by| format!("by {}", self.code(by))));
            }
            StepKind::Call(_)
            | StepKind::Do(_)
            | StepKind::Race(_)
            | StepKind::Match { .. }
            | StepKind::Wait(_)
            | StepKind::Damaged => {}
        }
        for (word, span) in &step.places {
            match *word {
                // Described from the checked plan, elsewhere or below, because the source text would be that of a whole
                // block.
                "when" | "after" | "by" | "recover" | "undo" | "verify" => {}
                _ => marks.push(self.written(*span)),
            }
        }
        marks.extend(step.verify().map(|verify| self.verify_mark(verify)));
        marks.extend(step.recover.iter().filter_map(|arm| {
            self.short(arm.body)
                .map(|what| format!("recover{} => {what}", classes(arm)))
        }));
        marks.extend(
            step.undo()
                .and_then(|undo| self.short(undo.body))
                .map(|what| format!("undo {what}")),
        );
    }

    fn verify_mark(self, verify: &Verify) -> String {
        let mut nodes = self.plan.block(verify.body).nodes.iter();
        let work = nodes.find_map(|node| node.step().map(|step| self.work(step)));
        format!("verify {}", work.unwrap_or_default())
    }

    /// Describes a block that is a single call, value or end, and so needs no frame. `None` for any other block.
    pub fn short(self, id: BlockId) -> Option<String> {
        let block = self.plan.block(id);
        let (first, rest) = block.nodes.split_first()?;
        match &first.kind {
            NodeKind::Yield(code) if rest.is_empty() => Some(self.code(code)),
            NodeKind::Fail(failing) if rest.is_empty() => Some(format!("fail {}", failing.class)),
            // The body of a `do` has a label, and its only step has a name of its own.
            NodeKind::Step(step) if block.label.is_none() && step.bodies().next().is_none() => rest
                .iter()
                .all(|node| matches!(node.kind, NodeKind::Yield(_)))
                .then(|| self.work(step)),
            NodeKind::Step(_)
            | NodeKind::Yield(_)
            | NodeKind::Fail(_)
            | NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Reply(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_)
            | NodeKind::Listener(_) => None,
        }
    }

    /// Describes the policy of the whole plan.
    pub fn policy(self) -> Vec<String> {
        let policy = &self.plan.policy;
        let budget = &policy.budget;
        let length = |word: &str, length: Option<Duration>| {
            length.map(|length| format!("{word} {}", duration(length)))
        };
        let marks = [
            length("deadline", policy.deadline),
            length("timeout", policy.timeout),
            policy
                .retry
                .attempts
                .map(|attempts| format!("retry {attempts}")),
            policy
                .on_failure
                .map(|on_failure| format!("on_failure {}", on_failure_word(on_failure))),
            policy.agents_verify.map(|_| "verify agents".to_owned()),
            budget
                .calls
                .map(|calls| format!("budget {}", counted(calls, "call"))),
            budget
                .tokens
                .map(|tokens| format!("budget {}", counted(tokens, "token"))),
            budget.cost.map(|cost| format!("budget cost {cost}")),
            length("budget time", budget.time),
            budget
                .memory
                .map(|bytes| format!("budget {}", counted(bytes, "byte"))),
        ];
        marks.into_iter().flatten().collect()
    }
}

/// Returns the classes that an arm catches, each with a leading space.
pub(super) fn classes(arm: &Recover) -> String {
    let mut text = String::new();
    for (index, pattern) in arm.patterns.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {pattern}", if index == 0 { "" } else { "," });
    }
    text
}

/// Returns the pattern of a `match` arm as it is written.
pub(super) fn pattern(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Any => "_".to_owned(),
        Matcher::Value(value) => value.to_string(),
        Matcher::Or(parts) => parts.iter().map(pattern).collect::<Vec<_>>().join(" | "),
        Matcher::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, inner)| format!("{key}: {}", pattern(inner)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Matcher::Declared(_, inner) => pattern(inner),
    }
}

fn shape(step: &Step) -> Shape {
    match &step.kind {
        StepKind::Call(Call {
            target: Target::Tool(signature),
            ..
        }) if signature.kind.word().is_some() => Shape::Ask,
        StepKind::Call(Call {
            target: Target::Tool(_),
            ..
        })
        | StepKind::Damaged => Shape::Step,
        StepKind::Call(Call {
            target: Target::Plan(..),
            ..
        }) => Shape::Plan,
        StepKind::Do(_) => Shape::Do,
        StepKind::Each(_) => Shape::Each,
        StepKind::Repeat(_) => Shape::Repeat,
        StepKind::Race(_) => Shape::Race,
        StepKind::Match { .. } => Shape::Match,
        StepKind::Input(_) => Shape::Input,
        StepKind::Wait(_) => Shape::Wait,
    }
}

const fn on_failure_word(on_failure: OnFailure) -> &'static str {
    match on_failure {
        OnFailure::Undo => "undo",
        OnFailure::Pause => "pause",
        OnFailure::Settle => "settle",
    }
}

/// Puts text on one line and limits its length. For a list written over several lines, removes spaces and commas that
/// only that layout needs.
fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or("").to_owned();
    for word in words {
        let opened = line.ends_with(['(', '[']);
        let closes = word.starts_with([')', ']', '}']) && line.ends_with(',');
        if closes {
            line.pop();
        }
        if !opened && !(word.starts_with([')', ']']) && (closes || line.ends_with([')', ']', '}'])))
        {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 8 * MAX_CHARACTERS {
            break;
        }
    }
    shortened(&line, MAX_CHARACTERS)
}

/// Formats a duration as in a plan, in the largest unit that is exact.
fn duration(length: Duration) -> String {
    let millis = length.as_millis();
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1000, "s"),
    ];
    let exact = units
        .into_iter()
        .find(|(unit, _)| millis > 0 && millis.is_multiple_of(*unit));
    let (unit, word) = exact.unwrap_or((1, "ms"));
    format!("{}{word}", millis / unit)
}
