//! Plan text: source files, byte spans and the line index.

mod line_index;
mod span_index;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use line_index::{LineIndex, Position};
pub use span_index::SpanIndex;

/// The largest plan file that is read, in bytes. Offsets are `u32`, and nobody writes a larger plan by hand.
pub const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;

/// A half-open range of bytes in one source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`, in bytes. Offsets beyond `u32` saturate; such a file is refused before it is parsed.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: clamp(start),
            end: clamp(end),
        }
    }

    /// The empty range at `offset`.
    #[must_use]
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Whether another range lies within this one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the range holds no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The range as indices, for slicing the text it came from.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<std::ops::Range<u32>> for Span {
    fn from(range: std::ops::Range<u32>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// One source text with the name it is shown under.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    lines: OnceLock<LineIndex>,
}

impl SourceFile {
    /// A source text. `name` is the path as the user wrote it, with `/` between folders.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            lines: OnceLock::new(),
        }
    }

    /// The path that diagnostics show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its name, in angle brackets behind that of its folder, is that of no file: the text was handed in to be used
    /// once.
    #[must_use]
    pub fn is_handed_in(&self) -> bool {
        let name = Path::new(&self.name).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        name.starts_with('<') && name.ends_with('>')
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of one range; empty where the range is not on character boundaries.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The range of a line, counted from 1, without its line break; `None` behind the last line.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<Span> {
        let span = self
            .lines
            .get_or_init(|| LineIndex::new(&self.text))
            .line(&self.text, number)?;
        let text = self.slice(span);
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        Some(Span::new(
            span.start as usize,
            span.start as usize + text.len(),
        ))
    }

    /// `plans/a.plan:12:5`: where a range begins, as editors and terminals open it.
    #[must_use]
    pub fn place(&self, span: Span) -> String {
        let Position { line, column } = self.position(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        self.lines
            .get_or_init(|| LineIndex::new(&self.text))
            .position(&self.text, offset)
    }
}
