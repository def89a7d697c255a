//! Reads one mapping of a configuration file key by key, and reports a diagnostic for each mistake.

use std::time::Duration;

use planrun_lang::diag::{Code, Diagnostic, Severity, nearest};
use planrun_lang::source::Span;
use planrun_lang::value::{duration_text, parse_duration};
use serde_json::Number;

use planrun_lang::yaml::{Content, Entry, Node};

/// A mapping that is being read.
pub struct Section<'a> {
    /// Its description in messages, such as `the tool outbound`.
    what: String,
    span: Span,
    entries: &'a [Entry],
    code: &'static Code,
}

impl<'a> Section<'a> {
    /// Starts to read a mapping. If the node is not a mapping, that is reported and `None` is returned.
    pub fn new(
        what: impl Into<String>,
        node: &'a Node,
        code: &'static Code,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let what = what.into();
        let Some(entries) = node.entries() else {
            let message = format!("{what} must be a mapping, but is {}", node.kind());
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

    /// Sets a more specific description.
    pub fn rename(&mut self, what: String) {
        self.what = what;
    }

    /// The code of diagnostics in this mapping.
    pub fn code(&self) -> &'static Code {
        self.code
    }

    /// The span of its first key.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Reports unknown keys. Keys that start with `x-` are for the author's own use.
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
            let absent = |name: &&str| self.get(name).is_none();
            let absent = known.iter().copied().filter(absent);
            let otherwise = format!("the keys are {}", known.join(", "));
            found.push(finding.suggest(&entry.name, absent, otherwise));
        }
    }

    /// Returns the value of a key; `None` if the key is missing or has no value.
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some(&entry.value).filter(|value| value.kind() != "nothing")
    }

    /// Returns the text under a key, if it is present.
    pub fn text(&self, name: &str, found: &mut Vec<Diagnostic>) -> Option<String> {
        let node = self.get(name)?;
        let text = node.scalar();
        if text.is_none() {
            self.report(
                node.span,
                format!(
                    "`{name}` of {} must be a string, but is {}",
                    self.what,
                    node.kind()
                ),
                found,
            );
        }
        text
    }

    /// Returns the text under a key that must be present and not empty.
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
                        format!("`{}` is unknown here; did you mean `{name}`?", entry.name),
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

    /// Returns the boolean under a key; false if it is missing.
    pub fn flag(&self, name: &str, found: &mut Vec<Diagnostic>) -> bool {
        let Some(node) = self.get(name) else {
            return false;
        };
        if let Content::Bool(truth) = node.content {
            return truth;
        }
        let message = format!(
            "`{name}` of {} must be true or false, but is {}",
            self.what,
            node.kind()
        );
        found.push(
            Diagnostic::new(self.code, node.span, message).expected("true or false", node.kind()),
        );
        false
    }

    /// Returns the elements of the list under a key; none if it is missing.
    pub fn list(&self, name: &str, found: &mut Vec<Diagnostic>) -> &'a [Node] {
        let Some(node) = self.get(name) else {
            return &[];
        };
        node.items().unwrap_or_else(|| {
            self.report(
                node.span,
                format!(
                    "`{name}` of {} must be a list, but is {}",
                    self.what,
                    node.kind()
                ),
                found,
            );
            &[]
        })
    }

    /// Returns the texts of the list under a key, with their spans. A single text counts as a list of one.
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
                    format!("`{name}` of {} must be a list of strings", self.what),
                    found,
                );
            }
        }
        texts
    }

    /// Returns the keyword under a key. Any other word is reported with a suggestion.
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
            let otherwise = format!("write one of {}", words.join(", "));
            found.push(finding.suggest(&text, words.iter().copied(), otherwise));
        }
        value
    }

    /// Returns the duration under a key, such as `30s`, which must be above zero and at most `most`.
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
            let message = format!("`{name}` must be a duration such as `30s`, at most {most}");
            self.report(node.span, message, found);
        }
        time
    }

    /// Returns the whole number under a key, which must be within the bounds.
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

    /// Returns the number under a key, which must be from 0 to `most`.
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

    /// Reports a mistake at a span within the mapping.
    pub fn report(&self, span: Span, message: String, found: &mut Vec<Diagnostic>) {
        found.push(Diagnostic::new(self.code, span, message));
    }
}
