//! The names that an expression sees, and what conditions and arms around it prove about them.

use std::sync::Arc;

use unicode_ident::is_xid_continue;

use super::narrow::{self, covers, present_path};
use crate::sema::presence::Known;
use crate::sema::{Atom, Binding, Definition, Scope};
use crate::syntax::{ast, canonical_name};
use crate::types::{Literal, Type};

/// A variable of a macro.
pub(super) struct Local {
    pub name: Arc<str>,
    pub ty: Type,
    pub register: u16,
    /// Facts about macro variables from this index on may be about this one; earlier ones are about another of the same
    /// name.
    facts: usize,
}

/// The type of the subject of a `match` in one of its arms.
struct Narrowed {
    path: String,
    ty: Type,
    /// Number of macro variables around the arm. Those inside it may have the same names, and are not meant.
    locals: usize,
}

/// A saved state of the known facts, to return to it.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    facts: usize,
    local_facts: usize,
    excluded: usize,
}

/// The scope of the plan, the macro variables inside the expression, and the facts about both.
pub(super) struct Environment<'a> {
    pub scope: &'a dyn Scope,
    /// Macro variables, innermost last.
    pub locals: Vec<Local>,
    /// Maximum number of registers in use at the same time.
    pub registers: u16,
    /// Facts proved by conditions inside the expression, except for `local_facts`.
    facts: Vec<Atom>,
    /// Facts proved by conditions that read macro variables. They prove no guard of a statement, because a name in a
    /// guard is never a macro variable.
    local_facts: Vec<Atom>,
    /// Conditions inside the expression that do not hold together.
    excluded: Vec<Arc<[Atom]>>,
    /// Facts proved by the surrounding `match` arms, innermost last.
    narrowed: Vec<Narrowed>,
}

impl<'a> Environment<'a> {
    pub fn new(scope: &'a dyn Scope) -> Self {
        let narrowed = |(path, ty): &(String, Type)| Narrowed {
            path: path.clone(),
            ty: ty.clone(),
            locals: 0,
        };
        Self {
            scope,
            locals: Vec::new(),
            registers: 0,
            facts: Vec::new(),
            local_facts: Vec::new(),
            excluded: Vec::new(),
            narrowed: scope.arms().iter().map(narrowed).collect(),
        }
    }

    /// Returns true if a condition proves that the value at this path is present. `has` of a field only proves that it
    /// is not missing; `by_has` is set if that is enough, because the field is never null when it exists.
    pub fn is_present(&self, path: &str, by_has: bool) -> bool {
        self.known().any(|atom| {
            present_path(atom).is_some_and(|present| {
                covers(present, path) && (by_has || atom.negated || present != path)
            })
        })
    }

    /// Returns true if something is known about a list or a map beyond its presence, such as `size(path) > 0`.
    pub fn is_measured(&self, path: &str) -> bool {
        self.known()
            .any(|atom| atom.tested.is_none() && mentions_path(&atom.text, path))
    }

    /// Returns true if exactly this is known, such as `r.ok` or its negation.
    pub fn is_known(&self, text: &str, negated: bool) -> bool {
        self.known()
            .any(|atom| atom.negated == negated && atom.contexts == 0 && *atom.text == *text)
    }

    /// Returns whether the value at this path is known to be the literal, or known to be another; `None` if neither is
    /// known. It must not be null, as where a value with this part is read.
    pub fn is_equal(&self, path: &str, literal: &Literal) -> Option<bool> {
        let compared = |literal: &Literal, negated: bool| {
            self.is_known(&format!("{path} == {literal}"), negated)
                || self.is_known(&format!("{literal} == {path}"), negated)
        };
        let is = |literal: &Literal| {
            let stated = match literal {
                Literal::Bool(truth) => {
                    self.is_known(path, !truth) || compared(&Literal::Bool(!truth), true)
                }
                Literal::Int(_) | Literal::String(_) => false,
            };
            stated || compared(literal, false)
        };
        let is_not = |literal: &Literal| match literal {
            Literal::Bool(truth) => is(&Literal::Bool(!truth)),
            Literal::Int(_) | Literal::String(_) => compared(literal, true),
        };
        match (is(literal), is_not(literal)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    /// Adds what a condition proves if it is `truth`.
    pub fn assume(&mut self, condition: &ast::Expr, truth: bool) {
        let proved = if truth {
            narrow::atoms(condition)
        } else {
            narrow::negated_atoms(condition)
        };
        for atom in proved {
            let dated = self.scope.dated(&atom, condition.span.start);
            if dated != atom {
                self.add(dated);
            }
            self.add(atom);
        }
    }

    /// Adds a fact about what the names mean here.
    pub fn add(&mut self, fact: Atom) {
        let about_local = |local: &Local| mentions(&fact.text, &local.name);
        if self.locals.iter().any(about_local) {
            self.local_facts.push(fact);
        } else {
            self.facts.push(fact);
        }
    }

    /// Adds facts about names of the plan, even if macro variables have the same names.
    pub fn add_outer(&mut self, facts: impl IntoIterator<Item = Atom>) {
        self.facts.extend(facts);
    }

    /// Adds that these conditions, of which none reads a macro variable, do not hold together.
    pub fn exclude(&mut self, conditions: Arc<[Atom]>) {
        self.excluded.push(conditions);
    }

    pub fn mark(&self) -> Mark {
        Mark {
            facts: self.facts.len(),
            local_facts: self.local_facts.len(),
            excluded: self.excluded.len(),
        }
    }

    /// Forgets what has become known since a mark.
    pub fn reset(&mut self, mark: Mark) {
        self.facts.truncate(mark.facts);
        self.local_facts.truncate(mark.local_facts);
        self.excluded.truncate(mark.excluded);
    }

    /// Returns true if nothing is known that narrows a type.
    pub fn knows_nothing(&self) -> bool {
        self.facts.is_empty()
            && self.local_facts.is_empty()
            && self.narrowed.is_empty()
            && self.scope.facts().is_empty()
    }

    /// Returns the facts that hold here.
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

    /// Returns the facts whose names mean here what they meant where the fact was found.
    fn known(&self) -> impl Iterator<Item = &Atom> {
        let outer = self.scope.facts().iter().chain(&self.facts);
        let outer = outer.filter(|fact| !is_shadowed(&fact.text, &self.locals));
        let local = self.local_facts.iter().enumerate();
        let local = local.filter(|(index, fact)| {
            let mut later = self.locals.iter().filter(|local| local.facts > *index);
            !later.any(|local| mentions(&fact.text, &local.name))
        });
        outer.chain(local.map(|(_, fact)| fact))
    }

    /// Returns the innermost macro variable with this name.
    pub fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    /// Enters an arm of a `match` in which its subject has this type.
    pub fn enter_arm(&mut self, path: String, ty: Type) {
        let locals = self.locals.len();
        self.narrowed.push(Narrowed { path, ty, locals });
    }

    pub fn leave_arm(&mut self) {
        self.narrowed.pop();
    }

    pub fn is_in_arm(&self) -> bool {
        !self.narrowed.is_empty()
    }

    /// Returns the type of this path in a surrounding `match` arm, if it is the subject.
    pub fn narrowed_type(&self, path: &str) -> Option<&Type> {
        let mut arms = self.narrowed.iter().rev();
        let narrowed = arms.find(|arm| {
            let inside = self.locals.get(arm.locals..).unwrap_or_default();
            arm.path == path && !is_shadowed(path, inside)
        });
        narrowed.map(|arm| &arm.ty)
    }

    /// Returns the type of a name, narrowed by the conditions and arms around.
    pub fn seen(&self, name: &Arc<str>, ty: Type) -> Type {
        if self.narrowed.is_empty() && !ty.is_optional() {
            return ty;
        }
        let text = canonical_name(name);
        let ty = self.narrowed_type(&text).cloned().unwrap_or(ty);
        if ty.is_optional() && self.is_present(&text, true) {
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
            facts: self.local_facts.len(),
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

/// Returns true if a text names one of these macro variables.
fn is_shadowed(text: &str, locals: &[Local]) -> bool {
    locals.iter().any(|local| mentions(text, &local.name))
}

/// Returns true if an expression, as text, contains a name that is not the name of a field.
fn mentions(text: &str, name: &str) -> bool {
    mentions_path(text, &canonical_name(name))
}

/// Returns true if canonical text mentions a path.
fn mentions_path(text: &str, path: &str) -> bool {
    let is_inside = |character: char| is_xid_continue(character) || character == '`';
    text.match_indices(path).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        !before.ends_with(|last: char| is_inside(last) || last == '.')
            && !after.starts_with(is_inside)
    })
}
