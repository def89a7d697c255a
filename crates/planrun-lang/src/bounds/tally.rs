//! Tallies of tool calls: sums, products and maxima of alternatives.

use std::sync::Arc;

use indexmap::map::Entry as Place;
use indexmap::{IndexMap, IndexSet};

use super::{Argument, Role, Undoing, Use};
use crate::origin::{Flow, Source};
use crate::types::Effect;

/// A count; `None` if it has no bound.
pub(super) type Count = Option<u64>;

/// Calls with the same key are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub tool: Arc<str>,
    pub effect: Effect,
    pub role: Role,
}

/// The calls that share a [`Key`].
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub count: Count,
    pub attempts: u64,
    pub arguments: IndexMap<Arc<str>, Flow>,
    /// Names of the arguments that must be redacted.
    pub sensitive: IndexSet<Arc<str>>,
    pub undo: Option<Undoing>,
}

/// The calls of a part of a plan, in source order.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    entries: IndexMap<Key, Entry>,
}

impl Tally {
    pub fn one(key: Key, entry: Entry) -> Self {
        Self {
            entries: IndexMap::from_iter([(key, entry)]),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }

    pub fn entries_mut(&mut self) -> impl Iterator<Item = (&Key, &mut Entry)> {
        self.entries.iter_mut()
    }

    /// Adds calls that are made in addition to these.
    pub fn add(&mut self, other: Self) {
        self.join(other, plus);
    }

    /// Adds calls that may be made instead of these.
    pub fn or(&mut self, other: Self) {
        self.join(other, most);
    }

    /// Multiplies all counts.
    pub fn times(&mut self, rounds: Count) {
        let none = |entry: &Entry| entry.count == Some(0);
        for entry in self.entries.values_mut() {
            entry.count = times(entry.count, rounds);
        }
        self.entries.retain(|_, entry| !none(entry));
    }

    /// Changes the role of all calls; in a `recover` arm, `verify` and `undo` calls keep theirs.
    pub fn in_role(self, whole: Role) -> Self {
        let mut changed = Self::default();
        for (key, entry) in self.entries {
            let role = if whole == Role::Recover && key.role != Role::Forward {
                key.role
            } else {
                whole
            };
            changed.add(Self::one(Key { role, ..key }, entry));
        }
        changed
    }

    /// Sorts the calls in the order of these keys.
    pub fn in_order_of(mut self, page: &IndexSet<Key>) -> Self {
        self.entries
            .sort_by_cached_key(|key, _| page.get_index_of(key));
        self
    }

    fn join(&mut self, other: Self, counts: fn(Count, Count) -> Count) {
        for (key, entry) in other.entries {
            match self.entries.entry(key) {
                Place::Vacant(place) => {
                    place.insert(entry);
                }
                Place::Occupied(mut place) => {
                    let known = place.get_mut();
                    known.count = counts(known.count, entry.count);
                    known.merge(entry);
                }
            }
        }
    }

    pub fn into_uses(self) -> Vec<Use> {
        let uses = self.entries.into_iter().map(|(key, entry)| Use {
            tool: key.tool,
            effect: key.effect,
            role: key.role,
            max: entry.count,
            attempts: entry.attempts,
            undo: entry.undo.clone(),
            arguments: entry.arguments(key.effect),
        });
        uses.collect()
    }
}

impl Entry {
    fn merge(&mut self, other: Self) {
        self.attempts = self.attempts.max(other.attempts);
        for (name, flow) in other.arguments {
            self.arguments.entry(name).or_default().merge(flow);
        }
        self.sensitive.extend(other.sensitive);
        self.undo = match (self.undo.take(), other.undo) {
            (Some(one), Some(other)) => Some(one.worse(other)),
            (one, other) => one.or(other),
        };
    }

    fn arguments(self, effect: Effect) -> Vec<Argument> {
        let arguments = self.arguments.into_iter().map(|(name, mut flow)| {
            if self.sensitive.contains(&name) {
                flow.redact();
            }
            Argument {
                name,
                from: flow.parts.iter().map(|part| part.source.clone()).collect(),
                computed: flow.computed,
                more: flow.more,
                strangers: if effect.is_read_only() {
                    Vec::new()
                } else {
                    strangers(&flow)
                },
            }
        });
        arguments.collect()
    }
}

impl Undoing {
    /// Returns the worse of two outcomes.
    fn worse(self, other: Self) -> Self {
        let rank = |undo: &Self| match undo {
            Self::With(_) => 0,
            Self::Whole(_) => 1,
            Self::Policy(_) => 2,
            Self::Inverse(_) => 3,
            Self::Stays => 4,
            Self::AfterEnd => 5,
        };
        match (self, other) {
            (Self::With(one), Self::With(other)) => Self::With(joined(one, other)),
            (Self::Whole(one), Self::Whole(other)) => Self::Whole(joined(one, other)),
            (one, other) if rank(&one) >= rank(&other) => one,
            (_, other) => other,
        }
    }
}

fn joined(mut one: Vec<Arc<str>>, other: Vec<Arc<str>>) -> Vec<Arc<str>> {
    one.extend(other);
    distinct(one)
}

fn strangers(flow: &Flow) -> Vec<Arc<str>> {
    let open = flow.parts.iter().filter(|part| part.from_open_world);
    let tools = open.filter_map(|part| match &part.source {
        Source::Result(tool) => Some(tool.clone()),
        _ => None,
    });
    tools.collect()
}

pub(super) fn distinct(tools: Vec<Arc<str>>) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    for tool in tools {
        if !found.contains(&tool) {
            found.push(tool);
        }
    }
    found
}

pub(super) fn plus(one: Count, other: Count) -> Count {
    Some(one?.saturating_add(other?))
}

pub(super) fn times(one: Count, other: Count) -> Count {
    match (one, other) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(one), Some(other)) => Some(one.saturating_mul(other)),
        (None, _) | (_, None) => None,
    }
}

/// Returns the larger of two; `None` if one has no bound.
pub(super) fn most(one: Count, other: Count) -> Count {
    Some(one?.max(other?))
}

/// Returns the smaller of two; one without a bound is ignored.
pub(super) fn least(one: Count, other: Count) -> Count {
    one.into_iter().chain(other).min()
}
