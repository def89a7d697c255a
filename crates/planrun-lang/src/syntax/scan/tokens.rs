//! Splits the raw text into tokens, just enough to recognize words, delimiters, texts and comments.

use super::MAX_FINDINGS;
use super::characters;
use super::repair::Repair;
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{Comment, CommentKind};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::syntax) enum TokenKind {
    /// A word, or a name in back quotes.
    Word,
    Number,
    /// A whole text literal, or one of its parts around `${…}`.
    Text,
    Open(Delimiter),
    Close(Delimiter),
    /// `${`
    Interpolation,
    /// The `}` of `${`.
    InterpolationEnd,
    /// Operators and other marks.
    Symbol,
    /// Invalid text; already reported.
    Broken,
}

/// Whether a token opens or closes a bracket, of which `${` and its `}` are a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::syntax) enum Bracket {
    Opens,
    Closes,
    Neither,
}

impl TokenKind {
    pub fn bracket(self) -> Bracket {
        match self {
            Self::Open(_) | Self::Interpolation => Bracket::Opens,
            Self::Close(_) | Self::InterpolationEnd => Bracket::Closes,
            Self::Word | Self::Number | Self::Text | Self::Symbol | Self::Broken => {
                Bracket::Neither
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::syntax) enum Delimiter {
    Paren,
    Bracket,
    Brace,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::syntax) struct Token {
    pub kind: TokenKind,
    /// True for the first token of a line.
    pub line_start: bool,
    pub start: u32,
    pub end: u32,
    /// The line, from 0.
    pub line: u32,
    /// Number of spaces and tabs at the beginning of its line.
    pub indent: u32,
}

impl Token {
    pub fn text(self, text: &str) -> &str {
        text.get(self.span().range()).unwrap_or("")
    }

    pub fn span(self) -> Span {
        Span::from(self.start..self.end)
    }
}

/// Maximum number of rescans; each costs at most one line, and few texts need any.
const MAX_REWINDS: usize = 100;

/// The result of lexing.
pub(super) struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    pub diagnostics: Vec<Diagnostic>,
    pub repairs: Vec<Repair>,
}

/// Splits a text into tokens. If a text block has no end, the text is lexed again, this time ending text blocks before
/// a line that looks like a statement.
pub(super) fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer::new(text, false);
    lexer.run();
    if lexer.endless_block {
        lexer = Lexer::new(text, true);
        lexer.run();
    }
    Lexed {
        tokens: lexer.tokens,
        comments: lexer.comments,
        diagnostics: lexer.diagnostics,
        repairs: lexer.repairs,
    }
}

/// An open text literal that may contain `${`.
pub(super) struct OpenText {
    pub start: usize,
    /// One or three.
    pub quotes: usize,
    /// Number of open braces inside the current `${`.
    pub braces: usize,
    /// Offset of the current `${`, and the number of tokens and openers before it.
    pub interpolation: usize,
    pub interpolation_tokens: usize,
    pub interpolation_openers: usize,
    pub origin: Origin,
}

/// The state of the lexer at the beginning of a text.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub tokens: usize,
    pub openers: usize,
    pub line: u32,
    pub indent: usize,
    pub fresh: bool,
}

pub(super) struct Lexer<'a> {
    pub text: &'a str,
    pub bytes: &'a [u8],
    pub at: usize,
    pub line: u32,
    /// True before the first token of a line.
    fresh: bool,
    indent: usize,
    pub tokens: Vec<Token>,
    comments: Vec<Comment>,
    pub diagnostics: Vec<Diagnostic>,
    pub repairs: Vec<Repair>,
    pub open_texts: Vec<OpenText>,
    /// Open delimiters with their lines.
    pub openers: Vec<(u8, u32)>,
    /// Number of open texts that must end on their line.
    pub open_lines: usize,
    /// Number of times that the rest of a line was rescanned after an unclosed `${`.
    rewinds: usize,
    /// Whether a line that looks like a statement ends a text block.
    pub distrust: bool,
    pub endless_block: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, distrust: bool) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            line: 0,
            fresh: true,
            indent: indentation(text),
            tokens: Vec::new(),
            comments: Vec::new(),
            diagnostics: Vec::new(),
            repairs: Vec::new(),
            open_texts: Vec::new(),
            openers: Vec::new(),
            open_lines: 0,
            rewinds: 0,
            distrust,
            endless_block: false,
        }
    }

    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'\n' => self.newline(),
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' if self.bytes.get(self.at + 1) == Some(&b'/') => self.comment(),
                b'"' | b'\'' => self.quoted(self.at, self.at),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
                b'0'..=b'9' => self.number(),
                b'`' => self.back_quoted(),
                b'(' | b'[' | b'{' => self.open(byte),
                b')' | b']' | b'}' => self.close(byte),
                0x80.. => self.foreign(),
                _ => self.symbol(byte),
            }
        }
        if let Some(open) = self.open_texts.first() {
            let (start, origin, interpolation) = (open.start, open.origin, open.interpolation);
            self.endless_block = open.quotes == 3;
            self.unfinished(start, origin, Some(interpolation));
        }
    }

    /// Handles a line break in code; a one-line text that is still open is unterminated.
    fn newline(&mut self) {
        if let Some((start, origin, interpolation)) = self.outermost_line_text() {
            self.unfinished(start, origin, Some(interpolation));
            return;
        }
        if self.distrust && self.rewinds < MAX_REWINDS && !self.open_texts.is_empty() {
            self.rewinds += 1;
            self.unfinished_interpolation();
            return;
        }
        self.at += 1;
        self.line += 1;
        self.fresh = true;
        self.indent = indentation(self.text.get(self.at..).unwrap_or(""));
    }

    /// Returns the outermost open one-line text: its start, the state before it, and the offset of its `${`.
    pub fn outermost_line_text(&self) -> Option<(usize, Origin, usize)> {
        if self.open_lines == 0 {
            return None;
        }
        let open = self.open_texts.iter().find(|open| open.quotes == 1)?;
        Some((open.start, open.origin, open.interpolation))
    }

    fn comment(&mut self) {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or("");
        let length = rest.find('\n').unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or("").trim_end_matches('\r');
        self.comments.push(Comment {
            span: Span::new(start, start + text.len()),
            kind: CommentKind::of(text),
        });
        if !text.is_ascii() {
            for (offset, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                self.check_inside(c, start + offset);
            }
        }
        self.at = start + length;
    }

    fn word(&mut self) {
        let start = self.at;
        let end = self.word_end(start);
        let prefix = self.text.get(start..end).unwrap_or("");
        let quote_follows = matches!(self.bytes.get(end), Some(b'"' | b'\''));
        if quote_follows
            && prefix.len() <= 2
            && matches!(prefix, "r" | "R" | "b" | "B" | "br" | "bR" | "Br" | "BR")
        {
            self.quoted(start, end);
            return;
        }
        self.push(TokenKind::Word, start, end);
        if !prefix.is_ascii() {
            self.check_word(Span::new(start, end));
        }
    }

    fn word_end(&self, start: usize) -> usize {
        let mut end = start;
        while let Some(byte) = self.bytes.get(end) {
            if byte.is_ascii_alphanumeric() || *byte == b'_' {
                end += 1;
            } else if byte.is_ascii() {
                break;
            } else {
                let Some(c) = self.text.get(end..).and_then(|rest| rest.chars().next()) else {
                    break;
                };
                if !unicode_ident::is_xid_continue(c) {
                    break;
                }
                end += c.len_utf8();
            }
        }
        end
    }

    fn number(&mut self) {
        let start = self.at;
        let mut end = self.word_end(start);
        let digit = |at: usize| self.bytes.get(at).is_some_and(u8::is_ascii_digit);
        if self.bytes.get(end) == Some(&b'.') && digit(end + 1) {
            end = self.word_end(end + 1);
        }
        self.push(TokenKind::Number, start, end);
    }

    fn back_quoted(&mut self) {
        let start = self.at;
        let rest = self.text.get(start + 1..).unwrap_or("");
        match rest.find(['`', '\n']) {
            Some(length) if length > 0 && rest.as_bytes().get(length) == Some(&b'`') => {
                self.push(TokenKind::Word, start, start + length + 2);
            }
            Some(_) | None => {
                let span = Span::new(start, start + 1);
                self.report(
                    codes::UNTERMINATED_STRING
                        .at(span, "this back quote is never closed")
                        .help("close the name with a back quote on the same line"),
                );
                self.repairs.push(Repair::Damaged(span));
                self.push(TokenKind::Broken, start, start + 1);
            }
        }
    }

    fn open(&mut self, byte: u8) {
        if byte == b'{'
            && let Some(open) = self.open_texts.last_mut()
        {
            open.braces += 1;
        }
        self.openers.push((byte, self.line));
        self.push(TokenKind::Open(delimiter(byte)), self.at, self.at + 1);
    }

    fn close(&mut self, byte: u8) {
        if byte == b'}'
            && let Some(open) = self.open_texts.last_mut()
        {
            if open.braces == 0 {
                self.push(TokenKind::InterpolationEnd, self.at, self.at + 1);
                self.interpolated_text();
                return;
            }
            open.braces -= 1;
        }
        self.openers.pop();
        self.push(TokenKind::Close(delimiter(byte)), self.at, self.at + 1);
    }

    /// Records a diagnostic, up to a limit, so that a file full of errors does not fill the memory.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        // Limited for each severity, so that warnings do not displace errors.
        let alike = self
            .diagnostics
            .iter()
            .filter(|found| found.severity == diagnostic.severity)
            .count();
        if alike < MAX_FINDINGS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn symbol(&mut self, byte: u8) {
        if byte.is_ascii_control() {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let count = rest
                .iter()
                .take_while(|other| other.is_ascii_control() && !other.is_ascii_whitespace())
                .count();
            let span = Span::new(self.at, self.at + count.max(1));
            let message = match count {
                0 | 1 => format!("unexpected control character U+{byte:04X}"),
                _ => {
                    format!("{count} unexpected control characters, the first is U+{byte:04X}")
                }
            };
            self.report(codes::UNEXPECTED_TOKEN.at(span, message).help("remove it"));
            self.repairs.push(Repair::Blank(span));
            self.at = span.end as usize;
            return;
        }
        let pair = self.text.get(self.at..self.at + 2).unwrap_or("");
        let double = matches!(
            pair,
            "=>" | "->" | "==" | "!=" | "<=" | ">=" | "&&" | "||" | "??" | "?."
        );
        self.push(
            TokenKind::Symbol,
            self.at,
            self.at + if double { 2 } else { 1 },
        );
    }

    /// Handles a non-ASCII character between tokens.
    fn foreign(&mut self) {
        let start = self.at;
        let Some(c) = self.text.get(start..).and_then(|rest| rest.chars().next()) else {
            self.at += 1;
            return;
        };
        if unicode_ident::is_xid_start(c) {
            self.word();
            return;
        }
        let end = start + c.len_utf8();
        if let Some(quote) = self.check_outside(c, start) {
            self.curly_quoted(c, quote);
            return;
        }
        match characters::confusable(c) {
            characters::Confusable::Character(ascii) if ascii.is_ascii_punctuation() => {
                self.repaired(ascii, start, end);
            }
            characters::Confusable::Character(_) | characters::Confusable::None => {
                self.push(TokenKind::Symbol, start, end);
            }
            characters::Confusable::Space | characters::Confusable::Direction => self.at = end,
        }
    }

    /// Adds the token of the character that a look-alike resembles.
    fn repaired(&mut self, ascii: char, start: usize, end: usize) {
        let kind = match ascii {
            '(' => TokenKind::Open(Delimiter::Paren),
            '[' => TokenKind::Open(Delimiter::Bracket),
            '{' => TokenKind::Open(Delimiter::Brace),
            ')' => TokenKind::Close(Delimiter::Paren),
            ']' => TokenKind::Close(Delimiter::Bracket),
            '}' => TokenKind::Close(Delimiter::Brace),
            _ => TokenKind::Symbol,
        };
        self.push(kind, start, end);
    }

    /// Adds a token and moves to its end.
    pub fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        self.tokens.push(Token {
            kind,
            line_start: self.fresh,
            start: narrow(start),
            end: narrow(end),
            line: self.line,
            indent: narrow(self.indent),
        });
        self.fresh = false;
        self.at = end;
    }

    /// Returns the current state.
    pub fn origin(&self) -> Origin {
        Origin {
            tokens: self.tokens.len(),
            openers: self.openers.len(),
            line: self.line,
            indent: self.indent,
            fresh: self.fresh,
        }
    }

    /// Records that the line has a token.
    pub fn mark_seen(&mut self) {
        self.fresh = false;
    }

    /// Rewinds to the beginning of a text that turned out to be unterminated.
    pub fn forget(&mut self, origin: Origin) {
        self.tokens.truncate(origin.tokens);
        self.openers.truncate(origin.openers);
        (self.line, self.indent, self.fresh) = (origin.line, origin.indent, origin.fresh);
    }
}

/// Returns the number of spaces and tabs at the beginning of a line.
fn indentation(line: &str) -> usize {
    line.bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

fn delimiter(byte: u8) -> Delimiter {
    match byte {
        b'(' | b')' => Delimiter::Paren,
        b'[' | b']' => Delimiter::Bracket,
        _ => Delimiter::Brace,
    }
}
