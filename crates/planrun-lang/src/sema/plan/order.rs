//! The order of statements: what a statement waits for because of its position in the source, and what waits for it.

use std::sync::Arc;

use crate::types::Effect;

/// Order class of a statement in its block, from the least to the most restrictive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum OrderClass {
    /// It waits for no barrier above it.
    #[default]
    Pure,
    /// It waits for every barrier above it; reads without a barrier between them run concurrently.
    Read,
    /// It waits for everything above it, and nothing waits for it: a reading of the clock.
    Clock,
    /// It waits for everything above it, and everything below it waits for it.
    Barrier,
}

/// Effects of a step or a block, as far as they determine its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// Highest effect class of its calls.
    pub effect: Effect,
    pub order: OrderClass,
    /// State that its calls read or change.
    pub touches: Vec<Touch>,
}

/// State that a call reads or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub namespace: Arc<str>,
    /// Part of the namespace's state that is known to be separate from other parts; `None` for all of it.
    pub resource: Option<Arc<str>>,
    pub effect: Effect,
}

impl OrderClass {
    /// Returns the order class of a call with this effect class.
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
    /// Creates the footprint of something without effects.
    #[must_use]
    pub const fn none() -> Self {
        Self::of(Effect::Pure, OrderClass::Pure)
    }

    /// Creates a footprint without touched state.
    #[must_use]
    pub const fn of(effect: Effect, order: OrderClass) -> Self {
        Self {
            effect,
            order,
            touches: Vec::new(),
        }
    }

    /// Adds the footprint of something inside; the same state keeps its highest effect class.
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
