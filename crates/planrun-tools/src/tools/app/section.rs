//! One mapping of a configuration file, read key by key, with a finding for each thing that is not as it must be.

use std::time::Duration;

use planrun_lang::diag::{Code, Diagnostic, Severity, nearest};
use planrun_lang::source::Span;
use planrun_lang::value::{duration_text, parse_duration};
use serde_json::Number;

use planrun_lang::yaml::{Content, Entry, Node};

/// A mapping that is being read.
pub struct Section<'a> {
    /// What it is, for messages: `the tool outbound`.
    what: String,
    span: Span,
    entries: &'a [Entry],
    code: &'static Code,
}

impl<'a> Section<'a> {
    /// Begins to read a mapping; anything else is reported.
    pub fn new(
        what: impl Into<String>,
        node: &'a Node,
        code: &'static Code,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let what = what.into();
        let Some(entries) = node.entries() else {
            let message = format!("{what} must be a mapping, and is {}", node.kind());
            found
                .push(Diagnostic::new(code, node.span, message).expected("a mapping", node.kind()));
            return None;
        };
        let span = entries.first().map_or(node.span, |first| first.span);
        Some(Self {
            what,
            span,
            entries,
            code,
        })
    }

    /// Names it better, once more of it is known.
    pub fn rename(&mut self, what: String) {
        self.what = what;
    }

    /// What findings in it are called.
    #[must_use]
    pub fn code(&self) -> &'static Code {
        self.code
    }

    /// The place of its beginning.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Reports keys that mean nothing here. Keys that begin with `x-` are the author's own.
    pub fn expect_keys(
        &self,
        known: &[&str],
        code: &'static Code,
        severity: Severity,
        found: &mut Vec<Diagnostic>,
    ) {
        for entry in self
            .entries
            .iter()
            .filter(|entry| !known.contains(&entry.name.as_str()))
        {
            if entry.name.starts_with("x-") {
                continue;
            }
            let message = format!("{} has no key `{}`", self.what, entry.name);
            let mut finding = Diagnostic::new(code, entry.span, message).available(known);
            finding.severity = severity;
            let near = nearest(
                &entry.name,
                known
                    .iter()
                    .copied()
                    .filter(|name| self.get(name).is_none()),
            );
            found.push(match near {
                Some(near) => finding.did_you_mean(near, entry.span, near.name),
                None => finding.help(format!("the keys are {}", known.join(", "))),
            });
        }
    }

    /// The value of a key; a key without value is as good as none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some(&entry.value).filter(|value| value.kind() != "nothing")
    }

    /// The text under a key, if it is there.
    pub fn text(&self, name: &str, found: &mut Vec<Diagnostic>) -> Option<String> {
        let node = self.get(name)?;
        let text = node.scalar();
        if text.is_none() {
            self.report(
                node.span,
                format!(
                    "`{name}` of {} must be text, and is {}",
                    self.what,
                    node.kind()
                ),
                found,
            );
        }
        text
    }

    /// The text under a key that must be there and must not be empty.
    pub fn required(&self, name: &str, found: &mut Vec<Diagnostic>) -> Option<String> {
        match (self.get(name), self.text(name, found)) {
            (None, _) => {
                let message = format!("{} lacks the key `{name}`", self.what);
                let near = self
                    .entries
                    .iter()
                    .find_map(|entry| Some((entry, nearest(&entry.name, [name])?)));
                let finding = Diagnostic::new(
                    self.code,
                    near.map_or(self.span, |(entry, _)| entry.span),
                    message,
                );
                found.push(match near {
                    Some((entry, near)) => finding.did_you_mean(near, entry.span, name).help(
                        format!("`{}` means nothing here; was `{name}` meant?", entry.name),
                    ),
                    None => finding.help(format!("add `{name}: …`")),
                });
                None
            }
            (Some(node), Some(text)) if text.trim().is_empty() => {
                self.report(
                    node.span,
                    format!("`{name}` of {} is empty", self.what),
                    found,
                );
                None
            }
            (_, text) => text,
        }
    }

    /// The truth value under a key; false where it is missing.
    pub fn flag(&self, name: &str, found: &mut Vec<Diagnostic>) -> bool {
        let Some(node) = self.get(name) else {
            return false;
        };
        if let Content::Bool(truth) = node.content {
            return truth;
        }
        let message = format!(
            "`{name}` of {} must be true or false, and is {}",
            self.what,
            node.kind()
        );
        found.push(
            Diagnostic::new(self.code, node.span, message).expected("true or false", node.kind()),
        );
        false
    }

    /// The elements of the list under a key; none where it is missing.
    pub fn list(&self, name: &str, found: &mut Vec<Diagnostic>) -> &'a [Node] {
        let Some(node) = self.get(name) else {
            return &[];
        };
        node.items().unwrap_or_else(|| {
            self.report(
                node.span,
                format!(
                    "`{name}` of {} must be a list, and is {}",
                    self.what,
                    node.kind()
                ),
                found,
            );
            &[]
        })
    }

    /// The texts of the list under a key, with their places. One text alone counts as a list of one.
    pub fn texts(&self, name: &str, found: &mut Vec<Diagnostic>) -> Vec<(String, Span)> {
        if let Some((text, node)) = self.get(name).and_then(|node| Some((node.scalar()?, node))) {
            return vec![(text, node.span)];
        }
        let mut texts = Vec::new();
        for node in self.list(name, found) {
            if let Some(text) = node.scalar() {
                texts.push((text, node.span));
            } else {
                self.report(
                    node.span,
                    format!("`{name}` of {} must be a list of texts", self.what),
                    found,
                );
            }
        }
        texts
    }

    /// One of several words under a key, with a suggestion where it is none of them.
    pub fn word<T>(
        &self,
        name: &str,
        words: &[&str],
        find: impl FnOnce(&str) -> Option<T>,
        found: &mut Vec<Diagnostic>,
    ) -> Option<T> {
        let (node, text) = (self.get(name)?, self.text(name, found)?);
        let value = find(&text);
        if value.is_none() {
            let message = format!("`{name}` of {} cannot be `{text}`", self.what);
            let finding = Diagnostic::new(self.code, node.span, message).available(words);
            found.push(match nearest(&text, words.iter().copied()) {
                Some(near) => finding.did_you_mean(near, node.span, near.name),
                None => finding.help(format!("write one of {}", words.join(", "))),
            });
        }
        value
    }

    /// A length of time such as `30s` under a key, above zero and at most so long.
    pub fn time(
        &self,
        name: &str,
        most: Duration,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Duration> {
        let node = self.get(name)?;
        let time = node
            .scalar()
            .and_then(|text| parse_duration(&text))
            .and_then(|nanoseconds| u64::try_from(nanoseconds).ok())
            .map(Duration::from_nanos)
            .filter(|time| !time.is_zero() && *time <= most);
        if time.is_none() {
            let most = duration_text(i128::try_from(most.as_nanos()).unwrap_or(i128::MAX));
            let message =
                format!("`{name}` must be a length of time such as `30s`, at most {most}");
            self.report(node.span, message, found);
        }
        time
    }

    /// A whole number within these bounds under a key.
    pub fn count(
        &self,
        name: &str,
        (least, most): (u64, u64),
        found: &mut Vec<Diagnostic>,
    ) -> Option<u64> {
        let node = self.get(name)?;
        let count = node.number().and_then(Number::as_u64);
        let count = count.filter(|count| (least..=most).contains(count));
        if count.is_none() {
            let message = format!("`{name}` must be a whole number from {least} to {most}");
            self.report(node.span, message, found);
        }
        count
    }

    /// A number from 0 to this under a key.
    pub fn number(&self, name: &str, most: f64, found: &mut Vec<Diagnostic>) -> Option<f64> {
        let node = self.get(name)?;
        let number = node.number().and_then(Number::as_f64);
        let number = number.filter(|number| (0.0..=most).contains(number));
        if number.is_none() {
            let message = format!("`{name}` must be a number from 0 to {most}");
            self.report(node.span, message, found);
        }
        number
    }

    /// Reports what is wrong at a place within it.
    pub fn report(&self, span: Span, message: String, found: &mut Vec<Diagnostic>) {
        found.push(Diagnostic::new(self.code, span, message));
    }
}
