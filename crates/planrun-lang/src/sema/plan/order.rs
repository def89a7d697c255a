//! The order of statements: what a statement waits for because of its place on the page, and what it holds back.

use std::sync::Arc;

use crate::types::Effect;

/// What a statement is to the order of its block, from the freest to the strictest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum OrderClass {
    /// It waits for no place and holds nothing back.
    #[default]
    Pure,
    /// It waits for every barrier above it; reads with no barrier between them run together.
    Read,
    /// It waits for everything above it and holds nothing back: a reading of the clock.
    Clock,
    /// It waits for everything above it, and everything below it waits for it.
    Barrier,
}

/// What a step or a block does to the world, as far as that decides its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// The highest class of its calls.
    pub effect: Effect,
    pub order: OrderClass,
    /// What its calls read or change.
    pub touches: Vec<Touch>,
}

/// The state that a call reads or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub namespace: Arc<str>,
    /// A part of the namespace's state that is known to differ from other parts; all of it where unknown.
    pub resource: Option<Arc<str>>,
    pub effect: Effect,
}

impl OrderClass {
    /// The place of a call of this class of effects.
    #[must_use]
    pub const fn of(effect: Effect) -> Self {
        match effect {
            Effect::Pure => Self::Pure,
            Effect::Read => Self::Read,
            Effect::Idempotent | Effect::Effect | Effect::Irreversible => Self::Barrier,
        }
    }
}

impl Footprint {
    /// What does nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self::of(Effect::Pure, OrderClass::Pure)
    }

    /// What touches no state that has a name.
    #[must_use]
    pub const fn of(effect: Effect, order: OrderClass) -> Self {
        Self {
            effect,
            order,
            touches: Vec::new(),
        }
    }

    /// Adds what something inside does; the same state keeps its highest class.
    pub fn merge(&mut self, inner: &Self) {
        self.effect = self.effect.max(inner.effect);
        self.order = self.order.max(inner.order);
        for touch in &inner.touches {
            let same = |known: &&mut Touch| {
                known.namespace == touch.namespace && known.resource == touch.resource
            };
            match self.touches.iter_mut().find(same) {
                Some(known) => known.effect = known.effect.max(touch.effect),
                None => self.touches.push(touch.clone()),
            }
        }
    }
}
