//! Reads the arguments of a call one by one. Error messages describe what is expected.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::reply::Reply;

/// The arguments that have not been read yet.
pub struct Arguments(Map<String, Json>);

impl Arguments {
    pub fn new(arguments: Map<String, Json>) -> Self {
        Self(arguments)
    }

    /// Returns all unread arguments.
    pub fn take_all(self) -> Map<String, Json> {
        self.0
    }

    pub fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Reply> {
        self.optional(name)?
            .ok_or_else(|| Reply::Failed(format!("Nothing was called: `{name}` is missing.")))
    }

    /// Reads an optional argument. Null counts as absent.
    pub fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Reply> {
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => serde_json::from_value(value)
                .map(Some)
                .map_err(|error| Reply::Failed(format!("Nothing was called: `{name}`: {error}."))),
        }
    }

    /// Refuses arguments that have not been read.
    pub fn done(&self) -> Result<(), Reply> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(extra) => Err(Reply::Failed(format!(
                "Nothing was called: there is no argument `{extra}`."
            ))),
        }
    }
}
