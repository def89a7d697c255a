//! The facts that hold at one place of a plan: the guards around it, the facts that ends above it prove, and those about
//! contexts.
//!
//! An end is a statement that ends its block or the plan, such as a guarded `reply`: below it, its condition is false.

use std::sync::Arc;

use super::context_facts::{ContextFacts, reads, undated};
use super::expr::opposite;
use super::scope::Atom;
use crate::source::Span;

/// Maximum number of conditions around an end in an `if`; beyond it, the end proves nothing below the `if`.
const MAX_CONDITIONS: usize = 50;
/// Maximum number of ends in a branch that are remembered outside of it.
const MAX_ENDS: usize = 20;

/// The facts that hold at one place of a plan, and how contexts change.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    contexts: ContextFacts,
    here: Known,
    /// The guards, shared by all names that are introduced under them.
    shared_guards: Option<Arc<[Atom]>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The guards, and what ends above have proved.
    facts: Vec<Atom>,
    /// The indices of the facts that hold until a `set` changes the contexts that they are about.
    passing: Vec<usize>,
    /// Only the guards: the facts that ends above prove hold in the same flow, but not in listeners.
    guards: Vec<Atom>,
    /// Conditions that do not hold together, since otherwise the plan or block would have ended above.
    excluded: Vec<Arc<[Atom]>>,
    /// The same for all ends above, including those that are expressed as facts.
    ends: Vec<Arc<[Atom]>>,
}

/// A state of the knowledge that can be restored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    facts: usize,
    guards: usize,
    excluded: usize,
    ends: usize,
}

/// The facts that hold in the flow around a listener; fewer of them hold in its firings.
pub(super) struct OuterKnown {
    known: Known,
    listener: Option<Span>,
}

/// The facts about contexts around an `undo` or a `verify`, which run after the statements below it.
pub(super) struct OuterContexts {
    passing: Vec<usize>,
    /// The facts that do not hold inside, by their indices.
    facts: Vec<(usize, Atom)>,
    listener: Option<Span>,
}

impl Knowledge {
    pub(super) fn new(contexts: ContextFacts) -> Self {
        Self {
            contexts,
            ..Self::default()
        }
    }

    /// Returns the facts that hold: the guards, and what ends above have proved.
    pub(super) fn facts(&self) -> &[Atom] {
        &self.here.facts
    }

    /// Returns the conditions that do not hold together.
    pub(super) fn excluded(&self) -> &[Arc<[Atom]>] {
        &self.here.excluded
    }

    /// Returns a condition at this position as one that equals only conditions over the same contexts.
    pub(super) fn dated(&self, atom: &Atom, at: u32) -> Atom {
        self.contexts.dated(atom, at)
    }

    /// Returns the current guards.
    pub(super) fn guards(&mut self) -> Arc<[Atom]> {
        if self.here.guards.is_empty() {
            return Arc::default();
        }
        self.shared_guards
            .get_or_insert_with(|| self.here.guards.as_slice().into())
            .clone()
    }

    /// Returns a mark of the current knowledge.
    pub(super) fn mark(&self) -> Mark {
        let Known {
            facts,
            guards,
            excluded,
            ends,
            ..
        } = &self.here;
        Mark {
            facts: facts.len(),
            guards: guards.len(),
            excluded: excluded.len(),
            ends: ends.len(),
        }
    }

    /// Adds guards that hold from here on, and returns the mark before them.
    pub(super) fn assume(&mut self, atoms: Vec<Atom>) -> Mark {
        let before = self.mark();
        self.here.guards.extend(atoms.iter().cloned());
        for atom in atoms {
            self.learn(atom);
        }
        self.shared_guards = None;
        before
    }

    /// Adds what an end above has proved: it holds from here on, and does not make names that are introduced below
    /// absent.
    pub(super) fn prove(&mut self, atoms: impl IntoIterator<Item = Atom>) {
        for atom in atoms {
            self.here.ends.push(opposite(&atom).into());
            self.learn(atom);
        }
    }

    /// Removes the facts about the context of a task that a `set` changes, unless they hold afterwards, too.
    pub(super) fn change_context(&mut self, task: &str) {
        let Known { facts, passing, .. } = &mut self.here;
        passing.retain(|index| {
            let fact = facts.get_mut(*index).filter(|fact| reads(fact, task));
            let changed = fact.map(|fact| *fact = Atom::default());
            changed.is_none()
        });
    }

    /// Removes the facts about the contexts that a loop or a concurrent statement changes, since they may change
    /// before anything in it begins.
    pub(super) fn enter_unsettled(&mut self, statement: Span) {
        for task in self.contexts.changed_in(statement) {
            self.change_context(&task);
        }
    }

    /// Removes the facts about contexts that a `set` may change before the `undo` or the `verify` at this place runs.
    /// Nothing changes them while it runs.
    pub(super) fn enter_auxiliary(&mut self, place: Span) -> OuterContexts {
        let Known { facts, passing, .. } = &mut self.here;
        // The contexts that a firing sees do not change, but those of tasks in it may.
        let listener = self.contexts.listener.replace(place);
        let changed = listener.map(|listener| self.contexts.changed_in(listener));
        let stays = |fact: &Atom| {
            let changed = changed.as_ref();
            changed.is_some_and(|changed| !changed.iter().any(|task| reads(fact, task)))
        };
        let outer = passing.clone();
        let (kept, gone): (Vec<_>, Vec<_>) = outer.iter().partition(|index| stays(&facts[**index]));
        *passing = kept;
        let gone = gone.into_iter();
        let gone = gone.map(|index| (index, std::mem::take(&mut facts[index])));
        let facts = gone.collect();
        self.shared_guards = None;
        OuterContexts {
            passing: outer,
            facts,
            listener,
        }
    }

    /// Restores the facts around an `undo` or a `verify`.
    pub(super) fn leave_auxiliary(&mut self, outer: OuterContexts) {
        for (index, fact) in outer.facts {
            self.here.facts[index] = fact;
        }
        self.here.passing = outer.passing;
        self.contexts.listener = outer.listener;
        self.shared_guards = None;
    }

    /// Adds a fact. One about contexts also narrows types, unless they may change at any time.
    fn learn(&mut self, atom: Atom) {
        if self.contexts.narrows(&atom) {
            if !self.contexts.lasts(&atom) {
                self.here.passing.push(self.here.facts.len());
            }
            self.here.facts.push(undated(&atom));
        }
        self.here.facts.push(atom);
    }

    /// Adds conditions that do not hold together, since otherwise the plan or block would have ended above.
    pub(super) fn exclude(&mut self, mut atoms: Vec<Atom>) {
        atoms.retain(|atom| !self.here.facts.contains(atom));
        if let [only] = atoms.as_slice() {
            self.prove(opposite(only));
        } else {
            let excluded: Arc<[Atom]> = atoms.into();
            self.here.ends.push(excluded.clone());
            self.here.excluded.push(excluded);
        }
    }

    /// Returns the conditions that do not hold together when the guards since `first` end: those guards with the
    /// conditions of each end since then, or only the guards if `ended`, which is set if the branch always ends.
    pub(super) fn excluded_by_ends(&self, first: Mark, ended: bool) -> Vec<Vec<Atom>> {
        let guards = self.here.guards.get(first.guards..).unwrap_or_default();
        if guards.len() > MAX_CONDITIONS {
            return Vec::new();
        }
        if ended {
            return vec![guards.to_vec()];
        }
        let ends = self.here.ends.get(first.ends..).unwrap_or_default();
        ends.iter()
            .take(MAX_ENDS)
            .map(|end| [guards, end].concat())
            .collect()
    }

    /// Restores the knowledge of a mark.
    pub(super) fn forget(&mut self, mark: Mark) {
        self.here.facts.truncate(mark.facts);
        let passing = &mut self.here.passing;
        passing.truncate(passing.partition_point(|index| *index < mark.facts));
        self.here.guards.truncate(mark.guards);
        self.here.excluded.truncate(mark.excluded);
        self.here.ends.truncate(mark.ends);
        self.shared_guards = None;
    }

    /// Returns true if a guard around this place requires the condition or its negation.
    pub(super) fn is_guarded_by(&self, fact: &Atom) -> bool {
        let mut guards = self.here.guards.iter();
        guards.any(|guard| guard.condition() == fact.condition())
    }

    /// Restricts the knowledge to the guards, since nothing else holds in the firings of a listener.
    pub(super) fn enter_listener(&mut self, listener: Span) -> OuterKnown {
        let guards = self.here.guards.clone();
        let lasting = guards.iter();
        let lasting = lasting.filter(|atom| atom.contexts > 0 && self.contexts.lasts(atom));
        let alone = Known {
            facts: lasting.map(undated).chain(guards.iter().cloned()).collect(),
            guards,
            ..Known::default()
        };
        OuterKnown {
            known: std::mem::replace(&mut self.here, alone),
            listener: self.contexts.listener.replace(listener),
        }
    }

    /// Restores the knowledge around a listener.
    pub(super) fn leave_listener(&mut self, outer: OuterKnown) {
        self.here = outer.known;
        self.contexts.listener = outer.listener;
        self.shared_guards = None;
    }
}
