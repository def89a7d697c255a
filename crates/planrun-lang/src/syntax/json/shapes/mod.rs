//! The one table of the JSON form: reading, suggestions and the JSON Schema are made from it.

/// Keys of an object: whether each must or may be there, its name, what it holds, and what it is for.
macro_rules! keys {
    (@ $group:ident) => { $group };
    (@ { $($rows:tt)* }) => { keys! { $($rows)* } };
    (must) => { true };
    (may) => { false };
    ($($need:ident $name:literal: $slot:expr, $about:literal;)*) => {
        &[$(crate::syntax::json::shapes::Key { name: $name, slot: $slot, required: keys!($need), about: $about }),*]
    };
}

/// A shape: the name of its kind, what it is called in messages, what it is, and its keys in groups.
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

/// Shapes of which one stands in a place, told apart by `kind`.
macro_rules! shapes {
    ($($kind:literal, $called:literal, $about:expr => [$($group:tt)+];)+) => {
        &[$(shape!(true, $kind, $called, $about, $($group)+)),+]
    };
}

/// Shapes that each stand alone in their places.
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

/// An object of the form.
pub(in crate::syntax::json) struct Shape {
    /// The value of its `kind`, where several shapes may stand in one place; else its name in the schema.
    pub kind: &'static str,
    /// What it is called in messages: with its article.
    pub called: &'static str,
    pub about: &'static str,
    /// Its keys besides `kind`, in groups that shapes share.
    pub keys: &'static [&'static [Key]],
    /// Whether it is one of several, told apart by `kind`.
    pub one_of: bool,
}

/// A key of an object.
pub(in crate::syntax::json) struct Key {
    pub name: &'static str,
    pub slot: Slot,
    pub required: bool,
    /// What it is for; empty where [`Key::about`] makes it from what the key holds.
    about: &'static str,
}

/// A key of an object of this shape.
#[derive(Clone, Copy)]
pub(in crate::syntax::json) struct Under {
    pub shape: &'static Shape,
    pub key: &'static Key,
}

impl Under {
    /// What it is called in messages.
    pub fn called(self) -> String {
        format!("`{}`", self.key.name)
    }
}

/// What a key holds.
#[derive(Clone, Copy)]
pub(in crate::syntax::json) enum Slot {
    /// A name of the author's, without back quotes.
    Name,
    Names(Word),
    /// Text as it is.
    Text,
    Flag,
    Word(Word),
    /// A type in the syntax of the language.
    Type,
    /// A type that is an object, written out.
    ObjectType,
    Pattern,
    Value,
    /// A value that begins with a text, for people.
    Message,
    /// A value that is an object, written out.
    Members,
    /// An object of settings; those that are null count as left out.
    Settings(&'static Settings),
    /// `namespace.tool`
    Tool,
    /// `namespace.tool`, or the name of a plan of the file.
    Callee,
    /// An object of values under the names of arguments.
    Arguments,
    /// A call of a tool, or an expression.
    Call,
    /// A call, or what an agent is asked.
    Look,
    Object(&'static Shape),
    Objects(&'static Shape),
    Choice(Choice),
    Choices(Choice),
}

/// What kind of word a string is.
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

/// A place where one of several shapes may stand; `kind` tells which.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::syntax::json) enum Choice {
    Item,
    Statement,
    Action,
    /// What takes a step back.
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
    /// What it is for; of settings, which there are.
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
    /// The shape of the object that stands there, or of each that does.
    pub fn shape(self) -> Option<&'static Shape> {
        match self {
            Self::Object(shape) | Self::Objects(shape) => Some(shape),
            Self::Call => Some(&CALL),
            Self::Look => Some(&ASKED),
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
    /// Every one, in the order of the reference.
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

    /// The shape of a kind.
    pub fn shape(self, kind: &str) -> Option<&'static Shape> {
        self.shapes().iter().find(|shape| shape.kind == kind)
    }

    /// With its article.
    pub fn called(self) -> &'static str {
        match self {
            Self::Item => "an item",
            Self::Statement => "a statement",
            Self::Action => "an action",
            Self::Undo => "what takes a step back",
            Self::TestStatement => "a line of a test",
            Self::Outcome => "an outcome",
        }
    }
}

impl Word {
    /// The words that may stand there, where they are known.
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
