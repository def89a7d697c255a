//! An `OpenAPI` document as a tree that is accessed by JSON pointers, and the diagnostics about it.

use std::cell::RefCell;
use std::sync::Arc;

use planrun_lang::diag::codes::contracts::OPENAPI_INVALID;
use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::source::{SourceFile, Span};
use serde_json::Value as Json;

use crate::tools::http::percent;
use planrun_lang::yaml::{self, Content, Node, YamlError};

/// Maximum length of a chain of references.
const MAX_REFERENCES: usize = 32;
/// Maximum number of diagnostics that are reported for one document; the others are only counted.
const MAX_FINDINGS: usize = 20;

/// A document with the mistakes that have been found so far.
pub(super) struct Document {
    json: Json,
    source: Arc<SourceFile>,
    found: RefCell<Vec<Finding>>,
}

/// A part of a document with its position.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub json: &'a Json,
    /// A JSON pointer.
    pub pointer: String,
}

/// A mistake in the document.
struct Finding {
    place: Place,
    message: String,
    help: Option<String>,
    severity: Severity,
}

/// The position of a mistake, before its line is known.
enum Place {
    Pointer(String),
    /// The first reference with this text.
    Reference(String),
}

impl Document {
    /// Parses JSON or YAML. Returns an error if the text is neither.
    pub(super) fn parse(source: Arc<SourceFile>) -> Result<Self, YamlError> {
        let text = source.text();
        let json = match serde_json::from_str::<Json>(text) {
            Ok(json) if text.trim_start().starts_with('{') => json,
            Ok(_) | Err(_) => yaml::parse(text)?.to_json(),
        };
        Ok(Self {
            json,
            source,
            found: RefCell::default(),
        })
    }

    /// Returns the whole document.
    pub(super) fn root(&self) -> At<'_> {
        At {
            json: &self.json,
            pointer: String::new(),
        }
    }

    /// Returns true if a word occurs in the text of the document.
    pub(super) fn mentions(&self, word: &str) -> bool {
        self.source.text().contains(word)
    }

    /// Resolves a reference within this document. Fails with the reason in one sentence if it cannot be resolved.
    pub(super) fn target(&self, reference: &str) -> Result<At<'_>, String> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!(
                "`{reference}` refers to another document, but only this one is read"
            ));
        };
        let pointer = percent::decode(pointer);
        match self.json.pointer(&pointer) {
            Some(json) => Ok(At { json, pointer }),
            None => Err(format!(
                "`{reference}` refers to something that is not in this document"
            )),
        }
    }

    /// Follows references until a part that is not a reference. Fails with the reason in one sentence if there is none.
    pub(super) fn follow<'a>(&'a self, at: At<'a>) -> Result<At<'a>, String> {
        let mut at = at;
        for _ in 0..MAX_REFERENCES {
            match at.json.get("$ref").and_then(Json::as_str) {
                Some(reference) => at = self.target(reference)?,
                None => return Ok(at),
            }
        }
        Err(format!("{} refers to itself", at.pointer))
    }

    /// Reports something that is left out or interpreted differently. The rest of the document is used.
    pub(super) fn warn(&self, pointer: &str, message: impl Into<String>, help: Option<&str>) {
        let place = Place::Pointer(pointer.to_owned());
        self.push(place, message.into(), help, Severity::Warning);
    }

    /// Reports a mistake that makes the document unusable.
    pub(super) fn refuse(&self, pointer: &str, message: impl Into<String>, help: &str) {
        let place = Place::Pointer(pointer.to_owned());
        self.push(place, message.into(), Some(help), Severity::Error);
    }

    /// Reports a reference, only once.
    pub(super) fn warn_of_reference(&self, reference: &str, message: String) {
        let known = self.found.borrow().iter().any(
            |one| matches!(&one.place, Place::Reference(other) if other.as_str() == reference),
        );
        if !known {
            let place = Place::Reference(reference.to_owned());
            self.push(place, message, None, Severity::Warning);
        }
    }

    fn push(&self, place: Place, message: String, help: Option<&str>, severity: Severity) {
        self.found.borrow_mut().push(Finding {
            place,
            message,
            help: help.map(str::to_owned),
            severity,
        });
    }

    /// Returns all diagnostics with their spans in the text.
    pub(super) fn into_findings(self) -> Vec<Diagnostic> {
        let found = self.found.into_inner();
        if found.is_empty() {
            return Vec::new();
        }
        // Text that could be parsed as JSON can be parsed as YAML; if not, the diagnostics are at the start of the
        // text.
        let tree = yaml::parse(self.source.text()).ok();
        let mut further = found.len().saturating_sub(MAX_FINDINGS);
        let mut all: Vec<Diagnostic> = Vec::new();
        for finding in found.into_iter().take(MAX_FINDINGS) {
            let span = tree.as_ref().map(|tree| match &finding.place {
                Place::Pointer(pointer) => span_of(tree, pointer),
                Place::Reference(text) => reference(tree, text).unwrap_or(Span::at(0)),
            });
            let span = span.unwrap_or(Span::at(0));
            let mut diagnostic = Diagnostic::new(&OPENAPI_INVALID, span, finding.message);
            diagnostic.severity = finding.severity;
            if let Some(help) = finding.help {
                diagnostic = diagnostic.help(help);
            }
            all.push(diagnostic);
        }
        if further > 0
            && let Some(last) = all.pop()
        {
            further += 1;
            all.push(last.note(format!("and {} more in this document", further - 1)));
        }
        all.sort_by_key(|finding| finding.span);
        all
    }
}

impl<'a> At<'a> {
    /// Returns the value of a key if it is present and not null.
    pub(super) fn get(&self, key: &str) -> Option<At<'a>> {
        let json = self.json.get(key).filter(|json| !json.is_null())?;
        Some(self.inner(json, key))
    }

    /// Returns the entries of a mapping; none for any other value.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, At<'a>)> {
        let at = self.clone();
        let entries = self.json.as_object().into_iter().flatten();
        entries.map(move |(key, json)| (key.as_str(), at.inner(json, key)))
    }

    /// Returns the elements of a list; none for any other value.
    pub(super) fn items(&self) -> impl Iterator<Item = At<'a>> {
        let at = self.clone();
        let items = self.json.as_array().into_iter().flatten().enumerate();
        items.map(move |(index, json)| at.inner(json, &index.to_string()))
    }

    /// Returns the text under a key.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.json.get(key)?.as_str()
    }

    /// Returns true if the value of a key is `true`.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.json.get(key) == Some(&Json::Bool(true))
    }

    fn inner(&self, json: &'a Json, key: &str) -> At<'a> {
        let key = key.replace('~', "~0").replace('/', "~1");
        At {
            json,
            pointer: format!("{}/{key}", self.pointer),
        }
    }
}

/// Returns the span of a pointer's target. For the value of a key it is the span of the key, so that no diagnostic
/// covers half of the file.
fn span_of(tree: &Node, pointer: &str) -> Span {
    let (mut node, mut span) = (
        tree,
        tree.entries().and_then(<[_]>::first).map(|one| one.span),
    );
    for part in pointer.split('/').skip(1) {
        let key = part.replace("~1", "/").replace("~0", "~");
        let entry = node
            .entries()
            .and_then(|entries| entries.iter().find(|entry| entry.name == key));
        let item = || node.items()?.get(key.parse::<usize>().ok()?);
        if let Some(entry) = entry {
            (node, span) = (&entry.value, Some(entry.span));
        } else if let Some(item) = item() {
            let first = item.entries().and_then(<[_]>::first);
            (node, span) = (item, Some(first.map_or(item.span, |first| first.span)));
        } else {
            break;
        }
    }
    span.unwrap_or(node.span)
}

/// Returns the span of the first reference with this text.
fn reference(node: &Node, text: &str) -> Option<Span> {
    match &node.content {
        Content::Map(entries) => entries.iter().find_map(|entry| {
            if entry.name == "$ref" && entry.value.text() == Some(text) {
                return Some(entry.value.span);
            }
            reference(&entry.value, text)
        }),
        Content::List(items) => items.iter().find_map(|item| reference(item, text)),
        Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => None,
    }
}
