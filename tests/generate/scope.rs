//! What can be read at one place of a plan, and what is known there.

use std::cell::Cell;

use super::ty::Ty;

/// A value with a name.
pub struct Variable {
    /// As it is written.
    pub name: String,
    /// Its type where it is there.
    pub ty: Ty,
    /// The conditions under which it is there.
    pub guard: Vec<String>,
    pub kind: Kind,
    /// Whether the checker knows it by this very type, and not by the constants that it was made of.
    pub exact: bool,
    /// Whether its value is known before the run, so that a condition about it would be constant.
    pub constant: bool,
    pub used: Cell<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Input,
    /// A step, which has a state.
    Step,
    /// A form: values of it may be written down.
    Form,
    /// A race with its branches.
    Race(Vec<String>),
    Let,
    /// An element, an error, the state of a loop: it need not be read.
    Local,
}

/// The names that are visible.
#[derive(Default)]
pub struct Scope {
    pub variables: Vec<Variable>,
    /// Paths that conditions around show to be there.
    shown: Vec<String>,
    /// Conditions that hold around.
    holding: Vec<String>,
    /// Paths that are not to be read, since an arm knows more of them than their type.
    hidden: Vec<String>,
    /// Paths that conditions around speak of.
    settled: Vec<String>,
}

/// How much was known, to go back to.
#[derive(Clone, Copy)]
pub struct Mark {
    variables: usize,
    shown: usize,
    holding: usize,
    hidden: usize,
    settled: usize,
}

impl Scope {
    pub fn mark(&self) -> Mark {
        Mark {
            variables: self.variables.len(),
            shown: self.shown.len(),
            holding: self.holding.len(),
            hidden: self.hidden.len(),
            settled: self.settled.len(),
        }
    }

    /// Forgets what is known since, and the names of a block.
    pub fn close(&mut self, mark: Mark) {
        self.variables.truncate(mark.variables);
        self.forget(mark);
    }

    /// Forgets what is known since; names stay.
    pub fn forget(&mut self, mark: Mark) {
        self.shown.truncate(mark.shown);
        self.holding.truncate(mark.holding);
        self.hidden.truncate(mark.hidden);
        self.settled.truncate(mark.settled);
    }

    /// From here on a path is there.
    pub fn show(&mut self, path: &str) {
        self.shown.push(path.to_owned());
    }

    /// From here on a condition holds.
    pub fn hold(&mut self, condition: &str) {
        self.holding.extend(parts(condition));
    }

    /// From here on a path is left alone.
    pub fn hide(&mut self, path: &str) {
        self.hidden.push(path.replace("?.", "."));
    }

    /// From here on nothing is asked about a path.
    pub fn settle(&mut self, path: &str) {
        self.settled.push(path.to_owned());
    }

    /// From here on the names are left alone of which a condition says whether they are there.
    pub fn hide_guarded(&mut self, condition: &str) {
        let said: Vec<String> = parts(condition).collect();
        // Beside `x == null || …` it is known that x is there.
        let unsigned = |text: &str| text.replace(" == null", " != null");
        let whole = unsigned(condition);
        let speaks = |guard: &String| {
            said.iter().any(|part| guard.contains(part.as_str()))
                || whole.contains(&unsigned(guard))
        };
        let open = |guards: &[String]| {
            guards.iter().any(speaks) && !guards.iter().all(|guard| self.holds(guard))
        };
        let open = self
            .variables
            .iter()
            .filter(|variable| open(&variable.guard));
        let names: Vec<String> = open.map(|variable| variable.name.clone()).collect();
        self.hidden.extend(names);
    }

    pub fn is_settled(&self, path: &str) -> bool {
        self.settled.iter().any(|settled| settled == path)
    }

    pub fn is_shown(&self, path: &str) -> bool {
        self.shown.iter().any(|shown| shown == path)
    }

    pub fn is_hidden(&self, path: &str) -> bool {
        !self.hidden.is_empty() && self.hidden.contains(&path.replace("?.", "."))
    }

    pub fn holds(&self, condition: &str) -> bool {
        self.holding.iter().any(|holding| holding == condition)
    }

    /// The names since a mark are there under a further condition only.
    pub fn guard_since(&mut self, mark: Mark, condition: &str) {
        for variable in &mut self.variables[mark.variables..] {
            variable.guard.extend(parts(condition));
        }
    }

    /// How many names there are.
    pub fn count(&self) -> usize {
        self.variables.len()
    }

    pub fn add(&mut self, name: &str, ty: Ty, kind: Kind) {
        self.add_made(name, ty, kind, true);
    }

    /// Whether a text names nothing that only the run knows.
    pub fn is_constant(&self, text: &str) -> bool {
        let words = text.split(|character: char| !unicode_ident::is_xid_continue(character));
        let open = |word: &str| {
            self.variables
                .iter()
                .any(|variable| variable.name == word && !variable.constant)
        };
        !words.into_iter().any(open)
    }

    /// The name that came last stands for a value that is known before the run.
    pub fn last_is_constant(&mut self) {
        if let Some(variable) = self.variables.last_mut() {
            variable.constant = true;
        }
    }

    /// `exact` as in [`Variable`].
    pub fn add_made(&mut self, name: &str, ty: Ty, kind: Kind, exact: bool) {
        let variable = Variable {
            name: name.to_owned(),
            ty,
            guard: Vec::new(),
            kind,
            exact,
            constant: false,
            used: Cell::new(false),
        };
        self.variables.push(variable);
    }
}

/// What of a condition holds on its own.
fn parts(condition: &str) -> impl Iterator<Item = String> {
    condition.split(" && ").map(str::to_owned)
}

impl Variable {
    /// Its type as read where `scope` is known.
    pub fn seen(&self, scope: &Scope) -> Ty {
        let there = self.guard.iter().all(|guard| scope.holds(guard));
        if there || scope.is_shown(&self.name) {
            self.ty.clone()
        } else {
            self.ty.clone().optional()
        }
    }
}
