//! The table of the JSON form's objects and keys, from which reading, suggestions and the JSON Schema are derived.

/// Defines the keys of an object: for each `must` (required) or `may` (optional), its name, its slot and its
/// description.
macro_rules! keys {
    (@ $group:ident) => { $group };
    (@ { $($rows:tt)* }) => { keys! { $($rows)* } };
    (must) => { true };
    (may) => { false };
    ($($need:ident $name:literal: $slot:expr, $about:literal;)*) => {
        &[$(crate::syntax::json::shapes::Key { name: $name, slot: $slot, required: keys!($need), about: $about }),*]
    };
}

/// Defines a shape: its kind, its name in messages, its description, and its keys in groups.
macro_rules! shape {
    ($one_of:literal, $kind:literal, $called:literal, $about:expr, $($group:tt)+) => {
        Shape {
            kind: $kind,
            called: $called,
            about: $about,
            keys: &[$(keys!(@ $group)),+],
            one_of: $one_of,
        }
    };
}

/// Defines alternative shapes, distinguished by `kind`.
macro_rules! shapes {
    ($($kind:literal, $called:literal, $about:expr => [$($group:tt)+];)+) => {
        &[$(shape!(true, $kind, $called, $about, $($group)+)),+]
    };
}

/// Defines shapes without alternatives.
macro_rules! objects {
    ($($visible:vis static $name:ident = $kind:literal, $called:literal, $about:literal => [$($group:tt)+];)+) => {
        $($visible static $name: Shape = shape!(false, $kind, $called, $about, $($group)+);)+
    };
}

mod clauses;
mod items;
mod statements;
mod test_lines;

use clauses::{ACTIONS, UNDOS};
pub(in crate::syntax::json) use clauses::{ASKED, CALL, CLAUSES};
pub(in crate::syntax::json) use items::FILE;
use items::ITEMS;
use statements::STATEMENTS;
use test_lines::{OUTCOMES, TEST_STATEMENTS};

use std::borrow::Cow;

use crate::syntax::settings::Settings;

/// A kind of object of the JSON form.
pub(in crate::syntax::json) struct Shape {
    /// The value of its `kind` if it is one of several shapes, otherwise its name in the schema.
    pub kind: &'static str,
    /// Its name in messages, with the article.
    pub called: &'static str,
    pub about: &'static str,
    /// Its keys other than `kind`, in groups that shapes share.
    pub keys: &'static [&'static [Key]],
    /// True if it is one of several shapes, distinguished by `kind`.
    pub one_of: bool,
}

/// A key of an object.
pub(in crate::syntax::json) struct Key {
    pub name: &'static str,
    pub slot: Slot,
    pub required: bool,
    /// Its description; empty if [`Key::about`] derives it from the slot.
    about: &'static str,
}

/// A key together with the shape it belongs to.
#[derive(Clone, Copy)]
pub(in crate::syntax::json) struct Under {
    pub shape: &'static Shape,
    pub key: &'static Key,
}

impl Under {
    /// Returns the name of the key in messages.
    pub fn called(self) -> String {
        format!("`{}`", self.key.name)
    }
}

/// The kind of value of a key.
#[derive(Clone, Copy)]
pub(in crate::syntax::json) enum Slot {
    /// A name chosen by the author, without back quotes.
    Name,
    Names(Word),
    /// A literal text.
    Text,
    Flag,
    Word(Word),
    /// A type in the syntax of the language.
    Type,
    /// An object type, written out.
    ObjectType,
    Pattern,
    /// An expression in a string, a text, or literal JSON.
    Value,
    /// A message for people: a value that begins with a text.
    Message,
    /// An object literal.
    Members,
    /// An object of settings. Settings that are null count as left out.
    Settings(&'static Settings),
    /// `namespace.tool`
    Tool,
    /// `namespace.tool`, or the name of a plan in the file.
    Callee,
    /// An object with the values of arguments under their names.
    Arguments,
    /// A call of a tool, or an expression.
    Call,
    /// A call, or a request to an agent.
    Probe,
    Object(&'static Shape),
    Objects(&'static Shape),
    Choice(Choice),
    Choices(Choice),
}

/// The kind of word that a string contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::syntax::json) enum Word {
    Name,
    /// An error class such as `transient.timeout`.
    Class,
    /// A code such as `unknown-step`.
    Code,
    /// An effect class.
    Effect,
    /// `before` or `after`.
    Moment,
}

/// A set of alternative shapes, distinguished by `kind`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::syntax::json) enum Choice {
    Item,
    Statement,
    Action,
    /// The compensation of a step.
    Undo,
    TestStatement,
    Outcome,
}

impl Shape {
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|group| group.iter())
    }
}

impl Key {
    /// Returns true if its list must have an element, as it must in text.
    pub fn has_elements(&self) -> bool {
        matches!(self.slot, Slot::Choices(Choice::Outcome))
            || matches!(self.name, "namespaces" | "after")
    }

    /// Returns the description of the key; for settings, the list of their names.
    pub fn about(&self) -> Cow<'static, str> {
        match self.slot {
            Slot::Settings(settings) => {
                (settings.names().collect::<Vec<_>>().join(", ") + ".").into()
            }
            _ => self.about.into(),
        }
    }
}

impl Slot {
    /// Returns the shape of the object in this slot or of the elements of its list; for a probe, that of a request to
    /// an agent. `None` if there is no single shape.
    pub fn shape(self) -> Option<&'static Shape> {
        match self {
            Self::Object(shape) | Self::Objects(shape) => Some(shape),
            Self::Call => Some(&CALL),
            Self::Probe => Some(&ASKED),
            Self::Name
            | Self::Names(_)
            | Self::Text
            | Self::Flag
            | Self::Word(_)
            | Self::Type
            | Self::ObjectType
            | Self::Pattern
            | Self::Value
            | Self::Message
            | Self::Members
            | Self::Settings(_)
            | Self::Tool
            | Self::Callee
            | Self::Arguments
            | Self::Choice(_)
            | Self::Choices(_) => None,
        }
    }
}

impl Choice {
    /// All of them, in the order of the reference.
    pub const ALL: [Self; 6] = [
        Self::Item,
        Self::Statement,
        Self::Action,
        Self::Undo,
        Self::TestStatement,
        Self::Outcome,
    ];

    pub fn shapes(self) -> &'static [Shape] {
        match self {
            Self::Item => ITEMS,
            Self::Statement => STATEMENTS,
            Self::Action => ACTIONS,
            Self::Undo => UNDOS,
            Self::TestStatement => TEST_STATEMENTS,
            Self::Outcome => OUTCOMES,
        }
    }

    /// Returns the shape of a kind.
    pub fn shape(self, kind: &str) -> Option<&'static Shape> {
        self.shapes().iter().find(|shape| shape.kind == kind)
    }

    /// Returns its name in messages, with the article.
    pub fn called(self) -> &'static str {
        match self {
            Self::Item => "an item",
            Self::Statement => "a statement",
            Self::Action => "an action",
            Self::Undo => "an undo",
            Self::TestStatement => "a line of a test",
            Self::Outcome => "an outcome",
        }
    }
}

impl Word {
    /// Returns the valid words; empty if the set is open.
    pub fn known(self) -> &'static [&'static str] {
        match self {
            Self::Effect => &["pure", "read", "idempotent", "effect", "irreversible"],
            Self::Moment => &["before", "after"],
            Self::Name | Self::Class | Self::Code => &[],
        }
    }
}

const BODY: Slot = Slot::Choices(Choice::Statement);

static DOC: &[Key] = keys! {
    may "doc": Slot::Text, "What it is for.";
};
static WHEN: &[Key] = keys! {
    may "when": Slot::Value, "Only under this condition.";
};
