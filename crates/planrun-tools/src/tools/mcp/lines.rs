//! Reads the output of a program line by line. If an answer cannot be read, its caller gets an error instead of waiting
//! forever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::model::ServerJsonRpcMessage;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};

use super::open_calls::OpenCalls;

/// Maximum length of a line, in bytes; the transport drops a longer one.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum nesting depth of lists and objects; the transport drops deeper messages.
const MAX_DEPTH: usize = 127;
/// The code of the error that replaces a dropped answer.
pub(super) const UNREADABLE: i32 = -32_091;
/// Larger than the length of any key or id that is compared.
const MAX_WORD_BYTES: usize = 24;

/// The output of a program, with an error inserted for each answer that the transport drops. If it is unknown which
/// call an answer belongs to, all calls in flight get an error.
pub(super) struct Lines<R> {
    inner: BufReader<R>,
    line: Line,
    /// Bytes that are returned before more is read.
    pending: Vec<u8>,
    calls: OpenCalls,
}

/// The state of a partially read line: the size of its message, and the top-level fields that identify it.
#[derive(Default)]
struct Line {
    /// The line, as far as the transport takes it.
    bytes: Vec<u8>,
    length: usize,
    depth: usize,
    deepest: usize,
    text: Text,
    /// The current top-level key or scalar value.
    word: Vec<u8>,
    key: Vec<u8>,
    id: Option<u64>,
    has_method: bool,
    has_result: bool,
    has_error: bool,
}

/// The position relative to a JSON string.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// The effect of a message that is dropped.
#[derive(Debug, PartialEq, Eq)]
enum Loss {
    /// The answer to this request is lost.
    Answer(u64, &'static str),
    /// The answer to an unknown request may be lost.
    Unknown(&'static str),
}

impl<R: AsyncRead> Lines<R> {
    pub(super) fn new(inner: R, calls: OpenCalls) -> Self {
        Self {
            inner: BufReader::new(inner),
            line: Line::default(),
            pending: Vec::new(),
            calls,
        }
    }
}

impl Line {
    fn add(&mut self, part: &[u8]) {
        self.length += part.len();
        if self.length <= MAX_LINE_BYTES {
            self.bytes.extend_from_slice(part);
        } else {
            self.bytes = Vec::new();
        }
        for byte in part {
            self.read(*byte);
        }
    }

    fn read(&mut self, byte: u8) {
        if self.text != Text::Outside {
            self.text = match (self.text, byte) {
                (Text::Inside, b'\\') => Text::Escaped,
                (Text::Inside, b'"') => Text::Outside,
                _ => Text::Inside,
            };
            self.note(byte);
            return;
        }
        match byte {
            b'"' => {
                self.text = Text::Inside;
                self.note(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.key = std::mem::take(&mut self.word),
            b',' if self.depth == 1 => self.end_field(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.note(byte),
        }
    }

    fn note(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < MAX_WORD_BYTES {
            self.word.push(byte);
        }
    }

    fn end_field(&mut self) {
        let value = std::mem::take(&mut self.word);
        match &*std::mem::take(&mut self.key) {
            b"\"id\"" => {
                self.id = std::str::from_utf8(&value)
                    .ok()
                    .and_then(|id| id.parse().ok());
            }
            b"\"method\"" => self.has_method = true,
            b"\"result\"" => self.has_result = true,
            b"\"error\"" => self.has_error = true,
            _ => {}
        }
    }

    /// Returns true for what claims to be the answer to a request and is not read as one. Other objects with an id are
    /// output of the program, such as lines of a log.
    fn is_no_answer(&self) -> bool {
        if self.id.is_none() || self.has_method {
            return false;
        }
        let Ok(Json::Object(fields)) = serde_json::from_slice(&self.bytes) else {
            return false;
        };
        let claims = self.has_result || self.has_error || fields.contains_key("jsonrpc");
        claims && serde_json::from_slice::<ServerJsonRpcMessage>(&self.bytes).is_err()
    }

    /// Returns what is lost if this message is dropped; `None` for notifications and for lines that are not messages.
    fn loss(&self) -> Option<Loss> {
        let is_answer = self.has_result || self.has_error;
        let why = if self.length > MAX_LINE_BYTES {
            "the answer has more than 16 MiB"
        } else if self.deepest > MAX_DEPTH {
            "the answer is nested more than 127 levels deep"
        } else if is_answer && self.id.is_none() {
            "the server sent an answer without the id of its request"
        } else if self.has_result && self.has_error {
            "the answer has both a result and an error"
        } else if is_answer && serde_json::from_slice::<Json>(&self.bytes).is_err() {
            "the answer is not valid JSON"
        } else if self.is_no_answer() {
            "the answer is not a JSON-RPC answer"
        } else {
            return None;
        };
        match (self.id, self.has_method, is_answer) {
            (Some(id), false, _) => Some(Loss::Answer(id, why)),
            // The server waits for an answer to this request, so its call will not finish.
            (Some(_), true, _) => Some(Loss::Unknown(
                "the server sent a request that cannot be read",
            )),
            (None, false, true) => Some(Loss::Unknown(why)),
            (None, _, _) => None,
        }
    }
}

impl<R> Lines<R> {
    /// Reports what was lost with the line that has just ended.
    fn end_line(&mut self) {
        match std::mem::take(&mut self.line).loss() {
            None => {}
            Some(Loss::Answer(id, why)) => {
                let error = json!({ "code": UNREADABLE, "message": why });
                let text = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
                self.pending = (text + "\n").into_bytes();
            }
            Some(Loss::Unknown(why)) => self.calls.lose_answer(why),
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.pending.is_empty() {
            let given = this.pending.len().min(buffer.remaining());
            let given: Vec<u8> = this.pending.drain(..given).collect();
            buffer.put_slice(&given);
            return Poll::Ready(Ok(()));
        }
        let available = ready!(Pin::new(&mut this.inner).poll_fill_buf(context))?;
        let fitting = available.len().min(buffer.remaining());
        let mut part = available.get(..fitting).unwrap_or_default();
        if let Some(end) = part.iter().position(|byte| *byte == b'\n') {
            part = part.get(..=end).unwrap_or(part);
        }
        buffer.put_slice(part);
        this.line.add(part);
        let (taken, ends) = (part.len(), part.last() == Some(&b'\n'));
        Pin::new(&mut this.inner).consume(taken);
        if ends {
            this.end_line();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn loss(message: &str) -> Option<Loss> {
        let mut line = Line::default();
        // The line may be split anywhere.
        message.as_bytes().chunks(7).for_each(|part| line.add(part));
        line.loss()
    }

    async fn read(written: Vec<u8>) -> String {
        let mut read = Vec::new();
        Lines::new(&*written, OpenCalls::default())
            .read_to_end(&mut read)
            .await
            .unwrap();
        assert!(read.starts_with(&written[..MAX_LINE_BYTES.min(written.len())]));
        String::from_utf8(read[written.len().min(read.len())..].to_vec()).unwrap()
    }

    #[tokio::test]
    async fn whoever_waits_for_an_answer_that_is_too_long_is_told_so() {
        let long = "x".repeat(MAX_LINE_BYTES);
        for answer in [
            format!("{{\"jsonrpc\": \"2.0\", \"id\": 7, \"result\": \"{long}\"}}\n"),
            format!("{{\"id\":7,\"result\":{{\"id\":5,\"a\":\"{long}\"}}}}\n"),
            format!("{{\"result\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\":7}}\n"),
            format!("{{\"result\":\"{long}\", \"id\": 7, \"jsonrpc\": \"2.0\", \"x\": [[]]}}\n"),
        ] {
            let error: serde_json::Value =
                serde_json::from_str(&read(answer.into()).await).unwrap();
            assert_eq!(
                (&error["id"], &error["error"]["code"]),
                (&json!(7), &json!(UNREADABLE))
            );
        }
    }

    #[tokio::test]
    async fn everything_else_goes_through_as_it_is() {
        let long = "x".repeat(MAX_LINE_BYTES);
        for written in [
            "{\"id\":1}\n\n{\"id\":2}".to_owned(),
            format!("{{\"method\":\"{long}\"}}\n"),
            format!("{{\"a\":{{\"a\":\"{long}\",\"id\":5}}}}\n"),
        ] {
            assert_eq!(read(written.into()).await, "");
        }
    }

    #[test]
    fn what_is_dropped_by_the_reader_of_json_is_what_is_too_deep_here() {
        for (depth, is_lost) in [(MAX_DEPTH - 1, false), (MAX_DEPTH, true)] {
            let lists = "[".repeat(depth) + &"]".repeat(depth);
            let message = format!("{{\"jsonrpc\": \"2.0\", \"id\": 3, \"result\": {lists}}}");
            let read = serde_json::from_str::<serde_json::Value>(&message);
            assert_eq!(read.is_err(), is_lost, "{depth}");
            let why = "the answer is nested more than 127 levels deep";
            let expected = is_lost.then_some(Loss::Answer(3, why));
            assert_eq!(loss(&message), expected, "{depth}");
        }
    }

    #[test]
    fn answers_that_no_reader_of_json_takes_are_lost_for_their_callers() {
        for (answer, why) in [
            (
                "{\"id\": 4, \"result\": {\"n\": NaN}}",
                "the answer is not valid JSON",
            ),
            (
                "{\"id\": 4, \"result\": \"\\ud800\"}",
                "the answer is not valid JSON",
            ),
            (
                "{\"id\": 4, \"result\": {}, \"error\": {\"code\": 1, \"message\": \"\"}}",
                "the answer has both a result and an error",
            ),
        ] {
            assert_eq!(loss(answer), Some(Loss::Answer(4, why)), "{answer}");
        }
        let mut line = Line::default();
        line.add(b"{\"id\": 4, \"result\": \"\xff\xfe\"}");
        let lost = Some(Loss::Answer(4, "the answer is not valid JSON"));
        assert_eq!(line.loss(), lost);
        let answer = "{\"jsonrpc\": \"2.0\", \"id\": 4, \"result\": {}}";
        assert_eq!(loss(answer), None);
        let error =
            "{\"jsonrpc\": \"2.0\", \"id\": 4, \"error\": {\"code\": 1, \"message\": \"\"}}";
        assert_eq!(loss(error), None);
        for answer in [
            "{\"jsonrpc\": \"2.0\", \"id\": 4}",
            "{\"jsonrpc\": \"2.0\", \"id\": 4, \"error\": \"boom\"}",
            "{\"jsonrpc\": \"2.0\", \"id\": 4, \"error\": {\"code\": -32000.5, \"message\": null}}",
            "{\"id\": 4, \"result\": {}}",
        ] {
            let lost = Loss::Answer(4, "the answer is not a JSON-RPC answer");
            assert_eq!(loss(answer), Some(lost), "{answer}");
        }
    }

    #[test]
    fn answers_without_an_id_may_be_for_anybody_and_notifications_are_for_nobody() {
        let nobody = "the server sent an answer without the id of its request";
        for answer in [
            "{\"jsonrpc\": \"2.0\", \"result\": {\"id\": 5}}",
            "{\"id\": null, \"error\": {\"code\": -32700}}",
            "{\"result\": \"\\\"id\\\": 5, \", \"id\": \"x\"}",
        ] {
            assert_eq!(loss(answer), Some(Loss::Unknown(nobody)), "{answer}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        let request = format!("{{\"id\": 1, \"method\": \"m\", \"params\": {deep}}}");
        assert_eq!(
            loss(&request),
            Some(Loss::Unknown(
                "the server sent a request that cannot be read"
            ))
        );
        for message in [
            format!("{{\"method\": \"m\", \"params\": {deep}}}"),
            "{\"method\": \"m\", \"params\": {\"result\": 1}}".to_owned(),
            "{\"jsonrpc\": \"2.0\", \"id\": 987654, \"result\": {}}".to_owned(),
            "{\"id\": 4, \"level\": \"info\", \"message\": \"started\"}".to_owned(),
            "starting: {1, 2} [ok], \"result\"".to_owned(),
            deep,
        ] {
            assert_eq!(loss(&message), None, "{message}");
        }
    }
}
