//! Reads the bytes of an answer, in pieces of any size: the events of a stream, or one JSON document from a server
//! that does not stream.

use planrun_tools::project::ModelApi;
use planrun_tools::tools::http::EventLines;

use super::fault::unreadable;
use super::{Decoder, decoder};
use crate::model::{ErrorKind, MAX_CALLS, ModelError, Part};

/// Maximum size of an answer as it is sent, in bytes.
pub const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// Maximum size of an event of a stream, in bytes.
pub const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// Number of bytes at the beginning of an answer that are kept, to tell what it is instead of a stream of events.
const BEGINNING_BYTES: usize = 2048;
/// What a line of a stream of events can begin with.
const FIELDS: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];

/// Reads one answer.
pub struct Reader {
    form: Form,
    decoder: Box<dyn Decoder>,
    bytes: usize,
    /// The beginning of the answer, until its first event is complete.
    beginning: Option<Vec<u8>>,
}

/// The form of an answer, which is determined by its first byte that is not white space.
enum Form {
    Unknown,
    Events(EventLines),
    Whole(Vec<u8>),
}

impl Reader {
    /// Returns a reader for one answer in the format of this API.
    pub fn new(api: ModelApi) -> Self {
        Self {
            form: Form::Unknown,
            decoder: decoder(api),
            bytes: 0,
            beginning: Some(Vec::new()),
        }
    }

    /// Reads the next bytes, and adds the parts that they complete. Parts added before an error are valid. Returns an
    /// error if the bytes are not an answer, describe an error, or exceed the size limits.
    pub fn add(&mut self, bytes: &[u8], parts: &mut Vec<Part>) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(too_large("its answer", MAX_ANSWER_BYTES));
        }
        let bytes = match &self.form {
            Form::Unknown => bytes.trim_ascii_start(),
            Form::Events(_) | Form::Whole(_) => bytes,
        };
        if let Some(beginning) = &mut self.beginning {
            let room = BEGINNING_BYTES - beginning.len();
            beginning.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        if let (Form::Unknown, Some(first)) = (&self.form, bytes.first()) {
            self.form = match first {
                b'{' => Form::Whole(Vec::new()),
                _ => Form::Events(EventLines::default()),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            Form::Events(lines) => {
                let fits = lines.add(bytes, MAX_EVENT_BYTES);
                while let Some(data) = lines.next() {
                    self.beginning = None;
                    if self.decoder.is_complete() {
                        break;
                    }
                    let before = parts.len();
                    self.decoder.event(&data, parts)?;
                    check_calls(parts, before)?;
                }
                if fits {
                    Ok(())
                } else {
                    Err(too_large("an event of its answer", MAX_EVENT_BYTES))
                }
            }
        }
    }

    /// Returns true if the answer is complete, so that nothing more has to be read.
    pub fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }

    /// Ends the answer, and adds the parts that are still missing. Returns an error if the answer is incomplete or
    /// invalid.
    pub fn end(&mut self, parts: &mut Vec<Part>) -> Result<(), ModelError> {
        if let Form::Whole(body) = &self.form {
            let json = serde_json::from_slice(body)
                .map_err(|_| unreadable("its answer is not valid JSON", body))?;
            let before = parts.len();
            self.decoder.whole(&json, parts)?;
            return check_calls(parts, before);
        }
        if self.decoder.is_complete() || self.decoder.end(parts) {
            return Ok(());
        }
        if let Some(beginning) = &self.beginning
            && !may_be_events(beginning)
        {
            return Err(unreadable(
                "its answer is neither events nor JSON, so this is not the API of a model",
                beginning,
            ));
        }
        let message = "its answer ended prematurely";
        Err(ModelError::new(ErrorKind::Network, message))
    }
}

/// Returns true for the beginning of a stream of events, and for nothing.
fn may_be_events(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    // The line may have been cut off.
    let is = |field: &&[u8]| first.starts_with(field) || field.starts_with(first);
    FIELDS.iter().any(is)
}

fn too_large(what: &str, max: usize) -> ModelError {
    let message = format!("{what} has more than {max} bytes");
    ModelError::new(ErrorKind::Protocol, message)
}

/// Rejects the first call beyond the maximum of a turn, and removes it and the parts after it.
fn check_calls(parts: &mut Vec<Part>, from: usize) -> Result<(), ModelError> {
    let beyond = |part: &Part| match part {
        Part::Call { index, .. } => *index >= MAX_CALLS,
        Part::Reasoning(_)
        | Part::Text(_)
        | Part::Opaque(_)
        | Part::Usage(_)
        | Part::Stop(_)
        | Part::Retry { .. } => false,
    };
    let Some(first) = parts.iter().skip(from).position(beyond) else {
        return Ok(());
    };
    parts.truncate(from + first);
    let message = format!("it calls more than {MAX_CALLS} tools at once");
    Err(ModelError::new(ErrorKind::Protocol, message))
}
