//! Outputs of listeners: the status and the context of a task, with placeholders for results and contexts.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, Statement, TemplatePart};
use planrun_lang::yaml::{Content, Node};

use super::flow::Set;
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
    /// Returns the `set` statement of an output, or a failure with a hole if it has no valid [target](Self::target).
    pub fn output(&mut self, node: &Node, given: &Given) -> Statement {
        let target = self.target(node);
        let task = target.and_then(|(id, status)| Some((self.tasks.get(&id)?, status)));
        let Some((name, status)) = task.map(|(task, status)| (task.name.clone(), status)) else {
            let why = "sets nothing: its task or its status is not known";
            let hole = self.draft.hole(node.span, "an output", why);
            return tree::fail("tool.not_carried", hole);
        };
        let mut context = Vec::new();
        for entry in entries(node, "context")
            .iter()
            .filter(|entry| is_writable(&entry.name))
        {
            let value = self.templated(&entry.value, given);
            context.push((entry.name.clone(), value));
        }
        set(&name, status, context)
    }

    /// Returns the task and the status of an output; `None` if it names none, or if one of them does not exist, which
    /// is reported.
    fn target(&mut self, node: &Node) -> Option<(String, &'static str)> {
        if node.entries().is_none() {
            let why = "is not a mapping with `task_id` and `status`";
            self.draft.lost(node.span, "an output", why);
            return None;
        }
        let mut text = |field: &str| {
            let found = node.get(field).and_then(|one| Some((one.scalar()?, one)));
            if found.is_none() {
                let why = format!("has no `{field}`");
                self.draft.lost(node.span, "an output", why);
            }
            found
        };
        let (id, status) = (text("task_id"), text("status"));
        let ((written, id), (status, place)) = (id?, status?);
        let written = self
            .text
            .get(id.span.range())
            .filter(|_| id.text().is_none())
            .map_or(written, |text| text.trim().to_owned());
        if !self.tasks.contains_key(&written) {
            self.unknown_task(&written, id.span);
            return None;
        }
        let own = self.status(&status, place.span)?;
        Some((written, own))
    }

    /// Reports the unknown keys of an output, and returns what it sets; `None` if it has no valid target.
    pub fn note_output(&mut self, node: &Node) -> Option<Set> {
        self.draft
            .report_keys(node, "an output", "task_id status context", &[]);
        let context = node.get("context");
        if let Some(context) = context.filter(|context| context.entries().is_none())
            && !matches!(context.content, Content::Null)
        {
            let why = "is not a mapping";
            self.draft
                .lost(context.span, "the context of an output", why);
        }
        let (id, status) = self.target(node)?;
        let task = self.tasks.get_mut(&id)?;
        task.set_to.insert(status);
        task.statuses.insert(status);
        let mut fields = BTreeSet::new();
        for entry in entries(node, "context") {
            if is_writable(&entry.name) {
                task.fields.insert(entry.name.clone());
                fields.insert(entry.name.clone());
                continue;
            }
            let what = format!("the field `{}` of a context", excerpt(&entry.name));
            let why = "this is not a valid name of a field";
            self.draft.lost(entry.span, what, why);
        }
        Some(Set {
            task: id,
            status,
            fields,
            is_failure: false,
        })
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
            let read = inside.and_then(|inside| {
                let written = inner.get(..length + inside.len())?;
                self.placeholder(inside.trim(), written, span, given)
            });
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
    fn placeholder(
        &mut self,
        inside: &str,
        written: &str,
        span: Span,
        given: &Given,
    ) -> Option<Expr> {
        if let Some(path) = inside.strip_prefix("result").and_then(path) {
            return Some(self.result(&path, written, span, given));
        }
        let is_double = written.starts_with("{{");
        let (first, rest) = inside.split_once('.').unwrap_or((inside, ""));
        let field = rest
            .strip_prefix("context.")
            .filter(|field| tree::is_word(field));
        let is_known = self.tasks.contains_key(first);
        let Some(field) = field.filter(|_| is_known) else {
            if field.is_some() {
                self.unknown_task(first, span);
            } else if is_double || (is_known && !rest.is_empty()) {
                let what = format!("`{}`", excerpt(written));
                let why = "is neither a part of `result` nor a field of the context of a task";
                return Some(self.draft.hole(span, what, why));
            }
            return None;
        };
        if self.fields.contains(&(first.to_owned(), field.to_owned())) {
            let task = self.tasks.get(first)?;
            return Some(tree::field(tree::variable(&task.name), field));
        }
        let what = format!("`{{{}}}`", excerpt(inside));
        let why = "no listener sets this field before, so it is an input of the plan";
        self.draft.changed(span, what, why);
        Some(self.input(field))
    }

    /// Returns a part of the result of a listener's call, or the message of its failure.
    fn result(&mut self, path: &[&str], written: &str, span: Span, given: &Given) -> Expr {
        let what = format!("`{}`", excerpt(written));
        match given {
            Given::Step(step) => path
                .iter()
                .fold(step.clone(), |value, part| match part.parse() {
                    Ok(number) => tree::index(value, tree::int(number)),
                    Err(_) => tree::field(value, part),
                }),
            Given::Error(message) => {
                if !matches!(path, ["error" | "message"]) {
                    let why = "is the message of the failure";
                    self.draft.changed(span, what, why);
                }
                message.clone()
            }
            Given::Nothing => {
                let why = "the listener calls nothing that returns a result";
                self.draft.hole(span, what, why)
            }
        }
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

/// Returns the parts of a path such as `.managers[0]['emp_id']`; `None` if it is not one.
fn path(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (part, behind) = if let Some(inner) = rest.strip_prefix('[') {
            let (inner, behind) = inner.split_once(']')?;
            let quoted = ['\'', '"'].into_iter().find_map(|quote| {
                let key = inner.strip_prefix(quote)?.strip_suffix(quote)?;
                (!key.contains(['\'', '"', '\\'])).then_some(key)
            });
            // A quoted key of digits would be taken for a position.
            let is_digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
            let part = match quoted {
                Some(key) => Some(key).filter(|key| !is_digits(key)),
                None => Some(inner).filter(|inner| is_digits(inner)),
            };
            (part?, behind)
        } else {
            let inner = rest.strip_prefix('.')?;
            let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_');
            inner.split_at(end.unwrap_or(inner.len()))
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        rest = behind;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_and_positions() {
        let parts = [
            ("", Some(vec![])),
            (".a.b1", Some(vec!["a", "b1"])),
            (".a[0].客", Some(vec!["a", "0", "客"])),
            ("['a b'][\"c\"].0", Some(vec!["a b", "c", "0"])),
            (".", None),
            (".a ", None),
            (".a | upper", None),
            (".a-b", None),
            ("[-1]", None),
            ("[a]", None),
            ("['0']", None),
            ("[]", None),
            ("s.a", None),
        ];
        for (text, expected) in parts {
            assert_eq!(path(text), expected, "{text}");
        }
    }
}
