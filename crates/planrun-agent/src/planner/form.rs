//! The form in which a model writes plans: text, or JSON under a schema that the server keeps it to.

use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::json::{Breadth, is_json, narrowed};
use planrun_lang::syntax::parse;
use planrun_lang::types::Signature;
use planrun_models::model::AnswerShape;

use crate::shortlist::shortlist;

/// How a model writes a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    #[default]
    Text,
    /// The JSON form, under structured output.
    Json,
}

/// The tools that plans in JSON can call.
pub(super) struct Callable {
    all: Vec<Arc<Signature>>,
    listed: Vec<Arc<Signature>>,
}

impl Callable {
    /// All of these where they are few, else those that the request speaks of.
    pub(super) fn new(all: Vec<Arc<Signature>>, request: &str) -> Self {
        let listed = shortlist(&all, request);
        Self { all, listed }
    }

    /// Adds tools by their names, as far as there are such.
    pub(super) fn add(&mut self, names: &[String]) {
        let is_new = |tool: &&Arc<Signature>| {
            let path = tool.path();
            names.contains(&path) && self.listed.iter().all(|known| known.path() != path)
        };
        let new: Vec<_> = self.all.iter().filter(is_new).cloned().collect();
        self.listed.extend(new);
    }

    /// What an answer has to be.
    pub(super) fn shape(&self) -> AnswerShape {
        AnswerShape::Json {
            name: "plan".to_owned(),
            schema: narrowed(self.listed.iter().map(AsRef::as_ref), Breadth::Full),
            strict: true,
        }
    }
}

/// The plan as text, where it is written in JSON and can be read.
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
