//! Generates lists: their length and elements, and the elements that they must contain.

use serde_json::Value as Json;

use super::build::{Builder, Spot};
use super::demand::{Demand, same};
use super::edges::Edge;
use super::reference::Part;

/// The usual length of a list, the maximum length without a stated limit, and the maximum length of any list.
const USUAL: u64 = 2;
const MANY: u64 = 12;
const MAX_ELEMENTS: u64 = 2_000;
/// Number of attempts to replace a duplicate element.
const TRIES: u64 = 40;

impl Builder<'_> {
    pub fn list(&mut self, demand: &Demand, spot: &mut Spot) -> Json {
        let mut made: Vec<Json> = Vec::new();
        for index in 0..self.length(demand, spot) {
            let mut parts = demand.element(index);
            parts.extend(demand.contained(index));
            let item = self.element(&parts, spot, index, &made, demand.unique);
            made.extend(item);
        }
        Json::Array(made)
    }

    fn length(&mut self, demand: &Demand, spot: &mut Spot) -> u64 {
        let contained: u64 = demand.contains.iter().map(|contains| contains.least).sum();
        let closed = demand.elements.iter().filter_map(|elements| {
            let closed = elements
                .rest
                .as_ref()
                .is_some_and(|rest| rest.schema == Json::Bool(false));
            closed.then(|| u64::try_from(elements.prefix.len()).unwrap_or(MAX_ELEMENTS))
        });
        let most = closed.chain(demand.items.most).min();
        let prefix = demand
            .elements
            .iter()
            .map(|elements| elements.prefix.len())
            .max()
            .unwrap_or(0);
        let least = demand.items.least.max(contained);
        let usual = USUAL
            .max(u64::try_from(prefix).unwrap_or(USUAL))
            .max(contained);
        let within = |count: u64| {
            count
                .max(least)
                .min(most.unwrap_or(u64::MAX))
                .min(MAX_ELEMENTS)
        };
        let ways = [
            (Edge::Least, within(0)),
            (Edge::One, within(1)),
            (
                Edge::Most,
                within(most.filter(|most| *most <= 100).unwrap_or(MANY)),
            ),
        ];
        let mut requested = None;
        for (edge, length) in ways {
            if self.requests(&spot.place, &edge) {
                requested = Some(length);
            }
            self.offer(&spot.place, edge);
        }
        requested.unwrap_or_else(|| {
            // If the elements refer back to a value that is being generated, an empty list ends the recursion.
            let short = self.is_full(spot) || self.is_recursive(demand, spot);
            let lengths = [
                within(if short { 0 } else { usual }),
                within(1),
                within(0),
                within(usual + 1),
            ];
            lengths.get(spot.pick(lengths.len())).copied().unwrap_or(0)
        })
    }

    fn is_recursive(&mut self, demand: &Demand, spot: &Spot) -> bool {
        let parts = demand.element(u64::MAX);
        let offers = self.offers.take();
        let inner = self.demand(&parts, &mut self.below(spot, "0"));
        self.offers = offers;
        self.recurs(&inner)
    }

    fn element(
        &mut self,
        parts: &[Part],
        spot: &Spot,
        index: u64,
        made: &[Json],
        unique: bool,
    ) -> Option<Json> {
        let name = index.to_string();
        for _ in 0..TRIES {
            let mut inner = self.below(spot, &name);
            let demand = self.demand(parts, &mut inner);
            let item = self.value(&demand, &mut inner);
            if !unique || !made.iter().any(|other| same(other, &item)) {
                return Some(item);
            }
            self.places.bump(&inner.place);
        }
        None
    }
}

impl Demand {
    /// Returns the schemas of the element at a position.
    fn element(&self, index: u64) -> Vec<Part> {
        let at = |prefix: &[Part]| {
            usize::try_from(index)
                .ok()
                .and_then(|index| prefix.get(index))
                .cloned()
        };
        self.elements
            .iter()
            .filter_map(|elements| at(&elements.prefix).or_else(|| elements.rest.clone()))
            .collect()
    }

    /// Returns the `contains` schema that the element at a position has to meet: the first positions are used for the
    /// required elements.
    fn contained(&self, index: u64) -> Option<Part> {
        let mut start = 0;
        for contains in &self.contains {
            if (start..start + contains.least).contains(&index) {
                return Some(contains.part.clone());
            }
            start += contains.least;
        }
        // If no more such elements are allowed, they are excluded from here on.
        let bounded = self
            .contains
            .iter()
            .find(|contains| contains.most.is_some_and(|most| most <= contains.least))?;
        let not = serde_json::json!({"not": bounded.part.schema});
        Some(Part {
            schema: not,
            base: bounded.part.base.clone(),
        })
    }
}
