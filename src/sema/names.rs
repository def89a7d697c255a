//! The names of a plan while it is checked: frames, what is introduced further down, and the facts that hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use super::scope::{Atom, Binding, Lookup, NameKind, Place, Scope};
use crate::source::Span;
use crate::types::Type;

/// Everything that can be named at one place of a plan.
#[derive(Debug, Default)]
pub(super) struct Names {
    frames: Vec<Frame>,
    /// The namespaces of the file.
    namespaces: BTreeSet<Arc<str>>,
    /// Names that are unique in the plan, with their first places.
    unique: HashMap<Arc<str>, Span>,
    facts: Vec<Atom>,
    /// The same for all names that are introduced under them.
    guard: Option<Arc<[Atom]>>,
}

/// The names of one frame.
#[derive(Debug, Default)]
struct Frame {
    entries: HashMap<Arc<str>, Entry>,
    /// Names that the rest of this block introduces.
    later: HashMap<Arc<str>, Span>,
    slots: u32,
}

#[derive(Debug)]
struct Entry {
    kind: NameKind,
    slot: u32,
    ty: Type,
    guard: Arc<[Atom]>,
    span: Span,
    branches: Arc<[Arc<str>]>,
}

/// What is known of a name when it is introduced.
pub(super) struct NewName<'a> {
    pub name: &'a Arc<str>,
    pub span: Span,
    pub kind: NameKind,
    pub ty: Type,
    pub branches: Arc<[Arc<str>]>,
}

impl Names {
    pub(super) fn new(namespaces: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self { namespaces: namespaces.into_iter().collect(), ..Self::default() }
    }

    /// Opens a frame; `later` are the names that its block introduces.
    pub(super) fn open(&mut self, later: impl IntoIterator<Item = (Arc<str>, Span)>) {
        let mut names = HashMap::default();
        for (name, span) in later {
            names.entry(name).or_insert(span);
        }
        self.frames.push(Frame { later: names, ..Frame::default() });
    }

    /// Closes the innermost frame and tells how many slots it needs.
    pub(super) fn close(&mut self) -> u32 {
        self.frames.pop().map_or(0, |frame| frame.slots)
    }

    /// A slot of the innermost frame for a value without a name.
    pub(super) fn slot(&mut self) -> u32 {
        let Some(frame) = self.frames.last_mut() else { return 0 };
        frame.slots += 1;
        frame.slots - 1
    }

    /// Introduces a name in the innermost frame, under the facts that hold now, and tells its slot.
    pub(super) fn introduce(&mut self, new: NewName<'_>) -> u32 {
        let slot = self.slot();
        let guard = if new.kind == NameKind::Local { Arc::default() } else { self.guard() };
        let entry = Entry { kind: new.kind, slot, ty: new.ty, guard, span: new.span, branches: new.branches };
        if let Some(frame) = self.frames.last_mut() {
            frame.later.remove(new.name);
            frame.entries.insert(new.name.clone(), entry);
        }
        slot
    }

    /// The facts that hold now.
    fn guard(&mut self) -> Arc<[Atom]> {
        if self.facts.is_empty() {
            return Arc::default();
        }
        self.guard.get_or_insert_with(|| self.facts.as_slice().into()).clone()
    }

    /// The type that a name of the innermost frame has from now on.
    pub(super) fn retype(&mut self, name: &str, ty: Type, branches: Arc<[Arc<str>]>) {
        if let Some(entry) = self.frames.last_mut().and_then(|frame| frame.entries.get_mut(name)) {
            entry.ty = ty;
            entry.branches = branches;
        }
    }

    /// The type of slot 0 of the innermost frame.
    pub(super) fn first_type(&self) -> Option<Type> {
        let frame = self.frames.last()?;
        frame.entries.values().find(|entry| entry.slot == 0).map(|entry| entry.ty.clone())
    }

    /// Claims a name that is unique in the plan; the place of the first one where it is taken.
    pub(super) fn claim(&mut self, name: &Arc<str>, span: Span) -> Result<(), Span> {
        if let Some(first) = self.unique.get(name) {
            return Err(*first);
        }
        self.unique.insert(name.clone(), span);
        Ok(())
    }

    /// Adds facts that hold from here on and tells how many held before.
    pub(super) fn assume(&mut self, atoms: impl IntoIterator<Item = Atom>) -> usize {
        let before = self.facts.len();
        self.facts.extend(atoms);
        self.guard = None;
        before
    }

    /// Goes back to the first `count` facts.
    pub(super) fn forget(&mut self, count: usize) {
        self.facts.truncate(count);
        self.guard = None;
    }

    pub(super) fn is_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }
}

impl Scope for Names {
    fn lookup(&self, name: &str) -> Lookup {
        for (up, frame) in self.frames.iter().rev().enumerate() {
            if let Some(entry) = frame.entries.get(name) {
                let place = Place { up: u16::try_from(up).unwrap_or(u16::MAX), slot: entry.slot };
                return Lookup::Found(Binding {
                    kind: entry.kind,
                    place,
                    ty: entry.ty.clone(),
                    guard: entry.guard.clone(),
                    span: entry.span,
                    branches: entry.branches.clone(),
                });
            }
        }
        if self.namespaces.contains(name) {
            return Lookup::Namespace;
        }
        let later = self.frames.iter().rev().find_map(|frame| frame.later.get(name));
        later.map_or(Lookup::Missing, |span| Lookup::Later(*span))
    }

    fn visible(&self) -> Vec<Arc<str>> {
        let mut visible = Vec::new();
        for frame in self.frames.iter().rev() {
            let first = visible.len();
            visible.extend(frame.entries.keys().cloned());
            visible[first..].sort();
        }
        visible
    }

    fn facts(&self) -> &[Atom] {
        &self.facts
    }
}
