//! Generates one value from the root of the schema downwards.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::chance::{below, mixed};
use super::demand::{Demand, gather, same};
use super::edges::{Deviation, Edge};
use super::kinds::Kinds;
use super::place::Places;
use super::reference::{Documents, Part};
use super::{number, text};

/// Maximum depth; deeper values are null.
const MAX_DEPTH: usize = 48;
/// Depth beyond which optional parts of a value are left out, and alternatives without references are preferred.
const PLAIN_DEPTH: usize = 6;
/// Number of parts beyond which optional parts of a value are left out.
const MAX_PARTS: usize = 3_000;

/// Generates one value.
pub(super) struct Builder<'a> {
    pub documents: &'a Documents,
    pub arguments: &'a Map<String, Json>,
    deviations: &'a [Deviation],
    pub places: &'a mut Places,
    seed: u64,
    /// The deviations offered by the places visited so far; `None` if they are not collected.
    pub offers: Option<Vec<Deviation>>,
    pub parts: usize,
    /// References followed on the way down, to detect recursion.
    open: Vec<String>,
}

/// The position of a value and its pseudorandom seed.
pub(super) struct Spot {
    pub place: String,
    pub depth: usize,
    pub salt: u64,
    /// Number of times that the place has been regenerated.
    pub count: u64,
    /// The part of that count that has not been used for a choice yet.
    digits: u64,
}

impl<'a> Builder<'a> {
    pub fn new(
        documents: &'a Documents,
        arguments: &'a Map<String, Json>,
        seed: u64,
        deviations: &'a [Deviation],
        places: &'a mut Places,
    ) -> Self {
        Self {
            documents,
            arguments,
            deviations,
            places,
            seed,
            offers: None,
            parts: 0,
            open: Vec::new(),
        }
    }

    pub fn build(&mut self) -> Json {
        let mut spot = self.spot(String::new(), 0, self.seed);
        let parts = [self.documents.root()];
        let demand = self.demand(&parts, &mut spot);
        self.value(&demand, &mut spot)
    }

    /// Returns the spot of a part of another spot.
    pub fn below(&self, spot: &Spot, name: &str) -> Spot {
        let place = format!(
            "{}/{}",
            spot.place,
            name.replace('~', "~0").replace('/', "~1")
        );
        let salt = mixed(spot.salt, name);
        self.spot(place, spot.depth + 1, salt)
    }

    fn spot(&self, place: String, depth: usize, salt: u64) -> Spot {
        let count = self.places.count(&place);
        let salt = if count == 0 {
            salt
        } else {
            mixed(salt.wrapping_add(count), "anew")
        };
        Spot {
            place,
            depth,
            salt,
            count,
            digits: count,
        }
    }

    /// Collects the constraints of a spot and chooses their alternatives.
    pub fn demand(&mut self, parts: &[Part], spot: &mut Spot) -> Demand {
        let mut chosen = 0;
        let (documents, deep) = (self.documents, spot.depth > PLAIN_DEPTH);
        gather(documents, parts, &mut |alternatives| {
            let number = chosen;
            chosen += 1;
            for index in 0..alternatives.len() {
                self.offer(&spot.place, Edge::Alternative(number, index));
            }
            let here = self
                .deviations
                .iter()
                .filter(|deviation| deviation.place == spot.place);
            let requested = here.filter_map(|deviation| match deviation.edge {
                Edge::Alternative(own, index) if own == number => Some(index),
                _ => None,
            });
            if let Some(index) = requested.reduce(|_, later| later) {
                return index.min(alternatives.len().saturating_sub(1));
            }
            let order = order(alternatives, deep);
            order.get(spot.pick(order.len())).copied().unwrap_or(0)
        })
    }

    /// Generates a value that meets the constraints.
    pub fn value(&mut self, demand: &Demand, spot: &mut Spot) -> Json {
        self.parts += 1;
        // A result without any constraint is null rather than invented.
        if spot.depth > MAX_DEPTH
            || spot.place.is_empty() && spot.count == 0 && demand.is_unconstrained()
        {
            return Json::Null;
        }
        if let Some(listed) = &demand.listed {
            return self.member(demand, listed, spot);
        }
        let kinds = demand.order();
        if kinds.len() > 1 && demand.typed {
            for kind in &kinds {
                self.offer(&spot.place, Edge::Kind(*kind));
            }
        }
        let kind = self
            .requested_kind(spot)
            .filter(|kind| kinds.contains(kind));
        let kind = kind.or_else(|| kinds.get(spot.pick(kinds.len())).copied());
        let free = self.offers.is_none() && self.deviations.is_empty();
        if let Some(example) = self
            .example(demand, spot)
            .filter(|example| free || !example.is_object() && !example.is_array())
        {
            return example;
        }
        let before = self.open.len();
        self.open.extend(demand.followed.iter().cloned());
        let value = match kind {
            Some(Kinds::OBJECT) => self.object(demand, spot),
            Some(Kinds::LIST) => self.list(demand, spot),
            Some(Kinds::TEXT) => self.text(demand, spot),
            Some(Kinds::INTEGER) => self.number(demand, spot, true),
            Some(Kinds::FRACTION) => self.number(demand, spot, false),
            Some(Kinds::BOOL) => self.truth(demand, spot),
            _ => Json::Null,
        };
        self.open.truncate(before);
        value
    }

    /// Returns true if a value with these references is already being generated.
    pub fn recurs(&self, demand: &Demand) -> bool {
        demand
            .followed
            .iter()
            .any(|reference| self.open.contains(reference))
    }

    /// Returns true if optional parts should be left out.
    pub fn is_full(&self, spot: &Spot) -> bool {
        spot.depth > PLAIN_DEPTH || self.parts > MAX_PARTS
    }

    pub fn offer(&mut self, place: &str, edge: Edge) {
        if let Some(offers) = &mut self.offers {
            let deviation = Deviation {
                place: place.to_owned(),
                edge,
            };
            if !offers.contains(&deviation) {
                offers.push(deviation);
            }
        }
    }

    /// Returns true if this edge is requested at this place.
    pub fn requests(&self, place: &str, edge: &Edge) -> bool {
        self.deviations
            .iter()
            .any(|deviation| deviation.edge == *edge && deviation.place == place)
    }

    /// Returns true if an edge is requested at this place or below it.
    pub fn deviates(&self, place: &str) -> bool {
        self.deviations.iter().any(|deviation| {
            deviation
                .place
                .strip_prefix(place)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn requested_kind(&self, spot: &Spot) -> Option<Kinds> {
        self.deviations
            .iter()
            .filter(|deviation| deviation.place == spot.place)
            .find_map(|deviation| match deviation.edge {
                Edge::Kind(kind) => Some(kind),
                _ => None,
            })
    }

    fn member(&mut self, demand: &Demand, listed: &[Json], spot: &mut Spot) -> Json {
        let excluded = |value: &&Json| demand.excluded.iter().any(|other| same(value, other));
        let open: Vec<&Json> = listed
            .iter()
            .filter(|value| demand.kinds.intersects(Kinds::of_example(value)) && !excluded(value))
            .collect();
        (0..open.len()).for_each(|index| self.offer(&spot.place, Edge::Member(index)));
        let requested =
            (0..open.len()).find(|index| self.requests(&spot.place, &Edge::Member(*index)));
        // Regeneration takes the next value, so that every value is tried.
        let start = mixed(self.seed, &spot.place);
        let index = requested.unwrap_or_else(|| below(start.wrapping_add(spot.count), open.len()));
        open.get(index)
            .copied()
            .or(listed.first())
            .cloned()
            .unwrap_or(Json::Null)
    }

    fn example(&self, demand: &Demand, spot: &Spot) -> Option<Json> {
        if spot.count > 0 || self.deviates(&spot.place) {
            return None;
        }
        let open: Vec<&Json> = demand
            .examples
            .iter()
            .filter(|value| demand.kinds.intersects(Kinds::of_example(value)))
            .collect();
        open.get(below(spot.salt, open.len())).copied().cloned()
    }

    fn text(&mut self, demand: &Demand, spot: &Spot) -> Json {
        let choices = [
            (Edge::Least, text::Target::Shortest),
            (Edge::Most, text::Target::Longest),
            (Edge::Unusual, text::Target::Unusual),
        ];
        let mut target = text::Target::Usual;
        for (edge, choice) in choices {
            if self.requests(&spot.place, &edge) {
                target = choice;
            }
            self.offer(&spot.place, edge);
        }
        Json::String(text::text(demand, spot.salt, spot.count, target))
    }

    fn number(&mut self, demand: &Demand, spot: &Spot, whole: bool) -> Json {
        let choices = [
            (Edge::Near(0), number::Target::Near(0)),
            (Edge::Near(-1), number::Target::Near(-1)),
            (Edge::Near(1), number::Target::Near(1)),
            (Edge::Least, number::Target::Least),
            (Edge::Most, number::Target::Most),
        ];
        let mut target = number::Target::By(spot.salt);
        for (edge, choice) in choices {
            if self.requests(&spot.place, &edge) {
                target = choice;
            }
            self.offer(&spot.place, edge);
        }
        let made = demand
            .bounds
            .number(whole, target)
            .or_else(|| demand.bounds.bound());
        made.map_or(Json::from(0), Json::Number)
    }

    fn truth(&mut self, demand: &Demand, spot: &Spot) -> Json {
        for truth in [true, false] {
            self.offer(&spot.place, Edge::Truth(truth));
            if self.requests(&spot.place, &Edge::Truth(truth)) {
                return Json::Bool(truth);
            }
        }
        let truth = Json::Bool(spot.salt.is_multiple_of(2));
        if demand.excluded.contains(&truth) {
            Json::Bool(!spot.salt.is_multiple_of(2))
        } else {
            truth
        }
    }
}

impl Spot {
    /// Makes the next choice at this place. Regeneration goes through all choices.
    pub fn pick(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(1).max(1);
        let chosen = self.digits % count;
        self.digits /= count;
        usize::try_from(chosen).unwrap_or(0)
    }
}

/// Returns the order in which alternatives are tried: null comes last, and at great depth also schemas with references.
fn order(alternatives: &[Json], deep: bool) -> Vec<usize> {
    let null = |schema: &Json| schema.get("type").is_some_and(|name| name == "null");
    let refers = |schema: &Json| deep && schema.to_string().contains("ef\":");
    let mut order: Vec<usize> = (0..alternatives.len()).collect();
    order.sort_by_key(|index| {
        alternatives
            .get(*index)
            .map(|schema| (refers(schema), null(schema)))
    });
    order
}

/// Removes duplicate names.
pub(super) fn distinct(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect()
}
