//! Assigns each comment of the author to the nearest element; every comment is taken exactly once.

use crate::source::Span;
use crate::syntax::ast::{Comment, CommentKind};

/// The comments of a file, some of which have been taken.
pub(super) struct Comments<'a> {
    /// The author's text; empty if there is none.
    text: &'a str,
    list: &'a [Comment],
    taken: Vec<bool>,
}

/// The comments and blank lines between two adjacent elements.
#[derive(Default)]
pub(super) struct Gap<'a> {
    /// The comment after the first element, on its line.
    pub trailing: Option<&'a str>,
    /// The comments above the second element, each with a flag for a blank line above it.
    pub above: Vec<(&'a str, bool)>,
    /// Whether there is a blank line directly above the second element.
    pub blank: bool,
    /// Whether the last comment documents the second element.
    pub documented: bool,
}

impl<'a> Comments<'a> {
    pub fn new(text: &'a str, list: &'a [Comment]) -> Self {
        Self {
            text,
            list,
            taken: vec![false; list.len()],
        }
    }

    /// Returns true if a comment in the range has not been taken.
    pub fn any(&self, start: u32, end: u32) -> bool {
        self.first(start, end).is_some()
    }

    /// Takes the remaining comments of the range, in order.
    pub fn take(&mut self, start: u32, end: u32) -> Vec<(CommentKind, &'a str)> {
        let found: Vec<usize> = self.untaken(start, end).collect();
        self.take_all(found)
    }

    /// Takes the remaining comments of one kind in the range, in order.
    pub fn take_kind(&mut self, kind: CommentKind, start: u32, end: u32) -> Vec<&'a str> {
        let mut found: Vec<usize> = self.untaken(start, end).collect();
        found.retain(|index| self.kind(*index) == Some(kind));
        self.take_all(found)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    fn take_all(&mut self, found: Vec<usize>) -> Vec<(CommentKind, &'a str)> {
        found
            .into_iter()
            .filter_map(|index| self.take_one(index))
            .collect()
    }

    /// Takes the comments between the end of one element and the beginning of the next. Between `statements`, a `///`
    /// always belongs to the second one.
    pub fn gap(&mut self, behind: Option<u32>, next: u32, statements: bool) -> Gap<'a> {
        let mut gap = Gap::default();
        let start = behind.unwrap_or(0);
        if let Some(end) = behind {
            gap.trailing = self.trailing(end, next, statements);
        }
        let found: Vec<usize> = self.untaken(start, next).collect();
        for index in found {
            let at = self
                .list
                .get(index)
                .map_or(next, |comment| comment.span.start);
            let blank = self.blank_above(at);
            if let Some((kind, text)) = self.take_one(index) {
                gap.above.push((text, blank));
                gap.documented = kind == CommentKind::Doc;
            }
        }
        gap.blank = self.blank_above(next);
        gap
    }

    /// Takes the comment on the line of `end`, or on that of a comma or parenthesis after it.
    pub fn trailing(&mut self, end: u32, next: u32, statements: bool) -> Option<&'a str> {
        let index = self.first(end, next)?;
        let comment = self.list.get(index)?;
        let between = self.text.get(end as usize..comment.span.start as usize)?;
        let spaces = between
            .rsplit(|c: char| !c.is_whitespace())
            .next()
            .unwrap_or(between);
        if spaces.contains('\n') || (statements && comment.kind == CommentKind::Doc) {
            return None;
        }
        self.take_one(index).map(|(_, text)| text)
    }

    /// Like `trailing`, but only if nothing except white space comes between.
    pub fn trailing_alone(&mut self, end: u32) -> Option<&'a str> {
        let index = self.first(end, u32::MAX)?;
        let comment = self.list.get(index)?;
        let between = self.text.get(end as usize..comment.span.start as usize)?;
        let same_line = between.bytes().all(|byte| byte == b' ' || byte == b'\t');
        let found = if same_line && comment.kind != CommentKind::Doc {
            self.take_one(index)
        } else {
            None
        };
        found.map(|(_, text)| text)
    }

    /// Returns the offset of the first such byte that is not in a comment; the end of the text if there is none.
    pub fn seek(&self, from: u32, byte: u8) -> u32 {
        let mut at = from as usize;
        let mut next = self
            .list
            .partition_point(|comment| comment.span.start < from);
        while let Some(found) = self
            .text
            .get(at..)
            .and_then(|rest| rest.bytes().position(|found| found == byte))
        {
            match self.list.get(next) {
                Some(comment) if (comment.span.start as usize) < at + found => {
                    at = comment.span.end as usize;
                    next += 1;
                }
                Some(_) | None => return Span::at(at + found).start,
            }
        }
        Span::at(self.text.len()).start
    }

    fn first(&self, start: u32, end: u32) -> Option<usize> {
        self.untaken(start, end).next()
    }

    fn untaken(&self, start: u32, end: u32) -> impl Iterator<Item = usize> {
        let from = self
            .list
            .partition_point(|comment| comment.span.start < start);
        let inside = self.list.iter().zip(&self.taken).enumerate().skip(from);
        let inside = inside.take_while(move |(_, (comment, _))| comment.span.start < end);
        inside
            .filter(|(_, (_, taken))| !**taken)
            .map(|(index, _)| index)
    }

    fn kind(&self, index: usize) -> Option<CommentKind> {
        self.list.get(index).map(|comment| comment.kind)
    }

    fn take_one(&mut self, index: usize) -> Option<(CommentKind, &'a str)> {
        let comment = self.list.get(index)?;
        *self.taken.get_mut(index)? = true;
        Some((
            comment.kind,
            self.text.get(comment.span.range())?.trim_end(),
        ))
    }

    /// Returns true if the line above the offset is blank.
    fn blank_above(&self, at: u32) -> bool {
        let before = self.text.get(..at as usize).unwrap_or("");
        let spaces = before.len() - before.trim_end().len();
        before
            .get(before.len() - spaces..)
            .is_some_and(|spaces| spaces.bytes().filter(|byte| *byte == b'\n').count() > 1)
    }
}
