//! Reads one mapping of a configuration file key by key, and reports a diagnostic for each mistake.

use std::cell::RefCell;
use std::time::Duration;

use planrun_lang::diag::codes::contracts::{APP_INVALID, CONFIG_KEY};
use planrun_lang::diag::{Code, Diagnostic, Severity, nearest};
use planrun_lang::source::Span;
use planrun_lang::value::{duration_text, parse_duration};
use serde_json::Number;

use planrun_lang::yaml::{Content, Entry, Node};

/// The mistakes found in a file, which all its readers add to.
pub struct Mistakes {
    code: &'static Code,
    /// The severity of unknown keys.
    unknown: Severity,
    found: RefCell<Vec<Diagnostic>>,
}

impl Mistakes {
    /// Mistakes in a file of the project.
    pub fn in_project() -> Self {
        Self::new(&CONFIG_KEY, Severity::Error)
    }

    /// Mistakes in an app file, which may have keys for other programs.
    pub fn in_app() -> Self {
        Self::new(&APP_INVALID, Severity::Warning)
    }

    fn new(code: &'static Code, unknown: Severity) -> Self {
        Self {
            code,
            unknown,
            found: RefCell::default(),
        }
    }

    /// Adds a diagnostic with another code or with more than a help.
    pub fn push(&self, finding: Diagnostic) {
        self.found.borrow_mut().push(finding);
    }

    /// Starts a diagnostic with the code of the file.
    pub fn at(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.code, span, message)
    }

    pub fn add(&self, span: Span, message: impl Into<String>) {
        self.push(self.at(span, message));
    }

    pub fn explain(&self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.push(self.at(span, message).help(help));
    }

    pub fn warn(&self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let mut finding = self.at(span, message).help(help);
        finding.severity = Severity::Warning;
        self.push(finding);
    }

    /// Moves the mistakes of a part of the file here, as warnings.
    pub fn add_warnings(&self, part: Self) {
        for mut finding in part.all() {
            finding.severity = Severity::Warning;
            self.push(finding);
        }
    }

    /// Returns an empty list for a part of the same file.
    #[must_use]
    pub fn of_part(&self) -> Self {
        Self::new(self.code, self.unknown)
    }

    pub fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// Returns the diagnostics as they were found.
    pub fn all(self) -> Vec<Diagnostic> {
        self.found.into_inner()
    }

    /// Returns the diagnostics in the order of the text.
    pub fn sorted(self) -> Vec<Diagnostic> {
        let mut found = self.all();
        found.sort_by_key(|finding| finding.span);
        found
    }
}

/// A mapping that is being read.
pub struct Section<'a> {
    /// Its description in messages, such as `the tool outbound`.
    what: String,
    span: Span,
    entries: &'a [Entry],
    pub found: &'a Mistakes,
}

impl<'a> Section<'a> {
    /// Starts to read a mapping. If the node is not a mapping, that is reported and `None` is returned.
    pub fn new(what: impl Into<String>, node: &'a Node, found: &'a Mistakes) -> Option<Self> {
        let what = what.into();
        let Some(entries) = node.entries() else {
            let message = format!("{what} must be a mapping, but is {}", node.kind());
            found.push(
                found
                    .at(node.span, message)
                    .expected("a mapping", node.kind()),
            );
            return None;
        };
        let span = entries.first().map_or(node.span, |first| first.span);
        Some(Self {
            what,
            span,
            entries,
            found,
        })
    }

    /// Sets a more specific description.
    pub fn rename(&mut self, what: String) {
        self.what = what;
    }

    /// Starts to read the mapping under a key, which has these keys.
    pub fn inner(&self, name: &str, keys: &[&str]) -> Option<Self> {
        let inner = Self::new(format!("`{name}`"), self.get(name)?, self.found)?;
        inner.expect_keys(keys);
        Some(inner)
    }

    /// The span of its first key.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Reports unknown keys. Keys that start with `x-` are for the author's own use.
    pub fn expect_keys(&self, known: &[&str]) {
        self.report_unknown(known, self.found.unknown);
    }

    /// Warns about unknown keys, even in a file in which they are errors.
    pub fn prefer_keys(&self, known: &[&str]) {
        self.report_unknown(known, Severity::Warning);
    }

    fn report_unknown(&self, known: &[&str], severity: Severity) {
        let is_known =
            |entry: &&Entry| known.contains(&&*entry.name) || entry.name.starts_with("x-");
        for entry in self.entries.iter().filter(|entry| !is_known(entry)) {
            let message = format!("{} has no key `{}`", self.what, entry.name);
            let mut finding = self.found.at(entry.span, message).available(known);
            finding.severity = severity;
            let absent = |name: &&str| self.get(name).is_none();
            let absent = known.iter().copied().filter(absent);
            let otherwise = format!("the keys are {}", known.join(", "));
            self.found
                .push(finding.suggest(&entry.name, absent, otherwise));
        }
    }

    /// Returns the value of a key; `None` if the key is missing or has no value.
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some(&entry.value).filter(|value| value.kind() != "nothing")
    }

    /// Returns the text under a key, if it is present.
    pub fn text(&self, name: &str) -> Option<String> {
        let node = self.get(name)?;
        let text = node.scalar();
        if text.is_none() {
            self.found.push(self.misfit(name, node, "a string"));
        }
        text
    }

    /// Returns the text under a key that must be present and not empty.
    pub fn required(&self, name: &str) -> Option<String> {
        let Some(node) = self.get(name) else {
            self.found.push(self.lacks(name));
            return None;
        };
        let text = self.text(name)?;
        if text.trim().is_empty() {
            self.report(node.span, format!("`{name}` of {} is empty", self.what));
            return None;
        }
        Some(text)
    }

    fn lacks(&self, name: &str) -> Diagnostic {
        let near = |entry: &'a Entry| Some((entry, nearest(&entry.name, [name])?));
        let near = self.entries.iter().find_map(near);
        let span = near.map_or(self.span, |(entry, _)| entry.span);
        let finding = self
            .found
            .at(span, format!("{} lacks the key `{name}`", self.what));
        match near {
            Some((entry, near)) => finding.did_you_mean(near, entry.span, name).help(format!(
                "`{}` is unknown here; did you mean `{name}`?",
                entry.name
            )),
            None => finding.help(format!("add `{name}: …`")),
        }
    }

    fn misfit(&self, name: &str, node: &Node, expected: &str) -> Diagnostic {
        let (what, kind) = (&self.what, node.kind());
        let message = format!("`{name}` of {what} must be {expected}, but is {kind}");
        self.found.at(node.span, message)
    }

    /// Returns the boolean under a key; false if it is missing.
    pub fn flag(&self, name: &str) -> bool {
        let Some(node) = self.get(name) else {
            return false;
        };
        if let Content::Bool(truth) = node.content {
            return truth;
        }
        let finding = self.misfit(name, node, "true or false");
        self.found
            .push(finding.expected("true or false", node.kind()));
        false
    }

    /// Returns the elements of the list under a key; none if it is missing.
    pub fn list(&self, name: &str) -> &'a [Node] {
        let Some(node) = self.get(name) else {
            return &[];
        };
        node.items().unwrap_or_else(|| {
            self.found.push(self.misfit(name, node, "a list"));
            &[]
        })
    }

    /// Returns the texts of the list under a key, with their spans. A single text counts as a list of one.
    pub fn texts(&self, name: &str) -> Vec<(String, Span)> {
        if let Some((text, node)) = self.get(name).and_then(|node| Some((node.scalar()?, node))) {
            return vec![(text, node.span)];
        }
        let text = |node: &Node| {
            let text = node.scalar();
            if text.is_none() {
                let message = format!("`{name}` of {} must be a list of strings", self.what);
                self.report(node.span, message);
            }
            Some((text?, node.span))
        };
        self.list(name).iter().filter_map(text).collect()
    }

    /// Returns the entries of the mapping under a key; none if it is missing. Other values are reported as `what`.
    pub fn entries(&self, name: &str, what: &str) -> &'a [Entry] {
        let Some(node) = self.get(name) else {
            return &[];
        };
        node.entries().unwrap_or_else(|| {
            let message = format!("{what} must be a mapping, but is {}", node.kind());
            self.report(node.span, message);
            &[]
        })
    }

    /// Returns the keyword under a key. Any other word is reported with a suggestion.
    pub fn word<T>(
        &self,
        name: &str,
        words: &[&str],
        find: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let (node, text) = (self.get(name)?, self.text(name)?);
        let value = find(&text);
        if value.is_none() {
            let message = format!("`{name}` of {} cannot be `{text}`", self.what);
            let finding = self.found.at(node.span, message).available(words);
            let otherwise = format!("write one of {}", words.join(", "));
            let words = words.iter().copied();
            self.found.push(finding.suggest(&text, words, otherwise));
        }
        value
    }

    /// Returns the value under a key; one that `read` does not accept is reported.
    fn checked<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Node) -> Option<T>,
        expected: impl FnOnce() -> String,
    ) -> Option<T> {
        let node = self.get(name)?;
        let value = read(node);
        if value.is_none() {
            self.report(node.span, format!("`{name}` must be {}", expected()));
        }
        value
    }

    /// Returns the duration under a key, such as `30s`, which must be above zero and at most `most`.
    pub fn time(&self, name: &str, most: Duration) -> Option<Duration> {
        let read = |node: &Node| {
            let nanoseconds = parse_duration(&node.scalar()?)?;
            let time = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
            (!time.is_zero() && time <= most).then_some(time)
        };
        self.checked(name, read, || {
            let most = duration_text(i128::try_from(most.as_nanos()).unwrap_or(i128::MAX));
            format!("a duration such as `30s`, at most {most}")
        })
    }

    /// Returns the whole number under a key, which must be within the bounds.
    pub fn count(&self, name: &str, (least, most): (u64, u64)) -> Option<u64> {
        let read = |node: &Node| {
            let count = node.number().and_then(Number::as_u64);
            count.filter(|count| (least..=most).contains(count))
        };
        self.checked(name, read, || {
            format!("a whole number from {least} to {most}")
        })
    }

    /// Returns the number under a key, which must be from 0 to `most`.
    pub fn number(&self, name: &str, most: f64) -> Option<f64> {
        let read = |node: &Node| {
            let number = node.number().and_then(Number::as_f64);
            number.filter(|number| (0.0..=most).contains(number))
        };
        self.checked(name, read, || format!("a number from 0 to {most}"))
    }

    /// Reports a mistake at a span within the mapping.
    pub fn report(&self, span: Span, message: impl Into<String>) {
        self.found.add(span, message);
    }
}
