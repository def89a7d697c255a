//! Decides whether a name is present: whether one of the guards of its definitions must hold, given what is known of
//! others.

use super::scope::{Atom, Definition};

/// Maximum number of examined cases; beyond it the name may be absent, which is always safe to assume.
const MAX_CASES: u32 = 2000;

/// The facts that hold at a place.
#[derive(Clone, Copy)]
pub(in crate::sema) struct Known<'a> {
    /// Conditions that hold: those around in the plan, and those inside the expression.
    pub facts: [&'a [Atom]; 2],
    /// Conditions that do not hold together.
    pub excluded: [&'a [std::sync::Arc<[Atom]>]; 2],
}

impl Known<'_> {
    /// Returns true if every part of a guard is known to hold.
    pub(in crate::sema) fn holds(&self, guard: &[Atom]) -> bool {
        guard
            .iter()
            .all(|atom| self.facts.iter().any(|facts| facts.contains(atom)))
    }

    /// Returns true if a part of a guard is known not to hold.
    pub(in crate::sema) fn refutes(&self, guard: &[Atom]) -> bool {
        let cases = Cases {
            known: self,
            assumed: Vec::new(),
            left: MAX_CASES,
        };
        guard.iter().any(|atom| cases.value(atom) == Some(false))
    }

    /// Returns true if one of the definitions of a name has run whenever a reader at this place runs.
    pub(in crate::sema) fn is_given(&self, definitions: &[Definition]) -> bool {
        let cases = Cases {
            known: self,
            assumed: Vec::new(),
            left: MAX_CASES,
        };
        let holds = |guard: &[Atom]| guard.iter().all(|atom| cases.value(atom) == Some(true));
        // If the known facts contradict each other, this place never runs; the values that it reads are defined above
        // under the same guards.
        if definitions
            .iter()
            .any(|definition| holds(&definition.guard) || self.holds(&definition.guard))
        {
            return true;
        }
        let compound = self
            .facts
            .iter()
            .copied()
            .flatten()
            .any(|fact| !fact.not_all.is_empty());
        if definitions.len() == 1
            && !compound
            && self.excluded.iter().all(|excluded| excluded.is_empty())
        {
            return false;
        }
        let mut conjunctions = definitions
            .iter()
            .map(|definition| &*definition.guard)
            .collect::<Vec<_>>();
        conjunctions.extend(
            self.excluded
                .iter()
                .copied()
                .flatten()
                .map(|excluded| &**excluded),
        );
        let facts = self.facts.iter().copied().flatten();
        conjunctions.extend(
            facts
                .map(|fact| &*fact.not_all)
                .filter(|parts| !parts.is_empty()),
        );
        Cases {
            assumed: Vec::new(),
            ..cases
        }
        .one_holds(&conjunctions)
            || self.is_never()
    }

    /// Returns true if the known facts contradict each other, so that nothing runs there.
    fn is_never(&self) -> bool {
        let facts = || self.facts.iter().copied().flatten();
        facts().any(|fact| {
            facts()
                .any(|other| other.condition() == fact.condition() && other.negated != fact.negated)
        })
    }
}

/// A search over the possible results of undecided conditions.
struct Cases<'a> {
    known: &'a Known<'a>,
    assumed: Vec<((&'a str, u32), bool)>,
    left: u32,
}

impl<'a> Cases<'a> {
    /// Returns true if one of the conjunctions holds in every case.
    fn one_holds(&mut self, conjunctions: &[&'a [Atom]]) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        let mut open = None;
        for conjunction in conjunctions {
            let values = conjunction.iter().map(|atom| self.value(atom));
            if values.clone().any(|value| value == Some(false)) {
                continue;
            }
            let Some(position) = values.into_iter().position(|value| value.is_none()) else {
                return true;
            };
            open = open.or_else(|| conjunction.get(position));
        }
        let Some(atom) = open else { return false };
        let condition = self.elementary(atom);
        [true, false].into_iter().all(|truth| {
            self.assumed.push((condition, truth));
            let holds = self.one_holds(conjunctions);
            self.assumed.pop();
            holds
        })
    }

    /// Returns the result of a condition in this case; `None` if it is undecided.
    fn value(&self, atom: &Atom) -> Option<bool> {
        if let Some((_, truth)) = self
            .assumed
            .iter()
            .find(|(condition, _)| *condition == atom.condition())
        {
            return Some(*truth != atom.negated);
        }
        let facts = self.known.facts.iter().copied().flatten();
        if let Some(fact) = facts
            .into_iter()
            .find(|fact| fact.condition() == atom.condition())
        {
            return Some(fact.negated == atom.negated);
        }
        if atom.not_all.is_empty() {
            return None;
        }
        let mut all = true;
        for part in &*atom.not_all {
            match self.value(part) {
                Some(false) => return Some(true),
                Some(true) => {}
                None => all = false,
            }
        }
        all.then_some(false)
    }

    /// Returns an undecided elementary condition on which this one depends.
    fn elementary(&self, atom: &'a Atom) -> (&'a str, u32) {
        let mut atom = atom;
        while let Some(part) = atom.not_all.iter().find(|part| self.value(part).is_none()) {
            atom = part;
        }
        atom.condition()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sema::expr::{atoms, negated_atoms};
    use crate::source::SourceFile;
    use crate::syntax::parse_expression;
    use crate::types::Type;

    fn facts(text: &str, holds: bool) -> Vec<Atom> {
        let (tree, diagnostics) = parse_expression(&SourceFile::new("test", text));
        assert!(diagnostics.is_empty(), "{text}");
        if holds {
            atoms(&tree)
        } else {
            negated_atoms(&tree)
        }
    }

    /// Returns the guards of the branches of `if a {} else if b {} …`; that of `else` is last.
    fn branches(conditions: &[&str]) -> Vec<Vec<Atom>> {
        let mut before = Vec::new();
        let mut guards = Vec::new();
        for condition in conditions {
            guards.push([before.clone(), facts(condition, true)].concat());
            before.extend(facts(condition, false));
        }
        guards.push(before);
        guards
    }

    fn gives(guards: &[Vec<Atom>], known: &[Atom], excluded: &[Vec<Atom>]) -> bool {
        let definition = |guard: &Vec<Atom>| Definition {
            ty: Type::Int,
            guard: guard.as_slice().into(),
            winner: None,
        };
        let definitions = guards.iter().map(definition).collect::<Vec<_>>();
        let excluded = excluded
            .iter()
            .map(|parts| Arc::from(parts.as_slice()))
            .collect::<Vec<_>>();
        Known {
            facts: [known, &[]],
            excluded: [&excluded, &[]],
        }
        .is_given(&definitions)
    }

    #[test]
    fn the_branches_of_an_if_cover_every_case() {
        for conditions in [
            &["a"][..],
            &["a", "b"],
            &["a && b"],
            &["a || b"],
            &["!(a && b) || c", "b"],
            &["x != null", "x == null"],
        ] {
            let guards = branches(conditions);
            assert!(gives(&guards, &[], &[]), "{conditions:?}");
            let (_, without_else) = guards.split_last().unwrap();
            let (_, without_first) = guards.split_first().unwrap();
            // In these two the second condition holds whenever the first does not.
            let exhaustive = matches!(conditions, ["x != null", _] | ["!(a && b) || c", "b"]);
            assert_eq!(gives(without_else, &[], &[]), exhaustive, "{conditions:?}");
            assert!(!gives(without_first, &[], &[]), "{conditions:?}");
        }
    }

    #[test]
    fn a_branch_that_has_ended_lacks_nothing() {
        let guards = branches(&["a && b", "c"]);
        let [first, second, last] = guards.as_slice() else {
            panic!("three branches")
        };
        assert!(gives(
            &[first.clone(), last.clone()],
            &[],
            std::slice::from_ref(second)
        ));
        assert!(!gives(
            std::slice::from_ref(first),
            &[],
            std::slice::from_ref(second)
        ));
        assert!(gives(
            std::slice::from_ref(first),
            &facts("a && b", true),
            &[]
        ));
        assert!(!gives(std::slice::from_ref(second), &facts("c", true), &[]));
        assert!(gives(
            &[first.clone(), second.clone()],
            &facts("c || a && b", true),
            &[]
        ));
    }

    #[test]
    fn where_nothing_runs_nothing_is_absent() {
        let never = [facts("a", true), facts("a", false)].concat();
        let guards = branches(&["b"])
            .into_iter()
            .map(|branch| [never.clone(), branch].concat())
            .collect::<Vec<_>>();
        assert!(gives(&guards, &never, &[]));
        assert!(!gives(&guards, &facts("a", true), &[]));
    }

    #[test]
    fn many_conditions_are_given_up() {
        let names = (0..40)
            .map(|index| format!("(a{index} || b{index})"))
            .collect::<Vec<_>>();
        let guards = names
            .iter()
            .map(|name| facts(name, true))
            .collect::<Vec<_>>();
        assert!(!gives(&guards, &[], &[]));
    }
}
