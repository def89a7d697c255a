//! Generates objects: selects their fields and generates the values.

use serde_json::{Map, Value as Json};

use super::build::{Builder, Spot, distinct};
use super::chance::{below, mixed};
use super::demand::Demand;
use super::edges::Edge;
use super::kinds::Kinds;
use super::pattern::matching;
use super::text::{self, WORDS};

/// Number of attempts at a place after which optional fields are left out.
const MAX_ATTEMPTS: u64 = 8;
/// Maximum number of fields that are generated to fill an object.
const MAX_FILLERS: u64 = 500;

impl Builder<'_> {
    pub fn object(&mut self, demand: &Demand, spot: &mut Spot) -> Json {
        let mut made = Map::new();
        for name in self.names(demand, spot) {
            let inner = self.below(spot, &name);
            if let Some(value) = self.field(demand, &name, inner) {
                made.insert(name, value);
            }
        }
        Json::Object(made)
    }

    /// Returns the value of a field; `None` if the field is left out.
    fn field(&mut self, demand: &Demand, name: &str, mut spot: Spot) -> Option<Json> {
        let required = demand.required.iter().any(|other| other == name);
        let optional = !required
            && !demand
                .requires
                .iter()
                .any(|(_, others)| others.iter().any(|other| other == name));
        if optional {
            self.offer(&spot.place, Edge::Absent);
        }
        let deviates = self.deviates(&spot.place);
        if self.requests(&spot.place, &Edge::Absent)
            || optional && !deviates && (spot.count > MAX_ATTEMPTS || self.is_full(&spot))
        {
            return None;
        }
        let inner = self.demand(&demand.field(name), &mut spot);
        if optional && (!inner.kinds.intersects(Kinds::ALL) || self.recurs(&inner)) {
            return None;
        }
        if let Some(given) = self
            .arguments
            .get(name)
            .filter(|_| spot.count == 0 && !deviates && accepts_argument(&inner))
            && inner.kinds.intersects(Kinds::of_example(given))
            && !given.is_object()
            && !given.is_array()
            && !given.is_null()
        {
            return Some(given.clone());
        }
        Some(self.value(&inner, &mut spot))
    }

    /// Returns the names of the fields, in the order of declaration.
    fn names(&mut self, demand: &Demand, spot: &mut Spot) -> Vec<String> {
        let declared = demand
            .fields
            .iter()
            .flat_map(|fields| fields.named.iter().map(|(name, _)| name.clone()));
        let all = distinct(declared.chain(demand.required.iter().cloned()));
        let required = |name: &String| demand.required.contains(name);
        let optional: Vec<&String> = all
            .iter()
            .filter(|name| !required(name) && !demand.has_dependent_schema(name))
            .collect();
        // All fields, only the required ones, all but one optional field, and the required ones with one optional
        // field.
        let ways = if optional.is_empty() {
            1
        } else {
            2 + 2 * optional.len().min(16)
        };
        let way = spot.pick(ways);
        let one = way
            .checked_sub(2)
            .and_then(|way| optional.get(way / 2))
            .copied();
        let bare = self.requests(&spot.place, &Edge::Least);
        if !optional.is_empty() || all.is_empty() {
            self.offer(&spot.place, Edge::Least);
        }
        let kept = |name: &&String| {
            let listed = match (way, one) {
                (0, _) => true,
                (way, Some(one)) if way % 2 == 0 => *name != one,
                (_, one) => one == Some(*name),
            };
            required(name) || !bare && listed && optional.contains(name)
        };
        let mut names: Vec<String> = all.iter().filter(kept).cloned().collect();
        add_dependent_fields(demand, &mut names);
        cut(demand, &mut names);
        if !bare || demand.size.least > 0 {
            self.fill(demand, spot, all.is_empty() && !bare, &mut names);
        }
        names
    }

    /// Adds generated fields: as many as required, and two if the object is a map that consists of such fields only.
    fn fill(&mut self, demand: &Demand, spot: &Spot, map: bool, names: &mut Vec<String>) {
        let typed = demand.fields.iter().any(|fields| {
            fields
                .rest
                .as_ref()
                .is_some_and(|rest| rest.schema.is_object())
                || !fields.patterns.is_empty()
        });
        let usual = if map && typed && !self.is_full(spot) && spot.count < MAX_ATTEMPTS {
            2
        } else {
            0
        };
        let target = demand.size.clamp(usual);
        for number in 0..MAX_FILLERS {
            if u64::try_from(names.len()).is_ok_and(|length| length >= target) {
                return;
            }
            let name = self.filler(demand, spot, number);
            if !names.contains(&name)
                && !demand
                    .field(&name)
                    .iter()
                    .any(|part| part.schema == Json::Bool(false))
            {
                names.push(name);
            }
        }
    }

    /// Generates the name of an undeclared field.
    fn filler(&mut self, demand: &Demand, spot: &Spot, number: u64) -> String {
        let salt = mixed(spot.salt.wrapping_add(number), "name");
        if !demand.names.is_empty() {
            let mut inner = self.below(spot, "a name");
            let asked = self.demand(&demand.names, &mut inner);
            if let Some(Json::String(name)) = asked
                .listed
                .as_ref()
                .and_then(|names| names.get(below(salt, names.len())))
            {
                return name.clone();
            }
            return text::text(&asked, salt, 0, text::Target::Usual);
        }
        let patterns: Vec<&str> = demand
            .fields
            .iter()
            .flat_map(|fields| fields.patterns.iter().map(|(_, text, _)| text.as_str()))
            .collect();
        let word = WORDS.get(below(number, WORDS.len())).unwrap_or(&"word");
        let pattern = patterns.get(below(number, patterns.len()));
        if let Some(name) = pattern
            .filter(|_| number < 40)
            .and_then(|pattern| matching(pattern, salt, 4))
        {
            // If the pattern allows a suffix, a word makes the names distinct.
            let longer = format!("{name}{word}");
            let open = demand.fields.iter().any(|fields| {
                fields
                    .patterns
                    .iter()
                    .any(|(regex, ..)| regex.is_match(&longer))
            });
            return if open && number.is_multiple_of(2) {
                longer
            } else {
                name
            };
        }
        if number < 16 {
            (*word).to_owned()
        } else {
            format!("{word}-{number}")
        }
    }
}

/// Returns true if an argument may be used as the value of a field: the type is stated and the values are not listed.
fn accepts_argument(demand: &Demand) -> bool {
    demand.listed.is_none() && demand.typed
}

/// Adds the fields that other fields require.
fn add_dependent_fields(demand: &Demand, names: &mut Vec<String>) {
    let mut index = 0;
    while let Some(name) = names.get(index).cloned() {
        let needed = demand
            .requires
            .iter()
            .filter(|(own, _)| *own == name)
            .flat_map(|(_, others)| others);
        for other in needed {
            if !names.contains(other) {
                names.push(other.clone());
            }
        }
        index += 1;
    }
}

fn cut(demand: &Demand, names: &mut Vec<String>) {
    let most = demand
        .size
        .most
        .and_then(|most| usize::try_from(most).ok())
        .unwrap_or(usize::MAX);
    while names.len() > most {
        let Some(last) = names
            .iter()
            .rposition(|name| !demand.required.contains(name))
        else {
            return;
        };
        names.remove(last);
    }
}
