//! The form in which a model writes plans: text, or JSON with a schema that the server enforces.

use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::json::{Breadth, is_json, narrowed};
use planrun_lang::syntax::parse;
use planrun_lang::types::Signature;
use planrun_models::model::AnswerShape;

use crate::shortlist::shortlist;

/// The form of the plans that a model writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    #[default]
    Text,
    /// The JSON form, with structured output.
    Json,
}

/// The tools that plans in JSON can call.
pub(super) struct Callable {
    all: Vec<Arc<Signature>>,
    listed: Vec<Arc<Signature>>,
}

impl Callable {
    /// Starts with all of these tools if there are few, otherwise with those that match the request.
    pub(super) fn new(all: Vec<Arc<Signature>>, request: &str) -> Self {
        let listed = shortlist(&all, request);
        Self { all, listed }
    }

    /// Adds the tools with these names, if they exist.
    pub(super) fn add(&mut self, names: &[String]) {
        let is_new = |tool: &&Arc<Signature>| {
            let path = tool.path();
            names.contains(&path) && self.listed.iter().all(|known| known.path() != path)
        };
        let new: Vec<_> = self.all.iter().filter(is_new).cloned().collect();
        self.listed.extend(new);
    }

    /// Returns the required shape of the answer.
    pub(super) fn shape(&self) -> AnswerShape {
        AnswerShape::Json {
            name: "plan".to_owned(),
            schema: narrowed(self.listed.iter().map(AsRef::as_ref), Breadth::Full),
            strict: true,
        }
    }
}

/// Converts a plan in JSON to text if it has no errors; other sources are returned unchanged.
pub(super) fn as_text(source: SourceFile) -> SourceFile {
    if !is_json(&source) {
        return source;
    }
    let parsed = parse(&source);
    let printed = if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        None
    } else {
        format::print(&parsed.file)
    };
    match printed {
        Some(text) => SourceFile::new(source.name(), text),
        None => source,
    }
}
