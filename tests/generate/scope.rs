//! The names that can be read at a place of a plan, and the facts that are known there.

use std::cell::Cell;

use super::ty::Ty;

/// A named value.
pub struct Variable {
    /// As written in a plan.
    pub name: String,
    /// Its type if it is present.
    pub ty: Ty,
    /// The conditions under which it is present.
    pub guard: Vec<String>,
    pub kind: Kind,
    /// Whether the checker knows its type exactly as `ty`, not as the narrower type of the constants it was made of.
    pub exact: bool,
    /// Whether its value is known before the run, which would make a condition on it constant.
    pub constant: bool,
    pub used: Cell<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Input,
    /// A step, which has a state.
    Step,
    /// A form. Its values may be constants.
    Form,
    /// A race, with the names of its branches.
    Race(Vec<String>),
    Let,
    /// A task, whose context can be read.
    Context,
    /// An element, an error or a loop state: it need not be read.
    Local,
}

/// The visible names.
#[derive(Default)]
pub struct Scope {
    pub variables: Vec<Variable>,
    /// Paths that enclosing conditions prove to be present.
    present: Vec<String>,
    /// Enclosing conditions that hold.
    holding: Vec<String>,
    /// Paths that must not be read, because an arm narrows them below their type.
    hidden: Vec<String>,
    /// Paths that enclosing conditions test.
    tested: Vec<String>,
}

/// A point of the scope to return to.
#[derive(Clone, Copy)]
pub struct Mark {
    variables: usize,
    present: usize,
    holding: usize,
    hidden: usize,
    tested: usize,
}

/// The paths that are present and the conditions that hold.
pub struct Facts(Vec<String>, Vec<String>);

impl Scope {
    pub fn mark(&self) -> Mark {
        Mark {
            variables: self.variables.len(),
            present: self.present.len(),
            holding: self.holding.len(),
            hidden: self.hidden.len(),
            tested: self.tested.len(),
        }
    }

    /// Drops the facts and names since a mark.
    pub fn close(&mut self, mark: Mark) {
        self.variables.truncate(mark.variables);
        self.forget(mark);
    }

    /// Drops the facts since a mark; names stay.
    pub fn forget(&mut self, mark: Mark) {
        self.present.truncate(mark.present);
        self.holding.truncate(mark.holding);
        self.hidden.truncate(mark.hidden);
        self.tested.truncate(mark.tested);
    }

    /// From here on, a path is present.
    pub fn mark_present(&mut self, path: &str) {
        self.present.push(path.to_owned());
    }

    /// From here on, a condition holds.
    pub fn hold(&mut self, condition: &str) {
        self.holding.extend(parts(condition));
    }

    /// From here on, a path is not read.
    pub fn hide(&mut self, path: &str) {
        self.hidden.push(path.replace("?.", "."));
    }

    /// From here on, conditions do not test a path.
    pub fn mark_tested(&mut self, path: &str) {
        self.tested.push(path.to_owned());
    }

    /// From here on, names whose guard overlaps with a condition are not read.
    pub fn hide_guarded(&mut self, condition: &str) {
        let parts_of_condition: Vec<String> = parts(condition).collect();
        // On the right of `x == null || …`, x is known to be present.
        let unsigned = |text: &str| text.replace(" == null", " != null");
        let whole = unsigned(condition);
        let speaks = |guard: &String| {
            parts_of_condition
                .iter()
                .any(|part| guard.contains(part.as_str()))
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

    /// Forgets what is known of the context of a task. Names whose guard tests it are not read from here on.
    pub fn distrust(&mut self, task: &str) {
        let start = format!("{task}.");
        let about = |text: &String| text.contains(&start);
        self.present
            .iter_mut()
            .filter(|path| about(path))
            .for_each(String::clear);
        self.holding
            .iter_mut()
            .filter(|held| about(held))
            .for_each(String::clear);
        let guarded = self
            .variables
            .iter()
            .filter(|known| known.guard.iter().any(about));
        self.hidden.extend(guarded.map(|known| known.name.clone()));
    }

    /// Forgets what is known of all contexts, as in a block that runs after later statements. Returns what was known,
    /// for [`Self::remember`].
    pub fn distrust_all(&mut self) -> Facts {
        let facts = Facts(self.present.clone(), self.holding.clone());
        let contexts = self
            .variables
            .iter()
            .filter(|known| known.kind == Kind::Context);
        let contexts: Vec<String> = contexts.map(|known| known.name.clone()).collect();
        for task in &contexts {
            self.distrust(task);
        }
        facts
    }

    pub fn remember(&mut self, Facts(present, holding): Facts) {
        (self.present, self.holding) = (present, holding);
    }

    pub fn is_tested(&self, path: &str) -> bool {
        self.tested.iter().any(|tested| tested == path)
    }

    pub fn is_present(&self, path: &str) -> bool {
        self.present.iter().any(|present| present == path)
    }

    pub fn is_hidden(&self, path: &str) -> bool {
        !self.hidden.is_empty() && self.hidden.contains(&path.replace("?.", "."))
    }

    pub fn holds(&self, condition: &str) -> bool {
        self.holding.iter().any(|holding| holding == condition)
    }

    /// Adds a condition to the guards of the names since a mark.
    pub fn guard_since(&mut self, mark: Mark, condition: &str) {
        for variable in &mut self.variables[mark.variables..] {
            variable.guard.extend(parts(condition));
        }
    }

    /// Returns the number of visible names.
    pub fn count(&self) -> usize {
        self.variables.len()
    }

    pub fn add(&mut self, name: &str, ty: Ty, kind: Kind) {
        self.add_made(name, ty, kind, true);
    }

    /// Returns true if a text contains no name whose value only the run knows.
    pub fn is_constant(&self, text: &str) -> bool {
        let words = text.split(|character: char| !unicode_ident::is_xid_continue(character));
        let open = |word: &str| {
            self.variables
                .iter()
                .any(|variable| variable.name == word && !variable.constant)
        };
        !words.into_iter().any(open)
    }

    /// Marks the value of the last name as known before the run.
    pub fn last_is_constant(&mut self) {
        if let Some(variable) = self.variables.last_mut() {
            variable.constant = true;
        }
    }

    /// Adds a name. `exact` as in [`Variable`].
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

/// Returns the operands of a conjunction.
fn parts(condition: &str) -> impl Iterator<Item = String> {
    condition.split(" && ").map(str::to_owned)
}

impl Variable {
    /// Returns its type as read with the facts of `scope`.
    pub fn seen(&self, scope: &Scope) -> Ty {
        let there = self.guard.iter().all(|guard| scope.holds(guard));
        if there || scope.is_present(&self.name) {
            self.ty.clone()
        } else {
            self.ty.clone().optional()
        }
    }
}
