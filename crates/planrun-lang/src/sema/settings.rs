//! Reads `policy`, `retry` and `allow`: settings are constants, and bare words are values of settings before they are
//! names.

use std::time::Duration;

use super::finding::{listed, unknown};
use super::plan::{Budget, Jitter, OnFailure, Policy, Retry};
use crate::diag::foreign::{self, Certainty};
use crate::diag::{Diagnostic, Edit, codes};
use crate::permission::Grant;
use crate::source::{SourceFile, Span};
use crate::syntax::settings::{ALLOW, BUDGET, POLICY, RETRY, Setting, Settings, Takes};
use crate::syntax::{self, ast};
use crate::types::{ErrorClass, ErrorPattern};
use crate::value::saturating_duration;

impl Policy {
    /// Reads the settings of a project file as if they were written in a plan: `"200ms"` is a duration, `"full"` a
    /// word.
    ///
    /// # Errors
    /// Returns the message of the first invalid setting.
    pub fn from_project(
        settings: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Self, String> {
        let mut diagnostics = Vec::new();
        let settings = written(&serde_json::Value::Object(settings.clone()));
        let policy = SettingsReader {
            source: None,
            diagnostics: &mut diagnostics,
        }
        .policy(&settings);
        match diagnostics.first() {
            Some(found) => Err(found.message.clone()),
            None if policy.agents_verify.is_some() => Err(
                "`verify: agents` belongs in the `policy` of a plan, because its check covers what its agents may read"
                    .to_owned(),
            ),
            None => Ok(policy),
        }
    }
}

/// A reader of settings, which are constants.
pub(super) struct SettingsReader<'a> {
    /// Source of the plan; `None` for settings of a project.
    pub source: Option<&'a SourceFile>,
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

impl SettingsReader<'_> {
    /// Reads `policy { … }`.
    pub(super) fn policy(&mut self, settings: &ast::Expr) -> Policy {
        let mut policy = Policy::default();
        for (setting, value) in self.entries(settings, &POLICY) {
            match setting.name {
                "retry" => policy.retry = self.retry(value),
                "timeout" => policy.timeout = self.duration(value, setting),
                "deadline" => policy.deadline = self.duration(value, setting),
                "concurrency" => policy.concurrency = self.count(value, setting).map(narrow),
                "on_failure" => {
                    policy.on_failure = self.word(value, setting).map(|word| match word {
                        "pause" => OnFailure::Pause,
                        "settle" => OnFailure::Settle,
                        _ => OnFailure::Undo,
                    });
                }
                "budget" => policy.budget = self.budget(value),
                "verify" => {
                    policy.agents_verify = self.word(value, setting).map(|_| value.span);
                }
                "max_steps" => policy.max_steps = self.count(value, setting),
                "max_firings" => policy.max_firings = self.count(value, setting),
                "max_result" => policy.max_result = self.count(value, setting),
                _ => {}
            }
        }
        policy
    }

    /// Reads `retry { … }`.
    pub(super) fn retry(&mut self, settings: &ast::Expr) -> Retry {
        let mut retry = Retry::default();
        for (setting, value) in self.entries(settings, &RETRY) {
            match setting.name {
                "attempts" => retry.attempts = self.attempts(value, setting),
                "delay" => retry.delay = self.duration(value, setting),
                "factor" => retry.factor = self.number(value, setting),
                "max_delay" => retry.max_delay = self.duration(value, setting),
                "jitter" => {
                    retry.jitter = self.word(value, setting).map(|word| match word {
                        "none" => Jitter::None,
                        _ => Jitter::Full,
                    });
                }
                "on" => {
                    let names = self.dotted_names(value, setting);
                    let patterns = names
                        .iter()
                        .filter_map(|(name, span)| self.error_pattern(name, *span));
                    retry.on = Some(patterns.collect());
                }
                "on_exhausted" => {
                    let word = self.word(value, setting);
                    retry.pause_when_exhausted = word.map(|word| word == "pause");
                }
                _ => {}
            }
        }
        retry
    }

    /// Reads `allow { … }`.
    pub(super) fn allow(&mut self, settings: &ast::Expr) -> Grant {
        let mut allow = Grant::default();
        for (setting, value) in self.entries(settings, &ALLOW) {
            match setting.name {
                "net" => allow.net = self.texts(value, setting),
                "read" => allow.read = self.texts(value, setting),
                "write" => allow.write = self.texts(value, setting),
                "run" => allow.run = self.texts(value, setting),
                "env" => allow.env = self.texts(value, setting),
                "tools" => allow.tools = Some(self.texts(value, setting)),
                "agents" => allow.agents = Some(self.texts(value, setting)),
                _ => {}
            }
        }
        allow
    }

    /// Reads the dotted name of an error class or a family of classes; reports an unknown one.
    pub(super) fn error_pattern(&mut self, name: &str, span: Span) -> Option<ErrorPattern> {
        if let Some(found) = ErrorPattern::find(name) {
            return Some(found);
        }
        let code = &codes::names::UNKNOWN_ERROR_CLASS;
        let found = unknown(code, "error class", name, span, ErrorClass::names());
        let help = match name {
            _ if foreign::EVERY_ERROR.contains(&name) => {
                Some("an arm without a class catches every error: `recover => …`".to_owned())
            }
            "e" | "ex" | "exc" => Some(format!(
                "an error gets its name after `as`: `recover as {name} => …`"
            )),
            _ if found.fix.is_none() && !name.contains('.') => Some(format!(
                "an error that only the tool has is written `tool.{name}`"
            )),
            _ => None,
        };
        self.diagnostics.push(match help {
            Some(help) => Diagnostic { fix: None, ..found }.help(help),
            None => found,
        });
        None
    }

    fn entries<'e>(
        &mut self,
        settings: &'e ast::Expr,
        of: &Settings,
    ) -> Vec<(&'static Setting, &'e ast::Expr)> {
        let ast::ExprKind::Object(entries) = &settings.kind else {
            if !matches!(settings.kind, ast::ExprKind::Error) {
                self.without_braces(settings, of);
            }
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = match &entry.key {
                ast::EntryKey::Name(name) => name,
                ast::EntryKey::Expr(key) => {
                    self.wrong(key, of.name, "the bare name of a setting");
                    continue;
                }
            };
            match of.find(&name.text) {
                Some(setting) => found.push((setting, &entry.value)),
                None => self.unknown_setting(name, of),
            }
        }
        found
    }

    /// Reports a setting that does not exist, with its counterpart if other systems have it.
    fn unknown_setting(&mut self, name: &ast::Name, of: &Settings) {
        let what = format!("setting of `{}` named", of.name);
        let code = &codes::names::UNKNOWN_SETTING;
        let found = unknown(code, &what, &name.text, name.span, of.names());
        self.diagnostics
            .push(match foreign::setting(of.name, &name.text) {
                Some(phrase) if phrase.certainty == Certainty::Near => {
                    found.help(phrase.help(None)).unsafe_fix(
                        format!("write `{}`", phrase.right),
                        vec![Edit::new(name.span, phrase.right)],
                    )
                }
                Some(phrase) => Diagnostic { fix: None, ..found }.help(phrase.help(None)),
                None => found,
            });
    }

    fn unknown(
        &mut self,
        what: &str,
        name: &str,
        span: Span,
        known: impl Iterator<Item = &'static str> + Clone,
    ) {
        let code = &codes::names::UNKNOWN_SETTING;
        self.diagnostics
            .push(unknown(code, what, name, span, known));
    }

    /// Reports a value in place of the settings of a group, such as `retry 3`.
    fn without_braces(&mut self, value: &ast::Expr, group: &Settings) {
        let code = &codes::types::WRONG_TYPE;
        let message = format!("`{}` expects settings in braces", group.name);
        let found = code.at(value.span, message);
        let Some(first) = group.all.first() else {
            return self.diagnostics.push(found);
        };
        let counted = matches!(first.takes, Takes::Count);
        self.diagnostics.push(match value.kind {
            ast::ExprKind::Literal(ast::Literal::Int(count)) if counted => {
                let settings = format!("{{ {}: {count} }}", first.name);
                found
                    .help(format!("write `{} {settings}`", group.name))
                    .unsafe_fix(
                        "write it as a setting",
                        vec![Edit::new(value.span, settings)],
                    )
            }
            _ => found.help(format!("write `{} {{ {}: … }}`", group.name, first.name)),
        });
    }

    /// Reports a single text in place of a list of texts.
    fn without_brackets(&mut self, span: Span, setting: &str) {
        let message = format!("`{setting}` expects a list of strings");
        let edits = [(span.start, "["), (span.end, "]")]
            .map(|(at, bracket)| Edit::new(Span::at(at as usize), bracket));
        let found = codes::types::WRONG_TYPE
            .at(span, message)
            .help("put it in brackets")
            .unsafe_fix("put it in brackets", edits.into());
        self.diagnostics.push(found);
    }

    fn wrong(&mut self, value: &ast::Expr, setting: &str, expected: &str) {
        let span = value.span;
        let message = format!("`{setting}` expects {expected}");
        let diagnostic = codes::types::WRONG_TYPE.at(span, message);
        let diagnostic = if matches!(value.kind, ast::ExprKind::Literal(_)) {
            diagnostic.help(format!("write {expected}"))
        } else {
            diagnostic.help("write a constant: settings apply to every run of the plan")
        };
        let written = self.source.map(|source| source.slice(span));
        self.diagnostics
            .push(match written.and_then(|text| text.lines().next()) {
                Some(written) => diagnostic.expected(expected, format!("`{written}`")),
                None => diagnostic,
            });
    }

    fn duration(&mut self, value: &ast::Expr, setting: &Setting) -> Option<Duration> {
        let limit = matches!(setting.takes, Takes::TimeLimit);
        if let ast::ExprKind::Literal(ast::Literal::Duration(nanos)) = value.kind
            && (nanos > 0 || nanos == 0 && !limit)
        {
            return Some(saturating_duration(nanos));
        }
        let expected = if limit {
            "a duration above zero, such as `30s`"
        } else {
            "a duration such as `30s`"
        };
        self.wrong(value, setting.name, expected);
        None
    }

    fn count(&mut self, value: &ast::Expr, setting: &Setting) -> Option<u64> {
        if let ast::ExprKind::Literal(ast::Literal::Int(count)) = value.kind
            && let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0)
        {
            return Some(count);
        }
        self.wrong(value, setting.name, "a whole number above zero");
        None
    }

    fn attempts(&mut self, value: &ast::Expr, setting: &Setting) -> Option<u32> {
        if let ast::ExprKind::Literal(ast::Literal::Int(count)) = value.kind
            && count < 1
        {
            let diagnostic =
                codes::failure::ATTEMPTS_ZERO
                    .at(value.span, "a step needs at least one attempt")
                    .help("`attempts` counts all attempts, including the first; remove `retry` for a single one");
            self.diagnostics.push(diagnostic);
            return None;
        }
        self.count(value, setting).map(narrow)
    }

    fn number(&mut self, value: &ast::Expr, setting: &Setting) -> Option<f64> {
        let Takes::Number(least) = setting.takes else {
            return None;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "growth factors and budgets beyond 2^53 are not useful"
        )]
        let number = match value.kind {
            ast::ExprKind::Literal(ast::Literal::Double(number)) => Some(number),
            ast::ExprKind::Literal(ast::Literal::Int(number)) => Some(number as f64),
            _ => None,
        };
        let number = number.filter(|number| *number >= least && number.is_finite());
        if number.is_none() {
            let expected = if least > 0.0 {
                format!("a number of {least} or more")
            } else {
                "a number that is not negative".to_owned()
            };
            self.wrong(value, setting.name, &expected);
        }
        number
    }

    fn budget(&mut self, value: &ast::Expr) -> Budget {
        let mut budget = Budget::default();
        for (setting, value) in self.entries(value, &BUDGET) {
            match setting.name {
                "calls" => budget.calls = self.count(value, setting),
                "tokens" => budget.tokens = self.count(value, setting),
                "cost" => budget.cost = self.number(value, setting),
                "time" => budget.time = self.duration(value, setting),
                "memory" => budget.memory = self.count(value, setting),
                _ => {}
            }
        }
        budget
    }

    /// Reads one of the words that the setting takes.
    fn word(&mut self, value: &ast::Expr, setting: &Setting) -> Option<&'static str> {
        let Takes::Word(words) = setting.takes else {
            return None;
        };
        if let ast::ExprKind::Name(name) = &value.kind {
            let found = words.iter().find(|word| ***word == **name).copied();
            if found.is_none() {
                let what = format!("value of `{}` named", setting.name);
                self.unknown(&what, name, value.span, words.iter().copied());
            }
            return found;
        }
        let expected = format!("one of {}", listed(words));
        self.wrong(value, setting.name, &expected);
        None
    }

    /// Reads a list of names such as `[transient, tool.busy]`.
    fn dotted_names(&mut self, value: &ast::Expr, setting: &Setting) -> Vec<(String, Span)> {
        let ast::ExprKind::List(items) = &value.kind else {
            self.wrong(value, setting.name, "a list of names");
            return Vec::new();
        };
        let mut names = Vec::new();
        for item in items {
            match dotted(item) {
                Some(name) => names.push((name, item.span)),
                None => self.wrong(item, setting.name, "names without quotes"),
            }
        }
        names
    }

    fn texts(&mut self, value: &ast::Expr, setting: &Setting) -> Vec<String> {
        let ast::ExprKind::List(items) = &value.kind else {
            match &value.kind {
                ast::ExprKind::Literal(ast::Literal::String(_)) => {
                    self.without_brackets(value.span, setting.name);
                }
                _ => self.wrong(value, setting.name, "a list of strings"),
            }
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match &item.kind {
                ast::ExprKind::Literal(ast::Literal::String(text)) => texts.push(text.to_string()),
                _ => self.wrong(item, setting.name, "constant strings"),
            }
        }
        texts
    }
}

/// Returns a setting of a project file as the expression that a plan would contain.
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

/// Returns `a.b` as text; `None` for other expressions.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns a value that the setting takes, as a project file writes it.
    fn example(setting: &Setting) -> Value {
        match setting.takes {
            Takes::Duration | Takes::TimeLimit => "5s".into(),
            Takes::Count => 3.into(),
            Takes::Number(least) => json!(least + 1.0),
            Takes::Word(words) => words[words.len() - 1].into(),
            Takes::Names => json!(["transient"]),
            Takes::Texts => json!(["'a'"]),
            Takes::Settings(inner) => all(inner),
        }
    }

    fn all(settings: &Settings) -> Value {
        let entry = |setting: &Setting| (setting.name.to_owned(), example(setting));
        settings
            .all
            .iter()
            .map(entry)
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Reads a single setting; returns the result as text, and the messages.
    fn read(group: &Settings, setting: &str, value: &Value) -> (String, Vec<String>) {
        let mut diagnostics = Vec::new();
        let settings = written(&json!({ setting: value }));
        let mut reader = SettingsReader {
            source: None,
            diagnostics: &mut diagnostics,
        };
        let read = match group.name {
            "policy" => format!("{:?}", reader.policy(&settings)),
            "retry" => format!("{:?}", reader.retry(&settings)),
            "budget" => format!("{:?}", reader.budget(&settings)),
            _ => format!("{:?}", reader.allow(&settings)),
        };
        let found = diagnostics.into_iter().map(|found| found.message);
        (read, found.collect())
    }

    #[test]
    fn every_setting_of_the_table_is_read_as_the_table_says() {
        for group in [&POLICY, &RETRY, &BUDGET, &ALLOW] {
            let (nothing, ..) = read(group, "unknown", &Value::Null);
            for setting in group.all {
                let (held, found) = read(group, setting.name, &example(setting));
                assert_eq!(found, [""; 0], "{} {}", group.name, setting.name);
                assert!(
                    held != nothing,
                    "{} {} is not read",
                    group.name,
                    setting.name
                );
                let (.., found) = read(group, setting.name, &json!(-1));
                assert_eq!(found.len(), 1, "{} {}", group.name, setting.name);
            }
        }
    }
}
