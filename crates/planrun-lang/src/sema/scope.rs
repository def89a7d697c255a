//! What expressions may see: names, their types, their places at run time, and the facts that hold where they stand.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// Where a value lives at run time: `up` frames outwards, then `slot`. The body of an `each`, `repeat`, `do`, an arm
/// or a firing is a frame of its own; an `if` is not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Place {
    pub up: u16,
    pub slot: u32,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameKind {
    Parameter,
    Step,
    Let,
    /// A loop variable, a carried state, an `as` name.
    Local,
    Task,
    /// The plan itself, in conditions of listeners: `plan is failed`.
    Plan,
}

/// One part of a guard, in canonical text, so that equal conditions are equal atoms wherever they are written.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Atom {
    pub text: Arc<str>,
    /// Whether the condition is known to be false instead of true.
    pub negated: bool,
    /// The conditions that do not all hold where this one does: `a` and `b` for `!(a && b)`, `!a` and `!b` for
    /// `a || b`. Empty for a condition without such parts.
    pub not_all: Arc<[Atom]>,
}

/// A name that can be read.
#[derive(Clone, Debug)]
pub struct Binding {
    pub kind: NameKind,
    pub place: Place,
    /// Where the name was introduced first.
    pub span: Span,
    /// The statements that give it, at least one; several where branches of one `if` do.
    pub definitions: Arc<[Definition]>,
}

/// A name as one statement gives it.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The type without the absence that `guard` brings.
    pub ty: Type,
    /// The statement gives nothing unless all of these hold.
    pub guard: Arc<[Atom]>,
    /// The type of `winner(x)`; nothing where the statement is no `race`.
    pub winner: Option<Type>,
}

impl Binding {
    /// A name that is always there.
    #[must_use]
    pub fn always(kind: NameKind, place: Place, ty: Type, span: Span) -> Self {
        Self {
            kind,
            place,
            span,
            definitions: [Definition {
                ty,
                guard: Arc::default(),
                winner: None,
            }]
            .into(),
        }
    }
}

/// The result of looking for a name.
#[derive(Clone, Debug)]
pub enum Lookup {
    Found(Binding),
    /// It is introduced further down, at this place.
    Later(Span),
    /// It names tools, not a value.
    Namespace,
    Missing,
}

/// The names around an expression. Implemented by the checker of plans, and by `eval` over its bindings.
pub trait Scope {
    fn lookup(&self, name: &str) -> Lookup;
    /// Every name that a reader at this place could mean, for suggestions.
    fn visible(&self) -> Vec<Arc<str>>;
    /// The conditions that hold at this place: those of guards around it, and what ends above it have left.
    fn facts(&self) -> &[Atom];

    /// Conditions that do not hold together at this place, since an end above it would have been taken.
    fn excluded(&self) -> &[Arc<[Atom]>] {
        &[]
    }

    /// Whether a plan of the file has this name. It is called by a step, not inside an expression.
    fn is_plan(&self, _name: &str) -> bool {
        false
    }

    /// What a function stands for that takes no values but speaks of what happened, such as `calls(hr.find)` in a test; its
    /// answer is at a place like that of a name. `None` where it is a function like others.
    fn asks(
        &self,
        _function: &ast::Name,
        _arguments: &[ast::Argument],
        _span: Span,
    ) -> Option<Result<Binding, Box<Diagnostic>>> {
        None
    }
}

/// No names at all.
pub(super) struct NoNames;

impl Scope for NoNames {
    fn lookup(&self, _: &str) -> Lookup {
        Lookup::Missing
    }

    fn visible(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn facts(&self) -> &[Atom] {
        &[]
    }
}
