//! Outputs of listeners: the status and the context of a task, with placeholders for results and contexts.

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, Statement, TemplatePart};
use planrun_lang::yaml::{Content, Node};

use super::{Importer, set};
use crate::document::entries;
use crate::draft::{excerpt, is_writable};
use crate::tree;

/// The value of `{{result.x}}`.
pub enum Given {
    /// The output of a step.
    Step(Expr),
    /// The message of an error.
    Error(Expr),
    /// The listener calls nothing, so there is no result.
    Nothing,
}

impl Importer<'_, '_> {
    /// Returns the `set` statement of an output; `None` if it has no valid [target](Self::target).
    pub fn output(&mut self, node: &Node, given: &Given) -> Option<Statement> {
        let (id, status) = self.target(node)?;
        let name = self.tasks.get(&id)?.name.clone();
        let mut context = Vec::new();
        for entry in entries(node, "context")
            .iter()
            .filter(|entry| is_writable(&entry.name))
        {
            let value = self.templated(&entry.value, given);
            context.push((entry.name.clone(), value));
        }
        Some(set(&name, status, context))
    }

    /// Returns the task and the status of an output; `None` if it names none, or if one of them does not exist, which
    /// is reported.
    pub fn target(&mut self, node: &Node) -> Option<(String, &'static str)> {
        let id = node.get("task_id")?;
        let written = id.scalar()?;
        let written = self
            .text
            .get(id.span.range())
            .filter(|_| id.text().is_none())
            .map_or(written, |text| text.trim().to_owned());
        if !self.tasks.contains_key(&written) {
            self.unknown_task(&written, id.span);
            return None;
        }
        let status = node.get("status")?;
        let own = self.status(&status.scalar()?, status.span)?;
        Some((written, own))
    }

    /// Reports the unknown keys of an output, and records the fields that it sets on its task.
    pub fn note_output(&mut self, node: &Node) {
        self.draft
            .report_keys(node, "an output", "task_id status context", &[]);
        let Some((id, status)) = self.target(node) else {
            return;
        };
        let Some(task) = self.tasks.get_mut(&id) else {
            return;
        };
        task.is_set = true;
        task.statuses.insert(status);
        for entry in entries(node, "context") {
            if is_writable(&entry.name) {
                task.fields.insert(entry.name.clone());
                continue;
            }
            let what = format!("the field `{}` of a context", excerpt(&entry.name));
            let why = "this is not a valid name of a field";
            self.draft.lost(entry.span, what, why);
        }
    }

    fn templated(&mut self, node: &Node, given: &Given) -> Expr {
        match &node.content {
            Content::Text(text) => self.text_of(text, node.span, given),
            Content::List(items) => {
                let items = items.iter().map(|item| self.templated(item, given));
                tree::list(items.collect())
            }
            Content::Map(entries) => {
                let fields = entries.iter();
                tree::object(fields.map(|entry| (&entry.name, self.templated(&entry.value, given))))
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => tree::constant(node),
        }
    }

    /// Translates a text with placeholders such as `{{result.x}}` and `{002.context.y}`. A text that is a single
    /// placeholder keeps its type.
    fn text_of(&mut self, text: &str, span: Span, given: &Given) -> Expr {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let inner = rest.get(open..).unwrap_or("");
            let (inside, length) = match (inner.strip_prefix("{{"), inner.strip_prefix('{')) {
                (Some(double), _) => (double.split_once("}}").map(|(inside, _)| inside), 4),
                (None, Some(single)) => (single.split_once('}').map(|(inside, _)| inside), 2),
                (None, None) => (None, 0),
            };
            let read = inside.and_then(|inside| self.placeholder(inside.trim(), span, given));
            let (Some(inside), Some(value)) = (inside, read) else {
                let end = open + 1;
                parts.push(TemplatePart::Text(rest.get(..end).unwrap_or("").into()));
                rest = rest.get(end..).unwrap_or("");
                continue;
            };
            parts.push(TemplatePart::Text(rest.get(..open).unwrap_or("").into()));
            parts.push(TemplatePart::Expr(value));
            rest = rest.get(open + length + inside.len()..).unwrap_or("");
        }
        parts.push(TemplatePart::Text(rest.into()));
        parts.retain(|part| !matches!(part, TemplatePart::Text(plain) if plain.is_empty()));
        match (parts.len(), parts.pop()) {
            (1, Some(TemplatePart::Expr(value))) => value,
            (_, Some(last)) => {
                parts.push(last);
                tree::template(parts)
            }
            (_, None) => tree::text(""),
        }
    }

    /// Translates the text between the braces; `None` if it is not a placeholder or names an unknown task (which is
    /// reported), so that it stays unchanged.
    fn placeholder(&mut self, inside: &str, span: Span, given: &Given) -> Option<Expr> {
        let mut parts = inside.split('.');
        let first = parts.next()?;
        let rest: Vec<&str> = parts.collect();
        let is_name = |part: &&str| tree::is_word(part) || part.chars().all(|c| c.is_ascii_digit());
        if first == "result" && !rest.is_empty() && rest.iter().all(is_name) {
            return Some(match given {
                Given::Step(step) => {
                    rest.iter()
                        .fold(step.clone(), |value, part| match part.parse() {
                            Ok(number) => tree::index(value, tree::int(number)),
                            Err(_) => tree::field(value, part),
                        })
                }
                Given::Error(message) => message.clone(),
                Given::Nothing => {
                    let what = format!("`{{{{{}}}}}`", excerpt(inside));
                    self.draft.hole(
                        span,
                        what,
                        "the listener calls nothing that returns a result",
                    )
                }
            });
        }
        let [kind, field] = rest.as_slice() else {
            return None;
        };
        if *kind != "context" || !tree::is_word(field) {
            return None;
        }
        let Some(task) = self.tasks.get(first) else {
            self.unknown_task(first, span);
            return None;
        };
        if task.fields.contains(*field) {
            return Some(tree::field(tree::variable(&task.name), field));
        }
        let what = format!("`{{{}}}`", excerpt(inside));
        let why = "no listener sets this field, so it is an input of the plan";
        self.draft.changed(span, what, why);
        Some(self.input(field))
    }

    /// Returns an input of the plan, adding it if necessary. An input whose name is taken gets another one.
    pub fn input(&mut self, name: &str) -> Expr {
        if let Some(own) = self.inputs.get(name) {
            return tree::variable(own);
        }
        let own = if self.draft.is_free(name) {
            self.draft.reserve(name);
            name.to_owned()
        } else {
            self.draft.name(&format!("{name}_input"))
        };
        self.inputs.insert(name.to_owned(), own.clone());
        tree::variable(&own)
    }
}
