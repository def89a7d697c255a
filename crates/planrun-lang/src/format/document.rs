//! The document model of the formatter, a flat list of operations, and the layout that decides which groups fit on a
//! line.
//!
//! This is Wadler's pretty printer over a list instead of a tree: a backward pass measures and a forward pass prints,
//! so the time is linear in the document and nesting cannot exhaust the stack.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr as _;

/// Maximum width of a line, in columns.
pub(super) const LINE_WIDTH: usize = 100;
/// Columns of one level of indentation.
pub(super) const INDENT: usize = 4;
/// Maximum indentation, in columns, so that deeply nested lines keep room for their text.
const MAX_INDENT: usize = 60;

pub(super) enum Op<'a> {
    /// Text without a line break, and its width.
    Text(Cow<'a, str>, usize),
    /// Text of several lines, printed verbatim.
    Lines(Cow<'a, str>),
    Break(Break),
    /// Begins a group, which is printed on one line if it fits together with what follows up to the next possible line
    /// break. Holds the number of columns required for that, once measured.
    Begin(usize),
    End,
    Indent,
    Dedent,
    /// Text that is printed only if the group is broken.
    IfBroken(&'static str),
    /// Comments on lines of their own, by the index of their slot.
    Above(usize),
    /// The space after a statement's first word, or the comments of a slot in its place.
    Inside(usize),
    /// A comment at the end of its line.
    Trailing(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    /// Nothing if the group is on one line.
    Soft,
    /// A space if the group is on one line.
    Space,
    /// A line break, unless the line is empty.
    Hard,
    /// A line break even if the line is empty, in text blocks.
    Always,
}

/// Comments that are printed at an earlier position than that at which they are found.
#[derive(Default)]
pub(super) struct Slot<'a> {
    /// The comments, each with a flag for a blank line above it.
    pub comments: Vec<(&'a str, bool)>,
    /// Whether a blank line follows.
    pub blank: bool,
    /// Number of lines of the statement's documentation, if this is the slot after its first word.
    pub doc_lines: Option<usize>,
}

/// Returns the width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.width()
    }
}

/// Renders the document as text.
pub(super) fn render(mut ops: Vec<Op<'_>>, slots: &[Slot<'_>]) -> String {
    measure(&mut ops, slots);
    let mut layout = Layout::default();
    for op in ops {
        layout.print(op, slots);
    }
    layout.newline();
    layout.out
}

/// A group whose beginning the backward pass has not reached yet.
struct Open {
    /// Total columns when its end was reached.
    from: usize,
    behind: usize,
    forced: bool,
}

/// Records in each group the number of columns that it requires on one line; `usize::MAX` if it cannot be on one.
fn measure(ops: &mut [Op<'_>], slots: &[Slot<'_>]) {
    let mut open: Vec<Open> = Vec::new();
    // Columns in total, and since the last possible line break.
    let (mut total, mut since) = (0, 0);
    for op in ops.iter_mut().rev() {
        let forced = match op {
            Op::Text(_, columns) => {
                total += *columns;
                since += *columns;
                false
            }
            Op::Lines(text) => {
                since = text.split('\n').next().map_or(0, width);
                true
            }
            Op::Break(kind) => {
                total += usize::from(*kind == Break::Space);
                since = 0;
                matches!(kind, Break::Hard | Break::Always)
            }
            Op::IfBroken(text) => {
                since += text.len();
                false
            }
            Op::Above(slot) => has_comments(slots, *slot),
            Op::Inside(slot) => {
                total += 1;
                since += 1;
                slots
                    .get(*slot)
                    .is_some_and(|slot| !slot.comments.is_empty())
            }
            Op::Trailing(_) => {
                since = 0;
                true
            }
            Op::Indent | Op::Dedent => false,
            Op::End => {
                open.push(Open {
                    from: total,
                    behind: since,
                    forced: false,
                });
                false
            }
            Op::Begin(columns) => open.pop().is_some_and(|group| {
                *columns = if group.forced {
                    usize::MAX
                } else {
                    total - group.from + group.behind
                };
                group.forced
            }),
        };
        if forced && let Some(group) = open.last_mut() {
            group.forced = true;
        }
    }
}

fn has_comments(slots: &[Slot<'_>], slot: usize) -> bool {
    slots
        .get(slot)
        .is_some_and(|slot| !slot.comments.is_empty())
}

#[derive(Default)]
struct Layout {
    out: String,
    column: usize,
    depth: usize,
    /// Whether the line has any text. Its indentation is written together with the first text.
    line_written: bool,
    /// Whether the line ends in a comment, so that nothing can be added to it.
    commented: bool,
    /// Additional indentation of the next line only, in columns.
    further: usize,
    /// For each open group, whether it is broken over several lines.
    broken: Vec<bool>,
}

impl Layout {
    fn print(&mut self, op: Op<'_>, slots: &[Slot<'_>]) {
        match op {
            Op::Text(text, columns) => self.text(&text, columns),
            Op::Lines(text) => {
                self.text(&text, 0);
                self.column = text.rsplit('\n').next().map_or(0, width);
            }
            Op::Break(Break::Hard) => self.newline(),
            Op::Break(Break::Always) => {
                self.line_written = true;
                self.newline();
            }
            Op::Break(kind) => {
                if self.broken.last().copied().unwrap_or(true) {
                    self.newline();
                } else if kind == Break::Space {
                    self.text(" ", 1);
                }
            }
            Op::Begin(columns) => {
                let column = if self.line_written {
                    self.column
                } else {
                    self.indent()
                };
                let outer = self.broken.last().copied().unwrap_or(true);
                self.broken
                    .push(outer && column.saturating_add(columns) > LINE_WIDTH);
            }
            Op::End => {
                self.broken.pop();
            }
            Op::Indent => self.depth += 1,
            Op::Dedent => self.depth -= 1,
            Op::IfBroken(text) => {
                if self.broken.last().copied().unwrap_or(true) {
                    self.text(text, text.len());
                }
            }
            Op::Above(slot) => self.above(slots.get(slot)),
            Op::Inside(slot) => self.inside(slots.get(slot)),
            Op::Trailing(comment) => {
                if self.line_written {
                    self.text(" ", 1);
                }
                self.text(comment, 0);
                self.commented = true;
            }
        }
    }

    fn above(&mut self, slot: Option<&Slot<'_>>) {
        let Some(slot) = slot else { return };
        for (comment, blank) in &slot.comments {
            self.newline();
            if *blank {
                self.out.push('\n');
            }
            self.text(comment, 0);
            self.newline();
        }
        if slot.blank && self.broken.last().copied().unwrap_or(true) {
            self.newline();
            self.out.push('\n');
        }
    }

    fn inside(&mut self, slot: Option<&Slot<'_>>) {
        let comments = slot.map_or(&[][..], |slot| &slot.comments);
        for (comment, _) in comments {
            self.text(if self.line_written { " " } else { "" }, 1);
            self.text(comment, 0);
            self.newline();
            self.further = INDENT;
        }
        if comments.is_empty() {
            self.text(" ", 1);
        }
    }

    fn text(&mut self, text: &str, columns: usize) {
        if text.is_empty() {
            return;
        }
        if self.commented {
            self.newline();
        }
        if !self.line_written {
            let indent = self.indent();
            self.out.extend(std::iter::repeat_n(' ', indent));
            self.column = indent;
            self.line_written = true;
            self.further = 0;
        }
        self.out.push_str(text);
        self.column += columns;
    }

    fn newline(&mut self) {
        if self.line_written {
            self.out.push('\n');
        }
        self.line_written = false;
        self.commented = false;
    }

    fn indent(&self) -> usize {
        (self.depth * INDENT).min(MAX_INDENT) + self.further
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Op<'_> {
        Op::Text(text.into(), text.len())
    }

    fn list(words: usize, behind: &'static str) -> String {
        let mut ops = vec![Op::Begin(0), text("["), Op::Indent];
        for index in 0..words {
            ops.extend([
                if index == 0 {
                    Op::Break(Break::Soft)
                } else {
                    Op::Break(Break::Space)
                },
                text("123456789"),
            ]);
        }
        ops.extend([
            Op::IfBroken(","),
            Op::Dedent,
            Op::Break(Break::Soft),
            text("]"),
            Op::End,
            text(behind),
        ]);
        render(ops, &[])
    }

    #[test]
    fn a_group_stands_on_one_line_up_to_the_last_column() {
        // Ten words with nine spaces and two brackets are 101 columns, nine of them 91.
        assert_eq!(list(9, "123456789").lines().count(), 1);
        assert_eq!(list(9, "1234567890").lines().count(), 11);
        assert_eq!(list(10, "").lines().count(), 12);
    }

    #[test]
    fn nothing_follows_a_comment_on_its_line() {
        let ops = vec![text("a"), Op::Trailing("// c"), text("b")];
        assert_eq!(render(ops, &[]), "a // c\nb\n");
    }
}
