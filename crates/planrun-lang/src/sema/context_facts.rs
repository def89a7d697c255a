//! Compares conditions over the contexts of tasks, which change with every `set`: two conditions with the same text have
//! the same result only if no `set` lies between them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use unicode_ident::is_xid_continue;

use super::expr::present_path;
use super::scope::Atom;
use crate::source::Span;
use crate::syntax::canonical_name;

/// Marks [`Atom::contexts`] of a condition that equals no other, since the contexts may change at any time.
const ONLY_HERE: u32 = 1 << 30;
/// Marks those of conditions in a listener, an `undo` or a `verify`, whose contexts do not change.
const IN_LISTENER: u32 = 1 << 31;

/// How the contexts of the tasks of a plan change.
#[derive(Debug, Default)]
pub(super) struct ContextFacts {
    /// By the name of the task.
    changes: BTreeMap<Arc<str>, Changes>,
    /// The names of the tasks that are no single word, so that they are written in back quotes.
    quoted: Vec<Arc<str>>,
    /// The listener around this place: it reads contexts as they were when it fired. Also an `undo` or a `verify`, which
    /// reads them as they are when it runs.
    pub listener: Option<Span>,
}

/// How the context of one task changes.
#[derive(Debug)]
pub(super) struct Changes {
    /// The last bytes of its `set`s, in source order: each reads the context as it was before.
    pub last_bytes: Vec<u32>,
    /// Whether a listener, or somebody outside, may change the context at any time.
    pub at_any_time: bool,
    /// The statements in which it changes while others run.
    pub concurrent: BTreeSet<Span>,
    /// The loops in which it changes.
    pub repeated: BTreeSet<Span>,
    /// The fields that may be set to null.
    pub emptied: BTreeSet<Arc<str>>,
}

impl ContextFacts {
    pub(super) fn new(changes: BTreeMap<Arc<str>, Changes>) -> Self {
        let quoted = changes.keys().filter(|task| !is_word(task));
        Self {
            quoted: quoted.cloned().collect(),
            changes,
            listener: None,
        }
    }

    /// Returns a condition at this position as one that equals only conditions over the same contexts.
    pub(super) fn dated(&self, atom: &Atom, at: u32) -> Atom {
        if self.changes.is_empty() {
            return atom.clone();
        }
        let read = self.read_by(atom).map(|(_, changes)| changes);
        let read = read.collect::<Vec<_>>();
        if read.is_empty() {
            return atom.clone();
        }
        let from = self.listener.map_or(0, |listener| listener.start);
        let above = read.iter().map(|changes| changes.ended(from..at));
        let above = u32::try_from(above.sum::<usize>()).unwrap_or(u32::MAX);
        let contexts = if self.listener.is_some() {
            IN_LISTENER | (from + above)
        } else if read.iter().any(|changes| changes.is_unsettled_at(at)) {
            ONLY_HERE | at
        } else {
            1 + above
        };
        let parts = atom.not_all.iter().map(|part| self.dated(part, at));
        Atom {
            contexts,
            not_all: parts.collect(),
            ..atom.clone()
        }
    }

    /// Returns true if a dated condition also narrows types in the statements under it: the contexts that it reads do not
    /// change while these run.
    pub(super) fn narrows(&self, atom: &Atom) -> bool {
        let at = atom.contexts & !ONLY_HERE;
        let is_concurrent = || {
            let mut read = self.read_by(atom);
            read.any(|(_, changes)| changes.is_concurrent_at(at))
        };
        match atom.contexts {
            0 => false,
            contexts if contexts & IN_LISTENER > 0 => true,
            contexts if contexts & ONLY_HERE > 0 => !is_concurrent() || self.lasts(atom),
            _ => true,
        }
    }

    /// Returns true if a fact about contexts holds after every `set`: the presence of a field that none gives as null.
    pub(super) fn lasts(&self, atom: &Atom) -> bool {
        let fact = undated(atom);
        let Some(path) = present_path(&fact) else {
            return false;
        };
        self.read_by(atom).all(|(task, changes)| {
            let field = path.strip_prefix(&*canonical_name(task));
            let field = field.and_then(|field| field.strip_prefix('.'));
            field.is_some_and(|field| is_word(field) && !changes.emptied.contains(field))
        })
    }

    /// Returns the tasks that are set within a statement.
    pub(super) fn changed_in(&self, statement: Span) -> Vec<Arc<str>> {
        let tasks = self.changes.iter();
        tasks
            .filter(|(_, changes)| changes.ended(statement.start..statement.end) > 0)
            .map(|(task, _)| task.clone())
            .collect()
    }

    /// Returns the tasks that a condition reads, and how they change.
    fn read_by<'s>(&'s self, atom: &'s Atom) -> impl Iterator<Item = (&'s Arc<str>, &'s Changes)> {
        let quoted = self.quoted.iter().filter(|task| reads(atom, task));
        let names = words(atom).chain(quoted.map(|task| &**task));
        names.filter_map(|name| self.changes.get_key_value(name))
    }
}

impl Changes {
    /// Returns the number of `set`s that end in a range.
    fn ended(&self, range: Range<u32>) -> usize {
        let before = |at: u32| self.last_bytes.partition_point(|last| *last < at);
        before(range.end).saturating_sub(before(range.start))
    }

    /// Returns true if the context may change while a statement at this position runs.
    pub(super) fn is_concurrent_at(&self, at: u32) -> bool {
        self.at_any_time
            || self
                .concurrent
                .iter()
                .any(|around| around.contains(Span::at(at as usize)))
    }

    /// Returns true if a condition at this position may be tested on several contexts.
    pub(super) fn is_unsettled_at(&self, at: u32) -> bool {
        self.is_concurrent_at(at)
            || self
                .repeated
                .iter()
                .any(|around| around.contains(Span::at(at as usize)))
    }
}

/// Returns a fact about contexts as one about the contexts here.
pub(super) fn undated(atom: &Atom) -> Atom {
    Atom {
        contexts: 0,
        not_all: atom.not_all.iter().map(undated).collect(),
        ..atom.clone()
    }
}

/// Returns true if a condition names a task.
pub(super) fn reads(atom: &Atom, task: &str) -> bool {
    if is_word(task) {
        words(atom).any(|word| word == task)
    } else {
        atom.text.contains(&canonical_name(task))
    }
}

/// Returns the words of a condition, which include all names that it reads and that are not in back quotes.
fn words(atom: &Atom) -> impl Iterator<Item = &str> {
    atom.text
        .split(|character: char| !is_xid_continue(character))
}

/// Returns true if a name is one word, so that it is written without back quotes.
pub(super) fn is_word(text: &str) -> bool {
    text.chars().all(is_xid_continue)
}
