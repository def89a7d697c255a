//! Reports and repairs unmatched delimiters: missing, wrong and surplus ones.

use super::{Frame, Matcher, closing};
use crate::diag::Edit;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::scan::repair::Repair;
use crate::syntax::scan::tokens::{Delimiter, Token, TokenKind};

impl Matcher<'_> {
    /// Closes all frames but the `keep` outermost ones before the token at `index`, and reports one of them as never
    /// closed: the outermost bracket in the innermost block or, without one, that block itself.
    pub(super) fn close_lost(&mut self, keep: usize, index: usize) {
        let lost: Vec<Frame> = self.frames.get(keep..).unwrap_or_default().to_vec();
        let groups = lost.iter().rev().take_while(|frame| !frame.block).count();
        let culprit = if groups > 0 {
            lost.len() - groups
        } else {
            lost.len().saturating_sub(1)
        };
        let behind = index
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
            .map_or(0, |token| token.end);
        let broken = |frame: &Frame| {
            let line = self.tokens.get(frame.token).map_or(0, |open| open.line);
            self.breaks.binary_search(&line).is_ok()
        };
        if let Some(frame) = lost.get(culprit).filter(|frame| !broken(frame)) {
            self.found.lost_brace |= lost
                .iter()
                .any(|frame| frame.delimiter == Some(Delimiter::Brace));
            self.report_lost(*frame, index, behind);
        }
        self.lost_head |= keep == 0 && groups == lost.len();
        self.repair_lost(&lost, behind as usize, index);
        for _ in &lost {
            self.pop();
        }
    }

    fn report_lost(&mut self, frame: Frame, index: usize, behind: u32) {
        let Some(open) = self.tokens.get(frame.token).copied() else {
            return;
        };
        let opening = open.text(self.text);
        let closing = closing(frame.delimiter);
        let place = Span::from(behind.saturating_sub(1)..behind);
        let mut diagnostic =
            codes::UNCLOSED_DELIMITER.at(open.span(), format!("this `{opening}` is never closed"));
        diagnostic = match self.tokens.get(index) {
            Some(_) => diagnostic.label(place, format!("`{closing}` is missing after this")),
            None => diagnostic.label(place, format!("the text ends here without `{closing}`")),
        };
        self.push(diagnostic.help(format!("close it with `{closing}`")));
        let whole = if frame.block {
            open.span()
        } else {
            Span::from(open.start..behind)
        };
        self.found.reported.push(whole);
        self.found
            .reported
            .push(Span::from(behind.saturating_sub(1)..behind + 1));
    }

    /// Inserts the missing delimiters into the white space before the token. If there is too little of it, marks the
    /// brackets as damaged, unless one of them opens a block.
    fn repair_lost(&mut self, lost: &[Frame], behind: usize, index: usize) {
        let closers: Vec<char> = lost
            .iter()
            .rev()
            .map(|frame| closing(frame.delimiter))
            .collect();
        if index >= self.tokens.len() {
            self.found.appended.push('\n');
            self.found.appended.extend(closers);
            return;
        }
        let space = self
            .text
            .as_bytes()
            .get(behind..behind + closers.len())
            .unwrap_or_default();
        let roomy = space.len() == closers.len() && space.iter().all(u8::is_ascii_whitespace);
        if roomy {
            for (offset, closer) in closers.into_iter().enumerate() {
                let span = Span::new(behind + offset, behind + offset + 1);
                self.found.repairs.push(Repair::Character {
                    span,
                    character: closer,
                    at_end: false,
                });
            }
            return;
        }
        let first = lost.first().and_then(|frame| self.tokens.get(frame.token));
        if let Some(open) = first.filter(|_| lost.iter().all(|frame| !frame.block)) {
            self.found
                .repairs
                .push(Repair::Damaged(Span::new(open.start as usize, behind)));
        }
    }

    /// Reports a closing delimiter of the wrong kind and replaces it by the right one.
    pub(super) fn report_wrong_closer(&mut self, frame: Frame, token: Token) {
        let Some(open) = self.tokens.get(frame.token).copied() else {
            return;
        };
        let (opening, found, expected) = (
            open.text(self.text),
            token.text(self.text),
            closing(frame.delimiter),
        );
        self.push(
            codes::UNEXPECTED_TOKEN
                .at(
                    token.span(),
                    format!("`{found}` does not close `{opening}`"),
                )
                .label(open.span(), "opened here")
                .help(format!("write `{expected}`"))
                .unsafe_fix(
                    format!("write `{expected}`"),
                    vec![Edit::new(token.span(), expected.to_string())],
                ),
        );
        self.found.repairs.push(Repair::Character {
            span: token.span(),
            character: expected,
            at_end: false,
        });
    }

    /// Reports the braces around the clauses of a call, and removes them.
    pub(super) fn remove_braces(&mut self, frame: Frame, close: Token) {
        let Some(open) = self.tokens.get(frame.token).copied() else {
            return;
        };
        let braces = [open.span(), close.span()];
        let message = "the clauses of a step have no braces";
        self.push(
            codes::UNEXPECTED_TOKEN
                .at(open.span(), message)
                .label(close.span(), "closed here")
                .help("remove the braces")
                .fix_all("remove the braces", braces.map(Edit::removal).to_vec()),
        );
        self.found.repairs.extend(braces.map(Repair::Blank));
    }

    /// Reports a closing delimiter without an opening one, or the position where its opening one is missing.
    pub(super) fn stray(&mut self, index: usize, token: Token, delimiter: Delimiter) {
        if delimiter == Delimiter::Brace && std::mem::take(&mut self.lost_head) {
            self.found.repairs.push(Repair::Blank(token.span()));
            return;
        }
        self.found.spare_brace |= delimiter == Delimiter::Brace;
        if (delimiter != Delimiter::Brace || self.seek_spare)
            && self.unopened(index, token, delimiter)
        {
            return;
        }
        self.found.repairs.push(Repair::Blank(token.span()));
        if self.breaks.binary_search(&token.line).is_ok() {
            return;
        }
        let found = token.text(self.text);
        let edits = vec![Edit::removal(token.span())];
        self.found.surplus_closers.push(token.span());
        self.push(
            codes::UNEXPECTED_TOKEN
                .at(token.span(), format!("unmatched `{found}`"))
                .help(format!(
                    "remove the `{found}`, or add the opening one where it belongs"
                ))
                .unsafe_fix(format!("remove the `{found}`"), edits),
        );
    }

    /// If a line begins with a closing delimiter that an earlier line in the same column should have opened, reports
    /// and inserts the opening one. Returns true if it did.
    fn unopened(&mut self, index: usize, token: Token, delimiter: Delimiter) -> bool {
        if !token.line_start {
            return false;
        }
        let Some(last) = self.opening_line(index, token) else {
            return false;
        };
        let opening = match delimiter {
            Delimiter::Paren => '(',
            Delimiter::Bracket => '[',
            Delimiter::Brace => '{',
        };
        let room = self
            .text
            .as_bytes()
            .get(last.end as usize)
            .is_some_and(u8::is_ascii_whitespace);
        if !room || matches!(last.kind, TokenKind::Open(_)) {
            return false;
        }
        let place = Span::from(last.end..last.end + 1);
        self.push(
            codes::UNEXPECTED_TOKEN
                .at(
                    last.span(),
                    format!("expected `{opening}` at the end of this line"),
                )
                .label(
                    token.span(),
                    format!("this `{}` is unmatched", token.text(self.text)),
                )
                .help(format!("write `{opening}` at the end of the line")),
        );
        self.found.repairs.push(Repair::Character {
            span: place,
            character: opening,
            at_end: false,
        });
        true
    }

    /// Returns the last token of the nearest line above that begins in the same column, if deeper lines are in between.
    fn opening_line(&self, index: usize, token: Token) -> Option<Token> {
        let before = self.tokens.get(..index)?;
        let head = before
            .iter()
            .rposition(|other| other.line_start && other.indent <= token.indent)?;
        let inside = before.get(head..)?;
        let first = inside
            .first()
            .filter(|first| first.indent == token.indent)?;
        let line = inside.iter().take_while(|other| other.line == first.line);
        let deeper = inside.last().is_some_and(|end| end.line > first.line);
        line.last().copied().filter(|_| deeper)
    }
}
