//! Excerpts of a file for graphical reports: the marked lines and their neighbors, escaped and truncated to a width.

use std::collections::BTreeSet;
use std::ops::Range;

use miette::{MietteError, SourceCode, SourceSpan, SpanContents};
use unicode_width::UnicodeWidthChar;

use super::escape::push_visible;
use super::visible_line;
use crate::diag::Diagnostic;
use crate::source::{Position, SourceFile, Span};

/// Maximum width of a tab, in columns.
const TAB_COLUMNS: usize = 4;

/// Lines of a file, as one text. The block with the primary mark comes first.
#[derive(Debug)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    blocks: Vec<Block>,
    pub(super) marks: Vec<Mark>,
}

/// Consecutive lines of the file.
#[derive(Debug)]
struct Block {
    /// Their byte range in the excerpt, line breaks included.
    range: Range<usize>,
    first_line: u32,
    lines: usize,
}

/// A marked range, in bytes of the excerpt.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) primary: bool,
    position: Position,
}

/// A range to mark, within one line of the file.
struct Target<'a> {
    position: Position,
    /// Bytes from the start of the line.
    range: Range<usize>,
    message: &'a str,
    primary: bool,
}

impl Excerpt {
    /// Creates the excerpt with the lines of a diagnostic, each at most `columns` wide. A span of several lines is
    /// marked on its first.
    pub(super) fn new(source: &SourceFile, diagnostic: &Diagnostic, columns: usize) -> Self {
        let mut targets = vec![place(source, diagnostic.span, &diagnostic.note, true)];
        targets.extend(
            diagnostic
                .labels
                .iter()
                .map(|label| place(source, label.span, &label.message, false)),
        );
        let mut excerpt = Self {
            name: visible_line(source.name()).into_owned(),
            text: String::new(),
            blocks: vec![],
            marks: vec![],
        };
        for lines in blocks(source, &targets) {
            let start = excerpt.text.len();
            let first_line = lines.start;
            let count = lines.len();
            for number in lines {
                let here: Vec<_> = targets
                    .iter()
                    .filter(|place| place.position.line == number)
                    .collect();
                let text = source.line(number).map_or("", |span| source.slice(span));
                excerpt.push_line(text, &here, columns);
            }
            excerpt.blocks.push(Block {
                range: start..excerpt.text.len(),
                first_line,
                lines: count,
            });
        }
        excerpt
    }

    fn push_line(&mut self, line: &str, places: &[&Target<'_>], columns: usize) {
        let anchor = places
            .iter()
            .find(|place| place.primary)
            .or_else(|| places.first());
        let window = window(
            line,
            anchor.map_or(0..0, |place| place.range.clone()),
            columns,
        );
        if window.start > 0 {
            self.text.push('…');
        }
        let visible = line.get(window.clone()).unwrap_or("");
        let mut offsets = Vec::with_capacity(visible.len() + 1);
        for (offset, character) in visible.char_indices() {
            offsets.push((window.start + offset, self.text.len()));
            push_visible(&mut self.text, character);
        }
        offsets.push((window.end, self.text.len()));
        if window.end < line.len() {
            self.text.push('…');
        }
        self.text.push('\n');
        let moved = |offset: usize| {
            let offset = offset.clamp(window.start, window.end);
            let index = offsets.partition_point(|(from, _)| *from < offset);
            offsets
                .get(index)
                .map_or(self.text.len() - 1, |(_, to)| *to)
        };
        let marks = places.iter().map(|place| Mark {
            range: moved(place.range.start)..moved(place.range.end),
            message: visible_line(place.message).into_owned(),
            primary: place.primary,
            position: place.position,
        });
        self.marks.extend(marks);
    }
}

/// Returns the part of a span on its first line, as a range to mark.
fn place<'a>(source: &SourceFile, span: Span, message: &'a str, primary: bool) -> Target<'a> {
    let position = source.position(span.start);
    let line = source.line(position.line).unwrap_or_default();
    let within = |offset: u32| {
        offset
            .clamp(line.start, line.end)
            .saturating_sub(line.start) as usize
    };
    Target {
        position,
        range: within(span.start)..within(span.end),
        message,
        primary,
    }
}

/// Returns the marked lines and their neighbors that are not blank, as runs; the run with the primary mark comes first.
fn blocks(source: &SourceFile, targets: &[Target<'_>]) -> Vec<Range<u32>> {
    let mut numbers = BTreeSet::new();
    for place in targets {
        let line = place.position.line;
        numbers.extend(
            [line.saturating_sub(1), line, line + 1]
                .into_iter()
                .filter(|number| {
                    *number == line
                        || source
                            .line(*number)
                            .is_some_and(|span| !source.slice(span).trim().is_empty())
                }),
        );
    }
    let mut runs: Vec<Range<u32>> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            Some(_) | None => runs.push(number..number + 1),
        }
    }
    let primary = targets
        .iter()
        .find(|place| place.primary)
        .map_or(0, |place| place.position.line);
    runs.sort_by_key(|run| !run.contains(&primary));
    runs
}

/// Returns the bytes of `line` to display: at most `columns` wide and including the start of `anchor`.
fn window(line: &str, anchor: Range<usize>, columns: usize) -> Range<usize> {
    let fitting = reach(line, 0, columns);
    if fitting == line.len() {
        return 0..line.len();
    }
    if anchor.end < fitting {
        return 0..fitting;
    }
    let before = line.get(..anchor.start).unwrap_or("");
    let mut used = 0;
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, character)| {
            used += display_columns(*character);
            used <= columns / 3
        })
        .last()
        .map_or(anchor.start, |(offset, _)| offset);
    start..reach(line, start, columns)
}

/// Returns the end of the text from `start` that fits in `columns`.
fn reach(line: &str, start: usize, columns: usize) -> usize {
    let mut used = 0;
    let rest = line.get(start..).unwrap_or("");
    let end = rest.char_indices().find(|(_, character)| {
        used += display_columns(*character);
        used > columns
    });
    end.map_or(line.len(), |(offset, _)| start + offset)
}

fn display_columns(character: char) -> usize {
    if character == '\t' {
        return TAB_COLUMNS;
    }
    let mut visible = String::new();
    push_visible(&mut visible, character);
    visible
        .chars()
        .map(|character| character.width().unwrap_or(0))
        .sum()
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        let block = self
            .blocks
            .iter()
            .find(|block| block.range.contains(&start) && end <= block.range.end);
        let block = block.ok_or(MietteError::OutOfBounds)?;
        let mut position = Position {
            line: block.first_line,
            column: 1,
        };
        if context_lines_before == 0 && context_lines_after == 0 {
            // Without context lines, miette asks for the position in the heading.
            let mark = self.marks.iter().find(|mark| mark.range == (start..end));
            position = mark.map_or(position, |mark| mark.position);
        }
        Ok(Box::new(BlockContents {
            data: self.text.get(block.range.clone()).unwrap_or("").as_bytes(),
            span: block.range.clone().into(),
            name: &self.name,
            position,
            lines: block.lines,
        }))
    }
}

struct BlockContents<'a> {
    data: &'a [u8],
    span: SourceSpan,
    name: &'a str,
    position: Position,
    lines: usize,
}

impl<'a> SpanContents<'a> for BlockContents<'a> {
    fn data(&self) -> &'a [u8] {
        self.data
    }

    fn span(&self) -> &SourceSpan {
        &self.span
    }

    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn line(&self) -> usize {
        (self.position.line as usize).saturating_sub(1)
    }

    fn column(&self) -> usize {
        (self.position.column as usize).saturating_sub(1)
    }

    fn line_count(&self) -> usize {
        self.lines
    }
}
