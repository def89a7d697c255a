//! The names of a plan during the check: frames, and names introduced later.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use super::context_facts::ContextFacts;
use super::knowledge::Knowledge;
use super::scope::{Atom, Binding, Definition, Lookup, NameKind, Place, Scope};
use crate::source::Span;
use crate::types::Type;

/// Maximum number of suggestions for unknown names in a plan, since each one compares all names.
const MAX_SEARCHES: usize = 200;

/// Everything that can be named at one place of a plan.
#[derive(Debug, Default)]
pub(super) struct Names {
    frames: Vec<Frame>,
    /// The namespaces of the file.
    namespaces: BTreeSet<Arc<str>>,
    /// The plans of the file; shared by all of them.
    plans: Arc<BTreeSet<Arc<str>>>,
    pub known: Knowledge,
    /// The subjects of the `match` steps around this place, with their types in the arm, outermost first.
    pub arms: Vec<(String, Type)>,
    /// The branches of `if`s around this place, outermost first.
    branches: Vec<Branch>,
    /// Number of `if`s so far.
    ifs: u32,
    /// Total number of conditions around introduced names, counted for each name.
    pub conditions: usize,
    /// Number of searches for suggestions so far.
    searches: Cell<usize>,
}

/// One branch of an `if`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Branch {
    of: u32,
    arm: usize,
}

/// The names of one frame.
#[derive(Debug, Default)]
struct Frame {
    entries: HashMap<Arc<str>, Entry>,
    /// Names that the rest of this block introduces, once for each definition.
    later: HashMap<Arc<str>, Vec<Span>>,
    slots: u32,
}

#[derive(Debug)]
struct Entry {
    kind: NameKind,
    slot: u32,
    /// Where it was introduced first.
    span: Span,
    definitions: Arc<[Definition]>,
    /// The branches around each definition.
    branches: Vec<Vec<Branch>>,
}

/// A name to be introduced.
pub(super) struct NewName<'a> {
    pub name: &'a Arc<str>,
    pub span: Span,
    pub kind: NameKind,
    pub ty: Type,
}

/// Why a name cannot be introduced.
pub(super) enum Collision {
    /// The same block defines it already, at this span.
    Twice(Span),
    /// It would hide a name of an outer block, which is introduced at this span.
    Hides(Span),
}

impl Names {
    pub(super) fn new(
        namespaces: impl IntoIterator<Item = Arc<str>>,
        plans: Arc<BTreeSet<Arc<str>>>,
        contexts: ContextFacts,
    ) -> Self {
        Self {
            namespaces: namespaces.into_iter().collect(),
            plans,
            known: Knowledge::new(contexts),
            ..Self::default()
        }
    }

    /// Opens a frame; `later` are the names that its block introduces, in source order.
    pub(super) fn open(&mut self, later: impl IntoIterator<Item = (Arc<str>, Span)>) {
        let mut names: HashMap<Arc<str>, Vec<Span>> = HashMap::default();
        for (name, span) in later {
            names.entry(name).or_default().push(span);
        }
        self.frames.push(Frame {
            later: names,
            ..Frame::default()
        });
    }

    /// Closes the innermost frame, and returns the number of its slots.
    pub(super) fn close(&mut self) -> u32 {
        self.frames.pop().map_or(0, |frame| frame.slots)
    }

    /// Allocates a slot of the innermost frame for a value without a name.
    pub(super) fn slot(&mut self) -> u32 {
        let Some(frame) = self.frames.last_mut() else {
            return 0;
        };
        frame.slots += 1;
        frame.slots - 1
    }

    /// Introduces a name in the innermost frame, under the current guards, and returns its slot. A name that another
    /// branch of the same `if` defines keeps its slot.
    pub(super) fn introduce(&mut self, new: NewName<'_>) -> u32 {
        let guard = if new.kind == NameKind::Local {
            Arc::default()
        } else {
            self.known.guards()
        };
        self.conditions += guard.len();
        let definition = Definition {
            ty: new.ty,
            guard,
            winner: None,
        };
        let joins = self
            .frames
            .last()
            .and_then(|frame| frame.entries.get(new.name))
            .is_some_and(|entry| self.joins(entry, new.kind));
        let own = if joins { None } else { Some(self.slot()) };
        let Some(frame) = self.frames.last_mut() else {
            return 0;
        };
        if let Some(later) = frame.later.get_mut(new.name) {
            later.retain(|span| *span != new.span);
            if later.is_empty() {
                frame.later.remove(new.name);
            }
        }
        if let (None, Some(entry)) = (own, frame.entries.get_mut(new.name)) {
            entry.definitions = entry
                .definitions
                .iter()
                .cloned()
                .chain([definition])
                .collect();
            entry.branches.push(self.branches.clone());
            if entry.kind != new.kind {
                // A name only has a state if it is a step in every branch.
                entry.kind = NameKind::Let;
            }
            return entry.slot;
        }
        let slot = own.unwrap_or_default();
        let branches = vec![self.branches.clone()];
        let entry = Entry {
            kind: new.kind,
            slot,
            span: new.span,
            definitions: [definition].into(),
            branches,
        };
        frame.entries.insert(new.name.clone(), entry);
        slot
    }

    /// Returns true if a name may be defined again: by a step or a `let`, in another branch of the same `if`.
    fn joins(&self, entry: &Entry, kind: NameKind) -> bool {
        let gives_value = |kind| matches!(kind, NameKind::Step | NameKind::Let);
        gives_value(kind) && gives_value(entry.kind) && is_in_other_branch(&self.branches, entry)
    }

    /// Checks whether a name can be introduced in the innermost frame.
    pub(super) fn claim(&self, name: &str, kind: NameKind) -> Result<(), Collision> {
        let Some((own, outer)) = self.frames.split_last() else {
            return Ok(());
        };
        if let Some(entry) = own.entries.get(name)
            && !self.joins(entry, kind)
        {
            return Err(Collision::Twice(entry.span));
        }
        let hidden = outer.iter().rev().find_map(|frame| {
            let later = || {
                frame
                    .later
                    .get(name)
                    .and_then(|spans| spans.first().copied())
            };
            frame
                .entries
                .get(name)
                .map(|entry| entry.span)
                .or_else(later)
        });
        hidden.map_or(Ok(()), |span| Err(Collision::Hides(span)))
    }

    /// Changes the type of a name of the innermost frame, as its last definition gives it.
    pub(super) fn retype(&mut self, name: &str, ty: Type, winner: Option<Type>) {
        let entry = self
            .frames
            .last_mut()
            .and_then(|frame| frame.entries.get_mut(name));
        let Some(entry) = entry else { return };
        let mut definitions = entry.definitions.to_vec();
        if let Some(last) = definitions.last_mut() {
            (last.ty, last.winner) = (ty, winner);
        }
        entry.definitions = definitions.into();
    }

    /// Returns the type of slot 0 of the innermost frame.
    pub(super) fn first_type(&self) -> Option<Type> {
        let frame = self.frames.last()?;
        let first = frame.entries.values().find(|entry| entry.slot == 0)?;
        first
            .definitions
            .first()
            .map(|definition| definition.ty.clone())
    }

    /// Begins the branches of another `if`.
    pub(super) fn begin_if(&mut self) {
        self.branches.push(Branch {
            of: self.ifs,
            arm: 0,
        });
        self.ifs += 1;
    }

    /// Moves to the next branch of the innermost `if`.
    pub(super) fn next_branch(&mut self) {
        if let Some(branch) = self.branches.last_mut() {
            branch.arm += 1;
        }
    }

    /// Ends the innermost `if`.
    pub(super) fn end_if(&mut self) {
        self.branches.pop();
    }

    pub(super) fn is_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }
}

/// Returns true if every definition of a name is in another branch than the place in these branches.
fn is_in_other_branch(branches: &[Branch], entry: &Entry) -> bool {
    let exclusive = |other: &Vec<Branch>| {
        let parting = other.iter().zip(branches).find(|(one, other)| one != other);
        parting.is_some_and(|(one, other)| one.of == other.of)
    };
    entry.branches.iter().all(exclusive)
}

impl Scope for Names {
    fn lookup(&self, name: &str) -> Lookup {
        for (up, frame) in self.frames.iter().rev().enumerate() {
            if let Some(entry) = frame.entries.get(name) {
                let later = frame.later.get(name).and_then(|spans| spans.first());
                if let Some(span) = later.filter(|_| is_in_other_branch(&self.branches, entry)) {
                    return Lookup::Later(*span);
                }
                let place = Place {
                    up: u16::try_from(up).unwrap_or(u16::MAX),
                    slot: entry.slot,
                };
                let (kind, span, definitions) = (entry.kind, entry.span, entry.definitions.clone());
                return Lookup::Found(Binding {
                    kind,
                    place,
                    span,
                    definitions,
                });
            }
        }
        if self.namespaces.contains(name) {
            return Lookup::Namespace;
        }
        let later = self
            .frames
            .iter()
            .rev()
            .find_map(|frame| frame.later.get(name)?.first());
        later.map_or(Lookup::Missing, |span| Lookup::Later(*span))
    }

    fn visible(&self) -> Vec<Arc<str>> {
        let mut visible = Vec::new();
        self.searches.set(self.searches.get() + 1);
        if self.searches.get() > MAX_SEARCHES {
            return visible;
        }
        for frame in self.frames.iter().rev() {
            let first = visible.len();
            visible.extend(frame.entries.keys().cloned());
            visible[first..].sort();
        }
        visible
    }

    fn facts(&self) -> &[Atom] {
        self.known.facts()
    }

    fn arms(&self) -> &[(String, Type)] {
        &self.arms
    }

    fn dated(&self, atom: &Atom, at: u32) -> Atom {
        self.known.dated(atom, at)
    }

    fn excluded(&self) -> &[Arc<[Atom]>] {
        self.known.excluded()
    }

    fn is_plan(&self, name: &str) -> bool {
        self.plans.contains(name)
    }
}
