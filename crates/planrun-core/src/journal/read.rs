//! Parses the line of an event. Numbers and values are taken out of the JSON here: with its feature
//! `arbitrary_precision`, `serde_json` does not pass them to an internally tagged enum.

use std::fmt;
use std::sync::Arc;

use planrun_lang::value::{Value, parse_timestamp};
use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess,
};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::event::{Event, EventKind};
use super::redaction::paths_below;
use super::wire::{ARGUMENTS, OUTPUT, PAYLOAD, REPLY, VALUE};
use super::words::{Bound, EventName, Waiting};

/// Returns the stored value with a hash.
pub type Kept<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// Why a line of a journal cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EventError(String);

impl EventError {
    pub(super) fn new(message: String) -> Self {
        Self(message)
    }

    fn unreadable(why: impl fmt::Display) -> Self {
        Self(format!("the event cannot be read: {why}"))
    }

    fn lacks(number: u64, event: EventName, field: &str) -> Self {
        Self(format!(
            "event {number} (`{}`) has no `{field}`",
            event.name()
        ))
    }
}

impl Event {
    /// Parses one line; `kept` returns the large values that are stored elsewhere.
    ///
    /// # Errors
    /// Returns an error if the line is not an event that this version knows, or if a stored value cannot be read.
    pub fn read(line: &[u8], kept: &mut Kept<'_>) -> Result<Self, EventError> {
        Self::read_with(line, Some(kept))
    }

    /// Parses one line without the values that are stored elsewhere: null replaces a large value.
    ///
    /// # Errors
    /// Returns an error if the line is not an event that this version knows.
    pub fn peek(line: &[u8]) -> Result<Self, EventError> {
        Self::read_with(line, None)
    }

    fn read_with(line: &[u8], kept: Option<&mut Kept<'_>>) -> Result<Self, EventError> {
        let Line {
            number,
            at,
            event,
            sensitive,
            value,
            fields,
        } = Line::read(line)?;
        let sends = fields.is_there("execution");
        let mut kind = match EventKind::deserialize(MapAccessDeserializer::new(fields)) {
            Ok(kind) => kind,
            Err(Fault::Missing(field)) => return Err(EventError::lacks(number, event, field)),
            Err(Fault::Other(why)) => return Err(EventError::unreadable(why)),
        };
        if sends && matches!(kind, EventKind::StepRunning { call: None, .. }) {
            let why = "the data of its call is damaged";
            return Err(EventError::unreadable(why));
        }
        // Only a deadline belongs to the run, which has no path.
        if let EventKind::TimerFired { path, timer } = &kind
            && path.is_empty()
            && *timer != Bound::Deadline
        {
            return Err(EventError::lacks(number, event, "path"));
        }
        if let EventKind::StepAsks { question, .. } = &mut kind {
            let question = Arc::make_mut(question);
            question.asked_at = at;
            question.sensitive = paths_below(ARGUMENTS, &sensitive);
        }
        if let Some(value) = value
            .map(|(field, raw)| field.read(raw, kept))
            .transpose()?
        {
            kind.set_value(value);
        }
        Ok(Self {
            number,
            at,
            kind,
            sensitive,
        })
    }
}

/// An event whose kind has not been parsed yet.
struct Line<'l> {
    number: u64,
    at: i128,
    event: EventName,
    sensitive: Vec<Arc<str>>,
    value: Option<(ValueField<'l>, &'l RawValue)>,
    fields: KindFields<'l>,
}

impl<'l> Line<'l> {
    fn read(line: &'l [u8]) -> Result<Self, EventError> {
        let Fields(all) = parsed(serde_json::from_slice(line))?;
        let (mut number, mut at, mut event, mut what) = (None, None, None, Waiting::Retry);
        let (mut sensitive, mut value) = (Vec::new(), None);
        let mut fields = Vec::with_capacity(all.len());
        for (name, raw) in all {
            let text = raw.get();
            match name {
                "number" => number = Some(parsed(serde_json::from_str(text))?),
                "at" => at = Some(moment(text)?),
                "event" => event = Some(parsed(serde_json::from_str(text))?),
                "sensitive" => sensitive = parsed(serde_json::from_str(text))?,
                _ => {
                    if let Some(field) = ValueField::of(name) {
                        value = Some((field, raw)).filter(|_| text != "null");
                        continue;
                    }
                    if name == "for" {
                        what = parsed(serde_json::from_str(text))?;
                    }
                    fields.push((name, raw));
                }
            }
        }
        let missing = |field| EventError::unreadable(format!("missing field `{field}`"));
        let event: EventName = event.ok_or_else(|| missing("event"))?;
        let kind = match (event, what) {
            (
                EventName::StepWaiting,
                Waiting::Confirm
                | Waiting::Approval
                | Waiting::Input
                | Waiting::Answer
                | Waiting::Peer,
            ) => "step.asks",
            (EventName::StepWaiting, Waiting::Time) => "step.sleeps",
            _ => event.name(),
        };
        let fields = KindFields {
            kind: Some(kind),
            rest: fields.into_iter(),
            raw: None,
        };
        Ok(Self {
            number: number.ok_or_else(|| missing("number"))?,
            at: at.ok_or_else(|| missing("at"))?,
            event,
            sensitive,
            value,
            fields,
        })
    }
}

/// Parses the JSON of a time. It is written without escapes.
fn moment(json: &str) -> Result<i128, EventError> {
    let text = json
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    text.and_then(parse_timestamp)
        .ok_or_else(|| EventError::unreadable(format!("its `at` is {json}, which is not a time")))
}

fn parsed<T>(read: serde_json::Result<T>) -> Result<T, EventError> {
    read.map_err(EventError::unreadable)
}

/// How a line encodes a value.
#[derive(Clone, Copy)]
pub(super) struct ValueField<'l> {
    name: &'l str,
    /// Whether it is typed JSON, because plain JSON would lose information.
    typed: bool,
    /// Whether it is only the hash of a value that is stored elsewhere.
    kept: bool,
}

impl<'l> ValueField<'l> {
    /// Returns the encoding that this key denotes; `None` if it is not the key of a value.
    fn of(key: &'l str) -> Option<Self> {
        let without = |key: &'l str, end| {
            key.strip_suffix(end)
                .map_or((key, false), |key| (key, true))
        };
        let (name, kept) = without(key, "_kept");
        let (name, typed) = without(name, "_typed");
        let known = matches!(name, ARGUMENTS | OUTPUT | VALUE | PAYLOAD) || key == REPLY;
        known.then_some(Self { name, typed, kept })
    }

    /// Returns true if a large value under this key is stored elsewhere.
    pub(super) fn may_be_kept(key: &'l str) -> bool {
        Self::of(key).is_some_and(|field| field.name != REPLY)
    }

    fn read(self, raw: &RawValue, kept: Option<&mut Kept<'_>>) -> Result<Value, EventError> {
        let json: Json = if self.kept {
            let Some(kept) = kept else {
                return Ok(Value::Null);
            };
            let digest: String = parsed(serde_json::from_str(raw.get()))?;
            let content = kept(&digest).map_err(EventError)?;
            serde_json::from_slice(&content).map_err(|error| {
                EventError(format!("the stored value is not valid JSON: {error}"))
            })?
        } else {
            parsed(serde_json::from_str(raw.get()))?
        };
        // Typed JSON is an object; a string is the mark of a redacted value.
        if !self.typed || json.is_string() {
            return Ok(Value::from_json(&json));
        }
        Value::from_typed_json(&json)
            .map_err(|error| EventError(format!("not a typed value: {error}")))
    }
}

/// The fields of a line with their JSON texts.
pub(super) struct Fields<'l>(pub(super) Vec<(&'l str, &'l RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> de::Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(16);
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// The fields of an event as the deserializer of its kind expects them: the kind itself, then its own fields.
struct KindFields<'l> {
    kind: Option<&'static str>,
    rest: std::vec::IntoIter<(&'l str, &'l RawValue)>,
    /// The field whose name was returned last; `None` for the kind.
    raw: Option<(&'l str, &'l RawValue)>,
}

impl KindFields<'_> {
    fn is_there(&self, name: &str) -> bool {
        self.rest.as_slice().iter().any(|(known, _)| *known == name)
    }
}

impl<'de> MapAccess<'de> for KindFields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let name = if self.kind.is_some() {
            "event"
        } else {
            self.raw = self.rest.next();
            let Some((name, _)) = self.raw else {
                return Ok(None);
            };
            name
        };
        seed.deserialize(BorrowedStrDeserializer::new(name))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        if let Some(kind) = self.kind.take() {
            return seed.deserialize(BorrowedStrDeserializer::new(kind));
        }
        let (name, text) = self
            .raw
            .map_or(("", "null"), |(name, raw)| (name, raw.get()));
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        // The content of a handle is opaque, so its numbers are not converted.
        if is_number && name != "handle" {
            if let Ok(whole) = text.parse::<u64>() {
                return seed.deserialize(whole.into_deserializer());
            }
            let number = text
                .parse::<f64>()
                .map_err(|error| Fault::Other(error.to_string()))?;
            return seed.deserialize(number.into_deserializer());
        }
        let mut json = serde_json::Deserializer::from_str(text);
        seed.deserialize(&mut json).map_err(de::Error::custom)
    }
}

/// Why the fields do not match the kind.
#[derive(Debug)]
enum Fault {
    Missing(&'static str),
    Other(String),
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
        Self::Other(why.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Event, EventError> {
        Event::read(line.as_bytes(), &mut |digest| {
            Err(format!("no value is stored under {digest}"))
        })
    }

    #[test]
    fn an_event_without_a_field_that_its_kind_must_have_is_refused() {
        for name in EventName::ALL {
            let event = name.name();
            let line = format!(r#"{{"number":7,"at":"2026-01-01T00:00:00Z","event":"{event}"}}"#);
            let read = read(&line);
            let of_the_run = matches!(
                name,
                EventName::RunResumed
                    | EventName::RunCancelling
                    | EventName::RunPaused
                    | EventName::RunPatched
            );
            assert_eq!(read.is_ok(), of_the_run, "{event}");
            if let Err(error) = read {
                let place = format!("event 7 (`{event}`) has no `");
                assert!(error.to_string().starts_with(&place), "{error}");
            }
        }
    }

    #[test]
    fn an_event_whose_time_is_damaged_is_refused() {
        for at in [
            "\"yesterday\"",
            "\"2026-13-01T00:00:00Z\"",
            "\"\"",
            "5",
            "null",
        ] {
            let error = read(&format!(
                r#"{{"number":7,"at":{at},"event":"run.resumed"}}"#
            ));
            let error = error.unwrap_err().to_string();
            assert!(error.contains("`at`") && error.contains(at), "{error}");
        }
    }

    #[test]
    fn what_this_version_does_not_know_is_refused() {
        let line = |rest: &str| format!(r#"{{"number":7,"at":"2026-01-01T00:00:00Z",{rest}}}"#);
        for (rest, why) in [
            (
                r#""event":"step.dreamt","path":"a""#,
                "unknown variant `step.dreamt`",
            ),
            (
                r#""event":"step.settled","path":"a","status":"dreamt""#,
                "has no `status`",
            ),
            (
                r#""event":"step.running","path":"a","execution":1,"effect":"dream""#,
                "damaged",
            ),
            (
                r#""event":"step.waiting","path":"a","for":"dream""#,
                "unknown variant `dream`",
            ),
            (
                r#""event":"step.waiting","path":"a","for":"time""#,
                "has no `until`",
            ),
            (r#""path":"a""#, "missing field `event`"),
        ] {
            let error = read(&line(rest)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
