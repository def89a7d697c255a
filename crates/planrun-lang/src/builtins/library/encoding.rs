//! Functions of the namespace `base64`.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::super::Failure;
use super::super::function::{Example, Form, Function, Overload, Shape};
use crate::value::Value;

/// Writes padding, and accepts text with or without it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) static FUNCTIONS: &[Function] = &[
    function!(base64 "encode", [(Bytes) -> String], "Bytes as a base64 string.",
        ["base64.encode(b'hello')" => "\"aGVsbG8=\""], encode),
    function!(base64 "decode", [(String) -> Bytes],
        "The bytes of a base64 string, with or without padding.",
        ["string(base64.decode('aGVsbG8'))" => "\"hello\""], decode),
];

fn encode(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::Bytes(bytes)] => Ok(Value::from(LENIENT.encode(bytes))),
        _ => Err(Failure::no_overload("base64.encode", arguments)),
    }
}

fn decode(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [argument @ Value::String(text)] => match LENIENT.decode(text.as_bytes()) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(_) => Err(Failure::argument(format!(
                "{} is not base64",
                argument.preview(60)
            ))),
        },
        _ => Err(Failure::no_overload("base64.decode", arguments)),
    }
}
