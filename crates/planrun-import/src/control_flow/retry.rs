//! Builds `retry` clauses.

use planrun_lang::syntax::ast::{ClauseKind, Expr, Literal};

use crate::tree;

/// The default maximum delay of a retry, in nanoseconds.
const DEFAULT_MAX_DELAY: f64 = 30e9;
/// The longest delay, in nanoseconds: a hundred days.
const LONGEST: f64 = 8.64e15;

/// The settings of a `retry`. Times are in nanoseconds.
pub struct Retry {
    /// Number of attempts, including the first.
    pub attempts: i64,
    pub delay: f64,
    pub factor: f64,
    /// The maximum delay, if the document sets one.
    pub max_delay: Option<f64>,
    /// Whether the delay is random, from zero to its nominal value.
    pub jitter: bool,
    /// The error classes that are retried.
    pub on: Vec<String>,
}

impl Retry {
    pub fn clause(&self) -> ClauseKind {
        let mut settings = vec![
            ("attempts", tree::int(self.attempts)),
            ("delay", time(self.delay)),
            ("factor", tree::literal(Literal::Double(self.factor))),
        ];
        // The default maximum delay would cut longer delays of the document.
        let grown = || Some(self.longest()).filter(|longest| *longest > DEFAULT_MAX_DELAY);
        if let Some(longest) = self.max_delay.or_else(grown) {
            settings.push(("max_delay", time(longest)));
        }
        let jitter = if self.jitter { "full" } else { "none" };
        settings.push(("jitter", tree::variable(jitter)));
        let on = self.on.iter().map(|class| class_expr(class)).collect();
        settings.push(("on", tree::list(on)));
        ClauseKind::Retry(tree::object(settings))
    }

    /// Returns the delay before the last attempt.
    fn longest(&self) -> f64 {
        let waits = i32::try_from(self.attempts - 1).unwrap_or(i32::MAX);
        self.delay * self.factor.powi((waits - 1).max(0))
    }
}

fn time(nanoseconds: f64) -> Expr {
    #[expect(clippy::cast_possible_truncation, reason = "clamped here")]
    let whole = nanoseconds.clamp(0.0, LONGEST).round() as i128;
    tree::nanoseconds(whole)
}

/// Returns a class such as `tool.locked` as the settings of a `retry` write it.
fn class_expr(class: &str) -> Expr {
    let mut parts = class.split('.');
    let first = tree::variable(parts.next().unwrap_or_default());
    parts.fold(first, tree::field)
}
