//! Answers of a program that are too long to be read: whoever waits for one is told so, in place of waiting on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use serde_json::json;
use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};

/// The longest line that is read; the transport drops a longer one.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// The code of the error that stands in for an answer that was dropped.
pub(super) const TOO_LONG: i32 = -32_091;
/// How much is kept of both ends of a line, where its id stands.
const END_BYTES: usize = 256;

/// What a program writes, with an error behind each answer that the transport has dropped.
pub(super) struct LongLines<R> {
    inner: BufReader<R>,
    line: Line,
    /// What is still to be given before more is read.
    owed: Vec<u8>,
}

/// A line, as far as it has been read.
#[derive(Default)]
struct Line {
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<R: AsyncRead> LongLines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner: BufReader::new(inner),
            line: Line::default(),
            owed: Vec::new(),
        }
    }
}

impl Line {
    fn add(&mut self, part: &[u8]) {
        self.length += part.len();
        let missing = END_BYTES.saturating_sub(self.head.len());
        self.head.extend(part.iter().take(missing));
        let kept = part.len().saturating_sub(END_BYTES);
        self.tail.extend(part.iter().skip(kept));
        let excess = self.tail.len().saturating_sub(END_BYTES);
        self.tail.drain(..excess);
    }

    /// The request that it answers: the id stands before the result, or after it.
    fn id(&self) -> Option<u64> {
        let compact = |end: &[u8]| {
            let text = String::from_utf8_lossy(end);
            text.split_ascii_whitespace().collect::<String>()
        };
        let (head, tail) = (compact(&self.head), compact(&self.tail));
        let version = r#""jsonrpc":"2.0""#;
        let begin = head.strip_prefix('{')?;
        let begin = begin.strip_prefix(version).unwrap_or(begin);
        let begin = begin.strip_prefix(',').unwrap_or(begin);
        let first = begin.strip_prefix(r#""id":"#);
        let first = first.and_then(|rest| rest.split(',').next()?.parse().ok());
        first.or_else(|| {
            let end = tail.strip_suffix('}')?;
            let end = end.strip_suffix(version).unwrap_or(end);
            let end = end.strip_suffix(',').unwrap_or(end);
            end.rsplit_once(r#","id":"#)?.1.parse().ok()
        })
    }

    /// What is said in its place, where it is too long.
    fn replacement(&self) -> Option<Vec<u8>> {
        let id = Some(self)
            .filter(|line| line.length > MAX_LINE_BYTES)?
            .id()?;
        let mebibytes = MAX_LINE_BYTES / (1024 * 1024);
        let message = format!("the answer has more than {mebibytes} MiB");
        let error = json!({ "code": TOO_LONG, "message": message });
        let text = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
        Some((text + "\n").into_bytes())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LongLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.owed.is_empty() {
            let given = this.owed.len().min(buffer.remaining());
            let given: Vec<u8> = this.owed.drain(..given).collect();
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
        if part.last() == Some(&b'\n') {
            this.owed = this.line.replacement().unwrap_or_default();
            this.line = Line::default();
        }
        let taken = part.len();
        Pin::new(&mut this.inner).consume(taken);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(written: Vec<u8>) -> String {
        let mut read = Vec::new();
        LongLines::new(&*written)
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
            format!("{{\"id\":7,\"result\":\"{long}\"}}\n"),
            format!("{{\"result\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\":7}}\n"),
            format!("{{\"result\":\"{long}\", \"id\": 7, \"jsonrpc\": \"2.0\"}}\n"),
        ] {
            let told: serde_json::Value = serde_json::from_str(&read(answer.into()).await).unwrap();
            assert_eq!(
                (&told["id"], &told["error"]["code"]),
                (&json!(7), &json!(TOO_LONG))
            );
        }
    }

    #[tokio::test]
    async fn everything_else_goes_through_as_it_is() {
        let long = "x".repeat(MAX_LINE_BYTES);
        for written in [
            "{\"id\":1}\n\n{\"id\":2}".to_owned(),
            format!("{{\"method\":\"{long}\"}}\n"),
            format!("{{\"result\":{{\"a\":\"{long}\",\"id\":5}}}}\n"),
        ] {
            assert_eq!(read(written.into()).await, "");
        }
    }
}
