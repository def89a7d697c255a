//! Serializes the kind of an event, and its fields, into the JSON object of the event.
//!
//! `#[serde(tag = "event")]` yields the same text, but searches each key for characters to escape, and events have more
//! keys than values that need it.

use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeStructVariant, Serializer};
use serde_json::{Error, Result};

/// Appends `,"event":NAME` and the fields of the kind to an object that has a field already.
pub(super) struct KindWriter<'t> {
    text: &'t mut Vec<u8>,
}

impl<'t> KindWriter<'t> {
    pub(super) fn new(text: &'t mut Vec<u8>) -> Self {
        Self { text }
    }

    fn write_name(&mut self, variant: &str) {
        self.write_key("event");
        self.text.push(b'"');
        self.text.extend_from_slice(variant.as_bytes());
        self.text.push(b'"');
    }

    /// Appends a key. It is the name of a field, so it has nothing to escape.
    fn write_key(&mut self, key: &str) {
        self.text.extend_from_slice(b",\"");
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn write_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut serde_json::Serializer::new(&mut *self.text))
    }
}

impl SerializeStructVariant for KindWriter<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<()> {
        self.write_key(key);
        self.write_value(value)
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

/// Variants with flattened fields are serialized as maps.
impl SerializeMap for KindWriter<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<()> {
        key.serialize(KindWriter::new(self.text))
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.write_value(value)
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

/// Defines the methods of a serializer for everything that no kind of event is serialized as.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)+) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$ok> {
            let why = concat!("a kind of event is not serialized with `", stringify!($method), "`");
            Err(Error::custom(why))
        })+
    };
}

impl Serializer for KindWriter<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Self;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Self;

    fn serialize_unit_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<()> {
        self.write_name(variant);
        Ok(())
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        fields: &T,
    ) -> Result<()> {
        self.write_name(variant);
        fields.serialize(self)
    }

    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self> {
        self.write_name(variant);
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self> {
        Ok(self)
    }

    /// A string is the key of a map.
    fn serialize_str(mut self, key: &str) -> Result<()> {
        self.write_key(key);
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
    }
}
