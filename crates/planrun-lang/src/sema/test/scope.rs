//! The names that the expressions of a test may read.

use std::sync::Arc;

use crate::sema::{Atom, Binding, Lookup, NameKind, Place, Scope};
use crate::source::Span;
use crate::types::Type;

/// Names with their types, in the order of their slots.
pub(super) struct Slots(pub Vec<(Arc<str>, Type)>);

impl Scope for Slots {
    fn lookup(&self, name: &str) -> Lookup {
        let found = self.0.iter().position(|(known, _)| **known == *name);
        found.map_or(Lookup::Missing, |slot| {
            Lookup::Found(binding(slot, self.0[slot].1.clone()))
        })
    }

    fn visible(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    fn facts(&self) -> &[Atom] {
        &[]
    }
}

/// Returns the binding of a slot of the test's own frame.
pub(super) fn binding(slot: usize, ty: Type) -> Binding {
    let place = Place {
        up: 0,
        slot: u32::try_from(slot).unwrap_or(u32::MAX),
    };
    Binding::always(NameKind::Local, place, ty, Span::at(0))
}
