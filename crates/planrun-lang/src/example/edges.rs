//! The edges of a schema: found by building values that are unusual in one place, breadth first.

use std::collections::VecDeque;

use serde_json::{Map, Value as Json};

use super::build::Builder;
use super::kinds::Kinds;
use super::place::Places;
use super::{Examples, MAX_EDGES};

/// So often the rest of a value is made anew around its edge.
pub(super) const TRIES: u64 = 12;
/// So many candidates are looked at, fewer where a value has many parts.
const MAX_CANDIDATES: usize = 240;
/// A value of so many parts costs as much as two small ones.
const PARTS_OF_ONE: usize = 20;
/// So many choices lead to an edge at the most.
const MAX_STEPS: usize = 3;

/// Something unusual at one place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Twist {
    /// A JSON pointer.
    pub place: String,
    pub edge: Edge,
}

/// What is unusual.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edge {
    /// The field is not there.
    Absent,
    /// The shortest, the smallest, the empty.
    Least,
    /// A list of one element.
    One,
    /// The longest, the largest.
    Most,
    /// The number next to this one.
    Near(i8),
    /// Text that programs trip over.
    Unusual,
    Truth(bool),
    /// One of the values that are spelt out.
    Member(usize),
    /// A value of one of several types.
    Kind(Kinds),
    /// Of a choice, by its number, one of the alternatives.
    Alternative(usize, usize),
}

/// All edges, those near the root first.
pub(super) fn find(examples: &Examples) -> Vec<super::Edge> {
    let none = Map::new();
    let mut found: Vec<super::Edge> = Vec::new();
    let mut open: VecDeque<Vec<Twist>> = VecDeque::from([Vec::new()]);
    let (_, parts) = offers(examples, &none, &[]);
    let cost = 1 + parts / PARTS_OF_ONE;
    let mut candidates = 0;
    while let Some(twists) = open.pop_front() {
        candidates += cost;
        if found.len() == MAX_EDGES || candidates > MAX_CANDIDATES {
            break;
        }
        if !twists.is_empty() {
            let Ok(value) = examples.conforming(&none, 0, &twists, TRIES) else {
                continue;
            };
            if !found.iter().any(|edge| edge.value == value) {
                found.push(super::Edge {
                    twists: twists.clone(),
                    value,
                });
            }
        }
        // Behind another alternative or type there are places that the usual value does not have.
        let leads_on = |twist: &Twist| {
            matches!(
                twist.edge,
                Edge::Alternative(..) | Edge::Kind(_) | Edge::Most
            )
        };
        if twists.len() < MAX_STEPS && twists.last().is_none_or(leads_on) {
            for offer in offers(examples, &none, &twists).0 {
                let new = twists
                    .iter()
                    .all(|twist| twist.place != offer.place || offer.edge != twist.edge);
                let known = open
                    .iter()
                    .any(|other| other.len() == 1 && other.first() == Some(&offer));
                if new
                    && !known
                    && !(twists.is_empty() && open.iter().any(|other| other.contains(&offer)))
                {
                    open.push_back([twists.clone(), vec![offer]].concat());
                }
            }
        }
    }
    found
}

/// The edges that the places of a value offer, and how many parts it has.
fn offers(
    examples: &Examples,
    arguments: &Map<String, Json>,
    twists: &[Twist],
) -> (Vec<Twist>, usize) {
    let mut places = Places::default();
    let mut builder = Builder::new(&examples.documents, arguments, 0, twists, &mut places);
    builder.offers = Some(Vec::new());
    builder.build();
    let (mut offers, parts) = (builder.offers.take().unwrap_or_default(), builder.parts);
    offers.sort_by_key(|twist| twist.place.matches('/').count());
    (offers, parts)
}
