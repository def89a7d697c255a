//! Parses the line of an event in one pass over its JSON.

use std::fmt;
use std::sync::Arc;

use planrun_lang::value::{Value, parse_timestamp};
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::deep;
use super::event::{Event, EventKind};
use super::kind_fields::{Fault, kind};
use super::redaction::paths_below;
use super::wire::{ARGUMENTS, OUTPUT, PAYLOAD, REPLY, VALUE};
use super::words::{Bound, EventName, Waiting};

/// Returns the stored value with a hash.
pub type LoadBlob<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

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
    /// Parses one line; `load` returns the large values that are stored elsewhere.
    ///
    /// # Errors
    /// Returns an error if the line is not an event that this version knows, or if a stored value cannot be read.
    pub fn read(line: &[u8], load: &mut LoadBlob<'_>) -> Result<Self, EventError> {
        Self::read_with(line, Some(load))
    }

    /// Parses one line without the values that are stored elsewhere: null replaces a large value.
    ///
    /// # Errors
    /// Returns an error if the line is not an event that this version knows.
    pub fn peek(line: &[u8]) -> Result<Self, EventError> {
        Self::read_with(line, None)
    }

    fn read_with(line: &[u8], load: Option<&mut LoadBlob<'_>>) -> Result<Self, EventError> {
        let Line {
            number,
            at,
            mut kind,
            sensitive,
            value,
        } = Line::read(line)?;
        // Only a deadline, and the time to approve a whole run, belong to the run, which has no path.
        if let EventKind::TimerFired { path, timer } = &kind
            && path.is_empty()
            && !matches!(timer, Bound::Deadline | Bound::Expires)
        {
            return Err(EventError::lacks(number, kind.name(), "path"));
        }
        if let EventKind::StepAsks { question, .. } = &mut kind {
            let question = Arc::make_mut(question);
            question.asked_at = at;
            question.sensitive = paths_below(ARGUMENTS, &sensitive);
        }
        if let Some(value) = value
            .map(|(field, raw)| field.read(raw, load))
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

/// An event whose value has not been parsed yet.
struct Line<'l> {
    number: u64,
    at: i128,
    kind: EventKind,
    sensitive: Vec<Arc<str>>,
    value: Option<(ValueField<'l>, &'l RawValue)>,
}

impl<'l> Line<'l> {
    fn read(line: &'l [u8]) -> Result<Self, EventError> {
        let text = parsed(str::from_utf8(line))?;
        let mut fault = None;
        let read = deep::read(text, |json| {
            fault = None;
            LineReader { fault: &mut fault }.deserialize(json)
        });
        match (read, fault) {
            (Ok(line), _) => Ok(line),
            (Err(_), Some(fault)) => Err(fault),
            (Err(why), None) => Err(EventError::unreadable(why)),
        }
    }
}

/// Reads a line. Errors that are more than a text are put into `fault`.
struct LineReader<'f> {
    fault: &'f mut Option<EventError>,
}

impl<'de> DeserializeSeed<'de> for LineReader<'_> {
    type Value = Line<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Line<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> de::Visitor<'de> for LineReader<'_> {
    type Value = Line<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line<'de>, A::Error> {
        let mut common = CommonFields::default();
        let missing = <A::Error as de::Error>::missing_field;
        let name: EventName = loop {
            match map.next_key()?.ok_or_else(|| missing("event"))? {
                "event" => break map.next_value()?,
                field => {
                    if !common.take(field, &mut map)? {
                        let why = format!("missing field `event` before `{field}`");
                        return Err(de::Error::custom(why));
                    }
                }
            }
        };
        let kind = if name == EventName::StepWaiting {
            waiting(map, &mut common)
        } else {
            kind(name.name(), map, &mut common)
        };
        let number = common.number.ok_or_else(|| missing("number"))?;
        let kind = kind.map_err(|fault| {
            let why = de::Error::custom(&fault);
            *self.fault = Some(match fault {
                Fault::Missing(field) => EventError::lacks(number, name, field),
                Fault::Other(why) => EventError::unreadable(why),
            });
            why
        })?;
        Ok(Line {
            number,
            at: common.at.ok_or_else(|| missing("at"))?,
            kind,
            sensitive: common.sensitive,
            value: common.value,
        })
    }
}

/// Deserializes the kind of a `step.waiting`, which depends on what the step waits for.
fn waiting<'de, A: MapAccess<'de>>(
    mut map: A,
    common: &mut CommonFields<'de>,
) -> Result<EventKind, Fault> {
    let mut fields = Vec::new();
    let mut what = Waiting::Retry;
    while let Some((name, json)) = map
        .next_entry::<&str, &RawValue>()
        .map_err(de::Error::custom)?
    {
        if name == "for" {
            what = serde_json::from_str(json.get()).map_err(de::Error::custom)?;
        }
        fields.push((BorrowedStrDeserializer::new(name), json));
    }
    let name = match what {
        Waiting::Confirm | Waiting::Approval | Waiting::Input | Waiting::Answer | Waiting::Peer => {
            "step.asks"
        }
        Waiting::Time => "step.sleeps",
        Waiting::Retry | Waiting::Poll | Waiting::Outcome | Waiting::Effects => "step.waiting",
    };
    kind(name, MapDeserializer::new(fields.into_iter()), common)
}

/// The fields that all events have, as far as they have been read.
#[derive(Default)]
pub(super) struct CommonFields<'l> {
    number: Option<u64>,
    at: Option<i128>,
    sensitive: Vec<Arc<str>>,
    value: Option<(ValueField<'l>, &'l RawValue)>,
}

impl<'l> CommonFields<'l> {
    /// Reads the value of a key. Returns false if it belongs to the kind of the event, whose value is not read.
    pub(super) fn take<A: MapAccess<'l>>(
        &mut self,
        key: &'l str,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        match key {
            "number" => self.number = Some(map.next_value()?),
            "at" => {
                let json: &RawValue = map.next_value()?;
                self.at = Some(moment(json.get()).map_err(de::Error::custom)?);
            }
            "sensitive" => self.sensitive = map.next_value()?,
            _ => {
                let Some(field) = ValueField::of(key) else {
                    return Ok(false);
                };
                let json: &RawValue = map.next_value()?;
                self.value = Some((field, json)).filter(|_| json.get() != "null");
            }
        }
        Ok(true)
    }
}

/// Parses the JSON of a time. It is written without escapes.
fn moment(json: &str) -> Result<i128, String> {
    let text = json
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    text.and_then(parse_timestamp)
        .ok_or_else(|| format!("its `at` is {json}, which is not a time"))
}

fn parsed<T, E: fmt::Display>(read: Result<T, E>) -> Result<T, EventError> {
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
    pub(super) fn may_be_blob(key: &'l str) -> bool {
        Self::of(key).is_some_and(|field| field.name != REPLY)
    }

    fn read(self, raw: &RawValue, load: Option<&mut LoadBlob<'_>>) -> Result<Value, EventError> {
        let json: Json = if self.kept {
            let Some(load) = load else {
                return Ok(Value::Null);
            };
            let digest: String = parsed(serde_json::from_str(raw.get()))?;
            let content = load(&digest).map_err(EventError)?;
            deep::from_slice(&content).map_err(|error| {
                EventError(format!("the stored value is not valid JSON: {error}"))
            })?
        } else {
            parsed(deep::from_str(raw.get()))?
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
                "`dreamt` is not a state",
            ),
            (
                r#""event":"step.running","path":"a","execution":1,"effect":"dream""#,
                "unknown variant `dream`",
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
