//! The part of a file that a drawing shows: the marked lines and their neighbours, made visible, cut to a width.

use std::collections::BTreeSet;
use std::ops::Range;

use miette::{MietteError, SourceCode, SourceSpan, SpanContents};
use unicode_width::UnicodeWidthChar;

use super::escape::push_visible;
use super::visible_line;
use crate::diag::Diagnostic;
use crate::source::{Position, SourceFile, Span};

/// Columns that a tab takes at most.
const TAB_COLUMNS: usize = 4;

/// Lines of a file as one text of their own. The block with the primary place comes first.
#[derive(Debug)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    blocks: Vec<Block>,
    pub(super) marks: Vec<Mark>,
}

/// Lines that follow each other in the file.
#[derive(Debug)]
struct Block {
    /// Where they stand in the excerpt, line breaks included.
    range: Range<usize>,
    first_line: u32,
    lines: usize,
}

/// A marked place, in bytes of the excerpt.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) primary: bool,
    position: Position,
}

/// A place to mark, within one line of the file.
struct Wanted<'a> {
    position: Position,
    /// Bytes from the start of the line.
    range: Range<usize>,
    message: &'a str,
    primary: bool,
}

impl Excerpt {
    /// The lines that a diagnostic speaks of, each at most `columns` wide. A place of several lines is marked on its
    /// first.
    pub(super) fn new(source: &SourceFile, diagnostic: &Diagnostic, columns: usize) -> Self {
        let mut wanted = vec![place(source, diagnostic.span, &diagnostic.note, true)];
        wanted.extend(
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
        for lines in blocks(source, &wanted) {
            let start = excerpt.text.len();
            let first_line = lines.start;
            let count = lines.len();
            for number in lines {
                let here: Vec<_> = wanted
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

    fn push_line(&mut self, line: &str, places: &[&Wanted<'_>], columns: usize) {
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
        let shown = line.get(window.clone()).unwrap_or("");
        let mut offsets = Vec::with_capacity(shown.len() + 1);
        for (offset, character) in shown.char_indices() {
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

/// The first line of a span, as a place to mark.
fn place<'a>(source: &SourceFile, span: Span, message: &'a str, primary: bool) -> Wanted<'a> {
    let position = source.position(span.start);
    let line = source.line(position.line).unwrap_or_default();
    let within = |offset: u32| {
        offset
            .clamp(line.start, line.end)
            .saturating_sub(line.start) as usize
    };
    Wanted {
        position,
        range: within(span.start)..within(span.end),
        message,
        primary,
    }
}

/// The marked lines with one line around, as runs; the run of the primary place first.
fn blocks(source: &SourceFile, wanted: &[Wanted<'_>]) -> Vec<Range<u32>> {
    let mut numbers = BTreeSet::new();
    for place in wanted {
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
    let primary = wanted
        .iter()
        .find(|place| place.primary)
        .map_or(0, |place| place.position.line);
    runs.sort_by_key(|run| !run.contains(&primary));
    runs
}

/// The bytes of `line` that are shown so that `anchor` is seen and the whole is at most `columns` wide.
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
            used += shown_columns(*character);
            used <= columns / 3
        })
        .last()
        .map_or(anchor.start, |(offset, _)| offset);
    start..reach(line, start, columns)
}

/// Where the text from `start` has filled `columns`.
fn reach(line: &str, start: usize, columns: usize) -> usize {
    let mut used = 0;
    let rest = line.get(start..).unwrap_or("");
    let end = rest.char_indices().find(|(_, character)| {
        used += shown_columns(*character);
        used > columns
    });
    end.map_or(line.len(), |(offset, _)| start + offset)
}

fn shown_columns(character: char) -> usize {
    if character == '\t' {
        return TAB_COLUMNS;
    }
    let mut shown = String::new();
    push_visible(&mut shown, character);
    shown
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
            // Asked for the place itself: what the drawing's heading names.
            let mark = self.marks.iter().find(|mark| mark.range == (start..end));
            position = mark.map_or(position, |mark| mark.position);
        }
        Ok(Box::new(Shown {
            data: self.text.get(block.range.clone()).unwrap_or("").as_bytes(),
            span: block.range.clone().into(),
            name: &self.name,
            position,
            lines: block.lines,
        }))
    }
}

struct Shown<'a> {
    data: &'a [u8],
    span: SourceSpan,
    name: &'a str,
    position: Position,
    lines: usize,
}

impl<'a> SpanContents<'a> for Shown<'a> {
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
