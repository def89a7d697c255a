//! The names that an expression sees, and what conditions and arms around it prove about them.

use std::sync::Arc;

use super::narrow::{self, covers, plain, present_path};
use crate::sema::presence::Known;
use crate::sema::{Atom, Binding, Definition, Scope};
use crate::syntax::{ast, canonical_name};
use crate::types::Type;

/// A variable of a macro.
pub(super) struct Local {
    pub name: Arc<str>,
    pub ty: Type,
    pub register: u16,
    /// Facts from this index on may be about this variable; earlier ones are about another variable of the same name.
    pub facts: usize,
}

/// The scope of the plan, the macro variables inside the expression, and the facts about both.
pub(super) struct Environment<'a> {
    pub scope: &'a dyn Scope,
    /// Macro variables, innermost last.
    pub locals: Vec<Local>,
    /// Maximum number of registers in use at the same time.
    pub registers: u16,
    /// What holds because of conditions inside the expression.
    pub facts: Vec<Atom>,
    /// Conditions inside the expression that do not hold together.
    pub excluded: Vec<Arc<[Atom]>>,
    /// Subjects of the surrounding `match` arms, with their types there.
    pub narrowed: Vec<(String, Type)>,
}

impl<'a> Environment<'a> {
    pub fn new(scope: &'a dyn Scope) -> Self {
        Self {
            scope,
            locals: Vec::new(),
            registers: 0,
            facts: Vec::new(),
            excluded: Vec::new(),
            narrowed: Vec::new(),
        }
    }

    /// Returns true if a condition proves that the value at this path is present. `has` of a field only proves that it
    /// is not missing; `by_has` is set if that is enough, because the field is never null when it exists.
    pub fn is_present(&self, root: Option<&str>, path: &str, by_has: bool) -> bool {
        self.known(root).any(|atom| {
            let Some(present) = present_path(atom).map(plain) else {
                return false;
            };
            covers(&present, path) && (by_has || atom.negated || present != path)
        })
    }

    /// Returns true if exactly this is known, such as `r.ok` or its negation.
    pub fn is_known(&self, root: Option<&str>, text: &str, negated: bool) -> bool {
        self.known(root)
            .any(|atom| atom.negated == negated && atom.contexts == 0 && plain(&atom.text) == text)
    }

    /// Adds what a condition proves if it is `truth`.
    pub fn assume(&mut self, condition: &ast::Expr, truth: bool) {
        let plain = if truth {
            narrow::atoms(condition)
        } else {
            narrow::negated_atoms(condition)
        };
        for atom in plain {
            let dated = self.scope.dated(&atom, condition.span.start);
            self.facts.extend((dated != atom).then_some(dated));
            self.facts.push(atom);
        }
    }

    /// Returns what is known here.
    pub fn knowledge(&self) -> Known<'_> {
        Known {
            facts: [self.scope.facts(), &self.facts],
            excluded: [self.scope.excluded(), &self.excluded],
        }
    }

    /// Returns the type of a name and whether it may be absent, from the statements that may have defined it.
    pub fn given(&self, binding: &Binding) -> (Type, bool) {
        let known = self.knowledge();
        let open = !known.is_given(&binding.definitions);
        if let [only] = &*binding.definitions {
            return (only.ty.clone(), open);
        }
        (
            Type::union(possible(&known, binding).map(|definition| definition.ty.clone())),
            open,
        )
    }

    /// Returns the type of `winner(x)` if one of the statements that may have defined the name is a race; it is null
    /// for the others.
    pub fn winner_type(&self, binding: &Binding) -> Option<Type> {
        let known = self.knowledge();
        let winners = possible(&known, binding)
            .map(|definition| definition.winner.clone())
            .collect::<Vec<_>>();
        let races = winners.iter().any(Option::is_some);
        races.then(|| {
            Type::union(
                winners
                    .into_iter()
                    .map(|winner| winner.unwrap_or(Type::Null)),
            )
        })
    }

    /// Returns the facts that may be about a path that begins with this name.
    fn known(&self, root: Option<&str>) -> impl Iterator<Item = &Atom> {
        let local = root.and_then(|name| self.local(name));
        let outer: &[Atom] = if local.is_some() {
            &[]
        } else {
            self.scope.facts()
        };
        let inner = self
            .facts
            .get(local.map_or(0, |local| local.facts)..)
            .unwrap_or(&[]);
        outer.iter().chain(inner)
    }

    /// Returns the innermost macro variable with this name.
    pub fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    /// Returns the type of this path in a surrounding `match` arm, if it is the subject.
    pub fn narrowed_type(&self, path: &str) -> Option<&Type> {
        self.narrowed
            .iter()
            .rev()
            .find(|(subject, _)| subject == path)
            .map(|(_, ty)| ty)
    }

    /// Returns the type of a name, narrowed by the conditions and arms around.
    pub fn seen(&self, name: &Arc<str>, ty: Type) -> Type {
        if self.narrowed.is_empty() && !ty.is_optional() {
            return ty;
        }
        let text = canonical_name(name);
        let ty = self.narrowed_type(&text).cloned().unwrap_or(ty);
        if ty.is_optional() && self.is_present(Some(name), &text, true) {
            ty.without_null()
        } else {
            ty
        }
    }

    /// Adds a variable to the scope and returns its register.
    pub fn push(&mut self, name: Option<&Arc<str>>, ty: &Type) -> u16 {
        let register = u16::try_from(self.locals.len()).unwrap_or(u16::MAX);
        self.registers = self.registers.max(register.saturating_add(1));
        let name = name.cloned().unwrap_or_else(|| "".into());
        self.locals.push(Local {
            name,
            ty: ty.clone(),
            register,
            facts: self.facts.len(),
        });
        register
    }
}

/// Returns the statements that may have defined a name, as far as is known.
fn possible<'a>(known: &Known<'_>, binding: &'a Binding) -> impl Iterator<Item = &'a Definition> {
    let refuted =
        |definition: &Definition| binding.definitions.len() > 1 && known.refutes(&definition.guard);
    let none = binding.definitions.iter().all(refuted);
    let live = binding
        .definitions
        .iter()
        .map(move |definition| (definition, none || !refuted(definition)));
    live.collect::<Vec<_>>()
        .into_iter()
        .filter(|(_, live)| *live)
        .map(|(definition, _)| definition)
}
