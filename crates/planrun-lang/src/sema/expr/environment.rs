//! The names that an expression sees, and what conditions and arms around it say of them.

use std::sync::Arc;

use super::narrow::{covers, plain, shown};
use crate::sema::presence::Known;
use crate::sema::{Atom, Binding, Definition, Scope};
use crate::syntax::canonical_name;
use crate::types::Type;

/// A variable of a macro.
pub(super) struct Local {
    pub name: Arc<str>,
    pub ty: Type,
    pub register: u16,
    /// Facts from here on may speak of this variable; earlier ones speak of another of the same name.
    pub facts: usize,
}

/// The scope of the plan, the variables of macros inside of the expression, and what is known of either.
pub(super) struct Environment<'a> {
    pub scope: &'a dyn Scope,
    /// Variables of macros, innermost last.
    pub locals: Vec<Local>,
    /// How many registers those variables need at the same time.
    pub registers: u16,
    /// What holds here because of conditions inside of the expression.
    pub facts: Vec<Atom>,
    /// What does not hold together here because of them.
    pub excluded: Vec<Arc<[Atom]>>,
    /// Subjects of `match` in whose arms this stands, with their types there.
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

    /// Whether a condition shows that the value at this path is there. `has` of a field only shows that it is not
    /// missing: that counts where the field, once it is there, is not null (`by_has`).
    pub fn is_shown(&self, root: Option<&str>, path: &str, by_has: bool) -> bool {
        self.known(root).any(|atom| {
            let Some(shown) = shown(atom).map(plain) else {
                return false;
            };
            covers(&shown, path) && (by_has || atom.negated || shown != path)
        })
    }

    /// Whether exactly this is known, such as `r.ok` or its negation.
    pub fn is_known(&self, root: Option<&str>, text: &str, negated: bool) -> bool {
        self.known(root)
            .any(|atom| atom.negated == negated && plain(&atom.text) == text)
    }

    /// What is known here.
    pub fn knowledge(&self) -> Known<'_> {
        Known {
            facts: [self.scope.facts(), &self.facts],
            excluded: [self.scope.excluded(), &self.excluded],
        }
    }

    /// The type of a name here and whether it may be absent: that of the statements that may have given it.
    pub fn given(&self, binding: &Binding) -> (Type, bool) {
        let known = self.knowledge();
        let open = !known.gives(&binding.definitions);
        if let [only] = &*binding.definitions {
            return (only.ty.clone(), open);
        }
        (
            Type::union(possible(&known, binding).map(|definition| definition.ty.clone())),
            open,
        )
    }

    /// The type of `winner(x)`, if one of the statements that may have given the name is a race. Where another has, there
    /// is none.
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

    /// The facts that may speak of a path that begins with this name.
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

    /// The innermost variable of a macro with this name.
    pub fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    /// What a `match` around this says about its subject, where this is it.
    pub fn narrowed_type(&self, path: &str) -> Option<&Type> {
        self.narrowed
            .iter()
            .rev()
            .find(|(subject, _)| subject == path)
            .map(|(_, ty)| ty)
    }

    /// The type of a name where conditions and arms around it are taken into account.
    pub fn seen(&self, name: &Arc<str>, ty: Type) -> Type {
        if self.narrowed.is_empty() && !ty.is_optional() {
            return ty;
        }
        let text = canonical_name(name);
        let ty = self.narrowed_type(&text).cloned().unwrap_or(ty);
        if ty.is_optional() && self.is_shown(Some(name), &text, true) {
            ty.without_null()
        } else {
            ty
        }
    }

    /// Brings a variable into scope and gives it a register.
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

/// The statements that may have given a name, as far as is known.
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
