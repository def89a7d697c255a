//! Mutants: plans with one small change each. Good tests fail for nearly all of them.

mod expression;
mod statement;

use planrun_lang::diag::Edit;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast;
use planrun_lang::words;

words! {
    /// What a mutant changes.
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
    /// Span of the change in the original text.
    pub span: Span,
    pub edits: Vec<Edit>,
}

impl Mutant {
    /// Returns the text with the change applied.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
        let mut changed = text.to_owned();
        for edit in edits {
            changed.replace_range(edit.span.range(), &edit.text);
        }
        changed
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
    let mut found = Mutants {
        source,
        is_barrier,
        found: Vec::new(),
    };
    for item in &file.items {
        if let ast::ItemKind::Plan(plan) = &item.kind {
            found.block(&plan.body);
        }
    }
    let mut mutants = found.found;
    mutants.sort_by_key(|mutant| (mutant.span.start, mutant.span.end, mutant.kind));
    mutants
}

struct Mutants<'a> {
    source: &'a SourceFile,
    is_barrier: &'a dyn Fn(Span) -> bool,
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
