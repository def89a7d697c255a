//! A state machine: its states and their successors.

use std::collections::BTreeMap;

use planrun_lang::diag::closest;
use planrun_lang::yaml::{Entry, Node};

use crate::control_flow::graph::{Graph, GraphNode, Termination};
use crate::document::{Refused, entries};

/// The most states of a machine.
const MAX_STATES: usize = 500;

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

    fn graph_node(&self) -> GraphNode<'d> {
        let targets = self.targets();
        let is_last =
            targets.is_empty() || (self.get("End").is_some() && self.get("Next").is_none());
        GraphNode {
            name: self.name,
            span: self.entry.span,
            kind: self.kind.to_owned(),
            targets,
            termination: match self.kind {
                "Fail" => Termination::Failure,
                "Choice" => Termination::Never,
                _ if is_last => Termination::Success,
                _ => Termination::Never,
            },
            sets: self.sets(),
        }
    }

    /// Returns the variables that it sets.
    fn sets(&self) -> Vec<String> {
        let listed = |field: &str| self.items(field).iter();
        let places = listed("Choices")
            .chain(listed("Catch"))
            .chain([&self.entry.value]);
        let entries = places.flat_map(|place| entries(place, "Assign"));
        let names = entries.map(|entry| entry.name.trim_end_matches(".$").to_owned());
        names.collect()
    }

    /// Returns its successors: those of its rules, its default, its next state and those of its error handlers.
    fn targets(&self) -> Vec<&'d str> {
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

/// A machine, or one inside a `Map` or a `Parallel`.
pub struct Machine<'d> {
    pub start: &'d str,
    pub states: BTreeMap<&'d str, State<'d>>,
    pub graph: Graph<'d>,
}

impl<'d> Machine<'d> {
    /// Reads a machine and checks its targets. Returns an error if there are no states or more than [`MAX_STATES`], if
    /// a state has no type, if there is no start state, or if a target does not exist.
    pub fn read(node: &'d Node, is_jsonata: bool) -> Result<Self, Refused> {
        let language = |node: &Node| Some(node.get("QueryLanguage")?.text()? == "JSONata");
        let is_jsonata = language(node).unwrap_or(is_jsonata);
        let entries = entries(node, "States");
        if entries.is_empty() || entries.len() > MAX_STATES {
            let message = format!(
                "a machine must have 1 to {MAX_STATES} states, but this one has {}",
                entries.len()
            );
            return Err(Refused::new(
                node.span,
                message,
                "list its states under `States`",
            ));
        }
        let mut states = BTreeMap::new();
        for entry in entries {
            let Some(kind) = entry.value.get("Type").and_then(Node::text) else {
                let message = format!("the state `{}` has no `Type`", entry.name);
                return Err(Refused::new(
                    entry.span,
                    message,
                    "add a type such as `Task`",
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
                "add the name of its first state",
            ));
        };
        let graph = states.values().map(State::graph_node).collect();
        let machine = Self {
            start,
            states,
            graph,
        };
        machine.known(start, place)?;
        for state in machine.states.values() {
            for target in state.targets() {
                machine.known(target, &state.entry.value)?;
            }
        }
        Ok(machine)
    }

    /// Returns an error if there is no state of this name.
    fn known(&self, name: &str, place: &Node) -> Result<(), Refused> {
        if self.states.contains_key(name) {
            return Ok(());
        }
        let near = closest(name, self.states.keys().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use the name of a state of the same machine".to_owned(),
        };
        Err(Refused::new(
            place.span,
            format!("there is no state `{name}`"),
            help,
        ))
    }
}
