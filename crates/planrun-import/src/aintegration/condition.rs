//! Conditions of listeners: a status, `Any`, or statuses of tasks joined by `&&`, `||` and `!`.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{BinaryOp, Expr};

use super::{Importer, is};
use crate::draft::excerpt;
use crate::expression::condition::{self, Words};
use crate::tree;

/// Task ids, each with the status that is required of it; `None` for any status.
type Names = BTreeSet<(String, Option<&'static str>)>;

/// The condition for which a listener waits.
pub struct Condition {
    pub on: Expr,
    /// The tasks in the condition.
    pub names: Names,
}

impl Importer<'_, '_> {
    /// Translates a condition over the tasks that trigger a listener; `None` if it is invalid, which is reported, or
    /// if no known task triggers the listener.
    pub fn condition(
        &mut self,
        written: &str,
        triggers: &[String],
        span: Span,
    ) -> Option<Condition> {
        let text = written.trim();
        if text.eq_ignore_ascii_case("any") {
            let names: Names = triggers.iter().map(|id| (id.clone(), None)).collect();
            let subjects = triggers
                .iter()
                .filter_map(|id| Some(tree::variable(&self.tasks.get(id)?.name)));
            let on = tree::joined(subjects.collect(), BinaryOp::Or)?;
            return Some(Condition { on, names });
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if text.chars().all(is_word) {
            let status = self.status(text, span)?;
            let names = triggers
                .iter()
                .map(|id| (id.clone(), Some(status)))
                .collect();
            let subjects = triggers
                .iter()
                .filter_map(|id| Some(is(&self.tasks.get(id)?.name, status)));
            let on = tree::joined(subjects.collect(), BinaryOp::Or)?;
            return Some(Condition { on, names });
        }
        let mut names = BTreeSet::new();
        match condition::read(text, |words| self.comparison(words, span, &mut names)) {
            Ok(on) => Some(Condition { on, names }),
            Err(why) => {
                let what = format!("the condition `{}`", excerpt(text));
                self.draft.lost(span, what, why);
                None
            }
        }
    }

    /// Parses a comparison such as `002.status == 'done'`.
    fn comparison(
        &mut self,
        words: &mut Words<'_>,
        span: Span,
        names: &mut Names,
    ) -> Result<Expr, String> {
        let subject = words.take()?;
        let id = subject.strip_suffix(".status").ok_or_else(|| {
            format!(
                "`{}` is not a task status such as `002.status`",
                excerpt(subject)
            )
        })?;
        let Some(name) = self.tasks.get(id).map(|task| task.name.clone()) else {
            self.unknown_task(id, span);
            return Err(format!("there is no task `{}`", excerpt(id)));
        };
        let negated = match words.comparison() {
            Some(BinaryOp::Equal) => false,
            Some(BinaryOp::NotEqual) => true,
            _ => {
                return Err(format!(
                    "`{}` must be compared with `==` or `!=`",
                    excerpt(subject)
                ));
            }
        };
        let written = words.take()?.trim_matches(['"', '\'']);
        let status = self
            .status(written, span)
            .ok_or_else(|| format!("`{}` is not a status", excerpt(written)))?;
        names.insert((id.to_owned(), (!negated).then_some(status)));
        let test = is(&name, status);
        Ok(if negated { tree::not(test) } else { test })
    }
}
