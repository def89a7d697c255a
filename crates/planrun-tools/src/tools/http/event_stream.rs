//! Server-sent events: returns the data of each event as it arrives, with a size limit for each.

use std::collections::VecDeque;

use planrun_lang::call::CallError;
use reqwest::Response;

use super::client::{piece, too_large};

/// The events of a response of type `text/event-stream`.
pub(in crate::tools) struct EventStream {
    response: Response,
    max_bytes: usize,
    lines: EventLines,
}

/// Parses bytes into events, however the bytes are split.
#[derive(Default)]
pub struct EventLines {
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event.
    data: Option<Vec<u8>>,
    /// Whether the last line ended with a carriage return; a line feed that follows belongs to it.
    after_return: bool,
    ended: VecDeque<Vec<u8>>,
}

impl EventStream {
    /// Creates the stream of a response's events, each of at most `max_bytes` bytes.
    pub(in crate::tools) fn new(response: Response, max_bytes: usize) -> Self {
        Self {
            response,
            max_bytes,
            lines: EventLines::default(),
        }
    }

    /// Returns the data of the next event; `None` at the end of the stream. It is cancel-safe: no data is lost if the
    /// future is dropped. Returns an error if the stream breaks off or an event is too large.
    pub(in crate::tools) async fn next(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        loop {
            if let Some(data) = self.lines.next() {
                return Ok(Some(data));
            }
            let Some(piece) = piece(&mut self.response).await? else {
                return Ok(None);
            };
            if !self.lines.add(piece.as_ref(), self.max_bytes) {
                return Err(too_large(self.response.url(), self.max_bytes));
            }
        }
    }
}

impl EventLines {
    /// Returns the data of the next complete event.
    #[expect(
        clippy::should_implement_trait,
        reason = "more events may become complete after `None`"
    )]
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.ended.pop_front()
    }

    /// Adds the next bytes. Returns false if an event is larger than `max_bytes`.
    pub fn add(&mut self, mut bytes: &[u8], max_bytes: usize) -> bool {
        while let Some((&first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = rest;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, behind) = bytes.split_at(end.unwrap_or(bytes.len()));
            let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
            if held + line.len() > max_bytes {
                return false;
            }
            self.line.extend_from_slice(line);
            bytes = behind.get(1..).unwrap_or_default();
            if let Some(end) = behind.first() {
                self.after_return = *end == b'\r';
                self.end_line();
            }
        }
        true
    }

    /// Ends a line. An empty line ends the event; of other lines, only those with data are used.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            self.ended.extend(self.data.take());
            return;
        }
        let value = match line.strip_prefix(b"data") {
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            Some([]) => &[],
            Some(_) | None => return,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the events of a text that arrives in pieces of this size.
    fn events(text: &str, size: usize) -> Vec<String> {
        let mut lines = EventLines::default();
        for piece in text.as_bytes().chunks(size) {
            assert!(lines.add(piece, 64));
        }
        let ended = lines.ended.into_iter();
        ended.map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_are_the_same_however_they_arrive() {
        let cases = [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            (
                "data: a\r\n\r\ndata:b\r\rid: 7\ndata: c\n\n",
                vec!["a", "b", "c"],
            ),
            (
                "event: error\ndata: a\ndata:\ndata: b\n: ping\n\n",
                vec!["a\n\nb"],
            ),
            (": ping\n\n\n\ndatum: x\nretry: 3\n\n", vec![]),
            ("data\n\ndata: 你好\n\ndata: cut off", vec!["", "你好"]),
        ];
        for (text, expected) in cases {
            for size in 1..=text.len() {
                assert_eq!(events(text, size), expected, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn an_event_has_an_end_to_its_size() {
        for endless in ["data: ", "data: x\n", "x"] {
            let mut lines = EventLines::default();
            let taken = (0..100)
                .take_while(|_| lines.add(endless.as_bytes(), 64))
                .count();
            assert!(
                taken < 100 && lines.ended.is_empty(),
                "{endless:?}: {taken}"
            );
        }
        let mut lines = EventLines::default();
        assert!((0..100).all(|_| lines.add(b"data: x\n\n: ping\n\n", 64)));
        assert_eq!(lines.ended.len(), 100);
    }
}
