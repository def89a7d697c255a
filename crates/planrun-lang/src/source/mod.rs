//! Plan text: source files, byte spans and the line index.

mod line_index;
mod span_index;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use line_index::{LineIndex, Position};
pub use span_index::SpanIndex;

/// Maximum size of a plan file, in bytes. Offsets are `u32`, and no plan written by hand is larger.
pub const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;

/// A half-open byte range in a source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Creates the range `start..end`, in bytes. Offsets beyond `u32` saturate; a file of that size is rejected before
    /// parsing.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: clamp(start),
            end: clamp(end),
        }
    }

    /// Creates the empty range at `offset`.
    #[must_use]
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// Returns the empty range at the start of this one.
    #[must_use]
    pub fn before(self) -> Self {
        Self::from(self.start..self.start)
    }

    /// Returns the empty range at the end of this one.
    #[must_use]
    pub fn after(self) -> Self {
        Self::from(self.end..self.end)
    }

    /// Returns the smallest range that contains both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Returns true if the other range lies within this one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns true if the range is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the range as indices, for slicing the text.
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

/// A source text and its display name.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    lines: OnceLock<LineIndex>,
}

impl SourceFile {
    /// Creates a source text. `name` is the path as the user wrote it, with `/` between folders.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            lines: OnceLock::new(),
        }
    }

    /// Returns the path used in diagnostics.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the file name is in angle brackets: the text does not come from a file and is used once.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        let name = Path::new(&self.name).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        name.starts_with('<') && name.ends_with('>')
    }

    /// Returns the whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a range; empty if the range is not on character boundaries or exceeds the text.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Returns the range of a line, counted from 1, without its line break; `None` after the last line.
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

    /// Returns the start of a range as editors and terminals open it: `plans/a.plan:12:5`.
    #[must_use]
    pub fn place(&self, span: Span) -> String {
        let Position { line, column } = self.position(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// Returns the line and column of a byte offset, both counted from 1; columns count characters.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        self.lines
            .get_or_init(|| LineIndex::new(&self.text))
            .position(&self.text, offset)
    }
}
