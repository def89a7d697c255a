//! Mutants: plans with one small change each. Good tests fail for nearly all of them.

mod expression;
mod statement;

use std::sync::Arc;

use planrun_lang::diag::{Diagnostic, Edit};
use planrun_lang::format;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::{self, ast, json};
use planrun_lang::words;

words! {
    /// The kind of change of a mutant.
    #[derive(PartialOrd, Ord)]
    Kind {
        /// A condition: of a step, a reply, a failure, an `if`, an `ensure`, a filter.
        Guard = "guard",
        /// An argument of a call, a field of a reply, or the value of a `let`.
        Argument = "argument",
        /// The number of attempts of a call, or the errors that are retried.
        Retry = "retry",
        /// A `recover` arm, or the classes that it catches.
        Recover = "recover",
        /// The order of statements.
        Order = "order",
        /// A `confirm`, a `verify` or an `undo`.
        Safety = "safety",
    }
}

/// One change of one plan.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub kind: Kind,
    /// Description of the change.
    pub what: String,
    /// Span of the change in the file.
    pub span: Span,
    pub edits: Vec<Edit>,
    /// The text form of a file in JSON form, to which the edits apply.
    text_form: Option<Arc<SourceFile>>,
}

impl Mutant {
    /// Returns the text to which the edits apply.
    #[must_use]
    pub fn base<'a>(&'a self, source: &'a SourceFile) -> &'a SourceFile {
        self.text_form.as_deref().unwrap_or(source)
    }

    /// Returns the text of the file with the change applied; `None` if the change of a file in JSON form gives no plan.
    #[must_use]
    pub fn apply(&self, source: &SourceFile) -> Option<String> {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
        let base = self.base(source);
        let mut changed = base.text().to_owned();
        for edit in edits {
            changed.replace_range(edit.span.range(), &edit.text);
        }
        if self.text_form.is_none() {
            return Some(changed);
        }
        let parsed = syntax::parse(&SourceFile::new(base.name(), changed));
        let is_plan = !parsed.diagnostics.iter().any(Diagnostic::is_error);
        let encoded = json::encode(&parsed.file).ok().filter(|_| is_plan)?;
        Some(json::text(&encoded))
    }
}

/// Returns all mutants of the plans of a file, in source order. `is_barrier` decides about a statement whether the
/// statements below it wait for it: two calls are swapped only if one of them is a barrier, since otherwise their order
/// has no meaning.
#[must_use]
pub fn mutants(
    source: &SourceFile,
    file: &ast::File,
    is_barrier: &dyn Fn(Span) -> bool,
) -> Vec<Mutant> {
    let mut found = all(source, file);
    let order: Vec<bool> = found
        .iter()
        .map(|mutant| match mutant.edits.as_slice() {
            [one, other] => is_barrier(one.span) || is_barrier(other.span),
            _ => true,
        })
        .collect();
    if json::is_json(source) {
        found = of_text_form(source, file, &found);
    }
    let mut ordered = order.into_iter();
    found.retain(|_| ordered.next().unwrap_or(true));
    found.sort_by_key(|mutant| (mutant.span.start, mutant.span.end, mutant.kind));
    found
}

/// Returns the mutants of the text form of a file in JSON form, each at the place of the equal one of the JSON form:
/// both forms have the same statements, but an edit of plan text fits only the text form.
fn of_text_form(source: &SourceFile, file: &ast::File, of_json: &[Mutant]) -> Vec<Mutant> {
    let Some(text) = format::print(file) else {
        return Vec::new();
    };
    let name = source.name().replace(json::ENDING, ".plan");
    let text_form = Arc::new(SourceFile::new(name, text));
    let found = all(&text_form, &syntax::parse(&text_form).file);
    let kinds =
        |mutants: &[Mutant]| -> Vec<Kind> { mutants.iter().map(|mutant| mutant.kind).collect() };
    debug_assert!(
        kinds(&found) == kinds(of_json),
        "both forms have the same mutants"
    );
    let place = |(mutant, of_json): (Mutant, &Mutant)| Mutant {
        span: of_json.span,
        text_form: Some(text_form.clone()),
        ..mutant
    };
    found.into_iter().zip(of_json).map(place).collect()
}

/// Returns the mutants in the order of the statements, calls whose order has no meaning included.
fn all(source: &SourceFile, file: &ast::File) -> Vec<Mutant> {
    let mut found = Mutants {
        source,
        found: Vec::new(),
    };
    for item in &file.items {
        if let ast::ItemKind::Plan(plan) = &item.kind {
            found.block(&plan.body);
        }
    }
    found.found
}

struct Mutants<'a> {
    source: &'a SourceFile,
    found: Vec<Mutant>,
}

impl Mutants<'_> {
    fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    fn add(&mut self, kind: Kind, span: Span, what: impl Into<String>, edits: Vec<Edit>) {
        self.found.push(Mutant {
            kind,
            what: what.into(),
            span,
            edits,
            text_form: None,
        });
    }

    /// Adds a mutant in which the text of a span is replaced.
    fn replace(
        &mut self,
        kind: Kind,
        span: Span,
        what: impl Into<String>,
        text: impl Into<String>,
    ) {
        self.add(
            kind,
            span,
            what,
            vec![Edit {
                span,
                text: text.into(),
            }],
        );
    }

    /// Adds a mutant in which the text of a span is removed.
    fn remove(&mut self, kind: Kind, span: Span, what: impl Into<String>) {
        self.replace(kind, span, what, "");
    }
}
