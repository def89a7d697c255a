//! Builds the document: words, groups, bracketed lists, and the comments around their elements.

use super::comments::{Comments, Gap};
use super::document::{Break, Op, Slot, render};
use std::borrow::Cow;

use crate::source::Span;
use crate::syntax::ast::{CommentKind, Name};
use crate::syntax::print::Style;

/// Writes a tree as a document.
pub(super) struct Printer<'a> {
    /// The author's text, if the tree was parsed from one.
    pub text: Option<&'a str>,
    pub comments: Comments<'a>,
    pub ops: Vec<Op<'a>>,
    slots: Vec<Slot<'a>>,
    /// The slot after the first word of the statement that is printed next.
    first_word: Option<usize>,
    /// Number of lines of that statement's documentation.
    pub doc_lines: Option<usize>,
    /// Comments to print at the top of the next block.
    pub moved: Vec<&'a str>,
}

/// The format of a bracketed list.
#[derive(Clone, Copy)]
pub(super) struct Brackets {
    pub open: &'static str,
    pub close: &'static str,
    /// The break after the opening and before the closing bracket.
    pub inner: Break,
    /// Whether commas separate the elements. Elements without commas are statements.
    pub commas: bool,
    /// Whether the elements are broken together with the enclosing group.
    pub joined: bool,
}

impl Brackets {
    pub const PARENTHESES: Self = Self {
        open: "(",
        close: ")",
        inner: Break::Soft,
        commas: true,
        joined: false,
    };
    pub const PARAMETERS: Self = Self {
        joined: true,
        ..Self::PARENTHESES
    };
    pub const LIST: Self = Self {
        open: "[",
        close: "]",
        inner: Break::Soft,
        commas: true,
        joined: false,
    };
    pub const OBJECT: Self = Self {
        open: "{",
        close: "}",
        inner: Break::Space,
        commas: true,
        joined: false,
    };
    pub const ARMS: Self = Self {
        open: "{",
        close: "}",
        inner: Break::Hard,
        commas: true,
        joined: false,
    };
    pub const BLOCK: Self = Self {
        open: "{",
        close: "}",
        inner: Break::Hard,
        commas: false,
        joined: false,
    };
}

impl<'a> Printer<'a> {
    pub fn new(text: &'a str, comments: &'a [crate::syntax::ast::Comment]) -> Self {
        Self {
            text: Some(text),
            comments: Comments::new(text, comments),
            ..Self::without_text()
        }
    }

    pub fn without_text() -> Self {
        let comments = Comments::new("", &[]);
        Self {
            text: None,
            comments,
            ops: Vec::new(),
            slots: Vec::new(),
            first_word: None,
            doc_lines: None,
            moved: Vec::new(),
        }
    }

    /// Returns the text of everything that was printed.
    pub fn finish(self) -> String {
        render(self.ops, &self.slots)
    }

    /// Returns the author's text at the span; `None` if there is none.
    pub fn written(&self, span: Span) -> Option<&'a str> {
        self.text
            .and_then(|text| text.get(span.range()))
            .filter(|text| !text.is_empty())
    }

    /// Prints text whose line breaks are kept.
    pub fn lines(&mut self, text: impl Into<Cow<'a, str>>) {
        self.ops.push(Op::Lines(text.into()));
    }

    /// Prints the first word of a statement and the space after it.
    pub fn keyword(&mut self, word: &'static str) {
        self.word(word);
        match self.first_word.take() {
            Some(index) => {
                self.ops.push(Op::Inside(index));
                if let Some(slot) = self.slots.get_mut(index) {
                    slot.doc_lines = self.doc_lines.take();
                }
            }
            None => self.word(" "),
        }
    }

    /// Prints the names of error classes, which are dotted words.
    pub fn classes(&mut self, names: &'a [Name]) {
        self.filled(names, |this, name| this.word(&*name.text));
    }

    /// Prints elements separated by commas, without brackets, with as many on a line as fit.
    pub fn filled<T>(&mut self, items: &'a [T], mut print: impl FnMut(&mut Self, &'a T)) {
        self.indented(|this| {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    this.word(",");
                    this.begin();
                    this.line(Break::Space);
                }
                print(this, item);
                if index > 0 {
                    this.end();
                }
            }
        });
    }

    pub fn begin(&mut self) {
        self.ops.push(Op::Begin(0));
    }

    pub fn end(&mut self) {
        self.ops.push(Op::End);
    }

    pub fn grouped(&mut self, print: impl FnOnce(&mut Self)) {
        self.begin();
        print(self);
        self.end();
    }

    pub fn indented(&mut self, print: impl FnOnce(&mut Self)) {
        self.ops.push(Op::Indent);
        print(self);
        self.ops.push(Op::Dedent);
    }

    /// Prints the break between two elements, with the comments there; returns the slot above the second one.
    pub fn between(&mut self, behind: u32, next: u32) -> usize {
        let gap = self.comments.gap(Some(behind), next, false);
        self.trailing(gap.trailing);
        self.line(Break::Space);
        self.above(Gap {
            trailing: None,
            blank: false,
            ..gap
        })
    }

    pub fn indent(&mut self) {
        self.ops.push(Op::Indent);
    }

    pub fn dedent(&mut self) {
        self.ops.push(Op::Dedent);
    }

    pub fn line(&mut self, kind: Break) {
        self.ops.push(Op::Break(kind));
    }

    pub fn trailing(&mut self, comment: Option<&'a str>) {
        self.ops.extend(comment.map(Op::Trailing));
    }

    /// Returns the current position in the document, for `flatten`.
    pub fn mark(&self) -> usize {
        self.ops.len()
    }

    /// Puts everything printed since the mark on one line.
    pub fn flatten(&mut self, mark: usize) {
        for op in self.ops.iter_mut().skip(mark) {
            match op {
                Op::Break(Break::Space) => *op = Op::Text(" ".into(), 1),
                Op::Break(Break::Soft | Break::Hard | Break::Always) | Op::IfBroken(_) => {
                    *op = Op::Text("".into(), 0);
                }
                Op::Text(..)
                | Op::Lines(_)
                | Op::Begin(_)
                | Op::End
                | Op::Indent
                | Op::Dedent
                | Op::Above(_)
                | Op::Inside(_)
                | Op::Trailing(_) => {}
            }
        }
    }

    /// Prints the comments of a gap above the next element; returns the slot, to which comments found inside the
    /// element are added later.
    pub fn above(&mut self, mut gap: Gap<'a>) -> usize {
        gap.above
            .splice(0..0, gap.trailing.map(|comment| (comment, false)));
        let blank = gap.blank && !gap.documented;
        let slot = self.slot(Slot {
            comments: gap.above,
            blank,
            doc_lines: None,
        });
        self.ops.push(Op::Above(slot));
        slot
    }

    fn slot(&mut self, slot: Slot<'a>) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// Moves the remaining comments inside an element above it.
    pub fn hoist(&mut self, slot: usize, start: u32, end: u32) {
        let found = self.comments.take(start, end);
        self.put_above(slot, found.into_iter().map(|(_, text)| text), false);
    }

    /// Like `hoist`, for statements. Comments are put before the documentation, and a `///` stays inside the statement,
    /// which it would otherwise document.
    fn hoist_statement(&mut self, slot: usize, inside: usize, start: u32, end: u32) {
        let found = self.comments.take(start, end);
        let (docs, others): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|(kind, _)| *kind == CommentKind::Doc);
        let doc_lines = self.slots.get(inside).and_then(|slot| slot.doc_lines);
        let strays = doc_lines.map_or_else(Vec::new, |lines| self.stray_docs(slot, lines));
        self.put_above(slot, others.into_iter().map(|(_, text)| text), true);
        if let Some(slot) = self.slots.get_mut(inside) {
            slot.comments = strays
                .into_iter()
                .chain(docs.into_iter().map(|(_, text)| (text, false)))
                .collect();
        }
    }

    /// Removes each `///` above a statement that does not document it because a `//!` came between them.
    fn stray_docs(&mut self, slot: usize, doc_lines: usize) -> Vec<(&'a str, bool)> {
        let Some(slot) = self.slots.get_mut(slot) else {
            return Vec::new();
        };
        let docs = slot
            .comments
            .iter()
            .rev()
            .take_while(|(text, _)| is_doc(text))
            .count();
        let first = slot.comments.len() - docs;
        let mut strays: Vec<_> = slot
            .comments
            .drain(first..first + docs.saturating_sub(doc_lines))
            .collect();
        let blank = strays
            .first_mut()
            .is_some_and(|(_, blank)| std::mem::take(blank));
        match slot.comments.get_mut(first) {
            Some((_, below)) => *below |= blank,
            None => slot.blank |= blank,
        }
        strays
    }

    fn put_above(&mut self, slot: usize, comments: impl Iterator<Item = &'a str>, documents: bool) {
        let Some(slot) = self.slots.get_mut(slot) else {
            return;
        };
        let docs = slot
            .comments
            .iter()
            .rev()
            .take_while(|(text, _)| documents && is_doc(text))
            .count();
        let at = slot.comments.len() - docs;
        let mut comments: Vec<_> = comments.map(|text| (text, false)).collect();
        let Some(first) = comments.first_mut() else {
            return;
        };
        first.1 = match slot.comments.get_mut(at) {
            Some(below) => std::mem::take(&mut below.1),
            None => std::mem::take(&mut slot.blank),
        };
        slot.comments.splice(at..at, comments);
    }

    /// Prints the items between the brackets of a list, from `behind` to `end` in the text; returns the end of the last
    /// one.
    pub fn items<T>(
        &mut self,
        brackets: Brackets,
        items: &'a [T],
        (mut behind, end): (u32, u32),
        span: impl Fn(&T) -> Span,
        mut print: impl FnMut(&mut Self, &'a T),
    ) -> u32 {
        for (index, item) in items.iter().enumerate() {
            let place = span(item);
            let mut gap = self.comments.gap(Some(behind), place.start, true);
            if index == 0 {
                unblank(&mut gap);
            }
            let slot = self.above(gap);
            if brackets.commas {
                print(self, item);
                self.hoist(slot, place.start, place.end);
            } else {
                self.statement_in(slot, place, |this| print(this, item));
            }
            let next = items.get(index + 1).map_or(end, |item| span(item).start);
            behind = place.end;
            let last = index + 1 == items.len();
            match (brackets.commas, last) {
                (true, true) => self.ops.push(Op::IfBroken(",")),
                (true, false) => self.word(","),
                (false, _) => {}
            }
            let trailing = self.comments.trailing(behind, next, !brackets.commas);
            self.trailing(trailing);
            if !last {
                let hard = brackets.inner == Break::Hard;
                self.line(if hard { Break::Hard } else { Break::Space });
            }
        }
        behind
    }

    /// Prints the comments after the last element of a list or file.
    pub fn remaining(&mut self, behind: u32, end: u32, first: bool) {
        if !self.comments.any(behind, end) {
            return;
        }
        let mut gap = self.comments.gap(Some(behind), end, true);
        if first {
            unblank(&mut gap);
        }
        self.line(Break::Hard);
        self.above(Gap {
            blank: false,
            ..gap
        });
    }

    /// Prints a statement or item and moves the comments inside it to the slot above.
    pub fn statement_in(&mut self, slot: usize, place: Span, print: impl FnOnce(&mut Self)) {
        let inside = self.slot(Slot::default());
        self.first_word = Some(inside);
        print(self);
        self.first_word = None;
        self.hoist_statement(slot, inside, place.start, place.end);
    }
}

/// Removes the blank line at the beginning of the gap.
fn unblank(gap: &mut Gap<'_>) {
    match gap.above.first_mut() {
        Some((_, blank)) => *blank = false,
        None => gap.blank = false,
    }
}

/// Returns true if the comment documents the element below it.
pub(super) fn is_doc(comment: &str) -> bool {
    CommentKind::of(comment) == CommentKind::Doc
}
