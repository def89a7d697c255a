//! Mutants: plans with one small change each. Good tests fail for nearly all of them.

mod expression;
mod statement;

use planrun_lang::diag::Edit;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast;

/// What a change is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A condition: of a step, a reply, a failure, an `if`, an `ensure`, a filter.
    Guard,
    /// An argument of a call, a field of a reply, or what a `let` gives.
    Argument,
    /// How often, and for what, a call is tried again.
    Retry,
    /// What a failure is caught by.
    Recover,
    /// What waits for what.
    Order,
    /// What is asked first, looked at afterwards, or taken back.
    Safety,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Guard,
        Self::Argument,
        Self::Retry,
        Self::Recover,
        Self::Order,
        Self::Safety,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Argument => "argument",
            Self::Retry => "retry",
            Self::Recover => "recover",
            Self::Order => "order",
            Self::Safety => "safety",
        }
    }
}

/// One change of one plan.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub kind: Kind,
    /// What is changed, in words.
    pub what: String,
    /// Where.
    pub span: Span,
    pub edits: Vec<Edit>,
}

impl Mutant {
    /// The text with the change.
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

/// Every mutant of the plans of a file, in source order.
#[must_use]
pub fn mutants(source: &SourceFile, file: &ast::File) -> Vec<Mutant> {
    let mut found = Mutants {
        source,
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

    /// The text of a span is another one.
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

    /// The text of a span is gone.
    fn remove(&mut self, kind: Kind, span: Span, what: impl Into<String>) {
        self.replace(kind, span, what, "");
    }
}
