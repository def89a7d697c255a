//! Every function of the language, a file a subject.

mod collections;
mod conversions;
mod encoding;
mod format;
mod lists;
mod math;
mod moments;
mod strings;
mod text;

use super::Function;

/// Every function, subject by subject.
pub(super) static ALL: &[&[Function]] = &[
    conversions::FUNCTIONS,
    collections::FUNCTIONS,
    text::FUNCTIONS,
    strings::FUNCTIONS,
    format::FUNCTIONS,
    moments::FUNCTIONS,
    math::FUNCTIONS,
    lists::FUNCTIONS,
    encoding::FUNCTIONS,
];
