//! `policy`, `retry` and `allow`: settings are constants, and bare words are settings before they are names.

use std::time::Duration;

use super::finding::{listed, unknown};
use super::plan::{Budget, Jitter, OnFailure, Policy, Retry};
use crate::diag::{Diagnostic, codes};
use crate::permission::Grant;
use crate::source::{SourceFile, Span};
use crate::syntax::{self, ast};
use crate::types::{ErrorClass, ErrorPattern};

const POLICY: &[&str] = &[
    "retry",
    "timeout",
    "deadline",
    "concurrency",
    "on_failure",
    "budget",
    "verify",
    "max_steps",
    "max_firings",
    "max_result",
];
const RETRY: &[&str] = &[
    "attempts",
    "delay",
    "factor",
    "max_delay",
    "jitter",
    "on",
    "on_exhausted",
];
const ALLOW: &[&str] = &["net", "read", "write", "run", "env", "tools", "agents"];
const BUDGET: &[&str] = &["calls", "tokens", "cost", "time"];

impl Policy {
    /// The settings of a project's file, read as if they stood in a plan: `"200ms"` is a length of time, `"full"` a word.
    ///
    /// # Errors
    /// One sentence on the first that cannot be used.
    pub fn from_project(
        settings: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Self, String> {
        let (mut diagnostics, mut not_yet) = (Vec::new(), Vec::new());
        let settings = written(&serde_json::Value::Object(settings.clone()));
        let policy = SettingsReader {
            source: None,
            diagnostics: &mut diagnostics,
            not_yet: &mut not_yet,
        }
        .policy(&settings);
        match (diagnostics.first(), not_yet.first()) {
            (Some(found), _) => Err(found.message.clone()),
            (None, Some((_, what))) => Err(format!("{what} cannot be set in this version")),
            (None, None) => Ok(policy),
        }
    }
}

/// Reads settings, which are constants.
pub(super) struct SettingsReader<'a> {
    /// The text of the plan; a project's settings have none.
    pub source: Option<&'a SourceFile>,
    pub diagnostics: &'a mut Vec<Diagnostic>,
    pub not_yet: &'a mut Vec<(Span, &'static str)>,
}

impl SettingsReader<'_> {
    /// `policy { … }`
    pub(super) fn policy(&mut self, settings: &ast::Expr) -> Policy {
        let mut policy = Policy::default();
        for (name, value) in self.entries(settings, "policy", POLICY) {
            match &*name.text {
                "retry" => policy.retry = self.retry(value),
                "timeout" => policy.timeout = self.constant_duration(value, "timeout"),
                "deadline" => policy.deadline = self.constant_duration(value, "deadline"),
                "concurrency" => {
                    policy.concurrency = self.constant_count(value, "concurrency").map(narrow);
                }
                "on_failure" => policy.on_failure = self.on_failure(value),
                "budget" => policy.budget = self.budget(value),
                "verify" => {
                    self.word(value, "verify", &["agents"]);
                    self.not_yet.push((value.span, "`verify` by agents"));
                }
                "max_steps" => policy.max_steps = self.constant_count(value, "max_steps"),
                "max_firings" => policy.max_firings = self.constant_count(value, "max_firings"),
                "max_result" => policy.max_result = self.constant_count(value, "max_result"),
                _ => {}
            }
        }
        policy
    }

    /// `retry { … }`
    pub(super) fn retry(&mut self, settings: &ast::Expr) -> Retry {
        let mut retry = Retry::default();
        for (name, value) in self.entries(settings, "retry", RETRY) {
            match &*name.text {
                "attempts" => retry.attempts = self.attempts(value),
                "delay" => retry.delay = self.constant_duration(value, "delay"),
                "factor" => retry.factor = self.factor(value),
                "max_delay" => retry.max_delay = self.constant_duration(value, "max_delay"),
                "jitter" => {
                    let word = self.word(value, "jitter", &["none", "full"]);
                    retry.jitter = word.map(|word| {
                        if word == "none" {
                            Jitter::None
                        } else {
                            Jitter::Full
                        }
                    });
                }
                "on" => {
                    let names = self.dotted_names(value, "on");
                    let patterns = names
                        .iter()
                        .filter_map(|(name, span)| self.error_pattern(name, *span));
                    retry.on = Some(patterns.collect());
                }
                "on_exhausted" => {
                    let word = self.word(value, "on_exhausted", &["fail", "pause"]);
                    retry.pause_when_exhausted = word.map(|word| word == "pause");
                }
                _ => {}
            }
        }
        retry
    }

    /// `allow { … }`
    pub(super) fn allow(&mut self, settings: &ast::Expr) -> Grant {
        let mut allow = Grant::default();
        for (name, value) in self.entries(settings, "allow", ALLOW) {
            match &*name.text {
                "net" => allow.net = self.texts(value, "net"),
                "read" => allow.read = self.texts(value, "read"),
                "write" => allow.write = self.texts(value, "write"),
                "run" => allow.run = self.texts(value, "run"),
                "env" => allow.env = self.texts(value, "env"),
                "tools" | "agents" => {
                    self.dotted_names(value, &name.text);
                    self.not_yet.push((value.span, "permissions for agents"));
                }
                _ => {}
            }
        }
        allow
    }

    /// One dotted name of an error class or a family of them; an unknown one is reported.
    pub(super) fn error_pattern(&mut self, name: &str, span: Span) -> Option<ErrorPattern> {
        let found = ErrorPattern::find(name);
        if found.is_none() {
            let code = &codes::names::UNKNOWN_ERROR_CLASS;
            self.diagnostics.push(unknown(
                code,
                "error class",
                name,
                span,
                ErrorClass::names(),
            ));
        }
        found
    }

    fn entries<'e>(
        &mut self,
        settings: &'e ast::Expr,
        of: &str,
        known: &[&str],
    ) -> Vec<(&'e ast::Name, &'e ast::Expr)> {
        let ast::ExprKind::Object(entries) = &settings.kind else {
            if !matches!(settings.kind, ast::ExprKind::Error) {
                self.wrong(settings.span, of, "settings in braces");
            }
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in entries {
            match &entry.key {
                ast::EntryKey::Name(name) if known.contains(&&*name.text) => {
                    found.push((name, &entry.value));
                }
                ast::EntryKey::Name(name) => {
                    let what = format!("setting of `{of}` named");
                    let code = &codes::names::UNKNOWN_SETTING;
                    self.diagnostics.push(unknown(
                        code,
                        &what,
                        &name.text,
                        name.span,
                        known.iter().copied(),
                    ));
                }
                ast::EntryKey::Expr(key) => self.wrong(key.span, of, "the bare name of a setting"),
            }
        }
        found
    }

    fn wrong(&mut self, span: Span, setting: &str, wanted: &str) {
        let message = format!("`{setting}` wants {wanted}");
        let diagnostic = Diagnostic::new(&codes::types::WRONG_TYPE, span, message)
            .help("settings are constants: they hold for every run of the plan");
        let written = self.source.map(|source| source.slice(span));
        self.diagnostics
            .push(match written.and_then(|text| text.lines().next()) {
                Some(written) => diagnostic.expected(wanted, format!("`{written}`")),
                None => diagnostic,
            });
    }

    fn constant_duration(&mut self, value: &ast::Expr, setting: &str) -> Option<Duration> {
        if let ast::ExprKind::Literal(ast::Literal::Duration(nanos)) = value.kind
            && let Ok(nanos) = u64::try_from(nanos)
        {
            return Some(Duration::from_nanos(nanos));
        }
        self.wrong(value.span, setting, "a length of time such as `30s`");
        None
    }

    fn constant_count(&mut self, value: &ast::Expr, setting: &str) -> Option<u64> {
        if let ast::ExprKind::Literal(ast::Literal::Int(count)) = value.kind
            && let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0)
        {
            return Some(count);
        }
        self.wrong(value.span, setting, "a whole number above zero");
        None
    }

    fn attempts(&mut self, value: &ast::Expr) -> Option<u32> {
        if let ast::ExprKind::Literal(ast::Literal::Int(count)) = value.kind
            && count < 1
        {
            let diagnostic =
                Diagnostic::new(&codes::failure::ATTEMPTS_ZERO, value.span, "a step needs one attempt at least")
                    .help("`attempts` counts all attempts, the first included; leave `retry` out for just one");
            self.diagnostics.push(diagnostic);
            return None;
        }
        self.constant_count(value, "attempts").map(narrow)
    }

    fn factor(&mut self, value: &ast::Expr) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a growth factor beyond 2^53 is no use to anybody"
        )]
        let factor = match value.kind {
            ast::ExprKind::Literal(ast::Literal::Double(factor)) => Some(factor),
            ast::ExprKind::Literal(ast::Literal::Int(factor)) => Some(factor as f64),
            _ => None,
        };
        let factor = factor.filter(|factor| *factor >= 1.0 && factor.is_finite());
        if factor.is_none() {
            self.wrong(value.span, "factor", "a number of 1 or more");
        }
        factor
    }

    fn budget(&mut self, value: &ast::Expr) -> Budget {
        let mut budget = Budget::default();
        for (name, value) in self.entries(value, "budget", BUDGET) {
            match &*name.text {
                "calls" => budget.calls = self.constant_count(value, "calls"),
                "tokens" => budget.tokens = self.constant_count(value, "tokens"),
                "cost" => budget.cost = self.cost(value),
                "time" => budget.time = self.constant_duration(value, "time"),
                _ => {}
            }
        }
        budget
    }

    fn cost(&mut self, value: &ast::Expr) -> Option<f64> {
        let cost = match &value.kind {
            #[expect(clippy::cast_precision_loss, reason = "no budget is that large")]
            ast::ExprKind::Literal(ast::Literal::Int(cost)) => Some(*cost as f64),
            ast::ExprKind::Literal(ast::Literal::Double(cost)) => Some(*cost),
            _ => None,
        };
        let cost = cost.filter(|cost| *cost >= 0.0 && cost.is_finite());
        if cost.is_none() {
            self.wrong(value.span, "cost", "a number that is not negative");
        }
        cost
    }

    fn on_failure(&mut self, value: &ast::Expr) -> Option<OnFailure> {
        self.word(value, "on_failure", &["undo", "pause", "settle"])
            .map(|word| match word {
                "pause" => OnFailure::Pause,
                "settle" => OnFailure::Settle,
                _ => OnFailure::Undo,
            })
    }

    fn word(
        &mut self,
        value: &ast::Expr,
        setting: &str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        if let ast::ExprKind::Name(name) = &value.kind {
            if let Some(word) = words.iter().find(|word| ***word == **name) {
                return Some(word);
            }
            let what = format!("value of `{setting}` named");
            let code = &codes::names::UNKNOWN_SETTING;
            self.diagnostics.push(unknown(
                code,
                &what,
                name,
                value.span,
                words.iter().copied(),
            ));
            return None;
        }
        self.wrong(value.span, setting, &format!("one of {}", listed(words)));
        None
    }

    /// A list of names such as `[transient, tool.busy]`.
    fn dotted_names(&mut self, value: &ast::Expr, setting: &str) -> Vec<(String, Span)> {
        let ast::ExprKind::List(items) = &value.kind else {
            self.wrong(value.span, setting, "a list of names");
            return Vec::new();
        };
        let mut names = Vec::new();
        for item in items {
            match dotted(item) {
                Some(name) => names.push((name, item.span)),
                None => self.wrong(item.span, setting, "names without quotes"),
            }
        }
        names
    }

    fn texts(&mut self, value: &ast::Expr, setting: &str) -> Vec<String> {
        let ast::ExprKind::List(items) = &value.kind else {
            self.wrong(value.span, setting, "a list of texts");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match &item.kind {
                ast::ExprKind::Literal(ast::Literal::String(text)) => texts.push(text.to_string()),
                _ => self.wrong(item.span, setting, "constant texts"),
            }
        }
        texts
    }
}

/// A setting of a project's file as it would stand in a plan.
fn written(json: &serde_json::Value) -> ast::Expr {
    let nowhere = Span::at(0);
    let kind = match json {
        serde_json::Value::Array(items) => ast::ExprKind::List(items.iter().map(written).collect()),
        serde_json::Value::Object(fields) => {
            let entry = |(name, value): (&String, &serde_json::Value)| ast::Entry {
                span: nowhere,
                key: ast::EntryKey::Name(ast::Name {
                    text: name.as_str().into(),
                    span: nowhere,
                }),
                value: written(value),
            };
            ast::ExprKind::Object(fields.iter().map(entry).collect())
        }
        serde_json::Value::String(text) => return parsed(text),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            return parsed(&json.to_string());
        }
    };
    ast::Expr {
        span: nowhere,
        kind,
    }
}

fn parsed(text: &str) -> ast::Expr {
    syntax::parse_expression(&SourceFile::new("planrun.yaml", text)).0
}

/// `a.b` as text.
fn dotted(expression: &ast::Expr) -> Option<String> {
    match &expression.kind {
        ast::ExprKind::Name(name) => Some(name.to_string()),
        ast::ExprKind::Path { base, links } => {
            let mut text = dotted(base)?;
            for link in links {
                let ast::LinkKind::Field { name, safe: false } = &link.kind else {
                    return None;
                };
                text.push('.');
                text.push_str(&name.text);
            }
            Some(text)
        }
        _ => None,
    }
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
