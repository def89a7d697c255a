//! Run-time values: the results of expressions, and the arguments and results of tools.

mod construct;
mod counted;
mod json;
mod key;
mod number;
mod order;
mod path;
mod show;
#[cfg(test)]
mod tests;
mod time;
mod typed;

use std::sync::Arc;

use indexmap::IndexMap;

pub use counted::counted;
pub(crate) use json::double_of;
pub use key::Key;
pub use number::{Exact, Number};
pub use order::Order;
pub use path::{path_below, path_in, split_path};
pub use show::{shortened, sorted_json};
pub use time::{
    MAX_DURATION, MAX_TIMESTAMP, MIN_TIMESTAMP, civil, duration_text, parse_duration, parse_offset,
    parse_timestamp, saturating_duration, timestamp_text,
};
pub use typed::TypedError;

/// The entries of a map or object, in the order in which they were written or received.
pub type Map = IndexMap<Key, Value>;

/// A value. Cloning is cheap: large contents are shared.
#[derive(Clone, Debug)]
pub enum Value {
    /// Null; an absent optional value also reads as null.
    Null,
    /// A Boolean.
    Bool(bool),
    /// A signed 64-bit integer.
    Int(i64),
    /// An unsigned 64-bit integer.
    Uint(u64),
    /// An IEEE 754 double.
    Double(f64),
    /// A double received as JSON text that differs from the text of the double. It keeps the received text as long as
    /// it is only passed on.
    Exact(Arc<Exact>),
    /// Unicode text.
    String(Arc<str>),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// An ordered list.
    List(Arc<Vec<Value>>),
    /// A map or an object.
    Map(Arc<Map>),
    /// An instant: nanoseconds since 1970-01-01T00:00:00Z, within the years 1 to 9999.
    Timestamp(i128),
    /// A signed duration in nanoseconds, within 10,000 years.
    Duration(i128),
    /// A type as a value, by its name: the result of `type(x)`.
    Type(Arc<str>),
}
