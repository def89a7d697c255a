//! A state machine as a graph: its states, where each leads, and where ways meet.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::yaml::{Entry, Node};

use crate::document::{Refused, entries};

/// Machines with more states are refused.
const MAX_STATES: usize = 500;

/// One state.
pub struct State<'d> {
    pub name: &'d str,
    pub entry: &'d Entry,
    pub kind: &'d str,
    pub is_jsonata: bool,
}

impl<'d> State<'d> {
    pub fn get(&self, field: &str) -> Option<&'d Node> {
        self.entry.value.get(field)
    }

    pub fn text(&self, field: &str) -> Option<&'d str> {
        self.get(field).and_then(Node::text)
    }

    pub fn items(&self, field: &str) -> &'d [Node] {
        self.get(field).and_then(Node::items).unwrap_or_default()
    }

    /// Where it leads, in the order of the document.
    pub fn targets(&self) -> Vec<&'d str> {
        let listed = |field: &str| {
            let items = self.items(field);
            items.iter().filter_map(|item| item.get("Next")?.text())
        };
        let mut targets: Vec<&str> = listed("Choices").collect();
        targets.extend(self.text("Default"));
        targets.extend(self.text("Next"));
        targets.extend(listed("Catch"));
        targets
    }
}

/// A machine, or one inside of a `Map` or a `Parallel`.
pub struct Machine<'d> {
    pub start: &'d str,
    pub states: BTreeMap<&'d str, State<'d>>,
}

impl<'d> Machine<'d> {
    /// # Errors
    /// Where it has no states, a state has no kind, or a way leads nowhere.
    pub fn read(node: &'d Node, is_jsonata: bool) -> Result<Self, Refused> {
        let language = |node: &Node| Some(node.get("QueryLanguage")?.text()? == "JSONata");
        let is_jsonata = language(node).unwrap_or(is_jsonata);
        let entries = entries(node, "States");
        if entries.is_empty() || entries.len() > MAX_STATES {
            let message = format!(
                "a machine has one to {MAX_STATES} states, and this one has {}",
                entries.len()
            );
            return Err(Refused::new(
                node.span,
                message,
                "give its states under `States`",
            ));
        }
        let mut states = BTreeMap::new();
        for entry in entries {
            let Some(kind) = entry.value.get("Type").and_then(Node::text) else {
                let message = format!("the state `{}` has no `Type`", entry.name);
                return Err(Refused::new(
                    entry.span,
                    message,
                    "say what it is, such as `Task`",
                ));
            };
            let state = State {
                name: &entry.name,
                entry,
                kind,
                is_jsonata: language(&entry.value).unwrap_or(is_jsonata),
            };
            states.insert(entry.name.as_str(), state);
        }
        let Some((start, place)) = node
            .get("StartAt")
            .and_then(|start| Some((start.text()?, start)))
        else {
            let message = "the machine has no `StartAt`";
            return Err(Refused::new(
                node.span,
                message,
                "name the state that it begins with",
            ));
        };
        let machine = Self { start, states };
        machine.known(start, place)?;
        for state in machine.states.values() {
            for target in state.targets() {
                machine.known(target, &state.entry.value)?;
            }
        }
        Ok(machine)
    }

    /// # Errors
    /// Where there is no state of this name.
    fn known(&self, name: &str, place: &Node) -> Result<(), Refused> {
        if self.states.contains_key(name) {
            return Ok(());
        }
        let near = closest(name, self.states.keys().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a state of the same machine".to_owned(),
        };
        Err(Refused::new(
            place.span,
            format!("there is no state `{name}`"),
            help,
        ))
    }

    fn targets(&self, state: &str) -> Vec<&'d str> {
        self.states
            .get(state)
            .map(State::targets)
            .unwrap_or_default()
    }

    /// Every state that is reached from here without going on behind the stops.
    fn reached(&self, from: &str, stops: &BTreeSet<&str>) -> BTreeSet<&'d str> {
        let mut found = BTreeSet::new();
        let mut open = self.targets(from);
        while let Some(state) = open.pop() {
            if found.insert(state) && !stops.contains(state) {
                open.extend(self.targets(state));
            }
        }
        found
    }

    /// The states of the loop that this one begins, where it begins one.
    pub fn cycle(&self, head: &'d str, stops: &BTreeSet<&str>) -> Option<BTreeSet<&'d str>> {
        let after = self.reached(head, stops);
        if !after.contains(head) {
            return None;
        }
        let inner = after.into_iter().filter(|state| !stops.contains(*state));
        let back =
            inner.filter(|state| *state == head || self.reached(state, stops).contains(head));
        Some(back.collect())
    }

    /// Where all ways out of a state meet; where some of them end before, where the others do.
    pub fn meeting(&self, state: &'d str, stops: &BTreeSet<&str>) -> Option<&'d str> {
        let meet = |counts_ends| {
            let mut known = BTreeMap::new();
            let passed = self.passed(state, stops, counts_ends, &mut known)?;
            let others = passed.into_iter().filter(|other| *other != state);
            let length = |other: &&str| known.get(*other).and_then(|all| Some(all.as_ref()?.len()));
            others.max_by_key(length)
        };
        meet(true).or_else(|| meet(false))
    }

    /// What every way from here passes; `None` where all end, if ends do not count, or only go round.
    fn passed(
        &self,
        state: &'d str,
        stops: &BTreeSet<&str>,
        counts_ends: bool,
        known: &mut BTreeMap<&'d str, Option<BTreeSet<&'d str>>>,
    ) -> Option<BTreeSet<&'d str>> {
        if let Some(known) = known.get(state) {
            return known.clone();
        }
        let targets = self.targets(state);
        let fails = self
            .states
            .get(state)
            .is_some_and(|state| state.kind == "Fail");
        if stops.contains(state) || (targets.is_empty() && counts_ends && !fails) {
            let only = Some(BTreeSet::from([state]));
            known.insert(state, only.clone());
            return only;
        }
        known.insert(state, None);
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
            common.insert(state);
        }
        known.insert(state, common.clone());
        common
    }
}
