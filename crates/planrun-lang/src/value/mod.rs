//! Run-time values: what expressions compute and tools take and give.

mod construct;
mod json;
mod key;
mod number;
mod order;
mod show;
#[cfg(test)]
mod tests;
mod time;
mod typed;

use std::sync::Arc;

use indexmap::IndexMap;

pub(crate) use json::double_of;
pub use key::Key;
pub use number::{Exact, Number};
pub use order::Order;
pub use show::shortened;
pub use time::{
    MAX_DURATION, MAX_TIMESTAMP, MIN_TIMESTAMP, civil, duration_text, parse_duration, parse_offset,
    parse_timestamp, timestamp_text,
};
pub use typed::TypedError;

/// The entries of a map or object in the order in which they were written or received.
pub type Map = IndexMap<Key, Value>;

/// One value. Cloning is cheap: everything large is shared.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing; also what an absent optional value reads as.
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed 64-bit integer.
    Int(i64),
    /// An unsigned 64-bit integer.
    Uint(u64),
    /// An IEEE 754 double.
    Double(f64),
    /// A double that came as JSON text which a double cannot print back; it keeps that text while it is only passed on.
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
    /// A signed length of time in nanoseconds, within 10,000 years.
    Duration(i128),
    /// A type as a value: the result of `type(x)`, by its name.
    Type(Arc<str>),
}
