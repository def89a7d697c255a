//! The failure of a step as recorded in events: its class, whether the request was sent, and its cause.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planrun_lang::call::Details;
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::Redactor;
use planrun_lang::types::{ErrorClass, FailureKind, Validation};
use planrun_lang::value::{Key, Value, duration_text, parse_duration, saturating_duration};
use serde::Deserialize;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// Why a step has no value.
#[derive(Clone, Debug, PartialEq)]
pub struct StepError {
    pub class: ErrorClass,
    /// One sentence for people.
    pub message: Arc<str>,
    /// Path of the step that failed.
    pub step: Arc<str>,
    /// Number of the last attempt, from 1; 0 if none was made.
    pub attempt: u32,
    /// How long the peer asked to wait before a retry.
    pub retry_after: Option<Duration>,
    /// Whether the request of the last attempt was sent.
    pub sent: Sent,
    /// Source location of the cause, such as `plans/a.plan:12:5`, if it is an expression.
    pub place: Option<Arc<str>>,
    /// Kind of the failure of an expression or an argument, if it has one.
    pub kind: Option<FailureKind>,
    /// Details that the peer reported in addition to the message.
    pub details: Option<Details>,
    pub cause: Option<Arc<StepError>>,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.step {
            "" => write!(f, "{}: {}", self.class, self.message),
            step => write!(f, "{step}: {}: {}", self.class, self.message),
        }
    }
}

impl Error for StepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.cause.as_deref()?;
        Some(cause)
    }
}

impl StepError {
    /// Creates a failure that occurred before anything was sent.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<Arc<str>>, step: &Arc<str>) -> Self {
        Self {
            class,
            message: message.into(),
            step: step.clone(),
            attempt: 0,
            retry_after: None,
            sent: Sent::No,
            place: None,
            kind: None,
            details: None,
            cause: None,
        }
    }

    /// Returns true if the same call may succeed when it is repeated.
    #[must_use]
    pub fn retryable(&self) -> bool {
        matches!(self.class, ErrorClass::Transient(_))
    }

    /// Returns true if the error ends the execution of the call: by the tool's contract nothing has happened, or the
    /// request was refused here and never sent. After any other error the same request may be sent again with the same
    /// key.
    #[must_use]
    pub fn ends_execution(&self) -> bool {
        let refused_here = matches!(
            self.class,
            ErrorClass::Denied(_) | ErrorClass::Validation(Validation::Arguments)
        );
        self.sent == Sent::Refused || (self.sent == Sent::No && refused_here)
    }

    /// Returns the error where it originated: enclosing steps pass it on unchanged.
    #[must_use]
    pub fn innermost(&self) -> &Self {
        let mut error = self;
        while let Some(cause) = error
            .cause
            .as_deref()
            .filter(|cause| (&cause.class, &cause.message) == (&error.class, &error.message))
        {
            error = cause;
        }
        error
    }

    /// Returns the error as plans see it: `class, message, step, attempt, retryable, retry_after, details, cause`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut cause = Value::Null;
        for error in self.chain().into_iter().rev() {
            let retry_after = error.retry_after.map_or(Value::Null, |wait| {
                Value::Duration(i128::try_from(wait.as_nanos()).unwrap_or(i128::MAX))
            });
            let details = error.details.as_ref();
            let details = details.map_or(Value::Null, |details| Value::from_json(details.json()));
            let fields = [
                ("class", Value::String(error.class.to_string().into())),
                ("message", Value::String(error.message.clone())),
                ("step", Value::String(error.step.clone())),
                ("attempt", Value::Int(i64::from(error.attempt))),
                ("retryable", Value::Bool(error.retryable())),
                ("retry_after", retry_after),
                ("details", details),
                ("cause", cause),
            ];
            let map: IndexMap<Key, Value> = fields
                .into_iter()
                .map(|(name, value)| (Key::from(name), value))
                .collect();
            cause = Value::Map(Arc::new(map));
        }
        cause
    }

    /// Returns the error with secrets redacted.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Self {
        let mut redacted: Option<Arc<Self>> = None;
        for error in self.chain().into_iter().rev() {
            let message = redactor.text(&error.message).as_ref().into();
            redacted = Some(Arc::new(Self {
                message,
                details: error
                    .details
                    .as_ref()
                    .map(|details| details.redacted(redactor)),
                cause: redacted,
                ..error.clone()
            }));
        }
        redacted.map_or_else(|| self.clone(), Arc::unwrap_or_clone)
    }

    /// Returns the error and its causes, outermost first.
    fn chain(&self) -> Vec<&Self> {
        let mut chain = vec![self];
        while let Some(cause) = chain.last().and_then(|error| error.cause.as_deref()) {
            chain.push(cause);
        }
        chain
    }
}

/// Serialized as in events. The causes are a flat list, outermost first, so that nothing recurses.
impl Serialize for StepError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut chain = self.chain().into_iter().map(Link::of);
        let mut map = serializer.serialize_map(None)?;
        if let Some(first) = chain.next() {
            first.fields(&mut map)?;
        }
        let causes: Vec<Link> = chain.collect();
        if !causes.is_empty() {
            map.serialize_entry("causes", &causes)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for StepError {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut first = Link::deserialize(deserializer)?;
        let mut cause = None;
        for link in std::mem::take(&mut first.causes).into_iter().rev() {
            cause = Some(Arc::new(
                link.error(cause).map_err(serde::de::Error::custom)?,
            ));
        }
        first.error(cause).map_err(serde::de::Error::custom)
    }
}

/// One error of a chain of causes.
#[derive(Deserialize)]
struct Link {
    class: String,
    message: Arc<str>,
    step: Arc<str>,
    #[serde(deserialize_with = "super::wire::whole")]
    attempt: u32,
    sent: Sent,
    #[serde(default)]
    retry_after: Option<String>,
    #[serde(default)]
    place: Option<Arc<str>>,
    #[serde(default)]
    kind: Option<FailureKind>,
    #[serde(default)]
    details: Option<Details>,
    /// Only in the first link: its causes, outermost first.
    #[serde(default)]
    causes: Vec<Link>,
}

impl Link {
    fn of(error: &StepError) -> Self {
        let nanos = |wait: Duration| i128::try_from(wait.as_nanos()).unwrap_or(i128::MAX);
        Self {
            class: error.class.to_string(),
            message: error.message.clone(),
            step: error.step.clone(),
            attempt: error.attempt,
            sent: error.sent,
            retry_after: error.retry_after.map(|wait| duration_text(nanos(wait))),
            place: error.place.clone(),
            kind: error.kind,
            details: error.details.clone(),
            causes: Vec::new(),
        }
    }

    fn error(self, cause: Option<Arc<StepError>>) -> Result<StepError, String> {
        let class = ErrorClass::find(&self.class)
            .ok_or_else(|| format!("`{}` is not an error class", self.class))?;
        let retry_after = match self.retry_after {
            Some(text) => {
                let nanos = parse_duration(&text).filter(|nanos| *nanos >= 0);
                Some(saturating_duration(
                    nanos.ok_or_else(|| format!("`{text}` is not a duration"))?,
                ))
            }
            None => None,
        };
        let Self {
            message,
            step,
            attempt,
            sent,
            place,
            kind,
            details,
            ..
        } = self;
        Ok(StepError {
            class,
            message,
            step,
            attempt,
            retry_after,
            sent,
            place,
            kind,
            details,
            cause,
        })
    }

    fn fields<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("class", &self.class)?;
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("step", &self.step)?;
        map.serialize_entry("attempt", &self.attempt)?;
        map.serialize_entry("sent", &self.sent)?;
        if let Some(wait) = &self.retry_after {
            map.serialize_entry("retry_after", wait)?;
        }
        if let Some(place) = &self.place {
            map.serialize_entry("place", place)?;
        }
        if let Some(kind) = &self.kind {
            map.serialize_entry("kind", kind)?;
        }
        if let Some(details) = &self.details {
            map.serialize_entry("details", details)?;
        }
        Ok(())
    }
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.fields(&mut map)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planrun_lang::types::Transient;
    use serde_json::Value as Json;

    #[test]
    fn an_error_comes_back_as_it_was_written() {
        let first = StepError {
            retry_after: Some(Duration::from_millis(1500)),
            attempt: 2,
            sent: Sent::Maybe,
            place: Some("plans/a.plan:12:5".into()),
            kind: Some(FailureKind::NoSuchKey),
            details: Details::new(
                &serde_json::from_str::<Json>(r#"{"field": "id", "at": [1, 2.50, 1e400]}"#)
                    .unwrap(),
            )
            .unwrap(),
            ..StepError::new(
                ErrorClass::Transient(Transient::Timeout),
                "no \"answer\"",
                &"a.b".into(),
            )
        };
        let second = StepError {
            cause: Some(Arc::new(first)),
            ..StepError::new(ErrorClass::UnknownOutcome, "x", &"a".into())
        };
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<StepError>(&text).unwrap(), second);
        assert!(
            serde_json::from_str::<StepError>(&text.replace("unknown_outcome", "odd")).is_err()
        );
        let older = r#"{"class":"internal","message":"x","step":"a","attempt":1,"sent":"no"}"#;
        let older: StepError = serde_json::from_str(older).unwrap();
        assert_eq!(older.details, None);
    }
}
