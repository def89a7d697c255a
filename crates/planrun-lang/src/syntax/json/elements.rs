//! Reads and writes the objects that are elements of lists: items, statements, lines of tests, arms, parameters.

use jsonc_parser::ast::Value;
use serde_json::Value as Json;

use super::document::span;
use super::key_value::KeyValue;
use super::print::{Encoder, Head, Object};
use super::reader::Reader;
use super::shapes::{Choice, Under};
use super::trees::{Keyed, Kinds, check_item, write_step};
use crate::syntax::ast::{
    Arm, ArmBody, Block, Clause, Expr, InputField, Item, ItemKind, MockOutcome, MockOutcomeKind,
    Name, Parameter, Statement, StatementKind, TestStatement, TestStatementKind, UseNamespace,
};

/// An object of the JSON form that is an element of a list.
pub(super) trait Element: Sized {
    /// Returns `None`, after reporting it, if the value is not such an object.
    fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, list: Under) -> Option<Self>;
    fn write_in(&self, encoder: &mut Encoder, list: Under) -> Json;
}

/// Implements [`Element`] for objects of one shape, which the list's key determines.
macro_rules! elements {
    ($($tree:ty),*) => {
        $(impl Element for $tree {
            fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, list: Under) -> Option<Self> {
                let fields = reader.fields(value, list.key.slot.shape()?)?;
                Some(Keyed::read_keys(reader, &fields))
            }

            fn write_in(&self, encoder: &mut Encoder, list: Under) -> Json {
                let Some(shape) = list.key.slot.shape() else {
                    return Json::Null;
                };
                let mut object = Object::of(shape, encoder, Head::default());
                Keyed::write_keys(self, encoder, &mut object);
                object.done()
            }
        })*
    };
}

elements! { UseNamespace, Parameter, Arm, InputField, (Name, ArmBody), (Expr, Block) }

/// The arms of a `recover`.
impl Element for Clause {
    fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, list: Under) -> Option<Self> {
        let fields = reader.fields(value, list.key.slot.shape()?)?;
        Some(Self {
            span: fields.span,
            kind: Kinds::read_kind(reader, &fields),
        })
    }

    fn write_in(&self, encoder: &mut Encoder, _: Under) -> Json {
        let object = self.kind.write_kind(encoder, Head::default());
        encoder.done(object, self.span)
    }
}

impl Element for Item {
    fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        let fields = reader.choice(value, Choice::Item);
        let (doc, kind) = fields.map_or((None, ItemKind::Error), |fields| {
            let (doc, kind) = (
                fields.read(reader, "doc"),
                Kinds::read_kind(reader, &fields),
            );
            check_item(reader, &kind, &fields);
            (doc, kind)
        });
        Some(Self {
            span: span(value),
            doc,
            kind,
        })
    }

    fn write_in(&self, encoder: &mut Encoder, _: Under) -> Json {
        let doc = self.doc.as_ref();
        let object = self.kind.write_kind(encoder, Head { doc, name: None });
        encoder.done(object, self.span)
    }
}

impl Element for Statement {
    fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        let fields = reader.choice(value, Choice::Statement);
        let (doc, kind) = fields.map_or((None, StatementKind::Error), |fields| {
            let misplaced = reader.place.refuses(fields.shape.kind, fields.kind);
            reader.diagnostics.extend(misplaced);
            (
                fields.read(reader, "doc"),
                Kinds::read_kind(reader, &fields),
            )
        });
        Some(Self {
            span: span(value),
            doc,
            kind,
        })
    }

    fn write_in(&self, encoder: &mut Encoder, _: Under) -> Json {
        let doc = self.doc.as_ref();
        let object = match &self.kind {
            StatementKind::Step(step) => write_step(encoder, step, doc),
            kind => kind.write_kind(encoder, Head { doc, name: None }),
        };
        encoder.done(object, self.span)
    }
}

impl Element for TestStatement {
    fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        let fields = reader.choice(value, Choice::TestStatement);
        Some(Self {
            span: span(value),
            kind: fields.map_or(TestStatementKind::Error, |fields| {
                let kind = Kinds::read_kind(reader, &fields);
                match kind {
                    TestStatementKind::Answer { .. } if fields.get("outcome").is_none() => {
                        TestStatementKind::Error
                    }
                    kind => kind,
                }
            }),
        })
    }

    fn write_in(&self, encoder: &mut Encoder, _: Under) -> Json {
        let object = self.kind.write_kind(encoder, Head::default());
        encoder.done(object, self.span)
    }
}

impl Element for MockOutcome {
    fn read_in(reader: &mut Reader<'_>, value: &Value<'_>, _: Under) -> Option<Self> {
        let fields = reader.choice(value, Choice::Outcome);
        Some(fields.map_or_else(
            || Self::default_at(span(value)),
            |fields| Self {
                span: fields.span,
                kind: Kinds::read_kind(reader, &fields),
                times: fields.read(reader, "times"),
                delay: fields.read(reader, "delay"),
            },
        ))
    }

    fn write_in(&self, encoder: &mut Encoder, _: Under) -> Json {
        let kind = match &self.kind {
            MockOutcomeKind::Generated => Choice::Outcome
                .shape("generated")
                .map(|shape| Object::of(shape, encoder, Head::default())),
            kind => kind.write_kind(encoder, Head::default()),
        };
        let object = kind.map(|mut object| {
            object.write(encoder, "times", &self.times);
            object.write(encoder, "delay", &self.delay);
            object
        });
        encoder.done(object, self.span)
    }
}
