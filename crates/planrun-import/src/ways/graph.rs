//! What leads where: places, the ways between them, where ways meet and where they lead back.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;

use crate::draft::excerpt;

/// Whether the whole may end at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It always goes on.
    No,
    Well,
    /// It only fails.
    Badly,
}

/// A state of a machine or a task of a workflow: where it leads, and what it sets.
#[derive(Debug)]
pub struct Place<'d> {
    pub name: &'d str,
    pub span: Span,
    /// What the document calls its kind.
    pub kind: String,
    /// Where it leads, in the order of the document.
    pub targets: Vec<&'d str>,
    pub ends: Ends,
    /// The variables that it sets.
    pub sets: Vec<String>,
}

/// Places by their names. A target that is no place lies outside, and ways end there.
#[derive(Debug, Default)]
pub struct Graph<'d> {
    places: BTreeMap<&'d str, Place<'d>>,
}

impl<'d> FromIterator<Place<'d>> for Graph<'d> {
    fn from_iter<I: IntoIterator<Item = Place<'d>>>(places: I) -> Self {
        let places = places.into_iter().map(|place| (place.name, place));
        Self {
            places: places.collect(),
        }
    }
}

impl<'d> Graph<'d> {
    pub fn get(&self, name: &str) -> Option<&Place<'d>> {
        self.places.get(name)
    }

    fn targets(&self, name: &str) -> &[&'d str] {
        self.get(name).map_or(&[], |place| &place.targets)
    }

    /// Every place that is reached from here without going on behind the stops.
    fn reached(&self, from: &str, stops: &BTreeSet<&str>) -> BTreeSet<&'d str> {
        let mut found = BTreeSet::new();
        let mut open = self.targets(from).to_vec();
        while let Some(place) = open.pop() {
            if found.insert(place) && !stops.contains(place) {
                open.extend(self.targets(place));
            }
        }
        found
    }

    /// Whether a way leads from one place to another.
    pub fn leads(&self, from: &str, to: &str) -> bool {
        self.reached(from, &BTreeSet::new()).contains(to)
    }

    /// The places of the loop that this one begins, where it begins one.
    pub fn cycle(&self, head: &'d str, stops: &BTreeSet<&str>) -> Option<BTreeSet<&'d str>> {
        let after = self.reached(head, stops);
        if !after.contains(head) {
            return None;
        }
        let inner = after.into_iter().filter(|place| !stops.contains(*place));
        let back =
            inner.filter(|place| *place == head || self.reached(place, stops).contains(head));
        Some(back.collect())
    }

    /// The one place to which a loop is left.
    ///
    /// # Errors
    /// Why there is none.
    pub fn exit(&self, cycle: &BTreeSet<&'d str>) -> Result<&'d str, String> {
        let mut exits = BTreeSet::new();
        for place in cycle.iter().filter_map(|name| self.get(name)) {
            if place.ends == Ends::Well {
                return Err(format!(
                    "it ends the whole in its middle, at `{}`",
                    excerpt(place.name)
                ));
            }
            let outside = place.targets.iter().filter(|name| !cycle.contains(**name));
            let fails = |name: &str| {
                self.get(name)
                    .is_some_and(|place| place.ends == Ends::Badly)
            };
            exits.extend(outside.filter(|name| !fails(name)));
        }
        let mut found = exits.into_iter();
        match (found.next(), found.next()) {
            (Some(exit), None) => Ok(exit),
            (None, _) => Err("nothing leads out of it but failures".to_owned()),
            (Some(one), Some(other)) => {
                let told = |place: &str| match place {
                    "" => "the end".to_owned(),
                    _ => format!("`{}`", excerpt(place)),
                };
                Err(format!(
                    "it is left to several places, such as {} and {}, and a `repeat` goes on at one",
                    told(one),
                    told(other)
                ))
            }
        }
    }

    /// The variables that the places of a loop set.
    pub fn sets(&self, cycle: &BTreeSet<&str>) -> Vec<String> {
        let places = cycle.iter().filter_map(|name| self.get(name));
        let names: BTreeSet<&String> = places.flat_map(|place| &place.sets).collect();
        names.into_iter().cloned().collect()
    }

    /// Where all ways out of a place meet; where some of them end before, where the others do.
    pub fn meeting(&self, place: &'d str, stops: &BTreeSet<&str>) -> Option<&'d str> {
        let meet = |counts_ends| {
            let mut known = BTreeMap::new();
            let passed = self.passed(place, stops, counts_ends, &mut known)?;
            let others = passed.into_iter().filter(|other| *other != place);
            let length = |other: &&str| known.get(*other).and_then(|all| Some(all.as_ref()?.len()));
            others.max_by_key(length)
        };
        meet(true).or_else(|| meet(false))
    }

    /// What every way from here passes; `None` where all end, if ends do not count, or only go round.
    fn passed(
        &self,
        name: &'d str,
        stops: &BTreeSet<&str>,
        counts_ends: bool,
        known: &mut BTreeMap<&'d str, Option<BTreeSet<&'d str>>>,
    ) -> Option<BTreeSet<&'d str>> {
        if let Some(known) = known.get(name) {
            return known.clone();
        }
        let targets = self.targets(name);
        let fails = self
            .get(name)
            .is_some_and(|place| place.ends == Ends::Badly);
        if stops.contains(name) || (targets.is_empty() && counts_ends && !fails) {
            let only = Some(BTreeSet::from([name]));
            known.insert(name, only.clone());
            return only;
        }
        known.insert(name, None);
        let mut common: Option<BTreeSet<&str>> = None;
        for target in targets {
            let Some(passed) = self.passed(target, stops, counts_ends, known) else {
                continue;
            };
            common = Some(match common {
                None => passed,
                Some(common) => common.intersection(&passed).copied().collect(),
            });
        }
        if let Some(common) = &mut common {
            common.insert(name);
        }
        known.insert(name, common.clone());
        common
    }
}
