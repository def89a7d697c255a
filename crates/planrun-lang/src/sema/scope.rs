//! The scope of expressions: visible names with their types and run-time places, and the facts that hold.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// Location of a value at run time: `up` frames outwards, then `slot`. The body of an `each`, `repeat` or `do`, an arm
/// and a firing have their own frame; an `if` does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Place {
    pub up: u16,
    pub slot: u32,
}

/// Kind of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameKind {
    Parameter,
    Step,
    Let,
    /// A loop variable, a loop state or an `as` name.
    Local,
    Task,
    /// The plan itself, in conditions of listeners: `plan is failed`.
    Plan,
}

/// One part of a guard in canonical text, so that equal conditions are equal atoms wherever they are written.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Atom {
    pub text: Arc<str>,
    /// Whether the condition is known to be false instead of true.
    pub negated: bool,
    /// The path that it tests for null, or for existence with `has`: canonical, with `.` for `?.`.
    pub tested: Option<Arc<str>>,
    /// The conditions that do not all hold if this one does: `a` and `b` for `!(a && b)`, `!a` and `!b` for `a || b`.
    /// Empty for a condition without such parts.
    pub not_all: Arc<[Atom]>,
    /// Which contexts of tasks it was evaluated with: equal conditions are equal only if no `set` lies between them. 0
    /// for a condition that reads no context.
    pub contexts: u32,
}

impl Atom {
    /// Returns what it tests, without the result.
    pub(super) fn condition(&self) -> (&str, u32) {
        (&self.text, self.contexts)
    }
}

/// A name that can be read.
#[derive(Clone, Debug)]
pub struct Binding {
    pub kind: NameKind,
    pub place: Place,
    /// Where the name was introduced first.
    pub span: Span,
    /// The statements that define it, at least one; there may be one in each branch of an `if`.
    pub definitions: Arc<[Definition]>,
}

/// One definition of a name.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The type, ignoring absence because of `guard`.
    pub ty: Type,
    /// The statement only produces a value if all of these hold.
    pub guard: Arc<[Atom]>,
    /// Type of `winner(x)`; `None` if the statement is not a `race`.
    pub winner: Option<Type>,
}

impl Binding {
    /// Creates a name that is always present.
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

/// Result of looking up a name.
#[derive(Clone, Debug)]
pub enum Lookup {
    Found(Binding),
    /// It is introduced further down, at this span.
    Later(Span),
    /// It is a namespace, not a value.
    Namespace,
    Missing,
}

/// The names around an expression. Implemented for plans and tests, and by `eval` for bindings.
pub trait Scope {
    fn lookup(&self, name: &str) -> Lookup;
    /// Returns every name that could be intended here, for suggestions.
    fn visible(&self) -> Vec<Arc<str>>;
    /// Returns the conditions that hold here: those of guards around, and what ends above have proved.
    fn facts(&self) -> &[Atom];

    /// Returns conditions that do not hold together here, since otherwise the plan or block would have ended above.
    fn excluded(&self) -> &[Arc<[Atom]>] {
        &[]
    }

    /// Returns the subjects of the `match` steps around, as canonical text, each with its type in the arm around.
    fn arms(&self) -> &[(String, Type)] {
        &[]
    }

    /// Returns a condition at this position of the file as it is compared with those of other statements.
    fn dated(&self, atom: &Atom, _at: u32) -> Atom {
        atom.clone()
    }

    /// Returns true if a plan of the file has this name. Plans are called by steps, not inside expressions.
    fn is_plan(&self, _name: &str) -> bool {
        false
    }

    /// Resolves a function that queries the calls of a run instead of taking values, such as `calls(hr.find)` in a
    /// test; its result is read like a name. Returns `None` for other functions.
    fn query(
        &self,
        _function: &ast::Name,
        _arguments: &[ast::Argument],
        _span: Span,
    ) -> Option<Result<Binding, Box<Diagnostic>>> {
        None
    }
}

/// An empty scope.
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
