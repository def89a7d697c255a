//! One value, built from the schema downwards.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::chance::{below, mixed};
use super::demand::{Demand, gather, same};
use super::edges::{Edge, Twist};
use super::kinds::Kinds;
use super::place::Places;
use super::reference::{Documents, Part};
use super::{number, text};

/// What lies deeper than this is null.
const MAX_DEPTH: usize = 48;
/// From this depth on, the plainest alternative is taken.
const PLAIN_DEPTH: usize = 6;
/// A value with more parts than this leaves out what need not be there.
const MAX_PARTS: usize = 3_000;

/// Builds one value.
pub(super) struct Builder<'a> {
    pub documents: &'a Documents,
    pub arguments: &'a Map<String, Json>,
    twists: &'a [Twist],
    pub places: &'a mut Places,
    seed: u64,
    /// The edges that the places seen so far offer, where somebody asks.
    pub offers: Option<Vec<Twist>>,
    pub parts: usize,
    /// The references followed on the way down, to see recursion.
    open: Vec<String>,
}

/// Where a value stands, and the chance that it has.
pub(super) struct Spot {
    pub place: String,
    pub depth: usize,
    pub salt: u64,
    /// How often the place was made anew.
    pub count: u64,
    /// What of that count has not been used for a choice yet.
    digits: u64,
}

impl<'a> Builder<'a> {
    pub fn new(
        documents: &'a Documents,
        arguments: &'a Map<String, Json>,
        seed: u64,
        twists: &'a [Twist],
        places: &'a mut Places,
    ) -> Self {
        Self {
            documents,
            arguments,
            twists,
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

    /// The spot below another.
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

    /// What is asked of a spot, with its alternatives chosen.
    pub fn demand(&mut self, parts: &[Part], spot: &mut Spot) -> Demand {
        let mut chosen = 0;
        let (documents, deep) = (self.documents, spot.depth > PLAIN_DEPTH);
        gather(documents, parts, &mut |alternatives| {
            let number = chosen;
            chosen += 1;
            for index in 0..alternatives.len() {
                self.offer(&spot.place, Edge::Alternative(number, index));
            }
            let twisted = self.twists.iter().filter(|twist| twist.place == spot.place);
            let twisted = twisted.filter_map(|twist| match twist.edge {
                Edge::Alternative(own, index) if own == number => Some(index),
                _ => None,
            });
            if let Some(index) = twisted.reduce(|_, later| later) {
                return index.min(alternatives.len().saturating_sub(1));
            }
            let order = order(alternatives, deep);
            order.get(spot.pick(order.len())).copied().unwrap_or(0)
        })
    }

    /// A value for demands.
    pub fn value(&mut self, demand: &Demand, spot: &mut Spot) -> Json {
        self.parts += 1;
        // Of a result of which nothing is known, nothing is made up.
        if spot.depth > MAX_DEPTH
            || spot.place.is_empty() && spot.count == 0 && demand.says_nothing()
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
        let kind = self.kind_wanted(spot).filter(|kind| kinds.contains(kind));
        let kind = kind.or_else(|| kinds.get(spot.pick(kinds.len())).copied());
        let free = self.offers.is_none() && self.twists.is_empty();
        if let Some(shown) = self
            .shown(demand, spot)
            .filter(|shown| free || !shown.is_object() && !shown.is_array())
        {
            return shown;
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

    /// Whether what these demands follow is being built already.
    pub fn recurs(&self, demand: &Demand) -> bool {
        demand
            .followed
            .iter()
            .any(|reference| self.open.contains(reference))
    }

    /// Whether what need not be there should be left out by now.
    pub fn is_full(&self, spot: &Spot) -> bool {
        spot.depth > PLAIN_DEPTH || self.parts > MAX_PARTS
    }

    pub fn offer(&mut self, place: &str, edge: Edge) {
        if let Some(offers) = &mut self.offers {
            let twist = Twist {
                place: place.to_owned(),
                edge,
            };
            if !offers.contains(&twist) {
                offers.push(twist);
            }
        }
    }

    /// Whether this edge is wanted here.
    pub fn wants(&self, place: &str, edge: &Edge) -> bool {
        self.twists
            .iter()
            .any(|twist| twist.edge == *edge && twist.place == place)
    }

    /// Whether an edge is wanted here or further down.
    pub fn twisted(&self, place: &str) -> bool {
        self.twists.iter().any(|twist| {
            twist
                .place
                .strip_prefix(place)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn kind_wanted(&self, spot: &Spot) -> Option<Kinds> {
        self.twists
            .iter()
            .filter(|twist| twist.place == spot.place)
            .find_map(|twist| match twist.edge {
                Edge::Kind(kind) => Some(kind),
                _ => None,
            })
    }

    fn member(&mut self, demand: &Demand, listed: &[Json], spot: &mut Spot) -> Json {
        let excluded = |value: &&Json| demand.excluded.iter().any(|other| same(value, other));
        let open: Vec<&Json> = listed
            .iter()
            .filter(|value| demand.kinds.has(Kinds::of(value)) && !excluded(value))
            .collect();
        (0..open.len()).for_each(|index| self.offer(&spot.place, Edge::Member(index)));
        let twisted = (0..open.len()).find(|index| self.wants(&spot.place, &Edge::Member(*index)));
        // Made anew, the next one comes, so that each has its turn.
        let start = mixed(self.seed, &spot.place);
        let index = twisted.unwrap_or_else(|| below(start.wrapping_add(spot.count), open.len()));
        open.get(index)
            .copied()
            .or(listed.first())
            .cloned()
            .unwrap_or(Json::Null)
    }

    fn shown(&self, demand: &Demand, spot: &Spot) -> Option<Json> {
        if spot.count > 0 || self.twisted(&spot.place) {
            return None;
        }
        let open: Vec<&Json> = demand
            .shown
            .iter()
            .filter(|value| demand.kinds.has(Kinds::of(value)))
            .collect();
        open.get(below(spot.salt, open.len())).copied().cloned()
    }

    fn text(&mut self, demand: &Demand, spot: &Spot) -> Json {
        let ways = [
            (Edge::Least, text::Wanted::Shortest),
            (Edge::Most, text::Wanted::Longest),
            (Edge::Unusual, text::Wanted::Unusual),
        ];
        let mut wanted = text::Wanted::Usual;
        for (edge, way) in ways {
            if self.wants(&spot.place, &edge) {
                wanted = way;
            }
            self.offer(&spot.place, edge);
        }
        Json::String(text::text(demand, spot.salt, spot.count, wanted))
    }

    fn number(&mut self, demand: &Demand, spot: &Spot, whole: bool) -> Json {
        let ways = [
            (Edge::Near(0), number::Wanted::Near(0)),
            (Edge::Near(-1), number::Wanted::Near(-1)),
            (Edge::Near(1), number::Wanted::Near(1)),
            (Edge::Least, number::Wanted::Least),
            (Edge::Most, number::Wanted::Most),
        ];
        let mut wanted = number::Wanted::By(spot.salt);
        for (edge, way) in ways {
            if self.wants(&spot.place, &edge) {
                wanted = way;
            }
            self.offer(&spot.place, edge);
        }
        let made = demand
            .bounds
            .number(whole, wanted)
            .or_else(|| demand.bounds.bound());
        made.map_or(Json::from(0), Json::Number)
    }

    fn truth(&mut self, demand: &Demand, spot: &Spot) -> Json {
        for truth in [true, false] {
            self.offer(&spot.place, Edge::Truth(truth));
            if self.wants(&spot.place, &Edge::Truth(truth)) {
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
    /// The next choice of this place. Made anew, a place goes through all that it can choose.
    pub fn pick(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(1).max(1);
        let chosen = self.digits % count;
        self.digits /= count;
        usize::try_from(chosen).unwrap_or(0)
    }
}

/// Alternatives in the order in which they are tried: null comes last, and deep down whatever refers to others.
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

/// The names of a list, each once.
pub(super) fn distinct(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect()
}
