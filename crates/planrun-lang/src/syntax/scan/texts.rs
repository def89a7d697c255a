//! Scans text literals, and guesses where an unterminated one was meant to end.

use super::repair::Repair;
use super::tokens::{Lexer, OpenText, Origin, TokenKind};
use super::words::{ITEM_WORDS, STATEMENT_WORDS, is_clause_word};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;

/// Maximum number of characters at the end of an unterminated text that are tried as closing delimiters.
const MAX_TAIL: usize = 64;
/// Maximum number of tokens to search backward for the opening quotes of an unterminated text block.
const FARTHEST: usize = 1000;

impl Lexer<'_> {
    /// Scans a text literal that begins with a prefix at `start` and its first quote at `quote`.
    pub(super) fn quoted(&mut self, start: usize, quote: usize) {
        let prefix = self.text.get(start..quote).unwrap_or("");
        let raw = prefix.contains(['r', 'R']);
        let rest = self.text.get(quote..).unwrap_or("");
        let quotes = if rest.starts_with("\"\"\"") || rest.starts_with("'''") {
            3
        } else {
            1
        };
        let origin = self.origin();
        if prefix.is_empty() && rest.starts_with('"') {
            let open = OpenText {
                start,
                quotes,
                braces: 0,
                interpolation: start,
                interpolation_tokens: origin.tokens,
                interpolation_openers: origin.openers,
                origin,
            };
            self.open_texts.push(open);
            self.open_lines += usize::from(quotes == 1);
            self.at = quote + quotes;
            self.text_part(start);
        } else {
            self.verbatim(start, quote, quotes, raw, origin);
        }
    }

    /// Continues a text after the `}` of a `${…}`.
    pub(super) fn interpolated_text(&mut self) {
        self.text_part(self.at);
    }

    /// Scans a part of the innermost open text, up to its end or its next `${`.
    fn text_part(&mut self, part: usize) {
        let Some(open) = self.open_texts.last() else {
            return;
        };
        let (start, quotes, origin) = (open.start, open.quotes, open.origin);
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'"' if quotes == 1 || self.bytes.get(self.at..self.at + 3) == Some(b"\"\"\"") => {
                    self.open_texts.pop();
                    self.open_lines -= usize::from(quotes == 1);
                    self.push(TokenKind::Text, part, self.at + quotes);
                    return;
                }
                b'$' if self.bytes.get(self.at + 1) == Some(&b'{') => {
                    self.push(TokenKind::Text, part, self.at);
                    let at = self.at;
                    let (tokens, openers) = (self.tokens.len(), self.openers.len());
                    if let Some(open) = self.open_texts.last_mut() {
                        (open.braces, open.interpolation) = (0, at);
                        (open.interpolation_tokens, open.interpolation_openers) = (tokens, openers);
                    }
                    self.push(TokenKind::Interpolation, at, at + 2);
                    return;
                }
                _ => {
                    if self.text_byte(byte, quotes, false, start, origin) {
                        return;
                    }
                }
            }
        }
        self.endless_block |= quotes == 3;
        self.unfinished(start, origin, None);
    }

    fn verbatim(&mut self, start: usize, quote: usize, quotes: usize, raw: bool, origin: Origin) {
        let closing = self
            .text
            .get(quote..quote + quotes)
            .unwrap_or("\"")
            .as_bytes();
        self.at = quote + quotes;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            if self.bytes.get(self.at..self.at + quotes) == Some(closing) {
                self.push(TokenKind::Text, start, self.at + quotes);
                return;
            }
            if self.text_byte(byte, quotes, raw, start, origin) {
                return;
            }
        }
        self.endless_block |= quotes == 3;
        self.unfinished(start, origin, None);
    }

    /// Scans one character of a text. Returns true if the text turned out to be unterminated.
    fn text_byte(
        &mut self,
        byte: u8,
        quotes: usize,
        raw: bool,
        start: usize,
        origin: Origin,
    ) -> bool {
        match byte {
            b'\n' | b'\r' if quotes == 1 => {
                self.unfinished(start, origin, None);
                return true;
            }
            b'\n' => {
                self.at += 1;
                if self.distrust && self.statement_here(origin.indent) {
                    self.at -= 1;
                    self.unfinished(start, origin, None);
                    return true;
                }
                self.line += 1;
            }
            b'\\' if !raw => {
                let next = self
                    .text
                    .get(self.at + 1..)
                    .and_then(|rest| rest.chars().next());
                self.at += 1 + next
                    .filter(|c| !matches!(c, '\n' | '\r'))
                    .map_or(0, char::len_utf8);
            }
            0x80.. => {
                let c = self
                    .text
                    .get(self.at..)
                    .and_then(|rest| rest.chars().next())
                    .unwrap_or(' ');
                self.check_inside(c, self.at);
                self.at += c.len_utf8();
            }
            _ => self.at += 1,
        }
        false
    }

    /// Returns true if the line that begins here looks like code after a text block that was opened at `indent`.
    fn statement_here(&self, indent: usize) -> bool {
        let rest = self.text.get(self.at..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("");
        let code = line.trim_start();
        if code.is_empty() || line.len() - code.len() > indent {
            return false;
        }
        let word = code
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .next()
            .unwrap_or("");
        code.starts_with(['}', ')', ']'])
            || STATEMENT_WORDS.contains(&word)
            || is_clause_word(word)
            || ITEM_WORDS.contains(&word)
    }

    /// Reports the unterminated text that begins at `start`; `interpolation` is the offset of a `${` that is open in
    /// it.
    pub(super) fn unfinished(
        &mut self,
        start: usize,
        origin: Origin,
        interpolation: Option<usize>,
    ) {
        if let Some((around, origin, at)) = self
            .outermost_line_text()
            .filter(|(around, _, _)| *around < start)
        {
            // The enclosing text has a `${` without `}`, which swallowed the closing quote.
            self.unfinished(around, origin, Some(at));
            return;
        }
        self.open_texts.retain(|open| open.start < start);
        self.open_lines = self
            .open_texts
            .iter()
            .filter(|open| open.quotes == 1)
            .count();
        self.forget(origin);
        let line_end = if self.at >= self.bytes.len() {
            self.bytes.len()
        } else {
            self.at
        };
        if interpolation.is_none() && self.curly_end(start, line_end) {
            return;
        }
        if let Some(index) = self.two_quotes(start, origin) {
            self.badly_opened(index, start);
            return;
        }
        let end = self.probable_end(start, line_end, origin, interpolation);
        self.report(match interpolation {
            Some(at) => unclosed_interpolation(Span::new(at, at + 2)),
            None => unterminated(
                start,
                end,
                line_breaks(self.text.get(start..end).unwrap_or("")) > 0,
            ),
        });
        self.repairs.push(Repair::Damaged(Span::new(start, end)));
        self.push(TokenKind::Broken, start, end);
        self.line += self.text.get(start..end).map_or(0, line_breaks);
    }

    /// Reports a `${` of a text block that is open at the end of its line, and continues the text after it.
    pub(super) fn unfinished_interpolation(&mut self) {
        // The outermost one, so that each rescan begins after the previous one.
        self.open_texts.truncate(1);
        self.open_lines = 0;
        let Some(open) = self.open_texts.last() else {
            return;
        };
        let (at, tokens, openers) = (
            open.interpolation,
            open.interpolation_tokens,
            open.interpolation_openers,
        );
        self.tokens.truncate(tokens);
        self.openers.truncate(openers);
        let span = Span::new(at, at + 2);
        self.report(unclosed_interpolation(span));
        self.repairs.push(Repair::Blank(span));
        self.at = span.end as usize;
        self.text_part(at);
    }

    /// Looks for the mistake behind a text block without end, two quotes instead of three at the end of an earlier
    /// line, and returns the index of that token.
    fn two_quotes(&self, start: usize, origin: Origin) -> Option<usize> {
        if !origin.fresh || self.bytes.get(start..start + 3) != Some(b"\"\"\"") {
            return None;
        }
        let near = self
            .tokens
            .get(..origin.tokens)?
            .iter()
            .enumerate()
            .rev()
            .take(FARTHEST);
        let mut pairs = near
            .filter(|(_, token)| token.kind == TokenKind::Text && token.text(self.text) == "\"\"");
        pairs.find_map(|(index, token)| {
            let behind = self.text.get(token.end as usize..)?;
            behind
                .trim_start_matches([' ', '\t', '\r'])
                .starts_with('\n')
                .then_some(index)
        })
    }

    /// Reports a text block that was opened with two quotes; `start` is the offset of the closing ones.
    fn badly_opened(&mut self, index: usize, start: usize) {
        let Some(opening) = self.tokens.get(index).copied() else {
            return;
        };
        let end = start + 3;
        self.report(
            codes::UNTERMINATED_STRING
                .at(
                    opening.span(),
                    "a multi-line string opens with three quotes, but this one has two",
                )
                .label(Span::new(start, end), "closed here")
                .help("write `\"\"\"`")
                .fix("write three quotes", opening.span(), "\"\"\""),
        );
        self.repairs
            .push(Repair::Damaged(Span::new(opening.start as usize, end)));
        self.tokens.truncate(index + 1);
        if let Some(token) = self.tokens.last_mut() {
            (token.kind, token.end) = (TokenKind::Broken, Span::at(end).end);
        }
        self.mark_seen();
        self.at = end;
    }

    /// Handles a text that was opened with a plain quote and closed with a curly one. Returns true if it was.
    fn curly_end(&mut self, start: usize, line_end: usize) -> bool {
        let slice = self.text.get(start..line_end).unwrap_or("");
        if slice.contains('\n') {
            return false;
        }
        let (quote, curly): (char, &[char]) = if slice.starts_with('\'') {
            ('\'', &['’', '‘', '＇'])
        } else {
            ('"', &['”', '“', '＂'])
        };
        let Some((offset, c)) = slice.char_indices().find(|(_, c)| curly.contains(c)) else {
            return false;
        };
        let span = Span::new(start + offset, start + offset + c.len_utf8());
        self.look_alike(c, quote, vec![span]);
        self.repairs.push(Repair::Character {
            span,
            character: quote,
            at_end: false,
        });
        self.push(TokenKind::Text, start, span.end as usize);
        true
    }

    /// Scans a one-line text in curly or similar quotes.
    pub(super) fn curly_quoted(&mut self, opening: char, quote: char) {
        let start = self.at;
        let behind = start + opening.len_utf8();
        let rest = self.text.get(behind..).unwrap_or("");
        let closes = |c: char| {
            c == quote
                || matches!(super::characters::confusable(c), super::characters::Confusable::Character(q) if q == quote)
        };
        let first = Span::new(start, behind);
        let ended = rest.char_indices().find(|(_, c)| *c == '\n' || closes(*c));
        let Some((offset, c)) = ended.filter(|(_, c)| *c != '\n') else {
            self.look_alike(opening, quote, vec![first]);
            let line_end = behind + ended.map_or(rest.len(), |(offset, _)| offset);
            let end = self.probable_end(start, line_end, self.origin(), None);
            self.repairs.push(Repair::Damaged(Span::new(start, end)));
            self.push(TokenKind::Broken, start, end);
            return;
        };
        let last = Span::new(behind + offset, behind + offset + c.len_utf8());
        let places = if c == quote {
            vec![first]
        } else {
            vec![first, last]
        };
        self.look_alike(opening, quote, places);
        let content = rest.get(..offset).unwrap_or("");
        if content.contains(['"', '\\', '$']) {
            self.repairs.push(Repair::Damaged(first.to(last)));
        } else {
            self.repairs.push(Repair::Character {
                span: first,
                character: quote,
                at_end: true,
            });
            self.repairs.push(Repair::Character {
                span: last,
                character: quote,
                at_end: false,
            });
        }
        self.push(TokenKind::Text, start, last.end as usize);
    }

    /// Guesses where an unterminated text was meant to end: after the last quote that follows its open `${`; otherwise
    /// before a `{` at the end of the line, or before the delimiters there that close those opened on the same line.
    fn probable_end(
        &self,
        start: usize,
        line_end: usize,
        origin: Origin,
        interpolation: Option<usize>,
    ) -> usize {
        let slice = self.text.get(start..line_end).unwrap_or("").trim_end();
        let from_interpolation = interpolation.map_or(usize::MAX, |at| at - start);
        if let Some(quote) = slice.rfind('"').filter(|quote| *quote > from_interpolation) {
            return start + quote + 1;
        }
        if let Some(head) = slice
            .strip_suffix('{')
            .map(str::trim_end)
            .filter(|head| !head.is_empty())
        {
            return start + head.len();
        }
        let openers = self
            .openers
            .get(..origin.openers.min(self.openers.len()))
            .unwrap_or_default();
        let closers: Vec<u8> = openers
            .iter()
            .rev()
            .take_while(|(_, line)| *line == origin.line)
            .map(|(byte, _)| match byte {
                b'(' => b')',
                b'[' => b']',
                _ => b'}',
            })
            .collect();
        let is_tail = |byte: u8| matches!(byte, b')' | b']' | b'}' | b',' | b' ');
        let tail = slice
            .bytes()
            .rev()
            .take(MAX_TAIL)
            .take_while(|byte| is_tail(*byte))
            .count();
        let tail = tail.min(slice.len() - 1);
        let fits = |tail: &[u8]| {
            let mut open = closers.iter();
            tail.iter()
                .filter(|byte| !matches!(byte, b',' | b' '))
                .all(|byte| open.next() == Some(byte))
        };
        let bytes = slice.as_bytes();
        let begin =
            (slice.len() - tail..=slice.len()).find(|at| bytes.get(*at..).is_some_and(fits));
        start + begin.unwrap_or(slice.len()).max(1)
    }
}

fn unclosed_interpolation(span: Span) -> Diagnostic {
    codes::UNCLOSED_DELIMITER
        .at(span, "this `${` is never closed with `}`")
        .help("close it with `}` on the same line, or write a plain `${` as `\\${`")
}

fn unterminated(start: usize, end: usize, lines: bool) -> Diagnostic {
    let diagnostic = codes::UNTERMINATED_STRING
        .at(
            Span::new(start, start + 1),
            "this string has no closing quote",
        )
        .help("close it with the quotes that opened it");
    if lines {
        diagnostic.label(Span::at(end), "read as a string up to here")
    } else {
        diagnostic
    }
}

fn line_breaks(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}
