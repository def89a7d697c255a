//! Finds the edge cases of a schema by generating values that are unusual in one place, breadth first.

use std::collections::VecDeque;

use serde_json::{Map, Value as Json};

use super::build::Builder;
use super::kinds::Kinds;
use super::place::Places;
use super::{Examples, MAX_EDGES};

/// Number of attempts to generate the rest of a value around an edge case.
pub(super) const TRIES: u64 = 12;
/// Maximum number of candidates; fewer if a value has many parts.
const MAX_CANDIDATES: usize = 240;
/// Number of parts of a value that count as one more candidate.
const PARTS_OF_ONE: usize = 20;
/// Maximum number of deviations in one edge case.
const MAX_STEPS: usize = 3;

/// An unusual choice at one place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deviation {
    /// A JSON pointer.
    pub place: String,
    pub edge: Edge,
}

/// A kind of unusual choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edge {
    /// The field is absent.
    Absent,
    /// The shortest, smallest or empty value.
    Least,
    /// A list of one element.
    One,
    /// The longest or largest value.
    Most,
    /// The number nearest to this one.
    Near(i8),
    /// Text with characters that programs often handle incorrectly.
    Unusual,
    Truth(bool),
    /// The listed value with this index.
    Member(usize),
    /// A value of one of several types.
    Kind(Kinds),
    /// An alternative, by the number of the choice and its index.
    Alternative(usize, usize),
}

/// Returns the edge cases, those near the root first.
pub(super) fn find(examples: &Examples) -> Vec<super::Edge> {
    let none = Map::new();
    let mut found: Vec<super::Edge> = Vec::new();
    let mut open: VecDeque<Vec<Deviation>> = VecDeque::from([Vec::new()]);
    let (_, parts) = offers(examples, &none, &[]);
    let cost = 1 + parts / PARTS_OF_ONE;
    let mut candidates = 0;
    while let Some(deviations) = open.pop_front() {
        candidates += cost;
        if found.len() == MAX_EDGES || candidates > MAX_CANDIDATES {
            break;
        }
        if !deviations.is_empty() {
            let Ok(value) = examples.conforming(&none, 0, &deviations, TRIES) else {
                continue;
            };
            if !found.iter().any(|edge| edge.value == value) {
                found.push(super::Edge {
                    deviations: deviations.clone(),
                    value,
                });
            }
        }
        // Another alternative or type may have places that the usual value does not have.
        let opens_places = |deviation: &Deviation| {
            matches!(
                deviation.edge,
                Edge::Alternative(..) | Edge::Kind(_) | Edge::Most
            )
        };
        if deviations.len() < MAX_STEPS && deviations.last().is_none_or(opens_places) {
            for offer in offers(examples, &none, &deviations).0 {
                let new = deviations.iter().all(|deviation| {
                    deviation.place != offer.place || offer.edge != deviation.edge
                });
                let known = open
                    .iter()
                    .any(|other| other.len() == 1 && other.first() == Some(&offer));
                if new
                    && !known
                    && !(deviations.is_empty() && open.iter().any(|other| other.contains(&offer)))
                {
                    open.push_back([deviations.clone(), vec![offer]].concat());
                }
            }
        }
    }
    found
}

/// Returns the deviations that the places of a value offer, and its number of parts.
fn offers(
    examples: &Examples,
    arguments: &Map<String, Json>,
    deviations: &[Deviation],
) -> (Vec<Deviation>, usize) {
    let mut places = Places::default();
    let mut builder = Builder::new(&examples.documents, arguments, 0, deviations, &mut places);
    builder.offers = Some(Vec::new());
    builder.build();
    let (mut offers, parts) = (builder.offers.take().unwrap_or_default(), builder.parts);
    offers.sort_by_key(|deviation| deviation.place.matches('/').count());
    (offers, parts)
}
