//! Reads and writes the value of one key, in the format that the key's slot defines.

use std::sync::Arc;

use jsonc_parser::ast::Value;
use serde_json::Value as Json;

use super::document::span;
use super::elements::Element;
use super::print::{Encoder, Head, Object, dotted};
use super::reader::{Fields, Reader, key_of, missing, nameless, opening};
use super::relocate::Relocate;
use super::shapes::{ASKED, Choice, Slot, Under, Word};
use super::strings::Extract;
use super::trees::{Keyed, Kinds, write_action};
use super::type_names::type_text;
use super::values::{begins_with_text, read_expression, read_part};
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, ArmBody, Block, ErrorPattern, Expr, ExprKind, MockOutcome, MockOutcomeKind,
    MockTarget, Name, Pattern, PatternKind, Probe, Text, TypeExpr, TypeExprKind, Undo,
};
use crate::syntax::part::Part;
use crate::syntax::{MAX_BLOCKS, canonical_pattern};

/// A part of the syntax tree that is the value of one key.
pub(super) trait KeyValue: Sized {
    /// Reads the value. Returns `None` if it is invalid, after reporting it, or counts as left out.
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self>;

    /// Returns the default for an object at this span whose key is left out or invalid.
    fn default_at(object: Span) -> Self;

    /// Returns the value to write; `None` leaves out the key.
    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json>;
}

impl<T: KeyValue> KeyValue for Option<T> {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        T::read(reader, value, under).map(Some)
    }

    fn default_at(_: Span) -> Self {
        None
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        self.as_ref().and_then(|value| value.write(encoder, under))
    }
}

impl<T: KeyValue> KeyValue for Box<T> {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        T::read(reader, value, under).map(Self::new)
    }

    fn default_at(object: Span) -> Self {
        Self::new(T::default_at(object))
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        (**self).write(encoder, under)
    }
}

impl KeyValue for Expr {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let settings = matches!(under.key.slot, Slot::Settings(_));
        // Here the language requires an object literal.
        let object = matches!(under.key.slot, Slot::Members) || (settings && under.key.required);
        if matches!(under.key.slot, Slot::Call) {
            return Some(reader.call(value));
        }
        let read = read_expression(reader, value, settings, 0);
        if object && !matches!(read.kind, ExprKind::Object(_) | ExprKind::Error) {
            reader.mistyped(value, &under.called(), "an object literal");
            return Some(missing(read.span));
        }
        if matches!(under.key.slot, Slot::Message) && !begins_with_text(&read) {
            let message = format!("{} must begin with text", under.called());
            let finding = codes::JSON_SHAPE.at(read.span, message);
            reader.report(finding.help("write {\"text\": \"…\"}, with `${…}` around values"));
            return Some(missing(read.span));
        }
        Some(read)
    }

    fn default_at(object: Span) -> Self {
        missing(object)
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        Some(match under.key.slot {
            Slot::Call => encoder.call(self),
            Slot::Settings(_) => encoder.settings(self),
            _ => encoder.value(self),
        })
    }
}

impl KeyValue for Name {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let word = match under.key.slot {
            Slot::Word(word) => word,
            _ => Word::Name,
        };
        reader.word(value, &under.called(), word)
    }

    fn default_at(object: Span) -> Self {
        nameless(object)
    }

    fn write(&self, _: &mut Encoder, _: Under) -> Option<Json> {
        Some(Json::from(&*self.text))
    }
}

impl KeyValue for Vec<Name> {
    /// Returns `None` for an empty list too, which counts as left out.
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let Slot::Names(word) = under.key.slot else {
            return None;
        };
        let what = format!("each of {}", under.called());
        let elements = reader.elements(value, under).iter();
        let names: Self = elements
            .filter_map(|element| reader.word(element, &what, word))
            .collect();
        (!names.is_empty()).then_some(names)
    }

    fn default_at(_: Span) -> Self {
        Self::new()
    }

    fn write(&self, _: &mut Encoder, under: Under) -> Option<Json> {
        let names = self.iter().map(|name| Json::from(&*name.text));
        (under.key.required || !self.is_empty()).then(|| names.collect())
    }
}

impl KeyValue for ErrorPattern {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        Vec::read(reader, value, under).map(Self::Classes)
    }

    fn default_at(_: Span) -> Self {
        Self::Any
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        match self {
            Self::Any => None,
            Self::Classes(classes) => classes.write(encoder, under),
        }
    }
}

/// Documentation.
impl KeyValue for Arc<str> {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        reader.string(value, &under.called()).map(|(text, _)| text)
    }

    fn default_at(_: Span) -> Self {
        Self::from("")
    }

    fn write(&self, encoder: &mut Encoder, _: Under) -> Option<Json> {
        encoder.documents.then(|| Json::from(&**self))
    }
}

impl KeyValue for Text {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let (text, span) = reader.string(value, &under.called())?;
        Some(Self { text, span })
    }

    fn default_at(object: Span) -> Self {
        let Name { text, span } = nameless(object);
        Self { text, span }
    }

    fn write(&self, _: &mut Encoder, _: Under) -> Option<Json> {
        Some(Json::from(&*self.text))
    }
}

/// A flag, left out if false; or one of two moments, of which `true` is the later.
impl KeyValue for bool {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        match (value, under.key.slot) {
            (_, Slot::Word(word)) => {
                let moment = reader.word(value, &under.called(), word)?;
                Some(word.known().last() == Some(&&*moment.text))
            }
            (Value::BooleanLit(flag), _) => Some(flag.value),
            _ => {
                reader.mistyped(value, &under.called(), "true or false");
                None
            }
        }
    }

    fn default_at(_: Span) -> Self {
        false
    }

    fn write(&self, _: &mut Encoder, under: Under) -> Option<Json> {
        match under.key.slot {
            Slot::Word(word) => word
                .known()
                .get(usize::from(*self))
                .copied()
                .map(Json::from),
            _ => self.then_some(Json::Bool(true)),
        }
    }
}

/// Reads a tree from a string that contains it in the syntax of the language.
fn read_syntax<T: Part + Relocate>(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    under: Under,
    expected: &str,
) -> Option<T> {
    let Value::StringLit(string) = value else {
        reader.mistyped(value, &under.called(), expected);
        return None;
    };
    let extract = Extract::of(reader.text, span(string));
    Some(read_part(reader, &extract))
}

impl KeyValue for TypeExpr {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let ty: Self = read_syntax(reader, value, under, "a string that contains a type")?;
        let object = matches!(ty.kind, TypeExprKind::Object(_) | TypeExprKind::Error);
        if object || !matches!(under.key.slot, Slot::ObjectType) {
            return Some(ty);
        }
        let message = format!("{} must be an inline object type", under.called());
        let finding = codes::JSON_SHAPE.at(ty.span, message);
        reader.report(finding.help("write its fields, such as { emp_id: string }"));
        Some(Self::missing(ty.span))
    }

    fn default_at(object: Span) -> Self {
        Self::missing(opening(object))
    }

    fn write(&self, encoder: &mut Encoder, _: Under) -> Option<Json> {
        Some(type_text(self, &encoder.types).into())
    }
}

impl KeyValue for Pattern {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        read_syntax(reader, value, under, "a string that contains a pattern")
    }

    fn default_at(object: Span) -> Self {
        Self {
            span: opening(object),
            kind: PatternKind::Error,
        }
    }

    fn write(&self, _: &mut Encoder, _: Under) -> Option<Json> {
        Some(canonical_pattern(self).into())
    }
}

impl KeyValue for Vec<Argument> {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        reader.arguments(value, under.key.name)
    }

    fn default_at(_: Span) -> Self {
        Self::new()
    }

    fn write(&self, encoder: &mut Encoder, _: Under) -> Option<Json> {
        encoder.arguments(self)
    }
}

impl KeyValue for MockTarget {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let (namespace, tool) = reader
            .tool_name(value, under.key.name)
            .unwrap_or_else(|| (nameless(span(value)), nameless(span(value))));
        Some(Self::Tool { namespace, tool })
    }

    fn default_at(_: Span) -> Self {
        Self::Every
    }

    fn write(&self, _: &mut Encoder, _: Under) -> Option<Json> {
        match self {
            Self::Every => None,
            Self::Tool { namespace, tool } => Some(dotted(&namespace.text, &tool.text).into()),
        }
    }
}

impl KeyValue for Block {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let whole = span(value);
        if reader.blocks >= MAX_BLOCKS {
            let message = format!("bodies can be nested at most {MAX_BLOCKS} deep");
            let finding = codes::TOO_DEEP.at(opening(whole), message);
            reader.report(finding.help("split the plan into several that call each other"));
            return Some(Self {
                span: whole,
                statements: Vec::new(),
            });
        }
        let around = reader.place;
        reader.place = around.of_body(under.shape.kind);
        reader.blocks += 1;
        let statements = Vec::read(reader, value, under).unwrap_or_default();
        reader.blocks -= 1;
        reader.place = around;
        Some(Self {
            span: whole,
            statements,
        })
    }

    fn default_at(object: Span) -> Self {
        Self {
            span: opening(object),
            statements: Vec::new(),
        }
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        let statements = self.statements.iter();
        let written = statements.map(|statement| statement.write_in(encoder, under));
        Some(written.collect())
    }
}

impl<T: Element> KeyValue for Vec<T> {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        let elements = reader.elements(value, under).iter();
        Some(
            elements
                .filter_map(|element| T::read_in(reader, element, under))
                .collect(),
        )
    }

    fn default_at(_: Span) -> Self {
        Self::new()
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        let elements = self.iter();
        (under.key.required || !self.is_empty()).then(|| {
            elements
                .map(|element| element.write_in(encoder, under))
                .collect()
        })
    }
}

impl KeyValue for MockOutcome {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, under: Under) -> Option<Self> {
        Self::read_in(reader, value, under)
    }

    fn default_at(object: Span) -> Self {
        Self {
            span: object,
            kind: MockOutcomeKind::Generated,
            times: None,
            delay: None,
        }
    }

    fn write(&self, encoder: &mut Encoder, under: Under) -> Option<Json> {
        Some(self.write_in(encoder, under))
    }
}

impl KeyValue for ArmBody {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        let fields = reader.choice(value, Choice::Action);
        Some(match fields {
            Some(fields) => Kinds::read_kind(reader, &fields),
            None => Self::default_at(span(value)),
        })
    }

    fn default_at(object: Span) -> Self {
        Self::Expr(missing(object))
    }

    fn write(&self, encoder: &mut Encoder, _: Under) -> Option<Json> {
        write_action(encoder, self).map(Object::done)
    }
}

/// An object with the key `agent` is a request to an agent; anything else is a call.
impl KeyValue for Probe {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        if !asks(value) {
            return Some(Self::Call(reader.call(value)));
        }
        let fields = reader.fields(value, &ASKED)?;
        Some(Self::Ask(Keyed::read_keys(reader, &fields)))
    }

    fn default_at(object: Span) -> Self {
        Self::Call(missing(object))
    }

    fn write(&self, encoder: &mut Encoder, _: Under) -> Option<Json> {
        match self {
            Self::Call(call) => Some(encoder.call(call)),
            Self::Ask(ask) => {
                let mut object = Object::of(&ASKED, encoder, Head::default());
                ask.write_keys(encoder, &mut object);
                Some(object.done())
            }
        }
    }
}

fn asks(value: &Value<'_>) -> bool {
    let Value::Object(object) = value else {
        return false;
    };
    let mut properties = object.properties.iter();
    properties.any(|property| key_of(&property.name) == "agent")
}

impl KeyValue for Undo {
    fn read(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        let fields = reader.choice(value, Choice::Undo);
        Some(match fields {
            Some(fields) => Kinds::read_kind(reader, &fields),
            None => Self::default_at(span(value)),
        })
    }

    fn default_at(object: Span) -> Self {
        Self::Call(missing(object))
    }

    fn write(&self, encoder: &mut Encoder, _: Under) -> Option<Json> {
        Kinds::write_kind(self, encoder, Head::default()).map(Object::done)
    }
}

impl Fields<'_> {
    /// Reads the value of a key of the object.
    pub fn read<T: KeyValue>(&self, reader: &mut Reader<'_>, name: &str) -> T {
        let key = self.shape.all_keys().find(|key| key.name == name);
        let shape = self.shape;
        let read = key
            .zip(self.get(name))
            .and_then(|(key, value)| T::read(reader, value, Under { shape, key }));
        read.unwrap_or_else(|| T::default_at(self.span))
    }
}

impl Object {
    /// Writes the value of a key of the object, unless it is left out.
    pub fn write<T: KeyValue>(&mut self, encoder: &mut Encoder, name: &str, value: &T) {
        let shape = self.shape;
        let key = shape.all_keys().find(|key| key.name == name);
        if let Some(json) = key.and_then(|key| value.write(encoder, Under { shape, key })) {
            self.put(name, json);
        }
    }

    /// Like [`Object::write`], for a list that is left out if empty.
    pub fn write_list<T: Element>(&mut self, encoder: &mut Encoder, name: &str, list: &[T]) {
        let shape = self.shape;
        let key = shape.all_keys().find(|key| key.name == name);
        if let Some(key) = key.filter(|_| !list.is_empty()) {
            let written = list
                .iter()
                .map(|element| element.write_in(encoder, Under { shape, key }));
            self.put(name, written.collect::<Vec<_>>());
        }
    }
}
