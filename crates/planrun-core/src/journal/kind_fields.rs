//! Deserializes the kind of an event, and its fields, from the JSON object of the event.
//!
//! `#[serde(tag = "event")]` reads the same text, but puts all fields into a buffer first, which costs time and, with
//! arbitrary precision, no longer reads numbers as integers.

use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, EnumAccessDeserializer, MapAccessDeserializer};
use serde::de::{
    self, Deserialize as _, DeserializeSeed, EnumAccess, IgnoredAny, MapAccess, VariantAccess,
    Visitor,
};

use super::event::EventKind;
use super::read::CommonFields;

/// Deserializes the kind with this name from the remaining fields of the object. Fields that all kinds share are put
/// into `common`.
pub(super) fn kind<'de, A: MapAccess<'de>>(
    name: &'static str,
    fields: A,
    common: &mut CommonFields<'de>,
) -> Result<EventKind, Fault> {
    let fields = KindFields { fields, common };
    EventKind::deserialize(EnumAccessDeserializer::new(Variant { name, fields }))
}

/// A variant as `serde` expects it: its name, then its fields.
struct Variant<M> {
    name: &'static str,
    fields: M,
}

impl<'de, M: MapAccess<'de>> EnumAccess<'de> for Variant<M> {
    type Error = M::Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), Self::Error> {
        let kind = seed.deserialize(BorrowedStrDeserializer::new(self.name))?;
        Ok((kind, self))
    }
}

impl<'de, M: MapAccess<'de>> VariantAccess<'de> for Variant<M> {
    type Error = M::Error;

    fn unit_variant(mut self) -> Result<(), Self::Error> {
        while self
            .fields
            .next_entry::<IgnoredAny, IgnoredAny>()?
            .is_some()
        {}
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, Self::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.fields))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("no kind of event is a tuple"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_map(self.fields)
    }
}

/// The fields of a kind, without those that all kinds share.
struct KindFields<'c, 'de, A> {
    fields: A,
    common: &'c mut CommonFields<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KindFields<'_, 'de, A> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        while let Some(name) = self.fields.next_key().map_err(Fault::new)? {
            let is_common = self.common.take(name, &mut self.fields);
            if !is_common.map_err(Fault::new)? {
                let name = BorrowedStrDeserializer::new(name);
                return seed.deserialize(name).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        self.fields.next_value_seed(seed).map_err(Fault::new)
    }
}

/// Why the fields do not match the kind.
#[derive(Debug)]
pub(super) enum Fault {
    Missing(&'static str),
    Other(String),
}

impl Fault {
    fn new(why: impl fmt::Display) -> Self {
        Self::Other(why.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(field) => write!(formatter, "missing field `{field}`"),
            Self::Other(why) => formatter.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::new(why)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}
