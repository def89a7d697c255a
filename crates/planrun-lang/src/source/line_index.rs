//! Converts byte offsets to lines and columns.

use super::Span;

/// A position in a text, with line and column counted from 1 and columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Position {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

/// The byte offsets at which lines start.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Finds the line starts of `text`: after each `\n`, which also covers `\r\n`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = newlines.map(|(offset, _)| u32::try_from(offset + 1).unwrap_or(u32::MAX));
        Self {
            starts: std::iter::once(0).chain(starts).collect(),
        }
    }

    /// Returns the range of a line, counted from 1, including its line break. `None` if there is no such line.
    #[must_use]
    pub fn line(&self, text: &str, number: u32) -> Option<Span> {
        let index = (number as usize).checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let end = self
            .starts
            .get(index + 1)
            .map_or(text.len(), |next| *next as usize);
        Some(Span::new(start, end))
    }

    /// Returns the position of `offset` in `text`, which must be the indexed text.
    #[must_use]
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self
            .starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0) as usize;
        let mut end = (offset as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = text.get(start..end).unwrap_or("");
        let column = before.chars().count() + 1;
        let narrow = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Position {
            line: narrow(line + 1),
            column: narrow(column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_survive_crlf() {
        let text = "é = 1\r\n名字 x\n";
        let index = LineIndex::new(text);
        let at =
            |needle: &str| index.position(text, u32::try_from(text.find(needle).unwrap()).unwrap());
        assert_eq!(at("= 1"), Position { line: 1, column: 3 });
        assert_eq!(at(" x"), Position { line: 2, column: 3 });
        assert_eq!(index.position(text, u32::MAX).line, 3);
    }
}
